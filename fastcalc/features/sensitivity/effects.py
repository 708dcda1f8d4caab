"""What a little more of each number buys, where more buys nothing, and the most that it can buy."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, inf, log, nan

import numpy as np

from fastcalc.core.scenario import Outcome, Scenario, solve
from fastcalc.features.sensitivity.crossing import nearest
from fastcalc.features.sensitivity.figures import (
    FIGURES,
    Answers,
    MovedFigure,
    answers_of,
    moved_answers,
)
from fastcalc.features.sensitivity.levers import Lever, levers, with_layout
from fastcalc.formulas.types import Floats

MORE = 1.1
"""Ten per cent more. [1]"""

NEARLY = 0.99
"""Share of all that a number can buy, from which it is said to buy nothing more. [1]"""

_STEP = 1e-4
"""Half of the logarithm over which a slope is taken. [1]"""
_FURTHEST = 2.0
"""How far the next value that a file may hold is looked for. [1]"""
_LEAST = 1e-9
"""Change of a figure below which a number does not move it: digits of a float. [1]"""


@dataclass(frozen=True, eq=False)
class OtherValue:
    """Another value of a number.

    value : ten per cent off, or the next that a file may hold; None beyond its limit
    change : each figure there over what it was; nan where the batch does not fit [1]
    """

    value: float | None
    change: Answers


@dataclass(frozen=True, eq=False)
class Effect:
    """What a number does to each figure, an element for each batch.

    elasticity : per cent of each figure for a per cent of the number; with ten per cent more of
        whole numbers of a model, and of the largest batch, which is a whole number itself [1]
    raised, lowered : ten per cent more and less of it
    reach : speed with the best value that a file may hold, over what it was [1]
    enough : value from which on less than a hundredth of that is left to gain; nan where no other
        value buys so much
    """

    lever: Lever
    elasticity: Answers
    raised: OtherValue
    lowered: OtherValue
    reach: Floats
    enough: Floats

    @property
    def moves(self) -> bool:
        """Whether it moves any figure at any batch, or less of it would."""
        slopes = (getattr(self.elasticity, figure) for figure in FIGURES)
        is_moved = any(np.any(np.abs(slope) > 1e-6) for slope in slopes)
        return is_moved or bool(np.isfinite(self.enough).any())


def effects(outcome: Outcome, speeds: MovedFigure | None = None) -> list[Effect]:
    """Return what each number of an outcome's files does on the layout that it has.

    Those that a file with any other value would be refused for are left out.

    speeds : of that layout, where somebody else asks for them as well
    """
    speeds = speeds or MovedFigure(with_layout(outcome), "speed")
    scenario = speeds.scenario
    base = answers_of(solve(scenario))
    measured = (_effect(speeds, base, lever) for lever in levers(scenario))
    return [effect for effect in measured if effect is not None]


def _effect(speeds: MovedFigure, base: Answers, lever: Lever) -> Effect | None:
    scenario = speeds.scenario
    raised, lowered = (_step(scenario, base, lever, factor) for factor in (MORE, 1.0 / MORE))
    over_step = _nothing(scenario)
    if raised.value is not None:
        over_step = _slope(raised.change, log(raised.value / lever.number.value))
    if lever.file == "model":
        void = np.full(base.speed.shape, nan)
        effect = Effect(lever, over_step, raised, lowered, void, void)
        return None if raised.value is None else effect
    slope = replace(_local_slope(scenario, base, lever), largest_batch=over_step.largest_batch)
    reach, enough = _ends(speeds, base.speed, lever)
    return Effect(lever, slope, raised, lowered, reach, enough)


def _nothing(scenario: Scenario) -> Answers:
    return Answers(*(np.full(len(scenario.batches), nan) for _ in FIGURES))


def _step(scenario: Scenario, base: Answers, lever: Lever, factor: float) -> OtherValue:
    """A number times a factor, or the next value beyond that a file may hold."""
    value, limit = lever.number.value, lever.number.limit
    values: Iterable[float] = [min(max(value * factor, limit.minimum), limit.maximum)]
    if limit.is_whole:
        sign = 1 if factor > 1.0 else -1
        first = sign * max(sign * round(value * factor), sign * int(value) + 1)
        last = int(value * _FURTHEST**sign) if lever.file == "model" else first
        values = map(float, range(first, last + sign, sign))
    for moved in values:
        if moved in limit and moved != value:
            answers = moved_answers(scenario, lever, moved)
            if answers is not None:
                return OtherValue(moved, answers.over(base))
    return OtherValue(None, _nothing(scenario))


def _local_slope(scenario: Scenario, base: Answers, lever: Lever) -> Answers:
    """Per cent of each figure for a per cent of a number, from a little less to more."""
    value, limit = lever.number.value, lever.number.limit
    low = max(value * exp(-_STEP), min(limit.minimum, value))
    high = min(value * exp(_STEP), max(limit.maximum, value))
    before, after = (moved_answers(scenario, lever, end) for end in (low, high))
    if before is None:  # a layout may need all of it, as of chips that a link joins
        before, low = base, value
    if after is None:
        after, high = base, value
    return _slope(after.over(before), log(high / low)) if low < high else _nothing(scenario)


def _slope(ratio: Answers, distance: float) -> Answers:
    """Slopes of logarithms, 0 where only the last digits of a float differ."""

    def slope(figure: Floats) -> Floats:
        change = np.log(figure)
        return np.where(np.abs(change) < _LEAST, 0.0, change / distance)

    return Answers(*(slope(getattr(ratio, figure)) for figure in FIGURES))


def ends_of(lever: Lever) -> tuple[float, float]:
    """Least and the largest value that a file may hold."""
    limit = lever.number.limit
    return (0.0 if limit.zero else limit.minimum), limit.maximum


def _ends(moved: MovedFigure, speed: Floats, lever: Lever) -> tuple[Floats, Floats]:
    """Most that a number can make of the speed, and the value from which on it has."""
    speeds = [moved.at({lever: end}) for end in ends_of(lever)]
    low, high = (np.where(np.isnan(end), 0.0, end) for end in speeds)
    is_raised = high >= low
    fastest = np.maximum(np.maximum(low, high), speed)
    enough = np.full(speed.shape, nan)
    for place in range(speed.size):
        limits = ends_of(lever) if is_raised[place] else ends_of(lever)[::-1]
        slowest = (low if is_raised[place] else high)[place]
        if not lever.is_choice and slowest < NEARLY * fastest[place]:
            enough[place] = _enough(moved, lever, place, limits, NEARLY * fastest[place])
    return fastest / speed, enough


def _enough(
    moved: MovedFigure, lever: Lever, place: int, limits: tuple[float, float], speed: float
) -> float:
    """Value nearest to the first limit that reaches a speed at a batch."""

    def surplus(value: float) -> float:
        at_value = moved.at({lever: value})[place]
        return float(1.0 - speed / at_value) if at_value > 0.0 else -inf

    is_whole = lever.number.limit.is_whole
    return nearest(surplus, limits[1], limits[0], is_whole=is_whole)
