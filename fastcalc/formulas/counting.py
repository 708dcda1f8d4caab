"""Parameters and FLOPs of common layer components: attention and feed-forward networks."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def attention_matrices(
    *,
    hidden: ArrayLike,
    heads: ArrayLike,
    kv_heads: ArrayLike,
    key_dim: ArrayLike,
    value_dim: ArrayLike,
) -> Array:
    r"""Count the weights of multi-head or grouped-query attention. [1]

    .. math:: P = h \, (H + K) (k + v)

    hidden : The hidden width, :math:`h`. [1]
    heads : The query heads, :math:`H`. [1]
    kv_heads : The key-value heads, :math:`K`; equal to heads for multi-head attention. [1]
    key_dim : The elements of a query or key head, :math:`k`. [1]
    value_dim : The elements of a value head, :math:`v`; usually the same number. [1]

    Source: GQA, arXiv:2305.13245, sec. 2.

    >>> float(attention_matrices(hidden=4096, heads=32, kv_heads=8, key_dim=128, value_dim=128))
    41943040.0
    """
    return floats(hidden) * (heads + kv_heads) * (key_dim + value_dim)


def latent_attention_matrices(
    *,
    hidden: ArrayLike,
    heads: ArrayLike,
    q_rank: ArrayLike,
    kv_rank: ArrayLike,
    nope_dim: ArrayLike,
    rope_dim: ArrayLike,
    value_dim: ArrayLike,
) -> Array:
    r"""Count the weights of multi-head latent attention. [1]

    .. math:: P = h q + q H (n + r) + h (c + r) + c H (n + v) + H v h

    hidden : The hidden width, :math:`h`. [1]
    heads : The heads, :math:`H`. [1]
    q_rank : The rank of the query bottleneck, :math:`q`, or 0 for none. [1]
    kv_rank : The rank of the cached latent, :math:`c`. [1]
    nope_dim : The non-rotary elements per head, :math:`n`. [1]
    rope_dim : The rotary elements, shared by all heads, :math:`r`. [1]
    value_dim : The elements of a value head, :math:`v`. [1]

    Without the bottleneck, the query projection has :math:`h H (n + r)`. Source: DeepSeek-V2,
    arXiv:2405.04434, sec. 2.1 and appendix C.

    >>> float(latent_attention_matrices(hidden=7168, heads=128, q_rank=1536, kv_rank=512,
    ...                           nope_dim=128, rope_dim=64, value_dim=128))
    187105280.0
    """
    width, rank = floats(hidden), floats(q_rank)
    head = floats(heads) * (nope_dim + rope_dim)
    query = np.where(rank == 0, width * head, rank * (width + head))
    latent = width * (floats(kv_rank) + rope_dim) + floats(kv_rank) * heads * (nope_dim + value_dim)
    return query + latent + width * heads * value_dim


def ffn_matrices(*, hidden: ArrayLike, width: ArrayLike, matrices: ArrayLike) -> Array:
    r"""Count the weights of a feed-forward network or of a single expert. [1]

    .. math:: P = m \, h \, f

    hidden : The width of its input and output, :math:`h`. [1]
    width : The inner width, :math:`f`. [1]
    matrices : 3 with a gate (SwiGLU), 2 without one, :math:`m`. [1]

    Source: Shazeer, "GLU variants improve transformer," arXiv:2002.05202, sec. 2.

    >>> float(ffn_matrices(hidden=4096, width=14336, matrices=3))
    176160768.0
    """
    return floats(matrices) * hidden * width


def hyper_connection_parameters(*, hidden: ArrayLike, streams: ArrayLike) -> Array:
    r"""Count the parameters that hyper-connections add to one layer. [1]

    .. math:: P = 2 \left[ (n^2 + 2n)(n h + 1) + 3 \right]

    hidden : The width of a stream, :math:`h`. [1]
    streams : The residual streams, :math:`n`. [1]

    Source: arXiv:2409.19606, arXiv:2512.24880; DeepSeek V4 in transformers 5.23.

    >>> float(hyper_connection_parameters(hidden=4096, streams=4))
    786486.0
    """
    count = floats(streams)
    return 2.0 * (count * (count + 2.0) * (count * hidden + 1.0) + 3.0)


def attention_flops(*, heads: ArrayLike, key_dim: ArrayLike, value_dim: ArrayLike) -> Array:
    r"""Count the attention FLOPs per pair of a new token and a context token. [FLOP]

    .. math:: F = 2 H (k + v)

    heads : The query heads, :math:`H`. [1]
    key_dim : The elements scored per head, :math:`k`. [1]
    value_dim : The elements summed per head, :math:`v`. [1]

    Latent attention scores and sums the latent itself: :math:`k = c + r`, :math:`v = c`. Source:
    Kaplan et al., arXiv:2001.08361, table 1; DeepSeek-V2, arXiv:2405.04434, sec. 2.1.2.

    >>> float(attention_flops(heads=128, key_dim=512 + 64, value_dim=512))
    278528.0
    """
    return 2.0 * floats(heads) * (key_dim + value_dim)


def linear_flops(*, parameters: ArrayLike) -> Array:
    r"""Count the matrix-product FLOPs per token, two per parameter. [FLOP]

    .. math:: F = 2 P

    parameters : The parameters that each token is multiplied by, :math:`P`. [1]

    Source: Kaplan et al., arXiv:2001.08361, sec. 2.1.

    >>> float(linear_flops(parameters=7_504_924_672))
    15009849344.0
    """
    return 2.0 * floats(parameters)
