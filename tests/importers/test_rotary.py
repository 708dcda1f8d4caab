"""Sines and cosines that vLLM 0.27 stores for each position, by its rotary_embedding modules."""

import json

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.importers.huggingface.model import import_model

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
        # MRotaryEmbedding: four times the positions.
        ({"rope_scaling": {"mrope_section": [16, 24, 24], "rope_type": "default"}}, 512),
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
    assert import_model(path).model.rotary_values == 131_072 * columns


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        # Weights that vLLM 0.10 logged for Gemma 3 4B exceed its checkpoint by 0.57 GiB.
        ("gemma-3-4b", 0.5625),
        ("gemma-4-31b", 262_144 * (256 + 512) * 2 / 2**30),  # one table for each width of heads
        ("qwen3.6-27b", 4 * 262_144 * 64 * 2 / 2**30),  # a quarter of a head, on three axes
        ("deepseek-r1", 163_840 * 64 * 2 / 2**30),
        ("deepseek-v4-flash", 2 * 1_048_576 * 64 * 4 / 2**30),  # two tables at 32 bits
        ("nemotron-3-nano-30b-a3b", 0.0),
    ],
)
def test_tables_of_models_by_hand(name, gib):
    assert 2.0 * Catalogue().model(name).rotary_values / 2**30 == pytest.approx(gib)
