"""Parameters and memory traffic of layers with a fixed-size state instead of a cache."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def gated_deltanet_matrices(
    *, hidden: ArrayLike, key_width: ArrayLike, value_width: ArrayLike, value_heads: ArrayLike
) -> Array:
    r"""Count the weights of a gated DeltaNet layer. [1]

    .. math:: P = h (2 k + v) + h v + 2 h b + v h

    hidden : The hidden width, :math:`h`. [1]
    key_width : The key heads times key dimension, :math:`k`. [1]
    value_width : The value heads times value dimension, :math:`v`. [1]
    value_heads : The value heads, :math:`b`. [1]

    Source: "Gated delta networks," arXiv:2412.06464, sec. 3.4; Qwen3-Next.

    >>> float(gated_deltanet_matrices(hidden=2048, key_width=2048, value_width=4096,
    ...                               value_heads=32))
    33685504.0
    """
    return floats(hidden) * (2.0 * key_width + 3.0 * value_width + 2.0 * value_heads)


def kda_matrices(
    *,
    hidden: ArrayLike,
    key_width: ArrayLike,
    value_width: ArrayLike,
    heads: ArrayLike,
    decay_rank: ArrayLike,
    gate_rank: ArrayLike,
) -> Array:
    r"""Count the weights of Kimi Delta Attention. [1]

    .. math:: P = h (2 k + v) + r (h + k) + h H + g (h + v) + v h

    hidden : The hidden width, :math:`h`. [1]
    key_width : The heads times key dimension, :math:`k`. [1]
    value_width : The heads times value dimension, :math:`v`. [1]
    heads : The heads, :math:`H`. [1]
    decay_rank : The rank of the decay projection, :math:`r`: the head dimension. [1]
    gate_rank : The rank of the output gate, :math:`g`, or 0 for full rank. [1]

    At full rank, the gate has :math:`h v` parameters. Source: Kimi Linear, arXiv:2510.26692.

    >>> float(kda_matrices(hidden=2304, key_width=4096, value_width=4096, heads=32,
    ...              decay_rank=128, gate_rank=128))
    39460864.0
    """
    width, gates = floats(hidden), floats(gate_rank)
    gate = np.where(gates == 0, width * value_width, gates * (width + value_width))
    inward = width * (2.0 * key_width + value_width + heads)
    return inward + decay_rank * (width + key_width) + gate + width * value_width


def mamba2_matrices(
    *, hidden: ArrayLike, inner: ArrayLike, state_width: ArrayLike, heads: ArrayLike
) -> Array:
    r"""Count the weights of a Mamba-2 layer. [1]

    .. math:: P = h (2 w + 2 s + H) + w h

    hidden : The hidden width, :math:`h`. [1]
    inner : The heads times head dimension, :math:`w`. [1]
    state_width : The groups times state size, :math:`s`. [1]
    heads : The heads, :math:`H`. [1]

    Source: Dao and Gu, "Transformers are SSMs," arXiv:2405.21060, sec. 7.1.

    >>> float(mamba2_matrices(hidden=2688, inner=4096, state_width=8 * 128, heads=64))
    38707200.0
    """
    return floats(hidden) * (3.0 * inner + 2.0 * state_width + heads)


def mamba_matrices(
    *, hidden: ArrayLike, inner: ArrayLike, state_size: ArrayLike, step_rank: ArrayLike
) -> Array:
    r"""Count the weights of a Mamba layer. [1]

    .. math:: P = 3 h w + 2 w (r + n)

    hidden : The hidden width, :math:`h`. [1]
    inner : The channels of the state, :math:`w`. [1]
    state_size : The state elements per channel, :math:`n`. [1]
    step_rank : The rank of the projection to step sizes, :math:`r`. [1]

    Source: Gu and Dao, "Mamba," arXiv:2312.00752, sec. 3.4.

    >>> float(mamba_matrices(hidden=768, inner=1536, state_size=16, step_rank=48))
    3735552.0
    """
    width = floats(inner)
    return 3.0 * hidden * width + 2.0 * width * (floats(step_rank) + state_size)


def lightning_matrices(*, hidden: ArrayLike, width: ArrayLike) -> Array:
    r"""Count the weights of lightning attention with an output gate. [1]

    .. math:: P = 5 h w

    hidden : The hidden width, :math:`h`. [1]
    width : The heads times head dimension, :math:`w`. [1]

    Source: MiniMax, "MiniMax-01," arXiv:2501.08313, sec. 2.2.

    >>> float(lightning_matrices(hidden=4096, width=4096))
    83886080.0
    """
    return 5.0 * floats(hidden) * width


def short_convolution_matrices(*, hidden: ArrayLike, width: ArrayLike) -> Array:
    r"""Count the weights of a gated short convolution: two gates, input and output. [1]

    .. math:: P = 4 h w

    hidden : The hidden width, :math:`h`. [1]
    width : The channels, :math:`w`. [1]

    Source: transformers 5.24.0, `Lfm2ShortConv`.

    >>> float(short_convolution_matrices(hidden=2048, width=2048))
    16777216.0
    """
    return 4.0 * floats(hidden) * width


def delta_rule_traffic(
    *, key_width: ArrayLike, value_width: ArrayLike, heads: ArrayLike, key_dim: ArrayLike
) -> Array:
    r"""Count the memory traffic of chunked delta-rule kernels per prompt token. [byte]

    .. math:: B = 34 k + 26 v + 4 w + 12 C b + \frac{4 w v}{C b}

    key_width : The key heads times key dimension, :math:`k`. [1]
    value_width : The value heads times value dimension, :math:`v`. [1]
    heads : The value heads, :math:`b`. [1]
    key_dim : The key dimension; :math:`w` is the key dimension times the value heads. [1]

    Chunks have :math:`C = 64` tokens. The terms, at 16 bits with each tensor written once and read
    once, are: convolving queries, keys and values, rearranging and normalizing them (24 k + 8 v);
    32-bit products of keys within a chunk, their inverse and its products (4 k + 4 v + 2 w + 12 C
    b); the state of each chunk and new values (2 k + 4 v + 2 w); outputs (4 k + 4 v); and the gated
    norm (6 v). Source: kernels of flash-linear-attention that vLLM and SGLang run (chunk_delta_h,
    chunk_o, chunk_scaled_dot_kkt, solve_tril, wy_fast); S. Yang et al., arXiv:2412.06464, sec. 3.3.

    Qwen3.5 27B, which has 16 key heads and 48 value heads with 128 dimensions each:

    >>> float(delta_rule_traffic(key_width=2048, value_width=6144, heads=48, key_dim=128)) / 1e3
    339.968
    """
    keys, values, count = floats(key_width), floats(value_width), floats(heads)
    wide = count * key_dim
    chunked = 12.0 * CHUNK * count + 4.0 * wide * values / (CHUNK * count)
    return 34.0 * keys + 26.0 * values + 4.0 * wide + chunked


CHUNK = 64.0
"""The number of tokens per delta-rule chunk in flash-linear-attention."""


def state_space_traffic(*, groups: ArrayLike, state_size: ArrayLike, inner: ArrayLike) -> Array:
    r"""Count the memory traffic between Mamba-2 kernels per prompt token. [byte]

    .. math:: B = 16 (g n + w) + 8 C g + \frac{16 w n}{C}

    groups : The groups, :math:`g`. [1]
    state_size : The state size of a group, :math:`n`. [1]
    inner : The heads times head dimension, :math:`w`. [1]

    Chunks have :math:`C = 256` tokens; states and products within a chunk use 32 bits. Source: T.
    Dao and A. Gu, arXiv:2405.21060, sec. 6; kernels of mamba_ssm that vLLM runs (chunk_state,
    state_passing, bmm_chunk, chunk_scan).

    >>> float(state_space_traffic(groups=8, state_size=128, inner=4096))
    131072.0
    """
    wide, chunk = floats(inner), 256.0
    within = 8.0 * chunk * floats(groups) + 16.0 * wide * state_size / chunk
    return 16.0 * (floats(groups) * state_size + wide) + within
