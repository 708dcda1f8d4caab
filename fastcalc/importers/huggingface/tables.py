"""Families with weights beyond attention and feed-forward: Gemma 3n and 4, LongCat, Inkling."""

from fastcalc.importers.huggingface import parts, patterns
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.parts import Layer, Part, choose, mixed
from fastcalc.written import Json


def layer_embedding(fields: Fields) -> int:
    """Width of the embedding that each layer of Gemma 3n and 4 has of its own. [1]"""
    return fields.maybe("hidden_size_per_layer_input", minimum=0) or 0


def lookups(fields: Fields) -> dict[str, int]:
    """The tables of which each layer looks a row up, and the norm after their projection. [1]"""
    width = layer_embedding(fields)
    if not width:
        return {}
    rows = fields.count("vocab_size_per_layer_input", default=262_144)
    fields.remark("lookup_parameters is an embedding for each layer.")
    return {"lookup_parameters": rows * width * fields.layers(), "other_parameters": width}


def with_layer_embedding(fields: Fields, layers: list[Layer]) -> list[Layer]:
    """Layers with the matrices that bring their own embedding in: a gate and two projections."""
    width, hidden = layer_embedding(fields), fields.count("hidden_size")
    if not width:
        return layers
    extra: Layer = {"other_matrices": 3 * width * hidden, "other_parameters": hidden}
    return [{**layer, **extra} for layer in layers]


def sharing(fields: Fields, attentions: list[Part]) -> list[Part]:
    """Attention of which the last layers use the cache of earlier ones."""
    shared = fields.maybe("num_kv_shared_layers", minimum=0) or 0
    first = max(len(attentions) - shared, 0)
    return attentions[:first] + [{**part, "shared_cache": True} for part in attentions[first:]]


def gemma3n(fields: Fields) -> list[Layer]:
    """Gemma 3n: an embedding for each layer, four residual streams, low-rank shortcuts."""
    count, hidden = fields.layers(), fields.count("hidden_size")
    full = parts.grouped(fields, qk_norm=True)
    short = parts.grouped(fields, window=parts.window(fields), qk_norm=True)
    attentions = choose(patterns.windowed(fields, count, every=5), short, full)
    listed = fields.data.get("intermediate_size")
    if isinstance(listed, list):
        widths = fields.numbers("intermediate_size", count) or []
    else:
        widths = [fields.count("intermediate_size")] * count
    streams, rank = _streams(fields), fields.count("laurel_rank", default=64)
    layers = with_layer_embedding(
        fields,
        mixed(sharing(fields, attentions), [parts.dense_of(width) for width in widths], norms=4),
    )
    vectors = hidden * (streams + 4) + streams**2 + streams**3
    return [_more(layer, 2 * hidden * rank, vectors - hidden) for layer in layers]


def _more(layer: Layer, matrices: int, vectors: int) -> Layer:
    sums: dict[str, Json] = {}
    for key, amount in (("other_matrices", matrices), ("other_parameters", vectors)):
        before = layer.get(key, 0)
        sums[key] = amount + (before if isinstance(before, int) else 0)
    return {**layer, **sums}


def _streams(fields: Fields) -> int:
    return fields.count("altup_num_inputs", default=4)


def gemma3n_extras(fields: Fields) -> dict[str, int]:
    """Tables of Gemma 3n, and the projections into its residual streams and back. [1]"""
    hidden, streams = fields.count("hidden_size"), _streams(fields)
    found = lookups(fields)
    projections = 2 * (streams - 1) * hidden * hidden
    fields.remark("other_parameters is projections between the residual streams.")
    return {**found, "other_parameters": found.get("other_parameters", 0) + projections}


def longcat(fields: Fields) -> list[Layer]:
    """LongCat Flash: two attention and feed-forward pairs per layer, parallel to experts."""
    fields.remark(
        "A layer is three blocks: attention and a network, twice, and the experts in parallel."
    )
    attention, dense = parts.latent(fields), parts.dense(fields, "ffn_hidden_size")
    width = ("expert_ffn_hidden_size", "moe_intermediate_size")
    experts = parts.experts(fields, width=width, router_bias=True)
    idle = fields.maybe("zero_expert_num", minimum=0) or 0
    if idle:
        picked, routed = fields.count(*parts.PICKED), fields.count(*parts.EXPERTS)
        real = max(round(picked * routed / (routed + idle)), 1)
        fields.remark(
            f"Of {picked} experts that a token picks, {real} of {routed} are counted on average: "
            f"{idle} return their input."
        )
        experts |= {"active_experts": real, "zero_experts": idle}
    half: Layer = {"attention": attention, "ffn": dense}
    return [half, half, {"ffn": experts, "norms": 0}] * fields.layers()


def inkling(fields: Fields) -> list[Layer]:
    """Inkling: relative positions by a projection, short convolutions around everything."""
    count, hidden = fields.layers(), fields.count("hidden_size")
    window, relative = fields.count("sliding_window_size"), fields.count("d_rel", default=16)
    kinds = fields.words("layer_types", count)
    if kinds is None:
        raise fields.refuse("layer_types is missing")
    full = parts.grouped(fields, qk_norm=True)
    short = parts.grouped(
        fields,
        window=window,
        heads=fields.maybe("swa_num_attention_heads"),
        kv_heads=fields.maybe("swa_num_key_value_heads"),
        head_dim=fields.maybe("swa_head_dim"),
        qk_norm=True,
    )
    experts = parts.experts(fields, shared=parts.shared_width(fields), router_bias=False)
    networks = patterns.networks(fields, experts)
    kernel = fields.count("conv_kernel_size", default=4)
    layers = mixed(choose(["sliding" in kind for kind in kinds], short, full), networks)
    return [_with_positions(layer, hidden, relative, kernel) for layer in layers]


def _with_positions(layer: Layer, hidden: int, relative: int, kernel: int) -> Layer:
    attention = layer["attention"]
    assert isinstance(attention, dict)
    heads, size = attention["heads"], attention["head_dim"]
    cached = attention.get("kv_heads", heads)
    assert isinstance(heads, int) and isinstance(size, int) and isinstance(cached, int)
    convolved = 2 * kernel * (cached * size + hidden)
    return _more(layer, hidden * heads * relative, convolved)
