"""Families with routed experts after softmax attention or latent attention."""

import re

from fastcalc.importers.huggingface import parts, patterns, tables
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.dense import gated
from fastcalc.importers.huggingface.parts import Layer, choose, mixed, uniform

_INTERMEDIATE = ("intermediate_size",)


def mixtral(fields: Fields) -> list[Layer]:
    """Read Mixtral, Phi-3.5-MoE and Granite MoE: Mistral with experts in every layer."""
    bias = parts.flagged(fields, "attention_bias")
    attention = parts.grouped(fields, window=parts.window(fields), bias=bias)
    return uniform(fields, attention, parts.experts(fields, width=_INTERMEDIATE))


def head_bias(fields: Fields) -> dict[str, int]:
    """Count the bias of Phi-3.5-MoE's output head."""
    if not parts.flagged(fields, "lm_head_bias"):
        return {}
    fields.remark("other_parameters is the bias of the head.")
    return {"other_parameters": fields.count("vocab_size")}


def olmoe(fields: Fields) -> list[Layer]:
    """Read OLMoE: experts in every layer, one norm over all query heads and one over all keys."""
    attention = parts.grouped(fields, qk_norm="full")
    return uniform(fields, attention, parts.experts(fields, width=_INTERMEDIATE))


def gpt_oss(fields: Fields) -> list[Layer]:
    """Read gpt-oss: windows in every second layer, sinks, and biases everywhere."""
    bias = fields.flag("attention_bias", True)
    habits = {"qkv_bias": bias, "output_bias": bias, "sinks": True}
    full = parts.grouped(fields, **habits)
    short = parts.grouped(fields, window=parts.window(fields), **habits)
    experts = parts.experts(fields, width=_INTERMEDIATE, router_bias=True, expert_bias=True)
    count = fields.layers()
    return mixed(choose(patterns.windowed(fields, count, every=2), short, full), [experts] * count)


def latent(fields: Fields, *, output_gate: bool = False) -> list[Layer]:
    """Read DeepSeek V2 to V3.2, Kimi K2, GLM-4.7-Flash and 5, and Mistral Small 4."""
    count = fields.layers()
    plain = parts.latent(fields, output_gate=output_gate)
    attentions = [plain] * count
    indexer = parts.indexer(fields)
    if indexer:
        reused = {**plain, "indexer": {**indexer, "shared": True}}
        shared = patterns.shared_indexers(fields, count)
        attentions = choose(shared, reused, {**plain, "indexer": indexer})
    method = fields.word("topk_method")
    is_balanced = method == "noaux_tc" if method else bool(fields.defaults.get("router_bias"))
    return mixed(attentions, patterns.shared_networks(fields, router_bias=is_balanced))


def hunyuan4(fields: Fields) -> list[Layer]:
    """Read Hy4, with gated latent attention with sinks, and hyper-connections.

    The hyper-connections have two vectors per stream.
    """
    hidden, streams = fields.count("hidden_size"), fields.count("hc_mult", default=4)
    mixing = 2 * (2 * streams * (streams * hidden + 1) + 2)
    vectors = mixing + fields.count("num_attention_heads")
    return [{**layer, "other_parameters": vectors} for layer in latent(fields, output_gate=True)]


def axk2(fields: Fields) -> list[Layer]:
    """Read A.X K2: queries and their gate are projected from two halves of a doubled rank."""
    hidden, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    rank, value = fields.count("q_lora_rank"), fields.count("v_head_dim")
    key = fields.count("qk_nope_head_dim") + fields.count("qk_rope_head_dim")
    gate = 2 * rank * heads * (key + value) - rank * heads * key
    norms = 4 * hidden * fields.count("gated_norm_rank", default=16)
    extra: Layer = {"other_matrices": gate + norms}
    return [{**layer, **extra} for layer in latent(fields)]


def grouped(fields: Fields) -> list[Layer]:
    """Read GLM-4.5 to 4.7, with grouped-query attention, a few dense layers, then experts."""
    bias, is_normed = fields.flag("attention_bias", False), fields.flag("use_qk_norm", False)
    attention = parts.grouped(fields, qkv_bias=bias, qk_norm=is_normed)
    return mixed([attention] * fields.layers(), patterns.shared_networks(fields))


def head_norms(fields: Fields, *, router_bias: bool = True) -> list[Layer]:
    """Read Hunyuan, Hy3 and dots: like GLM, but always with norms on queries and keys."""
    attention = parts.grouped(fields, qk_norm=True, bias=parts.flagged(fields, "attention_bias"))
    networks = patterns.shared_networks(fields, router_bias=router_bias)
    return mixed([attention] * fields.layers(), networks)


def ernie(fields: Fields) -> list[Layer]:
    """Read Ernie 4.5 MoE, with experts at regular intervals within a range of layers."""
    count, bias = fields.layers(), fields.flag("use_bias", False)
    attention = parts.grouped(fields, bias=bias)
    number = fields.maybe("moe_num_shared_experts", minimum=0) or 0
    wide = number * fields.count(*parts.EXPERT_WIDTH)
    experts = parts.experts(fields, shared=wide, router_bias=True)
    first = fields.count("moe_layer_start_index", default=1, minimum=0)
    last = fields.maybe("moe_layer_end_index", minimum=-1)
    last = count - 1 if last in (None, -1) else last
    step = fields.count("moe_layer_interval", default=1)
    switched = [first <= n <= (last or 0) and (n + 1) % step == 0 for n in range(count)]
    return mixed([attention] * count, choose(switched, experts, parts.dense(fields, bias=bias)))


def llama4(fields: Fields) -> list[Layer]:
    """Read Llama 4, with three chunked layers for each full layer.

    Experts are in all or in every second layer.
    """
    count, bias = fields.layers(), parts.flagged(fields, "attention_bias")
    full = parts.grouped(fields, bias=bias)
    chunk = fields.count("attention_chunk_size")
    short = parts.grouped(fields, window=chunk, chunked=True, bias=bias)
    switched = patterns.windowed(fields, count, every=4)
    wide = fields.count("intermediate_size")
    experts = parts.experts(fields, width=_INTERMEDIATE, shared=wide)
    numbers = fields.indices("moe_layers")
    step = fields.count("interleave_moe_layer_step", default=1)
    routed = [n in numbers if numbers else (n + 1) % step == 0 for n in range(count)]
    unrouted = experts if all(routed) else parts.dense(fields, "intermediate_size_mlp")
    return mixed(choose(switched, short, full), choose(routed, experts, unrouted))


def minimax_m2(fields: Fields) -> list[Layer]:
    """Read MiniMax M2: experts in every layer, norms over the full width of queries and keys."""
    attention = parts.grouped(fields, qk_norm=_minimax_norm(fields, "per_layer"))
    bias = fields.flag("use_routing_bias", True)
    return uniform(fields, attention, parts.experts(fields, width=_INTERMEDIATE, router_bias=bias))


def minimax_m3(fields: Fields) -> list[Layer]:
    """Read MiniMax M3: three full layers, then attention to the highest-scoring token blocks."""
    count = fields.layers()
    plain = parts.grouped(fields, qk_norm=_minimax_norm(fields, "per_head"))
    shared = fields.maybe("shared_intermediate_size", minimum=0) or 0
    bias = fields.flag("use_routing_bias", True)
    width = ("moe_intermediate_size", "intermediate_size")
    experts = parts.experts(fields, width=width, shared=shared, router_bias=bias)
    routed = patterns.routed(fields, count, first_dense=3)
    networks = choose(routed, experts, parts.dense(fields, "dense_intermediate_size"))
    switched, indexer = parts.block_indexer(fields, count)
    indexed = {**plain, "indexer": indexer} if indexer else plain
    return mixed(choose(switched, indexed, plain), networks)


def _minimax_norm(fields: Fields, usual: str) -> bool | str:
    if not fields.flag("use_qk_norm", True):
        return False
    return "full" if (fields.word("qk_norm_type") or usual) == "per_layer" else True


def mimo_v2(fields: Fields) -> list[Layer]:
    """Read MiMo V2, with windowed layers with sinks and a different number of heads.

    Values are narrower than keys.
    """
    count, window = fields.layers(), parts.window(fields)
    bias = fields.flag("attention_bias", False)
    wide, sinks = fields.maybe("v_head_dim"), fields.flag("add_full_attention_sink_bias", False)
    heads = fields.count("num_attention_heads")
    full = parts.grouped(fields, value_dim=wide, qkv_bias=bias, sinks=sinks)
    short = parts.grouped(
        fields,
        window=window,
        heads=fields.count("swa_num_attention_heads", default=heads),
        kv_heads=fields.maybe("swa_num_key_value_heads"),
        head_dim=fields.maybe("swa_head_dim"),
        value_dim=fields.maybe("swa_v_head_dim") or wide,
        qkv_bias=bias,
        sinks=fields.flag("add_swa_attention_sink_bias", True),
    )
    switched = fields.switches("hybrid_layer_pattern", count)
    if switched is None:
        switched = patterns.windowed(fields, count, every=6)
    return mixed(choose(switched, short, full), patterns.shared_networks(fields))


def step(fields: Fields) -> list[Layer]:
    """Read Step 3.5 and 3.7, with more query heads in windowed layers, and one gate per head."""
    count = fields.layers()
    gate = "per-head" if fields.flag("use_head_wise_attn_gate", True) else False
    sliding = fields.nested("attention_other_setting")
    usual = "num_sliding_attention_heads"
    heads = fields.maybe(usual) or sliding.maybe("num_attention_heads") or fields.count(usual)
    full = parts.grouped(fields, qk_norm=True, output_gate=gate)
    short = parts.grouped(
        fields,
        window=parts.window(fields),
        heads=heads,
        kv_heads=sliding.maybe("num_attention_groups"),
        head_dim=sliding.maybe("head_dim"),
        qk_norm=True,
        output_gate=gate,
    )
    shared = fields.maybe("share_expert_dim", minimum=0) or 0
    router_bias = fields.flag("use_moe_router_bias", True)
    experts = parts.experts(fields, shared=shared, router_bias=router_bias)
    enumerated = fields.data.get("moe_layers_enum")
    if isinstance(enumerated, str):
        numbers = {int(number) for number in re.findall(r"[0-9]{1,9}", enumerated)}
        routed = [layer in numbers for layer in range(count)]
    else:
        routed = patterns.routed(fields, count, first_dense=3)
    switched = patterns.windowed(fields, count)
    return mixed(choose(switched, short, full), choose(routed, experts, parts.dense(fields)))


def muse_spark(fields: Fields) -> list[Layer]:
    """Read Muse Spark: experts that operate on a projection of the hidden state, in every layer."""
    attentions, latent_size = gated(fields), fields.maybe("moe_hidden_size")
    experts = parts.experts(fields, latent_size=latent_size, router_bias=True)
    return mixed(attentions, patterns.networks(fields, experts), norms=5)


def latent_norms(fields: Fields) -> dict[str, int]:
    """Count the norms before and after the experts of Muse Spark."""
    fields.remark("other_parameters is the norms around the experts; two of norms are gates.")
    return {"other_parameters": 2 * fields.count("moe_hidden_size") * fields.layers()}


def gemma4(fields: Fields) -> list[Layer]:
    """Read Gemma 4, with full layers with wider heads and no value projection.

    Experts run in parallel with a network.
    """
    count = fields.layers()
    short = parts.grouped(fields, window=parts.window(fields), qk_norm=True)
    is_one = fields.flag("attention_k_eq_v", False)
    full = parts.grouped(
        fields,
        kv_heads=fields.maybe("num_global_key_value_heads") if is_one else None,
        head_dim=fields.count("global_head_dim", default=512),
        qk_norm=True,
        k_eq_v=is_one,
    )
    network, norms = parts.dense(fields), 4
    if fields.flag("enable_moe_block", False):
        # Seven norms, a vector that scales the router's input, and the router's bias, also a scale.
        network, norms = (
            parts.experts(fields, shared=fields.count("intermediate_size"), router_bias=True),
            8,
        )
    switched = patterns.windowed(fields, count, every=6)
    attentions = tables.sharing(fields, choose(switched, short, full))
    networks = [network] * count
    if parts.flagged(fields, "use_double_wide_mlp"):
        twice = parts.dense_of(2 * fields.count("intermediate_size"))
        networks = choose(["shared_cache" in block for block in attentions], twice, network)
    return tables.with_layer_embedding(fields, mixed(attentions, networks, norms=norms))


def layer_scales(fields: Fields) -> dict[str, int]:
    """Return the parameters that scale each layer of Gemma 4."""
    fields.remark("other_parameters is a scale for each layer.")
    extra_counts = tables.lookups(fields)
    return {
        **extra_counts,
        "other_parameters": fields.layers() + extra_counts.get("other_parameters", 0),
    }


def laguna(fields: Fields) -> list[Layer]:
    """Read Poolside Laguna, with per-layer head counts, one gate per head, and windows."""
    count, window = fields.layers(), parts.window(fields)
    interval = fields.numbers("num_attention_heads_per_layer", count)
    heads = interval or [fields.count("num_attention_heads")] * count
    gate = "per-head" if fields.data.get("gating", "per-head") else False
    switched = patterns.windowed(fields, count)
    attentions = [
        parts.grouped(
            fields, window=window if short else None, heads=n, qk_norm=True, output_gate=gate
        )
        for n, short in zip(heads, switched, strict=True)
    ]
    shared = fields.maybe("shared_expert_intermediate_size", minimum=0) or 0
    experts = parts.experts(fields, shared=shared, router_bias=True)
    return mixed(attentions, patterns.networks(fields, experts))


def cohere_moe(fields: Fields) -> list[Layer]:
    """Read Cohere's North: one norm before attention and experts, and a wider dense first layer."""
    count, window = fields.layers(), parts.window(fields)
    is_normed = parts.flagged(fields, "use_qk_norm")
    full, short = (parts.grouped(fields, window=size, qk_norm=is_normed) for size in (None, window))
    number = fields.maybe("num_shared_experts", minimum=0) or 0
    experts = parts.experts(
        fields, width=_INTERMEDIATE, shared=(number * fields.count("intermediate_size"))
    )
    dense = parts.dense(fields, "prefix_dense_intermediate_size", "intermediate_size")
    networks = choose(patterns.routed(fields, count), experts, dense)
    is_parallel = fields.flag("use_parallel_block", True, noted=False)
    attentions = choose(patterns.windowed(fields, count, every=4), short, full)
    return mixed(attentions, networks, norms=1 if is_parallel else 2)


def afmoe(fields: Fields) -> list[Layer]:
    """Read Arcee Trinity, with gated windowed attention, four norms, dense layers, then experts."""
    count = fields.layers()
    habits = {"qk_norm": True, "output_gate": True}
    full, short = parts.grouped(fields, **habits), parts.grouped(
        fields, window=parts.window(fields), **habits
    )  # fmt: skip
    interval = fields.maybe("global_attn_every_n_layers") or 4
    experts = parts.experts(fields, shared=parts.shared_width(fields), router_bias=True)
    dense = fields.count("num_dense_layers", default=1, minimum=0)
    networks = choose([n >= dense for n in range(count)], experts, parts.dense(fields))
    switched = patterns.windowed(fields, count, every=interval)
    return mixed(choose(switched, short, full), networks, norms=4)


def aria(fields: Fields) -> list[Layer]:
    """Read Aria, with experts in every layer, with shared experts of the same width."""
    shared = fields.count("moe_num_shared_experts", default=2, minimum=0)
    experts = parts.experts(
        fields, width=_INTERMEDIATE, shared=shared * fields.count("intermediate_size")
    )
    return uniform(fields, parts.grouped(fields), experts)
