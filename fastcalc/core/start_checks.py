"""What an engine checks of its caches when it starts, beyond the memory that weights leave."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil

import numpy as np

from fastcalc.core.placement.cache_size import CacheSize, cache_size
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement, Site
from fastcalc.mentions import command

GIB = 2.0**30


@dataclass(frozen=True, eq=False)
class StartCheck:
    """An engine's check of its caches on a placement.

    times : the engine's reserve over what is expected of it [1]
    """

    placement: Placement
    times: float

    @property
    def room(self) -> float:
        """Memory of a chip for caches, below 0 without any. [byte]"""
        placement = self.placement
        return float(placement.available) - (self.times - 1.0) * float(placement.reserved)

    @cached_property
    def is_failed(self) -> bool:
        """Whether the engine stops, of those whose checks are known."""
        return self._size is not None and (self._is_short or self._lacks_states)

    @property
    def line(self) -> str | None:
        """The error that the engine stops with, None where nobody knows its words."""
        if self.is_of("vllm"):
            return self._line_of_vllm
        return self._line_of_sglang if self.is_of("sglang") and self.room <= 0.0 else None

    def is_of(self, name: str) -> bool:
        """Whether the engine is one of that name, or a variant of it."""
        engine = self.placement.machine.engine
        return name in (engine.id, engine.extends)

    @cached_property
    def _size(self) -> CacheSize | None:
        return cache_size(self.placement, self.room) if self.is_of("vllm") else None

    @cached_property
    def _size_of_one(self) -> CacheSize | None:
        """What caches hold of sequences as long as the longest that a start must serve."""
        placement = self.placement
        longest = float(placement.machine.memory.longest or np.max(placement.reserved_tokens))
        memory = replace(placement.machine.memory, longest=longest)
        with_length = Placement(
            replace(placement.machine, memory=memory),
            placement.work,
            placement.layout,
            placement.reserved_tokens,
        )
        return cache_size(with_length, self.room)

    @property
    def _is_short(self) -> bool:
        """Whether one sequence of the longest takes more than there is."""
        of_one = self._size_of_one
        return of_one is not None and of_one.needed > self.room

    @property
    def _lacks_states(self) -> bool:
        """Whether fewer blocks of recurrent states are left than sequences that may run."""
        size = self._size
        return size is not None and size.has_states and 0 < size.blocks < self._sequences

    @property
    def _sequences(self) -> float:
        return float(np.max(self.placement.machine.max_sequences))

    @property
    def _line_of_vllm(self) -> str | None:
        """From vllm/v1/core/kv_cache_utils.py and vllm/config/compilation.py."""
        placement = self.placement
        held = float(sum(placement.usable)) + float(placement.reserved)
        if float(placement.weights_per_chip) > held:
            return "torch.OutOfMemoryError: CUDA out of memory."
        if self.room <= 0.0:
            return (
                "No available memory for the cache blocks. Try increasing "
                "`gpu_memory_utilization` when initializing the engine."
            )
        of_one, size = self._size_of_one, self._size
        if size is None or of_one is None:
            return None
        if self._is_short:
            return (
                "To serve at least one request with the model's max seq len "
                f"({of_one.length}), ({of_one.needed / GIB:.2f} GiB KV cache is needed, which is "
                f"larger than the available KV cache memory ({self.room / GIB:.2f} GiB)."
            )
        if self._lacks_states:
            return (
                f"max_num_seqs ({self._sequences:.0f}) exceeds available Mamba cache blocks "
                f"({size.blocks})."
            )
        return None

    @property
    def _line_of_sglang(self) -> str:
        """From python/sglang/srt/mem_cache/kv_cache_configurator.py."""
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
    """Return the check that passes if the engine reserves its minimum."""
    return StartCheck(placement, 1.0 / placement.machine.reserve.below)


def certain_check(placement: Placement) -> StartCheck:
    """Return the check that passes even if the engine reserves its maximum."""
    return StartCheck(placement, placement.machine.reserve.above)


def start_notes(site: Site, layout: Layout) -> Iterator[str]:
    """Yield that an engine stops at its start, or may, where memory holds a sequence.

    Of requests of several lengths it is said of the shortest, for the engine's limits alone.
    """
    shortest = float(np.min(site.reserved_tokens))
    placement = replace(site, reserved_tokens=shortest).place(layout)
    if placement.edge_max_batch < 1 or not certain_check(placement).is_failed:
        return
    machine, why = placement.machine, f"{command('fastcalc fit')} prints why and what helps"
    server = f"{machine.engine.id} on {placement.layout.chips} x {machine.hardware.id}"
    if likely_check(placement).is_failed:
        yield f"{server} does not start with these settings; {why}"
    else:
        yield f"{server} starts only if it reserves less than its maximum; {why}"
