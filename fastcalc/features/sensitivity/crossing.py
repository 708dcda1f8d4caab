"""Find the parameter value, between two given values, at which a metric reaches a target."""

from collections.abc import Callable
from math import ceil, exp, floor, isfinite, log

_SMALLEST = 1e-12
_WITHIN = 1e-6
"""Tolerance of the value, as a logarithm."""
_CHORDS = 3
"""Maximum number of consecutive secant steps that leave more than half of the interval."""


def nearest(
    surplus: Callable[[float], float], good: float, bad: float, *, is_whole: bool = False
) -> float:
    """Find the value that still reaches a target, closest (in log) to one that misses it.

    Values below the smallest positive one become 0. Times fall with a rate and rise with a latency,
    so secants use 1 / value or the value; if they make little progress, the interval is halved.

    surplus : The fraction of time or money to spare; at least 0 if the target is reached.

    Examples
    --------
    >>> round(nearest(lambda value: 1.0 - 7.0 / value, 100.0, 1.0), 4)
    7.0
    >>> nearest(lambda value: 1.0 - 7.2 / value, 100.0, 1.0, is_whole=True)
    8.0
    """
    if good == 0.0 and surplus(_SMALLEST) < 0.0:
        return 0.0
    low, high = (log(max(value, _SMALLEST)) for value in (bad, good))
    below, above = surplus(max(bad, _SMALLEST)), surplus(max(good, _SMALLEST))
    chords, wide, was_reached = 0, abs(high - low), None
    while abs(high - low) > _WITHIN:
        if abs(high - low) <= wide / 2.0:
            chords, wide = 0, abs(high - low)
        is_chord = chords < _CHORDS and isfinite(above - below)
        middle = _chord(low, high, below, above) if is_chord else (low + high) / 2.0
        chords = chords + 1 if is_chord else 0
        at_middle = surplus(exp(middle))
        is_reached = at_middle >= 0.0
        if is_reached:
            high, above = middle, at_middle
            below /= 2.0 if was_reached is True else 1.0
        else:
            low, below = middle, at_middle
            above /= 2.0 if was_reached is False else 1.0
        was_reached = is_reached
    if not is_whole:
        return exp(high)
    rounded = float(ceil(exp(high) - 1e-6) if good > bad else floor(exp(high) + 1e-6))
    nearer = rounded - 1.0 if good > bad else rounded + 1.0
    return nearer if surplus(nearer) >= 0.0 else rounded


def _chord(low: float, high: float, below: float, above: float) -> float:
    """Return the zero of the secant between two bounds, kept slightly away from both."""
    sign = -1.0 if high > low else 1.0
    fraction = above / (above - below) if above > below else 0.5
    at_low, at_high = exp(sign * (low - high)), 1.0  # relative to the bound that reaches the target
    zero = high + sign * log(at_high + fraction * (at_low - at_high))
    first, last = sorted((low, high))
    return min(max(zero, first + 0.9 * _WITHIN), last - 0.9 * _WITHIN)
