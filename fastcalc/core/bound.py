"""The bound of a step: all chips at their printed peaks, everything overlapped.

No honest measurement may beat it: no latency, and only the bytes that must move.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf

import numpy as np

from fastcalc.core.layout import Layout
from fastcalc.core.machine import Machine
from fastcalc.core.pass_work import FLOPS_PER_PARAMETER, PassInput
from fastcalc.core.placement import AnyPlacement
from fastcalc.core.step import Component, Step, largest_of
from fastcalc.formulas.network import all_reduce_bytes
from fastcalc.formulas.roofline import time_of, time_over_tiers
from fastcalc.formulas.types import Array, ArrayLike, Ints, floats

NARROWEST_ACTIVATION_BYTES = 1.0
"""Engines that quantise what they send use a byte an element; the bound grants it to all."""

_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Bound:
    """Memory, compute and link time at peak rates; they overlap.

    Attributes
    ----------
    work : Component
        The least bytes, FLOPs and bytes sent of all chips together, and their peak rates.
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
                bytes=np.where(largest == 0, work.bytes, 0.0),
                bandwidth=work.bandwidth,
                flops=np.where(largest == 1, work.flops, 0.0),
                flop_rate=work.flop_rate,
                sent=np.where(largest == 2, work.sent, 0.0),
                link=work.link,
            ),
        )


def bound_step(placement: AnyPlacement, rows: PassInput) -> Bound:
    """Return the bound of a step on all chips of a layout.

    Parameters
    ----------
    placement : Placement
        A workload on a layout.
    rows : PassInput
        Sequences and prompt tokens of the *whole deployment*; arrays broadcast.

    Returns
    -------
    Bound
        The fewest experts are read, caches are read once and on no rank twice, and
        reductions happen in the switch.
    """
    machine, work, chips = placement.machine, placement.work, placement.layout.chips
    seen, peaks = rows.seen, machine.peaks
    decode = rows.sequences * rows.verified
    tokens = floats(decode + rows.prompt)
    routed = (work.routed.bytes + work.expert_biases.bytes) * work.active_share
    weights = work.dense.bytes + work.small.bytes + work.head.bytes + routed
    moved = weights + rows.sequences * seen.cache
    each = floats(chips)[..., np.newaxis]
    capacities, bandwidths = (each * one for one in _tiers(machine))
    memory = time_over_tiers(work=moved, capacities=capacities, bandwidths=bandwidths)
    products = (
        (tokens, work.dense.parameters, 1.0, peaks.dense),
        (tokens, work.routed.parameters, work.active_share, peaks.routed),
        (tokens, work.small.parameters, 1.0, max(peaks.dense, peaks.head)),  # norms run with either
        (decode, work.head.parameters, 1.0, peaks.head),
    )
    parts = [
        (count * FLOPS_PER_PARAMETER * parameters * share, rate)
        for count, parameters, share, rate in products
        if parameters
    ]
    attention = decode * seen.decode_flops + rows.prompt * seen.prompt_flops
    parts.append((attention, peaks.attention))
    flops: ArrayLike = sum(amount for amount, _ in parts)
    compute: ArrayLike = sum(time_of(work=amount, rate=rate) for amount, rate in parts) / chips
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


@lru_cache(maxsize=256)
def _tiers(machine: Machine) -> tuple[Array, Array]:
    """Return the capacity and bandwidth of each memory tier of a chip."""
    tiers = machine.tiers
    capacities = np.array([tier.capacity.si for tier in tiers])
    return capacities, np.array([tier.bandwidth.si for tier in tiers])


def _sent(placement: AnyPlacement, tokens: Array) -> tuple[ArrayLike, ArrayLike]:
    """Return bytes that must cross links: half a ring all-reduce, or a hop a token."""
    work, layout, chip = placement.work, placement.layout, placement.machine.chip
    if layout == Layout():
        return 0.0, inf
    message = tokens * (work.hidden or 0.0) * NARROWEST_ACTIVATION_BYTES
    reduced = all_reduce_bytes(ranks=layout.tp, message=message) / 2.0
    reduced = 2.0 * work.depth / (layout.pp * layout.dp) * reduced
    sent = np.where(layout.tp > 1, reduced, (layout.pp > 1) * (message / layout.dp))
    crossed = np.where(layout.pp > 1, np.maximum(chip.link, chip.link_out), inf)
    return sent, np.where(layout.tp > 1, chip.link, crossed)
