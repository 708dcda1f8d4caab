"""Products with weights: what is read, what is multiplied, and at which rate."""

from math import inf

from fastcalc.core.component import Component
from fastcalc.core.machine import PACKED_ROWS
from fastcalc.explain.context import Pass
from fastcalc.explain.explained import component
from fastcalc.explain.terms import Equation, Term, equation, largest, named, number, one


@component("dense weights", "matrices that every token passes, read once")
def _dense(made: Pass, part: Component) -> list[Equation]:
    return [*_read(made, part, "dense", "dense"), made.rate(part, "dense")]


@component("head and norms", "output head, norms, biases and routers")
def _head(made: Pass, part: Component) -> list[Equation]:
    return [*_read(made, part, "head", "small", "head"), made.rate(part, "head")]


@component("routed experts", "the experts that the tokens of the pass pick, read once each")
def _routed(made: Pass, part: Component) -> list[Equation]:
    distinct, width = _distinct(made), one(made.load.expert_width)
    stored = made.numbers.stored("routed", "expert_biases")
    read, near = stored * distinct.answer * _imbalance(made), made.near("experts")
    flops = _routed_flops(made, number(made.load.together))
    equations = [
        distinct,
        equation(
            "bytes",
            part.bytes,
            "B",
            read * near / (number(made.load.experts) * made.shards / made.on_chip),
        ),
        equation("FLOPs", part.flops, "FLOP", flops * near),
        made.rate(part, "routed", made.numbers.setting("grouped_gemm_fraction")),
    ]
    half = made.numbers.setting("narrow_expert_width")
    if half.value and width != inf:  # slices of experts reach a share of the bandwidth
        columns = made.numbers.counted(width, "columns of an expert's slice")
        reached = made.bandwidth * (columns / (columns + half))
        equations.append(equation("read rate", part.bandwidth, "B/s", reached))
    return equations


@component("unpacking", "narrow weights widened to 16 bits on the vector units")
def _unpacking(made: Pass, part: Component) -> list[Equation]:
    load, chip, numbers = made.load, made.chip, made.numbers
    distinct = _distinct(made)
    routed = numbers.parameters("routed") * (distinct.answer / load.experts)
    has_head = one(chip.head_is_packed) * one(load.head_weights) > 0.0
    widened = (
        number(chip.dense_is_packed) * (numbers.parameters("dense") / made.tp) * made.here("dense")
        + number(has_head) * (numbers.parameters("head") / made.tp) * made.here("head")
        + number(chip.routed_is_packed)
        * (routed * made.on_chip / made.shards)
        * made.here("experts")
    )
    has_routed = one(chip.routed_is_packed) * one(load.routed_weights) > 0.0
    weights = named("weights", "", widened)
    flops = numbers.setting("dequantization_operations") * weights.answer
    return [
        *([distinct] if has_routed else []),
        weights,
        equation("FLOPs", part.flops, "FLOP", flops),
        equation("rate", part.flop_rate, "FLOP/s", numbers.vector() / made.two),
    ]


@component("prompt: dense", "prompt tokens through the matrices that every token passes")
def _prompt_dense(made: Pass, part: Component) -> list[Equation]:
    numbers = made.numbers
    norms = numbers.counted(made.work.norm_parameters, "parameters: norms of the layers")
    both = numbers.parameters("dense") + norms
    flops = number(made.load.prompt) * made.two * both / made.tp * made.here("dense")
    return [
        equation("FLOPs", part.flops, "FLOP", flops),
        made.rate(part, "dense", _blocks(made)),
    ]


@component("prompt: experts", "prompt tokens through the experts they pick")
def _prompt_experts(made: Pass, part: Component) -> list[Equation]:
    grouped = made.numbers.setting("grouped_gemm_fraction")
    flops = _routed_flops(made, number(made.load.prompt_together)) * made.here("experts")
    return [
        equation("FLOPs", part.flops, "FLOP", flops),
        made.rate(part, "routed", _blocks(made), grouped),
    ]


def _read(made: Pass, part: Component, where: str, *kinds: str) -> list[Equation]:
    """Return the bytes of weights that are read once, and two FLOPs a parameter and row."""
    rows, least = made.decoded, made.numbers.setting("minimum_rows")
    if one(made.chip.dense_is_packed) > 0.0 and least.value > PACKED_ROWS:
        least = number(PACKED_ROWS)
    if rows.value != 0.0 and least.value > min(rows.value, 1.0):
        rows = largest(rows, least)
    here = made.near(where)
    flops = rows * made.two * made.numbers.parameters(*kinds) / made.tp * here
    return [
        equation("bytes", part.bytes, "B", made.numbers.stored(*kinds) / made.tp * here),
        equation("FLOPs", part.flops, "FLOP", flops),
    ]


def _routed_flops(made: Pass, tokens: Term) -> Term:
    passed = tokens * made.two * made.numbers.parameters("routed") * made.load.active
    return passed * _imbalance(made) / (number(made.load.experts) * made.shards / made.on_chip)


def _distinct(made: Pass) -> Equation:
    numbers, load, picked = made.numbers, made.load, number(made.load.active)
    experts = numbers.counted(load.experts, "experts in a layer")
    # Tokens that meet in one copy of the experts pick alike.
    alike = (number(load.together) + load.prompt_together) ** numbers.setting("expert_correlation")
    term = largest(picked, experts * (1.0 - (1.0 - picked / experts) ** alike))
    return named("experts read", "", term)


def _imbalance(made: Pass) -> Term:
    uneven = one(made.load.unevenness)
    if not uneven:
        return number(1.0)
    return number(1.0) + uneven * (made.numbers.setting("expert_imbalance") - 1.0)


def _blocks(made: Pass) -> Term:
    """Return what products with blocks of mixed widths keep of their rate. [1]"""
    in_blocks = one(made.chip.blocks) > 0.0 and not made.machine.is_spatial
    return made.numbers.setting("block_gemm_fraction") if in_blocks else number(1.0)
