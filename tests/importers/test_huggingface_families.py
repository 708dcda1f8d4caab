"""What a configuration leaves out: defaults of each family, flags, and which layer is of which kind.

Defaults were read from the configuration classes of transformers 5.23.0, by their syntax tree.
"""

import json
from math import inf

import pytest

from fastcalc.catalogue.schema import Model
from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from fastcalc.importers.huggingface import import_model, parts, patterns, yaml_text
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.families import FAMILIES
from fastcalc.importers.huggingface.json_file import JsonFile, config_path, missing_file, read_json
from fastcalc.importers.huggingface.model import mapping
from fastcalc.importers.huggingface.quantization import Formats, quoted
from fastcalc.importers.huggingface.usual import usual
from tests.helpers import ROOT, every

CONFIGS = ROOT / "tests" / "configs"

# Family, whether head and embedding are tied, and what is taken for fields that are left out.
TRANSFORMERS = """
llama | untied |
smollm3 | tied |
granite | untied |
internlm3 | untied | head_dim 128
mistral | untied | sliding_window 4096
ministral3 | untied | head_dim 128
phi3 | untied |
qwen2 | untied |
qwen2_moe | untied |
qwen3 | untied | head_dim 128
qwen3_moe | untied |
glm | untied | head_dim 128
glm4 | untied | head_dim 128
seed_oss | untied | head_dim 128
ernie4_5 | tied | head_dim 128
hunyuan_v1_dense | untied |
exaone4 | untied |
olmo2 | untied |
olmo3 | untied | sliding_window 4096
cohere | tied |
cohere2 | tied | sliding_window 4096
gemma | tied | head_dim 256
gemma2 | tied | head_dim 256, sliding_window 4096
gemma3_text | tied | vocab_size 262208, num_attention_heads 8, num_key_value_heads 4, head_dim 256, max_position_embeddings 131072, sliding_window 4096
falcon | tied |
nemotron | untied |
starcoder2 | tied |
muse_glimmer_text | untied | sliding_window 2048
mixtral | untied |
granitemoe | untied |
phimoe | untied |
olmoe | untied |
gpt_oss | untied | head_dim 64, sliding_window 128
deepseek_v2 | untied |
deepseek_v3 | untied | kv_lora_rank 512, qk_nope_head_dim 128, qk_rope_head_dim 64, v_head_dim 128
deepseek_v32 | untied | kv_lora_rank 512, qk_nope_head_dim 128, qk_rope_head_dim 64, v_head_dim 128, index_topk 2048, index_head_dim 128, index_n_heads 64
glm4_moe_lite | untied |
glm_moe_dsa | untied | index_topk 2048, index_head_dim 128, index_n_heads 32
mistral4 | untied |
glm4_moe | untied |
hunyuan_v1_moe | untied |
hy_v3 | untied |
dots1 | untied |
ernie4_5_moe | tied |
llama4_text | untied | head_dim 128, attention_chunk_size 8192
minimax_m2 | untied | head_dim 128
mimo_v2_flash | untied | head_dim 192, v_head_dim 128
muse_spark_text | untied | sliding_window 2048, moe_hidden_size 4096
gemma4_text | tied | head_dim 256
qwen3_next | untied | head_dim 256, linear_key_head_dim 128, linear_value_head_dim 128, linear_num_key_heads 16, linear_num_value_heads 32
qwen3_5_text | untied | head_dim 256, linear_key_head_dim 128, linear_value_head_dim 128, linear_num_key_heads 16, linear_num_value_heads 32
kimi_linear | untied |
glm5_next_text | untied | index_topk 2048, index_head_dim 128, index_n_heads 32
nemotron_h | untied |
deepseek_v4 | untied |
"""

# Of code that comes with the checkpoints: as DeepSeek V3 and MiniMax M2, and Step 3.5's own heads.
ELSEWHERE = """
mimo | untied |
kimi_k2 | untied | kv_lora_rank 512, qk_nope_head_dim 128, qk_rope_head_dim 64, v_head_dim 128
minimax_m3 | untied | head_dim 128
step3p5 | untied | num_sliding_attention_heads 96
nemotron-nas | untied |
afmoe | untied | head_dim 128
aria_text | untied |
axk2 | untied | index_topk 2048, index_head_dim 128, index_n_heads 16
hy_v4 | untied | index_topk 2048, index_head_dim 128, index_n_heads 16
bitnet | untied |
lfm2 | tied | block_auto_adjust_ff_dim 1
lfm2_moe | tied |
lfm3 | tied | head_dim 128
granitemoehybrid | untied |
bamba | untied |
falcon_h1 | untied |
jamba | untied |
mamba | tied |
falcon_mamba | tied |
mamba2 | untied |
minimax | untied |
olmo_hybrid | untied |
lara_mini | tied | head_dim 128
bailing_hybrid | untied | linear_num_heads 32, linear_head_dim 128
gemma3n_text | tied | head_dim 256
gemma4_unified_text | tied | head_dim 256
longcat_flash | untied |
inkling_text | untied |
qwen4_exp_text | untied | head_dim 256, linear_key_head_dim 128, linear_value_head_dim 128, linear_num_key_heads 16, linear_num_value_heads 32
arcee | untied |
cwm | untied |
diffllama | untied |
exaone | untied |
flint | untied |
granite_swa | tied |
granitemoe_swa | untied |
granitemoeshared | untied |
helium | untied |
hyperclovax | untied |
iquestcoder | untied |
kolibri1 | untied |
mellum | untied |
olmo | untied |
sarvam_mla | untied |
sarvam_moe | untied |
solar_open | untied |
laguna | untied |
axk1 | untied |
cohere2_moe | tied | sliding_window 4096
minicpm3 | tied |
vaultgemma | tied |
youtu | tied |
gpt_neox | untied |
jais2 | untied |
persimmon | untied |
phi | untied |
stablelm | untied |
nanochat | untied |
apertus | untied |
apertus1p5_text | untied |
exaone_moe | untied |
flex_olmo | untied |
beam | untied |
"""

HABITS = {
    # Routers that DeepSeek balances by a bias, and its three dense layers, which no field states.
    "deepseek_v3": {"router_bias": True, "first_dense": 3},
    "deepseek_v32": {"router_bias": True, "first_dense": 3},
    "kimi_k2": {"router_bias": True, "first_dense": 3},
    "glm4_moe_lite": {"router_bias": True},
    "glm_moe_dsa": {"router_bias": True},
    "axk2": {"router_bias": True},
    "hy_v4": {"router_bias": True},
    "glm5_next_text": {"router_bias": True},
}
LAYER_NORM = {
    "falcon",
    "nemotron",
    "starcoder2",
    "phimoe",
    "gpt_neox",
    "jais2",
    "persimmon",
    "phi",
    "stablelm",
}  # with a bias, others are RMS
OWN_TABLES = {"own_embedding": True, "own_head": True}
PREDICTING = {
    **dict.fromkeys(("mimo", "glm_moe_dsa", "hy_v3", "qwen3_next", "qwen3_5_text", "glm5_next_text", "qwen4_exp_text")),
    **dict.fromkeys(("deepseek_v3", "deepseek_v32", "kimi_k2", "glm4_moe_lite", "glm4_moe"), OWN_TABLES),
}  # fmt: skip


def rows(table):
    for line in table.strip().splitlines():
        name, tied, defaults = (cell.strip() for cell in line.split("|"))
        pairs = (pair.split() for pair in defaults.split(",") if pair.strip())
        yield name, tied == "tied", {key: int(value) for key, value in pairs}


FAMILY_ROWS = [*rows(TRANSFORMERS), *rows(ELSEWHERE)]


def test_every_family_has_its_defaults():
    assert {name for name, *_ in FAMILY_ROWS} == set(FAMILIES)


@every("name,tied,defaults", FAMILY_ROWS)
def test_a_family_takes_what_its_own_code_takes(name, tied, defaults):
    family = FAMILIES[name]
    assert family.tied is tied
    assert family.defaults == defaults | HABITS.get(name, {})
    assert family.norm_bias is (name in LAYER_NORM)
    assert family.mtp == (PREDICTING[name] or {} if name in PREDICTING else None)


def fixture(name: str) -> dict:
    return json.loads((CONFIGS / f"{name}.json").read_text())


def entry_of(data: dict) -> dict:
    """Return the mapping of a configuration's model file, without what it says of the reading."""
    entry, _ = mapping(JsonFile("x/config.json", data))
    return {
        key: value for key, value in entry.items() if key not in ("notes", "printed", "sources")
    }


def parameters(data: dict) -> float:
    return workload(
        Model.model_validate({"id": "x", "name": "x", **entry_of(data)})
    ).total_parameters


def without(data: dict, *keys: str) -> dict:
    return {key: value for key, value in data.items() if key not in keys}


LLAMA = "llama-3.1-8b"
MOE = {"model_type": "granitemoe"}
SWITCHED = {"layer_types": None, "moe_layers": None, "moe_layers_enum": None}

# A configuration with some changes; a field, what its family takes for it, and another value.
LEFT_OUT = [
    (LLAMA, {}, "attention_bias", False, True),
    (LLAMA, {}, "mlp_bias", False, True),
    (LLAMA, {"model_type": "granite"}, "tie_word_embeddings", False, True),
    (LLAMA, {"model_type": "smollm3"}, "tie_word_embeddings", True, False),
    (LLAMA, {"model_type": "nemotron"}, "attention_bias", False, True),
    (LLAMA, {"model_type": "nemotron"}, "mlp_bias", False, True),
    (LLAMA, {"model_type": "ernie4_5"}, "use_bias", False, True),
    (LLAMA, {"model_type": "hunyuan_v1_dense"}, "attention_bias", False, True),
    (LLAMA, {"model_type": "cohere"}, "use_qk_norm", False, True),
    (LLAMA, {"model_type": "brand_new"}, "attention_bias", False, True),
    (LLAMA, {"model_type": "brand_new"}, "qkv_bias", False, True),
    (LLAMA, {"model_type": "brand_new"}, "use_qk_norm", False, True),
    (LLAMA, {"model_type": "brand_new"}, "qk_layernorm", False, True),
    (LLAMA, {"model_type": "olmo3"}, "sliding_window", 4096, 512),
    (LLAMA, {"model_type": "olmo3", "sliding_window": 4096}, "sliding_window_pattern", 4, 3),
    (LLAMA, {"model_type": "cohere2"}, "sliding_window_pattern", 4, 3),
    (LLAMA, {"model_type": "exaone4", "sliding_window": 4096}, "sliding_window_pattern", 4, 3),
    (LLAMA, {"model_type": "gemma2"}, "sliding_window_pattern", 2, 3),
    (LLAMA, {"model_type": "gemma3_text"}, "sliding_window_pattern", 6, 3),
    ("qwen2.5-7b", {"model_type": "mimo"}, "attention_bias", True, False),
    ("qwen2.5-7b", {"sliding_window": 4096, "max_window_layers": 7}, "use_sliding_window", False, True),
    ("qwen2.5-7b", {"sliding_window": 4096, "use_sliding_window": True}, "max_window_layers", 28, 27),
    ("qwen3-8b", {}, "attention_bias", False, True),
    ("qwen3-8b", {"num_hidden_layers": 8}, "tie_word_embeddings", False, True),
    ("qwen1.5-moe-a2.7b", {}, "decoder_sparse_step", 1, 2),
    ("glm-4-9b", {}, "attention_bias", True, False),
    ("glm-4-9b-0414", {}, "attention_bias", True, False),
    ("seed-oss-36b", {}, "attention_bias", True, False),
    ("seed-oss-36b", {}, "attention_out_bias", False, True),
    ("starcoder2-7b", {}, "use_bias", True, False),
    ("falcon-7b", {}, "new_decoder_architecture", False, True),
    ("falcon-7b", {}, "multi_query", True, False),
    ("falcon-7b", {}, "parallel_attn", True, False),
    ("falcon-7b", {}, "bias", False, True),
    ("falcon-180b", {}, "num_ln_in_parallel_attn", 2, 1),
    ("falcon-180b", {"num_kv_heads": None}, "num_kv_heads", 232, 8),
    ("falcon-180b", {}, "ffn_hidden_size", 4 * 14848, 14848),
    ("mixtral-8x7b", {}, "attention_bias", False, True),
    ("phi-3.5-moe", {}, "lm_head_bias", False, True),
    ("gpt-oss-20b", {}, "attention_bias", True, False),
    ("gpt-oss-20b", SWITCHED, "sliding_window_pattern", 2, 3),
    ("olmoe-1b-7b", {}, "tie_word_embeddings", False, True),
    ("deepseek-v3", {}, "topk_method", "noaux_tc", "greedy"),
    ("deepseek-v3", {}, "first_k_dense_replace", 3, 1),
    ("deepseek-v3", {}, "moe_layer_freq", 1, 2),
    ("deepseek-v3", {}, "n_shared_experts", 0, 1),
    ("deepseek-v2-lite", {}, "topk_method", "greedy", "noaux_tc"),
    ("deepseek-v2-lite", {}, "first_k_dense_replace", 0, 1),
    ("deepseek-v2-lite", {}, "qk_rope_head_dim", 0, 64),
    ("glm-5.2", {"indexer_types": None}, "index_topk_freq", 1, 4),
    ("glm-5.2", {"indexer_types": None}, "index_skip_topk_offset", 2, 3),
    ("glm-4.5", {}, "attention_bias", False, True),
    ("glm-4.5", {}, "use_qk_norm", False, True),
    ("hy3-preview", {}, "attention_bias", False, True),
    ("ernie-4.5-21b-a3b", {}, "use_bias", False, True),
    ("ernie-4.5-21b-a3b", {}, "moe_layer_start_index", 1, 0),
    ("ernie-4.5-21b-a3b", {}, "moe_layer_end_index", -1, 26),
    ("ernie-4.5-21b-a3b", {}, "moe_layer_end_index", 27, 0),
    ("ernie-4.5-21b-a3b", {}, "moe_layer_interval", 1, 2),
    ("ernie-4.5-21b-a3b", {}, "moe_num_shared_experts", 0, 2),
    ("llama-4-scout", {}, "attention_bias", False, True),
    ("llama-4-scout", {}, "interleave_moe_layer_step", 1, 2),
    ("llama-4-scout", {}, "attention_chunk_size", 8192, 4096),
    ("llama-4-scout", {}, "sliding_window_pattern", 4, 2),
    ("minimax-m2", {}, "use_routing_bias", True, False),
    ("minimax-m2", {}, "use_qk_norm", True, False),
    ("minimax-m2", {}, "qk_norm_type", "per_layer", "per_head"),
    ("minimax-m3", {}, "use_routing_bias", True, False),
    ("minimax-m3", {}, "use_qk_norm", True, False),
    ("minimax-m3", {}, "qk_norm_type", "per_head", "per_layer"),
    ("minimax-m3", {}, "shared_intermediate_size", 0, 3072),
    ("minimax-m3", {"moe_layer_freq": None}, "first_k_dense_replace", 3, 2),
    ("mimo-v2-flash", {}, "attention_bias", False, True),
    ("mimo-v2-flash", {}, "add_full_attention_sink_bias", False, True),
    ("mimo-v2-flash", {}, "add_swa_attention_sink_bias", True, False),
    ("mimo-v2-flash", {}, "swa_num_attention_heads", 64, 32),
    ("mimo-v2-flash", {"v_head_dim": 96}, "swa_v_head_dim", 96, 128),
    ("mimo-v2-flash", {"hybrid_layer_pattern": None}, "sliding_window_pattern", 6, 3),
    ("step-3.5-flash", {}, "use_head_wise_attn_gate", True, False),
    ("step-3.5-flash", {}, "use_moe_router_bias", True, False),
    ("step-3.5-flash", {}, "share_expert_dim", 0, 1280),
    ("step-3.5-flash", {"moe_layers_enum": None}, "first_k_dense_replace", 3, 4),
    ("gemma-4-26b-a4b", {}, "attention_k_eq_v", False, True),
    ("gemma-4-26b-a4b", {}, "enable_moe_block", False, True),
    ("gemma-4-26b-a4b", {}, "global_head_dim", 512, 256),
    ("gemma-4-26b-a4b", {"layer_types": None}, "sliding_window_pattern", 6, 5),
    ("qwen3-next-80b-a3b", {}, "attention_bias", False, True),
    ("qwen3-next-80b-a3b", {}, "attn_output_gate", True, False),
    ("qwen3-next-80b-a3b", {}, "full_attention_interval", 4, 3),
    ("qwen3-next-80b-a3b", {}, "linear_conv_kernel_dim", 4, 3),
    ("qwen3-next-80b-a3b", {}, "shared_expert_intermediate_size", 0, 512),
    ("kimi-linear-48b-a3b", {}, "mla_use_output_gate", False, True),
    ("kimi-linear-48b-a3b", {}, "first_k_dense_replace", 0, 1),
    ("kimi-k3", {}, "routed_expert_hidden_size", None, 3584),
    ("kimi-k3", {"attn_res_block_size": None}, "latent_moe_use_norm", False, True),
    ("kimi-k3", {"latent_moe_use_norm": None}, "attn_res_block_size", None, 12),
    ("glm-5.3-flash", {}, "index_kpool", 16, 8),
    ("glm-5.3-flash", {}, "hc_mult", 4, 2),
    ("glm-5.3-flash", {"mlp_layer_types": None}, "first_k_dense_replace", 3, 0),
    ("deepseek-v4-flash", {}, "hc_mult", 4, 2),
    ("nemotron-3-super-120b", {}, "attention_bias", False, True),
    ("nemotron-3-super-120b", {}, "n_shared_experts", 1, 2),
    ("nemotron-3-super-120b", {}, "moe_shared_expert_intermediate_size", 0, 5376),
    ("nemotron-3-super-120b", {}, "conv_kernel", 4, 5),
    ("nemotron-3-super-120b", {}, "moe_latent_size", None, 1024),
    ("nemotron-h-56b", {}, "mlp_bias", False, True),
]  # fmt: skip


@pytest.mark.thorough
@every("name,changes,field,usual,other", LEFT_OUT)
def test_a_field_that_is_left_out_is_what_the_family_takes(name, changes, field, usual, other):
    data = fixture(name)
    config = data.get("text_config", data)
    config = {key: value for key, value in (config | changes).items() if value is not None}
    bare = entry_of(without(config, field))
    assert bare == entry_of(config | {field: usual})
    assert bare != entry_of(config | {field: other})


# What a flag adds, in numbers of a configuration: heads h, key-value heads k, head dimension d,
# hidden size n, network width w, layers l, vocabulary v.
ADDED = [
    (LLAMA, {}, {"attention_bias": True}, "l * (h * d + 2 * k * d + n)"),
    (LLAMA, {}, {"mlp_bias": True}, "l * (2 * w + n)"),
    (LLAMA, {}, {"tie_word_embeddings": True}, "-v * n"),
    (LLAMA, {"model_type": "nemotron"}, {"mlp_bias": True}, "l * (w + n)"),
    (LLAMA, {"model_type": "ernie4_5"}, {"use_bias": True}, "l * (h * d + 2 * k * d + n + 2 * w + n)"),
    (LLAMA, {"model_type": "cohere"}, {"use_qk_norm": True}, "l * (h * d + k * d)"),
    (LLAMA, {"model_type": "brand_new"}, {"qkv_bias": True}, "l * (h * d + 2 * k * d)"),
    (LLAMA, {"model_type": "brand_new"}, {"attention_bias": True}, "l * (h * d + 2 * k * d + n)"),
    (LLAMA, {"model_type": "brand_new"}, {"use_qk_norm": True}, "l * 2 * d"),
    (LLAMA, {}, {"model_type": "exaone4"}, "l * 2 * d"),
    (LLAMA, {}, {"model_type": "nemotron"}, "-l * w * n + (2 * l + 1) * n"),
    ("qwen3-8b", {}, {"attention_bias": True}, "l * (h * d + 2 * k * d + n)"),
    ("qwen2.5-7b", {}, {"model_type": "mimo", "attention_bias": False}, "-l * (h * d + 2 * k * d)"),
    ("glm-4-9b", {}, {"attention_bias": False}, "-l * (h * d + 2 * k * d)"),
    ("glm-4-9b", {}, {"model_type": "glm4"}, "l * 2 * n"),
    ("seed-oss-36b", {}, {"attention_out_bias": True}, "l * n"),
    ("starcoder2-7b", {}, {"use_bias": False}, "-l * (h * d + 2 * k * d + n + w + n)"),
    ("gpt-oss-20b", {}, {"attention_bias": False}, "-l * (h * d + 2 * k * d + n)"),
    ("falcon-7b", {}, {"multi_query": False}, "l * 2 * (h - 1) * d * n"),
    ("falcon-7b", {}, {"parallel_attn": False}, "l * 2 * n"),
    ("falcon-7b", {}, {"bias": True}, "l * (h * d + 2 * d + n + 4 * n + n)"),
    ("falcon-180b", {}, {"num_ln_in_parallel_attn": 1}, "-l * 2 * n"),
    ("phi-3.5-moe", {}, {"lm_head_bias": False}, "-v"),
    ("glm-4.5", {}, {"use_qk_norm": False}, "-l * 2 * d"),
    ("deepseek-v3", {}, {"topk_method": "greedy"}, "-(l - 3) * 256"),
    ("minimax-m2", {}, {"use_routing_bias": False}, "-l * 256"),
    ("minimax-m2", {}, {"use_qk_norm": False}, "-l * (h * d + k * d)"),
    ("minimax-m2", {}, {"qk_norm_type": "per_head"}, "-l * (h * d + k * d - 2 * d)"),
    ("mimo-v2-flash", {}, {"add_swa_attention_sink_bias": False}, "-39 * 64"),
    ("mimo-v2-flash", {}, {"add_full_attention_sink_bias": True}, "9 * 64"),
    # 12 full layers of 64 heads and 33 windowed ones of 96 have a number of a gate each.
    ("step-3.5-flash", {}, {"use_head_wise_attn_gate": False}, "-(12 * 64 + 33 * 96) * n"),
    ("step-3.5-flash", {}, {"use_moe_router_bias": False}, "-42 * 288"),
    ("step-3.5-flash", {}, {"share_expert_dim": 0}, "-42 * 3 * 1280 * n"),
    ("qwen3-next-80b-a3b", {}, {"attn_output_gate": False}, "-l / 4 * h * d * n"),
    ("ernie-4.5-21b-a3b", {}, {"moe_num_shared_experts": 1}, "-27 * 3 * 1536 * n"),
    ("hy3-preview", {}, {"num_shared_experts": 0}, "-79 * 3 * 1536 * n"),
    # K3: norms of the projected experts in 92 layers; two vectors before each part and the head.
    ("kimi-k3", {}, {"latent_moe_use_norm": False}, "-92 * 3584"),
    ("kimi-k3", {}, {"attn_res_block_size": None}, "-2 * (2 * l + 1) * n"),
    ("muse-spark-816b-a42b", {}, {"vocab_size": 202049}, "2 * n"),
    ("nemotron-3-super-120b", {}, {"n_shared_experts": 2}, "40 * 2 * 5376 * n"),
]  # fmt: skip


@every("name,changes,flag,formula", ADDED)
def test_what_a_flag_adds_is_counted_by_hand(name, changes, flag, formula):
    data = fixture(name)
    config = data.get("text_config", data) | changes
    heads = config["num_attention_heads"]
    numbers = {
        "h": heads,
        "k": config.get("num_key_value_heads") or heads,
        "d": config.get("head_dim") or config["hidden_size"] // heads,
        "n": config["hidden_size"],
        "w": config.get("intermediate_size", 0),
        "l": config["num_hidden_layers"],
        "v": config["vocab_size"],
    }
    assert parameters(config | flag) - parameters(config) == eval(formula, {}, numbers)


@every(
    "name,number",
    [
        ("llama-3.1-8b", None),
        # The bias of a head; two norms around the experts of each layer; a scale for each layer.
        ("phi-3.5-moe", 32_064),
        ("muse-spark-816b-a42b", 2 * 4096 * 62),
        ("gemma-4-26b-a4b", 30),
        # Norms of 3,584 in 92 layers, two vectors of 7,168 before each part and before the head.
        ("kimi-k3", 92 * 3584 + 2 * (2 * 93 + 1) * 7168),
        # Four streams of 4,096: what merges each with each, their biases and a scale.
        ("deepseek-v4-flash", 4 * 4 * 4096 + 4 + 1),
    ],
)
def test_other_parameters_are_counted_by_hand(name, number):
    data = fixture(name)
    assert entry_of(data).get("other_parameters") == number


# Which layer is of which kind, by hand


def fields(**data):
    return Fields({"num_hidden_layers": 8, **data}, JsonFile("x/config.json", data))


def marks(switched):
    return "".join("x" if is_on else "." for is_on in switched)


@every(
    "data,every,layers",
    [
        ({}, None, "........"),
        ({}, 4, "xxx.xxx."),
        ({}, 3, "xx.xx.xx"),
        ({}, 1, "........"),
        ({"sliding_window_pattern": 2}, 4, "x.x.x.x."),
        ({"_sliding_window_pattern": 5}, 4, "xxxx.xxx"),
        ({"sliding_window_pattern": "LLG"}, 4, "xx.xx.xx"),
        ({"sliding_window_pattern": "G"}, 4, "........"),
        ({"layer_types": ["sliding_attention", "full_attention"] * 4}, 3, "x.x.x.x."),
        ({"layer_types": ["chunked_attention", "global", "attention", "linear_attention"] * 2}, 3, "x...x..."),
    ],
)  # fmt: skip
def test_windowed_layers(data, every, layers):
    assert marks(patterns.windowed(fields(**data), 8, every=every)) == layers


@every(
    "data,layers",
    [
        ({"use_sliding_window": True}, "........"),
        ({"use_sliding_window": True, "max_window_layers": 6}, "......xx"),
        ({"use_sliding_window": True, "max_window_layers": 0}, "xxxxxxxx"),
        ({"max_window_layers": 6}, "........"),
        ({"use_sliding_window": True, "layer_types": ["sliding_attention"] * 8}, "xxxxxxxx"),
        ({"layer_types": ["sliding_attention"] * 8}, "........"),
    ],
)
def test_windows_from_a_layer_on(data, layers):
    assert marks(patterns.late_windows(fields(**data), 8)) == layers


@every(
    "data,layers",
    [
        ({}, "xxx.xxx."),
        ({"full_attention_interval": 3}, "xx.xx.xx"),
        ({"layer_types": ["linear_attention", "full_attention"] * 4}, "x.x.x.x."),
    ],
)
def test_layers_that_keep_a_state(data, layers):
    assert marks(patterns.linear(fields(**data), 8)) == layers


@every(
    "data,first_dense,layers",
    [
        ({}, None, "xxxxxxxx"),
        ({}, 3, "...xxxxx"),
        ({"first_k_dense_replace": 2}, None, "..xxxxxx"),
        ({"first_k_dense_replace": 2}, 3, "..xxxxxx"),
        ({"first_k_dense_replace": 0}, 3, "xxxxxxxx"),
        # A frequency counts from layer 0, a sparse step from layer 1.
        ({"moe_layer_freq": 2}, None, "x.x.x.x."),
        ({"decoder_sparse_step": 2}, None, ".x.x.x.x"),
        ({"decoder_sparse_step": 3}, None, "..x..x.."),
        ({"moe_layer_freq": 2, "decoder_sparse_step": 3}, None, "x.x.x.x."),
        ({"moe_layer_freq": 2, "first_k_dense_replace": 3}, None, "....x.x."),
        ({"mlp_only_layers": [0, 5]}, None, ".xxxx.xx"),
        ({"moe_layer_freq": [0, 1, 1, 0, 1, 1, 1, 1, 1]}, 3, ".xx.xxxx"),
        ({"mlp_layer_types": ["dense", "sparse", "moe", "other"] * 2}, 3, ".xx..xx."),
    ],
)
def test_layers_that_route(data, first_dense, layers):
    assert marks(patterns.routed(fields(**data), 8, first_dense=first_dense)) == layers


@every(
    "data,layers",
    [
        ({}, "........"),
        ({"index_topk_freq": 1}, "........"),
        # From layer 1 on every second picks for itself: the first two do anyway.
        ({"index_topk_freq": 2}, "..x.x.x."),
        ({"index_topk_freq": 4, "index_skip_topk_offset": 3}, "...xxx.x"),
        ({"index_topk_freq": 4, "index_skip_topk_offset": 0}, "xxx.xxx."),
        ({"indexer_types": ["full", "shared"] * 4}, ".x.x.x.x"),
    ],
)
def test_layers_that_take_the_picks_of_others(data, layers):
    assert marks(patterns.shared_indexers(fields(**data), 8)) == layers


SPARSE = {"sparse_num_index_heads": 4, "sparse_index_dim": 64, "sparse_topk_blocks": 16}
LATE = {"index_n_heads": 4, "index_head_dim": 64, "index_topk_blocks": 16}


@every(
    "data,layers,picked",
    [
        ({}, "........", None),
        ({"sparse_attention_config": SPARSE}, "xxxxxxxx", 2048),
        ({"sparse_attention_config": SPARSE | {"sparse_block_size": 64}}, "xxxxxxxx", 1024),
        ({"sparse_attention_config": SPARSE | {"use_sparse_attention": True}}, "xxxxxxxx", 2048),
        ({"sparse_attention_config": SPARSE | {"use_sparse_attention": False}}, "........", None),
        ({"sparse_attention_config": SPARSE | {"sparse_attention_freq": [0, 1] * 4}}, ".x.x.x.x", 2048),
        (LATE, "...xxxxx", 2048),
        (LATE | {"index_block_size": 32}, "...xxxxx", 512),
    ],
)  # fmt: skip
def test_layers_that_read_the_best_blocks(data, layers, picked):
    switched, indexer = parts.block_indexer(fields(**data), 8)
    assert marks(switched) == layers
    expected = {"heads": 4, "head_dim": 64, "top_k": picked, "head_weights": False}
    assert indexer == (expected if picked else None)


HEADS = {"num_attention_heads": 8, "hidden_size": 512}


@every(
    "data,keys,part",
    [
        ({}, {}, {"kind": "mha", "heads": 8, "head_dim": 64}),
        ({"num_key_value_heads": 8}, {}, {"kind": "mha", "heads": 8, "head_dim": 64}),
        ({"num_key_value_heads": 2}, {}, {"kind": "gqa", "heads": 8, "kv_heads": 2, "head_dim": 64}),
        ({"attention_head_dim": 80}, {}, {"kind": "mha", "heads": 8, "head_dim": 80}),
        ({"head_dim": 80}, {"head_dim": 96, "heads": 4, "kv_heads": 1},
         {"kind": "gqa", "heads": 4, "kv_heads": 1, "head_dim": 96}),
        ({}, {"bias": True}, {"kind": "mha", "heads": 8, "head_dim": 64, "qkv_bias": True, "output_bias": True}),
        ({}, {"bias": False, "sinks": True}, {"kind": "mha", "heads": 8, "head_dim": 64, "sinks": True}),
        ({}, {"heads": 4, "kv_heads": 4}, {"kind": "mha", "heads": 4, "head_dim": 128}),
        ({}, {"window": 128}, {"kind": "mha", "heads": 8, "head_dim": 64, "window": 128}),
        # A window that no sequence is longer than is none.
        ({"max_position_embeddings": 129}, {"window": 128}, {"kind": "mha", "heads": 8, "head_dim": 64, "window": 128}),
        ({"max_position_embeddings": 128}, {"window": 128}, {"kind": "mha", "heads": 8, "head_dim": 64}),
    ],
)  # fmt: skip
def test_heads(data, keys, part):
    assert parts.grouped(fields(**HEADS, **data), **keys) == part


@every(
    "data,sentence",
    [
        ({"num_attention_heads": 7}, "num_attention_heads 7 does not divide hidden_size 512"),
        ({"num_key_value_heads": 3}, "num_key_value_heads 3 does not divide the 8 heads"),
    ],
)
def test_heads_that_cannot_be(data, sentence):
    with pytest.raises(InputError, match=sentence):
        parts.grouped(fields(**HEADS | data))


@every("value", [True, "x", 0, -1.0, inf, float("nan"), [1], None])
def test_a_number_is_positive(value):
    with pytest.raises(InputError, match=r"a should be a positive number|a is missing"):
        fields(a=value).number("a")
    assert fields(a=2).number("a") == 2.0
    assert fields(a=0.5).number("a") == 0.5


def test_experts_are_no_more_than_there_are():
    data = {"num_experts": 4, "moe_intermediate_size": 64}
    part = parts.experts(fields(**data, num_experts_per_tok=4), shared=32)
    assert part == {
        "kind": "moe",
        "experts": 4,
        "active_experts": 4,
        "width": 64,
        "shared_width": 32,
    }
    with pytest.raises(
        InputError, match="num_experts_per_tok: 5 experts per token exceed the total of 4"
    ):
        parts.experts(fields(**data, num_experts_per_tok=5))


def test_shared_experts_are_a_number_of_one_width():
    data = {"moe_intermediate_size": 64}
    for number, width in ((0, 0), (1, 64), (3, 192)):
        assert parts.shared_width(fields(**data, n_shared_experts=number)) == width
        assert parts.shared_width(fields(**data, num_shared_experts=number)) == width
    assert parts.shared_width(fields(**data)) == 0


MIXED = {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2, "num_experts": 4,
         "num_experts_per_tok": 2, "moe_intermediate_size": 64, "intermediate_size": 1024,
         "sliding_window": 128}  # fmt: skip
ALL, NONE = "xxxxxxxx", "........"


@every(
    "family,data,routed,windowed,norms",
    [
        ("ernie4_5_moe", {}, ".xxxxxxx", NONE, None),
        ("ernie4_5_moe", {"moe_layer_start_index": 2, "moe_layer_interval": 2}, "...x.x.x", NONE, None),
        ("ernie4_5_moe", {"moe_layer_end_index": 5}, ".xxxxx..", NONE, None),
        ("ernie4_5_moe", {"moe_layer_start_index": 0, "moe_layer_end_index": 0}, "x.......", NONE, None),
        ("llama4_text", {}, ALL, "xxx.xxx.", None),
        ("llama4_text", {"interleave_moe_layer_step": 2, "intermediate_size_mlp": 64}, ".x.x.x.x", "xxx.xxx.", None),
        ("llama4_text", {"moe_layers": [1, 2], "intermediate_size_mlp": 64}, ".xx.....", "xxx.xxx.", None),
        ("minimax_m3", {"dense_intermediate_size": 64}, "...xxxxx", NONE, None),
        ("mimo_v2_flash", {}, ALL, "xxxxx.xx", None),
        ("step3p5", {"head_dim": 64}, "...xxxxx", NONE, None),
        ("step3p5", {"head_dim": 64, "moe_layers_enum": "3,4,7"}, "...xx..x", NONE, None),
        ("gemma4_text", {}, NONE, "xxxxx.xx", 4),
        ("gemma4_text", {"enable_moe_block": True}, ALL, "xxxxx.xx", 8),
        ("cohere2_moe", {}, ALL, "xxx.xxx.", 1),
        ("cohere2_moe", {"use_parallel_block": False}, ALL, "xxx.xxx.", 2),
        ("afmoe", {}, ".xxxxxxx", "xxx.xxx.", 4),
        ("afmoe", {"num_dense_layers": 2, "global_attn_every_n_layers": 2}, "..xxxxxx", "x.x.x.x.", 4),
        ("aria_text", {}, ALL, NONE, None),
        ("laguna", {"layer_types": ["full_attention", "sliding_attention"] * 4}, ALL, ".x.x.x.x", None),
    ],
)  # fmt: skip
def test_layers_of_a_family(family, data, routed, windowed, norms):
    data = {"num_hidden_layers": 8, **MIXED, **data}
    made = Fields(data, JsonFile("x/config.json", data), FAMILIES[family].defaults)
    layers = FAMILIES[family].read(made)
    assert marks(layer["ffn"]["kind"] == "moe" for layer in layers) == routed
    assert marks("window" in layer["attention"] for layer in layers) == windowed
    assert {layer.get("norms") for layer in layers} == {norms}


def test_layers_of_an_unknown_family_have_the_window_that_is_stated():
    """All of them, unless something says which; and the width of shared experts."""
    data = {**MIXED, "shared_expert_intermediate_size": 96}
    for also, windowed in (({}, ALL), ({"sliding_window_pattern": 4}, "xxx.xxx.")):
        layers = usual(fields(**data, **also))
        assert marks("window" in layer["attention"] for layer in layers) == windowed
        assert {layer["ffn"]["shared_width"] for layer in layers} == {96}
    layers = usual(fields(**MIXED, use_sliding_window=False, n_shared_experts=2))
    assert marks("window" in layer["attention"] for layer in layers) == NONE
    assert {layer["ffn"]["shared_width"] for layer in layers} == {2 * 64}


# How weights are stored: `test_quantization`


def test_a_format_is_quoted_with_what_tells_it():
    config = {"quant_method": "fp8", "load_in_4bit": False, "load_in_8bit": True, "scale": 3,
              "config_groups": {"a": {"weights": {"num_bits": 4}}}, "list": [{"bits": 8}]}  # fmt: skip
    data = {"quantization_config": config, "torch_dtype": "bfloat16", "expert_dtype": "fp4"}
    text = "quant_method: fp8, load_in_8bit: True, num_bits: 4, bits: 8, expert_dtype: fp4, torch_dtype: bfloat16"
    assert quoted(data, Formats("fp8", "mxfp4", "fp8")) == {
        "weight_format": text, "expert_format": text, "kv_format": text
    }  # fmt: skip
    assert quoted(data, Formats("bf16", None, "bf16")) == {}
    assert quoted(data, Formats("bf16", "mxfp4", "fp16")) == {"expert_format": text}
    assert quoted({}, Formats("fp8")) == {}


# Files


def test_the_inner_configuration_comes_first_and_inherits_formats_alone():
    inner = fixture(LLAMA)
    outer = {"text_config": without(inner, "torch_dtype") | {"head_dim": None}, "hidden_size": 5,
             "torch_dtype": "float16", "tie_word_embeddings": True, "vision_config": {"a": 1}}  # fmt: skip
    entry, notes = mapping(JsonFile("x/config.json", outer))
    assert (entry["hidden_size"], entry["weight_format"], entry["tied_embeddings"]) == (
        4096,
        "fp16",
        False,
    )
    assert "vision or audio tower" in notes[-1]
    # The text of a wrapper that names no kind of its own is of the wrapper's.
    inner = without(fixture("gemma-3-27b-it")["text_config"], "model_type")
    wrapped = {"model_type": "gemma3", "language_config": inner}
    assert entry_of(wrapped) == entry_of(inner | {"model_type": "gemma3_text"})


@every(
    "field,layers,mtp",
    [
        ("num_nextn_predict_layers", 0, None),
        ("num_nextn_predict_layers", 1, {"layers": 1, **OWN_TABLES}),
        ("mtp_num_hidden_layers", 2, {"layers": 2, **OWN_TABLES}),
        ("num_mtp_modules", 3, {"layers": 3, **OWN_TABLES}),
    ],
)
def test_prediction_layers(field, layers, mtp):
    entry = entry_of(without(fixture("deepseek-v3"), "num_nextn_predict_layers") | {field: layers})
    assert entry.get("mtp") == mtp


@every(
    "name,is_hub",
    [
        ("meta-llama/Llama-3.1-8B", True),
        ("a/b", True),
        ("a/b.yaml", False),
        ("a/B.JSON", False),
        ("a/b.yml", False),
        ("a/b/c", False),
        ("nowhere", False),
        ("./a/b", False),
    ],
)
def test_a_name_of_the_hub_says_how_to_fetch(name, is_hub):
    sentence = missing_file(name)
    assert sentence.startswith(f"{name}: there is no such file")
    assert ("nothing is downloaded" in sentence) is is_hub
    if is_hub:
        folder = name.split("/")[1]
        assert f"hf download {name} config.json --local-dir {folder}'" in sentence
        assert sentence.endswith(f"then name the folder: ./{folder}")


def test_a_path_that_cannot_be_read_says_why(tmp_path):
    for path, why in ((tmp_path / "none.json", "no such file"), (tmp_path / "a\0b", "null")):
        with pytest.raises(InputError, match=f"cannot be read: .*{why}"):
            read_json(path)


def test_what_is_no_text_has_its_line(tmp_path):
    path = tmp_path / "config.json"
    for raw, line in ((b"\xff", 1), (b'{\n\n"a": "\xff"}', 3)):
        path.write_bytes(raw)
        with pytest.raises(InputError, match=f"config.json:{line}:1: not UTF-8 text"):
            read_json(path)


def test_a_folder_means_its_configuration(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    assert config_path(tmp_path) == tmp_path / "config.json"
    assert config_path(tmp_path / "config.json") == tmp_path / "config.json"


@every(
    "entry,text",
    [
        ({"id": "a"}, "id: a\n"),
        ({"id": "a", "notes": ["b c", "d"]}, 'id: a\n\nnotes:\n  - "b c"\n  - d\n'),
        ({"notes": ["a"]}, "notes:\n  - a\n"),
        ({"id": "a", "weight_format": "bf16", "kv_format": "yes"}, 'id: a\n\nweight_format: bf16\nkv_format: "yes"\n'),
        ({"sources": {"config": {"title": "t"}}}, "sources:\n  config:\n    title: t\n"),
        ({"mtp": {"layers": 1, "own_head": True}}, "mtp: {layers: 1, own_head: true}\n"),
        ({"printed": {"a": 1, "b": "x: y"}}, 'printed:\n  a: 1\n  b: "x: y"\n'),
        ({"blocks": [{"count": 2, "ffn": {"kind": "moe", "list": [1, 0.5]}}]},
         "blocks:\n  - count: 2\n    ffn: {kind: moe, list: [1, 0.5]}\n"),
    ],
)  # fmt: skip
def test_yaml_is_laid_out_as_shipped_files_are(entry, text):
    assert yaml_text(entry) == text


def test_modelopts_file_is_read_where_the_configuration_says_nothing(tmp_path):
    config = tmp_path / "config.json"
    (tmp_path / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "NVFP4"}}')
    for own, weights in (({}, "nvfp4"), ({"quantization_config": {"quant_method": "fp8"}}, "fp8")):
        config.write_text(json.dumps(fixture(LLAMA) | own))
        assert import_model(tmp_path).model.weight_format == weights
    config.write_text(json.dumps(fixture(LLAMA)))
    (tmp_path / "hf_quant_config.json").write_text('{"quantization": 3}')
    assert import_model(config).model.weight_format == "bf16"
    other = tmp_path / "other.json"
    other.write_text(config.read_text())
    (tmp_path / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "NVFP4"}}')
    assert import_model(other).model.weight_format == "bf16"


def test_caches_are_those_of_full_and_of_windowed_layers():
    """Gemma 3 27B in words: 62 layers of 16 x 128 keys and values, every sixth without a window."""
    model = import_model(CONFIGS / "gemma-3-27b-it.json").model
    layers = {group.window: group.layers for group in workload(model).caches}
    assert layers == {inf: 10, 1024: 52}
