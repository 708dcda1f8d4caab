"""Search for the layouts and batches on the frontier of speed per user and price."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from fastcalc.core.outcome import Outcome
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.smaller_batch import largest_batches, speeds
from fastcalc.errors import InputError
from fastcalc.formulas.dominance import undominated
from fastcalc.formulas.money import usd_per_million
from fastcalc.formulas.types import Floats
from fastcalc.grid.largest_batch import by_octaves
from fastcalc.grid.space import Space
from fastcalc.mentions import option

_EDGE = 1024  # most batches tried between two points: speeds print with three digits
_AT_ONCE = 2048  # layouts evaluated together, so that the arrays fit in the caches of a core


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """One batch of an outcome, which evaluates several batches in one layout."""

    outcome: Outcome
    index: int

    @property
    def batch(self) -> int:
        """The number of sequences decoded together."""
        return self.outcome.scenario.batches[self.index]

    @property
    def speed(self) -> float:
        """The expected decode speed per user, per second."""
        return float(self.outcome.estimate.speed[self.index])

    @property
    def usd(self) -> float:
        """The price per million output tokens, in USD."""
        assert self.outcome.usd
        return float(self.outcome.usd[1][self.index])


class _Tried(NamedTuple):
    """A candidate batch in a layout, before it is fully evaluated."""

    space: Space
    layout: Layout
    batch: float
    speed: float
    usd: float


def frontier(scenarios: Sequence[Scenario], *, max_chips: int) -> list[FrontierPoint]:
    """Find the frontier of expected speed and $/Mtok, starting with the cheapest point.

    The batches and chip counts of the scenarios are ignored. Scenarios without a price are skipped.
    """
    candidates = [
        candidate for scenario in scenarios for candidate in _batches(Space(scenario), max_chips)
    ]
    figures = [(candidate.speed, candidate.usd) for candidate in candidates]
    speed, usd = np.array(figures).reshape(-1, 2).T
    survivors = [
        candidates[position] for position in np.flatnonzero(undominated(gain=speed, cost=usd))
    ]
    points: list[FrontierPoint] = []
    for _, group in groupby(
        survivors, key=lambda candidate: (id(candidate.space), candidate.layout)
    ):
        members = list(group)
        outcome = members[0].space.at(
            members[0].layout, *(int(candidate.batch) for candidate in members)
        )
        # The user did not choose ranks, so the best layout determines the capacity.
        chips = Sharding(chips=members[0].layout.chips)
        outcome = replace(outcome, scenario=replace(outcome.scenario, sharding=chips))
        points += [FrontierPoint(outcome, index) for index in range(len(members))]
    return sorted(points, key=lambda point: point.speed)


def _batches(space: Space, max_chips: int) -> Iterator[_Tried]:
    """Yield the batches of a scenario that none of its other batches or layouts beats."""
    scenario = space.scenario
    price = scenario.pricing.per_chip_hour(scenario.hardware)
    layouts = [] if price is None else space.layouts(*range(1, max_chips + 1))
    for start in range(0, len(layouts), _AT_ONCE):
        item = layouts[start : start + _AT_ONCE]
        batch, speed = by_octaves(space, item)
        chips = np.array([[layout.chips] for layout in item])
        hour = (price or 0.0) * chips / scenario.pricing.utilization
        usd = usd_per_million(usd_per_hour=hour, seconds=1.0 / speed, tokens=batch)
        for row, column in np.argwhere(undominated(gain=speed, cost=usd)):
            at = row, column
            yield _Tried(space, item[row], batch[at], speed[at], usd[at])


def edge(before: Sequence[FrontierPoint], after: Sequence[FrontierPoint]) -> float:
    """Return the speed up to which one group of points is cheaper than the next, in tokens/s.

    Searches every whole batch between those already tried, so that the speed at which one chip
    replaces another on the frontier is exact.

    before, after : Points of two neighboring groups on the frontier.
    """
    ends = before[-1].speed, after[0].speed
    curve, rival = (_between(points, *ends) for points in (before, after))
    wins = [
        speed
        for speed, usd in curve[:, curve[0] < after[0].speed].T
        if usd < np.min(rival[1, rival[0] >= speed], initial=np.inf)
    ]
    return float(max(wins, default=ends[0]))


def _between(points: Sequence[FrontierPoint], low: float, high: float) -> Floats:
    """Return speed and price for the points' layouts at all batches between two speeds."""
    curves = [np.empty((2, 0))]
    for point in {id(point.outcome): point for point in points}.values():
        placement, traffic = point.outcome.placement, point.outcome.scenario.traffic
        largest, smallest = largest_batches(placement, traffic, np.array([low, high])).tolist()
        if largest:
            batch = np.unique(np.linspace(max(smallest, 1), largest, _EDGE).round())
            user_speeds = speeds(placement, traffic, batch)
            # The price per hour does not depend on the batch.
            hour = point.usd * point.batch * point.speed
            curves.append(np.stack([user_speeds, hour / (batch * user_speeds)]))
    return np.concatenate(curves, axis=1)


def placeable(scenarios: Sequence[Scenario], max_chips: int) -> tuple[list[Scenario], list[str]]:
    """Select the scenarios that fit and have a price, and return why the others do not."""
    allowed, reasons = list[Scenario](), dict[str, None]()
    for scenario in scenarios:
        chip, model, space = scenario.hardware.id, scenario.model.id, Space(scenario)
        if scenario.pricing.per_chip_hour(scenario.hardware) is None:
            price = option("price", f"{chip}=USD")
            reasons[f"{chip} has no {scenario.pricing.name} price; set one with {price}"] = None
            continue
        try:
            if space.layouts(*range(1, max_chips + 1)):
                allowed.append(scenario)
                continue
        except InputError as error:
            reasons[f"{chip}: {error.sentence}"] = None
            continue
        by_default = space.fewest_chips
        if by_default is None:
            reasons[f"{model} does not fit {chip} with up to {max_chips:,} chips"] = None
            continue
        counts = range(max_chips, by_default)
        fewest = next((count for count in counts if space.layouts(count)), by_default)
        limit = f"{option('max_chips')} is {max_chips:,}"
        reasons[f"{model} needs {fewest:,} chips of {chip}; {limit}"] = None
    return allowed, [*reasons]
