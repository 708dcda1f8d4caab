"""Speed against price on one machine: the identity of batches, and what drafts buy."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike


def batch_ratio(*, cost_ratio: ArrayLike, speed_ratio: ArrayLike) -> Array:
    r"""Return how many times smaller the batch is that costs and speeds up so much. [1]

    .. math:: \frac{B_s}{B_f} = \kappa \sigma

    A machine costs the same an hour whatever its batch, so a token costs :math:`T(B) / B` of it;
    hence on fixed hardware the ratio of costs times the ratio of speeds is the ratio of batches,
    whatever the shape of :math:`T` [1]_.

    Parameters
    ----------
    cost_ratio : array_like
        Cost of a token, fast over standard, :math:`\kappa`. [1]
    speed_ratio : array_like
        Tokens a second of a user, fast over standard, :math:`\sigma`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> batch_ratio(cost_ratio=6, speed_ratio=2.5)
    15.0

    References
    ----------
    .. [1] J. D. C. Little, "A proof for the queuing formula L = lambda W," Operations Research
       9(3), 1961; the identity follows from a price per hour.
    """
    return 1.0 * cost_ratio * speed_ratio


def affine_batch(*, cost_ratio: ArrayLike, speed_ratio: ArrayLike) -> Array:
    r"""Return where a pair of ratios exists on a step T = a + c B: c B_fast over a. [1]

    .. math:: \frac{c B_f}{a} = \frac{\sigma - 1}{\kappa \sigma - \sigma}

    The standard batch is :math:`\kappa \sigma` times that. A pair has one place, or none: an
    operator who pays six times for two and a half must have stood exactly there.

    Parameters
    ----------
    cost_ratio : array_like
        Cost of a token, fast over standard, above 1, :math:`\kappa`. [1]
    speed_ratio : array_like
        Tokens a second of a user, fast over standard, :math:`\sigma`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> affine_batch(cost_ratio=6, speed_ratio=2.5)
    0.12

    References
    ----------
    .. [1] JAX scaling book, "All about transformer inference,"
       https://jax-ml.github.io/scaling-book/inference/ (a step of a constant and a part that
       grows with batch); the place follows by division.
    """
    return (1.0 * speed_ratio - 1.0) / (1.0 * speed_ratio * cost_ratio - speed_ratio)


def drafted_tokens(*, acceptance: ArrayLike, drafts: ArrayLike) -> Array:
    r"""Return the tokens that a pass yields with speculative decoding. [1]

    .. math:: E = \frac{1 - \alpha^{g + 1}}{1 - \alpha}

    Each draft is accepted independently with the same probability; the pass itself adds one
    token [1]_.

    Parameters
    ----------
    acceptance : array_like
        Probability that a draft is accepted, below 1, :math:`\alpha`. [1]
    drafts : array_like
        Tokens drafted for a pass, :math:`g`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> float(drafted_tokens(acceptance=0.5, drafts=1))
    1.5

    References
    ----------
    .. [1] Y. Leviathan, M. Kalman, Y. Matias, "Fast inference from transformers via speculative
       decoding," arXiv:2211.17192, eq. 1.
    """
    accepted = np.asarray(acceptance, float)
    return (1.0 - accepted ** (1.0 * drafts + 1.0)) / (1.0 - accepted)


def drafted_speedup(*, tokens: ArrayLike, drafts: ArrayLike, draft_cost: ArrayLike) -> Array:
    r"""Return the speed-up of speculative decoding where passes are not limited by compute. [1]

    .. math:: \sigma = \frac{E}{1 + g c}

    Parameters
    ----------
    tokens : array_like
        Tokens that a pass yields, :math:`E`. [1]
    drafts : array_like
        Tokens drafted for a pass, :math:`g`. [1]
    draft_cost : array_like
        Time of a draft over time of a pass, its share of a longer verification included,
        :math:`c`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    DeepSeek-R1 on eight B200 with three drafts: 2.82 tokens a pass, 253 instead of 111 tokens/s.

    >>> round(drafted_speedup(tokens=2.82, drafts=3, draft_cost=0.079), 2)
    2.28

    References
    ----------
    .. [1] Y. Leviathan, M. Kalman, Y. Matias, "Fast inference from transformers via speculative
       decoding," arXiv:2211.17192, theorem 3.8.
    """
    return 1.0 * tokens / (1.0 + 1.0 * drafts * draft_cost)


def regional_speed(
    *,
    tokens: ArrayLike,
    layers: ArrayLike,
    layer_time: ArrayLike,
    chips: ArrayLike,
    hop: ArrayLike,
) -> Array:
    r"""Return the speed of one stream that crosses layers in regions of several chips. [1/s]

    .. math:: v = \frac{E}{L \tau + W h}

    Parameters
    ----------
    tokens : array_like
        Tokens that a pass yields, :math:`E`. [1]
    layers : array_like
        Layers, :math:`L`. [1]
    layer_time : array_like
        One token in one layer's region, :math:`\tau`. [s]
    chips : array_like
        Chips that are crossed, :math:`W`. [1]
    hop : array_like
        From a chip to the next, :math:`h`. [s]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1/s]

    Examples
    --------
    >>> round(regional_speed(tokens=1, layers=36, layer_time=15e-6, chips=2, hop=5e-6))
    1818

    References
    ----------
    .. [1] C. He et al., "WaferLLM," arXiv:2502.04563 (a pass over a wafer is a sum over layers;
       what a layer takes is fitted on published speeds).
    """
    return 1.0 * tokens / (1.0 * layers * layer_time + 1.0 * chips * hop)
