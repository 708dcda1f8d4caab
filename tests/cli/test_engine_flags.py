"""Flags of engines as people paste them, and whole server commands."""

import pytest

from fastcalc.cli.engine_flags import translated
from fastcalc.errors import InputError
from tests.helpers import every


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
    ],
)
def test_flags_of_engines_are_taken(typed, meant):
    assert translated(typed.split()) == (meant.split(), [])


@every(
    "typed,sentence",
    [
        ("fit --server", "--server needs a command"),
        ("fit --server python", "give a command of vLLM, SGLang"),
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


def test_a_whole_command_is_taken():
    command = (
        "CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2 \\\n"
        '--max-model-len 32k --speculative-config \'{"method": "mtp", '
        '"num_speculative_tokens": 3}\' --enable-prefix-caching --port 8000'
    )
    words, notes = translated(["fit", "--server", command, "--on", "rtx-3090"])
    assert words == [
        *("fit", "Qwen/Qwen3-32B", "--on", "rtx-3090", "--tp", "2", "--max-model-len", "32000"),
        *("--speculate", "0.8x3", "--engine", "vllm"),
    ]
    assert notes == ["--server: ignored --enable-prefix-caching"]
    command = "python -m sglang.launch_server --model-path m --tp 4 --mem-fraction-static=0.9"
    words, _ = translated(["fit", "--server", command])
    assert " ".join(words) == "fit m --tp 4 --gpu-memory-utilization 0.9 --engine sglang"


def test_a_model_that_is_named_is_meant_instead_of_the_command_s():
    words = ["fit", "mine", "--server", "vllm serve org/other -tp 2"]
    assert translated(words)[0] == ["fit", "mine", "--tp", "2", "--engine", "vllm"]


def test_a_container_of_vllm_is_of_its_release():
    """The image names the release, and an argument after it the model."""
    command = (
        "docker run --gpus all vllm/vllm-openai:v0.24.0 --model Qwen/Qwen3-32B --max-num-seqs 2"
    )
    words, notes = translated(["fit", "--server", command, "--on", "2x3090"])
    assert " ".join(words) == ("fit Qwen/Qwen3-32B --on 2x3090 --max-num-seqs 2 --engine vllm-0.24")
    assert notes == ["--server: ignored --gpus"]
