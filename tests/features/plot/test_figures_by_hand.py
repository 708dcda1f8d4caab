"""Axes and sentences of charts over numbers of a file."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from fastcalc.features.plot.chart import Varied, _bought
from fastcalc.features.plot.over import _ascending, _varied
from fastcalc.features.plot.request import Plot
from fastcalc.features.plot.run import _drawn_by, look_of
from fastcalc.kit.charts.look import STYLES
from fastcalc.kit.request.loading import DEFAULT_MODELS
from tests.helpers import every, read_or_refusal


def varied(*values):
    return Varied("bandwidth", "TB/s", np.array(values, dtype=float))


@every(
    "values,base",
    [((1, 4), 0), ((1, 2, 4.1), 10), ((0, 9), 0), ((0.5, 2), 0), ((0.5, 2.1), 10)],
)
def test_an_axis_is_logarithmic_beyond_four_times_its_start(values, base):
    assert varied(*values).base == base


def test_a_map_ends_half_a_cell_beyond_its_values():
    """Cells of 1, 2 and 4 wide: half of 1 below 0, and half of 4 above 7."""
    axis = varied(0, 1, 3, 7).map_axis
    assert (axis.low, axis.high, axis.base) == (-0.5, 9.0, 0)
    assert axis.label == "bandwidth, TB/s"
    assert varied(1, 10).map_axis == varied(1, 10).axis  # where no cell has an edge at zero
    assert Varied("layers", "", np.array([1.0])).label == "layers"
    assert Varied("layers", "", np.array([1.0])).said(12345.6) == "12,350"


@every(
    "x,y,end",
    [
        # All within 1% of the last.
        ((1, 2), (99.1, 100), ", within 1% from 1 TB/s to 2 TB/s."),
        ((1, 2), (98.9, 100), " at 1 TB/s, 100 at 2 TB/s."),
        # A plateau is told from where it begins, if it ends beyond 1.4 times its start.
        ((1, 2, 3), (50, 99.5, 100), " at 1 TB/s, 100 at 3 TB/s; from 2 TB/s on it changes by less than 1%."),
        ((1, 2, 2.8), (50, 99.5, 100), " at 1 TB/s, 100 at 2.8 TB/s."),
        ((1, 2, 2.9), (50, 100.9, 100), " at 1 TB/s, 100 at 2.9 TB/s; from 2 TB/s on it changes by less than 1%."),
        # As far as the value that was last more than 1% off, whatever came before it.
        ((1, 2, 4, 8), (100, 90, 100, 100), " at 1 TB/s, 100 at 8 TB/s; from 4 TB/s on it changes by less than 1%."),
    ],
)  # fmt: skip
def test_from_where_more_buys_nothing(x, y, end):
    said = _bought("chip", "tokens/s", varied(*x), np.array(x, float), np.array(y, float))
    low = {99.1: "99.1", 98.9: "98.9", 50: "50.0", 100: "100"}[y[0]]
    assert said == f"chip: {low} tokens/s{end}"


def test_dollars_stand_before_a_price():
    x, y = np.array([1.0, 8.0]), np.array([2.0, 4.0])
    said = _bought("chip", "$ per million", varied(*x), x, y)
    assert said == "chip: $2.00 per million at 1 TB/s, 4.00 at 8 TB/s."


def asked(**changes):
    usual = {"width": None, "height": None, "dpi": None, "style": STYLES[0], "dark": False}
    values = usual | {"title": True, "highlight": None} | changes
    return SimpleNamespace(**values, values=values)


@every(
    "name,low,high",
    [("width", 2, 40), ("height", 1, 80), ("dpi", 30, 1200)],
)
def test_sizes_of_a_picture(name, low, high):
    for value in (low, high, None):
        assert getattr(look_of(asked(**{name: value})), name) == value
    for value in (low - 0.5, high + 0.5):
        said = read_or_refusal(look_of, asked(**{name: value}))
        unit = "" if name == "dpi" else " inches"
        assert said.startswith(f"--{name} {value:g} is outside {low} to {high:,}{unit}; write for ")


def test_a_dark_picture_is_not_for_print():
    assert look_of(asked(dark=True)).style == "dark"
    assert look_of(asked(highlight="a,b")).highlight == ["a", "b"]
    assert look_of(asked()).highlight == ()
    said = read_or_refusal(look_of, asked(dark=True, style="print"))
    assert said == "--dark and --style print exclude each other"


@every(
    "kind,models,changes,command,settings",
    [
        ("validate", ["runs.csv"], {"on": "h100-sxm"}, "validate", {"path": Path("runs.csv"), "hardware": "h100-sxm"}),
        ("diagnose", None, {}, "diagnose", {"path": None, "hardware": None}),
        ("frontier", ["m"], {}, "frontier", {"model": "m"}),
        ("memory", None, {}, "fit", {"batch": "1"}),
        ("memory", None, {"batch": "8"}, "fit", {"batch": "8"}),
        ("context", None, {}, "fit", {"batch": Plot.batch}),
        ("tornado", ["m"], {}, "sensitivity", {"model": "m", "batch": "1"}),
        ("tornado", ["m"], {"batch": "8"}, "sensitivity", {"model": "m", "batch": "8"}),
        ("speed", ["m"], {}, "compare", {}),
    ],
)  # fmt: skip
def test_which_command_has_a_chart(kind, models, changes, command, settings):
    request = Plot(kind=kind, models=models, **changes)
    assert _drawn_by(kind, request) == (command, settings)


def test_a_chart_of_one_model_refuses_two():
    said = read_or_refusal(_drawn_by, "frontier", Plot(kind="frontier", models=["a", "b"]))
    assert said == "plot frontier draws one model, not 2; name one"
    assert _drawn_by("frontier", Plot(kind="frontier"))[1]["model"] == DEFAULT_MODELS[0]


def change(written, value):
    return SimpleNamespace(written=written, value=value)


def test_values_of_an_axis_ascend_and_are_in_the_unit_of_the_largest():
    listed = [
        change("memory.HBM.bandwidth=4TB/s", 4e12),
        change("memory.HBM.bandwidth=500GB/s", 5e11),
    ]
    found = _varied(_ascending(listed))
    assert (found.path, found.unit) == ("memory.HBM.bandwidth", "TB/s")
    assert found.values.tolist() == [0.5, 4.0]
    plain = _varied(_ascending([change("layers=40", 40), change("layers=8", 8)]))
    assert (plain.path, plain.unit, plain.values.tolist()) == ("layers", "", [8.0, 40.0])
    to_none = _varied([change("scale_up.latency=4us", 4e-6), change("scale_up.latency=0us", 0.0)])
    assert (to_none.unit, to_none.values.tolist()) == ("us", [4e-6, 0.0])
    words = [change("kind=gpu", "gpu"), change("kind=tpu", "tpu")]
    assert read_or_refusal(_ascending, words).startswith(
        "--over kind=gpu: an axis needs numbers of "
    )
