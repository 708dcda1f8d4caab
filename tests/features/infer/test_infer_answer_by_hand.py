"""Sentences of an inference from made-up regions."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import fastcalc as fc
from fastcalc.features.infer import answer
from fastcalc.features.infer.answer import InferAnswer
from fastcalc.features.infer.inverse import SIDES, Region, _chance, _error
from tests.helpers import every

BATCH, HARDWARE, MARKUP = ("smaller batch",), ("other hardware",), ("higher markup",)


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def region(tricks, *, samples=500, changed=1.0, share=0.01, is_thin=False, at_edge=()):
    return SimpleNamespace(
        tricks=tricks, own=["chips_ratio", "fast_chip"] if HARDWARE[0] in tricks else [],
        is_found=samples > 0, is_thin=is_thin, weights=[1.0] * samples, share=share,
        changed_chip=changed, at_edge=at_edge, values={"chip": np.array([1.0, 0.0, 1.0])},
    )  # fmt: skip


def infer(regions, minimal=(), *, chips=("a", "b"), decided=(), wide=False):
    inverse = SimpleNamespace(
        regions=regions, minimal=list(minimal), points=1000, decided_by=lambda: decided,
        chip_kinds=SimpleNamespace(names=chips),
    )  # fmt: skip
    found = InferAnswer(request=SimpleNamespace(wide=wide), inverse=inverse)
    found.__dict__["reasons"] = []
    return found


def test_other_hardware_is_more_chips_or_also_another_type():
    rows = [
        region(HARDWARE, changed=1.0),
        region(HARDWARE + MARKUP, changed=0.5),
        region(BATCH + HARDWARE, changed=0.0),
        region(BATCH),
    ]
    start = "other hardware means more chips, which are of another type in "
    whole = (
        "all matches of 'other hardware', some matches of 'other hardware + higher markup' "
        "and no matches of 'smaller batch + other hardware'"
    )
    assert [*infer(rows)._other_hardware()] == [start + whole]
    assert [*infer([region(HARDWARE, samples=0)])._other_hardware()] == []
    (only,) = infer(rows, chips=("a",))._other_hardware()
    assert only == "other hardware here means more chips of one type: only a was tried"


def test_the_page_has_combinations_of_two_techniques_and_the_smallest_that_suffice():
    rows = [region(BATCH), region(BATCH + MARKUP), region(BATCH + MARKUP + HARDWARE)]
    assert [one.region for one in infer(rows).listed] == rows[:2]
    assert [one.region for one in infer(rows, rows[2:]).listed] == rows
    assert [one.region for one in infer(rows, wide=True).listed] == rows


@every(
    "minimal,sentence",
    [
        ([region(BATCH)], "Simplest explanation of the fast tier: a smaller batch."),
        (
            [region(BATCH), region(HARDWARE)],
            "Simplest explanations of the fast tier: a smaller batch or other hardware. "
            "Speeds and prices alone cannot tell which.",
        ),
        (
            [region(BATCH), region(HARDWARE + MARKUP)],
            "Simplest explanations of the fast tier: a smaller batch or other hardware together with a higher markup. "
            "Speeds and prices alone cannot tell which.",
        ),
        (
            [region(HARDWARE + MARKUP)],
            "Simplest explanation of the fast tier: other hardware together with a higher markup; no technique alone could explain it.",
        ),
        (
            [region(BATCH, samples=7, is_thin=True, at_edge=["batch_ratio"])],
            "Simplest explanation of the fast tier: a smaller batch (few matches).",
        ),
    ],
)
def test_the_headline_names_what_could_explain_both_tiers(minimal, sentence):
    rows = [*minimal, region(MARKUP)]
    assert infer(rows, minimal).headline() == sentence


TWO = [region(BATCH), region(HARDWARE)]


@every(
    "decided,sentence",
    [
        ([("batch_ratio", 0.75, 0.001), ("active", 0.72, 0.001)], "the batch of each tier"),
        # Within 0.025, or two standard errors, numbers are as good.
        ([("batch_ratio", 0.75, 0.001), ("kept_ratio", 0.73, 0.001)], "the batch or the tokens per step of each tier"),
        ([("batch_ratio", 0.75, 0.02), ("kept_ratio", 0.715, 0.02)], "the batch or the tokens per step of each tier"),
        ([("batch_ratio", 0.75, 0.02), ("kept_ratio", 0.705, 0.02)], "the batch of each tier"),
    ],
)  # fmt: skip
def test_what_would_decide_between_explanations(decided, sentence):
    (note,) = infer(TWO, TWO, decided=decided).deciding()
    assert re.fullmatch(
        r"choosing among the 2 explanations of the headline by chance is right in 50% of cases. It would be right in 7\d*% "
        f"if the provider published {sentence}",
        note,
    )


def test_one_explanation_needs_no_decision_and_few_samples_make_none():
    assert [*infer(TWO, TWO[:1]).deciding()] == []
    (note,) = infer(TWO, TWO, decided=[("batch_ratio", 1.0, float("inf"))]).deciding()
    assert note.startswith("too few samples match to find the number that would distinguish")


@every(
    "share,text", [(0.0, "0"), (1e-3, "1e-03"), (2e-3, "2e-03"), (4e-3, "5e-03"), (8e-3, "1e-02")]
)
def test_a_volume_is_told_to_a_third_of_a_power_of_ten(share, text):
    """1, 2.15 and 4.64 times a power of ten."""
    assert answer._volume(SimpleNamespace(region=region(BATCH, share=share))) == text


def test_a_row_of_few_samples_is_marked():
    few, many = (infer([region(BATCH, is_thin=thin)]).combinations[0] for thin in (True, False))
    assert answer._samples(few) == "500 !"
    assert answer._samples(many) == "500"
    none = infer([region(BATCH, samples=0, is_thin=True)]).combinations[0]
    assert answer._samples(none) == "0"
    assert few.chips("chip") == "a b"


def chance(*values):
    regions = [
        SimpleNamespace(weights=np.ones(len(group)), share=float(len(group))) for group in values
    ]
    return _chance(regions, [np.array(group) for group in values])


def test_a_number_names_the_explanation_as_often_as_its_bin_is_likelier():
    """Four bins of equal counts, and one of ratios of exactly 1."""
    assert chance([1.0, 1.0], [2.0, 3.0, 4.0, 5.0]) == 1.0
    # 2 is in the first of four bins, of which the other explanation has a quarter in each.
    assert chance([2.0], [2.0, 3.0, 4.0, 5.0]) == (1.0 + 3 / 4) / 2
    assert chance([1.0], [1.0]) == 0.5
    assert chance([2.0, 3.0], [2.0, 3.0]) == 0.5


def test_an_error_needs_every_fold():
    """Eight estimates of 0 and 2: the variance is 1, times 7."""
    assert _error([0.0, 2.0] * 4) == np.sqrt(7.0)
    assert _error([1.0] * 7) == float("inf")


@pytest.mark.parametrize(
    ("name", "own", "samples", "band"),
    [
        # A ratio is told where the tiers differ by it; other numbers in any case.
        ("batch_ratio", ["batch_ratio"], 500, "2.0..8.0"),
        ("batch_ratio", [], 500, "-"),
        ("batch", [], 500, "2.0..8.0"),
        ("batch", ["batch"], 0, "-"),
    ],
)
def test_a_band_is_told_where_both_tiers_may_differ(name, own, samples, band):
    found = region(BATCH, samples=samples)
    found.own, found.band, found.band_error = own, lambda _: (2.0, 8.0), lambda _: (0.01, 0.01)
    found.ends = lambda _: (1.0, 9.0)
    (combination,) = infer([found]).combinations
    side = SimpleNamespace(name=name, factor=1.0)
    assert combination.band(side).replace("2.00", "2.0").replace("8.00", "8.0") == band
    ends = [combination.end(side, key) for key in ("least", "low", "high", "most")]
    assert ends == ([1.0, 2.0, 8.0, 9.0] if samples else [None] * 4)


@every(
    "wide,is_found,tables", [(False, True, 1), (True, True, 2), (True, False, 1), (False, False, 1)]
)
def test_a_wide_page_has_the_range_of_each_number(wide, is_found, tables, monkeypatch):
    monkeypatch.setattr(answer.record_tables, "table", lambda _, rows, __: ("table", rows))
    monkeypatch.setattr(answer, "_columns_of_box", lambda region: region)
    made = SimpleNamespace(
        request=SimpleNamespace(wide=wide), headline=lambda: "headline", listed="listed",
        inverse=SimpleNamespace(
            published=SimpleNamespace(speeds=(65.0, 170.0), prices=(25.0, 150.0)),
            whole=SimpleNamespace(is_found=is_found),
        ),
    )  # fmt: skip
    body = [*InferAnswer.body(made, SimpleNamespace(width=80))]
    assert body[:3] == [
        "headline", "", "One model, two tiers: 65 tokens/s at $25/Mtok and 170 tokens/s at $150/Mtok of output"
    ]  # fmt: skip
    assert [part for part in body if part[:1] == ("table",)] == [
        ("table", "listed"), *[("table", answer.BOX)] * (tables - 1)
    ]  # fmt: skip


RANGES = {
    "active": (10e9, 400e9, "B"), "sparsity": (1, 32, ""), "cache": (0.05e9, 10e9, "GB"),
    "floor": (1e-3, 20e-3, "ms"), "reach": (0.4, 0.9, ""), "chips": (4, 128, ""),
    "batch": (1, 4096, ""), "kept": (1, 3, ""), "markup": (0.5, 50, ""),
    "batch_ratio": (1, 256, "x"), "kept_ratio": (1, 3, "x"), "chips_ratio": (1, 4, "x"),
    "markup_ratio": (1, 50, "x"),
}  # fmt: skip
"""What is searched of each number that nobody publishes: from models of 10 to 400 GB to markups of 50."""


def test_the_box_of_all_services_is_as_documented():
    """Shares of a cache and of memory bandwidth are spread evenly, all else in equal ratios."""
    assert {side.name: (side.low, side.high, side.unit) for side in answer.BOX} == RANGES
    assert {side.name for side in answer.BOX if side.is_even} == {"reach", "kept"}
    for side in answer.BOX:
        assert float(side.at(0.0)) == pytest.approx(side.low)
        assert float(side.at(1.0)) == pytest.approx(side.high)
        middle = (side.low + side.high) / 2 if side.is_even else (side.low * side.high) ** 0.5
        assert float(side.at(0.5)) == pytest.approx(middle)
        assert float(side.share(middle)) == pytest.approx(0.5)
    factors = {side.unit: side.factor for side in answer.BOX}
    assert factors == {"B": 1e-9, "GB": 1e-9, "ms": 1e3, "": 1.0, "x": 1.0}


@every(
    "values,weights,band,ends",
    [
        ([1.0, 2.0, 3.0, 4.0], [0.2, 0.6, 0.15, 0.05], (1.0, 3.0), (1.0, 4.0)),
        # Whatever their order, and whatever share of the box they are.
        ([4.0, 2.0, 1.0, 3.0], [0.005, 0.06, 0.02, 0.015], (1.0, 3.0), (1.0, 4.0)),
        ([1.0, 2.0, 3.0, 4.0], [0.05, 0.1, 0.15, 0.7], (2.0, 4.0), (1.0, 4.0)),
        ([7.0], [0.3], (7.0, 7.0), (7.0, 7.0)),
    ],
)
def test_a_band_is_from_the_tenth_percentile_to_the_ninetieth(values, weights, band, ends):
    found = Region(BATCH, {"batch": np.array(values)}, np.array(weights))
    assert (found.band("batch"), found.ends("batch")) == (band, ends)


@every("shares,is_at_edge", [((0.8, 0.9, 0.95), True), ((0.7, 0.9, 0.95), False)])
def test_a_band_that_begins_in_the_last_quarter_of_a_range_is_at_its_edge(shares, is_at_edge):
    side = SIDES["batch_ratio"]
    values = np.array([side.low * (side.high / side.low) ** share for share in shares])
    found = Region(BATCH, {"batch_ratio": values}, np.full(3, 0.1))
    assert found.at_edge == ("batch_ratio",) * is_at_edge


def test_the_mean_width_leaves_out_what_the_tiers_have_in_common():
    """Bands over whole ranges; the ratios of other techniques are 1 throughout."""
    free = {name for name in SIDES if not name.endswith("_ratio")} | {"batch_ratio"}
    values = {
        name: np.array([side.low, side.high] if name in free else [1.0, 1.0])
        for name, side in SIDES.items()
    }
    assert Region(BATCH, values, np.full(2, 0.1)).mean_width == pytest.approx(1.0)


@every("samples,left", [(15, [15]), (16, [14] * 8), (17, [14, *[15] * 7])])
def test_an_error_is_estimated_by_eight_folds_of_at_least_two_samples(samples, left):
    """Of 17 samples the first fold has three."""
    values = np.arange(float(samples))
    found = Region(BATCH, {"batch": values}, np.full(samples, 0.1)).folds
    assert [len(fold.weights) for fold in found] == left
    assert all(len(fold.values["batch"]) == len(fold.weights) for fold in found)


@every(
    "asked,sentence",
    [
        ({"speeds": "65"}, "speeds '65' is not two numbers; write for example 65,170"),
        ({"speeds": "65,x"}, "speeds '65,x' is not two numbers; write for example 65,170"),
        ({"prices": "1,2,3"}, "prices '1,2,3' is not two numbers; write for example 65,170"),
        ({"prices": "0,1"}, "prices 0 is not a number from 1e-12 to 1e+09; write for example 65"),
        ({"speeds": "170,65"}, "speeds 170,65: write the slow tier first, and a faster one"),
        ({"speeds": "65,65"}, "speeds 65,65: write the slow tier first, and a faster one"),
        ({"tolerance": 0}, "tolerance 0 is not a number from 1e-06 to 0.5; write for example 0.15"),
        ({"tolerance": 0.51}, "tolerance 0.51 is not a number from 1e-06 to 0.5; write for example 0.15"),
        ({"points": 999}, "points 999 is not a whole number from 1,000 to 4,000,000; write for example 100000"),
        ({"points": 4_000_001}, "points 4000001 is not a whole number from 1,000 to 4,000,000; write for example 100000"),
        ({"on": "wse-3"}, "on wse-3: a spatial chip has no textbook step; remove it"),
    ],
)  # fmt: skip
def test_what_cannot_be_inferred_is_refused(asked, sentence):
    with pytest.raises(fc.InputError) as error:
        fc.infer(**asked)
    assert str(error.value) == sentence


def test_where_nothing_matches_the_answer_is_no():
    """A fast tier 100 times as fast for the same price; the exit code is 1."""
    found = fc.infer(speeds=(65, 6500), prices=(25, 25), points=1000, tolerance=0.01)
    assert (
        str(found)
        .splitlines()[0]
        .startswith(
            "None of 1,000 services tried is consistent with these speeds and prices within 1%"
        )
    )
    assert not any(row["suffices"] for row in found.records)
