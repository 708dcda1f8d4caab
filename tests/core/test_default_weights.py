"""Formats of the files that an engine has of a model."""

import pytest

import fastcalc


def test_gpt_oss_of_llama_cpp_is_the_published_file():
    """59.02 GiB (ggml-org/llama.cpp#15253), and 59.02 tok/s on GB10 (benches/dgx-spark.md there)."""
    (record,) = fastcalc.compare("gpt-oss-120b", on="gb10", engine="llama-cpp", batch=1).records
    assert record["weight_format"] == "mxfp4-experts-q8_0"
    assert record["weights_gb"] == pytest.approx(59.02 * 2**30 / 1e9, rel=0.005)
    assert record["tokens_per_s_per_user_bound"] > 59.0


def test_other_engines_take_the_published_formats():
    (record,) = fastcalc.compare("gpt-oss-120b", on="gb10", engine="vllm", batch=1).records
    assert record["weight_format"] == "mxfp4"
