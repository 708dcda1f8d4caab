"""Every key of the layers that a family reads from a small configuration, written by hand.

Hidden states are 512 wide, with 8 heads of 64, two of them for keys and values; networks have a
width of 1,024, and two of four experts are picked, 64 wide.
"""

import pytest

from fastcalc.errors import InputError
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.families import FAMILIES
from fastcalc.importers.huggingface.json_file import JsonFile
from tests.helpers import every

SMALL = {"num_hidden_layers": 8, "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2,
         "head_dim": 64, "intermediate_size": 1024}  # fmt: skip
MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
ROUTED = {"kind": "moe", "experts": 4, "active_experts": 2, "width": 64}
GQA = {"kind": "gqa", "heads": 8, "kv_heads": 2, "head_dim": 64}
DENSE = {"kind": "dense", "width": 1024}
BOTH = {"attention": GQA, "ffn": DENSE}
MAMBA_1 = {
    "kind": "mamba",
    "key_heads": 1,
    "value_heads": 1024,
    "key_dim": 16,
    "value_dim": 1,
    "step_rank": 32,
}
HEADS_OF_MAMBA = {"mamba_n_heads": 16, "mamba_d_state": 32}
MAMBA_2 = {"kind": "mamba2", "key_heads": 1, "value_heads": 16, "key_dim": 32, "value_dim": 64}
DELTA = {"kind": "gated-deltanet", "key_heads": 1, "value_heads": 2, "key_dim": 4, "value_dim": 8}
OF_DELTA = {"linear_num_key_heads": 1, "linear_num_value_heads": 2, "linear_key_head_dim": 4,
            "linear_value_head_dim": 8}  # fmt: skip
KDA = {"kind": "kda", "key_heads": 4, "value_heads": 4, "key_dim": 32, "value_dim": 32}
MLA = {"kind": "mla", "heads": 8, "kv_rank": 16, "nope_dim": 8, "rope_dim": 4, "value_dim": 8}
OF_MLA = {"kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8}
CONV = {"kind": "short-conv", "key_heads": 1, "value_heads": 1, "key_dim": 512, "value_dim": 512}
WINDOW = {"window": 128}
FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"


def read(family, data):
    """Layers of a family; a value of None takes a field away."""
    data = {key: value for key, value in {**SMALL, **data}.items() if value is not None}
    file = JsonFile("x/config.json", data)
    return FAMILIES[family].read(Fields(data, file, FAMILIES[family].defaults))


def both(attention=GQA, ffn=DENSE, **others):
    return {"attention": attention, "ffn": ffn, **others}


WIDE_EXPERTS = ROUTED | {"width": 1024}
# A family, its fields, which layer is of which kind, and each kind.
WHOLE = [
    ("llama", {"attention_bias": True, "mlp_bias": True}, "aaaaaaaa",
     {"a": both(GQA | {"qkv_bias": True, "output_bias": True}, DENSE | {"bias": True})}),
    ("mistral", {"sliding_window": 128}, "aaaaaaaa", {"a": both(GQA | WINDOW)}),
    ("glm4", {}, "aaaaaaaa", {"a": both(GQA | {"qkv_bias": True}, norms=4)}),
    ("cohere", {"use_qk_norm": True}, "aaaaaaaa", {"a": both(GQA | {"qk_norm": "full"}, norms=1)}),
    ("cohere2", {"sliding_window": 128}, "wwwawwwa", {"a": both(norms=1), "w": both(GQA | WINDOW, norms=1)}),
    ("olmo3", {"sliding_window": 128}, "wwwawwwa",
     {"a": both(GQA | {"qk_norm": "full"}), "w": both(GQA | WINDOW | {"qk_norm": "full"})}),
    ("gemma2", {"sliding_window": 128}, "wawawawa", {"a": both(norms=4), "w": both(GQA | WINDOW, norms=4)}),
    ("gemma3_text", {"sliding_window": 128}, "wwwwwaww",
     {"a": both(GQA | {"qk_norm": True}, norms=4), "w": both(GQA | WINDOW | {"qk_norm": True}, norms=4)}),
    ("nemotron", {}, "aaaaaaaa", {"a": both(ffn=DENSE | {"matrices": 2})}),
    ("starcoder2", {}, "aaaaaaaa",
     {"a": both(GQA | {"qkv_bias": True, "output_bias": True}, DENSE | {"matrices": 2, "bias": True})}),
    ("bitnet", {}, "aaaaaaaa", {"a": both(other_parameters=512 + 1024)}),
    # Full layers are counted from the last one.
    ("muse_glimmer_text", {"num_hidden_layers": 6, "sliding_window": 128}, "wawwwa",
     {"a": both(GQA | {"output_gate": True}, norms=4), "w": both(GQA | WINDOW | {"output_gate": True}, norms=4)}),
    ("falcon", {"ffn_hidden_size": 768}, "aaaaaaaa",
     {"a": both({"kind": "gqa", "heads": 8, "kv_heads": 1, "head_dim": 64},
                {"kind": "dense", "width": 768, "matrices": 2}, norms=1)}),
    ("falcon", {"multi_query": False, "num_key_value_heads": None, "parallel_attn": False}, "aaaaaaaa",
     {"a": both({"kind": "mha", "heads": 8, "head_dim": 64}, {"kind": "dense", "width": 2048, "matrices": 2}, norms=2)}),
    ("falcon", {"new_decoder_architecture": True, "num_kv_heads": 4}, "aaaaaaaa",
     {"a": both({"kind": "gqa", "heads": 8, "kv_heads": 4, "head_dim": 64},
                {"kind": "dense", "width": 2048, "matrices": 2}, norms=2)}),
    ("qwen3_moe", {**MOE, "shared_expert_intermediate_size": 96}, "aaaaaaaa",
     {"a": both(GQA | {"qk_norm": True}, ROUTED | {"shared_width": 96, "shared_gate": True})}),
    ("qwen2", {"use_sliding_window": True, "sliding_window": 128, "max_window_layers": 6}, "aaaaaaww",
     {"a": both(GQA | {"qkv_bias": True}), "w": both(GQA | WINDOW | {"qkv_bias": True})}),
    ("qwen3_next", {**OF_DELTA, **MOE}, "dddaddda",
     {"a": both(GQA | {"qk_norm": True, "output_gate": True}, ROUTED), "d": both(DELTA, ROUTED)}),
    ("olmo_hybrid", OF_DELTA, "dddaddda", {"a": both(GQA | {"qk_norm": "full"}), "d": both(DELTA)}),
    ("lara_mini", {**OF_DELTA, "sliding_window": 128, "layer_types": [LINEAR, SLIDING, FULL, FULL] * 2}, "dwaadwaa",
     {"d": both(DELTA), "w": both(GQA | WINDOW | {"qk_norm": True}), "a": both(GQA | {"qk_norm": True})}),
    # Attention in the fifth of eight layers, experts in every second; norms of 2 x 16 + 32 elements.
    ("jamba", {**MOE, "num_key_value_heads": 2}, "memeaeme",
     {"m": both(MAMBA_1, other_parameters=64), "e": both(MAMBA_1, WIDE_EXPERTS, other_parameters=64), "a": BOTH}),
    ("jamba", {**MOE, "attn_layer_period": 4, "attn_layer_offset": 6, "expert_layer_period": 4,
               "expert_layer_offset": 0}, "emamemam",
     {"m": both(MAMBA_1, other_parameters=64), "e": both(MAMBA_1, WIDE_EXPERTS, other_parameters=64), "a": BOTH}),
    ("jamba", {"num_experts": 1, "attn_layer_offset": 0, "mamba_dt_rank": 5, "mamba_expand": 3}, "ammmmmmm",
     {"m": both(MAMBA_1 | {"value_heads": 1536, "step_rank": 5}, other_parameters=37), "a": BOTH}),
    ("falcon_mamba", {"state_size": 8, "time_step_rank": "auto", "conv_kernel": 3, "hidden_size": 513},
     "aaaaaaaa", {"a": {"attention": MAMBA_1 | {"key_dim": 8, "step_rank": 33, "conv_kernel": 3}}}),
    ("falcon_mamba", {"state_size": 16, "intermediate_size": None}, "aaaaaaaa", {"a": {"attention": MAMBA_1}}),
    ("mamba2", {"num_heads": 16, "state_size": 32, "n_groups": 2, "expand": 3, "head_dim": 48}, "aaaaaaaa",
     {"a": {"attention": MAMBA_2 | {"key_heads": 2, "value_dim": 48}}}),
    ("mamba2", {"num_heads": 16, "state_size": 32, "head_dim": None, "conv_kernel": 5}, "aaaaaaaa",
     {"a": {"attention": MAMBA_2 | {"conv_kernel": 5}}}),
    ("granitemoehybrid", {**HEADS_OF_MAMBA, "mamba_d_head": "auto", "head_dim": None, "num_local_experts": 4,
                          "num_experts_per_tok": 2, "shared_intermediate_size": 96,
                          "layer_types": ["mamba", "attention"] * 4}, "mamamama",
     {"m": both(MAMBA_2, WIDE_EXPERTS | {"shared_width": 96}), "a": both(ffn=WIDE_EXPERTS | {"shared_width": 96})}),
    ("granitemoehybrid", {**HEADS_OF_MAMBA, "mamba_d_head": 24, "shared_intermediate_size": 96,
                          "layer_types": ["mamba"] * 8}, "mmmmmmmm",
     {"m": both(MAMBA_2 | {"value_dim": 24}, {"kind": "dense", "width": 96})}),
    ("granitemoehybrid", {**HEADS_OF_MAMBA, "mamba_head_dim": 24, "layer_types": ["mamba"] * 8}, "mmmmmmmm",
     {"m": both(MAMBA_2 | {"value_dim": 24})}),
    ("bamba", {**HEADS_OF_MAMBA, "mamba_d_head": 24, "attn_layer_indices": [2, 7]}, "mmammmma",
     {"m": both(MAMBA_2 | {"value_dim": 24}), "a": BOTH}),
    ("falcon_h1", {**HEADS_OF_MAMBA, "mamba_d_head": 24, "num_hidden_layers": 2}, "mama",
     {"m": {"attention": MAMBA_2 | {"value_dim": 24}, "norms": 0}, "a": BOTH}),
    # Two thirds of 1,000 are 666, times 1.3 are 865; in multiples of 256 these are 768 and 1,024.
    ("lfm2", {"block_ff_dim": 1000, "full_attn_idxs": [1]}, "cacccccc",
     {"c": both(CONV | {"conv_kernel": 3}, {"kind": "dense", "width": 768}, norms=2),
      "a": both(GQA | {"qk_norm": True}, {"kind": "dense", "width": 768}, norms=2)}),
    ("lfm2", {"block_ff_dim": 1000, "block_ffn_dim_multiplier": 1.3, "full_attn_idxs": [], "conv_L_cache": 4},
     "cccccccc", {"c": both(CONV, norms=2)}),
    ("lfm2_moe", {**MOE, "full_attn_idxs": [], "use_sandwich_norm": True}, "ddcccccc",
     {"d": both(CONV | {"conv_kernel": 3}, norms=4),
      "c": both(CONV | {"conv_kernel": 3}, ROUTED | {"router_bias": True}, norms=4)}),
    ("lfm3", {"layer_types": [SLIDING, "conv"] * 4, "sliding_window": 128, "use_attention_gate": True}, "wcwcwcwc",
     {"w": both(GQA | WINDOW | {"qk_norm": True, "output_gate": "per-head"}, norms=2),
      "c": both(CONV | {"conv_kernel": 3}, norms=2)}),
    ("minimax", {**MOE, "attn_type_list": [0, 1] * 4}, "lalalala",
     {"l": both({"kind": "lightning", "key_heads": 8, "value_heads": 8, "key_dim": 64, "value_dim": 64}, WIDE_EXPERTS),
      "a": both(ffn=WIDE_EXPERTS)}),
    # A whole gate of 512 x 128 instead of one through 32; a gate for each head of the others.
    ("bailing_hybrid", {**OF_MLA, **MOE, "linear_num_heads": 4, "linear_head_dim": 32}, "dddaddda",
     {"d": both(KDA | {"full_rank_gate": True}, ROUTED | {"router_bias": True},
                other_matrices=512 * 128 - 32 * (512 + 128)),
      "a": both(MLA, ROUTED | {"router_bias": True}, other_matrices=512 * 8)}),
    ("kimi_linear", {**OF_MLA, **MOE, "linear_attn_config": {
        "full_attn_layers": [1, 8], "num_heads": 4, "head_dim": 32, "short_conv_kernel_size": 3}}, "adddddda",
     {"d": both(KDA | {"conv_kernel": 3}, ROUTED | {"router_bias": True}), "a": both(MLA, ROUTED | {"router_bias": True})}),
    ("nemotron_h", {**MOE, "hybrid_override_pattern": "M-*E", "mamba_num_heads": 16, "ssm_state_size": 32,
                    "mamba_head_dim": 64, "n_groups": 2, "n_shared_experts": 2,
                    "moe_shared_expert_intermediate_size": 96, "moe_latent_size": 48}, "mnae",
     {"m": {"attention": MAMBA_2 | {"key_heads": 2}}, "n": {"ffn": DENSE | {"matrices": 2}}, "a": {"attention": GQA},
      "e": {"ffn": ROUTED | {"matrices": 2, "shared_width": 192, "latent_size": 48, "router_bias": True}}}),
    # 2 x 2.625 x 512 / 3 = 896 is four times 256; 2 x 1.5 x 512 / 3 is twice 256; heads in groups.
    ("nemotron-nas", {"num_hidden_layers": 3, "block_configs": [
        {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 2.625}},
        {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1.5}},
        {"attention": {"n_heads_in_group": 8}, "ffn": {"no_op": True}}]}, "abc",
     {"a": BOTH, "b": {"ffn": {"kind": "dense", "width": 512}}, "c": {"attention": GQA | {"kv_heads": 1}}}),
]  # fmt: skip


@every("family,data,order,kinds", WHOLE)
def test_layers_have_every_key(family, data, order, kinds):
    assert read(family, data) == [kinds[letter] for letter in order]


@every(
    "family,data,sentence",
    [
        ("lara_mini", {**OF_DELTA, "layer_types": ["odd"] * 8}, "unsupported type 'odd'"),
        ("lfm2", {"layer_types": ["odd"] * 8}, "unsupported type 'odd'"),
        ("nemotron_h", {"hybrid_override_pattern": "MX"}, "letters M, E"),
        ("nemotron_h", {"hybrid_override_pattern": ""}, "letters M, E"),
        ("nemotron_h", {"layer_types": ["odd"]}, "unsupported type 'odd'"),
        ("nemotron-nas", {"num_hidden_layers": 1, "block_configs": [{"attention": {"n_heads_in_group": 3}}]},
         "n_heads_in_group 3 does not divide the 8 heads"),
        ("nemotron-nas", {"num_hidden_layers": 1, "block_configs": [{"attention": {"replace_with_linear": True}}]},
         "a layer is a linear map"),
        ("qwen3", {"moe_intermediate_size": 64}, "num_experts is missing"),
    ],
)  # fmt: skip
def test_layers_that_are_refused(family, data, sentence):
    with pytest.raises(InputError, match=sentence):
        read(family, data)


# Numbers that may be nothing: a family, its fields, and the number.
FROM_ZERO = [
    ("qwen3_moe", MOE, "shared_expert_intermediate_size"), ("granite_swa", MOE, "shared_expert_intermediate_size"),
    ("nemotron_h", {**MOE, "hybrid_override_pattern": "E"}, "n_shared_experts"),
    ("nemotron_h", {**MOE, "hybrid_override_pattern": "E"}, "moe_shared_expert_intermediate_size"),
    ("ernie4_5_moe", MOE, "moe_num_shared_experts"), ("ernie4_5_moe", MOE, "moe_layer_start_index"),
    ("minimax_m3", {**MOE, "dense_intermediate_size": 64}, "shared_intermediate_size"), ("step3p5", MOE, "share_expert_dim"),
    ("laguna", MOE, "shared_expert_intermediate_size"), ("cohere2_moe", MOE, "num_shared_experts"),
    ("afmoe", MOE, "num_dense_layers"), ("aria_text", MOE, "moe_num_shared_experts"),
    ("deepseek_v3", MOE, "qk_rope_head_dim"), ("deepseek_v3", MOE, "n_shared_experts"),
    ("deepseek_v3", MOE, "first_k_dense_replace"), ("qwen3_moe", MOE, "first_k_dense_replace"),
    ("qwen2", {"use_sliding_window": True, "sliding_window": 128}, "max_window_layers"),
    ("glm_moe_dsa", {**MOE, **OF_MLA, "index_topk_freq": 2}, "index_skip_topk_offset"),
    ("jamba", MOE, "attn_layer_offset"), ("jamba", MOE, "expert_layer_offset"),
    ("granitemoehybrid", {"layer_types": ["attention"] * 8, **HEADS_OF_MAMBA}, "shared_intermediate_size"),
    ("granitemoehybrid", {"layer_types": ["attention"] * 8, **HEADS_OF_MAMBA, "num_experts_per_tok": 1}, "num_local_experts"),
    ("lfm2_moe", {**MOE, "full_attn_idxs": []}, "num_dense_layers"),
    ("gemma3n_text", {}, "hidden_size_per_layer_input"), ("gemma3n_text", {}, "num_kv_shared_layers"),
    ("longcat_flash", {**MOE, **OF_MLA, "ffn_hidden_size": 64}, "zero_expert_num"),
    ("inkling_text", {**MOE, "sliding_window_size": 128, "local_layer_ids": [1]}, "n_shared_experts"),
    ("inkling_text", {**MOE, "sliding_window_size": 128, "local_layer_ids": [1]}, "dense_mlp_idx"),
]  # fmt: skip


@every("family,data,field", FROM_ZERO)
def test_what_may_be_nothing_is_never_less(family, data, field):
    assert read(family, {**data, field: 0})
    assert read(family, {**data, field: 1})
    with pytest.raises(InputError, match=f"{field} -1 is out of range: between 0 and"):
        read(family, {**data, field: -1})
