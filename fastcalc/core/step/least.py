"""Bounds over all layouts: minimum chip time per token, and maximum speed per user.

These closed-form bounds show which of thousands of model-chip pairs need no search. They use an
engine's rates and latency floors, so they are tighter than the hardware bound (`bound.py`).
"""

from math import inf
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware
from fastcalc.core.chip.formats_run import formats_run
from fastcalc.core.chip.machine import parameters_on
from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.legal import common_heads, link_domain
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.counting import linear_flops
from fastcalc.formulas.pipeline import region_floor
from fastcalc.formulas.types import ArrayLike, Floats

_ROUNDING = 1e-9

_WIDEST = 4.0  # bytes of the widest weight format


class ModelDemand(NamedTuple):
    """The work per token that a model needs on any chip, as numbers or arrays.

    depth, heads : The number of layers, and the number that the tensor-parallel size must divide,
        or infinity for any size.
    width : The hidden width.
    dense, head : The parameters that each step reads and multiplies in layers, and in the head.
    layer_weights, head_weights : The size of the dense layers, and of the head and all norms, in
        bytes.
    cache, reserved, element : The cache read per sequence, the cache reserved per sequence, and the
        size of a cache element, in bytes.
    layer_flops, head_flops : The FLOPs per token, in FLOPs.
    """

    depth: ArrayLike
    heads: ArrayLike
    width: ArrayLike
    dense: ArrayLike
    head: ArrayLike
    layer_weights: ArrayLike
    head_weights: ArrayLike
    cache: ArrayLike
    reserved: ArrayLike
    element: ArrayLike
    layer_flops: ArrayLike
    head_flops: ArrayLike


class ChipSupply(NamedTuple):
    """Stores what a chip provides with an engine, as numbers or arrays of equal length.

    staged : 1 if layers run in sequence at an engine's rates, otherwise 0.
    floor, crossing : The minimum time per layer, and its increase with tensor parallelism, in
        seconds.
    floor_exponent : The exponent of the width in the floor if each layer has a region.
    ranks : The number of cores that are each exposed as a device, or 1 for the chip itself.
    overhead, domain : The host time per sequence [s], and the maximum size of a tensor-parallel
        group. [1]
    bandwidth, peak, memory : The values for a single rank, with the memory that the engine uses.
        [byte/s, FLOP/s, byte]
    weight, element : The element sizes of the narrowest weight and cache formats, in bytes.
    """

    staged: ArrayLike
    floor: ArrayLike
    floor_exponent: ArrayLike
    crossing: ArrayLike
    ranks: ArrayLike
    overhead: ArrayLike
    domain: ArrayLike
    bandwidth: ArrayLike
    peak: ArrayLike
    memory: ArrayLike
    weight: ArrayLike
    element: ArrayLike


@once
def model_demand(work: Workload, traffic: Traffic) -> ModelDemand:
    """Compute the work per token of a model in its formats for the given traffic."""
    dense, head = work.weights.dense.parameters, work.weights.head.parameters
    in_layers = dense + work.weights.experts.parameters * work.active_share
    attention = work.attention_flops(traffic.context, spread=traffic.spread)
    return ModelDemand(
        depth=work.depth,
        heads=common_heads(work) or inf,
        width=work.sent_width,
        dense=dense,
        head=head,
        layer_weights=work.bytes.dense,
        head_weights=work.bytes.head,
        cache=float(work.cache_read_bytes(traffic.context, spread=traffic.spread)),
        reserved=float(work.cache_bytes(traffic.reserved)),
        element=number_format(work.kv_format, cache=True).cache_bytes,
        layer_flops=float(linear_flops(parameters=in_layers) + attention),
        head_flops=float(linear_flops(parameters=head)),
    )


@once
def chip_supply(chip: Hardware, engine: Engine, memory: MemoryChoice) -> ChipSupply:
    """Compute the most that a chip can provide if it has its host to itself."""
    software = parameters_on(engine, chip)
    is_staged = chip.execution == "sequential" and not engine.is_bound
    ranks = chip.ranks.si if chip.ranks and chip.execution == "sequential" else 1.0
    listed = formats_run(engine, chip)
    caches = {*listed.caches, *(default.cache for default in engine.cache_formats)}
    host = memory.host
    memories = (*chip.memory, *(host.memory if host else ()))
    fraction = float(software.bandwidth_fraction) if is_staged and len(memories) == 1 else 1.0
    cores = max(rate.si for rate in host.peak.values()) if host else 0.0
    own_peak = float(software.compute_fraction) * max(rate.si for rate in chip.peak.values())
    latency = float(software.collective_latency) + float(software.rank_wait)
    return ChipSupply(
        staged=float(is_staged),
        floor=float(software.decode_layer_floor),
        floor_exponent=float(software.floor_width_exponent) * (chip.execution == "spatial"),
        crossing=2.0 * latency * is_staged,
        overhead=float(software.sequence_overhead) * is_staged,
        ranks=ranks,
        domain=ranks * link_domain(chip) if is_staged else 1.0,
        bandwidth=fraction * sum(tier.bandwidth.si for tier in memories) / ranks,
        peak=(own_peak + cores) / ranks,
        memory=float(software.memory_fraction) * sum(tier.capacity.si for tier in memories) / ranks,
        weight=min((number_format(name).bytes for name in listed.weights), default=_WIDEST),
        element=min((number_format(name, cache=True).cache_bytes for name in caches), default=inf),
    )


def in_fewest_bits(model: ModelDemand, chip: ChipSupply) -> ModelDemand:
    """Compute lower bounds on the work in the narrowest formats that run on a chip."""
    fraction = np.minimum(chip.element / model.element, 1.0)
    return model._replace(
        layer_weights=np.minimum(model.layer_weights, model.dense * chip.weight),
        head_weights=np.minimum(model.head_weights, model.head * chip.weight),
        cache=model.cache * fraction,
        reserved=model.reserved * fraction,
    )


def least_chip_seconds(
    model: ModelDemand, chip: ChipSupply, *, drafts: float, tokens: float, speed: float
) -> tuple[Floats, Floats]:
    r"""Compute the minimum chip time per token at a target speed, and the maximum speed.

    A group of :math:`r` ranks waits or reads for at least :math:`a` per step, and computes for
    :math:`q/r` per sequence. If the target speed allows a step time of :math:`t`, a sequence
    occupies a rank for at least :math:`a \max(1/m, q/(t-a)) + q`, where the caches of :math:`m`
    sequences fill a rank. The time is infinite if no group is fast enough. [s], [1/s]

    model, chip : The values for each pair, as one-dimensional arrays.
    drafts, tokens : The draft tokens per step, and the tokens that each step yields.
    speed : The target tokens per second per user. [1/s]
    """
    model = ModelDemand(*(np.asarray(column)[:, np.newaxis] for column in model))
    supply = ChipSupply(*(np.asarray(column)[:, np.newaxis] for column in chip))
    ranks = np.minimum(supply.domain, model.heads)
    smallest = 2.0 ** np.arange(np.ceil(np.log2(ranks.max())) + 1.0)
    largest = np.minimum(2.0 * smallest - 1.0, ranks)
    # A draft token adds one layer without the head, with the usual reads and waits.
    is_staged, drafted_layers = supply.staged > 0.0, supply.staged * drafts / model.depth
    rows = np.where(is_staged, 1.0 + drafts, tokens)
    waits = model.depth * (1.0 + drafted_layers)
    floor = region_floor(floor=supply.floor, width=model.width, exponent=supply.floor_exponent)
    fixed = waits * (floor + supply.crossing * (smallest > 1.0))
    seconds, longest = np.zeros(largest.shape), np.zeros(largest.shape)
    weights = model.layer_weights * (1.0 + drafted_layers) + model.head_weights
    caches = model.cache * (1.0 + drafted_layers)
    flops = (rows + drafted_layers) * model.layer_flops + rows * model.head_flops
    reading = supply.staged * weights, caches, supply.bandwidth
    computing = 0.0, flops, supply.peak
    for shared, of_each, rate in (reading, computing):
        alone = fixed + shared / (largest * rate)
        seconds_each = smallest * supply.overhead + of_each / rate
        single = alone + supply.staged * (supply.overhead + of_each / (largest * rate))
        time = np.where(single <= tokens / speed * (1.0 + _ROUNDING), tokens / speed, np.nan)
        left = np.maximum(time * (1.0 + _ROUNDING) - alone, 1e-300)
        waited = alone * np.maximum(
            model.reserved / supply.memory, supply.staged * seconds_each / left
        )
        pass_seconds = np.where(is_staged, waited + seconds_each, np.maximum(waited, seconds_each))
        seconds, longest = np.maximum(seconds, pass_seconds), np.maximum(longest, single)
    per_token = seconds / (tokens * supply.ranks)
    seconds_of_chip = np.where((smallest <= ranks) & ~np.isnan(seconds), per_token, inf).min(axis=1)
    with np.errstate(divide="ignore"):
        speeds = np.where(smallest <= ranks, tokens / longest, 0.0).max(axis=1)
    return seconds_of_chip * (1.0 - _ROUNDING), speeds * (1.0 + _ROUNDING)
