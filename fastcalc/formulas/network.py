"""Collectives and hops between chips: a latency and a bandwidth term each."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike

_DOUBLINGS = (0.0, 1.0, 2.0, 3.0)
_LATENCY_SHAPE = (0.0, 1.0, 1.45, 2.2)


def all_reduce_latency_shape(*, ranks: ArrayLike) -> Array:
    r"""Return the latency of a small all-reduce, relative to one over two ranks. [1]

    0, 1, 1.45 and 2.2 at 1, 2, 4 and 8 ranks, straight lines between their logarithms, and
    0.75 more for each further doubling: near the shape of small NCCL all-reduces on H100 (6.8,
    10.0 and 16.0 us at 2, 4 and 8 ranks [1]_, which is 1, 1.47 and 2.35).

    Parameters
    ----------
    ranks : array_like
        Ranks that reduce together. [1]

    Returns
    -------
    ndarray
        Same shape as the argument. [1]

    Examples
    --------
    >>> float(all_reduce_latency_shape(ranks=8))
    2.2

    References
    ----------
    .. [1] NVIDIA aiconfigurator, measured communication tables,
       https://github.com/ai-dynamo/aiconfigurator.
    """
    doublings = np.log2(np.asarray(ranks) * 1.0)
    inside = np.interp(doublings, _DOUBLINGS, _LATENCY_SHAPE)
    return inside + 0.75 * np.maximum(doublings - 3.0, 0.0)


def all_reduce_bytes(*, ranks: ArrayLike, message: ArrayLike) -> Array:
    r"""Return the bytes each rank sends in a ring or two-shot all-reduce. [byte]

    .. math:: M' = 2 M (N - 1) / N

    A reduction inside the switch halves it [1]_.

    Parameters
    ----------
    ranks : array_like
        Ranks, :math:`N`. [1]
    message : array_like
        Bytes that every rank holds before and after, :math:`M`. [byte]

    Returns
    -------
    ndarray
        The arguments broadcast together. [byte]

    Examples
    --------
    >>> float(all_reduce_bytes(ranks=2, message=1e6))
    1000000.0

    References
    ----------
    .. [1] JAX scaling book, "How to think about GPUs,"
       https://jax-ml.github.io/scaling-book/gpus/ (collectives and in-network reductions).
    """
    ranks = np.asarray(ranks) * 1.0
    return 2.0 * message * (ranks - 1.0) / ranks


def exchange_bytes(*, tokens: ArrayLike, hidden: ArrayLike, destinations: ArrayLike) -> Array:
    r"""Return the bytes of sending tokens to their experts and their results back. [byte]

    .. math:: M = 3 \, n \, h \, r

    One byte an element on the way out, two on the way back, once for each rank that wants
    the token [1]_.

    Parameters
    ----------
    tokens : array_like
        Tokens of a replica in the step, :math:`n`. [1]
    hidden : array_like
        Hidden width, :math:`h`. [1]
    destinations : array_like
        Other ranks a token visits, :math:`r`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [byte]

    Examples
    --------
    >>> exchange_bytes(tokens=1, hidden=7168, destinations=1)
    21504.0

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V3 technical report," arXiv:2412.19437, sec. 3.3.3
       (dispatch in fp8, combine in bf16).
    """
    return 3.0 * tokens * hidden * destinations
