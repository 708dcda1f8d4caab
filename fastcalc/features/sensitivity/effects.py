"""The effects of parameters: local effect, saturation value, and maximum gain."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from math import exp, inf, log, nan

import numpy as np

from fastcalc.core.outcome import Outcome, solve
from fastcalc.core.scenario import Scenario
from fastcalc.features.sensitivity.crossing import nearest
from fastcalc.features.sensitivity.figures import FIGURES, Answers, MovedFigures, answers_of
from fastcalc.features.sensitivity.levers import Lever, levers
from fastcalc.formulas.types import Floats

MORE = 1.1
"""Factor for 10% more."""

NEARLY = 0.99
"""Fraction of the maximum gain at which a parameter counts as saturated."""

_STEP = 1e-4
"""Half-width of the interval for slopes, as a logarithm."""
_FURTHEST = 2.0
"""Maximum distance to search for the next valid value."""
_LEAST = 1e-9
"""Change of a metric below which a parameter has no effect, to ignore float rounding."""


@dataclass(frozen=True, eq=False)
class OtherValue:
    """A changed value of a parameter.

    value : The value 10% higher or lower, or the next valid one; None beyond the limit.
    change : The ratio of each metric to its present value, or NaN if the batch does not fit.
    """

    value: float | None
    change: Answers


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of a parameter on each metric, with one element per batch.

    elasticity : The relative change of each metric per relative change of the parameter; for
        integers and the largest batch, from the change at 10% more.
    raised, lowered : Values 10% higher and lower.
    reach : The speed at the best valid value relative to the present speed.
    enough : The value above which less than a hundredth of the gain remains; nan if no other value
        has that effect.
    """

    lever: Lever
    elasticity: Answers
    raised: OtherValue
    lowered: OtherValue
    reach: Floats
    enough: Floats

    @property
    def moves(self) -> bool:
        """Whether more or less of it changes any metric at any batch."""
        is_moved = any(np.any(np.abs(slope) > 1e-6) for slope in self.elasticity)
        return is_moved or bool(np.isfinite(self.enough).any())


def effects(outcome: Outcome, figures: MovedFigures | None = None) -> list[Effect]:
    """Compute the effects of all parameters in an outcome's files, with its layout fixed.

    Parameters that have no other valid value are skipped. All parameters vary in parallel, so that
    their scenarios are evaluated together.

    figures : The metrics of that layout, shared with other searches.
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
    """Compute the effect of a parameter, without its saturation value."""
    scenario, each = figures.scenario, figures.answered.each
    steps = [partial(_step, figures, base, lever, factor) for factor in (MORE, 1.0 / MORE)]
    slope_and_ends = partial(_local_slope, figures, base, lever), partial(_ends, figures, lever)
    # Their metrics are evaluated in one round.
    each([*steps, *(() if lever.file == "model" else slope_and_ends)])
    raised, lowered = (step() for step in steps)
    over_step, void = _nothing(scenario), np.full(base.speed.shape, nan)
    if raised.value is not None:
        over_step = _slope(raised.change, log(raised.value / lever.number.value))
    if lever.file == "model":
        effect = Effect(lever, over_step, raised, lowered, void, void.copy())
        return None if raised.value is None else effect
    slope = over_step  # less than a whole chip of a domain counts as none, which would be a jump
    if raised.value is None or not lever.number.limit.is_whole:
        local = _local_slope(figures, base, lever)
        slope = local._replace(largest_batch=over_step.largest_batch)
    low, high = _ends(figures, lever)
    fastest = np.maximum(np.maximum(low, high), base.speed)
    return Effect(lever, slope, raised, lowered, fastest / base.speed, void)


def _nothing(scenario: Scenario) -> Answers:
    return Answers(*(np.full(len(scenario.batches), nan) for _ in FIGURES))


def _step(figures: MovedFigures, base: Answers, lever: Lever, factor: float) -> OtherValue:
    """Multiply a parameter by a factor, or take the next valid value beyond that."""
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
    """Compute the elasticity of each metric by a central difference."""
    value, limit = lever.number.value, lever.number.limit
    low = max(value * exp(-_STEP), min(limit.minimum, value))
    high = min(value * exp(_STEP), max(limit.maximum, value))
    before, after = figures.answered.each(
        [partial(figures.answers, lever, end) for end in (low, high)]
    )
    if before is None:  # a layout may need the full value, such as the chips of a link domain
        before, low = base, value
    if after is None:
        after, high = base, value
    return _slope(after.over(before), log(high / low)) if low < high else _nothing(figures.scenario)


def _slope(ratio: Answers, distance: float) -> Answers:
    """Compute logarithmic slopes, or 0 if the difference is only rounding."""

    def slope(figure: Floats) -> Floats:
        change = np.log(figure)
        return np.where(np.abs(change) < _LEAST, 0.0, change / distance)

    return Answers(*map(slope, ratio))


def ends_of(lever: Lever) -> tuple[float, float]:
    """Return the smallest and largest valid value."""
    limit = lever.number.limit
    return (0.0 if limit.zero else limit.minimum), limit.maximum


def _ends(figures: MovedFigures, lever: Lever) -> tuple[Floats, Floats]:
    """Return the speeds at the smallest and largest valid value.

    Returns 0 if a value is impossible.
    """
    low, high = figures.answered.each(
        [partial(figures.at, "speed", {lever: end}) for end in ends_of(lever)]
    )
    return np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), 0.0, high)


def _enough_at(
    figures: MovedFigures, effect: Effect, speed: Floats
) -> dict[int, Callable[[], float]]:
    """Search for the saturation value of a parameter, at the batches that it affects.

    speed : The speed at the present value. [1/s]
    """
    lever = effect.lever
    if lever.is_choice:
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
    """Compute the fraction of the time per token to spare, relative to a target speed."""
    at_value = figures.at("speed", {lever: value})[index]
    return float(1.0 - speed / at_value) if at_value > 0.0 else -inf
