"""Cache checks that an engine performs at startup."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor, inf

import numpy as np

from fastcalc.core.chip.machine import Machine
from fastcalc.core.placement.block_pool import BlockPool
from fastcalc.core.placement.cache_blocks import block_pool
from fastcalc.core.placement.cache_size import CacheSize, cache_size
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import AnyPlacement, Placement, Site
from fastcalc.formulas.types import ArrayLike, floats
from fastcalc.mentions import command

GIB = 2.0**30


@dataclass(frozen=True, eq=False)
class StartCheck:
    """An engine's cache check for a placement.

    times : the ratio of the engine's reserve to its expected value [1]
    """

    placement: Placement
    times: float

    @cached_property
    def room(self) -> float:
        """The chip memory left for caches, negative if there is none. [byte]"""
        return float(_room(self.placement, self.times))

    @cached_property
    def is_failed(self) -> bool:
        """Whether the engine fails to start, as far as its checks are known."""
        return self.is_share_taken or self.room < self.least_room

    @property
    def is_share_taken(self) -> bool:
        """Whether the system already uses part of the memory that the engine requests."""
        return float(np.max(self.placement.machine.software.memory_fraction)) > self.free_share

    @property
    def free_share(self) -> float:
        """The fraction of memory free at startup: expected, lowest or highest, like the reserve."""
        machine = self.placement.machine
        stated = machine.engine.on(*machine.hardware.groups).given.get("free_fraction")
        if self.times == 1.0 or stated is None or stated.band is None:
            return float(np.max(machine.software.free_fraction))
        return float(stated.band[self.times < 1.0])

    @property
    def share_to_give(self) -> str | None:
        """The largest free share in whole hundredths, if the requested share is larger. [1]"""
        hundredths = floor(round(100.0 * self.free_share, 6))
        return f"{hundredths / 100.0:g}" if self.is_share_taken else None

    @cached_property
    def least_room(self) -> float:
        """The chip memory for caches below which the engine fails to start. [byte]

        Minus infinity for engines whose checks are unknown; the same for all layouts with equal tp
        and pp.
        """
        if self._program != "vllm" or (of_one := self._size_of_one) is None:
            return -inf
        machine, pool = self.placement.machine, self._pool
        if pool is None or not pool.has_states or not np.any(machine.software.launches_ahead):
            return of_one.needed  # vLLM checks states only if it captures graphs
        ranks = machine.ranks
        return max(of_one.needed, self._sequences * pool.block_bytes * ranks)

    @property
    def blocks(self) -> int | None:
        """The number of cache blocks, or None if the engine does not use a block pool. [1]"""
        pool = self._pool
        return None if pool is None else pool.blocks(self.room / self.placement.machine.ranks)

    @property
    def line(self) -> str | None:
        """The error with which the engine stops, or None if its text is unknown."""
        if self._program == "vllm":
            return self._line_of_vllm
        return self._line_of_sglang if self._program == "sglang" and self.room <= 0.0 else None

    @property
    def _program(self) -> str | None:
        return self.placement.machine.engine.program

    @cached_property
    def _pool(self) -> BlockPool | None:
        placement = self.placement
        layout = placement.layout
        return block_pool(placement.machine, placement.work, layout.tp, layout.pp)

    @cached_property
    def _size_of_one(self) -> CacheSize | None:
        """The cache size for the longest sequence that the server must be able to serve."""
        placement, reserved = self.placement, self.placement.reserved_tokens
        machine = _serving_longest(placement.machine, reserved)
        with_length = placement
        if machine is not placement.machine:
            with_length = Placement(machine, placement.work, placement.layout, reserved)
        return cache_size(with_length, 0.0)  # memory for one sequence, even if unavailable

    @property
    def _sequences(self) -> float:
        return float(np.max(self.placement.machine.max_sequences))

    @property
    def _line_of_vllm(self) -> str | None:
        """The error of vllm/v1/core/kv_cache_utils.py and vllm/config/compilation.py."""
        placement = self.placement
        machine, software = placement.machine, placement.machine.software
        whole = sum(float(tier.capacity * machine.reported(tier)) for tier in machine.tiers)
        if self.is_share_taken:  # request_memory of vllm/v1/worker/utils.py
            share, free = float(software.memory_fraction), self.free_share
            return (
                f"Free memory on device cuda:0 ({free * whole / GIB:.2f}/{whole / GIB:.2f} GiB) on "
                f"startup is less than desired GPU memory utilization ({share:g}, "
                f"{share * whole / GIB:.2f} GiB)."
            )
        if float(placement.weights_per_chip) > whole:
            return "torch.OutOfMemoryError: CUDA out of memory."
        if self.room <= 0.0:
            return (
                "No available memory for the cache blocks. Try increasing "
                "`gpu_memory_utilization` when initializing the engine."
            )
        of_one = self._size_of_one
        if of_one is None:
            return None
        if of_one.needed > self.room:
            return (
                "To serve at least one request with the model's max seq len "
                f"({of_one.length}), ({of_one.needed / GIB:.2f} GiB KV cache is needed, which is "
                f"larger than the available KV cache memory ({self.room / GIB:.2f} GiB)."
            )
        if self._pool is not None and self.is_failed:
            return (
                f"max_num_seqs ({self._sequences:.0f}) exceeds available Mamba cache blocks "
                f"({self.blocks})."
            )
        return None

    @property
    def _line_of_sglang(self) -> str:
        """The error of python/sglang/srt/mem_cache/kv_cache_configurator.py."""
        placement = self.placement
        capacity = sum(float(tier.capacity) for tier in placement.machine.tiers)
        if float(placement.weights_per_chip) >= capacity:
            return "torch.OutOfMemoryError: CUDA out of memory."
        fraction = float(np.max(placement.machine.software.memory_fraction))
        if fraction == 1.0:
            return "Not enough memory. Please try to increase --mem-fraction-static."
        min_fraction = ceil(1000.0 * (fraction - self.room / capacity)) / 1000.0
        return (
            "Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static="
            f"{fraction:g}. Raise --mem-fraction-static above {min_fraction:.3f}"
        )


def _serving_longest(machine: Machine, reserved_tokens: ArrayLike) -> Machine:
    """Set the longest sequence to that of the requests if the engine has no limit."""
    if machine.memory.longest:
        return machine
    longest = float(np.max(reserved_tokens))
    return replace(machine, memory=replace(machine.memory, longest=longest))


def _room(placement: AnyPlacement, times: float) -> ArrayLike:
    """Compute the chip memory left for caches at a multiple of the expected reserve. [byte]"""
    return placement.available - (times - 1.0) * placement.reserved


def likely_check(placement: Placement) -> StartCheck:
    """Build a check that passes if the engine reserves the minimum."""
    return StartCheck(placement, 1.0 / placement.machine.reserve.below)


def certain_check(placement: Placement) -> StartCheck:
    """Build a check that passes even if the engine reserves the maximum."""
    return StartCheck(placement, placement.machine.reserve.above)


def layouts_that_start(site: Site, layouts: list[Layout]) -> list[Layout]:
    """Return the layouts on which an engine certainly starts; otherwise those that may, or all.

    Layouts that fit a sequence differ only if layer types share a page pool, or if a maximum length
    must be served.
    """
    is_shared = block_pool(site.machine, site.work, 1, 1) is not None
    if len(layouts) < 2 or not (is_shared or site.machine.length_to_start):
        return layouts
    shortest = _of_shortest(site)
    placed = shortest.place_all(layouts)
    machine = _serving_longest(site.machine, shortest.reserved_tokens)
    serving = replace(shortest, machine=machine)
    least = {(layout.tp, layout.pp): layout for layout in layouts}
    rooms = {ranks: likely_check(serving.place(one)).least_room for ranks, one in least.items()}
    least_room = np.array([rooms[layout.tp, layout.pp] for layout in layouts])
    for times in (site.machine.reserve.above, 1.0 / site.machine.reserve.below):
        starts = floats(_room(placed, times)) >= least_room
        if starts.any():
            return [layouts[index] for index in np.flatnonzero(starts).tolist()]
    return layouts


def _of_shortest(site: Site) -> Site:
    """Return the site with the shortest of its requests, which need the least cache."""
    return replace(site, reserved_tokens=float(np.min(site.reserved_tokens)))


def start_notes(site: Site, layout: Layout) -> Iterator[str]:
    """Yield a note if the engine fails, or may fail, to start although a sequence fits.

    If requests differ in length, only the shortest and the engine's limits are checked.
    """
    placement = _of_shortest(site).place(layout)
    if placement.edge_max_batch < 1 or not certain_check(placement).is_failed:
        return
    machine, why = placement.machine, f"{command('fastcalc fit')} prints why and what helps"
    server = f"{machine.engine.id} on {placement.layout.chips} x {machine.hardware.id}"
    if likely_check(placement).is_failed:
        yield f"{server} does not start with these settings; {why}"
    else:
        yield f"{server} starts only if it reserves less than its maximum; {why}"
