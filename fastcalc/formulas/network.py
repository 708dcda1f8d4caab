"""Collectives and hops between chips: a latency and a bandwidth term each."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def shared_link(
    *, ranks: ArrayLike, domain: ArrayLike, is_mesh: ArrayLike, is_host: ArrayLike
) -> Array:
    r"""Return what a rank gets of its printed link while all ranks of a group send. [1]

    .. math:: s = 1, \quad \frac{N - 1}{D - 1}, \quad \left(\frac{2}{N}\right)^{1/3}

    ranks : ranks that send together, :math:`N` [1]
    domain : chips that the link joins, :math:`D` [1]
    is_mesh : 1 where every two chips have a link of their own [1]
    is_host : 1 where all links meet in the host [1]

    Through a switch a rank has its whole link. Where every two chips have a link of their own, it
    uses those to the ranks of its group. Over PCIe all share the ways through the host: 0.60, 0.45
    and 0.38 of the link among 2, 4 and 8 cards. Source: kernel tables of NVIDIA aiconfigurator-core
    0.12.0 (RTX PRO 6000), https://github.com/ai-dynamo/aiconfigurator.

    >>> float(shared_link(ranks=2, domain=8, is_mesh=1, is_host=0)) * 7
    1.0
    """
    n = np.maximum(floats(ranks), 2.0)
    mesh = np.minimum((n - 1.0) / np.maximum(floats(domain) - 1.0, 1.0), 1.0)
    return np.where(is_mesh, mesh, np.where(is_host, (2.0 / n) ** (1.0 / 3.0), 1.0))


def all_reduce_bytes(*, ranks: ArrayLike, message: ArrayLike) -> Array:
    r"""Return the bytes that each rank sends in an all-reduce: parts reduced, then gathered. [byte]

    .. math:: M' = \frac{2 (N - 1)}{N} M

    ranks : ranks, :math:`N` [1]
    message : bytes that every rank holds before and after, :math:`M` [byte]

    A reduction inside the switch halves this. Source: JAX scaling book,
    https://jax-ml.github.io/scaling-book/gpus/ (collectives and in-network reductions).

    >>> float(all_reduce_bytes(ranks=2, message=1e6))
    1000000.0
    """
    return 2.0 / floats(ranks) * (floats(ranks) - 1.0) * message


def exchange_bytes(*, tokens: ArrayLike, hidden: ArrayLike, destinations: ArrayLike) -> Array:
    r"""Return the bytes of sending tokens to their experts and their results back. [byte]

    .. math:: M = 3 \, n \, h \, r

    tokens : tokens of a replica in the step, :math:`n` [1]
    hidden : hidden width, :math:`h` [1]
    destinations : other ranks a token visits, :math:`r` [1]

    One byte an element on the way out, two on the way back, once for each rank that wants the
    token. Source: DeepSeek-V3, arXiv:2412.19437, sec. 3.3.3 (dispatch in fp8, combine in bf16).

    >>> float(exchange_bytes(tokens=1, hidden=7168, destinations=1))
    21504.0
    """
    return 3.0 * floats(tokens) * hidden * destinations
