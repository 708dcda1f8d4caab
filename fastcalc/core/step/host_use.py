"""Time of a step whose bytes are in several memories."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import inf
from typing import NamedTuple

import numpy as np

from fastcalc.core.chip.machine import Chip, EngineParameters
from fastcalc.core.chip.tier import Tier
from fastcalc.core.chip.tiers import read_first
from fastcalc.core.model.kinds import READ, Kinds
from fastcalc.core.placement.split import Costs, Split, summed
from fastcalc.core.step.chip_work import ChipWork
from fastcalc.core.step.component import Component, idle, scaled
from fastcalc.core.step.pass_work import ACTIVATION_BYTES, PassWork
from fastcalc.formulas.roofline import achieved_bandwidth
from fastcalc.formulas.types import Array, ArrayLike, floats

LEAST = 1e-40
"""A negligible time and size that keep ratios of zeros finite. [s], [byte]"""

HOST, FAR = "host", "slower memory"
"""The components computed by a host's cores, and read from farther memories."""


def tier_rates(
    tiers: Sequence[Tier], chip: Chip, software: EngineParameters, fractions: Sequence[ArrayLike]
) -> list[ArrayLike]:
    """Compute the bandwidth of long reads by one chip from each memory, in bytes per second.

    Data streamed from a host passes through the chip's own memory and cannot be faster.

    tiers : The memories, with the chip's own first.
    fractions : The fraction of each memory's rate available to one chip while others also read.
    """
    rates: list[ArrayLike] = []
    chip_rates: list[ArrayLike] = []
    for tier, fraction in zip(tiers, fractions, strict=True):
        if tier.is_near:
            chip_rates.append(
                achieved_bandwidth(
                    peak=tier.bandwidth,
                    fraction=software.bandwidth_fraction,
                    cores=chip.cores,
                    per_core=software.bandwidth_per_core,
                )
            )
            rates.append(chip_rates[-1])
        else:
            memory = tier.bandwidth * software.host_bandwidth_fraction * fraction
            rates.append(
                reduce(np.minimum, [memory, tier.link * software.host_link_fraction, *chip_rates])
            )
    return rates


def part_of(tier: Tier, chips: ArrayLike, work: PassWork) -> ArrayLike:
    """Compute the fraction of a shared memory's rate available to a chip while others read.

    work : The step; only stages that hold one of its micro-batches read at the same time.
    """
    if tier.shared_by == 1.0:
        return 1.0
    stages = work.pipeline.stages
    readers = chips / np.asarray(stages) * np.minimum(work.in_flight, stages)
    return np.minimum(np.ceil(np.asarray(chips) / tier.shared_by) / readers, 1.0)


@dataclass(frozen=True, eq=False)
class OnHost:
    """Computes the time per chip if the host's cores process an entire category.

    place : The index of the memory to which the cores are attached.
    bytes, flops : The bytes read [byte] and FLOPs computed. [FLOP]
    memory, compute : The time of each, in seconds.
    sent, link : The activations sent in both directions per layer [byte] and their rate. [byte/s]
    turn_overhead : The additional time for each switch between chip and host, in seconds.
    layers : The number of sequential layers.
    """

    place: int
    bytes: Kinds[ArrayLike]
    flops: Kinds[ArrayLike]
    memory: Kinds[ArrayLike]
    compute: Kinds[ArrayLike]
    sent: ArrayLike
    link: ArrayLike
    turn_overhead: ArrayLike
    layers: ArrayLike

    @property
    def seconds(self) -> Kinds[Array]:
        """The time for each category, in seconds. Bytes are read while they are multiplied."""
        return Kinds(*map(np.maximum, self.memory, self.compute))

    def net_seconds(self, chip: Chip, components: ChipWork) -> Kinds[Array]:
        """Compute the time for each category, minus the arithmetic saved on the chip. [s]"""
        return Kinds(*map(np.subtract, self.seconds, components.besides(chip)))

    def component(self, shares: Sequence[Array], turns: Array) -> Component:
        """Build the component for the work done by the host's cores.

        shares : The fraction of each category read by the cores.
        turns : The number of switches between chip and host per step.
        """
        component = _lasting(
            HOST,
            summed(shares, self.seconds),
            (summed(shares, self.bytes), summed(shares, self.memory)),
            (summed(shares, self.flops), summed(shares, self.compute)),
        )
        sent = turns * self.sent
        return replace(
            component, sent=sent, link=self.link, count=turns, seconds_each=self.turn_overhead
        )


@dataclass(frozen=True, eq=False)
class OffloadOptions:
    """Configuration of how a step can use memories beyond the first.

    kinds : The chip's reads and products for each category, by the memory that holds all of it.
    own_place : The index of the chip's first memory, or None if it has none.
    open : The costs of each way that may be the fastest: the chip reads everything, or the host's
        cores do part of the work.
    host : The time of the host's cores, or None if they may not compute or are always slower.
    """

    kinds: Sequence[Kinds[Component]]
    own_place: int | None
    open: list[Costs]
    host: OnHost | None

    def seconds(self, split: Split, kinds: Sequence[str] = READ) -> Array:
        """Compute the step time in the fastest way, for the given categories, in seconds."""
        return reduce(np.minimum, (costs.seconds(split, kinds) for costs in self.open))


class OffloadedPass(NamedTuple):
    """A step whose bytes are in several memories.

    near : The fraction of each category that the chip reads from its first memory.
    multiplied : The fraction of each category that the chip multiplies.
    far : The reads from other memories.
    host : The work of the host's cores.
    """

    near: Kinds[ArrayLike]
    multiplied: Kinds[ArrayLike]
    far: Component
    host: Component


def offload_options(
    work: PassWork,
    tiers: Sequence[Tier],
    chips: ArrayLike,
    chip: Chip,
    software: EngineParameters,
    components: ChipWork,
) -> OffloadOptions:
    """Determine the ways in which a step can use memories beyond the first.

    components : The chip's reads and products with everything in its first memory.
    """
    shared = [part_of(tier, chips, work) for tier in tiers]
    first, near = read_first(tiers), software.bandwidth(chip)
    own_place = tiers.index(first) if first.is_near else None
    groups: list[Kinds[Component]] = []
    rates = tier_rates(tiers, chip, software, shared)
    for at, (tier, rate) in enumerate(zip(tiers, rates, strict=True)):
        if at == own_place:
            groups.append(components.kinds)
            continue
        speeds = [group.bandwidth for group in components.kinds]
        if tier.is_near:
            speeds = [speed / (near / rate) for speed in speeds]
        else:  # links copy whole tensors: narrow slices only slow down kernels
            speeds = [rate if own_place is None else np.minimum(rate, speed) for speed in speeds]
        pairs = zip(components.kinds, speeds, strict=True)
        groups.append(Kinds(*(replace(group, bandwidth=speed) for group, speed in pairs)))
    by_memory: list[Kinds[ArrayLike]]
    by_memory = [Kinds(*(group.work_time for group in tier_kinds)) for tier_kinds in groups]
    streamed = Costs(by_memory)
    host = on_host(work, tiers, chips, software, components.touched)
    if host is None:
        return OffloadOptions(groups, own_place, [streamed], None)
    net_seconds = host.net_seconds(chip, components)
    by_memory = [net_seconds if at == host.place else times for at, times in enumerate(by_memory)]
    switch_s = host.sent / host.link + host.turn_overhead
    computed = Costs(by_memory, host.place, switch_s, host.layers)
    if not tiers[host.place].streams:
        return OffloadOptions(groups, own_place, [computed], host)
    if _never_pays(computed, streamed.by_memory[host.place]):
        return OffloadOptions(groups, own_place, [streamed], None)
    return OffloadOptions(groups, own_place, [streamed, computed], host)


def _never_pays(computed: Costs, streamed: Kinds[ArrayLike]) -> bool:
    """Check whether the host's cores are always slower, for any placement.

    Switches between chip and host are included. The cores work in every layer that has bytes of any
    category there, so they save at most the sum over all categories.

    computed : The costs of a step in which the cores compute.
    streamed : The costs of each category in the same memory if the chip computes, in seconds.
    """
    assert computed.turning_memory is not None
    pairs = zip(streamed, computed.by_memory[computed.turning_memory], strict=True)
    dense, head, experts, kv = (np.maximum(far - on_cores, 0.0) for far, on_cores in pairs)
    in_layers = dense + experts + kv
    is_less = (in_layers <= computed.turn_seconds * computed.layers) & (
        head <= computed.turn_seconds
    )
    return bool(np.all(is_less))


def on_host(
    work: PassWork,
    tiers: Sequence[Tier],
    chips: ArrayLike,
    software: EngineParameters,
    touched: ArrayLike,
) -> OnHost | None:
    """Compute the time of the host's cores by category, or None if they may not compute.

    touched : The fraction of routed expert weights that the step reads.
    """
    tier_index = next((at for at, tier in enumerate(tiers) if tier.flop_rates), None)
    if tier_index is None:
        return None
    tier = tiers[tier_index]
    tier_fraction, rows = part_of(tier, chips, work), work.sequences * work.verified
    bandwidth = tier.bandwidth * software.host_bandwidth_fraction * tier_fraction
    dense, head, experts, kv = work.bytes
    read = Kinds(dense, head, experts * touched, work.sequences * kv)
    products = Kinds(
        work.tokens * work.flops.dense + work.prompt * work.prompt_flops.head,
        rows * work.flops.head,
        (work.expert_tokens + work.expert_prompt) * work.flops.experts,
        rows * work.flops.kv + work.prompt * work.prompt_flops.kv,
    )
    assert tier.flop_rates is not None
    return OnHost(
        place=tier_index,
        bytes=read,
        flops=products,
        memory=Kinds(*(size / bandwidth for size in read)),
        compute=Kinds(
            *(
                flops / (rate * tier_fraction)
                for flops, rate in zip(products, tier.flop_rates, strict=True)
            )
        ),
        sent=2.0 * ACTIVATION_BYTES * work.tokens * work.hidden,
        link=tier.link * software.host_link_fraction,
        turn_overhead=software.host_layer_overhead,
        layers=work.depth,
    )


def offloaded_pass(split: Split, options: OffloadOptions) -> OffloadedPass:
    """Divide a step between the chip and the host, whose cores compute if that is faster."""
    host, own_place = options.host, options.own_place
    fractions = [split.read_from(at) for at in range(len(split.tiers))]
    farther = [at for at in range(len(split.tiers)) if at != own_place]
    multiplied: Kinds[ArrayLike] = Kinds(1.0, 1.0, 1.0, 1.0)
    on_cores, far = idle(HOST), idle(FAR)
    if host is not None:
        *streamed, computed = (costs.seconds(split) for costs in options.open)
        computes = computed < streamed[0] if streamed else np.asarray(True)
        if computes.any():
            host_shares = Kinds(*(fraction * computes for fraction in fractions[host.place]))
            multiplied = Kinds(*(1.0 - fraction for fraction in host_shares))
            on_cores = host.component(host_shares, split.turns(host.place, host.layers) * computes)
            fractions[host.place] = Kinds(
                *(fraction * ~computes for fraction in fractions[host.place])
            )
        if computes.all():
            farther.remove(host.place)
    if farther:
        far = _from(farther, fractions, options)
    near = Kinds(*[floats(0.0)] * 4) if own_place is None else fractions[own_place]
    return OffloadedPass(near, multiplied, far, on_cores)


def _from(
    tier_indices: Sequence[int], fractions: Sequence[Sequence[Array]], options: OffloadOptions
) -> Component:
    """Compute the reads of a step from the given memories beyond the first."""

    def spent(time_of: Callable[[Component], ArrayLike]) -> Array:
        return floats(
            sum(summed(fractions[at], map(time_of, options.kinds[at])) for at in tier_indices)
        )

    groups = options.kinds[tier_indices[0]]
    far_shares = [
        sum(of_kind) for of_kind in zip(*(fractions[at] for at in tier_indices), strict=True)
    ]
    far = _lasting(
        FAR,
        spent(lambda group: group.work_time),
        (
            summed(far_shares, [group.bytes for group in groups]),
            spent(lambda group: group.memory_time),
        ),
        (
            summed(far_shares, [group.flops for group in groups]),
            spent(lambda group: group.compute_time),
        ),
    )
    printed = spent(lambda group: scaled(group.seconds, group.basis[0]))
    fitted = spent(lambda group: scaled(group.seconds, group.basis[1]))
    total = far.seconds + LEAST
    return replace(far, basis=(printed / total, fitted / total))


def _lasting(
    name: str, seconds: Array, read: tuple[Array, Array], multiplied: tuple[Array, Array]
) -> Component:
    """Build a component for several categories with a given total time.

    seconds : The total time, in seconds.
    read : The bytes [byte] and the time to read them. [s]
    multiplied : The arithmetic [FLOP] and its time. [s]
    """
    (moved, memory), (flops, compute) = read, multiplied
    is_memory = memory >= compute
    reading = np.where(is_memory, seconds, np.minimum(memory, seconds))
    multiplying = np.where(is_memory, np.minimum(compute, seconds), seconds)
    return Component(
        name,
        bytes=moved,
        bandwidth=(moved + LEAST) / (reading + LEAST),
        flops=flops,
        flop_rate=(flops + LEAST) / (multiplying + LEAST),
        norm=inf,
    )
