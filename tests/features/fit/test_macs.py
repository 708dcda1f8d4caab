"""Memory that macOS gives the GPU, and what fits once its limit is raised."""

import pytest

import fastcalc
from fastcalc.core.assumed_share import chips_with_raised_limit
from tests.helpers import outcome, run


@pytest.mark.parametrize(
    ("model", "weights", "chip", "chips", "raised"),
    [
        # 61.1 GB of weights in 0.75 x 64 GiB = 51.5 GB
        ("qwen3-30b-a3b", "bf16", "apple-m4-pro", 2, 1),
        # 15.2 GB in 10.67 GiB = 11.5 GB, and no cable joins two
        ("qwen2.5-7b", "bf16", "apple-m1", None, 1),
        # 404 GB in 0.75 x 512 GiB = 412 GB, of which llama.cpp fills 97%
        ("deepseek-r1", "q4_k_m", "apple-m3-ultra-80", 2, 1),
        # 107.5 of 128 GiB: 115 GB
        ("gpt-oss-120b", "mxfp4", "apple-m4-max", 1, None),
        # twice 80 GB at 16 bits: the limit changes nothing
        ("llama-3.1-405b", "bf16", "apple-m1", None, None),
    ],
)
def test_macs_hold_what_macos_gives_their_gpu(model, weights, chip, chips, raised):
    found = outcome(model, chip, engine="llama-cpp", weights=weights)
    assert (found.placement.layout.chips if found.fits else None) == chips
    assert chips_with_raised_limit(found) == raised


def test_the_first_screen_says_what_raises_the_limit(capsys, monkeypatch):
    def ran_of(*words):
        return run(*words, capsys=capsys, monkeypatch=monkeypatch)

    ran = ran_of("fit", "qwen3-30b-a3b", "--on", "apple-m4-pro", "--weights", "bf16")
    said = " ".join(ran.out.split())
    assert (
        "macOS gives the GPU 75% of the memory of apple-m4-pro: with iogpu.wired_limit_mb" in said
    )
    assert "(--set apple-m4-pro:memory.unified.reported=1) it fits on one." in said
    change = "apple-m4-pro:memory.unified.reported=1"
    again = ran_of("fit", "qwen3-30b-a3b", "--on", "apple-m4-pro", "--set", change)
    assert again.out.startswith("qwen3-30b-a3b fits at batch 1 on one apple-m4-pro.")
    of_compare = ran_of("compare", "qwen3-30b-a3b", "--on", "apple-m4-pro")
    assert "with iogpu.wired_limit_mb raised" in " ".join(of_compare.out.split())


def test_others_have_no_limit_to_raise():
    assert chips_with_raised_limit(outcome("llama-3.1-70b", "h100-sxm")) is None


def test_vllm_on_a_mac_is_said_to_need_its_plugin():
    """docs.vllm.ai, installation on GPUs: Apple Silicon by vLLM-Metal."""
    answers = (
        fastcalc.fit("qwen3-8b", on="apple-m4-max", engine=engine) for engine in ("vllm", "mlx")
    )
    assert ["plugin vLLM-Metal" in str(answer) for answer in answers] == [True, False]
    (row,) = fastcalc.compare("qwen3-8b", on="apple-m4-max", engine="vllm", batch=1)
    assert any("plugin vLLM-Metal" in warning for warning in row["warnings"])
