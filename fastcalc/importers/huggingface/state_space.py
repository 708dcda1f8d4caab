"""Families with Mamba, convolutions or linear attention between attention layers."""

from fastcalc.importers.huggingface import parts, patterns
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.dense import qwen_networks
from fastcalc.importers.huggingface.parts import Layer, Part, choose, mixed

_ATTENTION = {"attention", "full_attention", "hybrid"}


def mamba2(fields: Fields) -> Part:
    """Build a Mamba-2 mixer, using whichever field names are present."""
    heads = fields.count("mamba_n_heads", "mamba_num_heads", "num_heads")
    size = fields.data.get("mamba_d_head")
    if size in (None, "auto") and not fields.has("mamba_head_dim", "head_dim"):
        size = fields.count("mamba_expand", default=2) * fields.count("hidden_size") // heads
    elif size in (None, "auto"):
        size = fields.count("mamba_head_dim", "head_dim")
    else:
        size = fields.count("mamba_d_head")
    return {
        "kind": "mamba2",
        "key_heads": fields.count("mamba_n_groups", "mamba_ngroups", "n_groups", default=1),
        "value_heads": heads,
        "key_dim": fields.count("mamba_d_state", "state_size", "ssm_state_size"),
        "value_dim": size,
        **parts.kernel(fields.maybe("mamba_d_conv", "conv_kernel")),
    }


def mamba(fields: Fields) -> Part:
    """Build a first-generation Mamba mixer, which has a state per channel."""
    hidden = fields.count("hidden_size")
    width = fields.count("mamba_expand", "expand", default=2) * hidden
    if fields.has("state_size"):
        width = fields.maybe("intermediate_size") or width
    rank = fields.data.get("mamba_dt_rank", fields.data.get("time_step_rank"))
    usual = -(-hidden // 16)
    return {
        "kind": "mamba",
        "key_heads": 1,
        "value_heads": width,
        "key_dim": fields.count("mamba_d_state", "state_size", default=16),
        "value_dim": 1,
        "step_rank": usual
        if rank in (None, "auto")
        else fields.count("mamba_dt_rank", "time_step_rank"),
        **parts.kernel(fields.maybe("mamba_d_conv", "conv_kernel")),
    }


def mamba_alone(fields: Fields) -> list[Layer]:
    """Read Mamba and Falcon Mamba: only mixers."""
    return [{"attention": mamba(fields)}] * fields.layers()


def mamba2_alone(fields: Fields) -> list[Layer]:
    """Read Mamba-2 and Codestral Mamba: only mixers."""
    return [{"attention": mamba2(fields)}] * fields.layers()


def jamba(fields: Fields) -> list[Layer]:
    """Read Jamba, with one attention layer in eight, and experts in every second layer."""
    count = fields.layers()
    mixer, attention = mamba(fields), parts.grouped(fields)
    period, offset = fields.count("attn_layer_period", default=8), fields.count(
        "attn_layer_offset", default=4, minimum=0
    )  # fmt: skip
    step, first = fields.count("expert_layer_period", default=2), fields.count(
        "expert_layer_offset", default=1, minimum=0
    )  # fmt: skip
    network = parts.dense(fields)
    experts = network
    if fields.count("num_experts", default=16) > 1:
        experts = parts.experts(fields, width=("intermediate_size",))
    layers = mixed(
        choose([n % period == offset % period for n in range(count)], attention, mixer),
        choose([n % step == first % step for n in range(count)], experts, network),
    )
    rank = mixer["step_rank"]
    assert isinstance(rank, int)
    normed = fields.count("mamba_d_state", default=16) * 2 + rank
    return [
        {**layer, "other_parameters": normed} if layer["attention"] == mixer else layer
        for layer in layers
    ]


def granite_hybrid(fields: Fields) -> list[Layer]:
    """Read Granite 4: Mamba-2, a few attention layers, experts with or without a shared network."""
    count, shared = fields.layers(), fields.maybe("shared_intermediate_size", minimum=0) or 0
    fields.require("layer_types")
    layer_types = fields.words("layer_types", count) or []
    attention = parts.grouped(fields, bias=parts.flagged(fields, "attention_bias"))
    if fields.maybe("num_local_experts", minimum=0):
        network = parts.experts(fields, width=("intermediate_size",), shared=shared)
    else:
        network = parts.dense_of(shared or fields.count("intermediate_size"))
    switched = [layer_type in _ATTENTION for layer_type in layer_types]
    return mixed(choose(switched, attention, mamba2(fields)), [network] * count)


def bamba(fields: Fields) -> list[Layer]:
    """Read Bamba: Mamba-2, with attention in a few layers listed in the file."""
    count, listed = fields.layers(), fields.indices("attn_layer_indices")
    attention = parts.grouped(fields, bias=parts.flagged(fields, "attention_bias"))
    switched = [n in listed for n in range(count)]
    return mixed(choose(switched, attention, mamba2(fields)), [parts.dense(fields)] * count)


def falcon_h1(fields: Fields) -> list[Layer]:
    """Read Falcon H1, with attention and Mamba-2 in parallel after one norm, then a network."""
    fields.remark("Attention and Mamba-2 of a layer run in parallel, and are separate blocks.")
    attention = parts.grouped(fields, bias=parts.flagged(fields, "attention_bias"))
    network = parts.dense(fields, bias=parts.flagged(fields, "mlp_bias"))
    mixer: Layer = {"attention": mamba2(fields), "norms": 0}
    return [mixer, {"attention": attention, "ffn": network}] * fields.layers()


def lfm(fields: Fields) -> list[Layer]:
    """Read LFM2, 2.5 and 3, whose layers are gated short convolutions, attention or experts."""
    count, hidden = fields.layers(), fields.count("hidden_size")
    gate = "per-head" if parts.flagged(fields, "use_attention_gate") else False
    full = parts.grouped(fields, qk_norm=True, output_gate=gate)
    window = parts.window(fields)
    short = parts.grouped(fields, window=window, qk_norm=True, output_gate=gate)
    convolution: Part = {
        "kind": "short-conv", "key_heads": 1, "value_heads": 1, "key_dim": hidden,
        "value_dim": hidden, **parts.kernel(fields.count("conv_L_cache", default=3)),
    }  # fmt: skip
    layer_types = fields.words("layer_types", count)
    if layer_types is None:
        fields.require(("layer_types", "full_attn_idxs"))
        indices = fields.indices("full_attn_idxs")
        layer_types = ["full_attention" if n in indices else "conv" for n in range(count)]
    mixers = {"full_attention": full, "sliding_attention": short, "conv": convolution}
    if unknown := sorted(set(layer_types) - set(mixers)):
        raise fields.refuse(f"layer_types holds the unsupported type '{unknown[0][:40]}'")
    width = fields.count("block_ff_dim", "intermediate_size")
    is_cut = parts.flagged(fields, "block_auto_adjust_ff_dim")
    if is_cut:
        factor = fields.number("block_ffn_dim_multiplier") if fields.has(
            "block_ffn_dim_multiplier") else 1.0  # fmt: skip
        multiple = fields.count("block_multiple_of", default=256)
        width = -(-int(factor * int(2 * width / 3)) // multiple) * multiple
    networks = [parts.dense_of(width)] * count
    if fields.has("num_experts"):
        experts = parts.experts(fields, router_bias=fields.flag("use_expert_bias", True))
        dense = fields.count("num_dense_layers", default=2, minimum=0)
        networks = choose([n >= dense for n in range(count)], experts, parts.dense(fields))
    norms = 4 if parts.flagged(fields, "use_sandwich_norm") else 2
    return mixed([mixers[layer_type] for layer_type in layer_types], networks, norms)


def lightning(fields: Fields) -> list[Layer]:
    """Read MiniMax-01, with lightning attention in most layers, experts in all."""
    count = fields.layers()
    full = parts.grouped(fields)
    heads, size = fields.count("num_attention_heads"), full["head_dim"]
    linear: Part = {"kind": "lightning", "key_heads": heads, "value_heads": heads, "key_dim": size,
                    "value_dim": size}  # fmt: skip
    listed = fields.switches("attn_type_list", count)
    switched = [not is_full for is_full in listed] if listed else patterns.linear(fields, count)
    experts = parts.experts(fields, width=("intermediate_size",))
    return mixed(choose(switched, linear, full), [experts] * count)


def olmo_hybrid(fields: Fields) -> list[Layer]:
    """Read OLMo Hybrid: gated DeltaNet, and attention with one norm each for queries and keys."""
    count = fields.layers()
    attention = parts.grouped(fields, qk_norm="full", bias=parts.flagged(fields, "attention_bias"))
    switched = patterns.linear(fields, count)
    return mixed(choose(switched, parts.delta(fields), attention), [parts.dense(fields)] * count)


def lara(fields: Fields) -> list[Layer]:
    """Read Lara, with gated DeltaNet between ungated windowed and full attention layers."""
    count = fields.layers()
    fields.require("layer_types")
    layer_types = fields.words("layer_types", count) or []
    bias = parts.flagged(fields, "attention_bias")
    mixers = {
        "linear_attention": parts.delta(fields),
        "full_attention": parts.grouped(fields, qk_norm=True, bias=bias),
        "sliding_attention": parts.grouped(
            fields, window=parts.window(fields), qk_norm=True, bias=bias
        ),
    }
    if unknown := sorted(set(layer_types) - set(mixers)):
        raise fields.refuse(f"layer_types holds the unsupported type '{unknown[0][:40]}'")
    return mixed([mixers[layer_type] for layer_type in layer_types], qwen_networks(fields))


def bailing(fields: Fields) -> list[Layer]:
    """Read Ling 3: Kimi delta attention with a full forget gate, latent attention gated by head."""
    count, hidden = fields.layers(), fields.count("hidden_size")
    heads, size = fields.count("linear_num_heads"), fields.count("linear_head_dim")
    width = heads * size
    linear: Part = {
        "kind": "kda", "key_heads": heads, "value_heads": heads, "key_dim": size,
        "value_dim": size, "full_rank_gate": True,
    }  # fmt: skip
    whole_gate = hidden * width - size * (hidden + width)
    switched = patterns.linear(fields, count)
    layers = mixed(choose(switched, linear, parts.latent(fields)), patterns.shared_networks(fields))
    per_head = hidden * fields.count("num_attention_heads")
    gates = (whole_gate if is_linear else per_head for is_linear in switched)
    return [{**layer, "other_matrices": gate} for layer, gate in zip(layers, gates, strict=True)]
