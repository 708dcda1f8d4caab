"""Runs, months, maps and rows of a decision with numbers for mental arithmetic."""

from math import inf, log, log10, nan
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.features.decide import map as decision_map
from fastcalc.features.decide import rows as decision_rows
from fastcalc.features.decide import run as decide_run
from fastcalc.features.decide.agent_run import (  # fmt: skip
    Run,
    Terms,
    included,
    prospect,
    routed,
    run_of,
    window_speed,
    window_tokens,
)
from fastcalc.features.decide.choice import BreakEven, Choice, Contender, _is_least, axis
from fastcalc.features.decide.parameters import PARAMETERS, Variable
from tests.helpers import every

TASK = {
    "speed": 50.0, "tokens": 100.0, "steps": 10.0, "lead": 0.5, "round_trip": 0.5, "tools": 2.0,
    "price": 10.0, "prompt": 1000.0, "input_price": 2.0, "cached": 0.25, "cached_price": 1.0,
}  # fmt: skip
"""A call takes 2 + 1 s and 0.001 + 0.00175 USD; ten calls and ten tools make a run."""


@every(
    "changes,success,model,tool,usd,tokens",
    [
        ({}, 1.0, 30.0, 20.0, 0.0275, 11_000),
        # Half of the tries are right: 1.5 of two at each step.
        ({"accuracy": 0.5, "retries": 1.0}, 0.75**10, 45.0, 30.0, 0.04125, 16_500),
        ({"accuracy": 0.5}, 0.5**10, 30.0, 20.0, 0.0275, 11_000),
        # Three answers at once take no longer than one.
        ({"samples": 3.0}, 1.0, 30.0, 20.0, 0.0825, 33_000),
        ({"samples": 3.0, "is_serial": True}, 1.0, 90.0, 20.0, 0.0825, 33_000),
        # Without a price of its own, what is cached costs as other input: 2,000 for 1,750.
        ({"cached_price": None}, 1.0, 30.0, 20.0, 0.03, 11_000),
        ({"cached": 0.0}, 1.0, 30.0, 20.0, 0.03, 11_000),
    ],
)
def test_a_run(changes, success, model, tool, usd, tokens):
    run = run_of(Terms(**TASK | changes))
    assert float(run.success) == pytest.approx(success)
    assert (float(run.model_seconds), float(run.tool_seconds)) == pytest.approx((model, tool))
    assert float(run.seconds) == pytest.approx(model + tool)
    assert (float(run.usd), float(run.tokens)) == pytest.approx((usd, tokens))


def a_run(success=0.5, calls=1.0, model=50.0, tool=50.0, usd=2.0, tokens=1000.0):
    return Run(*map(np.array, (success, calls, model, tool, usd, tokens)))


def test_a_quarter_of_the_steps_is_done_by_another():
    run = routed(a_run(), a_run(0.8, 5.0, 10.0, 90.0, 6.0, 200.0), 0.25)
    assert float(run.success) == pytest.approx(0.5**0.25 * 0.8**0.75)
    found = [run.calls, run.model_seconds, run.tool_seconds, run.usd, run.tokens]
    assert [float(each) for each in found] == pytest.approx([4.0, 20.0, 80.0, 5.0, 400.0])


USER = {"check": 30.0, "sessions": 2.0, "hour": 36.0, "hours": 1.3, "come_back": 10.0}
"""A check after each run of 100 s, of which half succeed for 2 USD each; 4,680 s per month."""


@every(
    "changes,seconds,user,usd,total,month,month_usd,tokens",
    [
        # 130 s in two sessions are 65; two runs to a success.
        ({}, 260, 130, 4.0, 4.0 + 1.3, 36, 144, 2000),
        # A user who repairs every second run in 60 s: 160 s in two sessions.
        ({"repair": 60.0}, 160, 80, 2.0, 2.0 + 0.8, 58.5, 117, 1000),
        # Who looks away after 10 s spends 10 and 10 to resume, and 30 to check.
        ({"sessions": 1.0, "look_away": 10.0}, 280, 100, 4.0, 5.0, 4680 / 280, 4 * 4680 / 280, 2000),
        # Who would look away after just the run does not.
        ({"look_away": 100.0}, 260, 130, 4.0, 5.3, 36, 144, 2000),
        ({"budget": 40.0}, 260, 130, 4.0, 5.3, 10, 40, 2000),
        ({"plan": 72.0}, 260, 130, 6.0, 7.3, 36, 216, 2000),
        # 18 successes are included, and 10 are bought: 20 of 56 thousand tokens.
        (
            {"plan": 72.0, "quota": 36_000.0, "budget": 40.0},
            260, 130, 4 * 20 / 56 + 72 / 28, 4 * 20 / 56 + 72 / 28 + 1.3, 28, 40 + 72, 2000,
        ),
        ({"plan": 72.0, "quota": 144_000.0}, 260, 130, 2.0, 3.3, 36, 72, 2000),
    ],
)  # fmt: skip
def test_what_a_success_takes(changes, seconds, user, usd, total, month, month_usd, tokens):
    found = prospect(a_run(), Terms(speed=1.0, **USER | changes))
    assert (float(found.seconds), float(found.user_seconds)) == pytest.approx((seconds, user))
    assert (float(found.usd), float(found.total)) == pytest.approx((usd, total))
    assert (float(found.month), float(found.month_usd)) == pytest.approx((month, month_usd))
    assert float(found.tokens) == tokens


def test_beyond_a_quota_without_a_price_nothing_is_bought():
    found = prospect(a_run(usd=nan), Terms(speed=1.0, **USER, plan=72.0, quota=36_000.0))
    assert (float(found.month), float(found.usd), float(found.month_usd)) == (18, 4, 72)
    never = prospect(a_run(success=0.0), Terms(speed=1.0, **USER))
    assert (float(never.total), float(never.month), float(never.month_usd)) == (inf, 0, 0)


@every(
    "quota,quota_hours,tokens", [(None, None, nan), (1e6, None, 1e6), (1e6, 5.0, 32e6), (0, 5.0, 0)]
)
def test_tokens_that_a_plan_includes(quota, quota_hours, tokens):
    found = float(included(Terms(speed=1.0, quota=quota, quota_hours=quota_hours)))
    assert found == pytest.approx(tokens, nan_ok=True)


@every(
    "window,tokens,speed",
    [(2.0, 50.0, 100.0), (1.5, 25.0, 200.0), (1.0, 0.0, inf), (0.5, 0.0, inf)],
)
def test_tokens_that_fit_a_window(window, tokens, speed):
    """A second passes before tokens stream, at 50 per second; a call has 100."""
    assert float(window_tokens(Terms(**TASK), window)) == tokens
    assert float(window_speed(Terms(**TASK), window)) == speed


@every(
    "now,value,distance",
    [(2.0, 4.0, log(2)), (4.0, 2.0, log(2)), (0.0, 4.0, 10 + log10(4)), (2.0, 0.0, 19.0), (inf, 100.0, 12.0)],
)  # fmt: skip
def test_how_far_a_break_even_is(now, value, distance):
    assert BreakEven("tools", now, value, "a", True).distance == pytest.approx(distance)


@every(
    "name,low,high,points,values,is_logarithmic",
    [
        ("tools", 1.0, 50.0, 3, [1.0, 50**0.5, 50.0], True),
        ("tools", 1.0, 49.0, 3, [1.0, 25.0, 49.0], False),
        ("tools", 0.0, 80.0, 3, [0.0, 40.0, 80.0], False),
        ("a.retries", 0.0, 2.0, 5, [0.0, 1.0, 2.0], False),
        ("best-of", 1.0, 3.0, 9, [1.0, 2.0, 3.0], False),
        ("steps", 1.0, 2.0, 3, [1.0, 1.5, 2.0], False),
    ],
)
def test_an_axis_of_a_map(name, low, high, points, values, is_logarithmic):
    found = axis(name, low, high, points)
    assert found.values.tolist() == pytest.approx(values)
    assert bool(found.is_logarithmic) is is_logarithmic


def test_values_at_which_a_verdict_may_turn():
    assert PARAMETERS["accuracy"].grid(3).tolist() == [0.0, 0.5, 1.0]
    assert Variable("x", LIMITS["share"], "x").grid(2).tolist() == pytest.approx([1e-6, 1.0])
    tries = PARAMETERS["retries"].grid(2000)
    assert tries[:4].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert np.all(np.diff(tries) >= 1.0)
    assert PARAMETERS["best-of"].grid(2000)[0] == 1.0
    seconds = PARAMETERS["tools"].grid(3)
    assert seconds[:2].tolist() == pytest.approx([0.0, 1e-4])
    assert PARAMETERS["budget"].grid(3)[-1] <= 1e7


@every(
    "values,is_least",
    [([1.0, 1.0 + 1e-10], [1, 1]), ([1.0, 1.0 + 1e-8], [1, 0]), ([-2.0, -2.0], [1, 1]), ([2.0, 1.0], [0, 1]), ([0.0, 1e-12], [1, 0])],
)  # fmt: skip
def test_values_that_are_practically_the_least(values, is_least):
    assert _is_least(np.array(values)).tolist() == [bool(each) for each in is_least]


def test_letters_of_a_map_and_its_ends():
    assert [decision_map.letter(at) for at in (-1, 0, 25, 26)] == [".", "A", "Z", "A"]
    drawn = SimpleNamespace(
        up=SimpleNamespace(values=np.array([1.0, 2.0]), name="a.accuracy", is_logarithmic=False),
        across=SimpleNamespace(values=np.arange(10.0), name="tools", is_logarithmic=True),
        winners=np.array([[0] * 10, [-1] * 4 + [1] * 6]),
    )
    table = decision_map.table(drawn)
    assert [tuple(row) for row in table.rows] == [("2.00", "....BBBBBB"), ("1.00", "A" * 10)]
    assert table.headings == [("",), ("0     9.00",)]
    assert decision_map.title(drawn) == (
        "Best option by a's accuracy (vertical) and tool time (s per step) in equal ratios "
        "(horizontal)"
    )


def choice(*contenders, **shared):
    return Choice(
        [Contender(name, {"speed": 50.0, **numbers}) for name, numbers in contenders], shared
    )


@every(
    "quota,texts",
    [
        (None, ["it is cheaper above that"]),
        (2e6, ["2.00 million tokens per month (input and output), enough for 2,000 successes", "above that"]),
        (1e6, ["1.00 million tokens per month (input and output), enough for 1,000 successes", "its quota includes fewer"]),
    ],
)  # fmt: skip
def test_when_a_plan_pays(quota, texts):
    """A thousand tokens cost a cent: 20 USD pay for 2,000 successes of two million tokens."""
    numbers = {"price": 10.0, "plan": 20.0} | ({"quota": quota} if quota else {})
    decided = choice(("api", {"price": 10.0}), ("plan", numbers), ("free", {"price": 0.0}))
    api, plan, _ = decision_rows.rows(decided)
    assert list(api.limits) == []
    said = list(plan.limits)
    assert len(said) == len(texts)
    assert all(text in line for text, line in zip(texts, said, strict=True))
    start = (
        "plan: $20/month pays for 2,000 successes of api, 2.00 million input and output tokens; "
    )
    assert said[-1].startswith(start)


def test_a_user_who_checks_is_busy_with_some_sessions():
    """Runs of 20 s and checks of 10: while one is checked, the others run: three sessions."""
    (row,) = decision_rows.rows(choice(("a", {"price": 1.0}), check=10.0))
    assert list(row.limits) == [
        "a: with 3.00 concurrent sessions, the user never waits, and more speed does not help"
    ]


def test_what_tools_leave_to_speed():
    """20 s in the model and 30 in tools: of half the 20 s a run takes 40, of none 30."""
    (row,) = decision_rows.rows(choice(("a", {}), tools=30.0))
    assert row.tool_limit == (
        "a: tools take 60% of a run. Twice the token speed makes it 1.25 times as fast, and the "
        "limit at any speed is 1.67 times"
    )
    (row,) = decision_rows.rows(choice(("a", {})))
    assert row.tool_limit is None


@every(
    "path,unit,cell,value",
    [
        ("lead", "ms", "250 ms", 250.0),
        ("lead", "s", "250 ms", 0.25),
        ("speed", "tokens/s", "50.0", 50.0),
        ("price", "USD/Mtok", "10.0", 10.0),
        ("prospect.run.seconds", "s", "40.5 s", 40.5),
        ("prospect.busy_sessions", "USD", "never", inf),
    ],
)
def test_cells_of_a_row_are_in_readable_units(path, unit, cell, value):
    """Two steps of a thousand tokens at 50 per second, and a quarter of a second before each."""
    (row,) = decision_rows.rows(choice(("a", {"lead": 0.25, "price": 10.0}), steps=2.0))
    assert decision_rows._cell(path, unit, row) == cell
    assert decision_rows._value(path, unit, row) == value


@every(
    "numbers,counts_input,kept,notes",
    [
        ([{"lead": 1.0, "input_price": 1.0}] * 2, True, {"lead", "input_price"}, []),
        (
            [{"lead": 1.0, "input_price": 1.0}, {"input_price": 1.0}], True, {"input_price"},
            ["time to first token is not given for b, so it is ignored for all"],
        ),
        ([{}, {}], False, set(), ["time to first token is not given, so it is ignored"]),
        (
            [{}, {}], True, set(),
            ["time to first token is not given, so it is ignored", "price of input is not given, so it is ignored"],
        ),
        (
            [{"lead": 1.0}, {"lead": 1.0, "input_price": 1.0}], True, {"lead"},
            ["price of input is not given for a, so it is ignored for all"],
        ),
    ],
)  # fmt: skip
def test_what_not_all_options_give_is_not_counted(numbers, counts_input, kept, notes):
    listed = [Contender(name, each) for name, each in zip("ab", numbers, strict=True)]
    levelled, said = decide_run._levelled(listed, counts_input=counts_input)
    assert said == notes
    assert [set(contender.numbers) for contender in levelled] == [kept, kept]


@every(
    "objective,hour,window,found",
    [
        (None, None, None, "time"),
        (None, 60.0, None, "total"),
        ("cost", None, None, "cost"),
        ("total", 60.0, None, "total"),
        ("time", 60.0, None, "time"),
        (None, None, 0.2, "window"),
        ("total", None, None, "includes the user's time"),
        ("time", None, 0.2, "asks how many tokens fit"),
    ],
)
def test_the_objective_that_is_asked(objective, hour, window, found):
    request = SimpleNamespace(objective=objective, hour=hour)
    if " " not in found:
        assert decide_run._objective(request, window) == found
        return
    with pytest.raises(InputError, match=found):
        decide_run._objective(request, window)


def test_a_window_is_in_milliseconds():
    assert decide_run._window(SimpleNamespace(window_ms=None)) is None
    assert decide_run._window(SimpleNamespace(window_ms=250.0)) == 0.25


@every(
    "ends,values",
    [("0..30", (0.0, 30.0)), ("1..1", "is empty"), ("2..1", "is empty"), ("1..", "no two ends"), ("..3", "no two ends")],
)  # fmt: skip
def test_an_axis_goes_from_a_smaller_to_a_larger_value(ends, values):
    decided = choice(("a", {}), ("b", {}))
    if isinstance(values, tuple):
        found = decide_run._axis("tools", ends, decided, 4)
        assert (found.values[0], found.values[-1], len(found.values)) == (*values, 4)
        return
    with pytest.raises(InputError, match=values):
        decide_run._axis("tools", ends, decided, 4)
