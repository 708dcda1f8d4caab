"""Inverse search: the values of one or two parameters at which a metric reaches a target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from math import exp, inf, isclose, isfinite, log

import numpy as np

from fastcalc.core.outcome import Outcome
from fastcalc.core.scenario import Scenario
from fastcalc.features.sensitivity.crossing import nearest
from fastcalc.features.sensitivity.effects import ends_of
from fastcalc.features.sensitivity.figures import BatchFigure, MovedFigures
from fastcalc.features.sensitivity.levers import Lever, levers


@dataclass(frozen=True)
class Target:
    """A metric and its minimum or, for times and prices, its maximum, in SI units."""

    figure: str
    value: float

    def reached(self, value: float) -> bool:
        """Check whether a value reaches the target. NaN does not."""
        return value >= self.value if self.figure == "speed" else value <= self.value

    def surplus(self, value: float) -> float:
        """Return the fraction of time or money to spare. Negative if the target is missed."""
        if np.isnan(value) or (self.figure == "speed" and value <= 0.0):
            return -inf
        left = 1.0 - (self.value / value if self.figure == "speed" else value / self.value)
        return max(left, 0.0) if self.reached(value) else min(left, -_LEAST)

    def better(self, first: float, second: float) -> bool:
        """Check whether one value is better than another. NaN is worse than any."""
        if np.isnan(second):
            return not np.isnan(first)
        return first > second if self.figure == "speed" else first < second


@dataclass(frozen=True)
class NeededValue:
    """The value of a single parameter that reaches the target.

    figure : The metric of the target.
    value : The value nearest to the present one that reaches the target, or None if none does.
    extreme, today : The metric at the best valid value, and at the present value, in SI units.
    """

    lever: Lever
    figure: str
    value: float | None
    extreme: float
    today: float

    @property
    def moves(self) -> bool:
        """Whether the metric at the best value differs from today's by more than rounding."""
        is_same = isclose(self.extreme, self.today, rel_tol=_ROUNDING)
        return isfinite(self.extreme) and not is_same

    @property
    def factor(self) -> float | None:
        """The value needed relative to the present one, or 0 if 0 is needed."""
        return None if self.value is None else self.value / self.lever.number.value


@dataclass(frozen=True)
class Pair:
    """The two parameters that reach a target with the smallest change.

    values : Values that reach the target.
    factor : The improvement of each parameter, or less if it reaches its limit first.
    """

    levers: tuple[Lever, Lever]
    values: tuple[float, float]
    factor: float


@dataclass(frozen=True)
class Goal:
    """The ways to reach a target at one batch.

    scenario : The scenario reduced to this batch, with its layout fixed.
    """

    scenario: Scenario
    target: Target
    alone: Sequence[NeededValue]
    pair: Pair | None

    @property
    def is_reached(self) -> bool:
        """Whether one or two parameters reach the target."""
        return self.pair is not None or any(answer.value is not None for answer in self.alone)


def goals(outcome: Outcome, target: Target, figures: MovedFigures | None = None) -> dict[int, Goal]:
    """Find the values of each parameter that reach a target, for each batch that fits.

    The searches for single parameters run in parallel, so that scenarios are evaluated together.

    figures : The metrics of the outcome's layout, shared with other searches.
    """
    figures = figures or MovedFigures(outcome.on_its_layout)
    of_batches = {
        index: BatchFigure(figures, target.figure, index)
        for index, fits in enumerate(outcome.estimate.fits)
        if fits
    }
    all_swings = levers(figures.scenario)
    searches = [
        partial(_alone, cache(partial(figure.with_value, lever)), lever, target)
        for figure in of_batches.values()
        for lever in all_swings
    ]
    answers = figures.answered.in_step(searches)
    of_pairs = [
        partial(_goal, figure, target, answers[first : first + len(all_swings)])
        for first, figure in zip(count(0, len(all_swings)), of_batches.values(), strict=False)
    ]
    return dict(zip(of_batches, figures.answered.in_step(of_pairs), strict=True))


def _goal(figures: BatchFigure, target: Target, answers: Sequence[NeededValue]) -> Goal:
    """Find the ways to reach a target at a batch: single parameters, and the best pair.

    answers : The value needed for each parameter alone.
    """
    factors = [answer.factor for answer in answers if not answer.lever.is_choice]
    furthest = min((max(f, 1.0 / f) for f in factors if f), default=_FURTHEST)
    moved = [answer.lever for answer in answers if not answer.lever.is_choice]
    pair = _least_pair(figures, moved, target, furthest)
    return Goal(figures.scenario, target, answers, pair)


def _alone(figure: Callable[[float], float], lever: Lever, target: Target) -> NeededValue:
    now = lever.number.value
    today = figure(now)
    if target.reached(today):
        return NeededValue(lever, target.figure, now, today, today)
    if lever.is_choice:
        return _chosen(lever, target, figure)
    low, high = ends_of(lever)
    at_low, at_high = figure(low), figure(high)
    end, extreme = (high, at_high) if target.better(at_high, at_low) else (low, at_low)
    if not target.reached(extreme):
        return NeededValue(lever, target.figure, None, extreme, today)
    is_whole = lever.number.limit.is_whole
    value = nearest(lambda value: target.surplus(figure(value)), end, now, is_whole=is_whole)
    return NeededValue(lever, target.figure, value, extreme, today)


def _chosen(lever: Lever, target: Target, figure: Callable[[float], float]) -> NeededValue:
    """Find the nearest value that reaches a target if the better direction is unknown.

    The value is doubled and halved until it reaches the target or the metric keeps getting worse.
    Then the last interval is searched for the nearest value.
    """
    now, limit = lever.number.value, lever.number.limit
    today = extreme = figure(now)
    reaching = list[float]()
    for factor in (2.0, 0.5):
        before, at_before, falls = now, today, 0
        for _ in range(_DOUBLINGS):
            value = round(before * factor) if limit.is_whole else before * factor
            if value == before or value not in limit or falls == _FALLS:
                break
            answer = figure(value)
            extreme = answer if target.better(answer, extreme) else extreme
            if target.reached(answer):
                reaching.append(_between(lever, target, figure, (value, before)))
                break
            is_fall = target.better(at_before, answer) or np.isnan(answer)
            falls = falls + 1 if is_fall else 0
            before, at_before = value, answer
    nearest_value = min(reaching, key=lambda value: abs(log(value / now)), default=None)
    return NeededValue(lever, target.figure, nearest_value, extreme, today)


def _between(
    lever: Lever, target: Target, figure: Callable[[float], float], ends: tuple[float, float]
) -> float:
    """Find the value nearest to the second bound that reaches the target, as the first does.

    If there are few integers, all of them are tried, since not all may be valid.
    """

    def surplus(value: float) -> float:
        return target.surplus(figure(value))

    good, bad = ends
    is_whole = lever.number.limit.is_whole
    if is_whole and abs(good - bad) <= _FEW:
        values = np.linspace(bad, good, round(abs(good - bad)) + 1)
        return next(float(value) for value in values if surplus(value) >= 0.0)
    if is_whole:
        return nearest(lambda value: surplus(round(value)), good, bad, is_whole=True)
    return nearest(surplus, good, bad)


_DOUBLINGS = 10
_FALLS = 3
"""Number of consecutive doublings that are worse or impossible after which the search stops."""
_FEW = 64

Group = Sequence[Lever]


def _least_pair(
    figures: BatchFigure, listed: Sequence[Lever], target: Target, furthest: float
) -> Pair | None:
    """Find the pair of parameters that reaches a target with the smallest change.

    Both improve by the same factor, which is the smallest of all pairs. None if a single parameter
    needs no larger factor.

    furthest : The factor required by a single parameter.
    """
    solve_all = figures.of_all.answered.each
    good_ends = solve_all([partial(_good_end, figures, lever, target) for lever in listed])
    ends = {lever: end for lever, end in zip(listed, good_ends, strict=True) if end is not None}

    def surplus(moved: Sequence[Lever], factor: float) -> float:
        values = {lever: _better(lever, ends[lever], factor) for lever in moved}
        return target.surplus(figures.at(values))

    at_start = furthest * (1.0 - _NEARER)
    strengths = solve_all([partial(surplus, [lever], at_start) for lever in ends])
    by_lever = dict(zip(ends, strengths, strict=True))
    strongest = sorted(ends, key=by_lever.__getitem__, reverse=True)
    nearest_pair: Pair | None = None
    waiting: list[tuple[Group, Group]] = [(strongest, strongest)]
    while waiting:
        groups = waiting.pop()
        limit = (furthest if nearest_pair is None else nearest_pair.factor) * (1.0 - _NEARER)
        together = list(dict.fromkeys([*groups[0], *groups[1]]))
        # Better values never worsen a metric, so no pair reaches a target that all of them miss.
        if limit <= 1.0 or len(together) < 2 or surplus(together, limit) < 0.0:
            continue
        if len(together) == 2:
            factor = nearest(partial(surplus, together), limit, 1.0)
            first, second = (_better(lever, ends[lever], factor) for lever in together)
            nearest_pair = Pair((together[0], together[1]), (first, second), factor)
        else:
            waiting += _smaller(*groups)
    return nearest_pair


def _smaller(first: Group, second: Group) -> list[tuple[Group, Group]]:
    """Split groups into smaller ones that cover the same pairs, strongest parameters last."""
    if first is second or len(first) >= len(second):
        half = len(first) // 2
        strong, weak = first[:half], first[half:]
        if first is second:
            return [(weak, weak), (strong, weak), (strong, strong)]
        return [(weak, second), (strong, second)]
    half = len(second) // 2
    return [(first, second[half:]), (first, second[:half])]


_NEARER = 1e-6
"""Fraction by which the factor of another pair must be smaller."""
_FURTHEST = exp(30.0)
"""Largest factor that is searched."""
_ROUNDING = 1e-9
"""Change of a metric below which a parameter has no effect, to ignore float rounding."""
_LEAST = 1e-15
"""Relative miss of a target that counts as float rounding."""


def _good_end(figures: BatchFigure, lever: Lever, target: Target) -> float | None:
    """Return the bound of a parameter with the better metric, or None if both are equal."""
    low, high = ends_of(lever)
    solve_all = figures.of_all.answered.each
    at_low, at_high = solve_all([partial(figures.at, {lever: end}) for end in (low, high)])
    if target.better(at_high, at_low):
        return high
    return low if target.better(at_low, at_high) else None


def _better(lever: Lever, end: float, factor: float) -> float:
    """Move a parameter towards its better bound by a factor, within its limits."""
    now = lever.number.value
    return min(now * factor, end) if end > now else max(now / factor, end)
