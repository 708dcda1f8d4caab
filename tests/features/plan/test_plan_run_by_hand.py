"""What a plan refuses before it searches, and the share of a trace that its memory finds."""

from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from types import SimpleNamespace

import pytest

from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.reuse import Reuse
from fastcalc.errors import InputError
from fastcalc.features.plan import run as plan_run
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.run import (  # fmt: skip
    Planned,
    _caches_note,
    _found_by,
    _planned_for,
    _refuse_together,
    _refuse_without_range,
    _refuse_without_rate,
    _with_caches,
)
from fastcalc.features.plan.service import Service
from fastcalc.importers.workloads import AskedTraffic
from fastcalc.mentions import as_flags
from tests.helpers import every


def asked(**options):
    return FindPlans(model="m", on="c", **options)


def refused(function, *known):
    """What is refused, as the command line says it; empty if nothing is."""
    try:
        function(*known)
    except InputError as error:
        return as_flags(error.args[0])
    return ""


ONE_CLASS = "takes one request class, and --traffic has several: leave one out, or give --prompt"
FOR_A_RATE = "--sensitivity compares chips that are rented for a rate: give --rate 20/s"
NEEDS_A_RATE = "--prompts-on needs a rate, which says how many chips prefill its prompts"


@every(
    "options,is_mix,sentence",
    [
        ({}, True, ""),
        ({"sensitivity": True, "rate": "2/s"}, False, ""),
        ({"sensitivity": True, "rate": "2/s"}, True, f"--sensitivity {ONE_CLASS}"),
        ({"prompts_on": "b", "rate": "2/s"}, True, f"--prompts-on {ONE_CLASS}"),
        # Chips that are owned, or a budget, without a rate of any kind.
        ({"sensitivity": True, "budget": "9/month"}, False, FOR_A_RATE),
        ({"sensitivity": True, "own": "c=8"}, False, FOR_A_RATE),
        ({"sensitivity": True, "own": "c=8", "rate": "2/s"}, False, ""),
        ({"sensitivity": True, "own": "c=8", "users": 9.0}, False, ""),
        ({"sensitivity": True, "own": "c=8", "traffic": "t.yaml"}, False, ""),
        ({"own": "c=8"}, False, ""),
        ({"sensitivity": True}, False, ""),
        ({"prompts_on": "b"}, False, NEEDS_A_RATE),
        ({"prompts_on": "b", "users": 9.0}, False, ""),
        ({"prompts_on": "b", "traffic": "t.yaml"}, False, ""),
    ],
)
def test_what_cannot_be_asked_together(options, is_mix, sentence):
    said = refused(_refuse_together, asked(**options), is_mix)
    assert said.startswith(sentence)
    assert bool(said) == bool(sentence)


@every(
    "options,rate,is_refused",
    [
        ({"traffic": "t.yaml"}, None, True),
        ({"traffic": "t.yaml"}, 2.0, False),
        ({}, None, False),
        ({"traffic": "t.yaml", "own": "c=8"}, None, False),
        ({"traffic": "t.yaml", "budget": "9/month"}, None, False),
        ({"traffic": "t.yaml", "max_chips": 8}, None, False),
    ],
)
def test_a_file_without_a_rate(options, rate, is_refused):
    sentence = "t.yaml: says no rate; write aggregate_rate: 20, or give --rate 20/s or --users 500"
    assert refused(_refuse_without_rate, asked(**options), rate) == sentence * is_refused


@every("deviations,low,is_refused", [(1.0, None, True), (1.0, 0.5, False), (0.0, None, False)])
def test_a_confidence_of_an_engine_without_ranges(deviations, low, is_refused):
    plan = SimpleNamespace(
        replica=SimpleNamespace(estimate=SimpleNamespace(low=low)),
        scenario=SimpleNamespace(engine=SimpleNamespace(id="ideal")),
    )
    fleet = SimpleNamespace(
        service=SimpleNamespace(deviations=deviations),
        allocations=[SimpleNamespace(plans=[plan])],
    )
    sentence = "--confidence uses ranges, and ideal has none; leave it out"
    assert refused(_refuse_without_range, fleet) == sentence * is_refused


@dataclass(frozen=True)
class Kind:
    """A class of requests of which a share is found."""

    prefix_hit: float = 0.0
    lengths: object = None


class Found(Reuse):
    """A trace of which a memory of t tokens finds t / 1000."""

    def __init__(self):
        """Have nothing of a trace but what is found of it."""

    def hit(self, tokens):
        return tokens / 1000.0


TRACE = AskedTraffic((Kind(),), 2.0, {}, Found())


def planned(traffic, *sizes):
    """Replicas, tokens that the memory of each leaves: a pool for each pair."""
    plans = [SimpleNamespace(replica=size, replicas=count, scenario=None) for count, size in sizes]
    fleet = SimpleNamespace(allocations=[SimpleNamespace(plans=plans[:1])] * bool(plans))
    fleet.allocations += [SimpleNamespace(plans=plans[1:])]
    return Planned(traffic, None, fleet)


@pytest.fixture
def memory(monkeypatch):
    """A token of a cache is 4 bytes."""

    def of(replica, *_):
        return SimpleNamespace(own_size=replica * 4.0, bytes_per_token=4.0)

    monkeypatch.setattr(plan_run, "CachedDeployment", of)


def test_the_memory_of_all_replicas_finds_a_share(memory):
    """3 x 100 and 2 x 50.05 tokens are 400.1, of 1,000: rounded down to four digits."""
    assert _found_by(planned(TRACE, (3.0, 100.0), (2.0, 50.05))) == pytest.approx(0.4001)
    assert _found_by(planned(TRACE, (1.0, 400.19))) == 0.4001
    assert _found_by(planned(TRACE)) == 0.0


def test_a_plan_finds_no_less_than_it_is_made_for(memory):
    """A plan for a share of s finds 0.5 - 0.25 s: 0.5 of none, 0.375 of 0.5, 0.406 of 0.375."""
    shares, of_all = [], []

    def best_for(traffic):
        share = traffic.classes[0].prefix_hit
        shares.append(share)
        return planned(traffic, (1.0, 500.0 - 250.0 * share))

    def planned_for(traffic):
        of_all.append(traffic.classes[0].prefix_hit)
        return best_for(traffic)

    plan = _with_caches(TRACE, planned_for, best_for)
    assert plan.traffic.classes[0].prefix_hit == 0.375
    assert (shares, of_all) == ([0.0, 0.5, 0.375, 0.375], [0.375]), "the others are found once"
    shares.clear()
    fixed = replace(TRACE, reuse=None)
    assert _with_caches(fixed, planned_for, best_for).traffic is fixed
    assert shares == [0.0]


def test_a_best_plan_that_checks_replace_is_searched_with_the_others(memory):
    """Alone the best leaves 100 tokens more than the one that is first among all."""
    of_all = []

    def best_for(traffic):
        return planned(traffic, (1.0, 600.0 - 250.0 * traffic.classes[0].prefix_hit))

    def planned_for(traffic):
        share = traffic.classes[0].prefix_hit
        of_all.append(share)
        return planned(traffic, (1.0, 500.0 - 250.0 * share))

    plan = _with_caches(TRACE, planned_for, best_for)
    assert of_all == [0.45, 0.0, 0.5, 0.375]
    assert plan.traffic.classes[0].prefix_hit == 0.375


def test_the_share_that_is_found_is_said():
    (said,) = _caches_note(TRACE.with_found(0.1234))
    assert said.startswith(
        "prefix-cache hit rate of this trace: 12.34% of prompt tokens, if the cache"
    )
    assert not [*_caches_note(replace(TRACE, reuse=None))]


@every(
    "options,classes,rate,of_file,asked_for,is_fleet",
    [
        ({}, 1, 2.0, None, 2.0, False),
        ({}, 1, 2.0, 3.0, 2.0, False),
        ({}, 2, None, 3.0, 3.0, False),
        ({}, 1, None, None, None, False),
        # Without a rate means, or chips for several classes, sustain what they can.
        ({"budget": "9/month"}, 1, None, None, None, True),
        ({"budget": "9/month"}, 1, 2.0, None, 2.0, False),
        ({"max_chips": 8}, 1, None, None, None, False),
        ({"max_chips": 8}, 2, None, None, None, True),
    ],
)
def test_what_fleets_are_asked_for(options, classes, rate, of_file, asked_for, is_fleet):
    found = []
    kinds = tuple(
        RequestClass(f"{place}", 1 / classes, Lengths.fixed(1000.0, 500.0))
        for place in range(classes)
    )
    traffic = AskedTraffic(kinds, of_file, {})
    request = asked(**options, **({"traffic": "t.yaml"} if of_file else {}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_run, "owned_counts", lambda _: {})
        patch.setattr(
            plan_run, "allocate", lambda owned, _, service: found.append((owned, service))
        )
        planned_ = _planned_for(request, Service(1000.0, 500.0, rate=rate), [], traffic)
    ((owned, service),) = found
    assert planned_.traffic is traffic
    assert (owned, service.rate, service.is_fleet) == ([], asked_for, is_fleet)
    assert len(service.classes) == (classes if classes > 1 else 0)


def test_owned_chips_have_prices_of_their_own(monkeypatch):
    """Those that are rented have the other prices."""
    seen = []

    class Known:
        search = "search"

        def __init__(self, request, *_):
            seen.append(request.price)

        def owned(self, *known):
            return known

    monkeypatch.setattr(plan_run, "Deployments", Known)
    monkeypatch.setattr(plan_run, "owned_counts", lambda _: {"c": 8, "e": 1})
    monkeypatch.setattr(plan_run, "chip_prices", lambda *_: {"c": 0.5, "d": 2.0})
    monkeypatch.setattr(plan_run, "allocate", lambda owned, search, _: (owned, search))
    kind = RequestClass("", 1.0, Lengths.fixed(1000.0, 500.0))
    found = _planned_for(
        asked(own="c=8"), Service(1000.0, 500.0), [], AskedTraffic((kind,), 2.0, {})
    )
    assert found.fleet == ([("c", 8, 0.5), ("e", 1, None)], "search")
    assert seen == [{"d": 2.0}]


def test_users_are_planned_within_means_and_without(monkeypatch):
    """Without means any formats may lead; whoever waits for an answer asks for no more."""
    calls = []
    monkeypatch.setattr(plan_run, "owned_counts", lambda _: {})
    monkeypatch.setattr(plan_run, "allocate", lambda *known: known[-1])

    def solve(people, fleet_at, unlimited_at):
        calls.append(people.waiting)
        return fleet_at(3.0), unlimited_at(3.0)

    monkeypatch.setattr(plan_run, "solve_closed_loop", solve)
    monkeypatch.setattr(plan_run, "with_alternatives", lambda _, fleets, __: fleets)
    kind = RequestClass("", 1.0, Lengths.fixed(1000.0, 500.0))
    request = asked(users=100.0, think="30s", budget="9/month")
    service = Service(
        1000.0, 500.0, budget=9.0, power=8.0, max_chips=7, any_weights=False, any_cache=False
    )
    found = _planned_for(request, service, [], AskedTraffic((kind,), None, {}))
    within, without = found.fleet
    assert calls == [100.0]
    assert (within.rate, within.users, within.budget, within.any_weights) == (
        3.0,
        100.0,
        9.0,
        False,
    )
    assert (without.rate, without.users) == (3.0, 100.0)
    assert (without.budget, without.power, without.max_chips) == (inf, inf, inf)
    assert without.any_weights
    assert without.any_cache
    assert not within.is_fleet


@every(
    "options,is_script,written",
    [
        ({"emit": "vllm", "out": Path("a.sh")}, True, "table"),
        ({"emit": "vllm", "out": Path("start")}, True, "table"),
        ({"emit": "vllm", "out": Path("a.sh"), "format": "json"}, True, "json"),
        ({"emit": "vllm", "out": Path("a.json")}, False, "json"),
        ({"emit": "vllm"}, False, "table"),
        ({"out": Path("a.csv")}, False, "csv"),
    ],
)
def test_what_a_file_of_a_plan_is_written_as(options, is_script, written):
    request = asked(**options)
    assert (request.is_script, request.written_as) == (is_script, written)
