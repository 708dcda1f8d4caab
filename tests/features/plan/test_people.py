"""People instead of a rate: how many requests they make, and of a plan that makes them wait."""

import json
from operator import mul

import fastcalc as fc
from fastcalc.features.plan.people import People, solve_closed_loop
from tests.helpers import every
from tests.helpers import run_once as run

PLAN = ("plan", "llama-3.1-8b", "--on", "h100-sxm", "--weights", "bf16", "--kv", "bf16")


def record(*words, **fixtures):
    ran = run(*PLAN, *words, "--format", "json", **fixtures)
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    return document["records"][0], document["assumptions"]["requests_per_s"]


def test_a_rate_by_how_often_they_ask(capsys, monkeypatch):
    """A fifth of 600 people, two requests a minute each, three times as many at the peak: 12/s."""
    words = ("--active-fraction", "0.2", "--peak-multiplier", "3")
    often = ("--requests-per-active-user-per-min", "2")
    fixtures = {"capsys": capsys, "monkeypatch": monkeypatch}
    plan, rate = record("--people", "600", *words, *often, **fixtures)
    assert rate == 12
    by_rate, _ = record("--rate", "12/s", **fixtures)
    assert plan == by_rate


def test_who_thinks_asks_less_often_the_longer_an_answer_takes(capsys, monkeypatch):
    """Planned for no fewer requests than 500 people make who think for 30 s, and hardly more."""
    fixtures = {"capsys": capsys, "monkeypatch": monkeypatch}
    plan, rate = record("--people", "500", "--think", "30s", **fixtures)
    seconds = (plan["service_ttft_ms"] + 999 * plan["service_tpot_ms"]) / 1e3
    assert 500 / (30 + seconds) <= rate * (1 + 1e-6)
    assert rate < 500 / 30 * 0.9


def test_owned_chips_carry_people_who_think():
    """The fleet has no fewer requests than 400 make whose answers take as long as on it."""
    limits = {"tpot": "25ms", "ttft": "1s", "prompt": 4000, "output": 500}
    plans = fc.plan(
        "llama-3.1-70b", own="h100-sxm=16", on="h100-sxm", people=400, think="30s", **limits
    )
    shares = [plan for plan in plans if plan["rank"] == 1]
    requests = [plan["service_requests_per_s"] for plan in shares]
    times = [(plan["service_ttft_ms"] + 499 * plan["service_tpot_ms"]) / 1e3 for plan in shares]
    mean = sum(map(mul, requests, times)) / sum(requests)
    assert len(shares) == 2
    assert 400 / (30 + mean) <= sum(requests) * (1 + 1e-6)
    assert sum(requests) < 400 / 30 * 0.9


def test_a_plan_that_does_not_settle_is_the_cautious_one():
    """Each plan is faster than the one before, and 100 people who think for 10 s make 10 a second."""
    people, times = People(100, 1.0, 10.0, 1.0, 1.0), iter(range(10, 0, -1))
    assert solve_closed_loop(people, lambda rate: rate, lambda _: next(times)) == 10.0


@every(
    "words,sentence",
    [
        (["--think", "3s"], "--think is of --people 500; give that too"),
        (["--people", "5"], "--people needs one of --think 30s"),
        (["--people", "5", "--rate", "1/s", "--think", "3s"], "both say how many requests arrive"),
        (["--people", "5", "--think", "3"], "--think '3' is not a time with its unit"),
        (["--people", "0", "--think", "3s"], "--people 0 is not a whole number"),
        (["--people", "5", "--think", "3s", "--peak-multiplier", "0.5"], "--peak-multiplier 0.5"),
    ],
)
def test_what_people_cannot_be_is_said(words, sentence, capsys, monkeypatch):
    ran = run(*PLAN, *words, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert sentence in ran.err
