"""The page and records of ``fastcalc measure``, and what is refused."""

import json

import pytest

import fastcalc as fc
from fastcalc.errors import InputError
from tests.helpers import ROOT, run_once

ASKED = (
    "measure",
    "qwen3-8b",
    "--on",
    "h100-sxm",
    "--batch",
    "8,64",
    "--prompt",
    "500",
    "--output",
    "200",
)


def ran(*words, capsys, monkeypatch):
    return run_once(*words, capsys=capsys, monkeypatch=monkeypatch)


def test_the_page_has_runs_ranges_commands_and_this_command_again(capsys, monkeypatch):
    out = ran(*ASKED, capsys=capsys, monkeypatch=monkeypatch).out
    assert out.startswith("Two runs (concurrency 8 and 64; ")
    assert out.count("vllm bench serve") == 2
    assert (
        "next: fastcalc measure qwen3-8b --on h100-sxm --prompt 500 --output 200 --batch 8,64 --like my-results.json"
        in out
    )


def test_ranges_narrow_about_the_same_speed_and_stay_below_the_bound():
    table = fc.measure("qwen3-8b", on="h100-sxm", batch="8,64", prompt=500, output=200)
    compared = fc.compare("qwen3-8b", on="h100-sxm", batch="8,64", prompt=500, output=200)
    for row, record in zip(table.details["batches"], compared, strict=True):
        assert row["tokens_per_s_per_user_before"] == record["tokens_per_s_per_user"]
        assert row["tokens_per_s_per_user_before_low"] == record["tokens_per_s_per_user_low"]
        assert row["tokens_per_s_per_user_before_low"] < row["expected_low_after"]
        assert row["expected_high_after"] < row["tokens_per_s_per_user_before_high"]
        assert row["expected_high_after"] <= record["tokens_per_s_per_user_bound"]


def test_with_results_both_predictions_stand_beside_each_other():
    """Those of `compare` without and with `--like`."""
    asked = {"on": "h100-sxm", "batch": "8", "tp": 1}
    file = ROOT / "docs" / "examples" / "my-results.json"
    (row,) = fc.measure("qwen3-8b", like=file, **asked).details["batches"]
    for key, like in (("before", None), ("now", file)):
        (record,) = fc.compare("qwen3-8b", like=like, **asked)
        assert row[f"tokens_per_s_per_user_{key}"] == record["tokens_per_s_per_user"]
        assert row[f"tokens_per_s_per_user_{key}_low"] == record["tokens_per_s_per_user_low"]


def test_runs_take_as_long_as_their_requests():
    """Four waves at the concurrency: each as long as prompts and output take by `compare`."""
    (record, *_) = fc.measure("qwen3-8b", on="h100-sxm", batch="64", prompt=500, output=200, runs=1)
    (point,) = fc.compare(
        "qwen3-8b", on="h100-sxm", batch=record["concurrency"], prompt=500, output=200
    )
    tokens = record["requests"] * record["output_tokens"]
    assert record["run_seconds"] == pytest.approx(
        tokens / point["served_tokens_per_s_total"], rel=1e-3
    )


def test_batches_of_several_layouts_are_taken_on_that_of_the_largest(capsys, monkeypatch):
    """One H100 holds Llama 3.1 70B in FP8 at batch 1, and not at 256."""
    words = ("measure", "llama-3.1-70b", "--on", "h100-sxm", "--weights", "fp8", "--batch", "1,256")
    result = ran(*words, capsys=capsys, monkeypatch=monkeypatch)
    assert "set --tp or --chips to match your server" in result.err + result.out


def test_nothing_that_fits_is_nothing_to_measure(capsys, monkeypatch):
    result = ran(
        "measure",
        "deepseek-r1",
        "--on",
        "l40s",
        "--tp",
        "1",
        capsys=capsys,
        monkeypatch=monkeypatch,
    )
    assert result.code == 1
    assert "nothing to measure" in result.err


def test_two_checkpoints_of_a_model_are_not_one_server():
    with pytest.raises(InputError, match="name one model and one chip"):
        fc.measure("qwen3-8b,qwen3-8b-fp8", on="h100-sxm")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"on": ""}, "name the chip of your server"),
        ({"on": "h100-sxm,l40s"}, "name one model and one chip"),
        ({"runs": 4}, "runs 4 is not 1 to 3|runs=4"),
        ({"minutes": 0}, "is not above 0"),
        ({"tool": "wrk"}, "tool"),
        ({"tool": "llama-bench"}, "measures llama.cpp, but this prediction is for vllm"),
        ({"engine": "ideal"}, "no range to narrow"),
        ({"url": "localhost:8000"}, "not a server address|not installed"),
    ],
)
def test_what_cannot_be_measured_is_a_sentence(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        fc.measure("qwen3-8b", **{"on": "h100-sxm"} | changes)


def test_without_a_model_it_is_asked_for(capsys, monkeypatch):
    result = ran("measure", "--on", "h100-sxm", capsys=capsys, monkeypatch=monkeypatch)
    assert (result.code, "name the model" in result.err) == (2, True)


def test_records_are_runs_and_json_has_all_commands(capsys, monkeypatch):
    answer = json.loads(ran(*ASKED, "--format", "json", capsys=capsys, monkeypatch=monkeypatch).out)
    assert [record["measured_tpot_ms"] for record in answer["records"]] == [None, None]
    assert set(answer["commands"]) == {"vllm", "sglang", "guidellm", "aiperf"}
    widths = [record["range_width"] for record in answer["records"]]
    assert 0.0 < widths[1] < widths[0] < 1.0


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (("--tool", "sglang"), "--tp 1 --like my-results.jsonl"),
        (("--tool", "sglang", "--tp", "2"), "--tp 2 --like my-results.jsonl"),
        (("--tool", "aiperf"), "--tp 1 --like my-results"),
    ],
)
def test_the_layout_that_results_do_not_state_is_in_the_next_command(
    words, ending, capsys, monkeypatch
):
    out = ran(*ASKED, *words, capsys=capsys, monkeypatch=monkeypatch).out
    assert out.rstrip().endswith(ending)


def test_llama_bench_is_of_one_sequence(capsys, monkeypatch):
    """One RTX 4090, where 128 sequences would need three."""
    words = ("measure", "llama-3.1-8b", "--on", "rtx-4090", "--weights", "q4_k_m", "--prompt", "2k")
    out = ran(*words, capsys=capsys, monkeypatch=monkeypatch).out
    assert "on one rtx-4090" in out
    assert "llama-bench -m llama-3.1-8b.gguf" in out


def test_llama_bench_is_offered_for_llama_cpp_only(capsys, monkeypatch):
    out = ran(*ASKED, capsys=capsys, monkeypatch=monkeypatch).out
    assert "--tool sglang|guidellm|aiperf prints the commands of another benchmark tool." in out
    words = (*ASKED, "--engine", "llama-cpp", "--tool", "vllm")
    out = ran(*words, capsys=capsys, monkeypatch=monkeypatch).out
    assert "--tool sglang|guidellm|aiperf|llama-bench prints" in out
