"""Ratios of two predictions that carry a range."""

from typing import NamedTuple

from fastcalc.formulas.ratios import factor_of_ratio
from fastcalc.formulas.types import Array


class Ranged(NamedTuple):
    """Expected values and both ends of their ranges, in one unit; ends are nan without a range."""

    expected: Array
    low: Array
    high: Array


def independent_ratio(*, over: Ranged, under: Ranged) -> Ranged:
    """Return one prediction over another, both ranges taken as independent. [1]

    Eight, from four to twelve, over two, from one to three:

    >>> import numpy as np
    >>> sides = (Ranged(*map(np.array, ends)) for ends in ((8.0, 4.0, 12.0), (2.0, 1.0, 3.0)))
    >>> [round(float(end), 2) for end in independent_ratio(over=next(sides), under=next(sides))]
    [4.0, 1.79, 8.93]
    """
    ratio = over.expected / under.expected
    factor_below = factor_of_ratio(over=over.expected / over.low, under=under.high / under.expected)
    factor_above = factor_of_ratio(over=over.high / over.expected, under=under.expected / under.low)
    return Ranged(ratio, ratio / factor_below, ratio * factor_above)
