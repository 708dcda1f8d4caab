"""``fastcalc plan``: deployments that meet the limits of a service, cheapest first."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import floor

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.selection import selected
from fastcalc.core.traffic.reuse import Reuse
from fastcalc.errors import InputError
from fastcalc.features.plan.allocation import Fleet, allocate
from fastcalc.features.plan.answer import PlanAnswer
from fastcalc.features.plan.demand import Deployments, chip_prices, owned_counts, traffic_of
from fastcalc.features.plan.people import people_of, solve_closed_loop, with_alternatives
from fastcalc.features.plan.pool_search import PoolSearch
from fastcalc.features.plan.relax import refused
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.servers.script import scripts
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.service_asked import is_of_fleet, service_of
from fastcalc.formulas.solving import solve_fixed_point
from fastcalc.grid.prefix_caches import CachedDeployment
from fastcalc.importers.workloads import AskedTraffic
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.request import loading, readers
from fastcalc.mentions import option


@dataclass(frozen=True, eq=False)
class Planned:
    """A fleet for given traffic, and the candidate deployments."""

    traffic: AskedTraffic
    deployments: Deployments
    fleet: Fleet


def run(request: FindPlans) -> Answer:
    """Find the deployments that serve the load. The answer is "no" if none does."""
    readers.number(request.top, option("top"), LIMITS["sequences"], 5)
    notes: list[str] = []
    service = service_of(request)
    recorded = traffic_of(request, service)
    _refuse_together(request, len(recorded.classes) > 1)
    if request.own is not None:  # all chips are known, whether or not any is rented
        selected(loading.catalogue(request), readers.names(request.on, option("on")))

    # Owned chips sustain the most of several plans, which are checked when they are reported.
    alone = replace(request, top=0) if request.own is None else request
    planned = _with_caches(
        recorded,
        lambda traffic: _planned_for(request, service, notes, traffic),
        lambda traffic: _planned_for(alone, service, notes, traffic),
    )
    fleet = planned.fleet
    notes[:] = [*planned.traffic.reading, *dict.fromkeys(notes), *_caches_note(planned.traffic)]
    answer = PlanAnswer(
        request=request,
        reading=notes,
        fleet=fleet,
        classes=planned.traffic.classes,
        search=planned.deployments.search,
    )
    if not fleet.is_enough:
        return refused(answer, planned.deployments.search)
    _refuse_without_range(fleet)
    return (
        answer if request.emit is None else replace(answer, servers=scripts(answer, request.emit))
    )


def _planned_for(
    request: FindPlans, service: Service, notes: list[str], traffic: AskedTraffic
) -> Planned:
    """Plan for given traffic: for its rate, the rate of its users, or the highest throughput."""
    counts, people = owned_counts(request), people_of(request)
    prices = chip_prices(request, counts) if counts else {}
    if counts:
        price = {chip: usd for chip, usd in prices.items() if chip not in counts}
        request = replace(request, price=price)
    deployments = Deployments(request, service, notes, traffic)
    owned = [deployments.owned(chip, count, prices.get(chip)) for chip, count in counts.items()]
    of_mix = service.of_classes(traffic.classes, None)
    if people is not None:
        of_mix = replace(of_mix, users=people.waiting)

    def fleet_at(
        rate: float | None, of_mix: Service = of_mix, rented: PoolSearch = deployments.search
    ) -> Fleet:
        at_rate = replace(of_mix, rate=rate)
        is_fleet = rate is None and (is_of_fleet(request) or len(traffic.classes) > 1)
        return allocate(owned, rented, replace(at_rate, is_fleet=is_fleet))

    if people is not None:
        # The resources that would suffice are those of the cheapest plan in any formats.
        without_means = replace(of_mix.without_means, any_weights=True, any_cache=True)
        # Alternatives of a single class are searched at the fixed point only.
        best_at = partial(fleet_at, rented=replace(deployments.search, shown=0))
        unlimited_at = partial(best_at, of_mix=without_means)
        fleet = solve_closed_loop(people, best_at, unlimited_at)
        if deployments.search.is_of_one_class:
            fleet = with_alternatives(people, fleet, fleet_at)
        return Planned(traffic, deployments, fleet)
    rate = service.rate or traffic.rate
    _refuse_without_rate(request, rate)
    return Planned(traffic, deployments, fleet_at(rate))


def _refuse_together(request: FindPlans, is_mix: bool) -> None:
    """Raise InputError with the reason if options exclude each other."""
    of_one_class = {
        "prompts_on": request.prompts_on is not None,
        "sensitivity": request.sensitivity,
    }
    for name, is_given in of_one_class.items():
        if is_mix and is_given:
            raise InputError(
                f"{option(name)} takes one request class, and {option('traffic')} has several: "
                f"leave one out, or give {option('prompt')} and {option('output')}"
            )
    has_rate = request.rate is not None or request.users is not None or request.traffic
    if request.sensitivity and is_of_fleet(request) and not has_rate:
        raise InputError(
            f"{option('sensitivity')} compares chips that are rented for a rate: give "
            f"{option('rate', '20/s')}"
        )
    if request.prompts_on is not None and not has_rate:
        raise InputError(
            f"{option('prompts_on')} needs a rate, which says how many chips prefill its prompts; "
            f"add {option('rate', '20/s')}"
        )


def _refuse_without_rate(request: FindPlans, rate: float | None) -> None:
    """Raise InputError for a workload file without a rate, unless resource limits are given."""
    has_means = is_of_fleet(request) or request.max_chips is not None
    if rate is None and request.traffic is not None and not has_means:
        raise InputError(
            f"{request.traffic}: says no rate; write aggregate_rate: 20, or give "
            f"{option('rate', '20/s')} or {option('users', '500')}"
        )


def _refuse_without_range(fleet: Fleet) -> None:
    for allocation in fleet.allocations:
        for plan in allocation.plans:
            if fleet.service.deviations and plan.replica.estimate.low is None:
                raise InputError(
                    f"{option('confidence')} uses ranges, and {plan.scenario.engine.id} has "
                    "none; leave it out"
                )


def _with_caches(
    recorded: AskedTraffic,
    planned_for: Callable[[AskedTraffic], Planned],
    best_for: Callable[[AskedTraffic], Planned],
) -> Planned:
    """Plan for traffic with the prefix hit rate that the plan's own caches reach.

    The memory that a plan leaves for caches determines the hit rate for the trace. Starting from a
    plan without hits, the assumed hit rate is lowered until a plan reaches it.

    best_for : Finds only the best plan, without the others to report, which is faster.
    """
    if not isinstance(recorded.reuse, Reuse):
        return planned_for(recorded)

    def solved(search: Callable[[AskedTraffic], Planned]) -> Planned:
        return solve_fixed_point(
            lambda share: search(recorded.with_found(share)), _found_by, search(recorded)
        )

    planned = planned_for(solved(best_for).traffic)
    assumed = planned.traffic.classes[0].prefix_hit
    return planned if _found_by(planned) >= assumed else solved(planned_for)


def _found_by(planned: Planned) -> float:
    """Return the fraction of prompt tokens found in the caches of all replicas together."""
    traffic, tokens = planned.traffic, 0.0
    assert isinstance(traffic.reuse, Reuse)
    for allocation in planned.fleet.allocations:
        for plan in allocation.plans:
            replica = CachedDeployment(
                plan.replica, plan.scenario, traffic.classes[0].lengths, traffic.reuse
            )
            tokens += plan.replicas * replica.own_size / replica.bytes_per_token
    # Rounded down to what a record shows again.
    return floor(float(traffic.reuse.hit(tokens)) * 1e4) / 1e4


def _caches_note(traffic: AskedTraffic) -> Iterator[str]:
    """Yield the hit rate that the prefix caches reach for a trace."""
    share = traffic.classes[0].prefix_hit
    if isinstance(traffic.reuse, Reuse):
        yield (
            f"prefix-cache hit rate of this trace: {share:.2%} of prompt tokens, if the cache uses "
            "the free memory of these replicas and prompts with the same prefix go to the same "
            "replica"
        )
