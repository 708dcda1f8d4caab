"""Parameters of sparse attention: indexers and compressors."""

from fastcalc.formulas.types import Array, ArrayLike, floats


def indexer_matrices(
    *,
    hidden: ArrayLike,
    query: ArrayLike,
    heads: ArrayLike,
    head_dim: ArrayLike,
    key_matrices: ArrayLike,
    head_weights: ArrayLike,
) -> Array:
    r"""Count the weights of an indexer, which selects the tokens to attend to. [1]

    .. math:: P = q \, n d + c \, h d + w \, h n

    hidden : The hidden width, :math:`h`. [1]
    query : The input width of the query projection, :math:`q`. [1]
    heads : The indexer heads, :math:`n`. [1]
    head_dim : The elements of a head, :math:`d`. [1]
    key_matrices : The matrices per key, :math:`c`: 1, or 2 if pooled, or 4 if pools overlap. [1]
    head_weights : 1 if heads are weighted by token, else 0, :math:`w`. [1]

    All heads share one key. Source: DeepSeek-V3.2, arXiv:2512.02556, sec. 2.1.

    >>> float(indexer_matrices(hidden=7168, query=1536, heads=64, head_dim=128, key_matrices=1,
    ...                  head_weights=1))
    13959168.0
    """
    width = floats(hidden)
    keys, weights = width * key_matrices * head_dim, width * head_weights * heads
    return floats(query) * heads * head_dim + keys + weights


def compressed_attention_matrices(
    *,
    hidden: ArrayLike,
    heads: ArrayLike,
    head_dim: ArrayLike,
    q_rank: ArrayLike,
    output_groups: ArrayLike,
    output_rank: ArrayLike,
) -> Array:
    r"""Count the weights of attention in which all heads share one key-value vector. [1]

    .. math:: P = h q + q H d + h d + H d \, o + g o \, h

    hidden : The hidden width, :math:`h`. [1]
    heads : The query heads, :math:`H`. [1]
    head_dim : The elements per head, :math:`d`. [1]
    q_rank : The rank of the query bottleneck, :math:`q`. [1]
    output_groups : The groups of heads in the output projection, :math:`g`. [1]
    output_rank : The rank of each group's bottleneck, :math:`o`. [1]

    Source: DeepSeek V4 in transformers 5.23.

    >>> float(compressed_attention_matrices(hidden=4096, heads=64, head_dim=512, q_rank=1024,
    ...                               output_groups=8, output_rank=1024))
    106954752.0
    """
    width, head_width = floats(hidden), floats(heads) * head_dim
    query = width * q_rank + q_rank * head_width
    output = head_width * output_rank + width * output_groups * output_rank
    return query + width * head_dim + output


def compressor_matrices(*, hidden: ArrayLike, head_dim: ArrayLike, overlap: ArrayLike) -> Array:
    r"""Count the weights of a compressor, which merges the keys and values of several tokens. [1]

    .. math:: P = 2 \, a \, h d

    hidden : The hidden width, :math:`h`. [1]
    head_dim : The elements per cache entry, :math:`d`. [1]
    overlap : The entries to which a token contributes, :math:`a`: 1 or 2. [1]

    A compressor has a projection and a gate. Source: DeepSeek V4 in transformers 5.23.

    >>> float(compressor_matrices(hidden=4096, head_dim=512, overlap=2))
    8388608.0
    """
    return 2.0 * floats(overlap) * hidden * head_dim
