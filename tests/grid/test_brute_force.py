"""`frontier` and `plan` are what a sweep of every layout finds, in small spaces."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.core.outcome import site_of
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.legal import common_heads
from fastcalc.core.pricing import Pricing
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.errors import InputError
from fastcalc.features.frontier.search import frontier
from fastcalc.features.plan.candidates import candidates
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.grid.columns import pick
from fastcalc.grid.grid import Grid, Requests, solve_grid
from tests.features.plan.test_plan import apart, met_of, scenario, services, together
from tests.strategies import examples

CHIPS = ["h100-sxm", "b200", "mi355x", "gb200", "l40s", "wse-3", "groq-lpu", "d-matrix-corsair"]
MODELS = ["mistral-small-4-119b-2603", "gpt-oss-120b", "qwen3-30b-a3b", "deepseek-v4-flash"]
MODELS += ["llama-3.1-8b", "llama-3.2-1b", "qwen2.5-7b", "glm-5.3-flash"]
SAME = 1e-9


def every_layout(site, chips):
    """Return all that `compare` takes: whatever ranks there are, it is asked."""
    for tp, pp, dp in itertools.product(range(1, chips + 1), repeat=3):
        if tp * pp * dp > chips:
            continue
        for ep in range(1, min(tp * dp, int(site.work.experts) or 1) + 1):
            try:
                yield site.check(Layout(tp, pp, ep, dp))
            except InputError:
                continue


def within(site, layout):
    """Return whether one stage is of powers of two inside the link domain, experts divided evenly."""
    tp, dp, ep = layout.tp, layout.dp, layout.ep
    is_even = ep == 1 or (ep == tp * dp and site.work.experts % ep == 0)
    if site.domain == 72 == tp * dp == ep <= site.work.experts:
        return tp in (1, 2, 4, 8)  # a whole rack, some experts copied
    is_group = tp <= (8 if site.work.experts else site.domain) and (dp == 1 or ep > 1)
    is_group = is_group and tp <= site.domain  # beyond it only where it is asked for
    return all(ranks.bit_count() == 1 for ranks in (tp, dp)) and is_even and is_group


def people_run(site, chips):
    """Return the layouts of every one that people run: full nodes before stages, but over PCIe."""
    legal = list(every_layout(site, chips))
    if site.machine.is_spatial:
        return legal
    smallest, has_experts = site.smallest(1), bool(site.work.experts)
    domain, ranks = site.domain, range(1, site.domain + 1)
    inside = [
        tp * dp
        for tp, dp in itertools.product(ranks, ranks if has_experts else [1])
        if tp * dp <= domain and common_heads(site.work) % tp == 0
        for ep in {1, tp * dp}
        if within(site, Layout(tp, 1, ep, dp))
    ]
    is_pcie = "pcie" in str(site.machine.hardware.links.scale_up)

    def is_run(layout):
        one = replace(layout, dp=layout.dp // copies(layout, has_experts=has_experts))
        is_host = one.chips in (1, 2, 3, 4, 6) or one.chips % 8 == 0
        is_whole = one.width > 8 or is_host
        in_a_host = max(width for width in inside if width <= 8 * site.machine.ranks)
        is_stage = one.pp == 1 or (one.width in (max(inside), in_a_host) and is_whole)
        is_stage = is_stage or (is_pcie and one.chips <= domain and is_host)
        return within(site, one) and is_stage and one.pp <= 16

    run = [layout for layout in legal if is_run(layout)]
    is_held = any(site.place(layout).max_batch >= 1 for layout in run)
    alone = [layout for layout in legal if smallest is not None and layout == smallest.layout]
    return run if is_held else alone


def copies(layout, *, has_experts):
    """Return the copies of all weights, each a replica that shares nothing with the others."""
    return layout.width // max(layout.tp, layout.ep) if has_experts else layout.dp


def swept(one, chips):
    """Return speed and price of every layout, in powers of two to a copy and at its ends."""
    traffic = one.traffic
    requests = Requests(*np.array([[traffic.prompt], [traffic.output], [traffic.context]]))
    site = site_of(one, traffic.reserved)
    layouts = tuple(people_run(site, chips))
    if not layouts:
        return np.zeros((2, 0))
    whole = np.array([copies(layout, has_experts=bool(one.work.experts)) for layout in layouts])
    most = np.array([[site.place(layout).max_batch] for layout in layouts])
    ends = np.concatenate([most, most + whole[:, np.newaxis]], axis=1)
    powers = whole[:, np.newaxis] * 2.0 ** np.arange(math.log2(most.max() + 1) + 1)
    own = np.concatenate([ends, powers], axis=1)
    batches = np.unique(own[own > 0])
    grid = Grid(one, layouts, requests, batches)
    columns = solve_grid(grid, pick("tokens_per_s_per_user usd_per_mtok_output"))
    speed, usd = (np.broadcast_to(one, grid.shape)[0] for one in columns.values())
    tried = np.array([np.isin(batches, row) for row in own]) & (batches <= most)
    return np.stack([speed[tried], usd[tried]])


@pytest.mark.thorough
@examples(16)
@given(
    st.lists(st.sampled_from(CHIPS), min_size=1, max_size=2, unique=True),
    st.sampled_from(MODELS),
    st.integers(1, 9),
    st.sampled_from([Traffic(1000.0, 1000.0, 1500.0), Traffic(8000.0, 100.0, 8050.0)]),
    st.sampled_from([Speculation(), Speculation(2.0, 3.0)]),
    st.sampled_from([None, "fp8"]),
    st.floats(0.1, 1.0),
)
def test_the_frontier_is_that_of_a_sweep(names, model, chips, traffic, speculation, kv, busy):
    """Nothing beats a point of it, each is one that the sweep has, and none is missing."""
    prices = {name: float(1 + place) for place, name in enumerate(names)}
    scenarios = [
        replace(
            scenario(name, model),
            traffic=replace(traffic, speculation=speculation),
            kv=kv,
            pricing=Pricing(utilization=busy, user_prices=prices),
        )
        for name in names
    ]
    points = np.array([(one.speed, one.usd) for one in frontier(scenarios, max_chips=chips)])
    speed, usd = np.concatenate([swept(one, chips) for one in scenarios], axis=1)
    assert len(points) == 0 if not speed.size else len(points) > 0
    for one, cost in points:
        faster, cheaper = speed >= one * (1 - SAME), usd <= cost * (1 + SAME)
        better = (speed > one * (1 + SAME)) | (usd < cost * (1 - SAME))
        assert not np.any(faster & cheaper & better)
        assert np.any(np.isclose(speed, one, rtol=SAME) & np.isclose(usd, cost, rtol=SAME))
    for one, cost in zip(speed, usd, strict=True):
        assert np.any((points[:, 0] >= one * (1 - SAME)) & (points[:, 1] <= cost * (1 + SAME)))


@pytest.mark.thorough
@examples(9)
@given(
    st.lists(
        st.sampled_from(["h100-sxm", "mi300x", "b200", "wse-3", "l40s"]),
        min_size=1,
        max_size=2,
        unique=True,
    ),
    st.sampled_from(["llama-3.1-8b", "gpt-oss-120b", "qwen3-30b-a3b", "qwen2.5-7b"]),
    services,
    st.sampled_from([0.05, 0.5, 5.0]),
    st.sampled_from([1, 2, 4]),
)
def test_the_plan_is_that_of_a_sweep(chips, model, service, rate, most):
    """Over whatever layouts it thinks of itself, it finds what all that there are hold."""
    service = replace(service, rate=rate, max_chips=most)
    asked = {"prompt": service.prompt, "output": service.output}
    grids = [candidates(scenario(chip, model), **asked) for chip in chips]
    found = decide([grid for grid in grids if grid is not None], service)
    kinds = []
    for chip in chips:
        one = scenario(chip, model)
        context = service.prompt + service.output / 2
        requests = Requests(*np.array([[service.prompt], [service.output], [context]]))
        grid = Grid(one, (), requests, np.ones(1))
        site = replace(grid.site, reserved_tokens=service.prompt + service.output)
        layouts = people_run(site, most) or [Layout()]
        grid = replace(grid, layouts=tuple(layouts))
        kinds += [kind(grid, service) for kind in (together, apart)]
    met = met_of(np.concatenate([np.zeros((6, 0)), *kinds], axis=1), service)
    assert bool(met.size) == bool(found.plans)
    if met.size:
        best = found.plans[0]
        assert (best.cost, best.values["chips"]) == pytest.approx(
            min(zip(*met[:2], strict=True)), rel=1e-12
        )
