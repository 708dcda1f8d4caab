"""Cache capacity of an engine in tokens, counted in blocks."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def whole_blocks(*, tokens: ArrayLike, block: ArrayLike) -> Array:
    r"""Round a sequence's tokens up to whole blocks. [1]

    .. math:: t = \lceil n / b \rceil \, b

    tokens : The tokens of the sequence, :math:`n`. [1]
    block : The tokens per block, :math:`b`. [1]

    Source: W. Kwon et al., "Efficient memory management for large language model serving with
    PagedAttention," SOSP 2023, sec. 4.

    >>> float(whole_blocks(tokens=2049, block=16))
    2064.0
    """
    return np.ceil(floats(tokens) / block) * block


def cached_tokens(
    *, available: ArrayLike, sequence: ArrayLike, tokens: ArrayLike, block: ArrayLike
) -> Array:
    r"""Count the tokens that fit in a block-based cache if all sequences have equal length. [1]

    .. math:: T = \lfloor K \, t / (m \, b) \rfloor \, b

    available : The memory for caches, :math:`K`, clipped at 0. [byte]
    sequence : The cache size of one sequence, :math:`m`. [byte]
    tokens : The tokens of one sequence, rounded up to whole blocks, :math:`t`. [1]
    block : The tokens per block, :math:`b`. [1]

    If every token needs the same amount of memory, the sequence length does not matter.

    Source: vLLM 0.11, vllm/v1/core/kv_cache_utils.py, get_num_blocks and
    get_max_concurrency_for_kv_cache_config; Mistral Small 3.2 logged 28.2 GiB and 184,832 tokens.

    >>> float(cached_tokens(available=28.2 * 2**30, sequence=2_621_440, tokens=16, block=16))
    184800.0
    """
    in_blocks = np.maximum(floats(available), 0.0) * tokens / (floats(sequence) * block)
    return np.floor(in_blocks) * block
