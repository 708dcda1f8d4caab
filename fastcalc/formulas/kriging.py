"""Interpolation between measurements: how much one says of another, and what they leave open."""

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


def share_unexplained(*, explained: ArrayLike, variance: ArrayLike) -> Array:
    r"""Return the share of a prediction's variance that measurements leave. [1]

    .. math:: s = 1 - \frac{k_*^T C^{-1} k_*}{v}

    explained : what measurements take away, by their covariances, :math:`k_*^T C^{-1} k_*` [1]
    variance : of what is predicted before anything is measured, :math:`v` [1]

    Source: Rasmussen and Williams 2006, eq. 2.24.

    >>> float(share_unexplained(explained=0.5, variance=2.0))
    0.75
    """
    return floats(np.clip(1.0 - floats(explained) / variance, 0.0, 1.0))


def error_by_others(*, weight: ArrayLike, precision: ArrayLike) -> Array:
    r"""Return how far a measurement is from what all others predict. [1]

    .. math:: e_i = \frac{[C^{-1} y]_i}{[C^{-1}]_{ii}}

    weight : of the measurement in predictions, :math:`[C^{-1} y]_i` [1]
    precision : its place on the diagonal of the inverse covariance, :math:`[C^{-1}]_{ii}` [1]

    Source: Rasmussen and Williams 2006, eq. 5.12.

    >>> float(error_by_others(weight=0.1, precision=0.5))
    0.2
    """
    return floats(weight) / floats(precision)
