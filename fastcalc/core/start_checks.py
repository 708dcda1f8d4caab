"""Cache checks that an engine performs at startup."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor

import numpy as np

from fastcalc.core.placement.block_pool import BlockPool
from fastcalc.core.placement.cache_blocks import block_pool
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement, Site
from fastcalc.core.placement.start_room import needed_for_one
from fastcalc.mentions import command, option

GIB = 2.0**30


@dataclass(frozen=True, eq=False)
class StartCheck:
    """An engine's cache check for a placement.

    times : The ratio of the engine's reserve to its expected value.
    """

    placement: Placement
    times: float

    @cached_property
    def room(self) -> float:
        """The chip memory left for caches, negative if there is none. [byte]"""
        placement = self.placement
        return float(placement.available + placement.reserved - placement.kept.at(self.times))

    @cached_property
    def is_failed(self) -> bool:
        """Whether the engine fails to start, as far as its checks are known."""
        return not self.placement.starts_beside(self.times)

    @property
    def is_share_taken(self) -> bool:
        """Whether the system already uses part of the memory that the engine requests."""
        return float(np.max(self.placement.machine.software.memory_fraction)) > self.free_share

    @property
    def free_share(self) -> float:
        """The fraction of memory free at startup: expected, lowest or highest, like the reserve."""
        return self.placement.free_share(self.times)

    @property
    def share_to_give(self) -> str | None:
        """The largest free share in whole hundredths, if the requested share is larger."""
        hundredths = floor(round(100.0 * self.free_share, 6))
        return f"{hundredths / 100.0:g}" if self.is_share_taken else None

    @property
    def blocks(self) -> int | None:
        """The number of cache blocks, or None if the engine does not use a block pool."""
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

    @property
    def _longest(self) -> int:
        """The longest sequence that the server must be able to serve."""
        placement = self.placement
        return int(placement.machine.memory.longest or np.max(placement.reserved_tokens))

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
        if placement.room_to_start is None:
            return None
        ranks = placement.layout.tp, placement.layout.pp
        needed = float(needed_for_one(machine, placement.work, ranks, self._longest))
        if needed > self.room:
            return (
                "To serve at least one request with the model's max seq len "
                f"({self._longest}), ({needed / GIB:.2f} GiB KV cache is needed, which is "
                f"larger than the available KV cache memory ({self.room / GIB:.2f} GiB)."
            )
        if self._pool is None or not self._pool.has_states or not self.is_failed:
            return None
        if software.checks_states:
            return (
                f"max_num_seqs ({self._sequences:.0f}) exceeds available Mamba cache blocks "
                f"({self.blocks})."
            )
        return "assert num_cache_lines >= batch" if software.graphs_need_states else None

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


def likely_check(placement: Placement) -> StartCheck:
    """Build a check that passes if the engine reserves the minimum."""
    return StartCheck(placement, 1.0 / placement.machine.reserve.below)


def certain_check(placement: Placement) -> StartCheck:
    """Build a check that passes even if the engine reserves the maximum."""
    return StartCheck(placement, placement.machine.reserve.above)


def _of_shortest(site: Site) -> Site:
    """Return the site with the shortest of its requests, which need the least cache."""
    return replace(site, reserved_tokens=float(np.min(site.reserved_tokens)))


def _with_limit_kept(site: Site) -> Site:
    """Return the site under an engine that starts with its own limit of sequences per step."""
    memory = replace(site.machine.memory, lowers_sequence_limit=False)
    machine = replace(site.machine, memory=memory)
    return replace(_of_shortest(site), machine=machine)


def start_notes(site: Site, layout: Layout) -> Iterator[str]:
    """Yield a note if the engine fails, or may fail, to start although a sequence fits.

    If requests differ in length, only the shortest and the engine's limits are checked.
    """
    placement = _of_shortest(site).place(layout)
    is_held = placement.held_beside(likely_check(placement).times) >= 1
    machine, why = placement.machine, f"{command('fastcalc fit')} explains why and how to fix it"
    server = f"{machine.engine.id} on {placement.layout.chips} x {machine.hardware.id}"
    if not is_held:
        return
    if not certain_check(placement).is_failed:
        if certain_check(_with_limit_kept(site).place(layout)).is_failed:
            yield f"{server} needs a lower {option('max_num_seqs')} than its default; {why}"
    elif likely_check(placement).is_failed:
        yield f"{server} does not start with these settings; {why}"
    else:
        condition = "it reserves less than its maximum"
        if certain_check(placement).is_share_taken:
            condition = "the system leaves enough memory free"
        yield f"{server} starts only if {condition}; {why}"
