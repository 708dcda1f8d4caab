"""Startup checks of vLLM: cache memory and free memory without which a server does not start."""

from functools import lru_cache, partial
from math import inf
from typing import NamedTuple

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
from fastcalc.formulas.reserve import largest_capture
from fastcalc.formulas.types import Array, ArrayLike, max_of, where

BLOCK = 16.0
"""The default block size of vLLM."""


def has_checks(machine: Machine) -> bool:
    """Whether the engine's startup checks are known: those of vLLM, if it places the bytes."""
    return machine.engine.program == "vllm" and not machine.place


def least_room(
    machine: Machine, work: Workload, layout: AnyLayout, tokens: ArrayLike
) -> Array | None:
    """Compute the cache memory of the fullest chip below which the engine does not start. [byte]

    vLLM must be able to serve its longest sequence and, if it captures CUDA graphs (except in 0.17
    to 0.19), needs a block for the recurrent states of each sequence in its limit, unless that
    limit may be lowered. None for engines whose checks are unknown.

    tokens : The tokens of the requests, the longest sequence unless the engine has a limit.
    """
    if not has_checks(machine):
        return None
    lengths = machine.memory.longest or tokens
    if isinstance(lengths, float):
        return by_ranks(layout, lengths, partial(_least_once, machine, work, lengths))
    return by_ranks(layout, lengths, partial(_least, machine, work, lengths))


def _least(machine: Machine, work: Workload, lengths: ArrayLike, ranks: tuple[int, int]) -> Array:
    needed = needed_for_one(machine, work, ranks, np.floor(lengths))
    pool = block_pool(machine, work, *ranks)
    of_one = where(needed > 0.0, needed, -inf)
    if pool is None or not pool.has_states or machine.memory.lowers_sequence_limit:
        return of_one
    sequences = _limits(machine).sequences
    return np.maximum(of_one, sequences * pool.block_bytes * machine.ranks) if sequences else of_one


_least_once = lru_cache(maxsize=4096)(_least)


def needed_for_one(
    machine: Machine, work: Workload, ranks: tuple[int, int], lengths: ArrayLike
) -> Array:
    """Compute the cache that a chip needs for one sequence in the startup check. [byte]

    Returns zero if sequences have no cache.

    ranks : The tensor-parallel ranks and the pipeline stages.
    lengths : The tokens of the sequence.
    """
    tp, pp = ranks
    pool = block_pool(machine, work, tp, pp)
    if pool is None:
        in_blocks = whole_blocks(tokens=lengths, block=BLOCK)
        return cache_on_chip(machine, work, Layout(tp=tp, pp=pp), in_blocks)
    return sequence_blocks(machine, pool, lengths, pp) * (pool.checked_bytes * machine.ranks)


def sequence_blocks(machine: Machine, pool: BlockPool, lengths: ArrayLike, pp: int) -> Array:
    """Count the blocks of one sequence whose prompt tokens are all in flight.

    lengths : The tokens of the sequence.
    pp : The pipeline stages, whose steps may overlap.
    """
    limits = _limits(machine)
    step: ArrayLike = limits.step
    if limits.whole_prompts > step:
        step = np.maximum(step, np.where(lengths <= limits.whole_prompts, lengths, 0.0))
    return pool.reserved(lengths, step=step * (1.0 + limits.overlap * pp))


class _Limits(NamedTuple):
    """The limits of an engine that its startup checks read.

    step : The prompt tokens of a step with chunked prefill. [1]
    whole_prompts : The length up to which prompts are never split. [1]
    overlap : The steps in flight for each pipeline stage. [1]
    sequences : The sequences that need a block for recurrent states, or 0 if unchecked. [1]
    """

    step: float
    whole_prompts: float
    overlap: float
    sequences: float


@once
def _limits(machine: Machine) -> _Limits:
    """Read the limits once for all layouts of a machine."""
    software = machine.software
    return _Limits(
        step=start_rows(software, largest_memory(machine.hardware)).tokens,
        whole_prompts=max_of(software.whole_prompts),
        overlap=max_of(software.overlaps_steps),
        sequences=_with_states(machine),
    )


def _with_states(machine: Machine) -> float:
    """Count the sequences that need a block of recurrent states each, or the start fails. [1]

    These are all sequences in the limit, in some releases only as many as the largest CUDA graph
    has rows, and none without such a check.
    """
    software, sequences = machine.software, max_of(machine.max_sequences)
    if software.checks_states:
        return sequences
    if not software.graphs_need_states:
        return 0.0
    largest = float(software.largest_graph)
    return min(sequences, float(largest_capture(sequences=sequences, largest=largest)))


@once
def free_share(machine: Machine, end: int) -> float:
    """Return the fraction of memory that is free at startup.

    end : 0 for its expected value, -1 and 1 for the ends of its range.
    """
    expected = max_of(machine.software.free_fraction)
    if not end:
        return expected
    stated = vars(machine.engine.on(*machine.hardware.groups))["free_fraction"]
    return expected if stated is None or stated.band is None else float(stated.band[end > 0])
