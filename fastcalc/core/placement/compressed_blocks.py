"""KV-cache block pool for compressed attention (DeepSeek V4), as in vLLM.

Windows, compressed entries, indexer keys and compressor states share pages, so a sequence needs
blocks for all tokens that steps in flight may add. Source: vLLM 0.27,
vllm/v1/core/kv_cache_utils.py (_get_kv_cache_groups_uniform_groups) and vllm/models/deepseek_v4
(attention.py, compressor.py).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.schema import CompressedAttention
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.block_pool import BlockGroup, BlockPool, LayerCache

_BLOCK, _WINDOW_BLOCK = 256, 64
"""The tokens per block of compressed entries, and per block of window entries."""

_PAGE_UNIT = 576
"""The page size of an 8-bit cache is a multiple of this. [byte]"""

_UNSCALED_BYTES = 72
"""The size of an 8-bit entry beyond one byte per element: 64 elements are stored in 16 bits, and 8
bytes are scales. [byte]"""

_STATE_BYTES = 4
"""The width of a compressor's state. [byte]"""


@dataclass(frozen=True)
class _Pages:
    """The entry sizes of a cache, in aligned pages at 8 bits and without padding at 16 bits."""

    is_quantized: bool

    def entry(self, head_dim: int) -> int:
        """Compute the size of a key, which also serves as the value, in bytes."""
        return head_dim + _UNSCALED_BYTES if self.is_quantized else 2 * head_dim

    def page(self, size: int, *, is_indexer: bool = False) -> int:
        """Compute the size of a page, including padding if pages are aligned, in bytes."""
        if not self.is_quantized and not is_indexer:
            return size
        return ceil(size / _PAGE_UNIT) * _PAGE_UNIT


class _Table(NamedTuple):
    """Layers whose blocks span the same number of tokens.

    layer, tokens : The cache of each layer, and the tokens per block.
    sizes : The number of layers by page size, in bytes.
    """

    layer: LayerCache
    tokens: int
    sizes: dict[int, int]

    @property
    def most(self) -> int:
        """The number of layers with the most common page size."""
        return max(self.sizes.values())


def compressed_pool(work: Workload, pp: int) -> BlockPool | None:
    """Build the pool of one rank, or return None if the model also uses other attention.

    pp : The number of stages among which layers are divided.
    """
    counts: dict[CompressedAttention, int] = {}
    for block in work.model.blocks:
        if not isinstance(block.attention, CompressedAttention):
            return None
        key = block.attention
        counts[key] = counts.get(key, 0) + int(block.count)
    pages = _Pages(is_quantized=number_format(work.kv_format, cache=True).cache_bytes <= 1.0)
    stage = {attention: ceil(count / pp) for attention, count in counts.items()}
    sizes: dict[int, int] = {}
    for attention, layers in stage.items():
        if attention.compression is None:
            continue
        entries = _BLOCK // attention.compression
        page = pages.page(entries * pages.entry(attention.head_dim))
        sizes[page] = sizes.get(page, 0) + layers
        if attention.indexer is not None:
            width = attention.indexer.head_dim
            keys = pages.page(entries * (width + width // 128 * 4), is_indexer=True)
            sizes[keys] = sizes.get(keys, 0) + layers
    full = _Table(LayerCache(1.0), _BLOCK, sizes)
    if not full.sizes:
        return None
    # Every layer keeps the most recent tokens uncompressed.
    attention = next(iter(stage))
    page = pages.page(_WINDOW_BLOCK * pages.entry(attention.head_dim))
    layer = LayerCache(1.0, window=float(attention.window))
    window = _Table(layer, _WINDOW_BLOCK, {page: sum(stage.values())})
    tables = [full, window, *_states(stage, pages)]
    per_group = _tuple_layers([table.most for table in tables])
    groups, widest, block_bytes = [], full.most, 0
    for table in tables:
        count = 1 if table is full else ceil(table.most / per_group)
        groups.append(BlockGroup(table.layer, count, float(table.tokens)))
        widest = max(widest, ceil(table.most / count))
        # Groups share the memory of a block, so the largest group determines its size. Pages larger
        # than every page of full entries are not padded.
        of_group = sum(
            min((page for page in full.sizes if page >= size), default=size) * ceil(layers / count)
            for size, layers in table.sizes.items()
        )
        block_bytes = max(block_bytes, of_group)
    padded = widest * sum(full.sizes)
    return BlockPool(float(block_bytes), tuple(groups), 1.0, float(padded))


def _tuple_layers(counts: list[int]) -> int:
    """Choose the number of layers per group with the least padding, or the largest in a tie.

    counts : The number of layers in each table.
    """
    return min(
        range(counts[0], max(counts) + 1),
        key=lambda size: (sum(-count % size for count in counts), -size),
    )


def _states(stage: dict[CompressedAttention, int], pages: _Pages) -> Iterator[_Table]:
    """Yield the tables of compressor states: 32-bit keys and scores of recent tokens."""
    for attention, layers in stage.items():
        if attention.compression is None:
            continue
        indexer = attention.indexer
        overlap, tokens = (1, 8) if indexer is None else (2, 4)
        row = 2 * overlap * _STATE_BYTES * tokens
        sizes = {pages.page(row * attention.head_dim): layers}
        if indexer is not None:
            sizes[pages.page(row * indexer.head_dim, is_indexer=True)] = layers
        window = float(overlap * attention.compression)
        yield _Table(LayerCache(1.0, window=window), tokens, sizes)
