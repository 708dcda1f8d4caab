"""``plan --users``: the request rate of closed-loop users, which falls as latency rises."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.features.plan.allocation import Fleet
from fastcalc.features.plan.cheapest_plans import with_percentiles
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.random_load import held_limits, random_load
from fastcalc.features.plan.request import Askers
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import ReplicaPool
from fastcalc.formulas.solving import bisect
from fastcalc.formulas.types import ArrayLike
from fastcalc.formulas.users import requests_of_active, requests_of_thinkers
from fastcalc.kit.request import readers
from fastcalc.mentions import option

_AS_MUCH = 1.001
"""Times a rate at which another is as much. [1]"""

_NEAR = 1.02
"""Times a rate at which no plan is looked for between two. [1]"""

_ROUNDS, _HALVINGS = 8, 16
"""Plans for one rate after another; halvings of a rate."""


@dataclass(frozen=True)
class People:
    """Those who make requests.

    count, active : there are, and the share of them that is at it [1]
    think : time from an answer to the next request; None where they ask so often anyway [s]
    per_minute : requests of each who is active, without thinking time [1/min]
    peak : busiest time over the mean one [1]
    """

    count: float
    active: float
    think: float | None
    per_minute: float
    peak: float

    def rate(self, request: float) -> float:
        """The requests a second, where one takes some time. [1/s]"""
        if self.think is None:
            return float(
                requests_of_active(
                    people=self.count,
                    active=self.active,
                    per_minute=self.per_minute,
                    peak=self.peak,
                )
            )
        return float(requests_of_thinkers(people=self.waiting, think=self.think, request=request))

    @property
    def waiting(self) -> float:
        """Users at the busiest time who wait for an answer before they ask again. [1]

        Infinity where their requests depend on no answer.
        """
        return inf if self.think is None else self.count * self.active * self.peak


def people_of(request: Askers) -> People | None:
    """Who makes the requests, None where nobody is said to."""
    habits = ("think", "active_fraction", "requests_per_active_user_per_min", "peak_multiplier")
    stated = [name for name in habits if getattr(request, name) is not None]
    if request.users is None:
        if stated:
            raise InputError(f"{option(stated[0])} needs {option('users', '500')}; give that too")
        return None
    if request.rate is not None:
        raise InputError(
            f"{option('users')} and {option('rate')} both say how many requests arrive; give one"
        )
    often, think = request.requests_per_active_user_per_min, request.think
    if (often is None) == (think is None):
        raise InputError(
            f"{option('users')} needs one of {option('think', '30s')}, from an answer to the next "
            f"request, and {option('requests_per_active_user_per_min', '2')}"
        )
    speed = LIMITS["speed"]
    return People(
        count=readers.number(request.users, option("users"), LIMITS["sequences"], 500),
        active=readers.share(_or_one(request.active_fraction), option("active_fraction")),
        think=None if think is None else _seconds(think),
        per_minute=readers.number(
            _or_one(often), option("requests_per_active_user_per_min"), speed, 2
        ),
        peak=readers.number(
            _or_one(request.peak_multiplier), option("peak_multiplier"), LIMITS["factor"], 2
        ),
    )


def _or_one(number: float | None) -> float:
    return 1.0 if number is None else number


def _seconds(think: str) -> float:
    return readers.quantity(think, option("think"), "time", LIMITS["duration"], "30s")


def solve_closed_loop(people: People, fleet_at: Callable[[float], Fleet]) -> Fleet:
    """Plan for the request rate of users who think after each answer, at that rate.

    On a plan the rate and the response time are one fixed point. Users who wait for no answer at
    all make the most requests; what is planned for those serves fewer, which fewer replicas may do.
    A plan that answers sooner than that, and so gets more requests than it was made for, is not
    taken: the lowest rate whose plan gets no more is searched between such rates and those of plans
    that are taken.

    fleet_at : plans for a rate [1/s]
    """
    rate = highest = people.rate(0.0)
    lowest, settled, refused = 0.0, None, None
    for _ in range(_ROUNDS):
        fleet = fleet_at(rate)
        if people.think is None:
            return fleet
        own_rate = _settled_rate(people, fleet) if fleet.requests else rate / _fewer(fleet.service)
        is_taken = fleet.is_enough and own_rate <= rate * _AS_MUCH
        if is_taken:
            settled = at_rate(fleet, own_rate)
        elif fleet.is_enough:
            lowest = rate
        elif settled or own_rate > rate / _AS_MUCH:
            break
        else:
            refused = refused or fleet  # means for fewer requests, which wait for longer, may do
        highest = highest if lowest == rate else rate
        if (is_taken and own_rate > rate / _AS_MUCH) or highest <= lowest * _NEAR:
            break
        rate = own_rate if lowest < own_rate < highest else (lowest * highest) ** 0.5
    return settled or refused or fleet


def _fewer(service: Service) -> float:
    """How many times fewer requests are tried where means sustain none of a plan. [1]"""
    has_means = min(service.budget, service.power, service.max_chips) < inf
    return 2.0 if has_means else 1.0


def _settled_rate(people: People, fleet: Fleet) -> float:
    """Rate at which requests take as long as users of that rate wait for them. [1/s]"""

    def is_below(rate: ArrayLike) -> bool:
        return people.rate(mean_request_s(fleet, float(rate))) > float(rate)

    most = people.rate(0.0)
    return float(bisect(is_below, 0.0, most, halvings=_HALVINGS)[0])


def mean_request_s(fleet: Fleet, rate: float) -> float:
    """Mean end-to-end latency of all requests on the replicas of a fleet at a rate. [s]"""
    seconds = weight = 0.0
    for allocation in fleet.allocations:
        for pool in allocation.pools:
            share = allocation.requests * sum(each.share for each in pool.classes)
            own_rate = rate * share / fleet.requests
            seconds += share * _pool_request_s(pool, own_rate)
            weight += share
    return seconds / weight


def _pool_request_s(pool: ReplicaPool, rate: float) -> float:
    service = replace(pool.decision.service, rate=rate, is_fleet=False)
    load = random_load(pool.plan, service)
    if load is None:
        return pool.plan.request_seconds(service.output)
    return load.times().request_mean


def at_rate(fleet: Fleet, rate: float) -> Fleet:
    """The same replicas at another rate of all requests, with their percentiles there."""
    scale = rate / fleet.requests
    allocations = tuple(
        replace(
            allocation,
            requests=allocation.requests * scale,
            sharing=replace(
                allocation.sharing, pools=tuple(_at(pool, scale) for pool in allocation.pools)
            ),
        )
        for allocation in fleet.allocations
    )
    return replace(fleet, service=replace(fleet.service, rate=rate), allocations=allocations)


def _at(pool: ReplicaPool, scale: float) -> ReplicaPool:
    """The same pool at a scaled rate."""
    decision = pool.decision
    if decision.service.rate is None:  # as much as its chips sustain
        return pool
    service = replace(decision.service, rate=decision.service.rate * scale)
    plans = {
        variant: _plan_at(plan, scale, service)
        for variant, plan in decision.best_by_variant.items()
    }
    return replace(pool, decision=replace(decision, service=service, best_by_variant=plans))


def _plan_at(plan: Plan, scale: float, service: Service) -> Plan:
    plan = replace(plan, busy=plan.busy * scale, prefill_busy=plan.prefill_busy * scale)
    limits = held_limits(plan, service) if plan.is_checked else None
    return plan if limits is None else with_percentiles(plan, service, limits)
