"""Conversion of a GGUF header to a Hugging Face configuration that family readers can read."""

from collections.abc import Mapping
from pathlib import Path

from fastcalc.errors import InputError
from fastcalc.importers.gguf import GgufHeader
from fastcalc.mentions import option
from fastcalc.written import Json, listed, shown

_TYPES = {
    "llama": "llama", "mistral3": "mistral", "qwen2": "qwen2", "qwen2vl": "qwen2",
    "qwen2moe": "qwen2_moe", "qwen3": "qwen3", "qwen3vl": "qwen3", "qwen3moe": "qwen3_moe",
    "qwen3vlmoe": "qwen3_moe", "gemma": "gemma", "gemma2": "gemma2", "gemma3": "gemma3_text",
    "phi3": "phi3", "gpt-oss": "gpt_oss", "deepseek2": "deepseek_v3", "glm4": "glm4",
    "glm4moe": "glm4_moe", "smollm3": "smollm3", "seed_oss": "seed_oss", "olmo2": "olmo2",
    "command-r": "cohere", "cohere2": "cohere2", "granite": "granite", "granitemoe": "granitemoe",
    "starcoder2": "starcoder2", "exaone4": "exaone4", "ernie4_5": "ernie4_5",
    "minimax-m2": "minimax_m2", "hunyuan-dense": "hunyuan_v1_dense", "dots1": "dots1",
    "afmoe": "afmoe", "qwen3next": "qwen3_next", "qwen35": "qwen3_5_text",
    "qwen35moe": "qwen3_5_text",
}  # fmt: skip
"""Families by llama.cpp's name for their architecture."""

_NAMES = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "context_length": "max_position_embeddings",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.sliding_window": "sliding_window",
    "attention.q_lora_rank": "q_lora_rank",
    "attention.kv_lora_rank": "kv_lora_rank",
    "rope.dimension_count": "qk_rope_head_dim",
    "attention.value_length": "v_head_dim",
    "attention.value_length_mla": "v_head_dim",
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_feed_forward_length": "shared_expert_intermediate_size",
    "expert_shared_count": "n_shared_experts",
    "leading_dense_block_count": "first_k_dense_replace",
    "nextn_predict_layers": "num_nextn_predict_layers",
    "ssm.group_count": "linear_num_key_heads",
    "ssm.time_step_rank": "linear_num_value_heads",
    "ssm.state_size": "linear_key_head_dim",
    "ssm.conv_kernel": "linear_conv_kernel_dim",
    "full_attention_interval": "full_attention_interval",
}
_EXPERTS_AS_WIDE = ("mixtral", "granitemoe", "gpt_oss", "minimax_m2")


def configuration(path: Path, header: GgufHeader) -> dict[str, Json]:
    """Convert a header to a configuration. An unsupported architecture raises InputError."""
    pairs = header.pairs
    architecture = pairs.get("general.architecture")
    model_type = _TYPES.get(str(architecture))
    if model_type is None:
        raise InputError(
            f"{path}: architecture '{shown(architecture)}' of this GGUF file is unsupported; "
            f"give the model's config.json, or a model file, with {option('weights')} FORMAT, such "
            "as q4_k_m"
        )
    data: dict[str, Json] = {}
    for key, name in _NAMES.items():
        value = pairs.get(f"{architecture}.{key}")
        if value is not None:
            data[name] = value
        if isinstance(value, list):  # given per layer; read if it is the same in all layers
            distinct = sorted({number for number in value if isinstance(number, int) and number})
            if len(distinct) != 1:
                raise InputError(
                    f"{path}: layers differ in {key} ({listed([*map(str, distinct[:3])])}), which "
                    f"is not read from a GGUF file; give the model's config.json with "
                    f"{option('weights')} FORMAT"
                )
            data[name] = distinct[0]
    data |= {
        "vocab_size": header.vocabulary,
        "torch_dtype": "bfloat16",
        "_name_or_path": str(pairs.get("general.name") or pairs.get("general.basename") or ""),
    }
    data["tie_word_embeddings"] = "output.weight" not in header.names
    data["attention_bias"] = "blk.0.attn_q.bias" in header.names
    if model_type == "llama" and data.get("num_experts"):
        model_type = "mixtral"
    return data | {"model_type": model_type} | _of_kind(model_type, data, pairs, str(architecture))


def _of_kind(
    model_type: str, data: Mapping[str, Json], pairs: Mapping[str, Json], architecture: str
) -> dict[str, Json]:
    """Read fields that have another name or unit in some families."""
    width, size = data.get("moe_intermediate_size"), data.get("head_dim")
    if model_type in _EXPERTS_AS_WIDE and width:
        return {"intermediate_size": width}
    if model_type == "deepseek_v3":
        key, rope = pairs.get(f"{architecture}.attention.key_length_mla", size), data.get(
            "qk_rope_head_dim"
        )  # fmt: skip
        nope = key - rope if isinstance(key, int) and isinstance(rope, int) else None
        return {
            "qk_nope_head_dim": nope,
            "head_dim": None,
            "n_routed_experts": data.get("num_experts"),
        }
    if model_type.startswith("qwen3_"):
        inner, heads = (
            pairs.get(f"{architecture}.ssm.inner_size"),
            data.get("linear_num_value_heads"),
        )
        if isinstance(inner, int) and isinstance(heads, int) and heads:
            return {"linear_value_head_dim": inner // heads}
    return {"use_qk_norm": True} if model_type == "glm4_moe" and size else {}
