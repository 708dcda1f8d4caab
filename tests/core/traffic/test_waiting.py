"""Waits of requests that arrive at random: closed forms, limits, and what MLPerf measured."""

import csv
import math
import sys
from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement
from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.plan.queues import _BUSY, Queues, Slots
from fastcalc.formulas.waiting import (
    erlang_b,
    prompt_wait_percentile,
    slot_wait,
    slot_wait_percentile,
)
from fastcalc.grid.grid import Grid, Requests
from tests.helpers import ROOT, every

busy = st.floats(0.01, 0.99)
shares = st.floats(0.5, 0.999)


@given(busy, shares, st.floats(0.1, 100.0))
def test_of_one_slot_it_is_the_percentile_of_a_single_server(utilization, share, service):
    """M/M/1: a request waits longer than t with chance rho exp(-(1 - rho) t / S)."""
    wait = slot_wait_percentile(slots=1, utilization=utilization, service=service, share=share)
    longer = utilization * math.exp(-(1 - utilization) * float(wait) / service)
    assert longer == pytest.approx(min(utilization, 1 - share), rel=1e-9)


@pytest.mark.parametrize("slots", [1, 4, 40, 700])
def test_its_percentiles_average_to_the_mean_wait(slots):
    shares = (np.arange(200_000) + 0.5) / 200_000
    mean = slot_wait_percentile(slots=slots, utilization=0.9, service=5.0, share=shares).mean()
    assert mean == pytest.approx(slot_wait(slots=slots, utilization=0.9, service=5.0), rel=1e-3)


def all_busy(servers, load):
    """Erlang's recursion as he wrote it, one server after another."""
    blocked = np.ones(np.shape(load))
    for server in range(1, servers + 1):
        blocked = load * blocked / (server + load * blocked)
    return blocked


@pytest.mark.parametrize("servers", [0, 1, 31, 32, 33, 500, 8192])
def test_the_share_that_finds_all_servers_busy_is_that_of_the_recursion(servers):
    load = servers * np.array([0.3, 0.5, 0.9, 0.99, 0.999999, 1.0, 1.5])
    found = erlang_b(servers=servers, load=load)
    assert found == pytest.approx(all_busy(servers, load), rel=1e-12, abs=1e-200)


def lines_run(call):
    """How many lines of Python a call runs."""
    lines = 0

    def count(_frame, event, _argument):
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.thorough
def test_waits_before_many_slots_take_no_step_for_each_slot():
    """Erlang's recursion runs a line or more for each of 12,288 slots."""

    def waits(most):
        slots = np.linspace(most - 1000, most, 100)[:, np.newaxis]
        slot_wait_percentile(slots=slots, utilization=_BUSY, service=1.0, share=0.9)

    waits(9000)  # what a first call imports and keeps is not counted
    assert lines_run(lambda: waits(12_288)) < 12_288 / 4


def exact_share(load, time):
    """Share of waits within a time where every service takes 1: A. K. Erlang, 1909."""
    with localcontext() as context:
        context.prec = 60
        rate, total = Decimal(load), Decimal(0)
        for served in range(math.floor(time) + 1):
            late = rate * (served - Decimal(time))
            power = late**served if served else Decimal(1)
            total += power / math.factorial(served) * (-late).exp()
        return float((1 - rate) * total)


@pytest.mark.parametrize("load", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("share", [0.9, 0.95, 0.99])
def test_waits_for_prompts_are_near_the_exact_ones_of_equal_services(load, share):
    low, high = 0.0, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if exact_share(load, middle) < share else (low, middle)
    wait = float(prompt_wait_percentile(utilization=load, service=1.0, share=share))
    assert low <= wait <= 1.2 * low


def test_at_full_load_every_wait_is_endless():
    assert slot_wait_percentile(slots=64, utilization=1.0, service=1.0, share=0.5) == math.inf
    assert prompt_wait_percentile(utilization=1.0, service=1.0, share=0.5) == math.inf


@pytest.mark.thorough
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.floats(1e-3, 1.0), st.floats(0, 1), st.floats(0.1, 60)),
        min_size=1,
        max_size=20,
    ),
    shares,
    st.floats(1e-3, 10.0),
)
def test_the_most_utilization_uses_the_time_there_is(many, share, slack):
    kind, prompt, prompt_busy, holds = map(np.array, zip(*many, strict=True))
    slots = Slots(share)
    kind = slots.kinds(np.array([1.0, 12.0, 300.0])[kind])
    queues = Queues(share, prompt, prompt_busy, slots, kind, holds)
    most = queues.most(np.full(len(many), slack))
    assert np.all(queues.wait(most) <= slack * (1 + 1e-9))
    more = np.minimum(most + 1e-3, 1.0)
    assert np.all((queues.wait(more) > slack) | (most >= 0.999))
    at_most = queues.most(np.full(len(many), slack), 0.8)
    assert np.array_equal(at_most, np.minimum(most, 0.8))


def test_tabled_waits_are_those_of_the_formulas():
    slots = Slots(0.99)
    queues = Queues(0.99, np.array([0.02]), 0.4, slots, slots.kinds(np.array([64.0])), 20.0)
    for utilization in (0.5, 0.8, 0.9, 0.97, 0.995):
        slot = slot_wait_percentile(slots=64, utilization=utilization, service=20.0, share=0.99)
        prompt = prompt_wait_percentile(utilization=0.4 * utilization, service=0.02, share=0.99)
        exact = np.hypot(slot, prompt)
        assert queues.wait(np.array([utilization])) == pytest.approx(float(exact), rel=0.01)


class Even:
    """Slots for which the wait is the share of them that is taken, in times of holding one."""

    def waits(self, kind, level):
        assert kind == 7
        return _BUSY[level]


@every("alone", [1.0, 0.5, 0.1])
def test_fewer_slots_are_taken_where_few_requests_are_done_sooner(alone):
    """Of a utilization u a share of u h / (1 - u (1 - h)) is taken, with h of the time alone."""
    queues = Queues(0.99, 0.0, 0.0, Even(), 7, 20.0, alone=alone)
    for level in (0, 1, 100, 300, 511):
        u = _BUSY[level]
        taken = u * alone / (1 - u * (1 - alone))
        at = next(busy for busy in _BUSY if busy >= taken * (1 - 1e-12))
        by_hand = at * 20.0 * (1 - at) / (1 - u)
        assert float(queues._slot_waits(np.array([level]))[0]) == pytest.approx(by_hand, rel=0.03)
        assert float(queues.wait(np.array([u]))[0]) == pytest.approx(by_hand, rel=0.03)


@every("share,under_way", [(0.5, 0.0), (0.3, 0.0), (0.9, 0.4), (0.99, 0.49)])
def test_half_of_the_pass_under_way_is_waited_for_by_half_of_the_requests(share, under_way):
    """A pass of 2 s: the wait for its end is even, and half of it is counted elsewhere."""
    queues = Queues(share, 0.0, 0.0, step=2.0)
    for utilization in (0.0, 0.5, 0.999):
        assert float(queues.wait(np.array([utilization]))[0]) == pytest.approx(2.0 * under_way)
    assert np.isinf(queues.wait(np.array([1.0]))[0])


@every("slack,utilization,most", [(0.81, 1.0, 0.9999), (0.79, 1.0, 0.0), (0.81, 0.7, 0.7)])
def test_the_most_utilization_where_the_wait_does_not_depend_on_it(slack, utilization, most):
    """0.8 s for the pass under way."""
    queues = Queues(0.9, 0.0, 0.0, step=2.0)
    assert float(queues.most(np.array([slack]), utilization)[0]) == pytest.approx(most, abs=1e-9)


OUTPUT = {"llama-2-70b": 294.45, "mixtral-8x7b": 145.9}
"""Mean tokens of an answer in the reference runs of MLPerf Inference 4.1."""


def test_what_a_limit_on_the_first_token_costs_is_what_mlperf_measured():
    """With a 99th percentile of 2 s (mlcommons/inference, issue 1593), against no limit.

    Nothing is fitted: slots are what the memory holds, and how long one is held follows from the
    rate that was measured without a limit.
    """
    ratios, table = [], Slots(0.99)
    for free, limited in pairs():
        slots = held(free)
        replicas = int(free["chips"])  # each of these models fits one of these chips
        rate = float(free["value"]) / replicas / OUTPUT[free["model"]]
        kind = table.kinds(np.array([slots]))
        queues = Queues(0.99, np.zeros(1), 0.0, table, kind, slots / rate)
        (most,) = queues.most(np.array([2.0]))
        ratios.append(most / (float(limited["value"]) / float(free["value"])))
    assert len(ratios) == 17
    errors = np.maximum(ratios, 1 / np.array(ratios))
    assert np.median(errors) < 1.03
    assert np.percentile(errors, 90) < 1.08
    assert 0.98 < np.median(ratios) < 1.03


def pairs():
    """Yield runs without a limit and with one, of the same machine one after the other."""
    with (ROOT / "evidence" / "measured.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["id"].startswith("mlperf41-")]
    same = ("hardware", "chips", "model", "weights")
    for free, limited in pairwise(rows):
        kinds = ("e2e_saturated" in free["notes"], "e2e_slo" in limited["notes"])
        if (
            all(kinds)
            and free["model"] in OUTPUT
            and all(free[key] == limited[key] for key in same)
        ):
            yield free, limited


def held(row):
    """Return the sequences that one chip holds, by the placement."""
    entries = Catalogue()
    scenario = Scenario(
        entries.hardware(row["hardware"]),
        entries.model(row["model"]),
        entries.engine(row["engine"]),
        (1,),
        Traffic(1.0, 1.0, 1.0),
        weights=row["weights"],
        kv="fp8",
    )
    nothing = np.array([1.0])
    site = Grid(scenario, (), Requests(nothing, nothing, nothing), nothing).site
    tokens = 294.0 + OUTPUT[row["model"]]
    place = Placement(site.machine, site.work, Layout(), tokens)
    return float(place.max_batch)
