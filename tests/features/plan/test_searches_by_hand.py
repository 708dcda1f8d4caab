"""Bounds, gaps, counts and notes of plans with numbers for mental arithmetic."""

import random
from dataclasses import replace
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.core.load import Percentiles, Spread
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.errors import InputError
from fastcalc.features.plan import (
    class_groups,
    cost_notes,
    demand,
    first_tokens,
    random_load,
    score,
)
from fastcalc.features.plan.answer import PlanAnswer, _charge_all_owned, _nearest_limit
from fastcalc.features.plan.answer_regret import _digits, _measurement, _rough, _texts
from fastcalc.features.plan.candidates import BATCHES, candidates
from fastcalc.features.plan.class_groups import ClassGroup, _singles
from fastcalc.features.plan.class_table import (  # fmt: skip
    ServedClass,
    _in_slowest_pools,
    _slowest,
    _time_columns,
    class_record,
)
from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.first_tokens import ClassFirstTokens
from fastcalc.features.plan.packing import Packing, ReplicaCounts, chips_within, counts_within
from fastcalc.features.plan.page_tables import PlanRow, columns
from fastcalc.features.plan.percentile_checks import _best_held, _may_be_closer, _most_replicas
from fastcalc.features.plan.pool_search import PoolSearch, _Chosen
from fastcalc.features.plan.pools import _replaces, _worth_filling, _worth_sizing
from fastcalc.features.plan.random_load import HeldLimits
from fastcalc.features.plan.refine import Gaps
from fastcalc.features.plan.replica_options import CostBound, ReplicaOption, _cost_per_chip
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import ReplicaPool, Sharing
from fastcalc.features.plan.tipping_points import TippingPoint
from tests import made_up
from tests.features.plan.test_plan_sentences import SERVICE, UNPRICED, deployed, plan
from tests.helpers import every

MONTH = 730.0
"""Hours."""


@every(
    "limits,chip,chips",
    [
        ({}, None, inf),
        ({"max_chips": 7}, None, 7),
        # Ten chips cost 36 dollars per hour; a cent less is enough for nine.
        ({"budget": 36.0 * MONTH}, None, 10),
        ({"budget": 36.0 * MONTH - 0.01}, None, 9),
        ({"budget": 36.0 * MONTH, "max_chips": 4}, None, 4),
        ({"budget": 36.0 * MONTH}, UNPRICED, inf),
        ({"budget": 36.0 * MONTH, "power": 3 * 2170.0}, None, 3),
        ({"power": 3 * 2170.0 - 1.0}, UNPRICED, 2),
        ({"power": 1.0}, None, 0),
    ],
)
def test_the_chips_that_means_allow(limits, chip, chips):
    assert chips_within(Service(1.0, 1.0, **limits), deployed(chip)) == chips


def test_a_fleet_that_serves_nothing_takes_for_ever():
    counts = ReplicaCounts(*np.array([[1.0, 1.0], [0.0, 0.0], [4.0, 0.0]]))
    assert counts.cost[0] == 0.25
    assert counts.cost[1] > 1e200


def test_replicas_are_limited_by_the_slower_pool():
    """Two replicas of 5 requests/s, and prefill of 3 x 2 or 3 x 4."""
    pools = SimpleNamespace(replicas=np.array([3.0, 3.0]), capacity=np.array([2.0, 4.0]))
    counts = ReplicaCounts.of(np.array([2.0, 2.0]), np.array([5.0, 5.0]), pools)
    assert counts.requests.tolist() == [6.0, 10.0]
    assert counts.prompt_replicas.tolist() == [3.0, 3.0]
    alone = ReplicaCounts.of(np.array([2.0]), np.array([5.0]), None)
    assert (alone.requests.tolist(), alone.prompt_replicas.tolist()) == ([10.0], [0.0])


def packed(slots, node_slots=8.0, *, other=0.0, prompt_slots=0.0, prompt_nodes=0.0, nodes=None):
    numbers = (slots, prompt_slots, slots / 8 if nodes is None else nodes, prompt_nodes)
    arrays = [np.array([number]) for number in numbers]
    return Packing(8, other, np.array([node_slots]), *arrays)


@every(
    "replicas,prompts,packing,chips",
    [
        (8.0, 0.0, packed(1.0), 8.0),
        (9.0, 0.0, packed(1.0), 16.0),
        # Five slots each: one in a node, although eleven slots are less than two.
        (2.0, 0.0, packed(5.0, nodes=1.0), 16.0),
        (2.0, 3.0, packed(2.0, prompt_slots=1.0), 8.0),
        (2.0, 5.0, packed(2.0, prompt_slots=1.0), 16.0),
        (2.0, 3.0, packed(1.0, prompt_slots=1.0, prompt_nodes=0.5), 16.0),
        (2.0, 0.0, packed(1.0, other=6.0), 14.0),
    ],
)
def test_chips_of_whole_nodes(replicas, prompts, packing, chips):
    assert packing.chips(np.array([replicas]), prompts).tolist() == [chips]


def gaps(costs):
    count = len(costs)
    return Gaps(
        None, (), np.array(costs), np.arange(count), np.ones(count), np.full(count, 9.0),
        np.zeros(count, bool),
    )  # fmt: skip


def test_gaps_that_may_beat_a_cost():
    """Of equal cost a gap may hold a faster deployment; of unlimited cost it holds none."""
    found = gaps([3.0, 1.0, 2.0, inf])
    assert found.below(2.0).bound.tolist() == [1.0, 2.0]
    assert found.below(inf).layout.tolist() == [0, 1, 2]
    # Each has a limit of its own, and none holds a batch next to one that was tried.
    assert found.below(np.array([3.0, 0.0, 2.0, inf])).layout.tolist() == [0, 2]
    assert len(replace(found, high=found.low + 1.0).below(inf)) == 0


def test_the_best_32_gaps_are_tried_first():
    first, others = gaps([float(40 - index) for index in range(40)]).split()
    assert (len(first), len(others)) == (32, 8)
    assert first.bound.tolist() == [float(cost) for cost in range(1, 33)]
    assert others.layout.tolist() == list(range(7, -1, -1))
    few, none = gaps([1.0]).split()
    assert (len(few), len(none)) == (1, 0)


def test_25_batches_of_a_gap_are_tried():
    """From 1 to 49 in steps of two; from 1 to 4 each is tried several times."""
    kept = {}
    grid = SimpleNamespace(layouts=["a", "b", "c"], part=lambda **parts: kept.update(parts))
    two = replace(gaps([1.0, 1.0]), grid=grid, layout=np.array([2, 0]))
    replace(two, high=np.array([49.0, 4.0])).between()
    assert kept["layouts"] == ("c", "a")
    assert kept["batches"][0].tolist() == list(range(1, 50, 2))
    assert set(kept["batches"][1]) == {1.0, 2.0, 3.0, 4.0}


def option(requests=10.0, *, nodes=0.5, node_chips=8, cost=2.0, chip=None, batch=24.0):
    grid = SimpleNamespace(
        scenario=deployed(chip), batches=np.array([batch]), part=lambda batches: batches
    )
    return ReplicaOption(grid, requests, nodes, node_chips, cost, requests)


def test_what_a_replica_option_costs():
    """Half a node of eight chips for 2 USD each: 8 for a replica, 16 for a node."""
    found = option()
    assert (found.each, found.node_cost, found.cost_of_filled(25.0)) == (8.0, 16.0, 24.0)
    assert found.usd_per_chip == pytest.approx(3.6 * MONTH)
    assert option(chip=UNPRICED).usd_per_chip == inf
    assert found.chip == "made-up-chip"


@every(
    "batch,tried",
    [(1.0, [1.0]), (2.0, [1.0, 2.0]), (5.0, [1, 2, 3, 4, 5]), (8.0, [1, 2, 3, 4, 6, 8])],
)
def test_batches_up_to_its_own_are_checked(batch, tried):
    assert option(batch=batch).batches_to_try.tolist() == tried


def test_batches_tried_first_are_two_an_octave():
    assert BATCHES[:6].tolist() == [1, 2, 3, 4, 6, 8]
    assert BATCHES[-3:].tolist() == [4096, 6144, 8192]
    assert len(BATCHES) == 26


@every(
    "rate,shared,alone",
    [
        # Three replicas of half a node, or two of a whole one.
        (10.0, 24.0, 32.0),
        # Two of half a node are just one.
        (8.0, 16.0, 16.0),
        # 0.1 requests/s take one replica.
        (0.1, 8.0, 16.0),
    ],
)
def test_bounds_of_a_cost_in_shared_and_whole_nodes(rate, shared, alone):
    bound = CostBound("a", np.array([4.0, 5.0]), np.array([0.5, 1.0]), 8, 2.0)
    assert bound.least_cost(rate) == (shared, alone)
    assert CostBound("a", np.zeros(0), np.zeros(0), 8, 2.0).least_cost(1.0) == (inf, inf)


def group(*options, share=0.5, bounds=()):
    return ClassGroup((), share, list(options), bounds, None)


def test_the_least_option_on_each_chip_at_the_rate_of_a_group():
    """Half of 20 requests/s: one replica of 10 on half a node, or three of 4 on a quarter each."""
    dear, small = option(), option(4.0, nodes=0.25, batch=8.0)
    slow = option(5.0, nodes=0.25, batch=4.0)
    other = option(10.0, nodes=0.25, cost=9.0, chip=UNPRICED)
    assert group(dear, small, other).least_on_chips(20.0) == [dear, other]
    # Of equal nodes the smaller batch.
    assert group(dear, slow).least_on_chips(20.0) == [slow]
    # Of 8 requests/s one replica of 4 is enough for a half.
    assert group(dear, small, other).least_on_chips(8.0) == [small, other]
    costs = group(dear, small, other).costs_on_chips(20.0)
    assert costs == {"made-up-chip": 16.0, "unpriced-chip": 72.0}


def test_bounds_of_a_chip_are_the_least_of_its_deployments():
    bounds = [
        CostBound(chip, np.array([requests]), np.array([0.5]), 8, 1.0)
        for chip, requests in (("a", 2.0), ("a", 5.0), ("b", 3.0))
    ]
    # Of 20 requests/s a half: five replicas, two and four.
    assert group(bounds=bounds).least_costs(20.0) == {"a": (8.0, 8.0), "b": (16.0, 16.0)}


@every("members,singles", [(0, []), (1, [1]), (5, [1, 4]), (6, [2, 4])])
def test_members_of_a_group(members, singles):
    assert _singles(members) == singles


TIMES = ClassFirstTokens(np.array([[1.0, 2.0], [3.0, 3.5]]), np.array([[2.0], [4.0]]), np.array([0.75, 0.25]))  # fmt: skip


def test_the_class_nearest_to_its_limit_counts():
    """Of 2 s and 4 s: the first is at -1 and 0 s of its limit, the second at -1 and -0.5 s."""
    mean, limited = np.array([9.0, 9.0]), Service(1.0, 1.0, ttft=10.0)
    assert TIMES.latest(limited, mean).tolist() == [9.0, 10.0]
    # Without a limit, the mean: 0.75 x 1 + 0.25 x 3, and 0.75 x 2 + 0.25 x 3.5.
    assert TIMES.latest(Service(1.0, 1.0), mean).tolist() == [1.5, 2.375]
    # With 1 s of waiting: 2 of 2 s and 4 of 4 s; 3 of 2 s and 4.5 of 4 s.
    assert TIMES.over_limits(limited, np.array([1.0, 1.0]), mean).tolist() == [10.0, 15.0]
    assert TIMES.over_limits(Service(1.0, 1.0), np.array([1.0, 2.0]), mean).tolist() == [10, 11]
    none = ClassFirstTokens(np.zeros((0, 2)), np.zeros((0, 1)), np.zeros(0))
    assert none.latest(limited, mean) is mean
    assert none.over_limits(limited, np.array([1.0, 2.0]), mean).tolist() == [10.0, 11.0]
    assert TIMES.only(1).seconds.tolist() == [[2.0], [3.5]]


def percentiles(ttft, tpot, request):
    spreads = [Spread(p99 / 2, (p99 / 3, p99 / 2, p99 / 1.5, p99)) for p99 in (ttft, tpot, request)]
    return Percentiles(*spreads)


def served(pool=1, ttft=0.5, *, share=0.99, ran=None, limits=(1.0, 0.1)):
    kind = RequestClass("docs", 0.25, Lengths.fixed(1000.0, 100.0), ttft=limits[0], tpot=limits[1])
    return ServedClass(kind, pool, ttft, 0.02, share, ran)


def test_cells_of_a_mean_are_in_milliseconds_or_unknown():
    mean, p99, limit = _time_columns("ttft", has_means=True)
    assert mean.value(served(ran=percentiles(0.4, 0.02, 3.0))) == pytest.approx(200.0)
    assert mean.value(served()) is None
    assert mean.value(served(share=None)) == 500.0
    assert limit.value(served()) == 1000.0
    assert [column.heading for column in (mean, p99)] == [("TTFT ms", "mean"), ("", "p99")]
    without = _time_columns("ttft", has_means=False)
    assert [column.heading for column in without] == [("TTFT ms", "p99"), ("", "limit")]


@every(
    "changes,cells",
    [
        # Bounds of full replicas: 0.5 s, and 99 more tokens of 20 ms.
        ({}, ("<500", "<20.0", "<2.48")),
        ({"share": None}, ("-", "-", "-")),
        ({"ran": percentiles(0.4, 0.02, 3.0)}, ("400", "20.0", "3.00")),
        ({"ran": percentiles(1.4, 0.02, 3.0)}, ("1,400^", "20.0", "3.00")),
    ],
)
def test_the_longest_latencies_of_a_class(changes, cells):
    columns = ("ttft", "tpot", "request")
    found = [_slowest(name, served(**changes)) for name in columns]
    assert found == [*cells]


def test_of_several_pools_the_longest_latency_is_shown_and_unknown_is_the_longest():
    known, bounded = served(1, ran=percentiles(0.4, 0.02, 3.0)), served(2)
    keys = ("pool", "ttft_p99_ms", "request_p99_s")
    row = _in_slowest_pools([known, bounded])
    assert [row[key].replace(".00", "") for key in keys] == ["1, 2", "<500", "3"]
    row = _in_slowest_pools([known, served(3, share=None)])
    assert [row[key] for key in keys] == ["1, 3", "-", "-"]


def test_a_record_of_a_class_is_in_its_units():
    record = class_record(served(2, share=None))
    assert (record["ttft_ms"], record["tpot_ms"], record["tokens_per_s_per_user"]) == (500, 20, 50)
    assert (record["ttft_limit_ms"], record["tpot_limit_ms"]) == (1000, 100)
    assert (record["pool"], record["share"], record["percentiles"]) == (2, 0.25, None)
    unlimited = class_record(served(limits=(inf, inf)))
    assert (unlimited["ttft_limit_ms"], unlimited["tpot_limit_ms"]) == (None, None)


@every(
    "price,own,refused",
    [
        ("h100-sxm=0", None, True),
        ("h100-sxm=0", "h100-sxm=8", False),
        ("h100-sxm=0", "a100-sxm-80gb=8", True),
        ("h100-sxm=2", None, False),
        ("h100-sxm=2", "a100-sxm-80gb=8", False),
    ],
)
def test_only_owned_chips_may_cost_nothing(price, own, refused):
    request = FindPlans(model="m", price=[price], own=own and [own])
    counts = demand.owned_counts(request) if own else {}
    if refused:
        with pytest.raises(InputError, match="a price of 0 is one of chips that are owned"):
            demand.chip_prices(request, counts)
    else:
        usd = float(price.partition("=")[2])
        assert demand.chip_prices(request, counts) == {"h100-sxm": usd}


@every("prices,basis", [({}, False), ({"made-up-chip": 3.6}, True), ({"second-chip": 1.0}, False)])
def test_what_the_price_of_owned_chips_is_based_on(prices, basis):
    scenario = deployed()
    priced = replace(scenario, pricing=replace(scenario.pricing, user_prices=prices))
    said = cost_notes.owning(replace(plan(), scenario=priced), 8, 0.0)
    assert said.startswith("owning all 8 made-up-chip costs $21,024 per month. Basis: ")
    assert said.endswith(": the price set") is basis


def test_the_limit_that_a_class_is_nearest_to():
    """0.5 of 1 s, 0.3 of 0.4 s, and 9 s without a limit: the second is nearest."""
    kinds = [
        RequestClass(f"{limit}", 1 / 3, Lengths.fixed(1.0, 1.0), ttft=limit)
        for limit in (1.0, 0.4, inf)
    ]
    pool = SimpleNamespace(plan=SimpleNamespace(class_ttft=(0.5, 0.3, 9.0)), classes=kinds)
    assert _nearest_limit(pool) == 0.3
    pool.classes = kinds[2:]
    assert _nearest_limit(pool) is None


@every(
    "is_one,kinds,tokens,utilization",
    [(True, 1, 4e9, 4e9 / 1500 / 2_628_000 / 20), (False, 1, 2e9, 2e9 / 1500 / 2_628_000 / 20), (True, 2, 4e9, 0.5)],
)  # fmt: skip
def test_an_api_is_compared_with_all_owned_chips(is_one, kinds, tokens, utilization):
    """A billion tokens for two chips that run, or four of its pools: 4 or 2 times that for 8."""
    planned = SimpleNamespace(
        is_of_one_class=is_one, owned_capacity=20.0, fleet=SimpleNamespace(owned=["kind"] * kinds)
    )
    row = {
        "chips_total": 2.0, "api_break_even_tokens_per_month": 1e9, "api_break_even_utilization": 0.5,
    }  # fmt: skip
    owned = SimpleNamespace(chips=8, used=lambda _: 4.0)
    pool = SimpleNamespace(
        decision=SimpleNamespace(service=Service(1000.0, 500.0)),
        classes=[SimpleNamespace(share=0.25), SimpleNamespace(share=0.75)],
    )
    _charge_all_owned(planned, row, owned, pool)
    assert row["api_break_even_tokens_per_month"] == pytest.approx(tokens)
    assert row["api_break_even_utilization"] == pytest.approx(utilization)


@every(
    "cost,fleet,most",
    [(inf, False, inf), (10.0, True, inf), (10.0, False, 16), (9.9, False, 8), (30.0, False, 48), (4.9, False, 0)],
)  # fmt: skip
def test_replicas_that_a_cost_allows(cost, fleet, most):
    """A deployment of eight chips costs 5, and a replica takes a chip of a node of eight.

    None takes in prompts for the others.
    """
    scored = SimpleNamespace(
        service=SimpleNamespace(is_fleet=fleet), cost=np.array([5.0]), values={"chips": np.array([8.0])},
        packing=SimpleNamespace(at=lambda _: packed(1.0, prompt_slots=8.0, nodes=0.0)),
    )  # fmt: skip
    assert _most_replicas(scored, 0, cost) == most


@every(
    "rate,checked,busy,highest,most",
    [
        # A replica that is half busy at 2 requests/s may do 3.6 at 90% utilization.
        (8.0, True, 0.5, 9.0, 4 * 3.6),
        (8.0, True, 0.5, 3.0, 4 * 3.0),
        # Without a rate, percentiles or requests, what the search says.
        (None, True, 0.5, 3.0, 7.0),
        (8.0, False, 0.5, 3.0, 7.0),
        (8.0, True, 0.0, 3.0, 7.0),
        (8.0, True, 0.5, None, 7.0),
    ],
)
def test_the_most_that_a_plan_serves_within_its_limits(
    rate, checked, busy, highest, most, monkeypatch
):
    limits = SimpleNamespace(
        load=SimpleNamespace(rate=2.0), are_limited=highest is not None,
        highest_rate=lambda rate: min(rate, highest),
    )  # fmt: skip
    monkeypatch.setattr(random_load, "held_limits", lambda *_: limits)
    chosen = replace(plan(), replicas=4.0, is_checked=checked, busy=busy, requests=7.0)
    service = replace(SERVICE, rate=rate, utilization=0.9)
    assert random_load.most_requests(chosen, service) == pytest.approx(most)


def test_of_two_plans_of_a_layout_the_cheaper_then_with_percentiles_then_the_smaller():
    def made(cost, known, batch):
        return SimpleNamespace(cost=cost, has_percentiles=known, batch=batch)

    cheap, known = made(1.0, False, 9.0), made(2.0, True, 9.0)
    unknown, small = made(2.0, False, 1.0), made(2.0, True, 8.0)
    assert _best_held(known, cheap) is cheap
    assert _best_held(unknown, known) is known
    assert _best_held(known, small) is small
    assert _best_held(None, known) is known
    assert _best_held(None, None) is None


@every(
    "misses,closest,relaxed,is_closer",
    [
        ({"ttft": 1.2, "tpot": 0.5}, None, {}, True),
        ({"ttft": 1.2, "tpot": 0.5}, 1.3, {}, True),
        # By more than the closest, but the only limit that it misses is lower than others ask.
        ({"ttft": 1.4, "tpot": 0.5}, 1.3, {}, True),
        ({"ttft": 1.4, "tpot": 0.5}, 1.3, {"ttft": 2.9}, True),
        ({"ttft": 1.4, "tpot": 0.5}, 1.3, {"ttft": 2.8}, False),
        ({"ttft": 1.4, "tpot": 1.1}, 1.3, {}, False),
        ({"ttft": 1.0, "tpot": 1.0}, 0.9, {}, True),
    ],
)
def test_a_late_plan_may_be_closer(misses, closest, relaxed, is_closer):
    """Limits of 2 s to the first token and 0.1 s between tokens."""
    late = plan(misses=misses)
    by_chip = {"made-up-chip": plan(misses={"tpot": closest})} if closest else {}
    decision = SimpleNamespace(
        closest=by_chip, relaxed=relaxed, service=Service(1.0, 1.0, ttft=2.0, tpot=0.1)
    )
    assert _may_be_closer(late, SimpleNamespace(least_misses={}), decision) is is_closer


def test_a_class_alone_has_its_share_of_the_rate(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "fastcalc.features.plan.pool_search.decide", lambda _, service, **__: asked.append(service)
    )
    quarter = RequestClass("docs", 0.25, Lengths.fixed(1000.0, 100.0))
    search = PoolSearch((quarter,), lambda *_: [])
    search._alone(quarter, Service(1.0, 1.0), 8.0)
    assert asked[0].rate == 2.0


@every("chips,times", [(2.0, 1.0), (4.0, 2.0), (3.0, 1.5)])
def test_a_pool_on_more_chips_costs_as_much_more(chips, times):
    service = Service(1000.0, 1000.0, budget=150.0)
    made = plan(values={"chips": 2.0, "budget": 100.0, "power": 4000.0})
    pool = ReplicaPool((), Decision(service, best_by_variant={made.variant: made}))
    assert (pool.cost, pool.chips) == (10.0, 2.0)
    more = pool.on_chips(chips, 8)
    assert (more.cost, more.chips, more.plan.node_chips) == (10.0 * times, chips, 8)
    values = [more.plan.values[name] for name in ("budget", "power", "ttft")]
    assert values == [100.0 * times, 4000.0 * times, 0.5]
    assert more.plan.misses["budget"] == pytest.approx(times / 1.5)
    nothing = ReplicaPool((), Decision(service))
    assert (nothing.cost, nothing.chips) == (inf, inf)


def test_pools_sustain_what_the_slowest_does():
    """Of 2 and 6 requests/s, 4 and 9 are sustained: 1.5 times 8."""

    def pool(rate, requests):
        return SimpleNamespace(
            decision=SimpleNamespace(service=SimpleNamespace(rate=rate)),
            plan=SimpleNamespace(requests=requests),
        )

    shared = Sharing((pool(2.0, 4.0), pool(6.0, 9.0)), None, None, ())
    assert (shared.rate, shared.requests) == (8.0, 12.0)
    assert (Sharing((), None, None, ()).requests, Sharing((), None, None, ()).rate) == (0.0, 0.0)


@every(
    "at,is_above,digits",
    [(1.2345, True, "1.24"), (1.2345, False, "1.23"), (12345.0, True, "12,400")],
)
def test_a_tipping_point_is_rounded_to_its_far_side(at, is_above, digits):
    assert _digits(TippingPoint("rate", at, is_above, "b")) == digits


@every(
    "turns,texts",
    [
        ([("price", 2.0, True)], ["a costs $2 per chip-hour or more"]),
        ([("price", 2.0, False)], ["a costs $2 per chip-hour or less"]),
        ([("slowness", 1.5, True)], ["a is 1.5 times slower"]),
        ([("rate", 5.0, True)], ["the rate is 5 requests/s or more"]),
        ([("rate", 5.0, False)], ["the rate is 5 requests/s or fewer"]),
        ([("rate", 5.0, True), ("rate", 2.0, False)], ["the rate is outside 2 to 5 requests/s"]),
        (
            [("rate", 2.0, False), ("slowness", 1.5, True), ("rate", 5.0, True)],
            ["a is 1.5 times slower", "the rate is outside 2 to 5 requests/s"],
        ),
        (
            [("price", 5.0, True), ("price", 2.0, False)],
            ["a costs $5 per chip-hour or more", "a costs $2 per chip-hour or less"],
        ),
        (
            [("prompt", 500.0, True), ("output", 20.0, False)],
            ["prompts have 500 tokens or more", "outputs have 20 tokens or fewer"],
        ),
    ],
)
def test_tipping_points_in_words(turns, texts):
    assert list(_texts([TippingPoint(name, at, up, "b", "a") for name, at, up in turns])) == texts


@every(
    "usd,rough", [(1234.0, "1,200"), (99.6, "100"), (0.4, "0"), (7.0, "7"), (56_789.0, "57,000")]
)
def test_uncertain_dollars_have_two_digits(usd, rough):
    assert _rough(usd) == rough


@every("usd,removed", [(4.0, 15.0), (0.0, None)])
def test_what_a_measurement_removes_of_a_regret(usd, removed, monkeypatch):
    """From 100 to 40 USD per month for 4 USD."""
    monkeypatch.setattr("fastcalc.features.plan.answer_regret.bench_command", lambda *_: "bench")
    measured = SimpleNamespace(plan=plan(), chips=1, minutes=15, usd=usd, error=1.1, regret=40.0)
    record = _measurement(measured, 100.0, "m")
    assert (record["removed_per_usd"], record["chips"], record["batch"]) == (removed, 1, 10)


def test_candidates_hold_the_longest_request():
    """A byte per token in 0.25 MB besides the weights: 125 requests of 2,000 tokens on one chip."""
    chip = made_up.clocked(
        memory=[{"name": "M", "capacity": "1.25 MB", "bandwidth": "1000 TB/s"}], links={}
    )
    found = candidates(deployed(chip), prompt=1500.0, output=500.0)
    assert [layout.chips for layout in found.layouts] == [1]
    assert found.requests.context.tolist() == [1750.0]
    assert found.batches.tolist() == [*BATCHES[BATCHES <= 125]]
    assert candidates(deployed(chip), prompt=300_000.0, output=1.0) is None
    empty = candidates(deployed(chip), prompt=300_000.0, output=1.0, is_laid_out=False)
    assert empty.layouts == ()


@every(
    "is_one,is_owned,searches,unlike,has_grids",
    [
        (True, False, True, False, True),
        (True, True, True, False, False),
        (False, False, True, False, False),
        (True, False, False, False, False),
        # With prefill on other chips nothing is searched again.
        (True, False, True, True, False),
    ],
)
def test_chips_to_rent_for_one_class_are_searched_again(
    is_one, is_owned, searches, unlike, has_grids
):
    planned = SimpleNamespace(
        is_of_one_class=is_one,
        fleet=SimpleNamespace(allocations=[SimpleNamespace(is_owned=is_owned)]),
        search=SimpleNamespace(prefill_grids=[1] * unlike, grids=["grid"]) if searches else None,
        request=SimpleNamespace(sensitivity=False, model="m"),
        decision="decision",
    )
    verdict = PlanAnswer.verdict.func(planned)
    assert list(verdict.grids) == ["grid"] * has_grids


@every("objective,cost", [("chips", 1.0), ("usd", 3.6 * MONTH), ("watts", 2170.0)])
def test_what_a_chip_costs_by_the_objective(objective, cost):
    grid = SimpleNamespace(scenario=deployed())
    assert _cost_per_chip(grid, replace(SERVICE, objective=objective)) == pytest.approx(cost)
    unpriced = SimpleNamespace(scenario=deployed(UNPRICED))
    usual = 0.0 if objective == "usd" else cost
    assert _cost_per_chip(unpriced, replace(SERVICE, objective=objective)) == pytest.approx(usual)


@every(
    "changes,is_sized",
    [
        ({}, True),
        ({"rate": None}, False),
        ({"rate": None, "is_fleet": True}, True),
        ({"objective": "watts"}, True),
        ({"objective": "watts", "rate": None}, False),
    ],
)
def test_replicas_of_a_rate_or_a_fleet_are_shown_else_the_cost(changes, is_sized):
    keys = [column.key for column in columns(replace(SERVICE, **changes))]
    assert ("replicas" in keys, "cost" in keys) == (is_sized, not is_sized)
    assert ("watts" in keys) is ("objective" in changes and is_sized)


@every(
    "tpot,prefilled,ttft,met,margin",
    [
        # Late shares of 1% are allowed: 1 and 2% of TPOT, prefill and TTFT are late.
        (0.99, 0.99, 0.99, True, 1.0),
        (0.98, None, None, False, 0.5),
        (0.99, 0.98, None, False, 0.5),
        (0.99, 0.99, 0.98, False, 0.5),
        (0.995, 1.0, 0.995, True, 2.0),
    ],
)
def test_limits_are_checked_in_the_order_of_what_they_take(tpot, prefilled, ttft, met, margin):
    """What is None is not asked for. A ten-thousandth of the requests counts as late."""
    kind = RequestClass("docs", 1.0, Lengths.fixed(1.0, 2.0), ttft=1.0, tpot=0.1)
    load = SimpleNamespace(
        share_within_tpot=lambda *_: tpot,
        share_prefilled_within=lambda *_: prefilled,
        times=lambda _: SimpleNamespace(share_within_ttft=lambda _: ttft),
    )
    limits = HeldLimits(load, (kind,), 0.99)
    assert limits.are_met is met
    assert np.exp(limits._margin) == pytest.approx(margin, rel=0.011)
    assert limits.are_limited
    assert not HeldLimits(load, (replace(kind, ttft=inf, tpot=inf),), 0.99).are_limited


@every(
    "limit,tried",
    [
        # The smallest, those next to the limit and to twice it, and the fastest.
        (2.0, [0, 3, 4, 5]),
        (3.0, [0, 2, 3, 5]),
        (10.0, [0, 5]),
        (0.1, [0, 5]),
        (0.5, [0, 4, 5]),
    ],
)
def test_prefill_pools_about_a_limit_are_tried(limit, tried):
    """Of 1 to 6 chips that take 9 to 0.5 s; a seventh of as many takes longer than the sixth."""
    chips = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.0])
    first = np.array([9.0, 7.0, 5.0, 3.0, 1.5, 0.5, 0.6])
    assert _worth_sizing(np.arange(7), chips, first, limit).tolist() == tried
    assert _worth_sizing(np.array([6]), chips, first, limit).tolist() == [6]
    assert _worth_sizing(np.zeros(0, dtype=int), chips, first, limit).tolist() == []


def a_pool(chips, capacity, *, width=1, seconds=1.0, sent=0.0):
    return SimpleNamespace(
        chips=chips, capacity=capacity, layout=SimpleNamespace(width=width), seconds=seconds,
        kv_transfer_s=sent,
    )  # fmt: skip


@every(
    "smaller,larger,replaces",
    [
        # Two of two chips for one of four.
        (a_pool(2, 5.0), a_pool(4, 10.0), True),
        (a_pool(2, 4.9), a_pool(4, 10.0), False),
        (a_pool(2, 9.0), a_pool(5, 10.0), False),
        (a_pool(2, 5.0, width=2), a_pool(4, 10.0), False),
        (a_pool(2, 5.0, seconds=1.1), a_pool(4, 10.0), False),
        (a_pool(2, 5.0, sent=0.1), a_pool(4, 10.0), False),
        (a_pool(2, 5.0, width=2, seconds=0.9, sent=0.1), a_pool(4, 9.0, width=4, sent=0.2), True),
    ],
)
def test_copies_of_a_smaller_replica_replace_a_larger(smaller, larger, replaces):
    assert _replaces(smaller, larger) is replaces
    assert _worth_filling([larger, smaller], 9.0) == [smaller, *[larger] * (not replaces)]


def test_where_all_are_late_the_fastest_is_tried():
    late = [
        a_pool(2, 5.0, seconds=3.0),
        a_pool(4, 9.0, seconds=2.0, sent=0.5),
        a_pool(8, 9.0, seconds=2.8),
    ]
    assert _worth_filling(late, 2.4) == [late[1]]
    assert _worth_filling(late, 2.5) == [late[1]]
    assert _worth_filling(late, 3.0) == late[:2] + late[2:]
    assert _worth_filling([], 1.0) == []


def test_an_option_is_replaced_by_what_its_percentiles_hold(monkeypatch):
    """Of three options the second holds 6 of 10 requests/s, and then none."""
    options = [option(batch=8.0), option(batch=16.0), option(batch=32.0)]
    checked = group(*options)
    before = checked.options_of_chips
    tried = []
    held = lambda batches, *_: tried.append(batches.max()) or 6.0  # noqa: E731
    monkeypatch.setattr(class_groups, "held_throughput", held)
    assert checked.check(options[1]) is checked.replica_options[1]
    first, second, third = checked.replica_options
    assert (first, third, tried) == (options[0], options[2], [16.0])
    assert (second.requests, second.is_checked, second.batch) == (6.0, True, 16.0)
    assert not first.is_checked
    assert checked.options_of_chips is not before
    monkeypatch.setattr(class_groups, "held_throughput", lambda *_: 0.0)
    assert checked.check(second) is None
    assert checked.replica_options == [options[0], options[2]]


def test_an_option_that_costs_more_than_checked_pools_stays_unchecked(monkeypatch):
    """Below 6 of its 10 requests/s it is of no interest: that it has fewer is all that is kept."""
    group_of_one = group(option())
    monkeypatch.setattr(class_groups, "held_throughput", lambda _, __, most, above: above or most)
    unchecked = group_of_one.check(*group_of_one.replica_options, 6.0)
    assert (unchecked.requests, unchecked.searched_requests) == (6.0, 10.0)
    assert not unchecked.is_checked
    # Where it is still the cheapest at that, its own throughput is needed.
    checked = group_of_one.check(unchecked, 6.0)
    assert (checked.requests, checked.is_checked) == (10.0, True)


def test_a_throughput_below_which_an_option_costs_more_than_other_pools():
    """8 requests/s on half nodes of $16: for $24 three replicas, of 8/3 requests/s each."""
    one = group(option(), share=1.0)
    chosen = _Chosen([(one, one.replica_options[0])], 8.0)
    below = chosen.least_throughput(one, one.replica_options[0], 24.0)
    assert below == pytest.approx(8.0 / 3.0, rel=1e-5)
    assert below < 8.0 / 3.0
    assert chosen.least_throughput(one, one.replica_options[0], 7.0) == 0.0  # not one replica
    assert chosen.least_throughput(one, one.replica_options[0], inf) == 0.0


def test_a_row_of_a_page_is_rented_and_shown_unless_it_says_otherwise():
    row = PlanRow("1", None, None)
    assert (row.is_owned, row.is_shown) == (False, True)


@every(
    "limits,may_share,chips",
    [
        # Alone each class takes half a node, 8 USD, or a whole one for 16: apart they cost 32. On
        # the other chip each takes five nodes, 80 USD.
        ({}, True, {"made-up-chip"}),
        # With a limit on chips, only chips that cost more may be few enough.
        ({"max_chips": 99}, True, {"made-up-chip", "unpriced-chip"}),
        ({}, False, None),
    ],
)
def test_a_shared_pool_is_searched_on_chips_where_it_may_cost_less(limits, may_share, chips):
    kinds = [RequestClass(name, 0.5, Lengths.fixed(prompt, 100.0)) for name, prompt in (("a", 100.0), ("b", 200.0))]  # fmt: skip
    searched = []
    bounds = [
        CostBound(chip, np.array([requests]), np.array([0.5]), 8, 2.0)
        for chip, requests in (("made-up-chip", 10.0), ("unpriced-chip", 1.0))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_groups, "find_replica_options", lambda *_: ([option()], bounds))
        groups = class_groups.Groups(
            kinds,
            lambda of, _, on: searched.append((len(of), on)) or [],
            lambda _: may_share,
            Service(1.0, 1.0, **limits),
            is_narrow=True,
        )
        found = [groups.groupings(20.0), groups.groupings(20.0)][1]
    shared = [] if chips is None else [(2, frozenset(chips))]
    assert searched == [(1, None), (1, None), *shared]
    assert sorted(len(grouping) for grouping in found) == [1] * len(shared) + [2]
    assert groups.served == set(kinds)
    assert groups.chips_of_all(20.0) == ["made-up-chip"]


@every(
    "first,second,has_means,before,chips",
    [
        # Apart these classes cost 10, and all classes 20 in whole nodes.
        ((9.9, 19.9), (1.0, 1.0), False, (), {"least", "chip"}),
        ((10.0, 19.9), (1.0, 1.0), False, (), {"least"}),
        ((9.9, 20.0), (1.0, 1.0), False, (), {"least"}),
        ((1.0, 1.0), (9.9, 20.0), False, (), {"least"}),
        ((10.0, 20.0), (1.0, 1.0), True, (), {"least", "chip"}),
        ((9.9, 19.9), (1.0, 1.0), False, ("least",), {"chip"}),
        ((10.0, 19.9), (1.0, 1.0), False, ("least",), None),
        ((9.9, 19.9), None, False, (), {"least"}),
    ],
)
def test_a_shared_pool_is_searched_where_it_may_cost_less_than_pools_apart(
    first, second, has_means, before, chips
):
    """And where it costs the least, whatever that is."""
    searched = []
    bounds = [{"least": (8.0, 50.0)} | ({"chip": each} if each else {}) for each in (first, second)]
    groups = SimpleNamespace(
        _groups={1 << at: SimpleNamespace(least_costs=lambda _, its=its: its) for at, its in enumerate(bounds)},
        _has_means=has_means, _searched={3: frozenset(before)},
        _search=lambda members, on: searched.append((members, on)),
    )  # fmt: skip
    class_groups.Groups._search_shared(groups, 3, 1.0, 10.0, 20.0)
    assert searched == ([] if chips is None else [(3, frozenset(chips))])


@every(
    "ttft,waits,pool_waits,compared",
    [
        # In time, at the limit up to rounding, and late.
        (0.6, 0.3, None, 0.9),
        (0.7, 0.3 + 1e-13, None, 1.0),
        (0.8, 0.3, None, 1.1),
        # Late with a pool for prompts: 0.4 s without its wait, and twice the longer of both waits.
        (0.8, 0.3, 0.4, 1.2),
        (0.8, 0.5, 0.4, 1.4),
        (0.6, 0.3, 0.4, 0.9),
    ],
)
def test_a_first_token_is_late_by_what_the_longer_of_two_queues_needs(
    ttft, waits, pool_waits, compared
):
    """A limit of a second; half of it is left for each queue."""
    uniform = ClassFirstTokens(np.empty((0, 1)), np.empty(0), np.empty(0))
    pools = None if pool_waits is None else SimpleNamespace(waits=np.array([pool_waits]))
    (found,) = score._held_against_limit(
        Service(1000.0, 500.0, ttft=1.0), uniform, np.array([ttft]), np.array([waits]), pools
    )
    assert found == (compared if compared == 1.0 else pytest.approx(compared))


def test_prompts_meet_where_attention_replicas_prefill_at_once(monkeypatch):
    """2 s alone and 5 s with all: of a quarter request/s half meet, with three of four replicas."""
    times = {"alone": 2.0, "joint": 5.0, "late": 6.0, "sooner": 1.0}
    monkeypatch.setattr(first_tokens, "class_times", lambda _: list(times))
    estimate = SimpleNamespace(of_passes=lambda time: np.array(times[time]), slowness=1.0)
    points = SimpleNamespace(estimate=estimate)
    kinds = [
        replace(RequestClass(name, share, Lengths.fixed(1.0, 1.0)), ttft=limit)
        for name, share, limit in (("a", 1.0, 9.0), ("b", 3.0, 8.0))
    ]
    fits = np.array([[True, True, True, False]])
    found = first_tokens.class_first_tokens(
        points, kinds, fits=fits, arrivals=np.array([0.25, 1.0, 0.25]), dp=np.array([4, 4, 1])
    )
    # 2 + 3/8 x 3, 2 + 3/4 x 3 and 2 alone; who is no slower together is as fast as alone.
    assert found.seconds.tolist() == [[3.125, 4.25, 2.0], [6.0, 6.0, 6.0]]
    assert found.limits.tolist() == [[9.0], [8.0]]
    assert found.shares.tolist() == [0.25, 0.75]


def test_the_most_that_some_chips_sustain_is_that_of_every_number_of_replicas():
    """Slots of nodes for decode and prefill replicas of random sizes, tried one by one."""
    chance = random.Random(17)
    for _ in range(2000):
        slots, prompt_slots = (float(chance.choice((1, 2, 3, 4, 5, 8))) for _ in range(2))
        node_slots, nodes = float(chance.choice((1, 2, 4, 8))), chance.randint(1, 40)
        throughput, capacity = (
            chance.choice((chance.uniform(0.5, 8.0), chance.randint(1, 8))) for _ in range(2)
        )
        packing = SimpleNamespace(
            node_chips=8, node_slots=np.array([node_slots]), slots=np.array([slots]),
            prompt_slots=np.array([prompt_slots]), nodes=np.array([slots / node_slots]),
            prompt_nodes=np.array([prompt_slots / node_slots]),
        )  # fmt: skip
        room = nodes * node_slots
        most = max(
            (
                min(decode * throughput, (room - decode * slots) // prompt_slots * capacity)
                for decode in range(1, int(room // slots) + 1)
            ),
            default=0.0,
        )
        pools = SimpleNamespace(capacity=np.array([float(capacity)]))
        found = counts_within(8.0 * nodes + 3.0, packing, np.array([float(throughput)]), pools)
        assert float(found.requests[0]) == pytest.approx(most)
