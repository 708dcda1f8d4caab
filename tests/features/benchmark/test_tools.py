"""Commands of load generators: flags that these have, and what each must say."""

import json
import shlex
from itertools import pairwise

import pytest

import fastcalc as fc
from fastcalc.features.benchmark.tools import TOOLS
from tests.helpers import ROOT, run_once

FILES = {"vllm": "vllm_bench", "sglang": "sglang_bench", "llama-bench": "llama_bench"}
FLAGS = {
    tool: (ROOT / "tests" / "server_flags" / f"{FILES.get(tool, tool)}.txt")
    .read_text()
    .splitlines()[1:]
    for tool in TOOLS
}
ASKED = {"on": "h100-sxm", "batch": "4,32", "prompt": 2000, "output": 300, "tp": 2}


@pytest.fixture(scope="module")
def commands():
    served = fc.measure("llama-3.1-8b", **ASKED).details["commands"]
    lone = fc.measure(
        "llama-3.1-8b", on="rtx-4090", prompt=2000, tool="llama-bench", weights="q4_k_m"
    )
    return {
        tool: [shlex.split(line) for line in lines]
        for tool, lines in (served | lone.details["commands"]).items()
    }


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_has_every_flag(tool, commands):
    assert commands[tool]
    for words in commands[tool]:
        flags = {word for word in words[3:] if word.startswith("-")}
        assert flags <= set(FLAGS[tool]), flags - set(FLAGS[tool])


def test_kinds_of_guidellm_have_every_key(commands):
    keys = {line.split()[0]: set(line.split()[1:]) for line in FLAGS["guidellm"] if " " in line}
    for words in commands["guidellm"]:
        for flag, value in pairwise(words):
            if flag.startswith("--"):
                assert {pair.partition("=")[0] for pair in value.split(",")} <= keys[flag], value


def value(words, flag):
    return words[words.index(flag) + 1]


def test_all_tools_make_the_same_runs(commands):
    """Four times the concurrency in requests, and at least eight."""
    loads = [
        (int(value(words, "--max-concurrency")), int(value(words, "--num-prompts")))
        for words in commands["vllm"]
    ]
    assert all(requests == max(4 * concurrency, 8) for concurrency, requests in loads)
    assert loads == [
        (int(value(w, "--max-concurrency")), int(value(w, "--num-prompts")))
        for w in commands["sglang"]
    ]
    assert loads == [
        (int(value(w, "--concurrency")), int(value(w, "--request-count")))
        for w in commands["aiperf"]
    ]
    streams = [value(words, "--profile").rpartition("=")[2] for words in commands["guidellm"]]
    assert streams == [str(concurrency) for concurrency, _ in loads]


def test_lengths_are_exact_and_answers_do_not_end_early(commands):
    for words in commands["sglang"]:  # its random lengths are between a share of these and all
        assert value(words, "--random-range-ratio") == "1"
    assert all("--ignore-eos" in words for words in commands["vllm"])
    assert all(value(words, "--extra-inputs") == "ignore_eos:true" for words in commands["aiperf"])
    lengths = [
        (value(w, "--random-input-len"), value(w, "--random-output-len")) for w in commands["vllm"]
    ]
    assert {prompt for prompt, _ in lengths} == {"2000"}


def test_a_result_of_vllm_says_what_it_was_measured_on(commands, tmp_path):
    """Its metadata become keys of the result, which is read without further flags."""
    words = commands["vllm"][0]
    stated = dict(pair.split("=") for pair in words[words.index("--metadata") + 1 :])
    assert stated["hardware"] == "h100-sxm"
    assert stated["tp"] == "2"
    result = stated | {
        "model_id": "anything",
        "duration": 10.0,
        "completed": 16,
        "num_prompts": 16,
        "total_input_tokens": 32000,
        "total_output_tokens": 4800,
        "output_throughput": 480.0,
        "request_rate": "inf",
        "max_concurrency": 4,
        "median_tpot_ms": 8.0,
        "mean_tpot_ms": 8.0,
        "median_ttft_ms": 90.0,
    }
    file = tmp_path / "measured.json"
    file.write_text(json.dumps(result))
    table = fc.measure("llama-3.1-8b", on="h100-sxm", batch="4", prompt=2000, output=300, like=file)
    assert (
        table.details["batches"][0]["tokens_per_s_per_user_before"]
        != (table.details["batches"][0]["tokens_per_s_per_user_now"])
    )


def test_llama_bench_measures_a_prompt_and_tokens_apart(commands):
    """Its pg tests add both into one speed."""
    for words in commands["llama-bench"]:
        assert (int(value(words, "-p")) > 0) != (int(value(words, "-n")) > 0)
        assert words[-2:] == [">>", "my-results.jsonl"]


def test_a_name_with_a_blank_stays_one_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "my model; rm x.yaml"
    file.write_text((ROOT / "models" / "llama-3.1-8b.yaml").read_text())
    lines = fc.measure(str(file), on="h100-sxm", batch="4").details["commands"]["vllm"]
    assert value(shlex.split(lines[0]), "--model") == str(file)


def test_the_default_is_the_tool_of_the_engine(capsys, monkeypatch):
    def printed(*words):
        return run_once(
            "measure", "llama-3.1-8b", *words, capsys=capsys, monkeypatch=monkeypatch
        ).out

    assert "vllm bench serve" in printed("--on", "h100-sxm")
    assert "sglang.bench_serving" in printed("--on", "h100-sxm", "--engine", "sglang")
    assert "llama-bench -m" in printed("--on", "rtx-4090", "--weights", "q4_k_m")
