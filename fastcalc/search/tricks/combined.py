"""Several tricks at once: the cheapest combinations that reach a speed.

A combination changes two or more of four things: the kind of chip, the model, the bits and the
drafts. Batch is solved for in each, and so are the layout and the number of chips. Chips without a
price count only where none with a price reaches the speed; of those the fewest chip-seconds do.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from heapq import heappop, heappush
from itertools import chain
from math import inf
from typing import NamedTuple

import numpy as np

from fastcalc.core.layout import Layout
from fastcalc.core.scenario import Scenario
from fastcalc.core.smaller_batch import speeds
from fastcalc.errors import InputError
from fastcalc.formulas.money import usd_per_million
from fastcalc.formulas.types import Floats
from fastcalc.search import Space, cheapest
from fastcalc.search.largest_batch import by_octaves, least_usd
from fastcalc.search.tricks.least import OfChip, OfModel, in_fewest_bits, least, of_chip, of_model
from fastcalc.search.tricks.lighter_passes import PUBLISHED, drafting, narrowest
from fastcalc.search.tricks.option import Option
from fastcalc.search.tricks.start import Base, with_model

COUNTS = {2: "two-tricks", 3: "three-tricks", 4: "four-tricks"}
"""Tricks at once, and what they are called."""

_KEPT = {0: 1.0, **PUBLISHED}  # tokens of a pass by drafts
_STEPS = 8  # batches to an octave that say what a place may come to


class _OnLayouts(NamedTuple):
    """A scenario on the layouts that hold it: tokens a second of each user by batch."""

    layouts: list[Layout]
    batch: Floats
    each: Floats


class ModelOnChip:
    """A model on a kind of chip, in its own bits or in the fewest that chip and engine run."""

    def __init__(
        self,
        changes: tuple[str, ...],
        scenario: Scenario,
        layouts: Callable[[Space], list[Layout]],
        *,
        in_fewest_bits: bool,
    ) -> None:
        self.changes, self.scenario, self.layouts = changes, scenario, layouts
        self.in_fewest_bits = in_fewest_bits
        one = scenario
        self.chip = of_chip(one.hardware, one.engine, one.pricing, one.memory)
        self.model = of_model(one.work, one.traffic)

    @cached_property
    def placed(self) -> _OnLayouts | None:
        """Where it lives; None where no layout holds it, or it cannot be asked for."""
        if self.in_fewest_bits:
            found = narrowest(self.scenario)
            if not found:
                return None
            ((words, self.scenario),) = found
            self.changes = (*self.changes[:-1], words)
        space = Space(self.scenario)
        try:
            layouts = self.layouts(space)
        except InputError:  # requests too long for the model, no memory of a name
            return None
        held = space.holding(layouts)
        return _OnLayouts(held, *by_octaves(space, held, steps=_STEPS)) if held else None

    def with_drafts(self, drafts: int) -> tuple[str, Scenario]:
        """Return what is changed in words, and the scenario, with some drafts or none."""
        if not drafts:
            return " + ".join(self.changes), self.scenario
        words, found = drafting(self.scenario, drafts)
        return " + ".join((*self.changes, words)), found


class _Way(NamedTuple):
    """A model on a kind of chip with some drafts: its least dollars and most speed. [USD], [1/s]"""

    usd: float
    fastest: float
    on_chip: ModelOnChip
    drafts: int

    @property
    def tricks(self) -> int:
        """How many tricks it takes. [1]"""
        return len(self.on_chip.changes) + bool(self.drafts)

    def keeps_answers(self, base: Base) -> bool:
        """Whether model and formats are today's, or the model is one that was named."""
        return not self.on_chip.in_fewest_bits and base.may_take(self.on_chip.scenario.model)

    def hopes(self, speed: float) -> Floats:
        """Return the least that each layout may cost: verifying drafts takes no less time."""
        found = self.on_chip.placed
        if found is None:
            return np.array([inf])
        each = _KEPT[self.drafts] * found.each
        return least_usd(found.layouts, found.batch, each, speed) * self.on_chip.chip.hour


def _ways(base: Base) -> list[_Way]:
    """Return today's chips and other ones, with each model."""
    today, others = base.scenario, (*base.rivals, *base.sram_machines)
    places: list[tuple[tuple[str, ...], Scenario]] = []
    for chip, scenario in [((), today), *(((one.id,), base.on(one)) for one in others)]:
        places.append((chip, scenario))
        for model in base.smaller:
            places.append(((*chip, model.id), with_model(scenario, model)))
    found = [
        ModelOnChip((*changes, *more), scenario, base.deployments, in_fewest_bits=bool(more))
        for changes, scenario in places
        for more in ((), ("fewest bits",))
    ]
    models = OfModel(*np.array([one.model for one in found], dtype=float).T)
    chips = OfChip(*np.array([one.chip for one in found], dtype=float).T)
    narrow = zip(models, in_fewest_bits(models, chips), strict=True)
    is_narrow = np.array([one.in_fewest_bits for one in found])
    models = OfModel(*(np.where(is_narrow, few, own) for own, few in narrow))
    ways = []
    for drafts, kept in _KEPT.items():
        usd, most = least(models, chips, drafts=drafts, kept=kept, speed=base.speed)
        each = zip(usd.tolist(), most.tolist(), found, strict=True)
        ways += [_Way(*one, drafts) for one in each]
    return ways


def combinations(base: Base) -> list[Option]:
    """Return the cheapest combination of two, three and four tricks.

    And the cheapest of all that keep today's model, and of those that keep its formats, too.
    """
    ways: dict[tuple[int, bool], list[_Way]] = defaultdict(list)
    same, whole = list[_Way](), list[_Way]()
    for one in sorted(_ways(base), key=lambda one: one.usd):
        is_priced = bool(one.on_chip.chip.is_priced)
        ways[one.tricks, is_priced].append(one)
        if is_priced and one.tricks in COUNTS:
            same += [one] * (one.on_chip.scenario.model is base.scenario.model)
            whole += [one] * one.keeps_answers(base)
    found, why_not = [], "no combination of so many reaches it"
    for count, name in COUNTS.items():
        option = _cheapest(base, ways[count, True]) or _cheapest(base, ways[count, False])
        is_out = base.keeps_model and count == max(COUNTS)
        none = Option(name, "", why_not=why_not, tricks=count, is_ruled_out=is_out)
        found.append(option or none)
    for kept in (_cheapest(base, same), _cheapest(base, whole)):
        if kept and all((one.trick, one.change) != (kept.trick, kept.change) for one in found):
            found.append(kept)
    return sorted(found, key=lambda one: one.tricks)


def _cheapest(base: Base, ways: list[_Way]) -> Option | None:
    """Return the cheapest of some ways, which are in order of the least that they may cost."""
    best, option, hopes = inf, None, list[tuple[float, int]]()
    for place, bound in enumerate(chain((one.usd for one in ways), [inf])):
        # Ways whose octaves promise less than any that follow are searched first.
        while hopes and hopes[0][0] <= min(bound, best):
            way = ways[heappop(hopes)[1]]
            found = _search(base, way, best)
            best, option = found if found else (best, option)
        if bound >= best or place == len(ways):
            return option
        hope = float(ways[place].hopes(base.speed).min())
        if hope < best:
            heappush(hopes, (hope, place))
    return option


def _search(base: Base, way: _Way, below: float) -> tuple[float, Option] | None:
    """Return what a way costs and comes to, if less than what is known."""
    found = way.on_chip.placed
    if found is None:
        return None
    few = [found.layouts[row] for row in np.flatnonzero(way.hopes(base.speed) < below)]
    change, scenario = way.on_chip.with_drafts(way.drafts)
    outcome = cheapest(Space(scenario), few, base.speed, below).outcome
    if outcome is None:
        return None
    hour = float(way.on_chip.chip.hour) * outcome.placement.layout.chips
    tokens = outcome.estimate.total[0]
    usd = float(usd_per_million(usd_per_hour=hour, seconds=1.0, tokens=tokens))
    return usd, Option(COUNTS[way.tricks], change, outcome, tricks=way.tricks)


def nearest(base: Base) -> tuple[float, str]:
    """Return the highest speed of one user over all combinations, and which it is. [1/s]"""
    most, how = 0.0, ""
    for way in sorted(_ways(base), key=lambda one: -one.fastest):
        if way.fastest <= most:
            break
        found = way.on_chip.placed
        if found is not None and _KEPT[way.drafts] * float(found.each[:, 0].max()) > most:
            words, scenario = way.on_chip.with_drafts(way.drafts)
            space = Space(scenario)
            held = space.holding(found.layouts)
            if held:
                alone = speeds(space.site.place_all(held, axes=1), scenario.traffic, 1.0)
                most, how = max((most, how), (float(alone.max()), words))
    return most, how
