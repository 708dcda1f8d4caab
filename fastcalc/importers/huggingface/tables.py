"""Weights outside attention and feed-forward: Gemma 3n and 4, LongCat, Inkling, Qwen 4."""

from fastcalc.importers.huggingface import parts, patterns
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.dense import qwen_networks
from fastcalc.importers.huggingface.parts import Layer, Part, choose, mixed
from fastcalc.written import Json


def layer_embedding(fields: Fields) -> int:
    """Read the width of the per-layer embeddings of Gemma 3n and 4."""
    return fields.maybe("hidden_size_per_layer_input", minimum=0) or 0


def lookups(fields: Fields) -> dict[str, int]:
    """Count the lookup tables of all layers, and the norm after their projection."""
    width = layer_embedding(fields)
    if not width:
        return {}
    rows = fields.count("vocab_size_per_layer_input", default=262_144)
    fields.remark("lookup_parameters counts an embedding for each layer.")
    return {"lookup_parameters": rows * width * fields.layers(), "other_parameters": width}


def with_layer_embedding(fields: Fields, layers: list[Layer]) -> list[Layer]:
    """Add the matrices for per-layer embeddings to layers: a gate and two projections."""
    width, hidden = layer_embedding(fields), fields.count("hidden_size")
    if not width:
        return layers
    extra: Layer = {"other_matrices": 3 * width * hidden, "other_parameters": hidden}
    return [{**layer, **extra} for layer in layers]


def sharing(fields: Fields, attentions: list[Part]) -> list[Part]:
    """Build attention in which the last layers reuse the cache of earlier layers."""
    shared = fields.maybe("num_kv_shared_layers", minimum=0) or 0
    first = max(len(attentions) - shared, 0)
    return attentions[:first] + [{**block, "shared_cache": True} for block in attentions[first:]]


def gemma3n(fields: Fields) -> list[Layer]:
    """Read Gemma 3n: per-layer embeddings, four residual streams, low-rank shortcuts."""
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
        if amount:
            sums[key] = amount + (before if isinstance(before, int) else 0)
    return {**layer, **sums}


def _streams(fields: Fields) -> int:
    return fields.count("altup_num_inputs", default=4)


def gemma3n_extras(fields: Fields) -> dict[str, int]:
    """Count the tables of Gemma 3n, and the projections to and from its residual streams."""
    hidden, streams = fields.count("hidden_size"), _streams(fields)
    found = lookups(fields)
    projections = 2 * (streams - 1) * hidden * hidden
    fields.remark("other_parameters is projections between the residual streams.")
    return {**found, "other_parameters": found.get("other_parameters", 0) + projections}


def longcat(fields: Fields) -> list[Layer]:
    """Read LongCat Flash: two attention and feed-forward pairs per layer, parallel to experts."""
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
            f"Of the {picked} experts per token, {real} of {routed} are counted on average: "
            f"{idle} return their input."
        )
        experts |= {"active_experts": real, "zero_experts": idle}
    half: Layer = {"attention": attention, "ffn": dense}
    return [half, half, {"ffn": experts, "norms": 0}] * fields.layers()


def inkling(fields: Fields) -> list[Layer]:
    """Read Inkling: projected relative positions, and short convolutions around all components."""
    count, hidden = fields.layers(), fields.count("hidden_size")
    window, relative = fields.count("sliding_window_size"), fields.count("d_rel", default=16)
    layer_types = fields.words("layer_types", count)
    if layer_types is None:
        fields.require(("layer_types", "local_layer_ids"))
        local = fields.indices("local_layer_ids")
        layer_types = ["sliding" if layer in local else "full" for layer in range(count)]
    full = parts.grouped(fields, qk_norm=True)
    short = parts.grouped(
        fields,
        window=window,
        heads=fields.maybe("swa_num_attention_heads"),
        kv_heads=fields.maybe("swa_num_key_value_heads"),
        head_dim=fields.maybe("swa_head_dim"),
        qk_norm=True,
    )
    kernel = fields.count("conv_kernel_size", "sconv_kernel_size", default=4)
    switched = ["sliding" in layer_type for layer_type in layer_types]
    layers = mixed(choose(switched, short, full), _inkling_networks(fields, count))
    return [_with_positions(layer, hidden, relative, kernel) for layer in layers]


def _inkling_networks(fields: Fields, count: int) -> list[Part]:
    """Build the networks of Inkling.

    If ``dense_intermediate_size`` is present, ``intermediate_size`` is the width of the experts.
    """
    width = ("moe_intermediate_size", "intermediate_size")
    shared = (fields.maybe("n_shared_experts", minimum=0) or 0) * fields.count(*width)
    experts = parts.experts(fields, width=width, shared=shared, router_bias=False)
    if not fields.has("dense_mlp_idx"):
        return patterns.networks(fields, experts)
    first = fields.count("dense_mlp_idx", minimum=0)
    dense = parts.dense(fields, "dense_intermediate_size", "intermediate_size")
    return choose([layer >= first for layer in range(count)], experts, dense)


def _with_positions(layer: Layer, hidden: int, relative: int, kernel: int) -> Layer:
    attention = layer["attention"]
    assert isinstance(attention, dict)
    heads, size = attention["heads"], attention["head_dim"]
    cached = attention.get("kv_heads", heads)
    assert isinstance(heads, int) and isinstance(size, int) and isinstance(cached, int)
    convolved = 2 * kernel * (cached * size + hidden)
    return _more(layer, hidden * heads * relative, convolved)


def qwen4(fields: Fields) -> list[Layer]:
    """Read Qwen 4 (3.8 Flash Next): DeltaNet, indexed attention, gated residuals, n-grams."""
    count, hidden = fields.layers(), fields.count("hidden_size")
    indexer: Part = {
        "heads": fields.count("indexer_n_heads"),
        "head_dim": fields.count("indexer_head_dim"),
        "top_k": fields.count("indexer_budget"),
        "pool": fields.count("indexer_compress_ratio"),
        "head_weights": False,
    }
    full = parts.grouped(fields, qk_norm=True, output_gate=True, indexer=indexer)
    attentions = choose(patterns.linear(fields, count), parts.delta(fields), full)
    streams, rank = fields.count("hc_count", default=4), fields.count("hc_lowrank", default=320)
    wide = streams * hidden
    layers = mixed(attentions, qwen_networks(fields), norms=2 * streams)
    layers = [_more(layer, 2 * wide * (2 * rank + streams), 0) for layer in layers]
    width, kernel = _ngram_width(fields), fields.count("ple_conv_kernel_size", default=4)
    for number in fields.indices("ple_layer_ids"):
        bringing_in = width * (wide + hidden)
        layers[number - 1] = _more(layers[number - 1], bringing_in, wide * (3 + kernel))
    return layers


def _ngram_width(fields: Fields) -> int:
    """Count the elements in all hashed n-gram rows that a token looks up."""
    return fields.count("ple_embed_dim", "hidden_size")


def qwen4_extras(fields: Fields) -> dict[str, int]:
    """Count n-gram tables, each with a prime number of rows, and the stream mixer."""
    hidden, streams = fields.count("hidden_size"), fields.count("hc_count", default=4)
    rank, tables = fields.count("hc_lowrank", default=320), len(fields.indices("ple_layer_ids"))
    rows = fields.count("ngram_vocab_size_base", default=20_000_000)
    fields.remark(
        "other_parameters merges the residual streams; ngram_parameters counts the n-grams."
    )
    mixer = 2 * streams * hidden * rank + (streams - 1) * hidden
    lookups = {"ngram_parameters": tables * rows * _ngram_width(fields)} if tables else {}
    return {**lookups, "other_parameters": mixer}
