"""KV-cache capacity of a placement, as vLLM logs it at startup."""

from dataclasses import dataclass

import numpy as np

from fastcalc.core.placement.cache_blocks import block_pool
from fastcalc.core.placement.placement import Placement
from fastcalc.core.placement.start_room import BLOCK, needed_for_one, sequence_blocks
from fastcalc.formulas.cache_size import cached_tokens, whole_blocks


@dataclass(frozen=True)
class CacheSize:
    """The expected KV-cache capacity of one replica.

    length : The maximum tokens per sequence.
    tokens : The capacity in tokens as logged, which assumes sequences of this length; up to vLLM
        0.19, it counts the tokens of one block table that gets an equal share of the blocks.
    concurrency : The number of sequences of this length that fit.
    blocks : The blocks in the pool, or 0 if the engine does not use a pool.
    needed : The chip memory needed for one sequence of this length, in bytes.
    """

    length: int
    tokens: int
    concurrency: float
    blocks: int
    needed: float


def longest_sequence(placement: Placement) -> int:
    """Return the maximum sequence length of engine or model, or else the reserved tokens."""
    stated = placement.machine.memory.longest or placement.work.model.max_context
    return int(stated or np.max(placement.reserved_tokens))


def cache_size(placement: Placement, available: float | None = None) -> CacheSize | None:
    """Compute the KV-cache capacity for sequences of maximum length, or else reserved length.

    Returns None if the user places weights and caches explicitly, or if sequences have no cache.

    available : The chip memory available for caches; by default the expected value, or 0 for
        formats that the engine refuses, in bytes.
    """
    machine, layout = placement.machine, placement.layout
    length = longest_sequence(placement)
    if available is None:
        available = 0.0 if placement.refused else float(placement.available)
    pool = block_pool(machine, placement.work, layout.tp, layout.pp)
    if pool is None:
        in_blocks = float(whole_blocks(tokens=length, block=BLOCK))
        sequence = float(needed_for_one(machine, placement.work, (layout.tp, layout.pp), length))
        if machine.place or not sequence:
            return None
        capacity = cached_tokens(
            available=available, sequence=sequence, tokens=in_blocks, block=BLOCK
        )
        tokens = float(capacity)
        return CacheSize(length, int(tokens), tokens / in_blocks, 0, sequence)
    a_sequence = float(sequence_blocks(machine, pool, length, layout.pp))
    blocks = pool.blocks(available / machine.ranks)
    concurrency = blocks / a_sequence
    needed = float(needed_for_one(machine, placement.work, (layout.tp, layout.pp), length))
    tokens = concurrency * length
    if np.any(machine.software.counts_by_table):
        tables = sum(group.tables for group in pool.groups)
        tokens = blocks // tables * min(group.tokens for group in pool.groups)
    return CacheSize(length, int(tokens), concurrency, blocks, needed)
