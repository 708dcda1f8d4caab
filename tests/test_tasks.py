"""Tasks: limits that a hand can compute, properties, and the command."""

import csv
import io
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.articles.agent_task import (
    ServingOption,
    Task,
    equal_accuracy,
    equal_check,
    equal_fix,
    prospect,
    window_speed,
    window_tokens,
)
from tests.helpers import run, words

SHARES = st.floats(0.01, 1.0)
SPEEDS = st.floats(1.0, 1e4)
COUNTS = st.integers(1, 20)


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def call(*args):
        monkeypatch.setenv("COLUMNS", "100")
        return run("task", *args, capsys=capsys, monkeypatch=monkeypatch)

    return call


def records(ran):
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["records"]


@given(SPEEDS, st.integers(1, 10**6), COUNTS)
def test_sure_and_without_tools_it_is_tokens_over_speed(speed, tokens, steps):
    found = prospect(ServingOption(speed=speed, price=25.0), Task(steps=steps, tokens=tokens))
    assert found.seconds == steps * tokens / speed
    assert found.usd == pytest.approx(steps * tokens * 25e-6)
    assert found.success == 1


def test_a_rare_success_does_not_drown_in_rounding():
    found = prospect(ServingOption(speed=1.0, accuracy=1e-18), Task(tokens=1, retries=3))
    assert found.calls == pytest.approx(4)
    assert found.success == pytest.approx(4e-18)
    assert found.seconds == pytest.approx(1e18)


def test_prefill_comes_on_top():
    option = ServingOption(speed=50.0, lead=0.25, price=10.0, input_price=2.0)
    found = prospect(option, Task(steps=4, tokens=100, prompt=1000, round_trip=0.05))
    assert found.seconds == pytest.approx(4 * (100 / 50 + 0.25 + 0.05))
    assert found.usd == pytest.approx(4 * (100 * 10 + 1000 * 2) / 1e6)


def test_the_articles_arithmetic():
    """Ten steps: 2.87 runs at 0.9; fifteen times as fast 1.18 at 0.75 and 3.15 at 0.68."""
    task = Task(steps=10, tokens=1000)
    full = prospect(ServingOption(speed=1000.0, accuracy=0.9), task)
    fast = prospect(ServingOption(speed=15_000.0, accuracy=np.array([0.75, 0.68])), task)
    unit = 10.0
    assert full.seconds / unit == pytest.approx(2.87, abs=0.005)
    np.testing.assert_allclose(fast.seconds / unit, [1.18, 3.15], atol=0.005)


def test_tools_and_retries_by_hand():
    """Half right, one retry: 1.5 tries a step, three quarters right in the end."""
    found = prospect(
        ServingOption(speed=10.0, accuracy=0.5), Task(steps=2, tokens=10, tool=3.0, retries=1)
    )
    assert found.calls == pytest.approx(3.0)
    assert found.run_seconds == pytest.approx(3 * (1 + 3))
    assert found.model_seconds == pytest.approx(3)
    assert found.success == pytest.approx(0.75**2)
    assert found.seconds == pytest.approx(12 / 0.5625)


def test_best_of_costs_tokens_and_serially_time():
    option = ServingOption(speed=100.0, accuracy=0.584, price=1.0)
    task = Task(tokens=100, samples=3)
    at_once = prospect(option, task)
    assert at_once.success == pytest.approx(0.928, abs=5e-4)
    assert at_once.run_seconds == pytest.approx(1.0)
    assert at_once.run_usd == pytest.approx(300e-6)
    in_turn = prospect(option, Task(tokens=100, samples=3, is_serial=True, judge=None))
    assert in_turn.success == pytest.approx(0.625, abs=5e-4)
    assert in_turn.run_seconds == pytest.approx(3.0)


@given(SHARES, SHARES, SPEEDS, COUNTS, st.integers(0, 5), st.integers(1, 5))
def test_more_accuracy_is_never_slower(one, other, speed, steps, retries, samples):
    task = Task(steps=steps, retries=retries, samples=samples, tool=1.0)
    low, high = sorted((one, other))
    found = prospect(ServingOption(speed=speed, accuracy=np.array([low, high])), task).seconds
    assert found[1] <= found[0] * (1 + 1e-9)


@given(SHARES, SPEEDS, st.floats(1.0, 50.0), COUNTS)
def test_equal_accuracy_is_the_closed_form_without_retries(accuracy, speed, faster, steps):
    """t / p^n of both made equal: p r^(1/n)."""
    task = Task(steps=steps, tool=0.0)
    target = prospect(ServingOption(speed=speed, accuracy=accuracy), task).seconds
    found = equal_accuracy(target, ServingOption(speed=speed * faster), task)
    assert float(found) == pytest.approx(accuracy * faster ** (-1 / steps), rel=1e-9)


def test_equal_accuracy_there_is_none():
    task = Task(steps=2)
    target = prospect(ServingOption(speed=100.0), task).seconds
    assert math.isnan(float(equal_accuracy(target, ServingOption(speed=50.0), task)))
    assert math.isnan(float(equal_accuracy(math.nan, ServingOption(speed=50.0), task, by="usd")))


def test_break_evens_make_equal():
    task = Task(steps=10)
    slow = prospect(ServingOption(speed=60.0, accuracy=0.95), task)
    fast = prospect(ServingOption(speed=900.0, accuracy=0.90), task)
    check, fix = float(equal_check(slow, fast)), float(equal_fix(slow, fast))
    assert (slow.run_seconds + check) / slow.success == pytest.approx(
        (fast.run_seconds + check) / fast.success
    )
    assert slow.run_seconds + (1 - slow.success) * fix == pytest.approx(
        fast.run_seconds + (1 - fast.success) * fix
    )


def test_arrays_are_as_numbers():
    speeds, accuracies = np.array([[65.0], [1000.0]]), np.array([0.7, 0.8, 0.9])
    task = Task(steps=10, tool=4.0, retries=1, samples=3, judge=0.9)
    together = prospect(ServingOption(speed=speeds, accuracy=accuracies, price=5.0), task)
    for row, speed in enumerate(speeds[:, 0]):
        for column, accuracy in enumerate(accuracies):
            alone = prospect(ServingOption(speed=speed, accuracy=accuracy, price=5.0), task)
            assert together.seconds[row, column] == pytest.approx(float(alone.seconds), rel=1e-12)
            assert together.usd[row, column] == pytest.approx(float(alone.usd), rel=1e-12)


def test_a_gap_in_a_conversation():
    """35 tokens in 450 ms ask for 78 tokens/s; after a first token at 200 ms 250 are left."""
    task = Task(tokens=35)
    assert float(window_speed(ServingOption(speed=65.0), task, 0.45)) == pytest.approx(78, abs=0.5)
    late = ServingOption(speed=1000.0, lead=0.2)
    assert float(window_tokens(late, task, 0.45)) == pytest.approx(250)
    assert float(window_tokens(late, Task(round_trip=0.3), 0.45)) == 0
    assert math.isinf(float(window_speed(late, Task(round_trip=0.3), 0.45)))


def test_the_command_takes_speed_and_price_from_the_evaluator(fastcalc, capsys, monkeypatch):
    asked = ("llama-3.1-8b", "--on", "h100-sxm", "--batch", "8", "--format", "json")
    (row,) = records(fastcalc(*asked, "--steps", "10", "--accuracy", "0.9", "--tokens", "800"))
    compared = run(*("compare", *asked, "--output", "800"), capsys=capsys, monkeypatch=monkeypatch)
    (same,) = json.loads(compared.out)["records"]
    assert row["tokens_per_s"] == same["tokens_per_s_per_user"]
    assert row["usd_per_mtok_output"] == same["usd_per_mtok_output"]
    assert row["run_s"] == pytest.approx(8000 / same["tokens_per_s_per_user"])
    assert row["runs_to_success"] == pytest.approx(2.868, abs=5e-4)
    assert row["usd_to_success"] == pytest.approx(
        8000 * same["usd_per_mtok_output"] / 1e6 / 0.9**10
    )
    (filled,) = records(fastcalc(*asked, "--tokens", "800", "--prompt", "1000"))
    assert filled["lead_ms"] == same["ttft_ms"]
    assert filled["run_s"] == pytest.approx(
        800 / same["tokens_per_s_per_user"] + same["ttft_ms"] / 1e3
    )
    assert filled["run_usd"] == pytest.approx(
        (800 * same["usd_per_mtok_output"] + 1000 * same["usd_per_mtok_input"]) / 1e6
    )


def test_two_options_side_by_side(fastcalc):
    asked = ("--steps", "10", "--accuracy", "0.9", "--tokens", "800", "--speed", "60")
    ran = fastcalc(*asked, "--against", "speed=900,accuracy=0.75", "--format", "json")
    first, second = records(ran)
    assert second["s_to_success"] / first["s_to_success"] == pytest.approx(1.184 / 2.868, abs=5e-4)
    (equal,) = json.loads(ran.out)["break_even"]
    assert equal["accuracy_as_soon"] == pytest.approx(0.9 * 15 ** (-1 / 10))
    assert equal["accuracy_as_cheap"] is None
    text = words(fastcalc(*asked, "--against", "speed=900,accuracy=0.75").out)
    assert "900 tok/s succeeds 2.42 times as soon as 60 tok/s" in text
    assert "at an accuracy of 0.686 a step it succeeds as soon" in text
    same = fastcalc(*asked, "--against", "accuracy=0.8", "--format", "csv")
    assert [row["option"] for row in csv.DictReader(io.StringIO(same.out))] == [
        "60 tok/s",
        "60 tok/s (2)",
    ]


def test_a_model_against_a_speed_of_ones_own(fastcalc):
    asked = ("llama-3.1-8b", "--on", "h100-sxm", "--weights", "fp8", "--format", "json")
    ours, given = records(fastcalc(*asked, "--against", "speed=65,price=25"))
    assert (ours["model"], given["model"]) == ("llama-3.1-8b", None)
    assert given["usd_per_mtok_output"] == 25
    given, ours = records(
        fastcalc("--speed", "65", "--against", "model=llama-3.1-8b,on=h100-sxm", "--format", "json")
    )
    assert (ours["hardware"], ours["batch"]) == ("h100-sxm", 1)


def test_several_accuracies_and_a_subscription(fastcalc):
    ran = fastcalc("--speed", "65", "--price", "25", "--accuracy", "0.5,1", "--tokens", "1000",
                   "--subscription", "200")  # fmt: skip
    text = words(ran.out)
    assert "pays 4,000 successes by 65 tok/s, or 8.0 million tokens of output" in text
    assert "pays 8,000 successes" in text
    assert "no subscription can be compared" in words(
        fastcalc("--speed", "65", "--subscription", "200").out
    )


def test_the_window_of_a_voice(fastcalc):
    rows = records(
        fastcalc(
            "--window-ms",
            "450",
            "--tokens",
            "35",
            "--speed",
            "65",
            "--format",
            "json",
            "--against",
            "speed=1000,ttft-ms=200",
        )
    )
    assert [row["window_tokens"] for row in rows] == pytest.approx([29.25, 250])
    assert rows[0]["tokens_per_s_needed"] == pytest.approx(77.8, abs=0.05)
    (row,) = records(
        fastcalc("llama-3.1-8b", "--on", "h100-sxm", "--window-ms", "450", "--format", "json")
    )
    assert row["lead_ms"] > 0, "the first token counts without a prompt being asked for"
    shown = fastcalc("--window-ms", "100", "--speed", "65", "--ttft-ms", "200").out
    assert "none does" in shown


def test_what_never_succeeds(fastcalc):
    ran = fastcalc("--speed", "65", "--accuracy", "0", "--against", "accuracy=0.5")
    assert "never" in ran.out
    assert "65 tok/s: no run ever succeeds" in ran.out
    assert (
        records(fastcalc("--speed", "65", "--accuracy", "0", "--format", "json"))[0]["s_to_success"]
        is None
    )


def test_tools_limit_what_speed_gains(fastcalc):
    """Half of the time in tools: twice the speed gives 1.33, any speed at most 2."""
    text = words(fastcalc("--speed", "100", "--tokens", "400", "--tool-seconds", "4").out)
    assert "tools take 50 % of a run; tokens twice as fast make it 1.33 times as fast" in text
    assert "any speed at most 2.00" in text


def test_batches_that_do_not_fit_are_left_out(fastcalc):
    ran = fastcalc("llama-3.1-70b", "--on", "h100-sxm", "--batch", "1,64", "--format", "csv")
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 2
    assert "batch 64 of llama-3.1-70b does not fit h100-sxm as placed: left out" in ran.err


def test_formats(fastcalc):
    assert fastcalc("--speed", "65", "--format", "markdown").out.startswith("| option ")
    assert fastcalc("--speed", "65", "--format", "csv").out.startswith("option,model,")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--speed", "65", "--accuracy", "1.2"), "--accuracy 1.2 is not a share from 0 to 1"),
        (("--speed", "65", "--accuracy", "-0.1"), "--accuracy -0.1 is not a share from 0 to 1"),
        (("--speed", "65", "--accuracy", "nan"), "--accuracy nan is not a share"),
        (("--speed", "65", "--accuracy", "high"), "--accuracy 'high' is not a number"),
        (("--speed", "0"), "--speed 0 is not a number from 1e-12"),
        (("--speed", "-3"), "--speed -3 is not a number from 1e-12"),
        (("--speed", "inf"), "--speed inf is not a number from 1e-12"),
        (("--speed", "65", "--steps", "0"), "--steps 0 is not a whole number from 1"),
        (("--speed", "65", "--tokens", "0"), "--tokens '0' is not a whole number from 1"),
        (("--speed", "65", "--prompt", "0"), "--prompt '0' is not a whole number from 1"),
        (("--speed", "65", "--tool-seconds", "-1"), "--tool-seconds -1 is not 0 or a number from"),
        (("--speed", "65", "--retries", "-1"), "--retries -1 is not 0 or a whole number from 1"),
        (("--speed", "65", "--best-of", "0"), "--best-of 0 is not a whole number from 1"),
        (("--speed", "65", "--judge", "jury"), "--judge 'jury' is not oracle, majority or a share"),
        (("--speed", "65", "--judge", "2"), "--judge 2 is not a share"),
        (("--speed", "65", "--price", "-1"), "--price -1 is not 0 or a number from"),
        (("--speed", "65", "--window-ms", "0"), "--window-ms 0 is not a number from 1e-12"),
        (("--speed", "65", "--subscription", "0"), "--subscription 0 is not a number from 1e-12"),
        (("--speed", "65", "--against", "sped=3"), "did you mean 'speed'?"),
        (("--speed", "65", "--against", "speed"), "is not KEY=VALUE"),
        (("--speed", "65", "--against", "speed=fast"), "--against speed 'fast' is not a number"),
        (("--speed", "65", "--against", "speed=9,on=h100-sxm"), "a speed stands for all of it"),
        (("--speed", "65", "--against", "tokens=-1"), "not a whole number"),
        (("--speed", "65", "--accuracy", "0.5,0.6", "--against", "speed=9"), "names one option"),
        (("--speed", "65", "--on", "h100-sxm"), "leave --on out"),
        (("llama-3.1-8b", "--speed", "65"), "leave models out"),
        (("--price", "3"), "--price goes with --speed"),
        (("llama-3.1-8x",), "did you mean"),
        (("--speed", "65", "--format", "yaml"), "--format 'yaml' is not known"),
        (("llama-3.1-405b", "--on", "l4", "--batch", "999999"), "does not fit"),
    ],
)  # fmt: skip
def test_wrong_requests_are_one_sentence(fastcalc, args, told):
    ran = fastcalc(*args)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1
