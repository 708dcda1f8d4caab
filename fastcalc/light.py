"""The speed of light of a step: all chips at their printed peaks, everything overlapped.

No honest measurement may beat it: no latency, and only the bytes that must move.
"""

import numpy as np

from fastcalc.formulas.network import all_reduce_bytes
from fastcalc.formulas.roofline import time_of, time_over_tiers
from fastcalc.formulas.types import Array
from fastcalc.machine import Machine
from fastcalc.placement import Layout
from fastcalc.step import FLOPS_PER_PARAMETER, Component, Rows, prompt_scores
from fastcalc.workload import Workload

_NARROWEST_ACTIVATION_BYTES = 1.0
"""Engines that quantise what they send use a byte an element; the bound grants it to all."""


def overlapped(bound: Component) -> Array:
    """Return the time of a bound, whose terms overlap: the largest of them. [s]"""
    return np.maximum(np.maximum(bound.memory, bound.compute), bound.link)


def bound_step(machine: Machine, work: Workload, layout: Layout, rows: Rows) -> Component:
    """Return the speed of light of a step on all chips of a layout.

    Parameters
    ----------
    machine, work, layout : Machine, Workload, Layout
        A chip, a model in its formats, and how many chips there are.
    rows : Rows
        Sequences and prompt tokens of the *whole deployment*; arrays broadcast.

    Returns
    -------
    Component
        Memory, compute and link time at peak rates. They overlap: the step is the largest,
        not the sum. The fewest experts are read, caches are read once and on no rank twice,
        and reductions happen in the switch. [s]
    """
    decode, prompt = np.asarray(rows.decode) * 1.0, np.asarray(rows.prompt) * 1.0
    tokens = decode + prompt
    tiers = sorted(machine.hardware.memory, key=lambda tier: -tier.bandwidth.si)
    routed = (work.routed.bytes + work.expert_biases.bytes) * work.active_share
    weights = work.dense.bytes + work.small.bytes + work.head.bytes + routed
    caches = decode * work.cache_read_bytes(rows.context, spread=rows.spread)
    arithmetic = FLOPS_PER_PARAMETER * (
        time_of(work=tokens * work.dense.parameters, rate=machine.dense_peak)
        + time_of(work=tokens * work.routed.parameters, rate=machine.routed_peak)
        * work.active_share
        + time_of(work=tokens * work.small.parameters, rate=machine.head_peak)
        + time_of(work=decode * work.head.parameters, rate=machine.head_peak)
    )
    attention = decode * work.attention_flops(rows.context, spread=rows.spread)
    attention = attention + prompt * prompt_scores(work, rows)
    return Component(
        "bound",
        memory=time_over_tiers(
            work=weights + caches,
            capacities=[layout.chips * tier.capacity.si for tier in tiers],
            bandwidths=[layout.chips * tier.bandwidth.si for tier in tiers],
        ),
        compute=(arithmetic + time_of(work=attention, rate=machine.attention_peak)) / layout.chips,
        link=_bound_link(machine, work, layout, tokens),
    )


def _bound_link(machine: Machine, work: Workload, layout: Layout, tokens: Array) -> Array:
    """Return time of bytes that must cross links: half a ring all-reduce, or a hop a token."""
    message = tokens * (work.hidden or 0.0) * _NARROWEST_ACTIVATION_BYTES
    if layout.tp > 1:
        sent = all_reduce_bytes(ranks=layout.tp, message=message) / 2.0
        passes = 2.0 * work.depth / (layout.pp * layout.dp)
        return passes * time_of(work=sent, rate=machine.peak_link)
    if layout.pp > 1:
        link = max(machine.peak_link, machine.peak_link_out)
        return time_of(work=message, rate=link) / layout.dp
    return 0.0 * message
