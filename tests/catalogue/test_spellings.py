"""Names as people type them: other hyphens, the vendor before them or left out, several at once."""

from collections import Counter
from pathlib import Path

import pytest

import fastcalc
from fastcalc.catalogue.names import spelling
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.errors import InputError
from fastcalc.kit.request.chips import chips_of
from fastcalc.kit.request.loading import models_of
from tests.helpers import every, run_once

ENTRIES = Catalogue()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("RTX 5090", "rtx-5090"),
        ("nvidia rtx_4090", "rtx-4090"),
        ("tpuv6e", "tpu-v6e"),
        ("trillium", "tpu-v6e"),
        ("m4-max", "apple-m4-max"),
        ("M4Max", "apple-m4-max"),
        ("Apple M3 Ultra", "apple-m3-ultra-80"),
        ("amd-mi300x", "mi300x"),
        ("h100sxm5", "h100-sxm"),
    ],
)
def test_chips_are_found_as_people_type_them(typed, meant):
    assert ENTRIES.knows(typed, "hardware")
    assert ENTRIES.hardware(typed).id == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("llama4-maverick", "llama-4-maverick"),
        ("qwen3_32b", "qwen3-32b"),
        ("Qwen 3 32B", "qwen3-32b"),
        ("GPTOSS-120B", "gpt-oss-120b"),
    ],
)
def test_models_are_found_as_people_type_them(typed, meant):
    assert ENTRIES.model(typed).id == meant


# As posts, model cards, cloud consoles, drivers, Ollama, Kubernetes and benchmark files write them.
MODELS = {
    "llama-3.1-8b": "meta llama 3.1 8b|Meta Llama 3.1 8B Instruct|llama31-8b|llama-31-8b|llama3.1:8b"
    "|llama-3-1-8b|Meta-Llama-3.1-8B-Instruct|llama3.1:8b-instruct-q4_K_M",
    "llama-3.1-70b": "Llama-3.3 70B|llama33-70b|llama3.3:70b",
    "llama-4-maverick": "llama4 maverick 17b 128e|Llama 4 Maverick",
    "glm-4.5": "glm45|GLM 4.5|zai-org glm 4.5",
    "glm-4.5-air": "glm45-air|glm-4-5-air",
    "glm-4.6": "zai glm 4.6|glm46",
    "gpt-oss-120b": "gpt-oss:120b|openai gpt-oss 120b|GPT OSS 120B|gptoss120b|gpt-oss-120b-mxfp4",
    "deepseek-r1": "DSR1|dsv3|DeepSeek V3.1|deepseek-ai/DeepSeek-R1",
    "deepseek-v3.2": "dsv3.2|DeepSeek-V3-2",
    "qwen2.5-7b": "qwen 2.5 7b instruct|qwen25-7b|qwen2-5-7b|Qwen2.5-7B-Instruct-Q4_K_M",
    "qwen3-32b": "qwen3:32b|Qwen 3 32B|Qwen3-32B-FP8|qwen3:32b-q8_0|qwen qwen3 32b",
    "qwen3-30b-a3b": "qwen3-30b|qwen3:30b-a3b",
    "qwen3-coder-480b-a35b": "Qwen3 Coder 480B|qwen3-coder:480b",
    "qwen3-next-80b-a3b": "qwen3-next-80b|Qwen3 Next 80B A3B Instruct",
    "gemma-3-27b": "gemma3:27b|google gemma 3 27b it|Gemma 3 27B",
    "mistral-small-3.1-24b": "Mistral Small 3.2 24B|mistral-small3.1-24b",
    "command-r-plus": "command r+|Command R Plus",
    "kimi-k2.5": "kimik2.5|moonshotai kimi k2.5|kimi-k2-5",
}  # fmt: skip
CHIPS = {
    "rtx-5090": "GeForce RTX 5090|NVIDIA GeForce RTX 5090|5090|geforce 5090 rtx",
    "rtx-4090": "geforce rtx 4090|RTX4090|NVIDIA RTX 4090",
    "rtx-pro-6000": "RTX PRO 6000|RTX 6000 Pro",
    "rtx-a6000": "A6000|NVIDIA RTX A6000",
    "rtx-6000-ada": "RTX 6000 Ada",
    "h100-sxm": "H100|NVIDIA H100 80GB HBM3|H100 SXM5|8xH100|p5.48xlarge|a3-highgpu-8g",
    "h200-sxm": "H200 SXM|NVIDIA H200",
    "a100-sxm-80gb": "A100 SXM4 80GB|NVIDIA A100-SXM4-80GB|A100 80GB",
    "t4": "Tesla T4|NVIDIA Tesla T4",
    "gb10": "DGX Spark|NVIDIA GB10",
    "mi300x": "Instinct MI300X|AMD Instinct MI300X",
    "mi355x": "mi355|AMD Instinct MI355X",
    "rx-7900-xtx": "Radeon RX 7900 XTX|7900 XTX",
    "ryzen-ai-max-395": "Ryzen AI Max+ 395|AMD Ryzen AI Max+ 395|Strix Halo",
    "apple-m3-ultra-80": "Mac Studio M3 Ultra|M3 Ultra",
    "tpu-v6e": "v6e|Cloud TPU v6e|Google TPU v6e",
    "wse-3": "Cerebras WSE-3|WSE3",
}  # fmt: skip
ENGINES = {
    "tensorrt-llm": "TRT-LLM|trtllm|trt llm|TensorRT LLM|tensorrt_llm",
    "llama-cpp": "llama.cpp|llamacpp|llama cpp|llama-server|Llama.cpp server|ollama|KoboldCpp|"
    "LM Studio|llamafile|Jan|ik_llama.cpp",
    "vllm-0.16": "vllm 0.11|vLLM v0.11.0|vllm-0.11.2",
    "exllama": "ExLlamaV2|exllamav3|exl2",
    "mlx": "MLX|mlx-lm|mlx_lm|vllm-mlx|oMLX",
    "sglang": "SGLang|sgl",
}


def _spelled(table):
    return [(word, entry) for entry, words in table.items() for word in words.split("|")]


@pytest.mark.parametrize(("typed", "meant"), _spelled(MODELS))
def test_models_are_found_as_people_write_them(typed, meant):
    (model,) = models_of(ENTRIES, [typed], [])
    assert model.id == meant


@pytest.mark.parametrize(("typed", "meant"), _spelled(CHIPS))
def test_chips_are_found_as_people_write_them(typed, meant):
    (chip,) = chips_of(ENTRIES, [typed], MemoryChoice(), [])
    assert chip.id == meant


@pytest.mark.parametrize(("typed", "meant"), _spelled(ENGINES))
def test_engines_are_found_as_people_write_them(typed, meant):
    assert ENTRIES.engine(typed).id == meant


@pytest.mark.parametrize(
    ("typed", "kind", "suggested"),
    [
        ("gpt-oss", "models", "gpt-oss-20b or gpt-oss-120b"),
        ("deepseek v4", "models", "deepseek-v4-pro, deepseek-v4-flash"),
        ("mistral 7b", "models", "mistral-7b-v0.1, mistral-7b-v0.3"),
        ("llama 70b", "models", "llama-3.1-70b"),
        ("llama3", "models", "llama-3-8b, llama-3-70b or llama-3.1-8b"),  # not llama-33b
        ("gemma3", "models", "gemma-3-4b, gemma-3-12b or gemma-3-27b"),
        ("command r", "models", "command-r-plus"),  # another model, of 35 billion parameters
        ("V100", "hardware", "v100-sxm-16gb, v100-sxm-32gb"),
        ("MI300", "hardware", "mi300x"),
        ("NVIDIA GeForce RTX 4060 Ti", "hardware", "rtx-4060-ti-16gb"),  # of 8 GB or 16
    ],
)
def test_a_name_of_several_is_answered_with_them(typed, kind, suggested):
    with pytest.raises(InputError, match=f"did you mean {suggested}"):
        ENTRIES.find(typed, kind)


def test_a_card_that_is_like_none_has_no_suggestion():
    """A K80 is no T4, though both names end a Tesla's."""
    with pytest.raises(InputError, match="'Tesla K80'; list them"):
        ENTRIES.find("Tesla K80", "hardware")


def test_every_nvidia_card_is_found_without_hyphens():
    cards = [name for name in ENTRIES.names("hardware") if name.startswith("rtx-")]
    assert len(cards) > 10
    for card in cards:
        assert ENTRIES.hardware(card.replace("-", "", 1)).id == card
        assert ENTRIES.hardware(card.replace("-", " ")).id == card


def test_every_apple_chip_is_found_without_its_maker():
    names = [name for name in ENTRIES.names("hardware") if name.startswith("apple-")]
    assert all(ENTRIES.hardware(name.removeprefix("apple-")).id == name for name in names)


@pytest.mark.parametrize(
    "typed", ["qwen-38b", "llama-3-18b", "apple", "nvidia", "h-", "", " ", "rtx", "qwen3.-8b"]
)
def test_digits_keep_their_hyphens_and_a_part_of_a_name_is_none(typed):
    """Else qwen3-8b would be a model of 38 billion parameters, and 3-18b one of 3.1."""
    with pytest.raises(InputError):
        ENTRIES.find(typed, "models" if "8b" in typed else "hardware")


def test_no_two_entries_are_spelled_alike():
    for kind in ("hardware", "models", "engines"):
        entries = {alias: path.stem for alias, path in ENTRIES._by_alias(kind).items()}
        owners = {(spelling(alias), entry) for alias, entry in entries.items()}
        counts = Counter(spelling for spelling, _ in owners)
        assert max(counts.values()) == 1


def test_models_may_be_separated_by_commas(tmp_path, monkeypatch):
    both = fastcalc.compare("llama-3.1-8b, qwen3_8b", on="h100-sxm", batch=1)
    assert [row["model"] for row in both.records] == ["llama-3.1-8b", "qwen3-8b"]
    assert (
        both.records == fastcalc.compare("llama-3.1-8b", "qwen3-8b", on="h100-sxm", batch=1).records
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b.yaml").write_text("extends: llama-3.1-8b\nid: own\n")
    (record,) = fastcalc.compare("a,b.yaml", on="h100-sxm", batch=1).records
    assert record["model"] == "own"


@pytest.mark.parametrize(
    ("flag", "remedy"),
    [
        ("--isl", "--prompt TOKENS"),
        ("--osl", "--output TOKENS"),
        ("--concurrency", "--batch SEQUENCES"),
        ("--max-concurrency", "--batch SEQUENCES"),
    ],
)
def test_flags_of_benchmark_tools_are_named_with_those_of_here(flag, remedy, capsys, monkeypatch):
    ran = run_once("compare", "phi-4", flag, "1", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert " ".join(ran.err.split()) == f"fastcalc: there is no option {flag}; write {remedy}"


def test_a_gguf_file_that_is_not_there_is_asked_for_without_a_format_in_its_name(
    capsys, monkeypatch
):
    server = "llama-server -m Qwen3-8B.gguf"
    ran = run_once(
        "fit", "--server", server, "--on", "rtx-4090", capsys=capsys, monkeypatch=monkeypatch
    )
    assert ran.code == 2
    assert "its header is read, so give the path to it, or its repository" in ran.err
    assert "org/repo:Q4_K_M, after -hf in a server's command" in ran.err


def test_a_gguf_file_of_another_machine_is_computed_by_its_name(capsys, monkeypatch):
    server = "llama-server -m /models/Qwen3-8B-Q4_K_M-00001-of-00002.gguf"
    ran = run_once(
        "fit", "--server", server, "--on", "rtx-4090", capsys=capsys, monkeypatch=monkeypatch
    )
    assert ran.code == 0
    assert "there is no such file; its name is computed as qwen3-8b" in ran.err
    assert "weights q4_k_m" in ran.out


# Sizes in GiB that llama-bench prints for gpt-oss-120b-F16.gguf and for the file of ggml-org
# (community.frame.work/t/73280, post 26). The repository's list of files has Q4_K_M with 58.46 GiB.
@every("name,gib", [("F16", 60.87), ("Q4_K_M", 58.46), ("mxfp4", 59.02)])
def test_gguf_files_keep_the_experts_of_gpt_oss(name, gib):
    (row,) = fastcalc.fit(f"unsloth/gpt-oss-120b-{name}.gguf", on="gb10")
    assert row["weights_gb"] == pytest.approx(gib * 1.024**3, rel=0.01)


def test_files_are_read_for_their_aliases_once(tmp_path, monkeypatch):
    """Each look-up once read every file again, most of the files that `validate` read."""
    file = tmp_path / "l4.yaml"
    file.write_bytes(Path("hardware/l4.yaml").read_bytes())
    catalogue, opened, read_bytes = Catalogue({"hardware": (tmp_path,)}), [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(path) or read_bytes(path))
    assert {"l4"} < catalogue.known("hardware") == catalogue.known("hardware")
    assert opened.count(file) == 1
