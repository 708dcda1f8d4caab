"""What it costs a pass that its bytes live in several memories."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fastcalc.core.machine import Chip, EngineParameters
from fastcalc.core.pass_work import ACTIVATION_BYTES, PassWork
from fastcalc.core.split import Split
from fastcalc.core.tier import Tier
from fastcalc.formulas.roofline import achieved_bandwidth
from fastcalc.formulas.types import Array, ArrayLike, Bools, floats

LEAST = 1e-40
"""Seconds and bytes that are nothing alongside others: nothing over nothing is a number."""

READ = ("dense", "head", "experts", "kv")
"""Kinds of bytes that a pass reads, in the order of `Reads` and of a tier's rates."""


class Reads(NamedTuple):
    """How fast each kind of bytes is read from where it lives. [byte/s]"""

    dense: ArrayLike
    head: ArrayLike
    routed: ArrayLike
    attention: ArrayLike


@dataclass(frozen=True, eq=False)
class InPlace:
    """What the host's cores do in a pass, on one chip's part of its memory.

    bytes, bandwidth : read [byte] and how fast [byte/s]
    flops, compute : multiplied [FLOP] and how long that takes [s]
    sent, link : activations to the host and back [byte] and how fast [byte/s]
    layers, each : layers in which chip and host take turns [1], and what a turn costs [s]
    """

    bytes: Array
    bandwidth: Array
    flops: Array
    compute: Array
    sent: Array
    link: ArrayLike
    layers: Array
    each: ArrayLike

    @property
    def seconds(self) -> Array:
        """Time it takes. [s]"""
        work = np.maximum(self.bytes / self.bandwidth, self.compute)
        return floats(work + self.sent / self.link + self.layers * self.each)

    def where(self, kept: Bools) -> "InPlace":
        """Return what is done only where that is what is chosen."""
        return replace(
            self,
            bytes=self.bytes * kept,
            flops=self.flops * kept,
            compute=self.compute * kept,
            sent=self.sent * kept,
            layers=self.layers * kept,
        )


class Located(NamedTuple):
    """A pass as the chip sees it, and what is done elsewhere.

    work : without what the host's cores do
    reads : how fast the chip reads the rest
    host : what the host's cores do
    rest : what of each kind of `READ` the chip works on; None for all [1]
    """

    work: PassWork
    reads: Reads
    host: InPlace | None
    rest: list[Array] | None = None


def tier_rate(
    tier: Tier, chip: Chip, software: EngineParameters, part: ArrayLike, *, in_place: bool = False
) -> ArrayLike:
    """Return what long reads reach of a memory, for one chip. [byte/s]

    tier : the memory
    chip, software : what a chip prints, and what the engine makes of it
    part : the part of a shared memory that one chip has while others read, too [1]
    in_place : read by the host's cores, not over the link
    """
    if tier.is_near:
        return achieved_bandwidth(
            peak=tier.bandwidth,
            fraction=software.bandwidth_fraction,
            cores=chip.cores,
            per_core=software.bandwidth_per_core,
        )
    memory = tier.bandwidth * software.host_bandwidth_fraction * part
    return memory if in_place else np.minimum(memory, tier.link * software.host_link_fraction)


@dataclass(frozen=True, eq=False)
class Ways:
    """How a pass may use what lives on a host.

    work : the work of the pass, wherever its bytes live
    shares : what is read of each kind of bytes from each memory [1]
    rates : how fast a chip reads each memory [byte/s]
    overlap : share of the shorter times that hides [1]
    place : position of the memory whose cores may multiply
    host : what they do if they do all of it
    there : what of each kind is in that memory [1]
    """

    work: PassWork
    shares: dict[str, list[Array]]
    rates: list[ArrayLike]
    overlap: ArrayLike
    place: int | None
    host: InPlace | None
    there: list[Array]

    def streamed(self) -> Located:
        """Return the pass where the chip reads everything itself."""
        reads = (_together(self.shares[kind], self.rates, self.overlap) for kind in READ)
        return Located(self.work, Reads(*reads), None)

    def in_place(self, kept: Bools) -> Located:
        """Return the pass where the host's cores multiply what they hold, where that is chosen."""
        assert self.host is not None and self.place is not None
        rest = [1.0 - kept * share for share in self.there]
        speeds = []
        for kind, left in zip(READ, rest, strict=True):
            read = list(self.shares[kind])
            read[self.place] = read[self.place] * ~kept
            speeds.append(_together(read, self.rates, self.overlap, whole=left))
        return Located(_without(self.work, rest), Reads(*speeds), self.host.where(kept), rest)


def ways_of(
    work: PassWork, split: Split, chip: Chip, software: EngineParameters, touched: ArrayLike
) -> Ways:
    """Return how a pass may use what lives on a host.

    work : the work of the pass, wherever its bytes live
    split : where they live
    chip, software : what a chip prints, and what the engine makes of it
    touched : share of the routed weights that the pass reads [1]
    """
    shares, parts = split.reads(), [part_of(tier, split, work) for tier in split.tiers]
    rates = [
        tier_rate(tier, chip, software, part) for tier, part in zip(split.tiers, parts, strict=True)
    ]
    place = next((at for at, tier in enumerate(split.tiers) if tier.flop_rates), None)
    if place is None:
        return Ways(work, shares, rates, software.tier_overlap, None, None, [])
    there = [shares[kind][place] * (split.sizes[kind] > 0.0) for kind in READ]
    host = _in_place(work, split.tiers[place], there, touched, parts[place], software)
    return Ways(work, shares, rates, software.tier_overlap, place, host, there)


def part_of(tier: Tier, split: Split, work: PassWork) -> ArrayLike:
    """Return the part of a shared memory that a chip has while others of a pass read, too. [1]

    tier : the memory
    split : with the chips of the deployment
    work : the pass; only the stages that its micro-batches are in read at once
    """
    if tier.shared_by == 1.0:
        return 1.0
    width = split.chips / np.asarray(work.stages)
    readers = width * np.minimum(work.in_flight, work.stages)
    return np.minimum(np.ceil(np.asarray(split.chips) / tier.shared_by) / readers, 1.0)


def _together(
    shares: Sequence[Array],
    rates: Sequence[ArrayLike],
    overlap: ArrayLike,
    whole: ArrayLike = 1.0,
) -> Array:
    r"""Return how fast bytes are read of which each memory has a share. [byte/s]

    The times of the memories add, but for the share that hides under the longest. Nothing is won by
    what lies farther away: read at once, shares :math:`s` take no less than
    :math:`(s_k + s_{k+1} + ...) / r_k`, as if all beyond a memory were in it.
    """
    total = floats(sum(share / rate for share, rate in zip(shares, rates, strict=True)))
    if np.any(overlap):
        at_once, beyond, fastest = floats(0.0), floats(0.0), floats(0.0)
        for share, rate in zip(reversed(shares), reversed(rates), strict=True):
            beyond, fastest = beyond + share, np.maximum(fastest, rate)
            at_once = np.maximum(at_once, np.maximum(share / rate, beyond / fastest))
        total = total - overlap * (total - at_once)
    return floats((whole + LEAST) / (total + LEAST))


def _in_place(
    work: PassWork,
    tier: Tier,
    shares: Sequence[Array],
    touched: ArrayLike,
    part: ArrayLike,
    software: EngineParameters,
) -> InPlace:
    """Return what the host's cores would do with the shares of each kind that are there."""
    rows = np.asarray(work.sequences * work.verified)
    moved = (
        work.dense_bytes,
        work.head_bytes,
        work.routed_bytes * touched,
        work.sequences * work.cache_bytes,
    )
    products = (
        work.tokens * work.dense_flops + work.prompt * work.norm_flops,
        rows * work.head_flops,
        (work.together + work.prompt_together) * work.routed_flops,
        rows * work.attention_flops + work.prompt * work.prompt_flops,
    )
    flops = [share * each for share, each in zip(shares, products, strict=True)]
    assert tier.flop_rates is not None
    compute = sum(each / (rate * part) for each, rate in zip(flops, tier.flop_rates, strict=True))
    dense, head, experts, cache = shares
    layers = np.maximum(np.maximum(np.maximum(dense, experts), cache) * work.depth, head)
    return InPlace(
        bytes=floats(sum(share * each for share, each in zip(shares, moved, strict=True))),
        bandwidth=floats(tier.bandwidth * software.host_bandwidth_fraction * part),
        flops=floats(sum(flops)),
        compute=floats(compute),
        sent=floats(2.0 * ACTIVATION_BYTES * layers * work.tokens * work.hidden),
        link=tier.link * software.host_link_fraction,
        layers=floats(layers),
        each=software.host_layer_overhead,
    )


def _without(work: PassWork, rest: Sequence[Array]) -> PassWork:
    """Return a pass of which the chip does but a rest of each kind."""
    dense, head, experts, cache = rest
    return replace(
        work,
        dense_bytes=work.dense_bytes * dense,
        dense_flops=work.dense_flops * dense,
        dense_weights=work.dense_weights * dense,
        norm_flops=work.norm_flops * dense,
        head_bytes=work.head_bytes * head,
        head_flops=work.head_flops * head,
        head_weights=work.head_weights * head,
        routed_bytes=work.routed_bytes * experts,
        routed_flops=work.routed_flops * experts,
        routed_weights=work.routed_weights * experts,
        cache_bytes=work.cache_bytes * cache,
        attention_flops=work.attention_flops * cache,
        prompt_flops=work.prompt_flops * cache,
    )
