"""Sentences on the effects of parameters at one batch, from made-up rows."""

from math import nan
from types import SimpleNamespace

import pytest

from fastcalc.features.sensitivity.answer import MovedBatch, _distance, _in_words
from fastcalc.features.sensitivity.targets import Target
from tests.helpers import every


def row(
    name,
    *,
    elasticity=0.5,
    file="hardware",
    enough=2.0,
    value=1.0,
    is_spare=False,
    needed=None,
    factor=None,
    change=None,
):
    return SimpleNamespace(
        name=name, elasticity=elasticity, enough=enough, value=value, is_spare=is_spare, needed=needed,
        factor=factor, text=lambda number: f"{number:g} u", moves=elasticity != 0.0,
        slope=lambda _: elasticity, change=lambda _: elasticity / 10 if change is None else change,
        effect=SimpleNamespace(lever=SimpleNamespace(file=file)),
        change_cell=lambda _: "at limit" if is_spare else f"{10.0 * elasticity:+g}%",
    )  # fmt: skip


def batch(*rows, goal=None):
    found = MovedBatch(None, rows, goal)
    found.__dict__["_today"] = lambda: "Today."
    return found


def test_the_two_largest_levers_of_chip_and_engine_are_named():
    rows = [
        row("layers", file="model"), row("a", elasticity=0.5), row("b", elasticity=-0.05, file="engine"),
        row("c", elasticity=0.3),
    ]  # fmt: skip
    first, second = batch(*rows).buys()
    assert first == "Strongest chip or engine parameter: a (+10% changes speed by +5%)."
    assert second == "Next: b (+10% changes speed by -0.5%)."
    (limit,) = batch(row("a", is_spare=True)).buys()
    assert limit == "Strongest chip or engine parameter: a."
    # 0.049% are not worth a sentence, and what fits nowhere has no effect.
    assert batch(row("a", elasticity=0.049), row("b", elasticity=nan)).buys() == []


def test_three_parameters_of_a_chip_that_saturate_nearest_are_named():
    rows = [
        row(name, enough=enough, is_spare=True, change=0.0 if name == "b" else -0.07)
        for name, enough in (("a", 5.0), ("b", 2.0), ("c", 3.0), ("d", 4.0))
    ]
    rows += [row("e", enough=1.0), row("f", enough=1.0, is_spare=True, file="engine")]
    assert batch(*rows).saturated() == (
        "beyond these values, decode speeds up by at most 1%: b 2 u, c 3 u and d 4 u. More c or d "
        "would still shorten TTFT"
    )
    assert batch(row("a")).saturated() == ""


def test_rows_are_ordered_by_the_effect_that_the_table_prints():
    """Eight KV heads rise to 16: a small slope, but a large change; at a limit, a tenth of it."""
    rows = [
        row("a", elasticity=0.5), row("b", elasticity=-0.2, change=-0.3), row("c", elasticity=0.6, change=nan),
        row("d", elasticity=0.1, change=0.055),
    ]  # fmt: skip
    assert [one.name for one in batch(*rows).shown] == ["b", "c", "d", "a"]


TARGET = Target("speed", 200.0)


def goal(pair=None):
    return SimpleNamespace(target=TARGET, pair=pair, scenario=SimpleNamespace(batches=(8,)))


def lever(path, kind, value):
    return SimpleNamespace(number=SimpleNamespace(path=path, kind=kind, value=value))


@every(
    "rows,sentence",
    [
        ([row("a", factor=1.0, needed=1.0)], "200 tokens/s is already reached."),
        ([row("a")], "No parameter of chip or engine reaches 200 tokens/s alone."),
        ([row("m", file="model", needed=2.0, factor=2.0)], "No parameter of chip or engine reaches 200 tokens/s alone."),
        # The nearest, whether more or less of it is needed.
        (
            [row("a", needed=4.0, factor=4.0), row("b", needed=0.5, factor=0.5), row("c", needed=3.0, factor=3.0), row("d", needed=9.0, factor=9.0)],
            "The smallest chip or engine change that reaches 200 tokens/s: b of 0.5 u.",
        ),
    ],
)  # fmt: skip
def test_how_a_target_is_reached(rows, sentence):
    assert batch(*rows, goal=goal()).headline() == f"Today. {sentence}"


def test_the_smallest_change_of_two_numbers_is_told():
    levers = lever("cores", "number", 132.0), lever("memory[0].bandwidth", "bandwidth", 4e12)
    pair = SimpleNamespace(levers=levers, values=(264.0, 5e12), factor=1.5)
    assert batch(row("a"), goal=goal(pair)).headline() == (
        "Today. No parameter of chip or engine reaches 200 tokens/s alone."
    )
    said = batch(row("a"), goal=goal(pair)).pair()
    assert said.startswith(
        "at batch 8, the smallest two-parameter change that reaches 200 tokens/s "
    )
    assert said.endswith(" to 264 (2.00x) and memory[0] bandwidth to 5 TB/s (1.25x)")
    assert batch(row("a", factor=1.0), goal=goal(pair)).pair() == ""


def test_rows_without_effect_are_not_shown_and_with_a_target_the_nearest_comes_first():
    rows = [
        row("a", factor=4.0),
        row("b", elasticity=0.0),
        row("c", factor=0.5),
        row("d", factor=1.5),
    ]
    assert [one.name for one in batch(*rows).shown] == ["a", "c", "d"]
    assert [one.name for one in batch(*rows, goal=goal()).shown] == ["d", "c", "a"]
    assert _distance(row("a", factor=4.0)) == _distance(row("a", factor=0.25)) == (False, 4.0)


def test_without_a_target_the_largest_lever_stands_in_the_headline():
    assert (
        batch(row("a")).headline().startswith("Today. Strongest chip or engine parameter: a (+10% ")
    )
    assert batch(row("a", elasticity=0.0)).headline() == "Today."


@pytest.mark.parametrize(
    ("figure", "value", "text"),
    [
        ("speed", 200.0, "200 tokens/s"),
        ("ttft", 0.5, "TTFT of 500 ms"),
        ("usd", 2.5, "$2.50/Mtok of output"),
    ],
)
def test_a_target_in_words(figure, value, text):
    assert _in_words(Target(figure, value)) == text
