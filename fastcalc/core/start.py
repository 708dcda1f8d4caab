"""Whether a server starts on a placement, the line it stops with, and the least that starts it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.schema import Parameters
from fastcalc.catalogue.schema.engine_parameters import STARTED_WITH
from fastcalc.core.chip.formats_run import refused_formats
from fastcalc.core.chosen_layouts import on_fewer_chips
from fastcalc.core.placement.layout import LayoutError
from fastcalc.core.placement.legal import MOST_CHIPS
from fastcalc.core.placement.practice import usual_layouts
from fastcalc.core.scenario import Location, Scenario, Sharding, locate
from fastcalc.core.start_checks import StartCheck, certain_check, likely_check
from fastcalc.core.verdict import VERDICTS
from fastcalc.mentions import option

_MOST_SHARE = 0.98
"""Share of a memory above which driver and context leave an engine nothing. [1]"""


_OF_CHIPS = ("chips", "tp", "pp")
_SHORTENED = {"gpu_memory_utilization", "max_model_len"}
_FEW_SEQUENCES = 8
"""Sequences below which two other changes are sought. [1]"""
_FIRST_OF_TWO = (("kv", "fp8"), ("gpu_memory_utilization", "0.95"), ("max_num_seqs", "256"))
"""Changes that are tried beside a second one, the one that costs a service least first."""


class StartRemedy(NamedTuple):
    """The least change of one setting that starts a server.

    setting : by the name of fastcalc's field
    value : what to set it to
    """

    setting: str
    value: str

    @property
    def is_enough(self) -> bool:
        """Whether it needs no more chips and leaves a server more than a few sequences."""
        is_few = self.setting == "max_num_seqs" and int(self.value) < _FEW_SEQUENCES
        return self.setting not in _OF_CHIPS and not is_few

    @property
    def flag(self) -> str:
        """As it is typed."""
        return option(self.setting, self.value)


@dataclass(frozen=True, eq=False)
class StartLocation(Location):
    """A scenario placed, held to all that its engine checks when it starts."""

    @property
    def fits(self) -> bool:
        """True where the smallest batch fits and the engine starts, even if only tightly."""
        return super().fits and not (self.refused or likely_check(self.placement).is_failed)

    @property
    def refused(self) -> str | None:
        """Why the engine does not start with these formats, whatever memory there is."""
        machine = self.site.machine
        return refused_formats(machine.engine, machine.hardware, self.site.work)

    @property
    def verdict(self) -> str:
        """Whether the smallest batch fits and the engine starts, one of `VERDICTS`."""
        if not self.fits:
            return VERDICTS[-1]
        return VERDICTS[1] if self._certain.is_failed else super().verdict

    @property
    def memory_verdict(self) -> str:
        """Whether memory holds the smallest batch, whatever else the engine checks."""
        return super().verdict

    @cached_property
    def _certain(self) -> StartCheck:
        return certain_check(self.placement)

    @cached_property
    def stop_line(self) -> str | None:
        """What the engine prints when it stops, None where it starts or nobody knows its words."""
        if self.verdict == "fits":
            return None
        expected = StartCheck(self.placement, 1.0)
        is_certain = self.fits and not self.is_expected_to_stop
        return (self._certain if is_certain else expected).line

    @property
    def is_expected_to_stop(self) -> bool:
        """Whether the engine stops with the reserve that is expected of it."""
        return StartCheck(self.placement, 1.0).is_failed

    @property
    def expected_blocks(self) -> int | None:
        """Blocks that caches are expected to have, where a start counts them. [1]"""
        return StartCheck(self.placement, 1.0).blocks

    @cached_property
    def tight_chips(self) -> int | None:
        """Fewer chips on which it starts only tightly, where the fewest that fit were taken. [1]"""
        if not self.is_default_layout or self.verdict != "fits":
            return None
        fewer = on_fewer_chips(self.site, self.placement.layout.chips)
        if fewer is None or replace(self, placement=fewer).verdict != "edge":
            return None
        return fewer.layout.chips

    @cached_property
    def at_default_length(self) -> "StartLocation | None":
        """As vLLM starts it without a length, for the longest sequences of the model.

        None where a length is given, no length of the model is known, or for another engine.
        """
        scenario, longest = self.scenario, self.scenario.model.max_context
        if scenario.memory.longest or not longest or scenario.engine.program != "vllm":
            return None
        memory = replace(scenario.memory, longest=float(longest))
        placed = locate(replace(self.on_its_layout, memory=memory))
        return start_location(placed)

    @property
    def _needs_none(self) -> bool:
        """Whether no change of memory helps: it starts, or would not with any."""
        return self.verdict == "fits" or self.refused is not None

    @cached_property
    def remedies(self) -> list[StartRemedy]:
        """Changes that would each make it start: the least change of one setting."""
        return [] if self._needs_none else list(_remedies(self))

    @property
    def changes(self) -> list[StartRemedy]:
        """What starts it on its chips: one change or a pair; empty where nothing does."""
        enough = [[remedy] for remedy in self.remedies if remedy.is_enough]
        return next(iter([*enough, *self.joint_remedies]), [])

    @cached_property
    def joint_remedies(self) -> list[list[StartRemedy]]:
        """Pairs of changes that start it on its chips; none where a change alone does.

        The one that costs a service least, and a larger share of memory with shorter sequences. A
        change that leaves few sequences is not enough.
        """
        if self._needs_none or any(remedy.is_enough for remedy in self.remedies):
            return []
        pairs = list(_pairs(self))
        shortened = [pair for pair in pairs[1:] if {each.setting for each in pair} == _SHORTENED]
        return [*pairs[:1], *shortened[:1]]


def start_location(location: Location) -> StartLocation:
    """A placed scenario as its engine would start it."""
    if isinstance(location, StartLocation):
        return location
    return StartLocation(
        location.scenario, location.site, location.placement, location.is_default_layout
    )


def _remedies(location: StartLocation) -> Iterator[StartRemedy]:
    for remedy in (
        _fewer_sequences(location),
        shorter(location),
        _narrower_cache(location),
        _larger_share(location),
        _smaller_share(location),
        more_chips(location),
    ):
        if remedy is not None:
            yield remedy


def _pairs(location: StartLocation) -> Iterator[list[StartRemedy]]:
    """Pairs of changes that start a server on its chips, the least of the second each."""
    scenario, has_narrow_cache = location.on_its_layout, location.scenario.work.formats.kv.bits <= 8
    free = _share_that_is_free(location)
    for setting, value in _FIRST_OF_TWO if free is None else (("gpu_memory_utilization", free),):
        if setting == "kv" and has_narrow_cache:
            continue
        is_kv, first = setting == "kv", StartRemedy(setting, value)
        changed = start_location(
            locate(
                replace(scenario, kv=value) if is_kv else limited(scenario, setting, float(value))
            )
        )
        is_more = changed.placement.available > location.placement.available
        if not (is_kv or is_more or free):
            continue  # it is started with as much already
        for least in (_larger_share, shorter, _fewer_sequences):
            second = least(changed)
            if second is not None and second.setting != setting and second.is_enough:
                yield [first, second]


def limited(scenario: Scenario, setting: str, value: float) -> Scenario:
    """A scenario whose engine is started with another limit."""
    limits = dict.fromkeys(STARTED_WITH[setting], value)
    return replace(scenario, engine=scenario.engine.limited(Parameters.model_validate(limits)))


def _starts(scenario: Scenario) -> bool:
    """Whether a scenario fits, not only tightly, on the chips that it names."""
    try:
        return start_location(locate(scenario)).verdict == "fits"
    except LayoutError:
        return False


def _largest_that_starts(starts: Callable[[int], bool], low: int, high: int) -> int | None:
    """The largest of some whole numbers that starts, None where the smallest does not."""
    if high < low or not starts(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if starts(middle) else (low, middle - 1)
    return low


def _fewer_sequences(location: StartLocation) -> StartRemedy | None:
    scenario = location.on_its_layout
    max_sequences = float(np.max(location.placement.machine.max_sequences))
    if not np.isfinite(max_sequences):
        return None
    min_sequences = min(scenario.batches)
    sequences = _largest_that_starts(
        lambda count: _starts(limited(scenario, "max_num_seqs", float(count))),
        min_sequences,
        int(max_sequences) - 1,
    )
    return None if sequences is None else StartRemedy("max_num_seqs", str(sequences))


def shorter(location: StartLocation) -> StartRemedy | None:
    """The longest sequences with which one starts, where a length was asked for."""
    scenario = location.on_its_layout
    longest = scenario.memory.longest
    if not longest:
        return None
    min_length = ceil(scenario.traffic.longest)

    def starts(tokens: int) -> bool:
        return _starts(replace(scenario, memory=replace(scenario.memory, longest=float(tokens))))

    length = _largest_that_starts(starts, min_length, int(longest) - 1)
    return None if length is None else StartRemedy("max_model_len", str(length))


def _narrower_cache(location: StartLocation) -> StartRemedy | None:
    scenario = location.on_its_layout
    if scenario.work.formats.kv.bits <= 8 or not _starts(replace(scenario, kv="fp8")):
        return None
    return StartRemedy("kv", "fp8")


def _larger_share(location: StartLocation) -> StartRemedy | None:
    scenario = location.on_its_layout
    fraction = float(np.max(location.placement.machine.software.memory_fraction))
    hundredths = range(int(fraction * 100) + 1, int(_MOST_SHARE * 100) + 1)
    for hundredth in hundredths:
        if _starts(limited(scenario, "gpu_memory_utilization", hundredth / 100)):
            return StartRemedy("gpu_memory_utilization", f"{hundredth / 100:.2f}")
    return None


def _share_that_is_free(location: StartLocation) -> str | None:
    """Share of memory that is free when a start begins, where it was given more. [1]"""
    if not StartCheck(location.placement, 1.0).is_share_taken:
        return None
    return f"{float(np.max(location.placement.machine.software.free_fraction)):g}"


def _smaller_share(location: StartLocation) -> StartRemedy | None:
    free, setting = _share_that_is_free(location), "gpu_memory_utilization"
    is_enough = free and _starts(limited(location.on_its_layout, setting, float(free)))
    return StartRemedy(setting, free) if free and is_enough else None


def more_chips(location: StartLocation) -> StartRemedy | None:
    """The fewest chips beyond those it has that start it, in a usual layout.

    Where ranks are stated, one of them is raised: chips beside them would hold copies.
    """
    if location.scenario.sharding.names_ranks:
        return _more_ranks(location)
    chips = location.placement.layout.chips
    site = location.site
    counts = {layout.chips for layout in (*usual_layouts(site), *site.default_layouts)}
    for count in sorted(count for count in counts if count > chips):
        if _starts(replace(location.scenario, sharding=Sharding(chips=count))):
            return StartRemedy("chips", str(count))
    return None


def _more_ranks(location: StartLocation) -> StartRemedy | None:
    """More tensor-parallel ranks, or else stages, that start it."""
    scenario, layout = location.scenario, location.placement.layout
    widest = {"tp": location.site.widest_group, "pp": MOST_CHIPS}
    for name, ranks in (("tp", layout.tp), ("pp", layout.pp)):
        for count in (2 * ranks, 4 * ranks, 8 * ranks):
            if count > widest[name]:
                break
            sharding = replace(scenario.sharding, chips=None, **{name: count})
            if _starts(replace(scenario, sharding=sharding)):
                return StartRemedy(name, str(count))
    return None
