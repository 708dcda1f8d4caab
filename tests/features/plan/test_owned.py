"""What a fleet of owned and rented chips takes and leaves, worked by hand: no engine, no model."""

from dataclasses import dataclass, replace
from math import inf

import pytest

from fastcalc.features.plan import allocation
from fastcalc.features.plan.allocation import Fleet, OwnedChips, allocate
from fastcalc.features.plan.service import Service
from tests import made_up
from tests.helpers import every

NODE = {"name": "eight", "chips": 8}


@dataclass(frozen=True)
class Share:
    """Chips that carry some requests and take so much of each limit."""

    requests: float
    is_owned: bool = True
    usd_per_month: float | None = 0.0
    ttft: float = 0.0
    tpot: float = 0.0
    power: float = 0.0
    chips: float = 0.0
    budget: float = 0.0

    def used(self, name):
        return getattr(self, name)


@dataclass(frozen=True, eq=False)
class Chips(OwnedChips):
    """Owned chips that carry up to 1 request/s each, at 1,000 W; they keep what they were asked."""

    def is_narrowed(self, _):
        return False

    def allocations(self, left):
        most = float(self.chips)
        carried = most if left.rate is None else min(most, left.rate)
        yield Share(carried, power=1000.0 * carried, ttft=left.power)


def kind(chips=10, usd=2.0, **changes):
    """Ten chips at 2 USD/h: 730 x 20 = 14,600 USD a month."""
    return Chips(made_up.chip(**changes), chips, usd, search=None)


def fleet(*shares, owned=(), **service):
    return Fleet(Service(1000.0, 500.0, **service), owned, shares)


def test_owned_chips_cost_whether_used_or_not():
    assert kind().usd_per_month == 14_600.0
    assert kind(chips=1).usd_per_month == 1460.0
    assert kind(usd=0.0).usd_per_month == 0.0
    assert kind(usd=None).usd_per_month is None


def rented(usd):
    return Share(1.0, is_owned=False, usd_per_month=usd)


@every(
    "owned,rents,bill",
    [
        ((), (), 0.0),
        ((kind(), kind(chips=1)), (), 16_060.0),
        ((kind(),), (rented(400.0), rented(100.0)), 15_100.0),
        ((), (rented(400.0),), 400.0),
        # One price that nobody knows, owned or rented, is no free chip.
        ((kind(), kind(usd=None)), (), None),
        ((kind(usd=None),), (rented(400.0),), None),
        ((kind(),), (rented(400.0), rented(None)), None),
    ],
)
def test_a_bill_is_of_all_chips_or_of_none(owned, rents, bill):
    used = Share(1.0, usd_per_month=777.0)  # of owned chips, already paid for
    assert fleet(used, *rents, owned=owned).usd_per_month == bill


def test_what_a_fleet_takes_is_summed_and_its_times_are_the_longest():
    one = fleet(
        Share(4.0, ttft=1.0, tpot=0.03, power=100.0, chips=8.0, budget=50.0),
        Share(2.0, False, ttft=0.5, tpot=0.04, power=200.0, chips=3.0, budget=70.0),
        Share(1.0, False, ttft=0.2, tpot=0.01, power=400.0, chips=5.0, budget=90.0),
        owned=[kind(), kind(chips=1, usd=None)],
    )
    assert one.requests == 7.0
    # Chips and dollars of owned ones are no longer chosen: 14,600 a month, and none for no price.
    used = {name: one.used(name) for name in ("ttft", "tpot", "power", "chips", "budget")}
    assert used == {"ttft": 1.0, "tpot": 0.04, "power": 700.0, "chips": 8.0, "budget": 14_760.0}


@every(
    "limit,is_within",
    [(100.0, True), (100.0 * (1 - 5e-10), True), (100.0 * (1 - 5e-9), False), (99.0, False)],
)
def test_what_just_meets_a_limit_is_within_it(limit, is_within):
    share = Share(1.0, is_owned=False, power=100.0, budget=100.0, chips=100.0)
    for name in ("power", "budget", "max_chips"):
        assert fleet(share, **{name: limit}).is_within is is_within
    # Times are limits of each share, which is found within them.
    assert fleet(Share(1.0, ttft=2.0), ttft=1.0).is_within


@every(
    "requests,rate,carries",
    [
        (0.0, None, False),
        (0.5, None, True),
        (5.0, 5.0, True),
        (5.0 * (1 - 5e-10), 5.0, True),
        (5.0 * (1 - 5e-9), 5.0, False),
        (0.0, 0.0, False),
    ],
)
def test_a_fleet_carries_what_is_asked_or_something(requests, rate, carries):
    one = fleet(Share(requests, power=100.0), rate=rate)
    assert one.serves_all is carries
    assert one.is_enough is carries
    assert not replace(one, service=one.service.limited({"power": 99.0})).is_enough


@every(
    "requests,rate,left",
    [
        (3.0, None, None),
        (3.0, 5.0, 2.0),
        (5.0, 5.0, 0.0),
        (5.0 * (1 - 5e-10), 5.0, 0.0),
        (6.0, 5.0, 0.0),
    ],
)
def test_what_is_left_of_a_rate(requests, rate, left):
    assert fleet(Share(requests), rate=rate).left.rate == left


def test_what_is_left_of_limits_is_what_is_not_taken():
    share = Share(1.0, power=300.0, chips=8.0)
    limits = {"power": 1000.0, "budget": 20_000.0, "max_chips": 16, "ttft": 2.0}
    left = fleet(share, owned=[kind()], **limits).left
    # Owned chips take no chips of those that may be rented.
    assert (left.power, left.budget, left.max_chips, left.ttft) == (700.0, 5400.0, 16, 2.0)
    spent = fleet(Share(1.0, power=2000.0), owned=[kind()], power=1000.0, budget=100.0).left
    assert (spent.power, spent.budget) == (0.0, 0.0)


@every(
    "service,owned,rents",
    [
        ({"rate": 1.0}, (kind(),), True),
        ({"rate": 1.0}, (), True),
        ({}, (), True),
        ({}, (kind(),), False),
        ({"budget": 1.0}, (kind(),), True),
        ({"max_chips": 8}, (kind(),), True),
        # The power of a room is for what is owned; without that, for what may be rented.
        ({"power": 1.0}, (kind(),), False),
        ({"power": 1.0}, (), True),
    ],
)
def test_chips_are_rented_for_a_rate_or_for_what_means_leave(service, owned, rents):
    assert fleet(owned=owned, **service).rents is rents


def allocated(owned, rent, service):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allocation, "_rented", lambda _, left, __: rent(left))
        return allocate(owned, object(), service)


def carried(owned, **service):
    """Return the requests of each share, and what was left when chips were rented."""
    asked = []

    def rent(left):
        asked.append(left)
        return Share(99.0, is_owned=False)

    found = allocated(owned, rent, Service(1000.0, 500.0, **service))
    return [share.requests for share in found.allocations], asked


@every(
    "owned,service,requests",
    [
        ((kind(3), kind(4)), {}, [3.0, 4.0]),
        ((kind(3), kind(4)), {"rate": 5.0}, [3.0, 2.0]),
        # What the first carry leaves nothing for the others to do, and nothing to rent.
        ((kind(3), kind(4)), {"rate": 3.0}, [3.0]),
        ((kind(3), kind(4)), {"rate": 2.0}, [2.0]),
        ((kind(3), kind(4)), {"rate": 8.0}, [3.0, 4.0, 99.0]),
        ((), {"rate": 8.0}, [99.0]),
        ((kind(3),), {"power": 9000.0}, [3.0]),
        ((kind(3),), {"power": 9000.0, "rate": 4.0}, [3.0, 99.0]),
        ((kind(3),), {"power": 3000.0, "rate": 4.0}, [3.0]),
        # Three chips at 2 USD/h cost 4,380 a month.
        ((kind(3),), {"budget": 4380.5}, [3.0, 99.0]),
        ((kind(3),), {"budget": 4380.0}, [3.0]),
        ((kind(3),), {"max_chips": 8}, [3.0, 99.0]),
    ],
)
def test_owned_chips_come_first_and_what_is_left_is_rented(owned, service, requests):
    assert carried(owned, **service)[0] == requests


def test_each_is_asked_for_what_those_before_it_leave():
    found = allocated(
        [kind(3), kind(4)],
        lambda left: Share(left.rate, False),
        Service(1000.0, 500.0, rate=9.0, power=9000.0),
    )
    first, second, on_top = found.allocations
    assert (first.ttft, second.ttft) == (9000.0, 6000.0)  # power that was left
    assert on_top.requests == 2.0
    assert found.is_enough


@every(
    "changes,chips,in_nodes,node,unit",
    [
        # A node of eight; a domain of two; a host of four and a domain of eight; no links at all.
        ({"node": NODE}, 16, True, 8, 8),
        ({"node": NODE}, 12, True, 8, 1),
        ({"node": NODE}, 16, False, 8, 1),
        ({"links": {"scale_up": {"bandwidth": "9 GB/s", "domain": 2}}}, 16, True, 2, 1),
        ({"links": {"scale_up": {"bandwidth": "9 GB/s", "domain": 72}}}, 16, True, 8, 1),
    ],
)
def test_chips_come_in_nodes_where_all_are_in_whole_ones(changes, chips, in_nodes, node, unit):
    service, owned = Service(1.0, 1.0, rate=1.0, in_nodes=in_nodes), kind(chips, **changes)
    assert owned.node_chips == node
    assert owned.unit(service) == unit
    assert owned.with_nodes(2, service).chips == chips + 2 * unit


def test_a_power_lets_as_many_run_as_it_feeds():
    """1,000 W a chip are 2,170 W of its system with host and cooling, as the records say."""
    watts = 2170.0
    service = Service(1.0, 1.0, rate=1.0)
    for units, chips in ((0.99, 0), (1.0, 1), (2.5, 2), (10.0, 10), (99.0, 10), (inf, 10)):
        assert kind().runnable(replace(service, power=units * watts)) == chips
    nodes = replace(service, in_nodes=True)
    for units, chips in ((7.9, 0), (8.0, 8), (15.9, 8), (16.0, 16), (99.0, 16)):
        limited = replace(nodes, power=units * watts)
        assert kind(16, node=NODE).runnable(limited) == chips
    unknown = replace(kind(), hardware=made_up.chip(power=None))
    assert unknown.runnable(replace(service, power=1.0)) == 10
