"""Families that mix attention layers with layers that keep a state instead of a cache."""

from fastcalc.importers.huggingface import parts, patterns
from fastcalc.importers.huggingface.config import MOST_LAYERS, Fields
from fastcalc.importers.huggingface.dense import qwen_networks
from fastcalc.importers.huggingface.parts import Layer, Part, choose, mixed

_LETTERS = {"M": "mamba", "E": "moe", "*": "attention", "-": "mlp"}
_SYNONYMS = {"linear_attention": "mamba", "full_attention": "attention"}


def qwen_next(fields: Fields) -> list[Layer]:
    """Read Qwen3-Next and Qwen 3.5, with three gated DeltaNet layers per gated attention layer."""
    bias = fields.flag("attention_bias", False)
    gate = fields.flag("attn_output_gate", True, noted=False)
    habits = {"qkv_bias": bias, "output_bias": bias, "output_gate": gate}
    attention = parts.grouped(fields, qk_norm=True, **habits)
    switched = patterns.linear(fields, fields.layers())
    return mixed(choose(switched, parts.delta(fields), attention), qwen_networks(fields))


def kimi_linear(fields: Fields) -> list[Layer]:
    """Read Kimi Linear and K3: three Kimi delta attention layers per latent attention layer."""
    count = fields.layers()
    nested = fields.nested("linear_attn_config")
    if nested.data:
        full = nested.indices("full_attn_layers")
        switched = [layer + 1 not in full for layer in range(count)]
    else:
        switched = patterns.linear(fields, count)
    is_gated = parts.flagged(fields, "mla_use_output_gate")
    attentions = choose(switched, _kda(fields, nested), parts.latent(fields, output_gate=is_gated))
    latent_size = fields.maybe("routed_expert_hidden_size")
    return mixed(attentions, patterns.shared_networks(fields, latent_size=latent_size))


def kimi_extras(fields: Fields) -> dict[str, int]:
    """Count K3's norms for the experts' projection, and the vectors that scale residuals."""
    count, extra = fields.layers(), 0
    latent_size = fields.maybe("routed_expert_hidden_size")
    if latent_size and parts.flagged(fields, "latent_moe_use_norm"):
        extra += latent_size * sum(patterns.routed(fields, count))
    if fields.maybe("attn_res_block_size"):
        extra += 2 * (2 * count + 1) * fields.count("hidden_size")
    if not extra:
        return {}
    fields.remark("other_parameters is norms of the experts and vectors that scale residuals.")
    return {"other_parameters": extra}


def glm5_next(fields: Fields) -> list[Layer]:
    """Read GLM-5.3-Flash: Kimi delta attention, and latent attention indexed by pooled keys."""
    switched = patterns.linear(fields, fields.layers())
    indexer = {**parts.indexer(fields), "pool": fields.count("index_kpool", default=16)}
    delta = _kda(fields, fields.nested("linear_attn_config"))
    attentions = choose(switched, delta, parts.latent(fields, indexer=indexer))
    return mixed(attentions, patterns.shared_networks(fields, first_dense=3))


def _kda(fields: Fields, nested: Fields) -> Part:
    heads = nested.maybe("num_heads") or fields.count("linear_num_heads")
    size = nested.maybe("head_dim") or fields.count("linear_head_dim")
    kernel = nested.maybe("short_conv_kernel_size") or fields.maybe("linear_conv_kernel_dim")
    return {
        "kind": "kda",
        "key_heads": heads,
        "value_heads": heads,
        "key_dim": size,
        "value_dim": size,
        **parts.kernel(kernel),
        **parts.given({"full_rank_gate": parts.flagged(nested, "use_full_rank_gate")}),
    }


def nemotron_h(fields: Fields) -> list[Layer]:
    """Read Nemotron H and 3: each layer is a Mamba-2, attention, network or expert layer."""
    pattern = fields.word("hybrid_override_pattern")
    if pattern is not None:
        if not pattern or set(pattern) - set(_LETTERS):
            raise fields.refuse("hybrid_override_pattern should have the letters M, E, * and -")
        layer_types = [_LETTERS[letter] for letter in pattern]
    else:
        names = ("layers_block_type", "layer_types")
        fields.require(("hybrid_override_pattern", *names))
        name = next(name for name in names if fields.has(name))
        layer_types = [
            _SYNONYMS.get(layer_type, layer_type)
            for layer_type in fields.words(name, 1, is_complete=True) or []
        ]
    if len(layer_types) > MOST_LAYERS:
        raise fields.refuse(f"{len(layer_types)} layers are too many: at most {MOST_LAYERS}")
    layers = {layer_type: _single(fields, layer_type) for layer_type in dict.fromkeys(layer_types)}
    return [layers[layer_type] for layer_type in layer_types]


def _single(fields: Fields, layer_type: str) -> Layer:
    if layer_type == "mamba":
        mamba: Part = {
            "kind": "mamba2",
            "key_heads": fields.count("n_groups", "mamba_n_groups"),
            "value_heads": fields.count("mamba_num_heads"),
            "key_dim": fields.count("ssm_state_size"),
            "value_dim": fields.count("mamba_head_dim"),
            **parts.kernel(fields.maybe("conv_kernel", "mamba_d_conv")),
        }
        return {"attention": mamba}
    if layer_type == "attention":
        return {"attention": parts.grouped(fields, bias=parts.flagged(fields, "attention_bias"))}
    if layer_type == "mlp":
        return {"ffn": parts.dense(fields, matrices=2, bias=parts.flagged(fields, "mlp_bias"))}
    if layer_type == "moe":
        number = fields.maybe("n_shared_experts", minimum=0)
        wide = fields.maybe("moe_shared_expert_intermediate_size", minimum=0) or 0
        experts = parts.experts(
            fields,
            matrices=2,
            shared=wide * (1 if number is None else number),
            latent_size=fields.maybe("moe_latent_size"),
            router_bias=True,
        )
        return {"ffn": experts}
    raise fields.refuse(f"a layer has the unsupported type '{layer_type[:40]}'")


def nemotron_nas(fields: Fields) -> list[Layer]:
    """Read Nemotron Super 49B and related models, whose layers were sized by a search."""
    layers = []
    for block in fields.blocks("block_configs"):
        attention, ffn = block.nested("attention"), block.nested("ffn")
        if any(parts.flagged(layer_, "replace_with_linear") for layer_ in (attention, ffn)):
            raise block.refuse("a layer is a linear map, which model files do not support")
        layer: Layer = {}
        if not parts.flagged(attention, "no_op"):
            heads = block.count("num_attention_heads")
            group = attention.count("n_heads_in_group")
            if heads % group:
                raise block.refuse(f"n_heads_in_group {group} does not divide the {heads} heads")
            layer["attention"] = parts.grouped(block, kv_heads=heads // group)
        if not parts.flagged(ffn, "no_op"):
            wide = ffn.maybe("intermediate_size")
            if wide is None:  # given as a multiplier: 2/3 of it, rounded up to a multiple of 256
                multiple = ffn.number("ffn_mult")
                wide = -int(-2 * multiple * block.count("hidden_size") / 3 // 256) * 256
            layer["ffn"] = parts.dense_of(wide)
        if layer:  # a layer without attention and network passes its input through
            layers.append(layer)
    return layers
