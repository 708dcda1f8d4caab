"""The least relaxation of each limit alone with which a fleet would carry what is asked."""

from dataclasses import replace
from math import inf, sqrt

from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.fleet_plan import FleetPlan, Grids, carried_by, fleet_plan
from fastcalc.features.plan.relax import least_relaxed
from fastcalc.formulas.solving import bisect_integers

_CLOSE = 0.001  # of a limit, which is searched for no closer
_NO_LIMIT = 1e15
_MOST_TIMES = 64  # as many chips of a kind as are owned, up to which more are tried


def least_relaxed_of_fleet(fleet: FleetPlan, rented: Grids) -> dict[str, float]:
    """Return what each limit would have to be, the others as they are, where that helps.

    fleet : what is not enough
    """
    service = fleet.service
    if fleet.carries_all:  # and owned chips alone cost more than the budget
        return {"budget": fleet.used("budget")}
    relaxed = least_relaxed(rented, fleet.left.sized_to_limits) if fleet.rents else {}
    for name in service.means.keys() & relaxed.keys():
        relaxed[name] += fleet.used(name)  # by owned chips, as no others are taken
    for name in ("ttft", "tpot", "power"):  # which limit owned chips, too
        if getattr(service, name) < inf:
            loose = relaxed.pop(name, _NO_LIMIT)
            relaxed[name] = _least(name, loose, fleet, rented)
    return {name: value for name, value in relaxed.items() if value < inf}


def _least(name: str, loose: float, fleet: FleetPlan, rented: Grids) -> float:
    """Return the least value of a limit at which the fleet is enough; infinity for none.

    loose : tried first; without any limit follows, as owned chips may use up what it leaves
    """
    service, owned = fleet.service, fleet.owned
    low, high, value = getattr(service, name), inf, loose
    while high > low * (1.0 + _CLOSE):
        relaxed = service.limited({name: value})
        fleet = fleet_plan(owned, rented, relaxed, shown=1)
        if fleet.is_enough:
            high, value = value, min(sqrt(low * value), fleet.used(name))
            if (last := fleet.shares[-1]).owned is None:
                rented = of_chips_in(last.decision, rented)  # no others do with less
        elif value == _NO_LIMIT:
            return inf
        else:
            low, value = value, sqrt(value * high) if high < inf else _NO_LIMIT
    return high


def fewest_owned(fleet: FleetPlan, rented: Grids) -> dict[str, int]:
    """Return how many chips of an owned kind, by its id, would do, where more of it alone help."""
    fewest = dict[str, int]()
    if not fleet.is_within:  # more cost more
        return fewest
    for place, kind in enumerate(fleet.owned):

        def is_enough(nodes: int, place: int = place) -> bool:
            kinds = [*fleet.owned]
            kinds[place] = kinds[place].with_nodes(nodes, fleet.service)
            if not replace(fleet, owned=kinds, shares=()).is_within:  # they alone cost too much
                return False
            return fleet_plan(kinds, rented, fleet.service, shown=1).is_enough

        low, high, unit = 0, 1, kind.unit(fleet.service)
        while not is_enough(high) and high * unit < kind.chips * _MOST_TIMES:
            low, high = high, 2 * high
        if is_enough(high):
            high, _ = bisect_integers(is_enough, high, low)
            fewest[kind.hardware.id] = kind.chips + high * unit
    return fewest


def carried_on_top(fleet: FleetPlan, rented: Grids) -> Decision | None:
    """Return what may be rented on top of a fleet that is not enough, if that carries anything.

    Without a rate the fleet itself is the most that may be rented.
    """
    last = fleet.shares[-1]
    if last.owned or last.plan or fleet.service.rate is None:
        return None
    service = last.decision.service
    decision = carried_by(rented, service, service.max_chips, shown=1)
    return decision if decision.plans else None


def of_chips_in(decision: Decision, grids: Grids) -> Grids:
    """Return the deployments of chips of which a decision has a plan."""
    chips = {plan.scenario.hardware.id for plan in decision.of_each_chip}
    return [grid for grid in grids if grid.scenario.hardware.id in chips]
