"""Half-width of the range around a predicted speed, and the error of a ratio of speeds."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def half_width(*, least: ArrayLike, fitted_share: ArrayLike) -> Array:
    r"""Compute the half-width of the range around a predicted speed, as a logarithm. [1]

    .. math:: h = h_0 (1 + u)

    least : The half-width if data sheets explain all of the time, :math:`h_0`. [1]
    fitted_share : The fraction of time spent in components whose speed was fitted, :math:`u`. [1]

    Dense weights and attention run near their data-sheet rates; experts, links, launches and waits
    are fitted. While :math:`h_0 < 1`, a faster component lowers neither end: it shortens the time
    by more than it widens the range. Source: 54 sources on which no engine was fitted; doubling the
    width for fitted time has the best interval score (docs/method.md, Ranges).

    >>> float(half_width(least=0.2, fitted_share=1.0))
    0.4
    """
    return floats(least) * (1.0 + floats(fitted_share))


def factor_of_ratio(*, over: ArrayLike, under: ArrayLike) -> Array:
    r"""Combine the error factors of a numerator and a denominator into that of their ratio. [1]

    .. math:: \ln f = \sqrt{\ln^2 f_a + \ln^2 f_b}

    over : The error factor of the numerator, :math:`f_a`. [1]
    under : The error factor of the denominator in the opposite direction, :math:`f_b`. [1]

    Errors are assumed independent and multiplicative, so the squares of their logarithms add up.
    Source: JCGM 100:2008, "Guide to the expression of uncertainty in measurement," sec. 5.1.2.

    >>> round(float(factor_of_ratio(over=2.0, under=1.0)), 3)
    2.0
    """
    return np.exp(np.hypot(np.log(floats(over)), np.log(floats(under))))
