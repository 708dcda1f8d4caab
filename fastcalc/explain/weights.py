"""Products with weights: what is read, what is multiplied, and at which rate."""

from fastcalc.core.step import Component
from fastcalc.explain.context import Pass
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
    raised,
    times,
)


def dense(made: Pass, part: Component) -> list[Equation]:
    """Return the matrices that every token passes."""
    weights, name = made.work.dense, "dense matrices"
    parameters = made.numbers.parameters(weights, name)
    return [
        equation("bytes", part.bytes, "B", over(made.numbers.stored(weights, name), made.tp)),
        equation("FLOPs", part.flops, "FLOP", _passed(made, _rows(made), parameters)),
        made.rate(part, "dense"),
    ]


def head(made: Pass, part: Component) -> list[Equation]:
    """Return output head, norms, biases and routers."""
    work, numbers = made.work, made.numbers
    norms, head = "norms, biases, routers", "output head"
    stored = plus(numbers.stored(work.small, norms), numbers.stored(work.head, head))
    both = plus(numbers.parameters(work.small, norms), numbers.parameters(work.head, head))
    return [
        equation("bytes", part.bytes, "B", over(stored, made.tp)),
        equation("FLOPs", part.flops, "FLOP", _passed(made, _rows(made), both)),
        made.rate(part, "head"),
    ]


def routed(made: Pass, part: Component) -> list[Equation]:
    """Return the experts that are picked, and the products with them."""
    work, numbers = made.work, made.numbers
    distinct, experts = _distinct(made), number(made.load.experts)
    stored = plus(
        numbers.stored(work.routed, "routed experts"),
        numbers.stored(work.expert_biases, "their biases"),
    )
    read = times(stored, number(distinct.result.value), _imbalance(made))
    return [
        distinct,
        equation("bytes", part.bytes, "B", over(read, times(experts, made.shards))),
        equation("FLOPs", part.flops, "FLOP", _routed_flops(made, number(made.load.together))),
        made.rate(part, "routed", numbers.setting("grouped_gemm_fraction")),
    ]


def unpacking(made: Pass, part: Component) -> list[Equation]:
    """Return the weights that are widened, and the operations it takes."""
    load, chip, numbers, work = made.load, made.chip, made.numbers, made.work
    distinct = _distinct(made)
    share = over(number(distinct.result.value), number(load.experts))
    routed = times(numbers.parameters(work.routed, "routed experts"), share)
    dense = numbers.parameters(work.dense, "dense matrices")
    head = numbers.parameters(work.head, "output head")
    has_head = one(chip.head_is_packed) * one(load.head_weights) > 0.0
    weights = plus(
        times(number(chip.dense_is_packed), over(dense, made.tp)),
        times(number(float(has_head)), over(head, made.tp)),
        times(number(chip.routed_is_packed), over(routed, made.shards)),
    )
    has_routed = one(chip.routed_is_packed) * one(load.routed_weights) > 0.0
    return [
        *([distinct] if has_routed else []),
        equation("weights", weights.value, "", weights),
        equation(
            "FLOPs",
            part.flops,
            "FLOP",
            times(numbers.setting("dequantization_operations"), number(weights.value)),
        ),
        equation("rate", part.flop_rate, "FLOP/s", over(numbers.vector(), made.two)),
    ]


def prompt_dense(made: Pass, part: Component) -> list[Equation]:
    """Return prompt tokens through the matrices that every token passes."""
    numbers, work = made.numbers, made.work
    both = plus(
        numbers.parameters(work.dense, "dense matrices"),
        numbers.parameters(work.small, "norms, biases, routers"),
    )
    flops = _passed(made, number(made.load.prompt), both)
    return [
        equation("FLOPs", part.flops, "FLOP", flops),
        made.rate(part, "dense", _blocks(made)),
    ]


def prompt_experts(made: Pass, part: Component) -> list[Equation]:
    """Return prompt tokens through the experts they pick."""
    grouped = made.numbers.setting("grouped_gemm_fraction")
    flops = _routed_flops(made, number(made.load.prompt_together))
    return [
        equation("FLOPs", part.flops, "FLOP", flops),
        made.rate(part, "routed", _blocks(made), grouped),
    ]


def _passed(made: Pass, rows: Term, parameters: Term) -> Term:
    """Return FLOPs of rows through matrices: two a parameter. [FLOP]"""
    return over(times(rows, made.two, parameters), made.tp)


def _routed_flops(made: Pass, tokens: Term) -> Term:
    """Return FLOPs of tokens through the experts they pick. [FLOP]"""
    parameters = made.numbers.parameters(made.work.routed, "routed experts")
    active, experts = number(made.load.active), number(made.load.experts)
    passed = times(tokens, made.two, parameters, active, _imbalance(made))
    return over(passed, times(experts, made.shards))


def _distinct(made: Pass) -> Equation:
    """Return how many experts of a layer the tokens of the pass pick."""
    numbers, picked = made.numbers, number(made.load.active)
    experts = numbers.counted(made.load.experts, "experts in a layer")
    alike = raised(_meeting(made), numbers.setting("expert_correlation"))
    missed = raised(minus(number(1.0), over(picked, experts)), alike)
    term = largest(picked, times(experts, minus(number(1.0), missed)))
    return equation("experts read", term.value, "", term)


def _rows(made: Pass) -> Term:
    decoded = times(made.sequences, number(made.load.verified))
    least = made.numbers.setting("minimum_rows")
    is_none = decoded.value == 0.0 or least.value <= min(decoded.value, 1.0)
    return decoded if is_none else largest(decoded, least)


def _imbalance(made: Pass) -> Term:
    spread = one(made.load.spreads) > 0.0
    return made.numbers.setting("expert_imbalance") if spread else number(1.0)


def _meeting(made: Pass) -> Term:
    """Tokens that meet in one copy of the experts. [1]"""
    return plus(number(made.load.together), number(made.load.prompt_together))


def _blocks(made: Pass) -> Term:
    """Return what products with blocks of mixed widths keep of their rate. [1]"""
    in_blocks = one(made.chip.blocks) > 0.0 and not made.placement.machine.is_spatial
    return made.numbers.setting("block_gemm_fraction") if in_blocks else number(1.0)
