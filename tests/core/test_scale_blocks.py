"""Ranks that would cut blocks of weights with one scale each: vLLM does not start with them."""

from dataclasses import replace

import pytest

from fastcalc.core.placement.layout import Layout, LayoutError
from fastcalc.core.placement.legal import LegalLayouts
from fastcalc.core.scenario import Sharding
from tests.helpers import outcome

EIGHT = Sharding(tp=8)
STARTS = [
    # vLLM issues 17569, 25292, 52997, pull request 48173: 1,536 / 8 = 192, no multiple of 128
    ("minimax-m2.7", "fp8", 8, 4),
    ("qwen3-235b-a22b", "fp8", 8, 4),
    # pull request 44763: 768 / 4 = 192
    ("qwen3-30b-a3b", "fp8", 4, 2),
    # issue 52997, of the same shape: shared experts of 512 / 8 = 64
    ("qwen3.5-35b-a3b", "fp8", 8, 4),
]


def site_of(model: str, weights: str | None, engine: str = "vllm"):
    placement = outcome(model, "b200", engine=engine, weights=weights).placement
    return LegalLayouts(placement.machine, placement.work)


@pytest.mark.parametrize(("model", "weights", "fails", "starts"), STARTS)
def test_the_starts_that_were_reported(model, weights, fails, starts):
    site = site_of(model, weights)
    with pytest.raises(LayoutError, match=f"--tp {starts}|tp.*{starts}"):
        site.check(Layout(fails))
    site.check(Layout(starts))
    assert all(site.has_whole_blocks(layout) for layout in site.default_layouts)


def test_experts_that_are_spread_are_whole():
    found = outcome("qwen3-235b-a22b", "b200", engine="vllm", weights="fp8", sharding=EIGHT)
    assert found.placement.layout == Layout(8, ep=8)
    site = site_of("qwen3-235b-a22b", "fp8")
    assert site.check(Layout(8, ep=2)).ep == 2  # a rank has 1,536 / 4 = 3 x 128 columns of each
    shared = site_of("qwen3.5-35b-a3b", "fp8")
    with pytest.raises(LayoutError):
        shared.check(Layout(8, ep=8))  # its shared expert is on all ranks


@pytest.mark.parametrize(
    ("model", "weights", "engine"),
    [("qwen3-235b-a22b", "bf16", "vllm"), ("qwen3-235b-a22b", "fp8", "sglang")],
)
def test_what_has_no_blocks_is_cut_anywhere(model, weights, engine):
    assert site_of(model, weights, engine).check(Layout(8)).ep == 1


def test_models_without_blocks_have_their_layouts():
    site = site_of("qwen3-235b-a22b", "fp8")
    plain = replace(site.work, model=site.work.model.model_copy(update={"block_sizes": {}}))
    assert replace(site, work=plain).check(Layout(8)) == Layout(8)
