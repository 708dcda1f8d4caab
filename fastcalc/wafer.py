"""The step of a machine whose layers each have a region of their own: a token sweeps them."""

import numpy as np

from fastcalc.formulas.pipeline import spatial_step
from fastcalc.formulas.roofline import time_of
from fastcalc.load import Load
from fastcalc.machine import Chip, Software
from fastcalc.step import ACTIVATION_BYTES, Component, Step


def spatial_pass(load: Load, chip: Chip, software: Software) -> Step:
    """Return the step an engine is expected to take where layers have regions.

    The whole machine's bandwidth reads all regions in one sweep, so the share of it that
    one region has reads that one layer in the same time: with L layers, a token takes L
    sweeps, or L layer floors where those are longer. A sweep reads and multiplies all
    experts of a layer, picked or not.

    Parameters
    ----------
    load : Load
        The work of the pass; its stages are the chips.
    chip, software : Chip, Software
        What a chip prints, and what the engine makes of it.
    """
    chips = np.asarray(load.stages) * 1.0
    share, bandwidth = software.compute_share(chip), software.bandwidth(chip)
    moved = load.dense_bytes + load.head_bytes + load.routed_bytes + load.cache_bytes
    memory = time_of(work=moved, rate=chips * bandwidth)
    all_experts = load.routed_flops * np.asarray(load.experts) / load.active
    compute = (
        time_of(work=load.dense_flops, rate=chip.dense * share)
        + time_of(work=load.head_flops, rate=chip.head * share)
        + time_of(work=all_experts, rate=chip.routed * share * software.grouped_gemm_fraction)
        + time_of(work=load.attention_flops, rate=chip.attention * share)
    ) / chips
    layer = np.maximum(np.maximum(memory, compute), software.decode_layer_floor)
    seconds = spatial_step(
        layers=load.depth, layer_time=layer, streams=np.asarray(load.sequences) * load.verified
    )
    turns = seconds / layer
    is_floor, is_memory = layer <= software.decode_layer_floor, layer <= memory
    in_memory, in_compute = ~is_floor & is_memory, ~is_floor & ~is_memory
    hop_bytes = np.asarray(load.hidden) * ACTIVATION_BYTES
    return Step(
        (
            Component(
                "layer sweeps",
                bytes=np.where(in_memory, turns * moved, 0.0),
                bandwidth=chips * bandwidth,
                flops=np.where(in_compute, turns * compute * chip.dense * share * chips, 0.0),
                flop_rate=chip.dense * share * chips,
                count=np.where(is_floor, turns, 0.0),
                each=software.decode_layer_floor,
            ),
            *_prompt(load, chip, software),
            Component(
                "hops",
                sent=chips * hop_bytes * load.verified,
                link=chip.link_out * np.asarray(software.link_fraction),
                count=chips,
                each=chip.hop,
            ),
        )
    )


def _prompt(load: Load, chip: Chip, software: Software) -> tuple[Component, Component, Component]:
    """Return the arithmetic of prompt tokens, spread over all chips."""
    chips, prompt = np.asarray(load.stages) * 1.0, np.asarray(load.prompt) * 1.0
    rate = software.compute_share(chip) * chips
    return (
        Component(
            "prompt: dense",
            flops=prompt * (load.dense_flops + load.norm_flops),
            flop_rate=chip.dense * rate,
        ),
        Component(
            "prompt: experts",
            flops=prompt * load.routed_flops,
            flop_rate=chip.routed * rate * software.grouped_gemm_fraction,
        ),
        Component(
            "prompt: attention", flops=prompt * load.prompt_flops, flop_rate=chip.attention * rate
        ),
    )
