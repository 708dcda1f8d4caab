"""The reader and the default values for each ``model_type``.

Defaults are taken from the configuration classes of transformers 5.24.0.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from fastcalc.importers.huggingface import compressed, dense, hybrid, mixture, state_space, tables
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.parts import Reader
from fastcalc.importers.huggingface.usual import usual


@dataclass(frozen=True)
class ModelFamily:
    """Reads the configurations of a model family: its layers, and additional keys.

    ``tied`` is whether head and embedding are tied by default. ``mtp`` contains additional keys of
    prediction layers, or None if these differ from the last layer or are not stored.
    """

    read: Reader
    tied: bool = False
    norm_bias: bool = False
    defaults: dict[str, int] = field(default_factory=dict)
    mtp: dict[str, bool] | None = None
    extras: Callable[[Fields], dict[str, int]] | None = None
    needs: tuple[str, ...] = ("num_attention_heads", "num_hidden_layers")


_OWN_TABLES = {"own_embedding": True, "own_head": True}
_MISTRAL = {"sliding_window": 4096}
_HEAD_128 = {"head_dim": 128}
_V3 = {
    "router_bias": True,
    "first_dense": 3,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}

_INDEXED = {"router_bias": True, "index_topk": 2048, "index_head_dim": 128}
_DELTA = {
    "head_dim": 256,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
}

_GEMMA_3 = {
    "vocab_size": 262208,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 131072,
    "sliding_window": 4096,
}

_STEP = {"num_sliding_attention_heads": 96}
_NO_HEADS = ("num_hidden_layers",)
_QWEN_2 = partial(dense.qwen, qkv_bias=True)  # regardless of the file

FAMILIES: dict[str, ModelFamily] = {
    "llama": ModelFamily(dense.llama),
    "smollm3": ModelFamily(dense.llama, tied=True),
    "granite": ModelFamily(dense.llama),
    "internlm3": ModelFamily(dense.llama, defaults=_HEAD_128),
    "mistral": ModelFamily(dense.mistral, defaults=_MISTRAL),
    "ministral3": ModelFamily(dense.mistral, defaults=_HEAD_128),
    "phi3": ModelFamily(dense.mistral),
    "qwen2": ModelFamily(_QWEN_2),
    "qwen2_moe": ModelFamily(_QWEN_2),
    "qwen3": ModelFamily(dense.qwen3, defaults=_HEAD_128),
    "qwen3_moe": ModelFamily(dense.qwen3),
    "mimo": ModelFamily(dense.mimo, mtp={}),
    "glm": ModelFamily(dense.glm, defaults=_HEAD_128),
    "glm4": ModelFamily(dense.glm4, defaults=_HEAD_128),
    "seed_oss": ModelFamily(dense.seed_oss, defaults=_HEAD_128),
    "ernie4_5": ModelFamily(dense.ernie, tied=True, defaults=_HEAD_128),
    "hunyuan_v1_dense": ModelFamily(dense.head_norms),
    "exaone4": ModelFamily(dense.head_norms),
    "olmo2": ModelFamily(dense.olmo),
    "olmo3": ModelFamily(dense.olmo, defaults=_MISTRAL),
    "cohere": ModelFamily(dense.cohere, tied=True),
    "cohere2": ModelFamily(dense.cohere, tied=True, defaults=_MISTRAL),
    "gemma": ModelFamily(dense.llama, tied=True, defaults={"head_dim": 256}),
    "gemma2": ModelFamily(
        partial(dense.windowed, every=2, norms=4), tied=True, defaults={"head_dim": 256, **_MISTRAL}
    ),
    "gemma3_text": ModelFamily(
        partial(dense.windowed, every=6, norms=4, qk_norm=True), tied=True, defaults=_GEMMA_3
    ),
    "falcon": ModelFamily(dense.falcon, tied=True, norm_bias=True),
    "nemotron": ModelFamily(dense.nemotron, norm_bias=True),
    "starcoder2": ModelFamily(dense.starcoder2, tied=True, norm_bias=True),
    "muse_glimmer_text": ModelFamily(dense.muse_glimmer, defaults={"sliding_window": 2048}),
    "mixtral": ModelFamily(mixture.mixtral),
    "granitemoe": ModelFamily(mixture.mixtral),
    "phimoe": ModelFamily(mixture.mixtral, norm_bias=True, extras=mixture.head_bias),
    "olmoe": ModelFamily(mixture.olmoe),
    "gpt_oss": ModelFamily(mixture.gpt_oss, defaults={"head_dim": 64, "sliding_window": 128}),
    "deepseek_v2": ModelFamily(mixture.latent),
    "deepseek_v3": ModelFamily(mixture.latent, defaults=_V3, mtp=_OWN_TABLES),
    "deepseek_v32": ModelFamily(
        mixture.latent, defaults={**_V3, **_INDEXED, "index_n_heads": 64}, mtp=_OWN_TABLES
    ),
    "kimi_k2": ModelFamily(mixture.latent, defaults=_V3, mtp=_OWN_TABLES),
    "glm4_moe_lite": ModelFamily(mixture.latent, defaults={"router_bias": True}, mtp=_OWN_TABLES),
    "glm_moe_dsa": ModelFamily(mixture.latent, defaults={**_INDEXED, "index_n_heads": 32}, mtp={}),
    "mistral4": ModelFamily(mixture.latent),
    "glm4_moe": ModelFamily(mixture.grouped, mtp=_OWN_TABLES),
    "hunyuan_v1_moe": ModelFamily(partial(mixture.head_norms, router_bias=False)),
    "hy_v3": ModelFamily(mixture.head_norms, mtp={}),
    "dots1": ModelFamily(mixture.head_norms),
    "ernie4_5_moe": ModelFamily(mixture.ernie, tied=True),
    "llama4_text": ModelFamily(
        mixture.llama4, defaults={"head_dim": 128, "attention_chunk_size": 8192}
    ),
    "minimax_m2": ModelFamily(mixture.minimax_m2, defaults=_HEAD_128),
    "minimax_m3": ModelFamily(mixture.minimax_m3, defaults=_HEAD_128),
    "mimo_v2_flash": ModelFamily(mixture.mimo_v2, defaults={"head_dim": 192, "v_head_dim": 128}),
    "step3p5": ModelFamily(mixture.step, defaults=_STEP),
    "muse_spark_text": ModelFamily(
        mixture.muse_spark,
        defaults={"sliding_window": 2048, "moe_hidden_size": 4096},
        extras=mixture.latent_norms,
    ),
    "gemma4_text": ModelFamily(
        mixture.gemma4, tied=True, defaults={"head_dim": 256}, extras=mixture.layer_scales
    ),
    "qwen3_next": ModelFamily(hybrid.qwen_next, defaults=_DELTA, mtp={}),
    "qwen3_5_text": ModelFamily(hybrid.qwen_next, defaults=_DELTA, mtp={}),
    "kimi_linear": ModelFamily(hybrid.kimi_linear, extras=hybrid.kimi_extras),
    "glm5_next_text": ModelFamily(
        hybrid.glm5_next,
        defaults={**_INDEXED, "index_n_heads": 32},
        mtp={},
        extras=compressed.streams,
    ),
    "nemotron_h": ModelFamily(hybrid.nemotron_h, needs=()),
    "nemotron-nas": ModelFamily(hybrid.nemotron_nas),
    "deepseek_v4": ModelFamily(compressed.deepseek_v4, extras=compressed.merged_streams),
    "afmoe": ModelFamily(mixture.afmoe, defaults=_HEAD_128),
    "aria_text": ModelFamily(mixture.aria),
    "axk2": ModelFamily(mixture.axk2, defaults={**_INDEXED, "index_n_heads": 16}),
    "hy_v4": ModelFamily(mixture.hunyuan4, defaults={**_INDEXED, "index_n_heads": 16}),
    "bitnet": ModelFamily(dense.bitnet),
    "lfm2": ModelFamily(state_space.lfm, tied=True, defaults={"block_auto_adjust_ff_dim": 1}),
    "lfm2_moe": ModelFamily(state_space.lfm, tied=True),
    "lfm3": ModelFamily(state_space.lfm, tied=True, defaults=_HEAD_128),
    "granitemoehybrid": ModelFamily(state_space.granite_hybrid),
    "bamba": ModelFamily(state_space.bamba),
    "falcon_h1": ModelFamily(state_space.falcon_h1),
    "jamba": ModelFamily(state_space.jamba),
    "mamba": ModelFamily(state_space.mamba_alone, tied=True, needs=_NO_HEADS),
    "falcon_mamba": ModelFamily(state_space.mamba_alone, tied=True, needs=_NO_HEADS),
    "mamba2": ModelFamily(state_space.mamba2_alone, needs=_NO_HEADS),
    "minimax": ModelFamily(state_space.lightning),
    "olmo_hybrid": ModelFamily(state_space.olmo_hybrid),
    "lara_mini": ModelFamily(state_space.lara, tied=True, defaults=_HEAD_128),
    "bailing_hybrid": ModelFamily(
        state_space.bailing, defaults={"linear_num_heads": 32, "linear_head_dim": 128}
    ),
    "gemma3n_text": ModelFamily(
        tables.gemma3n, tied=True, defaults={"head_dim": 256}, extras=tables.gemma3n_extras
    ),
    "gemma4_unified_text": ModelFamily(mixture.gemma4, tied=True, defaults={"head_dim": 256}),
    "longcat_flash": ModelFamily(tables.longcat, needs=("num_attention_heads",)),
    "inkling_text": ModelFamily(tables.inkling),
    "qwen4_exp_text": ModelFamily(
        tables.qwen4, defaults=_DELTA, mtp={}, extras=tables.qwen4_extras
    ),
    "laguna": ModelFamily(mixture.laguna),
    "cohere2_moe": ModelFamily(mixture.cohere_moe, tied=True, defaults=_MISTRAL),
    # Read from the usual fields; benchmarks/class_defaults.py compares them with transformers.
    **dict.fromkeys(
        (
            "arcee",
            "cwm",
            "diffllama",
            "exaone",
            "flint",
            "granitemoe_swa",
            "granitemoeshared",
            "helium",
            "hyperclovax",
            "iquestcoder",
            "olmo",
            "sarvam_mla",
            "sarvam_moe",
            "solar_open",
            "axk1",
        ),
        ModelFamily(usual),
    ),
    **dict.fromkeys(
        ("granite_swa", "minicpm3", "vaultgemma", "youtu"), ModelFamily(usual, tied=True)
    ),
    **dict.fromkeys(
        ("gpt_neox", "jais2", "persimmon", "phi", "stablelm"), ModelFamily(usual, norm_bias=True)
    ),
    "nanochat": ModelFamily(usual),
    "kolibri1": ModelFamily(partial(usual, norms=4, qk_norm=True, router_bias=True)),
    **dict.fromkeys(
        ("apertus", "apertus1p5_text", "exaone_moe", "mellum"),
        ModelFamily(partial(usual, qk_norm=True)),
    ),
    "flex_olmo": ModelFamily(partial(usual, qk_norm="full")),
    "beam": ModelFamily(partial(usual, norms=4, qk_norm=True, output_gate=True)),
}

ALIASES = {
    "deepseek_ref": "deepseek_v4",
    "gemma3": "gemma3_text",
    "gemma4": "gemma4_text",
    "gemma3n": "gemma3n_text",
    "gemma4_unified": "gemma4_unified_text",
    "glm4v_moe_text": "glm4_moe",
    "glm5_next": "glm5_next_text",
    "kimi_k25": "kimi_k2",
    "kimi_k3": "kimi_linear",
    "llama4": "llama4_text",
    "minimax_m3_vl": "minimax_m3",
    "minimax_m3_vl_text": "minimax_m3",
    "mimo_v2": "mimo_v2_flash",
    "muse_glimmer": "muse_glimmer_text",
    "muse_spark": "muse_spark_text",
    "phi4mini": "phi3",
    "phi4_multimodal": "phi3",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen2_5_omni_text": "qwen2",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "inkling_mm_model": "inkling_text",
    "qwen4_exp": "qwen4_exp_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_text",
    "qwen3_5_moe_text": "qwen3_5_text",
    "qwen3_omni_moe_text": "qwen3_moe",
    "qwen3_vl": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_vl_text": "qwen3",
    "step3p7": "step3p5",
    "step3p7_text": "step3p5",
}  # including wrappers whose inner configuration has no model_type
