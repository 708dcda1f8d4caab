"""What chips and money carry of classes of requests, against trying every division of them."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.core.load import Percentiles, Spread
from fastcalc.core.placement.layout import Layout
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.features.plan.allocation import OwnedChips, allocate
from fastcalc.features.plan.class_groups import Groups
from fastcalc.features.plan.class_table import ServedClass
from fastcalc.features.plan.pool_search import PoolSearch
from fastcalc.features.plan.refusal import mix_refusals
from fastcalc.features.plan.service import Service
from fastcalc.formulas.money import HOURS_PER_MONTH
from tests.features.plan.test_plan import LAYOUTS
from tests.features.plan.test_sharing import (
    CHIPS,
    MODELS,
    classes_of,
    every_replica,
    grid_of,
    kinds,
    partitions,
)
from tests.helpers import thorough
from tests.strategies import examples


def search_of(classes, chips, model, layouts):
    """Return a search over a few layouts, whose formats are the model's own."""

    def grids_for(members, service, names):
        wanted = chips if names is None else [chip for chip in chips if chip in names]
        grids = [grid_of(chip, model, layouts, service) for chip in wanted]
        return [grid for grid in grids if grid.layouts]

    return PoolSearch(classes, grids_for)


def replicas_of(members, chips, model, layouts, price):
    """Return what one replica costs and the most it carries, of every layout that meets limits."""
    service = replace(Service(1.0, 1.0).of_classes(members, 1.0), classes=members)
    return [
        (width * price(grid.scenario), max(carried[over <= 1.0]))
        for chip in chips
        for grid in [grid_of(chip, model, layouts, service)]
        for width, carried, over in every_replica(grid, service)
        if any(over <= 1.0)
    ]


def most_of_everything(classes, chips, model, layouts, price, limit):
    """Return the most requests of all classes, by every grouping at every rate of some replicas."""
    most = 0.0
    for groups in partitions(list(classes)):
        shares = [sum(kind.share for kind in group) for group in groups]
        replicas = [replicas_of(group, chips, model, layouts, price) for group in groups]
        rates = [
            count * carried / share
            for share, ways in zip(shares, replicas, strict=True)
            for cost, carried in ways
            for count in range(1, int(limit / cost) + 1)
        ]
        for rate in rates:
            costs = [
                min(
                    (math.ceil(rate * part / carried - 1e-9) * cost for cost, carried in each),
                    default=math.inf,
                )
                for part, each in zip(shares, replicas, strict=True)
            ]
            if sum(costs) <= limit:
                most = max(most, rate)
    return most


@pytest.mark.thorough
@examples(8)
@given(
    st.lists(kinds, min_size=2, max_size=2),
    st.lists(st.sampled_from(CHIPS), min_size=1, max_size=2, unique=True),
    st.sampled_from(MODELS),
    st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=2, unique=True),
    st.integers(1, 16),
    st.booleans(),
    st.sampled_from(["usd", "chips"]),
)
def test_it_is_the_most_of_every_division(
    drawn, chips, model, layouts, count, is_budget, objective
):
    """Whatever is to be least of what carries as much."""
    classes = classes_of([(lengths, 0.0, *limits) for lengths, _, *limits in drawn])
    search = search_of(classes, chips, model, layouts)

    def price(scenario):
        usd = scenario.pricing.per_chip_hour(scenario.hardware)
        return usd * HOURS_PER_MONTH if is_budget else 1.0

    limit = count * (2000.0 if is_budget else 1.0)
    means = {"budget" if is_budget else "max_chips": limit, "objective": objective}
    sharing = search.pools_for(Service(1.0, 1.0, **means))
    most = most_of_everything(classes, chips, model, layouts, price, limit)
    assert sharing.rate == pytest.approx(most, rel=1e-5)
    bills = (pool.plan.usd_per_month if is_budget else pool.chips for pool in sharing.pools)
    assert sum(bills) <= limit * (1 + 1e-9)


@pytest.mark.thorough
def test_owned_chips_first_and_the_rest_on_top():
    """What is owned carries a part; what is rented the rest; both count against one budget."""
    classes = classes_of([((2000.0, 500.0), 0.0, 2.0, 0.05), ((200.0, 50.0), 0.0, 2.0, 0.05)])
    owned, rented = (
        search_of(classes, [chip], "llama-3.1-8b", [LAYOUTS[0]]) for chip in ("h100-sxm", "b200")
    )
    hardware = owned.grids_for(classes, Service(1.0, 1.0).of_classes(classes, 1.0), None)[0]
    chips = OwnedChips(hardware.scenario.hardware, 2, 1.0, owned)
    service = Service(1.0, 1.0)
    alone = allocate([chips], rented, service)
    assert alone.requests == owned.pools_for(replace(service, max_chips=2, objective="chips")).rate
    rate = 3.0 * alone.requests
    both = allocate([chips], rented, replace(service, rate=rate))
    assert [share.requests for share in both.allocations] == pytest.approx(
        [alone.requests, 2.0 * alone.requests]
    )
    assert both.is_enough
    bill = sum(pool.plan.usd_per_month for pool in both.allocations[1].sharing.pools)
    budget = 2 * HOURS_PER_MONTH + bill + 0.01
    assert allocate([chips], rented, replace(service, budget=budget, rate=rate)).is_enough
    less = allocate([chips], rented, replace(service, budget=budget - 1.0, rate=rate))
    assert not less.is_enough
    assert less.allocations[1].sharing.needed == {"budget": pytest.approx(bill)}
    (sentence,) = [words for words in mix_refusals(less) if "all classes together" in words]
    with_more = float(sentence.split("budget\ue002")[-1].split("/month")[0])
    assert budget - 1.0 < with_more < budget * 1.01
    # Two at 1 USD an hour are 1,460 a month, used or not, whatever they carry.
    poor = allocate([chips], rented, replace(service, budget=1459.0))
    assert poor.serves_all
    assert not poor.is_enough
    assert "$1,460 per month, used or not" in mix_refusals(poor)[0]


@pytest.mark.parametrize("chip", ["gh200-96gb", thorough("h100-sxm")])
@pytest.mark.parametrize("rate", [thorough(0.5), 28.0])
def test_what_classes_share_costs_no_less_than_any_of_them_may(chip, rate):
    """By that bound chips are left out. A class costs more alone within its limits.

    Long prompts with short answers: alone nearly each pass has a prompt in it, and takes too long.
    """
    kinds = ((975, 156, 6.762, 0.025), (8265, 271, 30.256, 0.03), (33157, 42, 2.362, 0.029))
    classes = tuple(
        RequestClass(f"{place}", share, Lengths.fixed(prompt, output), ttft=ttft, tpot=tpot)
        for place, (share, (prompt, output, ttft, tpot)) in enumerate(
            zip((0.33, 0.542, 0.128), kinds, strict=True)
        )
    )
    search = search_of(classes, [chip], "llama-3.1-8b", [Layout(), Layout(2)])
    groups = Groups(
        classes, search.grids_for, lambda _: True, Service(1.0, 1.0, share=0.99), is_narrow=False
    )
    options = groups.groupings(rate)
    alone = {kind: group for group in options[-1] for kind in group.classes}
    for group in (group for option in options for group in option):
        bounds = [alone[kind].least_costs(rate)[chip] for kind in group.classes]
        (option,), (in_shared_nodes, in_own_nodes) = group.least_on_chips(rate), max(bounds)
        assert option.cost_of_filled(rate * group.share) >= in_shared_nodes
        assert option.cost(rate * group.share) >= in_own_nodes
    ((shared,), apart) = options[0], options[-1]
    if rate > 1.0:
        costs = [group.costs_on_chips(rate)[chip] for group in (shared, *apart)]
        assert max(costs[1:]) > costs[0]


@pytest.mark.thorough
def test_a_power_runs_whole_nodes_of_owned_chips():
    """Eight at 1,730 W are 13,840: 27 kW hold a node of two, and fifteen chips where these count.

    What a node of a mix carries is what eight such chips carry.
    """
    classes = classes_of([((2000.0, 500.0), 0.0, 2.0, 0.05), ((200.0, 50.0), 0.0, 2.0, 0.05)])
    search = search_of(classes, ["h100-sxm"], "llama-3.1-8b", [LAYOUTS[0]])
    hardware = search.grids_for(classes, Service(1.0, 1.0).of_classes(classes, 1.0), None)[0]

    def fleet(chips, in_nodes, power=math.inf):
        owned = OwnedChips(hardware.scenario.hardware, chips, 1.0, search)
        return allocate([owned], search, Service(1.0, 1.0, power=power, in_nodes=in_nodes))

    eight, fifteen = (fleet(count, in_nodes=False).requests for count in (8, 15))
    assert fleet(16, in_nodes=True, power=27_000.0).requests == pytest.approx(eight)
    assert fleet(16, in_nodes=False, power=27_000.0).requests == pytest.approx(fifteen)
    assert fleet(16, in_nodes=True, power=27_000.0).used("power") == pytest.approx(8 * 1730.0)
    assert fleet(16, in_nodes=True, power=13_000.0).requests == 0.0


def test_a_class_is_over_its_limit_at_the_percentile_that_is_to_meet_it():
    """Of 100 ms: p95 is 90, p99 is 105. Without percentiles a planned wait is no mean."""
    kind = RequestClass("docs", 1.0, Lengths.fixed(1000.0, 100.0), ttft=1.0, tpot=0.1)
    spread = Spread(0.05, (0.05, 0.08, 0.09, 0.105))
    ran = Percentiles(ttft=spread, tpot=spread, request=spread)
    over = [ServedClass(kind, 1, 0.9, 0.1, share, ran).over("tpot") for share in (0.95, 0.98, 0.99)]
    assert over == [None, None, 0.105]
    for limit, is_over in ((1.0, False), (0.105, False), (0.1049, True)):
        limited = ServedClass(replace(kind, ttft=limit), 1, 0.9, 0.1, 0.99, ran)
        assert (limited.over("ttft") is not None) is is_over
    assert ServedClass(kind, 1, 0.9, 0.1, 0.99, ran).mean("ttft") == 0.05
    assert ServedClass(kind, 1, 0.9, 0.1, 0.99).mean("ttft") is None
    assert ServedClass(kind, 1, 0.9, 0.1, None).mean("ttft") == 0.9
