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


@pytest.mark.parametrize(
    ("flags", "tokens"),
    [
        (("-np", "4"), 2048),  # a quarter of 8,192 each
        (("-np", "4", "-kvu"), 8192),
        ((), 8192),
    ],
)
def test_slots_have_equal_parts_where_their_number_is_given(flags, tokens, fit):
    """llama.cpp: n_ctx_seq = n_ctx / n_seq_max unless kv_unified (src/llama-context.cpp)."""
    (record,) = json.loads(fit("--solve", "context", *flags, "--format", "json"))["records"]
    assert record["solution"] == tokens


def test_a_request_beyond_the_part_of_a_slot_is_refused(capsys, monkeypatch):
    ran = run_once(*FIT, "-np", "8", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    said = words(ran.err)
    assert "gives each of 8 slots of llama.cpp 1,024 tokens, and a request has 2,000" in said


@pytest.mark.parametrize("engine", ["sglang", "tensorrt-llm"])
def test_servers_that_start_with_less_context_do_not_need_room_for_it(engine, capsys, monkeypatch):
    """DeepSeek-R1 started with 163,840 tokens of context where 59,862 fit (sglang#4048)."""
    asked = ("fit", "llama-3.1-8b", "--on", "l4", "--engine", engine, "--chips", "1")
    flags = ("--max-model-len", "131072", "--format", "json")
    ran = run_once(*asked, *flags, capsys=capsys, monkeypatch=monkeypatch)
    (record,) = json.loads(ran.out)["records"]
    assert record["max_batch"] >= 1


def test_each_sequence_of_vllm_may_be_as_long(fit):
    (record,) = json.loads(fit("--engine", "vllm", "--format", "json"))["records"]
    assert record["max_batch"] > 4


@pytest.mark.parametrize(("users", "tokens"), [(1, 8192), (4, 2048), (5, 1638)])
def test_context_of_each_user(users, tokens, fit):
    said = words(fit("--solve", "context", "--batch", str(users), "--output", "100"))
    assert f": {tokens:,} tokens on one rtx-3090" in said
    assert "--max-model-len limits llama-cpp to 8,192 tokens for all sequences of a replica" in said


def test_users_are_as_many_as_the_context_holds(fit):
    said = words(fit("--solve", "users"))
    assert "4 concurrent users on one rtx-3090" in said
    assert "llama-cpp divides 8,192 tokens of context among the sequences of a replica" in said


def test_compare_names_the_limit_of_the_context(capsys, monkeypatch):
    asked = ("compare", *FIT[1:], "--batch", "8", "--chips", "1", "--notes")
    said = words(run_once(*asked, capsys=capsys, monkeypatch=monkeypatch).out)
    assert (
        "llama-cpp runs at most 4 sequences per replica; raise --max-model-len for larger batches"
        in said
    )


def test_a_batch_above_the_slots_names_the_slots(capsys, monkeypatch):
    """Two cards of 24 GB hold 42.5 GB of weights and eight sequences, but four slots do not."""
    server = "llama-server -hf bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M -c 16384 -ngl 99 -np 4"
    typed = ("compare", "--server", server, "--on", "rtx-3090", "--batch", "1,8")
    said = words(run_once(*typed, capsys=capsys, monkeypatch=monkeypatch).out)
    assert "rtx-3090: llama-cpp runs at most 4 sequences per replica and queues the rest" in said
    assert "does not fit" not in said


def test_a_batch_above_the_limit_of_one_replica_starts(capsys, monkeypatch):
    """Two replicas hold 32 sequences, one across both chips runs 16 and queues the rest."""
    asked = ("fit", "qwen3-14b", "--on", "h100-sxm", "--batch", "32", "--max-num-seqs", "16")
    ran = run_once(*asked, "--tp", "2", capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, "does not start" in ran.out) == (1, False)
    assert "holds 16" in ran.out
