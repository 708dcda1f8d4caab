"""Correlation of prediction errors, for interpolation between measurements."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def correlation(*, distance: ArrayLike, constant: ArrayLike) -> Array:
    r"""Compute the correlation between prediction errors at two points. [1]

    .. math:: k(r) = c + (1 - c) \left(1 + \sqrt{3} r\right) e^{-\sqrt{3} r}

    distance : The distance between the points in correlation lengths, :math:`r`. [1]
    constant : The fraction of error variance shared by all points, :math:`c`. [1]

    Source: C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press
    2006, eq. 4.17 (Matérn with smoothness 3/2), plus a constant.

    >>> float(correlation(distance=0.0, constant=0.3))
    1.0
    """
    reach = floats(np.sqrt(3.0) * distance)
    return floats(constant + (1.0 - constant) * (1.0 + reach) * np.exp(-reach))
