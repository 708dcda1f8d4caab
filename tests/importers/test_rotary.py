"""Sines and cosines that engines store for each position, by vLLM 0.27's and SGLang 0.5's modules."""

import json

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import locate
from fastcalc.core.placement.fullest_chip import rotary_bytes
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.importers.huggingface.model import import_model

ENTRIES = Catalogue()

_LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 2,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}
_QWEN = {**_LLAMA, "model_type": "qwen3", "head_dim": 128}


@pytest.mark.parametrize(
    ("keys", "columns"),
    [
        ({}, 128),
        # YaRN: the original positions times the factor, which are those of the configuration.
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, 128),
        ({"partial_rotary_factor": 0.5}, 64),
        ({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}}, 32),
        ({"rotary_dim": 64}, 64),
        # M-RoPE: vLLM's four times as many positions are the engine's.
        ({"rope_scaling": {"mrope_section": [16, 24, 24], "rope_type": "default"}}, 128),
        # LinearScalingRotaryEmbedding: the positions times the factor.
        ({"rope_scaling": {"rope_type": "linear", "factor": 8.0}}, 1024),
        # Gemma 3: a linear table and a plain one for windows.
        ({"rope_scaling": {"type": "linear", "factor": 8}, "rope_local_base_freq": 1e4}, 1152),
        ({"rope_parameters": {"full_attention": {}, "sliding_attention": {}}}, 256),
        ({"position_embedding_type": "nope"}, 0),
        # What is no number is left to the engine.
        ({"partial_rotary_factor": "half", "rope_scaling": {"factor": "x"}}, 128),
        ({"rope_scaling": [8.0]}, 128),
    ],
)
def test_columns_follow_from_the_configuration(keys, columns, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**_QWEN, **keys}), encoding="utf-8")
    model = import_model(path).model
    assert model.rotary_values == 131_072 * columns
    assert model.mrope == ("mrope_section" in str(keys))


@pytest.mark.parametrize(
    ("name", "under_vllm", "under_sglang"),
    [
        # Weights that vLLM 0.10 logged for Gemma 3 4B exceed its checkpoint by 0.57 GiB.
        ("gemma-3-4b", 0.5625, 1.125),
        # One table for each width of heads.
        ("gemma-4-31b", 262_144 * (256 + 512) * 2 / 2**30, 262_144 * (256 + 512) * 4 / 2**30),
        # A quarter of a head; MRotaryEmbedding has four times the positions in vLLM alone.
        ("qwen3.6-27b", 4 * 262_144 * 64 * 2 / 2**30, 262_144 * 64 * 4 / 2**30),
        ("qwen3-vl-8b", 4 * 262_144 * 128 * 2 / 2**30, 262_144 * 128 * 4 / 2**30),
        ("deepseek-r1", 163_840 * 64 * 2 / 2**30, 163_840 * 64 * 4 / 2**30),
        # Two tables at 32 bits; in SGLang those of rotary_emb and of freqs_cis.
        ("deepseek-v4-flash", 2 * 1_048_576 * 64 * 4 / 2**30, 4 * 1_048_576 * 64 * 4 / 2**30),
        ("nemotron-3-nano-30b-a3b", 0.0, 0.0),
    ],
)
def test_tables_of_models_by_hand(name, under_vllm, under_sglang):
    for engine, gib in (("vllm", under_vllm), ("sglang", under_sglang)):
        placement = locate(
            Scenario(
                hardware=ENTRIES.hardware("h200-sxm"),
                model=ENTRIES.model(name),
                engine=ENTRIES.engine(engine),
                batches=(1,),
                traffic=Traffic(1000.0, 1000.0, 1500.0),
                sharding=Sharding(chips=8),
            )
        ).placement
        tables = rotary_bytes(placement.machine, placement.work)
        assert float(tables) / 2**30 == pytest.approx(gib)
