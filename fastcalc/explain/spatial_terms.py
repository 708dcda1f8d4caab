"""The sweeps over regions of a wafer, each layer in its own, and the hops between wafers."""

from fastcalc.core.step import ACTIVATION_BYTES, Component
from fastcalc.explain.attention import cache_read, looked_back
from fastcalc.explain.context import Pass
from fastcalc.explain.terms import Equation, Term, equation, largest, number, over, plus, times


def sweeps(made: Pass, part: Component) -> list[Equation]:
    """Return one layer as the slowest of sweep, arithmetic and floor, and how many turns."""
    load, numbers, work = made.load, made.numbers, made.work
    cache = cache_read(work, numbers, made.traffic, 1.0)
    stored = plus(
        numbers.stored(work.dense, "dense matrices"),
        numbers.stored(work.small, "norms, biases, routers"),
        numbers.stored(work.head, "output head"),
        numbers.stored(work.routed, "routed experts"),
        numbers.stored(work.expert_biases, "their biases"),
    )
    held = number(load.cache_bytes, "B")
    moved = plus(stored, held)
    memory = over(number(moved.value, "B"), times(made.everywhere, made.bandwidth))
    compute = _computed(made)
    floor = numbers.setting("decode_layer_floor")
    layer = largest(number(memory.value, "s"), number(compute.value, "s"), floor)
    depth = numbers.counted(load.depth, "layers one after another")
    turns = largest(depth, times(made.sequences, number(load.verified)))
    return [
        equation("cache", load.cache_bytes, "B", cache),
        equation("read in a sweep", moved.value, "B", moved),
        equation("memory", memory.value, "s", memory),
        equation(
            "FLOPs a token",
            load.attention_flops,
            "FLOP",
            looked_back(work, numbers, made.traffic, 1.0),
        ),
        equation("compute", compute.value, "s", compute),
        equation("layer", layer.value, "s", layer),
        equation("time", part.seconds, "s", times(turns, number(layer.value, "s"))),
    ]


def hops(made: Pass, part: Component) -> list[Equation]:
    """Return the way of a sequence's tokens over all wafers."""
    message = times(made.hidden, number(ACTIVATION_BYTES, "B"), number(made.load.verified))
    return [
        equation("sent", part.sent, "B", times(made.everywhere, message)),
        made.linked(part, is_inside=False),
        equation("hops", part.count, "", made.everywhere),
        equation("each", part.each, "s", made.numbers.hop(part.each)),
    ]


def _computed(made: Pass) -> Term:
    """Return the arithmetic of one token in all regions, all experts of each. [s]"""
    numbers, work = made.numbers, made.work
    small = numbers.parameters(work.small, "norms, biases, routers")
    head = plus(small, numbers.parameters(work.head, "output head"))
    products = (
        (numbers.parameters(work.dense, "dense matrices"), made.reached("dense")),
        (head, made.reached("head")),
        (
            numbers.parameters(work.routed, "routed experts"),
            times(made.reached("routed"), numbers.setting("grouped_gemm_fraction")),
        ),
    )
    spent = [
        over(times(made.two, parameters), rate) for parameters, rate in products if parameters.value
    ]
    attention = number(made.load.attention_flops, "FLOP")
    spent.append(over(attention, made.reached("attention")))
    return over(plus(*spent), made.everywhere)
