"""The chart of contexts against users, on chips whose memory a head can divide."""

import pytest

from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.fit.chart import _finding, _line, context
from fastcalc.kit.charts.drawing import MOST, Series
from fastcalc.mentions import as_flags
from tests import made_up
from tests.helpers import every

MODEL = made_up.minimal(total_parameters=100_000_000, kv_bytes_per_token=10_000, max_context=10**6)
"""0.2 GB of weights: 1 GB leaves 0.8 GB, 80,000 tokens of 10 kB."""

LARGE = made_up.minimal(total_parameters=10**12, kv_bytes_per_token=10_000)


def scenario(*batches, chip="a", gigabytes=1, model=MODEL, under=None, **changes):
    memory = [{"name": "M", "capacity": f"{gigabytes} GB", "bandwidth": "1 TB/s"}]
    return Scenario(
        hardware=made_up.chip(id=chip, memory=memory),
        model=model,
        engine=under or made_up.engine(),
        batches=batches or (4,),
        traffic=Traffic(100.0, 100.0, 150.0),
        sharding=Sharding(1),
        **changes,
    )


def test_one_batch_is_drawn_as_doublings_from_one_to_1024():
    line = _line([scenario(4)], "", 0)
    assert line.x.tolist() == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert line.y.tolist() == [80_000 // users for users in line.x]
    assert line.name == "1 x a"
    assert line.tips[0] == "one user, 80,000 tokens each, 1 x a"
    assert line.tips[-1] == "1,024 users, 78 tokens each, 1 x a"


def test_several_batches_are_drawn_in_order_and_once():
    """80,000 tokens of 80,001 users are none: that number is left out."""
    line = _line([scenario(8, 80_000), scenario(2, 80_001), scenario(8)], "fp8", 3)
    assert line.x.tolist() == [2, 8, 80_000]
    assert line.y.tolist() == [40_000, 10_000, 1]
    assert line.name == "1 x a fp8"
    assert line.colour == 3


@every("users,is_drawn", [(80_000, True), (80_001, False)])
def test_a_line_without_a_token_is_none(users, is_drawn):
    assert (_line([scenario(users, 200_000)], "", 0) is not None) is is_drawn


def test_a_line_is_of_a_chip_a_model_and_formats():
    chart = context([scenario(2, 4), scenario(8, gigabytes=1), scenario(2, 4, chip="b")])
    assert [line.name for line in chart.panels[0].series] == ["1 x a", "1 x b"]
    assert chart.panels[0].series[0].x.tolist() == [2, 4, 8]
    assert chart.title.endswith("Made up, weights bf16, KV cache bf16")
    assert chart.notes[0].startswith("tokens are prompt and output of each user")
    assert len(chart.notes) == 1


def test_formats_that_differ_are_in_the_names_of_lines():
    chart = context([scenario(2), scenario(2, kv="fp8")])
    assert [line.name for line in chart.panels[0].series] == ["1 x a bf16", "1 x a fp8"]
    assert chart.title.endswith(": Made up")


def test_chips_that_hold_nothing_are_named():
    small = scenario(2, chip="b", gigabytes=0.1)
    chart = context([scenario(2), small])
    nothing = context([small])
    assert nothing.panels in ([], ())
    for each in (chart, nothing):
        assert "b holds none of them" in each.notes


@pytest.mark.thorough
@every("count,notes", [(MOST, 1), (MOST + 1, 2)])
def test_so_many_lines_are_drawn(count, notes):
    chart = context([scenario(2, chip=f"c{number}") for number in range(count)])
    assert len(chart.panels[0].series) == min(count, MOST)
    assert len(chart.notes) == notes
    if notes > 1:
        assert (
            as_flags(chart.notes[1])
            == f"{MOST} lines are drawn; choose the chips to draw with --on"
        )


def series(name, x, y):
    return Series(name, x, y, 0)


@every(
    "lines,finding",
    [
        (
            [("1 x a", [1, 8], [80, 10])],
            "1 x a holds most: 80 tokens for one user, or 10 for each of 8.",
        ),
        (
            [("2 x a", [2, 8], [80, 10])],
            "2 x a hold most: 80 tokens for two users, or 10 for each of 8.",
        ),
        (
            [("1 x a", [1, 8], [80, 10]), ("1 x b", [1, 16], [40, 5])],
            "1 x a holds most: 80 tokens for one user. 1 x b holds 5 for each of 16.",
        ),
        # Of equal first contexts that with the longer last one leads.
        (
            [("1 x a", [1, 8], [80, 10]), ("1 x b", [1, 8], [80, 11])],
            "1 x b holds most: 80 tokens for one user, or 11 for each of 8.",
        ),
    ],
)
def test_which_chip_gives_few_users_most_and_which_many(lines, finding):
    assert _finding([series(*line) for line in lines]) == finding
