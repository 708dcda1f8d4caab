"""Odds of a plan from made-up plans and searches."""

from dataclasses import replace
from statistics import NormalDist
from types import SimpleNamespace

import pytest

from fastcalc.features.plan import odds
from fastcalc.features.plan.service import Service
from tests.helpers import every

SERVICE = Service(1000.0, 1000.0, rate=1.0, ttft=2.0)


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


@every(
    "costs,prefill,holds",
    [([100.0], None, True), ([100.0 * (1 + 1e-10), 1.0], None, True), ([101.0, 1.0], None, False), ([], None, False), ([100.0], "layout", True)],
)  # fmt: skip
def test_slower_chips_hold_the_limits_if_they_cost_no_more(costs, prefill, holds, monkeypatch):
    asked = []

    def decide(grids, service, *, shown, prompt_pools, is_held, enough):
        assert enough == pytest.approx(100.0)
        asked.append((grids, service, shown, prompt_pools, is_held))
        return SimpleNamespace(plans=[a_plan(cost) for cost in costs])

    def variant(scenario, *, is_disaggregated):
        return (scenario, is_disaggregated)

    def part(*, layouts, batches):
        return ("part", layouts, batches.tolist())

    monkeypatch.setattr(odds, "decide", decide)
    monkeypatch.setattr(odds, "variant_of", variant)
    grids = [SimpleNamespace(scenario=name, part=part) for name in ("other", "own")]
    plan = SimpleNamespace(
        cost=100.0, variant=("own", prefill is not None), layout="l", batch=8.0, prefill_layout=prefill
    )  # fmt: skip
    held = odds._holds_by_search(plan, SimpleNamespace(service=SERVICE), grids)
    assert held(1.5) is holds
    ((found, slower, *others),) = asked
    assert (slower.deviations, slower.utilization) == (1.5, 1.0)
    assert found == ([grids[1]] if prefill else [("part", ("l",), [8.0])])
    assert others == [0, None if prefill else (), False]


@every("limit", [0.5, 1.0, 2.0, 99.0, -1.0])
def test_the_chance_is_that_of_the_slowest_speed_that_holds(limit, monkeypatch):
    monkeypatch.setattr(odds, "_holds_by_search", lambda *_: lambda at: at <= limit)
    monkeypatch.setattr(odds, "_of_larger_batches", lambda *_: iter(()))
    at = min(max(limit, 0.0), odds._MOST)
    found = NormalDist().inv_cdf(odds._chance(None, SimpleNamespace(service=SERVICE), []))
    assert at - odds._MOST / 2**odds._HALVINGS - 1e-9 <= found <= at + 1e-9


@every("utilization,is_met,chance", [(0.99, True, 1.0), (1.0, True, 0.5), (0.99, False, 0.5)])
def test_with_percentiles_the_queue_is_below_full_utilization(
    utilization, is_met, chance, monkeypatch
):
    """Of two numbers of slots either may hold."""
    monkeypatch.setattr(odds, "_holds_by_search", lambda *_: None)

    def limits(busy, met):
        return SimpleNamespace(
            slowed=lambda _: SimpleNamespace(load=SimpleNamespace(utilization=busy), are_met=met)
        )

    slower = SimpleNamespace(slowed=lambda at: SimpleNamespace(slowness=1.0 + at))
    plan = SimpleNamespace(replica=SimpleNamespace(estimate=slower))
    pairs = [(plan, limits(1.5, True)), (plan, limits(utilization, is_met))]
    monkeypatch.setattr(odds, "_of_larger_batches", lambda *_: iter(pairs))
    found = odds._chance(None, SimpleNamespace(service=SERVICE), [])
    assert found == pytest.approx(
        NormalDist().cdf(odds._MOST) if chance == 1.0 else chance, abs=2e-3
    )


@every(
    "slow,best,asked",
    [
        # The second costs less at slow speeds; the third more than that at expected ones.
        ({"a": 25.0, "b": 22.0}, "b", [["a"], ["b"]]),
        ({"a": 12.0}, "a", [["a"], []]),
        ({"a": 35.0, "b": 32.0, "c": 31.0}, "c", [["a"], ["b", "c"]]),
        ({"a": 25.0, "b": 26.0}, "a", [["a"], ["b"]]),
        ({"c": 40.0}, "c", [["a"], ["b", "c"]]),
        ({}, None, [["a"], ["b", "c"]]),
    ],
)
def test_chips_are_tried_at_slow_speeds_while_they_may_lead(slow, best, asked, monkeypatch):
    tried = []

    def decide(chips, service, *, shown):
        assert (service.deviations, shown) == (odds.CONFIDENT_DEVIATIONS, 0)
        tried.append(chips)
        costs = sorted((slow[chip], chip) for chip in chips if chip in slow)
        return SimpleNamespace(plans=[SimpleNamespace(cost=usd, chip=chip) for usd, chip in costs])

    monkeypatch.setattr(odds, "decide", decide)
    plans = [
        SimpleNamespace(cost=cost, scenario=SimpleNamespace(hardware=SimpleNamespace(id=chip)))
        for chip, cost in (("a", 10.0), ("b", 20.0), ("c", 30.0))
    ]
    decision = SimpleNamespace(
        service=SERVICE, of_each_chip=plans, may_lead=lambda _: True,
        grids_to_lead=lambda _, chip: [chip],
    )  # fmt: skip
    found = odds._confident_plan(decision, [])
    assert (found and found.chip) == best
    assert tried == asked


def chosen(usd=100.0):
    scenario = SimpleNamespace(hardware=SimpleNamespace(id="h"))
    return SimpleNamespace(usd_per_month=usd, scenario=scenario)


@pytest.fixture
def relaxed(monkeypatch):
    """Which limits are relaxed, and the service for which they are searched."""
    asked = []

    def least(grids, surely, names):
        asked.append((grids, surely))
        return {name: {"ttft": 1.0, "tpot": 2.0, "rate": 3.0}[name] for name in names}

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
        patch.setattr(odds, "least_relaxed", lambda _, surely, __: asked.append(surely) or {})
        decision = SimpleNamespace(
            service=replace(SERVICE, budget=budget), grids_to_lead=lambda *_: []
        )
        odds._relaxed(chosen(), decision, [])
    assert asked[0].budget == pytest.approx(within, rel=1e-6)


def test_a_plan_that_is_not_chosen_by_price_is_not_relaxed(relaxed):
    assert relaxed(chosen(None), SERVICE) == ({}, [])
    assert relaxed(chosen(), replace(SERVICE, objective="watts"))[0] == {}
