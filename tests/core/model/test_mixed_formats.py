"""Bytes, rates and bounds of models whose groups of matrices have formats of their own."""

import pytest

from fastcalc.catalogue.formats import format_mix, number_format
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.rates import fastest_rate, working_rate
from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from tests.helpers import outcome

GPT_OSS = "gpt-oss-120b"
GB10_HEAD = "attention=mxfp4,head=mxfp4"


def test_bytes_are_those_of_each_group():
    """Llama 3.1 8B: 32 layers, width 4,096, networks of 14,336, 8 key-value heads of 128."""
    networks, attention = 32 * 3 * 4096 * 14336, 32 * 2 * 4096 * (4096 + 1024)
    tables, norms = 2 * 128256 * 4096, 65 * 4096
    work = workload(Catalogue().model("llama-3.1-8b"), "ffn=nvfp4,attention=fp8,head=int8")
    by_hand = (
        networks * 4.5 / 8
        + attention * (8 + 32 / 128**2) / 8
        + tables / 2
        + tables / 2 * 2
        + norms * 2
    )
    assert work.weight_bytes == pytest.approx(by_hand, rel=1e-12)
    assert work.weight_format == "bf16+attention=fp8+ffn=nvfp4+head=int8"


def test_a_mix_multiplies_one_format_after_the_other():
    """Half of the weights at each rate take as long as all at the harmonic mean."""
    chip, mix = Catalogue().hardware("h100-sxm"), format_mix("50%fp8/50%bf16")
    fp8, bf16 = (working_rate(chip, number_format(name)) for name in ("fp8", "bf16"))
    rate = working_rate(chip, mix)
    assert rate.peak == pytest.approx(2 / (1 / fp8.peak + 1 / bf16.peak))
    assert rate.is_unpacked == 0.0
    assert fastest_rate(chip, mix) == pytest.approx(rate.peak)
    # The A100 has no FP8 units: half of the weights are widened to 16 bits.
    old = Catalogue().hardware("a100-sxm-80gb")
    assert working_rate(old, mix).is_unpacked == 0.5


def test_three_measured_speeds_are_below_the_bound_of_their_formats():
    """58.8 to 60.7 tokens/s on a GB10, attention and head in MXFP4, too."""
    bounds = [float(outcome(GPT_OSS, "gb10", weights=name, prompt=0).estimate.bound[0])
              for name in ("mxfp4", GB10_HEAD)]  # fmt: skip
    assert bounds[0] < 58.8
    assert bounds[1] > 60.7


def test_the_name_of_a_published_mix_means_the_mix():
    """DeepSeek V4 is published with experts in MXFP4 and the rest in FP8, and called FP8."""
    model = Catalogue().model("deepseek-v4-flash")
    own = workload(model).weight_bytes
    assert {workload(model, name).weight_bytes for name in ("fp8", "mxfp4")} == {own}
    assert workload(model, "bf16").weight_bytes > 1.5 * own
    # gpt-oss in 16 bits is a checkpoint of its own.
    assert (
        workload(Catalogue().model(GPT_OSS), "bf16").weight_bytes
        > 3 * workload(Catalogue().model(GPT_OSS)).weight_bytes
    )


@pytest.mark.parametrize(
    ("model", "weights", "sentence"),
    [
        ("llama-3.1-8b", "experts=nvfp4", "llama-3.1-8b has no experts"),
        ("gpt-oss-120b", "bf16+shared_experts=fp8", "gpt-oss-120b has no shared_experts"),
    ],
)
def test_groups_that_a_model_lacks_are_refused(model, weights, sentence):
    with pytest.raises(InputError, match=sentence):
        workload(Catalogue().model(model), weights)
