"""Numerical solvers: bisection, grid search and fixed points."""

from collections.abc import Callable
from itertools import count
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fastcalc.formulas.types import Array, ArrayLike, Bools, Floats, floats, where

Planned = TypeVar("Planned")

_HALVINGS = 60  # down to the resolution of floats of one scale
_ROUNDS = 6  # of a fixed point; two usually suffice
_TRIED, _PARTS = 2048, 64
"""The number of values evaluated at once, since many cost little more than one, and the number of
parts into which a gap is divided."""


def mean(first: ArrayLike, second: ArrayLike) -> Array:
    """Compute the arithmetic mean of two numbers."""
    return (floats(first) + second) / 2.0


def geometric_mean(first: ArrayLike, second: ArrayLike) -> Array:
    """Compute the geometric mean of two positive numbers."""
    return (floats(first) * second) ** 0.5


def bisect(
    holds: Callable[[Array], ArrayLike | Bools],
    yes: ArrayLike,
    no: ArrayLike,
    *,
    halvings: int = _HALVINGS,
    middle: Callable[[ArrayLike, ArrayLike], Array] = mean,
) -> tuple[Array, Array]:
    """Narrow an interval to the point where a condition changes, element by element.

    yes, no : Values at which the condition is true and false.

    >>> [round(float(end), 9) for end in bisect(lambda x: x * x < 2.0, 0.0, 2.0)]
    [1.414213562, 1.414213562]
    """
    low, high = floats(yes), floats(no)
    for _ in range(halvings):
        between = middle(low, high)
        is_met = holds(between)
        low, high = where(is_met, between, low), where(is_met, high, between)
    return low, high


def bisect_integers(holds: Callable[[int], bool], yes: int, no: int) -> tuple[int, int]:
    """Find two adjacent integers, of which only the first meets a condition.

    >>> bisect_integers(lambda count: count * count < 50, 0, 100)
    (7, 8)
    """
    while abs(no - yes) > 1:
        middle = (yes + no) // 2
        yes, no = (middle, no) if holds(middle) else (yes, middle)
    return yes, no


def last_positive(
    values_at: Callable[[float], float], low: float, high: float, *, near: float
) -> float:
    """Find the last value at which a decreasing function is nonnegative, close to its root.

    If the function is negative everywhere, the lower limit is returned. The method is false
    position with halving of the value at a retained limit (the Illinois algorithm; M. Dowell, P.
    Jarratt, BIT 11, 1971).

    low, high : The limits of the search; the function must be negative at the upper one.
    near : The maximum distance from the root. [same unit as the limits]

    >>> last_positive(lambda x: 2.0 - x * x, 0.0, 2.0, near=1e-3) // 1e-3
    1414.0
    """
    of_low, of_high, was_positive = 1.0, values_at(high), None
    while high - low > near:
        trial = low + (high - low) * of_low / (of_low - of_high)
        trial = min(max(trial, low + near / 2.0), high - near / 2.0)
        value = values_at(trial)
        is_positive = value >= 0.0
        if is_positive:
            low, of_low = trial, value
            of_high /= 2.0 if was_positive else 1.0
        else:
            high, of_high = trial, value
            of_low /= 2.0 if was_positive is False else 1.0
        was_positive = is_positive
    return low


def first_not_negative(values_at: Callable[[int], float], low: int, high: int) -> int:
    """Find the smallest integer at which an increasing function is nonnegative.

    The method is that of `last_positive`, except that every third step bisects the interval.

    low, high : The limits of the search; the function is negative only at the first.

    >>> first_not_negative(lambda count: count * count - 50.0, 0, 100)
    8
    """
    of_low, of_high, was_negative = values_at(low), values_at(high), None
    for step in count(1):
        if high - low <= 1:
            break
        share = of_low / (of_low - of_high) if step % 3 else 0.5
        trial = min(max(round(low + (high - low) * share), low + 1), high - 1)
        value = values_at(trial)
        is_negative = value < 0.0
        if is_negative:
            low, of_low = trial, value
            of_high /= 2.0 if was_negative else 1.0
        else:
            high, of_high = trial, value
            of_low /= 2.0 if was_negative is False else 1.0
        was_negative = is_negative
    return high


def first_changed(
    has_changed: Callable[[Floats], Bools],
    same: float,
    changed: float,
    *,
    points: int,
    rounds: int | None = None,
    spaced: Callable[[float, float, int], Floats] = np.linspace,
) -> tuple[float, float] | None:
    """Find the last value before a condition becomes true, and the first value after it.

    If the condition is already true at the first point, both are that point. The result is None if
    it is never true.

    points, rounds : Values per round; number of rounds, or None to search all integers exactly.
    spaced : The function that spaces values between two limits.

    >>> first_changed(lambda values: values > 34.5, 1.0, 1000.0, points=8)
    (34.0, 35.0)
    """
    while rounds is None or rounds > 0:
        values = spaced(same, changed, points)
        values = np.round(values) if rounds is None else values
        is_changed = has_changed(values)
        if not is_changed.any():
            return None
        first = int(np.argmax(is_changed))
        same, changed = float(values[max(first - 1, 0)]), float(values[first])
        if rounds is None and abs(changed - same) <= 1.0:
            break
        rounds = None if rounds is None else rounds - 1
    return same, changed


def largest_reaching(
    values_at: Callable[[Floats], Floats], goals: Floats, low: ArrayLike, high: ArrayLike
) -> npt.NDArray[np.int64]:
    """Find the largest integers at which decreasing values reach targets, or 0 if none does. [1]

    values_at : The function that computes values at integers from 1, with an extra leading axis
        before the shape to which all other arguments broadcast.
    low, high : The integers that reach the targets, or 0, and larger integers that do not. [1]

    >>> largest_reaching(lambda batch: 100.0 / batch, np.array([9.0, 50.0, 200.0]), 0, 99).tolist()
    [11, 2, 0]
    """
    reached, missed, _ = np.broadcast_arrays(low, high, goals)
    while (gap := missed - reached).max() > 1:
        parts = min(_PARTS, int(gap.max()), max(_TRIED // gap.size, 2))
        fractions = np.arange(1, parts).reshape(-1, *(1,) * gap.ndim)
        trial = reached + gap * fractions // parts
        is_met = (values_at(np.maximum(trial, 1.0)) >= goals) | (trial == reached)
        reaching = np.logical_and.accumulate(is_met).sum(axis=0)[np.newaxis]
        ends = np.concatenate([reached[np.newaxis], trial, missed[np.newaxis]])
        reached, missed = (
            np.take_along_axis(ends, reaching + offset, axis=0)[0] for offset in (0, 1)
        )
    return reached.astype(np.int64)


def solve_fixed_point(
    planned_for: Callable[[float], Planned],
    effect_of: Callable[[Planned], float | None],
    cautious: Planned,
) -> Planned:
    """Find a plan whose effect is at least the one it was planned for.

    Each round plans for the effect of the previous plan. If the cautious plan has no effect or the
    rounds do not converge, the cautious plan is returned.

    >>> solve_fixed_point(lambda effect: effect / 2.0 + 1.0, lambda plan: plan, 0.5)
    1.25
    """
    effect = effect_of(cautious)
    for _ in range(_ROUNDS):
        if not effect:
            break
        planned, assumed = planned_for(effect), effect
        effect = effect_of(planned)
        if effect is not None and effect >= assumed:
            return planned
    return cautious
