"""Notes on the prices of plans: other ways to pay, other chips, and an API."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fastcalc.catalogue.schema.hardware import Terms
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.random_load import most_requests
from fastcalc.features.plan.ranked_plan import SECONDS_PER_MONTH, api_usd_per_month
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.tipping_points import runner_up_prices
from fastcalc.formulas.money import HOURS_PER_MONTH, break_even_rate
from fastcalc.kit.answer.numbers_as_text import (
    dollars,
    number,
    rounded_down,
    rounded_up,
    whole_percent,
)
from fastcalc.kit.answer.prices import priced, prices_of
from fastcalc.written import listed

if TYPE_CHECKING:
    from fastcalc.features.plan.answer import PlanAnswer

_RENTED: tuple[Terms, ...] = ("on-demand", "spot", "reserved", "marketplace")
"""Rental terms for chips. All other terms describe the rental itself."""


def other_prices_of_plans(shown: Sequence[Plan]) -> Iterator[str]:
    """Yield the price per hour of each chip that the first plan does not use, and its date."""
    above = {scenario.hardware.id for plan in shown[:1] for scenario in plan.scenarios}
    scenarios = (
        scenario
        for plan in shown
        if plan.scenario.hardware.id not in above
        for scenario in plan.scenarios
        if scenario.quote.usd_per_hour is not None
    )
    by_chip = {scenario.hardware.id: scenario for scenario in scenarios}.values()
    if by_chip:
        chips = [scenario.hardware for scenario in by_chip]
        yield prices_of(shown[0].scenario.pricing, chips, in_short=True)


def ways_to_pay(chosen: Plan) -> Iterator[str]:
    """Yield the cost of a plan's chips with each payment option, and when reserving pays off."""
    pricing, chip = chosen.scenario.pricing, chosen.scenario.hardware
    rented = {terms: replace(pricing, basis="cloud", offer=terms) for terms in _RENTED}
    is_whole = chip.node is not None and chip.node.price.purchase is not None
    owned = "owned" if is_whole else "owned (no server)"
    ways = rented | {owned: replace(pricing, basis="tco", offer=None)}
    hours = {name: replace(way, user_prices={}).per_chip_hour(chip) for name, way in ways.items()}
    chips = chosen.values["chips"] * HOURS_PER_MONTH
    bills = [f"{name} ${dollars(usd * chips)}" for name, usd in hours.items() if usd is not None]
    if len(bills) < 2:
        return
    note = f"{chip.id} per month: {', '.join(bills)}"
    on_demand, reserved = hours["on-demand"], hours["reserved"]
    if on_demand and reserved:
        busy = whole_percent(reserved / on_demand)
        note += f". Reserved chips are cheaper if you use them more than {busy} of the time"
    yield note


def uncertain_prices(plans: Iterable[Plan]) -> Iterator[str]:
    """Yield what each price that is marked as uncertain is based on."""
    scenarios = (scenario for plan in plans for scenario in plan.scenarios)
    uncertain = (scenario for scenario in scenarios if scenario.quote.is_uncertain)
    texts = (priced(scenario.pricing, scenario.hardware, in_short=False) for scenario in uncertain)
    yield from (f"uncertain price per chip-hour: {text}" for text in dict.fromkeys(texts))


def break_even(decision: Decision) -> str:
    """Give the prices of the best chip or the runner-up at which the runner-up is cheaper."""
    above, below = runner_up_prices(decision)
    if decision.runner_up is None or (above is None and below is None):
        return ""
    chip, runner_up = (
        plan.scenario.hardware.id for plan in (decision.plans[0], decision.runner_up)
    )
    prices = [f"below ${number(rounded_down(below))}"] if below else []
    prices += [f"if {chip} rose above ${number(rounded_up(above))}"] if above else []
    usd = decision.runner_up.scenario.quote.usd_per_hour
    now = f" (now ${usd:,.2f})" if usd else ""
    return f"{runner_up}{now} would be cheaper {', or '.join(prices)}"


def against_api(planned: "PlanAnswer") -> Iterator[str]:
    """Yield what the API charges for this load. The cost includes owned chips, used or idle."""
    fleet = planned.fleet
    if fleet.service.tariff.api is None:
        return
    capacity = planned.owned_capacity
    for allocation in fleet.allocations:
        plan = allocation.plan if planned.is_of_one_class else None
        if not allocation.is_owned:
            sustained = plan and most_requests(plan, allocation.decision.service)
            capacity += sustained or allocation.most_requests
    yield from api_notes(fleet.service, fleet.requests, capacity, fleet.usd_per_month)


def api_notes(
    service: Service, requests: float, capacity: float, usd: float | None
) -> Iterator[str]:
    """Yield what the API charges for the load, and the load above which chips are cheaper.

    requests, capacity : The load, and highest throughput of the chips. [1/s]
    usd : The monthly cost of the chips, or None if unknown.
    """
    charged, bill = service.api_request_usd, api_usd_per_month(service, requests)
    if charged is None or bill is None or usd is None or service.tariff.api is None:
        return
    names = ("input", "cached input", "output")
    prices = [f"${price:g} ({name})" for name, price in zip(names, service.tariff.api, strict=True)]
    note = (
        f"at API prices of {listed(prices)} per million tokens, {number(requests)} requests/s cost "
        f"${dollars(bill)} per month; these chips cost ${dollars(usd)}"
    )
    if usd > 0.0:
        rate = float(break_even_rate(usd_per_month=usd, usd_per_request=charged))
        tokens = rate * (service.prompt + service.output) * SECONDS_PER_MONTH
        of_capacity = f"more than their throughput of {number(capacity)}"
        if rate <= capacity:
            of_capacity = f"{number(rate / capacity * 100.0)}% of their throughput"
        note += (
            f". They break even at {number(rate)} requests/s ({number(tokens / 1e6)} Mtok per "
            f"month, {of_capacity}), or if the chips were {number(bill / usd)} times as expensive "
            "or as slow"
        )
    yield note
