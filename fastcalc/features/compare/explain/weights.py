"""Matrix products with weights, and attention: bytes read, FLOPs computed, and their rates."""

from functools import partial
from math import inf

from fastcalc.core.chip.machine import PACKED_ROWS
from fastcalc.core.step.component import Component
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.compare.explain.context import PassContext
from fastcalc.features.compare.explain.explained import Formulas, component
from fastcalc.features.compare.explain.numbers import Numbers
from fastcalc.features.compare.explain.terms import (
    Equation,
    Term,
    equation,
    largest,
    named,
    number,
    scalar,
    total,
)
from fastcalc.formulas.memory import attended_tokens


@component("attention", "KV caches of the decoded sequences, each read once")
def _attention(context: PassContext, _: Component) -> Formulas:
    pass_work, ranks = context.pass_work, scalar(context.pass_work.tp.ranks)
    read = cache_moved(context.numbers, context.traffic, ranks) * context.on_chip
    cache = equation("cache", pass_work.bytes.kv, "B", read)
    looked = looked_back(context.numbers, context.traffic, ranks) * context.on_chip
    flops = equation("FLOPs per token", pass_work.flops.kv, "FLOP", looked)
    computed, tile = context.decoded * flops.answer, context.numbers.setting("minimum_rows")
    heads = scalar(pass_work.verified) * scalar(pass_work.latents.heads)
    if heads and tile.value > heads:
        of_head = "attention FLOPs per query head that shares a latent"
        each = context.numbers.counted(pass_work.latents.flops, of_head, "FLOP")
        computed += context.sequences * (tile - number(heads)) * each
    return [
        cache,
        ("bytes", context.sequences * cache.answer * context.near("kv")),
        flops,
        ("FLOPs", computed * context.near("kv")),
        context.rate("kv"),
    ]


@component("prompt: attention", "attention of prompt tokens to the tokens before them")
def _prompt_attention(context: PassContext, _: Component) -> Formulas:
    pass_work = context.pass_work
    looked = (
        looked_back(context.numbers, context.traffic, scalar(pass_work.tp.ranks), is_prompt=True)
        * context.on_chip
    )
    flops = equation("FLOPs per token", pass_work.prompt_flops.kv, "FLOP", looked)
    prompt = number(pass_work.prompt) * context.here("kv")
    moved = context.numbers.counted(
        pass_work.prompt_bytes, "bytes that recurrent layers move per prompt token", "B"
    )
    return [
        ("bytes", prompt * moved),
        flops,
        ("FLOPs", prompt * flops.answer),
        context.rate("kv"),
    ]


def cache_read(numbers: Numbers, traffic: Traffic, ranks: float) -> Term:
    """Return the KV-cache bytes that a sequence reads on a rank, in bytes.

    For each group of equal layers, this is layers x elements per token x bytes per element x tokens
    attended to, divided by the ranks that share them, plus a recurrent state of constant size.
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
    """Return the KV-cache bytes read plus the state written back and copied, in bytes."""
    state = numbers.counted(numbers.work.state_bytes, "state of a sequence, written", "B")
    if (copies := numbers.setting("state_copies")).value:
        state = state * (number(1.0) + number(2.0) * copies)
    return cache_read(numbers, traffic, ranks) + state / ranks


def looked_back(
    numbers: Numbers, traffic: Traffic, ranks: float, *, is_prompt: bool = False
) -> Term:
    """Return the attention FLOPs of a token on a rank.

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


@component("dense weights", "weights that every token uses, read once")
def _dense(context: PassContext, _: Component) -> Formulas:
    numbers, near = context.numbers, context.near("dense")
    rows, tile = context.decoded, _least_rows(context)
    prompt = number(context.pass_work.prompt)
    empty = tile - prompt if prompt.value else tile
    if empty.value > 0.0 and tile.value > 1.0:
        rows = largest(rows, empty)
    copied = _copied(context)
    flops = rows * context.two * context.part(numbers.parameters("dense"), copied)
    if prompt.value:
        flops = flops + prompt * context.two * _with_norms(context)
    stored = number(context.work.copied.format.bytes, "B") * copied
    return [
        ("bytes", context.part(numbers.stored("dense"), stored) * near),
        ("FLOPs", flops * near),
        context.rate("dense", _blocks(context) if prompt.value else number(1.0)),
    ]


@component("head and norms", "output head, norms, biases and routers")
def _head(context: PassContext, _: Component) -> Formulas:
    numbers, near = context.numbers, context.near("head")
    rows, tile = context.decoded, _least_rows(context)
    if rows.value != 0.0 and tile.value > min(rows.value, 1.0):
        rows = largest(rows, tile)
    small = numbers.parameters("small")
    flops = rows * context.two * context.part(numbers.parameters("small", "head"), small) * near
    stored = small * number(context.work.weights.small.format.bytes, "B")
    return [
        ("bytes", context.part(numbers.stored("head"), stored) * near),
        ("FLOPs", flops),
        context.rate("head"),
    ]


@component("routed experts", "experts that the tokens of the step select, each read once")
def _routed(context: PassContext, _: Component) -> Formulas:
    distinct, routing = _distinct(context), context.pass_work.routing
    width = scalar(routing.width)
    stored = context.numbers.stored("experts")
    read, near = stored * distinct.answer * _imbalance(context), context.near("experts")
    flops = _routed_flops(context, number(context.pass_work.expert_tokens))
    equations: Formulas = [
        distinct,
        ("bytes", read * near / (number(routing.experts) * context.shards / context.on_chip)),
        ("FLOPs", flops * near),
        context.rate("experts", context.numbers.setting("grouped_gemm_fraction")),
    ]
    half = context.numbers.setting("narrow_expert_width")
    if half.value and width != inf:  # narrow slices of experts reach a fraction of the bandwidth
        columns = context.numbers.counted(width, "columns of an expert's slice")
        reached = context.bandwidth * (columns / (columns + half))
        equations.append(("read rate", reached))
    return equations


@component("unpacking", "quantized weights widened to 16 bits on the vector units")
def _unpacking(context: PassContext, _: Component) -> Formulas:
    pass_work, chip, numbers = context.pass_work, context.chip, context.numbers
    distinct = _distinct(context)
    routed = numbers.parameters("experts") * (distinct.answer / pass_work.routing.experts)
    has_head = scalar(pass_work.weights.head) > 0.0
    widened = (
        number(chip.products.dense.is_unpacked)
        * (numbers.parameters("dense") / context.tp)
        * context.here("dense")
        + number(has_head * scalar(chip.products.head.is_unpacked))
        * (numbers.parameters("head") / context.tp)
        * context.here("head")
        + number(chip.products.experts.is_unpacked)
        * (routed * context.on_chip / context.shards)
        * context.here("experts")
    )
    has_routed = scalar(chip.products.experts.is_unpacked) * scalar(pass_work.weights.experts) > 0.0
    weights = named("weights", "", widened)
    flops = numbers.setting("dequantization_operations") * weights.answer
    return [
        *([distinct] if has_routed else []),
        weights,
        ("FLOPs", flops),
        ("rate", numbers.vector() / context.two),
    ]


@component("prompt: dense", "prompt tokens through the weights that every token uses")
def _prompt_dense(context: PassContext, _: Component) -> Formulas:
    flops = number(context.pass_work.prompt) * context.two * _with_norms(context)
    return [("FLOPs", flops * context.here("dense")), context.rate("dense")]


@component("prompt: experts", "prompt tokens through the experts they select")
def _prompt_experts(context: PassContext, _: Component) -> Formulas:
    grouped = context.numbers.setting("grouped_gemm_fraction")
    flops = _routed_flops(context, number(context.pass_work.expert_prompt)) * context.here(
        "experts"
    )
    return [("FLOPs", flops), context.rate("experts", _blocks(context), grouped)]


def _least_rows(context: PassContext) -> Term:
    """Return the minimum number of rows in a tile of a matrix product."""
    tile = context.numbers.setting("minimum_rows")
    unpacked = scalar(context.chip.products.dense.is_unpacked)
    if not unpacked or tile.value <= PACKED_ROWS:
        return tile
    packed = number(PACKED_ROWS)
    return packed if unpacked == 1.0 else number(unpacked) * packed + number(1 - unpacked) * tile


def _with_norms(context: PassContext) -> Term:
    """Return the parameters on a chip that a prompt token uses, apart from experts."""
    norms = context.numbers.counted(context.work.norm_parameters, "parameters: norms of the layers")
    return context.part(context.numbers.parameters("dense") + norms, _copied(context) + norms)


def _copied(context: PassContext) -> Term:
    """Return the parameters of matrices that every rank holds whole, if ranks copy weights."""
    name = "parameters: down-projections that every rank holds"
    return context.numbers.counted(context.work.copied.parameters, name)


def _routed_flops(context: PassContext, tokens: Term) -> Term:
    routing = context.pass_work.routing
    passed = tokens * context.two * context.numbers.parameters("experts") * routing.active
    copies = number(routing.experts) * context.shards / context.on_chip
    return passed * _imbalance(context) / copies


def _distinct(context: PassContext) -> Equation:
    numbers, pass_work = context.numbers, context.pass_work
    picked = number(pass_work.routing.active)
    experts = numbers.counted(pass_work.routing.experts, "experts in a layer")
    # Tokens processed by the same copy of the experts select similar experts.
    alike = (number(pass_work.expert_tokens) + pass_work.expert_prompt) ** numbers.setting(
        "expert_correlation"
    )
    term = largest(picked, experts * (1.0 - (1.0 - picked / experts) ** alike))
    return named("experts read", "", term)


def _imbalance(context: PassContext) -> Term:
    uneven = scalar(context.pass_work.routing.unevenness)
    if not uneven:
        return number(1.0)
    return number(1.0) + uneven * (context.numbers.setting("expert_imbalance") - 1.0)


def _blocks(context: PassContext) -> Term:
    """Return the fraction of the rate that remains if blocks of weights have mixed widths."""
    in_blocks = scalar(context.chip.blocks) > 0.0 and not context.machine.is_spatial
    return context.numbers.setting("block_gemm_fraction") if in_blocks else number(1.0)
