"""Which layout so many chips have where ranks are left open."""

import random
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.catalogue.store import Catalogue
from fastcalc.core import chosen_layouts
from fastcalc.core.placement.layout import Layout, LayoutError
from fastcalc.core.placement.practice import copies_run_by_people
from fastcalc.core.scenario import Sharding
from fastcalc.core.traffic.traffic import Traffic
from tests.core.test_overflow import records
from tests.helpers import outcome, run
from tests.strategies import examples

UNUSUAL = "is possible, but unusual"


def is_noted(solved) -> bool:
    return any(UNUSUAL in note for note in solved.warnings)


def test_chips_alone_have_a_layout_that_people_run():
    """Three copies of eight, not three stages of eight replicas, which nobody runs.

    Attention is replicated in each copy (docs.vllm.ai, recipe of DeepSeek-V3.2: eight
    tensor-parallel ranks pad their query heads), or of eight ranks, which is 2% slower.
    """
    solved = outcome("kimi-k2", "gb200", batch=(8,), sharding=Sharding(chips=24))
    assert solved.placement.layout == Layout(ep=8, dp=24)
    assert not is_noted(solved)


def test_chips_that_no_usual_layout_fits_have_a_legal_one_and_a_note():
    """Weights of 141 GB on chips of 126 GB usable: of three no copy fits one, but three stages do.

    Of six, three copies over pairs hold it, and whatever these do not hold does not fit.
    """
    bf16 = {"weights": "bf16", "prompt": 20_000}
    three, six = (
        outcome("llama-3.1-70b", "h200-sxm", batch=(1,), sharding=Sharding(chips=chips), **bf16)
        for chips in (3, 6)
    )
    assert three.placement.layout == Layout(pp=3)
    assert three.estimate.fits.all()
    (note,) = [note for note in three.warnings if UNUSUAL in note]
    assert "3 h200-sxm" in note
    assert six.placement.layout == Layout(tp=2, dp=3)
    assert not is_noted(six)
    beyond = outcome(
        "llama-3.1-70b",
        "h200-sxm",
        batch=(six.max_batch + 40,),
        sharding=Sharding(chips=6),
        **bf16,
    )
    assert not beyond.fits
    assert beyond.min_chips[0] == 8


def test_several_batches_of_a_model_that_no_usual_layout_holds(capsys, monkeypatch):
    """Its 673 GB do not fit usual groups of 24 GB cards; each batch is answered as if alone."""
    asked = ("compare", "deepseek-r1", "--on", "rtx-3090-ti", "--format", "json", "--batch")
    together = records(run(*asked, "1,8,64", capsys=capsys, monkeypatch=monkeypatch))
    alone = [
        records(run(*asked, batch, capsys=capsys, monkeypatch=monkeypatch))[0]
        for batch in ("1", "8", "64")
    ]
    assert [row["chips"] for row in together] == [row["chips"] for row in alone]
    assert together[0]["min_chips"] >= 673 / 24


def test_a_sweep_says_of_each_point_what_a_comparison_says(capsys, monkeypatch):
    """An unusual layout at one batch alone, and padded heads: notes that depend on the layout."""
    long = ("llama-3.1-70b", "--on", "h100-sxm", "--prompt", "20000", "--output", "1000")
    for asked in (
        (*long, "--chips", "6", "--weights", "bf16"),
        ("llama-2-13b", "--on", "inferentia-2", "--tp", "24"),
    ):
        words = (*asked, "--batch", "1,32", "--format", "json")
        swept, compared = (
            records(run(name, *words, capsys=capsys, monkeypatch=monkeypatch))
            for name in ("sweep", "compare")
        )
        assert [row["warnings"] for row in swept] == [row["warnings"] for row in compared]


def test_a_legal_layout_that_is_named_is_computed_whether_people_run_it_or_not():
    """Twenty random ones that nobody runs: heads divide by eight, and layers are more than stages."""
    rolled, unusual = random.Random(18), 0
    while unusual < 20:
        model = rolled.choice(("llama-3.1-70b", "deepseek-r1", "gpt-oss-120b", "qwen3-235b-a22b"))
        chip = rolled.choice(("h100-sxm", "h200-sxm", "b200", "mi300x"))
        tp, pp, dp = rolled.choice((1, 2, 4, 8)), rolled.randint(1, 20), rolled.randint(1, 9)
        solved = outcome(model, chip, sharding=Sharding(tp=tp, pp=pp, ep=1, dp=dp))
        layout = solved.placement.layout
        assert layout == Layout(tp=tp, pp=pp, dp=dp)
        assert not is_noted(solved)
        unusual += layout not in set(copies_run_by_people(solved.site, layout.chips))


DOMAINS = [("h100-sxm", 8), ("b200", 8), ("mi350x", 8), ("apple-m4-max", 4), ("gb200", 72)]


@examples(16)
@given(
    st.sampled_from(DOMAINS),
    st.sampled_from(["deepseek-r1", "llama-3.1-405b", "kimi-k2.5", "llama-3.1-70b", "llama-3-8b"]),
    st.sampled_from([None, 2, 8, 16, 32]),
    st.sampled_from([1, 8, 64, 256]),
    st.integers(2, 9),
)
def test_a_larger_domain_never_lowers_throughput(chip, model, chips, batch, times):
    """The layouts of the smaller one remain, at the same rate of links."""
    name, domain = chip
    hardware = Catalogue().hardware(name)
    up = hardware.links.scale_up
    assert up.domain.si == domain
    joined = up.model_copy(
        update={"domain": up.domain.model_copy(update={"si": domain * float(times)})}
    )
    links = hardware.links.model_copy(update={"scale_up": joined})
    larger = hardware.model_copy(update={"links": links})
    try:
        before = outcome(model, hardware, batch=(batch,), sharding=Sharding(chips=chips))
    except LayoutError:
        return
    after = outcome(model, larger, batch=(batch,), sharding=Sharding(chips=chips))
    if not before.estimate.fits[0]:
        return
    assert after.estimate.fits[0]
    assert after.placement.layout.chips <= before.placement.layout.chips
    if after.placement.layout.chips == before.placement.layout.chips:
        assert after.estimate.served[0] >= before.estimate.served[0] * (1 - 1e-9)


def test_beside_a_layout_that_holds_a_batch_for_certain_a_tight_one_is_no_choice(monkeypatch):
    """The first holds 4 sequences, and 12 if the engine reserves less; the second holds 10."""
    layouts = [Layout(tp=8), Layout(dp=8, ep=8)]
    held = SimpleNamespace(
        max_batch=np.array([[4.0], [10.0]]), edge_max_batch=np.array([[12.0], [10.0]])
    )
    monkeypatch.setattr(chosen_layouts, "open_placements", lambda *_: (layouts, held))
    monkeypatch.setattr(chosen_layouts, "Evaluation", lambda *_: None)
    site = SimpleNamespace(place_all=lambda *_, **__: held)
    found = chosen_layouts._choice(site, 8, np.array([4.0, 8.0, 12.0]), Traffic(1.0, 1.0, 1.0))
    assert found.holds.tolist() == [[True, False, True], [True, True, False]]


def test_of_tight_layouts_the_fastest_is_taken():
    """Eight RTX 3090 hold 141 GB and one sequence of 131,072 tokens only tightly, in any layout."""
    solved = outcome(
        "llama-3.1-70b", "rtx-3090", engine="vllm", batch=(1,), sharding=Sharding(chips=8)
    )
    assert solved.placement.layout == Layout(tp=8)
