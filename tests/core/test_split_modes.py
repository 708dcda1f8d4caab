"""Engines that have few layouts: llama.cpp splits layers over cards, or matrices where asked to.

Source: docs/multi-gpu.md of ggml-org/llama.cpp, November 2026.
"""

import numpy as np
import pytest

from fastcalc.core.placement.layout import Layout, LayoutError
from fastcalc.core.placement.practice import copies_run_by_people, run_by_people, usual_layouts
from fastcalc.core.scenario import Sharding
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.traffic import Traffic
from tests import made_up
from tests.helpers import every, outcome

MODES = [
    {"ranks": ["pp"], "flag": "-sm layer", "source": "none"},
    {"ranks": ["tp"], "flag": "-sm tensor", "source": "none"},
]
STAGED = made_up.engine().model_copy(
    update={
        "split_modes": made_up.Engine.model_validate(
            {"id": "staged", "name": "Staged", "fitted_on": "nothing", "split_modes": MODES}
        ).split_modes
    }
)
LAYERS = made_up.blocks(layers=40)
EXPERTS = made_up.blocks(
    blocks=[
        {
            "count": 40,
            "attention": {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 16},
            "ffn": {"kind": "moe", "experts": 8, "active_experts": 2, "width": 128},
        }
    ]
)


@every("model", [LAYERS, EXPERTS])
def test_only_stages_are_offered(model):
    """Eight chips in a domain would be tp 8, dp 8 or ep 8 under an engine that has them."""
    site = made_up.site(model, under=STAGED)
    assert {layout.several for layout in usual_layouts(site)} == {(), ("pp",)}
    assert {layout.several for layout in site.default_layouts} == {(), ("pp",)}
    for chips in (2, 3, 4, 6, 8):
        stages = [Layout(pp=chips)]
        assert list(run_by_people(site, chips)) == stages
        assert list(copies_run_by_people(site, chips)) == stages
        assert list(site.exactly(chips)) == stages


def test_layouts_are_kept_apart_by_engine():
    """The same model on the same chip: what one engine was offered is not what the other is."""
    both = [made_up.site(LAYERS, under=under) for under in (made_up.engine(), STAGED)]
    free, staged = (set(run_by_people(site, 4)) for site in both)
    assert Layout(tp=4) in free
    assert staged == {Layout(pp=4)}


@every(
    "sharding,layout",
    [
        (Sharding(chips=2), Layout(pp=2)),
        (Sharding(tp=2), Layout(tp=2)),
        (Sharding(pp=3), Layout(pp=3)),
        (Sharding(chips=2, tp=1), Layout(pp=2)),
        (Sharding(chips=2, tp=2), Layout(tp=2)),
    ],
)
def test_what_is_asked_of_llama_cpp(sharding, layout):
    asked = outcome(
        "llama-3.1-8b",
        "rtx-3090",
        engine="llama-cpp",
        weights="q4_k_m",
        sharding=sharding,
        batch=(1,),
    )
    assert asked.placement.layout == layout
    mode = "-sm tensor" if layout.tp > 1 else "-sm layer"
    rank = "tp" if layout.tp > 1 else "pp"
    assert any(f"llama-cpp runs {rank} layouts with {mode}" in note for note in asked.warnings)


@every(
    "sharding,sentence",
    [
        (Sharding(ep=2), "llama.cpp has no expert-parallel ranks"),
        (Sharding(dp=2), "llama.cpp has no data-parallel ranks"),
        (Sharding(tp=2, pp=2), "llama.cpp does not combine"),
        (Sharding(chips=4, tp=2), "is not tp x pp x dp"),
    ],
)
def test_what_llama_cpp_does_not_have_is_refused(sharding, sentence):
    with pytest.raises(LayoutError, match=sentence):
        outcome("mixtral-8x7b", "rtx-3090", engine="llama-cpp", weights="q4_k_m", sharding=sharding)


def test_two_cards_decode_as_fast_as_they_were_measured():
    """16.57 tokens/s of Llama 3 70B in q4_k_m on two RTX 3090 (evidence/measured.csv, xdai-027)."""
    two = outcome(
        "llama-3-70b",
        "rtx-3090",
        engine="llama-cpp",
        weights="q4_k_m",
        prompt=1,
        output=512,
        sharding=Sharding(chips=2),
        batch=(1,),
    )
    assert 1.0 / two.estimate.tpot[0] == pytest.approx(16.57, rel=0.1)


def test_more_users_take_more_cards_rather_than_copies():
    """Copies are servers of their own: what one server cannot hold needs more stages."""
    many = outcome("llama-3.1-70b", "rtx-3090", engine="llama-cpp", weights="q4_k_m", batch=(32,))
    assert many.placement.layout == Layout(pp=many.placement.layout.chips)


@every("most,milliseconds", [(None, 15.1), (1, 20.1)])
def test_stages_take_turns_where_one_micro_batch_is_in_flight(most, milliseconds):
    """Ten layers of 1 ms, 0.01 ms a sequence and a hop of 0.1 ms: 500 in each stage, or all."""
    limit = {} if most is None else {"micro_batches": most}
    clock = made_up.engine(decode_layer_floor="1 ms", prefill_layer_floor="2 ms", **limit)
    placed = made_up.placed(
        made_up.minimal(), Layout(pp=2), on=made_up.clocked(), under=clock, reserved=2.0
    )
    passes = Schedule(placed, Traffic(1.0, 1.0, 1.0), np.array([1000.0]))
    assert float(passes.decode.seconds[0]) * 1e3 == pytest.approx(milliseconds, rel=1e-3)
