"""Which deployments are taken where percentiles are checked, by hand, on made-up costs."""

from collections import Counter
from dataclasses import dataclass, field, replace
from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.features.plan import percentile_checks
from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.percentile_checks import (  # fmt: skip
    _Batch,
    _Checks,
    _held_of_layout,
    _hold_variant,
    _may_be_closer,
    hold_limits,
    with_percentiles,
)
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
    batch: float = 1.0

    @property
    def order(self):
        return self.cost, 1.0, 0.0

    @property
    def replicas(self):
        return self.cost


@dataclass
class Batches:
    """Batches of one layout, each of as many replicas as its plan costs by the search."""

    service: object = SERVICE
    searched: float = 10.0
    replicas: dict = field(default_factory=lambda: dict.fromkeys(range(5), 10.0))
    batch: tuple = (1.0, 2.0, 3.0, 4.0, 5.0)

    def order(self, _):
        return self.searched, 1.0, 0.0


@pytest.fixture
def held(monkeypatch):
    """Take a plan for each batch, and which are too small or late at a number of replicas."""

    def best(plans, holds=lambda *_: 1, service=SERVICE, *, is_least=False):
        scored = Batches(service)
        tried = [(scored, index) for index in sorted(plans)]

        class Batch:
            def __init__(self, scored, index):
                self.scored, self.index, self.limits = scored, index, self

            def at(self, rate):
                return SimpleNamespace(are_met=holds(self.index, round(10.0 / rate)) == 0)

            def can_sustain(self, *_, **__):
                return True

            def is_too_small(self, rate):
                return holds(self.index, round(10.0 / rate)) < 0

        def sized(_, index, __, best=None, max_cost=inf, guess=0):
            return plans[index] if plans[index] and plans[index].cost <= max_cost else None

        monkeypatch.setattr(percentile_checks, "_sized_to_limits", sized)
        monkeypatch.setattr(percentile_checks, "_batches", lambda *_: tried)
        monkeypatch.setattr(percentile_checks, "_Batch", Batch)
        monkeypatch.setattr(percentile_checks, "_most_replicas", lambda *_: inf)
        monkeypatch.setattr(percentile_checks, "_costs_no_less", lambda *_: is_least)
        monkeypatch.setattr(percentile_checks, "_may_be_exact", lambda *_: False)
        monkeypatch.setattr(percentile_checks, "plan_of", lambda *_: None)
        monkeypatch.setattr(percentile_checks, "held_limits", lambda *_: "limits")
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
    "window,taken",
    [
        # With 10 replicas batches from 2 on are large enough, and those up to 3 fast enough.
        ((2, 3), 2),
        ((1, 3), 1),
        ((3, 3), 3),
        # None of them is both, or none is large enough: those tried remain.
        ((4, 3), 0),
        ((5, 5), 0),
    ],
)
def test_a_batch_between_the_smallest_and_the_largest(held, window, taken):
    """Which need more replicas each than the search says: one waits for a slot, one is slow."""

    def holds(index, replicas):
        return (index > window[1]) - (index < window[0]) if replicas < 11 else 0

    plans = {0: Checked(11.0)} | {index: Checked(10.0) for index in (1, 2, 3)} | {4: Checked(12.0)}
    assert held(plans, holds) is plans[taken]


@every("enough,cost", [(10, 10.0), (12, 12.0), (15, 15.0), (16, 15.5)])
def test_the_fewest_replicas_of_any_batch(held, enough, cost):
    """Those of batch 2 are enough from some number on."""
    plans = {0: None, 1: None, 2: Checked(float(enough)), 3: Checked(15.5)}
    found = held(
        plans, lambda index, replicas: 0 if index == 2 and replicas >= enough else index - 2 or 1
    )
    assert found.cost == cost


def test_where_no_batch_costs_less_the_largest_is_not_sized(held):
    """Batch 2 is enough on the 10 replicas of the search, and its percentiles are exact."""
    plans = {0: Checked(10.0, has_percentiles=False), 1: None, 2: Checked(10.0)}
    found = held(plans, lambda index, _: min(index - 2, 0), is_least=True)
    assert found is plans[2]
    # Without exact percentiles on any, the batch of the search remains.
    assert held(plans | {2: None}, lambda *_: -1, is_least=True) is plans[0]


def test_without_a_rate_or_limits_the_better_of_two_batches(held):
    plans = {0: Checked(12.0), 1: Checked(1.0), 2: Checked(11.0)}
    assert held(plans, lambda *_: 0, replace(SERVICE, rate=None)) is plans[2]


def test_a_layout_without_larger_batches_keeps_what_it_has(held):
    late = Checked(12.0)
    assert held({0: late}) is late
    assert held({0: None}) is None


@every(
    "rate,is_known,tpot_met,are_met,is_too_small",
    [
        # 5 requests/s a replica are as much as it is given at half of a capacity of 10.
        (5.0, True, True, True, False),
        (5.1, True, True, True, True),
        # Percentiles are not exact, or too late to the first token: fewer wait for more slots.
        (5.0, False, True, True, True),
        (5.0, True, True, False, True),
        # A batch that is too slow is not too small.
        (5.0, True, False, False, False),
    ],
)
def test_a_batch_is_too_small(rate, is_known, tpot_met, are_met, is_too_small):
    batch = _Batch(SimpleNamespace(service=replace(SERVICE, utilization=0.5)), 0)
    at_rate = SimpleNamespace(
        load=SimpleNamespace(is_known=is_known), is_tpot_met=tpot_met, are_met=are_met
    )
    limits = SimpleNamespace(load=SimpleNamespace(rate=2.0, is_known=True), at=lambda _: at_rate)
    batch.__dict__.update({"_plan": SimpleNamespace(busy=0.2), "limits": limits})
    is_able = batch.can_sustain(rate, is_known=True)
    assert (not is_able or batch.is_too_small(rate)) is is_too_small
    if not is_known:
        assert batch.can_sustain(rate, is_known=False)


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
        checks.most = min(checks.most, cost or inf)
        return cost and Checked(cost)

    monkeypatch.setattr(percentile_checks, "_held_of_layout", held_of_layout)
    monkeypatch.setattr(percentile_checks, "held_limits", lambda *_: None)
    monkeypatch.setattr(percentile_checks, "_row_of", lambda _, index: (index,))
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
    monkeypatch.setattr(
        percentile_checks, "_held_of_layout", lambda _, index, __: asked.append(index)
    )
    monkeypatch.setattr(percentile_checks, "_row_of", lambda _, index: (index // 2,))
    scored = SimpleNamespace(best_of_layouts=range(40), order=lambda index: (index, 1.0, 0.0))
    decision = Decision(SERVICE, best_by_variant={"v": None}, options={"v": [scored]})
    _hold_variant(decision, "v", [])
    assert asked == list(range(0, 24, 2))  # each once, by its best batch of two grids


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

    monkeypatch.setattr(percentile_checks, "_hold_variant", hold_variant)
    monkeypatch.setattr(percentile_checks, "_may_be_closer", lambda *_: True)
    monkeypatch.setattr(percentile_checks, "with_percentiles", lambda plan, *_: plan)
    monkeypatch.setattr(
        Decision, "add_late", lambda _, plan: missed.append(plan.scenario.hardware.id)
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
    decision.add_late(plan)
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


def test_a_limit_that_is_met_at_no_rate_takes_two_trials(monkeypatch):
    """One at the number that is guessed, and one with hardly any requests on each replica."""
    rates = []

    def at(self, rate):
        rates.append(rate)
        return self.load.at(rate).limits()

    monkeypatch.setattr(HeldLimits, "at", at)
    assert Within(most=0.0).limits().fewest_replicas(20.0, 5.0, 8.0) == 0
    assert len(rates) == 2
    assert rates[0] == 4.0
    assert rates[1] < 0.1 <= 2.0 * rates[1]  # a hundredth of the capacity


CHIP = SimpleNamespace(hardware=SimpleNamespace(id="chip"))


@every(
    "least,is_closer",
    [
        # Twice both limits is closest so far, and 1.5 times that of TPOT alone the least.
        ({"ttft": 2.1, "tpot": 1.9}, False),
        ({"ttft": 1.9, "tpot": 1.9}, True),
        ({"ttft": 0.5, "tpot": 2.2}, False),
        ({"ttft": 2.2, "tpot": 0.5}, True),
        ({"ttft": 2.2}, True),
    ],
)
def test_percentiles_of_late_plans_are_computed_if_they_may_change_the_advice(least, is_closer):
    service = Service(1000.0, 500.0, rate=10.0, share=0.99, ttft=1.0, tpot=0.02)
    closest = SimpleNamespace(misses={"ttft": 2.0, "tpot": 2.0, "chips": 0.0})
    decision = Decision(service, closest={"chip": closest}, relaxed={"tpot": 0.03})
    late = SimpleNamespace(scenario=CHIP, misses={"ttft": 0.5, "tpot": 0.5, "chips": 0.0})
    limits = SimpleNamespace(least_misses=least)
    assert _may_be_closer(late, limits, decision) is is_closer
    assert _may_be_closer(late, limits, Decision(service)), "on a chip without a plan so far"


@every("most,max_rate,highest", [(99.0, 5.0, 5.0), (99.0, 50.0, 8.5), (0.0, 5.0, 0.0)])
def test_the_highest_rate_of_a_replica_is_where_percentiles_hold(within, most, max_rate, highest):
    limits = replace(Within(), most=most).limits()
    assert limits.highest_rate(max_rate) == pytest.approx(highest, abs=max_rate / 500)


# Limits are met up to 4 requests/s, and at most 8.5 of a capacity of 10 are tried.
@every(
    "above,max_rate,tried,highest",
    [(3.9, 8.0, [3.9], 4.0), (4.1, 8.0, [4.1], 0.0), (2.0, 1.9, [], 0.0), (9.0, 50.0, [], 0.0)],
)
def test_a_rate_that_exceeds_no_other_takes_one_evaluation(
    within, monkeypatch, above, max_rate, tried, highest
):
    rates = []

    def at(self, rate):
        rates.append(rate)
        return self.load.at(rate).limits()

    monkeypatch.setattr(HeldLimits, "at", at)
    found = within.highest_rate(max_rate, above)
    assert found == pytest.approx(highest, abs=max_rate / 500)
    assert rates[:1] == tried
    assert found or len(rates) == len(tried)


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

    def size(service, limits, chips=1.0):
        plan = SizedPlan(misses={"ttft": 0.5, "chips": chips})
        again = {}

        def resized(_, __, capped):
            again.update(utilization=capped.utilization, share=capped.share)
            return SimpleNamespace(service=capped, is_again=True)

        monkeypatch.setattr(percentile_checks, "resized", resized)
        monkeypatch.setattr(
            percentile_checks,
            "plan_of",
            lambda scored, _: replace(plan, is_again=hasattr(scored, "is_again")),
        )
        monkeypatch.setattr(percentile_checks, "held_limits", lambda *_: limits)
        monkeypatch.setattr(percentile_checks, "_most_replicas", lambda *_: 99.0)
        checks = _Checks([])
        found = percentile_checks._sized_to_limits(SimpleNamespace(service=service), 0, checks)
        return found, again, checks.late

    return size


@dataclass(frozen=True)
class SizedPlan:
    busy: float = 0.5
    replicas: float = 4.0
    requests: float = 12.0
    cost: float = 1.0
    is_again: bool = False
    is_checked: bool = False
    has_percentiles: bool = False
    misses: dict = field(default_factory=dict)


def limits_of(**changes):
    given = {"are_limited": True, "are_met": True, "rate": 2.0, "replicas": 4, "at_rate": None}
    return Limits(load=SimpleNamespace(rate=2.0, is_known=True), **given | changes)


def test_plans_without_percentiles_or_limits_are_as_they_were_searched(sized):
    found, *_ = sized(SERVICE, None)
    assert (found.is_checked, found.has_percentiles) == (True, False)
    found, again, late = sized(SERVICE, limits_of(are_limited=False))
    assert (found.is_checked, found.has_percentiles) == (True, True)
    assert not again
    assert not late


@every(
    "rate,utilization,asked",
    [
        # 2 requests/s at half of what it can are 4 at all of it, 3.2 at 80%.
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
    "rate,changes,utilization",
    [
        # 8 requests/s of 5 replicas are 1.6 each, of 4 at half of what they can: 40%.
        (8.0, {"replicas": 5}, 0.4),
        (None, {"rate": 1.0}, 0.25),
    ],
)
def test_a_plan_is_sized_again_for_what_percentiles_allow(sized, rate, changes, utilization):
    found, again, _ = sized(replace(SERVICE, rate=rate), limits_of(**changes))
    assert found.is_again
    assert again == {"utilization": pytest.approx(utilization), "share": None}


@every("changes", [{"replicas": 0}, {"rate": 0.0}])
def test_no_plan_where_no_replicas_are_enough(sized, changes):
    service = replace(SERVICE, rate=None if "rate" in changes else 8.0)
    found, _, late = sized(service, limits_of(are_met=False, **changes))
    assert found is None
    assert len(late) == 1


def test_a_plan_that_takes_too_many_chips_is_none(sized):
    found, _, late = sized(replace(SERVICE, rate=8.0), limits_of(), chips=1.1)
    assert found is None
    assert len(late) == 1
    assert sized(replace(SERVICE, rate=8.0), limits_of(), chips=1.0)[0] is not None


@dataclass(frozen=True)
class Replica:
    """The plan of a batch on one replica, or on more before it is asked for alone."""

    batch: float
    replicas: float = 3.0


@every(
    "held,above,asked,highest",
    [
        # Of 7, 5 and 2 requests/s by the search, 3 and 4 are in time; 2 is not above 4.
        ({100: 3.0, 10: 4.0, 1: 9.0}, 0.0, [(100, 7.0, 0.0), (10, 5.0, 3.0)], 4.0),
        ({100: 6.0}, 0.0, [(100, 7.0, 0.0)], 6.0),
        # The largest batch has the rate of the search where nothing limits it, or nothing is known.
        ({}, 0.0, [], 7.0),
        ({100: inf, 10: 9.0}, 0.0, [], 7.0),
        # What was found before is not tried again, and stays.
        ({100: 3.0, 10: 4.0}, 4.5, [(100, 7.0, 4.5), (10, 5.0, 4.5)], 4.5),
        ({100: 3.0}, 7.0, [], 7.0),
    ],
)
def test_a_smaller_batch_may_sustain_more_in_time(held, above, asked, highest, monkeypatch):
    known = []

    def held_limits(plan, service):
        assert (plan.replicas, service) == (1.0, "service")
        if plan.batch not in held:
            return None

        def highest_rate(rate, least):
            known.append((plan.batch, rate, least))
            return held[plan.batch] if held[plan.batch] > least else 0.0

        return SimpleNamespace(are_limited=held[plan.batch] < inf, highest_rate=highest_rate)

    scored = SimpleNamespace(
        batch=np.array([1.0, 10.0, 100.0]), throughput=np.array([2.0, 5.0, 8.0]), service="service"
    )

    def score(grid, service, pools):
        assert (grid, service.rate, pools) == ("grid", 7.0, [None])
        return [scored]

    monkeypatch.setattr(percentile_checks, "score", score)
    monkeypatch.setattr(percentile_checks, "plan_of", lambda one, at: Replica(one.batch[at]))
    monkeypatch.setattr(percentile_checks, "held_limits", held_limits)
    service = Service(1000.0, 500.0, rate=1.0)
    assert percentile_checks.held_throughput("grid", service, 7.0, above) == highest
    assert known == asked
