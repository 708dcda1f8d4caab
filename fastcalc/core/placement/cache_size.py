"""What an engine's caches hold on a placement, as vLLM prints it when it starts."""

from dataclasses import dataclass

import numpy as np

from fastcalc.core.chip.machine import largest_memory
from fastcalc.core.chip.reserve import start_rows
from fastcalc.core.placement.block_pool import BlockPool
from fastcalc.core.placement.cache_blocks import block_pool
from fastcalc.core.placement.placement import Placement
from fastcalc.formulas.cache_size import cached_tokens, whole_blocks

BLOCK = 16.0
"""Tokens of a block of vLLM, by default. [1]"""


@dataclass(frozen=True)
class CacheSize:
    """What the caches of one replica are expected to hold.

    length : tokens of a sequence at most [1]
    tokens : that they hold, if all sequences are so long [1]
    concurrency : sequences of that length that they hold [1]
    blocks : blocks of the pool, 0 where the engine has none [1]
    needed : memory of a chip that one sequence of that length takes [byte]
    """

    length: int
    tokens: int
    concurrency: float
    blocks: int
    needed: float


def longest_sequence(placement: Placement) -> int:
    """Tokens of a sequence at most, by engine or model, or else as reserved. [1]"""
    reserved = float(np.max(placement.reserved_tokens))
    model_length = placement.work.model.max_context
    return int(placement.machine.memory.longest or model_length or reserved)


def cache_size(placement: Placement, available: float | None = None) -> CacheSize | None:
    """Return what caches hold: of sequences as long as engine or model take, or else as reserved.

    None where what lives where is the user's own choice, or a sequence keeps no cache.

    available : memory of a chip for caches; by default the expected value [byte]
    """
    machine, layout = placement.machine, placement.layout
    length = longest_sequence(placement)
    room = float(placement.available) if available is None else available
    pool = block_pool(machine, placement.work, layout.tp, layout.pp)
    if pool is not None:
        return _of_pool(placement, pool, length, room)
    in_blocks = float(whole_blocks(tokens=length, block=BLOCK))
    sequence = float(placement.cache_on_chip(in_blocks))
    if machine.place or not sequence:
        return None
    tokens = float(cached_tokens(available=room, sequence=sequence, tokens=in_blocks, block=BLOCK))
    return CacheSize(length, int(tokens), tokens / in_blocks, 0, sequence)


def _of_pool(placement: Placement, pool: BlockPool, length: int, room: float) -> CacheSize:
    """What the pool of an engine holds, as it counts blocks."""
    machine = placement.machine
    rows = start_rows(machine.software, largest_memory(machine.hardware))
    in_flight = rows.tokens * (1.0 + placement.layout.pp)  # of steps that overlap
    a_sequence = float(pool.reserved(length, step=in_flight))
    blocks = pool.blocks(room / machine.ranks)
    concurrency = blocks / a_sequence
    needed = a_sequence * pool.checked_bytes * machine.ranks
    return CacheSize(length, int(concurrency * length), concurrency, blocks, needed)
