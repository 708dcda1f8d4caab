"""How often drafts must be right for a pass to yield so many tokens."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike

_HALVINGS = 60
"""Enough for every bit of a number between 0 and 1."""


def needed_acceptance(*, tokens: ArrayLike, drafts: ArrayLike) -> Array:
    r"""Return the acceptance at which a pass with drafts yields so many tokens. [1]

    .. math:: \alpha: \quad \frac{1 - \alpha^{g + 1}}{1 - \alpha} = E

    The left side rises with :math:`\alpha` from one token to :math:`g + 1`, so there is one
    acceptance for each number of tokens between, found by halving; beyond it, and for tokens that
    are nan, none, and nan is returned [1]_.

    Parameters
    ----------
    tokens : array_like
        Tokens that a pass must yield on average, its own among them, :math:`E`. [1]
    drafts : array_like
        Tokens drafted for a pass, :math:`g`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> round(float(needed_acceptance(tokens=1.5, drafts=1)), 6)
    0.5
    >>> float(needed_acceptance(tokens=2.5, drafts=1))
    nan

    References
    ----------
    .. [1] Y. Leviathan, M. Kalman, Y. Matias, "Fast inference from transformers via speculative
       decoding," arXiv:2211.17192, eq. 1 (tokens of a pass; solved for the acceptance here).
    """
    wanted, ends = np.broadcast_arrays(np.asarray(tokens, float), np.asarray(drafts, float) + 1.0)
    # Halved is what is rejected, 1 - alpha, so that nothing is lost where nearly all is accepted.
    low, high = np.zeros(wanted.shape), np.ones(wanted.shape)
    for _ in range(_HALVINGS):
        rejected = (low + high) / 2.0
        # All rejected is the limit that one token halves towards: minus infinity, and one token.
        with np.errstate(divide="ignore"):
            yields = -np.expm1(ends * np.log1p(-rejected)) / rejected
        low = np.where(yields < wanted, low, rejected)
        high = np.where(yields < wanted, rejected, high)
    accepted = np.where(wanted <= 1.0, 0.0, 1.0 - low)
    return np.where(wanted <= ends, accepted, np.nan)
