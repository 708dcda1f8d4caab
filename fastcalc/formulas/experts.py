"""Mixture of experts: how many experts a step reads, and how many ranks a token visits."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike


def distinct_experts(
    *, experts: ArrayLike, active: ArrayLike, tokens: ArrayLike, correlation: ArrayLike = 1.0
) -> Array:
    r"""Return the distinct experts of a layer that some tokens pick. [1]

    .. math:: D = \max\left(k, \; E \left(1 - (1 - k/E)^{B^\gamma}\right)\right)

    With :math:`\gamma = 1` tokens pick independently and uniformly, which is the most there
    can be on average [1]_; tokens of real steps resemble one another, which a smaller
    :math:`\gamma` says.

    Parameters
    ----------
    experts : array_like
        Experts in a layer, :math:`E`. [1]
    active : array_like
        Experts a token picks, :math:`k`. [1]
    tokens : array_like
        Tokens in the step, :math:`B`. [1]
    correlation : array_like
        :math:`\gamma`, 1 for independent tokens. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together, between k and E. [1]

    Examples
    --------
    >>> round(float(distinct_experts(experts=128, active=8, tokens=16)), 1)
    82.4

    References
    ----------
    .. [1] E. Erdil, "Inference economics of language models," arXiv:2506.04645, and the
       model code beside it (expected experts by uniform routing).
    """
    missed = (1.0 - 1.0 * np.asarray(active) / experts) ** (np.asarray(tokens) * 1.0) ** correlation
    return np.maximum(active, experts * (1.0 - missed))


def other_ranks(*, ranks: ArrayLike, active: ArrayLike) -> Array:
    r"""Return how many other ranks one token's experts live on. [1]

    .. math:: r = (N - 1) \left(1 - (1 - 1/N)^k\right)

    Parameters
    ----------
    ranks : array_like
        Ranks that share the experts, :math:`N`. [1]
    active : array_like
        Experts a token picks, :math:`k`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> float(other_ranks(ranks=1, active=8))
    0.0

    References
    ----------
    .. [1] W. Feller, "An introduction to probability theory and its applications," vol. 1, 3rd
       ed., sec. IV.2 (occupied cells); a token is sent once to each rank it needs.
    """
    ranks = np.asarray(ranks) * 1.0
    return (ranks - 1.0) * (1.0 - (1.0 - 1.0 / ranks) ** active)
