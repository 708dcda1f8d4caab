"""The headline of a plan: chips to rent, the load of owned chips, and what to know first."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fastcalc.core.own_formats import own_formats
from fastcalc.core.scenario import Scenario
from fastcalc.features.plan.allocation import Fleet
from fastcalc.features.plan.answer_regret import chance_of_limits
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.phrases import bill_of, level_runner_up
from fastcalc.features.plan.ranked_plan import api_usd_per_month
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import ReplicaPool
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.kit.answer.parts import Title
from fastcalc.written import listed

if TYPE_CHECKING:
    from fastcalc.features.plan.answer import PlanAnswer


_BEST = {
    "usd": "Cheapest plan",
    "watts": "Plan with least power",
    "chips": "Plan with fewest chips",
}
"""What rented chips are best at, by objective."""


def headline(planned: "PlanAnswer") -> Title:
    """Return the headline: chips to rent, or the load that owned chips sustain and what to rent."""
    fleet, remarks = planned.fleet, _remarks(planned)
    rented = [pool for allocation, pool in planned.pools if not allocation.is_owned]
    chips = dict.fromkeys(pool.plan.scenario.hardware.id for pool in rented)
    names = " + ".join(chips)
    bill = bill_of(rented, names if len(chips) == 1 else f"chips ({names})")
    if not fleet.owned:
        is_sized = fleet.serves_all and not fleet.service.is_fleet
        answer = bill if is_sized else f"{bill}, sustain {_load(planned)}"
        return Title(_name_of_best(rented, fleet.service), f"{answer}{remarks}", answer)
    load = _load(planned)
    if rented:
        more = fleet.allocations[-1].requests
        rate = fleet.service.rate
        rest = "the rest" if rate and fleet.serves_all else f"{number(more)} more"
        load = number(fleet.requests - more) + (f" of {number(rate)}" if rate else "")
        load += f" requests/s; for {rest}, rent {bill}{in_all(fleet)}"
    answer = f"{sustain_verb(fleet)} {load}"
    counts, idle = Counter[str](), Counter[str]()
    for allocation in fleet.allocations:
        if allocation.owned is not None:
            counts[allocation.owned.hardware.id] += allocation.chips
            idle[allocation.owned.hardware.id] += round(allocation.chips_left)
    is_served = fleet.service.rate is not None and fleet.serves_all and not rented
    running = {chip: f"{counts[chip] - idle[chip]:,} of " for chip in +idle if is_served}
    owned = listed([f"{running.get(chip, '')}{count:,} {chip}" for chip, count in counts.items()])
    return Title(owned, f"{answer}{remarks}", answer)


def _name_of_best(rented: Sequence[ReplicaPool], service: Service) -> str:
    """Say what the rented chips are best at, and in which format a single model is served."""
    usd = sum_if_known(pool.plan.usd_per_month for pool in rented)
    best = "Best plan" if service.objective == "usd" and usd is None else _BEST[service.objective]
    if service.is_fleet:
        best = "Plan with most requests/s"
    return best + f" in {rented[0].plan.scenario.work.short_format}" * (len(rented) == 1)


def _remarks(planned: "PlanAnswer") -> str:
    """Say whether the limits hold, and whether the next chip or an API is as good."""
    fleet = planned.fleet
    remarks = in_fewer_bits((pool.decision, pool.plan) for _, pool in planned.pools)
    if planned.is_of_one_class:
        decisions = [pool.decision for _, pool in planned.pools]
        remarks += "" if planned.is_of_fleet else chance_of_limits(planned.verdict)
        remarks += "".join(
            level_runner_up(decision, is_sure=planned.is_sure) for decision in decisions
        )
    idle = [
        f"{left:,.0f} {kind.hardware.id}"
        for kind in fleet.owned
        if (left := kind.chips - kind.runnable(fleet.service))
    ]
    remarks += f"; the power limit leaves {listed(idle)} idle" if idle else ""
    rented = {
        scenario.hardware.id: scenario
        for allocation, pool in planned.pools
        for scenario in pool.plan.scenarios
        if not allocation.is_owned
    }
    remarks += "".join(map(_kind_of_market, rented.values()))
    if fleet.service.rate is not None or planned.is_of_fleet:
        remarks += cheaper_api(fleet.service, fleet.requests, fleet.usd_per_month)
    return remarks


def in_all(fleet: Fleet) -> str:
    """Describe the total monthly cost of owned and additionally rented chips."""
    usd = fleet.usd_per_month
    return "" if usd is None else f" (${dollars(usd)} in all)"


def sustain_verb(fleet: Fleet) -> str:
    """Return the words for owned chips: enough for a given rate, or sustaining a maximum rate."""
    is_all = fleet.service.rate is not None and all(part.is_owned for part in fleet.allocations)
    if is_all and fleet.serves_all:
        return "enough for"
    return "sustains" if sum(kind.chips for kind in fleet.owned) == 1 else "sustain"


def in_fewer_bits(chosen_plans: Iterable[tuple[Decision, Plan]]) -> str:
    """Say that a plan is quantized below the published format without a request for it."""
    models = {
        plan.scenario.model.id: plan.scenario.model
        for decision, plan in chosen_plans
        if not decision.may_lead(plan)
    }
    published = [", cache ".join(own_formats(model)) for model in models.values()]
    return f", quantized further than published ({'; '.join(published)})" if published else ""


def cheaper_api(service: Service, requests: float, usd: float | None) -> str:
    """Say that an API is cheaper than the chips. Returns nothing if it is not.

    requests, usd : The load [1/s], and monthly cost, or None if unknown.
    """
    bill = api_usd_per_month(service, requests)
    if bill is None or usd is None or bill >= usd:
        return ""
    return f"; the API charges less, ${dollars(bill)} per month"


def _load(planned: "PlanAnswer") -> str:
    """Describe the offered load."""
    requests, rate = planned.fleet.requests, planned.fleet.service.rate
    if not planned.is_of_one_class:
        load = f"{number(requests)} requests/s"
        if rate is not None and not planned.fleet.serves_all:
            percent = number(requests / rate * 100.0)
            load = f"{number(requests)} of {number(rate)} requests/s ({percent}%)"
        return f"{load} of {planned.request.traffic}"
    tokens = number(requests * planned.service.output)
    return f"{number(requests)} requests/s, {tokens} output tokens/s"


def _kind_of_market(scenario: Scenario) -> str:
    """Say that a chip is a consumer card, or is rented only on marketplaces."""
    chip, is_consumer = scenario.hardware.id, scenario.hardware.market == "consumer"
    if scenario.quote.is_marketplace:
        card = " a consumer card," * is_consumer
        return f"; {chip} is{card} rented only on marketplaces"
    return f"; {chip} is a consumer card" * is_consumer
