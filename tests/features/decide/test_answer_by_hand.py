"""The answer of a decision between options with numbers for mental arithmetic."""

from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest

import fastcalc as fc
from fastcalc.features.decide import map as decision_map
from fastcalc.features.decide.agent_run import Terms, prospect, run_of
from fastcalc.features.decide.answer import DecideAnswer, _flip_lines, _side
from fastcalc.features.decide.choice import Axis, BreakEven, Choice, Contender, WinnerMap
from fastcalc.features.decide.options import _point
from fastcalc.features.decide.parameters import PARAMETERS
from fastcalc.features.decide.request import Decide
from fastcalc.features.decide.rows import COLUMNS, Row
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Screen
from fastcalc.kit.answer.parts import Notes
from fastcalc.mentions import as_flags
from tests.helpers import every


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


FAST = Contender("fast", {"speed": 100.0, "price": 20.0})
SLOW = Contender("slow", {"speed": 50.0, "price": 10.0})
MAP = WinnerMap(
    Axis("tools", np.array([0.0, 5.0, 10.0])), Axis("fast.speed", np.array([1.0, 2.0])),
    np.arange(12.0).reshape(2, 2, 3), np.array([[0, 1, -1], [0, 0, 1]]),
)  # fmt: skip


def answered(
    objective="time", *, winners=None, window=None, told=((), (), ()), asked=None, **shared
):
    task = {"steps": 1.0, "tokens": 1000.0, **shared}
    decision = Choice([FAST, SLOW], task, objective, window)
    uncounted, remarks, warned = told
    return DecideAnswer(
        request=Decide(options=["fast=speed=100,price=20", "slow=speed=50,price=10"], **asked or {}),
        decision=decision, winners=winners, uncounted=uncounted, remarks=remarks, warned=warned,
    )  # fmt: skip


TASK = [
    *("", "option", "tokens_per_s", "usd_per_mtok_output", "accuracy", "success", "run_s"),
    *("s_to_success", "usd_to_success"),
]
MONTH = ["successes_a_month", "usd_a_month"]


@every(
    "objective,shared,keys,figure",
    [
        ("time", {}, [*TASK, *MONTH], "s_to_success"),
        ("cost", {}, [*TASK, *MONTH], "usd_to_success"),
        ("time", {"sessions": 2.0}, [*TASK, "user_s_to_success", *MONTH], "s_to_success"),
        ("total", {"hour": 60.0}, [*TASK, "total_usd_to_success", *MONTH], "total_usd_to_success"),
        ("window", {}, ["", "option", "tokens_per_s", "lead_ms", "round_trip_ms", "window_tokens", "tokens_per_s_needed"], "window_tokens"),
    ],
)  # fmt: skip
def test_columns_of_an_objective_and_its_key_figure(objective, shared, keys, figure):
    columns = answered(objective, window=1.0, **shared).columns()
    assert [column.key for column in columns] == keys
    plain = {column.key: column for column in COLUMNS}
    assert [column.key for column in columns[1:] if column != plain[column.key]] == [figure]


@every(
    "objective,shared,vanish",
    [
        ("time", {}, ["usd_a_month", "usd_per_mtok_output", "accuracy", "run_s"]),
        ("total", {"hour": 60.0}, ["usd_a_month", "usd_per_mtok_output", "accuracy", "run_s"]),
        ("window", {}, ["round_trip_ms"]),
    ],
)
def test_columns_leave_a_narrow_table_one_after_another(objective, shared, vanish):
    answer = answered(objective, window=1.0, **shared)
    columns, left = answer.columns(), []
    for width in range(130, 20, -1):
        shown = record_tables.table(columns, answer.rows, width).headings
        left += [
            column.key for column in columns
            if column.heading not in shown and column.key not in left
        ]  # fmt: skip
    assert left == vanish


def test_the_table_and_the_first_notes_of_two_typed_options():
    """Three steps of 1,000 tokens at 100 tokens/s are 30 s, and 160 hours have 19,200 of them."""
    answer = fc.decide(
        ["fast=speed=100,price=20,ttft-ms=100", "slow=speed=50,price=10"], steps=3, prompt=10
    )
    cells = [[*line.split()] for line in str(answer).splitlines() if line[:3] in ("A  ", "B  ")]
    assert cells == [
        ["A", "fast", "100", "20.0", "1.00", "100%", "30.0", "s", "30.0", "s", "0.060", "19,200", "1,152"],
        ["B", "slow", "50.0", "10.0", "1.00", "100%", "1.00", "min", "1.00", "min", "0.030", "9,600", "288"],
    ]  # fmt: skip
    assert answer.notes[:3] == [
        "No accuracy is given for fast and slow, so every answer counts as right.",
        "Time to first token is not given for slow, so it is ignored for all.",
        "Price of input is not given, so it is ignored.",
    ]
    stated = fc.decide(["fast=speed=100,price=20", "slow=speed=50,price=10"], accuracy=0.9)
    assert not any("No accuracy" in note for note in stated.notes)


def test_a_model_is_an_option_on_each_of_three_chips_unless_some_are_named():
    options = fc.decide(["a=model=llama-3.1-8b"]).records
    assert [(row["option"], row["batch"]) for row in options] == [
        ("a/h100-sxm", 1), ("a/gb200", 1), ("a/wse-3", 1)
    ]  # fmt: skip
    options = fc.decide(["a=model=llama-3.1-8b"], on="h100-sxm", batch="1,8").records
    assert [(row["option"], row["batch"]) for row in options] == [("a/1", 1), ("a/8", 8)]


def with_flips(answer, count=5):
    """Have an answer break even at the doubles of some values."""
    flips = [
        BreakEven(f"fast.{name}", 10.0, 10.0 * 2.0**index, "slow", is_above=True)
        for index, name in enumerate(("price", "speed", "plan", "quota", "input-price")[:count], 1)
    ]
    answer.__dict__["flips"] = flips
    return answer


def test_a_page_shows_four_break_evens_and_three_notes_unless_all_are_asked_for():
    """Two remarks, an uncounted input, a warning and what is assumed: more than three notes."""
    answer = with_flips(answered(told=(["one."], ["two.", "three."], ["four."])))
    notes = [*answer.notes()]
    assert len(notes) > 4
    *_, few = answer.page(Screen(100))
    *_, all_notes = answer.page(Screen(100, notes=True))
    assert isinstance(few, Notes)
    few_lines, all_lines = " ".join(map(str, few.lines)), " ".join(map(str, all_notes.lines))
    assert "one." in few_lines
    assert "four." not in few_lines
    hint = f" prints 1 more break-even value and {len(notes) - 3} more notes."
    assert as_flags(few_lines).endswith(hint)
    assert "four." in all_lines
    assert " prints " not in all_lines
    # At 16 times as much, and at 32 times only where all are shown.
    assert ("$160" in few_lines or "160 " in few_lines, "320" in few_lines) == (True, False)
    assert "320" in all_lines
    *_, four = with_flips(answered(), 4).page(Screen(100))
    assert "tipping point" not in " ".join(map(str, four.lines))
    # A map leaves room for one.
    *_, drawn = with_flips(answered(winners=MAP, told=(["one."], ["two."], []))).page(Screen(100))
    assert "two." not in " ".join(map(str, drawn.lines))


def test_break_evens_are_ordered_by_ratio_whichever_way_a_number_moves():
    flips = [
        BreakEven("fast.speed", 100.0, 40.0, "slow", is_above=False),  # 2.5 times slower
        BreakEven("slow.speed", 50.0, 100.0, "slow", is_above=True),  # twice as fast
        BreakEven("tools", 0.0, 1.0, "slow", is_above=True),
    ]
    answer = answered()
    answer.__dict__["flips"] = flips
    assert answer.nearest_flips == [flips[1], flips[0], flips[2]]
    assert [*answer.details()["break_even"][0].values()] == ["fast.speed", 100.0, 40.0, "below", "slow"]  # fmt: skip
    assert answer.details()["break_even"][1]["side"] == "above"
    assert "options" not in answer.details()
    drawn = answered(winners=MAP)
    drawn.__dict__["flips"] = flips
    assert [one["option"] for one in drawn.details()["options"]] == ["fast", "slow"]


@every(
    "parameter,value,is_above,side",
    [
        ("steps", 3.0, True, "3 or more"),
        ("steps", 1200.0, False, "1,200 or fewer"),
        ("tools", 2.0, True, "above 2.00 s"),
        ("tools", 2.0, False, "below 2.00 s"),
        ("tools", 0.0, False, "0 s"),
        ("tools", 0.0, True, "above 0 s"),
        ("fast.price", 12.0, True, "above $12.0"),
        ("fast.price", 12.0, False, "below $12.0"),
    ],
)
def test_the_side_of_a_value_on_which_another_option_wins(parameter, value, is_above, side):
    assert _side(BreakEven(parameter, 1.0, value, "slow", is_above)).startswith(side)


def test_break_evens_of_one_winner_make_one_line():
    flips = [
        BreakEven("tools", 1.0, 2.0, "slow", is_above=True),
        BreakEven("check", 1.0, 3.0, "other", is_above=True),
        BreakEven("steps", 1.0, 4.0, "slow", is_above=True),
    ]
    first, second = _flip_lines(flips)
    assert first.startswith(
        "slow would rank first if any of these is true: tool time is above 2.00 s per step; "
        "number of steps is 4 or more"
    )
    assert second.startswith("other ranks first if ")


def test_numbers_of_the_winner_come_first_and_names_are_whole_words():
    """After the name of another option "its" could mean either; fast is no part of opus-fast."""
    flips = [
        BreakEven("opus-fast.speed", 50.0, 20.0, "fast", is_above=False),
        BreakEven("fast.speed", 50.0, 80.0, "fast", is_above=True),
    ]
    (line,) = _flip_lines(flips)
    assert line == (
        "fast would rank first if any of these is true: its speed is above 80.0 tokens/s; "
        "opus-fast's speed is below 20.0 tokens/s."
    )


def test_a_point_of_a_map_has_its_values_its_winner_and_each_figure():
    records = decision_map.records(answered().decision, MAP)
    assert len(records) == 6
    expected = {"tools": 10.0, "fast.speed": 1.0, "winner": None, "s:fast": 2.0, "s:slow": 8.0}
    assert records[2] == expected
    assert records[3] | {"winner": "fast", "tools": 0.0, "fast.speed": 2.0} == records[3]
    assert answered(winners=MAP).records() == records
    assert [one["option"] for one in answered().records()] == ["fast", "slow"]


def test_a_map_has_its_largest_value_on_top():
    drawn = decision_map.table(MAP)
    assert [letters for _, letters in drawn.rows] == ["AAB", "AB."]
    assert decision_map.letter(25) == "Z"
    assert decision_map.letter(26) == "A"
    assert decision_map.letter(0) == "A"


@every(
    "asked,words",
    [
        ({}, ["--map", "tools=0..30,slow.accuracy=0.5..1"]),
        ({"steps": 3}, ["--steps 3", "--map"]),
        ({"map": "tools=0..30,check=0..9"}, ["--notes"]),
        ({"window_ms": 50.0}, ["--window-ms 50", "--notes"]),
    ],
)
def test_the_next_command_draws_a_map_or_prints_all_notes(asked, words):
    line = as_flags(answered(asked=asked).next_command())
    assert line.startswith("fastcalc decide fast=speed=100,price=20 slow=speed=50,price=10 ")
    assert all(word in line for word in words)
    assert ("--notes" in line) is ("--notes" in words)


def outcome(low, high, usd):
    rates = [None if end is None else np.array(end) for end in (low, high)]
    estimate = SimpleNamespace(
        speed=np.array([10.0, 20.0]), ttft=np.array([1.0, 2.0]), low=rates[0], high=rates[1]
    )
    chosen = SimpleNamespace(batches=(4, 8), model=SimpleNamespace(id="m"), hardware=SimpleNamespace(id="h"))  # fmt: skip
    return SimpleNamespace(estimate=estimate, scenario=chosen, usd=usd)


def test_a_computed_option_has_the_numbers_of_its_batch():
    ends, usd = ([5.0, 15.0], [11.0, 25.0]), (np.array([0.1, 0.2]), np.array([3.0, 6.0]))
    made = _point(outcome(*ends, usd), 1, {"accuracy": 0.5}, counts_prompt=True)
    assert made.numbers == {"speed": 20.0, "price": 6.0, "lead": 2.0, "input_price": 0.2, "accuracy": 0.5}  # fmt: skip
    assert (made.model, made.hardware, made.batch, made.speed_ends) == ("m", "h", 8, (15.0, 25.0))
    # What is given replaces what is computed.
    assert _point(outcome(*ends, usd), 0, {"speed": 7.0}, counts_prompt=False).numbers == {
        "speed": 7.0,
        "price": 3.0,
    }
    for low, high in ((None, [11.0, 25.0]), ([5.0, 15.0], None), (None, None)):
        unpriced = _point(outcome(low, high, None), 0, {}, counts_prompt=True)
        assert unpriced.speed_ends is None
        assert np.isnan([unpriced.numbers["price"], unpriced.numbers["input_price"]]).all()


def test_a_note_on_tools_is_on_the_winner_alone():
    """10 and 20 s of tokens and 30 s of tools: fast wins, and 75 % of its run are tools."""
    answer = answered(tools=30.0)
    limits = [str(note.text) for note in answer.notes() if "tools take" in str(note.text)]
    assert len(limits) == 1
    assert limits[0].startswith("fast: tools take 75% of a run. ")


def test_what_is_not_given_is_not_counted():
    assert vars(Terms(speed=1.0)) == pytest.approx(
        {
            "speed": 1.0, "accuracy": 1.0, "price": nan, "input_price": 0.0, "cached_price": None,
            "plan": 0.0, "quota": None, "quota_hours": None, "lead": 0.0, "round_trip": 0.0,
            "steps": 1.0, "tokens": 1000.0, "prompt": 0.0, "cached": 0.0, "tools": 0.0, "retries": 0.0,
            "samples": 1.0, "judge": 1.0, "is_serial": False, "check": 0.0, "repair": None,
            "sessions": 1.0, "look_away": inf, "come_back": 0.0, "hour": 0.0, "hours": 160.0, "budget": inf,
        },
        nan_ok=True,
    )  # fmt: skip
    asked = Decide()
    assert (asked.steps, asked.tokens, asked.retries, asked.best_of, asked.sessions) == (1, 1000, 0, 1, 1)  # fmt: skip
    assert (asked.tool_seconds, asked.round_trip_ms, asked.check_seconds, asked.hours) == (0, 0, 0, 160)  # fmt: skip


def test_units_and_zeros_of_parameters():
    """Milliseconds are thousandths of a second; nothing runs at a speed or for a time of 0."""
    scales = {name: one.scale for name, one in PARAMETERS.items() if one.scale != 1.0}
    assert scales == {"ttft-ms": 1e-3, "round-trip-ms": 1e-3}
    positive = {name for name, one in PARAMETERS.items() if not one.zero}
    assert positive == {
        *("speed", "quota-hours", "steps", "tokens", "best-of", "sessions", "hours", "budget"),
    }


def test_a_repair_takes_its_time_after_each_failed_run():
    """10 s of tokens, 5 s to check, and one of four runs is repaired in 60 s."""
    asked = Terms(speed=100.0, accuracy=0.75, check=5.0, repair=60.0)
    assert float(prospect(run_of(asked), asked).seconds) == pytest.approx(30.0)


def test_amounts_in_dollars_rest_on_the_price_of_a_chip(monkeypatch):
    def listed():
        (fast, _) = answered().records()
        return fast["low_confidence"]

    assert not listed()
    monkeypatch.setattr(Row, "is_uncertain", True)
    assert {"usd_per_mtok_output", "usd_to_success", "usd_a_month"} <= set(listed())
    assert all("usd" in key for key in listed())


def test_a_page_says_where_no_other_value_changes_the_winner(monkeypatch):
    monkeypatch.setattr(DecideAnswer, "nearest_flips", [])
    monkeypatch.setattr(DecideAnswer, "next_command", lambda _: "next")
    *_, last = answered().page(Screen(100))
    assert last.lines[0] == "No change of a single number makes another option rank first."
