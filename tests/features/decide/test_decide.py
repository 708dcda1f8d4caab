"""Decisions: what a hand can compute, properties, break-evens, the map, and the command."""

import csv
import io
import json
import math
import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.catalogue.stand_ins import service, services
from fastcalc.catalogue.store import Catalogue
from fastcalc.features.decide.agent_run import (
    Terms,
    prospect,
    routed,
    run_of,
    window_speed,
    window_tokens,
)
from fastcalc.features.decide.choice import Choice, Contender
from fastcalc.features.decide.parameters import PARAMETERS
from fastcalc.features.decide.request import Decide
from fastcalc.features.decide.run import _shared, _window
from tests.helpers import every, read_or_refusal, run, words
from tests.strategies import examples

SHARES = st.floats(0.01, 1.0)
SPEEDS = st.floats(1.0, 1e4)
COUNTS = st.integers(1, 20)
THREE = ("opus=speed=65,price=25", "fast=speed=170,price=150", "spark=speed=1000,accuracy=0.75")


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def call(*args):
        monkeypatch.setenv("COLUMNS", "100")
        return run("decide", *args, capsys=capsys, monkeypatch=monkeypatch)

    return call


@pytest.fixture
def decided(fastcalc):
    def call(*args):
        ran = fastcalc(*args, "--format", "json")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    return call


def found(**terms):
    asked = Terms(**terms)
    return prospect(run_of(asked), asked)


@given(SPEEDS, st.integers(1, 10**6), COUNTS)
def test_sure_and_without_tools_it_is_tokens_over_speed(speed, tokens, steps):
    one = found(speed=speed, price=25.0, steps=steps, tokens=tokens)
    assert one.seconds == pytest.approx(steps * tokens / speed)
    assert one.user_seconds == pytest.approx(steps * tokens / speed)
    assert one.usd == pytest.approx(steps * tokens * 25e-6)
    assert one.run.success == 1


def test_a_rare_success_does_not_drown_in_rounding():
    one = found(speed=1.0, accuracy=1e-18, tokens=1, retries=3)
    assert one.run.calls == pytest.approx(4)
    assert one.run.success == pytest.approx(4e-18)
    assert one.seconds == pytest.approx(1e18)


def test_prefill_and_a_cached_prompt_come_on_top():
    one = found(
        speed=50.0,
        lead=0.25,
        price=10.0,
        input_price=2.0,
        cached_price=0.5,
        steps=4,
        tokens=100,
        prompt=1000,
        cached=0.75,
        round_trip=0.05,
    )
    assert one.seconds == pytest.approx(4 * (100 / 50 + 0.25 + 0.05))
    assert one.usd == pytest.approx(4 * (100 * 10 + 250 * 2 + 750 * 0.5) / 1e6)


def test_tools_and_retries_by_hand():
    """Half right, one retry: 1.5 tries a step, three quarters right in the end."""
    one = found(speed=10.0, accuracy=0.5, steps=2, tokens=10, tools=3.0, retries=1)
    assert one.run.calls == pytest.approx(3.0)
    assert one.run.seconds == pytest.approx(3 * (1 + 3))
    assert one.run.model_seconds == pytest.approx(3)
    assert one.run.success == pytest.approx(0.75**2)
    assert one.seconds == pytest.approx(12 / 0.5625)


def test_best_of_costs_tokens_and_serially_time():
    offered = {"speed": 100.0, "accuracy": 0.584, "price": 1.0, "tokens": 100, "samples": 3}
    at_once = found(**offered).run
    assert at_once.success == pytest.approx(0.928, abs=5e-4)
    assert at_once.seconds == pytest.approx(1.0)
    assert at_once.usd == pytest.approx(300e-6)
    in_turn = found(**offered, is_serial=True, judge=None).run
    assert in_turn.success == pytest.approx(0.625, abs=5e-4)
    assert in_turn.seconds == pytest.approx(3.0)


def test_repairs_take_the_place_of_runs():
    """One of four runs fails, and is repaired in 100 s: 10 + 25 s, paid for once."""
    one = found(speed=1.0, accuracy=0.75, tokens=10, price=1e6, repair=100.0)
    assert one.seconds == pytest.approx(35)
    assert one.usd == pytest.approx(10)


def test_sessions_hide_the_machine_until_the_user_is_busy():
    """300 s of the machine and 100 s of the user: four sessions, and the fifth buys nothing."""
    asked = {"speed": 1.0, "tokens": 300, "check": 100.0}
    users = [float(found(**asked, sessions=n).user_seconds) for n in (1, 2, 4, 5)]
    assert users == pytest.approx([400, 200, 100, 100])
    assert found(**asked, sessions=5).seconds == pytest.approx(400)
    assert found(**asked).busy_sessions == pytest.approx(4)
    twice = found(speed=2.0, tokens=300, check=100.0, sessions=4)
    assert twice.user_seconds == pytest.approx(100), "more speed buys nothing then"


def test_a_month_is_its_hours_or_its_dollars():
    asked = {"speed": 1.0, "tokens": 3600, "price": 1e6 / 3600}  # an hour and a dollar each
    assert found(**asked, hours=160).month == pytest.approx(160)
    few = found(**asked, hours=160, budget=40)
    assert (few.month, few.month_usd) == pytest.approx((40, 40))
    plan = found(speed=1.0, tokens=3600, price=0.0, plan=200.0, hours=100)
    assert (plan.month, plan.month_usd, plan.usd) == pytest.approx((100, 200, 2))
    worth = found(**asked, hour=80.0)
    assert worth.total == pytest.approx(81)


def test_routing_half_of_the_steps_by_hand():
    """Five steps at 0.9 and 1 s, five at 0.8 and 2 s."""
    to = run_of(Terms(speed=100.0, accuracy=0.9, price=2.0, steps=10, tokens=100))
    rest = run_of(Terms(speed=50.0, accuracy=0.8, price=1.0, steps=10, tokens=100))
    both = routed(to, rest, 0.5)
    assert both.success == pytest.approx(0.9**5 * 0.8**5)
    assert both.seconds == pytest.approx(5 * 1 + 5 * 2)
    assert both.usd == pytest.approx((5 * 2 + 5 * 1) * 100e-6)


@given(SHARES, SHARES, SPEEDS, COUNTS, st.integers(0, 5), st.integers(1, 5))
def test_more_accuracy_is_never_slower(one, other, speed, steps, retries, samples):
    low, high = sorted((one, other))
    times = found(
        speed=speed,
        accuracy=np.array([low, high]),
        steps=steps,
        retries=retries,
        samples=samples,
        tools=1.0,
    ).seconds
    assert times[1] <= times[0] * (1 + 1e-9)


def test_arrays_are_as_numbers():
    speeds, accuracies = np.array([[65.0], [1000.0]]), np.array([0.7, 0.8, 0.9])
    asked = {"steps": 10, "tools": 4.0, "retries": 1, "samples": 3, "judge": 0.9, "price": 5.0}
    together = found(speed=speeds, accuracy=accuracies, **asked)
    for row, speed in enumerate(speeds[:, 0]):
        for column, accuracy in enumerate(accuracies):
            alone = found(speed=speed, accuracy=accuracy, **asked)
            assert together.seconds[row, column] == pytest.approx(float(alone.seconds), rel=1e-12)
            assert together.usd[row, column] == pytest.approx(float(alone.usd), rel=1e-12)


def test_a_gap_in_a_conversation():
    """35 tokens in 450 ms ask for 78 tokens/s; after a first token at 200 ms 250 are left."""
    assert float(window_speed(Terms(speed=65.0, tokens=35), 0.45)) == pytest.approx(77.78, abs=0.01)
    late = {"speed": 1000.0, "lead": 0.2}
    assert float(window_tokens(Terms(**late), 0.45)) == pytest.approx(250)
    assert float(window_tokens(Terms(**late, round_trip=0.3), 0.45)) == 0
    assert math.isinf(float(window_speed(Terms(**late, round_trip=0.3), 0.45)))


# What makes the verdict another one.


def two(slow, fast, **shared):
    return Choice([Contender("slow", slow), Contender("fast", fast)], shared)


@pytest.mark.thorough
@examples(20)
@given(st.floats(0.5, 0.99), SPEEDS, st.floats(1.5, 50.0), COUNTS)
def test_the_accuracy_that_ties_is_the_closed_form(accuracy, speed, faster, steps):
    """t / p^n of both made equal: p r^(1/n)."""
    decision = two(
        {"speed": speed, "accuracy": accuracy}, {"speed": speed * faster}, steps=float(steps)
    )
    (flip,) = [one for one in decision.flips() if one.parameter == "fast.accuracy"]
    assert flip.value == pytest.approx(accuracy * faster ** (-1 / steps), rel=1e-6)
    assert (flip.winner, flip.is_above) == ("slow", False)


@pytest.mark.thorough
@examples(20)
@given(SHARES, SHARES, SPEEDS, SPEEDS, COUNTS, st.floats(0.0, 10.0))
def test_both_are_equal_where_the_verdict_flips(one, other, slow, fast, steps, tools):
    decision = two(
        {"speed": slow, "accuracy": one},
        {"speed": fast, "accuracy": other},
        steps=float(steps),
        tools=tools,
    )
    for flip in decision.flips():
        if PARAMETERS[flip.parameter.rpartition(".")[2]].is_count:
            back = -1.0 if flip.is_above else 1.0
            near = [
                int(decision.winners({flip.parameter: flip.value + step})) for step in (0.0, back)
            ]
            assert flip.value == int(flip.value)
            assert decision.options[near[0]].name == flip.winner != decision.options[near[1]].name
            continue
        first, second = decision.values({flip.parameter: flip.value})
        assert first == pytest.approx(second, rel=1e-4), flip


def test_tools_flip_it_where_a_hand_says():
    """Ten calls of 10 s at 0.9 against 1 s at 0.8: (10 + x) / 0.9^10 = (1 + x) / 0.8^10."""
    decision = two(
        {"speed": 100.0, "accuracy": 0.9}, {"speed": 1000.0, "accuracy": 0.8}, steps=10.0
    )
    ratio = (0.9 / 0.8) ** 10
    (flip,) = [one for one in decision.flips() if one.parameter == "tools"]
    assert flip.value == pytest.approx((10 - ratio) / (ratio - 1), rel=1e-6)
    assert (flip.winner, flip.is_above) == ("slow", True)


def test_an_hour_flips_it_where_a_hand_says():
    """10 s and $0.01 against 1 s and $0.1: nine seconds are worth nine cents at $36 an hour."""
    options = [
        Contender("slow", {"speed": 100.0, "price": 10.0}),
        Contender("fast", {"speed": 1000.0, "price": 100.0}),
    ]
    decision = Choice(options, {"hour": 20.0}, "total")
    (flip,) = [one for one in decision.flips() if one.parameter == "hour"]
    assert (flip.value, flip.winner) == (pytest.approx(36.0), "fast")


# The command, by the articles' numbers.


def test_ten_steps_of_the_articles(decided):
    asked = ("--steps", "10", "--tokens", "1000")
    first, second = decided("a=speed=60,accuracy=0.8", "b=speed=60,accuracy=0.9", *asked)["records"]
    assert first["success"] == pytest.approx(0.1073741824)
    assert second["success"] == pytest.approx(0.3486784401)
    full, kind, harsh = decided(
        *("full=speed=60,accuracy=0.9", "kind=speed=900,accuracy=0.75"),
        *("harsh=speed=900,accuracy=0.68", *asked),
    )["records"]
    unit = 10 * 1000 / 60
    times = [one["s_to_success"] / unit for one in (full, kind, harsh)]
    assert times == pytest.approx([2.868, 1.184, 3.154], abs=5e-4)


def test_the_ratio_of_both_scores(decided):
    """58.4 of 77.3% is 0.755: so much sooner succeeds the better at one speed."""
    spark, codex = decided("s=speed=60,accuracy=0.584", "c=speed=60,accuracy=0.773")["records"]
    assert codex["s_to_success"] / spark["s_to_success"] == pytest.approx(0.7555, abs=5e-5)


def test_the_accuracy_that_is_as_soon(decided):
    answer = decided("full=speed=60,accuracy=0.9", "spark=speed=900,accuracy=0.75", "--steps", "10")
    (flip,) = [one for one in answer["break_even"] if one["parameter"] == "spark.accuracy"]
    assert flip["value"] == pytest.approx(0.9 * 15 ** (-1 / 10), rel=1e-6)
    assert (flip["side"], flip["winner"], flip["now"]) == ("below", "full", 0.75)


def test_amdahl(decided, fastcalc):
    """Half of the time in tools: six times the speed is 1.71 times, any at most 2."""
    asked = ("slow=speed=100", "fast=speed=600", "--tokens", "400", "--tool-seconds", "4")
    slow, fast = decided(*asked)["records"]
    assert slow["run_s"] / fast["run_s"] == pytest.approx(1 / (0.5 + 0.5 / 6))
    text = words(fastcalc("slow=speed=100", *asked[2:], "--notes").out)
    assert "tools take 50% of a run. Twice the token speed makes it 1.33 times as fast" in text
    assert "the limit at any speed is 2.00" in text


@every("window,said", [(0.0, "--window-ms 0 is not "), (None, None), (450.0, 0.45)])
def test_a_window_has_a_length(window, said):
    found = read_or_refusal(_window, SimpleNamespace(window_ms=window))
    if isinstance(said, str):
        assert found.startswith(said)
        assert found.endswith("; write for example 10")
    else:
        assert found == said


def test_the_window_of_a_voice(decided, fastcalc):
    asked = ("--window-ms", "450", "--tokens", "35")
    rows = decided("o=speed=65,ttft-ms=1e-9", "s=speed=1000,ttft-ms=200", *asked)["records"]
    assert [row["window_tokens"] for row in rows] == pytest.approx([29.25, 250])
    assert rows[0]["tokens_per_s_needed"] == pytest.approx(77.8, abs=0.05)
    (row,) = decided("llama-3.1-8b=on=h100-sxm", "--window-ms", "450")["records"]
    assert row["lead_ms"] > 0, "the first token counts without a prompt being asked for"
    assert "none does" in fastcalc("s=speed=65,ttft-ms=200", "--window-ms", "100").out


def test_five_subscriptions(decided, fastcalc):
    """1,000 USD a month are 40 million tokens at 25 USD; ten times as much by API 400 million."""
    asked = ("five=speed=65,plan=1000", "api=speed=65,price=25", "--hours", "700")
    five, api = decided(*asked, "--budget", "10000", "--sessions", "5")["records"]
    assert five["usd_a_month"] == 1000
    assert five["successes_a_month"] == pytest.approx(5 * 700 * 3600 * 65 / 1000)
    assert api["usd_a_month"] == pytest.approx(10_000)
    assert api["successes_a_month"] * 1000 == pytest.approx(400e6)
    text = words(fastcalc(*asked, "--notes").out)
    assert (
        "five: $1,000/month pays for 40,000 successes of api, 40.0 million input and output tokens"
        in text
    )


AGENT = ("--tokens", "1000", "--prompt", "20000", "--cached", "0.9", "--hours", "100")
"""A thousand tokens written for twenty thousand read, 18,000 of them cached."""


def test_a_quota_counts_what_is_read_and_extra_usage_has_its_price(decided, fastcalc):
    """21,000 tokens a run of 10 s: 36,000 runs in 100 hours are 756 million tokens.

    300 of them are included; the others cost as the API's, 1,000 at 25 USD a million written,
    2,000 at 5 read and 18,000 at 0.5 cached, which makes 0.044 a run.
    """
    own = "speed=100,input-price=5,cached-price=0.5"
    rows = decided(f"plan={own},plan=200,quota=300e6,price=25", f"api={own},price=25", *AGENT)
    plan, api = rows["records"]
    each = (1000 * 25 + 2000 * 5 + 18_000 * 0.5) / 1e6
    assert plan["option"] == "plan", "a name that is a key, too"
    assert plan["successes_a_month"] == api["successes_a_month"] == pytest.approx(36_000)
    assert plan["tokens_to_success"] == 21_000
    assert plan["included_tokens_a_month"] == 300e6
    assert api["included_tokens_a_month"] is None
    assert api["usd_a_month"] == pytest.approx(36_000 * each)
    beyond = 1 - 300 / 756
    assert plan["usd_a_month"] == pytest.approx(200 + 36_000 * each * beyond)
    assert plan["usd_to_success"] == pytest.approx(plan["usd_a_month"] / 36_000)
    text = words(fastcalc(f"plan={own},plan=200,quota=300e6,price=25", *AGENT, "--notes").out)
    assert (
        "the plan includes 300 million tokens per month (input and output), enough for 14,286 successes"
        in text
    )


@pytest.mark.thorough
def test_a_quota_of_five_hours_and_one_that_ends(decided):
    """100 hours are twenty windows of five; without a price no more than they include."""
    own = "speed=100,plan=200"
    rows = decided(
        *(f"window={own},quota=2.1e6,quota-hours=5", f"month={own},quota=42e6"),
        *(f"fast={own},quota=0,price=150,input-price=30,cached-price=3", f"all={own}", *AGENT),
    )["records"]
    window, month, fast, every = rows
    assert window["successes_a_month"] == month["successes_a_month"] == pytest.approx(2000)
    assert window["usd_a_month"] == month["usd_a_month"] == 200
    assert window["usd_to_success"] == pytest.approx(0.1)
    # Fast mode is extra usage from the first token.
    each = (1000 * 150 + 2000 * 30 + 18_000 * 3) / 1e6
    assert fast["usd_a_month"] == pytest.approx(200 + 36_000 * each)
    assert (every["successes_a_month"], every["usd_a_month"]) == pytest.approx((36_000, 200))


def test_a_budget_buys_extra_usage(decided):
    """50 USD at 1 a million written buy 50,000 runs of 1,000 more than the 10,000 included."""
    (row,) = decided("a=speed=100,plan=20,quota=10e6,price=1", "--budget", "50", "--hours", "1000")[
        "records"
    ]
    assert row["successes_a_month"] == pytest.approx(60_000)
    assert row["usd_a_month"] == pytest.approx(70)


def test_a_user_who_looks_away_by_hand():
    """30 s of a run: after 5 of waiting something else, 20 to come back, 10 to check."""
    asked = {"speed": 1.0, "tokens": 30, "check": 10.0}
    stays = found(**asked)
    assert (stays.seconds, stays.user_seconds) == pytest.approx((40, 40))
    leaves = found(**asked, look_away=5.0, come_back=20.0)
    assert (leaves.seconds, leaves.user_seconds) == pytest.approx((60, 35))
    assert found(**asked, look_away=30.0, come_back=20.0).user_seconds == pytest.approx(40)
    assert leaves.busy_sessions == pytest.approx((30 + 30) / 30)
    # With sessions side by side waiting is filled already: 60 s over four, but 30 are the user's.
    assert found(**asked, look_away=5.0, come_back=20.0, sessions=4).user_seconds == 30
    assert found(**asked, look_away=5.0, come_back=20.0, hours=1).month == pytest.approx(60)


@pytest.mark.thorough
def test_looking_away_flips_it_where_a_hand_says(decided, fastcalc):
    """Runs of 10 and 4 s: a user who looks away after 5 and takes 30 to come back saves 31.

    By time the slow option is as good as the fast once nobody waits for either, and costs less.
    """
    options = ("slow=speed=100,price=10", "fast=speed=250,price=100")
    away = ("--look-away", "5", "--come-back", "30")
    slow, fast = decided(*options, *away)["records"]
    assert (slow["user_s_to_success"], fast["user_s_to_success"]) == pytest.approx((35, 4))
    assert (
        "the user turns to other work after 5 s of waiting; resuming after other work takes 30 s"
        in words(fastcalc(*options, *away).out)
    )
    # At 36 USD an hour a second is a cent, and the fast run costs 9 cents more.
    answer = decided(*options, *away, "--hour", "36")
    (back,) = [one for one in answer["break_even"] if one["parameter"] == "come-back"]
    assert (back["value"], back["winner"], back["side"]) == (pytest.approx(8), "slow", "below")
    # Nobody looks away by default. At no cost of coming back the 6 s of waiting more save 6 cents.
    stays = decided(*options, "--hour", "36")
    assert [one["wins"] for one in stays["records"]] == [True, False]
    assert not [one for one in stays["break_even"] if one["parameter"] == "come-back"]
    worth = decided(*options, "--hour", "72")
    assert [one["wins"] for one in worth["records"]] == [False, True]
    (looks,) = [one for one in worth["break_even"] if one["parameter"] == "look-away"]
    assert (looks["now"], looks["winner"], looks["side"]) == (None, "slow", "below")
    assert looks["value"] == pytest.approx(4 + 0.09 / (72 / 3600))
    assert "The user waits until a run ends" in words(fastcalc(*options, "--notes").out)
    timed = decided(*options)
    (looks,) = [one for one in timed["break_even"] if one["parameter"] == "look-away"]
    assert (looks["value"], looks["winner"]) == (pytest.approx(4), "slow")


@pytest.mark.thorough
def test_three_options_in_one_table(fastcalc, decided):
    asked = (*THREE, "--accuracy", "0.9", "--steps", "10")
    rows = decided(*asked)["records"]
    assert [row["option"] for row in rows] == ["opus", "fast", "spark"]
    assert [row["accuracy"] for row in rows] == [0.9, 0.9, 0.75]
    assert [row["wins"] for row in rows] == [False, True, False]
    shown = fastcalc(*asked).out
    assert shown.startswith("fast is fastest, at 2.81 min")  # 58.8 s / 0.9^10; 10 s / 0.75^10
    assert len(shown.splitlines()) <= 24
    assert (
        len(fastcalc(*asked, "--map", "tools=0..30,spark.accuracy=0.5..1").out.splitlines()) <= 24
    )
    (line,) = [line for line in shown.splitlines() if line.startswith("B  fast")]
    assert line.split()[2:4] == ["170", "150"]


@pytest.mark.thorough
def test_the_map_is_right_at_random_points(fastcalc, decided):
    """By a formula written out here: t = (n / v + x) m / p^m, for n tokens and m steps."""
    asked = (*THREE, "--steps", "10", "--tokens", "800", "--accuracy", "0.9")
    drawn = decided(*asked, "--map", "tools=0..30,spark.accuracy=0.6..1")
    points = drawn["records"]
    assert len(points) == 61 * 8
    assert {one["winner"] for one in points} == {"fast", "spark"}
    for one in random.Random(3).sample(points, 20):
        by_hand = {
            name: (800 / speed + one["tools"]) * 10 / accuracy**10
            for name, speed, accuracy in (
                ("opus", 65, 0.9),
                ("fast", 170, 0.9),
                ("spark", 1000, one["spark.accuracy"]),
            )
        }
        for name, value in by_hand.items():
            assert one[f"s:{name}"] == pytest.approx(value)
        assert one["winner"] == min(by_hand, key=lambda name: by_hand[name])
    assert [one["option"] for one in drawn["options"]] == ["opus", "fast", "spark"]
    lines = fastcalc(*asked, "--map", "tools=0..30,spark.accuracy=0.6..1").out.splitlines()
    rows = [line.split()[1] for line in lines if len(line.split()) == 2 and "." in line.split()[0]]
    drawn_rows = [row for row in rows if set(row) <= set("ABC")]
    letters = {"opus": "A", "fast": "B", "spark": "C"}
    flat = "".join(reversed([row[::-1] for row in drawn_rows]))
    winners = "".join(letters[one["winner"]] for one in points)
    assert "".join(row[::-1] for row in (flat[i : i + 61] for i in range(0, 488, 61))) == winners


def test_axes_of_what_is_shared_and_of_wide_ranges(decided):
    points = decided("a=speed=60,price=9", "b=speed=600,price=99", "--hour", "50",
                     "--map", "hour=1..1000,best-of=1..3")["records"]  # fmt: skip
    assert sorted({one["best-of"] for one in points}) == [1, 2, 3]
    hours = sorted({one["hour"] for one in points})
    assert hours[1] / hours[0] == pytest.approx(1000 ** (1 / 60))
    for one in points[::37]:
        for name, speed, price in (("a", 60, 9), ("b", 600, 99)):
            cost = 1000 * price * one["best-of"] / 1e6 + 1000 / speed / 3600 * one["hour"]
            assert one[f"usd:{name}"] == pytest.approx(cost)


def test_speed_and_price_of_a_model_come_from_the_evaluator(decided, capsys, monkeypatch):
    asked = ("--on", "h100-sxm", "--batch", "8", "--format", "json")
    compared = run(
        *("compare", "llama-3.1-8b", *asked, "--output", "800"),
        capsys=capsys,
        monkeypatch=monkeypatch,
    )
    (same,) = json.loads(compared.out)["records"]
    task = ("--steps", "10", "--accuracy", "0.9", "--tokens", "800")
    (row,) = decided("llama-3.1-8b", *asked[:4], *task)["records"]
    assert row["tokens_per_s"] == same["tokens_per_s_per_user"]
    assert row["usd_per_mtok_output"] == same["usd_per_mtok_output"]
    assert row["usd_to_success"] == pytest.approx(
        8000 * same["usd_per_mtok_output"] / 1e6 / 0.9**10
    )
    (filled,) = decided("mine=model=llama-3.1-8b,on=h100-sxm,batch=8", "--tokens", "800",
                        "--prompt", "1000")["records"]  # fmt: skip
    assert filled["option"] == "mine"
    assert filled["lead_ms"] == same["ttft_ms"]
    assert filled["run_s"] == pytest.approx(
        800 / same["tokens_per_s_per_user"] + same["ttft_ms"] / 1e3
    )
    assert filled["run_usd"] == pytest.approx(
        (800 * same["usd_per_mtok_output"] + 1000 * same["usd_per_mtok_input"]) / 1e6
    )


def test_several_batches_are_several_options_and_those_that_do_not_fit_are_named(fastcalc):
    ran = fastcalc(
        "llama-3.1-70b", "--on", "h100-sxm", "--batch", "1,2,256", "--chips", "4", "--format", "csv"
    )
    names = [row["option"] for row in csv.DictReader(io.StringIO(ran.out))]
    assert names == ["llama-3.1-70b/1", "llama-3.1-70b/2"]
    assert "batch 256 of llama-3.1-70b does not fit h100-sxm in this layout: skipped" in ran.err


@pytest.mark.thorough
def test_a_first_token_counts_for_all_or_for_none(decided, fastcalc):
    """The second option once had a first token of 0, where the first one's was real."""
    first, second = decided("a=speed=10,ttft-ms=200", "b=speed=10")["records"]
    assert (first["lead_ms"], second["lead_ms"]) == (0, 0)
    assert first["run_s"] == second["run_s"] == 100
    ran = fastcalc("a=speed=10,ttft-ms=200", "b=speed=10")
    assert "Time to first token is not given for b, so it is ignored for all" in ran.out
    assert (
        "is not given for b"
        in fastcalc("a=speed=10,ttft-ms=200", "b=speed=10", "--format", "csv").err
    )
    both = decided("a=speed=10,ttft-ms=200", "b=speed=10,ttft-ms=400")["records"]
    assert [row["run_s"] for row in both] == pytest.approx([100.2, 100.4])


def test_input_counts_for_all_or_for_none(decided):
    asked = ("--prompt", "10000")
    rows = decided("a=speed=10,price=1,input-price=3", "b=speed=10,price=1", *asked)["records"]
    assert [row["run_usd"] for row in rows] == pytest.approx([0.001, 0.001])
    rows = decided("a=speed=10,price=1,input-price=3", "b=speed=10,price=1,input-price=1", *asked)
    assert [row["run_usd"] for row in rows["records"]] == pytest.approx([0.031, 0.011])


def test_no_option_is_dropped(fastcalc):
    options = (f"o{place}=speed={place}" for place in range(1, 31))
    rows = fastcalc(*options, "--format", "csv").out.splitlines()[1:]
    assert len(rows) == 30


def test_an_option_may_have_a_task_of_its_own(decided):
    """More effort: twice the tokens, fewer mistakes."""
    low, high = decided("low=speed=100,accuracy=0.5", "high=speed=100,tokens=2000,accuracy=1")[
        "records"
    ]
    assert (low["s_to_success"], high["s_to_success"]) == pytest.approx((20, 20))


@pytest.mark.thorough
def test_a_mix_lies_between_its_parts(decided):
    opus, spark, both = decided(
        *("opus=speed=100,accuracy=0.9", "spark=speed=1000,accuracy=0.8"),
        *("both=to=spark,else=opus,share=0.7", "--steps", "10"),
    )["records"]
    assert both["success"] == pytest.approx(0.9**3 * 0.8**7)
    assert both["run_s"] == pytest.approx(3 * 10 + 7 * 1)
    assert both["tokens_per_s"] is None
    assert opus["run_s"] > both["run_s"] > spark["run_s"]
    points = decided(
        *("opus=speed=100,accuracy=0.9", "spark=speed=1000,accuracy=0.8"),
        *(
            "both=to=spark,else=opus,share=0.7",
            "--steps",
            "10",
            "--map",
            "both.share=0..1,tools=0..5",
        ),
    )["records"]
    for one in points[::50]:
        part, tools = one["both.share"], one["tools"]
        run_s = 10 * (part * 1 + (1 - part) * 10 + tools)
        chance = 0.8 ** (10 * part) * 0.9 ** (10 * (1 - part))
        assert one["s:both"] == pytest.approx(run_s / chance)


# Names of services.


def test_names_people_use_are_services_of_the_catalogue():
    known = set(Catalogue().names("models"))
    for one in services().values():
        assert set(one.shapes) <= known
        assert len(one.shapes) >= 2, "a range of shapes, never a point"
        assert one.source
        assert not {one.id, *one.aliases} & known
    assert service("Claude-Opus-4.6").id == "opus"


@pytest.mark.parametrize("name", ["opus", "codex", "spark", "gpt-5.4", "claude"])
@pytest.mark.parametrize("command", ["compare", "fit", "plan", "frontier", "fastmode"])
def test_an_unpublished_model_has_no_point_estimate(capsys, monkeypatch, command, name):
    ran = run(command, name, capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out) == (2, "")
    assert "is not published (its parameters" in ran.err
    first, *_ = service(name).shapes
    assert f"'fastcalc compare {first} " in ran.err


@pytest.mark.thorough
def test_a_service_is_what_is_reported_or_a_range_of_shapes(decided, fastcalc):
    (row,) = decided("opus")["records"]
    assert (row["tokens_per_s"], row["usd_per_mtok_output"], row["model"]) == (65, 25, None)
    rows = decided("opus=on=gb200,batch=1")["records"]
    assert [row["model"] for row in rows] == ["frontier-1t", "frontier-5t"]
    assert [row["option"] for row in rows] == ["opus/frontier-1t", "opus/frontier-5t"]
    assert "is not published; computed for frontier-1t and frontier-5t instead" in words(
        fastcalc("opus=on=gb200", "--notes").out
    )
    assert fastcalc("gpt-5.4").code == 2
    assert decided("gpt-5.4=speed=90")["records"][0]["tokens_per_s"] == 90


def test_what_never_succeeds(fastcalc, decided):
    ran = fastcalc("a=speed=65,accuracy=0", "b=speed=6,accuracy=0.5")
    assert "never" in ran.out
    assert ran.out.startswith("b is fastest")
    assert decided("a=speed=65,accuracy=0")["records"][0]["s_to_success"] is None
    assert fastcalc("a=speed=65,accuracy=0").out.startswith("No option ever succeeds.")


def test_formats(fastcalc):
    assert fastcalc("--format", "markdown").out.startswith("|   | option ")
    assert fastcalc("--format", "csv").out.startswith("option,model,")
    points = fastcalc("--format", "csv", "--map", "tools=0..3,spark.accuracy=0.5..1").out
    assert points.startswith("tools,spark.accuracy,winner,s:opus,s:opus-fast,s:spark")


@pytest.mark.thorough
def test_what_is_next_can_be_typed(fastcalc):
    import shlex

    asked = ("opus", "spark=on=wse-3", "--steps", "3", "--hour", "50", "--weights", "fp8")
    (line,) = [one for one in fastcalc(*asked).out.splitlines() if one.startswith("next: ")]
    words_ = shlex.split(line.removeprefix("next: "))
    assert words_[:2] == ["fastcalc", "decide"]
    assert {"--steps", "--hour", "--weights"} <= set(words_)
    assert fastcalc(*words_[2:]).code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("a=speed=65", "--accuracy", "1.2"), "--accuracy 1.2 is not a share from 0 to 1"),
        (("a=speed=65", "--accuracy", "nan"), "--accuracy 'nan' is not a number"),
        (("a=speed=65,accuracy=-0.1",), "a: accuracy -0.1 is not a share from 0 to 1"),
        (("a=speed=65,accuracy=high",), "a: accuracy 'high' is not a number"),
        (("a=speed=0",), "a: speed 0 is not a number from 1e-12"),
        (("a=speed=inf",), "a: speed 'inf' is not a number; write"),
        (("a=speed=65", "--steps", "0"), "--steps 0 is not a whole number from 1"),
        (("a=speed=65", "--tokens", "0"), "--tokens '0' is not a whole number from 1"),
        (("a=speed=65,tokens=0",), "a: tokens 0 is not a whole number from 1"),
        (("a=speed=65", "--prompt", "0"), "--prompt '0' is not a whole number from 1"),
        (("a=speed=65", "--tool-seconds", "-1"), "--tool-seconds -1 is not 0 or a number from"),
        (("a=speed=65", "--retries", "-1"), "--retries -1 is not 0 or a whole number from 1"),
        (("a=speed=65", "--best-of", "0"), "--best-of 0 is not a whole number from 1"),
        (("a=speed=65", "--judge", "jury"), "--judge 'jury' is not oracle, majority or a share"),
        (("a=speed=65", "--judge", "2"), "--judge 2 is not a share"),
        (("a=speed=65", "--utilization", "1e400"), "--utilization '1e400' is not a share"),
        (("a=speed=65,price=-1",), "a: price -1 is not 0 or a number from"),
        (("a=speed=65", "--window-ms", "0"), "--window-ms 0 is not a number from 1e-12"),
        (("a=speed=65,sped=3",), "did you mean 'speed'?"),
        (("a=speed=65,speed=66",), "a gives speed twice"),
        (("a=speed",), "is not KEY=VALUE"),
        (("a=speed=9,on=h100-sxm",), "a speed already includes it"),
        (("speed=9",), "has no name; write for example"),
        (("plan=200",), "has no name; write for example"),
        (("a=speed=9,quota=5",), "a: quota goes with plan"),
        (("a=speed=9,plan=5,quota-hours=5",), "a: quota-hours goes with quota"),
        (("a=speed=9,plan=5,quota=-1",), "a: quota -1 is not 0 or a whole number"),
        (("a=speed=9", "--look-away", "-1"), "--look-away -1 is not 0 or a number from"),
        (("a=speed=9", "a=speed=8"), "two options are called a"),
        (("a=price=9",), "is not a known service"),
        (("a",), "is not a known service"),
        (("llama-3.1-8b=price=3",), "prices of chips follow --price-basis"),
        (("m=model=llama-3.1-8x",), "did you mean"),
        (("b=to=a,else=c,share=0.5", "a=speed=9"), "routes to 'c', which is not an option"),
        (("b=to=a,share=0.5", "a=speed=9"), "is not a mix"),
        (("a=speed=9", "--objective", "total"), "give its value with --hour"),
        (("a=speed=9", "--objective", "joy"), "--objective 'joy' is unknown"),
        (("a=speed=9", "--map", "tools=0..3"), "is not two axes"),
        (("a=speed=9", "--map", "tools=0..3,tools=0..4"), "on both axes"),
        (("a=speed=9", "--map", "tools=3..0,steps=1..3"), "is empty"),
        (("a=speed=9", "--map", "tools=3,steps=1..3"), "has no two ends"),
        (("a=speed=9", "--map", "tools=..3,steps=1..3"), "has no two ends"),
        (("a=speed=9", "--map", "tools=3..,steps=1..3"), "has no two ends"),
        (("a=speed=9", "--map", "b.accuracy=0..1,steps=1..3"), "write for example a.accuracy"),
        (("a=speed=9,accuracy=1", "--map", "accuracy=0..1,steps=1..3"), "every option sets its own"),
        (("a=speed=9", "--format", "yaml"), "--format 'yaml' is unknown"),
        (("llama-3.1-405b=on=l4,batch=999999",), "does not fit"),
    ],
)  # fmt: skip
def test_wrong_requests_are_one_sentence(fastcalc, args, said):
    ran = fastcalc(*args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_records_hold_what_the_data_dictionary_says(decided):
    from fastcalc.features.dictionary import COMMANDS

    (row,) = decided("opus")["records"]
    assert list(row) == [one.key for one in COMMANDS["decide"]]
    assert all(one.meaning for one in COMMANDS["decide"])


def test_an_option_without_a_price_never_costs_least(decided, fastcalc):
    asked = ("priced=speed=10,price=9", "free=speed=100", "--objective", "cost")
    assert [row["wins"] for row in decided(*asked)["records"]] == [True, False]
    assert "No price is given for free, so it cannot win on cost." in words(fastcalc(*asked).out)


def test_a_cached_prompt_is_prefilled_as_compare_prefills_it(decided, capsys, monkeypatch):
    asked = ("llama-3.1-8b", "--on", "h100-sxm", "--prompt", "20000", "--format", "json")
    compared = run(
        *("compare", *asked, "--batch", "1", "--prefix-hit", "0.9"),
        capsys=capsys,
        monkeypatch=monkeypatch,
    )
    (same,) = json.loads(compared.out)["records"]
    (row,) = decided(*asked, "--cached", "0.9")["records"]
    assert row["lead_ms"] == same["ttft_ms"]
    assert row["run_usd"] == pytest.approx(
        (1000 * same["usd_per_mtok_output"] + 20000 * same["usd_per_mtok_input"]) / 1e6
    )


def test_next_to_a_run_that_takes_no_time_nothing_is_so_many_times_as_long(fastcalc):
    """Who looks away at once waits for nothing: all runs take the user as long."""
    text = fastcalc("--best-of", "3", "--tokens", "16", "--look-away", "0").out
    assert text.startswith(
        "At equal accuracy opus, opus-fast and spark all take 0 ms per successful run"
    )
    # Three answers of 16 tokens at $25 a million are $0.0012, and at $150 six times as much.
    assert (
        "opus costs $0.0012 per successful run, opus-fast $0.0072; spark has no known price and may "
        "be cheaper"
    ) in words(text)


@pytest.mark.thorough
def test_where_the_objective_ties_the_other_decides(fastcalc, decided):
    """37,440 successes of 15.4 s are 160 hours: 200 USD by plan, and 936 at 0.025 USD each."""
    plan, api = "sub=speed=65,plan=200", "api=speed=65,price=25"
    for asked in ((plan, api), (api, plan)):
        text = words(fastcalc(*asked).out)
        assert text.startswith(
            "At equal accuracy sub and api both take 15.4 s per successful run; "
            "sub costs $200/month, api $936. "
        )
        assert {row["option"]: row["wins"] for row in decided(*asked)["records"]} == {
            "sub": True,
            "api": False,
        }
    assert "- api ranks first if " in text or "api would rank first if " in text
    (above,) = [one for one in decided(plan, api)["break_even"] if one["parameter"] == "sub.plan"]
    assert (above["value"], above["winner"]) == (pytest.approx(936), "api")


def test_where_costs_tie_time_decides_and_equals_in_both_have_no_winner(fastcalc):
    """1,000 tokens at 5 USD a million are half a cent at any speed."""
    asked = ("a=speed=10,price=5", "b=speed=20,price=5", "--objective", "cost")
    assert (
        "b and a both cost $0.0050 per successful run; b takes 50.0 s per successful run, "
        "a 1.67 min. "
    ) in words(fastcalc(*asked).out)
    same = words(fastcalc("a=speed=65,price=25", "b=speed=65,price=25", "c=speed=13,price=1").out)
    assert (
        "a and b both take 15.4 s per successful run, and cost $936/month; "
        "c takes 5.00 times as long."
    ) in same


def test_computed_options_that_their_ranges_do_not_tell_apart_are_level(fastcalc):
    """Eight MI355X and eight B200 serve one user within 2% of each other, ranges far wider.

    The cheaper comes first: at $2.59 and $5.50 per chip-hour the MI355X.
    """
    model = "model=llama-3.1-70b,chips=8,on"
    text = words(fastcalc(f"a={model}=mi355x", f"b={model}=b200").out)
    assert text.startswith("a and b are tied within their 80% ranges: a 1")
    assert "soonest" not in text


@pytest.mark.thorough
def test_unlike_models_of_no_accuracy_win_only_if_equally_right(fastcalc, decided):
    """Of 15.4, 5.88 and 1 s: Spark takes 1 / p seconds, and 5.88 at p = 170 / 1000."""
    text = words(fastcalc().out)
    assert text.startswith("At equal accuracy spark is fastest")
    assert (
        "opus-fast ranks first if spark's accuracy is below 17.0% while that of every other option is 100%"
        in text
    )
    steps = words(fastcalc("--steps", "10", "--tokens", "800", "--tool-seconds", "10").out)
    # 100 + 8 s over p^10 is 100 + 47.06 s at p = (108 / 147.06)^(1/10).
    share = 100 * (108 / (100 + 8000 / 170)) ** 0.1
    assert f"below {share:.1f}% while that of every other option is 100%" in steps
    assert "failures are noticed at the end; the run is repeated" in steps
    for alike in (("opus", "opus-fast"), ("opus", "opus-fast", "--steps", "3")):
        assert words(fastcalc(*alike).out).startswith("opus-fast is fastest")
    given = words(fastcalc("opus", "spark=accuracy=0.75").out)
    assert given.startswith("spark is fastest")
    assert words(fastcalc(*THREE, "--accuracy", "0.9").out).startswith("spark is fastest")


def test_the_first_sentence_names_when_failures_are_found(fastcalc):
    """Step by step Spark takes 10 x 0.8 / 0.75 s; found at the end, all ten 8 / 0.75^10 s."""
    asked = ("fast=speed=170,accuracy=0.9", "spark=speed=1000,accuracy=0.75", "--steps", "10")
    asked = (*asked, "--tokens", "800")
    at_once = words(fastcalc(*asked, "--retries", "20").out)
    assert at_once.startswith("spark is fastest, at 10.7 s")
    assert "a failed step is noticed at once and repeated, up to 20 times" in at_once
    at_end = words(fastcalc(*asked).out)
    assert at_end.startswith("fast is fastest, at 2.25 min")
    assert "failures are noticed at the end; the run is repeated" in at_end
    repaired = words(fastcalc(*asked, "--repair-seconds", "60").out)
    assert "failures are noticed at the end; a user repairs the run" in repaired


def test_cached_input_has_its_price_or_a_note(fastcalc, decided):
    """80,000 tokens at $5 are 0.40; of 95% at $0.50 they are 0.02 + 0.038."""
    asked = ("--prompt", "80000", "--tokens", "1000", "--cached", "0.95", "--objective", "cost")
    option = "a=speed=65,price=25,input-price=5"
    (full,) = decided(option, *asked)["records"]
    (less,) = decided(f"{option},cached-price=0.5", *asked)["records"]
    assert full["run_usd"] == pytest.approx(0.025 + 0.40)
    assert less["run_usd"] == pytest.approx(0.025 + 0.02 + 0.038)
    note = "Cached input of a is billed at the full input price"
    assert note in words(fastcalc(option, *asked).out)
    assert note not in words(fastcalc(f"{option},cached-price=0.5", *asked).out)


def test_flags_of_all_options_are_in_seconds_and_counts():
    """50 ms are a twentieth of a second; the others are as they are typed."""
    request = Decide(options=["a=speed=65"], round_trip_ms=50.0, steps=20, tool_seconds=3.0)
    numbers = _shared(request)
    assert (numbers["round_trip"], numbers["steps"], numbers["tools"]) == (0.05, 20, 3.0)
    assert _window(Decide(options=["a=speed=65"], window_ms=50.0)) == 0.05
    assert _window(Decide(options=["a=speed=65"])) is None


@every("name,parameter", PARAMETERS.items())
def test_values_that_are_searched_span_the_range_of_their_kind(name, parameter):
    """From 0 where that means something, else from a small positive value; counts are whole."""
    values = parameter.grid(101)
    assert np.all(np.diff(values) > 0.0)
    if parameter.zero:
        assert values[0] == 0.0
    else:
        assert 0.0 < values[0] <= 1.0
        assert values[0] in parameter.limit
    assert values[1] in parameter.limit
    assert values[-1] == pytest.approx(min(parameter.limit.maximum, 1e7))
    if parameter.is_count:
        np.testing.assert_array_equal(values, np.round(values))
        np.testing.assert_array_equal(values[values > 0.0][:3], [1.0, 2.0, 3.0])
    if parameter.limit.maximum == 1.0:
        assert np.diff(values) == pytest.approx(0.01, rel=1e-3)
