"""What a little more of each number buys, where more buys nothing, and the most that it can buy."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from math import exp, inf, log, nan

import numpy as np

from fastcalc.core.scenario import Outcome, Scenario, solve
from fastcalc.features.sensitivity.crossing import nearest
from fastcalc.features.sensitivity.figures import (
    FIGURES,
    Answers,
    MovedFigures,
    answers_of,
)
from fastcalc.features.sensitivity.levers import Lever, levers
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
        value has that effect
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
        is_moved = any(np.any(np.abs(slope) > 1e-6) for slope in self.elasticity)
        return is_moved or bool(np.isfinite(self.enough).any())


def effects(outcome: Outcome, figures: MovedFigures | None = None) -> list[Effect]:
    """What each number of an outcome's files does on the layout that it has.

    Those that a file with any other value would be refused for are omitted. All numbers are moved
    in step, so that their scenarios are evaluated together.

    figures : of that layout, where somebody else asks for them as well
    """
    figures = figures or MovedFigures(outcome.on_its_layout)
    scenario, in_step = figures.scenario, figures.answered.in_step
    base = answers_of(solve(scenario))
    measured = in_step([partial(_effect, figures, base, lever) for lever in levers(scenario)])
    effects = [effect for effect in measured if effect is not None]
    searches = [_enough_at(figures, effect, base.speed) for effect in effects]
    values = iter(in_step([search for of_one in searches for search in of_one.values()]))
    for effect, of_one in zip(effects, searches, strict=True):
        for index in of_one:
            effect.enough[index] = next(values)
    return effects


def _effect(figures: MovedFigures, base: Answers, lever: Lever) -> Effect | None:
    """What a number does, but for the value from which on it buys nothing more."""
    scenario = figures.scenario
    raised, lowered = (_step(figures, base, lever, factor) for factor in (MORE, 1.0 / MORE))
    over_step, void = _nothing(scenario), np.full(base.speed.shape, nan)
    if raised.value is not None:
        over_step = _slope(raised.change, log(raised.value / lever.number.value))
    if lever.file == "model":
        effect = Effect(lever, over_step, raised, lowered, void, void.copy())
        return None if raised.value is None else effect
    slope = _local_slope(figures, base, lever)._replace(largest_batch=over_step.largest_batch)
    low, high = _ends(figures, lever)
    fastest = np.maximum(np.maximum(low, high), base.speed)
    return Effect(lever, slope, raised, lowered, fastest / base.speed, void)


def _nothing(scenario: Scenario) -> Answers:
    return Answers(*(np.full(len(scenario.batches), nan) for _ in FIGURES))


def _step(figures: MovedFigures, base: Answers, lever: Lever, factor: float) -> OtherValue:
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
            answers = figures.answers(lever, moved)
            if answers is not None:
                return OtherValue(moved, answers.over(base))
    return OtherValue(None, _nothing(figures.scenario))


def _local_slope(figures: MovedFigures, base: Answers, lever: Lever) -> Answers:
    """Per cent of each figure for a per cent of a number, from a little less to more."""
    value, limit = lever.number.value, lever.number.limit
    low = max(value * exp(-_STEP), min(limit.minimum, value))
    high = min(value * exp(_STEP), max(limit.maximum, value))
    before, after = (figures.answers(lever, end) for end in (low, high))
    if before is None:  # a layout may need all of it, as of chips that a link joins
        before, low = base, value
    if after is None:
        after, high = base, value
    return _slope(after.over(before), log(high / low)) if low < high else _nothing(figures.scenario)


def _slope(ratio: Answers, distance: float) -> Answers:
    """Slopes of logarithms, 0 where only the last digits of a float differ."""

    def slope(figure: Floats) -> Floats:
        change = np.log(figure)
        return np.where(np.abs(change) < _LEAST, 0.0, change / distance)

    return Answers(*map(slope, ratio))


def ends_of(lever: Lever) -> tuple[float, float]:
    """Least and the largest value that a file may hold."""
    limit = lever.number.limit
    return (0.0 if limit.zero else limit.minimum), limit.maximum


def _ends(figures: MovedFigures, lever: Lever) -> tuple[Floats, Floats]:
    """Speeds with the least and the largest value that a file may hold; 0 where it has none."""
    low, high = (figures.at("speed", {lever: end}) for end in ends_of(lever))
    return np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), 0.0, high)


def _enough_at(
    figures: MovedFigures, effect: Effect, speed: Floats
) -> dict[int, Callable[[], float]]:
    """Searches for the value from which on a number buys no more, for batches that it moves.

    speed : as the number is [1/s]
    """
    lever = effect.lever
    if lever.file == "model" or lever.is_choice:
        return {}
    low, high = _ends(figures, lever)
    fastest = np.maximum(np.maximum(low, high), speed)
    is_raised, wanted = high >= low, NEARLY * fastest
    is_searched = np.minimum(low, high) < wanted
    return {
        index: partial(
            nearest,
            cache(partial(_surplus, figures, lever, index, float(wanted[index]))),
            *(ends_of(lever)[::-1] if is_raised[index] else ends_of(lever)),
            is_whole=lever.number.limit.is_whole,
        )
        for index in np.flatnonzero(is_searched).tolist()
    }


def _surplus(figures: MovedFigures, lever: Lever, index: int, speed: float, value: float) -> float:
    """Share of a token's time left over at a batch, against a speed. [1]"""
    at_value = figures.at("speed", {lever: value})[index]
    return float(1.0 - speed / at_value) if at_value > 0.0 else -inf
