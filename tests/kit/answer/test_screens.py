"""First screens of the ten most used commands: what is bold, that nothing has a hue, and widths.

A terminal shows bold and dim text alone, which are readable on dark and on light backgrounds.
"""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.cli.app import START
from fastcalc.core.estimate import evaluate
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.grid.column import key_figure
from fastcalc.kit.answer import console
from fastcalc.kit.answer.console import render
from fastcalc.kit.answer.parts import Remark, TextTable, Title
from fastcalc.kit.answer.record_tables import tables, words
from fastcalc.kit.charts.outcome_series import speeds_of
from tests import made_up
from tests.helpers import run_once, sweep
from tests.kit.answer.test_width import is_inside

SAFE = {"0", "1", "2"}
"""Plain, bold and dim (ECMA-48, 8.3.117): no colour of a palette that may be like the ground."""

SCREENS = {
    "compare": "tok/s per user",
    "compare deepseek-r1 --on h200-sxm,wse-3 --batch 1,256": "tok/s per user",
    "fit deepseek-r1 --on h100-sxm,wse-3": "chips",
    "plan llama-3.1-70b --ttft 1s --tpot 25ms --rate 20/s --on h200-sxm,b200": "$ per month",
    "fastmode llama-3.1-70b --on h200-sxm --speedup 2 --smaller none": "cost / today's",
    "frontier llama-3.1-8b --on h100-sxm --max-chips 2": "tok/s per user",
    "sensitivity llama-3.1-8b --on h100-sxm": "tok/s change",
    "decide sub=speed=65,plan=200 api=speed=65,price=25": "time per success",
    "infer --speeds 65,170 --prices 25,150 --points 20000": "matches tiers",
    "sweep llama-3.1-8b --on h100-sxm,h200-sxm --batch 1,8 --format table": "tok/s per user",
    "show h200-sxm": "value",
    "list engines": "id",
}
ASKED = sweep(SCREENS, lambda asked: asked.split()[0] in ("plan", "fastmode", "sensitivity"))
SGR = re.compile(r"\x1b\[([0-9;]*)m")


def pieces(line):
    """Return the text of a line with the style of each piece of it."""
    style, shown = "0", []
    for place, piece in enumerate(SGR.split(line)):
        if place % 2:
            style = piece or "0"
        elif piece:
            shown.append((piece, style))
    return shown


def plain(line):
    return SGR.sub("", line)


@pytest.fixture
def screen(capsys, monkeypatch):
    """Return a function that returns the lines of a command as a terminal shows them."""

    def lines(columns, asked):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.delenv("NO_COLOR", raising=False)
        ran = run_once(*asked.split(), capsys=capsys, monkeypatch=monkeypatch)
        assert ran.code == 0, ran.err
        return ran.out.splitlines()

    return lines


def is_heading(line):
    """Whether a line is one of the headings of a table: dim, and no note."""
    styles = {style for text, style in pieces(line) if text.strip()}
    return (styles == {"2"} and not plain(line).startswith(("- ", "  "))) or (
        styles == {"2"} and "  " in plain(line).strip()
    )


def bold_headings(lines):
    """Yield the heading of each bold cell in the first table of some lines."""
    first = next(place for place, line in enumerate(lines) if is_heading(line))
    body = next(place for place in range(first, len(lines)) if not is_heading(lines[place]))
    heads = [plain(line) for line in lines[first:body]]
    for line in lines[body:]:
        if not line or {style for _, style in pieces(line)} == {"2"}:
            return
        start = 0
        for text, style in pieces(line):
            if style == "1" and text.strip():
                end = start + len(text)
                yield " ".join(head[start:end].strip() for head in heads).strip()
            start += len(text)


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("asked", ASKED)
def test_the_key_figure_alone_is_bold_wherever_its_column_is(screen, asked, columns):
    assert set(bold_headings(screen(columns, asked))) == {SCREENS[asked]}


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("asked", ASKED)
def test_nothing_has_a_hue_and_no_line_is_too_long(screen, asked, columns):
    for line in screen(columns, asked):
        assert {style for _, style in pieces(line)} <= SAFE, line
        assert is_inside(plain(line), columns) or not asked.startswith("sh"), line


@pytest.mark.parametrize("asked", ASKED)
def test_at_most_three_lines_lead_in_bold(screen, asked):
    """And the heading of the table, in its first line or two."""
    lines = screen(80, asked)
    lead = lines[: next(place for place, line in enumerate(lines) if is_heading(line))]
    bold = [place for place, line in enumerate(lead) if "1" in dict(pieces(line)).values()]
    assert len(bold) <= 5
    title = 1 + max((place for place, line in enumerate(lead) if not line), default=-1)
    assert all(place < 3 or place in (title, title + 1) for place in bold)


def test_of_a_headline_the_first_clause_is_bold():
    text = "Fastest: four chips; two are cheaper. More to read."
    shown = render([text, Remark("A remark.")], 26, colour=True).splitlines()
    assert [pieces(line) for line in shown] == [
        [("Fastest: four chips;", "1"), (" two", "0")],
        [("are cheaper. More to read.", "0")],
        [("A remark.", "0")],
    ]


def test_of_a_title_the_name_and_the_answer_are_bold():
    title = Title(
        "b200",
        "24 chips, $96,360 a month for a model at 20 requests/s",
        "24 chips, $96,360 a month",
    )
    shown = render([title], 24, colour=True).splitlines()
    assert [pieces(line) for line in shown] == [
        [("b200: 24 chips,", "1")],
        [("$96,360 a month", "1"), (" for a", "0")],
        [("model at 20 requests/s", "0")],
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [80, 120])
def test_the_bill_of_a_plan_is_bold_in_its_headline(screen, columns):
    asked = next(asked for asked in SCREENS if asked.startswith("plan"))
    bold = "".join(text for text, style in pieces(screen(columns, asked)[0]) if style == "1")
    assert re.fullmatch(r"Cheapest plan in \w+: 24 b200 in 3 nodes, \$[\d,]+ per month", bold)


def test_what_is_typed_first_fits_80_columns():
    assert all(len(line) <= 80 for line in START.splitlines())


@pytest.mark.parametrize("verdict", ["needs 16", "too large"])
def test_a_row_without_its_key_figure_has_its_verdict_in_bold(verdict):
    table = TextTable(
        [("batch",), ("tok/s",), ("limited by",)],
        [("1", "50", "memory"), ("256", "-", verdict)],
        left=(2,),
        key_figures=(1,),
    )
    _, fits, over = render([table], 60, colour=True).splitlines()
    assert [text.strip() for text, style in pieces(fits) if style == "1"] == ["50"]
    assert [text.strip() for text, style in pieces(over) if style == "1"] == ["-", verdict]


def test_the_key_figure_keeps_its_column_when_others_leave():
    columns = [
        words("name", lambda row: row),
        words("left out in a narrow table", lambda row: row, 9),
        key_figure(words("figure", lambda row: row)),
    ]
    for width, place in ((80, 2), (20, 1)):
        (table,) = tables(columns, [[{column.key: "x" for column in columns}]], width)
        assert table.key_figures == [place]


@pytest.mark.parametrize(
    ("settings", "is_terminal", "wanted"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ({"FORCE_COLOR": ""}, False, False),
    ],
)
def test_who_gets_bold_text(monkeypatch, settings, is_terminal, wanted):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    assert console.wants_colour() is wanted


@pytest.mark.parametrize(("batch", "by_hand"), [(1, 0.1), (8, 0.1), (100, 1.0)])
def test_the_serial_bound_of_a_wafer_by_hand(batch, by_hand):
    """A layer's 10^5 FLOPs at a tenth of 0.1 TFLOP/s: 0.01 ms in each of ten regions.

    A hundred streams queue for ten regions. Of all regions at once it would be a tenth for one.
    """
    links = {"scale_out": {"bandwidth": "10 GB/s", "latency": "1 ns"}}
    wafer = made_up.clocked(kind="wafer", execution="spatial", links=links)
    place = made_up.placed(made_up.minimal(), on=wafer, under=made_up.CLOCK)
    estimate = evaluate(place, batch=np.array([float(batch)]), traffic=Traffic(100, 100, 100))
    assert 1e3 / float(estimate.bound_serial[0]) == pytest.approx(by_hand, rel=1e-3)
    assert 1e3 / float(estimate.bound[0]) == pytest.approx(0.01 * batch, rel=1e-3)


@pytest.mark.parametrize(("in_turn", "bound"), [(None, 9.0), (np.array([3.0]), 3.0)])
def test_a_chart_has_the_bound_of_the_table(in_turn, bound):
    speeds = {"speed": np.array([1.0]), "low": None, "high": np.array([2.0])}
    estimate = SimpleNamespace(bound=np.array([9.0]), bound_serial=in_turn, **speeds)
    assert speeds_of(SimpleNamespace(estimate=estimate), 0) == [1.0, bound, None, 2.0]


def test_the_bound_of_a_wafer_is_that_of_layers_in_turn(screen):
    """It was 436,552 and the widest number of the page, where a user gets 452."""
    lines = [plain(line) for line in screen(120, "compare --notes")]
    (row,) = (line for line in lines if line.startswith("4 x wse-3"))
    numbers = re.search(r" 1 +([\d,]+) +[\d,]+\.\.[\d,]+ +([\d,]+) ", row)
    speed, bound = (float(number.replace(",", "")) for number in numbers.groups())
    assert pytest.approx(speed, rel=0.05) == 452
    assert speed < bound < 20 * speed
    note = f"the bound at batch 1 is {numbers[2]} tokens/s per user, because a token passes 80"
    assert note in " ".join(" ".join(lines).split())
