"""Collectives and hops between chips, with latency and bandwidth terms."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats, where


def shared_link(
    *, ranks: ArrayLike, domain: ArrayLike, is_mesh: ArrayLike, is_host: ArrayLike
) -> Array:
    r"""Compute the fraction of its link bandwidth that a rank gets while its whole group sends. [1]

    .. math:: s = 1, \quad \frac{N - 1}{D - 1}, \quad \left(\frac{2}{N}\right)^{1/3}

    ranks : The number of ranks that send at the same time, :math:`N`. [1]
    domain : The number of chips connected by the link, :math:`D`. [1]
    is_mesh : 1 if each pair of chips has a dedicated link. [1]
    is_host : 1 if all links go through the host. [1]

    The three cases are a switch, dedicated links to each rank of the group, and PCIe, where all
    ranks share the paths through the host. Source: kernel tables of NVIDIA aiconfigurator-core
    0.12.0 (RTX PRO 6000), https://github.com/ai-dynamo/aiconfigurator.

    >>> float(shared_link(ranks=2, domain=8, is_mesh=1, is_host=0)) * 7
    1.0
    """
    n = np.maximum(floats(ranks), 2.0)
    mesh = np.minimum((n - 1.0) / np.maximum(floats(domain) - 1.0, 1.0), 1.0)
    return np.where(is_mesh, mesh, np.where(is_host, (2.0 / n) ** (1.0 / 3.0), 1.0))


def all_reduce_shots(
    *, ranks: ArrayLike, message: ArrayLike, bandwidth: ArrayLike, latency: ArrayLike
) -> Array:
    r"""Count the exchanges of the fastest all-reduce algorithm: 1 or 2, or 0 for a single rank. [1]

    .. math:: a + (N - 1) \frac{M}{\beta} \; \le \; 2 a + \frac{2 (N - 1)}{N} \frac{M}{\beta}

    ranks : The number of ranks that reduce together, :math:`N`. [1]
    message : The bytes on each rank before and after, :math:`M`. [byte]
    bandwidth : The one-way bandwidth out of each rank, :math:`\beta`. [byte/s]
    latency : The latency of one exchange, :math:`a`. [s]

    Small messages are sent whole to every rank; large ones are reduce-scattered and then gathered.
    Source: kernel tables of NVIDIA aiconfigurator-core 0.12.0, custom all-reduce,
    https://github.com/ai-dynamo/aiconfigurator.

    >>> float(all_reduce_shots(ranks=8, message=1e3, bandwidth=1e11, latency=5e-6))
    1.0
    """
    one_shot = all_reduce_bytes(ranks=ranks, message=message, shots=1.0) / floats(bandwidth)
    two_shots = all_reduce_bytes(ranks=ranks, message=message) / floats(bandwidth)
    return where(floats(ranks) > 1, where(one_shot <= latency + two_shots, 1.0, 2.0), 0.0)


def all_reduce_bytes(*, ranks: ArrayLike, message: ArrayLike, shots: ArrayLike = 2.0) -> Array:
    r"""Count the bytes that each rank sends in an all-reduce (ring, two-shot or one-shot). [byte]

    .. math:: M' = \frac{2 (N - 1)}{N} M \quad \text{or} \quad (N - 1) M

    ranks : The number of ranks, :math:`N`. [1]
    message : The bytes on each rank before and after, :math:`M`. [byte]
    shots : 2 for reduce-scatter and gather, less if each rank sends to all others at once. [1]

    Source: JAX scaling book, https://jax-ml.github.io/scaling-book/gpus/ (collectives).

    >>> float(all_reduce_bytes(ranks=2, message=1e6))
    1000000.0
    """
    peers = floats(ranks) - 1.0
    return where(floats(shots) < 2.0, 1.0, 2.0 / floats(ranks)) * peers * message


def exchange_bytes(*, tokens: ArrayLike, hidden: ArrayLike, destinations: ArrayLike) -> Array:
    r"""Count the bytes exchanged between tokens and their experts on other ranks. [byte]

    .. math:: M = 3 \, n \, h \, r

    tokens : The tokens of a replica in the step, :math:`n`. [1]
    hidden : The hidden width, :math:`h`. [1]
    destinations : The number of other ranks to which a token is sent, :math:`r`. [1]

    Tokens are sent in fp8, results in bf16. Source: DeepSeek-V3, arXiv:2412.19437, sec. 3.3.3.

    >>> float(exchange_bytes(tokens=1, hidden=7168, destinations=1))
    21504.0
    """
    return 3.0 * floats(tokens) * hidden * destinations
