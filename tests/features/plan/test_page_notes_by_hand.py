"""Notes of a plan's page from made-up fleets: costs, idle chips, nodes and limits."""

from dataclasses import dataclass
from math import inf
from types import SimpleNamespace

import pytest

from fastcalc.features.plan import cost_notes, latency_notes, page_tables, records
from fastcalc.features.plan import headline as plan_headline
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.mentions import option
from tests import made_up
from tests.helpers import every


def pool(chip="a", *, chips=8, usd=100.0, node_chips=1, classes=("x",)):
    plan = SimpleNamespace(
        scenario=SimpleNamespace(hardware=SimpleNamespace(id=chip)), usd_per_month=usd, node_chips=node_chips
    )  # fmt: skip
    return SimpleNamespace(plan=plan, chips=chips, classes=classes, decision=None)


def part(*pools, owned=None, one_chip=None, each=None, shared=None, left=0, chips=8, usd=100.0):
    return SimpleNamespace(
        pools=pools, plans=[one.plan for one in pools], owned=owned, is_owned=owned is not None,
        chips=chips, chips_left=left, usd_per_month=usd,
        sharing=SimpleNamespace(on_one_chip=one_chip, one_each=each, shared_by_all=shared),
    )  # fmt: skip


def fleet(*parts, owned=(), **facts):
    return SimpleNamespace(allocations=parts, owned=owned, **facts)


@every("left,chips,said", [(3, 1200, ["Idle: 3 of 1,200 a"]), (0, 8, [])])
def test_idle_chips_are_told(left, chips, said):
    owned = SimpleNamespace(hardware=SimpleNamespace(id="a"))
    assert [
        *cost_notes.idle_chips(fleet(part(pool(), owned=owned, left=left, chips=chips)))
    ] == said
    assert [*cost_notes.idle_chips(fleet(part(pool(), left=left)))] == []
    assert [*cost_notes.idle_chips(fleet(part(owned=owned, left=left)))] == []


def test_owned_chips_that_the_load_does_not_reach_are_idle():
    """The first type serves the whole load, so nothing is allocated to the second."""
    first, second = (SimpleNamespace(hardware=SimpleNamespace(id=name), chips=8) for name in "ab")
    made = fleet(part(pool(), owned=first), owned=(first, second))
    assert [*cost_notes.idle_chips(made)] == [
        f"Idle: 8 of 8 b; the load goes to chips in the order of {option('own')}"
    ]


def test_what_one_chip_type_would_cost():
    two = (pool("b", usd=90.0), pool("b", usd=60.0))
    (text,) = cost_notes.one_chip_type(fleet(part(pool(), one_chip=two), part(pool())))
    assert text == "with one chip type, b: 16 chips, $150 per month, $50.0 (50%) more"
    unpriced = (pool("b", usd=None), pool("b", usd=60.0))
    (text,) = cost_notes.one_chip_type(fleet(part(pool(), one_chip=unpriced)))
    assert text == "with one chip type, b: 16 chips"
    (text,) = cost_notes.one_chip_type(fleet(part(pool(), one_chip=two, usd=None)))
    assert text == "with one chip type, b: 16 chips, $150 per month"


TWO, ONE = (pool("a", chips=4), pool("b", chips=4)), (pool("c", chips=6, classes=("x", "y")),)


@every(
    "parts,models,said",
    [
        ([part(*TWO)], 1, []),
        ([part(*TWO, each=TWO, shared=ONE)], 1, ["one pool for all classes would need 6 chips, $100 per month"]),
        ([part(*TWO, each=TWO)], 1, ["no replica meets the limits of all classes together"]),
        ([part(*TWO, each=TWO)], 2, []),
        ([part(*ONE, each=TWO)], 1, ["a pool for each class would need 8 chips, $200 per month (a and b)"]),
        ([part(*ONE, each=(pool("a", chips=3, usd=40.0), pool("a", chips=3, usd=60.0)))], 1,
         ["a pool for each class would cost the same as this plan"]),
        ([part(*TWO), part(*TWO, each=TWO)], 1, ["on rented chips, no replica meets the limits of all classes together"]),
        ([part(*TWO), part(*TWO, each=TWO, owned=1)], 1, ["on owned chips, no replica meets the limits of all classes together"]),
        ([part(pool(), each=(pool(),))], 1, []),
    ],
)  # fmt: skip
def test_what_other_groupings_would_cost(parts, models, said):
    assert [*cost_notes.other_sharings(fleet(*parts), ["m"] * models)] == said


@every(
    "sustained,power,unit,said",
    [
        (12.0, inf, 8, ["one more node (8 a) would raise the sustained rate from 10.0 to 12.0 requests/s"]),
        (12.0, inf, 1, ["one more a would raise the sustained rate from 10.0 to 12.0 requests/s"]),
        (10.0, inf, 1, ["one more a would not raise the sustained rate of 10.0 requests/s"]),
        (10.0, 5e3, 1, []), (10.5, 5e3, 1, ["one more a would raise the sustained rate from 10.0 to 10.5 requests/s"]),
    ],
)  # fmt: skip
def test_what_one_more_node_would_add(sustained, power, unit, said):
    owned = SimpleNamespace(hardware=SimpleNamespace(id="a"), unit=lambda _: unit)
    made = fleet(owned=[owned], requests=10.0, service=SimpleNamespace(power=power))
    assert [*cost_notes.next_nodes(made, {"a": sustained})] == said


@every(
    "kinds,rate,serves,verb",
    [
        ([8], 5.0, True, "enough for"), ([1], 5.0, True, "enough for"), ([8], 5.0, False, "sustain"),
        ([8], None, True, "sustain"), ([1], None, True, "sustains"), ([1, 1], None, True, "sustain"),
    ],
)  # fmt: skip
def test_owned_chips_serve_a_rate_or_sustain_one(kinds, rate, serves, verb):
    made = fleet(
        part(owned=1), service=SimpleNamespace(rate=rate), serves_all=serves,
        owned=[SimpleNamespace(chips=chips) for chips in kinds],
    )  # fmt: skip
    assert plan_headline.sustain_verb(made) == verb
    made.allocations = (part(owned=1), part())
    assert plan_headline.sustain_verb(made).startswith("sustain")


@every("usd,said", [(None, ""), (1500.0, " ($1,500 in all)")])
def test_a_fleet_costs_in_all(usd, said):
    assert plan_headline.in_all(SimpleNamespace(usd_per_month=usd)) == said


@every(
    "per_hour,chips,tokens,said",
    [
        # 2 x $1.80 an hour are $0.001 a second: of 100 tokens/s, $10 a million.
        (1.8, 2, 100.0, f"owning all 2 h costs ${3.6 * HOURS_PER_MONTH:,.0f} per month, or $10.0/Mtok (input and output). Basis: the price set"),
        (1.8, 1, 0.0, f"owning the h costs ${1.8 * HOURS_PER_MONTH:,.0f} per month. Basis: the price set"),
        (None, 1, 0.0, "no purchase price is known for h, so its ownership cost is unknown; "),
    ],
)  # fmt: skip
def test_what_owned_chips_cost(per_hour, chips, tokens, said):
    hardware = SimpleNamespace(id="h", chip_price=SimpleNamespace(purchase=None))
    pricing = SimpleNamespace(per_chip_hour=lambda _: per_hour, user_prices={"h": 1.8})
    plan = SimpleNamespace(scenario=SimpleNamespace(hardware=hardware, pricing=pricing))
    assert cost_notes.owning(plan, chips, tokens).startswith(said)


def test_a_chip_without_power_has_a_price_to_buy():
    chip = made_up.chip(price={"purchase": "30000 USD"})
    pricing = SimpleNamespace(per_chip_hour=lambda _: None)
    plan = SimpleNamespace(scenario=SimpleNamespace(hardware=chip, pricing=pricing))
    assert cost_notes.owning(plan, 1, 0.0).startswith(
        "no power is known for made-up-chip ($30,000 per chip to buy), so its ownership cost is "
        "unknown"
    )


def test_classes_over_a_limit_are_named():
    kind = SimpleNamespace(name="chat", ttft=0.5, tpot=0.02)
    served = [
        SimpleNamespace(pool=2, request_class=kind, share=0.99, over={"ttft": 0.75, "tpot": 0.03}.get),
        SimpleNamespace(pool=3, request_class=kind, share=None, over=lambda _: None),
    ]  # fmt: skip
    assert [*cost_notes.over_limits(served)] == [
        "pool 2, chat: p99 TTFT is 750 ms, above the limit of 500 ms",
        "pool 2, chat: p99 TPOT is 30.0 ms, above the limit of 20.0 ms; the mean TPOT at "
        "full batch is within it",
    ]


@every("ttft,share,seconds,said", [(inf, 0.99, [0.4, 0.75], "p99 TTFT is 750 ms"), (inf, 0.95, [1.0], "p95 TTFT is 1.00 s"), (2.0, 0.99, [1.0], None), (inf, None, [1.0], None)])  # fmt: skip
def test_without_a_limit_the_ttft_is_told(ttft, share, seconds, said):
    pools = [(None, SimpleNamespace(plan=SimpleNamespace(values={"ttft": one}))) for one in seconds]
    service = SimpleNamespace(ttft=ttft, claimed_share=share)
    planned = SimpleNamespace(fleet=SimpleNamespace(service=service), pools=pools)
    found = [*latency_notes.unlimited_ttft(planned)]
    assert len(found) == (said is not None)
    assert all(text.endswith(f". The plan's {said}") for text in found)


@dataclass(frozen=True)
class Service:
    deviations: float


@every("deviations,chance,percent", [(0.0, 0.25, 25.0), (1.0, 0.25, None), (0.0, None, None)])
def test_the_chance_of_keeping_limits_is_a_percentage(monkeypatch, deviations, chance, percent):
    monkeypatch.setattr(records, "_first", lambda plan, service, _: (plan, service.deviations))
    odds = None if chance is None else SimpleNamespace(chance=chance, confident="plan")
    decision = SimpleNamespace(service=Service(deviations))
    record = records._odds(SimpleNamespace(decision=decision, odds=odds), None)
    assert record["limits_hold_percent"] == (percent if percent is None else pytest.approx(percent))
    confident = "plan" if percent else None
    assert record["plan_at_90_percent_confidence"] == (confident, records.CONFIDENT_DEVIATIONS)


@every(
    "unlike,wide,plans,shown",
    [
        (None, False, "1a 2b c d", "abc"), ("b", False, "1a 2b c d", "abc"), ("u", False, "1a 2b u c d", "abu"),
        ("d", False, "1a 2b d c", "abd"), ("u", True, "1a 2b 3a u c d", "abaucd"),
    ],
)  # fmt: skip
def test_rows_of_ranked_plans_name_each_plan_once(unlike, wide, plans, shown, monkeypatch):
    """The first two of three plans; then those with prompts on other chips, and of other chips."""
    monkeypatch.setattr(page_tables, "_FIRST", 2)
    monkeypatch.setattr(page_tables, "_OTHERS", 1)
    made = {name: pool(name).plan for name in "abcdu"}
    again = pool("a").plan
    decision = SimpleNamespace(
        plans=[made["a"], made["b"], again], in_fewer_bits=[], on_unlike_chips=made.get(unlike),
        of_each_chip=[made["a"], made["c"], made["d"]],
    )  # fmt: skip
    planned = SimpleNamespace(
        fleet=fleet(1), request=SimpleNamespace(top=3), is_of_fleet=False, in_own_formats=None
    )
    allocation = SimpleNamespace(decision=decision, is_owned=False)
    rows = [*page_tables._ranked(planned, allocation, wide=wide)]
    names = [row.plan.scenario.hardware.id for row in rows]
    labels = [row.label.replace("other chip", "") for row in rows]
    assert [label + name for label, name in zip(labels, names, strict=True)] == plans.split()
    assert [name for name, row in zip(names, rows, strict=True) if row.is_shown] == list(shown)
