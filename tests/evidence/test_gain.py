"""Two versions of predictions compared by source, on made-up pairs."""

import csv
from math import log

import pytest

from benchmarks.gain import Pair, expectations, gain_of, pairs_of, table
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.validate import validate


def test_a_version_that_is_exact_gains_all_that_was_missing():
    """Twice too fast and twice too slow are equally far off."""
    gain = gain_of([Pair("part", "a", 2.0, 1.0), Pair("part", "b", 0.5, 1.0)])
    assert (gain.gain, gain.low, gain.high) == pytest.approx((2.0, 2.0, 2.0))
    assert (gain.better, gain.worse) == (2, 0)


def test_a_source_weighs_as_the_root_of_its_points():
    """Four points gain 2 and one loses 2: (2 x ln 2 - 1 x ln 2) / 3."""
    pairs = [Pair("part", "a", 2.0, 1.0)] * 4 + [Pair("part", "b", 1.0, 2.0)]
    gain = gain_of(pairs)
    assert log(gain.gain) == pytest.approx(log(2.0) / 3.0)
    assert (gain.better, gain.worse) == (1, 1)


def test_a_source_with_points_of_two_classes_is_one():
    """Its points gain and lose alike, so it gains nothing."""
    gain = gain_of([Pair("prefill", "a", 2.0, 1.0), Pair("served, dense", "a", 1.0, 2.0)])
    assert (gain.gain, gain.better, gain.worse) == (1.0, 0, 0)


def test_an_interval_holds_both_when_two_sources_disagree():
    """Of two sources drawn twice, a quarter of the draws is either one alone: beyond 5% each."""
    gain = gain_of([Pair("part", "a", 2.0, 1.0), Pair("part", "b", 1.0, 2.0)])
    assert (gain.low, gain.high) == pytest.approx((0.5, 2.0))


def test_times_count_as_rates_and_points_of_one_version_not_at_all(tmp_path):
    points = [point for point in shipped().points if point.id in ("accel-001", "accel-002")]
    predictions = validate(points, Catalogue()).predictions
    path = tmp_path / "before.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "expected"), *((p.id, 2.0 * p.value) for p in points)])
    before = expectations(path)
    assert [point.is_time for point in points] == [True, False]
    ratios = [pair.before for pair in pairs_of(predictions, before, before)]
    assert ratios == pytest.approx([0.5, 2.0])
    assert len(pairs_of(predictions, before, {"accel-001": 1.0})) == 1


def test_the_table_has_a_line_for_all_and_for_each_class():
    lines = table([Pair("prefill", "a", 2.0, 1.0), Pair("served, dense", "b", 1.0, 1.0)])
    assert [line.split(" | ")[0] for line in lines.splitlines()[2:]] == [
        "| all",
        "| prefill",
        "| served, dense",
    ]
    assert "| 2.000 / 2.00 | 2.00 | 1.000 / 1.00 | 1.00 | 2.000 | 2.000 to 2.000 | 1 / 0 |" in lines
