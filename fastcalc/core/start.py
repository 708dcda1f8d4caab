"""Whether a server starts on a placement, and otherwise its error and the smallest fix."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from math import ceil
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.schema import Parameters
from fastcalc.catalogue.schema.engine_parameters import STARTED_WITH
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chosen_layouts import on_fewer_chips
from fastcalc.core.outcome import Location, evaluate_located, locate
from fastcalc.core.placement.layout import LayoutError
from fastcalc.core.placement.legal import MOST_CHIPS
from fastcalc.core.placement.practice import usual_layouts
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.start_checks import GIB, StartCheck, certain_check, likely_check
from fastcalc.core.verdict import VERDICTS
from fastcalc.formulas.solving import bisect_integers
from fastcalc.mentions import option

_MOST_SHARE = 0.98
"""The memory fraction above which too little is left for the driver and CUDA context."""

_OF_CHIPS = ("chips", "tp", "pp")
_SHORTENED = {"gpu_memory_utilization", "max_model_len"}
_FEW_SEQUENCES = 8
"""The number of sequences below which pairs of changes are also considered."""
_FIRST_OF_TWO = (("kv", "fp8"), ("gpu_memory_utilization", "0.95"), ("max_num_seqs", "256"))
"""The first changes of pairs, in increasing order of their cost to the service."""


class StartRemedy(NamedTuple):
    """The smallest change to one setting with which the server would start.

    setting : The field name of the setting in fastcalc.
    value : The new value.
    """

    setting: str
    value: str

    @property
    def is_enough(self) -> bool:
        """Whether the change needs no additional chips and leaves more than a few sequences."""
        is_few = self.setting == "max_num_seqs" and int(self.value) < _FEW_SEQUENCES
        return self.setting not in _OF_CHIPS and not is_few

    @property
    def flag(self) -> str:
        """The change as a command-line flag."""
        return option(self.setting, self.value)


class GraphsGivenUp(NamedTuple):
    """The effect of starting vLLM without CUDA graphs and compilation (``--enforce-eager``).

    engine : The name of the engine without graphs.
    freed : The memory that is no longer reserved on each chip, in bytes.
    slower : The ratio of the TPOT at the smallest batch to that with graphs.
    """

    engine: str
    freed: float
    slower: float

    @property
    def effect(self) -> str:
        """What it saves, and what it costs."""
        return f"frees {self.freed / GIB:.2f} GiB per chip, TPOT x {self.slower:.1f}"

    @property
    def sentence(self) -> str:
        """Which flag of vLLM the engine stands for, with its effect."""
        return f"{option('engine', self.engine)} is vLLM's --enforce-eager ({self.effect})"


class StartLocation(Location):
    """A scenario on its chips, with the checks that the engine runs at startup."""

    @property
    def memory_verdict(self) -> str:
        """The verdict on the smallest batch by memory, without the engine's other checks."""
        placement, batch = self.placement, min(self.scenario.batches)
        checks = (certain_check(placement), likely_check(placement))
        limits = (
            min(placement.held_beside(check.times), placement.engine_batch) for check in checks
        )
        return VERDICTS[sum(batch > limit for limit in limits)]

    @cached_property
    def _certain(self) -> StartCheck:
        return certain_check(self.placement)

    @cached_property
    def _expected(self) -> StartCheck:
        return StartCheck(self.placement, 1.0)

    @cached_property
    def stop_line(self) -> str | None:
        """The error message with which the engine stops, if it does not start."""
        if self._needs_none:
            return None
        is_certain = self.fits and not self.is_expected_to_stop
        return (self._certain if is_certain else self._expected).line

    @property
    def is_expected_to_stop(self) -> bool:
        """Whether the engine fails to start at its expected memory reserve."""
        return self._expected.is_failed

    @property
    def is_share_uncertain(self) -> bool:
        """Whether the system may be using part of the memory that the engine requests."""
        return self._certain.is_share_taken

    @property
    def expected_blocks(self) -> int | None:
        """The expected number of cache blocks if the engine uses blocks."""
        return self._expected.blocks

    @cached_property
    def on_fewer(self) -> "StartLocation | None":
        """The start on the next smaller number of chips, unless their number was requested."""
        if not self.is_default_layout or self.verdict != "fits":
            return None
        fewer = on_fewer_chips(self.site, self.placement.layout.chips)
        return None if fewer is None else replace(self, placement=fewer)

    @property
    def tight_chips(self) -> int | None:
        """The next smaller number of chips, if the server starts there with a tight fit."""
        is_tight = self.on_fewer is not None and self.on_fewer.verdict == "edge"
        return self.on_fewer.placement.layout.chips if self.on_fewer and is_tight else None

    @cached_property
    def at_default_length(self) -> "StartLocation | None":
        """The start with vLLM's default length, which is the model's maximum context.

        It is None if a length is specified, if the model's maximum is not published, or for other
        engines.
        """
        longest = _default_length(self.scenario)
        if self.scenario.memory.longest or not longest:
            return None
        memory = replace(self.scenario.memory, longest=float(longest))
        return start_location(locate(replace(self.on_its_layout, memory=memory)))

    @property
    def _needs_none(self) -> bool:
        """Whether no memory change helps: it already starts, or would not start with any memory."""
        return self.verdict == "fits" or bool(self.refused)

    @cached_property
    def remedies(self) -> list[StartRemedy]:
        """For each setting, the smallest change with which the server would start."""
        if self._needs_none:
            return []
        return [remedy for find in _REMEDIES if (remedy := find(self)) is not None]

    @property
    def changes(self) -> list[StartRemedy]:
        """The changes that make it start on the same chips: one, a pair, or none."""
        enough = [[remedy] for remedy in self.remedies if remedy.is_enough]
        return next(iter([*enough, *self.joint_remedies]), [])

    @cached_property
    def graphs_given_up(self) -> GraphsGivenUp | None:
        """The effect of starting without CUDA graphs if this is among the changes, or None."""
        named = (*self.remedies, *(each for pair in self.joint_remedies for each in pair))
        eager = without_graphs(self.on_its_layout)
        if eager is None or all(each.setting != "engine" for each in named):
            return None
        pair = evaluate_located([self, locate(eager)])
        kept = [float(place.placement.kept.total) for place in pair]
        tpot = [float(outcome.estimate.tpot[0]) for outcome in pair]
        name = _eager_name(self.scenario)
        return GraphsGivenUp(name, kept[0] - kept[1], tpot[1] / tpot[0])

    @cached_property
    def joint_remedies(self) -> list[list[StartRemedy]]:
        """Pairs of changes that make it start on the same chips, if no single change does.

        One pair has the least cost to the service; another combines a larger memory share with
        shorter sequences. Changes that leave only a few sequences do not count.
        """
        if self._needs_none or any(remedy.is_enough for remedy in self.remedies):
            return []
        pairs = list(_pairs(self))
        shortened = [pair for pair in pairs[1:] if {one.setting for one in pair} == _SHORTENED]
        return [*pairs[:1], *shortened[:1]]


def start_location(location: Location) -> StartLocation:
    """Add the engine's startup checks to a placed scenario."""
    if isinstance(location, StartLocation):
        return location
    return StartLocation(
        location.scenario, location.site, location.placement, location.is_default_layout
    )


def _pairs(location: StartLocation) -> Iterator[list[StartRemedy]]:
    """Yield pairs of changes that start a server on its chips; the second change is minimal."""
    for first in _first_changes(location):
        scenario = _changed(location.on_its_layout, first)
        changed = start_location(locate(scenario)) if scenario else None
        if changed is None or not _has_more(changed, location):
            continue
        for least in (_larger_share, shorter, _fewer_sequences):
            second = least(changed)
            if second is not None and second.setting != first.setting and second.is_enough:
                yield [first, second]


def _first_changes(location: StartLocation) -> list[StartRemedy]:
    """List the first changes of pairs: a smaller share of the memory if less is free."""
    if free := certain_check(location.placement).share_to_give:
        return [StartRemedy("gpu_memory_utilization", free)]
    eager = StartRemedy("engine", _eager_name(location.scenario))
    return [*(StartRemedy(*change) for change in _FIRST_OF_TWO), eager]


def _changed(scenario: Scenario, change: StartRemedy) -> Scenario | None:
    """Return the scenario with a change, or None if it is none."""
    if change.setting == "engine":
        return without_graphs(scenario)
    if change.setting == "kv":
        is_wide = scenario.work.formats.kv.cache_bytes > 1.0
        return replace(scenario, kv=change.value) if is_wide else None
    return limited(scenario, change.setting, float(change.value))


def _has_more(changed: StartLocation, location: StartLocation) -> bool:
    """Return whether a first change helps: unless it narrows caches, it leaves them more memory."""
    is_narrower = changed.scenario.kv != location.scenario.kv
    is_more = bool(changed.placement.available > location.placement.available)
    return is_narrower or is_more or certain_check(location.placement).is_share_taken


@cache
def _eager() -> Parameters:
    """Return the parameters that vLLM has without CUDA graphs and compilation."""
    given, eager = (Catalogue().engine(name).parameters.given for name in ("vllm", "eager"))
    return Parameters.model_validate(
        {name: quantity for name, quantity in eager.items() if quantity != given.get(name)}
    )


def without_graphs(scenario: Scenario) -> Scenario | None:
    """Return the scenario under vLLM without CUDA graphs, or None if that is no change."""
    engine = scenario.engine
    is_eager = engine.id == "eager" or engine.id.endswith("+eager")
    if engine.program != "vllm" or is_eager or not Catalogue().knows(engine.id, "engines"):
        return None
    return replace(scenario, engine=engine.limited(_eager()))


def _eager_name(scenario: Scenario) -> str:
    return "eager" if scenario.engine.id == "vllm" else f"{scenario.engine.id}+eager"


def limited(scenario: Scenario, setting: str, value: float) -> Scenario:
    """Return the scenario with a different engine limit."""
    limits = dict.fromkeys(STARTED_WITH[setting], value)
    return replace(scenario, engine=scenario.engine.limited(Parameters.model_validate(limits)))


def _starts(scenario: Scenario) -> bool:
    """Return whether a scenario fits safely on the chips that it specifies."""
    try:
        return start_location(locate(scenario)).verdict == "fits"
    except LayoutError:
        return False


def _largest_that_starts(starts: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the largest integer in a range that lets a server start, or None if none does."""
    return bisect_integers(starts, low, high + 1)[0] if high >= low and starts(low) else None


def _fewer_sequences(location: StartLocation) -> StartRemedy | None:
    scenario = location.on_its_layout
    max_sequences = float(np.max(location.placement.machine.max_sequences))
    if not np.isfinite(max_sequences):
        return None
    sequences = _largest_that_starts(
        lambda count: _starts(limited(scenario, "max_num_seqs", float(count))),
        min(scenario.batches),
        int(max_sequences) - 1,
    )
    return None if sequences is None else StartRemedy("max_num_seqs", str(sequences))


def _default_length(scenario: Scenario) -> int:
    """Return the longest sequence that vLLM accepts by default, or 0 for other engines."""
    return (scenario.engine.program == "vllm" and scenario.model.max_context) or 0


def shorter(location: StartLocation) -> StartRemedy | None:
    """Find the greatest sequence length with which the server starts."""
    scenario = location.on_its_layout
    longest = scenario.memory.longest or _default_length(scenario)
    min_length = ceil(scenario.traffic.longest)

    def starts(tokens: int) -> bool:
        return _starts(replace(scenario, memory=replace(scenario.memory, longest=float(tokens))))

    length = _largest_that_starts(starts, min_length, int(longest) - 1)
    return None if length is None else StartRemedy("max_model_len", str(length))


def _narrower_cache(location: StartLocation) -> StartRemedy | None:
    return _if_enough(location, StartRemedy("kv", "fp8"))


def _no_graphs(location: StartLocation) -> StartRemedy | None:
    return _if_enough(location, StartRemedy("engine", _eager_name(location.scenario)))


def _if_enough(location: StartLocation, change: StartRemedy) -> StartRemedy | None:
    scenario = _changed(location.on_its_layout, change)
    return change if scenario and _starts(scenario) else None


def _larger_share(location: StartLocation) -> StartRemedy | None:
    scenario = location.on_its_layout
    fraction = float(np.max(location.placement.machine.software.memory_fraction))
    for hundredth in range(int(round(fraction * 100, 6)) + 1, round(_MOST_SHARE * 100) + 1):
        if _starts(limited(scenario, "gpu_memory_utilization", hundredth / 100)):
            return StartRemedy("gpu_memory_utilization", f"{hundredth / 100:.2f}")
    return None


def _smaller_share(location: StartLocation) -> StartRemedy | None:
    free = certain_check(location.placement).share_to_give
    return _if_enough(location, StartRemedy("gpu_memory_utilization", free)) if free else None


def more_chips(location: StartLocation) -> StartRemedy | None:
    """Find the fewest additional chips in a usual layout with which the server starts.

    If ranks are specified, one of them is raised, because chips alone would only add copies.
    """
    scenario, layout, site = location.scenario, location.placement.layout, location.site
    if scenario.sharding.names_ranks:
        # Add tensor-parallel ranks, or else stages.
        widest = (("tp", layout.tp, site.widest_group), ("pp", layout.pp, MOST_CHIPS))
        for name, ranks, maximum in widest:
            for count in (2 * ranks, 4 * ranks, 8 * ranks):
                sharding = replace(scenario.sharding, chips=None, **{name: count})
                if count <= maximum and _starts(replace(scenario, sharding=sharding)):
                    return StartRemedy(name, str(count))
        return None
    fewest = min(filter(None, location.min_chips), default=1)
    least = max(fewest, layout.chips + 1)
    counts = {layout.chips for layout in (*usual_layouts(site), *site.default_layouts)} | {fewest}
    for count in sorted(count for count in counts if count >= least):
        if _starts(replace(scenario, sharding=Sharding(chips=count))):
            return StartRemedy("chips", str(count))
    return None


_REMEDIES = (
    *(_fewer_sequences, shorter, _narrower_cache, _larger_share, _smaller_share),
    *(_no_graphs, more_chips),
)
