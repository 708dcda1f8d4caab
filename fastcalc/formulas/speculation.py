"""Speculation: tokens drafted ahead and verified together, and how many of them are kept."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike

_HALVINGS = 60
"""Of an interval of length 1, down to what a float can tell apart."""


def tokens_per_pass(*, acceptance: ArrayLike, drafted: ArrayLike) -> Array:
    r"""Return the tokens that a verified pass yields on average, its own among them. [1]

    .. math:: E = \frac{1 - \alpha^{\gamma + 1}}{1 - \alpha}

    A draft is kept up to the first token that the model rejects, and the pass adds one token
    of its own [1]_. Each drafted token is taken to be accepted with the same chance.

    Parameters
    ----------
    acceptance : array_like
        Chance that a drafted token is accepted, :math:`\alpha`, 0 to 1. [1]
    drafted : array_like
        Tokens drafted before a pass, :math:`\gamma`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together, from 1 to one more than drafted. [1]

    Examples
    --------
    One token and half of a second.

    >>> round(float(tokens_per_pass(acceptance=0.5, drafted=1)), 12)
    1.5

    References
    ----------
    .. [1] Y. Leviathan, M. Kalman, Y. Matias, "Fast inference from transformers via
       speculative decoding," ICML 2023, arXiv:2211.17192, equation 1.
    """
    chance, most = np.asarray(acceptance) * 1.0, np.asarray(drafted) + 1.0
    rejected = np.where(chance < 1.0, 1.0 - chance, 1.0)
    # 1 - a^n without the digits that it loses near a = 1.
    not_all = -np.expm1(most * np.log(np.maximum(chance, 1e-300)))
    return np.where(chance < 1.0, not_all / rejected, most)


def acceptance_needed(*, kept: ArrayLike, drafted: ArrayLike) -> Array:
    r"""Return the acceptance with which a draft yields so many tokens a pass. [1]

    .. math:: \alpha: \quad \frac{1 - \alpha^{\gamma + 1}}{1 - \alpha} = E

    The inverse of `tokens_per_pass`, which grows with acceptance; found by halving.

    Parameters
    ----------
    kept : array_like
        Tokens that a pass yields, :math:`E`, from 1 to one more than drafted. [1]
    drafted : array_like
        Tokens drafted before a pass, :math:`\gamma`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together, from 0 to 1. [1]

    Examples
    --------
    >>> round(float(acceptance_needed(kept=1.5, drafted=1)), 12)
    0.5

    References
    ----------
    .. [1] Y. Leviathan, M. Kalman, Y. Matias, "Fast inference from transformers via
       speculative decoding," ICML 2023, arXiv:2211.17192, equation 1.
    """
    low = np.zeros(np.broadcast_shapes(np.shape(kept), np.shape(drafted)))
    high = np.ones_like(low)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        is_enough = tokens_per_pass(acceptance=middle, drafted=drafted) >= kept
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    return high


def draft_length(*, kept: ArrayLike, acceptance: ArrayLike) -> Array:
    r"""Return the fewest tokens to draft so that a pass yields so many. [1]

    .. math:: \gamma = \min\left(\left\lceil
        \frac{\ln(1 - E (1 - \alpha))}{\ln \alpha} - 1 \right\rceil, \; \lceil 2 E \rceil\right)

    The first is `tokens_per_pass` solved for the draft. It has no end as E nears
    :math:`1 / (1 - \alpha)`; who keeps more than that accepts more, so no more than twice the
    tokens kept are taken to be drafted (our own reading).

    Parameters
    ----------
    kept : array_like
        Tokens that a pass yields, :math:`E`, at least 1. [1]
    acceptance : array_like
        Chance that a drafted token is accepted, :math:`\alpha`, above 0 and below 1. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together, whole; 0 where one token is kept. [1]

    Examples
    --------
    Halves, quarters and eighths add up to 1.875 with three drafted tokens.

    >>> float(draft_length(kept=1.8, acceptance=0.5))
    3.0

    References
    ----------
    .. [1] Y. Leviathan, M. Kalman, Y. Matias, "Fast inference from transformers via
       speculative decoding," ICML 2023, arXiv:2211.17192, equation 1 (solved for the draft).
    """
    chance, tokens = np.asarray(acceptance) * 1.0, np.asarray(kept) * 1.0
    left = np.maximum(1.0 - tokens * (1.0 - chance), 1e-300)
    solved = np.log(left) / np.log(chance) - 1.0
    # What rounds to a whole number is one.
    return np.minimum(np.ceil(solved - 1e-9), np.ceil(2.0 * tokens)) * (tokens > 1.0)
