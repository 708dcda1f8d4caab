"""The other way round: what one number, or two, would have to be for a figure to reach a target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, log

import numpy as np

from fastcalc.core.scenario import Outcome, Scenario
from fastcalc.search.sensitivity.answers import moved_figure
from fastcalc.search.sensitivity.effects import ends_of, nearest
from fastcalc.search.sensitivity.levers import Lever, levers, with_layout


@dataclass(frozen=True)
class Target:
    """A figure, and what it is to be at least, or for times and prices at most. [SI]"""

    figure: str
    value: float

    def reached(self, value: float) -> bool:
        """Return whether a figure is good enough; nan is not."""
        return value >= self.value if self.figure == "speed" else value <= self.value

    def better(self, first: float, second: float) -> bool:
        """Return whether one figure is better than another; nan is worse than any."""
        if np.isnan(second):
            return not np.isnan(first)
        return first > second if self.figure == "speed" else first < second


@dataclass(frozen=True)
class NeededValue:
    """What one number would have to be.

    figure : what is to reach the target
    value : that reaches the target, nearest to what it is; None where none does
    extreme : the figure with the best value that a file may hold [SI]
    """

    lever: Lever
    figure: str
    value: float | None
    extreme: float

    @property
    def factor(self) -> float | None:
        """How many times what it is; 0 where it would have to be nothing. [1]"""
        return None if self.value is None else self.value / self.lever.number.value


@dataclass(frozen=True)
class Pair:
    """The two numbers that reach a target with the least change, each by the same factor.

    values : what they would have to be
    factor : how many times better each is, or less where its limit comes first [1]
    """

    levers: tuple[Lever, Lever]
    values: tuple[float, float]
    factor: float


@dataclass(frozen=True)
class Goal:
    """How a batch reaches a target.

    scenario : of the batch alone, held to its layout
    """

    scenario: Scenario
    target: Target
    alone: Sequence[NeededValue]
    pair: Pair | None


def goal(outcome: Outcome, place: int, target: Target) -> Goal:
    """Return what each number would have to be for a batch to reach a target, and which two least.

    place : of the batch among those of the outcome
    """
    scenario = with_layout(outcome)
    scenario = replace(scenario, batches=(scenario.batches[place],))
    every = levers(scenario)
    answers = [_alone(scenario, lever, target) for lever in every]
    factors = [answer.factor for answer in answers if not answer.lever.is_choice]
    furthest = min((max(f, 1.0 / f) for f in factors if f), default=_FURTHEST)
    pair = _least_pair(
        scenario, [lever for lever in every if not lever.is_choice], target, furthest
    )
    return Goal(scenario, target, answers, pair)


def _alone(scenario: Scenario, lever: Lever, target: Target) -> NeededValue:
    def figure(value: float) -> float:
        return float(moved_figure(scenario, {lever: value}, target.figure)[0])

    now = lever.number.value
    if target.reached(figure(now)):
        return NeededValue(lever, target.figure, now, figure(now))
    if lever.is_choice:
        return _chosen(lever, target, figure)
    low, high = ends_of(lever)
    at_low, at_high = figure(low), figure(high)
    end, extreme = (high, at_high) if target.better(at_high, at_low) else (low, at_low)
    if not target.reached(extreme):
        return NeededValue(lever, target.figure, None, extreme)
    is_whole = lever.number.limit.is_whole
    value = nearest(lambda value: target.reached(figure(value)), end, now, is_whole=is_whole)
    return NeededValue(lever, target.figure, value, extreme)


def _chosen(lever: Lever, target: Target, figure: Callable[[float], float]) -> NeededValue:
    """Return the nearest value that reaches a target where more may be better or worse.

    It is doubled and halved until it does; the nearest between there and the last is taken.
    """
    now, limit = lever.number.value, lever.number.limit
    extreme, reaching = figure(now), list[float]()
    for factor in (2.0, 0.5):
        before = now
        for _ in range(_DOUBLINGS):
            value = round(before * factor) if limit.is_whole else before * factor
            if value == before or value not in limit:
                break
            answer = figure(value)
            extreme = answer if target.better(answer, extreme) else extreme
            if target.reached(answer):
                reaching.append(_between(lever, target, figure, (value, before)))
                break
            before = value
    nearest_value = min(reaching, key=lambda value: abs(log(value / now)), default=None)
    return NeededValue(lever, target.figure, nearest_value, extreme)


def _between(
    lever: Lever, target: Target, figure: Callable[[float], float], ends: tuple[float, float]
) -> float:
    """Return the value nearest to the second end that reaches a target, as the first does.

    Few whole numbers are all tried: a file may hold some of them only.
    """

    def reaches(value: float) -> bool:
        return target.reached(figure(value))

    good, bad = ends
    is_whole = lever.number.limit.is_whole
    if is_whole and abs(good - bad) <= _FEW:
        values = np.linspace(bad, good, round(abs(good - bad)) + 1)
        return next(float(value) for value in values if reaches(value))
    if is_whole:
        return nearest(lambda value: reaches(round(value)), good, bad, is_whole=True)
    return nearest(reaches, good, bad)


_DOUBLINGS = 10
_FEW = 64


def _least_pair(
    scenario: Scenario, listed: Sequence[Lever], target: Target, furthest: float
) -> Pair | None:
    """Return the two numbers of which the least change reaches a target.

    Both get better by one factor, the least of any two; None where it is not below one that is
    reached alone.

    furthest : that factor [1]
    """
    good_ends = ((lever, _good_end(scenario, lever, target)) for lever in listed)
    ends = {lever: end for lever, end in good_ends if end is not None}
    nearest_pair: Pair | None = None
    for first, second in combinations(ends, 2):

        def values(
            factor: float, pair: tuple[Lever, Lever] = (first, second)
        ) -> dict[Lever, float]:
            return {lever: _better(lever, ends[lever], factor) for lever in pair}

        def reaches(factor: float, values: Moved = values) -> bool:
            figure = moved_figure(scenario, values(factor), target.figure)
            return target.reached(float(figure[0]))

        limit = (furthest if nearest_pair is None else nearest_pair.factor) * (1.0 - 1e-6)
        if limit > 1.0 and reaches(limit):
            factor = nearest(reaches, limit, 1.0)
            moved = values(factor)
            nearest_pair = Pair((first, second), (moved[first], moved[second]), factor)
    return nearest_pair


Moved = Callable[[float], dict[Lever, float]]
_FURTHEST = exp(30.0)
"""A factor beyond which nothing is looked for. [1]"""


def _good_end(scenario: Scenario, lever: Lever, target: Target) -> float | None:
    """Return the end of a number where a figure is better, or None where both are alike."""
    low, high = ends_of(lever)
    at_low, at_high = (
        float(moved_figure(scenario, {lever: end}, target.figure)[0]) for end in (low, high)
    )
    if target.better(at_high, at_low):
        return high
    return low if target.better(at_low, at_high) else None


def _better(lever: Lever, end: float, factor: float) -> float:
    """Return a number so many times nearer to its good end, as far as it may go."""
    now = lever.number.value
    return min(now * factor, end) if end > now else max(now / factor, end)
