"""Ratios of two predictions with ranges, and whether they differ from 1."""

from typing import NamedTuple

import numpy as np

from fastcalc.formulas.ranges import factor_of_ratio
from fastcalc.formulas.types import Array, ArrayLike, Bools, floats


class Ranged(NamedTuple):
    """Predicted values with the lower and upper ends of their 80% ranges."""

    expected: Array
    low: Array
    high: Array


def cost_range(cost: ArrayLike, speed: Ranged) -> Ranged:
    """Compute the cost per token over the range of a speed, in USD.

    The lowest speed gives the highest cost. If the speed is 40 tokens/s with a range of 30 to 60, a
    cost of $6 has a range of $4 to $8:

    >>> import numpy as np
    >>> [float(usd) for usd in cost_range(6.0, Ranged(*map(np.float64, (40.0, 30.0, 60.0))))]
    [6.0, 4.0, 8.0]
    """
    usd_per_s = floats(cost) * speed.expected
    return Ranged(floats(cost), usd_per_s / speed.high, usd_per_s / speed.low)


def independent_ratio(*, over: Ranged, under: Ranged) -> Ranged:
    """Divide one prediction by another, assuming independent errors.

    Divide 8 (range 4 to 12) by 2 (range 1 to 3):

    >>> import numpy as np
    >>> sides = (Ranged(*map(np.array, ends)) for ends in ((8.0, 4.0, 12.0), (2.0, 1.0, 3.0)))
    >>> [round(float(end), 2) for end in independent_ratio(over=next(sides), under=next(sides))]
    [4.0, 1.79, 8.93]
    """
    ratio = over.expected / under.expected
    factor_below = factor_of_ratio(over=over.expected / over.low, under=under.high / under.expected)
    factor_above = factor_of_ratio(over=over.high / over.expected, under=under.expected / under.low)
    return Ranged(ratio, ratio / factor_below, ratio * factor_above)


def is_level(ratio: Ranged) -> Bools:
    """Check where a ratio of two predictions is too close to 1 to name a winner.

    That is the case if its 80% interval contains 1, or if both numbers print the same. A limit that
    prints as 1.00 counts as 1. Without an interval, as for hardware bounds, only equal numbers are
    level.

    >>> import numpy as np
    >>> [
    ...     bool(is_level(Ranged(*map(np.float64, ends))))
    ...     for ends in ((1.3, 0.8, 2.1), (1.3, 1.1, 1.5), (1.3, np.nan, np.nan), (1.001, 1.0, 1.1))
    ... ]
    [True, False, False, True]
    """
    expected, low, high = map(np.asarray, ratio)
    holds_one = (low < _ONE) & (high > 1.0 / _ONE)
    return np.asarray(holds_one | (np.abs(np.log(expected)) < _SAME))


_ONE = 1.005
"""The smallest number that prints as more than 1 with three digits."""

_SAME = 0.0015
"""The log ratio up to which two numbers may print the same with three digits."""
