"""llama.cpp divides one context among its slots: ``-c`` is of all of them (its server's README)."""

import json

import pytest

from tests.helpers import run_once, words

FIT = ("fit", "qwen3-30b-a3b", "--on", "rtx-3090", "--weights", "q4_k_m", "-c", "8192")


@pytest.fixture
def fit(capsys, monkeypatch):
    def ran(*flags):
        return run_once(*FIT, *flags, capsys=capsys, monkeypatch=monkeypatch).out

    return ran


@pytest.mark.parametrize(("flags", "sequences"), [((), 4), (("-np", "2"), 2)])
def test_sequences_of_2000_tokens_share_the_context(flags, sequences, fit):
    (record,) = json.loads(fit(*flags, "--format", "json"))["records"]
    assert record["max_batch"] == sequences


def test_each_sequence_of_vllm_may_be_as_long(fit):
    (record,) = json.loads(fit("--engine", "vllm", "--format", "json"))["records"]
    assert record["max_batch"] > 4


@pytest.mark.parametrize(("users", "tokens"), [(1, 8192), (4, 2048), (5, 1638)])
def test_context_of_each_user(users, tokens, fit):
    said = words(fit("--solve", "context", "--batch", str(users), "--output", "100"))
    assert f": {tokens:,} tokens on one rtx-3090" in said
    assert "llama-cpp takes 8,192 tokens for all sequences of a replica" in said


def test_users_are_as_many_as_the_context_holds(fit):
    said = words(fit("--solve", "users"))
    assert "4 concurrent users on one rtx-3090" in said
    assert "llama-cpp divides 8,192 tokens of context among the sequences of a replica" in said


def test_replicas_have_a_context_each(fit):
    """Two users on each of two replicas: half of 8,192 tokens, by the engine and not by memory."""
    flags = ("--solve", "context", "--batch", "4", "--output", "100", "--chips", "2", "--dp", "2")
    (record,) = json.loads(fit(*flags, "--format", "json"))["records"]
    assert (record["solution"], record["solution_limited_by"]) == (4096, "engine")


def test_compare_names_the_limit_of_the_context(capsys, monkeypatch):
    asked = ("compare", *FIT[1:], "--batch", "8", "--chips", "1", "--notes")
    said = words(run_once(*asked, capsys=capsys, monkeypatch=monkeypatch).out)
    assert "a batch beyond 4 sequences per replica exceeds llama-cpp's limit" in said
