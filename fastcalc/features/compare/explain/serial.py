"""Times that parallelism does not shorten: launches, collectives, hops, waits and host time."""

from fastcalc.core.step.component import Component
from fastcalc.core.step.step import KnownParts, slowest_stage
from fastcalc.features.compare.explain.context import PassContext
from fastcalc.features.compare.explain.explained import Formulas, component
from fastcalc.features.compare.explain.terms import Term, equation, largest, named, number, scalar


@component("layer floors", "kernel launches, ramps and tails, layer by layer")
def _floors(context: PassContext, _: Component) -> Formulas:
    numbers = context.numbers
    pass_work = context.pass_work
    has_prompt = scalar(context.pass_work.prompt) > 0.0
    experts = numbers.setting("expert_layer_extra") * pass_work.routing.layers
    layers = numbers.counted(pass_work.depth, "layers one after another") + experts
    if not has_prompt:
        layers += numbers.setting("latent_layer_extra") * pass_work.latents.layers
        layers += numbers.setting("indexer_layer_extra") * pass_work.latents.indexers
        layers += numbers.setting("recurrent_layer_extra") * pass_work.latents.recurrent
    decode, floor = numbers.setting("decode_layer_floor"), numbers.setting("prefill_layer_floor")
    ahead = numbers.setting("launches_ahead")
    if not has_prompt:
        floor = decode
    elif ahead.value and scalar(pass_work.sequences) > 0.0 and floor.value > decode.value:
        floor = floor - ahead * (floor - decode) * pass_work.depth / layers
    return [("layers", layers), ("each", floor)]


@component("all-reduce", "two all-reduces per layer over the tensor-parallel ranks")
def _all_reduce(context: PassContext, part: Component) -> Formulas:
    pass_work, group = context.pass_work, context.pass_work.tp
    chips, is_inside = scalar(group.chips), scalar(group.is_inside) > 0.0
    reductions = number(2.0) * pass_work.depth
    message = named("message", "B", context.message())
    shots = round(scalar(part.count) / (2.0 * scalar(pass_work.depth))) if scalar(part.count) else 0
    sent = reductions * (chips - 1.0) * message.answer
    if shots > 1:
        sent = 2.0 * sent / chips
    latency = _exchange_latency(context, is_inside=is_inside)
    if not is_inside:
        latency = latency + context.numbers.setting("crossing_latency")
    return [
        message,
        ("sent", sent),
        context.linked(is_inside=is_inside, fraction=group.link_share),
        ("exchanges", reductions * shots),
        ("each", latency),
    ]


@component("rank wait", "waiting for the slowest rank of every all-reduce")
def _rank_wait(context: PassContext, _: Component) -> Formulas:
    sums = number(2.0) * context.pass_work.depth
    return [("sums", sums), ("each", context.numbers.setting("rank_wait"))]


def _exchange_latency(context: PassContext, *, is_inside: bool) -> Term:
    latency = context.numbers.setting("collective_latency")
    return latency if is_inside else latency + context.numbers.hop(context.chip.hop)


@component("expert exchange", "all-to-all of tokens to the ranks of their experts and back")
def _exchange(context: PassContext, _: Component) -> Formulas:
    pass_work, exchange = context.pass_work, context.pass_work.exchange
    is_inside = scalar(exchange.is_inside) > 0.0
    experts, missed = context.numbers.work.experts, number(1.0)
    for picked in range(int(context.numbers.work.active_experts)):
        missed = missed * (1.0 - experts / context.shards / (experts - picked))
    visits = (context.shards - 1.0) * (1.0 - missed)
    layers = number(scalar(pass_work.routing.layers) * scalar(exchange.happens))
    # One byte per element on the way out, two on the way back.
    tokens = context.decoded + pass_work.prompt
    visited = equation("ranks visited", exchange.destinations, "", visits)
    gathers = context.numbers.setting("exchange_gathers")
    reached = visited.answer
    if gathers.value and scalar(exchange.is_one_host):
        reached = reached + gathers * (context.shards - 1.0 - reached)
    sent = layers * number(3.0, "B") * tokens * context.hidden * reached * scalar(exchange.crossing)
    return [
        visited,
        ("sent", sent),
        context.linked(is_inside=is_inside, fraction=exchange.link_share),
        ("exchanges", 2.0 * layers),
        ("each", _exchange_latency(context, is_inside=is_inside)),
    ]


@component("sequences", "host and sampler time per sequence")
def _sequences(context: PassContext, _: Component) -> Formulas:
    return [("count", context.sequences), ("each", context.numbers.setting("sequence_overhead"))]


@component("stage hops", "activations sent between pipeline stages")
def _stage_hops(context: PassContext, part: Component) -> Formulas:
    pipeline = context.pass_work.pipeline
    crossings, is_inside = number(pipeline.stages) - 1.0, scalar(pipeline.is_inside) > 0.0
    exchange = context.numbers.setting("collective_latency")
    is_exchange = is_inside and exchange.value >= scalar(context.chip.hop_inside)
    return [
        ("sent", crossings * context.message()),
        context.linked(is_inside=is_inside),
        ("hops", crossings),
        ("each", exchange if is_exchange else context.numbers.hop(part.seconds_each)),
    ]


@component("stage wait", "waiting while the slowest stage serves the micro-batches ahead")
def _stage_wait(context: PassContext, part: Component) -> Formulas:
    pass_work, hops = context.pass_work, context.seconds["stage hops"]
    chip, software, pipeline = context.chip, context.machine.software, pass_work.pipeline
    passed = number(sum(context.seconds.values()) - hops, "s")
    # The slowest stage is the fullest, or the last with the output head.
    seconds = slowest_stage(pass_work, chip, software, KnownParts.of(pass_work, chip, software))
    stage = named("slowest stage", "s", number(seconds, "s"))
    if pass_work.layer_passes is None and pass_work.split is None:
        before = context.schedule.expected(pass_work).components[:-2]  # all but hops and wait
        spent = {term.name: number(term.seconds, "s") for term in before}
        head, sequences = spent.pop("head and norms"), spent.pop("sequences")
        layers = number(sum(term.value for term in spent.values()), "s")
        stages = largest(pipeline.fullest * layers, pipeline.last * layers + head)
        stage = equation("slowest stage", seconds, "s", stages + sequences)
    flowing = min(scalar(pass_work.in_flight), scalar(pipeline.stages))
    round_time = stage.answer
    if flowing > 1.0:
        round_time += context.sequences * context.numbers.setting("stage_overhead")
    rounds = number(flowing) * round_time
    return [stage, equation("time", part.seconds_each, "s", rounds - (passed + number(hops, "s")))]


@component(
    "drafting", "draft tokens before the step: a layer of the slowest type, or a draft model's step"
)
def _drafting(context: PassContext, part: Component) -> Formulas:
    if context.work.layer_kinds or context.machine.is_spatial or context.machine.draft:
        return [("each", number(part.seconds_each, "s"))]
    plain = context.schedule.expected(context.schedule.decode_work(verified=1.0)).seconds
    return [("each", number(plain, "s") / context.work.depth)]


@component("as measured", "correction by your own measurements of this deployment")
def _as_measured(_: PassContext, part: Component) -> Formulas:
    return [named("time", "s", number(part.seconds_each, "s"))]


@component("up to the bound", "time that keeps an engine without losses within the bound")
def _up_to_the_bound(context: PassContext, part: Component) -> Formulas:
    bound, before = context.schedule.bound().seconds, sum(context.seconds.values())
    return [equation("time", part.seconds_each, "s", number(bound, "s") - number(before, "s"))]
