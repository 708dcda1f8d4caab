"""The least that a token may cost and the most that a user may get, whatever the layout.

Closed formulas over thousands of models on chips at once, which say what need not be searched.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware
from fastcalc.core.legal import common_heads, link_domain
from fastcalc.core.machine import parameters_on
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic import Traffic
from fastcalc.core.workload import Workload
from fastcalc.formulas.counting import linear_flops
from fastcalc.formulas.types import ArrayLike, Floats
from fastcalc.search.tricks.lighter_passes import rated_formats

_ROUNDING = 1e-9


class Needs(NamedTuple):
    """What a model asks of a kind of chip, and what that gives: numbers, or as many arrays.

    is_priced, hour : whether a chip has a price, and that, or a dollar [USD/h]
    staged : 1 where layers run one after another at an engine's rates, else 0
    depth : layers [1]
    floor, crossing : what no bandwidth shortens of a pass, and what a tensor-parallel group adds to
        it [s]
    ranks : chips of such a group at most [1]
    weights, cache : read by each pass, and for each sequence, on all ranks together [byte]
    flops : of a token [FLOP]
    overhead : of each sequence on the host [s]
    bandwidth, peak : of one chip. [byte/s], [FLOP/s]
    room : sequences whose caches fill a chip [1]
    """

    is_priced: ArrayLike
    hour: ArrayLike
    staged: ArrayLike
    depth: ArrayLike
    floor: ArrayLike
    crossing: ArrayLike
    ranks: ArrayLike
    weights: ArrayLike
    cache: ArrayLike
    flops: ArrayLike
    overhead: ArrayLike
    bandwidth: ArrayLike
    peak: ArrayLike
    room: ArrayLike


class _OfModel(NamedTuple):
    """What a model asks of any chip, as `Needs` has it.

    ``linear`` are the parameters of ``weights`` [1], ``element`` is of its cache, and ``held`` the
    cache of a sequence. [byte]
    """

    linear: float
    element: float
    weights: float
    cache: float
    flops: float
    held: float


class _OfChip(NamedTuple):
    """What a chip gives under an engine, as `Needs` has it; times are of a layer.

    ``memory`` is what the engine may fill, ``weight`` and ``element`` are of the narrowest formats.
    [byte]
    """

    price: float | None
    hour: float
    is_staged: bool
    floor: float
    latency: float
    overhead: float
    domain: float
    bandwidth: float
    peak: float
    memory: float
    weight: float
    element: float


@once
def _of_model(work: Workload, traffic: Traffic) -> _OfModel:
    linear = work.dense.parameters + work.head.parameters
    flops = linear_flops(parameters=linear + work.routed.parameters * work.active_share)
    return _OfModel(
        linear=linear,
        element=number_format(work.kv_format, cache=True).cache_bytes,
        weights=work.dense.bytes + work.small.bytes + work.head.bytes,
        cache=float(work.cache_read_bytes(traffic.context, spread=traffic.spread)),
        flops=float(flops + work.attention_flops(traffic.context, spread=traffic.spread)),
        held=float(work.cache_bytes(traffic.reserved)),
    )


@once
def _of_chip(chip: Hardware, engine: Engine, pricing: Pricing) -> _OfChip:
    software, memory, price = parameters_on(engine, chip), chip.memory, pricing.per_chip_hour(chip)
    is_staged = chip.execution == "sequential" and not engine.is_bound
    rated = rated_formats(chip)
    caches = [one for one in rated if one.cache_bits]
    caches += [number_format(one, cache=True) for one in engine.cache_formats.values()]
    share = float(software.bandwidth_fraction) if is_staged and len(memory) == 1 else 1.0
    latency = float(software.collective_latency) + float(software.rank_wait)
    return _OfChip(
        price=price,
        hour=(price or 1.0) / pricing.utilization,
        is_staged=is_staged,
        floor=float(software.decode_layer_floor),
        latency=2.0 * latency * is_staged,
        overhead=float(software.sequence_overhead) * is_staged,
        domain=link_domain(chip) if is_staged else 1.0,
        bandwidth=share * sum(one.bandwidth.si for one in memory),
        peak=max(one.si for one in chip.peak.values()) * float(software.compute_fraction),
        memory=sum(one.capacity.si for one in memory) * float(software.memory_fraction),
        weight=min((one.bytes for one in rated), default=inf),
        element=min((one.cache_bytes for one in caches), default=inf),
    )


def needs(scenario: Scenario, *, in_fewest_bits: bool) -> Needs:
    """Return what a scenario needs in its own bits, or at least in the fewest of its chip."""
    chip, engine, work = scenario.hardware, scenario.engine, scenario.work
    model, given = _of_model(work, scenario.traffic), _of_chip(chip, engine, scenario.pricing)
    weights, narrower = model.weights, 1.0
    if in_fewest_bits:
        weights = min(weights, model.linear * given.weight)
        narrower = min(1.0, given.element / model.element)
    found = Needs(
        is_priced=given.price is not None,
        hour=given.hour,
        staged=float(given.is_staged),
        depth=work.depth,
        floor=work.depth * given.floor,
        crossing=work.depth * given.latency,
        ranks=min(given.domain, common_heads(work) or inf),
        weights=weights * given.is_staged,
        cache=model.cache * narrower,
        flops=model.flops,
        overhead=given.overhead,
        bandwidth=given.bandwidth,
        peak=given.peak,
        room=given.memory / (model.held * narrower) if model.held else inf,
    )
    if scenario.memory.host is not None:  # it holds some, and its cores multiply
        return found._replace(weights=0.0, cache=0.0, peak=inf, room=inf)
    return found


def least(asked: Needs, *, drafts: float, kept: float, speed: float) -> tuple[Floats, Floats]:
    r"""Return the least that a million tokens cost at a speed, and the most that a user gets.

    A group of :math:`r` chips has at least :math:`a` to wait for or read in a pass, and :math:`q/r`
    to do for each sequence. If the speed leaves a pass the time :math:`t`, a token takes a chip at
    least :math:`a \max(1/m, q/(t-a)) + q`, where the caches of :math:`m` sequences fill a chip.
    Infinite dollars where no group is fast enough. [USD], [1/s]

    asked : arrays of one dimension
    drafts, kept : tokens drafted before each pass, and those that it yields [1]
    speed : tokens a second that every user is to get [1/s]
    """
    one = Needs(*(np.asarray(each)[:, np.newaxis] for each in asked))
    few = 2.0 ** np.arange(np.ceil(np.log2(np.max(asked.ranks))) + 1.0)
    many = np.minimum(2.0 * few - 1.0, one.ranks)
    # A drafted token is one more layer, which reads and waits as others do.
    longer = 1.0 + one.staged * drafts / one.depth
    rows = np.where(one.staged > 0.0, (drafts + longer) / longer, kept)
    time = kept / speed / longer * (1.0 + _ROUNDING)
    fixed = one.floor + one.crossing * (few > 1.0)
    cost, longest = np.zeros(many.shape), np.zeros(many.shape)
    for weights, work, rate in (
        (one.weights, one.cache, one.bandwidth),
        (0.0 * one.weights, rows * one.flops, one.peak),
    ):
        alone, each = fixed + weights / (many * rate), few * one.overhead + work / rate
        single = alone + one.staged * (one.overhead + work / (many * rate))
        left = np.where(single <= time, np.maximum(time - alone, 1e-300), np.nan)
        waited = alone * np.maximum(1.0 / one.room, one.staged * each / left)
        taken = np.where(one.staged > 0.0, waited + each, np.maximum(waited, each))
        cost, longest = np.maximum(cost, taken), np.maximum(longest, single)
    is_group = few <= one.ranks
    cost = np.where(is_group & ~np.isnan(cost), cost * longer / kept, inf).min(axis=1)
    with np.errstate(divide="ignore"):
        speeds = np.where(is_group, kept / (longer * longest), 0.0).max(axis=1)
    return cost * asked.hour / 3600.0 * 1e6 * (1.0 - _ROUNDING), speeds * (1.0 + _ROUNDING)
