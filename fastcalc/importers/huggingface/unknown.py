"""Configurations of unknown families, read from the usual fields if these suffice."""

from fastcalc.importers.huggingface import parts
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.families import ModelFamily
from fastcalc.importers.huggingface.usual import usual
from fastcalc.written import shown

_BEYOND = {
    "state-space layers": ("ssm_state_size", "mamba_num_heads", "mamba_d_state", "state_size"),
    "linear attention": ("linear_attn_config", "linear_num_value_heads"),
    "layers of several types": ("hybrid_override_pattern", "layers_block_type", "block_configs"),
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
    "layers with different head counts": (
        "global_head_dim",
        "swa_head_dim",
        "swa_num_attention_heads",
        "attention_other_setting",
    ),
    "cross-attention": ("cross_attention_layers",),
    "an encoder": ("is_encoder_decoder", "num_encoder_layers"),
    "recurrent layers": ("rwkv_version",),
}

REFUSED = {
    "doge": "experts that are single rows of a table",
    "jetmoe": "experts of attention",
    "hrm_text": "layers that run several times",
    "recurrent_gemma": "recurrent layers",
    "gemma4_assistant": "a draft that attends to another model's cache",
    "gemma4_unified_assistant": "a draft that attends to another model's cache",
}
"""Families that look like others but have features that model files do not support."""

_KINDS = ("full_attention", "sliding_attention")


def family(fields: Fields, model_type: str | None) -> ModelFamily:
    """Read an unknown ``model_type`` plainly, or reject it if it would be miscounted."""
    kind_text = f"model_type '{shown(model_type)}'" if model_type else "a file without model_type"
    beyond = [
        f"{name} indicates {feature}, which a plain reading would miscount"
        for feature, names in _BEYOND.items()
        for name in filter(fields.data.get, names)
    ]
    layer_types = fields.data.get("layer_types")
    if isinstance(layer_types, list) and any(
        model_type not in _KINDS for model_type in layer_types
    ):
        beyond.append("layer_types contains more than full and sliding attention")
    if model_type in REFUSED:
        beyond.insert(0, f"it has {REFUSED[model_type]}")
    if beyond:
        why = f"{kind_text} is unsupported, and {beyond[0]}"
        raise fields.refuse(f"{why}; write a model YAML instead")
    reading = "a mixture of experts" if fields.has(*parts.EXPERTS) else "a dense model"
    fields.remark(
        f"Warning: {kind_text} is unsupported; it was read as {reading} with plain attention from "
        "the usual fields. Compare the parameters with the checkpoint's."
    )
    return ModelFamily(usual)
