"""Layer sweeps over the regions of a wafer, hops between wafers, hosts and slower memories."""

from fastcalc.core.step.component import Component
from fastcalc.core.step.pass_work import ACTIVATION_BYTES
from fastcalc.features.compare.explain.attention import cache_moved, looked_back
from fastcalc.features.compare.explain.context import PassContext
from fastcalc.features.compare.explain.explained import component
from fastcalc.features.compare.explain.terms import (
    Equation,
    equation,
    largest,
    named,
    number,
    total,
)
from fastcalc.formulas.pipeline import REFERENCE_WIDTH


@component("layer sweeps", "a token passes the layers one after another, each in its region")
def _sweeps(context: PassContext, part: Component) -> list[Equation]:
    pass_work, numbers = context.pass_work, context.numbers
    cache = equation("cache", pass_work.bytes.kv, "B", cache_moved(numbers, context.traffic, 1.0))
    stored = (
        numbers.stored("dense") * context.in_region("dense")
        + numbers.stored("head") * context.in_region("head")
        + numbers.stored("experts") * context.in_region("experts")
        + cache.answer * context.in_region("kv")
    )
    moved = named("read in a sweep", "B", stored)
    looked = looked_back(numbers, context.traffic, 1.0)
    flops = equation("FLOPs per token", pass_work.flops.kv, "FLOP", looked)
    # All experts of each region.
    products = (
        (numbers.parameters("dense"), context.reached("dense")),
        (numbers.parameters("small", "head"), context.reached("head")),
        (
            numbers.parameters("experts"),
            context.reached("experts") * numbers.setting("grouped_gemm_fraction"),
        ),
    )
    spent = [context.two * parameters / rate for parameters, rate in products if parameters.value]
    spent.append(flops.answer / context.reached("kv"))
    memory = named("memory", "s", moved.answer / (context.everywhere * context.bandwidth))
    compute = named("compute", "s", total(spent) / context.everywhere)
    exponent, floor = numbers.setting("floor_width_exponent"), numbers.setting("decode_layer_floor")
    widened = floor * (context.hidden / number(REFERENCE_WIDTH)) ** exponent
    floors = [named("floor", "s", widened)] if exponent.value else []
    slowest = largest(memory.answer, compute.answer, floors[0].answer if floors else floor)
    layer = named("layer", "s", slowest)
    rounds = largest(numbers.counted(pass_work.depth, "layers one after another"), context.decoded)
    time = equation("time", part.seconds, "s", rounds * layer.answer)
    return [cache, moved, memory, flops, compute, *floors, layer, time]


@component("hops", "activations sent between wafers")
def _hops(context: PassContext, part: Component) -> list[Equation]:
    message = context.hidden * number(ACTIVATION_BYTES, "B") * context.pass_work.verified
    return [
        equation("sent", part.sent, "B", context.everywhere * message),
        context.linked(part, is_inside=False),
        equation("hops", part.count, "", context.everywhere),
        equation("each", part.seconds_each, "s", context.numbers.hop(part.seconds_each)),
    ]


@component("host", "weights offloaded to the host, multiplied by its cores while the chip waits")
def _host(context: PassContext, part: Component) -> list[Equation]:
    bandwidth = context.numbers.setting("host_bandwidth_fraction")
    memory = next(tier for tier in context.machine.tiers if tier.flop_rates)
    printed = context.numbers.bandwidth(memory)
    fraction = number(part.bandwidth / (bandwidth.value * printed.value))
    link = context.numbers.setting("host_link_fraction") * context.numbers.way_to(memory)
    return [
        equation("bytes", part.bytes, "B", number(part.bytes, "B")),
        equation("read rate", part.bandwidth, "B/s", bandwidth * printed * fraction),
        equation("FLOPs", part.flops, "FLOP", number(part.flops, "FLOP")),
        equation("link rate", part.link, "B/s", link),
        equation("turns", part.count, "", number(part.count)),
        equation("each", part.seconds_each, "s", context.numbers.setting("host_layer_overhead")),
    ]


@component("shared memory", "weights outside of regions, read one after another")
@component("slower memory", "bytes that the chip reads from slower memory tiers")
def _elsewhere(_: PassContext, part: Component) -> list[Equation]:
    return [
        equation("bytes", part.bytes, "B", number(part.bytes, "B")),
        equation("read rate", part.bandwidth, "B/s", number(part.bandwidth, "B/s")),
        equation("FLOPs", part.flops, "FLOP", number(part.flops, "FLOP")),
        equation("rate", part.flop_rate, "FLOP/s", number(part.flop_rate, "FLOP/s")),
    ]
