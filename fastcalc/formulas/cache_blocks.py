"""Blocks of an engine whose layers of all kinds share pages: how large, and how many a sequence."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def state_block_tokens(*, state: ArrayLike, token: ArrayLike, alignment: ArrayLike) -> Array:
    r"""Tokens of an attention block whose page holds a recurrent state as well. [1]

    .. math:: b = a \lceil s / (a \, t) \rceil

    state : recurrent state of a layer, :math:`s` [byte]
    token : what a token leaves in a layer of attention, :math:`t` [byte]
    alignment : tokens that kernels take blocks in multiples of, :math:`a` [1]

    Source: vLLM 0.27, vllm/platforms/interface.py, _align_hybrid_block_size: 784 tokens for
    Qwen3.5 27B with a cache at 16 bits.

    >>> float(state_block_tokens(state=3_207_168, token=4096, alignment=16))
    784.0
    """
    aligned = floats(alignment)
    return aligned * np.ceil(floats(state) / (aligned * token))


def group_layers(*, fewest: ArrayLike, most: ArrayLike) -> Array:
    r"""Layers of a group that share a table of blocks. [1]

    .. math:: g = l \quad (l < 1.5 \, k), \quad \text{else} \quad k

    fewest : layers of the rarest kind, :math:`k` [1]
    most : layers of the most frequent kind, :math:`l` [1]

    Source: vLLM 0.27, vllm/v1/core/kv_cache_utils.py, _get_kv_cache_groups_uniform_page_size.

    >>> float(group_layers(fewest=12, most=13))
    13.0
    """
    return np.where(floats(most) < 1.5 * floats(fewest), most, fewest)


def window_blocks(
    *, tokens: ArrayLike, window: ArrayLike, step: ArrayLike, block: ArrayLike
) -> Array:
    r"""Blocks that are reserved for a sequence in a layer which looks back on a window. [1]

    .. math:: n = \lceil \min(w - 1 + q, T) / b \rceil + 1

    tokens : of the sequence, :math:`T` [1]
    window : tokens that are looked back on, :math:`w` [1]
    step : tokens that steps in flight add before any is freed, :math:`q` [1]
    block : tokens of a block, :math:`b` [1]

    Source: vLLM 0.27, vllm/v1/kv_cache_interface.py, SlidingWindowSpec: a window need not begin
    with a block.

    >>> float(window_blocks(tokens=8192, window=128, step=1, block=16))
    9.0
    """
    return np.ceil(np.minimum(floats(window) - 1.0 + step, tokens) / block) + 1.0
