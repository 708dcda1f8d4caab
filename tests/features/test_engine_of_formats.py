"""A format that llama.cpp does not read runs under the same engine in every command."""

import json
import shlex

import pytest

import fastcalc
from tests.helpers import every, run

CARD = "rtx-4090"


@every("weights", ["awq", ["awq", "q4_k_m"]])
def test_awq_weights_are_not_computed_under_llama_cpp(weights):
    """README of llama.cpp: models are GGUF files."""
    rows = [
        *fastcalc.frontier("qwen3-8b", on=CARD, weights=weights, max_chips=1),
        *fastcalc.sweep("qwen3-8b", on=CARD, weights=weights, batch=8),
        *fastcalc.fit("qwen3-8b", on=CARD, weights=weights),
    ]
    engines = {row["engine"] for row in rows if row["weight_format"].startswith("awq")}
    assert engines == {"vllm"}


@every("kv,engine", [("fp8_e4m3", "vllm"), ("q8_0", "llama-cpp"), ("auto", "llama-cpp")])
def test_a_cache_that_llama_cpp_does_not_have_runs_under_vllm(kv, engine):
    """``--cache-type-k`` of llama-server has f32, f16, bf16 and types of GGUF blocks."""
    (fitted,) = fastcalc.fit("qwen3-8b", on=CARD, kv=kv)
    assert (fitted["engine"], fitted["refused_formats"]) == (engine, None)


@pytest.mark.thorough
@every(
    "words",
    [
        "fastmode llama-3.1-8b --on rtx-4090 --weights awq --batch 4 --speedup 2",
        "fastmode glm-4.7 --on h200-sxm --batch 32 --speedup 2",
    ],
)
def test_the_command_of_a_row_computes_the_row(words, capsys, monkeypatch):
    """Also with another model, which is not in AWQ, and with draft tokens, which take memory."""

    def records(*words):
        ran = run(*words, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
        return json.loads(ran.out)["records"]

    rows = [row for row in records(*words.split()) if row["compare"]]
    kinds = {(row["trick"], row["model"], row["speculation_drafted_tokens"]): row for row in rows}
    assert any(drafted for *_, drafted in kinds)
    for row in kinds.values():
        (again,) = records(*shlex.split(row["compare"])[1:])
        for key in ("engine", "weight_format", "fit_verdict"):
            assert again[key] == row[key], row["compare"]
        for key in ("memory_used_fraction", "tokens_per_s_per_user"):
            assert again[key] == pytest.approx(row[key], rel=1e-9), row["compare"]


@every(
    "model,stored,engine",
    [("minimax-m2", "fp8", "vllm"), ("qwen3-8b", "bf16", "llama-cpp"), ("gpt-oss-20b", None, None)],
)
def test_published_weights_run_as_if_they_were_requested(model, stored, engine):
    """GGUF has no type of eight-bit floats (gguf-py/gguf/constants.py, GGMLQuantizationType)."""
    (own,) = fastcalc.fit(model, on=CARD)
    assert own["engine"] == (engine or "llama-cpp")
    if stored:
        (asked,) = fastcalc.fit(model, on=CARD, weights=stored)
        assert (own["engine"], own["fits"]) == (asked["engine"], asked["fits"])


def test_a_model_runs_under_the_same_engine_whatever_it_is_compared_with():
    """Weights in eight bits run under vLLM, whichever other model is beside them."""
    both = fastcalc.compare("minimax-m2", "qwen3-8b", on=CARD, batch=1)
    assert [row["engine"] for row in both] == ["vllm", "llama-cpp"]
    (alone,) = fastcalc.compare("qwen3-8b", on=CARD, batch=1)
    assert dict(both[1]) == dict(alone)


# 671B parameters in blocks of 32 8-bit weights with a 16-bit scale: 8.5 bits each, 713 GB.
@every("model,stored,gigabytes", [("deepseek-r1", "q8_0", 713.0), ("qwen3-8b", "bf16", 16.4), ("qwen3-8b-fp8", "q8_0", 8.7)])  # fmt: skip
def test_a_mac_loads_eight_bit_floats_as_converted(model, stored, gigabytes):
    (row,) = fastcalc.fit(model, on="m3-ultra-80")
    assert (row["engine"], row["weight_format"]) == ("llama-cpp", stored)
    assert row["weights_gb"] == pytest.approx(gigabytes, rel=0.005)


@every("chip", ["m3-ultra-80", CARD])
@every("stored", ["fp8", "awq"])
def test_llama_cpp_refuses_files_that_it_does_not_read(chip, stored):
    (row,) = fastcalc.fit("qwen3-8b", on=chip, engine="llama-cpp", weights=stored)
    assert row["fit_verdict"] == "no"
    assert "give another engine, weights='q8_0', weights='q4_k_m'" in row["refused_formats"]


def test_a_sweep_runs_each_model_under_the_engine_that_compare_chooses():
    """Two checkpoints of one model are two models, although their rows have one id."""
    models = ["minimax-m2", "qwen3-8b", "qwen3-8b-fp8", "phi-4"]
    asked = {"on": f"{CARD},h100-sxm,m4-max", "batch": 1}
    keys = ("model", "hardware", "weight_format", "engine", "max_batch")
    swept, compared = (
        [tuple(row[key] for key in keys) for row in command(models, **asked)]
        for command in (fastcalc.sweep, fastcalc.compare)
    )
    assert len(set(swept)) == 4 * 3
    assert sorted(swept) == sorted(compared)
    assert {engine for _, chip, _, engine, _ in swept if chip == CARD} == {"vllm", "llama-cpp"}


def test_each_model_of_a_mix_runs_under_the_engine_of_its_weights(tmp_path):
    lengths = {"input_distribution": 1000, "output_distribution": 100}
    clients = [{"id": name, "rate_fraction": 0.5, "model": name, "ttft": "9s", **lengths} for name in ("qwen3-8b", "qwen3-8b-fp8")]  # fmt: skip
    path = tmp_path / "mix.yaml"
    path.write_text(json.dumps({"version": "2", "aggregate_rate": 1, "clients": clients}))
    rows = fastcalc.plan("qwen3-8b", on=CARD, traffic=path)
    assert {row["weight_format"]: row["engine"] for row in rows} == {"bf16": "llama-cpp", "fp8": "vllm"}  # fmt: skip


@every("chip", ["p40", "p100-sxm", "v100-sxm-32gb"])
def test_chips_without_kernels_for_eight_bits_do_not_run_them(chip):
    """Marlin requires compute capability 7.5 (vLLM documentation, supported hardware)."""
    (row,) = fastcalc.compare("qwen3-8b-fp8", on=chip, batch=1)
    assert not row["fits"]
