"""Interpolation between measurements whose variance is unknown."""

from typing import NamedTuple

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


class Interpolation(NamedTuple):
    """Predicts values at new points from their covariance k with each measurement.

    The prediction is k times the weights. Its variance is k(0) times the prior variance, minus k^T
    D k, plus the noise.

    weights : The weight of each measurement.
    decrease : The matrix D.
    variance, noise : The prior variance shared between points, and the noise that is independent at
        each point.
    chances : The posterior probability of each candidate variance.
    """

    weights: Array
    decrease: Array
    variance: float
    noise: float
    chances: Array


def interpolation(
    *, covariance: ArrayLike, values: ArrayLike, variances: Array, noises: Array, prior: Array
) -> Interpolation:
    r"""Fit a predictor to measurements whose variance is one of several candidates.

    .. math:: w_s = v_s (v_s K + n_s I)^{-1} y, \quad
        p_s \propto p^0_s \, N(y; 0, v_s K + n_s I), \quad w = \sum_s p_s w_s

    .. math:: D = \sum_s p_s \left(v_s^2 (v_s K + n_s I)^{-1} - w_s w_s^T\right) + w w^T

    covariance : The covariance between measurements for a prior variance of 1, :math:`K`.
    values : The measured values, :math:`y`.
    variances, noises : The candidate shared variances and noise variances, :math:`v, n`.
    prior : The prior probability of each candidate, :math:`p^0`.

    Source: Rasmussen and Williams 2006, eq. 2.23 and 2.24, averaged over hyperparameters (5.2).

    >>> two = interpolation(covariance=[[1.0]], values=[1.0], prior=np.array([1.0]),
    ...     variances=np.array([0.03]), noises=np.array([0.01]))
    >>> two.weights.round(3), two.decrease.round(4)
    (array([0.75]), array([[0.0225]]))
    """
    scales, axes = np.linalg.eigh(floats(covariance))
    along = axes.T @ floats(values)
    spreads = variances[:, np.newaxis] * np.maximum(scales, 0.0) + noises[:, np.newaxis]
    log_chances = np.log(prior) - 0.5 * (np.log(spreads) + along**2 / spreads).sum(axis=1)
    chances = np.exp(log_chances - log_chances.max())
    chances /= chances.sum()
    means = variances[:, np.newaxis] * along / spreads
    weights = chances @ means
    shrinkage = np.diag(chances @ (variances[:, np.newaxis] ** 2 / spreads))
    among = np.einsum("s,si,sj->ij", chances, means, means) - np.outer(weights, weights)
    return Interpolation(
        axes @ weights,
        floats(axes @ (shrinkage - among) @ axes.T),
        float(chances @ variances),
        float(chances @ noises),
        chances,
    )


def expected_variance(
    *,
    covariance: ArrayLike,
    across: ArrayLike,
    variance: ArrayLike,
    variances: Array,
    noises: Array,
    chances: Array,
) -> Array:
    r"""Compute the variance to expect after measurements that have not been made yet.

    .. math:: \sum_s p_s \left(v_s k_0 + n_s - v_s^2 k^T (v_s K + n_s I)^{-1} k\right)

    No measured values are needed: for a given candidate, the remaining variance depends only on the
    operating points measured.

    covariance : The covariance between measurements, :math:`K`.
    across : The covariance of the prediction with each measurement, on the last axis, :math:`k`.
    variance : The prior variance of the prediction, :math:`k_0`.
    variances, noises, chances : The variance, noise and probability of each candidate, :math:`v, n,
        p`.

    Source: Rasmussen and Williams 2006, eq. 2.24, averaged over hyperparameters.

    >>> float(expected_variance(covariance=[[1.0]], across=[1.0], variance=1.0,
    ...     variances=np.array([0.03]), noises=np.array([0.01]), chances=np.array([1.0])))
    0.0175
    """
    scales, axes = np.linalg.eigh(floats(covariance))
    along = (floats(across) @ axes) ** 2
    spreads = variances[:, np.newaxis] * np.maximum(scales, 0.0) + noises[:, np.newaxis]
    removed = along @ (chances @ (variances[:, np.newaxis] ** 2 / spreads))
    first = float(chances @ variances) * floats(variance) + float(chances @ noises)
    return floats(np.maximum(first - removed, 0.0))
