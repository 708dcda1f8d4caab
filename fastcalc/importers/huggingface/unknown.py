"""A configuration of an unknown family: a plain reading if the fields suffice."""

from fastcalc.importers.huggingface import parts, patterns
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.families import ModelFamily
from fastcalc.importers.huggingface.parts import Layer, choose, mixed
from fastcalc.written import shown

_BEYOND = {
    "state-space layers": ("ssm_state_size", "mamba_num_heads", "mamba_d_state", "state_size"),
    "linear attention": ("linear_attn_config", "linear_num_value_heads"),
    "layers of several kinds": ("hybrid_override_pattern", "layers_block_type", "block_configs"),
    "sparse attention": ("index_topk", "sparse_attention_config"),
    "compressed attention": ("compress_ratios",),
    "chunked attention": ("attention_chunk_size",),
    "hyper-connections": ("hc_mult",),
    "experts behind a projection": (
        "moe_latent_size",
        "routed_expert_hidden_size",
        "moe_hidden_size",
    ),
    "dense layers between those with experts": (
        "intermediate_size_mlp",
        "interleave_moe_layer_step",
    ),
    "layers with heads of their own": (
        "global_head_dim",
        "swa_head_dim",
        "swa_num_attention_heads",
        "attention_other_setting",
    ),
    "cross-attention": ("cross_attention_layers",),
    "an encoder": ("is_encoder_decoder", "num_encoder_layers"),
    "recurrent layers": ("rwkv_version",),
}


_UNGATED = ("gelu", "gelu_new", "gelu_fast", "quick_gelu", "relu", "relu2", "xielu")
_KINDS = ("full_attention", "sliding_attention")


def family(fields: Fields, kind: str | None) -> ModelFamily:
    """Return the plain reading of an unknown ``model_type``; refuse where it would miscount."""
    kind_text = f"model_type '{shown(kind, 60)}'" if kind else "a file without model_type"
    beyond = [
        f"{name} announces {feature}, which a plain reading would miscount"
        for feature, names in _BEYOND.items()
        for name in filter(fields.data.get, names)
    ]
    kinds = fields.data.get("layer_types")
    if isinstance(kinds, list) and any(kind not in _KINDS for kind in kinds):
        beyond.append("layer_types holds more than full and sliding attention")
    if beyond:
        why = f"{kind_text} is not known here, and {beyond[0]}"
        raise fields.refuse(f"{why}; write a model YAML instead")
    reading = "a mixture of experts" if fields.has(*parts.EXPERTS) else "a dense model"
    fields.remark(
        f"Warning: {kind_text} is not known here; it was read as {reading} with plain attention "
        "from the usual fields. Compare the parameters with the checkpoint's."
    )
    return ModelFamily(read)


def read(fields: Fields) -> list[Layer]:
    """Read the usual fields: latents if there are, else heads; experts if there are."""
    count = fields.layers()
    bias = parts.flagged(fields, "attention_bias")
    switched = [False] * count
    if fields.has("kv_lora_rank"):
        full = short = parts.latent(fields)
    else:
        habits = {
            "qkv_bias": bias or parts.flagged(fields, "qkv_bias"),
            "output_bias": bias,
            "qk_norm": any(parts.flagged(fields, name) for name in ("use_qk_norm", "qk_layernorm")),
        }
        full = short = parts.grouped(fields, **habits)
        window = fields.maybe("sliding_window")
        if window and fields.data.get("use_sliding_window") is not False:
            short = parts.grouped(fields, window=window, **habits)
            is_said = fields.has("layer_types", "sliding_window_pattern")
            switched = patterns.windowed(fields, count) if is_said else [True] * count
    attentions = choose(switched, short, full)
    activation = fields.word("hidden_act")
    matrices = 2 if activation in _UNGATED else 3
    if matrices == 2:
        fields.remark(f"Two matrices a network, because its activation, {activation}, has no gate.")
    if not fields.has(*parts.EXPERTS):
        return mixed(attentions, [parts.dense(fields, matrices=matrices)] * count)
    width = (*parts.EXPERT_WIDTH, "intermediate_size")
    shared = fields.maybe("shared_expert_intermediate_size", minimum=0) or 0
    if not shared and fields.has(*parts.EXPERT_WIDTH):
        shared = parts.shared_width(fields)
    experts = parts.experts(fields, width=width, shared=shared)
    if matrices == 2:
        experts["matrices"] = 2
    return mixed(attentions, patterns.networks(fields, experts))
