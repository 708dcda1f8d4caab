"""The bound of a step: all chips at their printed peaks, everything overlapped.

No honest measurement may beat it: no latency, and only the bytes that must move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from fastcalc.core.chip.machine import Machine
from fastcalc.core.chip.tier import Tier
from fastcalc.core.model.kinds import Kinds
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.fullest_chip import once_a_layout
from fastcalc.core.placement.layout import AnyLayout, Layout
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.core.step.component import Component, Step, is_nothing, largest_of
from fastcalc.core.step.pass_work import FLOPS_PER_PARAMETER, PassInput
from fastcalc.formulas.network import all_reduce_bytes
from fastcalc.formulas.roofline import time_of, time_over_tiers
from fastcalc.formulas.types import Array, ArrayLike, Ints, floats, where

NARROWEST_ACTIVATION_BYTES = 1.0
"""Engines that quantise what they send use a byte an element; the bound grants it to all."""

_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Bound:
    """Memory, compute and link time at peak rates; they overlap.

    work : the least bytes, FLOPs and bytes sent of all chips together, and their peak rates
    """

    work: Component

    @cached_property
    def seconds(self) -> Array:
        """The largest of the three. [s]"""
        return np.maximum(self.work.work_time, self.work.link_time)

    @cached_property
    def limiter(self) -> Ints:
        """Index of the largest: memory, compute, link."""
        return largest_of((self.work.memory_time, self.work.compute_time, self.work.link_time))

    def as_step(self) -> Step:
        """Return a step of its largest term alone."""
        work, largest = self.work, self.limiter
        return Step.of(
            Component(
                "bound",
                bytes=where(largest == 0, work.bytes, 0.0),
                bandwidth=work.bandwidth,
                flops=where(largest == 1, work.flops, 0.0),
                flop_rate=work.flop_rate,
                sent=where(largest == 2, work.sent, 0.0),
                link=work.link,
            )
        )


def bound_step(placement: AnyPlacement, rows: PassInput) -> Bound:
    """Return the bound of a step on all chips of a layout.

    rows : sequences and prompt tokens of the *whole deployment*; arrays broadcast

    Returns
    -------
    Bound
        The fewest experts are read, caches are read once and on no rank twice, and
        reductions happen in the switch.
    """
    machine, work = placement.machine, placement.work
    tokens = floats(rows.sequences * rows.verified + rows.prompt)
    stored: Kinds[ArrayLike] = work.bytes
    picked = stored.experts * work.active_share
    read = stored._replace(experts=picked, kv=rows.sequences * rows.attention.cache)
    moved: ArrayLike = sum(read)
    capacities, bandwidths = _memory(machine, work, placement.layout)
    memory = time_over_tiers(work=moved, capacities=capacities, bandwidths=bandwidths)
    memory = np.maximum(memory, _longest_pinned_read(placement, read))
    flops, compute = _multiplied(placement, rows, tokens)
    sent, link = _sent(placement, tokens)
    return Bound(
        Component(
            "bound",
            bytes=moved,
            bandwidth=moved / memory,
            flops=flops,
            flop_rate=flops / np.maximum(compute, _LEAST),
            sent=sent,
            link=link,
            norm=inf,
        )
    )


def _multiplied(
    placement: AnyPlacement, rows: PassInput, tokens: Array
) -> tuple[ArrayLike, ArrayLike]:
    """Return the FLOPs of a pass, and what all chips take for them. [FLOP], [s]"""
    work, weights = placement.work, placement.work.weights
    attention, decode = rows.attention, rows.sequences * rows.verified
    dense, head, experts, caches, either = _rates(placement.machine, work, placement.layout)
    products = (
        (tokens, weights.dense, 1.0, dense),
        (tokens, weights.experts, work.active_share, experts),
        (tokens, weights.small, 1.0, either),  # norms run with either
        (decode, weights.head, 1.0, head),
    )
    parts = [
        (count * FLOPS_PER_PARAMETER * part.parameters * share, rate)
        for count, part, share, rate in products
        if part.parameters
    ]
    prompts = 0.0 if is_nothing(rows.prompt) else rows.prompt * attention.prompt_flops
    parts.append((decode * attention.decode_flops + prompts, caches))
    flops: ArrayLike = sum(amount for amount, _ in parts)
    compute: ArrayLike = sum(time_of(work=amount, rate=rate) for amount, rate in parts)
    return flops, compute / placement.layout.chips


@once_a_layout
def _memory(machine: Machine, _: Workload, layout: AnyLayout) -> tuple[Array, Array]:
    """Return what all memories of a deployment hold, and how fast they are read at once.

    First that which is read through soonest.
    """
    chips, count = layout.chips, floats(layout.chips)
    capacities = [count * tier.share(chips) * tier.capacity for tier in machine.tiers]
    bandwidths = [_bandwidth(tier, count) for tier in machine.tiers]
    sizes, rates = np.stack(capacities, axis=-1), np.stack(bandwidths, axis=-1)
    if sizes.shape[-1] == 1:
        return sizes, rates
    order = np.argsort(sizes / rates, axis=-1)
    return np.take_along_axis(sizes, order, axis=-1), np.take_along_axis(rates, order, axis=-1)


def _bandwidth(tier: Tier, chips: Array) -> Array:
    """Return how fast all memories of a tier are read at once, by links where they must be."""
    memory = chips * tier.share(chips) * tier.bandwidth
    return memory if tier.flop_rates else np.minimum(memory, chips * tier.link)


def _longest_pinned_read(placement: AnyPlacement, read: Kinds[ArrayLike]) -> ArrayLike:
    """Return the longest that one memory takes to read what is asked to live in it. [s]"""
    machine = placement.machine
    if not machine.place:
        return 0.0
    sizes = read._asdict() | {"embedding": 0.0}
    chips, longest = floats(placement.layout.chips), floats(0.0)
    for place, tier in enumerate(machine.tiers):
        moved = sum(sizes[kind] for kind, at in machine.place.items() if at == place)
        longest = np.maximum(longest, time_of(work=moved, rate=_bandwidth(tier, chips)))
    return longest


@once_a_layout
def _rates(machine: Machine, _: Workload, layout: AnyLayout) -> list[ArrayLike]:
    """Return the rates of products with each kind for each chip. [FLOP/s]

    Cores of a host add theirs. The last is the better of the first two.
    """
    rates: Sequence[ArrayLike] = machine.peaks
    for tier in machine.tiers:
        if tier.flop_rates:
            rates = [
                chip_rate + rate * tier.share(layout.chips)
                for chip_rate, rate in zip(rates, tier.flop_rates, strict=True)
            ]
    return [*rates, np.maximum(rates[0], rates[1])]


def _sent(placement: AnyPlacement, tokens: Array) -> tuple[ArrayLike, ArrayLike]:
    """Return bytes that must cross links: half a ring all-reduce, or a hop a token."""
    work, layout, chip = placement.work, placement.layout, placement.machine.chip
    if layout == Layout():
        return 0.0, inf
    message = tokens * (work.hidden or 0.0) * NARROWEST_ACTIVATION_BYTES
    chips = placement.machine.chips_of(layout.tp)
    reduced = all_reduce_bytes(ranks=chips, message=message) / 2.0
    reduced = 2.0 * work.depth / (layout.pp * layout.dp) * reduced
    sent = where(chips > 1, reduced, (layout.pp > 1) * (message / layout.dp))
    crossed = where(layout.pp > 1, np.maximum(chip.link, chip.link_out), inf)
    return sent, where(chips > 1, chip.link, crossed)
