"""The pool of cache blocks of an engine whose layers of all kinds share pages, as vLLM has them."""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.schema import Attention, Block, CompressedAttention, LinearAttention
from fastcalc.core.chip.machine import Machine
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.block_pool import BlockGroup, BlockPool, LayerCache
from fastcalc.core.placement.compressed_blocks import compressed_pool
from fastcalc.core.placement.layout import AnyLayout, Layout
from fastcalc.formulas.cache_blocks import group_layers, state_block_tokens
from fastcalc.formulas.types import Array, ArrayLike, floats

_LATENT_ALIGNMENT = 128.0
"""Tokens that blocks of latent attention next to recurrent states are a multiple of (vLLM 0.27,
vllm/platforms/interface.py). [1]"""


CONVOLUTION_BYTES = 2.0
"""Width of what convolutions look back on. [byte]"""


def block_pool(machine: Machine, work: Workload, tp: int, pp: int) -> BlockPool | None:
    """The block pool of one rank; None where the engine shares no pages, or its form is unknown.

    tp, pp : ranks that divide a layer, and stages that divide layers [1]
    """
    paging = _paging(machine, work)
    return None if paging is None else _pool(work, (tp, pp), paging)


class _Paging(NamedTuple):
    """What of an engine's settings the pool of a workload depends on.

    block, drafted, state_blocks : tokens of a block, tokens that are drafted, and blocks of a state
        [1]
    ranks : ranks of a chip [1]
    """

    block: float
    drafted: float
    state_blocks: float
    ranks: int


def _paging(machine: Machine, work: Workload) -> _Paging | None:
    """Settings of an engine that shares pages; None where it shares none."""
    block = float(np.max(machine.software.block_size))
    if block == inf or machine.place or machine.is_spatial:
        return None
    drafted = machine.memory.drafted if work.model.mtp else 0.0
    state_blocks = float(np.max(machine.software.state_blocks)) + drafted
    return _Paging(block, drafted, state_blocks, machine.ranks)


@lru_cache(maxsize=512)
def _pool(work: Workload, ranks: tuple[int, int], paging: _Paging) -> BlockPool | None:
    """The pool of one rank of `ranks`, tensor-parallel ranks and stages."""
    block, drafted, state_blocks, _ = paging
    tp, pp = ranks
    if any(isinstance(part.attention, CompressedAttention) for part in work.model.blocks):
        return compressed_pool(work, pp)
    layers = _layer_caches(work, tp, drafted)
    if not layers:
        return None
    if all(not layer.state and layer.window == inf for layer in layers) or len(layers) == 1:
        return _uniform(layers, block, pp, state_blocks)
    return _grouped(layers, block, pp, state_blocks, is_latent=work.latent_layers > 0)


def _layer_caches(work: Workload, tp: int, drafted: float) -> dict[LayerCache, int]:
    """How many layers keep what on a rank, those that draft with those of attention.

    drafted : draft tokens of a pass, of which convolutions keep the inputs as well [1]
    """
    counts: dict[LayerCache, int] = {}
    for block, (count, layer) in zip(work.model.blocks, work.layer_kinds, strict=False):
        for cache in _caches_of(block, layer, tp, drafted):
            counts[cache] = counts.get(cache, 0) + int(count)
    if drafted and work.model.mtp and (full := [cache for cache in counts if cache.token]):
        counts[max(full)] += work.model.mtp.layers
    return counts


def _caches_of(block: Block, layer: Workload, tp: int, drafted: float) -> Iterator[LayerCache]:
    attention = block.attention
    is_chunked = isinstance(attention, Attention) and attention.chunked
    tokens: dict[float, float] = {}  # keys of an indexer are in the blocks of what they pick
    for group in layer.caches:
        token = group.elements * layer.element_bytes(group) / min(tp, group.shards)
        tokens[group.window] = tokens.get(group.window, 0.0) + token
    for window, token in tokens.items():
        if token:  # a layer that attends to the cache of another keeps none
            yield LayerCache(token, window, is_chunked=is_chunked)
    if isinstance(attention, LinearAttention):
        rows = layer.convolution_elements / max(attention.conv_kernel - 1, 1)
        state = layer.state_bytes + drafted * rows * CONVOLUTION_BYTES
        yield LayerCache(0.0, state=state / tp)


def _uniform(
    layers: dict[LayerCache, int], block: float, pp: int, state_blocks: float
) -> BlockPool:
    """One table for all layers, each with pages of its own size."""
    page = sum((layer.state or layer.token * block) * count for layer, count in layers.items())
    block_count = sum(layers.values())
    fraction = ceil(block_count / pp) / block_count
    first = next(iter(layers))
    return BlockPool(page * fraction, (BlockGroup(first, 1, block),), state_blocks)


def _grouped(
    layers: dict[LayerCache, int], block: float, pp: int, state_blocks: float, *, is_latent: bool
) -> BlockPool | None:
    """Block tables with the same number of layers each and pages of one size."""
    tokens = [layer.token for layer in layers if layer.token]
    state = max(layer.state for layer in layers)
    if not tokens:
        return None
    if state:
        alignment = max(block, _LATENT_ALIGNMENT) if is_latent else block
        block = float(state_block_tokens(state=state, token=max(tokens), alignment=alignment))
    page = block * max(tokens)
    size = int(group_layers(fewest=min(layers.values()), most=max(layers.values())))
    groups = tuple(
        BlockGroup(layer, ceil(count / size), _tokens_of_page(layer, page, block))
        for layer, count in layers.items()
    )
    return BlockPool(ceil(size / pp) * page, groups, state_blocks)


def _tokens_of_page(layer: LayerCache, page: float, block: float) -> float:
    """Tokens that a page of the common size holds: more where it is a multiple, else padded."""
    if layer.state or page % (block * layer.token):
        return block
    return page / layer.token


def reserved_on_chip(
    machine: Machine, work: Workload, layout: AnyLayout, tokens: ArrayLike
) -> Array | None:
    """What the pages of a sequence take of the fullest chip; None where bytes say it. [byte]

    Layers of one kind take what their tokens do, but for the last block.
    """
    paging = _paging(machine, work)
    if len(work.layer_kinds) < 2 or paging is None:
        return None
    count: Callable[[tuple[int, int]], Array | None]
    if isinstance(tokens, float):
        count = partial(_pages_once, work, paging, tokens)
    else:
        count = partial(_pages, work, paging, tokens)
    if isinstance(layout, Layout):
        return count((layout.tp, layout.pp))
    every_tp, every_pp = np.broadcast_arrays(layout.tp, layout.pp)
    ranks = list(zip(every_tp.ravel().tolist(), every_pp.ravel().tolist(), strict=True))
    pages: dict[tuple[int, int], Array] = {}
    for item in dict.fromkeys(ranks):
        of_ranks = count(item)
        if of_ranks is None:
            return None
        pages[item] = of_ranks
    if isinstance(tokens, float):
        return floats(np.array([pages[item] for item in ranks]).reshape(every_tp.shape))
    result: Array = floats(0.0)
    for (tp, pp), of_ranks in pages.items():
        result = np.where((every_tp == tp) & (every_pp == pp), of_ranks, result)
    return result


def _pages(
    work: Workload, paging: _Paging, tokens: ArrayLike, ranks: tuple[int, int]
) -> Array | None:
    pool = _pool(work, ranks, paging)
    if pool is None or len(pool.groups) < 2:
        return None
    return pool.reserved(tokens) * (pool.block_bytes * paging.ranks)


_pages_once = lru_cache(maxsize=4096)(_pages)
