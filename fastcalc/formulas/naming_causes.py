"""Bayesian comparison of possible causes of residuals."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, Floats, floats


def combined_slowdown(*, first: ArrayLike, second: ArrayLike) -> Array:
    r"""Compute the slowdown of a step if two of its components slow down. [1]

    .. math:: f = f_1 + f_2 - 1

    first : The slowdown of the step if only one component is slower, :math:`f_1`. [1]
    second : The slowdown of the step if only the other component is slower, :math:`f_2`. [1]

    A step is the sum of its components, so their additional times add up. Source: docs/method.md,
    where every time is a sum of components.

    >>> float(combined_slowdown(first=1.5, second=1.25))
    1.75
    """
    return floats(first) + floats(second) - 1.0


def log_likelihood(*, residuals: Floats, shared: Floats, noise: Floats) -> Array:
    r"""Compute the log density of residuals with correlated errors. [1]

    .. math:: \ln p(r) = -\tfrac12 \left( r^\top C^{-1} r + \ln |C| + n \ln 2\pi \right), \quad
              C = \operatorname{diag}(\sigma^2) + G G^\top

    residuals : The logarithms of measured over predicted time per point (last axis), :math:`r`. [1]
    shared : The effect of one deviation of each shared error, points by errors, :math:`G`. [1]
    noise : The standard deviation of each point's independent error, :math:`\sigma`. [1]

    By Woodbury's identity, the inverted matrix has one row per shared error. Source: C. E.
    Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning," MIT Press 2006, eqs.
    2.30 and A.9.

    >>> float(log_likelihood(residuals=np.zeros(1), shared=np.zeros((1, 1)), noise=np.ones(1)))
    -0.9189385332046727
    """
    scaled, errors = residuals / noise, shared / noise[:, np.newaxis]
    inner = np.eye(errors.shape[1]) + errors.T @ errors
    projected = scaled @ errors
    explained = np.sum(projected @ np.linalg.inv(inner) * projected, axis=-1)
    squares = np.sum(scaled**2, axis=-1) - explained
    volume = np.sum(np.log(2.0 * np.pi * noise**2)) + np.linalg.slogdet(inner)[1]
    return floats(-0.5 * (squares + volume))


def log_mean(*, logs: Floats, weights: Floats) -> Array:
    r"""Compute the logarithm of a weighted mean of numbers whose logarithms are given. [1]

    .. math:: \ln \sum_i w_i e^{l_i}

    logs : The log-likelihoods over a grid of parameter values, :math:`l`. [1]
    weights : The prior probability of each grid point, :math:`w`. [1]

    The evidence for a hypothesis is its likelihood averaged over the prior. Source: D. J. C.
    MacKay, "Information Theory, Inference, and Learning Algorithms," Cambridge 2003, ch. 28.

    >>> float(log_mean(logs=np.array([0.0, 0.0]), weights=np.array([0.5, 0.5])))
    0.0
    """
    top = np.max(logs)
    return floats(top + np.log(np.sum(weights * np.exp(logs - top))))


def posterior(*, log_evidence: Floats, prior: Floats) -> Array:
    r"""Compute the posterior probabilities of mutually exclusive hypotheses. [1]

    .. math:: P_h = \frac{p_h e^{l_h}}{\sum_i p_i e^{l_i}}

    log_evidence : The logarithm of the evidence for each hypothesis, :math:`l`. [1]
    prior : The prior probability of each hypothesis, :math:`p`. [1]

    Source: MacKay 2003, as for `log_mean`.

    >>> posterior(log_evidence=np.array([0.0, 0.0]), prior=np.array([0.25, 0.75])).tolist()
    [0.25, 0.75]
    """
    odds = prior * np.exp(log_evidence - np.max(log_evidence))
    return floats(odds / np.sum(odds))


def disagreement(*, predictions: Floats, weights: Floats) -> Array:
    r"""Compute how much the predictions of different causes disagree, weighted by probability. [1]

    .. math:: s = \sqrt{\sum_h P_h (v_h - \bar v)^2}

    predictions : The prediction of each cause for each candidate measurement, :math:`v`. [1]
    weights : The probability of each cause, :math:`P`. [1]

    The candidate with the largest spread is the most informative measurement, if all measurements
    are equally noisy. Source: D. V. Lindley, "On a measure of the information provided by an
    experiment," Annals of Mathematical Statistics 27, 1956.

    >>> disagreement(predictions=np.array([[0.0, 1.0], [0.0, 3.0]]), weights=np.ones(2)).tolist()
    [0.0, 1.0]
    """
    fractions = weights / np.sum(weights)
    mean = fractions @ predictions
    return floats(np.sqrt(fractions @ (predictions - mean) ** 2))
