"""The one step function: T(b, c), a pass that decodes b sequences and takes in c prompt tokens.

With ``c = 0`` it is a decode step, with ``b = 0`` a prefill, and with both the mixed step
of real traffic. It is a short list of components, each a few bytes, FLOPs, messages or
launches at rates that an engine reaches. The arithmetic of decode rows mostly hides under the
read of the weights they share (`overlapped_time`); that of prompt rows is added to it, as
measured prefill asks.
"""

from functools import partial

import numpy as np

from fastcalc.core.component import Component, Step, idle, is_nothing, total_of
from fastcalc.core.host_use import FAR, HOST, Ways, located, ways_of
from fastcalc.core.machine import Chip, EngineParameters
from fastcalc.core.pass_work import ACTIVATION_BYTES, PassWork
from fastcalc.core.worked import Worked, unpacking, worked
from fastcalc.formulas.network import all_reduce_bytes, all_reduce_shots, exchange_bytes
from fastcalc.formulas.pipeline import heaviest_stage, pipelined_step
from fastcalc.formulas.types import Array, floats, where


def expected_step(
    work: PassWork,
    chip: Chip,
    software: EngineParameters,
    parts: Worked | None = None,
    ways: Ways | None = None,
) -> Step:
    """Return the step an engine is expected to take on chips that run layer after layer.

    work : the work of the pass
    chip, software : what a chip prints, and what the engine makes of it; every field broadcasts
        with those of the work
    parts, ways : what the chip reads and multiplies, and how it may use memories beyond the first,
        where that is known already

    Returns
    -------
    Step
        Components in seconds: a pass through all layers, and with pipeline stages the hops
        and the wait for other micro-batches.
    """
    near, elsewhere = _through_layers(work, chip, software, parts, ways)
    own = Component("sequences", count=work.sequences, each=software.sequence_overhead)
    passed = Step.of(*near, own, *elsewhere)
    return passed.then(*_pipeline(work, chip, software, passed))


def _through_layers(
    work: PassWork,
    chip: Chip,
    software: EngineParameters,
    parts: Worked | None = None,
    ways: Ways | None = None,
) -> tuple[tuple[Component, ...], tuple[Component, ...]]:
    """Return what a pass takes on the chip, and elsewhere; what sequences cost apart."""
    parts = parts or worked(work, chip, software)
    elsewhere: tuple[Component, ...] = (idle(FAR), idle(HOST))
    if work.split is not None:
        ways = ways or ways_of(work, work.split, chip, software, parts)
        found = located(work.split, ways)
        parts, elsewhere = parts.left(found.near, found.rest), (found.far, found.host)
    near = (
        *parts.kinds,
        unpacking(chip, parts.widened),
        *parts.prompts,
        _floor(work, software),
        _all_reduce(work, chip, software),
        Component("rank wait", count=2.0 * work.depth * (work.tp > 1), each=software.rank_wait),
        _exchange(work, chip, software),
    )
    return near, elsewhere


def layer_seconds(work: PassWork, chip: Chip, software: EngineParameters) -> Array:
    """Return what a pass takes through some layers alone. [s]"""
    near, elsewhere = _through_layers(work, chip, software)
    return floats(total_of(part.seconds for part in (*near, *elsewhere)))


def slowest_stage(work: PassWork, chip: Chip, software: EngineParameters, passed: Step) -> Array:
    """Return what one micro-batch takes in the slowest stage, hops apart. [s]

    The layers of each kind are spread evenly; the last stage has the head and, where layers do not
    divide, the fewest. Every stage does the host's work for all sequences.

    work : the work of the pass
    chip, software : what a chip prints, and what the engine makes of it
    passed : the pass through all stages
    """
    by_name = {part.name: part.seconds for part in passed.components}
    head, own = by_name["head and norms"], by_name["sequences"]
    if work.apart is None:
        layers = passed.seconds - head - own
        fullest, last = work.fullest * layers, work.last * layers
    else:
        times = [layer_seconds(layer, chip, software) for _, layer in work.apart.kinds]
        counts = [count for count, _ in work.apart.kinds]
        heaviest = partial(heaviest_stage, amounts=times, counts=counts, stages=work.stages)
        fullest, last = (heaviest(layers=part * sum(counts)) for part in (work.fullest, work.last))
    if work.apart is not None and work.split is not None:
        head = layer_seconds(work.apart.ends, chip, software)
    # Kinds priced apart may take longer than together, but no stage longer than all of them.
    return np.minimum(np.maximum(fullest, last + head) + own, passed.seconds)


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
    work: PassWork, chip: Chip, software: EngineParameters, passed: Step
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
    alone = passed.seconds + hops.seconds
    whole = pipelined_step(
        pass_time=passed.seconds,
        hops=hops.seconds,
        stages=work.stages,
        slowest=slowest_stage(work, chip, software, passed),
        streams=work.in_flight,
        own=work.sequences * software.stage_overhead,
    )
    return hops, Component("stage wait", count=1.0, each=whole - alone)
