"""The step of a machine whose layers each have a region of their own: a token sweeps them."""

import numpy as np

from fastcalc.core.machine import Chip, EngineParameters, reached
from fastcalc.core.pass_work import PassWork
from fastcalc.core.step import ACTIVATION_BYTES, Component, Step
from fastcalc.formulas.pipeline import spatial_step
from fastcalc.formulas.roofline import time_of


def spatial_pass(work: PassWork, chip: Chip, software: EngineParameters) -> Step:
    """Return the step an engine is expected to take where layers have regions.

    The whole machine's bandwidth reads all regions in one sweep, so the share of it that
    one region has reads that one layer in the same time: with L layers, a token takes L
    sweeps, or L layer floors where those are longer. A sweep reads and multiplies all
    experts of a layer, picked or not.

    Parameters
    ----------
    work : PassWork
        The work of the pass; its stages are the chips.
    chip, software : Chip, EngineParameters
        What a chip prints, and what the engine makes of it.
    """
    chips = np.asarray(work.stages) * 1.0
    rates = reached(chip, software)
    bandwidth, dense_rate = rates.bandwidth, rates.dense
    moved = work.dense_bytes + work.head_bytes + work.routed_bytes + work.cache_bytes
    memory = time_of(work=moved, rate=chips * bandwidth)
    all_experts = work.routed_flops * np.asarray(work.experts) / work.active
    compute = (
        time_of(work=work.dense_flops, rate=dense_rate)
        + time_of(work=work.head_flops, rate=rates.head)
        + time_of(work=all_experts, rate=rates.routed)
        + time_of(work=work.attention_flops, rate=rates.attention)
    ) / chips
    layer = np.maximum(np.maximum(memory, compute), software.decode_layer_floor)
    seconds = spatial_step(
        layers=work.depth, layer_time=layer, streams=np.asarray(work.sequences) * work.verified
    )
    turns = seconds / layer
    is_floor, is_memory = layer <= software.decode_layer_floor, layer <= memory
    in_memory, in_compute = ~is_floor & is_memory, ~is_floor & ~is_memory
    hop_bytes = np.asarray(work.hidden) * ACTIVATION_BYTES
    return Step.of(
        Component(
            "layer sweeps",
            bytes=np.where(in_memory, turns * moved, 0.0),
            bandwidth=chips * bandwidth,
            flops=np.where(in_compute, turns * compute * dense_rate * chips, 0.0),
            flop_rate=dense_rate * chips,
            count=np.where(is_floor, turns, 0.0),
            each=software.decode_layer_floor,
        ),
        *_prompt(work, chip, software),
        Component(
            "hops",
            sent=chips * hop_bytes * work.verified,
            link=chip.link_out * np.asarray(software.link_fraction),
            count=chips,
            each=chip.hop,
        ),
    )


def _prompt(
    work: PassWork, chip: Chip, software: EngineParameters
) -> tuple[Component, Component, Component]:
    """Return the arithmetic of prompt tokens, spread over all chips."""
    chips, prompt, rates = work.stages * 1.0, work.prompt, reached(chip, software)
    return (
        Component(
            "prompt: dense",
            flops=prompt * (work.dense_flops + work.norm_flops),
            flop_rate=rates.dense * chips,
        ),
        Component(
            "prompt: experts",
            flops=prompt * work.routed_flops,
            flop_rate=software.rate(chip, "routed") * chips * software.grouped_gemm_fraction,
        ),
        Component(
            "prompt: attention",
            flops=prompt * work.prompt_flops,
            flop_rate=rates.attention * chips,
        ),
    )
