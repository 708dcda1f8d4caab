"""Distributions of request lengths: quantiles and parameters."""

from statistics import NormalDist

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def normal_quantile(*, share: ArrayLike) -> Array:
    r"""Compute a quantile of the standard normal distribution. [1]

    .. math:: z = \Phi^{-1}(u)

    share : The fraction of values below the quantile, above 0 and below 1, :math:`u`. [1]

    Source: M. J. Wichura, "Algorithm AS 241," Applied Statistics 37, 1988 (in ``statistics``).

    >>> round(float(normal_quantile(share=0.975)), 4)
    1.96
    """
    points = floats(share)
    inverse = NormalDist().inv_cdf
    quantiles = [inverse(point) for point in np.ravel(points).tolist()]
    return floats(np.reshape(quantiles, np.shape(points)))


def lognormal_sigma(*, mean: ArrayLike, deviation: ArrayLike) -> Array:
    r"""Convert a mean and standard deviation into the sigma of a lognormal distribution. [1]

    .. math:: \sigma = \sqrt{\ln\left(1 + s^2 / m^2\right)}

    mean : The mean of the lengths, :math:`m`. [1]
    deviation : The standard deviation of the lengths, :math:`s`. [1]

    The logarithms then have the mean :math:`\ln m - \sigma^2 / 2`. Source: N. L. Johnson, S. Kotz,
    N. Balakrishnan, "Continuous univariate distributions 1," 1994, ch. 14.

    >>> float(lognormal_sigma(mean=1.0, deviation=0.0))
    0.0
    """
    return floats(np.sqrt(np.log1p((floats(deviation) / mean) ** 2)))
