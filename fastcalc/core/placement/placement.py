"""Placement of weights and caches: memory tiers, number of chips and layout."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial, reduce
from math import ceil, inf
from typing import Generic, Self, TypeAlias, TypeVar

import numpy as np

from fastcalc.core.chip.formats_run import refused_formats
from fastcalc.core.chip.machine import Machine
from fastcalc.core.chip.reserve import KeptMemory
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.cache_blocks import reserved_on_chip
from fastcalc.core.placement.fullest_chip import (
    FEW,
    cache_on_chip,
    chips_per_layer,
    expert_padding,
    rotary_bytes,
    stored_weights,
    weights_per_chip,
)
from fastcalc.core.placement.layout import Layout, Layouts
from fastcalc.core.placement.legal import MOST_CHIPS, LegalLayouts, slots
from fastcalc.core.placement.start_room import free_share, has_checks, least_room
from fastcalc.formulas.memory import chips_for_capacity, chips_for_whole_layers, largest_batch
from fastcalc.formulas.types import Array, ArrayLike, Bools, floats, max_of

_SHARE_OF_NOTHING = 1e-9
"""The smallest fraction of a memory, which avoids division by zero."""

OneOrMore = TypeVar("OneOrMore", Layout, Layouts)


@dataclass(frozen=True, eq=False)
class _PlacedWorkload(Generic[OneOrMore]):
    """A workload on a layout: what each chip stores, and how many sequences fit.

    With `Layouts` or an array of tokens, every result is an array.

    machine, work, layout : The chip and its engine, the model, and the layout.
    reserved_tokens : The number of tokens for which a sequence's cache is reserved.
    """

    machine: Machine
    work: Workload
    layout: OneOrMore
    reserved_tokens: ArrayLike

    def of_draft(self, machine: Machine, draft: Workload) -> Self:
        """Place a draft model on the ranks of the replicas.

        machine : The chip for the draft model.
        """
        return replace(self, machine=machine, work=draft, layout=self.layout.unstaged)

    @property
    def refused(self) -> str | None:
        """The reason why the engine refuses these formats, regardless of memory."""
        return refused_formats(self.machine.engine, self.machine.hardware, self.work)

    @property
    def weights_per_chip(self) -> Array:
        """The weights on the fullest chip, in bytes."""
        return weights_per_chip(self.machine, self.work, self.layout)

    @cached_property
    def cache_per_chip(self) -> Array:
        """The cache of one sequence of a replica on the fullest chip, in bytes."""
        return self.cache_on_chip(self.reserved_tokens)

    @cached_property
    def reserved_per_chip(self) -> Array:
        """The reserved cache of one sequence of a replica on the fullest chip, in bytes."""
        return self._reserved(self.reserved_tokens)

    def cache_on_chip(self, tokens: ArrayLike) -> Array:
        """Compute the cache size of the given tokens of a sequence on the fullest chip. [byte]"""
        return cache_on_chip(self.machine, self.work, self.layout, tokens)

    @cached_property
    def _rooms(self) -> dict[float, tuple[ArrayLike, ArrayLike]]:
        """The results of `_room`, which several checks need."""
        return {}

    def _room(self, reserves: float = 1.0) -> tuple[ArrayLike, ArrayLike]:
        """Compute the memory shared by caches and some weights on the fullest chip, in bytes.

        The second result is the size of these weights. Categories with an explicit memory occupy
        that memory, and all others share the rest.

        reserves : The ratio of the engine's reserve to its expected value.
        """
        if reserves not in self._rooms:
            self._rooms[reserves] = self._room_beside(reserves)
        return self._rooms[reserves]

    def _room_beside(self, reserves: float) -> tuple[ArrayLike, ArrayLike]:
        usable, places = self.usable_beside(reserves), self.machine.place
        if not places:
            return sum(usable), self.weights_per_chip
        free: ArrayLike = 0.0
        for group, size in stored_weights(self.machine, self.work, self.layout).items():
            if group in places:
                pairs = zip(usable, places[group], strict=True)
                usable = [room - fraction * size for room, fraction in pairs]
            else:
                free = free + size
        fits = np.min(np.broadcast_arrays(*usable), axis=0) >= 0.0
        if "kv" not in places:
            return np.where(fits, sum(usable), 0.0), free
        cached = list(zip(usable, places["kv"], strict=True))
        cache_room = reduce(np.minimum, (room / fraction for room, fraction in cached if fraction))
        beside = sum(room for room, fraction in cached if not fraction)
        return np.where(fits, cache_room, 0.0), np.maximum(free - beside, 0.0)

    def _reserved(self, tokens: ArrayLike) -> Array:
        """Compute the memory reserved for a sequence on the fullest chip, in whole pages, in bytes.

        If states have a separate memory, the scarcer of the two memories counts as if it were all.
        """
        pages = reserved_on_chip(self.machine, self.work, self.layout, tokens)
        if pages is not None:
            return pages
        cache, software = self.cache_on_chip(tokens), self.machine.software
        fraction = software.state_fraction
        if not self.work.state_bytes or not np.any(fraction):
            return cache
        state = self.cache_on_chip(0.0)
        of_states = software.state_blocks * state / np.maximum(fraction, _SHARE_OF_NOTHING)
        of_tokens = (cache - state) / np.maximum(1.0 - fraction, _SHARE_OF_NOTHING)
        return np.where(np.asarray(fraction) > 0.0, np.maximum(of_states, of_tokens), cache)

    @property
    def chips_per_layer(self) -> ArrayLike:
        """The number of chips that share a layer, if there are more chips than layers."""
        return chips_per_layer(self.machine, self.work, self.layout)

    @cached_property
    def max_batch(self) -> Array | int:
        """The largest batch over all replicas that fits within the engine's limits."""
        return self._taken(self.certain_batch)

    @cached_property
    def edge_max_batch(self) -> Array | int:
        """The largest batch within the engine's limits if its memory reserve is minimal."""
        return self._taken(self.edge_batch)

    @property
    def expected_max_batch(self) -> Array | int:
        """The largest batch within the engine's limits at its expected memory reserve."""
        return self._taken(self.batch_beside(1.0))

    def _taken(self, batches: Array | int) -> Array | int:
        largest = np.minimum(batches, self.engine_batch)
        return largest if np.ndim(largest) else int(largest)

    @property
    def engine_batch(self) -> ArrayLike:
        """The maximum batch over all replicas that the engine's limits allow."""
        sharing = self.machine.sequences_of_context(self.reserved_tokens)
        return np.floor(np.minimum(self.machine.max_sequences, sharing)) * self.layout.dp

    @cached_property
    def certain_batch(self) -> Array | int:
        """The largest batch over all replicas that fits at the engine's maximum reserve."""
        return self.batch_beside(self.machine.reserve.above)

    @cached_property
    def edge_batch(self) -> Array | int:
        """The largest batch over all replicas that fits at the engine's minimum reserve."""
        reserve = self.machine.reserve
        is_exact = reserve.below == reserve.above == 1.0
        return self.certain_batch if is_exact else self.batch_beside(1.0 / reserve.below)

    def starts_beside(self, reserves: float) -> Bools | bool:
        """Check whether the engine starts, as far as its checks are known.

        reserves : The ratio of the engine's reserve to its expected value.
        """
        if max_of(self.machine.software.memory_fraction) > self.free_share(reserves):
            return False
        min_room = self.room_to_start
        return True if min_room is None else self.available_beside(reserves) >= min_room

    def free_share(self, reserves: float) -> float:
        """The fraction of memory free at startup: expected, least or most, like the reserve.

        reserves : The ratio of the engine's reserve to its expected value.
        """
        return free_share(self.machine, int(reserves < 1.0) - int(reserves > 1.0))

    @cached_property
    def room_to_start(self) -> Array | None:
        """The cache memory of the fullest chip below which the engine does not start, in bytes.

        It is None for engines whose checks are unknown.
        """
        return least_room(self.machine, self.work, self.layout, self.reserved_tokens)

    def batch_beside(self, reserves: float) -> Array | int:
        """Count the sequences over all replicas that a started engine fits next to its reserve.

        The result is 0 if the engine refuses the formats or does not start.

        reserves : The ratio of the engine's reserve to its expected value.
        """
        fitting, starts = self.held_beside(reserves), self.starts_beside(reserves)
        if starts is True:
            return fitting
        largest = np.where(starts, fitting, 0)
        return largest if np.ndim(largest) else int(largest)

    def held_beside(self, reserves: float) -> Array | int:
        """Count the sequences over all replicas whose caches fit next to the engine's reserve.

        The result is 0 for formats that the engine refuses. Startup checks are not considered.

        reserves : The ratio of the engine's reserve to its expected value.
        """
        machine = self.machine
        usable, weights = self._room(reserves)
        fits = partial(largest_batch, usable=usable, weights=weights)
        fraction = machine.software.cache_fraction
        per_replica = fits(cache_per_sequence=self.reserved_per_chip / fraction)
        if machine.length_to_start and not has_checks(machine):
            longest = self._reserved(machine.length_to_start)
            per_replica = np.where(
                fits(cache_per_sequence=longest / fraction) >= 1.0, per_replica, 0.0
            )
        largest: Array = np.minimum(per_replica, 1e12) * self.layout.dp
        if self.refused:
            largest = np.zeros_like(largest)
        return largest if np.ndim(largest) else int(largest)

    def used_fraction(self, batch: ArrayLike) -> Array:
        """Compute the fraction of memory on the fullest chip that a batch uses.

        A batch does not fit if the fraction is above 1. If some categories have an explicit memory,
        the memory left for caches also counts. If layers are distributed over memories, the
        fraction refers to the fullest memory.
        """
        usable, weights = self._room()
        cache = (
            self.sequences(batch) * self.reserved_per_chip / self.machine.software.cache_fraction
        )
        fraction = np.float64(1.0) * (weights + cache) / np.maximum(usable, 1.0)
        if not self.machine.place:
            return fraction
        all_usable, places = self.usable, self.machine.place
        in_all = (self.weights_per_chip + cache) / sum(all_usable)
        if not self.machine.memory.shares_layers:
            return np.maximum(fraction, in_all)
        sizes = stored_weights(self.machine, self.work, self.layout) | {"kv": cache}
        asked: list[ArrayLike] = [
            sum(sizes[kind] * fractions[at] for kind, fractions in places.items())
            / np.maximum(memory, 1.0)
            for at, memory in enumerate(all_usable)
        ]
        return floats(reduce(np.maximum, asked))

    @property
    def usable(self) -> list[ArrayLike]:
        """The memory per chip in each tier that weights and caches may use, in bytes."""
        return self.usable_beside(1.0)

    def usable_beside(self, reserves: float) -> list[ArrayLike]:
        """Compute the memory per chip in each tier that weights and caches may use, in bytes.

        reserves : The ratio of the engine's reserve to its expected value.
        """
        reserved = self.kept.at(reserves) if reserves else 0.0
        return self.machine.usable(self.layout.chips, reserved)

    @property
    def reserved(self) -> ArrayLike:
        """The expected memory that the engine reserves on each chip, in bytes."""
        return self.kept.total

    @cached_property
    def kept(self) -> KeptMemory:
        """The engine's expected reserve by component. Replicas that share experts cooperate."""
        layout = self.layout
        ranks = layout.expert_shards * layout.pp
        return self.machine.reserve.on(
            ranks, layout.tp, layout.sharing_replicas, layout.expert_slices
        )

    @property
    def available(self) -> Array:
        """The memory left for caches on the fullest chip; negative if weights do not fit. [byte]"""
        return self.available_beside(1.0)

    def available_beside(self, reserves: float) -> Array:
        """Compute the memory left for caches on the fullest chip, in bytes.

        reserves : The ratio of the engine's reserve to its expected value.
        """
        usable, weights = self._room(reserves)
        return floats(usable - weights) * self.machine.software.cache_fraction

    @property
    def longest_per_chip(self) -> float:
        """The cache of the longest sequence that the engine accepts, or 0 without a limit. [byte]

        If it does not fit on the fullest chip of a replica, the engine does not start.
        """
        longest = self.machine.length_to_start
        if not longest:
            return 0.0
        return max_of(self._reserved(longest))

    def sequences(self, batch: ArrayLike) -> Array:
        """Compute the number of sequences on the fullest replica."""
        return np.ceil(np.asarray(batch) / self.layout.dp)

    def where(self, tiers: str) -> str:
        """Return a phrase for the memories in use, given their names."""
        chips = self.layout.chips
        if self.machine.is_spatial:
            wafer = self.machine.hardware.kind + ("s" if chips > 1 else "")
            if self.chips_per_layer > 1:
                return f"{tiers} of {chips} {wafer} ({int(self.chips_per_layer)} for each layer)"
            layers = ceil(self.work.layers / chips)
            return f"{tiers} of {chips} {wafer} ({layers} layer{'s' if layers > 1 else ''} each)"
        cut = f" ({self.layout})" if chips > 1 else ""
        return f"{tiers} of {chips} chip{'s' if chips > 1 else ''}{cut}"


class Placement(_PlacedWorkload[Layout]):
    """A workload that is placed on one layout."""


_placed = lru_cache(maxsize=1024)(Placement)  # caches the capacity of each layout


class Placements(_PlacedWorkload[Layouts]):
    """A workload that is placed on several layouts at once."""


_all_placed = lru_cache(maxsize=512)(Placements)  # searches list the same layouts several times

AnyPlacement: TypeAlias = Placement | Placements


@dataclass(frozen=True, eq=False)
class Site(LegalLayouts):
    """A workload on a chip type, with its possible layouts and their capacity.

    reserved_tokens : The number of tokens for which a sequence's cache is reserved.
    """

    reserved_tokens: ArrayLike

    def place(self, layout: Layout) -> Placement:
        """Place the workload on a layout."""
        tokens, layout = self.reserved_tokens, self.counted(layout)
        if isinstance(tokens, float):
            return _placed(self.machine, self.work, layout, tokens)
        return Placement(self.machine, self.work, layout, tokens)

    def place_all(self, layouts: Sequence[Layout], *, axes: int = 0) -> Placements:
        """Place the workload on several layouts. The axes are those of `Layouts.of`."""
        tokens = self.reserved_tokens
        stack = Layouts.of([self.counted(layout) for layout in layouts], axes=axes)
        if isinstance(tokens, float) and len(layouts) <= FEW:
            return _all_placed(self.machine, self.work, stack, tokens)
        return Placements(self.machine, self.work, stack, tokens)

    def smallest(self, batch: float) -> Placement | None:
        """Find the smallest default placement that fits a batch, or None."""
        batches = np.atleast_1d(self.place_all(self.default_layouts).certain_batch)
        holds = np.broadcast_to(batches >= batch, (len(self.default_layouts),))
        first = int(holds.argmax())
        return self.place(self.default_layouts[first]) if holds[first] else None

    @property
    def _experts(self) -> float:
        """The routed experts of the whole model including copies and kernel padding, in bytes."""
        padding = float(expert_padding(self.machine, self.work, Layout()))
        copies = self.work.stored_experts / (self.work.experts or 1.0)
        return self.work.bytes.experts * padding * copies

    @property
    def weight_bytes_needed(self) -> float:
        """The weights including kernel padding, encoders and draft model, in bytes."""
        padded = self.work.weight_bytes + self._experts - self.work.bytes.experts
        return padded + self.machine.unread_bytes

    @property
    def copied_bytes(self) -> float:
        """The sines and cosines of rotary embeddings, which each chip stores whole, in bytes."""
        return float(rotary_bytes(self.machine, self.work)) * self.machine.ranks

    def batch_cache_bytes(self, batch: float) -> float:
        """Compute the cache size of a batch, in bytes."""
        return batch * self._cache_bytes(self.reserved_tokens)

    @property
    def longest_cache_bytes(self) -> float:
        """The cache of the longest sequence that the engine must be able to serve, in bytes."""
        return self._cache_bytes(self.machine.length_to_start)

    def _cache_bytes(self, tokens: ArrayLike) -> float:
        """Compute the cache size of a sequence, including the draft model's cache, in bytes."""
        works = (self.work, self.machine.draft)
        return sum(float(work.cache_bytes(tokens)) for work in works if work)

    def chips_needed(self, batch: float) -> tuple[int | None, int | None]:
        """Compute the minimum number of chips by capacity alone, and with whole layers.

        The first result is None if the engine leaves no memory. The second is None if layers may be
        split, or if a layer does not fit on one chip.
        """
        work, tiers = self.work, range(len(self.machine.tiers))
        cache = max(self.batch_cache_bytes(batch), self.longest_cache_bytes)
        sizes = work.bytes._replace(experts=self._experts, kv=cache)._asdict()
        sizes["embedding"] = work.weights.embedding.bytes
        places = self.machine.place
        pinned = [
            (
                sum(fractions[tier] * sizes[group] for group, fractions in places.items()),
                [tier],
                0.0,
            )
            for tier in tiers
            if any(fractions[tier] for fractions in places.values())
        ]
        needs = [(self.weight_bytes_needed + cache, tiers, self.copied_bytes), *pinned]
        most_chips = max(self._chips_for(*need) for need in needs)
        capacity = int(most_chips) if most_chips < inf else None
        if not self.machine.is_spatial:
            return capacity, None
        for_layers = chips_for_whole_layers(
            layers=slots(self.machine, self.work),
            layer_bytes=self.work.largest_layer_bytes + cache / self.work.layers,
            usable_per_chip=float(sum(self._usable(1.0))),
        )
        if for_layers == inf and self.most_stages > slots(self.machine, self.work):
            smallest = self.smallest(batch)
            return capacity, smallest.layout.chips if smallest else None
        return capacity, int(for_layers) if for_layers < inf else None

    def _usable(self, chips: float) -> list[ArrayLike]:
        """Compute the memory of each tier that split layers are certain to get, in bytes."""
        reserve = self.machine.reserve
        kept = reserve.on(chips, chips, 0, chips)
        return self.machine.usable(chips, kept.at(reserve.above))

    def _chips_for(self, needed: float, tiers: Sequence[int], copied: float) -> float:
        """Count the chips whose memories in the given tiers fit a number of bytes.

        copied : The bytes that each chip stores in addition.
        """

        def usable(chips: float) -> float:
            usable_bytes = self._usable(chips)
            return max(float(sum(np.asarray(usable_bytes[tier]) for tier in tiers)) - copied, 0.0)

        chips = float(chips_for_capacity(needed=needed, usable_per_chip=usable(1.0)))
        if chips < inf and any(self.machine.tiers[tier].shared_by > 1.0 for tier in tiers):
            chips = max(chips, float(np.ceil((needed - usable(1.0)) / usable(MOST_CHIPS))))
            while usable(chips) * chips < needed:
                chips += 1.0
        return chips
