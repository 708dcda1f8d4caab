"""Users who think after each answer, by hand: fleets of given costs, and rates that users make."""

from dataclasses import dataclass, replace
from math import inf
from types import SimpleNamespace

import pytest

from fastcalc.features.plan import people as closed_loop
from fastcalc.features.plan import random_load as queues
from fastcalc.features.plan.people import (  # fmt: skip
    People,
    _falling,
    _longest_request,
    _plan_at,
    _pool_request_s,
    _rank,
    _rising,
    _scaled,
    _settled_rate,
    at_rate,
    mean_request_s,
    people_of,
    solve_closed_loop,
    with_alternatives,
)
from fastcalc.features.plan.replica_options import ReplicaOption
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.service import Service
from tests.helpers import every, read_or_refusal

USERS = People(count=100.0, active=0.5, think=30.0, per_minute=1.0, peak=2.0)
"""100 at the busiest time: half of them, twice."""


def test_how_often_users_ask():
    """50 users who ask three times a minute are 2.5 requests/s, 5 at the peak."""
    often = replace(USERS, think=None, per_minute=3.0)
    assert often.rate(99.0) == 5.0
    assert often.waiting == inf
    assert USERS.waiting == 100.0
    # 30 s of thinking and 20 s of an answer.
    assert USERS.rate(20.0) == 2.0


@every(
    "asked,expected",
    [
        ({"think": "30s"}, (1.0, 30.0, 1.0, 1.0)),
        (
            {"think": "500ms", "active_fraction": 0.25, "peak_multiplier": 3.0},
            (0.25, 0.5, 1.0, 3.0),
        ),
        ({"requests_per_active_user_per_min": 2.0}, (1.0, None, 2.0, 1.0)),
    ],
)
def test_habits_that_are_not_stated_are_one(asked, expected):
    request = FindPlans(model="m", on="c", users=500.0, **asked)
    assert people_of(request) == People(500.0, *expected)


@every(
    "asked,said",
    [
        ({"users": None, "think": "30s"}, "--think needs --users 500; give that too"),
        ({"users": None, "peak_multiplier": 2.0}, "--peak-multiplier needs --users 500; give that too"),
        ({"users": None}, None),
        ({"rate": "5/s", "think": "30s"}, "--users and --rate both set the request rate; give only one"),
        ({}, "--users needs one of --think 30s, "),
        ({"think": "30s", "requests_per_active_user_per_min": 2.0}, "--users needs one of --think 30s, "),
        ({"think": "30s", "users": 0.0}, "--users 0 is not a whole number from 1 to 1,000,000; write for example 500"),
        ({"requests_per_active_user_per_min": 0.0},
         "--requests-per-active-user-per-min 0 is not a number from 1e-12 to 1e+09; write for example 2"),
        ({"think": "30s", "peak_multiplier": 0.5}, "--peak-multiplier 0.5 is not a number from 1 to 100; write for example 2"),
        ({"think": "30s", "active_fraction": 1.5}, "--active-fraction 1.5 is not a share above 0 to 1; write for example 0.5"),
    ],
)  # fmt: skip
def test_users_that_are_refused(asked, said):
    request = FindPlans(model="m", on="c", **{"users": 500.0, **asked})
    found = read_or_refusal(people_of, request)
    assert found is None if said is None else found.startswith(said)


@dataclass(frozen=True)
class At:
    """A plan for a rate, of which users make another, and its cost."""

    rate: float
    own: float = 0.0
    is_enough: bool = True
    cost: float = 1.0
    means: float = inf

    @property
    def service(self):
        return Service(1000.0, 500.0, rate=self.rate, budget=self.means)

    @property
    def requests(self):
        return self.rate


@pytest.fixture
def loop(monkeypatch):
    """Rates are those that each plan names; a plan at another rate is a pair."""
    monkeypatch.setattr(closed_loop, "_settled_rate", lambda _, fleet: fleet.own)
    monkeypatch.setattr(closed_loop, "at_rate", lambda fleet, rate: (fleet.rate, rate))
    monkeypatch.setattr(closed_loop, "_rank", lambda fleet: (False, fleet.cost))


def plans(*known):
    """The plan for each rate, and the rates that are asked for."""
    asked = []

    def fleet_at(rate):
        asked.append(rate)
        return next(plan for plan in known if plan.rate == pytest.approx(rate))

    return fleet_at, asked


@every(
    "first,others,settled",
    [
        # 10, 8 and 6 requests/s, of which users make 6.
        (At(10.0, 8.0), [At(8.0, 6.0), At(6.0, 6.0)], (6.0, 6.0)),
        (At(10.0, 8.0), [At(8.0, 7.993)], (8.0, 7.993)),
        (At(10.0, 8.0), [At(8.0, 7.99), At(7.99, 7.99)], (7.99, 7.99)),
        # Users who would make more than a plan is for have none.
        (At(10.0, 10.02), [], None),
        (At(10.0, 10.005), [], (10.0, 10.005)),
        (At(10.0, 8.0), [At(8.0, 9.0)], (10.0, 8.0)),
        # Nor where a plan is not enough.
        (At(10.0, 8.0, is_enough=False), [], None),
        (At(10.0, 8.0), [At(8.0, 6.0, is_enough=False)], (10.0, 8.0)),
    ],
)
def test_rates_fall_to_what_users_make_of_a_plan(loop, first, others, settled):
    fleet_at, asked = plans(*others)
    assert _falling(USERS, first, fleet_at) == settled
    assert asked == [other.rate for other in others]


def test_sixteen_plans_are_tried_one_after_another(loop):
    asked = []

    def fleet_at(rate, times=0.5):
        asked.append(rate)
        return At(rate, rate * times)

    assert _falling(USERS, At(1.0, 0.5), fleet_at) == (2.0**-15, 2.0**-16)
    assert len(asked) == 16
    asked.clear()
    last = _rising(USERS, 1.0, None, lambda rate: fleet_at(rate, 2.0))
    assert asked[:16] == [2.0**power for power in range(16)]
    # None agrees: it is the plan for 100 users who think for 30 s and wait for nothing.
    assert asked[16:] == [last.rate] == [pytest.approx(100.0 / 30.0)]


@every(
    "known,settled,found,rates",
    [
        # 2, 5, and 5 as near as a thousandth.
        ([At(2.0, 5.0), At(5.0, 5.004)], None, (5.0, 5.004), [2.0, 5.0]),
        ([At(2.0, 2.0)], None, (2.0, 2.0), [2.0]),
        ([At(2.0, 1.0)], None, (2.0, 1.0), [2.0]),
        # Two rates in a row that gain less than 2%: then a step of 2%.
        (
            [At(10.0, 10.1), At(10.1, 10.2), At(10.302, 10.302)],
            None,
            (10.302, 10.302),
            [10.0, 10.1, 10.302],
        ),
        (
            [At(10.0, 10.1), At(10.1, 11.0), At(11.0, 11.1), At(11.1, 11.1)],
            None,
            (11.1, 11.1),
            [10.0, 10.1, 11.0, 11.1],
        ),
        # A step of 2% and then of 4%, below which users now make hardly more, too.
        (
            [At(10.0, 10.1), At(10.1, 10.2), At(10.302, 10.5), At(10.302 * 1.0404, 10.7)],
            None,
            (10.302 * 1.0404, 10.7),
            [10.0, 10.1, 10.302, 10.302 * 1.0404],
        ),
        # Another that costs no less, and means that allow none, leave what there is.
        ([At(2.0, 5.0), At(5.0, 5.0, cost=3.0)], At(9.0, cost=3.0), 9.0, [2.0, 5.0]),
        ([At(2.0, 5.0), At(5.0, 5.0, cost=2.9)], At(9.0, cost=3.0), (5.0, 5.0), [2.0, 5.0]),
        ([At(2.0, 5.0, is_enough=False)], At(9.0, cost=3.0), 9.0, [2.0]),
        ([At(2.0, 5.0, is_enough=False)], None, 2.0, [2.0]),
    ],
)
def test_rates_rise_to_what_users_make_of_a_plan(loop, known, settled, found, rates):
    fleet_at, asked = plans(*known)
    taken = _rising(USERS, known[0].rate, settled, fleet_at)
    assert getattr(taken, "rate", taken) == pytest.approx(found)
    assert asked == pytest.approx(rates)


@pytest.fixture
def ends(monkeypatch):
    """What is found falling, and then rising, with what each is asked."""
    found, asked = {"falling": None, "rising": At(1.0)}, {}

    def falling(_, first, __):
        asked["falling"] = first
        return found["falling"]

    def rising(_, rate, settled, __):
        asked["rising"] = rate, settled
        return found["rising"]

    monkeypatch.setattr(closed_loop, "_falling", falling)
    monkeypatch.setattr(closed_loop, "_rising", rising)
    monkeypatch.setattr(closed_loop, "_longest_request", lambda _: 20.0)
    return found, asked


def test_users_who_do_not_wait_have_one_plan(ends):
    first = At(5.0, is_enough=False, means=1.0)
    often = replace(USERS, think=None, per_minute=3.0)
    assert solve_closed_loop(often, lambda rate: replace(first, rate=rate), None) == first
    assert not ends[1]


@every(
    "settled,lowest",
    [
        # 100 users ask every 30 s at least: 3.33 requests/s; at their limits every 50 s.
        (None, 2.0),
        (At(9.0), 9.0 / 4),
        (At(7.0), 2.0),
    ],
)
def test_the_lowest_rate_is_a_quarter_or_that_of_users_at_their_limits(ends, settled, lowest):
    found, asked = ends
    found["falling"] = settled
    assert solve_closed_loop(USERS, At, None) is found["rising"]
    assert asked["falling"].rate == pytest.approx(100 / 30)
    assert asked["rising"] == (pytest.approx(lowest), settled)


@every(
    "means,unlimited,last,taken",
    [
        # Without means nothing else is looked for.
        (inf, None, None, At(100 / 30, is_enough=False)),
        # With means it is at the rate of the cheapest plan without them, where there is one.
        (9.0, At(7.0, is_enough=False), None, At(100 / 30, is_enough=False, means=9.0)),
        (9.0, At(7.0), At(1.0, is_enough=False), At(7.0, is_enough=False, means=9.0)),
        (9.0, At(7.0), At(6.0), At(6.0)),
    ],
)
def test_means_refuse_at_the_rate_of_the_plan_without_them(
    ends, monkeypatch, means, unlimited, last, taken
):
    risen = iter([unlimited, last])
    monkeypatch.setattr(closed_loop, "_rising", lambda *_: next(risen))

    def fleet_at(rate):
        return At(rate, is_enough=False, means=means)

    assert solve_closed_loop(USERS, fleet_at, At) == taken
    assert [*risen] == ([unlimited, last] if means == inf else [last] * (last is None))


def test_alternatives_are_searched_at_the_rate_of_the_chosen_plan_alone(loop):
    """A plan for 8 requests/s of which users make 7: the same one, with its alternatives, at 7."""
    asked = []

    def with_others(rate):
        asked.append(rate)
        return At(rate, own=7.0)

    settled = SimpleNamespace(searched_rate=8.0, service=Service(1.0, 1.0, rate=7.0))
    assert with_alternatives(USERS, settled, with_others) == (8.0, 7.0)
    # Users who do not wait, and a refused plan, are searched at the rate itself.
    refused = SimpleNamespace(searched_rate=None, service=Service(1.0, 1.0, rate=5.0))
    assert with_alternatives(USERS, refused, with_others) == At(5.0, own=7.0)
    assert asked == [8.0, 5.0]


def pool(share, cost=1.0, leads=True, **changes):
    decision = SimpleNamespace(may_lead=lambda _: leads, service=SimpleNamespace(rate=1.0))
    classes = (SimpleNamespace(share=share),)
    return SimpleNamespace(decision=decision, plan=None, cost=cost, classes=classes, **changes)


def test_fleets_are_ranked_by_the_pools_that_are_rented():
    def fleet(*pools):
        owned = SimpleNamespace(is_owned=True, pools=[pool(1.0, cost=99.0, leads=False)])
        return SimpleNamespace(allocations=[owned, SimpleNamespace(is_owned=False, pools=pools)])

    assert _rank(fleet(pool(1.0, cost=2.0), pool(1.0, cost=3.0))) == (False, 5.0)
    assert _rank(fleet(pool(1.0), pool(1.0, leads=False))) == (True, 2.0)


def test_the_longest_request_is_at_its_limits():
    """1 s and 10 times 0.1 s, or 1.9 s; nothing comes after one token."""

    def kinds(*limits):
        names = ("ttft", "tpot", "output")
        made = [SimpleNamespace(**dict(zip(names, each, strict=True))) for each in limits]
        return SimpleNamespace(request_classes=made)

    assert _longest_request(kinds((1.0, 0.1, 11.0), (1.9, inf, 1.0))) == pytest.approx(2.0)
    assert _longest_request(kinds((1.0, 0.1, 11.0), (2.1, inf, 1.0))) == 2.1


def test_requests_take_as_long_as_users_of_that_rate_wait(monkeypatch):
    """Of r requests/s each takes r s: 100 users who think 30 s make r (30 + r) = 100, r = 2.8."""
    monkeypatch.setattr(closed_loop, "mean_request_s", lambda _, rate: rate)
    by_hand = 325.0**0.5 - 15.0
    assert _settled_rate(USERS, None) == pytest.approx(by_hand, rel=3e-4)
    # A user who does not think, and waits 1 s alone and longer beside own requests: r (1 + r) = 1.
    monkeypatch.setattr(closed_loop, "mean_request_s", lambda _, rate: 1.0 + rate)
    alone = People(count=1.0, active=1.0, think=0.0, per_minute=1.0, peak=1.0)
    assert _settled_rate(alone, None) == pytest.approx((5.0**0.5 - 1.0) / 2.0, rel=3e-4)


@every(
    "alone,full,others,by_hand",
    [(20.0, 20.0, 5.0, 3.4), (10.0, 10.0, 20.0, 2.75), (5.0, 30.0, 10.0, 8.0 / 3.0)],
)
def test_users_of_chips_that_differ_in_speed(monkeypatch, alone, full, others, by_hand):
    """Those that serve first take 1 request/s, others the rest: 20 r + full + others (r - 1) = 100.

    If others are faster, latency falls as the rate rises, and its least is not that of one request.
    """
    users = People(count=100.0, active=1.0, think=20.0, per_minute=1.0, peak=1.0)

    def seconds(_, rate):
        first = min(rate, 1.0)
        return (first * (alone + (full - alone) * first) + others * (rate - first)) / rate

    monkeypatch.setattr(closed_loop, "mean_request_s", seconds)
    assert _settled_rate(users, None) == pytest.approx(by_hand, rel=1e-3)


def test_the_mean_over_all_pools_is_by_their_requests(monkeypatch):
    """3 requests/s in shares of a quarter and three, and 1: twice as many on each at 8 in all."""
    pools = [pool(0.25, seconds=1.0), pool(0.75, seconds=2.0)], [pool(1.0, seconds=5.0)]
    parts = zip((3.0, 1.0), pools, strict=True)
    allocations = [SimpleNamespace(requests=requests, pools=those) for requests, those in parts]
    fleet = SimpleNamespace(allocations=allocations, requests=4.0)
    rates = []

    def of_pool(pool, rate):
        rates.append(rate)
        return pool.seconds

    monkeypatch.setattr(closed_loop, "_pool_request_s", of_pool)
    assert mean_request_s(fleet, 8.0) == pytest.approx((0.75 + 2.25 * 2 + 5.0) / 4)
    assert rates == [1.5, 4.5, 2.0]
    # Owned chips that serve 3 at most still do: 5 are left for the rented ones.
    for full in pools[0]:
        full.decision.service.rate = None
    assert mean_request_s(fleet, 8.0) == pytest.approx((0.75 + 2.25 * 2 + 5.0 * 5) / 8)
    assert rates[3:] == [0.75, 2.25, 5.0]
    # Below 3 the rented ones serve nothing.
    assert mean_request_s(fleet, 1.0) == pytest.approx((0.25 + 0.75 * 2) / 1)
    assert rates[6:] == [0.25, 0.75]


@every("is_known,seconds", [(True, 3.0), (False, 500.0)])
def test_a_request_of_a_pool(monkeypatch, is_known, seconds):
    """By its queues, or of a plan without those alone."""
    asked = []

    def random_load(_, service):
        asked.append((service.rate, service.is_fleet))
        times = SimpleNamespace(request_mean=3.0)
        return SimpleNamespace(times=lambda: times) if is_known else None

    monkeypatch.setattr(queues, "random_load", random_load)
    service = Service(1000.0, 500.0, is_fleet=True)
    plan = SimpleNamespace(request_seconds=lambda output: output)
    asked_of = SimpleNamespace(decision=SimpleNamespace(service=service), plan=plan)
    assert _pool_request_s(asked_of, 2.0) == seconds
    assert asked == [(2.0, False)]


@dataclass(frozen=True)
class Used:
    """What is scaled with a rate."""

    busy: float = 0.8
    prefill_busy: float = 0.4
    is_checked: bool = True


@every("is_checked,has_limits", [(True, True), (True, False), (False, True)])
def test_a_plan_at_another_rate_has_its_percentiles_there(monkeypatch, is_checked, has_limits):
    service = Service(1000.0, 500.0, rate=2.0)
    limits = "limits" if has_limits else None
    monkeypatch.setattr(closed_loop, "held_limits", lambda plan, _: plan.is_checked and limits)
    monkeypatch.setattr(closed_loop, "with_percentiles", lambda *known: known)
    plan = _plan_at(Used(is_checked=is_checked), 0.5, service)
    scaled = Used(0.4, 0.2, is_checked)
    assert plan == ((scaled, service, "limits") if is_checked and has_limits else scaled)


@dataclass(frozen=True)
class Decided:
    service: Service
    best_by_variant: dict

    @property
    def plans(self):
        return [*self.best_by_variant.values()]


@dataclass(frozen=True)
class Pool:
    decision: Decided
    classes: tuple = (SimpleNamespace(share=1.0),)

    @property
    def plan(self):
        return self.decision.plans[0]


@dataclass(frozen=True)
class Part:
    requests: float
    sharing: object

    @property
    def pools(self):
        return self.sharing.pools


@dataclass(frozen=True)
class Whole:
    requests: float
    service: Service
    allocations: tuple
    searched_rate: float | None = None


def test_a_fleet_at_another_rate_has_the_same_replicas(monkeypatch):
    """At 4 of 6 requests/s chips that serve 2 at most still do, and the others half of their 4."""
    monkeypatch.setattr(closed_loop, "_plan_at", lambda plan, scale, _: (plan, scale))
    sized = Pool(Decided(Service(1.0, 1.0, rate=4.0), {"v": "plan"}))
    filled = Pool(Decided(Service(1.0, 1.0, is_fleet=True), {"v": "plan"}))

    @dataclass(frozen=True)
    class Shared:
        pools: tuple

    parts = (Part(4.0, Shared((sized,))), Part(2.0, Shared((filled,))))
    whole = Whole(6.0, Service(1.0, 1.0, rate=6.0), parts)
    halved = at_rate(whole, 4.0)
    assert halved.service.rate == 4.0
    assert halved.searched_rate == 6.0
    assert [part.requests for part in halved.allocations] == [2.0, 2.0]
    ((same,), (half,)) = (part.sharing.pools for part in halved.allocations)
    assert half.decision.service.rate == 2.0
    assert half.decision.best_by_variant == {"v": ("plan", 0.5)}
    assert same is filled
    # At 1 request/s chips that serve 2 at most serve half of it, and no others are rented.
    (owned,) = at_rate(whole, 1.0).allocations
    (at_half,) = owned.sharing.pools
    assert owned.requests == 1.0
    assert at_half.decision.service == Service(1.0, 1.0, rate=1.0)
    assert at_half.decision.best_by_variant == {"v": ("plan", 0.5)}


def test_a_plan_that_leads_at_another_rate_only_is_left_out(monkeypatch):
    """Users make the rate on the pool's own plan, which b, second at 4 requests/s, precedes at 2."""
    orders = {1.0: {"a": 1, "b": 2, "c": 3}, 0.5: {"b": 1, "a": 2, "c": 3}}

    @dataclass(frozen=True)
    class Ordered(Decided):
        @property
        def plans(self):
            plans = self.best_by_variant.values()
            return sorted(plans, key=lambda plan: orders[plan[1]][plan[0]])

    monkeypatch.setattr(closed_loop, "_plan_at", lambda plan, scale, _: (plan[0], scale))
    plans = {name: (name, 1.0) for name in "abc"}
    own = Pool(Ordered(Service(1.0, 1.0, rate=4.0), plans))
    assert own.plan == ("a", 1.0)
    halved = closed_loop._at(own, 4.0, 0.5)
    assert halved.plan == ("a", 0.5)
    assert [*halved.decision.best_by_variant] == ["a", "c"]


def test_owned_chips_are_filled_in_their_order():
    """Of 5 requests/s chips for 3 serve 3, chips for 4 the other 2, and rented ones none."""
    filled = Pool(Decided(Service(1.0, 1.0), {}))
    rented = Pool(Decided(Service(1.0, 1.0, rate=2.0), {}))
    parts = [
        SimpleNamespace(requests=requests, pools=[pool])
        for requests, pool in ((3.0, filled), (4.0, filled), (2.0, rented))
    ]
    fleet = SimpleNamespace(allocations=parts)
    assert _scaled(fleet, 5.0) == [(parts[0], 1.0), (parts[1], 0.5)]
    assert _scaled(fleet, 8.0) == [(parts[0], 1.0), (parts[1], 1.0), (parts[2], 0.5)]
    assert _scaled(fleet, 2.0) == [(parts[0], pytest.approx(2 / 3))]


def test_an_option_is_checked_by_percentiles_alone():
    assert not ReplicaOption(None, 1.0, 1.0, 8, 1.0, 1.0).is_checked
