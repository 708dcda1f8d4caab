"""Effect of random arrivals on a replica that prefills and decodes."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats

_SELDOM, _OFTEN = 1e-9, 0.98  # least and most of the steps in which a replica prefills
_PROMPTS = 16  # most prompts of a replica per step: four times the mean at `_OFTEN`


def passes_with_prompts(*, long: ArrayLike, short: ArrayLike) -> Array:
    r"""Compute the fraction of steps that contain prompt tokens if prompts arrive at random. [1]

    .. math:: s = \min\left(1, l + \max(0, 1 - l) \, (1 - e^{-a})\right)

    long : The mean number of chunks of long prompts that arrive per step, :math:`l`. [1]
    short : The mean number of shorter prompts that arrive per step, :math:`a`. [1]

    Short prompts share a step; their number is Poisson distributed, and zero with probability
    :math:`e^{-a}`. Source: our interpretation of Sarathi-Serve's batches, arXiv:2403.02310,
    docs/traffic.md.

    >>> round(float(passes_with_prompts(long=0.0, short=1.0)), 4)
    0.6321
    """
    filled = floats(long)
    occupied = -np.expm1(-floats(short))
    return floats(np.minimum(filled + np.maximum(1.0 - filled, 0.0) * occupied, 1.0))


def prefilling_replicas(*, replicas: ArrayLike, passes: ArrayLike) -> Array:
    r"""Compute the mean number of replicas that prefill in a step, if at least one does. [1]

    .. math:: \frac{d s}{1 - (1 - s)^d}

    replicas : The number of attention replicas that step together, :math:`d`. [1]
    passes : The fraction of steps in which a replica prefills, :math:`s`. [1]

    Replicas are assumed independent. Source: binomial distribution, given at least one success.

    >>> float(prefilling_replicas(replicas=2, passes=0.5))
    1.3333333333333333
    """
    own = np.clip(floats(passes), _SELDOM, 1.0)
    none = replicas * np.log1p(-np.minimum(own, 1.0 - _SELDOM))
    return floats(replicas * own / -np.expm1(none))


def longest_replica(*, replicas: ArrayLike, passes: ArrayLike) -> Array:
    r"""Compute the prompts of the fullest replica in a step relative to a mean one's. [1]

    .. math:: \frac{s}{a \, (1 - (1 - s)^d)} \sum_{k \ge 0} \left(1 - F(k)^d\right), \quad
        a = -\ln(1 - s)

    replicas : The number of attention replicas that step together, :math:`d`. [1]
    passes : The fraction of steps in which a replica prefills, :math:`s`. [1]

    Only replicas and steps with prompts count. The prompts of a replica are Poisson distributed,
    with the distribution function :math:`F`. Source: the mean of the largest of independent counts,
    as in H. A. David, H. N. Nagaraja, "Order statistics," 2003, sec. 3.1.

    >>> float(longest_replica(replicas=1, passes=0.5))
    1.0
    """
    share = np.clip(floats(passes), _SELDOM, _OFTEN)
    arriving = -np.log1p(-share)
    chances, below, fullest = np.exp(-arriving), 0.0 * share, 0.0 * share
    for count in range(_PROMPTS):
        below = below + chances
        fullest = fullest + 1.0 - below**replicas
        chances = chances * arriving / (count + 1.0)
    busy = -np.expm1(replicas * np.log1p(-share))
    return floats(np.maximum(fullest / busy * share / arriving, 1.0))


def slot_wait_regularity(
    *, slots: ArrayLike, utilization: ArrayLike, variation: ArrayLike
) -> Array:
    r"""Compute the wait for one of c slots, relative to exponential service times. [1]

    .. math:: v + (1 - v) \frac{1}{2} \left(1 + \frac{(1 - \rho)(c - 1)(\sqrt{4 + 5 c} - 2)}
        {16 \rho c}\right)

    slots : The number of servers, :math:`c`. [1]
    utilization : The utilization of the servers, :math:`\rho`. [1]
    variation : The squared coefficient of variation of service times, :math:`v`, at most 1. [1]

    Source: G. P. Cosmetatos, "Some approximate equilibrium results for the multi-server queue
    (M/G/r)," Operational Research Quarterly 27, 1976.

    >>> float(slot_wait_regularity(slots=1, utilization=0.5, variation=0.0))
    0.5
    """
    count, busy, varied = floats(slots), floats(utilization), np.minimum(variation, 1.0)
    excess = (
        (1.0 - busy) * (count - 1.0) * (np.sqrt(4.0 + 5.0 * count) - 2.0) / (16.0 * busy * count)
    )
    return floats(varied + (1.0 - varied) * 0.5 * (1.0 + excess))


def variance_in_window(*, window: ArrayLike) -> Array:
    r"""Compute the variance of a windowed average relative to the instantaneous variance. [1]

    .. math:: f(w) = 1 - w / 3 \;\text{up to}\; w = 1, \quad 1 / w - 1 / (3 w^2)
        \;\text{beyond}

    window : The window length over the time that each request is in flight, :math:`w`. [1]

    All requests have the same duration, so their correlation falls linearly to 0 (M/D/infinity).
    Source: D. R. Cox, "Renewal theory," 1962; we integrated that correlation.

    >>> float(variance_in_window(window=1.5))
    0.5185185185185185
    """
    length = floats(window)
    beyond = np.maximum(length, 1.0)
    return np.where(length <= 1.0, 1.0 - length / 3.0, 1.0 / beyond - 1.0 / (3.0 * beyond**2))


def gamma_share(*, value: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Array:
    r"""Compute the cumulative distribution function of a gamma distribution. [1]

    .. math:: \Phi\left(\frac{(x / m)^{1/3} - 1 + c^2 / 9}{c / 3}\right), \quad c^2 = v / m^2

    value : The argument of the distribution function, :math:`x`, at least 0. [1]
    mean : The mean of the distribution, :math:`m`. [1]
    variance : The variance of the distribution, in the squared unit of the mean, :math:`v`. [1]

    Source: E. B. Wilson, M. M. Hilferty, "The distribution of chi-square," PNAS 17, 1931.

    For an exponential distribution, 0.9 lies below ln 10, where the formula's error is below 0.003:

    >>> bool(abs(gamma_share(value=2.302585, mean=1.0, variance=1.0) - 0.9) < 0.003)
    True
    """
    spread = np.maximum(np.sqrt(floats(variance)) / mean, 1e-9)
    root = np.cbrt(np.maximum(floats(value) / mean, 0.0))
    normal = (root - 1.0 + spread**2 / 9.0) / (spread / 3.0)
    return normal_share(score=normal)


def normal_share(*, score: ArrayLike) -> Array:
    r"""Compute the cumulative distribution function of the standard normal distribution. [1]

    .. math:: \Phi(z) = 1 - \tfrac12 t \, (a_1 + t (a_2 + t (a_3 + t (a_4 + t a_5)))) \,
        e^{-z^2 / 2}, \quad t = \frac{1}{1 + 0.3275911 z / \sqrt 2}

    score : The standard deviations above the mean, :math:`z`; if negative, by complement. [1]

    Source: M. Abramowitz, I. A. Stegun, "Handbook of mathematical functions," 1964, 7.1.26 (error
    below 1.5e-7).

    >>> round(float(normal_share(score=1.959964)), 5)
    0.975
    """
    scores = floats(score)
    size = np.abs(scores) / np.sqrt(2.0)
    part = 1.0 / (1.0 + 0.3275911 * size)
    sums = 0.0 * part
    for factor in _ERF:
        sums = (sums + factor) * part
    above = 0.5 * sums * np.exp(-(size**2))
    return floats(np.where(scores > 0.0, 1.0 - above, above))


_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
"""The polynomial coefficients of `normal_share`, highest order first."""
