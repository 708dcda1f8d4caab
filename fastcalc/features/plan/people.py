"""``plan --users``: the request rate of closed-loop users, which falls as latency rises."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import takewhile
from math import exp, inf, log

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.features.plan.allocation import Allocation, Fleet
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.percentile_checks import with_percentiles
from fastcalc.features.plan.random_load import held_limits, request_seconds
from fastcalc.features.plan.request import Askers
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import ReplicaPool
from fastcalc.formulas.solving import last_positive
from fastcalc.formulas.users import requests_of_active, requests_of_thinkers
from fastcalc.kit.request import readers
from fastcalc.mentions import option

_AS_MUCH = 1.001
"""Ratio up to which two rates count as equal."""

_STEP = 1.02
"""Ratio of successive rates once users would hardly make more requests twice in a row.

The ratio is squared if that continues."""

_NEAR = 3e-4
"""Relative tolerance of a rate."""

_FEWER = 4.0
"""Factor by which the request rate on a cheaper plan may be lower."""

_ALONE = 1e-6
"""Rate so low that requests do not overlap. [1/s]"""

_ROUNDING = 1e-9
"""Relative difference up to which two rates differ only by rounding."""

_ROUNDS = 16
"""Maximum number of rates to iterate over."""


@dataclass(frozen=True)
class People:
    """The users who send the requests.

    count, active : The number of users, and the fraction that is active.
    think : The think time from an answer to the next request, or None for a fixed request rate, in
        seconds.
    per_minute : The requests per active user, if there is no think time. [1/min]
    peak : The ratio of the peak load to the mean load.
    """

    count: float
    active: float
    think: float | None
    per_minute: float
    peak: float

    def rate(self, request: float) -> float:
        """Return the request rate, given the time of one request, per second."""
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
        """The users at peak load who wait for an answer before their next request.

        It is infinite if their requests do not depend on answers.
        """
        return inf if self.think is None else self.count * self.active * self.peak


def people_of(request: Askers) -> People | None:
    """Read the users who make the requests. Returns None if the request has none."""
    habits = ("think", "active_fraction", "requests_per_active_user_per_min", "peak_multiplier")
    stated = [name for name in habits if request.values[name] is not None]
    if request.users is None:
        if stated:
            raise InputError(f"{option(stated[0])} needs {option('users', '500')}; give that too")
        return None
    if request.rate is not None:
        raise InputError(
            f"{option('users')} and {option('rate')} both set the request rate; give only one"
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
    return readers.quantity(think, option("think"), "time", LIMITS["duration"], "30s or 5min")


def solve_closed_loop(
    people: People, fleet_at: Callable[[float], Fleet], unlimited_at: Callable[[float], Fleet]
) -> Fleet:
    """Find the cheapest plan for closed-loop users, at the request rate they generate on it.

    A plan's rate and response time form a fixed point. Fewer replicas, with slower answers, may
    have another one within the limits. Planning repeatedly for the rate on the previous plan
    descends to the highest fixed point, or rises to the lowest one from a rate that is too low (A.
    Tarski, Pacific J. Math. 5, 1955). The search takes the first that costs less, down to a quarter
    of the highest rate.

    If resource limits allow no plan, returns the refusal at the rate of the cheapest plan without
    those limits.

    fleet_at, unlimited_at : Return the plan for a rate, with and without resource limits. [1/s]
    """
    first = fleet_at(people.rate(0.0))
    if people.think is None or not (first.is_enough or first.service.has_means):
        return first
    if not first.is_enough:
        unlimited = solve_closed_loop(people, unlimited_at, unlimited_at)
        if not unlimited.is_enough:
            return first
        first = fleet_at(unlimited.requests)
    settled = _falling(people, first, fleet_at)
    rate = (settled or first).service.rate or 0.0
    lowest = max(rate / _FEWER, people.rate(_longest_request(first.service)))
    rising = _rising(people, lowest, settled, fleet_at)
    return rising if rising.is_enough or first.is_enough else first


def with_alternatives(people: People, fleet: Fleet, fleet_at: Callable[[float], Fleet]) -> Fleet:
    """Return a closed-loop fleet with the alternatives of a search that reports several plans.

    fleet_at : Returns the plan for a rate, with its alternatives. [1/s]
    """
    searched = fleet_at(fleet.searched_rate or fleet.service.rate or 0.0)
    if fleet.searched_rate is None:
        return searched
    return at_rate(searched, _settled_rate(people, searched))


def _falling(people: People, fleet: Fleet, fleet_at: Callable[[float], Fleet]) -> Fleet | None:
    """Plan repeatedly for the previous plan's rate while that rate falls. Returns the last plan."""
    settled, rate = None, fleet.service.rate or 0.0
    for _ in range(_ROUNDS):
        if not fleet.is_enough or (own_rate := _settled_rate(people, fleet)) > rate * _AS_MUCH:
            break
        settled = at_rate(fleet, own_rate)
        if own_rate > rate / _AS_MUCH:
            break
        rate = own_rate
        fleet = fleet_at(rate)
    return settled


def _rising(
    people: People, rate: float, settled: Fleet | None, fleet_at: Callable[[float], Fleet]
) -> Fleet:
    """Plan repeatedly for the previous plan's rate while it rises, until a plan sustains it.

    Return the refusal if resource limits refuse a plan, or `settled` if no plan costs less.

    rate : The rate of the first plan, no higher than that of any sustainable plan. [1/s]
    settled : A sustainable plan.
    """
    was_near, step = False, _STEP
    for _ in range(_ROUNDS):
        fleet = fleet_at(rate)
        if not fleet.is_enough or (settled and _rank(fleet) >= _rank(settled)):
            break
        own_rate = _settled_rate(people, fleet)
        if own_rate <= rate * _AS_MUCH:
            return at_rate(fleet, own_rate)
        is_near = own_rate < rate * step
        if is_near and was_near:
            rate, step = rate * step, step * step
        else:
            rate = own_rate
        was_near = is_near
    else:  # users who would not wait at all make no more
        fleet = fleet_at(people.rate(0.0))
    return settled or fleet


def _rank(fleet: Fleet) -> tuple[bool, float]:
    """Return the sort key of fleets: whether pools are quantized too far to lead, then the cost."""
    pools = [
        pool
        for allocation in fleet.allocations
        for pool in allocation.pools
        if not allocation.is_owned
    ]
    is_narrowed = any(not pool.decision.may_lead(pool.plan) for pool in pools)
    return is_narrowed, sum(pool.cost for pool in pools)


def _longest_request(service: Service) -> float:
    """Return the end-to-end latency of a request exactly at its limits, in seconds."""
    return max(
        kind.ttft + (kind.tpot * (kind.output - 1.0) if kind.output > 1.0 else 0.0)
        for kind in service.request_classes
    )


def _settled_rate(people: People, fleet: Fleet) -> float:
    """Solve for the closed-loop request rate of the users on given replicas, per second."""

    def made_at(rate: float) -> float:
        return people.rate(mean_request_s(fleet, rate))

    def excess(log_rate: float) -> float:
        return log(made_at(exp(log_rate))) - log_rate

    # Bounds: the latency of a request on its own, and the latency at the resulting rate. If the
    # chips that serve first are slower than the others, latency falls as the rate rises.
    low, high = 0.0, made_at(_ALONE)
    while (made := made_at(high)) > high * (1.0 + _ROUNDING):
        low, high = high, 2.0 * high
    low = low or made
    settled = last_positive(excess, log(low), log(high), near=_NEAR)
    if settled == log(low) < log(high) and made_at(low) < low * (1.0 - _ROUNDING):
        settled = last_positive(excess, log(_ALONE), log(low), near=_NEAR)
    return exp(settled)


def mean_request_s(fleet: Fleet, rate: float) -> float:
    """Return the mean end-to-end latency of all requests on a fleet's replicas at a rate. [s]"""
    seconds = 0.0
    for allocation, scale in _scaled(fleet, rate):
        for pool in allocation.pools:
            own_rate = _pool_rate(allocation, pool) * scale
            seconds += own_rate * _pool_request_s(pool, own_rate)
    return seconds / rate


def _scaled(fleet: Fleet, rate: float) -> list[tuple[Allocation, float]]:
    """Scale allocations to another total request rate, and return the factors of their rates.

    Owned chips at their highest throughput keep it, in order, and the rest serve what remains.
    """
    rest = sum(each.requests for each in fleet.allocations if not _is_filled(each))
    scaled, left = list[tuple[Allocation, float]](), rate
    for each in sorted(fleet.allocations, key=_is_filled, reverse=True):
        requests = each.requests if _is_filled(each) else rest
        served = min(requests, left) if _is_filled(each) else left
        if served or not each.pools:
            scaled.append((each, served / requests if requests else 1.0))
        left -= served if _is_filled(each) else 0.0
    return scaled


def _is_filled(allocation: Allocation) -> bool:
    return any(pool.decision.service.rate is None for pool in allocation.pools)


def _pool_rate(allocation: Allocation, pool: ReplicaPool) -> float:
    """Return the rate of the requests that a pool serves, per second."""
    return allocation.requests * sum(each.share for each in pool.classes)


def _pool_request_s(pool: ReplicaPool, rate: float) -> float:
    return request_seconds(pool.plan, replace(pool.decision.service, rate=rate, is_fleet=False))


def at_rate(fleet: Fleet, rate: float) -> Fleet:
    """Return a fleet at another total request rate, with percentiles.

    The replicas stay the same. No chips are rented if the owned ones serve the whole rate.
    """
    allocations = tuple(
        replace(
            allocation,
            requests=allocation.requests * scale,
            sharing=replace(
                allocation.sharing,
                pools=tuple(
                    _at(pool, _pool_rate(allocation, pool), scale) for pool in allocation.pools
                ),
            ),
        )
        for allocation, scale in _scaled(fleet, rate)
    )
    return replace(
        fleet,
        service=replace(fleet.service, rate=rate),
        allocations=allocations,
        searched_rate=fleet.service.rate,
    )


def _at(pool: ReplicaPool, rate: float, scale: float) -> ReplicaPool:
    """Return a pool at a scaled rate, without other plans that would precede its own there.

    rate : The present rate. [1/s]
    """
    if scale == 1.0:
        return pool
    decision, own = pool.decision, pool.plan
    service = replace(decision.service, rate=rate * scale, is_fleet=False)
    present = decision.best_by_variant
    plans = {variant: _plan_at(plan, scale, service) for variant, plan in present.items()}
    kept = next(plans[variant] for variant, plan in present.items() if plan is own)
    scaled = replace(decision, service=service, best_by_variant=plans)
    ahead = {id(plan) for plan in takewhile(lambda plan: plan is not kept, scaled.plans)}
    plans = {variant: plan for variant, plan in plans.items() if id(plan) not in ahead}
    return replace(pool, decision=replace(scaled, best_by_variant=plans))


def _plan_at(plan: Plan, scale: float, service: Service) -> Plan:
    plan = replace(plan, busy=plan.busy * scale, prefill_busy=plan.prefill_busy * scale)
    limits = held_limits(plan, service) if plan.is_checked else None
    return plan if limits is None else with_percentiles(plan, service, limits)
