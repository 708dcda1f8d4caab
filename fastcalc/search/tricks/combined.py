"""Several tricks at once: the cheapest combinations that reach a speed.

A combination changes two or more of four things: the chips (another layout or number of today's,
or another kind), the model (a smaller one, in its own formats), the bits (the fewest of weights
and cache that the chip computes in) and the drafts (with the tokens a pass that are published).
Batch is solved for in each, and so is the layout wherever chips or model change. The cheapest has
the least dollars a million output tokens. Chips without a price count only where none with a price
reaches the speed; of those the fewest chip-seconds do.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.formats import FORMATS, number_format
from fastcalc.core.layout import Layout
from fastcalc.core.machine import EngineParameters
from fastcalc.core.scenario import Scenario, check_traffic
from fastcalc.errors import InputError
from fastcalc.formulas.counting import linear_flops
from fastcalc.search import Space, cheapest
from fastcalc.search.largest_batch import by_octaves, least_usd, speeds
from fastcalc.search.tricks.lighter_passes import PUBLISHED, drafting, narrowest
from fastcalc.search.tricks.option import Option
from fastcalc.search.tricks.start import Base, with_model

COUNTS = {2: "two-tricks", 3: "three-tricks", 4: "four-tricks"}
"""Tricks at once, and what they are called."""

_KEPT = {0: 1.0, **PUBLISHED}
"""Tokens of a pass by drafts. [1]"""

_STEPS = 2
"""Batches to an octave that say what a place may come to."""

_MOST = max(PUBLISHED.values())
"""The most tokens of a pass that are published. [1]"""


class ModelOnChip:
    """A model on a kind of chip, whatever its bits and drafts.

    changes : what of it is not as today
    scenario, layouts : what is served, and which layouts are looked at
    """

    def __init__(
        self,
        changes: tuple[str, ...],
        scenario: Scenario,
        layouts: Callable[[Space], list[Layout]],
    ) -> None:
        self.changes, self.scenario, self.layouts = changes, scenario, layouts
        price = scenario.pricing.per_chip_hour(scenario.hardware)
        self.is_priced = price is not None
        self.hour = (price or 1.0) / scenario.pricing.utilization

    @cached_property
    def _software(self) -> EngineParameters:
        engine, chip = self.scenario.engine, self.scenario.hardware
        return EngineParameters.of(engine.on(chip.kind, chip.architecture))

    @cached_property
    def _work(self) -> float:
        """The least time of a chip that a token takes, if weights and all else are free. [s]

        Its arithmetic at the highest peak, or if longer the read of its cache in the narrowest
        format, shared by the most tokens that a pass yields.
        """
        if self.scenario.memory.host is not None:  # its cores multiply as well
            return 0.0
        work, traffic, chip = self.scenario.work, self.scenario.traffic, self.scenario.hardware
        parameters = work.dense.parameters + work.head.parameters
        parameters += work.routed.parameters * work.active_share
        flops = linear_flops(parameters=parameters)
        flops = flops + work.attention_flops(traffic.context, spread=traffic.spread)
        peak = max(rate.si for rate in chip.peak.values())
        narrow = min(one.cache_bytes for one in FORMATS.values() if one.cache_bits)
        own = number_format(work.kv_format, cache=True).cache_bytes
        cache = work.cache_read_bytes(traffic.context, spread=traffic.spread)
        read = cache * min(narrow / own, 1.0) / sum(one.bandwidth.si for one in chip.memory)
        return float(max(flops / (peak * self._software.compute_fraction), read / _MOST))

    def least(self, kept: float, ranks: int = 1) -> float:
        """Return the least that a million tokens may cost. [USD]

        kept : tokens that a pass yields [1]
        ranks : chips that wait together for what the engine does sequence by sequence [1]
        """
        is_staged = self.scenario.hardware.execution == "sequential"
        each = float(self._software.sequence_overhead) * is_staged * ranks / kept
        return (self._work + each) * self.hour / 3600.0 * 1e6

    @cached_property
    def fastest(self) -> float:
        """The most that a user may get: layer floors alone. [1/s]"""
        floor = self.scenario.work.depth * float(self._software.decode_layer_floor)
        return _MOST / floor if floor else inf

    def variants(self) -> Iterator[tuple[tuple[str, ...], Scenario]]:
        """Yield what is changed, and what is served, in today's bits and in the fewest."""
        yield self.changes, self.scenario
        for words, scenario in narrowest(self.scenario):
            yield (*self.changes, words), scenario


def _places(base: Base) -> Iterator[ModelOnChip]:
    """Yield today's chips, cut as today and otherwise, and other ones, with each model."""
    today = base.scenario
    yield ModelOnChip((), today, lambda _: [base.layout])
    yield ModelOnChip(("other layout",), today, lambda _: base.up_to_today() + base.beyond_today())
    others = (*base.rivals, *base.sram_machines)
    for chip, scenario in [("", today), *((one.id, base.on(one)) for one in others)]:
        if chip:
            yield ModelOnChip((chip,), scenario, base.deployments)
        for model in base.smaller:
            changes = (*filter(None, [chip]), model.id)
            yield ModelOnChip(changes, with_model(scenario, model), base.deployments)


class _Best(NamedTuple):
    """The cheapest combination so far; dollars are as `ModelOnChip.hour` has them."""

    usd: float
    option: Option | None


def combinations(base: Base) -> list[Option]:
    """Return the cheapest combination of two tricks that reaches the speed, of three, of four."""
    places = [one for one in _places(base) if one.fastest >= base.speed * (1.0 - 1e-9)]
    best = dict.fromkeys(COUNTS, _Best(inf, None))
    for is_priced in (True, False):
        wanted = {count for count, one in best.items() if one.option is None}
        some = (one for one in places if one.is_priced is is_priced)
        for place in sorted(some, key=lambda one: one.least(_MOST)):
            with suppress(InputError):  # requests too long for the model, no memory of a name
                _search(base, place, wanted, best)
    why_not = "no combination of so many reaches it"
    return [
        one.option or Option(COUNTS[count], "", why_not=why_not, tricks=count)
        for count, one in best.items()
    ]


def _search(base: Base, place: ModelOnChip, wanted: set[int], best: dict[int, _Best]) -> None:
    """Put what a place comes to where it is cheaper than the best so far."""

    def hopeful(changed: int, ranks: int = 1) -> dict[int, float]:
        """Return the drafts that may be cheaper, and the tokens a pass that they yield."""
        return {
            drafts: kept
            for drafts, kept in _KEPT.items()
            if (count := changed + bool(drafts)) in wanted
            and place.least(kept, ranks) < best[count].usd
        }

    changed = len(place.changes)
    if not (hopeful(changed) or hopeful(changed + 1)):
        return
    check_traffic(place.scenario)
    for changes, scenario in place.variants():
        space, changed = Space(scenario), len(changes)
        layouts = place.layouts(space) if hopeful(changed) else []
        ranks = {tp for tp in {one.tp for one in layouts} if hopeful(changed, tp)}
        layouts = [one for one in layouts if one.tp in ranks]
        if not layouts:
            continue
        batch, each = by_octaves(space, layouts, steps=_STEPS)
        for drafts, kept in hopeful(changed).items():
            count = changed + bool(drafts)
            # A pass that verifies drafts takes no less time.
            hopes = least_usd(layouts, batch, kept * each, base.speed) * place.hour
            few = [layouts[row] for row in np.flatnonzero(hopes < best[count].usd)]
            if not few:
                continue
            words, with_drafts = drafted(scenario, drafts)
            reach = cheapest(Space(with_drafts), few, base.speed, best[count].usd)
            if reach.outcome is not None:
                total = float(reach.outcome.estimate.total[0])
                usd = place.hour * reach.outcome.placement.layout.chips / 3600.0 * 1e6 / total
                change = " + ".join((*changes, *words))
                best[count] = _Best(usd, Option(COUNTS[count], change, reach.outcome, tricks=count))


def drafted(scenario: Scenario, drafts: int) -> tuple[tuple[str, ...], Scenario]:
    """Return a scenario with some drafts or none, and the words for them."""
    if not drafts:
        return (), scenario
    words, found = drafting(scenario, drafts)
    return (words,), found


def nearest(base: Base) -> tuple[float, str]:
    """Return the highest speed expected of one user over all combinations, and which it is. [1/s]

    Today's point and single tricks are among them.
    """
    most, how = 0.0, ""
    for place in sorted(_places(base), key=lambda one: -one.fastest):
        if place.fastest <= most:
            break
        with suppress(InputError):
            check_traffic(place.scenario)
            for changes, scenario in place.variants():
                space = Space(scenario)
                layouts = place.layouts(space)
                alone = _alone(space, layouts)
                for drafts, kept in _KEPT.items():
                    if kept * alone > most:
                        words, with_drafts = drafted(scenario, drafts)
                        speed = _alone(Space(with_drafts), layouts)
                        most, how = max((most, how), (speed, " + ".join((*changes, *words))))
    return most, how


def _alone(space: Space, layouts: list[Layout]) -> float:
    """Return the speed of one user on the fastest of some layouts. [1/s]"""
    held = space.holding(layouts)
    if not held:
        return 0.0
    return float(speeds(space.site.place_all(held, axes=1), space.scenario.traffic, 1.0).max())
