"""Tipping points: the price, speed, rate or length at which another chip or the API leads."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf

from fastcalc.features.plan.candidates import candidates
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.service import Service
from fastcalc.formulas.solving import bisect, geometric_mean
from fastcalc.grid.grid import Grid

API = "API"

_FACTORS = (1.1, 1.25, 1.5, 2.0, 4.0, 8.0)
"""Factors, up and down, at which to check whether the choice changes."""

_HALVINGS = 5
"""Halvings of the last step between them, which give a tipping point to 1 or 2%."""

Costs = dict[str, tuple[float, float]]
"""Dollars per hour and number of chips of each competitor, by chip or `API`."""


@dataclass(frozen=True)
class TippingPoint:
    """A value at which the best choice changes if everything else stays the same.

    quantity : ``price`` of a chip-hour [USD/h], ``slowness`` of the chip, ``rate`` [1/s],
        ``prompt`` or ``output`` of a request. [1]
    of : The chip whose price or slowness it is.
    at, is_above : The value, and whether the choice changes above or below it.
    leads : The chip that is then cheapest, or `API`.
    """

    quantity: str
    at: float
    is_above: bool
    leads: str
    of: str | None = None


def turns(decision: Decision, grids: Sequence[Grid]) -> list[TippingPoint]:
    """Return the tipping points between the best two chips, and the API if it has prices."""
    service = decision.service
    rivals = [plan for plan in decision.of_each_chip if decision.may_lead(plan)][:2]
    is_priced = service.rate and service.objective == "usd" and not service.is_fleet
    if not (rivals and is_priced and grids) or len(rivals) < 2 - bool(service.api_request_usd):
        return []
    chips = {plan.scenario.hardware.id: plan for plan in rivals}
    rival_grids = {chip: decision.grids_to_lead(grids, chip) for chip in chips}
    costs = {chip: (plan.cost, plan.values["chips"]) for chip, plan in chips.items()}
    costs |= _api(service)
    turning_points = []
    for chip, plan in chips.items():
        other_costs = {name: cost for name, cost in costs.items() if name != chip}
        nearest = min(other_costs, key=other_costs.__getitem__)
        rival = chips.get(nearest)
        at = break_even_price(
            plan, chip, costs[nearest][0], rival.cost * share_of_cost(rival, chip) if rival else 0.0
        )
        if at is None:
            continue
        leads = _leader(costs)
        turning_points.append(
            TippingPoint("price", at, leads == chip, nearest if leads == chip else chip, chip)
        )
    return [*turning_points, *_searched(service, rival_grids, costs)]


def _searched(
    service: Service, grids: dict[str, list[Grid]], costs: Costs
) -> Iterator[TippingPoint]:
    """Yield tipping points other than prices, found by repeated searches."""
    first, rate = _leader(costs), service.rate or 0.0

    def by_slowness(times: float) -> str:
        """Return the cheapest choice if the first chip were slower by a factor."""
        limits = service.ttft / times, service.tpot / times
        slow = replace(service, rate=rate * times, ttft=limits[0], tpot=limits[1])
        without = {name: cost for name, cost in costs.items() if name != first}
        return _leader(without | _costs(slow, {first: grids[first]}))

    if first != API and (turn := _nearest(by_slowness, first, _FACTORS)):
        yield TippingPoint("slowness", turn[0], True, turn[1], first)
    searched: dict[str, tuple[Callable[[float], Service], float]] = {
        "rate": (lambda times: replace(service, rate=rate * times), rate),
        "prompt": (lambda times: _of_lengths(service, times, 1.0), service.prompt),
        "output": (lambda times: _of_lengths(service, 1.0, times), service.output),
    }
    for name, (service_at, now) in searched.items():

        def leader(times: float, at: Callable[[float], Service] = service_at) -> str:
            return _leader_of(at(times), grids)

        for is_above in (True, False):
            factors = [factor if is_above else 1.0 / factor for factor in _FACTORS]
            if turn := _nearest(leader, first, factors):
                at = now * turn[0]
                yield TippingPoint(name, at if name == "rate" else round(at), is_above, turn[1])


def _nearest(
    leader: Callable[[float], str], first: str, factors: Sequence[float]
) -> tuple[float, str] | None:
    """Find the factor beyond which another choice leads, and that choice, if any."""
    before, leading = 1.0, cache(leader)
    for after in factors:
        if leading(after) != first:
            _, turn = bisect(
                lambda factor: leading(float(factor)) == first,
                before,
                after,
                halvings=_HALVINGS,
                middle=geometric_mean,
            )
            leads = leading(float(turn))
            return (float(turn), leads) if leads else None
        before = after
    return None


def _costs(service: Service, grids: dict[str, list[Grid]]) -> Costs:
    """Return the costs of the chips that can serve the load."""
    decisions = {chip: decide(several, service, shown=1) for chip, several in grids.items()}
    return {
        chip: (decision.plans[0].cost, decision.plans[0].values["chips"])
        for chip, decision in decisions.items()
        if decision.plans
    }


def _api(service: Service) -> Costs:
    charged = service.api_usd_per_hour
    return {} if charged is None else {API: (charged, 0.0)}


def _leader(costs: Costs) -> str:
    """Return the cheapest choice, or nothing if none serves. Ties go to the fewest chips."""
    return min(costs, key=lambda name: costs[name], default="")


def _of_lengths(service: Service, prompt: float, output: float) -> Service:
    """Scale the request lengths of a service, in whole tokens."""
    tokens = round(service.prompt * prompt), round(service.output * output)
    return replace(service, prompt=max(tokens[0], 1.0), output=max(tokens[1], 1.0))


def _leader_of(service: Service, grids: dict[str, list[Grid]]) -> str:
    """Return the cheapest choice for another service."""
    moved = {
        chip: [
            grid
            for grid_of_chip in several
            if (
                grid := candidates(
                    grid_of_chip.scenario, prompt=service.prompt, output=service.output
                )
            )
        ]
        for chip, several in grids.items()
    }
    return _leader(_costs(service, moved) | _api(service))


def break_even_price(plan: Plan, chip: str, cost: float, cost_of_chip: float = 0.0) -> float | None:
    """Return the price per chip-hour at which a plan costs as much as an alternative. [USD/h]

    Costs are linear in this price, and other prices stay the same. None if no price equalizes them.

    chip : The id of a chip of the plan.
    cost, cost_of_chip : The cost of the alternative, and how much of it is for the same chip, in
        the unit of the plan's cost.
    """
    quotes = {scenario.hardware.id: scenario.quote for scenario in plan.scenarios}
    price = quotes[chip].usd_per_hour if chip in quotes else None
    own_cost = plan.cost * share_of_cost(plan, chip)
    slope = own_cost - cost_of_chip
    if not price or slope == 0.0:
        return None
    factor = ((cost - cost_of_chip) - (plan.cost - own_cost)) / slope
    return price * factor if factor > 0.0 else None


def runner_up_prices(decision: Decision) -> tuple[float | None, float | None]:
    """Return the prices of the best chip and of the runner-up at which the runner-up wins. [USD/h]

    There are no such prices if the runner-up is quantized below the request, for fleets, and if an
    API is cheaper than the runner-up.
    """
    second, service = decision.runner_up, decision.service
    if second is None or service.objective != "usd" or service.is_fleet:
        return None, None
    cheapest = decision.plans[0]
    if decision.may_lead(cheapest) and not decision.may_lead(second):
        return None, None
    ours, theirs = (plan.scenario.hardware.id for plan in (cheapest, second))
    charged = service.api_usd_per_hour
    api = inf if charged is None or not service.rate else charged
    above = break_even_price(cheapest, ours, second.cost, second.cost * share_of_cost(second, ours))
    lowest, of_theirs = cheapest.cost, cheapest.cost * share_of_cost(cheapest, theirs)
    if api < lowest:
        lowest, of_theirs = api, 0.0
    below = break_even_price(second, theirs, lowest, of_theirs)
    return None if api < second.cost else above, below


def share_of_cost(plan: Plan, chip: str) -> float:
    """Return the fraction of a plan's cost that is due to one chip type."""
    of_chip = plan.of_all_chips(
        lambda scenario: (scenario.quote.usd_per_hour or 0.0) * (scenario.hardware.id == chip)
    )
    total = plan.usd_per_hour
    return of_chip / total if of_chip and total else 0.0
