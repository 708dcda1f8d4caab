"""The three terms of the bound, with their numbers; the largest counts."""

from fastcalc.core.bound import NARROWEST_ACTIVATION_BYTES, Bound
from fastcalc.core.component import Component
from fastcalc.core.pass_work import FLOPS_PER_PARAMETER
from fastcalc.core.schedule import Schedule
from fastcalc.explain.attention import cache_read, looked_back
from fastcalc.explain.explained import component
from fastcalc.explain.numbers import Numbers
from fastcalc.explain.terms import Equation, equation, largest, named, number, one, total


class BoundPass:
    """A pass of the whole deployment at the bound: sequences decoded, and prompt tokens. [1]"""

    def __init__(self, schedule: Schedule, *, decoded: float, prompt: float) -> None:
        placement = schedule.placement
        self.traffic, self.work, self.layout = schedule.traffic, placement.work, placement.layout
        self.numbers, self.machine = Numbers(placement), placement.machine
        self.kept = float(self.traffic.speculation.tokens_per_pass)
        self.decoded, self.prompt = decoded, prompt
        self.chips = number(self.layout.chips)
        self.picked = number(self.work.active_experts) / (self.work.experts or 1.0)


def components(bound: Bound) -> list[Component]:
    """Return memory, compute and link of a bound as plain floats."""
    work = bound.work
    return [
        Component("memory", bytes=one(work.bytes), bandwidth=one(work.bandwidth)),
        Component("compute", flops=one(work.flops), flop_rate=one(work.flop_rate)),
        Component("link", sent=one(work.sent), link=one(work.link)),
    ]


@component("memory", "the fewest bytes that must be read, at printed bandwidth")
def _memory(made: BoundPass, part: Component) -> list[Equation]:
    numbers = made.numbers
    always = numbers.stored("dense", "small", "head")
    stored = always + numbers.stored("routed", "expert_biases") * made.picked
    weights = named("weights", "B", stored)
    read = cache_read(numbers, made.traffic, 1.0)
    cache = named("cache", "B", read)
    moved = equation("bytes", part.bytes, "B", weights.answer + number(made.decoded) * cache.answer)
    # Tiers are filled from the fastest on, and all of them are read at once.
    tiers = sorted(made.machine.tiers, key=lambda tier: tier.capacity / tier.rate)
    left, times = number(moved.term.value, "B"), []
    for index, tier in enumerate(tiers):
        bandwidth = total(numbers.bandwidth(each) for each in tiers[index:])
        times.append(left / (made.chips * bandwidth))
        left = left - made.chips * numbers.capacity(tier)
    time = equation("time", part.memory_time, "s", largest(*times))
    return [weights, *([cache] if made.decoded else []), moved, time]


@component(
    "compute", "the FLOPs of all tokens, at the fastest printed dense rate that loses nothing"
)
def _compute(made: BoundPass, part: Component) -> list[Equation]:
    numbers, rates = made.numbers, made.machine.peaks
    decoded = made.decoded * made.kept
    both, routed = decoded + made.prompt, numbers.parameters("routed") * made.picked
    products = (
        ("dense", both, numbers.parameters("dense"), rates.dense),
        ("norms", both, numbers.parameters("small"), max(rates.dense, rates.head)),
        ("head", decoded, numbers.parameters("head"), rates.head),
        ("experts", both, routed, rates.routed),
    )
    terms = [
        (name, number(tokens) * FLOPS_PER_PARAMETER * parameters / numbers.peak(rate))
        for name, tokens, parameters, rate in products
    ]
    looked = total(
        number(count) * looked_back(numbers, made.traffic, 1.0, is_prompt=is_prompt)
        for count, is_prompt in ((decoded, False), (made.prompt, True))
        if count
    )
    terms.append(("attention", looked / numbers.peak(rates.attention)))
    spent = [named(name, "s", term) for name, term in terms]
    summed = total(each.answer for each in spent) / made.chips
    return [*spent, equation("time", part.compute_time, "s", summed)]


@component("link", "what must cross links, reductions done in the switch")
def _link(made: BoundPass, part: Component) -> list[Equation]:
    work, layout, chip = made.work, made.layout, made.machine.chip
    tokens = number(made.decoded) * made.kept + made.prompt
    hidden = made.numbers.counted(work.hidden or 0.0, "hidden width")
    message = tokens * hidden * number(NARROWEST_ACTIVATION_BYTES, "B")
    sent = message / layout.dp
    if layout.tp > 1:
        ranks = number(layout.tp)
        crossed = number(2.0) * work.depth * (ranks - 1.0) * message
        sent = crossed / (ranks * layout.pp * layout.dp)
    is_inside = bool(layout.tp > 1) or bool(chip.link >= chip.link_out)
    return [
        equation("sent", part.sent, "B", sent),
        equation("link rate", part.link, "B/s", made.numbers.link(is_inside=is_inside)),
    ]
