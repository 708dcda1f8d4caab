"""Sentences of a plan at both sides of their conditions, with numbers that a head can multiply.

A made-up chip costs $3.60 per hour, $2,628 per month of 730 hours or 2,628,000 s.
"""

from collections import Counter
from dataclasses import replace
from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.core.placement.layout import Layout
from fastcalc.core.pricing import Pricing
from fastcalc.core.ratios import Ranged
from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.plan import (
    answer,
    answer_regret,
    cost_notes,
    latency_notes,
    notes,
    phrases,
    refusal,
)
from fastcalc.features.plan import headline as plan_headline
from fastcalc.features.plan.allocation import Allocation, Fleet, OwnedChips
from fastcalc.features.plan.answer_regret import tipping_point_notes
from fastcalc.features.plan.cost_notes import api_notes
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.headline import cheaper_api
from fastcalc.features.plan.phrases import Weight
from fastcalc.features.plan.random_load import in_words
from fastcalc.features.plan.ranked_plan import SECONDS_PER_MONTH
from fastcalc.features.plan.regret import Measurement, Regret
from fastcalc.features.plan.service import Service, Tariff
from fastcalc.features.plan.sharing import ReplicaPool, Sharing
from fastcalc.features.plan.tipping_points import TippingPoint
from fastcalc.kit.answer.parts import sentence
from fastcalc.mentions import as_flags
from tests import made_up
from tests.helpers import every

MONTH = 2628.0
"""A chip for 730 hours. [USD]"""

API = Tariff(api=(1.0, 0.1, 3.0))
"""$0.001 for 1,000 input tokens and $0.003 for 1,000 output tokens."""

SERVICE = Service(1000.0, 1000.0, rate=2.0)
SECOND = made_up.clocked(id="second-chip")
UNPRICED = made_up.clocked(id="unpriced-chip", price={})


def deployed(chip=None, weights=None, pricing=None):
    return Scenario(
        hardware=chip or made_up.clocked(),
        model=made_up.minimal(),
        engine=made_up.CLOCK,
        batches=(10,),
        traffic=Traffic(1000.0, 1000.0, 1500.0),
        weights=weights,
        pricing=pricing or Pricing(),
    )


def plan(chip=None, weights=None, spread=None, pricing=None, **changes):
    """Two replicas of one chip at half of their throughput; `spread` of the 80% range of speed."""
    values = {"ttft": 0.5, "tpot": 0.01, "chips": 2.0} | changes.pop("values", {})
    made = Plan(
        **{
            "scenario": deployed(chip, weights, pricing),
            "layout": Layout(),
            "batch": 10.0,
            "replicas": 2.0,
            "busy": 0.5,
            "prefill_layout": None,
            "prefill_replicas": 0.0,
            "prefill_busy": 0.0,
            "values": values,
            "misses": {},
            "requests": 10.0,
            "cost": 10.0,
            "last_resort": 0.0,
            **changes,
        }
    )
    if spread is not None:
        speed = Ranged(*(np.array([speed]) for speed in (1.0, 1.0 / spread, spread)))
        estimate = SimpleNamespace(ranged_speed=speed, low=None, high=None)
        made.__dict__["replica"] = replica = SimpleNamespace(**vars(made.replica))
        replica.estimate = estimate
    return made


def decision(*plans, service=SERVICE, **changes):
    return Decision(service, best_by_variant={each.variant: each for each in plans}, **changes)


def told(sentences):
    """The only sentence, as the command line writes it; empty without one."""
    texts = [getattr(sentence, "text", sentence) for sentence in sentences]
    assert len(texts) <= 1
    return as_flags("".join(texts))


def test_no_two_kinds_of_notes_share_a_weight():
    assert len(Weight) == len(Weight.__members__)
    assert sorted(Weight) == list(Weight)  # as listed, the lightest first


# APIs.


CROSSING = (
    ". The chips are cheaper above 0.500 requests/s (2,628 Mtok per month, {share}). At 2.00 "
    "requests/s, both would cost the same if the chips cost 4.00 times as much"
)


@every(
    "capacity,usd,rest",
    [
        # $21,024 are four times $5,256, so that half a request per second costs as much.
        (5.0, 2 * MONTH, CROSSING.format(share="10.0% of their throughput")),
        (0.5, 2 * MONTH, CROSSING.format(share="100% of their throughput")),
        (0.4, 2 * MONTH, CROSSING.format(share="more than their throughput of 0.400")),
        (5.0, 0.0, ""),
    ],
)
def test_an_api_is_compared_with_the_cost_of_the_chips(capacity, usd, rest):
    bill = (
        "at API prices of $1 (input), $0.1 (cached input) and $3 (output) per million tokens, "
        "2.00 requests/s cost $21,024 per month"
    )
    chips = f"these chips cost ${usd:,.0f}"
    service = replace(SERVICE, tariff=API)
    assert told(api_notes(service, 2.0, capacity, usd)) == f"{bill}, and {chips}{rest}"


def test_no_api_is_compared_without_its_prices_or_those_of_the_chips():
    assert not told(api_notes(SERVICE, 2.0, 5.0, MONTH))
    assert not told(api_notes(replace(SERVICE, tariff=API), 2.0, 5.0, None))


def test_an_api_that_charges_less_is_a_remark_of_the_headline():
    service = replace(SERVICE, tariff=API)
    cheaper = "; the API charges less, $21,024 per month"
    bill = (service.api_request_usd or 0.0) * 2.0 * SECONDS_PER_MONTH
    assert cheaper_api(service, 2.0, bill + 1.0) == cheaper
    assert cheaper_api(service, 2.0, bill) == cheaper_api(service, 2.0, bill - 1.0) == ""
    assert cheaper_api(service, 2.0, None) == cheaper_api(SERVICE, 2.0, 1e9) == ""


# Nodes.


@every(
    "prefill,idle",
    [
        ({}, "4 made-up-chip are idle, because only whole nodes are rented"),
        ({"prefill_layout": Layout(tp=2), "prefill_replicas": 1.0}, "2 made-up-chip are idle"),
        ({"prefill_layout": Layout(tp=2), "prefill_replicas": 2.0}, ""),
    ],
)
def test_idle_chips_of_nodes(prefill, idle):
    chosen = plan(layout=Layout(tp=2), values={"chips": 8.0}, **prefill)
    said = told(notes.idle(chosen))
    assert said.startswith(idle)
    assert bool(said) == bool(idle)


# Runners-up.


def test_the_second_best_chip_costs_so_many_times_as_much():
    best = plan(cost=10.0)
    second = plan(SECOND, cost=15.0, values={"chips": 3.0})
    said = told(notes._next_chip(decision(best, second)))
    bill = "3 chips, $7,884 per month"
    assert said == f"Second-best chip: second-chip, 1.50 times the cost: {bill}"
    assert not told(notes._next_chip(decision(best)))


@every(
    "best,second,any_weights,is_told",
    [
        (None, "int4", False, True),
        (None, None, False, False),
        ("int4", "int4", False, False),
        (None, "int4", True, False),
    ],
)
def test_a_second_best_that_is_quantized_further_is_said_to_be(best, second, any_weights, is_told):
    service = replace(SERVICE, any_weights=any_weights)
    plans = plan(weights=best, cost=10.0), plan(SECOND, weights=second, cost=15.0)
    assert (", quantized further" in told(notes._next_chip(decision(*plans, service=service)))) is (
        is_told
    )


@every(
    "objective,is_fleet,phrase",
    [
        ("usd", False, "1.50 times the cost"),
        ("watts", False, "1.50 times the power"),
        ("chips", False, "1.50 times the chips"),
        ("usd", True, "sustains 4.00 requests/s"),
    ],
)
def test_what_a_plan_takes_more_of(objective, is_fleet, phrase):
    service = replace(SERVICE, objective=objective, is_fleet=is_fleet)
    second = plan(SECOND, spread=nan, cost=15.0, requests=4.0)
    found = decision(plan(spread=nan, cost=10.0), second, service=service)
    assert phrases.times_the_cost(found, second) == phrase


@every(
    "chips,node_chips,is_fleet,low",
    [(2.0, 1, False, 5.0), (4.0, 3, False, 7.5), (2.0, 8, False, 10.0), (2.0, 8, True, 5.0)],
)
def test_a_cost_falls_to_that_of_a_node_at_most(chips, node_chips, is_fleet, low):
    """Of 10 for twice and half the speed; a fleet is not made smaller."""
    made = plan(spread=2.0, cost=10.0, values={"chips": chips}, node_chips=node_chips)
    found = phrases._cost_range(made, replace(SERVICE, is_fleet=is_fleet))
    assert [np.ravel(end)[0] for end in found] == pytest.approx([10.0, low, 20.0])


@every("spread,is_tied", [(2.0, True), (1.1, False), (nan, False)])
def test_plans_are_tied_where_ranges_of_half_to_twice_the_speed_overlap(spread, is_tied):
    """1.5 times the cost is within two ranges of a factor of 2, not within two of 1.1."""
    best, second = plan(spread=spread, cost=10.0), plan(SECOND, spread=spread, cost=15.0)
    found = decision(best, second)
    said = phrases.times_the_cost(found, second)
    assert said == "1.50 times the cost" + " (may be cheaper)" * is_tied
    in_headline = (
        "; second-chip ($5,256 per month) may be cheaper (80% ranges of cost overlap)" * is_tied
    )
    assert phrases.level_runner_up(found) == in_headline
    assert phrases.level_runner_up(decision(best)) == ""
    # The same words on a screen of a fleet, whose runner-up is told by its chips.
    of_fleet = decision(best, second, service=replace(SERVICE, is_fleet=True))
    in_headline = "; 2 second-chip may sustain more (80% ranges of throughput overlap)" * is_tied
    assert phrases.level_runner_up(of_fleet) == in_headline
    (next_chip,) = [
        note for note in notes.decision_notes(found, [best], [best]) if "Second-best" in note.text
    ]
    assert next_chip.weight == (0 if is_tied else Weight.NEXT_CHIP)


def test_prices_of_other_chips_leave_out_those_of_the_first_plan():
    assert not told(cost_notes.other_prices_of_plans([plan(), plan(weights="int4")]))
    said = told(cost_notes.other_prices_of_plans([plan(), plan(SECOND)]))
    assert said.startswith("price per chip-hour: ")
    assert "second-chip $3.60" in said
    assert "made-up-chip" not in said
    # A plan that prefills on the second chip has its price above.
    both = plan(prefill_scenario=deployed(SECOND), prefill_chips=1.0)
    assert not told(cost_notes.other_prices_of_plans([both, plan(SECOND)]))


# Terms of prices.


def test_reserving_pays_above_the_ratio_of_both_prices():
    offers = [("on-demand", 4), ("reserved", 3), ("spot", 1)]
    price = {
        "offers": [
            {"provider": "P", "terms": terms, "price": f"{usd} USD/h"} for terms, usd in offers
        ]
    }
    of_two = plan(made_up.clocked(price=price), values={"chips": 2.0})
    said = told(cost_notes.ways_to_pay(of_two))
    assert said == (
        "made-up-chip per month: on-demand $5,840, spot $1,460, reserved $4,380. Reserved chips "
        "are cheaper if you use them more than 75% of the time"
    )
    given = plan(made_up.clocked(price=price), pricing=Pricing(user_prices={"made-up-chip": 9.0}))
    assert told(cost_notes.ways_to_pay(given)) == said
    one = {"offers": price["offers"][:1]}
    assert not told(cost_notes.ways_to_pay(plan(made_up.clocked(price=one))))
    without = {"offers": [price["offers"][0], price["offers"][2]]}
    both = told(cost_notes.ways_to_pay(plan(made_up.clocked(price=without))))
    assert both.endswith("on-demand $5,840, spot $1,460")


# Utilization and limits.


@every(
    "busy,prefill_busy,rate,share,is_told",
    [
        (0.9, 0.0, 2.0, None, False),
        (0.901, 0.0, 2.0, None, True),
        (0.0, 0.901, 2.0, None, True),
        (0.95, 0.0, None, None, False),
        (0.95, 0.0, 2.0, 0.99, False),
    ],
)
def test_replicas_without_a_queue_that_are_above_90_percent(
    busy, prefill_busy, rate, share, is_told
):
    service = replace(SERVICE, rate=rate, share=share)
    said = told(latency_notes.busy(plan(busy=busy, prefill_busy=prefill_busy), service))
    assert bool(said) is is_told
    if is_told:
        percent = f"{max(busy, prefill_busy):.1%}"
        assert said == (
            f"made-up-chip: at {percent} utilization, Poisson arrivals would queue; "
            "use --percentile 99 to plan for them"
        )


@every(
    "slow,is_speed,met",
    [
        (0.025, False, ""),
        (0.0254, False, "TPOT is 25.4 ms, above 25 ms"),
        (0.0254, True, "a user gets 39.3 tokens/s, below 40"),
        (None, False, ""),
    ],
)
def test_a_limit_that_the_slow_end_of_the_range_misses(monkeypatch, slow, is_speed, met):
    monkeypatch.setattr(latency_notes, "tpot_range", lambda _: slow and (0.01, slow))
    service = replace(SERVICE, tpot=0.025, is_speed=is_speed)
    said = told(latency_notes.slow_end(plan(), service, "made-up-chip"))
    assert said == (met and f"made-up-chip: at the slow end of the 80% range, {met}")


def arriving(variation):
    return RequestClass("chat", 1.0, Lengths.fixed(1.0, 1.0), variation=variation)


@every(
    "variation,way",
    [
        (0.8, ""),
        (1.25, ""),
        (0.79, "more evenly than assumed (coefficient of variation 0.790; 1 with Poisson arrivals). "
         "Actual waits are shorter, and fewer replicas may be enough"),
        (1.26, "in bursts (coefficient of variation 1.26; 1 with Poisson arrivals). Actual waits are "
         "longer, and these replicas may not be enough"),
    ],
)  # fmt: skip
def test_arrivals_that_are_not_poisson(variation, way):
    found = [*latency_notes.bursts([arriving(1.0), arriving(variation)])]
    assert told(found) == (way and f"chat: requests arrive {way}")


def loaded(is_known):
    spread = SimpleNamespace(percentiles=(1.0, 2.0, 3.0, 4.0))
    percentiles = SimpleNamespace(
        ttft=spread, tpot=SimpleNamespace(percentiles=(0.1, 0.2, 0.3, 0.025)), request=spread
    )
    return SimpleNamespace(
        is_known=is_known,
        utilization=0.9,
        prompt_share=0.25,
        most_prompts=0.8,
        queued=0.0123,
        percentiles=lambda: percentiles,
    )


def test_percentiles_in_words():
    assert in_words(loaded(is_known=True), "x") == (
        "x, p99 with Poisson arrivals: TTFT 4,000 ms, TPOT 25.0 ms, end-to-end latency 4.00 s"
    )
    assert as_flags(in_words(loaded(is_known=False), "x")) == (
        "x: percentiles are upper bounds, because utilization is 90.0%, above 85% and 1.23% of the "
        "requests queue for a slot, above 0.5%; --load 0.8 or less avoids that"
    )


def test_a_lower_load_is_advised_than_there_is():
    """Of replicas 79% busy, where requests queue for a slot."""
    busy = SimpleNamespace(**vars(loaded(is_known=False)) | {"utilization": 0.79})
    assert as_flags(in_words(busy, "x")).endswith("; --load 0.75 or less avoids that")


@every("is_known,weight", [(True, Weight.QUEUE), (False, 0)])
def test_percentiles_of_a_plan_are_a_note(monkeypatch, is_known, weight):
    monkeypatch.setattr(latency_notes, "random_load", lambda *_: loaded(is_known))
    (note,) = latency_notes.queue_notes(plan(), SERVICE, "chip", is_only=True)
    assert note.weight == weight
    assert note.text.lower().startswith("chip")
    # Of several pools a table has the percentiles, and a note why there are none.
    assert len([*latency_notes.queue_notes(plan(), SERVICE, "pool 1", is_only=False)]) == (
        not is_known
    )
    bursty = replace(SERVICE, variation=2.0)
    assert not [*latency_notes.queue_notes(plan(), bursty, "chip", is_only=True)]
    monkeypatch.setattr(latency_notes, "random_load", lambda *_: None)
    assert not [*latency_notes.queue_notes(plan(), SERVICE, "chip", is_only=True)]


# Plans that lost.


def miss(chip=None, **misses):
    return plan(chip, misses=misses, cost=5.0, requests=20.0)


@every(
    "service,gain",
    [
        (SERVICE, "at 50% of the cost: {near}"),
        (replace(SERVICE, rate=None), "at 50% of the cost per token: {near}"),
        (replace(SERVICE, objective="watts"), "at 50% of the power: {near}"),
        (
            replace(SERVICE, objective="watts", rate=None),
            "at 50% of the energy per token: {near}",
        ),
        (replace(SERVICE, objective="chips", rate=None), "at 50% of the chips: {near}"),
        (replace(SERVICE, is_fleet=True), "sustaining 20.0 requests/s: {near}"),
    ],
)
def test_a_near_miss_says_what_it_gains(service, gain):
    found = decision(plan(), service=service, near=miss(ttft=1.5, tpot=1.0))
    near = "made-up-chip, 2 x 1 chip, batch 10, 2 chips in total; TTFT is 1.50 times its limit"
    said = [*notes._others(found)]
    assert f"near miss (less than 2 times each limit) {gain.format(near=near)}" in said
    for cost in (10.0, 11.0):  # no less than the plan
        dear = replace(found, near=replace(miss(ttft=1.5), cost=cost))
        assert not [text for text in notes._others(dear) if text.startswith("near miss")]


def test_a_near_miss_names_its_prefill_replicas_and_each_limit():
    apart = replace(
        miss(ttft=1.5, chips=1.25, tpot=0.9),
        layout=Layout(tp=2),
        prefill_layout=Layout(tp=4),
        prefill_replicas=3.0,
    )
    assert notes._miss(apart) == (
        "made-up-chip, 2 x tp2, batch 10, prefill on 3 x tp4, 2 chips in total; "
        "TTFT is 1.50 times its limit, max-chips is 1.25 times its limit"
    )


@every(
    "value,text",
    [
        (1.0001, "just over 1"),
        (1.01, "1.01"),
        (1.994, "1.99"),
        (1.999, "just under 2"),
        (2.0, "2.00"),
        (2500.0, "2,500"),
    ],
)
def test_a_value_over_its_limit_reads_as_over_and_as_near_where_it_is(value, text):
    assert notes._times(value) == text


def test_chips_that_miss_stand_in_order_of_their_largest_miss():
    closest = {
        "made-up-chip": miss(ttft=3.0, tpot=1.5),
        "second-chip": miss(SECOND, ttft=1.2, tpot=2.5),
    }
    found = decision(
        plan(), closest=closest, candidates=1234, reasons=Counter(ttft=7, tpot=0, unfit=1000)
    )
    chips, lost = notes._others(found)
    assert chips == (
        "chips that miss a limit, and by which factor: second-chip 2.50, made-up-chip 3.00"
    )
    assert lost == (
        "best of 1,234 deployments: 1,000 do not fit in memory, 7 exceed the TTFT limit"
    )


def test_formats_of_which_no_plan_is():
    said = next(iter(notes._others(decision(plan(weights="int4")))))
    assert as_flags(said) == (
        "no plan uses the model's own formats (bf16, KV cache bf16); use --weights bf16 --kv "
        "bf16 to "
        "request one"
    )
    for plans in ([plan()], [plan(weights="int4", cost=1.0), plan()]):
        assert not [text for text in notes._others(decision(*plans)) if "own formats" in text]


@every(
    "count,weights",
    [(0, []), (12, [Weight.UNPRICED]), (13, [Weight.MANY_UNPRICED, 0])],
)
def test_chips_without_a_price_are_named_up_to_twelve(count, weights):
    unknown = Counter({f"chip-{number}": 100 - number for number in range(count)})
    found = [*notes._unpriced(decision(plan(), unknown=unknown))]
    assert [note.weight for note in found] == weights
    assert [note.is_hint for note in found] == [
        weight == Weight.MANY_UNPRICED for weight in weights
    ]
    for note in found:
        assert note.text.startswith("No price is known for chip-0, chip-1, ")
        assert ("1 more" in note.text) is (count > 12)
        all_named = "--format json names all" in as_flags(note.text)
        assert all_named is (note.weight == 0)


# Bills.


@every(
    "changes,asked,bill",
    [
        ({}, {}, "2 chips, $5,256 per month"),
        ({"values": {"chips": 1.0}}, {}, "1 chip, $2,628 per month"),
        ({"node_chips": 2}, {}, "2 chips in a node, $5,256 per month"),
        ({"node_chips": 1}, {}, "2 chips, $5,256 per month"),
        ({"node_chips": 2, "values": {"chips": 4.0}}, {}, "4 chips in 2 nodes, $10,512 per month"),
        # 1,000 W with host and site are 2,170.
        ({}, {"objective": "watts"}, "2 chips, 4.34 kW, $5,256 per month"),
        (
            {"chip": made_up.clocked(power=None)},
            {"objective": "watts"},
            "2 chips, $5,256 per month",
        ),
        ({"chip": UNPRICED}, {}, "2 chips"),
        # Without a rate it is ranked by dollars per million tokens.
        ({"cost": 0.25}, {"rate": None}, "2 chips, $0.25/Mtok, $5,256 per month"),
        ({"cost": 0.25}, {"rate": None, "is_fleet": True}, "2 chips, $5,256 per month"),
        ({"cost": 0.25}, {"rate": None, "objective": "chips"}, "2 chips, $5,256 per month"),
    ],
)
def test_chips_and_price_of_a_plan(changes, asked, bill):
    assert phrases.chips_and_price(plan(**changes), replace(SERVICE, **asked)) == bill


@every(
    "is_undetermined,is_dubious,bill",
    [
        (False, False, "2 chips, $0.25/Mtok, $5,256 per month"),
        (True, False, "2? chips, $0.25/Mtok, $5,256? per month"),
        (False, True, "2 chips, $0.25?/Mtok, $5,256? per month"),
    ],
)
def test_what_of_a_bill_is_uncertain(monkeypatch, is_undetermined, is_dubious, bill):
    monkeypatch.setattr(phrases, "undetermined", lambda *_: ["chips_total"] * is_undetermined)
    monkeypatch.setattr(phrases, "low_confidence", lambda *_: ["cost"] * is_dubious)
    service = replace(SERVICE, rate=None)
    assert phrases.chips_and_price(plan(cost=0.25), service) == bill


def test_formats_that_a_headline_names():
    asked = replace(SERVICE, any_weights=False)
    narrow = plan(weights="int4")
    said = plan_headline.in_fewer_bits([(decision(narrow, service=asked), narrow)])
    assert said == ", quantized further than published (bf16, cache bf16)"
    assert plan_headline.in_fewer_bits([(decision(narrow), narrow)]) == ""
    assert plan_headline.in_fewer_bits([(decision(plan(), service=asked), plan())]) == ""


def test_the_transfer_of_a_cache_to_other_chips():
    """A byte of cache per token: 1,000 tokens are 1 kB."""
    apart = plan(prefill_scenario=deployed(SECOND), kv_transfer_s=0.0125)
    assert notes.crossing_note(apart, "fastcalc compare x") == (
        "prefill on second-chip: TTFT includes 12.5 ms to transfer 1 kB of KV cache over the "
        "slower link (less if sent layer by layer). For the prefill speed, run 'fastcalc compare "
        "x'"
    )


# Owned chips.


def owned(chips, usd, hardware=None):
    return OwnedChips(hardware or made_up.clocked(), chips, usd, search=None)


@every(
    "kinds,total", [([(2, 1.0), (3, 2.0)], "5,840"), ([(2, 1.0)], ""), ([(2, 1.0), (3, None)], "")]
)
def test_what_owning_all_chips_costs_together(kinds, total):
    """2 x $1 and 3 x $2 per hour are $8, $5,840 per month."""
    fleet = Fleet(SERVICE, [owned(*kind) for kind in kinds], ())
    cost = {"5,840": " ($5,840 in all)"}.get(total, " ($1,460 in all)")
    assert plan_headline.in_all(fleet) == cost * (None not in dict(kinds).values())


@every(
    "kinds,verb", [([(1, 1.0)], "sustains"), ([(2, 1.0)], "sustain"), ([(1, 1.0)] * 2, "sustain")]
)
def test_one_chip_sustains_and_several_sustain(kinds, verb):
    assert plan_headline.sustain_verb(Fleet(SERVICE, [owned(*kind) for kind in kinds], ())) == verb


@every(
    "chips,tokens,cost",
    [
        (1, 0.0, "owning the made-up-chip costs $2,628 per month. "),
        # $7.20 per hour are $0.002 per second, for 1,000 tokens $2 per million.
        (2, 1000.0, "owning all 2 made-up-chip costs $5,256 per month, or $2.00/Mtok (input "
         "and output). "),
    ],
)  # fmt: skip
def test_what_owning_chips_costs(chips, tokens, cost):
    said = cost_notes.owning(plan(), chips, tokens)
    assert said.startswith(cost)
    assert said.removeprefix(cost) == "Basis: cloud prices"


@every(
    "price,power,missing",
    [
        ({}, {"chip": "1000 W"}, "no purchase price is known for made-up-chip, so"),
        ({"purchase": "30000 USD"}, None, "no power is known for made-up-chip ($30,000 per chip "
         "to buy), so"),
    ],
)  # fmt: skip
def test_what_is_missing_of_the_cost_of_owning(price, power, missing):
    chip = made_up.clocked(price=price, power=power)
    said = as_flags(cost_notes.owning(plan(chip, pricing=Pricing("tco")), 2, 1.0))
    assert said == (
        f"{missing} its ownership cost is unknown; set a price per hour with --price "
        "made-up-chip=0.10 (0 is allowed)"
    )


# Refusals.


@every(
    "name,value,asked,owns,text",
    [
        ("chips", 8.0, {}, None, "--max-chips 8"),
        ("chips", 8.0, {}, "h100", "--own h100=8"),
        ("by", 1.0, {}, None, "--by chip"),
        ("rate", 1.2345, {}, None, "--rate 1.23/s"),
        ("tpot", 0.025, {"is_speed": True}, None, "--min-speed 40"),
        ("tpot", 0.02501, {"is_speed": True}, None, "--min-speed 39.9"),
        ("tpot", 0.025, {}, None, "--tpot 25ms"),
        ("ttft", 0.99901, {"is_speed": True}, None, "--ttft 1s"),
        ("ttft", 0.999, {}, None, "--ttft 999ms"),
        ("ttft", 1.001, {}, None, "--ttft 1.01s"),
        ("budget", 1234.5, {}, None, "--budget 1240/month"),
        ("power", 1234.5, {}, None, "--power 1.24kW"),
        ("by", 1.0, {}, None, "--by chip"),
        ("by budget", 1234.5, {}, None, "--by chip with --budget 1240/month"),
        ("by chips", 3.0, {}, None, "--by chip with --max-chips 3"),
    ],
)
def test_a_relaxed_limit_as_an_option(name, value, asked, owns, text):
    limit = refusal.limit_as_option(name, value, replace(SERVICE, **asked), owns)
    assert as_flags(limit) == text


@every(
    "changes,sentence",
    [
        (
            {"candidates": 0},
            "no available layout fits a single request of this model",
        ),
        (
            {"candidates": 3, "relaxed": {"ttft": 2.0, "tpot": inf, "chips": 4.0}},
            "no deployment meets these limits; one would meet them with --ttft 2s, or --max-chips 4",
        ),
        (
            {"candidates": 3, "reasons": Counter(chips=3, unfit=0)},
            "no deployment meets these limits: 3 need too many chips",
        ),
        (
            {"candidates": 3, "closest": {"made-up-chip": miss(ttft=1.5, tpot=1.0)}},
            "no deployment meets these limits, even with one of them relaxed; made-up-chip would meet them with --ttft "
            "500ms",
        ),
        (
            {
                "candidates": 1,
                "reasons": Counter(unknown=4),
                "unknown": Counter(b=1, a=3),
                "terms": "spot",
            },
            "no spot price is known for a and b, which might meet these limits: set one with --price "
            "CHIP=USD, or use --objective chips",
        ),
        (
            {"candidates": 1, "reasons": Counter(chips=3, unknown=4), "unknown": Counter(b=1)},
            "no deployment meets these limits: 4 have no known price or power, 3 need too many chips. "
            "No price is known for b, which might meet them: set one with --price b=USD, or use "
            "--objective chips",
        ),
    ],
)
def test_why_there_is_no_plan(changes, sentence):
    assert as_flags(refusal.refusal(decision(**changes))) == sentence


def test_chips_without_a_known_power():
    service = replace(SERVICE, objective="watts")
    found = decision(service=service, unknown=Counter(a=1))
    words, how = refusal.unknown_chips(found)
    assert (words, as_flags(how)) == (
        "no power is known for a",
        "use --objective usd or chips",
    )


@every(
    "limits,within",
    [
        ({"max_chips": 1}, "within 1 chip"),
        ({"max_chips": 8, "budget": 9.0}, "within 8 chips and the budget"),
        ({"power": 9.0}, "within the power"),
    ],
)
@pytest.mark.parametrize(
    ("narrowed", "more"), [(10.005, ""), (12.0, " (12.0 if quantized further)")]
)
def test_how_much_of_a_rate_the_means_allow(limits, within, narrowed, more):
    service = replace(SERVICE, rate=20.0, any_weights=False, **limits)
    found = decision(plan(), plan(weights="int4", requests=narrowed), service=service)
    assert refusal.load_within_limits(found, service) == (
        f"{within}, 2 made-up-chip would sustain 10.0 of the 20.0 requests/s{more}"
    )


def allocated(*plans, requests, kind=None, chips=0, service=SERVICE, unserved=(), needed=None):
    pools = tuple(ReplicaPool((arriving(1.0),), decision(each, service=service)) for each in plans)
    sharing = Sharing(pools, None, None, unserved, needed or {})
    return Allocation(sharing, requests, kind, chips)


def test_owned_chips_that_cost_more_than_the_budget():
    kind = owned(2, 1.0)
    poor = replace(SERVICE, budget=1000.0)
    fleet = Fleet(poor, [kind], (allocated(plan(), requests=2.0, kind=kind, chips=2),))
    said = "all owned chips together cost $1,460 per month, used or not, which is more than the "
    said += "budget: it takes --budget 1460/month"
    assert [*map(as_flags, refusal.over_budget(fleet))] == [said]
    assert [*map(as_flags, refusal.fleet_refusals(fleet, 2.0, []))] == [said]
    assert [*map(as_flags, refusal.mix_refusals(fleet))] == [said]
    assert refusal.over_budget(replace(fleet, service=replace(SERVICE, budget=1460.0))) == []


def test_what_a_fleet_that_is_not_enough_sustains():
    kind = owned(2, 1.0)
    served = allocated(plan(), requests=1.5, kind=kind, chips=2)
    failed = ReplicaPool((arriving(1.0),), decision(candidates=0))
    none = allocated(requests=0.0, unserved=(failed,))
    fleet = Fleet(SERVICE, [kind], (served, none))
    first = "2 made-up-chip and what may be rented sustain 1.50 of 2.00 requests/s"
    why = "no available layout fits a single request of this model"
    assert refusal.fleet_refusals(fleet, 1.5, ["A", "B"]) == [
        first,
        "they would sustain all of it with A, or B",
    ]
    assert refusal.fleet_refusals(fleet, 0.0, ["A"]) == [
        "no deployment meets these limits; one would meet them with A"
    ]
    assert refusal.fleet_refusals(fleet, 1.5, []) == [first, f"chips to rent: {why}"]
    assert refusal.fleet_refusals(fleet, 0.0, []) == [f"chips to rent: {why}"]
    assert refusal.mix_refusals(fleet) == [
        "these limits allow 1.50 of 2.00 requests/s",
        f"'chat': {why}",
    ]


def test_what_a_mix_needs_includes_what_owned_chips_take():
    """Owned chips take $1,460 of a budget; those to rent would take $2,628 and 1 chip more."""
    kind = owned(2, 1.0)
    served = allocated(plan(), requests=1.5, kind=kind, chips=2)
    short = allocated(requests=0.0, needed={"budget": MONTH, "chips": 1.0}, unserved=())
    fleet = Fleet(SERVICE, [kind], (served, short))
    assert [*map(as_flags, refusal.mix_refusals(fleet))] == [
        "these limits allow 1.50 of 2.00 requests/s",
        "all classes together would with --budget 4090/month and --max-chips 1",
    ]


# Uncertainty.


@every(
    "odds,text",
    [
        (None, ""),
        (SimpleNamespace(chance=0.9, confident=None), ""),
        (
            SimpleNamespace(chance=0.899, confident=None, relaxed={}),
            "no plan has a 90% chance of meeting the limits (--confidence 90)",
        ),
        (
            SimpleNamespace(chance=0.5, confident=plan(SECOND)),
            "a 90% chance of meeting the limits (--confidence 90) needs second-chip: 2 chips, $5,256 "
            "per month",
        ),
        (
            SimpleNamespace(chance=0.7, confident=plan(SECOND, cost=40.0), relaxed={}),
            "a 90% chance of meeting the limits (--confidence 90) costs 4 times as much with "
            "second-chip",
        ),
        (
            SimpleNamespace(
                chance=0.7, confident=plan(cost=290.0), relaxed={"ttft": 1.5, "tpot": 0.02781}
            ),
            "a 90% chance of meeting the limits (--confidence 90) costs 29 times as much. With --ttft "
            "1.5s or --tpot 27.9ms, it costs at most 3 times as much",
        ),
        (
            SimpleNamespace(chance=0.7, confident=plan(cost=29.9)),
            "a 90% chance of meeting the limits (--confidence 90) needs 2 chips, $5,256 per month",
        ),
    ],
)
def test_the_plan_of_more_confidence(odds, text):
    verdict = SimpleNamespace(odds=odds, decision=decision(plan()))
    assert told(answer_regret.odds_notes(verdict)) == (text and sentence(text))
    chance = {None: "", 0.9: "; 90%", 0.899: "; 90%", 0.5: "; 50%", 0.7: "; 70%"}[
        odds and odds.chance
    ]
    said = chance and f"{chance} chance of meeting the latency limits"
    assert answer_regret.chance_of_limits(verdict) == said


def regretted(expected, *measured):
    """Of plans of $5,256 per month."""
    plans = [plan(), plan(SECOND)][: len(expected)]
    return SimpleNamespace(regret=Regret(plans, expected, measured), model="m")


OVERSPEND = "Uncertain speeds cost"


@every(
    "expected,weight",
    [((52.56,), 0), ((53.0,), Weight.REGRET)],
)
def test_regret_above_a_hundredth_of_the_bill_is_on_the_first_screen(expected, weight):
    (note,) = answer_regret.regret_notes(regretted(expected))
    assert note.text == f"{OVERSPEND} $53 per month on average, and no benchmark pays for itself."
    assert note.weight == weight
    assert not [*answer_regret.regret_notes(SimpleNamespace(regret=None))]


@every("left,usd,pays", [(400.0, 599.0, True), (400.0, 600.0, False), (400.0, 601.0, False)])
def test_a_measurement_that_pays_for_itself(left, usd, pays):
    """Of a regret of $1,234, of which $834 go, or $400 remain."""
    layout = plan(SECOND, layout=Layout(tp=2), batch=10.0)
    measured = Measurement(layout, 2, 15, usd + 234.0, 1.25, left)
    first, *rest = answer_regret.regret_notes(regretted((1234.0, 2345.0), measured))
    benchmark = (
        f"A 15-minute benchmark on 2 rented second-chip chips (${usd + 234.0:,.2f}) may show that "
        "another plan is cheaper; on average, it saves about "
    )
    said = f"{benchmark}$830 per month."
    if not pays:
        said = f"{OVERSPEND} $1,200 per month on average, and no benchmark pays for itself."
    assert first.text == said
    assert bool(rest) is pays
    if pays:
        (how,) = rest
        assert how.weight == 0
        assert "Predicted speed is then within 25%. In 15 minutes, the server" in how.text
        assert "loads the weights and processes 4 batches" in how.text


@every("kind,server", [("gpu", "the server that --on second-chip"), ("wafer", "its server")])
def test_which_server_a_measurement_starts(kind, server):
    chip = made_up.clocked(id="second-chip", kind=kind)
    measured = Measurement(plan(chip), 1, 15, 1.0, 1.25, 400.0)
    *_, how = answer_regret.regret_notes(regretted((1234.0,), measured))
    assert as_flags(how.text).startswith(f"To measure second-chip, start {server}")


def test_what_changes_the_answer_is_listed_by_who_leads_then():
    turns = [
        TippingPoint("price", 1.2345, is_above=True, leads="b", of="a"),
        TippingPoint("rate", 1.2345, is_above=True, leads="c"),
        TippingPoint("prompt", 1234.5, is_above=False, leads="b"),
        TippingPoint("slowness", 1.5, is_above=True, leads="b", of="a"),
        TippingPoint("price", 1.2345, is_above=False, leads="b", of="b"),
        TippingPoint("output", 2345.0, is_above=True, leads="b"),
        TippingPoint("output", 1234.5, is_above=False, leads="b"),
    ]
    assert [*tipping_point_notes(SimpleNamespace(turns=turns))] == [
        "b would be cheaper if any of these is true: a costs $1.24 per chip-hour or more; prompts "
        "have 1,230 tokens or fewer; a is 1.5 times slower; b costs $1.23 per chip-hour or less; "
        "outputs are outside 1,230 to 2,350 tokens",
        "c would be cheaper if the rate is 1.24 requests/s or more",
    ]
    (none,) = tipping_point_notes(SimpleNamespace(turns=[]))
    assert none.startswith("no tipping points")
    assert not [*tipping_point_notes(SimpleNamespace(turns=None))]


# Allocations.


@every(
    "requests,asked,is_told",
    [
        (12.0, {}, True),
        (10.02, {}, True),
        (10.005, {}, False),
        (20.0, {"rate": 2.0}, False),
        (20.0, {"any_weights": True}, False),
    ],
)
def test_owned_chips_serve_more_if_quantized_further(requests, asked, is_told):
    service = replace(SERVICE, **{"rate": None, "any_weights": False, **asked})
    best = {each.variant: each for each in (plan(), plan(weights="int4", requests=requests))}
    pool = ReplicaPool((arriving(1.0),), Decision(service, best_by_variant=best))
    allocation = Allocation(Sharing((pool,), None, None, ()), 1.0)
    said = told(notes._more_in_fewer_bits(allocation))
    formats = "quantized further (int4, cache bf16; --weights int4 --kv bf16)"
    assert said == f"these chips would serve {requests:.1f} requests/s if {formats}" * is_told


@every("chips,said", [(1, "1 made-up-chip has"), (3, "3 made-up-chip have")])
def test_chips_that_serve_nothing_say_why(chips, said):
    failed = ReplicaPool((arriving(1.0),), decision(candidates=0))
    kind = owned(chips, 1.0)
    part = allocated(requests=0.0, kind=kind, chips=chips, unserved=(failed,))
    (note,) = notes.notes_of_allocation(None, part, [])
    assert as_flags(note.written) == (
        f"{said} no plan: no available layout fits a single request of this model"
    )


@every(
    "market,is_marketplace,text",
    [
        ("consumer", False, "; made-up-chip is a consumer card"),
        (
            "consumer",
            True,
            "; made-up-chip is a consumer card, rented only on marketplaces",
        ),
        (
            "datacenter",
            True,
            "; made-up-chip is rented only on marketplaces",
        ),
        ("datacenter", False, ""),
    ],
)
def test_consumer_cards_and_marketplaces(market, is_marketplace, text):
    chip = SimpleNamespace(id="made-up-chip", market=market)
    quote = SimpleNamespace(is_marketplace=is_marketplace)
    assert plan_headline._kind_of_market(SimpleNamespace(hardware=chip, quote=quote)) == text


@every(
    "times,limits,nearest",
    [
        # 0.9 of its limit, though the other takes longer.
        ((0.9, 4.0), (1.0, 8.0), 0.9),
        ((0.9, 4.0), (1.0, 4.1), 4.0),
        ((0.9, 4.0), (inf, 8.0), 4.0),
        ((0.9, 4.0), (inf, inf), None),
    ],
)
def test_the_first_token_of_the_class_nearest_its_limit(times, limits, nearest):
    classes = [SimpleNamespace(ttft=limit) for limit in limits]
    pool = SimpleNamespace(plan=SimpleNamespace(class_ttft=times), classes=classes)
    assert answer._nearest_limit(pool) == nearest


def test_the_bill_of_several_pools():
    def pool(*names, **changes):
        classes = tuple(replace(arriving(1.0), name=name) for name in names)
        return ReplicaPool(classes, decision(plan(**changes), service=SERVICE))

    assert phrases.bill_of([pool("a", node_chips=2)]) == "2 chips in a node, $5,256 per month"
    assert phrases.bill_of([pool("a", "b", node_chips=2)]) == "2 chips, $5,256 per month"
    both = [pool("a"), pool("b", values={"chips": 3.0})]
    assert phrases.bill_of(both) == "5 chips, $13,140 per month"
    assert phrases.bill_of([*both, pool("c", chip=UNPRICED)]) == "7 chips"
