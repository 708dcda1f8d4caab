"""Speculative decoding: draft tokens verified per step, and tokens accepted."""

import numpy as np

from fastcalc.formulas.solving import bisect
from fastcalc.formulas.types import Array, ArrayLike, Bools, floats


def tokens_per_pass(*, acceptance: ArrayLike, drafted: ArrayLike) -> Array:
    r"""Compute the mean number of tokens that a verification step yields. [1]

    .. math:: E = \frac{1 - \alpha^{\gamma + 1}}{1 - \alpha}

    acceptance : The probability that a draft token is accepted, :math:`\alpha`, 0 to 1. [1]
    drafted : The draft tokens per step, :math:`\gamma`. [1]

    Draft tokens are accepted up to the first one that the model rejects, and the step adds one
    token of its own. Source: Leviathan et al., arXiv:2211.17192, eq. 1.

    >>> round(float(tokens_per_pass(acceptance=0.5, drafted=1)), 12)
    1.5
    """
    chance, max_tokens = floats(acceptance), floats(drafted) + 1.0
    rejected = np.where(chance < 1.0, 1.0 - chance, 1.0)
    # 1 - a^n, without losing digits near a = 1.
    not_all = -np.expm1(max_tokens * np.log(np.maximum(chance, 1e-300)))
    return np.where(chance < 1.0, not_all / rejected, max_tokens)


def acceptance_needed(*, yielded: ArrayLike, drafted: ArrayLike) -> Array:
    r"""Compute the acceptance rate for a number of tokens per step, or NaN if impossible. [1]

    .. math:: \alpha: \quad \frac{1 - \alpha^{\gamma + 1}}{1 - \alpha} = E

    yielded : The tokens per step, :math:`E`, at most one more than drafted. [1]
    drafted : The draft tokens per step, :math:`\gamma`. [1]

    This is the inverse of `tokens_per_pass`. Source: Leviathan et al., arXiv:2211.17192, eq. 1.

    >>> [round(float(chance), 12) for chance in acceptance_needed(yielded=[1.5, 2.5], drafted=1)]
    [0.5, nan]
    """
    tokens, ends = np.broadcast_arrays(floats(yielded), floats(drafted) + 1.0)

    def is_kept(rejected: Array) -> Bools:
        # Below one token per step, everything is rejected: the logarithm is minus infinity.
        with np.errstate(divide="ignore"):
            yields = -np.expm1(ends * np.log1p(-rejected)) / rejected
        return np.asarray(yields >= tokens)

    low, _ = bisect(is_kept, np.zeros(tokens.shape), np.ones(tokens.shape))
    accepted = np.where(tokens <= 1.0, 0.0, 1.0 - low)
    return np.where(tokens <= ends, accepted, np.nan)


def draft_length(*, yielded: ArrayLike, acceptance: ArrayLike) -> Array:
    r"""Compute the smallest draft length that yields a number of tokens per step. [1]

    .. math:: \gamma = \min\left(\left\lceil
        \frac{\ln(1 - E (1 - \alpha))}{\ln \alpha} - 1 \right\rceil, \; \lceil 2 E \rceil\right)

    yielded : The tokens per step, :math:`E`, at least 1. [1]
    acceptance : The acceptance probability of a draft token, :math:`\alpha`, between 0 and 1. [1]

    This is `tokens_per_pass` solved for the draft length, and 0 if the step yields one token. The
    draft length is capped at twice the yield (our choice). Source: Leviathan et al.,
    arXiv:2211.17192, eq. 1.

    >>> float(draft_length(yielded=1.8, acceptance=0.5))
    3.0
    """
    chance, tokens = floats(acceptance), floats(yielded)
    left = np.maximum(1.0 - tokens * (1.0 - chance), 1e-300)
    solved = np.log(left) / np.log(chance) - 1.0
    # Round numbers that differ from an integer only by rounding errors.
    return np.minimum(np.ceil(solved - 1e-9), np.ceil(2.0 * tokens)) * (tokens > 1.0)


def drafted_speedup(*, tokens: ArrayLike, drafts: ArrayLike, draft_cost: ArrayLike) -> Array:
    r"""Compute the speed-up from speculative decoding if decode is not compute-bound. [1]

    .. math:: \sigma = \frac{E}{1 + g c}

    tokens : The tokens per step, :math:`E`. [1]
    drafts : The draft tokens per step, :math:`g`. [1]
    draft_cost : The cost of drafting and verifying a token, relative to a step, :math:`c`. [1]

    Source: Leviathan et al., arXiv:2211.17192, theorem 3.8.

    >>> round(float(drafted_speedup(tokens=2.82, drafts=3, draft_cost=0.079)), 2)
    2.28
    """
    return floats(tokens) / (1.0 + floats(drafts) * draft_cost)
