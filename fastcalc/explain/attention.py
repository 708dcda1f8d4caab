"""What attention reads and multiplies, group of layers by group of layers."""

from functools import partial

from fastcalc.core.component import Component
from fastcalc.core.traffic import Traffic
from fastcalc.explain.context import Pass
from fastcalc.explain.explained import component
from fastcalc.explain.numbers import Numbers
from fastcalc.explain.terms import Equation, Term, equation, number, one, total
from fastcalc.formulas.memory import attended_tokens


@component("attention", "the caches of the decoded sequences, read once each")
def _attention(made: Pass, part: Component) -> list[Equation]:
    load, ranks = made.load, one(made.load.tp)
    read = cache_moved(made.numbers, made.traffic, ranks) * made.on_chip
    cache = equation("cache", load.cache_bytes, "B", read)
    looked = looked_back(made.numbers, made.traffic, ranks) * made.on_chip
    flops = equation("FLOPs a token", load.attention_flops, "FLOP", looked)
    return [
        cache,
        equation("bytes", part.bytes, "B", made.sequences * cache.answer * made.near("kv")),
        flops,
        equation("FLOPs", part.flops, "FLOP", made.decoded * flops.answer * made.near("kv")),
        made.rate(part, "attention"),
    ]


@component("prompt: attention", "prompt tokens looking back on those before them")
def _prompt_attention(made: Pass, part: Component) -> list[Equation]:
    load = made.load
    looked = looked_back(made.numbers, made.traffic, one(load.tp), is_prompt=True) * made.on_chip
    flops = equation("FLOPs a token", load.prompt_flops, "FLOP", looked)
    return [
        flops,
        equation("FLOPs", part.flops, "FLOP", number(load.prompt) * flops.answer * made.here("kv")),
        made.rate(part, "attention"),
    ]


def cache_read(numbers: Numbers, traffic: Traffic, ranks: float) -> Term:
    """Return what one sequence reads of its cache on one rank. [byte]

    Layers x elements of a token x bytes of an element x tokens attended to, over the ranks
    that share them, for each group of layers alike; and a state that does not grow.
    """
    work = numbers.work
    read = number(0.0)
    for group in work.caches:
        lengths = {"context": traffic.context, "spread": traffic.spread}
        seen = attended_tokens(**lengths, window=group.attended)
        width = number(work.element_bytes(group), "B")
        elements = numbers.counted(group.elements, "elements cached a token and layer")
        read += number(group.layers) * elements * width * seen / min(ranks, group.shards)
    return read + numbers.counted(work.state_bytes, "state of a sequence", "B") / ranks


def cache_moved(numbers: Numbers, traffic: Traffic, ranks: float) -> Term:
    """Return that and the state that is written back. [byte]"""
    state = numbers.counted(numbers.work.state_bytes, "state of a sequence, written", "B")
    return cache_read(numbers, traffic, ranks) + state / ranks


def looked_back(
    numbers: Numbers, traffic: Traffic, ranks: float, *, is_prompt: bool = False
) -> Term:
    """Return the attention FLOPs of one token on one rank. [FLOP]

    A prompt takes the form that costs it less: over what is picked, or expanded over all.
    """
    mean = traffic.prompt_context if is_prompt else traffic.context
    spread = traffic.prompt_spread if is_prompt else traffic.spread
    attended = partial(attended_tokens, context=mean, spread=spread)
    terms = []
    for group in numbers.work.caches:
        flops, seen = group.decode_flops, one(attended(window=group.attended))
        everything = one(attended(window=group.window))
        if is_prompt and group.prefill_flops * everything < flops * seen:
            flops, seen = group.prefill_flops, everything
        each = numbers.counted(flops, "attention FLOPs a layer and token attended to", "FLOP")
        terms.append(number(group.layers) * each * seen)
    return total(terms) / ranks
