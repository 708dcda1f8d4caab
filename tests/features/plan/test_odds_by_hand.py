"""Odds of a plan from made-up plans and searches."""

from dataclasses import replace
from statistics import NormalDist
from types import SimpleNamespace

import pytest

from fastcalc.features.plan import odds
from fastcalc.features.plan.service import Service
from tests.helpers import every

SERVICE = Service(1000.0, 1000.0, rate=1.0, ttft=2.0)


def chosen(usd=100.0):
    scenario = SimpleNamespace(hardware=SimpleNamespace(id="h"))
    return SimpleNamespace(usd_per_month=usd, scenario=scenario)


@pytest.fixture
def relaxed(monkeypatch):
    """Which limits are relaxed, and the service for which they are searched."""
    asked = []

    def least(grids, surely):
        asked.append((grids, surely))
        return {"ttft": 1.0, "tpot": 2.0, "rate": 3.0}

    monkeypatch.setattr(odds, "least_relaxed", least)
    monkeypatch.setattr(
        odds, "enough", lambda _, __, name, least: None if name == "ttft" else 2 * least
    )

    def call(plan, service):
        decision = SimpleNamespace(service=service, grids_to_lead=lambda grids, chip: (grids, chip))
        return odds._relaxed(plan, decision, "grids"), asked

    return call


def test_limits_of_latency_are_relaxed_on_the_chips_of_the_plan(relaxed):
    found, ((grids, surely),) = relaxed(chosen(), SERVICE)
    assert found == {
        "tpot": 4.0
    }  # none is enough for the other, and the rate is no limit of latency
    assert grids == ("grids", "h")
    assert NormalDist().cdf(surely.deviations) == pytest.approx(0.9)


@every("budget,within", [(float("inf"), 300.0), (400.0, 300.0), (200.0, 200.0)])
def test_a_relaxed_plan_costs_three_times_as_much_at_most(budget, within):
    with pytest.MonkeyPatch.context() as patch:
        asked = []
        patch.setattr(odds, "least_relaxed", lambda _, surely: asked.append(surely) or {})
        decision = SimpleNamespace(
            service=replace(SERVICE, budget=budget), grids_to_lead=lambda *_: []
        )
        odds._relaxed(chosen(), decision, [])
    assert asked[0].budget == pytest.approx(within, rel=1e-6)


def test_a_plan_that_is_not_chosen_by_price_is_not_relaxed(relaxed):
    assert relaxed(chosen(None), SERVICE) == ({}, [])
    assert relaxed(chosen(), replace(SERVICE, objective="watts"))[0] == {}


def a_plan(cost):
    return SimpleNamespace(
        cost=cost, prefill_scenario=None,
        replica=SimpleNamespace(estimate=SimpleNamespace(low="some")),
    )  # fmt: skip


@every(
    "chance,cost,is_itself,is_relaxed",
    [(0.9, 0.0, True, False), (0.89, 300.0, False, False), (0.89, 301.0, False, True), (0.89, None, False, True)],
)  # fmt: skip
def test_a_plan_is_confident_at_nine_in_ten_and_dear_at_three_times(
    chance, cost, is_itself, is_relaxed
):
    plan, other = a_plan(100.0), None if cost is None else a_plan(cost)
    decision = SimpleNamespace(service=SERVICE, plans=[plan], expected=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(odds, "_chance", lambda *_: chance)
        patch.setattr(odds, "_confident_plan", lambda *_: other)
        patch.setattr(odds, "_relaxed", lambda *_: {"ttft": 4.0})
        found = odds.odds_of(decision, ["grid"])
    assert found.chance == chance
    assert found.confident is (plan if is_itself else other)
    assert bool(found.relaxed) == is_relaxed


@every(
    "changes,grids",
    [({"ttft": float("inf")}, ["grid"]), ({"rate": None}, ["grid"]), ({}, [])],
)  # fmt: skip
def test_there_are_no_odds_without_a_limit_a_rate_or_grids(changes, grids):
    decision = SimpleNamespace(
        service=replace(SERVICE, **changes), plans=[a_plan(1.0)], expected=None
    )
    assert odds.odds_of(decision, grids) is None
