"""Work of a step on each chip, independent of the engine: bytes, FLOPs and messages.

All fields of a `PassWork` are floats or arrays, so one object can represent a single step, all
batches of a scenario, or thousands of measurements.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.once import once
from fastcalc.core.model.kinds import Kinds
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.fullest_chip import once_a_layout, stage_share
from fastcalc.core.placement.layout import HOST_CHIPS, AnyLayout, Layout
from fastcalc.core.placement.legal import Topology, topology_of
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.core.placement.split import Split
from fastcalc.core.step.component import is_nothing
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.experts import other_ranks, rank_unevenness
from fastcalc.formulas.network import shared_link
from fastcalc.formulas.types import Array, ArrayLike, floats

FLOPS_PER_PARAMETER = 2.0
ACTIVATION_BYTES = 2.0


class AttentionWork:
    """Computes the attention work per step, over all chips of a replica.

    cache, cache_on_rank : The cache read per sequence, in total and on one tensor-parallel rank, in
        bytes.
    decode_flops, head_flops : The attention FLOPs per decoded token, and those of one query head of
        latent attention, in FLOPs.
    tp, expert_shards : The number of tensor-parallel ranks, and of ranks that share one copy of the
        experts.
    ranks : The ranks per chip.
    """

    tp: ArrayLike
    ranks: ArrayLike
    cache: Array
    cache_on_rank: Array
    decode_flops: ArrayLike
    head_flops: ArrayLike

    def __init__(
        self, topology: Topology, work: Workload, layout: AnyLayout, traffic: Traffic
    ) -> None:
        self.topology, self.work, self.layout, self.traffic = topology, work, layout, traffic
        self.tp, self.ranks = layout.tp, topology.ranks
        self.expert_shards: ArrayLike = layout.expert_shards
        tp = self.tp
        attended = traffic.mean_while_decoding(self.work.attended)
        self.cache = on_rank = self.work.cache_of(attended)
        if not (isinstance(tp, int) and tp == 1):
            on_rank = self.work.cache_of(attended, tp)
        # Recurrent states are written back in full; caches gain only one token.
        moved = 1.0 + 2.0 * topology.state_copies
        self.cache_on_rank = on_rank + moved * self.work.state_bytes / tp
        self.decode_flops = self.work.decode_flops_of(attended)
        self.head_flops = self.work.head_flops_of(attended)

    @cached_property
    def layer_kinds(self) -> "list[tuple[float, AttentionWork]]":
        """The number of layers of each type, with the attention work of one layer."""
        return [
            (count, _attention(self.topology, layer, self.layout, self.traffic))
            for count, layer in self.work.layer_kinds
        ]

    @cached_property
    def idle_pass(self) -> "PassWork":
        """A step without sequences: weights, FLOPs per token and ranks of the layout."""
        return _of_layout(self.topology, self.work, self.layout)

    @cached_property
    def prompt_flops(self) -> ArrayLike:
        """The attention FLOPs per prompt token."""

        def flops(context: Array, spread: Array) -> ArrayLike:
            return self.work.attention_flops(context, spread=spread, prompt=True)

        return self.traffic.mean_over_prompts(flops)


def attention_of(placement: AnyPlacement, traffic: Traffic) -> AttentionWork:
    """Return the attention work for the given traffic, cached per layout and length."""
    return _attention(topology_of(placement.machine), placement.work, placement.layout, traffic)


def _attention(
    topology: Topology, work: Workload, layout: AnyLayout, traffic: Traffic
) -> AttentionWork:
    if isinstance(layout, Layout) and isinstance(traffic.context, float):
        ranks = layout.tp, layout.pp, layout.ep, layout.dp, layout.per_chip
        return _attention_once(topology, work, ranks, traffic)
    return AttentionWork(topology, work, layout, traffic)


@once
def _attention_once(
    topology: Topology, work: Workload, ranks: tuple[int, ...], traffic: Traffic
) -> AttentionWork:
    return AttentionWork(topology, work, Layout(*ranks), traffic)


@dataclass(frozen=True, eq=False)
class PassInput:
    """The input of a step on one attention replica.

    attention : The attention work of its tokens.
    sequences : The number of decoded sequences, :math:`b`.
    expert_sequences : The number of sequences decoded by all replicas that share a copy of the
        experts.
    prompt : The number of prompt tokens, :math:`c`.
    prompt_replicas : The number of replicas that prefill in this step.
    verified : The tokens per sequence and step: one plus any draft tokens.
    """

    attention: AttentionWork
    sequences: ArrayLike
    expert_sequences: ArrayLike
    prompt: ArrayLike = 0.0
    prompt_replicas: ArrayLike = 1.0
    verified: ArrayLike = 1.0


class Routing(NamedTuple):
    """The routed experts in a step.

    layers : The number of layers with routed experts.
    experts, active : The number of experts per layer and per token; 1 and 1 for dense models.
    width : The columns of a rank's slice of an expert, or infinity if unknown.
    unevenness : The imbalance between ranks with different experts, relative to 128 experts over 8
        ranks.
    """

    layers: ArrayLike
    experts: ArrayLike
    active: ArrayLike
    width: ArrayLike
    unevenness: ArrayLike


class Latents(NamedTuple):
    """Latent attention, in which query heads share each cached token, and recurrent layers.

    layers, heads : The number of layers with latent attention, and of query heads on a rank.
    flops : The FLOPs per decoded token of one query head on each rank of a chip, in FLOPs.
    indexers : The number of layers whose attention selects tokens with an indexer of its own.
    recurrent : The number of layers with a recurrent state.
    """

    layers: ArrayLike
    heads: ArrayLike
    flops: ArrayLike
    indexers: ArrayLike
    recurrent: ArrayLike


class TensorParallel(NamedTuple):
    """The ranks that all-reduce partial results in each layer.

    ranks, chips : The ranks in the group, and the chips that they occupy.
    link_share : The fraction of the link rate that a chip gets in an all-reduce.
    is_inside : 1 if all ranks are in one link domain, otherwise 0.
    """

    ranks: ArrayLike
    chips: ArrayLike
    link_share: ArrayLike
    is_inside: ArrayLike


class Exchange(NamedTuple):
    """The ranks that exchange tokens with each other's experts.

    happens : 1 if replicas exchange tokens, otherwise 0.
    ranks : The number of ranks that share one copy of the experts.
    destinations : The number of other ranks to which a token is sent.
    crossing : The messages that leave a chip, relative to those sent by one of its ranks; 1 if a
        chip is a single rank.
    link_share : The fraction of the link rate that a chip gets.
    is_inside, is_one_host : 1 if all ranks are in one link domain, and 1 if that domain is one
        host; otherwise 0.
    """

    happens: ArrayLike
    ranks: ArrayLike
    destinations: ArrayLike
    crossing: ArrayLike
    link_share: ArrayLike
    is_inside: ArrayLike
    is_one_host: ArrayLike


class Pipeline(NamedTuple):
    """The pipeline stages of a step.

    stages : The number of stages.
    fullest, last : The fraction of layers in the fullest stage, and in the last stage, which has
        the head.
    is_inside : 1 if all chips are in one link domain, otherwise 0.
    """

    stages: ArrayLike
    fullest: ArrayLike
    last: ArrayLike
    is_inside: ArrayLike


@dataclass(frozen=True, eq=False)
class PassWork:
    """Computes what a step reads, computes and sends on the chips of one replica.

    bytes : The weights on a chip, summed over all pipeline stages, and the cache read per sequence,
        in bytes.
    flops, prompt_flops : The FLOPs on a chip per decoded token and per prompt token; in the head
        category, prompt tokens use only norms and routers, in FLOPs.
    prompt_bytes : The memory traffic of recurrent layers' kernels on a chip per prompt token, in
        bytes.
    weights : The number of weights on a chip in formats below 16 bits.
    depth : The number of sequential layers.
    latents : The latent attention and the recurrent layers.
    hidden : The hidden width, or a default if not published.
    routing : The routed experts.
    tp, exchange, pipeline : The ranks that exchange messages.
    sequences, verified : The number of sequences decoded on the replica, and the tokens of each.
    prompt : The number of prompt tokens on the replica.
    expert_tokens, expert_prompt : The decoded and prompt tokens that share a copy of the experts.
    in_flight : The number of a replica's sequences that can be in different stages.
    split : The distribution of bytes, or None if the chip has a single memory.
    layer_passes : The same step through one layer of each type, for any placement; None if all
        layers are equal or in one stage.
    """

    bytes: Kinds[ArrayLike]
    flops: Kinds[ArrayLike]
    prompt_flops: Kinds[ArrayLike]
    prompt_bytes: ArrayLike
    weights: Kinds[ArrayLike]
    depth: ArrayLike
    latents: Latents
    hidden: ArrayLike
    routing: Routing
    tp: TensorParallel
    exchange: Exchange
    pipeline: Pipeline
    sequences: ArrayLike = 0.0
    verified: ArrayLike = 1.0
    prompt: ArrayLike = 0.0
    expert_tokens: ArrayLike = 0.0
    expert_prompt: ArrayLike = 0.0
    in_flight: ArrayLike = 1.0
    split: Split | None = None
    layer_passes: "list[tuple[float, PassWork]] | None" = None

    @property
    def tokens(self) -> Array:
        """The decoded and prompt tokens of the replica."""
        return floats(self.sequences * self.verified + self.prompt)


def count_pass(
    placement: AnyPlacement, rows: PassInput, in_flight: ArrayLike, split: Split | None = None
) -> PassWork:
    """Count the work of a step on a placement.

    rows : The sequences and prompt tokens of one replica; arrays broadcast.
    in_flight : The number of a replica's sequences that can be in different pipeline stages.
    split : The distribution of bytes, if there are several memories.
    """
    work = count_whole_pass(rows, in_flight, split)
    is_staged = not placement.machine.is_spatial and np.any(np.asarray(placement.layout.pp) > 1)
    if len(placement.work.layer_kinds) <= 1 or not is_staged:
        return work
    return replace(work, layer_passes=count_layer_passes(rows, in_flight))


def count_layer_passes(rows: PassInput, in_flight: ArrayLike) -> list[tuple[float, PassWork]]:
    """Count the work of a step in one layer of each type, and the number of these layers.

    rows, in_flight : As for `count_pass`.
    """
    return [
        (count, count_whole_pass(replace(rows, attention=attention), in_flight))
        for count, attention in rows.attention.layer_kinds
    ]


def count_whole_pass(rows: PassInput, in_flight: ArrayLike, split: Split | None = None) -> PassWork:
    """Count the work of a step as `count_pass` does, without that of each type of layer."""
    attention = rows.attention
    tp, ranks, work = attention.tp, attention.ranks, attention.idle_pass
    replicas = np.minimum(rows.prompt_replicas, attention.expert_shards / tp)
    prompt_attention = 0.0 if is_nothing(rows.prompt) else attention.prompt_flops / tp * ranks
    return replace(
        work,
        bytes=work.bytes._replace(kv=attention.cache_on_rank * ranks),
        flops=work.flops._replace(kv=attention.decode_flops / tp * ranks),
        prompt_flops=work.prompt_flops._replace(kv=prompt_attention),
        latents=work.latents._replace(flops=attention.head_flops * ranks),
        sequences=rows.sequences,
        verified=rows.verified,
        prompt=rows.prompt,
        expert_tokens=rows.expert_sequences * rows.verified,
        expert_prompt=rows.prompt * replicas,
        in_flight=in_flight,
        split=split,
    )


def _latents(work: Workload, layout: AnyLayout) -> Latents:
    return Latents(
        layers=work.latent_layers,
        heads=work.latent_heads / layout.tp,
        flops=0.0,
        indexers=sum(group.layers for group in work.caches if group.element_bytes is not None),
        recurrent=work.recurrent_layers,
    )


@once_a_layout
def _of_layout(topology: Topology, work: Workload, layout: AnyLayout) -> PassWork:
    """Count the work that depends only on the layout: a step without sequences."""
    # In chips: below 1 if a chip contains several groups, or several copies of the experts.
    group, holders = layout.tp / topology.ranks, layout.expert_shards / topology.ranks

    # Weights that every rank stores, reads and multiplies in full, beyond its own part.
    beyond = topology.has_copies * (topology.ranks - 1.0 / group)

    def on_chip(
        dense: float, head: float, experts: float, copied: float = 0.0, small: float = 0.0
    ) -> Kinds[ArrayLike]:
        dense_part, head_part = dense / group + beyond * copied, head / group + beyond * small
        return Kinds(dense_part, head_part, experts / holders, kv=0.0)

    dense, small, head, _, experts, _ = (component.parameters for component in work.weights)
    layers, copied = FLOPS_PER_PARAMETER * dense, FLOPS_PER_PARAMETER * work.copied.parameters
    norms, in_layers = FLOPS_PER_PARAMETER * small, FLOPS_PER_PARAMETER * work.norm_parameters
    picked = FLOPS_PER_PARAMETER * work.active_share * experts
    is_inside = (layout.chips <= topology.domain) | (not topology.has_scale_out)
    return PassWork(
        bytes=on_chip(*work.bytes[:3], work.copied.bytes, work.weights.small.bytes),
        flops=on_chip(layers, FLOPS_PER_PARAMETER * (small + head), picked, copied, norms),
        prompt_flops=on_chip(layers, in_layers, picked, copied, in_layers),
        prompt_bytes=work.prompt_traffic / group,
        weights=on_chip(dense, head, experts),
        depth=work.depth,
        latents=_latents(work, layout),
        hidden=work.sent_width,
        routing=Routing(
            layers=work.expert_layers,
            experts=work.experts or 1.0,
            active=work.active_experts or 1.0,
            width=work.expert_width * layout.ep / layout.expert_shards,
            unevenness=rank_unevenness(ranks=layout.ep, experts=work.experts or 1.0),
        ),
        tp=_tensor_parallel(topology, layout),
        exchange=_exchange(topology, work, layout),
        pipeline=Pipeline(
            stages=layout.pp,
            fullest=stage_share(topology, work, layout),
            last=np.floor(work.layers / layout.pp) / work.layers,
            is_inside=1.0 * is_inside,
        ),
    )


def _tensor_parallel(topology: Topology, layout: AnyLayout) -> TensorParallel:
    chips = topology.chips_of(layout.tp)
    return TensorParallel(
        ranks=layout.tp,
        chips=chips,
        link_share=_link_share(topology, chips),
        is_inside=1.0 * (chips <= topology.domain),
    )


def _exchange(topology: Topology, work: Workload, layout: AnyLayout) -> Exchange:
    shards, ranks, domain = layout.expert_shards, topology.ranks, topology.domain
    chips = topology.chips_of(shards)
    return Exchange(
        happens=1.0 * (layout.dp > 1) * (layout.ep > 1) * (work.experts > 0),
        ranks=shards,
        destinations=other_ranks(ranks=shards, experts=work.experts, active=work.active_experts),
        crossing=ranks * np.maximum(shards - ranks, 0.0) / np.maximum(shards - 1.0, 1.0),
        link_share=_link_share(topology, chips),
        is_inside=1.0 * (chips <= domain),
        is_one_host=1.0 * (domain <= HOST_CHIPS),
    )


def _link_share(topology: Topology, chips: ArrayLike) -> Array:
    """Compute a chip's fraction of the link rate, bit-identical for one and for many layouts."""
    groups = np.atleast_1d(chips)
    fraction = shared_link(
        ranks=groups,
        domain=topology.mesh or topology.domain,
        is_mesh=topology.mesh is not None,
        is_host=1.0 * (topology.is_over_host | (topology.is_bridged & (groups > topology.domain))),
    )
    return fraction.reshape(np.shape(chips))[()]
