"""How far a ratio may be off."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def factor_of_ratio(*, over: ArrayLike, under: ArrayLike) -> Array:
    r"""By what factor a ratio may be off, from what both of its sides may be. [1]

    .. math:: \ln f = \sqrt{\ln^2 f_a + \ln^2 f_b}

    over : factor by which what stands above may be off, :math:`f_a` [1]
    under : factor by which what stands below may be off the other way, :math:`f_b` [1]

    Errors are independent and multiply, so their logarithms add as squares. Source: JCGM 100:2008,
    "Guide to the expression of uncertainty in measurement," sec. 5.1.2.

    >>> round(float(factor_of_ratio(over=2.0, under=1.0)), 3)
    2.0
    """
    return np.exp(np.hypot(np.log(floats(over)), np.log(floats(under))))
