"""Pool of KV-cache blocks: block tables and block size."""

from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from fastcalc.formulas.cache_blocks import window_blocks
from fastcalc.formulas.types import Array, ArrayLike, floats


class LayerCache(NamedTuple):
    """The cache of one layer type on a rank. Equal layers may share a block table.

    token : The cache of one token, in bytes.
    window : The number of past tokens attended to, or infinity for all.
    state : The recurrent state, which occupies a block regardless of length, in bytes.
    is_chunked : Whether windows are disjoint, each starting a new block.
    """

    token: float
    window: float = inf
    state: float = 0.0
    is_chunked: bool = False


class BlockGroup(NamedTuple):
    """Layers that share a block table.

    layer : The cache of each layer.
    tables : The number of groups of this type.
    tokens : The tokens per block.
    """

    layer: LayerCache
    tables: int
    tokens: float


@dataclass(frozen=True)
class BlockPool:
    """Models the pool from which all layers of a rank allocate cache blocks.

    block_bytes : The size of a block, summed over all layers that use its index, in bytes.
    groups : The block tables by layer type.
    state_blocks : The blocks per sequence in each table for recurrent states.
    padded_bytes : The block size in the startup check for one sequence, or None if equal, in bytes.
    """

    block_bytes: float
    groups: tuple[BlockGroup, ...]
    state_blocks: float
    padded_bytes: float | None = None

    @property
    def has_states(self) -> bool:
        """Whether every running sequence needs a block for its recurrent states."""
        return any(group.layer.state for group in self.groups)

    @property
    def checked_bytes(self) -> float:
        """The block size in the startup check that one sequence fits, in bytes."""
        return self.block_bytes if self.padded_bytes is None else self.padded_bytes

    def blocks(self, available: float) -> int:
        """Count the blocks that fit in an amount of memory.

        available : The memory of a rank that is available for caches, in bytes.
        """
        return max(int(available // self.block_bytes), 0)

    def reserved(self, tokens: ArrayLike, *, step: ArrayLike = 1.0) -> Array:
        """Count the blocks that a sequence occupies in the pool.

        tokens : The tokens of the sequence.
        step : The tokens added by steps in flight before a window frees any: 1 during decode.
        """
        if isinstance(tokens, float) and isinstance(step, float):
            return _reserved_once(self, tokens, step)
        return _reserved(self, tokens, step)


def _reserved(pool: BlockPool, tokens: ArrayLike, step: ArrayLike) -> Array:
    total = floats(0.0)
    for group in pool.groups:
        size, window = group.tokens, group.layer.window + group.layer.is_chunked
        blocks: ArrayLike = np.ceil(floats(tokens) / size)
        if group.layer.state:
            blocks = pool.state_blocks
        elif isfinite(window):
            resident = window_blocks(tokens=tokens, window=window, step=step, block=size)
            resident = resident - group.layer.is_chunked
            blocks = np.where(np.greater(step, 1.0), resident, np.minimum(resident, blocks))
        total = total + group.tables * blocks
    return total


_reserved_once = lru_cache(maxsize=4096)(_reserved)
