"""What a pass asks of each chip, counted before any engine has a say: bytes, FLOPs, messages.

A `PassWork` is numbers alone, each a float or an array, so that one of it can stand for a pass, for
all batches of a scenario, or for thousands of measured points at once.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fastcalc.core.chip.machine import Machine
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.layout import HOST_CHIPS, AnyLayout
from fastcalc.core.placement.legal import link_domain
from fastcalc.core.placement.placement import AnyPlacement, once_a_layout, stage_share
from fastcalc.core.placement.split import Split
from fastcalc.core.step.component import is_nothing
from fastcalc.core.traffic import Traffic
from fastcalc.formulas.experts import other_ranks, rank_unevenness
from fastcalc.formulas.network import shared_link
from fastcalc.formulas.types import Array, ArrayLike, floats

FLOPS_PER_PARAMETER = 2.0
ACTIVATION_BYTES = 2.0


class AttentionWork:
    """What tokens of some traffic look back on, on all chips of a replica, in every pass.

    cache, cache_on_rank : cache that one sequence reads, and what of it one tensor-parallel rank
        reads [byte]
    decode_flops : attention FLOPs of a decoded token [FLOP]
    """

    def __init__(self, placement: AnyPlacement, traffic: Traffic) -> None:
        self.placement, self.work, self.traffic = placement, placement.work, traffic
        tp = placement.layout.tp
        attended = self.work.attended(traffic.context, traffic.spread)
        self.cache = on_rank = self.work.cache_of(attended)
        if not (isinstance(tp, int) and tp == 1):
            on_rank = self.work.cache_of(attended, tp)
        # A recurrent state is written back; what a cache gains is one token.
        self.cache_on_rank = on_rank + self.work.state_bytes / tp
        self.decode_flops = self.work.decode_flops_of(attended)

    @cached_property
    def kinds(self) -> "list[tuple[float, AttentionWork]]":
        """How many layers of each kind there are, and what is looked back on in one of them."""
        return [
            (count, AttentionWork(replace(self.placement, work=layer), self.traffic))
            for count, layer in self.work.kinds
        ]

    @cached_property
    def prompt_flops(self) -> ArrayLike:
        """Attention FLOPs of a prompt token. [FLOP]"""
        traffic = self.traffic
        return self.work.attention_flops(
            traffic.prompt_context, spread=traffic.prompt_spread, prompt=True
        )


@dataclass(frozen=True, eq=False)
class PassInput:
    """What a pass is asked to do, on one replica of the attention.

    attention : what its tokens look back on
    sequences : sequences decoded, :math:`b` [1]
    expert_sequences : sequences decoded by all replicas that share one copy of the experts [1]
    prompt : prompt tokens taken in, :math:`c` [1]
    prompt_replicas : replicas that take in prompts in this pass [1]
    verified : tokens of a sequence in one pass: 1, or the drafted ones and one more [1]
    """

    attention: AttentionWork
    sequences: ArrayLike
    expert_sequences: ArrayLike
    prompt: ArrayLike = 0.0
    prompt_replicas: ArrayLike = 1.0
    verified: ArrayLike = 1.0


@dataclass(frozen=True, eq=False)
class PassWork:
    """The work of one pass through all layers, on the chips of one replica.

    dense_bytes, head_bytes, routed_bytes : weights on a chip, pipeline stages taken together:
        matrices every token passes; head, norms, biases and routers; all routed experts [byte]
    dense_flops, head_flops, norm_flops, routed_flops : FLOPs of one token on a chip; the head
        serves decoded tokens, norms and routers prompt tokens, too [FLOP]
    cache_bytes : cache that one sequence reads on a chip [byte]
    attention_flops, prompt_flops : attention FLOPs of a decoded token and of a prompt token on a
        chip [FLOP]
    dense_weights, head_weights, routed_weights : weights on a chip that take a width below 16 bits,
        as numbers [1]
    experts, active : experts in a layer and how many a token picks; 1 and 1 without any [1]
    depth, expert_layers, latent_layers : layers one after another, those with routed experts, those
        with latent attention [1]
    hidden, expert_width : width of a token between layers, 0 where it is not published; columns of
        a rank's slice of an expert, infinity where they are not known [1]
    sequences, verified, expert_tokens : sequences decoded on the replica, their tokens in this
        pass, and the tokens that meet in one copy of the experts [1]
    prompt, expert_prompt : prompt tokens on the replica, and those that meet in one copy of the
        experts [1]
    tp, shards : ranks of the tensor-parallel group, and ranks over which one copy of the experts is
        spread [1]
    tp_chips : chips that the ranks of the tensor-parallel group fill [1]
    crossing : messages to another rank that leave a chip, over those that one of its ranks sends;
        1 where a chip is one rank [1]
    link_share, exchange_link_share : what a chip gets of its link in an all-reduce, and between
        replicas [1]
    exchanges : 1 where replicas send tokens to each other's experts, else 0 [1]
    destinations : other ranks that one token visits [1]
    tp_is_inside, exchange_is_inside, hops_are_inside : 1 where all ranks are in one link domain,
        else 0 [1]
    is_one_host : 1 where the link domain ends at the host, else 0 [1]
    unevenness : how uneven ranks that hold different experts are, 1 for 128 experts over 8 [1]
    stages, fullest, last : pipeline stages, and the share of all layers in the fullest and in the
        last, which has the head [1]
    in_flight : sequences of a replica that could be in different stages [1]
    split : where bytes live; None where all are in the one memory of the chip
    layer_passes : the same pass through one layer of each kind, wherever its bytes live; None where
        that says no more, as layers are alike or in one stage
    """

    dense_bytes: ArrayLike
    head_bytes: ArrayLike
    routed_bytes: ArrayLike
    dense_flops: ArrayLike
    head_flops: ArrayLike
    norm_flops: ArrayLike
    routed_flops: ArrayLike
    cache_bytes: ArrayLike
    attention_flops: ArrayLike
    prompt_flops: ArrayLike
    dense_weights: ArrayLike
    head_weights: ArrayLike
    routed_weights: ArrayLike
    experts: ArrayLike
    active: ArrayLike
    depth: ArrayLike
    expert_layers: ArrayLike
    latent_layers: ArrayLike
    hidden: ArrayLike
    expert_width: ArrayLike
    sequences: ArrayLike
    verified: ArrayLike
    expert_tokens: ArrayLike
    prompt: ArrayLike
    expert_prompt: ArrayLike
    tp: ArrayLike
    shards: ArrayLike
    tp_chips: ArrayLike
    crossing: ArrayLike
    link_share: ArrayLike
    exchange_link_share: ArrayLike
    exchanges: ArrayLike
    destinations: ArrayLike
    tp_is_inside: ArrayLike
    exchange_is_inside: ArrayLike
    hops_are_inside: ArrayLike
    is_one_host: ArrayLike
    unevenness: ArrayLike
    stages: ArrayLike
    fullest: ArrayLike
    last: ArrayLike
    in_flight: ArrayLike
    split: Split | None = None
    layer_passes: "list[tuple[float, PassWork]] | None" = None

    @property
    def tokens(self) -> Array:
        """Decoded and prompt tokens of the replica. [1]"""
        return floats(self.sequences * self.verified + self.prompt)


def count_pass(
    placement: AnyPlacement, rows: PassInput, in_flight: ArrayLike, split: Split | None = None
) -> PassWork:
    """Count a pass of a placement.

    placement : a workload on a layout
    rows : sequences and prompt tokens of one replica; arrays broadcast
    in_flight : sequences of a replica that could be in different pipeline stages [1]
    split : where bytes live, if in several memories
    """
    work = _whole(placement, rows, in_flight, split)
    is_staged = not placement.machine.is_spatial and np.any(np.asarray(placement.layout.pp) > 1)
    if len(placement.work.kinds) <= 1 or not is_staged:
        return work
    return replace(work, layer_passes=count_layer_passes(rows, in_flight))


def count_layer_passes(rows: PassInput, in_flight: ArrayLike) -> list[tuple[float, PassWork]]:
    """Return how many layers of each kind there are, and the pass through one of them.

    rows, in_flight : as `count_pass` has them
    """
    return [
        (count, _whole(attention.placement, replace(rows, attention=attention), in_flight, None))
        for count, attention in rows.attention.kinds
    ]


def _whole(
    placement: AnyPlacement, rows: PassInput, in_flight: ArrayLike, split: Split | None
) -> PassWork:
    layout, attention = placement.layout, rows.attention
    tp, shards, ranks = layout.tp, layout.expert_shards, placement.machine.ranks
    replicas = np.minimum(rows.prompt_replicas, shards / tp)
    return PassWork(
        **_of_layout(placement.machine, placement.work, layout),
        cache_bytes=attention.cache_on_rank * ranks,
        attention_flops=attention.decode_flops / tp * ranks,
        prompt_flops=0.0 if is_nothing(rows.prompt) else attention.prompt_flops / tp * ranks,
        sequences=rows.sequences,
        verified=rows.verified,
        expert_tokens=rows.expert_sequences * rows.verified,
        prompt=rows.prompt,
        expert_prompt=rows.prompt * replicas,
        in_flight=in_flight,
        split=split,
    )


@once_a_layout
def _of_layout(machine: Machine, work: Workload, layout: AnyLayout) -> dict[str, Any]:
    """Return what of a pass depends on the layout alone."""
    tp, shards = layout.tp, layout.expert_shards
    domain, links = link_domain(machine.hardware), machine.hardware.links
    small, ranks = work.small.parameters, machine.ranks
    # In chips: less than 1 where a chip has several groups, or copies of the experts.
    group, holders = tp / ranks, shards / ranks
    tp_chips, shard_chips = machine.chips_of(tp), machine.chips_of(shards)
    return {
        "dense_bytes": work.dense.bytes / group,
        "head_bytes": (work.small.bytes + work.head.bytes) / group,
        "routed_bytes": (work.routed.bytes + work.expert_biases.bytes) / holders,
        "dense_flops": FLOPS_PER_PARAMETER * work.dense.parameters / group,
        "head_flops": FLOPS_PER_PARAMETER * (small + work.head.parameters) / group,
        "norm_flops": FLOPS_PER_PARAMETER * work.norm_parameters / group,
        "routed_flops": FLOPS_PER_PARAMETER * work.active_share * work.routed.parameters / holders,
        "dense_weights": work.dense.parameters / group,
        "head_weights": work.head.parameters / group,
        "routed_weights": work.routed.parameters / holders,
        "experts": work.experts or 1.0,
        "active": work.active_experts or 1.0,
        "depth": work.depth,
        "expert_layers": work.expert_layers,
        "latent_layers": work.latent_layers,
        "hidden": work.hidden or 0.0,
        "expert_width": work.expert_width * layout.ep / shards,
        "tp": tp,
        "shards": shards,
        "tp_chips": tp_chips,
        "crossing": ranks * np.maximum(shards - ranks, 0.0) / np.maximum(shards - 1.0, 1.0),
        "link_share": _link_share(machine, tp_chips),
        "exchange_link_share": _link_share(machine, shard_chips),
        "exchanges": 1.0 * (layout.dp > 1) * (layout.ep > 1) * (work.experts > 0),
        "destinations": other_ranks(ranks=shards, experts=work.experts, active=work.active_experts),
        "tp_is_inside": 1.0 * (tp_chips <= domain),
        "exchange_is_inside": 1.0 * (shard_chips <= domain),
        "hops_are_inside": 1.0 * ((layout.chips <= domain) | (links.scale_out is None)),
        "is_one_host": 1.0 * (domain <= HOST_CHIPS),
        "unevenness": rank_unevenness(ranks=layout.ep, experts=work.experts or 1.0),
        "stages": layout.pp,
        "fullest": stage_share(machine, work, layout),
        "last": np.floor(work.layers / layout.pp) / work.layers,
    }


def _link_share(machine: Machine, chips: ArrayLike) -> Array:
    """Return what a chip of a group gets of its link, to the same bits for one layout or many."""
    up = machine.hardware.links.scale_up
    kind = up.kind if up else None
    share = shared_link(
        ranks=np.atleast_1d(chips),
        domain=link_domain(machine.hardware),
        is_mesh=kind == "xgmi",
        is_host=kind == "pcie",
    )
    return share.reshape(np.shape(chips))[()]
