"""Flags of engines as people paste them, and whole server commands."""

import itertools
import json
import shlex

import pytest

import fastcalc as fc
from fastcalc.cli.engine_flags import translated
from fastcalc.errors import InputError
from tests.helpers import every, run_once
from tests.helpers import words as said_words


@every(
    "typed,meant",
    [
        ("fit m --tensor-parallel-size 2", "fit m --tp 2 --engine vllm"),
        ("fit m -tp 4 --kv-cache-dtype auto", "fit m --tp 4"),
        ("fit m --kv-cache-dtype=fp8 --quantization awq", "fit m --kv fp8 --weights awq"),
        ("fit m --tp 8 --enable-expert-parallel", "fit m --tp 8 --ep 8 --engine vllm"),
        (
            "fit m --mem-fraction-static 0.85",
            "fit m --gpu-memory-utilization 0.85 --engine sglang",
        ),
        ("fit m -ngl 99 -c 8192", "fit m --max-model-len 8192 --engine llama-cpp"),
        ("fit m -ngl 99 -ncmoe 10", "fit m --n-cpu-moe 10 --engine llama-cpp"),
        ("fit m --cpu-moe", "fit m --n-cpu-moe 999 --engine llama-cpp"),
        ("fit m -ngl all", "fit m --engine llama-cpp"),
        ("fit m -ngl -1", "fit m --engine llama-cpp"),
        ("fit m -ngl 20", "fit m --n-gpu-layers 20 --engine llama-cpp"),
        ("fit m --gpu-layers=20", "fit m --n-gpu-layers 20 --engine llama-cpp"),
        ("fit m -c 8192 --engine vllm", "fit m --max-model-len 8192 --engine vllm"),
        ("fit m --on h100-sxm --tp 2", "fit m --on h100-sxm --tp 2"),
        # Experts over all ranks, wherever and however these are written.
        ("fit m -tp 4 -dp 2 --enable-expert-parallel", "fit m --tp 4 --dp 2 --ep 8 --engine vllm"),
        ("fit m --enable-expert-parallel --tp=4", "fit m --ep 4 --tp 4 --engine vllm"),
        ("fit m --tp x --enable-expert-parallel", "fit m --tp x --ep 1 --engine vllm"),
        ("fit m --tp 999999999 -ep", "fit m --tp 999999999 --ep 999999999 --engine vllm"),
        ("fit m --tp 1000000000 -ep", "fit m --tp 1000000000 --ep 1 --engine vllm"),
        ("fit m --engine=ideal -c 8192", "fit m --engine ideal --max-model-len 8192"),
        # Values that say nothing, and those of other flags.
        ("fit m --quantization None", "fit m"),
        ("fit m --set a=-c", "fit m --set a=-c"),
        # Counts of layers that are all.
        ("fit m -ngl 98", "fit m --n-gpu-layers 98 --engine llama-cpp"),
        ("fit m -ngl 100", "fit m --engine llama-cpp"),
        ("fit m -ngl auto", "fit m --engine llama-cpp"),
        # Methods by which a checkpoint says its own format.
        ("fit m --quantization modelopt", "fit m"),
        ("fit m --quantization compressed-tensors", "fit m"),
        # The micro-batch of llama.cpp, and the share of memory for caches of TensorRT-LLM.
        ("fit m -ub 2048", "fit m --max-num-batched-tokens 2048 --engine llama-cpp"),
        (
            "fit m --kv_cache_free_gpu_memory_fraction 0.5",
            "fit m --set parameters.cache_fraction=0.5 --engine tensorrt-llm",
        ),
        ("fit m --mmproj f.gguf", "fit m --set parameters.loads_encoders=1 --engine llama-cpp"),
        # A server without CUDA graphs, however it is written.
        ("fit m --enforce-eager", "fit m --engine eager"),
        ("fit m -O0 --engine vllm", "fit m --engine eager"),
        ("fit m -cc {cudagraph_mode:NONE}", "fit m --engine eager"),
        ("fit m -cc.cudagraph_mode=NONE", "fit m --engine eager"),
        ("fit m --compilation_config.cudagraph_mode NONE", "fit m --engine eager"),
        ("fit m -O 0", "fit m --engine eager"),
        ("fit m --optimization-level 3", "fit m --engine vllm"),
        ("fit m --enforce-eager=False", "fit m"),
        ("fit m -tp 2 -ep 2", "fit m --tp 2 --ep 2 --engine vllm"),
        ("fit m -cc {cudagraph_mode:FULL}", "fit m --engine vllm"),
        ("fit m -tp 2 -ep", "fit m --tp 2 --ep 2 --engine vllm"),
        (
            'fit m --limit-mm-per-prompt {"image":0,"video":0}',
            "fit m --language-model-only --engine vllm",
        ),
        ('fit m --limit-mm-per-prompt {"image":0,"video":1}', "fit m --engine vllm"),
        # Split modes of llama.cpp, and the cards that they are over.
        ("fit m -sm layer --chips 2", "fit m --chips 2 --engine llama-cpp"),
        ("fit m --split-mode tensor --chips 2", "fit m --tp 2 --engine llama-cpp"),
        ("fit m -sm tensor -ts 1,1", "fit m --tp 2 --engine llama-cpp"),
        ("fit m -sm tensor --on 2xrtx-3090", "fit m --on 2xrtx-3090 --tp 2 --engine llama-cpp"),
        ("fit m -sm tensor --on=2xrtx-3090", "fit m --on 2xrtx-3090 --tp 2 --engine llama-cpp"),
        ("fit m -sm tensor --chips=2", "fit m --tp 2 --engine llama-cpp"),
        ("fit m -sm=tensor -dev CUDA0,CUDA1", "fit m --tp 2 --engine llama-cpp"),
        ("fit m -ts 1,1,0", "fit m --pp 2 --engine llama-cpp"),
        ("fit m -sm none --chips 2", "fit m --tp 1 --engine llama-cpp"),
        ("fit m -sm none -ts 1,1", "fit m --tp 1 --engine llama-cpp"),
        ("fit m -sm graph -ts 1,1", "fit m --tp 2 --engine llama-cpp"),
        ("fit m -sm tensor -sm layer -ts 1;1/1", "fit m --pp 3 --engine llama-cpp"),
        ("fit m -ts 1,1,1 -ts 0.5,0.50", "fit m --pp 2 --engine llama-cpp"),
        ("fit m -dev CUDA0 -ts 1,1", "fit m --pp 2 --engine llama-cpp"),
        ("fit m -dev CUDA0", "fit m --pp 1 --engine llama-cpp"),
        # What the user gives for fastcalc counts more.
        ("fit m -ts 1,1 --chips 4", "fit m --chips 4 --engine llama-cpp"),
        ("fit m -ts 1,1 --tp 2", "fit m --tp 2 --engine llama-cpp"),
        ("fit m -sm tensor -ts 1,1 --tp 4", "fit m --tp 4 --engine llama-cpp"),
        ("fit m -sm tensor -ts 1,1 --chips 4", "fit m --tp 4 --engine llama-cpp"),
    ],
)
def test_flags_of_engines_are_taken(typed, meant):
    assert translated(typed.split()) == (meant.split(), [])


def test_rows_are_computed_as_tensors_and_said_to_be():
    taken, (note,) = translated("fit m -sm row --chips 4".split())
    assert taken == "fit m --tp 4 --engine llama-cpp".split()
    assert note.startswith("-sm row: computed as the faster -sm tensor")


# The first of two cards has 3/4 where an equal share is 1/2, and 13/25 is 1.04 of it.
@every(
    "shares,is_taken",
    [
        ("3,1", False),
        ("13,12", True),
        ("11,9", True),
        ("12,9", False),
        ("24,24,8", False),
        ("x,1", False),
        ("0,0", False),
    ],
)
def test_shares_of_cards_are_equal_or_refused(shares, is_taken):
    words = ["fit", "m", "-sm", "tensor", "-ts", shares]
    if is_taken:
        assert translated(words)[0] == "fit m --tp 2 --engine llama-cpp".split()
    else:
        with pytest.raises(InputError, match=r"-ts .* -ts 1,1"):
            translated(words)


@every(
    "flags,refusal",
    [
        ("-sm rows", "-sm rows: llama.cpp splits by none, layer (its default), row or tensor"),
        ("-sm tensor --on h100-sxm", "-sm tensor: give the number of cards, as with --chips 2 or"),
        ("-sm row", "-sm row: give the number of cards, as with --chips 2 or -ts 1,1"),
        ("-ts 3,1", "-ts 3,1: one card has 1.5 times an equal share; only equal shares are"),
        ("-ts 1,1e400", "-ts 1,1e400: give a share for each card, as -ts 1,1"),
        ("-ts nan,1", "-ts nan,1: give a share for each card, as -ts 1,1"),
    ],
)
def test_a_split_that_cannot_be_computed_is_refused(flags, refusal):
    with pytest.raises(InputError) as error:
        translated(["fit", "m", *flags.split()])
    assert str(error.value).startswith(refusal)


DRAFTED = "draft tokens per step, each accepted at 0.8 (assumed; --speculate 0.7x3 sets 0.7)"


@every(
    "flags",
    [
        ["--speculative-num-steps", "3"],
        ["--speculative-config.num_speculative_tokens=3"],
        ["--speculative-config", "{num_speculative_tokens:3}"],
        ["--spec-tokens", "3"],
        # SGLang verifies the draft tokens and one more; without a tree these are one per step.
        ["--speculative-algorithm", "EAGLE3", "--speculative-num-draft-tokens", "4"],
        ["--speculative-num-draft-tokens=4"],
        ["--speculative-num-steps", "3", "--speculative-num-draft-tokens", "8"],
        ["-sc.num_speculative_tokens", "3"],
        ["--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}'],
    ],
)
def test_draft_tokens_of_each_engine(flags):
    words, notes = translated(["fit", "m", *flags])
    assert words == "fit m --speculate 0.8x3".split()
    assert notes == [f"speculative decoding: 3 {DRAFTED}"]


@every(
    "flags",
    [
        ["--speculative-config", '{"model": "NAME", "num_speculative_tokens": 3}'],
        ["--speculative-config", "{model:NAME,num_speculative_tokens:3}"],
        ["--speculative-draft-model-path", "NAME"],
        ["-md", "NAME", "--draft-max", "3"],
        ["-md", "NAME", "--spec-draft-n-max", "3"],
    ],
)
def test_a_draft_model_is_counted_if_its_size_is_known(flags):
    for name in ("llama-3.1-8b", "yuhuili/EAGLE3-LLaMA3.3-Instruct-70B", "x/tiny-135M"):
        words, _ = translated(
            ["fit", "llama-3.3-70b", *(flag.replace("NAME", name) for flag in flags)]
        )
        assert words[-2:] == ["--draft-model", name]
        assert ("--speculate" in words) == (flags != ["--speculative-draft-model-path", "NAME"])
    for unknown in ("x.gguf", "x/medusa-head"):
        words = ["fit", "llama-3.3-70b", *(flag.replace("NAME", unknown) for flag in flags)]
        _, notes = translated(words)
        assert "its weights and its cache are not counted" in notes[-1]


def test_a_command_without_a_flag_for_draft_tokens_says_that_they_are_ignored():
    _, (note,) = translated(["calibrate", "runs.csv", "--spec-tokens", "3"])
    assert note.startswith("speculative decoding: the 3 draft tokens per step are ignored")
    assert "--speculate" in translated(["diagnose", "runs.csv", "--spec-tokens", "3"])[0]


def test_a_method_without_a_model_has_no_draft_model():
    flags = ["-sc", '{"method": "mtp", "model": "llama-3.1-8b", "num_speculative_tokens": 3}']
    assert "--draft-model" not in translated(["fit", "llama-3.3-70b", *flags])[0]
    flags = ["-sc", '{"method": "eagle3", "model": "org/head", "num_speculative_tokens": 3}']
    assert translated(["fit", "llama-3.3-70b", *flags])[0][-2:] == ["--draft-model", "eagle3"]
    name = "yuhuili/EAGLE3-LLaMA3.3-Instruct-70B"
    flags[1] = flags[1].replace("org/head", name)
    assert translated(["fit", "llama-3.3-70b", *flags])[0][-2:] == ["--draft-model", name]


def test_the_last_of_several_draft_models_counts():
    words, notes = translated(["fit", "llama-3.3-70b", *"-md x.gguf -md llama-3.1-8b".split()])
    assert words == ["fit", "llama-3.3-70b", "--draft-model", "llama-3.1-8b"]
    assert notes == []


@pytest.mark.thorough
@every("stated", ["0.7x5", "2.5", "2.5/5", "none,0.6x5"])
@every("is_first", [True, False])
def test_an_acceptance_rate_of_the_user_replaces_the_assumed_one(stated, is_first):
    server = ["--server", "vllm serve llama-3.3-70b --spec-tokens 5 -tp 1"]
    own = [f"--speculate={stated}", "--draft-model", "llama-3.1-8b"]
    words, notes = translated(["compare", *(own + server if is_first else server + own)])
    speculated = [value for word, value in itertools.pairwise(words) if word == "--speculate"]
    assert speculated == [stated]
    assert not any("speculative" in note for note in notes)


def test_a_draft_model_of_the_user_replaces_the_server_s():
    server = "llama-server -m llama-3.3-70b -md x.gguf --draft-max 8"
    words, notes = translated(["compare", "--server", server, "--draft-model=llama-3.1-8b"])
    assert words[words.index("--draft-model") + 1] == "llama-3.1-8b"
    assert words.count("--draft-model") == 1
    assert "draft model llama-3.1-8b, as given, replaces x.gguf" in notes


def test_a_draft_model_that_a_command_cannot_count_needs_room():
    """`frontier` has no flag for a draft model, so the note names none."""
    words, notes = translated(["frontier", "llama-3.3-70b", "-md", "llama-3.1-8b"])
    assert "--draft-model" not in words
    assert notes == [
        "draft model llama-3.1-8b: its weights and its cache are not counted; leave that much "
        "memory free"
    ]


def test_another_number_of_draft_tokens_than_the_server_s_is_refused():
    server = "llama-server -m llama-3.3-70b -md llama-3.1-8b --draft-max 8"
    with pytest.raises(InputError, match=r"^--speculate 0.5x4 is given, and 8 draft tokens per"):
        translated(["compare", "--server", server, "--speculate", "0.5x4"])


# vLLM 0.33, vllm/config/model.py (_get_and_verify_max_len): positions are multiplied by the factor
# of linear and dynamic scalings, not of llama3, longrope and YaRN; docs/features/context_extension.md
# serves Qwen3 with YaRN of factor 4 and 131,072 tokens.
YARN = '{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768}'
LINEAR = '{"type":"linear","factor":2,"original_max_position_embeddings":32768}'
LLAMA3 = '{"rope_type":"llama3","factor":8.0,"original_max_position_embeddings":8192}'


@every(
    "flag,value,longest",
    [
        ("--rope-scaling", YARN, 131072),
        ("--rope-scaling", YARN.replace('"', ""), 131072),  # a shell has taken the quotes
        ("--rope-scaling", LINEAR, 81920),
        ("--rope-scaling", LLAMA3, None),
        ("--hf-overrides", f'{{"rope_parameters":{YARN}}}', 131072),
        ("--hf-overrides", f'{{"rope_parameters":{YARN},"max_position_embeddings":65536}}', 65536),
        ("--hf-overrides", '{"max_position_embeddings":65536}', 65536),
        ("--hf-overrides", '{"text_config":{"max_position_embeddings":4096}}', 4096),
        ("--hf-overrides.max_position_embeddings", "4096", 4096),
        ("--json-model-override-args", '{"text_config":{"rope_scaling":{"factor":2}}}', 81920),
        ("--rope-scaling", "yarn", None),
        ("--hf-overrides", '{"architectures":["X"]}', None),
        ("--hf-overrides", '{"rope_parameters":{"rope_type":["yarn"]}}', None),
        ("--hf-overrides", '{"max_position_embeddings":true}', None),
        ("--hf-overrides", '{"max_position_embeddings":-5}', None),
        ("--rope-scaling", '{"factor":1e400}', None),
        ("--rope-scaling", '{"factor":-0.5}', None),
        ("--rope-scaling", '{"factor":"2"}', 81920),
        ("--hf-overrides", '{"max_position_embeddings":999999999}', 999999999),
        ("--hf-overrides", '{"max_position_embeddings":1000000000}', None),
        ("--hf-overrides.max_position_embeddings", "9" * 5000, None),
    ],
)
def test_the_longest_sequence_with_rope_scaling(flag, value, longest):
    words, notes = translated(["fit", "qwen3-8b", flag, value])
    assert words == ["fit", "qwen3-8b", *(["--set", f"max_context={longest}"] if longest else [])]
    assert ("sequences of up to" in " ".join(notes)) is bool(longest)


def test_every_key_of_a_rope_scaling_is_read_and_others_of_a_configuration_are_named():
    said = "sequences of up to 131,072 tokens"
    assert translated(["fit", "qwen3-8b", "--rope-scaling", YARN])[1] == [f"--rope-scaling: {said}"]
    overrides = f'{{"rope_parameters":{YARN},"a":1,"b":2}}'
    assert translated(["fit", "qwen3-8b", "--hf-overrides", overrides])[1] == [
        f"--hf-overrides: {said}", "--hf-overrides: ignored a, b"
    ]  # fmt: skip


def test_a_configuration_that_is_no_json_is_refused():
    with pytest.raises(InputError, match="--hf-overrides x: give JSON in quotes"):
        translated(["fit", "qwen3-8b", "--hf-overrides", "x"])


# Gemma 3 27B has 52 layers with a window of 1,024 tokens, its first block, and 10 without.
def test_whole_windows_keep_the_context():
    words, _ = translated(["fit", "gemma-3-27b", "--swa-full"])
    assert words[2:4] == ["--set", "blocks.0.attention.window=131072"]
    assert words[4:] == ["--engine", "llama-cpp"]


# The parsers of vLLM and SGLang take the beginning of a flag where no other begins so.
@every(
    "command,words",
    [
        (
            "vllm serve m --tensor_parallel 2 --gpu-memory-util 0.9",
            "m --tp 2 --gpu-memory-utilization 0.9 --engine vllm",
        ),
        (
            "sglang serve --model-path m --tp 2 --mem-frac 0.8",
            "m --tp 2 --gpu-memory-utilization 0.8 --engine sglang",
        ),
        ("vllm serve m -tp 2 --max-num 8", "m --tp 2 --engine vllm"),
        (
            "llama-server -m m -c 4096 -np 1 --gpu-lay 20",
            "m --max-model-len 4096 --max-num-seqs 1 --engine llama-cpp",
        ),
        # Flags of llama.cpp mean something else to others.
        ("vllm serve m -tp 2 --device cuda", "m --tp 2 --engine vllm"),
    ],
)
def test_the_beginnings_of_flags(command, words):
    assert " ".join(translated(["fit", "--server", command])[0]) == f"fit {words}"


def test_experts_that_replicas_divide_are_said_to_be():
    server = "vllm serve qwen3-30b-a3b -tp 4 -dp 2"
    _, notes = translated(["fit", "--server", server])
    assert any(note.endswith("sharded over 8 ranks: computed as --ep 8") for note in notes)
    _, notes = translated(["fit", "--server", f"{server} --enable-expert-parallel"])
    assert not any("sharded" in note for note in notes)


# As of an engine that extends vLLM, of a release of it, and of one's own.
@every("engine", ["vllm-0.19", "eager"])
def test_a_server_s_defaults_are_of_its_program(engine):
    words, _ = translated(["fit", "--server", "vllm serve qwen3-8b", "--engine", engine])
    assert words[-4:] == ["--tp", "1", "--max-model-len", "40960"]


def test_a_length_that_is_overridden_is_the_server_s():
    overrides = "--hf-overrides '{\"max_position_embeddings\":4096}'"
    words, _ = translated(["fit", "--server", f"vllm serve qwen3-8b {overrides}"])
    assert words[words.index("--max-model-len") + 1] == "4096"


def test_a_release_without_graphs_is_an_engine():
    command = "docker run vllm/vllm-openai:v0.19.0 --model Qwen/Qwen3-8B --enforce-eager"
    words, notes = translated(["fit", "--server", command])
    assert words[words.index("--engine") + 1] == "vllm-0.19+eager"
    assert not any("eager" in note for note in notes)
    _, notes = translated(["fit", "qwen3-8b", "--engine", "sglang", "--enforce-eager"])
    assert notes == ["--enforce-eager is not modelled for sglang"]


@every("base,keeps", [("eager", True), ("vllm-0.25", False), ("vllm", False)])
def test_an_engine_of_the_user_without_graphs_has_its_own_times(tmp_path, base, keeps):
    """The times of `eager` do not replace those in the file, whatever the file is called."""
    mine = tmp_path / "uneager.yaml"
    mine.write_text(
        f"id: uneager\nextends: {base}\nfitted_on: own\n"
        "parameters: {decode_layer_floor: 400 us}\n"
    )
    line = ["fit", "qwen3-8b", "--engine", str(mine)]
    told = f"--enforce-eager is not modelled for your own engine {mine}: let it extend eager"
    assert translated([*line, "--enforce-eager"]) == (line, [] if keeps else [told])


def test_a_release_without_graphs_stays_one():
    line = ["fit", "qwen3-8b", "--engine", "vllm-0.19+eager"]
    assert translated([*line, "--enforce-eager"]) == (line, [])


# docs/multimodal.md of ggml-org/llama.cpp; gemma-3-27b has an encoder, Qwen3 has none.
@pytest.mark.thorough
@every(
    "flags,loads",
    [
        ("-hf ggml-org/gemma-3-27b-it-GGUF", True),
        ("-hf ggml-org/gemma-3-27b-it-GGUF --no-mmproj", False),
        ("-hf ggml-org/gemma-3-27b-it-GGUF --no-mmproj-offload", False),
        ("-m gemma-3-27b-it", False),
        ("-hf Qwen/Qwen3-32B-GGUF", False),
        ("-hf Qwen/Qwen3-32B-GGUF --mmproj f.gguf", True),
    ],
)
def test_a_repository_has_its_projector(flags, loads):
    words, notes = translated(["fit", "--server", f"llama-server {flags} -c 4096 -np 1"])
    assert ("parameters.loads_encoders=1" in words) == loads
    assert not any("mmproj" in note for note in notes)


# vLLM 0.33, vllm/config/compilation.py; SGLang 0.5.23, memory_hook.py: 512 + 2 x 8 MiB,
# and with replicas of attention 3 MiB for each sequence, or 4.5 for more than 300.
@pytest.mark.thorough
@every(
    "flags,words",
    [
        ("vllm serve m --max-cudagraph-capture-size 64", "parameters.largest_graph=64"),
        ("vllm serve m --cudagraph-capture-sizes 1 2 8 4", "parameters.largest_graph=8"),
        ("vllm serve m --cuda-graph-sizes 32", "parameters.largest_graph=32"),
        ("vllm serve m -cc {cudagraph_capture_sizes:[1,2,16]}", "parameters.largest_graph=16"),
        ("vllm serve m -cc.max_cudagraph_capture_size=24", "parameters.largest_graph=24"),
        (
            "sglang serve m --cuda-graph-max-bs 8",
            "parameters.runtime_memory=0.515625 GiB parameters.replica_memory=0.0234375 GiB",
        ),
        (
            "sglang serve m --cuda-graph-bs 1 512",
            "parameters.runtime_memory=1.5 GiB parameters.replica_memory=2.25 GiB",
        ),
        (
            "sglang serve m --cuda-graph-bs 300",
            "parameters.runtime_memory=1.08594 GiB parameters.replica_memory=0.878906 GiB",
        ),
        (
            "sglang serve m --cuda-graph-bs 301",
            "parameters.runtime_memory=1.08789 GiB parameters.replica_memory=1.32275 GiB",
        ),
    ],
)
def test_sizes_of_cuda_graphs(flags, words):
    line, notes = translated(["fit", "--server", flags])
    changes = [value for word, value in itertools.pairwise(line) if word == "--set"]
    assert " ".join(changes) == words
    assert not any("not modelled" in note for note in notes)


# vllm/config/vllm.py of version 0.33: "Maximum cudagraph size should be greater than or equal to 1".
@every(
    "flags,told",
    [
        ("--max-cudagraph-capture-size 0", "--max-cudagraph-capture-size is not modelled with 0"),
        ("-cc.max_cudagraph_capture_size=0", "--compilation-config is not modelled with 0"),
        ("--max-cudagraph-capture-size 0 --enforce-eager", ""),
    ],
)
def test_no_size_of_a_cuda_graph_is_not_modelled(flags, told):
    words, notes = translated(["fit", "qwen3-8b", "--engine", "vllm", *flags.split()])
    assert "--set" not in words
    assert [note for note in notes if "graph" in note or "config" in note] == [told] * bool(told)


def test_graphs_of_sglang_take_nothing_from_a_stated_share():
    flags = "sglang serve m --cuda-graph-max-bs 8 --mem-fraction-static 0.9"
    assert "--set" not in translated(["fit", "--server", flags])[0]


@every("flag", [
    "--ep-num-redundant-experts 32", "--num_redundant_experts=32",
    "--enable-eplb --eplb-config.num_redundant_experts 32",
    '--eplb-config {"num_redundant_experts":32} --enable-eplb',
])  # fmt: skip
def test_redundant_experts_are_copies(flag):
    """DeepSeek-R1 has routed experts in its second run of layers."""
    words, _ = translated(["fit", "deepseek-r1", *flag.replace("=", " ").split()])
    assert "blocks.1.ffn.redundant_experts=32" in words
    assert not any("eplb" in word for word in words)


def test_copies_of_experts_take_memory_only():
    """DeepSeek-R1: 58 layers x 32 x 3 x 7168 x 2048 bytes of FP8 over eight ranks, and scales."""
    asked = {"models": "deepseek-r1", "on": "b200", "tp": 8, "ep": 8}
    what_if = {"blocks.1.ffn.redundant_experts": 32}
    (plain,), (copied,) = (fc.fit(**asked, set=changes).records for changes in ({}, what_if))
    copies = plain["available_kv_gb_per_chip"] - copied["available_kv_gb_per_chip"]
    assert copies == pytest.approx(58 * 4 * 3 * 7168 * 2048 / 1e9, rel=0.002)
    speeds = [
        fc.compare(**asked, batch=4, set=changes).records[0]["tokens_per_s_per_user"]
        for changes in ({}, what_if)
    ]
    assert speeds[0] == speeds[1]


@every("flag", ["-nkvo", "--kv-cache-memory-bytes 8", "--disable-cuda-graph"])
def test_flags_of_a_server_that_are_not_modelled_are_said_to_be(flag):
    program = (
        "llama-server -hf Qwen/Qwen3-32B-GGUF -np 1 -c 4096" if flag == "-nkvo" else "vllm serve m"
    )
    _, notes = translated(["fit", "--server", f"{program} {flag}"])
    assert any(note.startswith(f"{flag.split()[0]} is not modelled") for note in notes)


@every("flags,note", [
    (["--hf-overrides", '{"num_hidden_layers":4}'], "--hf-overrides: ignored num_hidden_layers"),
    (["--speculative-algorithm", "EAGLE"], "speculative decoding is ignored, as no number of draft "
     "tokens is given"),
    (["--speculative-num-draft-tokens", "1"], "speculative decoding is ignored, as no number of "
     "draft tokens is given"),
    (["--speculative-num-steps", "-1"], "speculative decoding is ignored, as no number of draft "
     "tokens is given"),
])  # fmt: skip
def test_what_is_not_read_of_a_configuration_is_said(flags, note):
    assert translated(["fit", "qwen3-8b", *flags])[1] == [note]


def test_a_count_of_five_thousand_digits_is_no_traceback():
    digits = "9" * 5000
    for flag in ("-sc.num_speculative_tokens", "--num-redundant-experts", "--cuda-graph-max-bs"):
        assert not any(
            digits in word for word in translated(["fit", "deepseek-r1", flag, digits])[0]
        )
    taken, _ = translated(["fit", "m", "-sm", "tensor", "--chips", digits])
    assert taken[2:4] == ["--tp", digits]


RENAMED = {
    "--tp": ["--tensor-parallel-size", "--tp-size", "-tp"],
    "--pp": ["--pipeline-parallel-size", "--pp-size", "-pp"],
    "--dp": ["--data-parallel-size", "--dp-size", "-dp"],
    "--ep": ["--ep-size", "--expert-parallel-size"],
    "--kv": ["--kv-cache-dtype"],
    "--weights": ["--quantization"],
    "--max-model-len": ["--context-length", "--ctx-size", "-c", "--max-seq-len"],
    "--max-num-seqs": ["--max-running-requests", "--parallel", "-np"],
    "--max-num-batched-tokens": ["--chunked-prefill-size"],
    "--gpu-memory-utilization": ["--mem-fraction-static"],
}


@every("meant,typed", [(meant, name) for meant, names in RENAMED.items() for name in names])
def test_each_name_of_a_flag(meant, typed):
    for words in (["fit", typed, "8"], ["fit", f"{typed}=8"]):
        assert translated(words)[0][:3] == ["fit", meant, "8"]


@every(
    "typed,sentence",
    [
        ("fit --server", "--server needs a command"),
        ("fit --server python", "give a command of vLLM, SGLang"),
        ("fit --server=python", "give a command of vLLM, SGLang"),
        ("fit m -sm row", "-sm row: give the number of cards, as with --chips 2"),
        ("fit m -sm rows --chips 2", "-sm rows: llama.cpp splits by none, layer"),
    ],
)
def test_others_are_answered_with_what_to_write(typed, sentence):
    with pytest.raises(InputError, match=sentence):
        translated(typed.split())


def test_attention_that_sglang_copies_is_of_ranks_of_its_own():
    """Eight ranks, each with a copy of attention: tp counts all eight there, and one here."""
    words, notes = translated("fit m --tp 8 --dp 8 --enable-dp-attention".split())
    assert " ".join(words) == "fit m --tp 1 --dp 8 --engine sglang"
    assert len(notes) == 1


@every(
    "typed,tp",
    [
        ("fit --tp 8 --dp 2 --enable-dp-attention", "4"),
        ("fit --tp 2 --dp 8 --enable-dp-attention", "1"),
        ("fit --tp 8 --dp 0 --enable-dp-attention", "8"),
        # Without both it is as it stands.
        ("fit --tp 8 --enable-dp-attention", "8"),
        ("fit --tp 8 --dp x --enable-dp-attention", "8"),
        ("fit --tp 8 --enable-dp-attention --dp", "8"),
        ("fit --tp 0 --dp 8 --enable-dp-attention", "0"),
    ],
)
def test_ranks_of_each_copy_of_attention(typed, tp):
    words, _ = translated(typed.split())
    assert words[words.index("--tp") + 1] == tp
    assert "--enable-dp-attention" not in words


@pytest.mark.thorough
@every(
    "command,words",
    [
        ("trtllm-serve org/m --tp_size 2 --max_batch_size 8 --max_seq_len 4096", "org/m --tp-size 2 "
         "--max-batch-size 8 --max-seq-len 4096 --engine tensorrt-llm"),
        ("trtllm-serve org/m", "org/m --engine tensorrt-llm --tp 1"),
        ("llama-server -m m.gguf -ngl 20 -c 4096 -np 1", "m.gguf -ngl 20 -c 4096 --max-num-seqs 1 "
         "--engine llama-cpp"),
        ("llama-server -m m.gguf -c 0", "m.gguf --engine llama-cpp -np -1"),
        ("llama-server -hf org/m --cpu-moe", "org/m --cpu-moe --engine llama-cpp -np -1"),
        ("vllm serve --model org/m", "org/m --engine vllm --tp 1"),
        # A word after another flag that takes none is no model, nor is a second one.
        ("vllm serve org/m other", "org/m --engine vllm --tp 1"),
        ("vllm serve org/m --port 8000", "org/m --engine vllm --tp 1"),
        ("vllm serve org/m -dp 2", "org/m -dp 2 --engine vllm"),
        # A model after flags, switches and images; underscores are hyphens.
        ("vllm serve --port 8000 org/m", "org/m --engine vllm --tp 1"),
        ("vllm serve --trust-remote-code org/m", "org/m --engine vllm --tp 1"),
        ("vllm serve --enable-prefix-caching org/m -q fp8", "org/m -q fp8 --engine vllm --tp 1"),
        ("docker run --gpus all vllm/vllm-openai:latest org/m", "org/m --engine vllm --tp 1"),
        ("trtllm-serve serve org/m --max_num_tokens 4096", "org/m --max-num-tokens 4096 --engine "
         "tensorrt-llm --tp 1"),
        ("vllm serve org/m --tensor_parallel_size 4 --max_model_len 8192", "org/m "
         "--tensor-parallel-size 4 --max-model-len 8192 --engine vllm"),
        ("vllm serve org/m -tp 2 --enable-expert-parallel=False", "org/m -tp 2 --engine vllm"),
        ("vllm serve org/m --max-model-len=32K", "org/m --max-model-len 32768 --engine vllm --tp 1"),
        ("vllm serve org/m --max-model-len 1.5k", "org/m --max-model-len 1500 --engine vllm --tp 1"),
        ("vllm serve org/m --max-model-len 1m", "org/m --max-model-len 1000000 --engine vllm --tp 1"),
        ("vllm serve org/m --max-model-len 1M", "org/m --max-model-len 1048576 --engine vllm --tp 1"),
        ("vllm serve org/m --max-num-seqs 32k", "org/m --max-num-seqs 32k --engine vllm --tp 1"),
        ("vllm serve org/m --speculative-config {method:mtp}", "org/m --engine vllm --tp 1"),
        ("docker run vllm/vllm-openai:latest --model org/m", "org/m --engine vllm --tp 1"),
        ("docker run vllm/vllm-openai-cu130:v0.25.1 --model org/m", "org/m --engine vllm-0.25 --tp 1"),
        ("docker run lmsysorg/sglang --model-path org/m", "org/m --engine sglang --tp 1"),
    ],
)  # fmt: skip
def test_commands_of_servers(command, words):
    meant = translated(["fit", *words.split()])[0]
    assert sorted(translated(["fit", "--server", command])[0]) == sorted(meant)


def test_a_command_of_a_server_stands_after_an_equals_sign_as_well():
    command = "vllm serve org/m --max-num-seqs 64"
    assert translated(["fit", f"--server={command}"]) == translated(["fit", "--server", command])


@pytest.mark.thorough
@every(
    "command,length",
    [
        # The longest sequences of the model (config.json: max_position_embeddings), or as given.
        ("fit --server 'vllm serve Qwen/Qwen3-32B'", "40960"),
        ("fit --on h100 qwen3-32b --server 'vllm serve'", "40960"),
        ("fit --server 'vllm serve Qwen/Qwen3-32B --max-model-len 8k'", "8000"),
        ("fit --server 'vllm serve Qwen/Qwen3-32B --max-model-len auto'", None),
        ("fit --server 'vllm serve Qwen/Qwen3-32B --max-model-len -1'", None),
        ("fit qwen3-32b --max-model-len auto", None),
        ("fit qwen3-32b --max-model-len=auto", None),
        # Of llama.cpp 0 is the length of the model, and others serve what fits.
        ("fit --server 'llama-server -hf Qwen/Qwen3-32B-GGUF -c 0'", "40960"),
        ("fit qwen3-32b -c 0", "40960"),
        ("fit --server 'llama-server -hf Qwen/Qwen3-32B-GGUF'", None),
        ("fit --server 'sglang serve --model-path Qwen/Qwen3-32B'", None),
        ("fit --server 'trtllm-serve Qwen/Qwen3-32B'", None),
        # A command of its own has no such flag.
        ("show --server 'vllm serve Qwen/Qwen3-32B'", None),
    ],
)
def test_the_length_that_vllm_takes_by_default(command, length):
    words, notes = translated(shlex.split(command))
    assert any(word.startswith("--max-model-len") for word in words) is bool(length)
    if length:
        assert words[words.index("--max-model-len") + 1] == length
    said = "--server: --max-model-len is not given; the server uses 40960" in notes
    assert said is (length == "40960" and "vllm serve" in command and "max-model" not in command)


@every(
    "flags,ep",
    [
        # vllm.config.parallel: enable_expert_parallel is False; tensor ranks then cut each expert.
        ("deepseek-ai/DeepSeek-R1 -tp 8", ["1"]),
        ("deepseek-ai/DeepSeek-R1 -tp 8 --enable-expert-parallel", ["8"]),
        ("deepseek-ai/DeepSeek-R1", []),
        ("Qwen/Qwen3-32B -tp 8", []),
    ],
)
def test_vllm_cuts_experts_by_tensor_ranks_unless_they_are_spread(flags, ep):
    words, _ = translated(["fit", "--server", f"vllm serve {flags}"])
    assert [words[at + 1] for at, word in enumerate(words) if word == "--ep"] == ep


@every(
    "command,said",
    [
        ("llama-server -hf Qwen/Qwen3-32B-GGUF", ["-c is not given; the server uses 40960, or",
         "-np is not given; the server runs 4 slots, which share its context"]),
        ("llama-server -hf Qwen/Qwen3-32B-GGUF -c 8192 -np 2", []),
        ("sglang serve --model-path Qwen/Qwen3-32B --tp 1", ["--context-length is not given; the "
         "server uses 40960, or"]),
        ("trtllm-serve Qwen/Qwen3-32B --tp_size 1", ["--max_seq_len is not given; the server "
         "uses 40960, or"]),
    ],
)  # fmt: skip
def test_what_other_servers_take_by_default_is_said(command, said):
    _, notes = translated(["fit", "--server", command])
    assert len(notes) == len(said)
    for note, start in zip(notes, said, strict=True):
        assert note.removeprefix("--server: ").startswith(start)


# tools/server/server.cpp: without -np "n_parallel is set to auto, using n_parallel = 4 and
# kv_unified = true".
@every(
    "flags,most",
    [
        ("-np 8 -kvu", "8"),
        ("--parallel 2 --kv-unified", "2"),
        ("-kvu -np -1", "4"),
        ("-np -1", "4"),
        ("-kvu", None),
    ],
)
def test_slots_that_share_a_context_limit_sequences_alone(flags, most):
    words, _ = translated(f"fit m -c 8192 {flags}".split())
    limit = ["--set", f"parameters.max_sequences={most}"] if most else []
    assert words == ["fit", "m", *"--max-model-len 8192 --engine llama-cpp".split(), *limit]
    words, _ = translated(["fit", "--server", f"llama-server -hf org/m -c 8192 {flags}"])
    assert words[-1] == f"parameters.max_sequences={most or 4}"
    assert "--max-num-seqs" not in words


def test_slots_are_said_to_share_their_context():
    _, notes = translated("fit m -c 8192 -np 4 -kvu".split())
    assert notes == ["--kv-unified: all sequences share the context of -c; 4 run at once"]


def test_a_command_without_sequences_has_no_slots():
    words, notes = translated(["show", "--server", "llama-server -hf org/m"])
    assert (words, notes) == ("show org/m --engine llama-cpp".split(), [])


@every("flags,most", [("", 4), ("-np 8 -kvu", 8), ("-np 2", 2), ("-kvu -np 500", 32)])
def test_the_largest_batch_is_of_as_many_slots(flags, most, capsys, monkeypatch):
    """65,536 tokens have room for 32 sequences of 2,000, and fewer run where slots are fewer."""
    server = f"llama-server -hf Qwen/Qwen3-30B-A3B-GGUF -c 65536 {flags}"
    words = ("fit", "--server", server, "--on", "rtx-3090", "--weights", "q4_k_m")
    ran = run_once(*words, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    (record,) = json.loads(ran.out)["records"]
    assert record["max_batch"] == most


# qwen3-30b-a3b has 48 layers with experts.
@every(
    "override,layers",
    [
        ("exps=CPU", 999),
        (".ffn_.*_exps.=CPU", 999),
        (r"\.ffn_(gate|up|down)_exps\.=CPU", 999),
        (r"blk\.(2[0-9]|3[0-9])\.ffn_.*_exps.=CPU", 20),
        (r"blk\.[0-9]\.ffn_.*_exps.=CPU", 10),
        # Two of the three matrices of each layer, and both of these of 24 layers alone.
        ("ffn_(up|down)_exps=CPU", 32),
        (r"blk\.\d*[02468]\.ffn_(up|down)_exps=CPU", 16),
        # Lists, of which the first that matches counts.
        (r"blk\.[0-9]\.ffn.*exps=CPU,blk\.1[0-9]\.ffn.*exps=CPU", 20),
        (r"blk\.[0-7]\.=CUDA0,exps=CPU", 40),
    ],
)
def test_overrides_of_experts_are_layers_on_the_host(override, layers):
    for flags in (["-ot", override], [f"--override-tensor={override}"]):
        words, notes = translated(["fit", "qwen3-30b-a3b", *flags])
        asked = f"fit qwen3-30b-a3b --n-cpu-moe {layers} --engine llama-cpp"
        assert " ".join(words) == asked
        said = [note.rpartition(": ")[2] for note in notes]
        assert (f"computed as --n-cpu-moe {layers}" in said) is (layers < 999)
        assert ("which card holds a tensor is not modelled" in said) is ("CUDA" in override)


# Layers by number and by pattern: a layer on the host by either is there.
@every(
    "flags,layers",
    [
        (r"-ncmoe 10 -ot blk\.4[0-7]\..*exps=CPU", 18),
        (r"--n-cpu-moe 10 -ot blk\.[0-9]\..*exps=CPU", 10),
        (r"--n-cpu-moe=99 -ot blk\.0\..*exps=CPU", 48),
        (r"--n-cpu-moe=10000 -ot blk\.0\..*exps=CPU", 999),
        (r"--cpu-moe -ot blk\.0\..*exps=CPU", 999),
        (r"-ncmoe 10 -ot attn=CPU", 10),
    ],
)
def test_overrides_beside_a_number_of_layers(flags, layers):
    words, _ = translated(["fit", "qwen3-30b-a3b", *flags.split()])
    assert words == f"fit qwen3-30b-a3b --n-cpu-moe {layers} --engine llama-cpp".split()


def test_layers_of_an_unknown_model_are_those_given_by_number():
    words, _ = translated(["fit", "m", "-ncmoe", "10", "-ot", r"blk\.4[0-7]\..*exps=CPU"])
    assert words == "fit m --n-cpu-moe 10 --engine llama-cpp".split()


def test_overrides_that_are_given_one_by_one_and_in_a_server_command():
    overrides = r"-ot 'blk\.[0-7]\.=CUDA0' -ot exps=CPU"
    words, _ = translated(["fit", "qwen3-30b-a3b", *shlex.split(overrides)])
    assert words[2:4] == ["--n-cpu-moe", "40"]
    command = f"llama-server -hf Qwen/Qwen3-30B-A3B-GGUF {overrides} -c 4096 -np 1"
    words, notes = translated(["fit", "--server", command])
    assert words[words.index("--n-cpu-moe") + 1] == "40"
    assert not any("ignored" in note for note in notes)
    _, notes = translated(["plan", "--server", command])
    assert "--server: ignored -ot and -ot" in notes


@every(
    "override,sentence",
    [
        ("attn=CPU", "it moves no routed experts of the model to the CPU"),
        ("exps=CUDA0", "which card holds a tensor is not modelled"),
        (".*=CPU", "only routed experts are computed on the CPU"),
    ],
)
def test_overrides_that_are_not_computed_are_said_to_be(override, sentence):
    _, notes = translated(["fit", "qwen3-30b-a3b", "-ot", override])
    assert any(note.startswith(f"-ot {override}") and sentence in note for note in notes)


@every("override", ["exps", "=CPU", "exps=", "(=CPU", ""])
def test_overrides_are_a_pattern_and_a_buffer(override):
    with pytest.raises(InputError, match="write a regular expression and a buffer, as exps=CPU"):
        translated(["fit", "qwen3-30b-a3b", "-ot", override])


# README of llama.cpp's server: --cache-type-k and --cache-type-v, both f16 by default.
@pytest.mark.thorough
@every(
    "model,flags,kv",
    [
        ("m", "-ctk q8_0 -ctv q8_0", "q8_0"),
        ("m", "-ctk q8_0", "50%q8_0/50%fp16"),
        ("m", "--cache-type-v=q4_0", "50%fp16/50%q4_0"),
        ("m", "-ctv q4_0 -ctk q8_0", "50%q8_0/50%q4_0"),
        ("m", "-ctk f16", "fp16"),
        ("qwen3-30b-a3b", "-ctk q8_0", "50%q8_0/50%fp16"),
        # One latent vector is key and value; MiMo's keys have 192 elements and its values 128.
        ("deepseek-r1", "-ctk q8_0 -ctv q4_0", "q8_0"),
        ("deepseek-r1", "-ctv q4_0", "fp16"),
        ("mimo-v2-flash", "-ctk q8_0", "60%q8_0/40%fp16"),
    ],
)
def test_keys_and_values_have_types_of_their_own(model, flags, kv):
    words, notes = translated(["fit", model, *flags.split()])
    assert words == ["fit", model, "--kv", kv, "--engine", "llama-cpp"]
    words, notes = translated(["fit", model, "--server", f"llama-server -c 4096 -np 1 {flags}"])
    assert words[words.index("--kv") + 1] == kv
    assert notes == []


@every(
    "flags,sentence",
    [
        ("-ctk q9_9", "'q9_9' is not a KV cache format"),
        ("-ctv q4_k_m", "'q4_k_m' is not a KV cache format"),
        ("--kv fp8 -ctk q8_0", "-ctk or -ctv is given, and --kv; remove one"),
        ("--kv=q4_0 -ctk q8_0", "-ctk or -ctv is given, and --kv; remove one"),
        ("-fa off -ctv q8_0", "-ctv q8_0 needs flash attention"),
    ],
)
def test_types_of_a_cache_that_are_refused(flags, sentence):
    with pytest.raises(InputError, match=sentence):
        translated(["fit", "m", *flags.split()])


# llama.cpp, src/llama-context.cpp: "V cache quantization requires flash_attn".
@every(
    "flags,notes",
    [
        ("-fa on -ctv q8_0", []),
        ("-fa -ctv q8_0", []),
        ("-ctk q8_0 -fa off", ["-fa off is not modelled: attention is computed as with -fa on"]),
        ("-fa 0", ["-fa off is not modelled: attention is computed as with -fa on"]),
    ],
)
def test_attention_without_its_kernel(flags, notes):
    assert translated(["fit", "m", *flags.split()])[1] == notes


# 48 layers with 4 heads of 128 elements for keys and as many for values, of 2,000 tokens: 98.3
# million elements, which take 16 bits in f16, 8.5 in q8_0 and 4.5 in q4_0.
@every("flags,bits", [("-ctk f16", 16), ("-ctk q8_0", 12.25), ("-ctv q4_0 -ctk q8_0", 6.5)])
def test_bytes_of_keys_and_values(flags, bits, capsys, monkeypatch):
    words = ("fit", "qwen3-30b-a3b", "--on", "rtx-3090", "--weights", "q4_k_m", *flags.split())
    ran = run_once(*words, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    (record,) = json.loads(ran.out)["records"]
    elements = 48 * 2 * 4 * 128 * 2000
    assert record["kv_gb"] == pytest.approx(elements * bits / 8 / 1e9)


@every(
    "command,digits",
    [
        ("llama-server -hf org/m -c 4k", "-c 4k: this engine needs digits only, as 4096"),
        ("sglang serve --model-path m --context-length 32K", "32K: this engine needs .* as 32768"),
        ("trtllm-serve org/m --max_seq_len 8k", "8k: this engine needs digits only, as 8192"),
    ],
)
def test_lengths_of_other_engines_are_digits(command, digits):
    with pytest.raises(InputError, match=digits):
        translated(["fit", "--server", command])


def test_an_engine_that_is_named_is_meant_instead_of_the_command_s():
    words = ["fit", "--server", "vllm serve org/m", "--engine=ideal"]
    assert translated(words)[0] == ["fit", "org/m", "--engine", "ideal"]


def test_what_of_a_command_is_not_read_is_listed():
    command = "vllm serve org/m --enforce-eager --seed 3 --port 8000 --swap-space=4"
    words, notes = translated(["fit", "--server", command])
    assert notes[0] == "--server: ignored --seed and --swap-space"
    assert words[words.index("--engine") + 1] == "eager"
    with pytest.raises(InputError, match="--server: No closing quotation in the command"):
        translated(["fit", "--server", "vllm serve 'org"])


_IS = "is not modelled:"
_CACHE = "the cache uses the memory that --gpu-memory-utilization leaves"
_CARDS = "all weights are on the cards; --engine llama-cpp --host splits them"


@every(
    "flags,sentences",
    [
        ("--kv-cache-memory-bytes 820000000", [f"--kv-cache-memory-bytes {_IS} {_CACHE}"]),
        ("--cpu-offload-gb=4", [f"--cpu-offload-gb {_IS} {_CARDS}"]),
        (
            "--cpu_offload_gb 4 --kv-cache-memory-bytes=1",
            [f"--cpu-offload-gb {_IS} {_CARDS}", f"--kv-cache-memory-bytes {_IS} {_CACHE}"],
        ),
    ],
)
def test_flags_of_memory_that_are_not_computed_are_said_to_be(flags, sentences):
    words, notes = translated(f"fit m --tp 2 {flags} --batch 4".split())
    assert (words, notes) == (["fit", "m", "--tp", "2", "--batch", "4"], sentences)
    words, notes = translated(["fit", "--server", f"vllm serve m -tp 2 {flags} --max-num-seqs 4"])
    assert words == "fit m --tp 2 --max-num-seqs 4 --engine vllm".split()
    assert notes == sentences


def test_a_command_of_mlx_is_taken():
    command = "mlx_lm.server --model mlx-community/Qwen3-30B-A3B-4bit --port 8080"
    words, notes = translated(
        ["fit", "--server", f"{command} --prompt-cache-size 10 --decode-concurrency 8"]
    )
    asked = "fit mlx-community/Qwen3-30B-A3B-4bit --max-num-seqs 8 --engine mlx"
    assert (words, notes) == (asked.split(), ["--server: ignored --prompt-cache-size"])


def test_a_whole_command_is_taken():
    command = (
        "CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2 \\\n"
        '--max-model-len 32k --speculative-config \'{"method": "mtp", '
        '"num_speculative_tokens": 3}\' --enable-prefix-caching --port 8000'
    )
    words, notes = translated(["fit", "--server", command, "--on", "rtx-3090"])
    assert words == [
        *("fit", "Qwen/Qwen3-32B", "--on", "rtx-3090", "--tp", "2", "--max-model-len", "32000"),
        *("--engine", "vllm", "--speculate", "0.8x3"),
    ]
    assert notes[0] == "--server: ignored --enable-prefix-caching"
    command = "python -m sglang.launch_server --model-path m --tp 4 --mem-fraction-static=0.9"
    words, _ = translated(["fit", "--server", command])
    assert " ".join(words) == "fit m --tp 4 --gpu-memory-utilization 0.9 --engine sglang"


def test_a_model_that_is_named_is_meant_instead_of_the_command_s():
    words = ["fit", "mine", "--server", "vllm serve org/other -tp 2"]
    assert translated(words)[0] == ["fit", "mine", "--tp", "2", "--engine", "vllm"]


def test_a_file_of_measurements_names_its_models():
    words = ["diagnose", "two.csv", "--server", "vllm serve org/other -tp 2"]
    assert translated(words)[1][0] == (
        "--server: two.csv names its models, so org/other is not used; the command sets -tp 2"
    )


def test_a_container_of_vllm_is_of_its_release():
    """The image names the release, and an argument after it the model."""
    command = (
        "docker run --gpus all vllm/vllm-openai:v0.24.0 --model Qwen/Qwen3-32B --max-num-seqs 2"
    )
    words, notes = translated(["fit", "--server", command, "--on", "2x3090"])
    assert " ".join(words) == (
        "fit Qwen/Qwen3-32B --on 2x3090 --max-num-seqs 2 --engine vllm-0.24 --tp 1 "
        "--max-model-len 40960"
    )
    assert notes[:1] == ["--server: ignored --gpus"]


def test_a_server_command_without_a_model_is_refused():
    with pytest.raises(InputError, match="names no model"):
        translated(["fit", "--server", "vllm serve -tp 2", "--on", "h100-sxm"])
    words, _ = translated(["fit", "--on", "h100-sxm", "mine", "--server", "vllm serve -tp 2"])
    assert words[:4] == ["fit", "--on", "h100-sxm", "mine"]
    # A flag without a value may stand before the model.
    words, _ = translated(["compare", "--wide", "mine", "--server", "vllm serve -tp 2"])
    assert words[:3] == ["compare", "--wide", "mine"]


def test_what_a_command_chooses_itself_is_not_taken_from_a_server():
    """frontier tries all layouts, and decide has none: ranks of a server are ignored, and said."""
    server = "vllm serve org/m -tp 8 --enable-expert-parallel --gpu-memory-utilization 0.8"
    words, notes = translated(["frontier", "--server", server])
    assert words == ["frontier", "org/m", "--gpu-memory-utilization", "0.8", "--engine", "vllm"]
    assert notes[0] == "--server: ignored -tp and --enable-expert-parallel"


def test_one_server_and_one_model():
    words = ["fit", "--on", "h100", "llama-3.1-8b", "--server", "vllm serve org/m"]
    assert "org/m" not in translated(words)[0]
    with pytest.raises(InputError, match="--server is given twice; name one command"):
        translated([*words, "--server", "vllm serve org/m"])


def test_a_length_that_fits_is_said_to():
    _, notes = translated(["fit", "m", "--max-model-len", "auto"])
    assert notes == [
        "--max-model-len auto: the longest sequences that fit, as printed by fit --solve context"
    ]


@pytest.mark.parametrize("command", ["plan", "sweep", "frontier"])
def test_commands_that_share_no_layers_name_those_that_do(command, capsys, monkeypatch):
    ran = run_once(command, "qwen3-32b", "-ngl", "20", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert "'fastcalc compare' and 'fastcalc fit' do" in said_words(ran.err)


def test_a_flag_beside_a_server_and_in_it_has_one_value():
    served = ["fit", "--on", "l40s", "--server", "vllm serve Qwen/Qwen3-32B -tp 2"]
    with pytest.raises(InputError, match=r"^--tp 4 is given, and -tp 2 in the command after"):
        translated([*served, "--tp", "4"])
    words, _ = translated([*served, "--tp", "2"])
    assert words.count("--tp") == 2


def test_a_model_beside_a_server_is_said_to_be_computed():
    command = "vllm serve Qwen/Qwen3-32B-AWQ --tensor-parallel-size 4"
    _, notes = translated(["fit", "qwen3-14b", "--on", "l40s", "--server", command])
    assert "--server: qwen3-14b, as given, replaces Qwen/Qwen3-32B-AWQ" in notes


# vLLM, vllm/config/model.py: "User-specified max_model_len (65536) is greater than the derived
# max_model_len (max_position_embeddings=40960)"; llama.cpp warns alone.
@every("engine,code", [("vllm", 2), ("vllm-0.19", 2), ("sglang", 2), ("llama-cpp", 0)])
def test_a_length_beyond_the_model_s(engine, code, capsys, monkeypatch):
    words = ["fit", "qwen3-32b", "--on", "h200-sxm", "--engine", engine, "--chips", "1"]
    ran = run_once(*words, "--max-model-len", "65536", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == code
    assert ("exceeds the 40,960 tokens that qwen3-32b supports" in said_words(ran.err)) == (
        code == 2
    )


def test_a_switch_beside_a_server_and_in_it_has_no_value():
    command = "vllm serve Qwen/Qwen3-32B --language-model-only --max-num-seqs 4"
    words, _ = translated(["fit", "--server", command, "--language-model-only", "--on", "l40s"])
    assert words.count("--language-model-only") == 2


def test_an_engine_without_a_name_is_refused():
    with pytest.raises(InputError, match="--engine needs a name, such as --engine vllm"):
        translated(["fit", "--server", "vllm serve Qwen/Qwen3-32B", "--engine"])
