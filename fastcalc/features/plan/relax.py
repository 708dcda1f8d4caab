"""Why a load is not served, and the smallest relaxation of each single limit that would help."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from fastcalc.core.placement.layout import Layouts
from fastcalc.features.plan.allocation import Fleet, allocate
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.packing import bills, chips_within
from fastcalc.features.plan.pool_search import PoolSearch
from fastcalc.features.plan.pools import (
    PrefillPool,
    pools_of_each_layout,
    stages_in_nodes,
    undominated_pools,
)
from fastcalc.features.plan.refine import Gaps, with_own_batches
from fastcalc.features.plan.refusal import (
    fleet_refusals,
    limit_as_option,
    load_within_limits,
    mix_refusals,
    refusal,
    relaxed,
)
from fastcalc.features.plan.score import has_cost, score, score_in_stacks
from fastcalc.features.plan.scored import Scored
from fastcalc.features.plan.service import Service
from fastcalc.formulas.solving import bisect, bisect_integers
from fastcalc.formulas.types import ArrayLike
from fastcalc.grid.grid import Grid
from fastcalc.kit.answer.answer import Answer, NoAnswer
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.features.plan.answer import PlanAnswer

_LESS = 1.0 - 1e-9  # of a value already found: closer ones do not count as less

_MORE, _HALVINGS = 0.01, 5
"""Fraction by which a limit is first raised until a plan meets it, and bisection steps."""

_CLOSE = 0.001  # of a limit, to which it is searched
_NO_LIMIT = 1e15
_MOST_TIMES = 64  # most times the owned chips of a type that are tried


def refused(answer: "PlanAnswer", search: PoolSearch) -> Answer:
    """Explain why a fleet is insufficient, and which value each limit alone would need."""
    fleet = answer.fleet
    if not search.is_of_one_class:
        reasons = mix_refusals(fleet)
        if fleet.requests:
            return replace(answer, reasons=reasons)
        return _no(answer, reasons, {})
    is_rented = not fleet.owned
    reasons, options = (_rented if is_rented else _owned)(answer, search)
    return _no(answer, reasons, {**answer.details(), "relax": options})


def _no(answer: "PlanAnswer", reasons: Sequence[str], beside: dict[str, object]) -> NoAnswer:
    keys, columns = answer.asked_keys, answer.columns
    return NoAnswer(
        request=answer.request,
        reading=answer.reading,
        reasons=reasons,
        asked_keys=keys,
        columns=columns,
        beside=beside,
        resting_on=answer.premises() if beside else {},
    )


def _rented(answer: "PlanAnswer", search: PoolSearch) -> tuple[list[str], list[str]]:
    """Explain why no rented deployment serves the load, with options that would allow one."""
    decision, sentences = answer.fleet.allocations[-1].decision, list[str]()
    if not search.prefill_grids:  # heterogeneous prefill stays as it was searched
        decision.relaxed = {
            name: value
            for name, least_value in least_relaxed(search.grids, decision.service).items()
            if (value := enough(search.grids, decision.service, name, least_value)) is not None
        }
        sentences += _relaxed_means(answer, decision, search)
    return [refusal(decision), *sentences], relaxed(decision)


def _relaxed_means(answer: "PlanAnswer", decision: Decision, search: PoolSearch) -> list[str]:
    """Add the sustainable rate and the rental of single chips to the possible relaxations."""
    service, sentences = decision.service, list[str]()
    if not service.has_means:
        return []
    if service.in_nodes:
        decision.relaxed |= _by_chip(search, replace(service, in_nodes=False))
    if service.rate is None:
        return []
    throughput = _most_of(replace(search, shown=1), service)
    rate = max((plan.requests for plan in throughput.in_order), default=0.0)
    if 0.0 < rate < service.rate:
        sentences.append(load_within_limits(throughput, service))
        decision.relaxed |= {} if answer.request.users else {"rate": rate}
    return sentences


def _most_of(search: PoolSearch, service: Service) -> Decision:
    """Find the deployments of highest throughput within resource limits, on chips of known cost."""
    grids = [grid for grid in search.grids if may_meet(grid, service)]
    return replace(search, grids_for=lambda *_: grids).most_on(service, service.max_chips)


def _by_chip(search: PoolSearch, service: Service) -> dict[str, float]:
    """Try to rent single chips: alone, or with a higher limit on resources.

    service : The service on singly rented chips.
    """
    least = least_relaxed(search.grids, service)
    if all(least[name] <= limit for name, limit in service.means.items() if name in least):
        return {"by": 1.0} if decide(search.grids, service, shown=0).plans else {}
    means = service.means.keys() & least.keys()
    return {
        f"by {name}": value
        for name in means
        if (value := enough(search.grids, service, name, least[name])) is not None
    }


def _owned(answer: "PlanAnswer", rented: PoolSearch) -> tuple[list[str], list[str]]:
    """Describe the load that owned and rentable chips serve, with options that would suffice."""
    fleet = answer.fleet
    relaxed, requests = least_relaxed_of_fleet(fleet, rented), fleet.requests
    on_top, rentable = rentable_on_top(fleet, rented), inf
    if on_top is not None:
        rentable = on_top.plans[0].requests
        requests += rentable
        rented = rented.on_chips_of(on_top)
    if fleet.service.rate is not None and requests and answer.request.users is None:
        relaxed["rate"] = requests
    more_owned = [
        option("own", f"{chip}={count}")
        for chip, count in fewest_owned(fleet, rented, rentable).items()
    ]
    limits = [limit_as_option(name, value, fleet.service) for name, value in relaxed.items()]
    options = [*more_owned, *limits]
    return fleet_refusals(fleet, requests, options), options


def least_relaxed_of_fleet(fleet: Fleet, rented: PoolSearch | None) -> dict[str, float]:
    """Find the value that each limit would need with the others unchanged, if that helps.

    fleet : An insufficient fleet.
    """
    service = fleet.service
    if fleet.serves_all:  # and owned chips alone cost more than the budget
        return {"budget": fleet.used("budget")}
    relaxed = dict[str, float]()
    if fleet.rents and rented is not None:
        relaxed = least_relaxed(rented.grids, fleet.left.sized_to_limits)
    for name in service.means.keys() & relaxed.keys():
        relaxed[name] += fleet.used(name)  # by owned chips, as no others are used
    for name in ("ttft", "tpot", "power"):  # limits that apply to owned chips as well
        if getattr(service, name) < inf:
            loose = relaxed.pop(name, _NO_LIMIT)
            relaxed[name] = _least(name, loose, fleet, rented)
    return {name: value for name, value in relaxed.items() if value < inf}


def _least(name: str, loose: float, fleet: Fleet, rented: PoolSearch | None) -> float:
    """Find the lowest value of a limit at which the fleet suffices, or infinity if there is none.

    loose : The value to try first; no limit is tried next, as owned chips may use up the
        difference.
    """
    service, owned = fleet.service, fleet.owned
    low, high, value = getattr(service, name), inf, loose
    while high > low * (1.0 + _CLOSE):
        relaxed = service.limited({name: value})
        fleet = allocate(owned, rented and replace(rented, shown=1), relaxed)
        if fleet.is_enough:
            high, value = value, min(sqrt(low * value), fleet.used(name))
            if rented is not None and not (last := fleet.allocations[-1]).is_owned:
                rented = rented.on_chips_of(last.decision)  # no others do with less
        elif value == _NO_LIMIT:
            return inf
        else:
            low, value = value, sqrt(value * high) if high < inf else _NO_LIMIT
    return high


def fewest_owned(fleet: Fleet, rented: PoolSearch | None, rentable: float = inf) -> dict[str, int]:
    """Return how many chips of each owned type would suffice alone, by id, if any type does.

    rentable : The highest throughput of what may be rented. [1/s]
    """
    fewest = dict[str, int]()
    if not fleet.is_within:  # more chips cost more
        return fewest
    searched = rented and replace(rented, shown=0)
    for index, kind in enumerate(fleet.owned):

        def is_enough(nodes: int, index: int = index) -> bool:
            kinds = [*fleet.owned]
            kinds[index] = kinds[index].with_nodes(nodes, fleet.service)
            if not replace(fleet, owned=kinds, allocations=()).is_within:  # they cost too much
                return False
            rate = fleet.service.rate or 0.0
            if rentable < rate and allocate(kinds, None, fleet.service).requests + rentable < rate:
                return False
            return allocate(kinds, searched, fleet.service).is_enough

        low, high, unit = 0, 1, kind.unit(fleet.service)
        while not is_enough(high) and high * unit < kind.chips * _MOST_TIMES:
            low, high = high, 2 * high
        if is_enough(high):
            high, _ = bisect_integers(is_enough, high, low)
            fewest[kind.hardware.id] = kind.chips + high * unit
    return fewest


def rentable_on_top(fleet: Fleet, rented: PoolSearch) -> Decision | None:
    """Find chips to rent in addition to an insufficient fleet, if they serve any load.

    Without a rate, the fleet already includes all rentable chips.
    """
    last = fleet.allocations[-1]
    if last.owned or last.plan or fleet.service.rate is None:
        return None
    service = replace(last.decision.service, any_weights=True, any_cache=True)
    decision = _most_of(replace(rented, shown=0), service)
    return decision if decision.plans else None


def least_relaxed(
    grids: Sequence[Grid], service: Service, names: Collection[str] | None = None
) -> dict[str, float]:
    """Find the value that each limit would need with the others unchanged, if that helps.

    Assumes that no value between two tried batches is lower than at both.

    names : The limits to relax; all of them by default.
    """
    limits = service.limits if names is None else {name: service.limits[name] for name in names}
    limited = [name for name, limit in limits.items() if limit < inf]
    lowest = dict.fromkeys(limited, inf)
    gaps: list[tuple[str, Gaps]] = []

    def note(name: str, group: Scored) -> None:
        lowest[name] = min(lowest[name], _least_met(group, service, name))
        gaps.extend((name, gap) for gap in _gaps(group, service, name, lowest[name]))

    for grid in grids:  # all their deployments at once need more than a gigabyte
        for group in _scored(grid, service, lowest):
            for name in limited:
                note(name, group)
    while waiting := [
        (name, promising) for name, gap in gaps if len(promising := gap.below(lowest[name] * _LESS))
    ]:
        gaps.clear()
        scored = score_in_stacks([(gap.between(), service, gap.pools) for _, gap in waiting])
        for (name, _), groups in zip(waiting, scored, strict=True):
            for group in groups:
                note(name, group)
    return {name: value for name, value in lowest.items() if value < inf}


def enough(grids: Sequence[Grid], service: Service, name: str, least_value: float) -> float | None:
    """Find the value of one limit at which a plan meets all limits, from a lower bound.

    Exact percentiles may need a slightly higher value than the search estimates. None if no value
    up to several times the lower bound works.
    """

    def is_enough(value: ArrayLike) -> bool:
        return bool(decide(grids, service.limited({name: float(value)}), shown=0).plans)

    larger_values = (least_value * (1.0 + _MORE * step) for step in (0, 1, 3, 7, 15, 31, 63, 127))
    too_little = least_value
    for value in larger_values:
        if is_enough(value):
            if value > least_value:
                return float(bisect(is_enough, value, too_little, halvings=_HALVINGS)[0])
            return value
        too_little = value
    return None


def _scored(grid: Grid, service: Service, lowest: Mapping[str, float]) -> list[Scored]:
    """Score a grid's deployments, without layouts that cannot lower any relaxation further.

    lowest : The value that each limit would need, among the deployments tried so far.
    """
    if not has_cost(grid.scenario, service):
        return []
    chips = np.array([layout.chips for layout in grid.layouts], dtype=float)
    per_replica = {"chips": chips, **bills(grid.scenario, service, chips)}
    may_be = np.all(
        [
            amounts <= max(service.limits[name], lowest.get(name, 0.0))
            for name, amounts in per_replica.items()
        ],
        axis=0,
    )
    if not may_be.any():
        return []
    useful = with_own_batches(grid.part(layouts=tuple(compress(grid.layouts, may_be))))
    return score(useful, service, [None, *_prefill_pools(grid, service)])


def _prefill_pools(grid: Grid, service: Service) -> list[PrefillPool]:
    """Return disaggregated prefill pools that may need the smallest relaxation of a limit."""
    if not (pools := pools_of_each_layout(grid, service)):
        return []
    layouts = Layouts.of([pool.layout for pool in pools])
    node_chips = service.node_chips(grid.scenario.hardware)
    stages, widths = stages_in_nodes(node_chips, layouts.chips, layouts.pp)
    chips = stages * widths * [pool.replicas for pool in pools]
    names = ("seconds", "waits", "kv_transfer_s")
    times = ([getattr(pool, name) for pool in pools] for name in names)
    # Stages of different widths fill nodes differently, so they are not compared.
    return undominated_pools(pools, chips, *times, widths, -widths)


def _least_met(group: Scored, service: Service, name: str) -> float:
    """Find the lowest value of one limit over the deployments that meet the other limits."""
    are_met = [group.values[key] <= limit for key, limit in service.limits.items() if key != name]
    return float(np.min(group.values[name][np.all(are_met, axis=0)], initial=inf))


def _gaps(group: Scored, service: Service, name: str, below: float) -> list[Gaps]:
    """Return gaps between deployments of a group in which a value may be below a limit."""
    after = group.next(np.arange(len(group.layout)))
    lowest = {key: np.minimum(values, values[after]) for key, values in group.values.items()}
    may_be = lowest[name] < below * _LESS
    for key, limit in service.limits.items():
        may_be &= (key == name) | (lowest[key] <= limit)
    return [
        Gaps(
            group.grid,
            [pool],
            lowest[name][low],
            group.layout[low],
            group.batch[low],
            group.batch[after[low]],
            np.full(len(low), pool is not None),
        )
        for pool, low in group.by_pool(np.flatnonzero(may_be))
    ]


def may_meet(grid: Grid, service: Service) -> bool:
    """Check whether a replica on the fewest chips is within limits on chips, budget and power.

    Also False if a price or power that the service asks for is unknown.
    """
    fewest = min((layout.chips for layout in grid.layouts), default=inf)
    return has_cost(grid.scenario, service) and fewest <= chips_within(service, grid.scenario)
