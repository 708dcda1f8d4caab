"""Block pools of engines whose layers all share pages, such as vLLM."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Attention, CompressedAttention, LinearAttention
from fastcalc.core.chip.machine import Machine
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.block_pool import BlockGroup, BlockPool, LayerCache
from fastcalc.core.placement.compressed_blocks import compressed_pool
from fastcalc.core.placement.layout import AnyLayout, Layout
from fastcalc.formulas.cache_blocks import group_layers, state_block_tokens
from fastcalc.formulas.types import Array, ArrayLike, floats, max_of

_LATENT_ALIGNMENT = 128.0
"""With recurrent states, block sizes for latent attention are multiples of this (vLLM 0.27,
vllm/platforms/interface.py)."""

CONVOLUTION_BYTES = 2.0
"""The width of convolution inputs. [byte]"""


def block_pool(machine: Machine, work: Workload, tp: int, pp: int) -> BlockPool | None:
    """Build the block pool of one rank, or return None if there is none or it is unknown.

    tp, pp : The ranks that divide each layer, and the stages among which layers are divided.
    """
    paging = _paging(machine, work)
    return None if paging is None else _pool(work, (tp, pp), paging)


class _Paging(NamedTuple):
    """The engine settings that determine a block pool.

    block, drafted, state_blocks : The tokens per block, draft tokens, and blocks per recurrent
        state.
    ranks : The ranks per chip.
    draft : The separate draft model.
    """

    block: float
    drafted: float
    state_blocks: float
    ranks: int
    draft: Workload | None


@once
def _paging(machine: Machine, work: Workload) -> _Paging | None:
    """Read the settings of an engine whose layers share pages, or return None for other engines."""
    block = max_of(machine.software.block_size)
    if block == inf or machine.place or machine.is_spatial:
        return None
    drafted = machine.memory.drafted if work.model.mtp or machine.draft else 0.0
    state_blocks = max_of(machine.software.state_blocks) + drafted
    return _Paging(block, drafted, state_blocks, machine.ranks, machine.draft)


@lru_cache(maxsize=1024)
def _pool(work: Workload, ranks: tuple[int, int], paging: _Paging) -> BlockPool | None:
    block, drafted, state_blocks, _, draft = paging
    tp, pp = ranks
    if any(isinstance(part.attention, CompressedAttention) for part in work.model.blocks):
        pool = compressed_pool(work, pp)
        return _with_draft(pool, _token_bytes(draft, tp)) if pool and draft else pool
    layers = _layer_caches(work, tp, drafted)
    if not layers:
        return None
    full = max(layers)
    drafting = _draft_layers(work, full.token, tp, paging)
    layers[full] += drafting
    if len(layers) == 1 or not any(layer.state or layer.window < inf for layer in layers):
        size = sum(layers.values())
        page = sum((layer.state or layer.token * block) * count for layer, count in layers.items())
        pool = BlockPool(page, (BlockGroup(next(iter(layers)), 1, block),), state_blocks)
    else:
        pool, size = _grouped(layers, block, state_blocks, is_latent=work.latent_layers > 0)
        drafting = ceil(drafting / ceil(layers[full] / size))
        if pool is None:
            return None
    fraction = _on_last_stage(size - drafting, drafting, pp) / size
    return replace(pool, block_bytes=pool.block_bytes * fraction)


def _token_bytes(draft: Workload, tp: int) -> float:
    """Compute the cache per token of a draft model on one rank, in bytes."""
    return float(draft.cache_bytes(2.0, ranks=tp) - draft.cache_bytes(1.0, ranks=tp))


def _with_draft(pool: BlockPool, token: float) -> BlockPool:
    """Add separate tables for the caches of a draft model to a pool.

    token : The cache of one token of the draft model, in bytes.
    """
    if not token:
        return pool
    tokens = min(group.tokens for group in pool.groups if group.layer.window == inf)
    tables = ceil(tokens * token / pool.block_bytes)
    caches = BlockGroup(LayerCache(token), tables, tables * pool.block_bytes / token)
    return replace(pool, groups=(*pool.groups, caches))


def _layer_caches(work: Workload, tp: int, drafted: float) -> dict[LayerCache, int]:
    """Count the layers of each cache type on a rank, without draft layers.

    drafted : The draft tokens per step, whose convolution inputs are also stored.
    """
    counts: dict[LayerCache, int] = {}
    for block, (count, layer) in zip(work.model.blocks, work.layer_kinds, strict=False):
        attention = block.attention
        is_chunked = isinstance(attention, Attention) and attention.chunked
        tokens: dict[float, float] = {}  # indexer keys share the blocks of the selected tokens
        for group in layer.caches:
            token = group.elements * layer.element_bytes(group) / min(tp, group.shards)
            tokens[group.window] = tokens.get(group.window, 0.0) + token
        caches = [  # a layer that reuses another layer's cache has none
            LayerCache(token, window, is_chunked=is_chunked)
            for window, token in tokens.items()
            if token
        ]
        if isinstance(attention, LinearAttention):
            rows = layer.convolution_elements / max(attention.conv_kernel - 1, 1)
            state = layer.state_bytes + drafted * rows * CONVOLUTION_BYTES
            caches.append(LayerCache(0.0, state=state / tp))
        for cache in caches:
            counts[cache] = counts.get(cache, 0) + int(count)
    return counts


def _draft_layers(work: Workload, token: float, tp: int, paging: _Paging) -> int:
    """Count the attention layers whose caches need as much memory as the draft's.

    token : The cache of one token in such a layer, in bytes.
    """
    if not token:
        return 0
    if paging.draft:
        return ceil(_token_bytes(paging.draft, tp) / token)
    return work.model.mtp.layers if paging.drafted and work.model.mtp else 0


def _on_last_stage(layers: int, drafting: int, pp: int) -> int:
    """Count the layers of the fullest stage if all draft layers are on the last stage.

    The last stage never gets a remainder layer (vLLM, get_pp_indices in vllm/distributed/utils.py).

    >>> _on_last_stage(61, 1, 2), _on_last_stage(64, 4, 4), _on_last_stage(61, 3, 1)
    (31, 20, 64)
    """
    return max(ceil(layers / pp), layers // pp + drafting)


def _grouped(
    layers: dict[LayerCache, int], block: float, state_blocks: float, *, is_latent: bool
) -> tuple[BlockPool | None, int]:
    """Group layers into block tables of equal length with a common page size.

    Returns the pool and the number of layers per table. The pool is None if no layer caches tokens.
    """
    tokens = [layer.token for layer in layers if layer.token]
    state = max(layer.state for layer in layers)
    size = int(group_layers(fewest=min(layers.values()), most=max(layers.values())))
    if not tokens:
        return None, size
    if state:
        alignment = max(block, _LATENT_ALIGNMENT) if is_latent else block
        block = float(state_block_tokens(state=state, token=max(tokens), alignment=alignment))
    page, groups = block * max(tokens), []
    for layer, count in layers.items():
        # A page is split into blocks if they fill it exactly; otherwise its block is padded.
        is_padded = layer.state or page % (block * layer.token)
        in_page = block if is_padded else page / layer.token
        groups.append(BlockGroup(layer, ceil(count / size), in_page))
    return BlockPool(size * page, tuple(groups), state_blocks), size


def reserved_on_chip(
    machine: Machine, work: Workload, layout: AnyLayout, tokens: ArrayLike
) -> Array | None:
    """Compute the cache of a sequence on the fullest chip, in whole pages, in bytes.

    Returns None if the engine counts bytes, or if all layers are of the same type, since then only
    the last block can be partly empty.
    """
    paging = _paging(machine, work)
    if len(work.layer_kinds) < 2 or paging is None:
        return None
    return by_ranks(layout, tokens, partial(_pages, work, paging, tokens))


def by_ranks(
    layout: AnyLayout, tokens: ArrayLike, count: Callable[[tuple[int, int]], ArrayLike | None]
) -> Array | None:
    """Compute a quantity of the fullest chip once for each pair of tp and pp of some layouts.

    tokens : The tokens of the sequences, which `count` knows.
    count : Computes it for a pair of ranks; None if it is unknown.
    """
    if isinstance(layout, Layout):
        of_layout = count((layout.tp, layout.pp))
        return None if of_layout is None else floats(of_layout)
    every_tp, every_pp = np.broadcast_arrays(layout.tp, layout.pp)
    ranks = list(zip(every_tp.ravel().tolist(), every_pp.ravel().tolist(), strict=True))
    pages: dict[tuple[int, int], ArrayLike] = {}
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
