"""Headline of a plan: the chips, what they serve, and whether something else is as good."""

from collections import Counter
from math import inf

from fastcalc.core.scenario import Scenario
from fastcalc.features.plan import notes as plan_notes
from fastcalc.features.plan.allocation import Fleet
from fastcalc.features.plan.answer_regret import chance_of_limits
from fastcalc.features.plan.api import cheaper_api
from fastcalc.features.plan.fleet_notes import in_all, sustain_verb
from fastcalc.features.plan.planned_fleet import PlannedFleet
from fastcalc.features.plan.service_asked import phrase
from fastcalc.features.plan.sharing_notes import bill_of
from fastcalc.kit.answer.console import Title
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.written import listed


def headline(planned: PlannedFleet) -> Title:
    """Headline: the chips to rent, or the load of owned chips and what to rent in addition."""
    fleet, remarks = planned.fleet, _remarks(planned)
    rented = [pool for allocation, pool in planned.pools if not allocation.is_owned]
    chips = " + ".join(dict.fromkeys(pool.plan.scenario.hardware.id for pool in rented))
    bill = bill_of(rented)
    if not fleet.owned:
        is_sized = fleet.serves_all and not fleet.service.is_fleet
        answer = bill if is_sized else f"{bill}, sustain {_load(planned)}"
        return Title(chips, f"{answer}{remarks}", answer)
    load = _load(planned)
    if rented:
        more = fleet.allocations[-1].requests
        rate = fleet.service.rate
        rest = "the rest" if rate and fleet.serves_all else f"{number(more)} more"
        load = number(fleet.requests - more) + (f" of {number(rate)}" if rate else "")
        load += f" requests/s; rent {chips} for {rest}: {bill}{in_all(fleet)}"
    answer = f"{sustain_verb(fleet)} {load}"
    return Title(_owned_chips(planned), f"{answer}{remarks}", answer)


def _remarks(planned: PlannedFleet) -> str:
    """Clauses on whether the limits hold, and whether the next chip or an API is as good."""
    fleet = planned.fleet
    remarks = plan_notes.in_fewer_bits((pool.decision, pool.plan) for _, pool in planned.pools)
    if planned.is_of_one_class:
        decisions = [pool.decision for _, pool in planned.pools]
        remarks += "" if planned.is_of_fleet else chance_of_limits(planned.verdict)
        remarks += "".join(map(plan_notes.level_runner_up, decisions))
    remarks += _idle_for_power(fleet) + _unlimited_ttft(planned)
    remarks += "".join(map(_kind_of_market, _chips_rented(planned)))
    if fleet.service.rate is not None or planned.is_of_fleet:
        remarks += cheaper_api(fleet.service, fleet.requests, fleet.usd_per_month)
    return remarks + (_expected(planned) if planned.is_of_one_class else "")


def _idle_for_power(fleet: Fleet) -> str:
    """Owned chips that the power limit leaves idle, if it does."""
    idle = [
        f"{left:,.0f} {kind.hardware.id}"
        for kind in fleet.owned
        if (left := kind.chips - kind.runnable(fleet.service))
    ]
    return f"; the power limit leaves {listed(idle)} idle" if idle else ""


def load_line(planned: PlannedFleet) -> str:
    """Phrase for the load that is served."""
    fleet = planned.fleet
    models = None if planned.is_of_one_class else listed(planned.models)
    return phrase(planned.request, fleet.service, models)


def _chips_rented(planned: PlannedFleet) -> list[Scenario]:
    """Scenario of each rented chip type."""
    scenarios = [
        scenario
        for allocation, pool in planned.pools
        for scenario in pool.plan.scenarios
        if not allocation.is_owned
    ]
    return list({scenario.hardware.id: scenario for scenario in scenarios}.values())


def _unlimited_ttft(planned: PlannedFleet) -> str:
    """TTFT with random arrivals, if no TTFT limit is set."""
    service, share = planned.fleet.service, planned.fleet.service.claimed_share
    if not planned.is_of_one_class or service.ttft < inf or share is None:
        return ""
    seconds = max(pool.plan.values["ttft"] for _, pool in planned.pools)
    time = f"{number(seconds)} s" if seconds >= 1.0 else f"{number(seconds * 1e3)} ms"
    return f"; p{share * 100:g} TTFT {time} (no limit set)"


def _expected(planned: PlannedFleet) -> str:
    """Plan chosen at expected speeds, if slower speeds lead to a different choice."""
    expected, service = planned.decision.expected, planned.decision.service
    if expected is None or planned.is_of_fleet:
        return ""
    chosen, cheapest = planned.decision.plans[0], expected.plans[0]
    expected_bill, bill = (
        (plan.scenario.hardware.id, plan_notes.chips_and_price(plan, service))
        for plan in (cheapest, chosen)
    )
    return f"; at expected speeds {', '.join(expected_bill)}" * (expected_bill != bill)


def _load(planned: PlannedFleet) -> str:
    """Phrase for the offered load."""
    requests, rate = planned.fleet.requests, planned.fleet.service.rate
    if not planned.is_of_one_class:
        of_file = f"requests/s of {planned.request.traffic}"
        if rate is not None and not planned.fleet.serves_all:
            percent = number(requests / rate * 100.0)
            return f"{number(requests)} of {number(rate)} requests/s ({percent}%) of " + (
                f"{planned.request.traffic}"
            )
        return f"{number(requests)} {of_file}"
    tokens = number(requests * planned.service.output)
    return f"{number(requests)} requests/s, {tokens} output tokens/s"


def _owned_chips(planned: PlannedFleet) -> str:
    """Allocated owned chips, grouped by chip type."""
    counts = Counter[str]()
    for allocation in planned.fleet.allocations:
        if allocation.owned is not None:
            counts[allocation.owned.hardware.id] += allocation.chips
    return listed([f"{count:,} {chip}" for chip, count in counts.items()])


def _kind_of_market(scenario: Scenario) -> str:
    """Say in a phrase that a chip is a consumer card, or that only marketplaces rent it."""
    chip, is_consumer = scenario.hardware.id, scenario.hardware.market == "consumer"
    if scenario.quote.is_marketplace:
        card = " a consumer card," * is_consumer
        return f"; {chip} is{card} rented only on marketplaces"
    return f"; {chip} is a consumer card" * is_consumer
