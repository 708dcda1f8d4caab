"""What is decided among a few plans of given costs, and what a service asks of them."""

from dataclasses import replace
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.core.placement.layout import Layout
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.features.plan import cheapest_plans
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import ReplicaPool, Sharing
from tests import made_up
from tests.features.plan.test_plan_sentences import SECOND, SERVICE, decision, deployed, plan
from tests.helpers import every

THIRD = made_up.clocked(id="third-chip")
AS_PUBLISHED = replace(SERVICE, any_weights=False)


def names(plans):
    """Chips, and formats where these are given."""
    return [
        " ".join(filter(None, (each.scenario.hardware.id[:3], each.scenario.weights)))
        for each in plans
    ]


PLANS = [
    plan(cost=3.0),
    plan(SECOND, cost=2.0),
    plan(THIRD, cost=4.0),
    plan(weights="int4", cost=1.0),
    plan(SECOND, weights="int4", cost=2.5),
    plan(THIRD, weights="fp8", cost=1.5),
]


def test_plans_are_in_order_of_cost_those_as_published_first():
    found = decision(*PLANS, service=AS_PUBLISHED)
    assert names(found.in_order) == [
        *("sec", "mad", "thi"),
        *("mad int4", "thi fp8", "sec int4"),
    ]
    assert names(found.plans) == ["sec", "mad", "thi"]
    assert names(found.in_fewer_bits) == ["mad int4", "thi fp8"]
    assert names(found.of_each_chip) == ["sec", "mad", "thi"]
    assert names([found.runner_up]) == ["mad"]
    assert names([found.in_own_formats]) == ["sec"]
    # The first, the best of each chip, two quantized further, and that of the model's own formats.
    assert names(found.reported(1)) == [
        *("sec", "sec", "mad", "thi"),
        *("mad int4", "thi fp8", "sec"),
    ]


def test_plans_of_any_formats_are_in_order_of_cost():
    found = decision(*PLANS)
    assert names(found.in_order) == ["mad int4", "thi fp8", "sec", "sec int4", "mad", "thi"]
    assert found.plans == found.in_order
    assert found.in_fewer_bits == []
    assert names(found.of_each_chip) == ["mad int4", "thi fp8", "sec"]


def test_where_no_plan_is_as_published_all_lead():
    found = decision(*PLANS[3:], service=AS_PUBLISHED)
    assert names(found.plans) == ["mad int4", "thi fp8", "sec int4"]
    assert found.in_own_formats is None
    assert decision(*PLANS[:1]).runner_up is None


@every(
    "first,second,leads",
    [
        # The cost, then the chips, then exact percentiles, then the last resort.
        ({"cost": 1.0, "values": {"chips": 9.0}}, {"cost": 2.0}, True),
        ({"values": {"chips": 1.0}}, {"has_percentiles": True}, True),
        ({"has_percentiles": True, "last_resort": 9.0}, {}, True),
        ({"last_resort": 1.0}, {"last_resort": 2.0}, True),
        ({"last_resort": 2.0}, {"last_resort": 1.0}, False),
        ({"last_resort": 1.0}, {"has_percentiles": True, "last_resort": 2.0}, False),
    ],
)
def test_what_orders_plans_of_one_cost(first, second, leads):
    for service in (SERVICE, AS_PUBLISHED):
        found = decision(plan(**first), plan(SECOND, **second), service=service)
        assert (found.in_order[0].scenario.hardware.id == "made-up-chip") is leads


def test_plans_that_are_equal_in_all_else_are_in_order_of_chip_and_formats():
    """Whichever of them was found first."""
    equal = [plan(weights="fp8"), plan(weights="int4"), plan(SECOND, weights="fp8")]
    for plans in (equal, equal[::-1]):
        found = decision(*plans, service=AS_PUBLISHED)
        assert names(found.in_order) == ["mad fp8", "mad int4", "sec fp8"]


def test_prefill_on_other_chips_is_the_best_such_plan():
    unlike = [
        plan(cost=cost, prefill_scenario=deployed(SECOND), prefill_layout=Layout(), batch=cost)
        for cost in (5.0,)
    ]
    found = decision(plan(cost=1.0), *unlike)
    assert found.on_unlike_chips is unlike[0]
    assert found.reported(1)[-1] is unlike[0]
    assert unlike[0].scenarios == [unlike[0].scenario, unlike[0].prefill_scenario]
    assert decision(plan()).on_unlike_chips is None


UNLIKE = plan(cost=5.0, prefill_scenario=deployed(SECOND), prefill_layout=Layout())
ONE_NARROWED = [plan(cost=3.0), plan(SECOND, cost=4.0), plan(weights="int4", cost=1.0)]
NO_OTHER_ON_THIRD = [PLANS[1], PLANS[5]]
FOURTH = made_up.clocked(id="fourth-chip")
LESS = 1.0 - 1e-9


@every(
    "plans,shown,chip,weights,taking,costs",
    [
        # What is shown must be beaten, by its variant; else the best on its chip, by a little.
        (PLANS, 1, None, None, (None,), (3.0, 3.0 * LESS)),
        (PLANS, 1, SECOND, None, (None,), (2.0, 2.0 * LESS)),
        (PLANS, 1, None, "fp8", (None,), (1.5 * LESS, 1.5 * LESS)),
        (PLANS, 1, None, "int4", (None,), (1.0, 1.5 * LESS)),
        (PLANS, 1, FOURTH, None, (None,), (inf, inf)),
        # Of plans quantized further two are shown, if they cost less than the first.
        (ONE_NARROWED, 1, SECOND, None, (None,), (4.0, 4.0 * LESS)),
        (ONE_NARROWED, 1, SECOND, "fp8", (None,), (3.0 * LESS, 3.0 * LESS)),
        (NO_OTHER_ON_THIRD, 1, THIRD, None, (None,), (inf, inf)),
        (NO_OTHER_ON_THIRD, 1, THIRD, "int4", (None,), (1.5 * LESS, 1.5 * LESS)),
        # Only the first is shown.
        (PLANS, 0, None, None, (None,), (2.0 * LESS, 2.0 * LESS)),
        (PLANS, 0, SECOND, None, (None,), (2.0, 2.0 * LESS)),
        (PLANS, 0, None, "int4", (None,), (2.0 * LESS, 2.0 * LESS)),
        (PLANS, 0, FOURTH, None, (None,), (2.0 * LESS, 2.0 * LESS)),
        # The best with prefill on other chips is shown, too.
        (PLANS, 1, None, None, (None, SECOND), (inf, inf)),
        (PLANS, 0, None, None, (None, SECOND), (2.0 * LESS, 2.0 * LESS)),
        ([*PLANS, UNLIKE], 1, None, None, (None, SECOND), (5.0 * LESS, 5.0)),
        ([*PLANS, UNLIKE], 1, None, None, (None, THIRD), (5.0 * LESS, 5.0 * LESS)),
        ([*PLANS, UNLIKE], 1, FOURTH, None, (SECOND,), (inf, inf)),
        ([], 1, None, None, (None,), (inf, inf)),
        ([], 0, None, None, (None,), (inf, inf)),
    ],
)  # fmt: skip
def test_the_cost_that_a_gap_must_beat(plans, shown, chip, weights, taking, costs):
    """For prefill on the same replicas and apart."""
    pools = [on and SimpleNamespace(scenario=deployed(on)) for on in taking]
    gaps = SimpleNamespace(
        grid=SimpleNamespace(scenario=deployed(chip, weights)), pools=pools,
        is_disaggregated=np.array([False, True]),
    )  # fmt: skip
    found = decision(*plans, service=AS_PUBLISHED)
    limit_of = cheapest_plans._limit_of_costs(found, shown, [("of", "no", "plan")])
    assert limit_of(gaps).tolist() == pytest.approx(costs, rel=1e-11)


def test_the_cost_that_a_gap_must_beat_if_its_variant_is_asked_for():
    gaps = SimpleNamespace(
        grid=SimpleNamespace(scenario=PLANS[4].scenario), pools=[None],
        is_disaggregated=np.array([False]),
    )  # fmt: skip
    found = decision(*PLANS, service=AS_PUBLISHED)
    for asked, cost in (([], 1.5 * LESS), ([PLANS[4].variant], 2.5)):
        limit_of = cheapest_plans._limit_of_costs(found, 1, asked)
        assert limit_of(gaps).tolist() == pytest.approx([cost], rel=1e-11)


@every(
    "weights,kv,is_own",
    [(None, None, True), ("bf16", "bf16", True), ("int4", None, False), (None, "fp8", False)],
)
def test_plans_in_the_formats_of_the_model(weights, kv, is_own):
    scenario = replace(deployed(weights=weights), kv=kv)
    assert replace(plan(), scenario=scenario).is_in_own_formats is is_own


def test_times_of_a_request():
    """40.14 ms to the first token without waiting, twice that of chips half as fast."""
    alone = 0.04014
    assert plan(values={"ttft": 0.5}).first_seconds == pytest.approx(alone, rel=1e-4)
    assert plan(values={"ttft": 0.01}).first_seconds == 0.01
    slow = plan(slowness=2.0, values={"ttft": 0.5, "tpot": 0.02})
    assert slow.first_seconds == pytest.approx(2 * alone, rel=1e-4)
    assert slow.request_seconds(11.0) == pytest.approx(2 * alone + 0.2, rel=1e-4)


# Services


def kind(share=1.0, prompt=1000.0, output=500.0, **changes):
    return RequestClass("k", share, Lengths.fixed(prompt, output), **changes)


def test_a_service_of_classes_has_their_means_and_limits():
    """A quarter of 1,000 and three of 2,000 tokens; the longest TTFT and the shortest TPOT."""
    classes = (
        kind(0.25, ttft=1.0, tpot=0.1, prefix_hit=0.5),
        kind(0.75, prompt=2000.0, output=100.0, ttft=3.0, tpot=0.2),
        kind(0.0, tpot=0.3),
    )
    found = SERVICE.of_classes(classes, 7.0)
    assert (found.prompt, found.output, found.rate) == (1750.0, 200.0, 7.0)
    assert (found.ttft, found.tpot) == (3.0, 0.1)
    assert (found.prefix_hit, found.variation, found.classes) == (0.0, 1.0, classes)
    assert SERVICE.of_classes((kind(), kind()), None).ttft == inf
    alone = SERVICE.of_classes((kind(prefix_hit=0.5, variation=3.0),), None)
    assert (alone.prefix_hit, alone.variation, alone.classes) == (0.5, 3.0, ())
    (same,) = alone.request_classes
    assert (same.prefix_hit, same.variation, same.prompt) == (0.5, 3.0, 1000.0)
    several = RequestClass("k", 1.0, Lengths.together([kind(0.5), kind(0.5, prompt=1.0)]))
    assert SERVICE.of_classes((several,), None).classes == (several,)


@every(
    "changes,chips",
    [
        ({}, 1),
        ({"in_nodes": True}, 8),
        ({"in_nodes": True, "rate": None}, 1),
        ({"in_nodes": True, "rate": None, "is_fleet": True}, 8),
    ],
)
def test_chips_come_in_nodes_where_their_number_is_asked(changes, chips):
    service = replace(SERVICE, **changes)
    in_nodes = made_up.clocked(node={"name": "n", "chips": 8})
    assert service.node_chips(in_nodes) == chips
    assert service.node_chips(made_up.clocked()) == 1


def test_limits_of_a_service():
    free = Service(1.0, 1.0)
    assert free.limits == {"ttft": inf, "tpot": inf, "chips": inf}
    assert free.means == {"chips": inf}
    rich = Service(1.0, 1.0, budget=9.0, power=8.0)
    assert rich.means == {"chips": inf, "budget": 9.0, "power": 8.0}
    assert free.limited({"chips": 4, "ttft": 1.0}).limits == {"ttft": 1.0, "tpot": inf, "chips": 4}
    assert free.sized_to_limits.is_fleet
    assert SERVICE.sized_to_limits is SERVICE
    assert Service(1.0, 1.0, share=0.9).claimed_share == 0.9
    assert Service(1.0, 1.0, share=0.9, variation=3.0).claimed_share is None


# Pools


def test_pools_sustain_what_their_busiest_does():
    """3 of 2 requests/s and 4 of 4: all of 6 at 1 times as much."""
    pools = [
        ReplicaPool((kind(),), decision(plan(requests=most), service=replace(SERVICE, rate=rate)))
        for most, rate in ((3.0, 2.0), (4.0, 4.0))
    ]
    sharing = Sharing(tuple(pools), None, None, ())
    assert (sharing.rate, sharing.requests) == (6.0, 6.0)
    assert Sharing(tuple(pools[:1]), None, None, ()).requests == 3.0
    assert Sharing((), None, None, ()).requests == 0.0
    assert (pools[0].cost, pools[0].chips) == (10.0, 2.0)
    none = ReplicaPool((kind(),), decision())
    assert (none.cost, none.chips) == (inf, inf)


@every("deviations", [0.0, 1.0])
def test_plans_at_slow_speeds_have_counterparts_at_expected_ones(deviations, monkeypatch):
    """Those that are reported alone; one of them has none at expected speeds."""
    slow = decision(plan(cost=1.0), plan(SECOND, cost=2.0), service=SERVICE)
    even = decision(plan(cost=0.5), service=SERVICE)
    asked = []

    def decide(grids, service, **known):
        asked.append((grids, service.deviations, known))
        return slow if len(asked) == 1 else even

    monkeypatch.setattr(cheapest_plans, "decide", decide)
    service = replace(SERVICE, deviations=deviations)
    found = cheapest_plans.decide_surely(["grid"], service, shown=2, taking=["other"])
    assert found is slow
    known = {"shown": 2, "taking": ["other"]}
    assert asked[0] == (["grid"], deviations, known)
    if not deviations:
        assert (len(asked), found.expected) == (1, None)
        return
    variants = {each.variant for each in slow.plans}
    assert asked[1:] == [(["grid"], 0.0, known | {"variants": variants})]
    assert found.expected is even
    assert [each.expected and each.expected.cost for each in found.plans] == [0.5, None]


@every(
    "chip,weights,kv,is_alone,may",
    [
        (SECOND, None, None, True, True),
        (SECOND, None, None, False, False),
        (None, None, None, True, False),  # the same chip
        (SECOND, "fp8", None, True, False),
        (SECOND, None, "fp8", True, False),
    ],
)
def test_prompts_are_taken_in_on_other_chips_in_the_same_formats(
    chip, weights, kv, is_alone, may, monkeypatch
):
    monkeypatch.setattr(cheapest_plans, "can_decode_alone", lambda *_: is_alone)
    pools = [SimpleNamespace(scenario=deployed())]
    grid = SimpleNamespace(scenario=replace(deployed(chip, weights), kv=kv))
    assert cheapest_plans.can_prefill_for(pools, grid, SERVICE) is may
