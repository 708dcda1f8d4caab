"""Where weights and cache live: which memory tier, how many chips, how they are cut.

Chips that run layer after layer cut each matrix over a tensor-parallel group inside the
link domain (powers of two), give mixtures of experts attention replicas with their
experts spread over all of them once the group has eight ranks, and cut layers into
pipeline stages beyond the domain. Chips whose layers each have a region are pipelined by
whole layers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, inf

import numpy as np

from fastcalc.catalogue.schema import Hardware, LinearAttention
from fastcalc.core.layout import Layout, LayoutError, Layouts
from fastcalc.core.machine import Machine
from fastcalc.core.workload import Workload
from fastcalc.errors import InputError
from fastcalc.formulas.memory import chips_for_capacity, chips_for_whole_layers, largest_batch
from fastcalc.formulas.types import Array, ArrayLike, floats

EXPERT_TENSOR_RANKS = 8
"""Tensor-parallel ranks beyond which a mixture of experts takes attention replicas instead."""

MOST_CHIPS = 16_384
"""Chips beyond which no placement that cuts layers is looked for."""


@dataclass(frozen=True, eq=False)
class Placement:
    """A workload on a layout: what each chip holds and how many sequences fit.

    With `Layouts` for a layout or an array of tokens, every quantity is an array.

    Attributes
    ----------
    machine, work, layout : Machine, Workload, Layout
        What is placed where.
    reserved_tokens : array_like
        Tokens for which a sequence's cache is reserved. [1]
    """

    machine: Machine
    work: Workload
    layout: Layout
    reserved_tokens: ArrayLike

    @cached_property
    def weights_per_chip(self) -> Array:
        """Weights on the fullest chip. [byte]"""
        work, layout = self.work, self.layout
        if self.machine.is_spatial:
            return self.layers_per_stage * work.largest_layer_bytes
        experts = work.experts or 1.0
        routed = work.routed.bytes + work.expert_biases.bytes
        share = np.ceil(experts / layout.ep) / experts * layout.ep / layout.expert_shards
        layers = (work.dense.bytes + work.small.bytes) / layout.tp + routed * share
        ends = (work.embedding.bytes, work.head.bytes)
        end = np.where(layout.pp == 1, sum(ends), max(ends))
        return floats(layers * self.stage_share + end / layout.tp)

    @cached_property
    def cache_per_chip(self) -> Array:
        """Cache of one sequence of a replica on one chip. [byte]"""
        whole = self.work.cache_bytes(self.reserved_tokens, ranks=self.layout.tp)
        return whole * self.stage_share

    @property
    def layers_per_stage(self) -> Array:
        """Layers of the fullest pipeline stage; regions for embedding and head counted. [1]

        Less than one where a layer is cut over several chips.
        """
        cut, whole = self.chips_per_layer, np.ceil(self.slots / self.layout.pp)
        return np.where(cut > 1, 1.0 / cut, whole)

    @property
    def chips_per_layer(self) -> ArrayLike:
        """Chips over which one layer is cut, where there are more chips than layers. [1]"""
        return np.maximum(self.layout.pp // self.slots, 1) if self.machine.is_spatial else 1

    @property
    def stage_share(self) -> Array:
        """Share of all layers in the fullest stage. [1]"""
        if self.machine.is_spatial:
            return np.minimum(self.layers_per_stage / self.work.layers, 1.0)
        return floats(np.ceil(self.work.layers / self.layout.pp) / self.work.layers)

    @property
    def slots(self) -> float:
        """Whole layers to place where layers have regions: embedding and head take some, too."""
        if not self.machine.is_spatial:
            return self.work.layers
        ends = self.work.embedding.bytes + self.work.head.bytes
        return self.work.layers + ceil(ends / self.work.largest_layer_bytes)

    @cached_property
    def max_batch(self) -> Array | int:
        """Sequences that fit, all replicas together, a whole number. [1]"""
        per_replica = largest_batch(
            usable=self.machine.usable_bytes,
            weights=self.weights_per_chip,
            cache_per_sequence=self.cache_per_chip,
        )
        most = np.minimum(per_replica, 1e12) * self.layout.dp
        return most if np.ndim(most) else int(most)

    def used_fraction(self, batch: ArrayLike) -> Array:
        """Return the usable memory that a batch fills on the fullest chip; above 1 does not fit.

        Parameters
        ----------
        batch : array_like
            Sequences of the whole deployment. [1]
        """
        sequences = np.ceil(np.asarray(batch) / self.layout.dp)
        used = self.weights_per_chip + sequences * self.cache_per_chip
        return used / self.machine.usable_bytes

    def __str__(self) -> str:
        """Say where it lives, in a phrase."""
        tier, chips = self.machine.tier.name, self.layout.chips
        if self.machine.is_spatial:
            wafer = self.machine.hardware.kind + ("s" if chips > 1 else "")
            if self.chips_per_layer > 1:
                return f"{tier} of {chips} {wafer} ({int(self.chips_per_layer)} for each layer)"
            each = ceil(self.work.layers / chips)
            return f"{tier} of {chips} {wafer} ({each} layer{'s' if each > 1 else ''} each)"
        cut = f" ({self.layout})" if chips > 1 else ""
        return f"{tier} of {chips} chip{'s' if chips > 1 else ''}{cut}"


@dataclass(frozen=True, eq=False)
class Site:
    """A workload on a kind of chip: the layouts there are, from few chips to many."""

    machine: Machine
    work: Workload
    reserved_tokens: ArrayLike

    def place(self, layout: Layout) -> Placement:
        """Return the workload placed on a layout."""
        return Placement(self.machine, self.work, layout, self.reserved_tokens)

    def smallest(self, batch: float) -> Placement | None:
        """Return the smallest legal placement that holds a batch, or None."""
        holds = self.most_by_default >= batch
        return self.place(self.default_layouts[int(np.argmax(holds))]) if holds.any() else None

    @cached_property
    def default_layouts(self) -> list[Layout]:
        """The layouts taken where none is asked for, in order of chips."""
        return list(self.layouts())

    @cached_property
    def most_by_default(self) -> Array:
        """Sequences that each of them holds. [1]"""
        beside = np.ndim(self.reserved_tokens)
        return floats(self.place(Layouts.of(self.default_layouts, beside=beside)).max_batch)

    @property
    def most_stages(self) -> int:
        """Pipeline stages that get at least one layer, or the embedding or head. [1]

        Chips with a fast link between them cut layers that are too large for one, so that there
        may be more of them.
        """
        cuts_layers = self.machine.is_spatial and self.machine.hardware.links.scale_up is not None
        return MOST_CHIPS if cuts_layers else self._slots

    @property
    def _slots(self) -> int:
        return ceil(self.place(Layout()).slots)

    def layouts(self) -> Iterator[Layout]:
        """Yield the default layouts in order of chips."""
        widths = [Layout()] if self.machine.is_spatial else list(self._domain_layouts())
        yield from widths
        links = self.machine.hardware.links
        if links.scale_out is None and links.scale_up is None:
            return
        last = widths[-1]
        for stages in range(2, self._slots + 1):
            yield Layout(last.tp, stages, last.ep, last.dp)
        for stages in range(2 * self._slots, self.most_stages + 1, self._slots):
            yield Layout(pp=stages)

    def _domain_layouts(self) -> Iterator[Layout]:
        domain = link_domain(self.machine.hardware)
        most = min(domain, EXPERT_TENSOR_RANKS) if self.work.experts else domain
        ranks = 1
        while ranks <= most and divides_heads(self.work, ranks):
            yield Layout(tp=ranks)
            ranks *= 2
        tp = ranks // 2
        if self.work.experts:
            for replicas in range(2, domain // tp + 1):
                yield Layout(tp=tp, ep=tp * replicas, dp=replicas)

    def with_chips(self, chips: int, batches: Sequence[float]) -> Layout:
        """Return the layout of exactly so many chips that suits some batches best.

        Those that hold most of the batches come first, then those with the fewest pipeline
        stages, then those with the widest tensor-parallel group.

        Raises
        ------
        InputError
            If no layout has so many chips.
        """
        layouts = list(self.exactly(chips))
        if not layouts:
            raise InputError(
                f"{self.work.model.id} cannot be laid out over {chips} chips of "
                f"{self.machine.hardware.id}; give --tp, --pp and --dp, or another --chips"
            )

        def rank(layout: Layout) -> tuple[int, int, int]:
            most = self.place(layout).max_batch
            return sum(bool(batch > most) for batch in batches), layout.pp, -layout.tp

        return min(layouts, key=rank)

    def exactly(self, chips: int) -> Iterator[Layout]:
        """Yield every legal layout of so many chips."""
        if self.machine.is_spatial:
            if chips <= self.most_stages:
                yield Layout(pp=chips)
            return
        domain = link_domain(self.machine.hardware)
        most = EXPERT_TENSOR_RANKS if self.work.experts else domain
        tp = 1
        while tp <= min(chips, most, domain) and divides_heads(self.work, tp):
            if chips % tp == 0:
                yield from self._replicas_and_stages(tp, chips // tp, domain)
            tp *= 2

    def _replicas_and_stages(self, tp: int, groups: int, domain: int) -> Iterator[Layout]:
        for dp in range(1, groups + 1):
            pp = groups // dp
            if groups % dp or pp > self.most_stages:
                continue
            if not self.work.experts or dp == 1:
                yield Layout(tp=tp, pp=pp, dp=dp)
            elif tp * dp <= domain:
                yield Layout(tp=tp, pp=pp, ep=tp * dp, dp=dp)

    def expert_ranks(self, tp: int, dp: int) -> int:
        """Return the ranks that share the experts where none are asked for. [1]

        Beside attention replicas they are spread over the whole stage.

        Parameters
        ----------
        tp, dp : int
            Tensor-parallel ranks and replicas. [1]
        """
        return tp * dp if dp > 1 and self.work.experts else 1

    def check(self, layout: Layout) -> Layout:
        """Return a layout that a person asked for, or say why it cannot be.

        Raises
        ------
        LayoutError
            If a number does not suit the chip or the model.
        """
        hardware, model = self.machine.hardware, self.work.model
        domain = link_domain(hardware)
        if self.machine.is_spatial and (layout.tp, layout.ep, layout.dp) != (1, 1, 1):
            raise LayoutError(
                "tp, ep or dp on chips that pipeline whole layers",
                f"{hardware.id} pipelines whole layers: only --pp or --chips says how many",
            )
        if not self.machine.is_spatial and layout.tp > domain:
            raise LayoutError(
                "tp beyond the link domain",
                f"--tp {layout.tp} leaves the link domain of {hardware.id}, which has {domain} "
                f"chip{'s' if domain > 1 else ''}; use --tp up to {domain} and --pp",
            )
        if not divides_heads(self.work, layout.tp):
            raise LayoutError(
                "tp that does not divide the heads",
                f"--tp {layout.tp} does not divide the attention heads of {model.id}",
            )
        if layout.pp > self.most_stages:
            raise LayoutError(
                "pp beyond the layers",
                f"--pp {layout.pp} exceeds the {self.work.layers:.0f} layers of {model.id}",
            )
        if layout.ep > 1 and not self.work.experts:
            raise LayoutError(
                "ep without experts", f"--ep {layout.ep}: {model.id} has no routed experts"
            )
        if layout.width % layout.ep or max(layout.ep, layout.tp) % min(layout.ep, layout.tp):
            raise LayoutError(
                "ep that does not suit tp x dp",
                f"--ep {layout.ep} does not suit tp {layout.tp} x dp {layout.dp}: it divides their "
                "product and is a multiple or a divisor of tp",
            )
        return layout

    def chips_needed(self, batch: float) -> tuple[int | None, int | None]:
        """Return the chips that capacity alone asks, and those that whole layers ask. [1]

        The second is None where layers may be cut, or where one layer fills more than a chip.
        """
        cache = float(self.work.cache_bytes(self.reserved_tokens))
        usable = self.machine.usable_bytes
        capacity = chips_for_capacity(
            needed=self.work.weight_bytes + batch * cache, usable_per_chip=usable
        )
        if not self.machine.is_spatial:
            return int(capacity), None
        one = self.place(Layout())
        whole = chips_for_whole_layers(
            layers=one.slots,
            layer_bytes=self.work.largest_layer_bytes + batch * cache / self.work.layers,
            usable_per_chip=usable,
        )
        if whole == inf and self.most_stages > self._slots:
            smallest = self.smallest(batch)
            return int(capacity), smallest.layout.chips if smallest else None
        return int(capacity), int(whole) if whole < inf else None


def link_domain(hardware: Hardware) -> int:
    """Return how many chips the fast link joins; 1 without one. [1]"""
    link = hardware.links.scale_up
    return floor(link.domain.si) if link and link.domain else 1


def divides_heads(work: Workload, ranks: int) -> bool:
    """Return whether a tensor-parallel group can share the heads of every attention layer."""
    return all(
        block.attention.heads % ranks == 0
        for block in work.model.blocks
        if block.attention is not None and not isinstance(block.attention, LinearAttention)
    )
