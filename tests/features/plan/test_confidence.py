"""Plans that hold at slow ends of ranges, and what it costs not to know speeds."""

import json
import re
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest

from benchmarks.regret import Option, outcome
from fastcalc.catalogue.schema.own_rows import OwnDeployment
from fastcalc.core.own_rows import after_one_row, effect_of
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.demand import Deployments, traffic_of
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.service_asked import service_of
from fastcalc.features.plan.tipping_points import turns
from fastcalc.formulas.regret import expected_regret, regret_after
from tests.helpers import run_once, words

PLAN = ("plan", "llama-3.3-70b", "--on", "mi355x,b200", "--price", "mi355x=2.95", "--price", "b200=6.03", "--prompt", 1000, "--output", 500,
        "--ttft", "1s", "--tpot", "30ms", "--rate", "5/s", "--load", 1, "--by", "chip")  # fmt: skip


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def ran(*args):
        return run_once(*args, capsys=capsys, monkeypatch=monkeypatch)

    return ran


@pytest.fixture
def records(fastcalc):
    def rows(*args):
        return json.loads(fastcalc(*args, "--format", "json").out)["records"]

    return rows


@pytest.mark.thorough
def test_nine_in_ten_is_the_slow_end_of_the_80_percent_range(records):
    plan = (*PLAN, "--weights", "bf16", "--kv", "bf16")
    expected, sure = records(*plan), records(*plan, "--confidence", 90)
    chips = {(row["hardware"], row["prefill"], row["weight_format"]): row for row in expected}
    for row in sure:
        assert row["service_tpot_ms"] == pytest.approx(row["service_tpot_ms_high"], rel=1e-6)
        assert row["service_tpot_ms"] <= 30 < expected[0]["service_tpot_ms_high"]
        alike = chips.get((row["hardware"], row["prefill"], row["weight_format"]))
        assert alike is None or row["chips_expected"] == alike["chips_total"] <= row["chips_total"]
    assert records(*plan, "--confidence", 50) == expected


@pytest.mark.thorough
def test_how_sure_a_plan_is_stands_in_its_first_sentence(fastcalc):
    text = words(fastcalc(*PLAN, "--confidence", 90).out)
    first, _, rest = text.partition("rice per chip-hour")
    assert ", with a 90% chance of meeting the limits" in first
    enough = "Sized for expected speeds instead, mi355x needs only 3 chips, $6,461 per month, but "
    assert enough in rest
    assert " expected " in text.partition("- key")[0]
    for wrong in (49.9, 99.5):
        refused = fastcalc(*PLAN, "--confidence", wrong)
        assert refused.code == 2
        assert "is not from 50 to 99; write for example 90" in refused.err
    refused = fastcalc(*PLAN, "--confidence", 90, "--engine", "ideal")
    assert refused.code == 2
    assert "--confidence uses ranges, and ideal has none" in refused.err


@pytest.mark.thorough
def test_expected_speeds_are_named_only_where_they_rent_something_else(fastcalc):
    node = ("plan", "llama-3.1-8b", "--on", "h100-sxm", "--rate", "5/s", "--confidence", 90)
    document = json.loads(fastcalc(*node, "--format", "json").out)
    assert document["records"][0]["chips_expected"] == document["records"][0]["chips_total"]
    assert "Sized for expected speeds" not in words(fastcalc(*node).out)
    singly = fastcalc(*node, "--rate", "30/s", "--by", "chip", "--format", "json").out
    best = json.loads(singly)["records"][0]
    assert best["chips_expected"] < best["chips_total"]


@pytest.mark.thorough
def test_what_turns_a_verdict_of_chips_rented_on_top(fastcalc):
    on_top = ("plan", "llama-3.1-8b", "--own", "l40s=2", "--on", "l40s,h100-sxm", "--by", "chip")
    text = words(fastcalc(*on_top, *("--rate", "20/s", "--tpot", "30ms", "--sensitivity")).out)
    assert re.search("Rented chips: l40s would be cheaper if .*h100-sxm costs [$]", text)


def test_what_turns_a_verdict_needs_two_that_are_rented_for_a_rate(fastcalc):
    refused = fastcalc("plan", "llama-3.1-8b", "--own", "h100-sxm=8", "--sensitivity")
    assert refused.code == 2
    assert "--sensitivity compares chips that are rented for a rate" in refused.err


@pytest.mark.thorough
def test_ranges_without_measurements_like_them_are_marked(fastcalc, records):
    plan = ("plan", "llama-3.1-8b", "--on", "rtx-4090,h100-sxm", "--engine", "sglang")
    plan += ("--rate", "5/s", "--by", "chip")
    wider = {row["hardware"]: row["range_is_wider"] for row in records(*plan)}
    assert wider["h100-sxm"] is None
    assert "sglang is fitted to no decode measurement of this chip" in wider["rtx-4090"]
    text = words(fastcalc(*plan).out)
    assert "!: wider range: few or no measurements of similar deployments" in text


AT = np.linspace(-3.0, 3.0, 61)
STEPS = np.array([np.ceil(7.3 * np.exp(0.25 * AT)) * 900, np.ceil(2.6 * np.exp(0.4 * AT)) * 2600])


def drawn(seed=1, count=400_000):
    """Costs of both plans at speeds drawn at random, and the draws."""
    speeds = np.random.default_rng(seed).standard_normal((2, count))
    costs = [np.interp(draw, AT, row) for draw, row in zip(speeds, STEPS, strict=True)]
    return speeds, np.array(costs)


@pytest.mark.parametrize("held", [0.0, 1.28])
def test_expected_regret_is_that_of_draws(held):
    _, costs = drawn()
    bought = np.array([np.interp(held, AT, row) for row in STEPS])
    paid = np.maximum(costs, bought[:, np.newaxis])
    by_chance = (paid - costs.min(axis=0)).mean(axis=1)
    assert expected_regret(costs=STEPS, at=AT, held=held) == pytest.approx(by_chance, rel=0.02)


@pytest.mark.thorough
@pytest.mark.parametrize("measured", [0, 1])
def test_regret_after_a_measurement_is_that_of_draws(measured):
    """Speeds that a signal leaves open are drawn for each of many, spread over all there are."""
    error, count = 0.3, 1000
    left_open = error * np.random.default_rng(2).standard_normal(4000)
    signals = [NormalDist().inv_cdf((at + 0.5) / count) for at in range(count)]
    others = drawn()[1][1 - measured]
    row, other = STEPS[measured], STEPS[1 - measured]
    of_other = np.maximum(others, np.interp(0.0, AT, other)).mean()
    least = []
    for signal in np.array(signals) * np.sqrt(1 - error**2):
        then = np.interp(signal + left_open, AT, row)
        bought = np.interp([signal, 0.0], AT, row)
        least.append(min(of_other, *(np.maximum(then, held).mean() for held in bought)))
    hindsight = drawn()[1].min(axis=0).mean()
    after = regret_after(costs=STEPS, at=AT, held=0.0, measured=measured, error=error)
    assert after == pytest.approx(np.mean(least) - hindsight, rel=0.04)
    assert 0.0 < after < expected_regret(costs=STEPS, at=AT, held=0.0).min()


def test_limits_of_regret():
    certain = np.array([np.full(61, 100.0), np.full(61, 140.0)])
    assert expected_regret(costs=certain, at=AT, held=0.0) == pytest.approx([0.0, 40.0])
    alone = expected_regret(costs=STEPS[:1], at=AT, held=0.0)
    dominated = np.stack([STEPS[0], np.full(61, 1e6)])
    assert expected_regret(costs=dominated, at=AT, held=0.0)[0] == pytest.approx(alone[0])
    # One plan that is measured exactly leaves none, whatever lies between the nodes.
    assert regret_after(costs=STEPS[:1], at=AT, held=0.0, measured=0, error=0.05) >= 0.0
    nothing = regret_after(costs=STEPS, at=AT, held=0.0, measured=0, error=1.0)
    before = expected_regret(costs=STEPS, at=AT, held=0.0).min()
    assert nothing == pytest.approx(before)
    kept = regret_after(costs=dominated, at=AT, held=0.0, measured=1, error=0.0)
    assert kept == pytest.approx(alone[0])


def test_a_row_where_a_plan_runs_leaves_what_a_measurement_is_said_to():
    row = {"batch": 32, "context": 1500, "prompt": 1000, "decode_share": 1.0, "slower": 1.1}
    names = {"hardware": "chip", "model": "model", "weights": "bf16", "kv": "bf16"}
    deployment = OwnDeployment.model_validate(names | {"chips": 1, "file": "f", "rows": [row]})
    effect = effect_of(deployment, batch=32.0, context=1500.0, prompt=1000.0)
    left = after_one_row(np.log(1.1))
    assert left == pytest.approx(float(effect.narrowed(1.0)))
    assert after_one_row(0.0) < left < 0.5


@pytest.mark.thorough
def test_the_advised_measurement_lowers_the_regret_once_it_is_made(fastcalc, tmp_path):
    """The closed loop: what was advised is measured just as expected, and given to --like."""
    plan = (*PLAN, "--weights", "bf16", "--kv", "bf16")
    before = json.loads(fastcalc(*plan, "--format", "json").out)
    first, *_ = before["regret"]["plans"]
    assert before["turns"] is None
    advised = before["regret"]["measurements"][0]
    assert advised["hardware"] == first["hardware"] == "mi355x"
    assert advised["usd"] == pytest.approx(advised["chips"] * 2.95 * advised["minutes"] / 60)
    left = advised["expected_regret_usd_per_month_then"]
    assert 0 < left < first["expected_regret_usd_per_month"]
    best = before["records"][0]
    row = {name: best[name] for name in ("hardware", "model", "engine", "tp", "ep", "pp", "dp")}
    row |= {"id": "own-1", "source": "us", "url": "", "date": "2026-11", "chips": advised["chips"],
            "weights": "bf16", "kv": "bf16", "concurrency": advised["batch"], "prompt": 1000,
            "output": 500, "metric": "tpot_s", "value": best["service_tpot_ms"] / 1e3,
            "tokens_per_pass": 1, "measured_by": "user", "notes": "kind=e2e_concurrency"}  # fmt: skip
    file = tmp_path / "rows.csv"
    file.write_text(",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n")
    ran = fastcalc(*plan, "--like", file, "--format", "json")
    assert ran.code == 0, ran.err
    after = json.loads(ran.out)["regret"]
    assert (
        after["plans"][0]["expected_regret_usd_per_month"]
        < 0.7 * first["expected_regret_usd_per_month"]
    )
    assert "mi355x" not in {measured["hardware"] for measured in after["measurements"]}
    text = words(fastcalc(*plan, "--notes").out)
    assert advised["chips"] == 1
    run_of = f"A {advised['minutes']}-minute benchmark on one rented mi355x ("
    assert run_of in text
    assert advised["command"] in text


def test_the_regret_of_a_question_is_as_by_hand():
    """Ten replicas at $1 are expected of one chip and take 20, where 10 of the other cost $15."""
    options = [
        Option("fast", "mine", usd=1.0, expected=100.0, measured=50.0, spread=0.3),
        Option("sure", "mine", usd=1.5, expected=100.0, measured=100.0, spread=0.01),
    ]
    found = outcome(options)
    assert found.plain == pytest.approx(20 / 15 - 1)
    assert found.is_other_chip
    assert (found.advised, found.other) == (0.0, found.plain)


TURNED = {"model": "llama-3.1-8b", "by": "chip", "api": "0.06/0.06/0.12", "weights": "bf16",
          "kv": "bf16", "on": "h100-sxm,l40s", "rate": 40.0, "prompt": 1000, "output": 500,
          "tpot": "30ms", "ttft": "1s"}  # fmt: skip


def planned(**changes):
    """Return a request planned anew, with its deployments."""
    request = FindPlans(**TURNED | changes)
    service = service_of(request)
    grids = Deployments(request, service, [], traffic_of(request, service)).search.grids
    return decide(grids, service), grids


@cache
def costs(**changes):
    """Return dollars a month of each chip, and of the API."""
    decision, _ = planned(**changes)
    bills = {plan.scenario.hardware.id: plan.usd_per_month for plan in decision.of_each_chip}
    service = decision.service
    return bills | {"API": service.api_request_usd * service.rate * 730 * 3600}


def slower(times, chip):
    """The bills where one chip has a slower clock: more requests, less time in its own."""
    limits = {"tpot": f"{30 / times!r}ms", "ttft": f"{1 / times!r}s"}
    return costs() | {chip: costs(rate=40 * times, on=chip, **limits)[chip]}


@pytest.mark.thorough
def test_each_turn_is_where_the_plan_turns():
    """Beyond each value another leads, as said, and 3% before it the first still does."""
    first = min(costs(), key=costs().get)
    changed = {
        "price": lambda turn, at: costs.__wrapped__(price={turn.of: at}),
        "slowness": lambda turn, at: slower(at, turn.of),
        "rate": lambda _, at: costs(rate=at),
        "prompt": lambda _, at: costs(prompt=round(at)),
        "output": lambda _, at: costs(output=round(at)),
    }
    found = turns(*planned())
    assert {"price", "slowness", "rate", "output"} <= {turn.quantity for turn in found}
    for turn in found:
        before, beyond = (0.97, 1 + 1e-6) if turn.is_above else (1.03, 1 - 1e-6)
        for times, leads in ((before, first), (beyond, turn.leads)):
            bills = changed[turn.quantity](turn, turn.at * times)
            assert min(bills, key=bills.get) == leads, turn
