"""Which deployments are taken where percentiles are checked, by hand, on made-up costs."""

from collections import Counter
from dataclasses import dataclass, field, replace
from math import inf, nan
from types import SimpleNamespace

import pytest

from fastcalc.features.plan import cheapest_plans
from fastcalc.features.plan.cheapest_plans import (  # fmt: skip
    _argmin,
    _Checks,
    _held_of_layout,
    _hold_variant,
    _is_as_good,
    _missed_by,
    hold_limits,
    with_percentiles,
)
from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.random_load import HeldLimits
from fastcalc.features.plan.service import Service
from tests.helpers import every

SERVICE = Service(1000.0, 500.0, rate=10.0, share=0.99)


@dataclass(frozen=True)
class Checked:
    """A plan by its cost, and whether a closed form has its percentiles."""

    cost: float
    has_percentiles: bool = True
    prefill_layout: object = None

    @property
    def order(self):
        return self.cost, 1.0, 0.0


@dataclass
class Batches:
    """Batches of one layout: the first is best by the search, which says what it costs."""

    searched: float = 10.0
    larger: tuple = (1, 2, 3, 4)
    order_of: dict = field(default_factory=dict)

    def order(self, index):
        return self.order_of.get(index, self.searched), 1.0, 0.0

    def larger_batches(self, _):
        return list(self.larger)


@pytest.fixture
def held(monkeypatch):
    """Take a plan for each batch, and the batches that are as good as the largest."""

    def best(plans, as_good=(), scored=None):
        scored = scored or Batches(larger=tuple(index for index in sorted(plans) if index))
        monkeypatch.setattr(cheapest_plans, "_held", lambda _, index, __: plans[index])
        monkeypatch.setattr(cheapest_plans, "_is_as_good", lambda _, index, __: index in as_good)
        return _held_of_layout(scored, 0, _Checks([]))

    return best


def test_a_batch_that_the_search_takes_to_be_enough_and_is(held):
    assert held({0: Checked(10.0), 1: Checked(1.0)}).cost == 10.0
    # Prefill on other replicas has no closed form, and is not looked for in larger batches.
    apart = Checked(10.0, has_percentiles=False, prefill_layout="tp2")
    assert held({0: apart, 1: Checked(1.0)}) is apart


@every(
    "first,largest,is_largest",
    [
        # It needs more replicas than the search says, and the largest batch needs fewer.
        (Checked(12.0), Checked(11.0), True),
        (Checked(12.0), Checked(12.0), False),
        (Checked(12.0), Checked(13.0), False),
        # No plan of it is in time.
        (None, Checked(99.0), True),
        (None, None, False),
        (Checked(12.0), None, False),
        # Of one cost, that whose percentiles are exact; but none that costs more.
        (Checked(10.0, has_percentiles=False), Checked(10.0), True),
        (Checked(10.0, has_percentiles=False), Checked(10.0, has_percentiles=False), False),
        (Checked(10.0, has_percentiles=False), Checked(10.5), False),
        (Checked(10.0, has_percentiles=False), Checked(9.0, has_percentiles=False), True),
        (Checked(12.0), Checked(12.0, has_percentiles=False), False),
    ],
)
def test_the_largest_batch_where_the_searched_one_needs_more(held, first, largest, is_largest):
    assert held({0: first, 1: largest}) is (largest if is_largest else first)


@every(
    "as_good,costs,taken",
    [
        # The smallest batch that needs no more replicas than the largest, of 1 to 4.
        ((), {4: 5.0}, 4),
        ((3,), {3: 5.0}, 3),
        ((2, 3), {2: 5.0}, 2),
        ((1, 2, 3), {1: 5.0}, 1),
        # Unless it costs more, or has no plan in time.
        ((2, 3), {2: 5.1}, 4),
        ((2, 3), {2: None}, 4),
    ],
)
def test_the_smallest_batch_that_needs_no_more_than_the_largest(held, as_good, costs, taken):
    plans = {0: None} | {batch: Checked(7.0) for batch in (1, 2, 3)} | {4: Checked(5.0)}
    plans |= {batch: cost and Checked(cost) for batch, cost in costs.items()}
    assert held(plans, as_good) is plans[taken]


def test_a_layout_without_larger_batches_keeps_what_it_has(held):
    late = Checked(12.0)
    assert held({0: late}) is late
    assert held({0: None}) is None


@every(
    "busy,rate,is_known,are_met,is_good",
    [
        # 4 replicas at half of what they could are 2 at all of it, of 2.
        (0.5, 10.0, True, True, True),
        (0.51, 10.0, True, True, False),
        (0.5, None, True, True, False),
        (0.5, 10.0, False, True, False),
        (0.5, 10.0, True, False, False),
    ],
)
def test_a_smaller_batch_is_as_good(monkeypatch, busy, rate, is_known, are_met, is_good):
    asked = []

    def at(rate):
        asked.append(rate)
        return SimpleNamespace(load=SimpleNamespace(is_known=is_known), are_met=are_met)

    plan = SimpleNamespace(busy=busy, replicas=4.0)
    largest = SimpleNamespace(replicas=2.0, has_percentiles=True)
    monkeypatch.setattr(cheapest_plans, "_plan", lambda *_: plan)
    monkeypatch.setattr(cheapest_plans, "held_limits", lambda *_: SimpleNamespace(at=at))
    scored = SimpleNamespace(service=replace(SERVICE, rate=rate))
    assert _is_as_good(scored, 0, largest) is is_good
    assert set(asked) <= {5.0}  # 10 requests/s of two
    if not is_known:
        unknown = replace(Checked(1.0, has_percentiles=False))
        assert _is_as_good(scored, 0, SimpleNamespace(**vars(unknown), replicas=2.0))
    monkeypatch.setattr(cheapest_plans, "held_limits", lambda *_: None)
    assert not _is_as_good(scored, 0, largest)


@every(
    "found,tried,best",
    [
        # By the search layouts cost 1, 2 and 3: the second is not tried for no gain.
        ({0: 1.0}, [0], 1.0),
        ({0: 1.5, 1: 2.0}, [0], 1.5),
        ({0: 9.0, 1: 2.0}, [0, 1], 2.0),
        ({0: 9.0, 1: 2.5, 2: 3.0}, [0, 1], 2.5),
        ({0: 9.0, 1: 10.0, 2: 3.0}, [0, 1, 2], 3.0),
        ({0: None, 1: None, 2: 3.0}, [0, 1, 2], 3.0),
        ({0: None, 1: None, 2: None}, [0, 1, 2], None),
    ],
)
def test_layouts_are_tried_until_the_next_costs_no_less(monkeypatch, found, tried, best):
    asked, most = [], []

    def held_of_layout(scored, index, checks):
        asked.append(index)
        most.append(checks.most)
        cost = found[index]
        return cost and Checked(cost)

    monkeypatch.setattr(cheapest_plans, "_held_of_layout", held_of_layout)
    scored = SimpleNamespace(best_of_layouts=[2, 0, 1], order=lambda index: (index + 1.0, 1.0, 0.0))
    decision = Decision(SERVICE, best_by_variant={"v": Checked(0.0)}, options={"v": [scored]})
    _hold_variant(decision, "v", [])
    assert asked == tried
    kept = {variant: plan.cost for variant, plan in decision.best_by_variant.items()}
    assert kept == ({} if best is None else {"v": best})
    # Each is asked for at no more than the best before it.
    costs = [inf, *(found[index] or inf for index in tried[:-1])]
    assert most == [min(costs[: place + 1]) for place in range(len(tried))]


def test_twelve_layouts_are_tried_at_most(monkeypatch):
    asked = []
    monkeypatch.setattr(cheapest_plans, "_held_of_layout", lambda _, index, __: asked.append(index))
    scored = SimpleNamespace(best_of_layouts=range(20), order=lambda index: (index, 1.0, 0.0))
    decision = Decision(SERVICE, best_by_variant={"v": None}, options={"v": [scored]})
    _hold_variant(decision, "v", [])
    assert asked == list(range(12))


def reporting(best, reported, late_chips):
    """A decision that reports some plans, of which each is checked once it is held."""
    hardware = SimpleNamespace(id="met")
    plans = {
        name: SimpleNamespace(
            variant=name, is_checked=False, scenario=SimpleNamespace(hardware=hardware)
        )
        for name in reported
    }

    class Reported(Decision):
        @property
        def plans(self):
            return [plans[best]]

        def reported(self, count):
            assert count == 3
            return list(plans.values())

    return Reported(SERVICE, best_by_variant={"v": plans[best]}), plans


@every("shown,held,late", [(3, {"a", "b"}, ["other"]), (0, {"a"}, [])])
def test_all_that_is_reported_is_checked_and_of_none_the_best_alone(monkeypatch, shown, held, late):
    """A late plan of a chip that meets the limits in another way is no miss of it."""
    decision, plans = reporting("a", "ab", ["met", "other"])
    asked, missed = set(), []

    def hold_variant(_, variant, late):
        asked.add(variant)
        plans[variant].is_checked = True
        for chip in ("met", "other") if variant == "a" else ():
            hardware = SimpleNamespace(id=chip)
            late.append((SimpleNamespace(scenario=SimpleNamespace(hardware=hardware)), None))

    monkeypatch.setattr(cheapest_plans, "_hold_variant", hold_variant)
    monkeypatch.setattr(cheapest_plans, "with_percentiles", lambda plan, *_: plan)
    monkeypatch.setattr(
        cheapest_plans, "_missed_by", lambda plan, _: missed.append(plan.scenario.hardware.id)
    )
    hold_limits(decision, shown)
    assert (asked, missed) == (held, late)
    decision.service, asked = replace(SERVICE, share=None), set()
    plans["a"].is_checked = False
    hold_limits(decision, shown)
    assert not asked


@every(
    "misses,relaxed,is_missed",
    [
        ({"ttft": 1.5, "tpot": 1.0}, {"ttft": 3.0}, True),
        ({"ttft": 1.5, "tpot": 1.1}, {}, True),
        ({"ttft": 1.0, "tpot": 1.0}, {}, False),
    ],
)
def test_what_a_late_deployment_misses(misses, relaxed, is_missed):
    """One limit alone is relaxed to what it takes."""
    scenario = SimpleNamespace(hardware=SimpleNamespace(id="chip"))
    plan = SimpleNamespace(misses=misses, values={"ttft": 3.0, "tpot": 0.1}, scenario=scenario)
    decision = Decision(SERVICE, reasons=Counter())
    _missed_by(plan, decision)
    assert decision.relaxed == relaxed
    assert decision.closest == ({"chip": plan} if is_missed else {})


@every("is_mix", [True, False])
def test_percentiles_stand_in_for_what_the_search_estimates(is_mix):
    """But for a TPOT that no request has."""

    @dataclass
    class Values:
        values: dict
        misses: dict = field(default_factory=dict)
        class_ttft: tuple = ()
        class_tpot: tuple = ()
        is_checked: bool = False
        has_percentiles: bool = False

    service = replace(SERVICE, ttft=2.0, classes=("class",) if is_mix else ())
    limits = SimpleNamespace(
        held_against=lambda name, limit: {("ttft", 2.0): 3.0, ("tpot", inf): nan}[name, limit],
        percentiles=lambda name: (name,),
        load=SimpleNamespace(is_known=True),
    )
    values = {"ttft": 1.0, "tpot": 0.5, "chips": 8.0}
    plan = with_percentiles(Values(values), service, limits)
    assert plan.values == {"ttft": 3.0, "tpot": 0.5, "chips": 8.0}
    assert plan.misses == {"ttft": 1.5, "tpot": 0.0, "chips": 0.0}
    assert plan.is_checked
    assert plan.has_percentiles
    assert (plan.class_ttft, plan.class_tpot) == ((("ttft",), ("tpot",)) if is_mix else ((), ()))


@every(
    "values,among,index",
    [
        ([3.0, 1.0, 2.0], [True, True, True], 1),
        ([3.0, 1.0, 2.0], [True, False, True], 2),
        ([3.0, 1.0, 2.0], [False, False, False], None),
        ([], [], None),
    ],
)
def test_the_least_among_some(values, among, index):
    assert _argmin(values, among) == index


@dataclass(frozen=True, eq=False)
class Within:
    """Limits that are met up to a rate per replica of 4 requests/s, of a capacity of 10."""

    rate: float = 1.0
    capacity: float = 10.0
    most: float = 4.0

    def limits(self):
        held = HeldLimits(self, (), 0.99)
        held.__dict__["_margin"] = 1.0 if self.rate <= self.most else -1.0
        return held

    def at(self, rate):
        return replace(self, rate=rate)


@pytest.fixture
def within(monkeypatch):
    monkeypatch.setattr(HeldLimits, "at", lambda self, rate: self.load.at(rate).limits())
    return Within().limits()


@every(
    "rate,guess,max_rate,affordable,fewest",
    [
        # 4 requests/s each: 5 replicas for 20, whatever is guessed.
        (20.0, 5.0, 8.0, inf, 5),
        (20.0, 1.0, 8.0, inf, 5),
        (20.0, 9.0, 8.0, inf, 5),
        (20.1, 5.0, 8.0, inf, 6),
        (4.0, 1.0, 8.0, inf, 1),
        # No replica is given more than it may do.
        (20.0, 1.0, 2.0, inf, 10),
        # Or more than there is money for.
        (20.0, 5.0, 8.0, 5.0, 5),
        (20.0, 5.0, 8.0, 4.0, 0),
        (20.0, 5.0, 8.0, 0.0, 0),
    ],
)
def test_the_fewest_replicas_that_are_in_time(within, rate, guess, max_rate, affordable, fewest):
    assert within.fewest_replicas(rate, guess, max_rate, affordable) == fewest


def test_replicas_that_are_hardly_busy_are_no_plan(within):
    """Below a hundredth of a capacity of 10: 0.1 requests/s each."""
    for most, fewest in ((0.2, 100), (0.05, 0)):
        limits = replace(Within(), most=most).limits()
        assert limits.fewest_replicas(20.0, 1.0, 8.0) == fewest


@every("most,max_rate,highest", [(99.0, 5.0, 5.0), (99.0, 50.0, 8.0), (0.0, 5.0, 0.0)])
def test_the_highest_rate_of_a_replica_is_within_eight_tenths_of_its_capacity(
    within, most, max_rate, highest
):
    limits = replace(Within(), most=most).limits()
    assert limits.highest_rate(max_rate) == pytest.approx(highest, abs=max_rate / 500)


@every(
    "limits,ratio",
    [
        # 2 s of 4 and 1 s of 1: all of the limit that stands for both.
        (((4.0,), (1.0,)), 10.0),
        (((2.0,), (4.0,)), 10.0),
        (((4.0,), (4.0,)), 5.0),
    ],
)
def test_a_percentile_is_held_against_the_limit_of_its_class(limits, ratio):
    classes = [SimpleNamespace(ttft=limit) for (limit,) in limits]
    times = [SimpleNamespace(ttft=lambda part, s=s: s * (part == 0.99)) for s in (2.0, 1.0)]
    held = HeldLimits(SimpleNamespace(times=lambda: times[0]), classes, 0.99)
    held.__dict__["times"] = times
    assert held.held_against("ttft", 10.0) == ratio
    assert held.held_against("ttft", inf) == 2.0


class Limits(SimpleNamespace):
    """Limits of a replica that has 2 requests/s, and what was asked of them."""

    def highest_rate(self, max_rate):
        self.asked = max_rate
        return self.rate

    def fewest_replicas(self, *asked):
        self.asked = asked
        return self.replicas

    def at(self, rate):
        return Limits(**vars(self) | {"at_rate": rate})


@pytest.fixture
def sized(monkeypatch):
    """A plan of 4 replicas half of which each is busy, and again at another utilization."""

    def size(service, limits, **late):
        plan = SizedPlan()
        again = {}

        def resized(_, __, capped):
            again.update(utilization=capped.utilization, share=capped.share)
            return SimpleNamespace(service=capped, is_again=True)

        monkeypatch.setattr(cheapest_plans, "resized", resized)
        monkeypatch.setattr(
            cheapest_plans,
            "_plan",
            lambda scored, _: replace(plan, is_again=hasattr(scored, "is_again")),
        )
        monkeypatch.setattr(cheapest_plans, "held_limits", lambda *_: limits)
        monkeypatch.setattr(cheapest_plans, "_most_replicas", lambda *_: 99.0)
        monkeypatch.setattr(
            cheapest_plans, "with_percentiles",
            lambda plan, _, held: replace(plan, held=held, misses=late or {"ttft": 1.0}),
        )  # fmt: skip
        checks = _Checks([])
        found = cheapest_plans._sized_to_limits(SimpleNamespace(service=service), 0, checks)
        return found, again, checks.late

    return size


@dataclass(frozen=True)
class SizedPlan:
    busy: float = 0.5
    replicas: float = 4.0
    requests: float = 12.0
    is_again: bool = False
    is_checked: bool = False
    held: object = None
    misses: dict = field(default_factory=dict)


def limits_of(**changes):
    given = {"are_limited": True, "are_met": True, "rate": 2.0, "replicas": 4, "at_rate": None}
    return Limits(load=SimpleNamespace(rate=2.0), **given | changes)


def test_plans_without_percentiles_or_limits_are_as_they_were_searched(sized):
    assert sized(SERVICE, None)[0] == SizedPlan(is_checked=True)
    free = limits_of(are_limited=False)
    found, again, late = sized(SERVICE, free)
    assert found.held is free
    assert not again
    assert not late


@every(
    "rate,utilization,asked",
    [
        # 2 requests/s at half of what it can are 4 at all of it, 3.2 at 80 %.
        (None, 0.8, 3.2),
        (8.0, 0.8, (8.0, 4.0, 3.2, 99.0)),
    ],
)
def test_no_replica_is_asked_for_more_than_its_utilization(sized, rate, utilization, asked):
    limits = limits_of()
    found, again, late = sized(replace(SERVICE, rate=rate, utilization=utilization), limits)
    assert limits.asked == pytest.approx(asked)
    assert not found.is_again  # which has that rate already
    assert not again
    assert not late


@every(
    "rate,changes,utilization,at_rate",
    [
        # 8 requests/s of 5 replicas are 1.6 each, of 4 at half of what they can: 40 %.
        (8.0, {"replicas": 5}, 0.4, 2.0),
        (None, {"rate": 1.0}, 0.25, 3.0),
    ],
)
def test_a_plan_is_sized_again_for_what_percentiles_allow(
    sized, rate, changes, utilization, at_rate
):
    found, again, _ = sized(replace(SERVICE, rate=rate), limits_of(**changes))
    assert found.is_again
    assert again == {"utilization": pytest.approx(utilization), "share": None}
    assert found.held.at_rate == at_rate  # 8 requests/s, or the 12 that it sustains, on 4 replicas


@every("changes", [{"replicas": 0}, {"rate": 0.0}])
def test_no_plan_where_no_replicas_are_enough(sized, changes):
    service = replace(SERVICE, rate=None if "rate" in changes else 8.0)
    found, _, late = sized(service, limits_of(are_met=False, **changes))
    assert found is None
    assert len(late) == 1


def test_a_plan_that_is_late_all_the_same_is_none(sized):
    found, _, late = sized(replace(SERVICE, rate=8.0), limits_of(), ttft=1.1, tpot=0.5)
    assert found is None
    assert [plan.held for plan, _ in late] != []
    assert sized(replace(SERVICE, rate=8.0), limits_of(), ttft=1.0, tpot=0.5)[0] is not None
