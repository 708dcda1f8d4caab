"""``fastcalc plot``: what is drawn, in a terminal and in files, and ``Table.plot``."""

import re
import sys
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import fastcalc as fc
from fastcalc.errors import InputError
from fastcalc.evidence.score import Prediction
from fastcalc.features.compare import chart as of_outcomes
from fastcalc.features.compare import steps_chart as of_steps
from fastcalc.features.measure import accuracy_chart as of_accuracy
from fastcalc.features.plot import over
from fastcalc.features.plot.request import Plot
from fastcalc.features.plot.run import _drawn_by
from fastcalc.kit.charts import of_memory, outcome_series
from fastcalc.kit.charts.drawing import COLOURS, DARK, GREY, MOST, Chart, ChartAxis, Panel, Series
from fastcalc.kit.charts.figure import figure
from fastcalc.kit.charts.highlight import DASHED, FEW, highlighted
from fastcalc.kit.charts.labels import fitted, placed
from fastcalc.kit.charts.look import Look
from fastcalc.kit.charts.terminal import parts, plot
from fastcalc.kit.request.loading import DEFAULT_MODELS
from fastcalc.mentions import as_flags
from tests import made_up
from tests.evidence.test_measured import BASE
from tests.helpers import ROOT, contrast, every, outcome, run, sweep, thorough

ASKED = ("llama-3.1-8b", "--on", "h100-sxm,wse-3")


@pytest.fixture
def fastcalc(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*args, columns=80):
        monkeypatch.setenv("COLUMNS", str(columns))
        return run(*args, capsys=capsys, monkeypatch=monkeypatch)

    return call


def named(panel, name):
    (found,) = [one for one in panel.series if one.name == name]
    return found


# -- what is drawn -----------------------------------------------------------------------


def test_a_roofline_by_hand():
    """An H100 prints 3.35 TB/s and 989.5 TFLOP/s at 16 bits: they meet at 295 FLOP a byte.

    A decode step reads 7.505e9 weights of two bytes and does two FLOP with each; its 32 heads of
    128 in 32 layers look back on 1,500 tokens, of which eight heads of keys and values are kept.
    """
    flops = 2 * 7.505e9 + 4 * 32 * 128 * 32 * 1500
    moved = 2 * 7.505e9 + 2 * 2 * 8 * 128 * 32 * 1500
    (panel,) = of_outcomes.roofline([outcome("llama-3.1-8b", "h100-sxm", batch=(1, 8))]).panels
    roof, steps = named(panel, "bound of h100-sxm"), named(panel, "h100-sxm")
    assert roof.x[1] == pytest.approx(989.5 / 3.35, rel=1e-3)
    assert roof.y[1] == roof.y[2] == pytest.approx(989.5, rel=1e-3)
    assert roof.y[0] / roof.x[0] == pytest.approx(3.35)
    assert steps.x[0] == pytest.approx(flops / moved, rel=1e-3)
    assert steps.x[1] == pytest.approx(8.0, rel=0.1)
    assert np.all(steps.y < np.interp(steps.x, roof.x, roof.y))
    (record,) = fc.compare("llama-3.1-8b", on="h100-sxm", batch=1)
    assert steps.y[0] == pytest.approx(flops / 1e12 * record["tokens_per_s_per_user"], rel=1e-3)


def test_the_parts_of_a_step_end_at_the_time_of_a_token():
    (record, other) = fc.compare("deepseek-r1", on="h200-sxm", batch=[1, 64])
    (panel,) = of_steps.step([outcome("deepseek-r1", "h200-sxm", batch=(1, 64))]).panels
    top = panel.series[-1].high
    assert top == pytest.approx([record["tpot_ms"], other["tpot_ms"]])
    assert np.all(panel.series[0].low == 0.0)
    for below, above in zip(panel.series, panel.series[1:], strict=False):
        assert np.array_equal(below.high, above.low)
    assert {"routed experts", "attention"} <= {one.name for one in panel.series}


@pytest.mark.parametrize("count", [1, 12, 13])
def test_twelve_chips_have_a_plot_of_their_steps(count):
    chips = [made_up.clocked(id=f"chip-{number}") for number in range(count)]
    solved = [outcome(made_up.minimal(), chip, engine=made_up.CLOCK) for chip in chips]
    assert len(of_steps.step(solved).panels) == min(count, 12)


def test_no_two_components_of_a_step_share_a_colour():
    """A wafer and GPUs have more components than there are colours; what has none is grey."""
    solved = [
        outcome("deepseek-r1", chip, batch=(1, 64)) for chip in ("h100-sxm", "h200-sxm", "wse-3")
    ]
    colours: dict[str, set[int]] = {}
    for panel in of_steps.step(solved).panels:
        for one in panel.series:
            colours.setdefault(one.name, set()).add(one.colour)
    assert all(len(some) == 1 for some in colours.values())
    used = [next(iter(some)) for some in colours.values()]
    assert len(set(used)) == len(used) > 4
    assert colours["all others"] == {len(COLOURS) - 1}


def test_speeds_and_bounds_are_those_of_the_records():
    table = fc.compare("llama-3.1-8b", on=["h100-sxm", "wse-3"], batch=[1, 8])
    solved = [outcome("llama-3.1-8b", chip, batch=(1, 8)) for chip in ("h100-sxm", "wse-3")]
    drawn = of_outcomes.speed(solved)
    (panel,) = drawn.panels
    for place, chip in enumerate(("h100-sxm", "wse-3")):
        rows = table.records[2 * place : 2 * place + 2]
        for key in ("", "_low", "_high"):
            held = {"": "y", "_low": "low", "_high": "high"}[key]
            expected = [row[f"tokens_per_s_per_user{key}"] for row in rows]
            assert getattr(named(panel, chip), held) == pytest.approx(expected)
        bounds = [
            row["tokens_per_s_per_user_bound_serial"] or row["tokens_per_s_per_user_bound"]
            for row in rows
        ]
        assert named(panel, f"bound of {chip}").y == pytest.approx(bounds)


@pytest.mark.parametrize("bound", [99.0, 101.0])
def test_a_bound_far_above_is_said(bound):
    """Ten times the highest speed."""
    x, speed = np.array([1.0, 2.0]), np.array([10.0, 8.0])
    lines = [
        line
        for index, (name, limit) in enumerate((("a", bound), ("b", 50.0)))
        for line in outcome_series.ranged(
            name, index, x, (speed, np.full(2, limit), speed / 2, speed), ["", ""]
        )
    ]
    drawn = outcome_series.of_speeds("t", {"": lines}, "batch", 2, [])
    is_far = bound > 100
    names = [one.name for one in drawn.panels[0].series]
    assert names == ["bound of a"] * (not is_far) + ["a", "bound of b", "b"]
    said = "the bound of a, 101 tokens/s, is far above the chart"
    assert [note for note in drawn.notes if "far" in note] == [said] * is_far
    key = "the band is the 80% range"
    of_a = highlighted(drawn, ["a"]).notes[0]
    assert of_a == (key if is_far else f"{key}; {DASHED}")
    assert drawn.notes[0] == f"{key}; {DASHED}"


def test_checkpoints_of_one_model_are_lines_of_their_own(fastcalc):
    """Weights of half the size decode faster: one line would join both speeds of a batch."""
    ran = fastcalc("plot", "speed", "qwen3-8b,qwen3-8b-fp8", "--on", "h100-sxm", "--batch", "1,8")
    lines = re.findall(r"^  [a-z]  (.*)$", ran.out, re.MULTILINE)
    assert lines == ["qwen3-8b bf16", "qwen3-8b fp8"]
    assert ran.out.startswith("Fastest: qwen3-8b bf16 on one h100-sxm")


def test_batches_that_do_not_fit_are_not_drawn_and_said():
    drawn = of_outcomes.speed([outcome("llama-3.1-70b", "h200-sxm", batch=(1, 100_000))])
    assert named(drawn.panels[0], "h200-sxm").x.tolist() == [1.0]
    assert any("--chips makes room for more" in as_flags(note) for note in drawn.notes)


def test_memories_are_filled_as_the_record_says():
    (record,) = fc.fit("kimi-k2", on="h200-sxm")
    (bar,) = of_memory.memory([outcome("kimi-k2", "h200-sxm")]).bars
    assert sum(share for *_, share in bar.parts) == pytest.approx(record["memory_used_fraction"])


def test_each_chip_has_the_frontier_that_it_has_alone():
    both = fc.frontier("llama-3.1-8b", on="h100-sxm,h200-sxm", max_chips=2)
    (panel,) = both._answer.charts["frontier"]().panels
    for chip in ("h100-sxm", "h200-sxm"):
        alone = fc.frontier("llama-3.1-8b", on=chip, max_chips=2)
        drawn, bound = named(panel, chip), named(panel, f"bound of {chip}")
        assert drawn.x == pytest.approx(alone["usd_per_mtok_output"])
        for end, held in (("", drawn.y), ("_low", drawn.low), ("_high", drawn.high)):
            assert held == pytest.approx(alone[f"tokens_per_s_per_user{end}"])
        # The bound of a price is the best of those that cost no more.
        most = [max(alone["tokens_per_s_per_user_bound"][: n + 1]) for n in range(len(alone))]
        assert bound.y == pytest.approx(most)


def predicted(value, expected, metric, low=None, high=None):
    point = replace(BASE, metric=metric, value=value)
    return Prediction(point, "vllm", "datacenter", "decode", False, expected, low, high, expected)


def test_a_figure_over_numbers_of_files_is_that_of_compare_with_each():
    """A line over one number and a map over two, in the units that they are written in."""
    asked = {"models": ["llama-3.1-70b"], "on": "b200", "batch": "1,8"}
    bandwidth, floor = "memory.HBM3e.bandwidth", "parameters.decode_layer_floor"
    values, floors = ["16TB/s", "2000GB/s"], ["10us", "100us", "1ms"]
    line = over.run(Plot(kind="speed", over=[f"{bandwidth}={','.join(values)}"], **asked))
    (panel,) = line.charts["speed"]().panels
    assert (panel.across.label, panel.across.base) == (f"{bandwidth}, TB/s", 10)
    for batch in (1, 8):
        drawn = named(panel, f"b200, batch {batch}")
        assert drawn.x == pytest.approx([2.0, 16.0])
        for value, y, high in zip(reversed(values), drawn.y, drawn.high, strict=True):
            set_ = {bandwidth: value}
            (row,) = fc.compare("llama-3.1-70b", on="b200", batch=batch, set=set_)
            assert y == pytest.approx(row["tokens_per_s_per_user"])
            assert high == pytest.approx(row["tokens_per_s_per_user_high"])
    lists = [f"{bandwidth}={','.join(values)}", f"{floor}={','.join(floors)}"]
    request = Plot(kind="price", over=lists, **{**asked, "batch": "8"})
    (panel,) = over.run(request).charts["price"]().panels
    assert panel.upward.label == f"{floor}, ms"
    assert panel.heights.y == pytest.approx([0.01, 0.1, 1.0])
    set_ = {bandwidth: "16TB/s", floor: "1ms"}
    (row,) = fc.compare("llama-3.1-70b", on="b200", batch=8, set=set_)
    assert panel.heights.values[2, 1] == pytest.approx(row["usd_per_mtok_output"])
    owner = panel.series[int(panel.heights.owners[2, 1])]
    assert owner.name == f"limited by {row['limiter']}"
    assert (16.0, 1.0) in set(zip(owner.x.round(9), owner.y.round(9), strict=True))


def test_accuracy_draws_rates_and_times_apart_with_the_range_as_the_band():
    """4 s are predicted from 3 to 6: what is measured in it is 0.67 to 1.33 times its prediction."""
    rate = predicted(100.0, 140.0, "tokens_per_s_per_user", 70.0, 280.0)
    aside = predicted(50.0, 140.0, "tokens_per_s_per_user", 70.0, 280.0)
    time = predicted(2.0, 4.0, "tpot_s", 3.0, 6.0)
    chart = of_accuracy.accuracy({"left out": [rate, time], "aside": [aside]})
    rates, times = chart.panels
    (line, left_out, set_aside), (_, seconds) = rates.series, times.series
    assert (left_out.x.tolist(), left_out.y.tolist()) == ([100.0], [140.0])
    assert (set_aside.x.tolist(), set_aside.name) == ([50.0], "aside")
    assert (seconds.x.tolist(), seconds.y.tolist()) == ([2.0], [4.0])
    assert "50% inside" in rates.title
    assert "1 time, 0% inside" in times.title
    assert line.high / line.y == pytest.approx([2.0, 2.0])
    assert line.low / line.y == pytest.approx([0.5, 0.5])
    assert rates.across.high < 200.0
    assert "Aside: 1 point, half within a factor of 2.80, 0% in" in chart.finding


def test_a_name_stands_at_its_line_where_that_is_clear_and_else_in_a_column():
    """A plot of 100 by 100; a line that ends amid others has a leader to the column."""
    axis = ChartAxis("", 0.0, 100.0, 0)
    ends = np.array([0.0, 100.0])
    alone = Series("alone", ends / 2, np.array([90.0, 90.0]), 0)
    below = Series("below", ends, np.array([10.0, 10.0]), 1)
    amid = Series("amid", ends / 2, np.array([14.0, 14.0]), 2)
    same = Series("same", ends, np.array([10.5, 10.5]), 3)
    panel = Panel("", axis, axis, [alone, below, amid, same])
    labels = {label.name: label for label in placed(panel, 100.0, 100.0, lambda _: 20.0, 12.0)}
    assert (labels["alone"].y, labels["alone"].end) == (90.0, None)
    assert labels["amid"].end == pytest.approx((50.0, 14.0))
    assert labels["below, same"].end == pytest.approx((100.0, 10.0))
    # The mean of both stays where it was wanted, a line apart.
    assert [labels["below, same"].y, labels["amid"].y] == pytest.approx([6.0, 18.0])


def test_names_fit_in_what_is_left_of_the_width():
    """Two lines on each other are named in 12 letters, 48 wide, where 60 are a name's share of 200.

    Alongside these, 140 are left to the plot, of which 42 would be a share: the names do not change.
    """
    x = np.array([0.0, 1.0])
    twins = [Series(name, x, x, place) for place, name in enumerate(("aaaaa", "bbbbb"))]
    panel = Panel("", ChartAxis("x", 0.0, 1.0, 0), ChartAxis("y", 0.0, 1.0, 0), twins)
    (label,), left = fitted(panel, 200.0, 100.0, lambda text: 4.0 * len(text), 12.0)
    assert (label.name, label.x + 48.0, left) == ("aaaaa, bbbbb", 200.0, 140.0)


# -- axes and colours --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "base", "expected"),
    [
        (1, 512, 2, [1, 4, 16, 64, 256]),
        (1, 8, 2, [1, 2, 4, 8]),
        (1, 1e6, 10, [1, 10, 100, 1e3, 1e4, 1e5, 1e6]),
        (20, 90, 10, [20, 30, 40, 50, 60, 70, 80]),
        (0, 47, 0, [0, 10, 20, 30, 40]),
    ],
)
def test_ticks_are_round(low, high, base, expected):
    assert ChartAxis("", low, high, base).ticks == pytest.approx(expected)


def test_an_axis_of_zeros_ends_at_one():
    """A hit rate of 0% at every size is drawn along the bottom."""
    axis = ChartAxis.over("", [np.zeros(3)], 0)
    assert (axis.low, axis.high) == (0.0, 1.0)
    assert axis.share(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("palette", "ground"), [(COLOURS, "#ffffff"), (DARK, "#15181d")])
def test_lines_stand_out_of_their_ground(palette, ground):
    """Graphics ask a contrast of 3 (WCAG 2.2, 1.4.11)."""
    assert min(contrast(one, ground) for one in palette) >= 3.0


# -- in a terminal -----------------------------------------------------------------------


def test_a_chart_by_hand(monkeypatch):
    """Decades across and up: 1, 10 and 100 are a half of the frame apart."""
    monkeypatch.setattr("fastcalc.kit.charts.terminal._HEIGHT", 11)
    one = Series("one", np.array([1.0, 10.0]), np.array([1.0, 100.0**0.2]), 0)
    two = Series("two", np.array([100.0]), np.array([100.0]), 1)
    panel = Panel("", ChartAxis("across", 1.0, 100.0), ChartAxis("up", 1.0, 100.0), [one, two])
    lines = plot(panel, width=0, is_ascii=True)
    marks = {
        (row, column): letter
        for row, line in enumerate(lines[1:12])
        for column, letter in enumerate(line[5:])
        if letter in "ab"
    }
    # Twenty places across (the least there are) and eleven up, from the bottom.
    assert marks == {(10, 0): "a", (8, 10): "a", (0, 19): "b"}
    assert lines[0] == "up"
    assert lines[-2:] == ["  a  one", "  b  two"]
    assert all(line.isascii() for line in lines)
    assert lines[1].startswith("100 |")
    assert lines[6].startswith(" 10 |")
    assert lines[11].startswith("  1 |")


def test_a_place_that_two_share_has_a_star():
    same = np.array([1.0])
    series = [Series("one", same, same, 0), Series("two", np.array([1.0, 2.0]), same.repeat(2), 1)]
    panel = Panel("", ChartAxis("x", 1.0, 2.0), ChartAxis("y", 0.5, 2.0), series)
    body = "".join(line.split("│")[-1] for line in plot(panel, width=40)[1:17])
    assert (body.count("*"), body.count("a"), body.count("b")) == (1, 0, 1)


def test_areas_are_filled_with_their_letters_from_edge_to_edge():
    x, ones = np.array([1.0, 2.0]), np.ones(2)
    low = Series("low", x, 2 * ones, 0, "area", 0 * ones, 4 * ones)
    high = Series("high", x, 6 * ones, 1, "area", 4 * ones, 8 * ones)
    lines = plot(
        Panel("", ChartAxis("x", 1.0, 2.0), ChartAxis("y", 0.0, 15.0, 0), [low, high]), width=40
    )
    column = [line[-1] if line[-1] in "ab" else " " for line in lines[1:17]]
    assert column == [*" " * 8, *"bbbb", *"aaaa"]


@pytest.mark.parametrize("kind", ["speed", "roofline", "step", "memory", "frontier"])
@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_has_legend_and_axes_and_no_line_too_long(fastcalc, kind, columns):
    limits = ("--max-chips", "2") if kind == "frontier" else ()
    ran = fastcalc("plot", kind, *ASKED, *limits, columns=columns)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= columns
    assert "h100-sxm" in ran.out
    if kind != "memory":
        assert sum(line.lstrip().startswith(("a  ", "b  ")) for line in lines) >= 2
        assert any(line.endswith(("together)", "expected", "read", "bound.")) for line in lines)


def test_a_terminal_without_frames_gets_ascii(fastcalc, monkeypatch):
    monkeypatch.setattr("fastcalc.kit.answer.output.draws", lambda: False)
    assert fastcalc("plot", "speed", *ASKED).out.isascii()


def test_the_parts_of_one_picture_are_drawn_at_once():
    chart = of_accuracy.accuracy({"": [predicted(1e2, 1e2, "tokens_per_s_total")]})
    twice = Chart(chart.title, [*chart.panels, *chart.panels], (), (), is_one=True)
    text = [part for part in parts(twice, 80, is_ascii=True) if isinstance(part, str)]
    assert sum("measured, tokens/s" in line for line in text) == 1
    assert sum(line.startswith("  a  ") for line in text) == 1
    assert sum(line.startswith("  b  ") for line in text) == 1


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("rooflin", "llama-3.1-8b"), "KIND 'rooflin' is unknown: did you mean 'roofline'?"),
        (("frontier", "llama-3.1-8b", "glm-4.7"), "plot frontier draws one model, not 2; name one"),
        (("validate", "a.csv", "b.csv"), "plot validate draws one file of measurements, not 2"),
        (("speed", "--width", "1"), "--width 1 is outside 2 to 40 inches"),
        (("speed", "--style", "prnt"), "--style 'prnt' is unknown: did you mean 'print'?"),
        (
            ("speed", *ASKED, "--highlight", "b200"),
            "--highlight 'b200' matches nothing drawn: h100-sxm, wse-3",
        ),
        (
            ("speed", *ASKED, "--height", "1", "-o", "a.png"),
            "--height 1 leaves no room for a plot; at least 2.",
        ),
        (("step", "--over", "cores=1,2"), "--over draws speed or price, not step"),
        (("speed", "--over", "cores=1"), "--over: cores=1 is one value; give one or two numbers"),
        (
            (
                *("speed", "--over", "cores=1,2", "--over", "memory.SRAM.capacity=1GB,2GB"),
                *("--over", "memory.SRAM.bandwidth=1PB/s,2PB/s"),
            ),
            "--over: more than two; give one or two numbers",
        ),
        (
            ("speed", "--over", "execution=spatial,layered"),
            "--over execution=spatial: an axis needs numbers of one unit",
        ),
    ],
)
def test_a_wrong_request_gets_one_sentence(fastcalc, args, sentence):
    ran = fastcalc("plot", *args)
    assert ran.code == 2
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


def test_nothing_to_draw_is_a_no(fastcalc):
    ran = fastcalc("plot", "frontier", "deepseek-r1", "--on", "h100-sxm", "--max-chips", "8")
    assert (ran.code, ran.out) == (1, "")
    assert "no deployment both fits and has a price" in ran.err


@pytest.mark.parametrize("kind", ["speed", "price", "roofline", "step"])
def test_what_fits_nowhere_is_a_no(fastcalc, kind):
    """810 GB of weights on one chip of 80 GB."""
    ran = fastcalc("plot", kind, "llama-3.1-405b", "--on", "h100-sxm", "--chips", 1)
    assert (ran.code, ran.out) == (1, "")
    assert re.search(r"h100-sxm: \d+ GB does not fit .*; batch 1 needs --chips 16", ran.err)


def test_without_matplotlib_a_file_is_refused_with_what_to_install(fastcalc, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = fastcalc("plot", "speed", *ASKED, "-o", "speed.svg")
    assert ran.code == 2
    assert "python -m pip install matplotlib" in ran.err
    assert fastcalc("plot", "speed", *ASKED, "-o", "speed.txt").code == 0


# -- in files: matplotlib is an extra, and not everywhere ----------------------------------


@pytest.mark.parametrize("kind", ["speed", *map(thorough, ("roofline", "step", "memory"))])
def test_a_file_is_the_same_each_time_and_says_what_it_shows(fastcalc, kind, tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("one.svg", "two.svg"):
        assert fastcalc("plot", kind, *ASKED, "--batch", "1,8", "-o", name).code == 0
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    assert "<dc:date>" not in text
    words = " ".join(ElementTree.fromstring(text).itertext())
    assert "h100-sxm" in words
    assert "wse-3" in words


@pytest.mark.parametrize(("name", "begins"), [("a.png", b"\x89PNG"), thorough("a.pdf", b"%PDF")])
@pytest.mark.parametrize("ground", [(), ("--dark", "--width", "5")])
def test_a_file_is_of_its_ending(fastcalc, name, begins, ground, tmp_path):
    pytest.importorskip("matplotlib")
    assert fastcalc("plot", "speed", *ASKED, "--batch", "1,8", *ground, "-o", name).code == 0
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_an_unknown_ending_is_refused_with_those_there_are(fastcalc):
    pytest.importorskip("matplotlib")
    ran = fastcalc("plot", "speed", *ASKED, "-o", "speed.docx")
    assert ran.code == 2
    assert "png" in ran.err
    assert "svg" in ran.err


CHIPS = (
    "h100-sxm h200-sxm gb200 wse-3 b200 b300 mi300x mi355x a100-sxm-80gb h20 gh200-96gb gb300 "
    "mi325x mi350x gaudi-2 gaudi-3 tpu-v5p tpu-v6e tpu-v7 groq-lpu"
).split()


@cache
def compared(count):
    """Return some chips of the twenty, solved at three batches."""
    return [outcome("llama-3.1-70b", chip, batch=(1, 8, 64)) for chip in CHIPS[:count]]


def test_of_many_lines_those_of_the_finding_or_those_that_are_named_are_in_colour():
    """Without their bounds and ranges the others are grey, and drawn first."""
    chart = of_outcomes.speed(compared(8))
    assert "wse-3" in chart.finding
    for patterns, chips in (((), {"wse-3", "h100-sxm"}), (["mi3*"], {"mi300x", "mi355x"})):
        (panel,) = highlighted(chart, patterns).panels
        lines = [line for line in panel.series if line.style == "line"]
        coloured = {line.name for line in lines if line.colour != GREY}
        assert chips <= coloured
        assert len(coloured) == (2 if patterns else FEW)
        assert all((line.low is None) == (line.colour == GREY) for line in lines)
        bounds = {line.colour for line in panel.series if line.style == "bound"}
        assert GREY not in bounds
    assert "the deployments have 1 (b200) to 4 chips (wse-3)" in chart.notes
    small = of_outcomes.speed([outcome("llama-3.1-8b", chip, batch=(1,)) for chip in CHIPS[:8]])
    assert "each deployment has 1 chip" in small.notes
    assert DASHED in chart.notes[0]
    assert highlighted(chart, ["mi3*"]).notes[0] == chart.notes[0]


def overlapping(texts, renderer):
    """Return pairs of texts that cover each other by more than a hair."""
    boxes = [(text.get_text(), text.get_window_extent(renderer).padded(-0.5)) for text in texts]
    return [(a, b) for (a, x), (b, y) in combinations(boxes, 2) if x.overlaps(y)]


@pytest.mark.parametrize(
    ("kind", "count", "width", "style"),
    [
        ("speed", 1, 3.3, "print"),
        ("speed", 4, 6, "light"),
        ("roofline", 8, 3.3, "dark"),
        thorough("speed", 20, 3.3, "print"),
        thorough("roofline", 20, 9, "light"),
        thorough("step", 8, 6, "print"),
    ],
)
def test_no_name_number_or_key_covers_another_or_is_cut_off(kind, count, width, style, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.setitem(matplotlib.rcParams, "text.hinting", "no_hinting")  # as files are drawn
    agg = pytest.importorskip("matplotlib.backends.backend_agg")
    chart = highlighted(
        (of_steps if kind == "step" else of_outcomes)
        .__dict__[kind](compared(count))
        .worded(as_flags)
    )
    drawn = figure(chart, Look(style=style, width=width, dpi=100))
    screen, canvas = agg.FigureCanvasAgg(drawn), drawn.bbox
    screen.draw()  # which places axes and keys
    renderer = screen.get_renderer()
    plots = drawn.get_axes()
    names = [text for plot in plots for text in plot.texts]
    keys = [text for legend in drawn.legends for text in legend.get_texts()]
    ticks = [
        [label for label in axis.get_ticklabels() if label.get_visible() and label.get_text()]
        for plot in plots
        for axis in (plot.xaxis, plot.yaxis)
    ]
    for texts in (drawn.texts, names, keys, *ticks):
        assert not overlapping(texts, renderer)
    everything = [*drawn.texts, *names, *keys, *(label for labels in ticks for label in labels)]
    everything += [axis.label for plot in plots for axis in (plot.xaxis, plot.yaxis)]
    for text in everything:
        box = text.get_window_extent(renderer)
        assert box.x0 >= 0 <= box.y0, text
        assert box.x1 <= canvas.x1, text
        assert box.y1 <= canvas.y1, text
    words = " ".join(text.get_text() for text in (names or keys))
    assert kind == "step" or all(chip in words for chip in CHIPS[:count])


@pytest.mark.thorough
def test_a_table_is_drawn(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795348800")  # 2026-11-22, noon
    table = fc.compare("llama-3.1-8b", on="h100-sxm", batch=[1, 8])
    figure = table.plot(file=tmp_path / "speed.svg")
    assert figure.get_axes()[0].get_xlabel() == "batch (sequences decoded together)"
    assert (tmp_path / "speed.svg").read_text().startswith("<?xml")
    assert table.plot("roofline").get_axes()[0].get_ylabel() == "TFLOP/s per chip"
    assert figure._repr_png_().startswith(b"\x89PNG")
    drawn = table.plot("price", style="print", title="$1 or $2", height=4)
    assert drawn.get_size_inches().tolist() == [3.3, 4.0]
    words = " ".join(text.get_text() for text in drawn.texts).replace("\n", " ")
    assert not any(text.get_parse_math() for text in drawn.texts)  # dollars are no formulas
    assert words.startswith("$1 or $2 Speed and price: Llama 3.1 8B")
    price, engine = fc.hardware("h100-sxm").price.rent, fc.engine("vllm")
    for ground in (f"h100-sxm ${price.si:.2f} (Nebius, {price.date})", f"vLLM ({engine.date})"):
        assert ground in words
    assert words.endswith(f"fastcalc {fc.__version__}, 2026-11-22")
    with pytest.raises(fc.InputError, match="'stp' is unknown: did you mean 'step'"):
        table.plot("stp")


def test_an_answer_without_a_chart_says_which_have_one():
    with pytest.raises(fc.InputError, match="this answer has no chart"):
        fc.list("hardware").plot()


PICTURES = re.findall(
    r"(?m)^fastcalc (plot .*) -o (docs/pictures/.*)$", (ROOT / "docs" / "gallery.md").read_text()
)


def is_slow(_: str, file: str) -> bool:
    return Path(file).stem not in ("memory", "roofline", "step")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("command", "file"), sweep(PICTURES, is_slow, [file for _, file in PICTURES])
)
def test_the_pictures_of_the_docs_say_what_they_would_today(
    fastcalc, command, file, tmp_path, monkeypatch
):
    """The words alone: what draws them may place them elsewhere by a hair."""
    pytest.importorskip("matplotlib")
    drawn_on = re.search(r"fastcalc [\d.]+,\s+([\d-]{10})", (ROOT / file).read_text())[1]
    epoch = datetime.fromisoformat(f"{drawn_on}T12:00+00:00").timestamp()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", f"{epoch:.0f}")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    assert fastcalc(*command.split(), "-o", "now.svg").code == 0
    now, shown = (ElementTree.parse(one) for one in (tmp_path / "now.svg", ROOT / file))
    words = [
        [text for part in picture.getroot().itertext() if (text := part.strip())]
        for picture in (now, shown)
    ]
    for texts in words:
        assert texts.pop(1).startswith("Matplotlib v")
    assert words[0] == words[1]
    assert (ROOT / file).stat().st_size < 400_000


@pytest.mark.parametrize("low", [1.0, 5.0, 6.1, 999.0])
@pytest.mark.parametrize("base", [0, 2, 10])
def test_an_axis_of_one_value_has_a_tick(low, base):
    ticks = ChartAxis.over("", [np.array([low])], base).ticks
    assert 1 <= len(ticks) <= 7
    narrow = ChartAxis("", low, low * 1.01, base).ticks
    assert narrow


def test_bounds_are_told_apart_without_colour():
    chips = ("h100-sxm", "gb200")
    drawn = of_outcomes.roofline([outcome("llama-3.1-8b", one) for one in chips])
    lines = plot(drawn.panels[0], width=80)
    signs = [one for one in lines if "bound of" in one]
    assert signs == ["  1  bound of h100-sxm", "  2  bound of gb200"]
    inside = "".join(line.partition("│")[2] for line in lines)
    assert inside.count("1") > 3
    assert inside.count("2") > 3


def test_a_plot_of_more_bounds_than_digits_has_them_all():
    ends = np.array([1.0, 10.0])
    bounds = [Series(f"bound {n}", ends, ends * n, 0, "bound") for n in range(1, 13)]
    lines = plot(Panel("", ChartAxis("x", 1.0, 10.0), ChartAxis("y", 1.0, 120.0), bounds))
    assert [line.split()[-1] for line in lines if "bound" in line] == [*map(str, range(1, 13))]


@pytest.mark.thorough
def test_of_more_chips_than_a_chart_tells_apart_the_unbeaten_are_drawn():
    """What the frontier of all chips together has points of, and no more chips than colours."""
    together = fc.frontier("llama-3.1-8b", on="all", max_chips=2)
    leaders = set(together["hardware"])
    chart = together._answer.charts["frontier"]()
    drawn = {series.name for series in chart.panels[0].series if series.style == "line"}
    assert drawn <= leaders
    assert len(drawn) == min(len(leaders), MOST)
    assert chart.notes[-1].startswith(f"{len(drawn)} of ")


@pytest.mark.parametrize(
    "kind", [*map(thorough, ("speed", "price", "roofline", "step", "memory")), "frontier"]
)
def test_every_chart_of_all_chips_is_drawn_in_a_terminal(fastcalc, kind):
    limits = ("--max-chips", "1") if kind == "frontier" else ()
    ran = fastcalc("plot", kind, "llama-3.1-8b", "--on", "all", *limits, columns=80)
    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) <= 80


def test_bars_take_the_room_there_is(fastcalc):
    asked = ("plot", "memory", "deepseek-r1", "--on", "h200-sxm,wse-3")
    lines = fastcalc(*asked, columns=60).out.splitlines()
    lines = lines[lines.index("") - 1 :]
    assert lines[2].split() == ["memory", "filled", "with"]
    for name, line in zip(("h200-sxm", "wse-3"), lines[3:5], strict=True):
        assert line.startswith(name)
        assert set(line.split()[-1]) <= set("DHEKT.")
        assert len(line) <= 60
    assert "K KV cache (less than a letter)" in " ".join(lines[6:8])


def test_what_fits_nothing_says_how_many_chips_it_takes(fastcalc):
    """671 GB on cards of which a driver reports 24.2 GB: 22.2 in vLLM's share, less its reserve.

    Five stages of eight are tight: 13 of 61 layers are 143 GB, 17.9 a card, and a reserve of 2.25
    times 2.2 GB leaves 17.2. Six stages of at most 11 layers, 15.1 a card, are certain: 48 cards.
    """
    ran = fastcalc("plot", "memory", "deepseek-r1", "--on", "l4", "--chips", "1")
    assert ran.code == 1
    assert "1 x l4 cannot fit batch 1: that takes 48 chips" in ran.out


def test_without_a_rate_the_plan_that_is_taken_stands_at_the_left():
    """A larger chip serves more users a dollar, and costs more a month, which is of no one load."""
    table = fc.plan("llama-3.1-8b", on=["h100-sxm", "h200-sxm"], ttft="500ms", tpot="25ms")
    (panel,) = table._answer.charts["plan"]().panels
    assert table[0]["usd_per_month"] > table[1]["usd_per_month"]
    leftmost = min(panel.series, key=lambda series: float(series.x[0]))
    assert leftmost.name == "1 x h200-sxm"
    assert leftmost.x[0] == pytest.approx(table[0]["usd_per_mtok_total"], rel=1e-9)


FILE = {"path": Path("rows.csv"), "hardware": None}
DEFAULT = DEFAULT_MODELS[0]


@every(
    "kind,asked,command,changes",
    [
        ("speed", {}, "compare", {}),
        *[(kind, {"models": ["rows.csv"]}, kind, FILE)
          for kind in ("validate", "diagnose", "calibrate")],
        ("diagnose", {"models": ["rows.csv"], "on": "b200"}, "diagnose", FILE | {"hardware": "b200"}),
        ("validate", {}, "validate", {"path": None, "hardware": None}),
        ("frontier", {}, "frontier", {"model": DEFAULT}),
        ("frontier", {"models": ["m"]}, "frontier", {"model": "m"}),
        ("memory", {}, "fit", {"batch": "1"}),
        ("memory", {"batch": "1,8"}, "fit", {"batch": "1,8"}),
        ("context", {}, "fit", {"batch": Plot.batch}),
        ("context", {"batch": "1,8"}, "fit", {"batch": "1,8"}),
        ("tornado", {}, "sensitivity", {"model": DEFAULT, "batch": "1"}),
        ("tornado", {"models": ["m"], "batch": "8"}, "sensitivity", {"model": "m", "batch": "8"}),
    ],
)  # fmt: skip
def test_which_command_answers_with_a_chart(kind, asked, command, changes):
    assert _drawn_by(kind, Plot(kind=kind, **asked)) == (command, changes)


def test_charts_of_one_model_refuse_two():
    with pytest.raises(InputError, match="plot frontier draws one model, not 2; name one"):
        _drawn_by("frontier", Plot(kind="frontier", models=["a", "b"]))
