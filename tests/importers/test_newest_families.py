"""Families of state layers, layer embeddings and idle experts, against published counts.

Counts marked transformers are what transformers 5.24.0 builds of the class defaults on its meta
device, without biases of routers that are buffers there (`benchmarks/class_defaults.py`).
"""

from types import SimpleNamespace

import pytest

from fastcalc.catalogue.schema import Model
from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.families import FAMILIES
from fastcalc.importers.huggingface.json_file import JsonFile
from fastcalc.importers.huggingface.model import mapping
from fastcalc.importers.huggingface.tables import qwen4, qwen4_extras
from tests.helpers import every

WIDE = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "torch_dtype": "bfloat16"}  # fmt: skip
MAMBA_2 = {"mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_conv": 4, "mamba_n_heads": 128}
DELTA = {"linear_key_head_dim": 96, "linear_value_head_dim": 192, "linear_num_key_heads": 30,
         "linear_num_value_heads": 30}  # fmt: skip
LINEAR, FULL, SLIDING = "linear_attention", "full_attention", "sliding_attention"
HYBRID = ["hybrid_sliding"] * 5 + ["hybrid"]

TRANSFORMERS = [
    (8_514_961_408, {**WIDE, **MAMBA_2, "model_type": "falcon_h1", "vocab_size": 128000, "mamba_d_head": 8}),
    (9_992_765_440, {**WIDE, **MAMBA_2, "model_type": "bamba", "vocab_size": 128000, "mamba_d_head": 64}),
    (51_570_323_328, {**WIDE, "model_type": "jamba", "vocab_size": 65536, "num_experts": 16,
                      "num_experts_per_tok": 2, "mamba_dt_rank": 256, "mamba_d_state": 16}),
    (38_601_064_448, {**WIDE, **MAMBA_2, "model_type": "granitemoehybrid", "vocab_size": 32000,
                      "intermediate_size": 11008, "num_key_value_heads": 32, "mamba_d_head": 64,
                      "num_local_experts": 8, "num_experts_per_tok": 2,
                      "shared_intermediate_size": 1024, "layer_types": [LINEAR] * 32}),
    (47_373_946_880, {**WIDE, "model_type": "minimax", "vocab_size": 32000, "num_local_experts": 8,
                      "num_experts_per_tok": 2, "layer_types": [FULL, LINEAR] * 16}),
    (159_308_544, {"model_type": "falcon_mamba", "vocab_size": 50280, "hidden_size": 768,
                   "state_size": 16, "num_hidden_layers": 32, "time_step_rank": 48,
                   "intermediate_size": 1536, "conv_kernel": 4, "tie_word_embeddings": True}),
    (159_308_544, {"model_type": "falcon_mamba", "vocab_size": 50280, "hidden_size": 768,
                   "num_hidden_layers": 32, "time_step_rank": 48, "tie_word_embeddings": True}),
    (7_285_403_648, {"model_type": "mamba2", "vocab_size": 32768, "hidden_size": 4096, "n_groups": 8,
                     "num_heads": 128, "head_dim": 64, "state_size": 128, "num_hidden_layers": 64}),
    (7_430_870_688, {**DELTA, "model_type": "olmo_hybrid", "vocab_size": 100352, "hidden_size": 3840,
                     "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 30,
                     "layer_types": [LINEAR, LINEAR, LINEAR, FULL] * 8}),
    (18_517_069_824, {"model_type": "aria_text", "vocab_size": 32000, "hidden_size": 4096,
                      "intermediate_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
                      "moe_num_experts": 8, "moe_topk": 2, "moe_num_shared_experts": 2}),
    (5_077_177_856, {"model_type": "gemma4_text", "vocab_size": 262144, "hidden_size": 2304,
                     "intermediate_size": 9216, "num_hidden_layers": 30, "num_attention_heads": 8,
                     "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 512,
                     "hidden_size_per_layer_input": 256}),
    (6_835_235_568, {"model_type": "gemma3n_text", "vocab_size": 262400, "hidden_size": 2048,
                     "intermediate_size": [16384] * 35, "num_hidden_layers": 35, "head_dim": 256,
                     "num_attention_heads": 8, "num_key_value_heads": 2, "sliding_window": 512,
                     "num_kv_shared_layers": 15, "hidden_size_per_layer_input": 256,
                     "layer_types": [*[SLIDING] * 4, FULL] * 7}),
    (1_728_801_536, {"model_type": "lfm3", "vocab_size": 128000, "hidden_size": 2048, "head_dim": 128,
                     "intermediate_size": 7680, "num_hidden_layers": 24, "num_attention_heads": 16,
                     "num_key_value_heads": 4, "conv_L_cache": 7, "sliding_window": 256,
                     "use_sandwich_norm": True, "use_attention_gate": True,
                     "layer_types": ["conv", *["conv", FULL, "conv", SLIDING] * 5, "conv", FULL, "conv"]}),
    (975_340_270_146, {"model_type": "inkling_text", "vocab_size": 201024, "hidden_size": 6144,
                       "num_hidden_layers": 66, "num_attention_heads": 64, "num_key_value_heads": 8,
                       "head_dim": 128, "swa_num_key_value_heads": 16, "sliding_window_size": 512,
                       "layer_types": HYBRID * 11, "moe_intermediate_size": 3072,
                       "n_routed_experts": 256, "num_experts_per_tok": 6, "n_shared_experts": 2}),
    (124_414_191_072, {"model_type": "bailing_hybrid", "vocab_size": 157184, "hidden_size": 2560,
                       "intermediate_size": 6144, "moe_intermediate_size": 768, "num_hidden_layers": 42,
                       "num_attention_heads": 32, "num_shared_experts": 1, "kv_lora_rank": 512,
                       "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128,
                       "num_experts_per_token": 8, "first_k_dense_replace": 2, "num_experts": 512,
                       "layer_types": [*[LINEAR] * 5, FULL] * 7}),
    (58_278_193_133, {"model_type": "hy_v4", "vocab_size": 120832, "hidden_size": 2816,
                      "intermediate_size": 6912, "moe_intermediate_size": 768,
                      "num_hidden_layers": 34, "num_attention_heads": 32, "n_routed_experts": 256,
                      "n_shared_experts": 1, "num_experts_per_tok": 8, "q_lora_rank": 1536,
                      "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
                      "v_head_dim": 256, "mlp_layer_types": ["dense", *["sparse"] * 33],
                      "indexer_types": ["full", *(["full"] + ["shared"] * 3) * 8, "full"]}),
    (20_314_494_976, {"model_type": "axk2", "vocab_size": 163840, "hidden_size": 2048,
                      "intermediate_size": 5120, "moe_intermediate_size": 512,
                      "num_hidden_layers": 48, "num_attention_heads": 32, "n_shared_experts": 1,
                      "n_routed_experts": 128, "num_experts_per_tok": 8, "kv_lora_rank": 128,
                      "q_lora_rank": 384, "qk_rope_head_dim": 32, "v_head_dim": 64,
                      "qk_nope_head_dim": 64, "index_n_heads": 16, "gated_norm_rank": 16,
                      "mlp_layer_types": ["dense", *["sparse"] * 47]}),
    (176_943_899_520, {"model_type": "qwen4_exp_text", "vocab_size": 248320, "hidden_size": 2560,
                       "num_hidden_layers": 48, "num_attention_heads": 24, "num_key_value_heads": 2,
                       "head_dim": 256, "linear_num_key_heads": 16, "linear_num_value_heads": 48,
                       "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 640,
                       "shared_expert_intermediate_size": 640, "hc_count": 4, "hc_lowrank": 320,
                       "ple_layer_ids": [2], "ple_embed_dim": 2560, "ngram_size": 3,
                       "heads_per_ngram": 8, "indexer_n_heads": 4, "indexer_kv_heads": 1,
                       "indexer_head_dim": 128, "indexer_budget": 2048,
                       "indexer_compress_ratio": 4, "layer_types": [LINEAR, LINEAR, LINEAR, FULL] * 12}),
    (33_442_617_088, {"model_type": "laguna", "vocab_size": 100352, "hidden_size": 2048,
                      "intermediate_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 48,
                      "num_key_value_heads": 8, "head_dim": 128, "sliding_window": 512,
                      "num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 512,
                      "shared_expert_intermediate_size": 512, "gating": "per-head",
                      "layer_types": [FULL, *[SLIDING] * 3] * 10,
                      "mlp_layer_types": ["dense", *["sparse"] * 39],
                      "num_attention_heads_per_layer": [48, 64, 64, 64] * 10}),
    (30_484_303_872, {"model_type": "cohere2_moe", "vocab_size": 262144, "hidden_size": 2048,
                      "intermediate_size": 768, "prefix_dense_intermediate_size": 3072,
                      "num_hidden_layers": 49, "num_attention_heads": 32, "num_key_value_heads": 4,
                      "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
                      "first_k_dense_replace": 1, "use_parallel_block": True,
                      "layer_types": [*[FULL, SLIDING, SLIDING, SLIDING] * 12, FULL]}),
    (947_025_547_842, {"model_type": "inkling_text", "vocab_size": 201024, "hidden_size": 6144,
                       "num_hidden_layers": 66, "num_attention_heads": 64, "num_key_value_heads": 8,
                       "head_dim": 128, "swa_num_key_value_heads": 16, "sliding_window_size": 512,
                       "local_layer_ids": [n for n in range(66) if (n + 1) % 6],
                       "dense_mlp_idx": 2, "dense_intermediate_size": 24576,
                       "intermediate_size": 3072, "n_routed_experts": 256,
                       "num_experts_per_tok": 6, "n_shared_experts": 2}),
    (2_741_155_840, {"model_type": "bitnet", "vocab_size": 128256, "hidden_size": 2560,
                     "intermediate_size": 6912, "num_hidden_layers": 30, "num_attention_heads": 20,
                     "num_key_value_heads": 5, "hidden_act": "relu2"}),
]  # fmt: skip


def read(data):
    entry, remarks = mapping(JsonFile("x/config.json", data))
    return Model.model_validate({"id": "x", "name": "X", **entry}), remarks


# Small vectors that transformers counts otherwise: router biases, layer scalars, offsets.
VECTORS = {"falcon_h1", "gemma4_text", "inkling_text", "bailing_hybrid", "hy_v4", "axk2", "qwen4_exp_text"}  # fmt: skip


@every("parameters,data", TRANSFORMERS)
def test_parameters_are_those_of_transformers(parameters, data):
    model, remarks = read(data)
    room = 3e-5 if data["model_type"] in VECTORS else 0.0
    assert workload(model).total_parameters == pytest.approx(parameters, rel=room, abs=0.0)
    assert not any(remark.startswith("Warning") for remark in remarks)


TRINITY_MINI = {
    "model_type": "afmoe", "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144,
    "moe_intermediate_size": 1024, "num_attention_heads": 32, "num_dense_layers": 2,
    "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 32, "num_key_value_heads": 4,
    "num_shared_experts": 1, "sliding_window": 2048, "vocab_size": 200192, "dtype": "bfloat16",
    "global_attn_every_n_layers": 4, "tie_word_embeddings": False,
}  # fmt: skip
LFM2 = {
    "model_type": "lfm2", "block_auto_adjust_ff_dim": True, "block_ff_dim": 12288,
    "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 256, "conv_L_cache": 3,
    "full_attn_idxs": [2, 5, 8, 10, 12, 14], "hidden_size": 2048, "num_attention_heads": 32,
    "num_hidden_layers": 16, "num_key_value_heads": 8, "vocab_size": 65536,
}  # fmt: skip
LONGCAT = {
    "model_type": "longcat_flash", "vocab_size": 131072, "hidden_size": 6144, "num_layers": 28,
    "num_attention_heads": 64, "ffn_hidden_size": 12288, "q_lora_rank": 1536, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "moe_topk": 12,
    "n_routed_experts": 512, "zero_expert_num": 256, "expert_ffn_hidden_size": 2048,
}  # fmt: skip


@every(
    "data,total,active",
    [
        (TRINITY_MINI, 26.12e9, 3.0e9),  # arcee-ai/Trinity-Mini: 26B-A3B, 26.12 B stored
        (LFM2, 1.170e9, 1.170e9),  # LiquidAI/LFM2-1.2B: 1.17 B
        (LONGCAT, 560e9, 27e9),  # LongCat-Flash-Chat: 560 B, 18.6 to 31.3 B active, 27 on average
    ],
)
def test_parameters_are_those_that_makers_publish(data, total, active):
    model, _ = read(data)
    work = workload(model)
    assert work.total_parameters == pytest.approx(total, rel=2e-3)
    assert work.multiplied_parameters == pytest.approx(active, rel=0.03)


def test_idle_experts_are_picked_and_not_counted():
    model, remarks = read(LONGCAT)
    assert (model.blocks[1].ffn.active_experts, model.blocks[1].ffn.zero_experts) == (8, 256)
    assert any("Of the 12 experts per token, 8 of 512 are counted" in it for it in remarks)
    assert workload(model).depth == 28 * 2.5  # two whole blocks and the experts alone


def named(family):
    """The first configuration of a family."""
    return next(dict(data) for _, data in TRANSFORMERS if data.get("model_type") == family)


def test_a_shared_cache_is_kept_once():
    """Gemma 3n E4B: 20 of 35 layers keep keys and values, of 2 heads of 256 each."""
    model, _ = read(named("gemma3n_text"))
    assert workload(model, kv="bf16").cache_bytes_per_token == 20 * 2 * 2 * 256 * 2


def test_layer_embeddings_are_stored_and_not_multiplied():
    data = named("gemma4_text")
    work = workload(read(data)[0])
    table = 262144 * 256 * 30
    assert work.weights.embedding.parameters == table
    assert work.multiplied_parameters == work.total_parameters - table


def test_states_of_mixers():
    """Jamba: 28 of 32 layers keep 8,192 channels of 16 numbers and 3 tokens of a convolution."""
    jamba, lfm = (workload(read(data)[0]) for data in (dict(TRANSFORMERS[2][1]), LFM2))
    assert jamba.state_elements == 28 * 8192 * (16 + 3)
    assert lfm.state_elements == 10 * 2048 * 2


@every("kind", ["jetmoe", "doge", "hrm_text", "recurrent_gemma", "gemma4_assistant"])
def test_what_a_plain_reading_would_miscount_is_refused(kind):
    with pytest.raises(InputError, match="is unsupported, and it has"):
        read({**WIDE, "vocab_size": 32000, "model_type": kind})


def test_a_head_tied_only_outside_the_text_is_warned_of():
    text = {**WIDE, "vocab_size": 32000, "model_type": "llama", "tie_word_embeddings": False}
    _, remarks = read({"model_type": "x", "text_config": text, "tie_word_embeddings": True})
    assert any(remark.startswith("Warning: tie_word_embeddings") for remark in remarks)


BUILT = {data["model_type"]: data for _, data in TRANSFORMERS} | {
    "lfm2": LFM2, "longcat_flash": LONGCAT, "afmoe": TRINITY_MINI,
}  # fmt: skip

# A field of a family, what its class takes where it is left out, and another value.
LEFT_OUT = [
    ("jamba", "attn_layer_period", 8, 4),
    ("jamba", "expert_layer_period", 2, 1),
    ("jamba", "mamba_d_state", 16, 32),
    ("bamba", "mamba_n_groups", 1, 2), ("bamba", "mamba_expand", 2, 4),
    ("mamba2", "n_groups", 1, 2), ("falcon_mamba", "state_size", 16, 32),
    ("falcon_mamba", "expand", 2, 4), ("minimax", "attn_type_list", None, [0] * 32),
    ("gemma4_text", "vocab_size_per_layer_input", 262_144, 1000),
    ("gemma3n_text", "vocab_size_per_layer_input", 262_144, 1000),
    ("gemma3n_text", "laurel_rank", 64, 32), ("gemma3n_text", "altup_num_inputs", 4, 2),
    ("aria_text", "moe_num_shared_experts", 2, 1),
    ("lfm2", "conv_L_cache", 3, 4), ("lfm2", "block_multiple_of", 256, 3000),
    ("lfm2", "block_ffn_dim_multiplier", 1.0, 2.0), ("lfm2", "block_auto_adjust_ff_dim", True, False),
    ("lfm2", "use_attention_gate", False, True), ("lfm2", "use_sandwich_norm", False, True),
    ("inkling_text", "d_rel", 16, 8), ("inkling_text", "conv_kernel_size", 4, 3),
    ("axk2", "gated_norm_rank", 16, 8), ("hy_v4", "hc_mult", 4, 2),
    ("qwen4_exp_text", "hc_count", 4, 2), ("qwen4_exp_text", "hc_lowrank", 320, 160),
    ("qwen4_exp_text", "ngram_vocab_size_base", 20_000_000, 1000),
    ("qwen4_exp_text", "ple_conv_kernel_size", 4, 3),
    ("cohere2_moe", "use_parallel_block", True, False), ("longcat_flash", "zero_expert_num", 0, 256),
    ("afmoe", "num_dense_layers", 1, 2),
]  # fmt: skip


@every("name,field,usual,other", LEFT_OUT)
def test_a_field_that_is_left_out_is_what_its_class_takes(name, field, usual, other):
    data = {key: value for key, value in BUILT[name].items() if key not in (field, "mamba_d_head")}
    if name in ("falcon_h1", "bamba") and field != "mamba_expand":
        data |= {"mamba_d_head": 64}
    bare, stated, changed = (
        workload(read(data | also)[0]) for also in ({}, {field: usual}, {field: other})
    )
    sizes = [
        (work.total_parameters, work.active_parameters, work.state_elements, work.weight_bytes)
        for work in (bare, stated, changed)
    ]
    assert sizes[0] == sizes[1]
    assert sizes[0] != sizes[2]


def test_n_grams_join_the_layers_that_are_numbered_from_one():
    """In the second layer: their 2,560 elements to four streams of 2,560 and to a hidden state."""
    layers = qwen4(
        Fields(named("qwen4_exp_text"), JsonFile("x", {}), FAMILIES["qwen4_exp_text"].defaults)
    )
    matrices, vectors = (
        [layer.get(key, 0) - layers[0].get(key, 0) for layer in layers]
        for key in ("other_matrices", "other_parameters")
    )
    assert matrices == [2560 * (4 * 2560 + 2560) * (layer == 1) for layer in range(48)]
    assert vectors == [4 * 2560 * (3 + 4) * (layer == 1) for layer in range(48)]
    assert layers[0]["norms"] == 2 * 4
    assert layers[0]["other_matrices"] == 2 * 4 * 2560 * (2 * 320 + 4)


def test_tables_of_ngrams_and_the_mixer_of_streams_are_counted():
    """Width 8, 3 streams of rank 2: 2 x 3 x 8 x 2 + 2 x 8; two tables of 10 rows of 5."""
    given = {
        "hidden_size": 8,
        "hc_count": 3,
        "hc_lowrank": 2,
        "ngram_vocab_size_base": 10,
        "ple_embed_dim": 5,
    }

    def extras(layers):
        fields = SimpleNamespace(
            count=lambda *names, default=None: next((given[name] for name in names if name in given), default),
            indices=lambda _: layers, remark=lambda _: None,
        )  # fmt: skip
        return qwen4_extras(fields)

    assert extras({1, 4}) == {"ngram_parameters": 100, "other_parameters": 112}
    assert extras(set()) == {"other_parameters": 112}
