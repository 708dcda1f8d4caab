"""The deployments behind measurements: chip, model and layout from the catalogue."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd, prod
from typing import TypeVar, cast

from fastcalc.catalogue.kinds import Kind
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.assumed_share import with_raised_limit
from fastcalc.core.chip.formats_run import refused_formats
from fastcalc.core.chip.host import memory_choice
from fastcalc.core.chip.machine import machine
from fastcalc.core.chip.machine_class import engine_of_class
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.model.workload import Workload, workload
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.legal import MOST_CHIPS
from fastcalc.core.placement.placement import Placement, Site
from fastcalc.core.scenario import Sharding, cache_format
from fastcalc.errors import InputError
from fastcalc.evidence.point import Point

_MOST_TIMES = 128  # largest multiple of the given ranks tried to fit the model
_MONTH = len("2025-01")
_RANKS = ("tp", "pp", "dp")
Answer = TypeVar("Answer")

MOST_SUGGESTIONS = 20  # unknown names per file for which a suggestion is made


class UnpredictableError(InputError):
    """Raised for a measurement that cannot be predicted, with the reason."""


@dataclass(frozen=True)
class Deployment:
    """A model on chips with an engine, as described by a measurement.

    If the source names no engine, a default is assumed. Chips and ranks are None if not given.
    """

    hardware: Hardware
    model: Model
    engine: Engine
    work: Workload
    stated: Sharding
    memory: MemoryChoice = OWN_MEMORY

    @property
    def open_ranks(self) -> list[str]:
        """The ranks among tp, pp and dp that must be chosen because the source leaves them open."""
        stated, missing = self._ranks, [name for name in _RANKS if name not in self._ranks]
        chips = self.stated.chips
        is_settled = chips is not None and (len(missing) < 2 or chips == prod(stated.values()))
        return [] if is_settled else missing

    def placements(self, reserved: float) -> list[Placement]:
        """Place the model on each possible layout: all legal layouts with the given ranks.

        Since the deployment is known to have run, a layout is rejected only if the weights do not
        fit, regardless of the engine's reserve. If the number of chips is not given, cache is
        reserved for the given number of tokens. [1]
        """
        if self.stated.chips is not None or self.stated.names_ranks:
            return self._stated_placements
        smallest = replace(self._site, reserved_tokens=reserved).smallest(1)
        if smallest is None:
            raise self._unfit
        return [smallest]

    @cached_property
    def _site(self) -> Site:
        unit = machine(self.hardware, self.engine, self.work, self.memory)
        return Site(unit, self.work, 1.0)

    @property
    def _unfit(self) -> UnpredictableError:
        where = f"{self.hardware.id}'s {self._site.machine.tier.name}"
        return UnpredictableError(f"the weights and one sequence do not fit {where}")

    @cached_property
    def _stated_placements(self) -> list[Placement]:
        """The placements on layouts with the given ranks, or else on the fewest chips."""
        site, chips = self._site, self.stated.chips
        ranks = prod(self._ranks.values())
        least_chips = ranks // gcd(ranks, site.machine.ranks)
        most_chips = min(least_chips * _MOST_TIMES, MOST_CHIPS) if self.open_ranks else least_chips
        chip_counts = range(least_chips, max(most_chips, least_chips) + 1, least_chips)
        for count in [chips] if chips else chip_counts:
            candidates = (site.place(layout) for layout in self._layouts(site, count))
            if placements := [placed for placed in candidates if placed.held_beside(0.0) >= 1]:
                return placements
        raise self._unfit

    def assumed(self, layout: Layout, reason: str, choices: int) -> str | None:
        """Describe the ranks assumed for a layout, or return None if the source gives all of them.

        reason, choices : The reason for the choice, and the number of layouts to choose from.
        """
        if self.open_ranks:
            fewest = self.stated.chips is None
            if choices > 1:
                why = f"{reason} on the fewest chips that suffice" if fewest else reason
            else:
                why = f"the {'fewest chips that suffice' if fewest else 'only layout that fits'}"
            return f"{str(layout) or '1 chip'}, {why}"
        if self.stated.ep is None and self.work.experts and layout.width > 1:
            over = "experts over all chips of a stage"
            return f"ep {layout.ep}, {over if layout.ep > 1 else 'each expert sharded by tp'}"
        return None

    @property
    def _ranks(self) -> dict[str, int]:
        ranks = zip(_RANKS, (self.stated.tp, self.stated.pp, self.stated.dp), strict=True)
        return {name: count for name, count in ranks if count}

    def _layouts(self, site: Site, chips: int) -> list[Layout]:
        stated, ep = self._ranks, self.stated.ep
        free, remainder = divmod(chips * site.machine.ranks, prod(stated.values()))
        missing = [name for name in _RANKS if name not in stated]
        if remainder or (free > 1 and not missing):
            ranks = " x ".join(f"{name} {value}" for name, value in stated.items())
            needed = f"a multiple of {ranks}" if missing else ranks
            ranks_per_chip = site.machine.ranks
            of = f" of {ranks_per_chip} ranks each" if ranks_per_chip > 1 else ""
            raise UnpredictableError(f"{chips} chips{of} are not {needed}")
        layouts = [Layout(**{**stated, name: free}) for name in missing[-1:]] or [Layout(**stated)]
        if len(missing) > 1:
            legal = (layout for layout in site.exactly(chips) if layout.width % (ep or 1) == 0)
            stated_pairs = stated.items()
            layouts = [layout for layout in legal if stated_pairs <= vars(layout).items()] or (
                layouts if stated else []
            )
        return [
            replace(layout, ep=ep or site.expert_ranks(layout.tp, layout.dp)) for layout in layouts
        ]


@dataclass
class PointDeployments:
    """Caches the deployments of measurements.

    engine, draft : The engine and separate draft model used for all measurements, if given.
    """

    catalogue: Catalogue
    engine: Engine | None = None
    draft: Model | None = None
    _answers: dict[tuple[object, ...], object] = field(default_factory=dict)
    _unknown: int = 0

    def of(self, point: Point) -> Deployment:
        """Return the deployment of a measurement, or raise InputError for an unknown name."""
        about = (point.hardware, point.model, point.engine, (point.date or "")[:_MONTH])
        hardware, model, engine = self._once(about, lambda: self._entries(point))
        names = (hardware.id, model.id, engine.id, point.weights, point.kv)
        ranks = (point.chips, point.tp, point.ep, point.pp, point.dp)
        key = (*names, *ranks, point.memory, point.drafted)

        def deployment() -> Deployment:
            weights = point.weights or None
            cache = cache_format(model, engine, hardware, weights, point.kv or None)
            work = workload(model, weights, cache)
            stated = Sharding(point.chips, point.tp, point.pp, point.ep, point.dp)
            memory = self._memory(point)
            runs = engine
            if refused_formats(engine, hardware, work):  # it is known to have run
                runs = engine.model_copy(update={"refused": []})
            return Deployment(hardware, model, runs, work, stated, memory)

        return self._once(key, deployment)

    def _memory(self, point: Point) -> MemoryChoice:
        """Return the memories of a measurement, the same object for equal ones."""

        def memory() -> MemoryChoice:
            chosen = memory_choice(self.catalogue, *point.memory)
            return replace(chosen, drafted=point.drafted, draft=self.draft)

        return self._once(("memory", point.memory, point.drafted), memory)

    def _entries(self, point: Point) -> tuple[Hardware, Model, Engine]:
        hardware = self._entry(self.catalogue.hardware, point.hardware, "hardware")
        hardware = with_raised_limit(hardware)  # it is known to have run
        model = self._entry(self.catalogue.model, point.model, "models")
        engine = self.engine
        if engine is None:
            is_stated = point.engine.lower() in self._all("engines")
            name = point.engine if is_stated else engine_of_class(hardware)[0]
            engine = self._entry(self.catalogue.engine, name, "engines")
            month = (point.date or "")[:_MONTH]
            for swap in engine.instead:
                is_early = swap.before is None or (month and month < swap.before)
                if is_early and swap.is_of(hardware) and swap.is_for(model):
                    return hardware, model, self.catalogue.engine(swap.engine)
        return hardware, model, engine

    def _entry(self, look_up: Callable[[str], Answer], name: str, kind: Kind) -> Answer:
        """Look up a catalogue entry by name.

        Only the first few unknown names get a suggestion, because the search is slow.
        """

        def looked_up() -> Answer:
            is_late = self._unknown >= MOST_SUGGESTIONS and not ("/" in name or "." in name)
            if is_late and name.lower() not in self._all(kind):
                raise InputError(f"'{name[:40]}' is not in the catalogue of {kind}")
            self._unknown += 1
            answer = look_up(name)
            self._unknown -= 1
            return answer

        return self._once((kind, name), looked_up)

    def _all(self, entry_type: Kind) -> frozenset[str]:
        return self._once((entry_type,), lambda: self.catalogue.known(entry_type))

    def _once(self, key: tuple[object, ...], look_up: Callable[[], Answer]) -> Answer:
        """Return the cached result for a key, or raise the cached error again."""
        if key not in self._answers:
            try:
                self._answers[key] = look_up()
            except InputError as error:
                self._answers[key] = error
        answer = self._answers[key]
        if isinstance(answer, InputError):
            raise answer
        return cast(Answer, answer)
