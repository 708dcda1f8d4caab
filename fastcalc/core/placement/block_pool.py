"""A pool of cache blocks: the tables that take blocks from it, and what a block weighs."""

from dataclasses import dataclass
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from fastcalc.formulas.cache_blocks import window_blocks
from fastcalc.formulas.types import Array, ArrayLike, floats


class LayerCache(NamedTuple):
    """What a layer of one kind keeps on a rank: equal where layers may share a group.

    token : what a token leaves [byte]
    window : tokens that it looks back on; infinity for all [1]
    state : recurrent state, which takes a block whatever the length [byte]
    is_chunked : True where windows begin with a block, each where the last one ends
    """

    token: float
    window: float = inf
    state: float = 0.0
    is_chunked: bool = False


class BlockGroup(NamedTuple):
    """Layers whose blocks one table lists.

    layer : what each of them keeps
    tables : groups of the same kind [1]
    tokens : of a block [1]
    """

    layer: LayerCache
    tables: int
    tokens: float


@dataclass(frozen=True)
class BlockPool:
    """Blocks that every layer of a rank takes its pages from.

    block_bytes : a block, of all layers that share its number [byte]
    groups : tables of blocks, by kind of layer
    state_blocks : blocks that a sequence keeps of each table of recurrent states [1]
    padded_bytes : a block as a start counts it for one sequence; None where it is the same [byte]
    """

    block_bytes: float
    groups: tuple[BlockGroup, ...]
    state_blocks: float
    padded_bytes: float | None = None

    @property
    def has_states(self) -> bool:
        """True where each running sequence needs a block for its recurrent states."""
        return any(group.layer.state for group in self.groups)

    @property
    def checked_bytes(self) -> float:
        """A block in the check that one sequence fits. [byte]"""
        return self.block_bytes if self.padded_bytes is None else self.padded_bytes

    def blocks(self, available: float) -> int:
        """Blocks that some memory holds. [1]

        available : memory of a rank for caches [byte]
        """
        return max(int(available // self.block_bytes), 0)

    def reserved(self, tokens: ArrayLike, *, step: float = 1.0) -> Array:
        """Blocks that a sequence takes from the pool. [1]

        tokens : of the sequence [1]
        step : tokens that steps in flight add before a window frees any: 1 while it decodes [1]
        """
        total = floats(np.zeros(np.shape(tokens)))
        for group in self.groups:
            total = total + group.tables * self._of_table(group, tokens, step)
        return total

    def _of_table(self, group: BlockGroup, tokens: ArrayLike, step: float) -> ArrayLike:
        if group.layer.state:
            return self.state_blocks
        block_count = np.ceil(floats(tokens) / group.tokens)
        if not isfinite(group.layer.window):
            return block_count
        window = group.layer.window + group.layer.is_chunked
        resident_blocks = window_blocks(tokens=tokens, window=window, step=step, block=group.tokens)
        resident_blocks = resident_blocks - group.layer.is_chunked
        return resident_blocks if step > 1.0 else np.minimum(resident_blocks, block_count)
