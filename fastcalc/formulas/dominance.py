"""Pareto-optimal choices with respect to gain and cost."""

import numpy as np

from fastcalc.formulas.types import ArrayLike, Bools

_BITS = 36
"""The mantissa bits compared: numbers that differ by less than about 1e-11 are equal. [1]"""


def undominated(*, gain: ArrayLike, cost: ArrayLike) -> Bools:
    r"""Return a mask of the Pareto-optimal choices, in the shape of the gains. [1]

    .. math:: \nexists j: \; g_j \ge g_i, \; c_j \le c_i, \; (g_j, c_j) \ne (g_i, c_i)

    gain : The value to maximize, for each choice. [1]
    cost : The value to minimize, in the same shape. [1]

    If choices are equal up to rounding, only the first is kept. Choices with NaN are never
    selected. Source: Kung, Luccio and Preparata, "On finding the maxima of a set of vectors,"
    Journal of the ACM 22(4), 1975.

    >>> undominated(gain=[10, 20, 15, 20], cost=[1, 3, 4, 3]).tolist()
    [True, True, False, False]
    """
    shape = np.shape(gain)
    mantissas, exponents = np.frexp(np.array([np.ravel(gain), np.ravel(cost)], float))
    # Round, so that two computations of the same number agree.
    gains, costs = np.ldexp(np.round(np.ldexp(mantissas, _BITS)), exponents - _BITS)
    order = np.lexsort((np.arange(gains.size), costs, -gains))
    order = order[(np.isfinite(gains) & np.isfinite(costs))[order]]
    cheapest_before = np.minimum.accumulate(np.concatenate([[np.inf], costs[order]]))[:-1]
    is_best = np.zeros(gains.shape, dtype=bool)
    is_best[order[costs[order] < cheapest_before]] = True
    return is_best.reshape(shape)
