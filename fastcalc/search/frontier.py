"""The points of many layouts and batches that no other beats in user speed and price."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from fastcalc.errors import InputError
from fastcalc.evaluate import evaluate
from fastcalc.formulas.types import ArrayLike, Bools
from fastcalc.layout import Layout
from fastcalc.scenario import Outcome, Scenario
from fastcalc.search.space import Space, Tier, chip_counts


def undominated(*, gain: ArrayLike, cost: ArrayLike) -> Bools:
    r"""Return which choices no other beats.

    .. math:: \nexists j: \; g_j \ge g_i, \; c_j \le c_i, \; (g_j, c_j) \ne (g_i, c_i)

    Of equal choices the first stands for all. A choice whose gain or cost is nan is never kept.

    Parameters
    ----------
    gain : array_like
        What more of is better, such as tokens a second of a user.
    cost : array_like
        What less of is better, such as dollars a million tokens.

    Returns
    -------
    ndarray of bool
        One for each choice.

    Examples
    --------
    >>> undominated(gain=[10, 20, 15, 20], cost=[1, 3, 4, 3]).tolist()
    [True, True, False, False]

    References
    ----------
    .. [1] H. T. Kung, F. Luccio, F. P. Preparata, "On finding the maxima of a set of vectors,"
       Journal of the ACM 22(4), 1975.
    """
    gains, costs = np.asarray(gain, float), np.asarray(cost, float)
    order = np.lexsort((np.arange(gains.size), costs, -gains))
    order = order[(np.isfinite(gains) & np.isfinite(costs))[order]]
    cheapest_before = np.minimum.accumulate(np.concatenate([[np.inf], costs[order]]))[:-1]
    kept = np.zeros(gains.shape, dtype=bool)
    kept[order[costs[order] < cheapest_before]] = True
    return kept


@dataclass(frozen=True, eq=False)
class Point:
    """One batch of an outcome.

    Attributes
    ----------
    outcome : Outcome
        A scenario solved for several batches on one layout.
    index : int
        Which of them.
    """

    outcome: Outcome
    index: int

    @property
    def batch(self) -> int:
        """Sequences decoded together. [1]"""
        return self.outcome.scenario.batches[self.index]

    @property
    def speed(self) -> float:
        """Tokens a second of each user, expected. [1/s]"""
        return float(self.outcome.estimate.speed[self.index])

    @property
    def usd(self) -> float:
        """Dollars a million output tokens. [USD]"""
        assert self.outcome.usd
        return float(self.outcome.usd[1][self.index])


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A batch on a layout before it is solved."""

    space: Space
    layout: Layout
    tier: Tier
    batch: int
    speed: float
    usd: float


def frontier(scenarios: Sequence[Scenario], *, max_chips: int) -> list[Point]:
    """Return the points that no other beats in expected user speed and $/Mtok output.

    Parameters
    ----------
    scenarios : sequence of Scenario
        Models, chips and formats to look at; their batches and chips are left aside, and so are
        those whose chip has no price.
    max_chips : int
        Most chips of a deployment. [1]

    Returns
    -------
    list of Point
        From the cheapest to the fastest.

    Raises
    ------
    InputError
        As `fastcalc.scenario.locate` does.
    """
    found = [point for scenario in scenarios for point in _candidates(scenario, max_chips)]
    kept = undominated(
        gain=np.array([one.speed for one in found]), cost=np.array([one.usd for one in found])
    )
    best = [point for point, is_kept in zip(found, kept, strict=True) if is_kept]
    points: list[Point] = []
    for _, group in groupby(best, key=lambda one: (id(one.space), one.layout, one.tier.fewest)):
        members = list(group)
        outcome = members[0].space.at(members[0].layout, *(one.batch for one in members))
        points += [Point(outcome, index) for index in range(len(members))]
    return sorted(points, key=lambda point: point.speed)


def _candidates(scenario: Scenario, max_chips: int) -> Iterator[_Candidate]:
    space, price = Space(scenario), scenario.pricing.per_chip_hour(scenario.hardware)
    fewest = space.fewest_chips
    if price is None or fewest is None or fewest > max_chips:
        return
    for chips in chip_counts(fewest, max_chips):
        for layout in space.layouts(chips):
            hour = price * layout.chips / scenario.pricing.utilization
            for tier in space.tiers(layout):
                batches = np.array(chip_counts(tier.fewest, tier.most), float)
                estimate = evaluate(tier.placement, batch=batches, traffic=scenario.traffic)
                points = zip(batches, estimate.speed, estimate.usd(hour)[1], strict=True)
                for batch, speed, usd in points:
                    yield _Candidate(space, layout, tier, batch, float(speed), float(usd))


def placeable(scenarios: Sequence[Scenario], max_chips: int) -> tuple[list[Scenario], list[str]]:
    """Return the scenarios that have a place and a price, and why the others have not.

    Parameters
    ----------
    scenarios : sequence of Scenario
        Models, chips and formats.
    max_chips : int
        Most chips of a deployment. [1]
    """
    allowed, refused = [], []
    for scenario in scenarios:
        reason = _refusal(scenario, max_chips)
        if reason is None:
            allowed.append(scenario)
        else:
            refused.append(reason)
    return allowed, list(dict.fromkeys(refused))


def _refusal(scenario: Scenario, max_chips: int) -> str | None:
    chip, model = scenario.hardware.id, scenario.model.id
    if scenario.pricing.per_chip_hour(scenario.hardware) is None:
        basis = scenario.pricing.basis
        return f"{chip} has no {basis} price; give one with --price {chip}=USD"
    try:
        fewest = Space(scenario).fewest_chips
    except InputError as error:
        return f"{chip}: {error}"
    if fewest is None:
        return f"{model} fits on no number of chips of {chip}"
    if fewest > max_chips:
        return f"{model} needs {fewest:,} chips of {chip}; --max-chips is {max_chips:,}"
    return None
