"""Tables of smaller batches with numbers for mental arithmetic."""

from math import nan
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.features.fastmode import curve as curves
from fastcalc.features.fastmode.curve import CurveStart, floors_needed, rows
from fastcalc.features.fastmode.smaller_batches import Curve
from tests.helpers import every

STARTS = np.array([1, 2, 3, 4, 8, 12])
SCENARIO = SimpleNamespace(
    engine=SimpleNamespace(id="mine", ranges={}),
    hardware=None,
    work=SimpleNamespace(short_format="fp8", kv_format="bf16"),
    pricing=SimpleNamespace(per_chip_hour=lambda _: 3.6, utilization=0.5),
)
FREE = SimpleNamespace(
    hardware=None, pricing=SimpleNamespace(per_chip_hour=lambda _: None, utilization=0.5)
)


def line(batch, *, speed=50.0, faster=100.0, floor=2e-3, starts=STARTS):
    """A curve from 50 tokens/s of each user to twice that; a batch of 0 where none is so fast."""
    count = len(starts)
    speeds = np.full(count, speed)
    found = np.where(np.array(batch) > 0, faster, nan)
    layouts = ["tp2"] * count
    return Curve(
        SimpleNamespace(scenario=SCENARIO), 2, 2.0, floor, starts, speeds, layouts,
        np.array(batch), found, layouts, 200.0,
    )  # fmt: skip


def study(engines, floors=()):
    return SimpleNamespace(chips=2, speedup=2.0, engines=engines, floors=list(floors))


def test_a_smaller_batch_costs_as_many_times_as_it_serves_fewer_tokens():
    """8 users at 50 tokens/s are 400, 4 at 100 as many; 2 at 100 are half; without an end nan."""
    found = line([4, 2, 1, 0], starts=np.array([8, 8, 8, 8])).multiple
    np.testing.assert_array_equal(found, [1.0, 2.0, 4.0, nan])


@every(
    "batches,shown",
    [
        # Powers of two from the one before the first start that reaches the speed, and the largest.
        ([[0, 0, 0, 1, 2, 3]], [2, 4, 8, 12]),
        ([[0, 0, 1, 1, 2, 3]], [2, 4, 8, 12]),
        ([[0, 1, 1, 1, 2, 3]], [1, 2, 4, 8, 12]),
        ([[1, 1, 1, 1, 2, 3]], [1, 2, 4, 8, 12]),
        # Of several engines, the first that reaches it.
        ([[0, 0, 0, 0, 0, 3], [0, 0, 0, 1, 2, 3]], [2, 4, 8, 12]),
        ([[0, 0, 0, 0, 0, 3]], [8, 12]),
        ([[0, 0, 0, 0, 0, 0]], [8, 12]),
    ],
)
def test_rows_begin_before_the_first_start_that_reaches_the_speed(batches, shown):
    positions = rows(study([line(batch) for batch in batches]))
    assert STARTS[positions].tolist() == shown


def test_the_largest_start_and_the_one_before_it_are_shown_where_none_reaches_the_speed():
    starts = np.array([1, 2, 4, 8])
    assert starts[rows(study([line([0, 0, 0, 0], starts=starts)]))].tolist() == [4, 8]


def test_the_floor_needed_is_the_largest_at_which_a_start_costs_no_more():
    """12 users at 50 tokens/s over so many at 100: 1, 2 and 3 times; none at the longest floor."""
    starts = np.array([12])
    floors = [
        line([batch], floor=floor, starts=starts)
        for batch, floor in ((6, 1e-3), (3, 2e-3), (2, 3e-3), (0, 4e-3))
    ]
    for cost, needed in ((0.9, None), (1.0, 1.0), (2.0, 2.0), (2.9, 2.0), (3.0, 3.0), (99.0, 3.0)):
        assert floors_needed(study([line([6], starts=starts)], floors), cost) == [needed]


def start(scenario=SCENARIO, *, smaller=5, speed=100.0):
    return CurveStart(
        study=study([]), scenario=scenario, floor_ms=1.0, batch=10, speed=speed, before=None,
        smaller_batch=smaller, faster=150.0, after=None, cost_multiple=1.0,
    )  # fmt: skip


def test_a_start_has_its_price():
    """Two chips at 3.60 USD/h, half used, are 0.004 USD/s; 1,000 and 750 tokens/s share it."""
    assert start().usd == pytest.approx(4.0)
    assert start().end_usd == pytest.approx(4.0 / 0.75)
    assert start().reaches
    lost = start(smaller=None)
    assert (lost.end_usd, lost.reaches) == (None, False)
    assert start(speed=0.0).usd is None
    assert start(FREE).usd is None


def test_cells_say_why_they_hold_no_number():
    found = line([0, 4], starts=np.array([4, 8]))
    assert curves._multiple_cell(found, 0) == "never"
    assert curves._multiple_cell(found, 1).startswith("1")
    assert curves._multiple_cell(line([0, 4], speed=0.0, starts=np.array([4, 8])), 1) == "-"


def test_which_starts_reach_the_speed_is_told():
    """All from 8 to 16 users reach it; 8 x 50 over 2 x 100 cost twice, 16 x 50 over 8 x 100 once."""
    starts = np.array([8, 16])
    head = "mine in fp8, KV cache bf16 (floor 2.00 ms, one user 200): 2x "
    for batch, cost, said in (
        ([2, 8], 2.0, "from 8 to 16 users; for 2x or less from 8 to 16"),
        ([2, 8], 0.5, "from 8 to 16 users; for 0.5x or less never"),
        ([0, 0], 2.0, "never"),
    ):
        assert curves.where(line(batch, starts=starts), cost) == head + said


def test_a_chart_of_floors_is_drawn_where_a_start_reaches_the_speed():
    starts = np.array([8, 16])
    found = line([2, 8], starts=starts)
    drawn = curves.floors_chart(study([found], [found]), 1.5, 300, is_ascii=True)
    assert max(map(len, drawn)) <= 80
    assert any("2x for 1.5x or less" in text for text in drawn)
    assert any("2x for more" in text for text in drawn)
    (only,) = curves.floors_chart(
        study([found], [line([0, 0], starts=starts)]), 1.5, 80, is_ascii=True
    )
    assert only == "no start reaches 2x at any floor tried"
