"""How far each limit would have to move, by hand: fleets and prompts that meet a limit at a number."""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from types import SimpleNamespace

import pytest

from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.features.plan import relax
from fastcalc.features.plan.allocation import OwnedChips
from fastcalc.features.plan.pool_search import PoolSearch
from fastcalc.features.plan.relax import (  # fmt: skip
    fewest_owned,
    least_relaxed_of_fleet,
    rentable_on_top,
)
from fastcalc.features.plan.service import Service
from fastcalc.mentions import as_flags
from tests import made_up
from tests.helpers import every


@dataclass(frozen=True)
class Plan:
    """A fleet that is enough from some values of its limits on, and takes so much of each."""

    service: Service
    owned: tuple = ()
    least: dict | None = None
    taken: dict | None = None
    serves_all: bool = False
    rents: bool = True
    allocations: tuple = (SimpleNamespace(is_owned=True, owned=True, plan=None),)

    @property
    def is_enough(self):
        limits = {"ttft": self.service.ttft, "tpot": self.service.tpot, "power": self.service.power}
        return all(limits[name] >= value for name, value in (self.least or {}).items())

    @property
    def is_within(self):
        return sum(kind.chips for kind in self.owned) <= self.service.budget

    @property
    def left(self):
        return self.service

    def used(self, name):
        if name in (self.least or {}) and (self.taken or {}).get(name) is None:
            return self.least[name]
        return (self.taken or {}).get(name, 0.0)


def among(grids):
    """Return a search of one class among some deployments."""
    only = RequestClass("", 1.0, Lengths.fixed(1000.0, 500.0))
    return PoolSearch((only,), lambda *_: grids)


SEARCH = among(["g"])


def service(**limits):
    return Service(1000.0, 500.0, rate=4.0, **limits)


@pytest.fixture
def searched(monkeypatch):
    """Fleets of rented deployments are those of a template, whatever is relaxed."""
    asked = []

    def use(template, rented=None):
        def allocate(owned, search, service):
            asked.append((search.grids, service, search.shown))
            return replace(template, owned=tuple(owned), service=service)

        monkeypatch.setattr(relax, "allocate", allocate)
        monkeypatch.setattr(relax, "least_relaxed", lambda *_: dict(rented or {}))
        return asked

    return use


@every(
    "name,asked_for,least",
    [("ttft", 1.0, 3.0), ("tpot", 0.02, 0.05), ("power", 1000.0, 1001.0), ("ttft", 1.0, 1e6)],
)
def test_a_limit_is_relaxed_to_the_least_at_which_the_fleet_is_enough(
    searched, name, asked_for, least
):
    """To a thousandth, from the value that would do for what is rented, or from none."""
    fleet = Plan(service(**{name: asked_for}), least={name: least})
    for rented in ({}, {name: 4 * least}):
        asked = searched(fleet, rented)
        assert least_relaxed_of_fleet(fleet, SEARCH) == {name: pytest.approx(least, rel=1.1e-3)}
        assert {shown for *_, shown in asked} == {1}


def test_it_is_searched_where_a_fleet_uses_more_than_the_least(searched):
    """What is enough takes all that it may, so that its use says nothing of the least."""
    fleet = Plan(service(ttft=1.0), least={"ttft": 3.0}, taken={"ttft": inf})
    searched(fleet)
    found = least_relaxed_of_fleet(fleet, SEARCH)
    assert found == {"ttft": pytest.approx(3.0, rel=1.1e-3)}
    assert found["ttft"] >= 3.0


def test_a_limit_that_does_not_help_alone_is_left_out(searched):
    fleet = Plan(service(ttft=1.0, tpot=0.01), least={"ttft": 3.0, "tpot": 0.02})
    searched(fleet)
    assert least_relaxed_of_fleet(fleet, SEARCH) == {}


def test_means_are_those_of_owned_chips_and_of_what_is_rented(searched):
    """Rented chips would take 300 USD and 9 chips on top of 200 USD of owned ones."""
    fleet = Plan(service(budget=400.0, max_chips=4), taken={"budget": 200.0, "chips": 0.0})
    searched(fleet, {"budget": 300.0, "chips": 9.0})
    assert least_relaxed_of_fleet(fleet, SEARCH) == {"budget": 500.0, "chips": 9.0}
    assert least_relaxed_of_fleet(replace(fleet, rents=False), SEARCH) == {}
    carries = replace(fleet, serves_all=True, taken={"budget": 777.0})
    assert least_relaxed_of_fleet(carries, SEARCH) == {"budget": 777.0}


def test_only_chips_that_do_are_searched_again(searched):
    """Once rented chips of a kind are enough, others do with no less."""
    grids = [
        SimpleNamespace(scenario=SimpleNamespace(hardware=SimpleNamespace(id=c))) for c in "ab"
    ]
    plan = SimpleNamespace(scenario=grids[0].scenario)
    last = SimpleNamespace(is_owned=False, decision=SimpleNamespace(of_each_chip=[plan]))
    fleet = Plan(service(ttft=1.0), least={"ttft": 3.0}, taken={"ttft": inf}, allocations=(last,))
    asked = searched(fleet)
    least_relaxed_of_fleet(fleet, among(grids))
    enough = [service.ttft >= 3.0 for _, service, _ in asked]
    assert asked[0][0] == grids
    assert all(found == grids[:1] for found, *_ in asked[enough.index(True) + 1 :])
    assert among(grids).on_chips_of(last.decision).grids == grids[:1]
    owned = replace(fleet, allocations=(SimpleNamespace(is_owned=True),))
    asked = searched(owned)
    asked.clear()
    least_relaxed_of_fleet(owned, among(grids))
    assert {len(found) for found, *_ in asked} == {2}


@dataclass(frozen=True, eq=False)
class Owned(OwnedChips):
    """Chips that are enough from some number on."""

    def allocations(self, left):
        raise AssertionError(f"{left} is asked of a fleet alone")
        yield


def owned(chips, name="a", node=None):
    changes = {"id": name} | ({"node": {"name": "n", "chips": node}} if node else {})
    return Owned(made_up.chip(**changes), chips, 1.0, search=None)


@every(
    "chips,node,needed,budget,found",
    [
        (3, None, 4, inf, 4),
        (3, None, 5, inf, 5),
        (3, None, 50, inf, 50),
        # Up to 64 times as many again are tried, in doubling steps.
        (1, None, 65, inf, 65),
        (1, None, 66, inf, None),
        # Whole nodes of eight.
        (8, 8, 9, inf, 16),
        (8, 8, 25, inf, 32),
        # More would cost more than there is.
        (3, None, 5, 5.0, 5),
        (3, None, 5, 4.0, None),
        (3, None, 5, 2.0, None),
    ],
)
def test_the_fewest_owned_chips_that_would_do(monkeypatch, chips, node, needed, budget, found):
    def allocate(kinds, search, service):
        assert search.shown == 0
        return SimpleNamespace(is_enough=kinds[0].chips >= needed)

    monkeypatch.setattr(relax, "allocate", allocate)
    fleet = Plan(service(in_nodes=True, budget=budget), owned=(owned(chips, node=node),))
    expected = {} if found is None else {"a": found}
    assert fewest_owned(fleet, SEARCH) == expected


@every("most,searched", [(1.0, [3, 4]), (2.0, [2, 3, 4]), (inf, [2, 3, 4])])
def test_fewer_chips_than_need_more_than_may_be_rented_are_not_searched(
    monkeypatch, most, searched
):
    """Each owned chip serves 1 request/s of 4, and what is rented none after all."""
    asked = []

    def allocate(kinds, search, _):
        if search is not None:
            asked.append(kinds[0].chips)
        return SimpleNamespace(requests=kinds[0].chips, is_enough=kinds[0].chips >= 4)

    monkeypatch.setattr(relax, "allocate", allocate)
    fleet = Plan(service(in_nodes=True), owned=(owned(1, node=None),))
    assert fewest_owned(fleet, SEARCH, most) == {"a": 4}
    assert sorted({*asked} - {5}) == searched


def test_each_kind_of_chip_is_added_alone(monkeypatch):
    """Four of the first or six of the second would do."""

    def allocate(kinds, *_, **__):
        first, second = (kind.chips for kind in kinds)
        return SimpleNamespace(is_enough=first >= 4 or second >= 6)

    monkeypatch.setattr(relax, "allocate", allocate)
    fleet = Plan(service(), owned=(owned(2, "a"), owned(2, "b")))
    assert fewest_owned(fleet, SEARCH) == {"a": 4, "b": 6}


@every(
    "last,plans,is_on_top",
    [
        ({"owned": None, "plan": None}, ["p"], True),
        ({"owned": None, "plan": None}, [], False),
        ({"owned": "o", "plan": None}, ["p"], False),
        ({"owned": None, "plan": "p"}, ["p"], False),
    ],
)
def test_what_may_be_rented_on_top(monkeypatch, last, plans, is_on_top):
    left = service(max_chips=8)
    asked = []

    def most_on(search, service, chips):
        asked.append((search.grids, service, chips, search.shown))
        return SimpleNamespace(plans=plans)

    monkeypatch.setattr(PoolSearch, "most_on", most_on)
    monkeypatch.setattr(relax, "may_meet", lambda grid, _: grid == "g")
    share = SimpleNamespace(**last, decision=SimpleNamespace(service=left))
    rented = among(["g", "large"])
    found = rentable_on_top(Plan(service(), allocations=(share,)), rented)
    assert (found is not None) is is_on_top
    in_any_format = replace(left, any_weights=True, any_cache=True)
    assert all(call == (["g"], in_any_format, 8, 0) for call in asked)


STEPS = (0, 1, 3, 7, 15, 31, 63, 127)
"""Hundredths by which the least value is raised until it is enough."""


@every(
    "needed,most",
    [
        (2.0, 2.0),
        # Just above a step: the next one is halved five times.
        *[
            (2.0 * (1 + low / 100) + 1e-3, 2.0 * (1 + (low + (high - low) / 16) / 100))
            for low, high in pairwise(STEPS)
        ],
        (2.0 * 2.27, 2.0 * 2.27),
        (2.0 * 2.28, None),
    ],
)
def test_percentiles_may_ask_for_a_little_more_than_the_search(monkeypatch, needed, most):
    asked = []

    def decide(grids, service, shown):
        asked.append((grids, shown))
        return SimpleNamespace(plans=["p"] if service.ttft >= needed else [])

    monkeypatch.setattr(relax, "decide", decide)
    value = relax.enough(["g"], service(ttft=1.0), "ttft", 2.0)
    if most is None:
        assert value is None
    else:
        assert needed <= value <= most + 1e-9
    assert all(call == (["g"], 0) for call in asked)
    assert len(asked) <= 8 + 6


@every(
    "asked,limits,requests,by_chip,relaxed,is_said",
    [
        # 3 of 4 requests/s within the means, and with single chips all.
        ({}, {"budget": 9.0}, 3.0, True, {"rate": 3.0, "by": 1.0}, True),
        ({}, {"max_chips": 8}, 3.0, False, {"rate": 3.0}, True),
        ({}, {"power": 9.0}, 3.0, False, {"rate": 3.0}, True),
        ({"users": 9}, {"budget": 9.0}, 3.0, True, {"by": 1.0}, True),
        # None or all of it is no part of a rate.
        ({}, {"budget": 9.0}, 0.0, False, {}, False),
        ({}, {"budget": 9.0}, 4.0, False, {}, False),
        ({}, {"budget": 9.0}, None, False, {}, False),
        # Without means nothing is looked for, and without a rate single chips alone.
        ({}, {}, 3.0, True, {}, False),
        ({}, {"budget": 9.0, "rate": None}, 3.0, True, {"by": 1.0}, False),
        ({}, {"budget": 9.0, "in_nodes": False}, 3.0, True, {"rate": 3.0}, True),
    ],
)
def test_the_part_of_a_rate_that_means_allow(
    monkeypatch, asked, limits, requests, by_chip, relaxed, is_said
):
    seen = []

    def most_on(search, service, chips):
        seen.append((search.grids, service.max_chips, chips, search.shown))
        each_of = () if requests is None else (requests / 2, requests)
        plans = [SimpleNamespace(requests=each) for each in each_of]
        return SimpleNamespace(in_order=plans)

    monkeypatch.setattr(PoolSearch, "most_on", most_on)
    monkeypatch.setattr(relax, "_by_chip", lambda *_: {"by": 1.0} if by_chip else {})
    monkeypatch.setattr(relax, "may_meet", lambda grid, _: grid == "g")
    monkeypatch.setattr(relax, "load_within_limits", lambda *_: "said")
    limits = {"in_nodes": True, "rate": 4.0} | limits
    decision = SimpleNamespace(service=Service(1000.0, 500.0, **limits), relaxed={})
    answer = SimpleNamespace(request=SimpleNamespace(users=asked.get("users")))
    said = relax._relaxed_means(answer, decision, among(["g", "lost"]))
    assert (said, decision.relaxed) == (["said"] * is_said, relaxed)
    chips = limits.get("max_chips", inf)
    assert all(call == (["g"], chips, chips, 1) for call in seen)


@every(
    "least,is_enough,relaxed",
    [
        # A budget of 9 is enough by itself, or percentiles need more after all.
        ({"budget": 9.0}, True, {"by": 1.0}),
        ({"budget": 9.0}, False, {}),
        # It takes more than 9, or than eight chips; of a latency nothing is said.
        ({"budget": 10.0, "ttft": 3.0}, True, {"by budget": 20.0}),
        ({"budget": 10.0, "chips": 9.0}, True, {"by budget": 20.0, "by chips": 18.0}),
        ({"budget": 10.0}, False, {}),
        # No value of them is enough.
        ({}, False, {}),
    ],
)
def test_single_chips_alone_or_with_more_means(monkeypatch, least, is_enough, relaxed):
    plans = SimpleNamespace(plans=["p"] * is_enough)
    monkeypatch.setattr(relax, "least_relaxed", lambda *_: least)
    monkeypatch.setattr(relax, "decide", lambda *_, **__: plans)
    monkeypatch.setattr(relax, "enough", lambda *asked: 2.0 * asked[3] if is_enough else None)
    singly = Service(1000.0, 500.0, budget=9.0, max_chips=8, ttft=1.0, rate=4.0)
    assert relax._by_chip(SEARCH, singly) == relaxed


def test_what_would_let_a_rented_deployment_in(monkeypatch):
    """Of limits alone those that percentiles allow, then means."""
    enough = {"ttft": 3.0, "tpot": None, "chips": inf}
    monkeypatch.setattr(relax, "least_relaxed", lambda *_: dict.fromkeys(enough, 2.0))
    monkeypatch.setattr(relax, "enough", lambda *asked: enough[asked[2]])
    monkeypatch.setattr(relax, "_relaxed_means", lambda *_: ["within"])
    monkeypatch.setattr(relax, "refusal", lambda decision: str([*decision.relaxed]))
    asked = service(ttft=1.0)
    for prefill, names in (([], ["ttft", "chips"]), (["p"], [])):
        decision = SimpleNamespace(service=asked, relaxed={})
        answer = SimpleNamespace(
            fleet=SimpleNamespace(allocations=[SimpleNamespace(decision=decision)])
        )
        search = replace(SEARCH, prefill_grids=prefill)
        sentences, options = relax._rented(answer, search)
        assert sentences == [str(names)] + ["within"] * (not prefill)
        shown = {"ttft": "--ttft 3s"}
        assert [*map(as_flags, options)] == [shown[name] for name in names if name in shown]


@every(
    "users,on_top,requests,rate",
    [(None, None, 1.5, True), (None, [2.0, 0.5], 3.5, True), (9, None, 1.5, False)],
)
def test_what_would_let_an_owned_fleet_in(monkeypatch, users, on_top, requests, rate):
    """1.5 requests/s of its own, and the most that may be rented on top."""
    plans = [SimpleNamespace(requests=each) for each in on_top or ()]
    decision = SimpleNamespace(plans=plans, of_each_chip=[]) if on_top else None
    monkeypatch.setattr(relax, "least_relaxed_of_fleet", lambda *_: {"ttft": 3.0})
    monkeypatch.setattr(relax, "rentable_on_top", lambda *_: decision)
    monkeypatch.setattr(relax, "fewest_owned", lambda *_: {"h100": 9})
    monkeypatch.setattr(relax, "fleet_refusals", lambda _, most, options: [most, options])
    fleet = SimpleNamespace(service=service(ttft=1.0), requests=1.5)
    answer = SimpleNamespace(fleet=fleet, request=SimpleNamespace(users=users))
    (most, listed), options = relax._owned(answer, among([]))
    assert most == requests
    assert listed == options
    flags = ["--own h100=9", "--ttft 3s"] + [f"--rate {requests:g}/s"] * rate
    assert [*map(as_flags, options)] == flags


def test_a_fleet_that_serves_nothing_has_no_rate_that_would_do(monkeypatch):
    monkeypatch.setattr(relax, "least_relaxed_of_fleet", lambda *_: {})
    monkeypatch.setattr(relax, "rentable_on_top", lambda *_: None)
    monkeypatch.setattr(relax, "fewest_owned", lambda *_: {})
    monkeypatch.setattr(relax, "fleet_refusals", lambda *_: [])
    request = SimpleNamespace(users=None)
    for requests, rate in ((0.0, 4.0), (1.5, None)):
        asked = Service(1000.0, 500.0, rate=rate)
        answer = SimpleNamespace(
            fleet=SimpleNamespace(service=asked, requests=requests), request=request
        )
        assert relax._owned(answer, SimpleNamespace(search=SEARCH)) == ([], [])


@every(
    "is_one,requests,owned,reasons",
    [
        (False, 1.5, (), ["of a mix"]),
        (False, 0.0, (), ["of a mix"]),
        (True, 1.5, (), ["rented"]),
        (True, 1.5, ("own",), ["owned"]),
    ],
)
def test_which_refusal_is_of_which_fleet(monkeypatch, is_one, requests, owned, reasons):
    """Classes of which some are served are an answer that says why not all are."""

    @dataclass(frozen=True)
    class Answered:
        fleet: object
        reasons: tuple = ()

        def details(self):
            return {"kept": 1}

    monkeypatch.setattr(relax, "mix_refusals", lambda _: ["of a mix"])
    monkeypatch.setattr(relax, "_rented", lambda *_: (["rented"], ["a"]))
    monkeypatch.setattr(relax, "_owned", lambda *_: (["owned"], ["b"]))
    monkeypatch.setattr(relax, "_no", lambda _, why, beside: (why, beside))
    fleet = SimpleNamespace(requests=requests, owned=owned)
    found = relax.refused(Answered(fleet), SimpleNamespace(is_of_one_class=is_one))
    if not is_one and requests:
        assert found.reasons == reasons
        return
    options = {"kept": 1, "relax": ["b" if owned else "a"]} if is_one else {}
    assert found == (reasons, options)
