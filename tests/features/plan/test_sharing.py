"""Classes on replicas of their own or shared: what trying every pool on every layout finds."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.core import timeline
from fastcalc.core.outcome import solve
from fastcalc.core.scenario import Sharding
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.features.plan.pool_search import PoolSearch
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import EVERY_GROUP
from fastcalc.features.plan.sharing import partitions as groupings
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.grid.grid import Grid, Requests
from fastcalc.grid.request_lists import MixedRequests
from tests.features.plan.test_plan import LAYOUTS, cost, legal, replicas_for, scenario
from tests.strategies import examples

CHIPS = ["h100-sxm", "mi300x", "b200", "l40s"]
MODELS = ["llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-120b"]
BATCHES = np.array([2.0**power for power in range(13)])

kinds = st.builds(
    lambda prompt, output, hit, ttft, tpot: ((prompt, output), hit, ttft, tpot),
    st.sampled_from([200.0, 2000.0, 20_000.0]),
    st.sampled_from([50.0, 500.0]),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from([0.3, 2.0, math.inf]),
    st.sampled_from([0.01, 0.05, math.inf]),
)


def classes_of(drawn):
    return tuple(
        RequestClass(f"{place}", 1 / len(drawn), Lengths.fixed(*lengths), *limits)
        for place, (lengths, *limits) in enumerate(drawn)
    )


def grid_of(chip, model, layouts, service):
    deployment = scenario(chip, model)
    deployment = replace(
        deployment, traffic=replace(deployment.traffic, prefix_hit=service.prefix_hit)
    )
    prompt, output = service.prompt, service.output
    requests = Requests(*np.array([[prompt], [output], [prompt + output / 2]]))
    longest = prompt + output
    if service.classes:
        requests = MixedRequests.of(service.classes)
        longest = requests.traffic(deployment.traffic).longest
    grid = Grid(deployment, (), requests, BATCHES)
    site = replace(grid.site, reserved_tokens=longest)
    placeable = [layout for layout in legal(grid, layouts) if site.place(layout).max_batch >= 1]
    return replace(grid, layouts=tuple(placeable))


def every_replica(grid, service):
    """Yield of each layout its chips and, by batch, what it carries and the most over its limits."""
    for layout in grid.layouts:
        mix = Mix.of(service.classes, grid.scenario.traffic.speculation)
        placed = Sharding(None, layout.tp, layout.pp, layout.ep, layout.dp)
        deployment = replace(
            grid.scenario, sharding=placed, traffic=mix, batches=tuple(range(1, 4098))
        )
        outcome = solve(deployment)
        estimate, place = outcome.estimate, outcome.placement
        limit = place.machine.software.max_sequences * layout.dp
        usable = estimate.is_certain & (estimate.batch <= limit)
        run = estimate.batch * mix.output / estimate.served
        over = estimate.tpot_in_traffic / service.tpot
        for number, kind in enumerate(service.classes):
            passes = Schedule(
                place, Mix.of(service.classes, mix.speculation, number), estimate.batch
            )
            alone = timeline.first_token(passes).seconds
            mixed = passes.chunks * np.maximum(estimate.passes.mixed.seconds, estimate.tpot)
            often = np.minimum(estimate.batch / run * alone, 1) * (layout.dp - 1) / layout.dp
            first = alone + often * np.maximum(mixed - alone, 0)
            over = np.maximum(over, first / kind.ttft)
        yield layout.chips, (estimate.batch / run)[usable], over[usable]


def shared(grid, service):
    """Return every deployment of classes that share replicas: cost, chips, most over its limits."""
    columns = []
    for width, carried, over in every_replica(grid, service):
        chips = replicas_for(service.rate, 1.0 / carried) * width
        columns.append(np.stack([cost(grid.scenario, service, chips), chips, over]))
    return np.concatenate([np.zeros((3, 0)), *columns], axis=1)


def least_cost(grids, service):
    """Return what one pool costs at least, of everything that there is."""
    everything = np.concatenate([shared(grid, service) for grid in grids], axis=1)
    return min(everything[0][everything[2] <= 1.0], default=math.inf)


def test_a_few_classes_are_grouped_in_every_way_and_many_in_their_order():
    """Three classes, bits 1, 2 and 4, have five groupings; four in a row have eight."""
    assert sorted(map(sorted, groupings(3))) == [[1, 2, 4], [1, 6], [2, 5], [3, 4], [7]]
    assert EVERY_GROUP == 3
    assert sorted(map(sorted, groupings(4))) == [
        *([1, 2, 4, 8], [1, 2, 12], [1, 6, 8], [1, 14]),
        *([3, 4, 8], [3, 12], [7, 8], [15]),
    ]


def partitions(classes):
    """Yield every way to group classes."""
    if not classes:
        yield []
        return
    first, *tail = classes
    for groups in partitions(tail):
        yield [(first,), *groups]
        for place, group in enumerate(groups):
            yield [*groups[:place], (first, *group), *groups[place + 1 :]]


@pytest.mark.thorough
@examples(5)
@given(
    st.lists(kinds, min_size=2, max_size=3),
    st.lists(st.sampled_from(CHIPS), min_size=1, max_size=2, unique=True),
    st.sampled_from(MODELS),
    st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=2, unique=True),
    st.sampled_from([0.5, 7.0, 90.0]),
)
def test_it_is_what_trying_every_pool_finds(drawn, chips, model, layouts, rate):
    drawn = [(lengths, 0.0, *limits) for lengths, _, *limits in drawn]
    classes = classes_of(drawn)

    def service_of(members):
        share = sum(kind.share for kind in members)
        return replace(
            Service(1.0, 1.0).of_classes(tuple(members), rate * share), classes=tuple(members)
        )

    def grids_for(members, service, names):
        wanted = chips if names is None else [chip for chip in chips if chip in names]
        grids = [grid_of(chip, model, layouts, service) for chip in wanted]
        return [grid for grid in grids if grid.layouts]

    def brute(members):
        service = service_of(members)
        return least_cost([grid_of(chip, model, layouts, service) for chip in chips], service)

    sharing = PoolSearch(classes, grids_for).pools_for(Service(1.0, 1.0, rate=rate))
    costs = [sum(map(brute, groups)) for groups in partitions(list(classes))]
    lowest_cost = min(costs)
    assert bool(sharing.pools) == (lowest_cost < math.inf)
    if sharing.pools:
        assert sum(pool.cost for pool in sharing.pools) == pytest.approx(lowest_cost, rel=1e-12)


@pytest.mark.thorough
@examples(5)
@given(
    st.lists(kinds, min_size=2, max_size=3),
    st.lists(st.sampled_from(CHIPS), min_size=1, max_size=2, unique=True),
    st.sampled_from(MODELS),
    st.sampled_from([0.5, 7.0, 90.0]),
)
def test_pools_fill_whole_nodes_together(drawn, chips, model, rate):
    """No layout and chip of each pool costs less, where eight slots hold stages of 1, 2, 4 or 8."""
    classes = classes_of([(lengths, 0.0, *limits) for lengths, _, *limits in drawn])
    layouts = [layout for layout in LAYOUTS if layout.width in (1, 2, 4, 8)]

    def grids_for(members, service, names):
        wanted = chips if names is None else [chip for chip in chips if chip in names]
        grids = [grid_of(chip, model, layouts, service) for chip in wanted]
        return [grid for grid in grids if grid.layouts]

    def deployed(members):
        """Each chip, chips of a node, price of one, and chips that replicas of a layout take."""
        share = sum(kind.share for kind in members)
        service = Service(1.0, 1.0).of_classes(tuple(members), rate * share)
        service = replace(service, classes=tuple(members))
        for chip in chips:
            grid = grid_of(chip, model, layouts, service)
            hardware, price = grid.scenario.hardware, grid.scenario.pricing
            for width, carried, over in every_replica(grid, service):
                if any(over <= 1.0):
                    count = math.ceil(rate * share / max(carried[over <= 1.0]) - 1e-9)
                    size = hardware.node_chips or 1
                    yield chip, size, price.per_chip_hour(hardware), count * width

    def bill(pools):
        taken = {}
        for chip, size, usd, count in pools:
            before = taken.get(chip, (size, usd, 0))[-1]
            taken[chip] = (size, usd, before + count)
        return sum(math.ceil(count / size) * size * usd for size, usd, count in taken.values())

    service = Service(1.0, 1.0, rate=rate, in_nodes=True)
    sharing = PoolSearch(classes, grids_for).pools_for(service)
    lowest = min(
        (
            bill(pools)
            for groups in partitions(list(classes))
            for pools in itertools.product(*map(deployed, groups))
        ),
        default=math.inf,
    )
    assert bool(sharing.pools) == (lowest < math.inf)
    if sharing.pools:
        assert sum(pool.cost for pool in sharing.pools) == pytest.approx(lowest, rel=1e-12)
        usd = sum(pool.plan.usd_per_month for pool in sharing.pools)
        assert usd == pytest.approx(lowest * HOURS_PER_MONTH)
