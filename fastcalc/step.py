"""The one step function: T(b, c), a pass that decodes b sequences and takes in c prompt tokens.

With ``c = 0`` it is a decode step, with ``b = 0`` a prefill, and with both the mixed step
of real traffic. It is a short list of components. Decode rows hide under the read of the
weights they share (each component is the larger of its memory and compute time); the
arithmetic of prompt rows is added to that read, as measured prefill asks.

`expected_step` is what an engine reaches, `light.bound_step` the speed of light of the same
chips: everything overlapped, no latency, only the bytes that must move.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastcalc.formulas.experts import distinct_experts, other_ranks
from fastcalc.formulas.network import all_reduce_bytes, all_reduce_latency_shape, exchange_bytes
from fastcalc.formulas.pipeline import spatial_step
from fastcalc.formulas.roofline import time_of
from fastcalc.formulas.types import Array, ArrayLike
from fastcalc.machine import Machine, cost, fraction
from fastcalc.placement import Layout, link_domain
from fastcalc.workload import Workload

_ACTIVATION_BYTES = 2.0

FLOPS_PER_PARAMETER = 2.0
_FUSED_MULTIPLY_ADD = 2.0

LIMITERS = ("memory", "compute", "link", "latency")


@dataclass(frozen=True)
class Component:
    """One part of a step.

    Attributes
    ----------
    name : str
        Attention, dense weights, routed experts, a collective, a floor.
    memory, compute : array_like
        Time to move its bytes and to do its FLOPs; the larger counts. [s]
    link, latency : array_like
        Time on the link, and time that no hardware rate shortens; both are added. [s]
    """

    name: str
    memory: ArrayLike = 0.0
    compute: ArrayLike = 0.0
    link: ArrayLike = 0.0
    latency: ArrayLike = 0.0

    @property
    def seconds(self) -> Array:
        """Time it takes. [s]"""
        return np.maximum(self.memory, self.compute) + self.link + self.latency

    def by_limiter(self) -> tuple[Array, Array, Array, Array]:
        """Return its time split into memory, compute, link and latency. [s]"""
        is_memory = np.asarray(self.memory) >= self.compute
        return (
            np.where(is_memory, self.memory, 0.0),
            np.where(is_memory, 0.0, self.compute),
            np.asarray(self.link) * 1.0,
            np.asarray(self.latency) * 1.0,
        )


@dataclass(frozen=True)
class Step:
    """A step as the sum of its components."""

    components: tuple[Component, ...]

    @property
    def seconds(self) -> Array:
        """Time of the whole step. [s]"""
        total: Array = 0.0
        for component in self.components:
            total = total + component.seconds
        return total


def largest(components: Sequence[Component]) -> Array:
    """Return the index into `LIMITERS` of what takes most of some components together."""
    sums: list[Array] = [0.0, 0.0, 0.0, 0.0]
    for component in components:
        sums = [total + part for total, part in zip(sums, component.by_limiter(), strict=True)]
    return np.argmax(np.stack(np.broadcast_arrays(*sums)), axis=0)


@dataclass(frozen=True)
class Rows:
    """What a step is asked to do, on one replica of the attention.

    Attributes
    ----------
    decode : array_like
        Sequences decoded, :math:`b`. [1]
    together : array_like
        Sequences decoded by all replicas that share one copy of the experts. [1]
    context, spread : array_like
        Tokens each of them attends to on average, and how far below and above it goes. [1]
    prompt : array_like
        Prompt tokens taken in, :math:`c`. [1]
    prompt_context, prompt_spread : array_like
        Tokens each of those attends to on average, and how far below and above it goes. [1]
    prompt_replicas : array_like
        Replicas that take in prompts in this step. [1]
    """

    decode: ArrayLike
    together: ArrayLike
    context: ArrayLike
    spread: ArrayLike = 0.0
    prompt: ArrayLike = 0.0
    prompt_context: ArrayLike = 0.0
    prompt_spread: ArrayLike = 0.0
    prompt_replicas: ArrayLike = 1.0


def expected_step(machine: Machine, work: Workload, layout: Layout, rows: Rows) -> Step:
    """Return the step an engine is expected to take.

    Parameters
    ----------
    machine, work, layout : Machine, Workload, Layout
        A chip under an engine, a model in its formats, and how chips share the work.
    rows : Rows
        Sequences and prompt tokens of one replica; arrays broadcast.

    Returns
    -------
    Step
        Components in seconds, for one pass through all layers, hops between pipeline stages
        apart.
    """
    if machine.is_spatial:
        return _spatial(machine, work, layout, rows)
    return Step(
        (
            _dense(machine, work, layout, rows),
            _routed(machine, work, layout, rows),
            _attention(machine, work, layout, rows),
            _unpacking(machine, work, layout, rows),
            _prompt(machine, work, layout, rows),
            _floor(machine, work, rows),
            _all_reduce(machine, work, layout, rows),
            _exchange(machine, work, layout, rows),
            Component(
                "sequences",
                latency=cost(machine.parameters.sequence_overhead) * np.asarray(rows.decode),
            ),
        )
    )


def _dense(machine: Machine, work: Workload, layout: Layout, rows: Rows) -> Component:
    """Return weights every token passes, and the head, over the tensor-parallel group."""
    weights = work.dense.bytes + work.small.bytes + work.head.bytes
    per_row = time_of(work=work.dense.parameters, rate=machine.dense_rate) + time_of(
        work=work.small.parameters + work.head.parameters, rate=machine.head_rate
    )
    return Component(
        "dense weights",
        memory=time_of(work=weights / layout.tp, rate=machine.bandwidth),
        compute=FLOPS_PER_PARAMETER * np.asarray(rows.decode) * per_row / layout.tp,
    )


def _group(layout: Layout) -> float:
    """Return replicas whose tokens meet in one copy of the experts. [1]"""
    return layout.expert_shards / layout.tp


def _imbalance(machine: Machine, layout: Layout) -> float:
    """Return load of the fullest rank over the mean, where experts are spread. [1]"""
    uneven = machine.parameters.expert_imbalance
    return uneven.si if uneven is not None and layout.ep > 1 else 1.0


def _touched(machine: Machine, work: Workload, layout: Layout, rows: Rows) -> Array:
    """Return the share of the routed weights that the tokens of a step read. [1]"""
    decode = np.asarray(rows.together) * 1.0
    prompt = np.asarray(rows.prompt) * np.minimum(rows.prompt_replicas, _group(layout))
    return (
        distinct_experts(
            experts=work.experts,
            active=work.active_experts,
            tokens=decode + prompt,
            correlation=fraction(machine.parameters.expert_correlation),
        )
        / work.experts
    )


def _routed(machine: Machine, work: Workload, layout: Layout, rows: Rows) -> Component:
    """Return experts that at least one token picks, over the ranks that hold them."""
    if not work.experts:
        return Component("routed experts")
    touched = _touched(machine, work, layout, rows)
    weights = work.routed.bytes + work.expert_biases.bytes
    tokens = np.asarray(rows.together) * 1.0
    flops = FLOPS_PER_PARAMETER * tokens * work.active_share * work.routed.parameters
    uneven = _imbalance(machine, layout) / layout.expert_shards
    return Component(
        "routed experts",
        memory=time_of(work=weights * touched, rate=machine.bandwidth) * uneven,
        compute=time_of(work=flops, rate=machine.routed_rate) * uneven,
    )


def _attention(machine: Machine, work: Workload, layout: Layout, rows: Rows) -> Component:
    """Return the reads of the decoded sequences' caches."""
    rate = machine.bandwidth * fraction(machine.parameters.cache_read_fraction)
    cache = work.cache_read_bytes(rows.context, spread=rows.spread, ranks=layout.tp)
    flops = work.attention_flops(rows.context, spread=rows.spread) / layout.tp
    decode = np.asarray(rows.decode) * 1.0
    return Component(
        "attention",
        memory=decode * time_of(work=cache, rate=rate),
        compute=decode * time_of(work=flops, rate=machine.attention_rate),
    )


def _unpacking(machine: Machine, work: Workload, layout: Layout, rows: Rows) -> Component:
    """Return narrow weights widened to 16 bits on the vector units, once each."""
    unpacked: Array = 0.0
    if machine.unpack_dense:
        unpacked = work.dense.parameters / layout.tp
        if work.head.format.bits < 16:
            unpacked = unpacked + work.head.parameters / layout.tp
    if work.experts and machine.unpack_routed:
        touched = _touched(machine, work, layout, rows)
        unpacked = unpacked + work.routed.parameters * touched / layout.expert_shards
    operations = cost(machine.parameters.dequantization_operations) * unpacked
    rate = machine.vector_rate / _FUSED_MULTIPLY_ADD
    return Component("unpacking", compute=time_of(work=operations, rate=rate))


def _prompt(machine: Machine, work: Workload, layout: Layout, rows: Rows) -> Component:
    """Return arithmetic of prompt tokens; the head serves only the last of them."""
    tokens = np.asarray(rows.prompt) * 1.0
    dense = time_of(work=work.dense.parameters, rate=machine.dense_rate) + time_of(
        work=work.small.parameters, rate=machine.head_rate
    )
    seconds = FLOPS_PER_PARAMETER * tokens * dense / layout.tp
    if work.experts:
        routed = FLOPS_PER_PARAMETER * work.active_share * work.routed.parameters
        everywhere = tokens * np.minimum(rows.prompt_replicas, _group(layout))
        uneven = _imbalance(machine, layout) / layout.expert_shards
        seconds = seconds + everywhere * time_of(work=routed, rate=machine.routed_rate) * uneven
    attention = prompt_scores(work, rows) / layout.tp
    seconds = seconds + tokens * time_of(work=attention, rate=machine.attention_rate)
    return Component("prompt", compute=seconds)


def prompt_scores(work: Workload, rows: Rows) -> Array:
    """Return the attention FLOPs of one prompt token. [FLOP]"""
    return work.attention_flops(rows.prompt_context, spread=rows.prompt_spread, prompt=True)


def _floor(machine: Machine, work: Workload, rows: Rows) -> Component:
    """Return launches, ramps and tails: a time per layer, larger without decode's graphs."""
    own = machine.parameters
    layers = work.depth + cost(own.expert_layer_extra) * work.expert_layers
    decode = (layers + cost(own.latent_layer_extra) * work.latent_layers) * cost(
        own.decode_layer_floor
    )
    prefill = layers * cost(own.prefill_layer_floor)
    return Component("layer floors", latency=np.where(np.asarray(rows.prompt) > 0, prefill, decode))


def stage_hops(machine: Machine, work: Workload, layout: Layout, tokens: ArrayLike) -> Component:
    """Return the hops between pipeline stages: inside the link domain where all chips are.

    Parameters
    ----------
    machine, work, layout : Machine, Workload, Layout
        A chip under an engine, a model in its formats, and how chips share the work.
    tokens : array_like
        Tokens that cross together. [1]
    """
    inside = layout.chips <= link_domain(machine.hardware)
    up = machine.hardware.links.scale_up
    latency = cost(up.latency) if inside and up else machine.hop_latency
    message = np.asarray(tokens) * (work.hidden or 0.0) * _ACTIVATION_BYTES
    hops = layout.pp - 1
    return Component(
        "stage hops",
        link=hops * time_of(work=message, rate=machine.link if inside else machine.link_out),
        latency=hops * latency,
    )


def _tokens(rows: Rows) -> Array:
    return np.asarray(rows.decode) * 1.0 + rows.prompt


def _all_reduce(machine: Machine, work: Workload, layout: Layout, rows: Rows) -> Component:
    """Return two all-reduces a layer over the tensor-parallel group."""
    if layout.tp == 1:
        return Component("all-reduce")
    message = _tokens(rows) * (work.hidden or 0.0) * _ACTIVATION_BYTES
    sent = all_reduce_bytes(ranks=layout.tp, message=message)
    latency = cost(machine.parameters.collective_latency)
    return Component(
        "all-reduce",
        link=2.0 * work.depth * time_of(work=sent, rate=machine.link),
        latency=2.0 * work.depth * latency * all_reduce_latency_shape(ranks=layout.tp),
    )


def _exchange(machine: Machine, work: Workload, layout: Layout, rows: Rows) -> Component:
    """Return tokens sent to the ranks of their experts and back."""
    if layout.dp == 1 or layout.ep == 1 or not work.experts:
        return Component("expert exchange")
    ranks = layout.expert_shards
    destinations = other_ranks(ranks=ranks, active=work.active_experts)
    sent = exchange_bytes(
        tokens=_tokens(rows), hidden=work.hidden or 0.0, destinations=destinations
    )
    inside = ranks <= link_domain(machine.hardware)
    latency = cost(machine.parameters.collective_latency)
    return Component(
        "expert exchange",
        link=work.expert_layers
        * time_of(work=sent, rate=machine.link if inside else machine.link_out),
        latency=work.expert_layers
        * 2.0
        * (
            latency * all_reduce_latency_shape(ranks=ranks)
            + (0.0 if inside else machine.hop_latency)
        ),
    )


def _spatial(machine: Machine, work: Workload, layout: Layout, rows: Rows) -> Step:
    """Return layers in regions of their own, which a token sweeps one after another.

    The whole machine's bandwidth reads all regions in one sweep, so the share of it that
    one region has reads that one layer in the same time: with L layers, a token takes L
    sweeps, or L layer floors where those are longer.
    """
    chips = layout.pp
    weights = work.weight_bytes - work.embedding.bytes
    moved = weights + work.cache_read_bytes(rows.context, spread=rows.spread)
    memory = time_of(work=moved, rate=chips * machine.bandwidth)
    ends = time_of(work=work.small.parameters + work.head.parameters, rate=machine.head_rate)
    dense = time_of(work=work.dense.parameters, rate=machine.dense_rate)
    routed = time_of(work=work.routed.parameters, rate=machine.routed_rate)
    scores = time_of(
        work=work.attention_flops(rows.context, spread=rows.spread), rate=machine.attention_rate
    )
    compute = (FLOPS_PER_PARAMETER * (dense + routed + ends) + scores) / chips
    floor = cost(machine.parameters.decode_layer_floor)
    layer = np.maximum(np.maximum(memory, compute), floor)
    streams = np.asarray(rows.decode) * 1.0
    seconds = spatial_step(layers=work.depth, layer_time=layer, streams=streams)
    is_floor, is_memory = layer <= floor, layer <= memory
    hop_bytes = (work.hidden or 0.0) * _ACTIVATION_BYTES
    norms = time_of(work=work.small.parameters, rate=machine.head_rate)
    scores = prompt_scores(work, rows)
    prompt = FLOPS_PER_PARAMETER * (dense + routed * work.active_share + norms)
    prompt = prompt + time_of(work=scores, rate=machine.attention_rate)
    return Step(
        (
            Component(
                "layers",
                memory=np.where(~is_floor & is_memory, seconds, 0.0),
                compute=np.where(~is_floor & ~is_memory, seconds, 0.0),
                latency=np.where(is_floor, seconds, 0.0),
            ),
            Component("prompt", compute=np.asarray(rows.prompt) * prompt / chips),
            Component(
                "hops",
                link=chips * time_of(work=hop_bytes, rate=machine.link_out),
                latency=chips * machine.hop_latency,
            ),
        )
    )
