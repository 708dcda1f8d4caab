"""Bytes read and FLOPs computed by attention, for each group of equal layers."""

from functools import partial

from fastcalc.core.step.component import Component
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.compare.explain.context import PassContext
from fastcalc.features.compare.explain.explained import component
from fastcalc.features.compare.explain.numbers import Numbers
from fastcalc.features.compare.explain.terms import Equation, Term, equation, number, scalar, total
from fastcalc.formulas.memory import attended_tokens


@component("attention", "KV caches of the decoded sequences, each read once")
def _attention(context: PassContext, part: Component) -> list[Equation]:
    pass_work, ranks = context.pass_work, scalar(context.pass_work.tp.ranks)
    read = cache_moved(context.numbers, context.traffic, ranks) * context.on_chip
    cache = equation("cache", pass_work.bytes.kv, "B", read)
    looked = looked_back(context.numbers, context.traffic, ranks) * context.on_chip
    flops = equation("FLOPs per token", pass_work.flops.kv, "FLOP", looked)
    return [
        cache,
        equation("bytes", part.bytes, "B", context.sequences * cache.answer * context.near("kv")),
        flops,
        equation("FLOPs", part.flops, "FLOP", context.decoded * flops.answer * context.near("kv")),
        context.rate(part, "kv"),
    ]


@component("prompt: attention", "attention of prompt tokens to the tokens before them")
def _prompt_attention(context: PassContext, part: Component) -> list[Equation]:
    pass_work = context.pass_work
    looked = (
        looked_back(context.numbers, context.traffic, scalar(pass_work.tp.ranks), is_prompt=True)
        * context.on_chip
    )
    flops = equation("FLOPs per token", pass_work.prompt_flops.kv, "FLOP", looked)
    prompt = number(pass_work.prompt) * context.here("kv")
    written = [
        flops,
        equation("FLOPs", part.flops, "FLOP", prompt * flops.answer),
        context.rate(part, "kv"),
    ]
    if not scalar(part.bytes):
        return written
    moved = context.numbers.counted(
        pass_work.prompt_bytes, "bytes that recurrent layers move per prompt token", "B"
    )
    return [equation("bytes", part.bytes, "B", prompt * moved), *written]


def cache_read(numbers: Numbers, traffic: Traffic, ranks: float) -> Term:
    """Cache bytes that one sequence reads on one rank. [byte]

    For each group of equal layers: layers x elements per token x bytes per element x tokens
    attended to, divided by the ranks that share them; plus a recurrent state of constant size.
    """
    work = numbers.work
    read = number(0.0)
    for group in work.caches:
        lengths = {"context": traffic.context, "spread": traffic.spread}
        attended = attended_tokens(**lengths, window=group.attended)
        width = number(work.element_bytes(group), "B")
        elements = numbers.counted(group.elements, "elements cached per token and layer")
        read += number(group.layers) * elements * width * attended / min(ranks, group.shards)
    return read + numbers.counted(work.state_bytes, "state of a sequence", "B") / ranks


def cache_moved(numbers: Numbers, traffic: Traffic, ranks: float) -> Term:
    """Cache bytes read plus the state written back. [byte]"""
    state = numbers.counted(numbers.work.state_bytes, "state of a sequence, written", "B")
    return cache_read(numbers, traffic, ranks) + state / ranks


def looked_back(
    numbers: Numbers, traffic: Traffic, ranks: float, *, is_prompt: bool = False
) -> Term:
    """Attention FLOPs of one token on one rank. [FLOP]

    A prompt uses the cheaper form: attention over the selected tokens, or expanded over all.
    """
    mean = traffic.prompt_context if is_prompt else traffic.context
    spread = traffic.prompt_spread if is_prompt else traffic.spread
    attended = partial(attended_tokens, context=mean, spread=spread)
    terms = []
    for group in numbers.work.caches:
        flops, attended_count = group.decode_flops, scalar(attended(window=group.attended))
        everything = scalar(attended(window=group.window))
        if is_prompt and group.prefill_flops * everything < flops * attended_count:
            flops, attended_count = group.prefill_flops, everything
        per_token = numbers.counted(
            flops, "attention FLOPs per layer and token attended to", "FLOP"
        )
        terms.append(number(group.layers) * per_token * attended_count)
    return total(terms) / ranks
