"""Sweeps over the regions of a wafer, hops between wafers, and what hosts and far memories do."""

from fastcalc.core.component import Component
from fastcalc.core.pass_work import ACTIVATION_BYTES
from fastcalc.explain.attention import cache_moved, looked_back
from fastcalc.explain.context import Pass
from fastcalc.explain.explained import component
from fastcalc.explain.terms import Equation, equation, largest, named, number, total


@component("layer sweeps", "a token crosses the layers one after another, each in its region")
def _sweeps(made: Pass, part: Component) -> list[Equation]:
    load, numbers = made.load, made.numbers
    cache = equation("cache", load.cache_bytes, "B", cache_moved(numbers, made.traffic, 1.0))
    stored = (
        numbers.stored("dense") * made.in_region("dense")
        + numbers.stored("small", "head") * made.in_region("head")
        + numbers.stored("routed", "expert_biases") * made.in_region("experts")
        + cache.answer * made.in_region("kv")
    )
    moved = named("read in a sweep", "B", stored)
    looked = looked_back(numbers, made.traffic, 1.0)
    flops = equation("FLOPs a token", load.attention_flops, "FLOP", looked)
    # All experts of each region.
    products = (
        (numbers.parameters("dense"), made.reached("dense")),
        (numbers.parameters("small", "head"), made.reached("head")),
        (
            numbers.parameters("routed"),
            made.reached("routed") * numbers.setting("grouped_gemm_fraction"),
        ),
    )
    spent = [made.two * parameters / rate for parameters, rate in products if parameters.value]
    spent.append(flops.answer / made.reached("attention"))
    memory = named("memory", "s", moved.answer / (made.everywhere * made.bandwidth))
    compute = named("compute", "s", total(spent) / made.everywhere)
    slowest = largest(memory.answer, compute.answer, numbers.setting("decode_layer_floor"))
    layer = named("layer", "s", slowest)
    turns = largest(numbers.counted(load.depth, "layers one after another"), made.decoded)
    time = equation("time", part.seconds, "s", turns * layer.answer)
    return [cache, moved, memory, flops, compute, layer, time]


@component("hops", "activations sent from wafer to wafer")
def _hops(made: Pass, part: Component) -> list[Equation]:
    message = made.hidden * number(ACTIVATION_BYTES, "B") * made.load.verified
    return [
        equation("sent", part.sent, "B", made.everywhere * message),
        made.linked(part, is_inside=False),
        equation("hops", part.count, "", made.everywhere),
        equation("each", part.each, "s", made.numbers.hop(part.each)),
    ]


@component("host", "what lives on the host, multiplied there by its cores while the chip waits")
def _host(made: Pass, part: Component) -> list[Equation]:
    bandwidth = made.numbers.setting("host_bandwidth_fraction")
    memory = next(tier for tier in made.machine.tiers if tier.flop_rates)
    printed = made.numbers.bandwidth(memory)
    share = number(part.bandwidth / (bandwidth.value * printed.value))
    link = made.numbers.setting("host_link_fraction") * made.numbers.way_to(memory)
    return [
        equation("bytes", part.bytes, "B", number(part.bytes, "B")),
        equation("read rate", part.bandwidth, "B/s", bandwidth * printed * share),
        equation("FLOPs", part.flops, "FLOP", number(part.flops, "FLOP")),
        equation("link rate", part.link, "B/s", link),
        equation("turns", part.count, "", number(part.count)),
        equation("each", part.each, "s", made.numbers.setting("host_layer_overhead")),
    ]


@component("shared memory", "what is outside of regions, read by one after another")
@component("slower memory", "what the chip reads from other memories than its first")
def _elsewhere(_: Pass, part: Component) -> list[Equation]:
    return [
        equation("bytes", part.bytes, "B", number(part.bytes, "B")),
        equation("read rate", part.bandwidth, "B/s", number(part.bandwidth, "B/s")),
        equation("FLOPs", part.flops, "FLOP", number(part.flops, "FLOP")),
        equation("rate", part.flop_rate, "FLOP/s", number(part.flop_rate, "FLOP/s")),
    ]
