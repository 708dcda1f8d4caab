"""Interpolation between measurements: how much one says of another."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def correlation(*, distance: ArrayLike, constant: ArrayLike) -> Array:
    r"""Return how far the errors of two points go together. [1]

    .. math:: k(r) = c + (1 - c) \left(1 + \sqrt{3} r\right) e^{-\sqrt{3} r}

    distance : between the points, in lengths over which errors forget each other, :math:`r` [1]
    constant : share of the error's variance that is the same everywhere, :math:`c` [1]

    Source: C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press
    2006, eq. 4.17 (Matérn with smoothness 3/2), on a constant.

    >>> float(correlation(distance=0.0, constant=0.3))
    1.0
    """
    reach = floats(np.sqrt(3.0) * distance)
    return floats(constant + (1.0 - constant) * (1.0 + reach) * np.exp(-reach))
