"""The one step function: T(b, c), a pass that decodes b sequences and takes in c prompt tokens.

With ``c = 0`` it is a decode step, with ``b = 0`` a prefill, and with both the mixed step
of real traffic. It is a short list of components, each a few bytes, FLOPs, messages or
launches at rates that an engine reaches. The arithmetic of decode rows mostly hides under the
read of the weights they share (`overlapped_time`); that of prompt rows is added to it, as
measured prefill asks.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastcalc.core.component import (
    GROUPED_PRODUCTS,
    Component,
    Step,
    idle,
    is_nothing,
    scaled,
)
from fastcalc.core.host_use import FAR, HOST, Located, Ways, located, ways_of_kinds
from fastcalc.core.machine import Chip, EngineParameters, Reached, reached
from fastcalc.core.pass_work import ACTIVATION_BYTES, PassWork
from fastcalc.core.split import Split
from fastcalc.formulas.experts import distinct_experts, narrow_share
from fastcalc.formulas.network import all_reduce_bytes, all_reduce_shots, exchange_bytes
from fastcalc.formulas.pipeline import pipelined_step
from fastcalc.formulas.types import Array, ArrayLike, floats, where

_FUSED_MULTIPLY_ADD = 2.0


class Decoded(NamedTuple):
    """What of a pass depends on the decoded sequences alone, with prompts or without."""

    dense: Component
    head: Component
    attention: Component


def decoded(work: PassWork, chip: Chip, software: EngineParameters) -> Decoded:
    """Return matrices and caches of decoded sequences, as `expected_step` takes them."""
    rates, tokens = reached(chip, software), work.sequences * work.verified
    rows = np.maximum(tokens, rates.least_rows * (tokens > 0.0))
    return Decoded(
        Component(
            "dense weights",
            bytes=work.dense_bytes,
            bandwidth=rates.bandwidth,
            flops=rows * work.dense_flops,
            flop_rate=rates.dense,
        ),
        Component(
            "head and norms",
            bytes=work.head_bytes,
            bandwidth=rates.bandwidth,
            flops=rows * work.head_flops,
            flop_rate=rates.head,
        ),
        # Caches are read once for all tokens of a sequence.
        Component(
            "attention",
            bytes=work.sequences * work.cache_bytes,
            bandwidth=rates.bandwidth,
            flops=tokens * work.attention_flops,
            flop_rate=rates.attention,
        ),
    )


def expected_step(
    work: PassWork,
    chip: Chip,
    software: EngineParameters,
    same: Decoded | None = None,
    ways: Ways | None = None,
) -> Step:
    """Return the step an engine is expected to take on chips that run layer after layer.

    work : the work of the pass
    chip, software : what a chip prints, and what the engine makes of it; every field broadcasts
        with those of the work
    same : what the decoded sequences ask, where another pass of the same ones has it already
    ways : how it may use memories beyond the first, where that is known already

    Returns
    -------
    Step
        Components in seconds: a pass through all layers, and with pipeline stages the hops
        and the wait for other micro-batches.
    """
    parts = _worked(work, chip, software, same)
    elsewhere: tuple[Component, ...] = (idle(FAR), idle(HOST))
    if work.split is not None:
        ways = ways or _ways(work, work.split, chip, software, parts)
        found = located(work.split, ways)
        parts, elsewhere = parts.shared(found), (found.far, found.host)
    passed = Step.of(
        *parts.kinds,
        _unpacking(chip, parts.widened),
        *parts.prompts,
        _floor(work, software),
        _all_reduce(work, chip, software),
        _rank_wait(work, software),
        _exchange(work, chip, software),
        Component("sequences", count=work.sequences, each=software.sequence_overhead),
        *elsewhere,
    )
    return passed.then(*_pipeline(work, chip, software, passed.seconds))


class _Worked(NamedTuple):
    """What the chip reads and multiplies.

    kinds : matrices, head, routed experts and caches
    widened : operations that widen narrow weights, by kind [FLOP]
    prompts : arithmetic of prompt tokens: dense, experts, attention
    touched : share of the routed weights that is read [1]
    """

    kinds: tuple[Component, ...]
    widened: tuple[ArrayLike, ...]
    prompts: tuple[Component, ...]
    touched: ArrayLike

    def shared(self, found: Located) -> "_Worked":
        """Return what is left of it where other memories, and a host's cores, have a part."""
        dense, head, experts, cache = found.rest
        widened = zip(self.widened, (dense, head, experts), strict=True)
        prompts = zip(self.prompts, (dense, experts, cache), strict=True)
        return self._replace(
            kinds=tuple(
                kind.part(share) for kind, share in zip(self.kinds, found.near, strict=True)
            ),
            widened=tuple(scaled(each, share) for each, share in widened),
            prompts=tuple(prompt.part(share) for prompt, share in prompts),
        )


def _worked(
    work: PassWork, chip: Chip, software: EngineParameters, same: Decoded | None
) -> _Worked:
    """Return what the chip reads and multiplies, all of it in its first memory."""
    rates, touched = reached(chip, software), touched_experts(work, software)
    dense, head, attention = same or decoded(work, chip, software)
    operations = software.dequantization_operations
    widened = (
        operations * chip.dense_is_packed * work.dense_weights,
        operations * chip.head_is_packed * work.head_weights,
        operations * chip.routed_is_packed * work.routed_weights * touched,
    )
    kinds = (dense, head, _routed(work, rates, software, touched), attention)
    return _Worked(kinds, widened, _prompt(work, rates, software), touched)


def ways_of(
    work: PassWork,
    split: Split,
    chip: Chip,
    software: EngineParameters,
    same: Decoded | None = None,
) -> Ways:
    """Return how a pass may use memories beyond the first.

    work : the work of the pass
    split : the memories
    chip, software : what a chip prints, and what the engine makes of it
    same : what the decoded sequences ask, where another pass of the same ones has it already
    """
    return _ways(work, split, chip, software, _worked(work, chip, software, same))


def _ways(
    work: PassWork, split: Split, chip: Chip, software: EngineParameters, parts: _Worked
) -> Ways:
    prompts = (parts.prompts[0], idle(""), *parts.prompts[1:])
    more = [
        prompt.seconds + _unpacking(chip, [each]).seconds
        for prompt, each in zip(prompts, (*parts.widened, 0.0), strict=True)
    ]
    return ways_of_kinds(work, split, chip, software, parts.kinds, more, parts.touched)


def touched_experts(work: PassWork, software: EngineParameters) -> ArrayLike:
    """Return the share of the routed weights that the tokens of a pass read. [1]"""
    if is_nothing(work.expert_layers):
        return 1.0
    distinct = distinct_experts(
        experts=work.experts,
        active=work.active,
        tokens=floats(work.together + work.prompt_together),
        correlation=software.expert_correlation,
    )
    return distinct / work.experts


def _imbalance(work: PassWork, software: EngineParameters) -> ArrayLike:
    """Return the work of the fullest rank over the mean, where experts are spread. [1]"""
    return 1.0 + work.unevenness * (software.expert_imbalance - 1.0)


def _routed(
    work: PassWork,
    rates: Reached,
    software: EngineParameters,
    touched: ArrayLike,
) -> Component:
    """Return the experts that are picked."""
    if is_nothing(work.routed_bytes):
        return idle("routed experts")
    uneven = _imbalance(work, software)
    return Component(
        "routed experts",
        bytes=work.routed_bytes * touched * uneven,
        bandwidth=rates.bandwidth
        * narrow_share(width=work.expert_width, half=software.narrow_expert_width),
        flops=work.together * work.routed_flops * uneven,
        flop_rate=rates.routed,
        norm=GROUPED_PRODUCTS,
    )


def _unpacking(chip: Chip, operations: Sequence[ArrayLike]) -> Component:
    """Return narrow weights widened to 16 bits on the vector units, once each."""
    whole = sum(operations)
    if is_nothing(whole):
        return idle("unpacking")
    return Component("unpacking", flops=whole, flop_rate=chip.vector / _FUSED_MULTIPLY_ADD)


def _prompt(
    work: PassWork, rates: Reached, software: EngineParameters
) -> tuple[Component, Component, Component]:
    """Return arithmetic of prompt tokens; the head serves only the last of them."""
    if is_nothing(work.prompt):
        return idle("prompt: dense"), idle("prompt: experts"), idle("prompt: attention")
    experts = idle("prompt: experts")
    if not is_nothing(work.routed_flops):
        experts = Component(
            "prompt: experts",
            flops=work.prompt_together * work.routed_flops * _imbalance(work, software),
            flop_rate=rates.prompt_routed,
        )
    return (
        Component(
            "prompt: dense",
            flops=work.prompt * (work.dense_flops + work.norm_flops),
            flop_rate=rates.prompt_dense,
        ),
        experts,
        Component(
            "prompt: attention",
            flops=work.prompt * work.prompt_flops,
            flop_rate=rates.attention,
        ),
    )


def _floor(work: PassWork, software: EngineParameters) -> Component:
    """Return launches, ramps and tails: a time per layer, larger without decode's graphs."""
    layers = work.depth + software.expert_layer_extra * work.expert_layers
    latent = software.latent_layer_extra * work.latent_layers
    if is_nothing(work.prompt):
        return Component("layer floors", count=layers + latent, each=software.decode_layer_floor)
    is_prompt = floats(work.prompt) > 0.0
    if is_prompt.all():
        return Component("layer floors", count=layers, each=software.prefill_layer_floor)
    return Component(
        "layer floors",
        count=where(is_prompt, layers, layers + latent),
        each=where(is_prompt, software.prefill_layer_floor, software.decode_layer_floor),
    )


def _all_reduce(work: PassWork, chip: Chip, software: EngineParameters) -> Component:
    """Return two all-reduces a layer over the tensor-parallel group."""
    if isinstance(work.tp, int) and work.tp == 1:
        return idle("all-reduce")
    near = work.tp_is_inside
    link = where(near, chip.link, chip.link_out) * software.link_fraction * work.link_share
    message = work.tokens * work.hidden * ACTIVATION_BYTES
    latency = software.collective_latency + where(near, 0.0, chip.hop)
    shots = all_reduce_shots(ranks=work.tp, message=message, bandwidth=link, latency=latency)
    return Component(
        "all-reduce",
        sent=2.0 * work.depth * all_reduce_bytes(ranks=work.tp, message=message, shots=shots),
        link=link,
        count=2.0 * work.depth * shots,
        each=latency,
    )


def _rank_wait(work: PassWork, software: EngineParameters) -> Component:
    """Return what every all-reduce waits for the slowest of its ranks."""
    if isinstance(work.tp, int) and work.tp == 1:
        return idle("rank wait")
    waits = 2.0 * work.depth * (floats(work.tp) > 1.0)
    return Component("rank wait", count=waits, each=software.rank_wait)


def _exchange(work: PassWork, chip: Chip, software: EngineParameters) -> Component:
    """Return tokens sent to the ranks of their experts and back, between replicas."""
    layers = work.expert_layers * work.exchanges
    if is_nothing(layers):
        return idle("expert exchange")
    link = where(work.exchange_is_inside, chip.link, chip.link_out)
    hop = where(work.exchange_is_inside, 0.0, chip.hop)
    others = work.shards - 1.0 - work.destinations
    destinations = work.destinations + work.is_one_host * software.exchange_gathers * others
    return Component(
        "expert exchange",
        sent=layers
        * exchange_bytes(tokens=work.tokens, hidden=work.hidden, destinations=destinations),
        link=link * software.link_fraction * work.exchange_link_share,
        count=2.0 * layers,
        each=software.collective_latency + hop,
    )


def _pipeline(
    work: PassWork, chip: Chip, software: EngineParameters, pass_time: Array
) -> tuple[Component, Component]:
    """Return the hops between pipeline stages, and the wait for the micro-batches ahead."""
    if isinstance(work.stages, int) and work.stages == 1:
        return idle("stage hops"), idle("stage wait")
    crossings = work.stages - 1.0
    link = where(work.hops_are_inside, chip.link, chip.link_out)
    hops = Component(
        "stage hops",
        sent=crossings * work.tokens * work.hidden * ACTIVATION_BYTES,
        link=link * software.link_fraction,
        count=crossings,
        each=where(work.hops_are_inside, chip.hop_inside, chip.hop),
    )
    alone = pass_time + hops.seconds
    host = (1.0 - work.slowest) * software.sequence_overhead + software.stage_overhead
    whole = pipelined_step(
        pass_time=pass_time,
        hops=hops.seconds,
        stages=work.stages,
        slowest=work.slowest,
        streams=work.in_flight,
        own=work.sequences * host,
    )
    return hops, Component("stage wait", count=1.0, each=whole - alone)
