"""What attention reads and multiplies, group of layers by group of layers."""

from fastcalc.core.layers import CacheGroup
from fastcalc.core.step import Component
from fastcalc.core.traffic import Traffic
from fastcalc.core.workload import Workload
from fastcalc.explain.context import Pass
from fastcalc.explain.numbers import Numbers
from fastcalc.explain.terms import Equation, Term, equation, number, one, over, plus, times
from fastcalc.formulas.memory import attended_tokens
from fastcalc.formulas.types import ArrayLike


def attention(made: Pass, part: Component) -> list[Equation]:
    """Return the reads of the decoded sequences' caches, and the products with them."""
    cache = cache_read(made.work, made.numbers, made.traffic, one(made.load.tp))
    flops = looked_back(made.work, made.numbers, made.traffic, one(made.load.tp))
    per_sequence = equation("cache", made.load.cache_bytes, "B", cache)
    per_token = equation("FLOPs a token", made.load.attention_flops, "FLOP", flops)
    tokens = times(made.sequences, number(made.load.verified))
    return [
        per_sequence,
        equation(
            "bytes",
            part.bytes,
            "B",
            times(made.sequences, number(made.load.cache_bytes, "B")),
        ),
        per_token,
        equation(
            "FLOPs", part.flops, "FLOP", times(tokens, number(made.load.attention_flops, "FLOP"))
        ),
        made.rate(part, "attention"),
    ]


def prompt_attention(made: Pass, part: Component) -> list[Equation]:
    """Return the products of prompt tokens with those before them."""
    flops = looked_back(made.work, made.numbers, made.traffic, one(made.load.tp), is_prompt=True)
    per_token = number(made.load.prompt_flops, "FLOP")
    return [
        equation("FLOPs a token", made.load.prompt_flops, "FLOP", flops),
        equation("FLOPs", part.flops, "FLOP", times(number(made.load.prompt), per_token)),
        made.rate(part, "attention"),
    ]


def cache_read(work: Workload, numbers: Numbers, traffic: Traffic, ranks: float) -> Term:
    """Return what one sequence reads of its cache on one rank. [byte]

    Layers x elements of a token x bytes of an element x tokens attended to, over the ranks
    that share them, for each group of layers alike; and a state that does not grow.
    """
    groups = []
    for group in work.caches:
        seen = _attended(traffic.context, traffic.spread, group.attended)
        width = number(work.element_bytes(group), "B")
        elements = numbers.counted(group.elements, "elements cached a token and layer")
        read = times(number(group.layers), elements, width, number(seen))
        groups.append(over(read, number(min(ranks, group.shards))))
    state = numbers.counted(work.state_bytes, "state of a sequence", "B")
    return plus(*groups, over(state, number(ranks)))


def looked_back(
    work: Workload, numbers: Numbers, traffic: Traffic, ranks: float, *, is_prompt: bool = False
) -> Term:
    """Return the attention FLOPs of one token on one rank. [FLOP]

    Layers x FLOPs of a token and a token it attends to x tokens attended to.
    """
    mean = traffic.prompt_context if is_prompt else traffic.context
    spread = traffic.prompt_spread if is_prompt else traffic.spread
    groups = []
    for group in work.caches:
        flops, seen = group.decode_flops, _attended(mean, spread, group.attended)
        if is_prompt:
            flops, seen = _cheaper(group, flops, seen, _attended(mean, spread, group.window))
        each = numbers.counted(flops, "attention FLOPs a layer and token attended to", "FLOP")
        groups.append(times(number(group.layers), each, number(seen)))
    return over(plus(*groups), number(ranks))


def _cheaper(group: CacheGroup, flops: float, seen: float, all_of_them: float) -> tuple[float, ...]:
    """Return the form that costs a prompt less: over what is picked, or expanded over all."""
    expanded = group.prefill_flops * all_of_them
    return (group.prefill_flops, all_of_them) if expanded < flops * seen else (flops, seen)


def _attended(context: ArrayLike, spread: ArrayLike, window: float) -> float:
    return one(attended_tokens(context=context, spread=spread, window=window))
