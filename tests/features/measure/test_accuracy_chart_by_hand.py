"""The chart of predictions against measurements, of made-up predictions."""

from types import SimpleNamespace

import numpy as np

from fastcalc.features.measure import accuracy_chart as page


def prediction(measured, expected, *, part="decode", is_time=False, low=0.5, high=2.0, beats=False):
    """A prediction with a range from half to twice of it, unless told otherwise."""
    ends = (None, None) if low is None else (low * expected, high * expected)
    point = SimpleNamespace(
        value=measured, is_time=is_time, id="p", model="m", hardware="h", metric="x", concurrency=1,
        source="s",
    )  # fmt: skip
    return SimpleNamespace(
        point=point, expected=expected, low=ends[0], high=ends[1], part=part, engine_used="vllm",
        factor=max(measured / expected, expected / measured), beats_bound=beats,
        is_covered=low is not None and ends[0] <= measured <= ends[1],
    )  # fmt: skip


def test_classes_have_panels_rates_before_times_and_the_largest_first():
    rows = [
        prediction(1.0, 1.0, part=part, is_time=time)
        for part, time in [("a", True)] * 3 + [("b", False)] + [("c", False)] * 2
    ]
    drawn = page.accuracy({"fit": rows, "none": []})
    assert [panel.title.split("\n")[0] for panel in drawn.panels] == ["c", "b", "a"]
    assert [panel.title.split("\n")[1].split(",")[0] for panel in drawn.panels] == [
        "2 rates",
        "1 rate",
        "3 times",
    ]
    assert drawn.finding == "Fit: 6 points, half within a factor of 1.00, 100% in their 80% range."
    assert drawn.grounds == "Engines: vllm."


def test_both_axes_span_all_values_and_a_factor_of_two():
    (panel,) = page.accuracy({"": [prediction(10.0, 40.0), prediction(20.0, 20.0)]}).panels
    assert panel.across.low <= 10.0
    assert panel.across.high >= 40.0
    assert (panel.across.low, panel.across.high) == (panel.upward.low, panel.upward.high)
    (panel,) = page.accuracy({"": [prediction(10.0, 10.0)]}).panels
    assert panel.across.low <= 7.0
    assert panel.across.high >= 14.0


def test_the_band_is_the_median_range_about_equal_values():
    rows = [
        prediction(1.0, 1.0, low=low, high=high)
        for low, high in ((0.5, 2.0), (0.8, 1.25), (0.9, 4.0))
    ]
    (panel,) = page.accuracy({"": [*rows, prediction(1.0, 1.0, low=None)]}).panels
    line = panel.series[0]
    np.testing.assert_allclose(line.low, line.x / 2.0)
    np.testing.assert_allclose(line.high, line.x / 0.8)
    assert panel.title.endswith("4 rates, 75% inside")
    (bare,) = page.accuracy({"": [prediction(1.0, 1.0, low=None)]}).panels
    assert bare.series[0].low is None
    assert bare.title.endswith("1 rate")


def test_methods_are_series_of_one_colour_each():
    chart = page.accuracy(
        {
            "fit": [prediction(2.0, 3.0, part="a")],
            "held": [prediction(4.0, 5.0, part="a"), prediction(1.0, 1.0, part="b")],
        }
    )
    first, second = chart.panels
    assert [(one.name, one.colour) for one in first.series[1:]] == [("fit", 0), ("held", 1)]
    assert [(one.x.tolist(), one.y.tolist()) for one in first.series[1:]] == [
        ([2.0], [3.0]),
        ([4.0], [5.0]),
    ]
    assert [one.name for one in second.series[1:]] == ["held"]
