"""A format for which an engine has no kernel fits nowhere, in any command.

vLLM issues 49011 and 47684: a server with an NVFP4 cache stops on Hopper.
"""

import json
import re

import pytest

import fastcalc
from fastcalc.errors import InputError
from tests.helpers import every, run

REASON = "no kernel for nvfp4 caches on h100-sxm (hopper) and does not start"
ASKED = ("qwen3-8b", "--on", "h100-sxm", "--engine", "vllm", "--kv", "nvfp4")


@every(
    "words",
    [
        ("fit",),
        ("fit", "--solve", "users"),
        ("fit", "--solve", "context"),
        ("compare", "--batch", "1"),
        ("measure",),
        ("sensitivity",),
        ("frontier",),
        ("plan", "--rate", "1/s"),
        ("decide",),
        ("fastmode",),
    ],
)
def test_every_command_says_why_nothing_fits(words, capsys, monkeypatch):
    command, *options = words
    ran = run(command, *ASKED, *options, capsys=capsys, monkeypatch=monkeypatch)
    said = " ".join((ran.out + ran.err).split())
    assert ran.code != 0 or command == "compare"
    assert REASON in said
    for promise in ("should print", " concurrent users on ", "Longest context", "fits on", "$0."):
        assert promise not in said, promise
    assert "--kv nvfp4" not in said.partition("next: ")[2]


def test_a_cell_of_a_format_without_a_kernel_is_not_one_of_memory(capsys, monkeypatch):
    """673 GB do not fit on one H100 either, but no number of them starts."""
    words = ("compare", "deepseek-r1", *ASKED[1:])
    said = run(*words, capsys=capsys, monkeypatch=monkeypatch).out
    assert "does not start\n" in said
    assert "too large" not in said


def test_rows_of_compare_and_sweep_hold_no_request():
    asked = {"on": "h100-sxm", "engine": "vllm", "kv": "nvfp4", "batch": 1}
    for row in (*fastcalc.compare("qwen3-8b", **asked), *fastcalc.sweep("qwen3-8b", **asked)):
        assert row["fits"] is False or row["fits"] == 0
        assert row["max_batch"] == 0
        assert row["fit_verdict"] == "no"


def test_records_of_fit_state_the_reason_and_no_capacity(capsys, monkeypatch):
    words = ("fit", *ASKED, "--format", "json")
    ran = run(*words, capsys=capsys, monkeypatch=monkeypatch)
    (row,) = json.loads(ran.out)["records"]
    assert REASON in row["refused_formats"]
    assert (row["max_batch"], row["kv_cache_tokens"], row["max_concurrency"]) == (0, 0, 0)
    assert row["min_chips"] is None
    assert fastcalc.fit("qwen3-8b", on="h100-sxm")[0]["refused_formats"] is None


def test_records_of_fit_state_pairs_of_changes():
    """Kimi K2 in 8 bits on eight H200: no single change starts it there."""
    ran = fastcalc.fit("kimi-k2", on="h200-sxm", tp=8, engine="vllm", max_model_len=100_000)
    (row,) = ran
    pairs = [remedy for remedy in row["start_remedies"] if ", " in remedy]
    assert pairs[0].startswith("max_num_seqs ")
    assert ", gpu_memory_utilization 0.9" in pairs[0]


@every(
    "words",
    [
        ("qwen3-8b", "--on", "m4-max", "--kv", "nvfp4"),
        (
            "qwen3-8b",
            "--on",
            "m4-max",
            "--kv",
            "nvfp4",
            "--set",
            "apple-m4-max:memory.unified.reported=1",
        ),
        ("--on", "rtx-4090", "--server", "llama-server -hf Qwen/Qwen3-8B -ctk fp8 -ctv fp8"),
    ],
)
def test_no_amount_of_memory_is_a_remedy(words, capsys, monkeypatch):
    ran = run("fit", *words, capsys=capsys, monkeypatch=monkeypatch)
    said = " ".join(ran.out.split())
    assert ran.code == 1
    assert "llama-cpp has no kernel for" in said
    for remedy in ("iogpu.wired_limit_mb", "--n-gpu-layers", "starts with", "it fits on"):
        assert remedy not in said, remedy


@every("unknown", ["context", "users"])
def test_a_share_that_the_system_may_take_is_said_of_a_solved_server(unknown, capsys, monkeypatch):
    """GB10 shares its memory with the system: vLLM may stop with its default share of 0.92."""
    words = ("fit", "--on", "gb10", "--server", "vllm serve Qwen/Qwen3-8B", "--solve", unknown)
    ran = run(*words, capsys=capsys, monkeypatch=monkeypatch)
    said = " ".join(ran.out.split())
    assert "only if the system leaves enough memory free" in said
    assert "vllm would stop with 'Free memory on device" in said
    assert "vllm starts with --gpu-memory-utilization 0.83" in said
    assert "should print" not in said


@pytest.mark.thorough
@every("words", [("plan", "--rate", "1/s"), ("frontier",)])
def test_a_share_that_the_system_takes_is_neither_planned_nor_on_a_frontier(
    words, capsys, monkeypatch
):
    command, *options = words
    asked = ("qwen3-8b", "--on", "gb10", "--engine", "vllm", "--price", "gb10=1", *options)
    stopped = run(
        command,
        *asked,
        "--gpu-memory-utilization",
        "0.92",
        capsys=capsys,
        monkeypatch=monkeypatch,
    )
    said = " ".join((stopped.out + stopped.err).split())
    assert stopped.code != 0
    assert "vllm may stop on gb10 with 'Free memory on device" in said
    assert "give --gpu-memory-utilization 0.83" in said
    assert run(command, *asked, capsys=capsys, monkeypatch=monkeypatch).code == 0


def test_chips_that_refuse_a_format_are_named_beside_those_that_run_it(capsys, monkeypatch):
    """vLLM's NVFP4 cache runs on a B200."""
    words = ("fit", "qwen3-8b", "--on", "h100-sxm,b200", "--engine", "vllm", "--kv", "nvfp4")
    ran = run(*words, "--solve", "users", capsys=capsys, monkeypatch=monkeypatch)
    said = " ".join(ran.out.split())
    assert ran.code == 0
    assert f"h100-sxm: vllm has {REASON}" in said
    assert re.search(r"per user: [\d,]+ concurrent users on one b200\.", said)
    names = "h100-sxm,b200"
    rows = fastcalc.compare("qwen3-8b", on=names, engine="vllm", kv="nvfp4", batch=1)
    assert [row["fits"] for row in rows] == [False, True]


def test_a_cache_of_a_trace_is_not_sized_in_a_refused_format(tmp_path, capsys, monkeypatch):
    trace, line = tmp_path / "t.jsonl", {"input_length": 1024, "output_length": 10}
    lines = [json.dumps(line | {"timestamp": at, "hash_ids": [1, 2]}) for at in range(0, 8000, 999)]
    trace.write_text("\n".join(lines))
    ran = run("caches", *ASKED, "--traffic", str(trace), capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 1
    assert REASON in " ".join((ran.out + ran.err).split())


def test_an_unknown_program_is_a_sentence(tmp_path):
    own = tmp_path / "mine.yaml"
    own.write_text("id: mine\nname: mine\nextends: vllm\nprogram: my-own\nfitted_on: none\n")
    with pytest.raises(InputError, match=r"'my-own' is not a program; known: .*'vllm'"):
        fastcalc.fit("qwen3-8b", on="h100-sxm", engine=str(own))
