"""Time that no width shortens: launches, collectives, hops and the host's own."""

from fastcalc.core.step import ACTIVATION_BYTES, Component
from fastcalc.explain.context import Pass
from fastcalc.explain.terms import Equation, equation, minus, number, one, over, plus, raised, times


def floors(made: Pass, part: Component) -> list[Equation]:
    """Return the layers that pay a floor, and what each pays."""
    numbers, load, has_prompt = made.numbers, made.load, one(made.load.prompt) > 0.0
    experts = times(numbers.setting("expert_layer_extra"), number(load.expert_layers))
    latent = times(numbers.setting("latent_layer_extra"), number(load.latent_layers))
    layers = plus(numbers.counted(load.depth, "layers one after another"), experts)
    floor = numbers.setting("prefill_layer_floor" if has_prompt else "decode_layer_floor")
    return [
        equation("layers", part.count, "", layers if has_prompt else plus(layers, latent)),
        equation("each", part.each, "s", floor),
    ]


def all_reduce(made: Pass, part: Component) -> list[Equation]:
    """Return the bytes of two all-reduces a layer, and the exchanges they take."""
    load, two, ranks = made.load, number(2.0), one(made.load.tp)
    message = times(made.tokens, made.hidden, number(ACTIVATION_BYTES, "B"))
    shots = round(one(part.count) / (2.0 * one(load.depth))) if one(part.count) else 0
    others = times(two, number(load.depth), number(ranks - 1.0), number(message.value, "B"))
    if shots > 1:
        others = over(times(two, others), number(ranks))
    latency = made.numbers.setting("collective_latency")
    return [
        equation("message", message.value, "B", message),
        equation("sent", part.sent, "B", others),
        made.linked(part, is_inside=True),
        equation("exchanges", part.count, "", times(two, number(load.depth), number(shots))),
        equation("each", part.each, "s", latency),
    ]


def exchange(made: Pass, part: Component) -> list[Equation]:
    """Return tokens sent to the ranks of their experts and back, between replicas."""
    load, unit = made.load, number(1.0)
    alone = raised(minus(unit, over(unit, made.shards)), number(made.work.active_experts))
    visits = times(minus(made.shards, unit), minus(unit, alone))
    layers = number(one(load.expert_layers) * one(load.exchanges))
    # A byte an element on the way out, two on the way back.
    there_and_back = number(3.0, "B")
    is_inside = one(load.exchange_is_inside) > 0.0
    latency = made.numbers.setting("collective_latency")
    hop = number(0.0, "s") if is_inside else made.numbers.hop(made.chip.hop)
    return [
        equation("ranks visited", load.destinations, "", visits),
        equation(
            "sent",
            part.sent,
            "B",
            times(layers, there_and_back, made.tokens, made.hidden, number(visits.value)),
        ),
        made.linked(part, is_inside=is_inside),
        equation("exchanges", part.count, "", times(number(2.0), layers)),
        equation("each", part.each, "s", plus(latency, hop)),
    ]


def sequences(made: Pass, part: Component) -> list[Equation]:
    """Return what the host pays for each sequence."""
    return [
        equation("count", part.count, "", made.sequences),
        equation("each", part.each, "s", made.numbers.setting("sequence_overhead")),
    ]


def hops(made: Pass, part: Component) -> list[Equation]:
    """Return the way from stage to stage."""
    is_inside = one(made.load.hops_are_inside) > 0.0
    crossings = minus(number(made.load.stages), number(1.0))
    message = times(made.tokens, made.hidden, number(ACTIVATION_BYTES, "B"))
    hop = made.numbers.hop(part.each)
    return [
        equation("sent", part.sent, "B", times(crossings, message)),
        made.linked(part, is_inside=is_inside),
        equation("hops", part.count, "", crossings),
        equation("each", part.each, "s", hop),
    ]
