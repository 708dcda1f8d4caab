"""The least that a token may cost and the most that a user may get, whatever the layout.

Closed formulas over thousands of models on chips at once, which say what need not be searched.
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
from fastcalc.core.pricing import Pricing
from fastcalc.core.traffic import Traffic
from fastcalc.formulas.counting import linear_flops
from fastcalc.formulas.money import usd_per_million
from fastcalc.formulas.types import ArrayLike, Floats

_ROUNDING = 1e-9

_WIDEST = 4.0  # bytes of the widest numbers that weights are kept in


class OfModel(NamedTuple):
    """What a model asks of any chip: numbers, or as many arrays.

    depth, heads : layers, and what ranks of a tensor-parallel group divide, infinity for any [1]
    linear, weights : parameters that each pass reads and multiplies [1], and their bytes
    cache, reserved, element : read for each sequence, kept for it, and of one element [byte]
    flops : of a token [FLOP]
    """

    depth: ArrayLike
    heads: ArrayLike
    linear: ArrayLike
    weights: ArrayLike
    cache: ArrayLike
    reserved: ArrayLike
    element: ArrayLike
    flops: ArrayLike


class OfChip(NamedTuple):
    """What a chip gives under an engine: numbers, or as many arrays.

    is_priced, hour : whether it has a price, and that, or a dollar [USD/h]
    staged : 1 where layers run one after another at an engine's rates, else 0
    floor, crossing : of a layer, and what a tensor-parallel group adds to it [s]
    overhead, domain : of each sequence on the host [s], and chips of such a group at most [1]
    bandwidth, peak, memory : of one chip, the memory that an engine fills. [byte/s, FLOP/s, byte]
    weight, element : of its narrowest formats for weights and cache [byte]
    """

    is_priced: ArrayLike
    hour: ArrayLike
    staged: ArrayLike
    floor: ArrayLike
    crossing: ArrayLike
    overhead: ArrayLike
    domain: ArrayLike
    bandwidth: ArrayLike
    peak: ArrayLike
    memory: ArrayLike
    weight: ArrayLike
    element: ArrayLike


@once
def of_model(work: Workload, traffic: Traffic) -> OfModel:
    """Return what a model in its formats asks of any chip for some traffic."""
    linear = work.dense.parameters + work.head.parameters
    flops = linear_flops(parameters=linear + work.routed.parameters * work.active_share)
    return OfModel(
        depth=work.depth,
        heads=common_heads(work) or inf,
        linear=linear,
        weights=work.dense.bytes + work.small.bytes + work.head.bytes,
        cache=float(work.cache_read_bytes(traffic.context, spread=traffic.spread)),
        reserved=float(work.cache_bytes(traffic.reserved)),
        element=number_format(work.kv_format, cache=True).cache_bytes,
        flops=float(flops + work.attention_flops(traffic.context, spread=traffic.spread)),
    )


@once
def of_chip(chip: Hardware, engine: Engine, pricing: Pricing, memory: MemoryChoice) -> OfChip:
    """Return what a chip gives at most: with a host, all of that on top, as if for it alone."""
    software, price = parameters_on(engine, chip), pricing.per_chip_hour(chip)
    is_staged = chip.execution == "sequential" and not engine.is_bound
    listed = formats_run(engine, chip)
    caches = {*listed.caches, *engine.cache_formats.values()}
    host = memory.host
    memories = (*chip.memory, *(host.memory if host else ()))
    share = float(software.bandwidth_fraction) if is_staged and len(memories) == 1 else 1.0
    cores = max(rate.si for rate in host.peak.values()) if host else 0.0
    own_peak = float(software.compute_fraction) * max(rate.si for rate in chip.peak.values())
    latency = float(software.collective_latency) + float(software.rank_wait)
    return OfChip(
        is_priced=price is not None,
        hour=(price or 1.0) / pricing.utilization,
        staged=float(is_staged),
        floor=float(software.decode_layer_floor),
        crossing=2.0 * latency * is_staged,
        overhead=float(software.sequence_overhead) * is_staged,
        domain=link_domain(chip) if is_staged else 1.0,
        bandwidth=share * sum(tier.bandwidth.si for tier in memories),
        peak=own_peak + cores,
        memory=float(software.memory_fraction) * sum(tier.capacity.si for tier in memories),
        weight=min((number_format(name).bytes for name in listed.weights), default=_WIDEST),
        element=min((number_format(name, cache=True).cache_bytes for name in caches), default=inf),
    )


def in_fewest_bits(model: OfModel, chip: OfChip) -> OfModel:
    """Return what numbers of a model are at least in the fewest bits that are run on a chip."""
    share = np.minimum(chip.element / model.element, 1.0)
    weights = np.minimum(model.weights, model.linear * chip.weight)
    return model._replace(
        weights=weights, cache=model.cache * share, reserved=model.reserved * share
    )


def least(
    model: OfModel, chip: OfChip, *, drafts: float, tokens: float, speed: float
) -> tuple[Floats, Floats]:
    r"""Return the least that a million tokens cost at a speed, and the most that a user gets.

    A group of :math:`r` chips has at least :math:`a` to wait for or read in a pass, and :math:`q/r`
    to do for each sequence. If the speed leaves a pass the time :math:`t`, a token takes a chip at
    least :math:`a \max(1/m, q/(t-a)) + q`, where the caches of :math:`m` sequences fill a chip.
    Infinite dollars where no group is fast enough. [USD], [1/s]
    """
    model = OfModel(*(np.asarray(column)[:, np.newaxis] for column in model))
    on = OfChip(*(np.asarray(column)[:, np.newaxis] for column in chip))
    ranks = np.minimum(on.domain, model.heads)
    smallest = 2.0 ** np.arange(np.ceil(np.log2(ranks.max())) + 1.0)
    largest = np.minimum(2.0 * smallest - 1.0, ranks)
    # A drafted token is one more layer, which reads and waits as others do.
    longer = 1.0 + on.staged * drafts / model.depth
    rows = np.where(on.staged > 0.0, (drafts + longer) / longer, tokens)
    time = tokens / speed / longer * (1.0 + _ROUNDING)
    fixed = model.depth * (on.floor + on.crossing * (smallest > 1.0))
    filled = model.reserved / on.memory
    cost, longest = np.zeros(largest.shape), np.zeros(largest.shape)
    for read, work, rate in (
        (model.weights * on.staged, model.cache, on.bandwidth),
        (0.0 * model.weights, rows * model.flops, on.peak),
    ):
        alone, seconds_each = fixed + read / (largest * rate), smallest * on.overhead + work / rate
        single = alone + on.staged * (on.overhead + work / (largest * rate))
        left = np.where(single <= time, np.maximum(time - alone, 1e-300), np.nan)
        waited = alone * np.maximum(filled, on.staged * seconds_each / left)
        token_seconds = np.where(
            on.staged > 0.0, waited + seconds_each, np.maximum(waited, seconds_each)
        )
        cost, longest = np.maximum(cost, token_seconds), np.maximum(longest, single)
    is_group = smallest <= ranks
    cost = np.where(is_group & ~np.isnan(cost), cost * longer / tokens, inf).min(axis=1)
    with np.errstate(divide="ignore"):
        speeds = np.where(is_group, tokens / (longer * longest), 0.0).max(axis=1)
    usd = usd_per_million(usd_per_hour=chip.hour, seconds=cost, tokens=1.0)
    return usd * (1.0 - _ROUNDING), speeds * (1.0 + _ROUNDING)
