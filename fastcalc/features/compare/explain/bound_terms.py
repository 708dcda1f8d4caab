"""Formulas for the hardware bound, and for wafers, hosts and slower memories."""

import numpy as np

from fastcalc.core.chip.tier import Tier
from fastcalc.core.model.kinds import READ
from fastcalc.core.step.bound import NARROWEST_ACTIVATION_BYTES, Bound
from fastcalc.core.step.component import Component
from fastcalc.core.step.pass_work import ACTIVATION_BYTES, FLOPS_PER_PARAMETER
from fastcalc.core.step.schedule import Schedule
from fastcalc.features.compare.explain.context import PassContext
from fastcalc.features.compare.explain.explained import Formulas, component
from fastcalc.features.compare.explain.numbers import Numbers
from fastcalc.features.compare.explain.terms import (
    Term,
    equation,
    largest,
    named,
    number,
    scalar,
    total,
)
from fastcalc.features.compare.explain.weights import cache_moved, cache_read, looked_back
from fastcalc.formulas.pipeline import REFERENCE_WIDTH


@component("layer sweeps", "a token passes the layers one after another, each in its region")
def _sweeps(context: PassContext, part: Component) -> Formulas:
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
def _hops(context: PassContext, part: Component) -> Formulas:
    message = context.hidden * number(ACTIVATION_BYTES, "B") * context.pass_work.verified
    return [
        ("sent", context.everywhere * message),
        context.linked(is_inside=False),
        ("hops", context.everywhere),
        ("each", context.numbers.hop(part.seconds_each)),
    ]


@component("host", "weights offloaded to the host, multiplied by its cores while the chip waits")
def _host(context: PassContext, part: Component) -> Formulas:
    bandwidth = context.numbers.setting("host_bandwidth_fraction")
    memory = next(tier for tier in context.machine.tiers if tier.flop_rates)
    printed = context.numbers.bandwidth(memory)
    fraction = number(part.bandwidth / (bandwidth.value * printed.value))
    link = context.numbers.setting("host_link_fraction") * context.numbers.way_to(memory)
    return [
        ("bytes", number(part.bytes, "B")),
        ("read rate", bandwidth * printed * fraction),
        ("FLOPs", number(part.flops, "FLOP")),
        ("link rate", link),
        ("turns", number(part.count)),
        ("each", context.numbers.setting("host_layer_overhead")),
    ]


@component("shared memory", "weights outside of regions, read one after another")
@component("slower memory", "bytes that the chip reads from slower memory tiers")
def _elsewhere(_: PassContext, part: Component) -> Formulas:
    return [
        ("bytes", number(part.bytes, "B")),
        ("read rate", number(part.bandwidth, "B/s")),
        ("FLOPs", number(part.flops, "FLOP")),
        ("rate", number(part.flop_rate, "FLOP/s")),
    ]


class BoundContext:
    """A forward pass at the hardware bound: counts of decoded sequences and prompt tokens."""

    def __init__(self, schedule: Schedule, *, decoded: float, prompt: float) -> None:
        placement = schedule.placement
        self.traffic, self.work, self.layout = schedule.traffic, placement.work, placement.layout
        self.numbers, self.machine = Numbers(placement), placement.machine
        self.kept = float(self.traffic.speculation.tokens_per_pass)
        self.decoded, self.prompt = decoded, prompt
        self.chips = number(self.layout.chips)
        self.picked = number(self.work.active_experts) / (self.work.experts or 1.0)

    def memories(self, tier: Tier) -> Term:
        """Return a deployment's number of memories in a tier. Chips may share a memory."""
        chips = self.layout.chips
        return number(np.round(chips * tier.share(chips)))

    def bandwidth(self, tier: Tier) -> Term:
        """Return the combined read bandwidth of a tier, local or over all links. [byte/s]"""
        in_place = self.memories(tier) * self.numbers.bandwidth(tier)
        is_linked = not tier.flop_rates and self.layout.chips * tier.link < in_place.value
        return self.chips * self.numbers.way_to(tier) if is_linked else in_place

    def peak(self, group: str) -> Term:
        """Return the peak FLOP rate for a weight category, including the host's cores. [FLOP/s]"""
        chip_peak = self.numbers.peak(self.machine.peaks.of(group))
        cores = (
            self.numbers.peak(tier.flop_rates.of(group), tier) * tier.share(self.layout.chips)
            for tier in self.machine.tiers
            if tier.flop_rates
        )
        return total([chip_peak, *cores])


def components(bound: Bound) -> list[Component]:
    """Return the memory, compute and link terms of a bound as plain floats."""
    work = bound.work
    return [
        Component("memory", bytes=scalar(work.bytes), bandwidth=scalar(work.bandwidth)),
        Component("compute", flops=scalar(work.flops), flop_rate=scalar(work.flop_rate)),
        Component("link", sent=scalar(work.sent), link=scalar(work.link)),
    ]


@component("memory", "fewest bytes to read, at data-sheet bandwidth")
def _memory(context: BoundContext, part: Component) -> Formulas:
    numbers, tiers, places = context.numbers, context.machine.tiers, context.machine.place
    weights = {group: numbers.stored(group) for group in ("dense", "head", "experts")}
    weights["experts"] *= context.picked
    stored = named("weights", "B", total(weights.values()))
    cache = named("cache", "B", cache_read(numbers, context.traffic, 1.0))
    caches = number(context.decoded) * cache.answer
    moved = stored.answer + caches
    # Memories are read in parallel; the one with the shortest read time fills first.
    memories = [
        (context.memories(tier) * numbers.capacity(tier), context.bandwidth(tier)) for tier in tiers
    ]
    memories.sort(key=lambda memory: memory[0].value / memory[1].value)
    left, times = number(moved.value, "B"), []
    for index, (capacity, _) in enumerate(memories):
        times.append(left / total(bandwidth for _, bandwidth in memories[index:]))
        left = left - capacity
    read = weights | {"kv": caches}
    for at, tier in enumerate(tiers):  # bytes that the user placed in a tier are read from there
        placed_bytes = total(
            read[group] if fractions[at] == 1.0 else read[group] * fractions[at]
            for group, fractions in places.items()
            if fractions[at] and group in read
        )
        times += [placed_bytes / context.bandwidth(tier)] if placed_bytes.value else []
    time = equation("time", part.memory_time, "s", largest(*times))
    return [stored, *([cache] if context.decoded else []), ("bytes", moved), time]


@component(
    "compute", "FLOPs of all tokens, at the fastest data-sheet dense rate without loss of precision"
)
def _compute(context: BoundContext, part: Component) -> Formulas:
    numbers = context.numbers
    dense, head, experts, attention = (context.peak(group) for group in READ)
    decoded = context.decoded * context.kept
    all_tokens, routed = decoded + context.prompt, numbers.parameters("experts") * context.picked
    products = (
        ("dense", all_tokens, numbers.parameters("dense"), dense),
        (
            "norms",
            all_tokens,
            numbers.parameters("small"),
            max(dense, head, key=lambda rate: rate.value),
        ),
        ("head", decoded, numbers.parameters("head"), head),
        ("experts", all_tokens, routed, experts),
    )
    terms = [
        (name, number(tokens) * FLOPS_PER_PARAMETER * parameters / rate)
        for name, tokens, parameters, rate in products
    ]
    looked = total(
        number(count) * looked_back(numbers, context.traffic, 1.0, is_prompt=is_prompt)
        for count, is_prompt in ((decoded, False), (context.prompt, True))
        if count
    )
    terms.append(("attention", looked / attention))
    spent = [named(name, "s", term) for name, term in terms]
    summed = total(equation_of_part.answer for equation_of_part in spent) / context.chips
    return [*spent, equation("time", part.compute_time, "s", summed)]


@component("link", "bytes that must cross links, with in-switch reductions")
def _link(context: BoundContext, _: Component) -> Formulas:
    work, layout, chip = context.work, context.layout, context.machine.chip
    tokens = number(context.decoded) * context.kept + context.prompt
    hidden = context.numbers.counted(work.hidden or 0.0, "hidden width")
    message = tokens * hidden * number(NARROWEST_ACTIVATION_BYTES, "B")
    sent = message / layout.dp
    reducing = scalar(context.machine.chips_of(layout.tp))
    if reducing > 1.0:
        chips = number(reducing)
        crossed = number(2.0) * work.depth * (chips - 1.0) * message
        sent = crossed / (chips * layout.pp * layout.dp)
    is_inside = reducing > 1.0 or bool(chip.link >= chip.link_out)
    return [("sent", sent), ("link rate", context.numbers.link(is_inside=is_inside))]
