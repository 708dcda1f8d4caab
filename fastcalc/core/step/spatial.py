"""Step of a chip with a region per layer, through which each token passes."""

from collections.abc import Sequence
from math import inf

import numpy as np

from fastcalc.core.chip.machine import Chip, EngineParameters, reached
from fastcalc.core.chip.tier import Tier
from fastcalc.core.model.kinds import Kinds
from fastcalc.core.placement.split import Costs, summed
from fastcalc.core.step.chip_work import touched_experts
from fastcalc.core.step.component import Component, Step
from fastcalc.core.step.host_use import LEAST, tier_rates
from fastcalc.core.step.pass_work import ACTIVATION_BYTES, PassWork
from fastcalc.formulas.pipeline import region_floor, ring_hops, spatial_step
from fastcalc.formulas.roofline import time_of
from fastcalc.formulas.types import ArrayLike, floats, where


def spatial_pass(work: PassWork, chip: Chip, software: EngineParameters) -> Step:
    """Compute the expected step of an engine if each layer has a region.

    In one sweep, the machine's full bandwidth reads all regions. Each region has the part of the
    bandwidth that reads its layer in the same time, so with L layers, a token takes L sweeps, or L
    layer floors if those are longer. A sweep reads and multiplies all experts of a layer, whether
    selected or not. Memory outside the regions is not divided: regions take turns using all of it,
    and all sequences on a chip share its reads.

    work : The work of the step, whose stages are the chips.
    """
    inside: ArrayLike = sum(work.bytes)
    outside = outside_seconds = floats(0.0)
    if work.split is not None:
        inside, outside = floats(0.0), floats(0.0)
        for index, tier in enumerate(work.split.tiers):
            fractions = work.split.read_from(index)
            if tier.where == "chip":
                inside = inside + summed(fractions, work.bytes)
            else:
                outside = outside + summed(fractions, _bytes_read_outside(work, software))
        tiers, owners = work.split.tiers, work.split.chips
        costs = spatial_costs(work, tiers, owners, chip, software)
        outside_seconds = costs.seconds(work.split)
    hops = ring_hops(chips=work.pipeline.stages)
    hop_bytes = np.asarray(work.hidden) * ACTIVATION_BYTES
    return Step.of(
        _sweeps(work, inside, chip, software),
        # The rate at which it is read, over all memories; avoids division by zero without bytes.
        Component(
            "shared memory", bytes=outside, bandwidth=(outside + LEAST) / (outside_seconds + LEAST)
        ),
        *_prompt(work, chip, software),
        Component(
            "hops",
            sent=hops * hop_bytes * work.verified,
            link=chip.link_out * np.asarray(software.link_fraction),
            count=hops,
            seconds_each=chip.hop,
        ),
    )


def _sweeps(work: PassWork, inside: ArrayLike, chip: Chip, software: EngineParameters) -> Component:
    """Compute the time for tokens to pass through the layers, given the bytes in regions. [s]"""
    chips, rates = work.pipeline.stages * 1.0, reached(chip, software)
    bandwidth, dense_rate = rates.bandwidth, rates.decode.dense
    memory = time_of(work=inside, rate=chips * bandwidth)
    routing = work.routing
    all_experts = work.flops.experts * np.asarray(routing.experts) / routing.active
    products = zip(work.flops._replace(experts=all_experts), rates.decode, strict=True)
    compute = floats(sum(time_of(work=flops, rate=rate) for flops, rate in products)) / chips
    floor = region_floor(
        floor=software.decode_layer_floor, width=work.hidden, exponent=software.floor_width_exponent
    )
    layer = np.maximum(np.maximum(memory, compute), floor)
    seconds = spatial_step(
        layers=work.depth, layer_time=layer, streams=floats(work.sequences) * work.verified
    )
    rounds = seconds / layer
    is_floor, is_memory = layer <= floor, layer <= memory
    in_memory, in_compute = ~is_floor & is_memory, ~is_floor & ~is_memory
    return Component(
        "layer sweeps",
        bytes=where(in_memory, rounds * inside, 0.0),
        bandwidth=chips * bandwidth,
        flops=where(in_compute, rounds * compute * dense_rate * chips, 0.0),
        flop_rate=dense_rate * chips,
        count=where(is_floor, rounds, 0.0),
        seconds_each=floor,
    )


def spatial_costs(
    work: PassWork, tiers: Sequence[Tier], chips: ArrayLike, chip: Chip, software: EngineParameters
) -> Costs:
    """Compute the costs of a step for each category outside the regions, in each memory."""
    read = _bytes_read_outside(work, software)
    rates = tier_rates(tiers, chip, software, [tier.share(chips) for tier in tiers])
    slow = [inf if tier.where == "chip" else rate for tier, rate in zip(tiers, rates, strict=True)]
    return Costs([Kinds(*(size / rate for size in read)) for rate in slow])


def _bytes_read_outside(work: PassWork, software: EngineParameters) -> Kinds[ArrayLike]:
    """Count the bytes read per category outside the regions."""
    chips, streams = np.asarray(work.pipeline.stages) * 1.0, np.asarray(work.sequences)
    streams_per_chip = where(streams > 0.0, np.maximum(streams / chips, 1.0), 0.0)
    dense, head, experts, kv = work.bytes
    return Kinds(dense, head, experts * touched_experts(work, software), streams_per_chip * kv)


def _prompt(work: PassWork, chip: Chip, software: EngineParameters) -> list[Component]:
    """Compute the arithmetic of prompt tokens, distributed over all chips."""
    chips, rates = work.pipeline.stages * 1.0, reached(chip, software).decode
    dense, head, experts, kv = work.prompt_flops
    products = (
        ("prompt: dense", dense + head, rates.dense),
        ("prompt: experts", experts, rates.experts),
        ("prompt: attention", kv, rates.kv),
    )
    return [
        Component(name, flops=work.prompt * flops, flop_rate=rate * chips)
        for name, flops, rate in products
    ]
