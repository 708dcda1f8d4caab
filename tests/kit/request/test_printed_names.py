"""Names as drivers, clouds and Hugging Face print them, and which engine runs what is asked."""

import re

import pytest

import fastcalc
from fastcalc.catalogue.store import Catalogue
from fastcalc.importers.instances import instances, printed_chip, stated_count
from tests.helpers import every, run


@pytest.mark.thorough
@every(
    "name,chip,chips",
    [
        ("NVIDIA GeForce RTX 3090", "rtx-3090", None),
        ("NVIDIA H100 80GB HBM3", "h100-sxm", None),
        ("AMD Instinct MI300X", "mi300x", None),
        ("8xh100", "h100-sxm", 8),
        ("rtx-3090 x 2", "rtx-3090", 2),
        ("a3-highgpu-8g", "h100-sxm", 8),
        ("p5.48xlarge", "h100-sxm", 8),
        # As nvidia-smi and rocm-smi print them; a GH200 has 480 GB beside its 96 GB of HBM3.
        ("NVIDIA GH200 480GB", "gh200-96gb", None),
        ("NVIDIA GH200 144G HBM3e", "gh200-144gb", None),
        ("NVIDIA B300 SXM6 AC", "b300", None),
        ("NVIDIA GeForce RTX 3060", "rtx-3060-12gb", None),
        ("AMD Radeon 8060S Graphics", "ryzen-ai-max-395", None),
        ("AMD Instinct MI300X VF", "mi300x", None),
        ("NVIDIA A10G", "a10g", None),
        ("g5.12xlarge", "a10g", 4),
        ("NVIDIA H200 NVL", "h200-nvl", None),
        ("g4dn.12xlarge", "t4", 4),
        ("trn2.48xlarge", "trainium-2", 16),
        ("inf2.48xlarge", "inferentia-2", 12),
        ("Standard_NC48ads_A100_v4", "a100-pcie-80gb", 2),
        ("g2-standard-48", "l4", 4),
    ],
)
def test_chips_as_printed_are_found_and_counted(name, chip, chips):
    (record,) = fastcalc.fit("qwen3-8b", on=name)
    assert record["hardware"] == chip
    assert chips is None or record["chips"] == chips


# Accelerators of each type as the three clouds list them in November 2026.
COUNTS = {
    1: "g5.xlarge g5.2xlarge g5.4xlarge g5.8xlarge g5.16xlarge "
    "p5.4xlarge trn1.2xlarge inf2.xlarge inf2.8xlarge g4dn.xlarge g4dn.16xlarge g6e.xlarge "
    "g6.xlarge g2-standard-4 g2-standard-32 a3-highgpu-1g a2-ultragpu-1g Standard_NC40ads_H100_v5 "
    "Standard_NC24ads_A100_v4 g4dn.2xlarge g4dn.4xlarge g4dn.8xlarge g2-standard-8 g2-standard-12 "
    "g2-standard-16 a2-highgpu-1g",
    2: "g2-standard-24 a3-highgpu-2g a2-ultragpu-2g a2-highgpu-2g Standard_NC80adis_H100_v5 "
    "Standard_NC48ads_A100_v4",
    4: "g5.12xlarge g5.24xlarge g4dn.12xlarge g6e.12xlarge g6.12xlarge g2-standard-48 a3-highgpu-4g a2-ultragpu-4g "
    "a2-highgpu-4g Standard_NC96ads_A100_v4",
    6: "inf2.24xlarge",
    8: "g5.48xlarge p6-b200.48xlarge p6-b300.48xlarge p5en.48xlarge p5e.48xlarge p5.48xlarge p4de.24xlarge "
    "p4d.24xlarge g4dn.metal g6e.48xlarge g6.48xlarge g2-standard-96 a4-highgpu-8g a3-ultragpu-8g "
    "a3-megagpu-8g a3-highgpu-8g a2-ultragpu-8g a2-highgpu-8g Standard_ND96isr_H200_v5 "
    "Standard_ND96isr_H100_v5 Standard_ND96amsr_A100_v4 Standard_ND96asr_v4 "
    "Standard_ND96isr_MI300X_v5",
    12: "inf2.48xlarge",
    16: "trn2.48xlarge trn1.32xlarge",
}


@every("count,names", COUNTS.items())
def test_a_cloud_says_how_many_accelerators_a_machine_has(count, names):
    for name in names.split():
        assert stated_count(f" {name} ") == count, name


def test_every_machine_of_a_cloud_is_counted_here():
    assert {name.lower() for names in COUNTS.values() for name in names.split()} == {*instances()}


@every(
    "text,count",
    [("8xh100", 8), ("h100 x 4", 4), ("h100:2", 2), ("H100 * 16", 16), ("0xh100", None), ("9999xh100", 9999),
     ("10000xh100", None), ("h100x2", None), ("h100", None)],
)  # fmt: skip
def test_a_count_stands_before_or_after_a_name(text, count):
    assert stated_count(text) == count


@every(
    "text,chip",
    [("3090", "rtx-3090"), ("2x3080 Ti", "rtx-3080-ti"), ("4070-ti", "rtx-4070-ti"),
     ("rtx-3090", "rtx-3090"), ("3091", None), ("6090", None)],
)  # fmt: skip
def test_a_geforce_card_may_be_named_by_its_number(text, chip):
    assert printed_chip(text, Catalogue()) == chip


@every(
    "name,model,stored",
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b", "bf16"),
        ("models--Qwen--Qwen3-8B/snapshots/0123abc", "qwen3-8b", "bf16"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "llama-3.1-8b", "bf16"),
        ("Qwen/Qwen3-8B-FP8", "qwen3-8b", "fp8"),
        ("Qwen/Qwen3-VL-30B-A3B-Instruct-FP8", "qwen3-vl-30b-a3b", "fp8"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl-7b", "bf16"),
        ("Qwen/Qwen3-30B-A3B-Thinking-2507", "qwen3-30b-a3b-2507", "bf16"),
    ],
)
def test_repositories_are_taken_as_the_model_that_they_hold(name, model, stored):
    (record,) = fastcalc.fit(name, on="h100-sxm")
    assert (record["model"], record["weight_format"]) == (model, stored)


def test_what_nobody_knows_is_still_refused():
    for on in ("9xnothing", "NVIDIA Nothing"):
        with pytest.raises(fastcalc.InputError, match="no hardware is called"):
            fastcalc.fit("qwen3-8b", on=on)
    with pytest.raises(fastcalc.InputError, match="there is no such file"):
        fastcalc.fit("someone/unheard-of", on="h100-sxm")


def test_flags_of_vllm_choose_it():
    """A card of consumers runs llama.cpp unless limits are given by vLLM's names."""
    (plain,) = fastcalc.fit("qwen3-8b", on="rtx-3090")
    (limited,) = fastcalc.fit("qwen3-8b", on="rtx-3090", max_model_len=8192)
    (named,) = fastcalc.fit("qwen3-8b", on="rtx-3090", max_model_len=8192, engine="llama-cpp")
    assert [row["engine"] for row in (plain, limited, named)] == ["llama-cpp", "vllm", "llama-cpp"]


def test_the_next_command_has_as_many_chips_as_the_name(capsys, monkeypatch):
    for on, ending in (("2xrtx-3090", "--chips 2"), ("rtx-3090", "")):
        ran = run("fit", "qwen3-8b", "--on", on, capsys=capsys, monkeypatch=monkeypatch)
        (line,) = (line for line in ran.out.splitlines() if line.startswith("next: "))
        assert line.rstrip().endswith(f"--on rtx-3090 {ending}".rstrip())


@pytest.mark.parametrize(
    ("tag", "sentence"),
    [
        ("UD-Q3_K_XL", "'ud-q3_k_xl' is not a weight format that fastcalc knows; did you mean"),
        ("latest", "unsloth/DeepSeek-R1-GGUF:latest: there is no such file"),
    ],
)
def test_a_quantization_that_is_unknown_is_said_to_be(tag, sentence):
    with pytest.raises(fastcalc.InputError, match=re.escape(sentence)):
        fastcalc.fit(f"unsloth/DeepSeek-R1-GGUF:{tag}", on="apple-m3-ultra-80")
