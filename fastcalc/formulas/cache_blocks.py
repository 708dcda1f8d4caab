"""Cache blocks shared by all layer types: block size, and blocks per sequence."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def state_block_tokens(*, state: ArrayLike, token: ArrayLike, alignment: ArrayLike) -> Array:
    r"""Count the tokens in an attention block whose page must also fit a recurrent state. [1]

    .. math:: b = a \lceil s / (a \, t) \rceil

    state : The recurrent state of a layer, :math:`s`. [byte]
    token : The cache per token in an attention layer, :math:`t`. [byte]
    alignment : The block size must be a multiple of this number of tokens, :math:`a`. [1]

    Source: vLLM 0.27, vllm/platforms/interface.py, _align_hybrid_block_size: 784 tokens for Qwen3.5
    27B with a 16-bit cache.

    >>> float(state_block_tokens(state=3_207_168, token=4096, alignment=16))
    784.0
    """
    aligned = floats(alignment)
    return aligned * np.ceil(floats(state) / (aligned * token))


def group_layers(*, fewest: ArrayLike, most: ArrayLike) -> Array:
    r"""Compute the number of layers in a group that shares a block table. [1]

    .. math:: g = l \quad (l < 1.5 \, k), \quad \text{else} \quad k

    fewest : The number of layers of the rarest type, :math:`k`. [1]
    most : The number of layers of the most frequent type, :math:`l`. [1]

    Source: vLLM 0.27, vllm/v1/core/kv_cache_utils.py, _get_kv_cache_groups_uniform_page_size.

    >>> float(group_layers(fewest=12, most=13))
    13.0
    """
    return np.where(floats(most) < 1.5 * floats(fewest), most, fewest)


def window_blocks(
    *, tokens: ArrayLike, window: ArrayLike, step: ArrayLike, block: ArrayLike
) -> Array:
    r"""Count the blocks that a sequence reserves in a sliding-window layer. [1]

    .. math:: n = \lceil \min(w - 1 + q, T) / b \rceil + 1

    tokens : The tokens of the sequence, :math:`T`. [1]
    window : The tokens in the window, :math:`w`. [1]
    step : The tokens added by steps in flight before any block is freed, :math:`q`. [1]
    block : The tokens per block, :math:`b`. [1]

    Source: vLLM 0.27, vllm/v1/kv_cache_interface.py, SlidingWindowSpec: a window may start in the
    middle of a block.

    >>> float(window_blocks(tokens=8192, window=128, step=1, block=16))
    9.0
    """
    return np.ceil(np.minimum(floats(window) - 1.0 + step, tokens) / block) + 1.0
