"""Which pools of classes are chosen, by hand: with groups, ways and rates of a few numbers."""

from dataclasses import dataclass, field
from math import ceil, inf, sqrt
from types import SimpleNamespace

import pytest

from fastcalc.features.plan import pool_search
from fastcalc.features.plan.allocation import Allocation
from fastcalc.features.plan.class_groups import ClassGroup, Groups
from fastcalc.features.plan.pool_search import (  # fmt: skip
    PoolSearch,
    _cheapest,
    _Chosen,
    _most,
    _needed,
)
from fastcalc.features.plan.replica_options import ReplicaOption
from fastcalc.features.plan.service import Service
from tests.helpers import every


@dataclass(eq=False)
class Way:
    """Replicas of so many chips that carry so many requests a second each."""

    chips_each: float = 1.0
    requests: float = 1.0
    usd: float = 1.0
    is_checked: bool = True
    chip: str = "a"
    node_chips: int = 1
    grid: object = field(default_factory=lambda: SimpleNamespace(scenario=None))

    def replicas(self, rate):
        return -(-rate // self.requests)

    def filled(self, rate):
        return self.replicas(rate) * self.chips_each / self.node_chips

    def chips(self, nodes):
        return ceil(nodes) * self.node_chips

    @property
    def cost_per_chip(self):
        return self.usd

    @property
    def usd_per_chip(self):
        return self.usd

    def cost_of_filled(self, rate):
        return self.filled(rate) * self.node_chips * self.usd


@dataclass(eq=False)
class Group:
    """Classes of a share of all requests, and the ways to deploy them."""

    options_of_chips: list
    share: float = 1.0
    classes: tuple = ()

    @property
    def replica_options(self):
        return self.options_of_chips

    def least_on_chips(self, rate):
        return sorted(self.options_of_chips, key=lambda way: way.cost_of_filled(rate * self.share))


def service(**limits):
    return Service(1000.0, 500.0, **limits)


@pytest.fixture(autouse=True)
def billed(monkeypatch):
    """Every chip draws 1 kW and costs 100 USD a month, where those are limited."""

    def bills(scenario, service, chips):
        limits = {"budget": service.budget, "power": service.power}
        each = {"budget": 100.0, "power": 1000.0}
        return {name: chips * each[name] for name, limit in limits.items() if limit < inf}

    monkeypatch.setattr(pool_search, "bills", bills)


def test_what_pools_carry_take_and_cost():
    """0.25 and 0.75 of 8 requests/s: 2 by replicas of 1.5, 6 by replicas of 4."""
    first = Group([Way(chips_each=3.0, requests=1.5, usd=2.0, chip="b")], 0.25)
    second = Group([Way(chips_each=5.0, requests=4.0)], 0.75)
    chosen = _Chosen([(group, group.options_of_chips[0]) for group in (first, second)], 8.0)
    # Two replicas each: 3 requests/s of a quarter are 12 in all, 8 of three quarters 10 2/3.
    assert chosen.requests == pytest.approx(8 / 0.75)
    limited = service(max_chips=99, budget=9999.0)
    assert chosen.amounts(limited) == {"chips": 16.0, "budget": 1600.0}
    assert chosen.order == (22.0, 22.0, 2)
    for chips, is_within in ((16, True), (15, False)):
        assert chosen.is_within(service(max_chips=chips)) is is_within
    assert not chosen.is_within(service(power=15_999.0))
    assert chosen.is_within(service(power=16_000.0))


def test_a_limit_on_what_is_not_known_is_not_kept(monkeypatch):
    monkeypatch.setattr(pool_search, "bills", lambda *_: {})
    chosen = _Chosen([(Group([Way()]), Way())], 1.0)
    assert chosen.amounts(service(budget=1e9)) == {"chips": 1.0, "budget": inf}
    assert not chosen.is_within(service(budget=1e9))


def test_of_two_divisions_the_cheaper_and_of_equals_the_fewer_pools():
    apart = [Group([Way()], 0.5), Group([Way()], 0.5)]
    shared = [Group([Way(usd=2.0)])]
    dear = [Group([Way(usd=3.0)])]
    assert [group for group, _ in _cheapest([apart, shared], 2.0).pools] == apart
    # Half a replica each costs as much as one that all share.
    assert [group for group, _ in _cheapest([apart, shared], 1.0).pools] == shared
    assert _cheapest([dear, shared], 2.0).order == (4.0, 4.0, 1)
    assert _cheapest([], 2.0) is None


def test_pools_on_one_chip_share_its_nodes():
    """Half a node each is one node of a, and two where each is on chips of its own."""
    half = Way(chips_each=4.0, node_chips=8)
    other = Way(chips_each=4.0, node_chips=8, chip="b", usd=0.9)
    both = _cheapest([[Group([half], 0.5), Group([half], 0.5)]], 2.0)
    assert (both.order, both.amounts(service())) == ((8.0, 8.0, 2), {"chips": 8.0})
    # A node of a, 8, is less than one of a and one of the cheaper b, 15.2.
    mixed = _cheapest([[Group([half], 0.5), Group([other, half], 0.5)]], 2.0)
    assert [way.chip for _, way in mixed.pools] == ["a", "a"]
    assert mixed.is_within(service(max_chips=8))
    # Of three halves, the third in a node of b alone is cheaper than in a second one of a.
    third = [Group([half], 0.25), Group([half], 0.25), Group([other, half], 0.5)]
    assert _cheapest([third], 2.0).order == (8.0 + 7.2, 8.0 + 7.2, 3)


SMALL = {"chips_each": 1.0, "usd": 9.0, "chip": "b"}
"""Dearer chips, of which fewer do."""


def test_pools_within_means_are_on_dearer_chips():
    cheap, dear = Way(chips_each=4.0), Way(**SMALL)
    option = [Group([cheap, dear], 0.5), Group([cheap, dear], 0.5)]

    def ways(chips):
        found = _cheapest([option], 2.0, service(max_chips=chips))
        return found and {way.chips_each for _, way in found.pools}, found and found.order[0]

    assert ways(8) == ({4.0}, 8.0)
    assert ways(7) == ({4.0, 1.0}, 13.0)
    assert ways(5) == ({4.0, 1.0}, 13.0)
    assert ways(4) == ({1.0}, 18.0)
    assert ways(2) == ({1.0}, 18.0)
    assert ways(1) == (None, None)


def groups(*options):
    return SimpleNamespace(groupings=lambda _: list(options))


def test_what_all_of_a_rate_would_take_of_the_means_it_lacks():
    """Six chips, 600 USD and 6 kW for six requests/s."""
    option = [Group([Way()])]
    assert _needed(groups(option), 6.0, service(max_chips=5, budget=600.0)) == {"chips": 6.0}
    assert _needed(groups(option), 6.0, service(budget=599.0, power=5999.0)) == {
        "budget": 600.0,
        "power": 6000.0,
    }
    assert _needed(groups(option), 6.0, service(max_chips=6)) == {}
    assert _needed(groups(), 6.0, service(max_chips=1)) == {}
    without = service(max_chips=1, budget=2.0, power=3.0, ttft=4.0).without_means
    assert without == service(ttft=4.0)


@every(
    "chips,beyond,most",
    [
        (7, inf, 7.0),
        (1, inf, 1.0),
        (1000, inf, 1000.0),
        (7, 100.0, 7.0),
        (7, 7.5, 7.0),
        (0, inf, None),
        (0, 4.0, None),
        (0, 1.0, None),
    ],
)
def test_the_most_that_means_carry_is_in_whole_replicas(chips, beyond, most):
    """A chip each carries a request/s."""
    asked = []

    def options(rate):
        asked.append(rate)
        return [[Group([Way()])]]

    found = _most(SimpleNamespace(groupings=options), service(max_chips=chips), beyond)
    assert (found and found.requests) == most
    if found:  # a little below what they carry, so that rounding asks for no replica more
        assert found.rate == pytest.approx(most, rel=1e-6)
        assert found.rate < most
    assert len(asked) < 40
    assert asked[0] == min(pool_search._FIRST, beyond / 2.0)


def test_nothing_is_searched_without_means():
    assert _most(SimpleNamespace(), service(), 5.0) is None


@every("carried,limit", [(2.0, 30.0), (0.25, 4.25), (0.01, 0.03)])
def test_the_most_of_unequal_replicas(carried, limit):
    """Replicas of two chips: as many as half of the chips."""
    option = [Group([Way(chips_each=2.0, requests=carried)])]
    chips = 2 * int(limit / carried) + 1
    found = _most(groups(option), service(max_chips=chips), inf)
    assert found.requests == pytest.approx(carried * (chips // 2))
    assert sqrt(found.rate * found.requests) == pytest.approx(found.requests, rel=1e-6)


# What pools of owned and rented chips take


def share(*pools, owned=None, unit=1):
    """Pools of so many chips, at what they cost a month, for a request/s each."""
    plans = [
        SimpleNamespace(
            usd_per_month=usd,
            values={"chips": float(chips), "ttft": ttft},
            of_all_chips=lambda of, chips=chips: of and chips * of,
        )
        for chips, usd, ttft in pools
    ]
    sharing = SimpleNamespace(
        rate=float(len(plans)), pools=[SimpleNamespace(plan=plan) for plan in plans]
    )
    return Allocation(sharing, sharing.rate, owned, unit=unit)


@pytest.fixture
def limited(monkeypatch):
    monkeypatch.setattr(
        "fastcalc.features.plan.allocation.LIMITED", {"power": 500.0, "budget": None}
    )
    monkeypatch.setattr("fastcalc.features.plan.allocation.site_power", lambda chip: chip)


def test_pools_take_the_sum_of_their_chips(limited):
    rented = share((3, 100.0, 1.0), (4, 50.0, 2.0))
    assert (rented.requests, rented.is_owned) == (2.0, False)
    assert rented.usd_per_month == 150.0
    assert share((3, 100.0, 1.0), (4, None, 2.0)).usd_per_month is None
    assert share((3, None, 1.0)).usd_per_month is None
    assert rented.used("power") == 3500.0
    assert rented.used("budget") == 0.0  # of chips whose price is not known
    assert rented.used("chips") == 7.0


def test_chips_of_all_classes_are_in_the_order_of_what_all_cost_on_them():
    """Of four chips, a and b serve both classes: 1 + 3 on a, 5 + 2 on b; of equal sums by name."""

    def chips(*costs):
        groups = {
            1 << index: SimpleNamespace(costs_on_chips=lambda _, costs=on: costs)
            for index, on in enumerate(costs)
        }
        search = SimpleNamespace(_groups=groups, _count=len(costs))
        return Groups.chips_of_all(search, 1.0)

    assert chips({"b": 5.0, "a": 1.0, "d": 0.1}, {"a": 3.0, "b": 2.0, "c": 0.1}) == ["a", "b"]
    assert chips({"b": 1.0, "a": 2.0}, {"a": 1.0, "b": 2.0}) == ["a", "b"]
    assert chips({"b": 1.0, "a": 2.0}) == ["b", "a"]


def test_options_of_a_chip_have_more_throughput_on_more_chips():
    """On a: of 2 chips 5 requests/s and not 1; of 4 what is more than these 5; b is by itself."""

    def option(chip, chips, requests):
        return SimpleNamespace(chip=chip, each_chips=chips, requests=requests)

    numbers = [("a", 4, 5.0), ("a", 1, 2.0), ("b", 8, 1.0), ("a", 2, 1.0), ("a", 2, 5.0)]
    group = SimpleNamespace(replica_options=[option(*each) for each in [*numbers, ("a", 4, 6.0)]])
    kept = [
        (each.chip, each.each_chips, each.requests)
        for each in ClassGroup.options_of_chips.func(group)
    ]
    assert kept == [("a", 1, 2.0), ("a", 2, 5.0), ("a", 4, 6.0), ("b", 8, 1.0)]


@every("unit,watts", [(1, 7000.0), (4, 8000.0), (7, 7000.0), (8, 8000.0)])
def test_owned_chips_run_in_units(limited, unit, watts):
    """Seven chips of 1,000 W each, in whole nodes."""
    owned = share((3, 0.0, 1.0), (4, 0.0, 1.0), owned=SimpleNamespace(hardware=1000.0), unit=unit)
    assert owned.is_owned
    assert owned.used("power") == watts
    assert owned.used("chips") == 7.0
    unknown = share((3, 0.0, 1.0), owned=SimpleNamespace(hardware=None), unit=unit)
    assert unknown.used("power") == 0.0


# What is searched, and how the pools are reported


ONE, BOTH = (
    (SimpleNamespace(share=1.0),),
    (SimpleNamespace(share=0.25), SimpleNamespace(share=0.75)),
)


def chosen_on(*chips, rate=2.0):
    """Pools on so many kinds of chips, at the cost that the first letters of their names say."""
    ways = [
        SimpleNamespace(
            grid=SimpleNamespace(scenario=SimpleNamespace(hardware=SimpleNamespace(id=chip)))
        )
        for chip in chips
    ]
    return SimpleNamespace(pools=[(None, way) for way in ways], rate=rate, order=(len(chips[0]), 1))


@pytest.fixture
def search(monkeypatch):
    """Pools are named by what they were chosen as."""
    monkeypatch.setattr(PoolSearch, "_pools", lambda _, chosen, service: (chosen, service))
    return PoolSearch(BOTH, lambda *_: [])


@every(
    "chips,of_chip,taken",
    [
        # All pools on one kind of chip are what they would be on it.
        (("a", "a"), {"a": "a"}, None),
        (("a", "b"), {"aaa": "aaa", "b": "b"}, "b"),
        (("a", "b"), {"aa": "aa", "bbb": None}, "aa"),
        (("a", "b"), {"a": None}, None),
        (("a", "b"), {}, None),
        # Of equals the first; and four kinds of chips at most are tried.
        (("a", "b"), {"bb": "bb", "aa": "aa"}, "bb"),
        (("a", "b"), {"eeeee": "e5", "dddd": "d4", "ccc": "c3", "bb": "b2", "a": "a1"}, "b2"),
    ],
)
def test_the_cheapest_pools_on_one_kind_of_chip(search, monkeypatch, chips, of_chip, taken):
    asked = service(max_chips=9)
    tried = []

    def groups_of(classes, grids_for, may_share, service, *, is_narrow):
        assert (classes, service, is_narrow) == (BOTH, asked, True)
        tried.append(grids_for.args[0])
        return SimpleNamespace(groupings=lambda rate: (tried[-1], rate))

    def cheapest(groupings, rate, service):
        assert (groupings[1], rate, service) == (2.0, 2.0, asked)
        name = of_chip[groupings[0]]
        return name and SimpleNamespace(name=name, order=(len(groupings[0]), 1))

    monkeypatch.setattr(pool_search, "Groups", groups_of)
    monkeypatch.setattr(pool_search, "_cheapest", cheapest)
    known = SimpleNamespace(chips_of_all=lambda rate: [*of_chip] * (rate == 2.0), is_narrow=True)
    found = search._on_one_chip(chosen_on(*chips), known, asked)
    assert (found and found[0].name) == taken
    assert found is None or found[1] == asked
    assert len(tried) <= 4


def test_grids_of_one_kind_of_chip():
    search = PoolSearch(ONE, lambda classes, service, chips: [(classes, service, chips)])
    asked = service()
    alone = [(ONE, asked, frozenset({"a"}))]
    assert search._grids_of("a", ONE, asked, None) == alone
    assert search._grids_of("a", ONE, asked, frozenset("ab")) == alone
    assert search._grids_of("a", ONE, asked, frozenset("b")) == []


@every("rate,is_short", [(2.0, False), (2.000001, False), (2.01, True)])
def test_other_sharings_are_of_the_rate_that_is_sustained(search, monkeypatch, rate, is_short):
    asked = service(max_chips=9)
    groups = SimpleNamespace(groupings=lambda rate: [("both",), ("one", "other")] * (rate == 2.0))
    monkeypatch.setattr(
        pool_search,
        "_cheapest",
        lambda groupings, rate: (*groupings[0], rate) if groupings else None,
    )
    monkeypatch.setattr(pool_search, "_needed", lambda _, rate, __: {"chips": rate})
    found = search._sharing(chosen_on("a"), groups, asked, rate)
    without = asked.without_means
    assert found.shared_by_all == (("both", 2.0), without)
    assert found.one_each == (("one", "other", 2.0), without)
    assert found.pools[1] == asked
    assert found.needed == ({"chips": rate} if is_short else {})
    assert found.unserved == ()
    single = SimpleNamespace(groupings=lambda _: [("both",)])
    assert search._sharing(chosen_on("a"), single, asked, rate).one_each is None


@pytest.fixture
def pools_for(search, monkeypatch):
    """What pools are found for a rate, of formats as published and then of any."""

    def find(cheapest, most=None, served=BOTH, **limits):
        asked = []

        def groups_of(*_, is_narrow):
            return SimpleNamespace(
                is_narrow=is_narrow,
                served=served,
                groupings=lambda rate: (is_narrow, rate),
            )

        def cheapest_of(groupings, rate, service):
            asked.append((groupings, rate, service.is_fleet))
            return cheapest(*groupings)

        def most_of(groups, _, beyond):
            asked.append(("most", groups.is_narrow, beyond))
            return (most or {}).get(groups.is_narrow)

        monkeypatch.setattr(pool_search, "Groups", groups_of)
        monkeypatch.setattr(pool_search, "_cheapest", cheapest_of)
        monkeypatch.setattr(pool_search, "_most", most_of)
        monkeypatch.setattr(pool_search, "_needed", lambda _, rate, __: {"chips": rate})
        monkeypatch.setattr(
            PoolSearch, "_sharing", lambda _, chosen, __, ___, rate: Shared(chosen, rate)
        )
        monkeypatch.setattr(PoolSearch, "_on_one_chip", lambda *_: "one chip")
        monkeypatch.setattr(PoolSearch, "_alone", lambda _, kind, __, rate: (kind, rate))
        return search.pools_for(Service(1000.0, 500.0, is_fleet=True, **limits)), asked

    return find


@dataclass(frozen=True)
class Shared:
    chosen: object
    rate: float
    on_one_chip: object = None


@dataclass(frozen=True)
class At:
    name: str
    rate: float


def test_pools_for_a_rate_are_in_published_formats_where_any_are(pools_for):
    found, asked = pools_for(lambda is_narrow, rate: At(f"{is_narrow}", rate), rate=4.0)
    assert found == Shared(At("False", 4.0), 4.0, "one chip")
    assert asked == [((False, 4.0), 4.0, False)]
    found, asked = pools_for(
        lambda is_narrow, rate: (is_narrow and At("any", rate)) or None, rate=4.0
    )
    assert found == Shared(At("any", 4.0), 4.0, "one chip")
    assert asked[1] == ("most", False, 4.0)


def test_pools_for_what_means_sustain(pools_for):
    """3 of 4 requests/s, and of no rate the most."""
    found, _ = pools_for(lambda *_: None, {False: At("most", 3.0)}, rate=4.0)
    assert found == Shared(At("most", 3.0), 4.0, "one chip")
    found, asked = pools_for(lambda *_: None, {False: At("most", 3.0)})
    assert found == Shared(At("most", 3.0), 3.0, "one chip")
    assert asked == [("most", False, inf)]


@every("second,taken", [(At("again", 4.0), At("again", 4.0)), (None, At("most", 4.0))])
def test_more_than_a_rate_is_searched_again_for_it(pools_for, second, taken):
    results = iter([None, second])
    found, _ = pools_for(lambda *_: next(results), {False: At("most", 5.0)}, rate=4.0)
    assert found == Shared(taken, 4.0, "one chip")


def test_classes_that_nothing_serves_are_named_or_what_all_would_take(pools_for):
    first, second = BOTH
    found, _ = pools_for(lambda *_: None, served=(first,), rate=4.0)
    assert (found.pools, found.unserved, found.needed) == ((), ((second, 4.0),), {})
    found, _ = pools_for(lambda *_: None, served=())
    assert found.unserved == ((first, 1.0), (second, 1.0))
    found, _ = pools_for(lambda *_: None, rate=4.0)
    assert (found.unserved, found.needed) == ((), {"chips": 4.0})
    found, _ = pools_for(lambda *_: None)
    assert found.needed == {"chips": 1e-4}


def test_of_as_many_chips_the_cheaper():
    """Where chips are to be few: four of a at 3 USD, or four of b at 2."""

    @dataclass(eq=False)
    class Counted(Way):
        @property
        def cost_per_chip(self):
            return 1.0

        def cost_of_filled(self, rate):
            return self.filled(rate)

    options = [Counted(usd=3.0), Counted(usd=2.0, chip="b")]
    (pool,) = _cheapest([[Group(options)]], 4.0).pools
    assert pool[1].chip == "b"


def test_chips_and_costs_of_replicas_that_share_nodes():
    """Half a node of eight chips for 10 requests/s, at 3 a chip: 25 requests/s are three replicas."""
    option = ReplicaOption(None, 10.0, 0.5, 8, 3.0, 10.0)
    assert option.each_chips == 4.0
    assert (option.replicas(25.0), option.filled(25.0)) == (3, 1.5)
    assert (option.chips(1.5), option.chips(1.0), option.cost(25.0)) == (16, 8, 48.0)
    assert (option.replicas(30.0), option.replicas(30.1)) == (3, 4)
