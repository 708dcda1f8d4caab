"""How far a measurement may lie from what is expected."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def half_width(*, at_bound: ArrayLike, slowdown: ArrayLike) -> Array:
    r"""Return the half-width of a range about an expected speed, in the logarithm. [1]

    .. math:: h = h_0 \sqrt{1 + \ln(v_{\max} / v)}

    at_bound : half-width of what is expected at the bound, :math:`h_0` [1]
    slowdown : the bound over the expected speed, at least 1, :math:`v_{\max} / v` [1]

    The bound rests on data sheets; how far below it software stays is fitted, and of two
    independent errors the variances add up. Source: 58 sources that no fit had seen, of which four
    fifths of the errors of decoding lie within 0.25 in the quarter nearest to the bound and within
    0.53 in the furthest (docs/method.md, Ranges).

    >>> float(half_width(at_bound=0.2, slowdown=np.exp(3.0)))
    0.4
    """
    return floats(at_bound) * np.sqrt(1.0 + np.log(np.maximum(slowdown, 1.0)))
