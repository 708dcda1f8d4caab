"""People instead of a rate: how many requests they make, and of a plan that makes them wait."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastcalc as fc
from fastcalc.features.plan import run as plan_run
from fastcalc.features.plan.people import mean_request_s, solve_closed_loop
from tests.helpers import every, thorough
from tests.helpers import run_once as run
from tests.strategies import scaled

PLAN = ("plan", "llama-3.1-8b", "--on", "h100-sxm", "--weights", "bf16", "--kv", "bf16")


def record(*words, **fixtures):
    ran = run(*PLAN, *words, "--format", "json", **fixtures)
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    return document["records"][0], document["assumptions"]["requests_per_s"]


@pytest.mark.thorough
def test_a_rate_by_how_often_they_ask(capsys, monkeypatch):
    """A fifth of 600 people, two requests a minute each, three times as many at the peak: 12/s."""
    words = ("--active-fraction", "0.2", "--peak-multiplier", "3")
    often = ("--requests-per-active-user-per-min", "2")
    fixtures = {"capsys": capsys, "monkeypatch": monkeypatch}
    plan, rate = record("--users", "600", *words, *often, **fixtures)
    assert rate == 12
    by_rate, _ = record("--rate", "12/s", **fixtures)
    assert plan == by_rate


@pytest.mark.parametrize(
    "words",
    [
        ["--users", "500", "--think", "30s"],
        thorough(["--users", "500", "--think", "5s"]),
        thorough(["--users", "200", "--think", "1s", "--tpot", "15ms"]),
        thorough(["--users", "900", "--active-fraction", "0.5", "--think", "20s", "--ttft", "1s"]),
    ],
)
def test_rate_and_response_time_are_one_fixed_point(words, capsys, monkeypatch):
    """N = rate x (Z + R), with the mean that the plan itself says at that rate."""
    ran = run(*PLAN, *words, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    document = json.loads(ran.out)
    rate = document["assumptions"]["requests_per_s"]
    seconds = document["percentiles"]["request_ms"]["mean"] / 1e3
    options = dict(zip(words[::2], words[1::2], strict=True))
    users = float(options["--users"]) * float(options.get("--active-fraction", 1.0))
    think = float(options["--think"].removesuffix("s"))
    assert rate * (think + seconds) == pytest.approx(users, rel=0.01)
    printed = " ".join(run(*PLAN, *words, capsys=capsys, monkeypatch=monkeypatch).out.split())
    said = re.search(r"\(([\d.]+) requests/s, mean latency ([\d.]+) s\)", printed)
    assert float(said[1]) == pytest.approx(rate, rel=0.005)
    assert float(said[2]) == pytest.approx(seconds, rel=0.02)


@pytest.mark.thorough
def test_the_first_plan_is_that_of_the_rate_although_another_costs_the_same():
    """N = r (Z + R). Of two plans for $11,622, one leads at the rate of the search only."""
    asked = {"on": "mi300x", "users": 500, "think": "20s", "tpot": "20ms"}
    first, *_ = fc.plan("gpt-oss-120b", **asked)
    thinking = 20.0 * first["service_requests_per_s"]
    assert first["requests_in_flight"] + thinking == pytest.approx(500.0, rel=0.01)


def check_little(own, users, think, model="llama-3.1-8b", **options):
    """Check that the rates of owned and rented chips add up to N / (Z + R)."""
    fleets = []

    def solve(*args):
        fleets.append(solve_closed_loop(*args))
        return fleets[-1]

    options = {"ttft": "1s", "on": "h100-sxm"} | options
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plan_run, "solve_closed_loop", solve)
        table = fc.plan(model, own=own, users=users, think=f"{think}s", **options)
    (fleet,) = fleets
    rate = fleet.service.rate
    assert rate * (think + mean_request_s(fleet, rate)) == pytest.approx(users, rel=0.01)
    assert fleet.requests == pytest.approx(rate)
    shares = [plan["service_requests_per_s"] for plan in table if plan["rank"] == 1]
    assert sum(shares) == pytest.approx(rate, rel=0.01)
    assert min(shares) > 0


@pytest.mark.parametrize(
    ("own", "users", "think", "options"),
    [
        # Settled at a rate that the owned chips, or the first kind of them, serve alone.
        ("h100-sxm=4", 300, 10, {}),
        thorough("h100-sxm=2,l40s=4", 100, 5, {"ttft": "500ms"}),
        thorough(
            "h100-sxm=16",
            400,
            30,
            {"model": "llama-3.1-70b", "tpot": "25ms", "prompt": 4000, "output": 500},
        ),
    ],
)
def test_owned_chips_serve_users_who_think(own, users, think, options):
    check_little(own, users, think, **options)


@pytest.mark.thorough
@settings(max_examples=scaled(8), deadline=None)
@given(
    own=st.dictionaries(
        st.sampled_from(["h100-sxm", "l40s", "a100-sxm-80gb"]),
        st.sampled_from([1, 2, 4, 8, 16]),
        min_size=1,
        max_size=2,
    ),
    users=st.integers(1, 1500),
    think=st.sampled_from([1, 5, 20, 60]),
)
def test_any_owned_chips_serve_users_who_think(own, users, think):
    check_little(",".join(f"{chip}={count}" for chip, count in own.items()), users, think)


@every(
    "words,sentence",
    [
        (["--think", "3s"], "--think needs --users 500; give that too"),
        (["--users", "5"], "--users needs one of --think 30s"),
        (["--users", "5", "--rate", "1/s", "--think", "3s"], "both set the request rate"),
        (["--users", "5", "--think", "3"], "--think '3' is not a time with its unit"),
        (["--users", "0", "--think", "3s"], "--users 0 is not a whole number"),
        (["--users", "5", "--think", "3s", "--peak-multiplier", "0.5"], "--peak-multiplier 0.5"),
    ],
)
def test_what_people_cannot_be_is_said(words, sentence, capsys, monkeypatch):
    ran = run(*PLAN, *words, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert sentence in ran.err


@pytest.mark.thorough
def test_a_budget_of_what_a_plan_costs_has_that_plan(capsys, monkeypatch):
    """Users who wait make fewer requests: neither plan is made for those who never wait."""
    asked = ("plan", "llama-3.1-8b", "--on", "l40s", "--users", 500, "--think", "10s")
    asked += (
        "--prompt",
        2000,
        "--output",
        400,
        "--tpot",
        "40ms",
        "--weights",
        "bf16",
        "--kv",
        "bf16",
    )
    fixtures = {"capsys": capsys, "monkeypatch": monkeypatch}
    asked += ("--format", "json")
    free = json.loads(run(*asked, **fixtures).out)["records"][0]
    budget = f"{free['usd_per_month'] + 1:.0f}/month"
    limited = run(*asked, "--budget", budget, **fixtures)
    assert limited.code == 0, limited.err
    found = json.loads(limited.out)["records"][0]
    assert (found["chips_total"], found["batch"]) == (free["chips_total"], free["batch"])
    # 500 users who waited for nothing would ask 50 times per second.
    assert free["utilization"] > 0.5


_BY_CHIP = ("--by", "chip")


@pytest.mark.thorough
@every(
    "words",
    [
        ["--users", "300", "--think", "10s", "--prompt", "200", "--output", "300"],
        ["--users", "100", "--think", "50ms", "--prompt", "1000", "--output", "50", "--ttft", "2s"],
    ],
)
def test_no_plan_for_a_rate_that_its_users_stay_below_costs_less(words, capsys, monkeypatch):
    """Against plans for nine rates down to a third of the one that is found."""
    asked = {}

    def kept(people, fleet_at, unlimited_at):
        asked.update(people=people, fleet_at=fleet_at)
        return solve_closed_loop(people, fleet_at, unlimited_at)

    monkeypatch.setattr(plan_run, "solve_closed_loop", kept)
    plan, rate = record(*_BY_CHIP, *words, capsys=capsys, monkeypatch=monkeypatch)
    found = []
    for tried in np.geomspace(1.02, 1 / 3, 9) * rate:
        fleet = asked["fleet_at"](float(tried))
        if asked["people"].rate(mean_request_s(fleet, tried)) <= tried:
            found.append(fleet.usd_per_month)
    assert found
    assert plan["usd_per_month"] <= min(found) * (1.0 + 1e-9)


@pytest.mark.thorough
def test_alternatives_are_reported_and_searched_once(monkeypatch):
    """Of all rates that are tried, one has several plans; the first of them is the one chosen."""
    shown = []
    allocate = plan_run.allocate

    def counted(owned, rented, service):
        shown.append(rented.shown)
        return allocate(owned, rented, service)

    monkeypatch.setattr(plan_run, "allocate", counted)
    asked = {"on": "h100-sxm,l40s", "users": 500, "think": "30s", "tpot": "30ms"}
    assert len(fc.plan("llama-3.1-8b", top=3, **asked)) >= 3
    assert len(shown) > 2
    assert [number for number in shown if number] == [3]


@pytest.mark.thorough
@every("formats,enough", [(("--weights", "bf16", "--kv", "bf16"), "4"), ((), "3")])
def test_users_have_a_plan_within_means_that_hold_one(formats, enough, capsys, monkeypatch):
    """What is asked for is enough for the requests that 300 users make on it.

    In published formats four chips; in fewer bits three, on which users make more requests.
    """
    fixtures = {"capsys": capsys, "monkeypatch": monkeypatch}
    asked = ("plan", "llama-3.1-8b", "--on", "h100-sxm", *formats, *_BY_CHIP, "--users", "300")
    asked += ("--think", "0.1s", "--max-chips")
    refused = run(*asked, "1", **fixtures)
    assert refused.code == 1
    assert f"--max-chips {enough}" in refused.err
    assert run(*asked, enough, **fixtures).code == 0


@pytest.mark.thorough
@every("think", ["1ms", "1us"])
def test_users_who_hardly_think_ask_as_often_as_they_are_answered(think, capsys, monkeypatch):
    ran = run(
        *PLAN,
        "--users",
        "50",
        "--think",
        think,
        "--format",
        "json",
        capsys=capsys,
        monkeypatch=monkeypatch,
    )
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    seconds = document["percentiles"]["request_ms"]["mean"] / 1e3
    assert document["assumptions"]["requests_per_s"] * seconds == pytest.approx(50, rel=0.01)
