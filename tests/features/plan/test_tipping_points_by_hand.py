"""What turns a verdict, on chips that cost what a test says at each rate and length."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from fastcalc.features.plan import tipping_points
from fastcalc.features.plan.cost_notes import break_even
from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.service import Service, Tariff
from fastcalc.features.plan.tipping_points import (  # fmt: skip
    API,
    TippingPoint,
    _api,
    _costs,
    _leader,
    _leader_of,
    _nearest,
    _of_lengths,
    _searched,
    break_even_price,
    runner_up_prices,
    share_of_cost,
    turns,
)
from tests.features.plan.test_plan_sentences import SECOND, UNPRICED, deployed, plan
from tests.helpers import every

SERVICE = Service(1000.0, 500.0, ttft=2.0, tpot=0.1, rate=10.0)
PRICED = Tariff(api=(1.0, 0.0, 2.0))
"""$0.002 for a request of `SERVICE`: 10 of them a second are $72 per hour."""

NEARLY = 0.02
"""The last step between factors of at most 2 is halved five times."""


@every(
    "costs,leader",
    [
        ({}, ""),
        ({"a": (2.0, 1.0), "b": (1.0, 9.0)}, "b"),
        ({"a": (1.0, 2.0), "b": (1.0, 1.0)}, "b"),
        ({"a": (1.0, 1.0), "b": (1.0, 2.0)}, "a"),
        ({"a": (1.0, 1.0), "b": (0.99, 2.0)}, "b"),
    ],
)
def test_the_cheapest_leads_and_of_equals_that_of_fewer_chips(costs, leader):
    assert _leader(costs) == leader


def test_an_api_costs_what_its_requests_do():
    assert _api(SERVICE) == {}
    assert _api(replace(SERVICE, tariff=PRICED)) == {API: (pytest.approx(72.0), 0.0)}


@every(
    "prompt,output,lengths",
    [(1.5, 1.0, (1500.0, 500.0)), (1.0, 0.25, (1000.0, 125.0)), (1e-9, 1e-9, (1.0, 1.0))],
)
def test_scaled_lengths_are_whole_tokens(prompt, output, lengths):
    found = _of_lengths(SERVICE, prompt, output)
    assert (found.prompt, found.output) == lengths


@every(
    "turn,factors,found",
    [
        (1.3, (1.1, 1.25, 1.5, 2.0), 1.3),
        (3.0, (1.1, 1.25, 1.5, 2.0), None),
        (1.05, (1.1, 1.25), 1.05),
        (0.6, (1 / 1.1, 1 / 1.5, 1 / 2.0), 0.6),
    ],
)
def test_the_nearest_factor_that_turns_the_verdict(turn, factors, found):
    asked = []

    def leader(factor):
        asked.append(factor)
        is_turned = factor >= turn if turn > 1.0 else factor <= turn
        return "b" if is_turned else "a"

    at = _nearest(leader, "a", factors)
    if found is None:
        assert at is None
        assert asked == list(factors)
        return
    factor, leads = at
    assert leads == "b"
    assert leader(factor) == "b"
    assert factor == pytest.approx(found, rel=NEARLY)
    assert len(set(asked)) <= len(factors) + 5


def test_nothing_leads_where_nothing_serves():
    assert _nearest(lambda factor: "a" if factor < 1.2 else "", "a", (1.1, 1.5)) is None


def grids(*chips):
    return {chip: [SimpleNamespace(scenario=chip)] for chip in chips}


def decided(cost):
    plans = [] if cost is None else [SimpleNamespace(cost=cost, values={"chips": cost / 2})]
    return SimpleNamespace(plans=plans)


def test_costs_are_of_chips_that_serve(monkeypatch):
    known = {"a": 4.0, "b": None}
    monkeypatch.setattr(
        tipping_points, "decide", lambda several, *_, **__: decided(known[several[0].scenario])
    )
    assert _costs(SERVICE, grids("a", "b")) == {"a": (4.0, 2.0)}


@pytest.fixture
def costing(monkeypatch):
    """Each chip costs what a function of the service says; None where it serves nothing."""

    def with_costs(**cost_of):
        def costs(service, grids):
            found = {chip: cost_of[chip](service) for chip in grids if grids[chip]}
            return {chip: (usd, 1.0) for chip, usd in found.items() if usd is not None}

        monkeypatch.setattr(tipping_points, "_costs", costs)
        monkeypatch.setattr(
            tipping_points,
            "candidates",
            lambda scenario, prompt, output: (
                SimpleNamespace(scenario=scenario) if prompt + output <= 8500.0 else None
            ),
        )

    return with_costs


def searched(costs, service=SERVICE):
    return {
        (each.quantity, each.is_above): each for each in _searched(service, grids("a", "b"), costs)
    }


def test_a_rate_from_which_another_leads(costing):
    """$1 per request against $12 and $0.25 per request: as much at 16 requests/s."""
    costing(a=lambda service: service.rate, b=lambda service: 12.0 + service.rate / 4)
    found = searched({"a": (10.0, 1.0), "b": (14.5, 1.0)})
    assert set(found) == {("rate", True), ("slowness", True)}
    rate = found["rate", True]
    assert (rate.leads, rate.of) == ("b", None)
    assert rate.at == pytest.approx(16.0, rel=NEARLY)
    # A clock slower by a factor has as many times the rate, which b has not: $14.50 at 14.5/s.
    slowness = found["slowness", True]
    assert (slowness.leads, slowness.of) == ("b", "a")
    assert slowness.at == pytest.approx(1.45, rel=NEARLY)


def test_lengths_up_and_down_from_which_another_leads(costing):
    """A prompt token costs a cent, b $15: as much at 1,500. An output token 1.6, b $6: at 375."""
    costing(a=lambda service: service.prompt / 100, b=lambda _: 15.0)
    found = searched({"a": (10.0, 1.0), "b": (15.0, 1.0)})
    assert set(found) == {("prompt", True)}
    assert found["prompt", True].at == pytest.approx(1500, rel=NEARLY)
    assert found["prompt", True].at == round(found["prompt", True].at)
    costing(a=lambda _: 6.0, b=lambda service: service.output / 62.5)
    found = searched({"a": (6.0, 1.0), "b": (8.0, 1.0)})
    assert set(found) == {("output", False)}
    assert found["output", False].at == pytest.approx(375, rel=NEARLY)
    assert not found["output", False].is_above


@every("limit,least", [("ttft", 1.25), ("tpot", 0.0625)])
def test_slower_clocks_have_shorter_limits(costing, limit, least):
    """Limits of 2 s and 100 ms are each met up to 1.6 times as slow."""
    costing(a=lambda service: 1.0 if getattr(service, limit) >= least else 99.0, b=lambda _: 5.0)
    found = searched({"a": (1.0, 1.0), "b": (5.0, 1.0)})
    assert found["slowness", True].at == pytest.approx(1.6, rel=NEARLY)


def test_where_the_api_leads_no_clock_is_slowed(costing):
    """At $0.002 per request it leads up to the rate at which $108 per hour buy as many: 15/s."""
    service = replace(SERVICE, tariff=PRICED)
    costing(a=lambda _: 108.0, b=lambda _: 200.0)
    found = searched({"a": (108.0, 1.0), "b": (200.0, 1.0), API: (72.0, 0.0)}, service)
    assert ("slowness", True) not in found
    assert found["rate", True].leads == "a"
    assert found["rate", True].at == pytest.approx(15.0, rel=NEARLY)


def test_no_chip_leads_with_requests_that_none_holds(costing):
    """Prompt and output of 8,500 tokens fit."""
    costing(a=lambda _: 1.0, b=lambda _: 2.0)
    assert _leader_of(replace(SERVICE, prompt=8000.0), grids("a", "b")) == "a"
    assert _leader_of(replace(SERVICE, prompt=8001.0), grids("a", "b")) == ""
    priced = replace(SERVICE, prompt=8001.0, tariff=PRICED)
    assert _leader_of(priced, grids("a", "b")) == API


# Prices.


def rivals(cost, other, **service):
    plans = plan(cost=cost, values={"chips": 2.0}), plan(SECOND, cost=other)
    asked = replace(SERVICE, **service)
    return Decision(asked, best_by_variant={each.variant: each for each in plans})


def of_chips(*chips):
    return [SimpleNamespace(scenario=deployed(chip)) for chip in chips]


def test_prices_that_turn_the_verdict(monkeypatch):
    """$10 of the first at $3.60 per chip-hour, and $15 of the second."""
    monkeypatch.setattr(tipping_points, "_searched", lambda *_: iter(()))
    found = turns(rivals(10.0, 15.0), of_chips(None, SECOND))
    assert found == [
        TippingPoint("price", pytest.approx(5.4), True, "second-chip", "made-up-chip"),
        TippingPoint("price", pytest.approx(2.4), False, "second-chip", "second-chip"),
    ]


@every(
    "service,has_grids,is_asked",
    [
        ({}, True, True),
        ({}, False, False),
        ({"rate": None}, True, False),
        ({"objective": "chips"}, True, False),
        ({"is_fleet": True}, True, False),
    ],
)
def test_when_nothing_turns_a_verdict(service, has_grids, is_asked):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tipping_points, "_searched", lambda *_: iter(()))
        asked = of_chips(None, SECOND) if has_grids else []
        assert bool(turns(rivals(10.0, 15.0, **service), asked)) is is_asked


@every("tariff,count", [(Tariff(), 0), (PRICED, 1)])
def test_one_chip_has_an_api_for_a_rival_or_none(tariff, count):
    """$72 of an API against $10 of a chip at $3.60: as much at $25.92."""
    alone = plan(cost=10.0)
    decision = Decision(replace(SERVICE, tariff=tariff), best_by_variant={"v": alone})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tipping_points, "_searched", lambda *_: iter(()))
        found = turns(decision, of_chips(None))
    assert [(each.at, each.leads) for each in found] == [(pytest.approx(25.92), API)] * count


def test_grids_of_each_rival_are_those_that_may_lead(monkeypatch):
    seen = {}
    monkeypatch.setattr(
        tipping_points, "_searched", lambda _, grids, __: seen.update(grids) or iter(())
    )
    narrow = SimpleNamespace(scenario=deployed(weights="int4"))
    known = [*of_chips(None, SECOND, UNPRICED), narrow]
    turns(rivals(10.0, 15.0, any_weights=False), known)
    assert seen == {"made-up-chip": known[:1], "second-chip": known[1:2]}


def both(first_chips, second_chips, cost):
    """Decode on the first chip, prefill on the second, each at $3.60 per hour."""
    return plan(
        cost=cost,
        values={"chips": first_chips + second_chips},
        prefill_scenario=deployed(SECOND),
        prefill_chips=second_chips,
    )


@every(
    "cost,of_chip,price",
    [
        # 1 of 4 chips is the second: $10 of $40, and $30 of the others.
        (50.0, 0.0, 7.2),
        (35.0, 0.0, 1.8),
        (30.0, 0.0, None),
        # What it is compared with costs $5 of the same chip, or as much of it.
        (50.0, 5.0, 10.8),
        (50.0, 10.0, None),
    ],
)
def test_the_price_at_which_a_plan_costs_as_much(cost, of_chip, price):
    found = break_even_price(both(3.0, 1.0, 40.0), "second-chip", cost, of_chip)
    assert found == (price and pytest.approx(price))


def test_chips_that_a_plan_has_not_or_that_have_no_price():
    alone = plan(UNPRICED, cost=10.0)
    assert break_even_price(alone, "unpriced-chip", 20.0) is None
    assert break_even_price(plan(), "other-chip", 20.0) is None
    assert share_of_cost(both(3.0, 1.0, 40.0), "second-chip") == pytest.approx(0.25)
    assert share_of_cost(alone, "unpriced-chip") == share_of_cost(plan(), "other-chip") == 0.0


def an_api(usd_per_hour):
    """Prices of all tokens at which the requests of the service cost so much an hour."""
    tokens = (SERVICE.rate or 0.0) * (SERVICE.prompt + SERVICE.output) * 3600.0
    return Tariff((usd_per_hour * 1e6 / tokens,) * 3)


@every(
    "service,second,prices",
    [
        ({}, {}, (5.4, 2.4)),
        ({"objective": "watts"}, {}, (None, None)),
        ({"is_fleet": True}, {}, (None, None)),
        ({"any_weights": False}, {"weights": "int4"}, (None, None)),
        ({}, {"weights": "int4"}, (5.4, 2.4)),
        # An API at 16 USD an hour is third; at 12 it wins first, and at 8 it is to be beaten.
        ({"tariff": an_api(16.0)}, {}, (5.4, 2.4)),
        ({"tariff": an_api(12.0)}, {}, (None, 2.4)),
        ({"tariff": an_api(8.0)}, {}, (None, 1.92)),
    ],
)
def test_prices_at_which_the_runner_up_wins(service, second, prices):
    plans = plan(cost=10.0), plan(SECOND, cost=15.0, **second)
    asked = replace(SERVICE, **service)
    decision = Decision(asked, best_by_variant={each.variant: each for each in plans})
    assert runner_up_prices(decision) == tuple(usd and pytest.approx(usd) for usd in prices)
    alone = Decision(asked, best_by_variant={"v": plans[0]})
    assert runner_up_prices(alone) == (None, None)


def test_the_sentence_of_a_runner_up_names_its_price_today():
    """$10 of the first chip at $3.60 per hour, and $15 of the second at $3.60."""
    assert break_even(rivals(10.0, 15.0)) == (
        "second-chip in bf16 would win at a price below $2.40 (now $3.60) or with made-up-chip above "
        "$5.40"
    )
