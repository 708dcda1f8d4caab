"""The three terms of the speed of light, with their numbers; the largest counts.

The formulas are those of `fastcalc.core.bound`, written out; a test holds that both agree.
"""

from fastcalc.core.bound import NARROWEST_ACTIVATION_BYTES, Bound
from fastcalc.core.pass_work import FLOPS_PER_PARAMETER
from fastcalc.core.placement import Placement
from fastcalc.core.step import Component
from fastcalc.core.traffic import Traffic
from fastcalc.explain.attention import cache_read, looked_back
from fastcalc.explain.explained import ExplainedPart, shown, timing
from fastcalc.explain.numbers import Numbers
from fastcalc.explain.terms import (
    Equation,
    Term,
    equation,
    largest,
    minus,
    number,
    one,
    over,
    plus,
    times,
)


def terms_of_light(
    placement: Placement, traffic: Traffic, light: Bound, decoded: float, prompt: float
) -> tuple[ExplainedPart, ...]:
    """Return memory, compute and link of a pass of the whole deployment.

    Parameters
    ----------
    placement, traffic : Placement, Traffic
        What was evaluated.
    light : Bound
        Its speed of light, one row.
    decoded, prompt : float
        Sequences decoded, and prompt tokens. [1]
    """
    work, numbers = light.work, Numbers(placement)
    kept = float(traffic.speculation.tokens_per_pass)
    tokens = plus(times(number(decoded), number(kept)), number(prompt))
    sent, link = one(work.sent), one(work.link)
    parts = (
        ExplainedPart(
            Component("memory", bytes=one(work.bytes), bandwidth=one(work.bandwidth)),
            _memory(placement, traffic, numbers, work, decoded),
        ),
        ExplainedPart(
            Component("compute", flops=one(work.flops), flop_rate=one(work.flop_rate)),
            _compute(placement, traffic, numbers, work, decoded * kept, prompt),
        ),
        _link(placement, numbers, Component("link", sent=sent, link=link), tokens),
    )
    largest_index = int(light.limiter.ravel()[0])
    return tuple(
        ExplainedPart(part.component, part.equations, is_hidden=index != largest_index)
        for index, part in enumerate(parts)
    )


def _memory(
    placement: Placement, traffic: Traffic, numbers: Numbers, light: Component, decoded: float
) -> tuple[Equation, ...]:
    work, chips = placement.work, number(placement.layout.chips)
    routed = plus(
        numbers.stored(work.routed, "routed experts"),
        numbers.stored(work.expert_biases, "their biases"),
    )
    picked = over(number(work.active_experts), number(work.experts or 1.0))
    weights = plus(
        numbers.stored(work.dense, "dense matrices"),
        numbers.stored(work.small, "norms, biases, routers"),
        numbers.stored(work.head, "output head"),
        times(routed, picked),
    )
    cache = cache_read(work, numbers, traffic, 1.0)
    moved = plus(number(weights.value, "B"), times(number(decoded), number(cache.value, "B")))
    bytes_read = number(moved.value, "B")
    return shown(
        [
            equation("weights", weights.value, "B", weights),
            *([equation("cache", cache.value, "B", cache)] if decoded else []),
            equation("bytes", light.bytes, "B", moved),
            equation("time", light.memory_time, "s", _over_tiers(numbers, bytes_read, chips)),
        ]
    )


def _over_tiers(numbers: Numbers, moved: Term, chips: Term) -> Term:
    """Return the least time to read bytes over all memory tiers. [s]"""
    tiers = numbers.machine.tiers
    bands = [numbers.bandwidth(tier) for tier in tiers]
    times_of: list[Term] = []
    left = moved
    for index, tier in enumerate(tiers):
        times_of.append(over(left, times(chips, plus(*bands[index:]))))
        left = minus(left, times(chips, numbers.capacity(tier)))
    return largest(*times_of)


def _compute(
    placement: Placement,
    traffic: Traffic,
    numbers: Numbers,
    light: Component,
    decoded: float,
    prompt: float,
) -> tuple[Equation, ...]:
    work, rates, chips = placement.work, numbers.machine.peaks, number(placement.layout.chips)
    both = number(decoded + prompt)
    small = numbers.parameters(work.small, "norms, biases, routers")
    picked = over(number(work.active_experts), number(work.experts or 1.0))
    products = (
        ("dense", both, numbers.parameters(work.dense, "dense matrices"), rates.dense),
        ("norms", both, small, max(rates.dense, rates.head)),
        ("head", number(decoded), numbers.parameters(work.head, "output head"), rates.head),
        (
            "experts",
            both,
            times(numbers.parameters(work.routed, "routed experts"), picked),
            rates.routed,
        ),
    )
    two = number(FLOPS_PER_PARAMETER)
    spent = [
        equation(name, term.value, "s", term)
        for name, tokens, parameters, rate in products
        for term in [over(times(tokens, two, parameters), numbers.peak(rate))]
    ]
    looked = [
        times(number(count), looked_back(work, numbers, traffic, 1.0, is_prompt=is_prompt))
        for count, is_prompt in ((decoded, False), (prompt, True))
        if count
    ]
    attention = over(plus(*looked), numbers.peak(rates.attention))
    spent.append(equation("attention", attention.value, "s", attention))
    summed = plus(*(number(each.result.value, "s") for each in spent))
    return shown([*spent, equation("time", light.compute_time, "s", over(summed, chips))])


def _link(placement: Placement, numbers: Numbers, part: Component, tokens: Term) -> ExplainedPart:
    work, layout = placement.work, placement.layout
    hidden = numbers.counted(work.hidden or 0.0, "hidden width")
    message = times(tokens, hidden, number(NARROWEST_ACTIVATION_BYTES, "B"))
    replicas = number(layout.dp)
    chip = numbers.machine.chip
    is_inside = layout.tp > 1 or bool(chip.link >= chip.link_out)
    sent = over(message, replicas)
    if layout.tp > 1:
        ranks, unit = number(layout.tp), number(1.0)
        crossed = times(number(2.0), number(work.depth), minus(ranks, unit), message)
        sent = over(crossed, times(ranks, number(layout.pp), replicas))
    if not part.seconds:
        return ExplainedPart(part, ())
    rate = numbers.link(is_inside=is_inside)
    made = shown(
        [equation("sent", part.sent, "B", sent), equation("link rate", part.link, "B/s", rate)]
    )
    return ExplainedPart(part, (*made, *timing(part)))
