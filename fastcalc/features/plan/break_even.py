"""Break-even price per chip-hour, at which another plan costs the same, in closed form."""

from math import inf

from fastcalc.features.plan.decision import Decision, Plan


def break_even_price(plan: Plan, chip: str, cost: float, cost_of_chip: float = 0.0) -> float | None:
    """Compute the price per chip-hour at which a plan costs as much as an alternative. [USD/h]

    Costs are linear in this price. Other prices stay the same. None if no price makes them equal.

    chip : id of a chip of the plan
    cost, cost_of_chip : cost of the alternative, and the part of it for the same chip, in
        the unit of the plan's cost
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
    """Compute the chip prices at which the runner-up leads: best above, runner-up below. [USD/h]

    A runner-up that is quantized further than requested never leads; fleets are ranked by
    throughput. An API that costs less than the runner-up wins first when the best's price rises.
    """
    second, service = decision.runner_up, decision.service
    if second is None or service.objective != "usd" or service.is_fleet:
        return None, None
    best = decision.plans[0]
    if decision.may_lead(best) and not decision.may_lead(second):
        return None, None
    ours, theirs = (plan.scenario.hardware.id for plan in (best, second))
    charged = service.api_request_usd
    api = inf if charged is None or not service.rate else charged * service.rate * 3600.0
    above = break_even_price(best, ours, second.cost, second.cost * share_of_cost(second, ours))
    least, of_theirs = best.cost, best.cost * share_of_cost(best, theirs)
    if api < least:
        least, of_theirs = api, 0.0
    below = break_even_price(second, theirs, least, of_theirs)
    return None if api < second.cost else above, below


def share_of_cost(plan: Plan, chip: str) -> float:
    """Compute the fraction of a plan's cost that is due to one chip type. [1]"""
    of_chip = plan.of_all_chips(
        lambda scenario: (scenario.quote.usd_per_hour or 0.0) * (scenario.hardware.id == chip)
    )
    total = plan.usd_per_hour
    return of_chip / total if of_chip and total else 0.0
