"""Time that no width shortens: launches, collectives, hops, waits and the host's own."""

from fastcalc.core.component import Component, Step
from fastcalc.core.step import slowest_stage
from fastcalc.explain.context import Pass
from fastcalc.explain.explained import component
from fastcalc.explain.terms import Equation, Term, equation, largest, named, number, one


@component("layer floors", "launches, ramps and tails of serial kernels, layer after layer")
def _floors(made: Pass, part: Component) -> list[Equation]:
    numbers, load, has_prompt = made.numbers, made.load, one(made.load.prompt) > 0.0
    experts = numbers.setting("expert_layer_extra") * load.expert_layers
    layers = numbers.counted(load.depth, "layers one after another") + experts
    if not has_prompt:
        layers += numbers.setting("latent_layer_extra") * load.latent_layers
    floor = numbers.setting("prefill_layer_floor" if has_prompt else "decode_layer_floor")
    return [
        equation("layers", part.count, "", layers),
        equation("each", part.each, "s", floor),
    ]


@component("all-reduce", "two sums a layer over the tensor-parallel ranks")
def _all_reduce(made: Pass, part: Component) -> list[Equation]:
    load, chips, is_inside = made.load, one(made.load.tp_chips), one(made.load.tp_is_inside) > 0.0
    reductions = number(2.0) * load.depth
    message = named("message", "B", made.message())
    shots = round(one(part.count) / (2.0 * one(load.depth))) if one(part.count) else 0
    sent = reductions * (chips - 1.0) * message.answer
    if shots > 1:
        sent = 2.0 * sent / chips
    return [
        message,
        equation("sent", part.sent, "B", sent),
        made.linked(part, is_inside=is_inside, share=load.link_share),
        equation("exchanges", part.count, "", reductions * shots),
        equation("each", part.each, "s", _exchange_latency(made, is_inside=is_inside)),
    ]


@component("rank wait", "waiting for the slowest rank of every sum")
def _rank_wait(made: Pass, part: Component) -> list[Equation]:
    sums = number(2.0) * made.load.depth
    return [
        equation("sums", part.count, "", sums),
        equation("each", part.each, "s", made.numbers.setting("rank_wait")),
    ]


def _exchange_latency(made: Pass, *, is_inside: bool) -> Term:
    latency = made.numbers.setting("collective_latency")
    return latency if is_inside else latency + made.numbers.hop(made.chip.hop)


@component("expert exchange", "tokens sent to the ranks of their experts and back")
def _exchange(made: Pass, part: Component) -> list[Equation]:
    load, is_inside = made.load, one(made.load.exchange_is_inside) > 0.0
    experts, missed = made.numbers.work.experts, number(1.0)
    for picked in range(int(made.numbers.work.active_experts)):
        missed = missed * (1.0 - experts / made.shards / (experts - picked))
    visits = (made.shards - 1.0) * (1.0 - missed)
    layers = number(one(load.expert_layers) * one(load.exchanges))
    # A byte an element on the way out, two on the way back.
    tokens = made.decoded + load.prompt
    visited = equation("ranks visited", load.destinations, "", visits)
    gathers = made.numbers.setting("exchange_gathers")
    reached = visited.answer
    if gathers.value and one(load.is_one_host):
        reached = reached + gathers * (made.shards - 1.0 - reached)
    sent = layers * number(3.0, "B") * tokens * made.hidden * reached * one(load.crossing)
    return [
        visited,
        equation("sent", part.sent, "B", sent),
        made.linked(part, is_inside=is_inside, share=load.exchange_link_share),
        equation("exchanges", part.count, "", 2.0 * layers),
        equation("each", part.each, "s", _exchange_latency(made, is_inside=is_inside)),
    ]


@component("sequences", "host and sampler time of each sequence")
def _sequences(made: Pass, part: Component) -> list[Equation]:
    return [
        equation("count", part.count, "", made.sequences),
        equation("each", part.each, "s", made.numbers.setting("sequence_overhead")),
    ]


@component("stage hops", "activations sent from one pipeline stage to the next")
def _stage_hops(made: Pass, part: Component) -> list[Equation]:
    crossings = number(made.load.stages) - 1.0
    is_inside = one(made.load.hops_are_inside) > 0.0
    exchange = made.numbers.setting("collective_latency")
    is_exchange = is_inside and exchange.value >= one(made.chip.hop_inside)
    return [
        equation("sent", part.sent, "B", crossings * made.message()),
        made.linked(part, is_inside=is_inside),
        equation("hops", part.count, "", crossings),
        equation("each", part.each, "s", exchange if is_exchange else made.numbers.hop(part.each)),
    ]


@component("stage wait", "waiting while the slowest stage serves the micro-batches ahead")
def _stage_wait(made: Pass, part: Component) -> list[Equation]:
    load, hops = made.load, made.seconds["stage hops"]
    passed = number(sum(made.seconds.values()) - hops, "s")
    stage, flowing = _slowest_stage(made), min(one(load.in_flight), one(load.stages))
    turn = stage.answer
    if flowing > 1.0:
        turn += made.sequences * made.numbers.setting("stage_overhead")
    turns = number(flowing) * turn
    return [stage, equation("time", part.each, "s", turns - (passed + number(hops, "s")))]


def _slowest_stage(made: Pass) -> Equation:
    """Return the time of the slowest stage: of the fullest, or of the last, which has the head."""
    load, step = made.load, made.schedule.expected(made.load)
    passed = Step.of(*step.components[:-2])  # all but hops and wait
    software = made.machine.software
    seconds = slowest_stage(load, made.chip, software, passed.seconds, passed.components[1])
    if load.apart is not None:
        return named("slowest stage", "s", number(seconds, "s"))
    spent = {part.name: number(part.seconds, "s") for part in passed.components}
    head, own = spent.pop("head and norms"), spent.pop("sequences")
    layers = number(sum(part.value for part in spent.values()), "s")
    stages = largest(load.fullest * layers, load.last * layers + head)
    return equation("slowest stage", seconds, "s", stages + own)


@component("drafting", "tokens drafted before the pass, a layer each, of the slowest kind")
def _drafting(made: Pass, part: Component) -> list[Equation]:
    if made.work.kinds or made.machine.is_spatial:
        return [named("each", "s", number(part.each, "s"))]
    plain = made.schedule.expected(made.schedule.decode_work(verified=1.0)).seconds
    return [equation("each", part.each, "s", number(plain, "s") / made.work.depth)]


@component("up to the bound", "what an engine without losses would else be ahead of the bound")
def _up_to_the_bound(made: Pass, part: Component) -> list[Equation]:
    bound, before = made.schedule.bound().seconds, sum(made.seconds.values())
    return [equation("time", part.each, "s", number(bound, "s") - number(before, "s"))]
