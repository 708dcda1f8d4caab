"""Commands that start the servers of a plan: flags that engines have, and what each must say."""

import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest
import yaml

import fastcalc
from fastcalc.catalogue.schema.models import REPOSITORY
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.placement.layout import Layout
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.errors import InputError
from fastcalc.features.plan.demand import typed_of
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.servers import script
from fastcalc.features.plan.servers.programs import BATCHES, PROGRAMS, bench_command
from fastcalc.features.plan.servers.script import lines_of
from fastcalc.features.plan.servers.server import Server, checkpoint_of
from fastcalc.kit.answer.numbers_as_text import number
from tests import made_up
from tests.features.plan.test_plan_sentences import SECOND, SERVICE, deployed
from tests.features.plan.test_plan_sentences import plan as made_plan
from tests.helpers import ROOT, every, run, run_once, thorough

vllm, sglang, trtllm, llamacpp = PROGRAMS.values()
FLAGS = {
    program: set((ROOT / "tests" / "server_flags" / f"{program}.txt").read_text().split("\n"))
    for program in ("vllm", "sglang", "trtllm")
}
STARTS = {
    "vllm": "vllm serve",
    "sglang": "python -m sglang.launch_server",
    "trtllm": "trtllm-serve serve",
    "llama-cpp": "llama-server",
}


def commands(script: str) -> list[list[str]]:
    """Return the words of each command that starts a server."""
    joined = re.sub(r" \\\n", " ", script)
    starts = re.compile(rf"(mpirun .* )?({'|'.join(STARTS.values())}) ")
    return [shlex.split(line) for line in joined.splitlines() if starts.match(line)]


def values(words: list[str]) -> dict[str, str]:
    return {
        flag: following
        for flag, following in zip(words, [*words[1:], ""], strict=True)
        if flag.startswith("--")
    }


CASES = [
    "llama-3.3-70b --on h100-sxm --rate 10/s --ttft 1s --tpot 40ms --weights fp8 --kv fp8",
    "deepseek-r1 --on h200-sxm --rate 10/s --ttft 1s --tpot 40ms --speculate 1.8/1",
    "kimi-k3 --on b200 --rate 3/s",
    "llama-3.1-8b --on l40s --rate 10/s --weights fp8 --kv fp8",
    "gpt-oss-120b --on h100-sxm --prompt 8k --output 500",
]


@pytest.mark.thorough
@pytest.mark.parametrize("program", list(FLAGS))
@pytest.mark.parametrize("case", CASES)
def test_engines_have_every_flag(program, case, capsys, monkeypatch):
    ran = run_once("plan", *case.split(), "--emit", program, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    started = commands(ran.out)
    assert started
    for words in started:
        flags = {word.rstrip(")") for word in words if word.startswith("--")}
        assert flags <= FLAGS[program], flags - FLAGS[program]
    for quoted in re.findall(r"<<'END'\n(.*?)END", ran.out, re.DOTALL):
        assert yaml.safe_load(quoted)
    assert all(line.startswith(("#", " ")) or line for line in ran.out.splitlines() if line)


LLAMA_FLAGS = set((ROOT / "tests" / "server_flags" / "llama-cpp.txt").read_text().split("\n"))


@every("ranks,mode", [("", "layer"), ("--tp 2", "tensor"), ("--pp 4", "layer")])
def test_llama_server_is_told_its_split_mode(ranks, mode, capsys, monkeypatch):
    """Slots have an equal part of the context each, so that it is slots times a request."""
    asked = f"llama-3.1-70b --on rtx-3090 --weights q4_k_m --rate 0.02/s {ranks}".split()
    ran = run_once("plan", *asked, "--emit", "llama-cpp", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    ((program, *words),) = commands(ran.out)
    flags = values(words)
    assert program == "llama-server"
    assert set(flags) <= LLAMA_FLAGS
    assert flags["--split-mode"] == mode
    assert flags["--model"] == "./llama-3.1-70b-q4_k_m.gguf"
    assert int(flags["--ctx-size"]) == 2000 * int(flags["--parallel"])


@every(
    "model,program,served",
    [
        ("Qwen/Qwen3-32B-AWQ", "vllm", "vllm serve Qwen/Qwen3-32B-AWQ "),
        ("unsloth/Qwen3-8B-GGUF:Q4_K_M", "llama-cpp", "--hf-repo unsloth/Qwen3-8B-GGUF:Q4_K_M "),
        ("models/Qwen3-8B-Q8_0.gguf", "llama-cpp", "--model ./Qwen3-8B-Q8_0.gguf "),
    ],
)
def test_a_server_loads_the_repository_that_the_user_names(
    model, program, served, capsys, monkeypatch
):
    ran = run_once(
        "plan", model, "--on", "rtx-3090", "--emit", program, capsys=capsys, monkeypatch=monkeypatch
    )
    assert served in ran.out.replace("\\\n ", "")
    assert ("a GGUF file with" in ran.out) == model.endswith(".gguf")
    assert "a folder or repository" not in ran.out


def test_llama_server_splits_matrices_with_a_16_bit_cache_alone(capsys, monkeypatch):
    """README of llama.cpp's tools/server: -sm tensor takes no quantized cache."""
    asked = ["plan", "llama-3.1-70b", "--on", "rtx-3090", "--rate", "0.05/s", "--weights", "q4_k_m"]
    flags = ["--kv", "q8_0", "--tp", "2", "--engine", "llama-cpp", "--emit", "llama-cpp"]
    ran = run_once(*asked, *flags, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert "needs a 16-bit cache, not q8_0; give --kv fp16, or --pp" in " ".join(ran.err.split())


def test_llama_server_of_one_card_has_no_split_mode():
    alone = server(layout=Layout(), cache="q8_0", sequences=4, checkpoint="./m-q8_0")
    assert " ".join(llamacpp.start(alone)) == (
        "llama-server --model ./m-q8_0.gguf --n-gpu-layers all --cache-type-k q8_0 "
        "--cache-type-v q8_0 --flash-attn on --parallel 4 --ctx-size 12000"
    )


def server(**changes):
    values = {
        "checkpoint": "a/b",
        "quantized_to": None,
        "cache": "fp8",
        "layout": Layout(tp=4, dp=2, ep=8),
        "sequences": 32,
        "tokens": 3000,
        "chunk": 4096,
        "memory_share": 0.9,
        "cache_share": 0.85,
    }
    return Server(**values | changes)


def test_ranks_are_counted_as_each_engine_counts_them():
    """vLLM's tensor ranks are of one attention replica, the others' of all that share a layer."""
    flags = values(vllm.start(server()))
    ranks = ("--tensor-parallel-size", "--data-parallel-size")
    assert [flags[flag] for flag in ranks] == ["4", "2"]
    assert "--enable-expert-parallel" in flags
    flags = values(sglang.start(server()))
    assert [flags[flag] for flag in ("--tp-size", "--attn-dp-size", "--ep-size")] == ["8", "2", "8"]
    flags = values(trtllm.start(server()))
    assert [flags[flag] for flag in ("--tp_size", "--ep_size")] == ["8", "8"]
    assert trtllm.options(server())["enable_attention_dp"] is True


ONE_CHIP = {
    vllm: "vllm serve a/b --tensor-parallel-size 1 --kv-cache-dtype fp8 --max-model-len 3000 "
    "--gpu-memory-utilization 0.9",
    sglang: "python -m sglang.launch_server --model-path a/b --tp-size 1 "
    "--kv-cache-dtype fp8_e4m3 --context-length 3002",
    trtllm: "trtllm-serve serve a/b --tp_size 1 --max_seq_len 3000 --enable_chunked_prefill "
    "--kv_cache_free_gpu_memory_fraction 0.85 --config trtllm-all.yaml",
}
SIXTEEN_CHIPS = {
    vllm: "vllm serve a/b --tensor-parallel-size 4 --pipeline-parallel-size 2 "
    "--data-parallel-size 2 --enable-expert-parallel --quantization fp8 --kv-cache-dtype fp8 "
    "--max-model-len 3000 --max-num-seqs 32 --max-num-batched-tokens 4096 "
    "--gpu-memory-utilization 0.9 --speculative-config "
    '{"method": "mtp", "num_speculative_tokens": 2} --nnodes 2 --node-rank "$NODE_RANK" '
    '--master-addr "$HEAD" $([ $NODE_RANK = 0 ] || echo --headless)',
    sglang: "python -m sglang.launch_server --model-path a/b --tp-size 8 --pp-size 2 "
    "--attn-dp-size 2 --ep-size 2 --quantization fp8 --kv-cache-dtype fp8_e4m3 "
    "--context-length 3003 --max-running-requests 64 --chunked-prefill-size 4096 "
    "--speculative-algorithm NEXTN --speculative-eagle-topk 1 --speculative-num-steps 2 "
    '--speculative-num-draft-tokens 3 --nnodes 2 --node-rank "$NODE_RANK" '
    '--dist-init-addr "$HEAD":5000',
    trtllm: "mpirun -np 16 -hostfile hosts trtllm-llmapi-launch trtllm-serve serve a/b "
    "--tp_size 8 --pp_size 2 --ep_size 2 --max_seq_len 3000 --max_batch_size 32 "
    "--max_num_tokens 4096 --enable_chunked_prefill --kv_cache_free_gpu_memory_fraction 0.85 "
    "--config trtllm-all.yaml",
}


@pytest.mark.parametrize("program", [vllm, sglang, trtllm])
def test_a_command_states_what_a_server_differs_in_and_no_more(program):
    """One chip alone, and two stages of two attention replicas of four chips."""
    plain = server(layout=Layout(), sequences=None, chunk=None)
    assert " ".join(program.start(plain)) == ONE_CHIP[program]
    layout = Layout(tp=4, pp=2, dp=2, ep=2)
    full = server(layout=layout, quantized_to="fp8", drafts=2)
    if program is trtllm:  # it serves weights as their checkpoint has them
        full = server(layout=layout, drafts=2)
        assert trtllm.options(plain) == {"kv_cache_config": {"dtype": "fp8"}}
    assert " ".join(program.start(full)) == SIXTEEN_CHIPS[program]


def test_a_limit_of_sequences_is_of_a_replica_or_of_all():
    """SGLang divides its limit among attention replicas; the others set it to to each."""
    assert values(vllm.start(server()))["--max-num-seqs"] == "32"
    assert values(trtllm.start(server()))["--max_batch_size"] == "32"
    assert values(sglang.start(server()))["--max-running-requests"] == "64"


def test_memory_and_lengths_are_those_of_the_prediction():
    flags = values(vllm.start(server()))
    assert flags["--gpu-memory-utilization"] == "0.9"
    assert flags["--max-model-len"] == "3000"
    assert flags["--max-num-batched-tokens"] == "4096"
    assert values(trtllm.start(server()))["--kv_cache_free_gpu_memory_fraction"] == "0.85"
    assert values(trtllm.start(server()))["--max_seq_len"] == "3000"


@pytest.mark.thorough
@every("engine,is_eager", [("vllm", False), ("eager", True), ("vllm-0.19+eager", True)])
def test_a_server_without_graphs_is_started_without_them(engine, is_eager, capsys, monkeypatch):
    line = f"llama-3.1-8b --on h100-sxm --rate 2/s --engine {engine} --emit vllm"
    script = run_once("plan", *line.split(), capsys=capsys, monkeypatch=monkeypatch).out
    (words,) = commands(script)
    assert ("--enforce-eager" in words) is is_eager


def test_drafts_come_from_a_model_of_their_own():
    """vLLM 0.33, config/speculative.py; SGLang 0.5.23, speculative/spec_info.py; llama-server."""
    drafted = server(drafts=3, draft="org/small")
    config = json.loads(values(vllm.start(drafted))["--speculative-config"])
    assert config == {"method": "draft_model", "model": "org/small", "num_speculative_tokens": 3}
    flags = values(sglang.start(drafted))
    assert flags["--speculative-algorithm"] == "STANDALONE"
    assert flags["--speculative-draft-model-path"] == "org/small"
    assert trtllm.options(drafted)["speculative_config"] == {
        "decoding_type": "Draft_Target", "max_draft_len": 3, "speculative_model": "org/small",
    }  # fmt: skip
    flags = values(PROGRAMS["llama-cpp"].start(replace(drafted, cache="fp16")))
    assert (flags["--model-draft"], flags["--draft-max"]) == ("./small.gguf", "3")
    head = server(drafts=3, draft="org/EAGLE3-x", draft_is_head=True)
    assert json.loads(values(vllm.start(head))["--speculative-config"])["method"] == "eagle3"
    assert values(sglang.start(head))["--speculative-algorithm"] == "EAGLE3"
    assert trtllm.options(head)["speculative_config"]["decoding_type"] == "Eagle3"


@pytest.mark.parametrize(
    ("draft", "checkpoint"),
    [
        ("llama-3.2-1b", "meta-llama/Llama-3.2-1B"),
        ("yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"),
    ],
)
def test_a_plan_with_a_draft_model_starts_it(draft, checkpoint, capsys, monkeypatch):
    asked = ["--on", "h100-sxm", "--rate", "1/s", "--ttft", "2s", "--tpot", "50ms", "--tp", "1"]
    asked += ["--speculate", "0.8x4", "--draft-model", draft, "--weights", "bf16", "--kv", "bf16"]
    ran = run("plan", "llama-3.1-8b", *asked, "--emit", "vllm", capsys=capsys, monkeypatch=monkeypatch)  # fmt: skip
    (config,) = re.findall(r"--speculative-config '(.*)'", ran.out)
    assert json.loads(config)["model"] == checkpoint
    assert json.loads(config)["num_speculative_tokens"] == 4


def test_drafts_come_from_the_models_own_layers():
    drafted = server(drafts=3)
    config = json.loads(values(vllm.start(drafted))["--speculative-config"])
    assert config == {"method": "mtp", "num_speculative_tokens": 3}
    flags = values(sglang.start(drafted))
    assert flags["--speculative-num-steps"] == "3"
    assert flags["--speculative-num-draft-tokens"] == "4"
    assert trtllm.options(drafted)["speculative_config"]["num_nextn_predict_layers"] == 3


def started(words: list[str], rank: int) -> list[str]:
    """Return the words as a shell gives them on one of several hosts."""
    lines = "\n".join(["HEAD=h", f"NODE_RANK={rank}", "printf '%s ' \\", *lines_of(words)])
    ran = subprocess.run(["sh", "-c", lines], check=True, capture_output=True, text=True)
    return ran.stdout.split()


def test_several_hosts_are_named_by_their_rank():
    """Sixteen chips are two hosts of eight: the first answers, and the others work for it."""
    for layout in (Layout(tp=8, pp=2), Layout(tp=1, dp=16, ep=16)):
        words = vllm.start(server(layout=layout))
        first, second = started(words, 0), started(words, 1)
        assert first[-6:] == ["--nnodes", "2", "--node-rank", "0", "--master-addr", "h"]
        assert second[-5:] == ["--node-rank", "1", "--master-addr", "h", "--headless"]
    assert values(sglang.start(server(layout=Layout(tp=8, pp=2))))["--nnodes"] == "2"
    words = trtllm.start(server(layout=Layout(tp=8, pp=2)))
    assert words[:4] == ["mpirun", "-np", "16", "-hostfile"]
    assert "mpirun" not in trtllm.start(server())


def test_a_context_has_room_for_what_sglang_gives_no_request():
    """Prompt and output of 3,000 fill all but 2 tokens, and with drafts one more than these."""
    for drafts, context in ((0, 3002), (1, 3002), (3, 3004)):
        flags = values(sglang.start(server(drafts=drafts)))
        assert flags["--context-length"] == f"{context}"


def test_what_takes_in_prompts_apart_is_reached_from_other_hosts():
    for role in ("prefill", "decode"):
        flags = [values(program.start(server(role=role))) for program in (sglang, trtllm)]
        assert [each["--host"] for each in flags] == ["0.0.0.0", "0.0.0.0"]
        options = trtllm.options(server(role=role))
        assert options["cache_transceiver_config"]["max_tokens_in_buffer"] == 3000
        assert ("disable_overlap_scheduler" in options) is (role == "prefill")


@pytest.mark.thorough
def test_the_script_has_the_numbers_of_the_plan():
    arguments = {"on": "h200-sxm", "rate": 10, "ttft": "1s", "tpot": "40ms"}
    table = fastcalc.plan("llama-3.3-70b", emit="vllm", **arguments)
    plain = fastcalc.plan("llama-3.3-70b", engine="vllm", **arguments)
    script, record = table.details["servers"], plain[0]
    tpot, low, high = (number(record[f"service_tpot_ms{end}"]) for end in ("", "_low", "_high"))
    assert f"TPOT of 99% within {tpot} ms ({low} to {high})," in script
    assert "drafted" not in script
    assert f"# {record['replicas']:.0f} servers" in script
    decoding = commands(script)[-1]
    assert values(decoding)["--max-num-seqs"] == f"{record['batch']}"
    assert values(decoding)["--tensor-parallel-size"] == f"{record['tp']}"
    assert decoding[2] == "meta-llama/Llama-3.3-70B-Instruct"


@pytest.mark.thorough
def test_pools_apart_have_a_command_each():
    table = fastcalc.plan(
        "llama-3.3-70b", on="h200-sxm", rate=10, ttft="1s", tpot="40ms", emit="sglang"
    )
    modes = [
        values(words).get("--disaggregation-mode") for words in commands(table.details["servers"])
    ]
    is_apart = table[0]["prefill"] == "apart"
    assert modes == (["prefill", "decode"] if is_apart else [None])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"on": "wse-3"}, "starts no server on wse-3"),
        ({"on": "mi300x", "emit": "trtllm"}, "starts no server on mi300x"),
        ({"on": "tpu-v6e", "emit": "sglang"}, "starts no server on tpu-v6e"),
        ({"on": "h100-sxm", "engine": "sglang"}, "omit engine"),
        ({"on": "h100-sxm", "emit": "vlm"}, "did you mean 'vllm'"),
        ({"on": "h100-sxm", "host": "dram=256GiB@300GB/s,link=64GB/s"}, "omit host"),
        ({"on": "a100-sxm-80gb", "kv": "int8", "emit": "sglang"}, "SGLang keeps no cache in int8"),
    ],
)
def test_what_cannot_be_started_is_a_sentence(arguments, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        fastcalc.plan("llama-3.1-8b", rate=1, **{"emit": "vllm"} | arguments)


def test_a_repository_is_of_a_name_that_the_model_has():
    entries = Catalogue()
    for name in entries.names("models"):
        model = entries.model(name)
        assert set(model.repositories) <= {model.id, *model.aliases}, name
        assert all(REPOSITORY.fullmatch(text) for text in model.repositories.values())


def test_weights_that_no_repository_has_are_a_folder_to_name():
    table = fastcalc.plan("deepseek-r1", on="b200", rate=5, weights="nvfp4", emit="vllm")
    script = table.details["servers"]
    assert "vllm serve ./deepseek-r1-nvfp4" in script
    assert "# ./deepseek-r1-nvfp4: a folder or repository with weights in nvfp4" in script


@pytest.mark.parametrize("program", ["vllm", thorough("sglang"), thorough("trtllm")])
@pytest.mark.parametrize(
    ("file", "folder"),
    [("m$(touch pwned).yaml", "./m$(touch pwned)"), ("of mine/m-1.5.yml", "./m-1.5")],
)
def test_weights_of_a_model_file_are_a_folder_of_its_stem(
    program, file, folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    model = tmp_path / file
    model.parent.mkdir(exist_ok=True)
    model.write_text((ROOT / "models" / "llama-3.1-8b.yaml").read_text())
    for name in {file, f"./{file}"}:
        asked = {"on": "l40s", "rate": "1/s", "emit": program}
        for weights, ending in ((None, ""), ("fp8", "-fp8")):
            (words,) = commands(str(fastcalc.plan(name, weights=weights, **asked)))
            assert f"{folder}{ending}" in words


@pytest.mark.thorough
def test_a_benchmark_that_is_advised_names_the_folder_of_its_stem(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, folder = "m$(touch pwned).yaml", "./m$(touch pwned)"
    (tmp_path / file).write_text((ROOT / "models" / "llama-3.1-8b.yaml").read_text())
    measured = fastcalc.plan(file, on="l40s,h100-sxm", rate="20/s", weights="fp8")
    bench = shlex.split(measured.details["regret"]["measurements"][0]["command"])
    assert bench[bench.index("--model") + 1] == f"{folder}-fp8"


@pytest.mark.thorough
def test_numbers_of_slow_chips_are_not_called_expected():
    asked = {"on": "l40s", "rate": "1/s", "tpot": "60ms", "emit": "vllm"}
    sure, expected = (
        str(fastcalc.plan("llama-3.1-8b", **asked, **more)) for more in ({"confidence": 90}, {})
    )
    assert "# For chips as slow as requested, " in sure
    assert "Expected" not in sure
    assert "# Expected, with up to " in expected
    assert "queueing" not in expected


def test_a_first_token_that_waits_for_others_is_cautioned_about():
    """A card that takes a single sequence."""
    asked = {"own": "rtx-4090=1", "weights": "q4_k_m", "kv": "bf16", "emit": "vllm"}
    asked["max_num_seqs"] = 1
    text = str(fastcalc.plan("qwen3-14b", **asked))
    assert "# Expected, with up to 1 sequence in flight on each" in text
    assert "# most of it queueing" in text


SMALL = ("plan", "llama-3.1-8b", "--on", "l40s", "--rate", "1/s", "--emit", "vllm")


@pytest.mark.parametrize("name", ["start.sh", "start"])
def test_a_script_is_written_to_be_run(tmp_path, capsys, monkeypatch, name):
    file = tmp_path / name
    printed = run_once(*SMALL, capsys=capsys, monkeypatch=monkeypatch).out
    assert run_once(*SMALL, "-o", file, capsys=capsys, monkeypatch=monkeypatch).code == 0
    assert file.read_text() == f"#!/usr/bin/env bash\n{printed}"
    mask = os.umask(0)
    os.umask(mask)
    assert file.stat().st_mode & 0o777 == 0o777 & ~mask
    file.chmod(0o640)  # a file that is there keeps its readers, who may run it now
    run_once(*SMALL, "-o", file, capsys=capsys, monkeypatch=monkeypatch)
    assert file.stat().st_mode & 0o777 == 0o750
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_other_endings_and_other_answers_are_no_scripts(tmp_path, capsys, monkeypatch):
    def ran(*words):
        return run_once(*words, capsys=capsys, monkeypatch=monkeypatch)

    listed = tmp_path / "start.json"
    assert ran(*SMALL, "-o", listed).code == 0
    assert not listed.stat().st_mode & 0o111
    script = tmp_path / "start.sh"
    assert ran(*SMALL[:-2], "-o", script).code == 2
    assert ran(*SMALL, "--tpot", "0.0001ms", "-o", script).code == 1
    assert not script.exists()


# Sentences of a script, on servers that a test makes up.


def made_server(**changes):
    given = {
        "checkpoint": "org/model", "quantized_to": None, "cache": "bf16", "layout": Layout(tp=2),
        "sequences": 8, "tokens": 2000, "chunk": 4096, "memory_share": 0.9, "cache_share": 1.0,
    }  # fmt: skip
    return Server(**(given | changes))


def script_lines(monkeypatch, program, role="all", server=None, **changes):
    monkeypatch.setattr(script, "server_of", lambda *_: server or made_server(role=role))
    known = type(PROGRAMS[program])
    monkeypatch.setattr(known, "cautions", lambda *_: ["caution"])
    monkeypatch.setattr(known, "start", lambda *_: ["start"])
    monkeypatch.setattr(type(trtllm), "options", lambda *_: {"a": 1})
    return [*script._servers(known(), made_plan(**changes), role, "m")]


# The first ports of `vllm serve`, `sglang serve`, `trtllm-serve` and `llama-server`; the chips that
# each runs on; of llama-server a draft model is a file of its own.
@every(
    "program,engine,port,kinds,drafts_itself",
    [
        ("vllm", "vllm", 8000, ("gpu", "soc", "tpu", "npu"), True),
        ("sglang", "sglang", 30000, ("gpu", "soc", "tpu", "npu"), True),
        ("trtllm", "tensorrt-llm", 8000, ("gpu",), True),
        ("llama-cpp", "llama-cpp", 8080, ("gpu", "soc", "apple"), False),
    ],
)
def test_what_each_program_starts_from(program, engine, port, kinds, drafts_itself):
    known = PROGRAMS[program]
    assert (known.engine, known.port, known.drafts_itself) == (engine, port, drafts_itself)
    assert {
        kind
        for kind in ("gpu", "soc", "apple", "tpu", "npu", "wafer", "lpu")
        if known.runs_on(made_up.clocked(kind=kind, vendor="NVIDIA"))
    } == {*kinds}


def test_a_benchmark_sends_the_requests_of_the_plan():
    """Prompts and outputs of 1,000 tokens, ten at a time, and four times as many in all."""
    made = made_plan()
    command = bench_command(made, "made-up-model")
    said = command.split(" --random-input-len ")[1]
    assert said == (
        "1000 --random-output-len 1000 --ignore-eos --max-concurrency 10 --num-prompts "
        f"{10 * BATCHES} --save-result"
    )
    assert command.startswith("vllm bench serve --model ")
    assert " --dataset-name random " in command


APART = {"prefill_layout": Layout(tp=2), "prefill_replicas": 2.0, "replicas": 1.0}
OWN_HOSTS = "# prefill and decode servers run on hosts of their own: start each there"
HEADER = ["# expected", "# fastcalc compare"]


@every(
    "program,changes,index,last,lines",
    [
        ("vllm", {}, None, "start", [*HEADER, "", "all"]),
        # A loop over servers in the background is waited for; of several pools all are.
        ("vllm", {}, None, "done", [*HEADER, "", "all", "done", "wait"]),
        ("vllm", {}, 2, "done", [*HEADER, "", "all 2", "done"]),
        ("vllm", APART, None, "start", [*HEADER, OWN_HOSTS, "", "prefill", "", "decode", "", "# a router"]),
        ("trtllm", APART, None, "start", [*HEADER, OWN_HOSTS, "", "prefill", "", "decode", "", "# a router", "start -c disaggregated.yaml"]),
        ("trtllm", APART, 2, "start", [*HEADER, OWN_HOSTS, "", "prefill 2", "", "decode 2", "", "# a router", "start -c disaggregated-2.yaml &"]),
    ],
)  # fmt: skip
def test_the_sections_of_a_script(program, changes, index, last, lines):
    """What is expected, commands that print it, servers by what they do, and a router."""

    def servers(_, __, role, ___, pool):
        yield f"{role} {pool.index}" if pool else role
        yield from [last] * (last == "done")

    def router(_, __, ending=""):
        yield "# a router"
        yield from [f"start -c disaggregated{ending}.yaml"] * (program == "trtllm")

    plan = made_plan(**changes)
    with pytest.MonkeyPatch.context() as patch:
        known = type(PROGRAMS[program])
        patch.setattr(known, "engine", plan.scenario.engine.program)
        patch.setattr(known, "router", router)
        patch.setattr(script, "_servers", servers)
        patch.setattr(script, "_expected", lambda *_: ["expected"])
        pool = index and script.PoolOnHost(index, 3)
        text = script.script(program, plan, SERVICE, "m", ["fastcalc compare"], None, pool)
    assert text.splitlines() == lines
    assert text.endswith("\n")


FOR = "# for requests of up to 2,000 tokens: raise the limit for longer ones"
SHARED = "# servers that share a host need chips and a --port of their own"


@every(
    "program,role,changes,server,lines",
    [
        ("vllm", "all", {"replicas": 1.0}, None,
         ["# 1 server for prefill and decode, on tp2 each:", FOR, "# caution", "start"]),
        ("vllm", "all", {"replicas": 2.0}, None,
         ["# 2 servers for prefill and decode, on tp2 each:", SHARED, FOR, "# caution", "start"]),
        ("vllm", "prefill", {"replicas": 1.0, "prefill_replicas": 3.0}, None,
         ["# 3 servers for prefill, on tp2 each:", SHARED, FOR, "# caution", "start"]),
        ("vllm", "decode", {"replicas": 1.0, "prefill_replicas": 3.0}, None,
         ["# 1 server for decode, on tp2 each:", FOR, "# caution", "start"]),
        ("vllm", "prefill", {"prefill_replicas": 1.0, "prefill_scenario": deployed(SECOND)}, None,
         ["# 1 server for prefill, on tp2 of second-chip each:", FOR, "# caution", "start"]),
        ("vllm", "decode", {"replicas": 1.0, "prefill_scenario": deployed(SECOND)}, None,
         ["# 1 server for decode, on tp2 of made-up-chip each:", FOR, "# caution", "start"]),
        ("vllm", "all", {"replicas": 1.0}, made_server(layout=Layout(tp=8, pp=2)),
         ["# 1 server for prefill and decode, on tp8pp2 each:", FOR, "# caution",
          "# on each of its 2 hosts: NODE_RANK from 0, HEAD the address of host 0", "start"]),
    ],
)  # fmt: skip
def test_what_a_script_says_of_its_servers(program, role, changes, server, lines):
    with pytest.MonkeyPatch.context() as patch:
        assert script_lines(patch, program, role, server, **changes) == lines


@every(
    "layout,count,said",
    [
        (Layout(tp=8), 3.0, "# start each on a host of its own"),
        (Layout(tp=8, pp=2), 2.0, "# start each on hosts of its own"),
        # Without a variable that lists its chips, the user divides a host.
        (Layout(tp=4), 3.0, SHARED),
    ],
)
def test_servers_that_are_started_one_by_one(layout, count, said):
    with pytest.MonkeyPatch.context() as patch:
        lines = script_lines(patch, "vllm", server=made_server(layout=layout), replicas=count)
    assert lines[1] == said
    assert lines[-1] == "start"


def test_a_loop_over_servers_lists_their_chips_where_a_variable_does_and_on_one_host():
    """Two chips each, from the next free one on; of a server over two hosts a loop lists none."""
    one, two = made_server(), made_server(layout=Layout(tp=8, pp=2))
    listed = "export CUDA_VISIBLE_DEVICES=$(seq -s , $chip $((chip + 1)))"
    for server, devices, has_list in (
        (one, "CUDA_VISIBLE_DEVICES", True), (one, None, False), (two, "CUDA_VISIBLE_DEVICES", False)
    ):  # fmt: skip
        lines = [*script._on_one_host(vllm, server, "SERVERS:-2", devices)]
        assert lines[0] == "for i in $(seq ${SERVERS:-2}); do"
        assert ("export" in lines[1]) is has_list
        assert not has_list or lines[1] == listed
        assert lines[-2:] == [f"chip=$((chip + {server.layout.chips})) port=$((port + 1))", "done"]
    (alone,) = [
        line for line in script._on_one_host(vllm, made_server(layout=Layout()), "S:-1", "X")
        if line.startswith("export")
    ]  # fmt: skip
    assert alone == "export X=$chip"


@every("program,engine", [("vllm", "vllm"), ("trtllm", "tensorrt-llm"), (None, None)])
def test_commands_name_the_engine_whose_servers_are_started(program, engine):
    typed = typed_of(FindPlans(model="llama-3.1-8b", on="h100-sxm", emit=program))
    assert [name for name in typed.names.items() if name[0] in ("vllm", "tensorrt-llm")] == [
        (engine, engine)
    ] * bool(engine)


@every(
    "program,chip,variable,port",
    [("vllm", "h100-sxm", "CUDA", 8000), ("sglang", "mi300x", "HIP", 30000)],
)
def test_a_script_starts_all_servers_of_a_host(tmp_path, program, chip, variable, port):
    """Three servers of two chips each: on chips 0 and 1, 2 and 3, 4 and 5, at ports in a row.

    A program that stands in for the engine prints the chips and the port that it is given.
    """
    asked = {"on": chip, "rate": "5/s", "tpot": "60ms", "weights": "fp8", "tp": 2, "by": "chip"}
    table = fastcalc.plan("llama-3.1-70b", emit=program, **asked)
    assert table[0]["replicas"] > 1
    engine = tmp_path / ("vllm" if program == "vllm" else "python")
    engine.write_text(f'#!/bin/sh\necho "${variable}_VISIBLE_DEVICES $@"\n')
    engine.chmod(0o755)
    search = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        [shutil.which("bash"), "-c", table.details["servers"]],
        env={"PATH": search, "SERVERS": "3"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    started = sorted((line.split()[0], line.split()[-1]) for line in ran.stdout.splitlines())
    assert started == [("0,1", str(port)), ("2,3", str(port + 1)), ("4,5", str(port + 2))]


def test_a_script_of_tensorrt_has_a_file_of_options():
    with pytest.MonkeyPatch.context() as patch:
        two_hosts = made_server(layout=Layout(tp=8, pp=2))
        lines = script_lines(patch, "trtllm", server=two_hosts, replicas=1.0)
    assert lines[3].startswith("# once, for its 2 hosts, which a file '")
    assert lines[4].startswith("cat > ")
    assert lines[5:] == ["a: 1", "END", "start"]


def test_routers_between_prefill_and_decode():
    plan = made_plan(prefill_replicas=2.0, replicas=1.0)
    (router,) = sglang.router(plan)
    assert router.startswith("# a router sends prompts to the first, the rest to the others: sgl")
    assert [*trtllm.router(plan)] == [
        "# a router, with the addresses of the servers in place of HOST",
        "cat > disaggregated.yaml <<'END'",
        'context_servers: {"num_instances": 2, "urls": ["HOST-context-1:8000", '
        '"HOST-context-2:8000"]}',
        'generation_servers: {"num_instances": 1, "urls": ["HOST-generation-1:8000"]}',
        "END",
        "trtllm-serve disaggregated -c disaggregated.yaml",
    ]


@every(
    "program,changes,drafted,words",
    [
        ("vllm", {}, 0, []),
        ("vllm", {"checkpoint": "./m"}, 0,
         ["./m: a folder or repository with weights in bf16"]),
        ("vllm", {}, 3, ["expected with 3 draft tokens: add the draft model that you have"]),
        ("vllm", {"drafts": 3}, 3, []),
        ("vllm", {"role": "prefill"}, 0,
         ["VLLM_NIXL_SIDE_CHANNEL_HOST has to be the address of its host"]),
        ("sglang", {"role": "prefill"}, 0, []),
        ("trtllm", {"layout": Layout(tp=4, dp=2)}, 0,
         ["its attention replicas have a rank each: 8, expected 2"]),
        ("trtllm", {"layout": Layout(tp=4)}, 0, []),
        ("trtllm", {"layout": Layout(dp=4)}, 0, []),
        ("sglang", {"layout": Layout(tp=4, dp=2)}, 0,
         ["its attention replicas share a chunk: 2,048 prompt tokens of each in a step, expected "
          "4,096"]),
        ("sglang", {"layout": Layout(tp=4, dp=2), "role": "decode"}, 0, []),
        ("sglang", {"layout": Layout(tp=4, dp=2), "chunk": None}, 0, []),
    ],
)  # fmt: skip
def test_cautions_of_a_server(program, changes, drafted, words, monkeypatch):
    plan = made_plan()
    traffic = replace(plan.scenario.traffic, speculation=Speculation(1.0 + drafted / 3, drafted))
    plan = replace(plan, scenario=replace(plan.scenario, traffic=traffic))
    server = made_server(**changes)
    monkeypatch.setattr(script, "server_of", lambda *_: server)
    lines = script._servers(PROGRAMS[program], plan, server.role, "m")
    said = [line.removeprefix("# ") for line in lines if line.startswith("# ")]
    of_all = (FOR.removeprefix("# "), SHARED.removeprefix("# "), "start each on a host of its own")
    assert [line for line in said if line not in of_all][1:] == words


@every(
    "program,chip,runs",
    [
        ("vllm", {}, True), ("vllm", {"kind": "wafer"}, False), ("vllm", {"kind": "npu"}, True),
        ("vllm", {"kind": "host"}, False), ("vllm", {"kind": "tpu"}, True),
        ("vllm", {"kind": "soc"}, True), ("trtllm", {}, False),
        ("trtllm", {"vendor": "NVIDIA"}, True), ("trtllm", {"vendor": "NVIDIA", "kind": "soc"}, False),
        ("sglang", {}, True), ("sglang", {"vendor": "Google"}, False),
    ],
)  # fmt: skip
def test_which_chips_a_program_runs_on(program, chip, runs):
    given = {"kind": "gpu", "vendor": "Nobody"} | chip
    assert PROGRAMS[program].runs_on(SimpleNamespace(**given)) is runs


@every(
    "ttft,deviations,share,lines",
    [
        (0.5, 0.0, None, ["Expected, with up to 10 sequences in flight on each: TPOT 10.0 ms,",
                          "first token 500 ms;"]),
        (0.3, 1.0, 0.95, ["For chips as slow as requested, with up to 10 sequences in flight on "
                          "each: TPOT of 95% within 10.0 ms,", "first token of 95% within 300 ms;"]),
    ],
)  # fmt: skip
def test_what_a_script_expects(ttft, deviations, share, lines):
    """A first token without waiting takes 40.14 ms: ten times as long is 401 ms."""
    service = replace(SERVICE, deviations=deviations, share=share)
    found = [*script._expected(made_plan(values={"ttft": ttft}), service, "m", None)]
    assert found[0] == "2 chips, $5,256 per month of made-up-chip for m"
    assert found[1:3] == lines
    assert ("queueing" in found[3]) is (ttft > 0.4)
    assert found[-1].startswith("Made up as of ")


MIX = """version: "2"
aggregate_rate: 10
clients:
  - {id: chat, rate_fraction: 0.7, input_distribution: 1000, output_distribution: 300,
     ttft: 1s, tpot: 50ms}
  - {id: documents, rate_fraction: 0.3, input_distribution: 30000, output_distribution: 100,
     ttft: 10s, tpot: 200ms}
"""


@pytest.fixture(scope="module")
def servers_of_a_mix():
    """The pools of a mix and the script that starts them, planned once for each program."""
    planned = {}

    def plan(program, chip, mix):
        if (program, chip) not in planned:
            asked = {"traffic": str(mix), "on": chip, "tp": 1, "emit": program}
            table = fastcalc.plan("llama-3.1-8b", **asked)
            planned[program, chip] = len(table), table.details["servers"]
        return planned[program, chip]

    return plan


@pytest.mark.thorough
@every(
    "program,chip,counts,started",
    [
        # A host of eight chips: one server of the first pool, and seven of the second.
        ("vllm", "h100-sxm", (), [(f"{at}", f"{8000 + at}") for at in range(8)]),
        ("vllm", "h100-sxm", (1, 2), [("0", "8000"), ("1", "8001"), ("2", "8002")]),
        ("sglang", "mi300x", (0, 2), [("0", "30000"), ("1", "30001")]),
    ],
)
def test_servers_of_several_pools_run_at_once(
    tmp_path, servers_of_a_mix, program, chip, counts, started
):
    """Each stub ends when all have started, so a server in the foreground would never end."""
    mix, log = tmp_path / "mix.yaml", tmp_path / "log"
    mix.write_text(MIX)
    log.write_text("")  # each case starts with none
    pools, written = servers_of_a_mix(program, chip, mix)
    assert pools == 2
    assert written.count("wait\n") == 1
    devices = "CUDA" if chip == "h100-sxm" else "HIP"
    engine = tmp_path / ("vllm" if program == "vllm" else "python")
    engine.write_text(
        f'#!/bin/sh\necho "${devices}_VISIBLE_DEVICES $@" >> {log}\n'
        f"until [ $(wc -l < {log}) -ge {len(started)} ]; do sleep 0.05; done\n"
    )
    engine.chmod(0o755)
    given = {f"SERVERS_{index}": str(count) for index, count in enumerate(counts, 1)}
    search = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [shutil.which("bash"), "-c", written], env={"PATH": search} | given, timeout=60, check=True
    )
    lines = log.read_text().splitlines()
    assert sorted((line.split()[0], line.split()[-1]) for line in lines) == started


@pytest.mark.thorough
def test_pools_have_options_files_of_their_own(tmp_path):
    """Servers in the background read the options of their pool after those of the next exist."""
    mix = tmp_path / "mix.yaml"
    mix.write_text(MIX)
    asked = {"on": "h100-sxm", "tp": 1, "emit": "trtllm"}
    text = fastcalc.plan("llama-3.1-8b", traffic=str(mix), **asked).details["servers"]
    assert re.findall("cat > (.*) <<", text) == ["trtllm-all-1.yaml", "trtllm-all-2.yaml"]
    assert re.findall("--config (\\S+)", text) == ["trtllm-all-1.yaml", "trtllm-all-2.yaml"]


@every(
    "own,weights,name,checkpoint",
    [
        ("bf16", None, "m", ("org/m", None)),
        ("bf16", "bf16", "M-IT", ("org/m-it", None)),
        ("bf16", None, "org/other", ("org/other", None)),
        ("bf16", None, "other", ("./other", None)),
        # Others have published it in these formats, of one of which there is only a page.
        ("bf16", "fp8", "m", ("org/m-fp8", None)),
        ("bf16", "int4", "m", ("./m-int4", None)),
        # The server quantizes 16-bit weights.
        ("bf16", "fp8", "m-it", ("org/m-it", "fp8")),
        ("bf16", "int8", "m", ("org/m", "int8")),
        ("bf16", "nvfp4", "m", ("./m-nvfp4", None)),
        ("bf16", "int8", "other", ("./other-int8", None)),
        ("fp8", "int8", "m", ("./m-int8", None)),
    ],
)
def test_the_checkpoint_that_a_server_loads(own, weights, name, checkpoint):
    published = {"fp8": SimpleNamespace(text="org/m-fp8"), "int4": SimpleNamespace(text="a page")}
    model = SimpleNamespace(
        id="m", repositories={"m": "org/m", "m-it": "org/m-it"}, also_published=published,
        format_name=own, weight_format=own,
    )  # fmt: skip
    assert checkpoint_of({"fp8", "int8"}, model, weights, name) == checkpoint
