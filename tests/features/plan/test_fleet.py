"""What owned chips, a budget and a power carry, against trying everything, and by hand."""

import itertools
import json
import math
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import fastcalc as fc
from fastcalc.core.placement.layout import Layout, Layouts
from fastcalc.core.pricing import Pricing
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.errors import InputError
from fastcalc.features.plan.allocation import OwnedChips, allocate, with_next_node
from fastcalc.features.plan.candidates import candidates
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.packing import Packing, ReplicaCounts, counts_within
from fastcalc.features.plan.pool_search import PoolSearch
from fastcalc.features.plan.pools import PrefillColumns, PrefillPool
from fastcalc.features.plan.relax import fewest_owned, least_relaxed_of_fleet
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.service_asked import owned_chips, usd_a_month, watts
from tests.features.plan.test_plan import (
    CATALOGUE,
    CHIPS,
    LAYOUTS,
    MODELS,
    grid_of,
    nodes_for,
    scenario,
    services,
    slowness,
    solved,
    together,
)
from tests.helpers import run_once as run
from tests.helpers import thorough, words
from tests.strategies import examples

MONTH = 730.0


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return partial(run, capsys=capsys, monkeypatch=monkeypatch)


def carried_by_everything(grid, service, chips):
    """Return the most requests a second of every layout, batch and number of replicas."""
    requests, busy = 0.0, service.utilization
    columns = together(grid, replace(service, rate=1.0))
    in_time = (columns[2] <= service.ttft) & (columns[3] <= service.tpot)
    pools, decoders, place = [], [], 0
    link, site = grid.scenario.hardware.links.scale_out, grid.site
    for layout in grid.layouts:
        outcome = solved(grid, layout, replace(service, rate=1.0))
        if outcome is None:
            continue
        estimate, count = outcome.estimate, len(outcome.estimate.batch)
        met, place = in_time[place : place + count], place + count
        slow = slowness(estimate, service)
        replica_requests = busy * estimate.served / slow / service.output
        requests = max([requests, *(replica_requests[met] * (chips // layout.chips))])
        if link is None or site.machine.is_spatial or service.output == 1:
            continue
        speed = link.bandwidth.si * site.machine.software.link_fraction
        cache = float(grid.scenario.work.cache_bytes(service.prompt, ranks=layout.tp))
        layers = grid.scenario.work.layers
        sent = cache * math.ceil(layers / layout.pp) / layers / speed
        alone = estimate.ttft[0] * slow[0]
        pools.append((layout.chips, busy / max(alone, sent), alone, sent))
        decoding = np.maximum(service.output / estimate.total * slow, sent / layout.dp)
        meets = estimate.tpot * slow <= service.tpot
        decoders.append((layout.chips, (busy / decoding)[meets], sent))
    for width, replica_requests, received in decoders:
        for size, pool_requests, alone, sent in pools:
            if alone + max(sent, received) > service.ttft:
                continue
            for taking in range(1, chips // size + 1):
                decode = (chips - taking * size) // width
                requests = max(
                    [requests, *np.minimum(decode * replica_requests, taking * pool_requests)]
                )
    return requests


@pytest.mark.thorough
@examples(20)
@given(
    st.sampled_from(CHIPS),
    st.sampled_from(MODELS),
    services,
    st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=3, unique=True),
    st.integers(1, 24),
)
def test_a_fleet_carries_what_the_best_of_everything_does(chip, model, service, layouts, chips):
    grid = grid_of(chip, model, service, layouts, [2**power for power in range(13)])
    if not grid.layouts:
        return
    plans = search([grid]).most_on(service, chips).plans
    most = carried_by_everything(grid, service, chips)
    assert (plans[0].requests if plans else 0.0) == pytest.approx(most, rel=1e-9)
    if plans:
        assert plans[0].values["chips"] <= chips
        assert max(plans[0].misses.values()) <= 1.0


@pytest.mark.thorough
@examples(12)
@given(st.sampled_from(CHIPS), st.sampled_from(MODELS), services, st.integers(1, 16))
def test_a_rate_is_met_on_as_many_chips_as_carry_it(chip, model, service, chips):
    """What a search for a rate needs, and what chips carry, are two ways round of one thing."""
    grid = grid_of(chip, model, service, [Layout(), Layout(4), Layout(8)], [1, 16, 256])
    if not grid.layouts:
        return
    service = replace(service, max_chips=chips, objective="chips")
    carried = search([grid]).most_on(service, chips)
    rate = carried.plans[0].requests if carried.plans else 0.0
    if rate:
        assert decide([grid], replace(service, rate=rate * (1 - 1e-6))).plans
    assert not decide([grid], replace(service, rate=rate * (1 + 1e-6) + 1e-9)).plans


def test_a_budget_and_a_power_are_so_many_chips():
    """3 USD an hour are 2,190 a month; 1,730 W with host and site, as the file states."""
    service = Service(1000.0, 500.0, tpot=0.05)
    grid = grid_of("h100-sxm", "llama-3.1-8b", service, [Layout()], [1, 64, 512])
    grid = grid.part(
        scenario=replace(grid.scenario, pricing=Pricing(user_prices={"h100-sxm": 3.0}))
    )
    (five,) = search([grid]).most_on(service, 5).plans[:1]
    limits = ({"budget": 5 * 3 * MONTH}, {"budget": 5.9 * 3 * MONTH}, {"power": 5 * 1730.0})
    for limit in limits:
        (plan,) = search([grid]).most_on(replace(service, **limit), math.inf).plans[:1]
        assert plan.requests == five.requests
        assert plan.values["chips"] == 5
        # As a limit on a rate that just those carry, and on one that they do not.
        enough = replace(service, rate=five.requests * 0.999, **limit)
        assert decide([grid], enough).plans[0].values["chips"] == 5
        refused = decide([grid], replace(service, rate=five.requests * 1.05, **limit))
        assert not refused.plans
        (name,) = limit
        per_chip = 3 * MONTH if name == "budget" else 1730.0
        assert refused.relaxed[name] == pytest.approx(6 * per_chip)


def pool(chips, seconds):
    return PrefillPool(Layout(chips), 1.0, float(chips), 1.0, seconds, seconds, 0.0, 0.0)


def packing(node_chips, replica_chips, prompts=None, stages=1):
    layouts = Layouts.of([Layout(replica_chips // stages, stages)])
    return Packing.of(node_chips, layouts, prompts and PrefillColumns.of([prompts]))


@pytest.mark.parametrize(
    ("chips", "replica_chips", "carried", "prompts", "crew"),
    [
        # All inside: four of 4 chips, 2 a second each; two chips are left.
        (18, 4, 2.0, None, (4, 0, 8.0)),
        # Not even one: the one that is missing chips is what is looked at.
        (3, 4, 2.0, None, (1, 0, 2.0)),
        # A prompt takes 0.25 s of one chip: two chips take in 8 for four that decode 2 each.
        (18, 4, 2.0, pool(1, 0.25), (4, 2, 8.0)),
        # With 17 the third decodes 6, for which two take in prompts; more would not help.
        (17, 4, 2.0, pool(1, 0.25), (4, 1, 4.0)),
        # Prompts are what is slow: 2 s of 4 chips each; 1 decodes, three take in 1.5.
        (16, 4, 2.0, pool(4, 2.0), (1, 3, 1.5)),
    ],
)
def test_how_chips_are_divided(chips, replica_chips, carried, prompts, crew):
    pools = prompts and PrefillColumns.of([prompts])
    divided = counts_within(chips, packing(1, replica_chips, prompts), np.array([carried]), pools)
    requests = max(
        min(replicas * carried, taking * prompts.capacity)
        for replicas in range(1, chips)
        for taking in range(1, chips)
        if replicas * replica_chips + taking * prompts.chips <= chips
    ) if prompts else crew[2]  # fmt: skip
    assert divided.requests.item() == pytest.approx(requests)
    if crew[2] == requests:
        assert tuple(column.item() for column in divided) == crew


SIZES = st.sampled_from([1, 2, 4, 8])


@pytest.mark.thorough
@example(node=7, nodes=2, replica=(4, 3), size=1, carried=1.0, seconds=1.0)  # three nodes
@examples(60)
@given(
    st.integers(1, 8),
    st.integers(1, 6),
    st.tuples(SIZES, st.integers(1, 3)),
    st.none() | SIZES,
    st.floats(0.1, 10.0),
    st.floats(0.1, 10.0),
)
def test_no_other_division_carries_more(node, nodes, replica, size, carried, seconds):
    """Every number of both kinds of replicas that nodes hold, each stage inside one."""
    width, stages = replica
    assume(max(width, size or 1) <= node)
    prompts = size and pool(size, seconds)
    there = packing(node, width * stages, prompts, stages)
    pools = prompts and PrefillColumns.of([prompts])
    crew = counts_within(nodes * node, there, np.array([carried]), pools)
    most = nodes * (node // width)

    def are_held(decoding, taking):
        sizes = sorted([(width, decoding * stages), (size or 1, taking)], key=lambda kind: -kind[0])
        (large, many), (small, few) = sizes
        needed = nodes_for(node, large, small, many, few)
        assert there.chips(np.array([1.0 * decoding]), taking).item() == needed * node
        return needed <= nodes

    if prompts is None:
        requests = max([carried, *(n * carried for n in range(1, most + 1) if are_held(n, 0))])
    else:
        pairs = itertools.product(range(1, most + 1), range(1, nodes * (node // size) + 1))
        kinds = (pair for pair in pairs if are_held(*pair))
        requests = max((min(n * carried, k / seconds) for n, k in kinds), default=0.0)
    assert crew.requests.item() == pytest.approx(requests)
    if requests and prompts:
        assert are_held(int(crew.replicas.item()), int(crew.prompt_replicas.item()))


def test_replicas_and_a_pool_carry_what_the_slower_does():
    crew = ReplicaCounts.of(np.array([3.0]), np.array([2.0]), PrefillColumns.of([pool(1, 0.25)]))
    assert crew.requests.item() == 4.0


def search(grids):
    """Return a search of one class among some deployments."""
    only = RequestClass("", 1.0, Lengths.fixed(1000.0, 500.0))
    return PoolSearch((only,), lambda *_: grids)


def owned_of(grid, chips):
    return OwnedChips(grid.scenario.hardware, chips, 1.0, search([grid]))


def owned(chip, chips, service):
    grid = grid_of(chip, "llama-3.1-8b", service, [Layout()], [1, 64, 512])
    return owned_of(grid, chips)


def test_owned_chips_first_and_the_cheapest_on_top():
    """What the owned carry is taken off the rate; the last kind that is enough takes the fewest."""
    service = Service(1000.0, 500.0, tpot=0.05)
    h100, l40s = owned("h100-sxm", 4, service), owned("l40s", 4, service)
    chip_requests = [kind.search.most_on(service, 1).plans[0].requests for kind in (h100, l40s)]
    rented = [grid_of("b200", "llama-3.1-8b", service, [Layout()], [1, 64, 512])]
    rate = 4 * chip_requests[0] + 4 * chip_requests[1] + 1.0
    fleet = allocate([h100, l40s], search(rented), replace(service, rate=rate))
    assert [share.requests for share in fleet.allocations] == pytest.approx(
        [4 * chip_requests[0], 4 * chip_requests[1], 1.0]
    )
    cheapest = decide(rented, replace(service, rate=1.0)).plans[0]
    assert fleet.allocations[2].plan.values == pytest.approx(cheapest.values, rel=1e-6)
    rate = 4 * chip_requests[0] + 1.5 * chip_requests[1]
    fleet = allocate([h100, l40s], None, replace(service, rate=rate))
    assert [share.plan.values["chips"] for share in fleet.allocations] == [4, 2]
    assert [share.chips_left for share in fleet.allocations] == [0, 2]
    assert fleet.is_enough
    assert fleet.requests == pytest.approx(rate)


@pytest.mark.parametrize(
    "limits",
    [
        {"rate": 200.0, "chips": 2},
        {"rate": 200.0, "budget": 9000.0},
        thorough({"rate": 100.0, "power": 6000.0}),
        thorough({"rate": 60.0, "tpot": 0.01, "chips": 1}),
        {"rate": 10.0, "ttft": 0.02},
        thorough({"rate": None, "ttft": 0.02}),
    ],
)
def test_each_limit_of_a_fleet_is_relaxed_to_the_least(limits):
    """With what is returned the fleet is enough; with a hundredth less of it, or a chip, not."""
    service = Service(1000.0, 500.0, tpot=0.05).limited(limits)
    kind = owned("h100-sxm", 2, service)
    pricing = Pricing(user_prices={"h100-sxm": 2.0, "l40s": 1.0})
    grids = [
        grid.part(scenario=replace(grid.scenario, pricing=pricing))
        for chip in ("h100-sxm", "l40s")
        for grid in [grid_of(chip, "llama-3.1-8b", service, [Layout()], [1, 64, 512])]
    ]
    kind = replace(kind, search=search(grids[:1]))
    fleet = allocate([kind], search(grids), service)
    assert not fleet.is_enough
    relaxed = least_relaxed_of_fleet(fleet, search(grids))
    for name, value in relaxed.items():
        stricter = value - 1 if name == "chips" else value * 0.99
        for limit, is_enough in ((value * (1 + 1e-9), True), (stricter, False)):
            attempt = allocate([kind], search(grids), service.limited({name: limit}))
            assert attempt.is_enough is is_enough, (name, limit)
    for chips in fewest_owned(fleet, search(grids)).values():
        for count, is_enough in ((chips, True), (chips - 1, False)):
            more = replace(kind, chips=count)
            assert allocate([more], search(grids), service).is_enough is is_enough, count


@pytest.mark.parametrize(("kilowatts", "nodes"), [(13.0, 0), (15.0, 1), (27.0, 1), (28.0, 2)])
def test_a_power_is_of_all_deployments_of_owned_chips(kilowatts, nodes):
    """Sixteen in two nodes of eight at 1,730 W, 13,840 a node, carry most as two deployments."""
    service = Service(1000.0, 1000.0, tpot=0.03, in_nodes=True)
    grid = candidates(scenario("h100-sxm", "gpt-oss-120b"), prompt=1000.0, output=1000.0)
    kind = owned_of(grid, 16)
    fleet = allocate([kind], None, replace(service, power=kilowatts * 1e3))
    assert fleet.used("power") == pytest.approx(nodes * 13_840.0)
    assert fleet.requests == pytest.approx(nodes * kind.requests(service, 8))
    assert sum(share.chips_left for share in fleet.allocations) == 16 - 8 * nodes
    assert with_next_node(fleet).get("h100-sxm", 0.0) == pytest.approx(fleet.requests)


@pytest.mark.parametrize("share_of_rate", [None, 0.5, 2.0])
def test_owned_chips_cost_all_of_a_budget_whether_used_or_not(share_of_rate):
    """Four at 1 USD an hour are 2,920 a month: no budget below that is enough."""
    service = Service(1000.0, 500.0, tpot=0.05)
    kind = owned("h100-sxm", 4, service)
    rate = share_of_rate and share_of_rate * kind.requests(service, 4)
    poor = allocate([kind], kind.search, replace(service, rate=rate, budget=2919.0))
    assert not poor.is_enough
    assert poor.used("budget") == 4 * MONTH
    alone = allocate([kind], None, replace(service, rate=rate, budget=2920.0))
    assert alone.is_enough is (share_of_rate != 2.0)


@pytest.mark.parametrize("node", [("h100-sxm", 8), ("wse-3", 1), ("rtx-4090", 8), ("gb200", 72)])
def test_a_host_or_a_domain_is_not_divided(node):
    chip, chips = node
    service = Service(1000.0, 500.0)
    assert owned(chip, 1, service).node_chips == chips


ASKED = {"prompt": 4000, "output": 1000, "ttft": "1s", "tpot": "25ms"}


@pytest.mark.thorough
def test_the_headline_is_that_of_the_records():
    """Requests and tokens of the sentence are sums over the first records."""
    answer = fc.plan("llama-3.1-70b", own={"h100-sxm": 20}, **ASKED)
    first, text = answer[0], " ".join(str(answer).split())
    assert first["owned_chips"] == 20
    requests = first["service_requests_per_s"]
    assert f"{requests:.2f} requests/s, {requests * 1000:,.0f} output tokens/s" in text
    if first["chips_total"] < 20:
        assert f"Idle: {20 - first['chips_total']:.0f} of 20 h100-sxm" in text
    assert first["kwh_per_month"] == pytest.approx(first["watts"] * MONTH / 1000)
    assert first["service_output_tokens_per_s"] == pytest.approx(requests * 1000)


@pytest.mark.thorough
@pytest.mark.parametrize("chip", ["apple-m4-max", "rtx-4090"])
def test_as_many_are_served_at_once_as_arrive_meanwhile(chip, fastcalc):
    """Where full batches take several times as long as those that there are, by Little's law.

    The mean time is of the closed form that simulations of random arrivals are held against.
    """
    ran = fastcalc("plan", "gpt-oss-20b", "--own", f"{chip}=1", "--format", "json")
    document = json.loads(ran.out)
    first, seconds = document["records"][0], document["shares"][0]["percentiles"]["request_ms"]
    meanwhile = first["service_requests_per_s"] * seconds["mean"] / 1e3
    assert first["requests_in_flight"] == pytest.approx(meanwhile, rel=0.15)
    assert first["requests_in_flight"] < first["service_requests_per_s"] * seconds["p99"] / 1e3


@pytest.mark.thorough
def test_owned_chips_may_cost_nothing_and_cost_what_owning_does(fastcalc):
    """26,000 USD over four years and 1.73 kW at 0.08 USD: 0.742 + 0.138 USD an hour."""
    options = {"own": "h100-sxm=16", "on": "h100-sxm", **ASKED}
    free = fc.plan("llama-3.1-70b", price={"h100-sxm": 0}, **options)
    assert free[0]["usd_per_month"] == free[0]["service_usd_per_mtok_total"] == 0
    paid = fc.plan("llama-3.1-70b", **options)
    assert paid[0]["service_usd_per_hour"] == pytest.approx(16 * (26000 / 35040 + 1.73 * 0.08))
    refused = fc.plan("llama-3.1-70b", budget="10k/month", **options)
    assert "cost $10,283 per month, used or not" in refused.notes[0]
    poor = fc.plan("llama-3.1-70b", budget="10.3k/month", **options)
    # A node on top is 8 x 2.95 x 730 = 17,228 USD: with the owned chips 27,511, rounded up.
    assert poor.details["shares"][1]["relax"] == ["budget='27600/month'"]
    assert "Chips to rent have no plan" in " ".join(poor.notes)
    refused = fastcalc("plan", "llama-3.1-8b", "--on", "l4", "--price", "l4=0", "--rate", "1/s")
    assert refused.code == 2


@pytest.mark.thorough
def test_the_next_chip_of_a_budget_carries_less_at_any_price():
    """A dearer chip is fewer chips, so no price of the first is where the next one leads."""
    limits = {"prompt": 2000, "output": 500, "tpot": "30ms", "ttft": "1s"}
    answer = fc.plan("llama-3.1-8b", on="l40s,h100-sxm", budget="20k/month", **limits)
    (share,) = answer.details["shares"]
    second = share["runner_up"]
    carried = f"{second['service_requests_per_s']:.1f} requests/s"
    assert share["runner_up_wins_above_usd_per_chip_hour"] is None
    (note,) = [note for note in answer.notes if note.startswith("Second-best chip")]
    assert f", sustains {carried}: " in note


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        # Some deployment that misses a limit carries nothing.
        thorough("llama-3.1-8b", {"own": {"gb200": 8}, "prompt": 8000, "ttft": "10s"}, "8 gb200: sustain"),
        # Six of eight l4 draw all of the power and leave none to the rest.
        (
            "llama-3.1-70b",
            {"own": {"l4": 16, "h100-sxm": 2}, "prompt": 2000, "output": 1, "power": "1kW",
             "price_basis": "tco", "electricity": 0},
            "16 l4 and 2 h100-sxm: sustain",
        ),
    ],
)  # fmt: skip
def test_what_is_left_with_nothing_is_answered(model, options, sentence):
    defaults = {"on": "h100-sxm", "output": 100, "prefix_hit": 0.9, "api": "3/1/9", "grid": 400}
    answer = fc.plan(model, **defaults | options)
    assert sentence in " ".join(str(answer).split())
    assert answer.details["shares"]


@pytest.mark.thorough
def test_json_says_what_is_left_and_what_a_node_adds(fastcalc):
    ran = fastcalc(
        *("plan", "llama-3.1-8b", "--own", "l40s=3", "--own", "h100=1", "--tpot", "50ms"),
        *("--format", "json"),
    )
    answer = json.loads(ran.out)
    assert [share["owned_chips"] for share in answer["shares"]] == [3, 1]
    carried = [share["requests_per_s"] for share in answer["shares"]]
    assert answer["requests_per_s"] == pytest.approx(sum(carried))
    grown = answer["requests_per_s_with_next_node"]
    assert list(grown) == ["l40s", "h100-sxm"]
    assert all(total > sum(carried) for total in grown.values())


def test_a_fleet_is_divided_where_several_deployments_carry_more():
    """Sixteen and eight chips carry more apart than 24 at once, and no division does better."""
    service = Service(4000.0, 1000.0, ttft=1.0, tpot=0.025, in_nodes=True)
    grid = candidates(scenario("h100-sxm", "llama-3.1-70b"), prompt=4000.0, output=1000.0)
    kind = owned_of(grid, 24)
    alone = {count: kind.requests(service, count) for count in (8, 16, 24)}
    requests = max(alone[24], alone[16] + alone[8], 3 * alone[8])
    assert requests > alone[24] > alone[16]
    fleet = allocate([kind], None, service)
    assert fleet.requests == pytest.approx(requests)
    assert [share.chips for share in fleet.allocations] == [16, 8]
    # What a node more adds to sixteen is what all 24 carry.
    sixteen = allocate([replace(kind, chips=16)], None, service)
    assert with_next_node(sixteen) == {"h100-sxm": pytest.approx(requests)}


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"own": "h100-sxm"}, "is not CHIP=N"),
        ({"own": "=3"}, "is not CHIP=N"),
        ({"own": "h100-sxm=16=8"}, "is not a whole number"),
        ({"own": "h100-sxm=16,8"}, "is not a whole number"),
        ({"own": "h100-sxm=x"}, "is not a whole number from 1"),
        ({"own": "h100-sxm=0"}, "is not a whole number from 1"),
        ({"own": "nothing=2"}, "no hardware is called 'nothing'"),
        ({"budget": "lots"}, "is not dollars per month"),
        ({"budget": "1e400"}, "is not dollars per month"),
        ({"power": "100"}, "is not a power with its unit"),
        ({"power": "nan kW"}, "is not a power with its unit"),
        ({"own": "h100=1", "users": 500}, "users needs one of think"),
        ({"own": "h100=1", "price": {"l4": 0}}, "a price of 0 is one of chips that are owned"),
    ],
)
def test_wrong_means_are_refused(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        fc.plan("llama-3.1-8b", **wrong)


@pytest.mark.thorough
@pytest.mark.parametrize("typed", ["16xh100", "p5.48xlarge=2", "NVIDIA H100 80GB HBM3=16"])
def test_owned_chips_are_counted_as_clouds_and_drivers_name_them(typed):
    """An instance of AWS's p5.48xlarge has eight H100."""
    of_names, of_ids = (
        fc.plan("llama-3.1-8b", rate="5/s", own=own).headline for own in (typed, "h100-sxm=16")
    )
    assert of_names == of_ids


def test_means_as_typed():
    assert owned_chips(["h100-sxm=16", "l4=2k"]) == [("h100-sxm", 16), ("l4", 2000)]
    assert usd_a_month("50k/month") == usd_a_month(50000) == usd_a_month("$600,000/year") == 50000
    assert usd_a_month("2/h") == 2 * MONTH
    assert watts("0.1 MW") == 100_000


@pytest.mark.thorough
def test_what_is_infeasible_says_what_the_limits_carry(fastcalc):
    """One chip carries a part of the rate; the sentence says which, and what each limit would do."""
    command = ("plan", "llama-3.1-8b", "--on", "l40s", "--tpot", "50ms", "--max-chips", "1")
    ran = fastcalc(*command, "--rate", "50/s")
    carried = fc.plan("llama-3.1-8b", own="l40s=1", tpot="50ms")[0]["service_requests_per_s"]
    assert ran.code == 1
    assert f"within 1 chip, 1 l40s would sustain {carried:.2f} of the 50.0 requests/s" in ran.err


@pytest.mark.parametrize(
    "options",
    [
        thorough(("--rate", "20/s", "--api", "0.6/0.15/2.4")),
        (
            "--own",
            "h100-sxm=16",
            "--api",
            "0.6/0.15/0.8",
            "--grid",
            "400",
            "--kv",
            "bf16",
            "--weights",
            "bf16",
        ),
        thorough(("--own", "h100-sxm=24", "--own", "l40s=3", "--rate", "20/s")),
        thorough(("--budget", "50k/month")),
    ],
)
def test_a_first_screen_has_26_lines(fastcalc, monkeypatch, options):
    """At 80 columns, with a note at least."""
    monkeypatch.setenv("COLUMNS", "80")
    level = ("--prompt", "4000", "--output", "1000", "--ttft", "1s", "--tpot", "25ms")
    ran = fastcalc("plan", "llama-3.1-70b", "--on", "mi3*,b200,h200-sxm,b300", *level, *options)
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert len(lines) <= 26  # of which three are for prices
    assert sum(line.startswith("- ") for line in lines) >= 3  # key, a note, what else there is


@pytest.mark.thorough
@pytest.mark.usefixtures("without_regret")
def test_owned_chips_whose_requests_wait_are_relaxed_without_a_fault(fastcalc):
    """A time without a limit leaves a slack of many years, and waits that are the same."""
    ran = fastcalc("plan", "llama-3.1-8b", "--own", "l40s=1", "--on", "l40s", "--ttft", "5ms")
    assert ran.code == 1
    assert "would meet them with --ttft" in ran.err


@pytest.mark.thorough
@pytest.mark.usefixtures("without_regret")
def test_the_largest_rate_and_the_fewest_chips_are_the_least_relaxations(fastcalc):
    """With what is said there is a plan; a fiftieth beyond it there is none."""
    command = ("plan", "llama-3.1-8b", "--on", "l40s,h100-sxm", "--max-chips", "4", "--by", "chip")
    command += ("--weights", "bf16", "--kv", "bf16")
    limits = ("--ttft", "200ms", "--tpot", "20ms", "--rate", "30/s", "--prompt", "3000")
    refused = fastcalc(*command, *limits)
    options = refused.err.split("one would meet them with ")[1].split("\n")[0].split(", or ")
    relaxed = dict(words.removeprefix("or ").split() for words in options)
    assert refused.code == 1
    for flag, sign in (("--rate", 1), ("--max-chips", -1)):
        number = float(relaxed[flag].removesuffix("/s"))
        is_whole = flag != "--rate"
        beyond = number + sign * (max(number // 50, 1) if is_whole else number / 50)
        for value, code in ((number, 0), (beyond, 1)):
            text = f"{value:.0f}" if is_whole else f"{value}/s"
            assert fastcalc(*command, *limits, flag, text).code == code, (flag, value)


@pytest.mark.thorough
def test_a_limit_that_is_left_out_is_the_loosest(fastcalc):
    """Each limit allows what every shorter one does, and none allows all of that."""
    fleet = ("--own", "l40s=2", "--weights", "bf16", "--kv", "bf16", "--format", "json")
    limits = [("--ttft", limit) for limit in ("200ms", "1s", "100s")]
    carried = [
        json.loads(fastcalc("plan", "llama-3.1-8b", *fleet, *limit).out)["requests_per_s"]
        for limit in (*limits, ())
    ]
    assert 0.0 < carried[0] < carried[-1]
    assert carried == sorted(carried)


SMALL_MIX = """version: "2"
aggregate_rate: 0.1
clients:
  - {id: chat, rate_fraction: 0.8, input_distribution: 500, output_distribution: 200}
  - {id: code, rate_fraction: 0.2, input_distribution: 2000, output_distribution: 200}
"""


@pytest.mark.parametrize(
    "command",
    [
        ("--own", "rtx-4090=2"),
        thorough(
            ("--own", "rtx-4090=1", "--own", "rtx-5090=2", "--rate", "0.2/s", "--on", "rtx-5090")
        ),
        ("--budget", "700/month", "--on", "rtx-5090"),
        thorough(("--own", "rtx-5090=2", "--traffic", "mix.yaml", "--ttft", "20s")),
    ],
)
def test_fewer_bits_than_published_stand_in_headline_and_rows(
    command, fastcalc, monkeypatch, tmp_path
):
    """Weights of 70 billion parameters of two bytes are 141 GB; the chips hold 64 at most."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mix.yaml").write_text(SMALL_MIX, encoding="utf-8")
    headline, table = fastcalc("plan", "llama-3.1-70b", *command).out.split("\n\n", 1)
    phrase = "quantized further than published (bf16, cache bf16)"
    assert phrase in " ".join(headline.split())
    rows = [line for line in table.splitlines() if re.match(r"(owned|rented|\d) ", line)]
    assert rows
    key = "*: quantized, because these chips have no plan in the published precision"
    assert key in " ".join(table.split())
    assert all(re.search(r"\*.* (q4_k_m|q8_0|fp8|nvfp4) ", row) for row in rows)


@pytest.mark.thorough
def test_owned_chips_that_are_too_few_exceed_no_limit(fastcalc):
    """70 billion parameters are 141 GB at 16 bits and 71 at 8: 80 GB do not hold them for sure."""
    refused = fastcalc("plan", "llama-3.1-70b", "--own", "h100-sxm=1")
    assert refused.code == 1
    expected = "no deployment fits these chips; one would with --own h100-sxm=2"
    assert expected in " ".join(refused.err.split())
    limited = fastcalc("plan", "llama-3.1-8b", "--own", "l4=1", "--tpot", "1ms")
    assert "no deployment meets these limits; one would meet them with --tpot" in limited.err


@pytest.mark.thorough
def test_more_chips_carry_no_less_in_the_same_formats(fastcalc):
    """141 GB of weights fit eight cards of 24 GB, and four only in fewer bits."""
    documents = {
        count: json.loads(
            fastcalc("plan", "llama-3.1-70b", "--own", f"rtx-4090={count}", "--format", "json").out
        )
        for count in (4, 5, 8, 9)
    }
    plans = {count: document["records"][0] for count, document in documents.items()}
    carried = {count: plan["service_requests_per_s"] for count, plan in plans.items()}
    assert [plan["weight_format"] for plan in plans.values()] == [*["q4_k_m"] * 2, *["bf16"] * 2]
    for count in (4, 8):
        one_more = documents[count]["requests_per_s_with_next_node"]["rtx-4090"]
        assert one_more == pytest.approx(carried[count + 1])
        assert one_more >= carried[count]


@pytest.mark.parametrize(
    ("asked", "chip"),
    [
        (("llama-3.1-70b", "--weights", "q4_k_m", "--on", "l4"), "rtx-4090"),
        thorough(
            tuple("llama-3.1-70b --weights bf16 --tpot 1s --ttft 60s --on l4".split()),
            "apple-m4-max",
        ),
    ],
)
def test_single_chips_are_added_singly(asked, chip, fastcalc):
    """The least that does is suggested: one less does not."""
    refused = fastcalc("plan", *asked, "--own", f"{chip}=1")
    (suggested,) = re.findall(rf"--own {chip}=(\d+)", refused.err)
    for count, code in ((int(suggested), 0), (int(suggested) - 1, 1)):
        assert fastcalc("plan", *asked, "--own", f"{chip}={count}").code == code


def test_whole_nodes_are_added_as_nodes():
    service = Service(1000.0, 500.0, in_nodes=True)
    counts = {("h100-sxm", 16): 8, ("h100-sxm", 9): 1, ("rtx-4090", 8): 1}
    for (chip, count), node in counts.items():
        assert owned(chip, count, service).unit(service) == node


@pytest.mark.thorough
def test_first_tokens_of_classes_stand_once_and_wide_pools_have_power(
    fastcalc, monkeypatch, tmp_path
):
    """PrefillColumns have the time of first tokens only where their classes have none of theirs."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mix.yaml").write_text(SMALL_MIX, encoding="utf-8")
    command = ("plan", "llama-3.1-8b", "--traffic", "mix.yaml", "--ttft", "20s", "--on", "l40s")
    text, wide = fastcalc(*command).out, fastcalc(*command, "--wide").out
    assert text.split("- key")[0].partition("\n\n")[2].count("TTFT") == 1
    assert "kWh" not in text
    pools = wide.split("\n\n")[1].splitlines()
    assert [
        word for word in ("/s", "watts", "kWh per", "tok/s") if word not in " ".join(pools)
    ] == []
    # One l40s draws 350 W by its file, which a host and a site make more of.
    assert re.search(r"\b(\d,)?\d{3} +(\d{3})$", pools[-1])


@pytest.mark.thorough
def test_all_owned_chips_are_paid_for_and_can_carry(fastcalc):
    """Of 16 H100 and two L40S, of which eight serve; the API is set against what all of them do."""
    command = ("--own", "h100-sxm=16", "--own", "l40s=2", "--on", "l40s", "--tpot", "50ms")
    ran = fastcalc("plan", "llama-3.1-70b", *command, "--rate", "1/s", "--api", "1/1/2", "--notes")
    text = " ".join(ran.out.split())
    most = fastcalc("plan", "llama-3.1-70b", *command, "--format", "json").out
    capacity = json.loads(most)["requests_per_s"]
    month = sum(
        count * Pricing(basis="tco").per_chip_hour(CATALOGUE.hardware(chip)) * MONTH
        for chip, count in (("h100-sxm", 16), ("l40s", 2))
    )
    # A request of 1,000 and 1,000 tokens is 0.003 USD.
    share = month / (0.003 * MONTH * 3600.0) / capacity
    assert f"{100.0 * share:.1f}% of their throughput" in text
    assert "Owning all 16 h100-sxm costs" in text


@pytest.mark.thorough
@pytest.mark.parametrize("owned", [("--own", "h100-sxm=8"), ()])
def test_an_api_is_compared_once_with_all_chips(fastcalc, owned):
    """No second comparison with the part of the load that one allocation serves."""
    options = ("--on", "h100-sxm", "--rate", "3/s", "--tpot", "50ms", "--api", "1/1/2", "--notes")
    text = " ".join(fastcalc("plan", "llama-3.1-8b", *owned, *options).out.split())
    assert (
        text.count(
            "At API prices of $1 (input), $1 (cached input) and $2 (output) per million tokens"
        )
        == 1
    )
    assert text.count("of their throughput") == 1


@pytest.mark.thorough
def test_owned_and_rented_chips_are_priced_in_all(fastcalc):
    command = ("--own", "l40s=2", "--budget", "5k/month", "--on", "h100-pcie", "--tpot", "50ms")
    ran = fastcalc("plan", "llama-3.1-8b", *command, "--format", "json")
    records = json.loads(ran.out)["records"]
    owned = next(record["usd_per_month"] for record in records if record["owned_chips"])
    rented = next(record["usd_per_month"] for record in records if not record["owned_chips"])
    text = " ".join(fastcalc("plan", "llama-3.1-8b", *command).out.split())
    assert f"(${owned + rented:,.0f} in all)" in text


@pytest.mark.thorough
def test_what_keeps_owned_chips_from_a_price_is_named(fastcalc):
    """The file of an M3 Ultra has what it costs to buy, and no power."""
    chip = CATALOGUE.hardware("apple-m3-ultra-80")
    price = chip.chip_price.purchase.si
    ran = fastcalc("plan", "gpt-oss-20b", "--own", "apple-m3-ultra-80=1", "--notes")
    assert chip.power is None
    assert f"No power is known for apple-m3-ultra-80 (${price:,.0f} per chip to buy)" in words(
        ran.out
    )
    assert ran.out.startswith("1 apple-m3-ultra-80: sustains ")
    given = fastcalc(
        "plan", "gpt-oss-20b", "--own", "apple-m3-ultra-80=1", "--price", "apple-m3-ultra-80=0"
    )
    cost = "costs $0 per month, or $0/Mtok (input and output). Basis: the price set"
    assert cost in words(given.out)


def test_names_of_chips_to_rent_are_held_against_the_catalogue_first(fastcalc):
    """Even where owned chips carry all."""
    ran = fastcalc("plan", "llama-3.1-8b", "--own", "l40s=2", "--rate", "1/s", "--on", "m44")
    assert ran.code == 2
    assert "no hardware is called 'm44'; list them with 'fastcalc list hardware'" in ran.err


@pytest.mark.thorough
def test_classes_without_a_rate_are_carried_by_so_many_chips(fastcalc, tmp_path):
    """As many as a budget of as many carries, and no more chips than those."""
    mix = tmp_path / "mix.yaml"
    mix.write_text(SMALL_MIX.replace("aggregate_rate: 0.1\n", ""), encoding="utf-8")
    command = ("llama-3.1-8b", "--traffic", str(mix), "--ttft", "20s", "--on", "l40s")
    command += ("--price", "l40s=1")
    limits = (("--max-chips", "4"), ("--budget", f"{4 * MONTH + 1:.0f}/month"))
    carried = [
        json.loads(fastcalc("plan", *command, *limit, "--format", "json").out) for limit in limits
    ]
    assert carried[0]["requests_per_s"] == pytest.approx(carried[1]["requests_per_s"], rel=1e-4)
    assert sum(record["chips_total"] for record in carried[0]["records"]) <= 4
    text = fastcalc("plan", *command, "--max-chips", "4", "--emit", "vllm").out
    for served in carried[0]["classes"]:
        first = served["percentiles"]["ttft_ms"]["p99"]
        assert re.search(rf"{served['class']} {first:.0f}|{served['class']} {first:,.0f}", text)


@pytest.mark.parametrize(
    "own",
    [
        thorough("h100-sxm=12,4xh100"),
        thorough(["h100-sxm=8", "8xh100"]),
        {"h100-sxm": 8, "h100": 8},
    ],
)
def test_chips_named_again_are_added_up(own):
    planned = fc.plan("llama-3.1-8b", own=own, rate=1.0)
    assert {record["hardware"]: record["owned_chips"] for record in planned.records} == {
        "h100-sxm": 16
    }


@pytest.mark.thorough
def test_owned_chips_in_published_precision_come_first():
    """Two H100 hold llama-3.1-70b (141 GB in bf16) quantized only; eight A100 hold it in bf16.

    They serve what A100 do not, whatever the order in which they are written.
    """
    owned = ({"h100-sxm": 2, "a100-sxm-80gb": 8}, {"a100-sxm-80gb": 8, "h100-sxm": 2})
    for own in owned:
        answer = fc.plan("llama-3.1-70b", own=own, rate="3/s", tpot="60ms", on="a100-sxm-80gb")
        first = [plan for plan in answer if plan["rank"] == 1]
        formats = [(plan["hardware"], plan["weight_format"]) for plan in first]
        assert formats == [("a100-sxm-80gb", "bf16"), ("h100-sxm", "fp8")]
        rates = [plan["service_requests_per_s"] for plan in first]
        assert sum(rates) == pytest.approx(3.0)
        assert rates[0] > rates[1] > 0.0
    # Of A100 that serve all of it, no H100 runs.
    enough = fc.plan("llama-3.1-70b", own=owned[0], rate="1/s", tpot="60ms", on="a100-sxm-80gb")
    assert [plan["hardware"] for plan in enough if plan["rank"] == 1] == ["a100-sxm-80gb"]
