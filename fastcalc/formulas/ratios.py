"""Error factor of a ratio."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def factor_of_ratio(*, over: ArrayLike, under: ArrayLike) -> Array:
    r"""Error factor of a ratio, from the error factors of numerator and denominator. [1]

    .. math:: \ln f = \sqrt{\ln^2 f_a + \ln^2 f_b}

    over : error factor of the numerator, :math:`f_a` [1]
    under : error factor of the denominator in the opposite direction, :math:`f_b` [1]

    Errors are independent and multiply, so the squares of their logarithms add. Source: JCGM
    100:2008, "Guide to the expression of uncertainty in measurement," sec. 5.1.2.

    >>> round(float(factor_of_ratio(over=2.0, under=1.0)), 3)
    2.0
    """
    return np.exp(np.hypot(np.log(floats(over)), np.log(floats(under))))
