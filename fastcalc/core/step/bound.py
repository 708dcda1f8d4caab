"""Hardware bound of a step: all chips at peak rates, with everything overlapped.

No valid measurement can beat it, since it has no latency and moves only the necessary bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from fastcalc.core.chip.machine import Machine
from fastcalc.core.chip.tier import Tier
from fastcalc.core.model.kinds import Kinds
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.fullest_chip import once_a_layout
from fastcalc.core.placement.layout import AnyLayout, Layout
from fastcalc.core.step.component import Component, Step, is_nothing, largest_of
from fastcalc.core.step.pass_work import FLOPS_PER_PARAMETER, PassInput
from fastcalc.formulas.network import all_reduce_bytes
from fastcalc.formulas.roofline import time_of, time_over_tiers
from fastcalc.formulas.types import Array, ArrayLike, Ints, floats, where

NARROWEST_ACTIVATION_BYTES = 1.0
"""The message width that the bound assumes for all engines; some engines quantize messages.
[byte]"""

_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Bound:
    """Computes the hardware bound from memory, compute and link time at peak rates.

    work : The minimum bytes, FLOPs and sent bytes of all chips combined, with their peak rates.
    """

    work: Component

    @cached_property
    def seconds(self) -> Array:
        """The longest of the three times, in seconds."""
        return np.maximum(self.work.work_time, self.work.link_time)

    @cached_property
    def limiter(self) -> Ints:
        """The index of the longest time: memory, compute or link."""
        return largest_of((self.work.memory_time, self.work.compute_time, self.work.link_time))

    def as_step(self) -> Step:
        """Convert the bound into a step that contains only the longest term."""
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


class Memories(NamedTuple):
    """The memories of a deployment on the last axis, sorted by the time to read them.

    capacities, bandwidths : The totals per tier. [byte], [byte/s]
    """

    capacities: Array
    bandwidths: Array

    def read_time(self, size: ArrayLike) -> Array:
        """Compute the minimum time to read data spread optimally over the memories, in seconds."""
        return time_over_tiers(work=size, capacities=self.capacities, bandwidths=self.bandwidths)


class BoundTerms(NamedTuple):
    """The layout-dependent terms in the bound of a step, as numbers or columns over layouts.

    read : The weights that a token reads, with the fewest possible experts, in bytes.
    stages : The number of sequential pipeline stages, each with its own memories.
    at_once, in_turn : All memories of a deployment, and those read by a single stage.
    pinned : The fractions of byte categories with an assigned memory [1], and the rates of these
        memories when read by all stages at once and by a single stage. [byte/s]
    parameters : The dense weights, experts, norms and head, at two FLOPs per parameter.
    active_share : The fraction of the experts used by each token.
    rates : The rates per chip of products with these and with caches, in FLOP/s.
    chips : The number of chips that share the products.
    sent_width : The elements per token that cross links; 0 if unknown or on a single-rank chip.
    tp_chips : The chips that participate in each layer's all-reduce.
    reductions : The all-reduces per message and step, halved for the bound.
    hops, hop_replicas : 1 with pipeline stages, else 0; and the replicas that share their messages.
    link : The one-way rate of the link used by the messages, in bytes per second.
    """

    read: Kinds[ArrayLike]
    stages: ArrayLike
    at_once: Memories
    in_turn: Memories
    pinned: tuple[tuple[dict[str, float], Array, Array], ...]
    parameters: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]
    active_share: ArrayLike
    rates: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike]
    chips: ArrayLike
    sent_width: ArrayLike
    tp_chips: ArrayLike
    reductions: ArrayLike
    hops: ArrayLike
    hop_replicas: ArrayLike
    link: ArrayLike


@once_a_layout
def bound_terms(machine: Machine, work: Workload, layout: AnyLayout) -> BoundTerms:
    """Compute the layout-dependent terms of the bound."""
    chips, count, chip, weights = layout.chips, floats(layout.chips), machine.chip, work.weights
    stages: ArrayLike = 1.0 if machine.is_spatial else layout.pp
    tp_chips = machine.chips_of(layout.tp)
    crossed = where(layout.pp > 1, np.maximum(chip.link, chip.link_out), inf)
    at_once = _memories(machine, layout, 1.0)
    groups = (weights.dense, weights.experts, weights.small, weights.head)
    dense, experts, small, head = (component.parameters for component in groups)
    read: Kinds[ArrayLike] = work.bytes
    return BoundTerms(
        read=read._replace(experts=read.experts * work.active_share),
        stages=stages,
        at_once=at_once,
        in_turn=at_once if np.max(stages) == 1 else _memories(machine, layout, stages),
        pinned=tuple(
            (
                {kind: fractions[index] for kind, fractions in machine.place.items()},
                _bandwidth(tier, count),
                _bandwidth(tier, count, stages),
            )
            for index, tier in enumerate(machine.tiers if machine.place else ())
        ),
        parameters=(dense, experts, small, head),
        active_share=work.active_share,
        rates=_rates(machine, layout),
        chips=chips,
        sent_width=0.0 if layout == Layout() else work.hidden or 0.0,
        tp_chips=tp_chips,
        reductions=2.0 * work.depth / (layout.pp * layout.dp),
        hops=1.0 * (layout.pp > 1),
        hop_replicas=layout.dp,
        link=where(tp_chips > 1, chip.link, crossed),
    )


def bound_step(terms: BoundTerms, rows: PassInput) -> Bound:
    """Compute the bound of a step on all chips of a layout.

    rows : The sequences and prompt tokens of the *whole deployment*; arrays broadcast.

    Returns
    -------
    Bound
        The fewest experts are read, caches are read once and on no rank twice, and
        reductions happen in the switch.
    """
    tokens = floats(rows.sequences * rows.verified + rows.prompt)
    read = terms.read._replace(kv=rows.sequences * rows.attention.cache)
    moved: ArrayLike = sum(read)
    memory = _read_time(terms, read)
    flops, compute = _multiplied(terms, rows, tokens)
    sent: ArrayLike = 0.0
    link: ArrayLike = inf
    if not is_nothing(terms.sent_width):
        # Half of a ring all-reduce, or one hop per token.
        message = tokens * terms.sent_width * NARROWEST_ACTIVATION_BYTES
        reduced = all_reduce_bytes(ranks=terms.tp_chips, message=message) / 2.0
        hop = terms.hops * (message / terms.hop_replicas)
        sent, link = where(terms.tp_chips > 1, terms.reductions * reduced, hop), terms.link
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


def _read_time(terms: BoundTerms, read: Kinds[ArrayLike]) -> ArrayLike:
    """Compute the minimum time to read the memories, in seconds. Stages read theirs in turn."""
    at_once = np.maximum(
        terms.at_once.read_time(sum(read)),
        _longest_pinned_read(read, [(parts, rate) for parts, rate, _ in terms.pinned]),
    )
    if np.max(terms.stages) == 1.0:
        return at_once
    # There are as many micro-batches as stages, each with its own caches.
    each = read._replace(kv=read.kv / terms.stages)
    in_turn = np.maximum(
        terms.in_turn.read_time(sum(read[:-1])),
        _longest_pinned_read(each, [(parts, rate) for parts, _, rate in terms.pinned]),
    )
    at_full_rate = sum(each) / floats(np.sum(terms.in_turn.bandwidths, axis=-1))
    return floats(np.maximum(np.maximum(at_once, in_turn), at_full_rate))


def _multiplied(terms: BoundTerms, rows: PassInput, tokens: Array) -> tuple[ArrayLike, ArrayLike]:
    """Compute the FLOPs of a step, and the time they take on all chips. [FLOP],, in seconds"""
    attention, decode = rows.attention, rows.sequences * rows.verified
    dense, experts, small, head = terms.parameters
    dense_rate, head_rate, expert_rate, cache_rate, either_rate = terms.rates
    products = (
        (tokens, dense, 1.0, dense_rate),
        (tokens, experts, terms.active_share, expert_rate),
        (tokens, small, 1.0, either_rate),  # norms may run at either rate
        (decode, head, 1.0, head_rate),
    )
    components = [
        (count * FLOPS_PER_PARAMETER * parameters * fraction, rate)
        for count, parameters, fraction, rate in products
        if not is_nothing(parameters)
    ]
    prompts = 0.0 if is_nothing(rows.prompt) else rows.prompt * attention.prompt_flops
    components.append((decode * attention.decode_flops + prompts, cache_rate))
    flops: ArrayLike = sum(amount for amount, _ in components)
    compute: ArrayLike = sum(time_of(work=amount, rate=rate) for amount, rate in components)
    return flops, compute / terms.chips


def _memories(machine: Machine, layout: AnyLayout, stages: ArrayLike) -> Memories:
    """Return all memories of a deployment as seen by one of its stages."""
    chips = floats(layout.chips)
    capacities = [chips * tier.share(chips) * tier.capacity for tier in machine.tiers]
    bandwidths = [_bandwidth(tier, chips, stages) for tier in machine.tiers]
    if len(machine.tiers) == 1:
        return Memories(capacities[0][..., np.newaxis], bandwidths[0][..., np.newaxis])
    sizes = np.stack(np.broadcast_arrays(*capacities), axis=-1)
    rates = np.stack(np.broadcast_arrays(*bandwidths), axis=-1)
    order = np.argsort(sizes / rates, axis=-1)
    return Memories(
        np.take_along_axis(sizes, order, axis=-1), np.take_along_axis(rates, order, axis=-1)
    )


def _bandwidth(tier: Tier, chips: Array, stages: ArrayLike = 1.0) -> Array:
    """Compute the rate at which a stage reads all memories of a tier, including links. [byte/s]

    A chip's memory is read only by its stage; any stage can use a shared memory's full rate.
    """
    readers = chips / stages
    memory = (readers if tier.shared_by == 1.0 else chips) * tier.share(chips) * tier.bandwidth
    return floats(memory if tier.flop_rates else np.minimum(memory, readers * tier.link))


def _longest_pinned_read(
    read: Kinds[ArrayLike], pinned: Sequence[tuple[dict[str, float], Array]]
) -> ArrayLike:
    """Compute the time of the longest read from a single memory with assigned bytes, in seconds."""
    sizes, longest = read._asdict() | {"embedding": 0.0}, floats(0.0)
    for fractions, rate in pinned:
        moved = sum(sizes[group] * fraction for group, fraction in fractions.items())
        longest = np.maximum(longest, time_of(work=moved, rate=rate))
    return longest


def _rates(
    machine: Machine, layout: AnyLayout
) -> tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike]:
    """Return the rates of products with each category of bytes, per chip, in FLOP/s.

    The rates of a host's cores are added. The last rate is the higher of the first two.
    """
    rates: Sequence[ArrayLike] = machine.peaks
    for tier in machine.tiers:
        if tier.flop_rates:
            rates = [
                chip_rate + rate * tier.share(layout.chips)
                for chip_rate, rate in zip(rates, tier.flop_rates, strict=True)
            ]
    dense, head, experts, caches = rates
    return dense, head, experts, caches, np.maximum(dense, head)
