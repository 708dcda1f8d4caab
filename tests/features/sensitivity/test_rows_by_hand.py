"""Cells of the effects of parameters, from made-up effects."""

from math import inf, nan
from types import SimpleNamespace

import numpy as np

from fastcalc.features.sensitivity import answer, moved_numbers
from fastcalc.features.sensitivity.levers import Lever
from fastcalc.features.sensitivity.moved_numbers import MovedNumber
from tests.helpers import every


def row(
    *, change=1.1, elasticity=0.5, reach=1.25, enough=2e12, raised=3e12, batch=0.0, alone=None,
    is_default=False, moves=True,
):  # fmt: skip
    """The second of two batches; the first has other numbers throughout."""

    def pair(value):
        return np.array([9.0, value])

    number = SimpleNamespace(
        path="memory[0].bandwidth", value=1e12, kind="bandwidth", is_default=is_default
    )
    effect = SimpleNamespace(
        lever=SimpleNamespace(number=number), reach=pair(reach), enough=pair(enough), moves=moves,
        elasticity=SimpleNamespace(speed=pair(elasticity), usd=pair(-0.25), largest_batch=pair(batch)),
        raised=SimpleNamespace(
            value=raised, change=SimpleNamespace(speed=pair(change), usd=pair(nan), ttft=pair(0.9))
        ),
    )  # fmt: skip
    outcome = SimpleNamespace(estimate=SimpleNamespace(speed=pair(80.0)))
    return MovedNumber(outcome, 1, {}, effect, alone)


def needed(value, *, factor=2.0, extreme=100.0, figure="usd", moves=True):
    return SimpleNamespace(value=value, factor=factor, extreme=extreme, figure=figure, moves=moves)


def test_numbers_are_of_the_batch_of_the_row():
    found = row()
    assert (found.value, found.elasticity, found.reach, found.enough) == (1e12, 0.5, 1.25, 2e12)
    assert found.best_speed == 100.0
    assert abs(found.change("speed") - 0.1) < 1e-12
    assert abs(found.change("ttft") + 0.1) < 1e-12
    assert found.slope("usd") == -0.25
    assert (found.needed, found.factor) == (None, None)
    alone = row(alone=needed(2e12))
    assert (alone.needed, alone.factor) == (2e12, 2.0)


@every(
    "changes,is_spare",
    [
        ({"reach": 1.01}, True),
        # It gains 1% of the speed or more, or batch, or never saturates.
        ({"reach": 1.02}, False),
        ({"reach": 1.01, "batch": 0.1}, False),
        ({"reach": 1.01, "batch": -0.1}, False),
        ({"reach": 1.01, "enough": nan}, False),
    ],
)
def test_more_of_it_is_spare_where_it_gains_less_than_one_percent(changes, is_spare):
    assert row(**changes).is_spare is is_spare


@every(
    "alone,moves,found",
    [
        (None, True, True),
        (None, False, False),
        (needed(1.0), False, True),
        (needed(1.0, moves=False), True, True),  # its price has a slope of -0.25
        (needed(1.0, moves=False, figure="largest_batch"), True, False),
    ],
)
def test_a_parameter_moves_the_figure_of_the_target(alone, moves, found):
    assert row(alone=alone, moves=moves).moves is found


@every(
    "changes,figure,cell",
    [
        ({}, "speed", "+10%"),
        ({"change": 0.875}, "speed", "-12%"),
        ({"change": 1.0 + 4e-5}, "speed", "0"),
        ({"change": 1.0 - 4e-5}, "speed", "0"),
        ({"change": 1.0 + 6e-5}, "speed", "+0.006%"),
        ({"change": nan}, "speed", "no fit"),
        ({}, "usd", "-"),
        ({"raised": None}, "speed", "at limit"),
        ({"raised": None}, "usd", "at limit"),
    ],
)
def test_a_change_in_percent_or_why_there_is_none(changes, figure, cell):
    assert row(**changes).change_cell(figure) == cell


@every(
    "found,cells",
    [
        (row(), ("1.25x", "2 TB/s", "-", "-", "")),
        (row(reach=inf, enough=nan), ("-", "-", "-", "-", "")),
        (row(alone=needed(3e12)), ("1.25x", "2 TB/s", "3 TB/s", "2.00x", "")),
        (row(alone=needed(0.0, factor=0.0)), ("1.25x", "2 TB/s", "0", "0", "")),
        (row(alone=needed(None, factor=None)), ("1.25x", "2 TB/s", "-", "-", "100")),
        (row(alone=needed(None, factor=None, extreme=nan)), ("1.25x", "2 TB/s", "-", "-", "no fit")),
        (row(alone=needed(None, factor=None, extreme=0.5, figure="ttft")), ("1.25x", "2 TB/s", "-", "-", "500 ms")),
    ],
)  # fmt: skip
def test_cells_of_a_row(found, cells):
    shown = (
        found.reach_cell(),
        found.enough_cell(),
        found.needed_cell(),
        found.factor_cell(),
        found.best_cell(),
    )
    assert shown[0] == cells[0]
    assert shown[1:2] + shown[3:] == cells[1:2] + cells[3:]
    assert shown[2].startswith(cells[2])


def test_an_assumed_median_has_a_star():
    assert row(is_default=True).path_cell() == "memory[0].bandwidth *"
    assert row().path_cell() == "memory[0].bandwidth"
    assert row(is_default=True).name_cell() == f"{row().name} *"
    assert row().value_cell() == "1 TB/s"


def test_a_first_screen_has_twelve_rows_of_each_batch(monkeypatch):
    monkeypatch.setattr(answer, "phrases", lambda _: [])
    monkeypatch.setattr(answer.outcome_lines, "heading", lambda *_: "heading")
    monkeypatch.setattr(
        answer.record_tables, "table", lambda columns, rows, _: (len(rows), "wide" in columns)
    )
    monkeypatch.setattr(answer, "_WIDE", ["wide"])
    batch = SimpleNamespace(
        headline=lambda: "headline", prices=list, outcome=None, shown=list(range(13))
    )
    made = SimpleNamespace(batches=[batch, batch], settings=(), table=lambda: (["name"], []))
    for wide, rows in ((False, 12), (True, 13)):
        body = [*answer.SensitivityAnswer.body(made, SimpleNamespace(wide=wide, width=80))]
        table = (rows, wide)
        assert body == ["headline", "", "heading", table, "headline", "", table]


@every(
    "slopes,file,key",
    [
        ((0.5, -0.25, 0.1), "hardware", (-0.5, 0, -0.25, -0.1)),
        # The sign is of no matter; three digits of speed are.
        ((-0.12345, 0.0, 2.0), "engine", (-0.123, 2, 0.0, -2.0)),
        # What is not known comes with what has no effect.
        ((nan, nan, inf), "model", (0.0, 3, 0.0, 0.0)),
    ],
)
def test_rows_are_in_order_of_effect_on_speed_then_kind_of_file(slopes, file, key):
    by_figure = dict(zip(moved_numbers.FIGURES, slopes, strict=False))
    moved = SimpleNamespace(
        slope=lambda figure: by_figure.get(figure, 0.0),
        effect=SimpleNamespace(lever=SimpleNamespace(file=file)),
    )
    found = moved_numbers.rank(moved)
    assert found[: len(key)] == key
    assert set(found[len(key) :]) <= {0.0}


@every(
    "file,name,is_choice",
    [
        ("model", "hidden_size", True),
        ("engine", "prompt_chunk", True),
        ("engine", "decode_layer_floor", False),
        ("engine", "usable", False),
        ("hardware", "prompt_chunk", False),
    ],
)
def test_numbers_of_which_neither_direction_is_better_for_every_request(file, name, is_choice):
    number = SimpleNamespace(place=("parameters", name))
    assert Lever(file, "made-up", number).is_choice is is_choice
