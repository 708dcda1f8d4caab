"""Startup checks of vLLM: cache memory and free memory without which a server does not start."""

from functools import lru_cache, partial
from math import inf

import numpy as np

from fastcalc.catalogue.once import once
from fastcalc.core.chip.machine import Machine
from fastcalc.core.chip.reserve import start_rows
from fastcalc.core.chip.tiers import largest_memory
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.block_pool import BlockPool
from fastcalc.core.placement.cache_blocks import block_pool, by_ranks
from fastcalc.core.placement.fullest_chip import cache_on_chip
from fastcalc.core.placement.layout import AnyLayout, Layout
from fastcalc.formulas.cache_size import whole_blocks
from fastcalc.formulas.types import Array, ArrayLike, floats

BLOCK = 16.0
"""The default block size of vLLM. [1]"""


def least_room(
    machine: Machine, work: Workload, layout: AnyLayout, tokens: ArrayLike
) -> Array | None:
    """Compute the cache memory of the fullest chip below which the engine does not start. [byte]

    vLLM must be able to serve its longest sequence and, if it captures CUDA graphs, needs a block
    for the recurrent states of each sequence. None for engines whose checks are unknown.

    tokens : the tokens of the requests, the longest sequence unless the engine has a limit
    """
    if machine.engine.program != "vllm" or machine.place:
        return None
    lengths = machine.memory.longest or tokens
    if isinstance(lengths, float):
        return by_ranks(layout, lengths, partial(_least_once, machine, work, lengths))
    return by_ranks(layout, lengths, partial(_least_of_each, machine, work, lengths))


def _least_of_each(
    machine: Machine, work: Workload, lengths: ArrayLike, ranks: tuple[int, int]
) -> Array:
    values, places = np.unique(floats(lengths), return_inverse=True)
    least = np.array([_least_once(machine, work, value, ranks) for value in values.tolist()])
    return least[places].reshape(np.shape(lengths))


def _least(machine: Machine, work: Workload, length: float, ranks: tuple[int, int]) -> float:
    needed, pool = (
        needed_for_one(machine, work, ranks, int(length)),
        block_pool(machine, work, *ranks),
    )
    if not needed:
        return -inf
    if pool is None or not pool.has_states or not np.any(machine.software.launches_ahead):
        return needed  # vLLM checks states only if it captures graphs
    sequences = float(np.max(machine.max_sequences))
    return max(needed, sequences * pool.block_bytes * machine.ranks)


_least_once = lru_cache(maxsize=4096)(_least)


def needed_for_one(machine: Machine, work: Workload, ranks: tuple[int, int], length: int) -> float:
    """Compute the cache that a chip needs for one sequence in the startup check. [byte]

    Zero if sequences have no cache.

    ranks : the tensor-parallel ranks and the pipeline stages
    length : the tokens of the sequence
    """
    tp, pp = ranks
    pool = block_pool(machine, work, tp, pp)
    if pool is None:
        in_blocks = float(whole_blocks(tokens=length, block=BLOCK))
        return float(cache_on_chip(machine, work, Layout(tp=tp, pp=pp), in_blocks))
    return sequence_blocks(machine, pool, length, pp) * pool.checked_bytes * machine.ranks


def sequence_blocks(machine: Machine, pool: BlockPool, length: int, pp: int) -> float:
    """Count the blocks of one sequence whose prompt tokens are all in flight. [1]

    pp : the pipeline stages, whose steps may overlap
    """
    tokens_per_step, overlapping = _tokens_in_flight(machine, (length,))
    return float(pool.reserved(length, step=tokens_per_step * (1.0 + overlapping * pp)))


@once
def _tokens_in_flight(machine: Machine, length: tuple[int]) -> tuple[float, float]:
    """Return the prompt tokens of a step, and the steps of a stage that overlap."""
    rows = start_rows(machine.software, largest_memory(machine.hardware), length[0])
    return rows.tokens, float(np.max(machine.software.overlaps_steps))


@once
def free_share(machine: Machine, end: int) -> float:
    """Return the fraction of memory that is free at startup. [1]

    end : 0 for its expected value, -1 and 1 for the ends of its range
    """
    stated = machine.engine.on(*machine.hardware.groups).given.get("free_fraction")
    if not end or stated is None or stated.band is None:
        return float(np.max(machine.software.free_fraction))
    return float(stated.band[end > 0])
