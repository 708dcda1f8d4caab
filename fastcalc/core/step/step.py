"""The step function T(b, c): the time to decode b sequences and prefill c prompt tokens.

With ``c = 0`` this is a decode step, with ``b = 0`` a prefill step, and otherwise the mixed step of
real traffic. A step consists of a few components, each with bytes, FLOPs, messages or launches at
rates that the engine achieves. Most arithmetic is hidden behind reading the weights, which decoded
and prompt tokens share (`overlapped_time`). The arithmetic of experts and of prefill attention is
added.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from fastcalc.core.chip.machine import Chip, EngineParameters
from fastcalc.core.chip.tier import Tier
from fastcalc.core.model.kinds import IN_LAYERS
from fastcalc.core.placement.split import Split
from fastcalc.core.step.chip_work import ChipWork, chip_work, unpacking
from fastcalc.core.step.component import (
    BESIDE,
    Component,
    Step,
    derived,
    idle,
    is_nothing,
    total_of,
)
from fastcalc.core.step.host_use import FAR, HOST, OffloadOptions, offload_options, offloaded_pass
from fastcalc.core.step.pass_work import ACTIVATION_BYTES, PassWork
from fastcalc.formulas.network import all_reduce_bytes, all_reduce_shots, exchange_bytes
from fastcalc.formulas.pipeline import heaviest_stage, pipelined_step
from fastcalc.formulas.types import Array, ArrayLike, floats, where

STAGE_WAIT = "stage wait"
"""The component for waiting for earlier micro-batches in a pipeline."""


class KnownParts(NamedTuple):
    """The terms of a step that do not depend on the placement of its bytes.

    parts : The chip's reads and products with everything in its first memory.
    overheads : The floors, messages and per-sequence overhead.
    layers : The known terms of each of the step's `layer_passes`.
    offload : The ways to use memories beyond the first, or None if there is only one memory.
    """

    parts: ChipWork
    overheads: tuple[Component, ...]
    layers: tuple["KnownParts", ...] = ()
    offload: OffloadOptions | None = None

    @classmethod
    def of(
        cls,
        work: PassWork,
        chip: Chip,
        software: EngineParameters,
        same: "KnownParts | None" = None,
    ) -> "KnownParts":
        """Compute the placement-independent terms of a step.

        same : The known terms of a different step with the same decoded sequences, with or without
            prompts.
        """
        all_reduce, waits = _all_reduce(work, chip, software), 2.0 * work.depth
        ranks = Component(
            "rank wait", count=waits * (work.tp.ranks > 1), seconds_each=software.rank_wait
        )
        overhead = software.sequence_overhead
        sequences = Component("sequences", count=work.sequences, seconds_each=overhead)

        def parts_of(
            layers: PassWork, like: KnownParts | None, fraction: ArrayLike = 1.0
        ) -> KnownParts:
            overheads = (
                _floor(layers, software),
                all_reduce.times(fraction),
                ranks.times(fraction),
                _exchange(layers, chip, software),
                sequences,
            )
            return cls(chip_work(layers, chip, software, like and like.parts), overheads)

        groups = [layer for _, layer in work.layer_passes or ()]
        # Every layer must add up the same number of terms.
        fractions = (layer.depth / work.depth for layer in groups)
        layers = map(parts_of, groups, same.layers if same else [None] * len(groups), fractions)
        known_parts = parts_of(work, same)._replace(layers=tuple(layers))
        if work.split is None:
            return known_parts
        return known_parts.opened(work, work.split.tiers, work.split.chips, chip, software)

    def opened(
        self,
        work: PassWork,
        tiers: Sequence[Tier],
        chips: ArrayLike,
        chip: Chip,
        software: EngineParameters,
    ) -> "KnownParts":
        """Add the ways in which bytes can be placed in several memories."""
        passes = zip(self.layers, work.layer_passes or (), strict=True)
        layers = (
            components.opened(layer, tiers, chips, chip, software)
            for components, (_, layer) in passes
        )
        offload = offload_options(work, tiers, chips, chip, software, self.parts)
        return self._replace(layers=tuple(layers), offload=offload)

    def besides(self, chip: Chip) -> ArrayLike:
        """Compute the step time in addition to memory reads, in seconds."""
        parts = self.parts
        components = (unpacking(chip, parts.widened), *parts.prompts, *self.overheads)
        return total_of(component.seconds for component in components)

    def layers_and_head(self, chip: Chip, split: Split | None) -> tuple[Array, Array]:
        """Compute the step time of the layers, and of head and norms, in seconds."""
        fixed = self.besides(chip)
        if split is None or self.offload is None:
            dense, head, experts, cache = (group.seconds for group in self.parts.kinds)
            return floats(fixed + dense + experts + cache), floats(head)
        layers = fixed + self.offload.seconds(split, IN_LAYERS)
        return floats(layers), self.offload.seconds(split, ("head",))


def expected_step(
    work: PassWork, chip: Chip, software: EngineParameters, known_parts: KnownParts | None = None
) -> Step:
    """Compute the expected step of an engine on chips that run layers in sequence.

    chip, software : The published rates of the chip, and the parameters of the engine, which
        broadcast with the fields of the work.
    known_parts : The terms that do not depend on the placement of bytes, if already computed.

    Returns
    -------
    Step
        Components in seconds: a pass through all layers, and with pipeline stages the hops
        and the wait for other micro-batches.
    """
    known_parts = known_parts or KnownParts.of(work, chip, software)
    passed = _through(work.split, chip, known_parts)
    return passed.then(*_stage_hops_and_wait(work, chip, software, known_parts, passed.seconds))


def _through(split: Split | None, chip: Chip, known_parts: KnownParts) -> Step:
    """Compute the components of a pass through all layers, one stage after another."""
    components, overheads, _, offload = known_parts
    elsewhere: tuple[Component, ...] = (idle(FAR), idle(HOST))
    if split is not None and offload is not None:
        offloaded = offloaded_pass(split, offload)
        components = components.left(offloaded.near, offloaded.multiplied)
        elsewhere = (offloaded.far, offloaded.host)
    unpacked, (dense, _, experts, attention) = (
        unpacking(chip, components.widened),
        components.prompts,
    )
    return Step.of(*components.kinds, unpacked, dense, experts, attention, *overheads, *elsewhere)


def layer_seconds(
    work: PassWork,
    chip: Chip,
    software: EngineParameters,
    known_parts: KnownParts,
    split: Split | None,
) -> Array:
    """Compute the step time of the given layers alone, in seconds.

    known_parts : The terms that do not depend on the placement of bytes.
    split : The distribution of bytes, or None if the chip has a single memory.
    """
    return _through(split, chip, known_parts).seconds - _host_work(work, software)


def head_in_first_memory(split: Split | None) -> Split | None:
    """Return the split with the head in the first memory, so that host cores do not process it."""
    if split is None:
        return None
    first, *farther = split.shares["head"]
    head = [np.ones_like(first), *map(np.zeros_like, farther)]
    return replace(split, shares=split.shares | {"head": head})


def _host_work(work: PassWork, software: EngineParameters) -> ArrayLike:
    """Compute the host overhead of all sequences, which occurs in every stage, in seconds."""
    return work.sequences * software.sequence_overhead


def slowest_stage(
    work: PassWork, chip: Chip, software: EngineParameters, known_parts: KnownParts
) -> Array:
    """Compute the time of one micro-batch in the slowest stage, without hops, in seconds.

    The layers of each type are spread evenly. The last stage has the head, and fewer layers if they
    do not divide evenly.

    known_parts : The terms that do not depend on the placement of bytes.
    """
    layers, head = known_parts.layers_and_head(chip, work.split)
    per_sequence, pipeline = _host_work(work, software), work.pipeline
    fractions = (pipeline.fullest, pipeline.last)
    if work.layer_passes is None:
        fullest, last = (fraction * (layers - per_sequence) for fraction in fractions)
    else:
        near_head = head_in_first_memory(work.split)
        counts, layer_works = zip(*work.layer_passes, strict=True)
        times = [
            layer_seconds(layer, chip, software, layer_parts, near_head)
            for layer, layer_parts in zip(layer_works, known_parts.layers, strict=True)
        ]
        heaviest = partial(heaviest_stage, amounts=times, counts=counts, stages=pipeline.stages)
        fullest, last = (heaviest(layers=fraction * sum(counts)) for fraction in fractions)
    # The sum over separate layer types may exceed the total, but a stage never does.
    return np.minimum(np.maximum(fullest, last + head) + per_sequence, layers + head)


def seconds_by_split(
    work: PassWork, chip: Chip, software: EngineParameters, known_parts: KnownParts
) -> Callable[[Split], Array]:
    """Return a function that gives the step time for a given split, in seconds.

    known_parts : The terms that do not depend on the split, and the ways to use the memories.
    """
    offload = known_parts.offload
    assert offload is not None
    fixed = known_parts.besides(chip)

    def seconds(split: Split) -> Array:
        passed = floats(fixed + offload.seconds(split))
        hops_and_wait = _stage_hops_and_wait(
            replace(work, split=split), chip, software, known_parts, passed
        )
        return floats(total_of([passed, *(component.seconds for component in hops_and_wait)]))

    return seconds


def _floor(work: PassWork, software: EngineParameters) -> Component:
    """Compute launches, ramps and tails per layer, which take longer without CUDA graphs.

    Launching kernels ahead does not hide the routing of prompt tokens.
    """
    layers = work.depth + software.expert_layer_extra * work.routing.layers
    latent = software.latent_layer_extra * work.latents.layers
    latent = latent + software.indexer_layer_extra * work.latents.indexers
    latent = latent + software.recurrent_layer_extra * work.latents.recurrent
    decode, prefill = software.decode_layer_floor, software.prefill_layer_floor
    if is_nothing(work.prompt):
        return Component("layer floors", count=layers + latent, seconds_each=decode)
    is_prompt = floats(work.prompt) > 0.0
    is_ahead = software.launches_ahead * (floats(work.sequences) > 0.0)
    hidden = is_ahead * np.maximum(prefill - decode, 0.0) * work.depth / layers
    return Component(
        "layer floors",
        count=where(is_prompt, layers, layers + latent),
        seconds_each=where(is_prompt, prefill - hidden, decode),
    )


def messages(work: PassWork, chip: Chip, software: EngineParameters) -> tuple[Component, Component]:
    """Return the messages within a stage: all-reduces, and tokens sent to their experts."""
    return _all_reduce(work, chip, software), _exchange(work, chip, software)


def _all_reduce(work: PassWork, chip: Chip, software: EngineParameters) -> Component:
    """Compute the two all-reduces per layer within the tensor-parallel group.

    Ranks on the same chip reduce in its memory at the latency of an exchange; chips reduce over
    links.
    """
    ranks, chips, link_share, near = work.tp
    if isinstance(ranks, int) and ranks == 1:
        return idle("all-reduce")
    link = where(near, chip.link, chip.link_out) * software.link_fraction * link_share
    message = work.tokens * work.hidden * ACTIVATION_BYTES
    beyond = where(near, 0.0, chip.hop + software.crossing_latency)
    latency = software.collective_latency + beyond
    shots = all_reduce_shots(ranks=chips, message=message, bandwidth=link, latency=latency)
    return Component(
        "all-reduce",
        sent=2.0 * work.depth * all_reduce_bytes(ranks=chips, message=message, shots=shots),
        link=link,
        count=2.0 * work.depth * np.maximum(shots, ranks > 1),
        seconds_each=latency,
    )


def _exchange(work: PassWork, chip: Chip, software: EngineParameters) -> Component:
    """Compute the exchange of tokens between replicas: to the ranks of their experts and back."""
    exchange = work.exchange
    if is_nothing(work.routing.layers):
        return idle("expert exchange")
    layers = work.routing.layers * exchange.happens
    link = where(exchange.is_inside, chip.link, chip.link_out)
    hop = where(exchange.is_inside, 0.0, chip.hop)
    gathers = exchange.is_one_host * software.exchange_gathers
    unvisited = exchange.ranks - 1.0 - exchange.destinations
    destinations = exchange.destinations + gathers * unvisited
    return Component(
        "expert exchange",
        sent=layers
        * exchange_bytes(tokens=work.tokens, hidden=work.hidden, destinations=destinations)
        * exchange.crossing,
        link=link * software.link_fraction * exchange.link_share,
        count=2.0 * layers,
        seconds_each=software.collective_latency + hop,
    )


def _stage_hops_and_wait(
    work: PassWork,
    chip: Chip,
    software: EngineParameters,
    known_parts: KnownParts,
    pass_time: Array,
) -> tuple[Component, Component]:
    """Compute the hops between pipeline stages, and the wait for earlier micro-batches."""
    stages, is_inside = work.pipeline.stages, work.pipeline.is_inside
    if isinstance(stages, int) and stages == 1:
        return idle("stage hops"), idle(STAGE_WAIT)
    crossings = stages - 1.0
    link = where(is_inside, chip.link, chip.link_out)
    hops = Component(
        "stage hops",
        sent=crossings * work.tokens * work.hidden * ACTIVATION_BYTES,
        link=link * software.link_fraction,
        count=crossings,
        seconds_each=where(
            is_inside, np.maximum(chip.hop_inside, software.collective_latency), chip.hop
        ),
        basis=BESIDE,
    )
    unpipelined = pass_time + hops.seconds
    pipelined = pipelined_step(
        pass_time=pass_time,
        hops=hops.seconds,
        stages=stages,
        # Rounding must not make a stage slower than the whole pass.
        slowest=np.minimum(slowest_stage(work, chip, software, known_parts), pass_time),
        streams=work.in_flight,
        overhead=work.sequences * software.stage_overhead,
    )
    return hops, derived(STAGE_WAIT, pipelined - unpipelined)
