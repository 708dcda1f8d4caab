"""Notes on costs: prices, an API, owned and idle chips, and other ways to share replicas."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from fastcalc.catalogue.schema.hardware import Terms
from fastcalc.features.plan.allocation import Fleet
from fastcalc.features.plan.class_table import ServedClass
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.phrases import bill_of
from fastcalc.features.plan.random_load import most_requests
from fastcalc.features.plan.ranked_plan import SECONDS_PER_MONTH, api_usd_per_month
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.tipping_points import runner_up_prices
from fastcalc.formulas.money import HOURS_PER_MONTH, break_even_rate
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.kit.answer.numbers_as_text import (
    dollars,
    number,
    rounded_down,
    rounded_up,
    whole_percent,
)
from fastcalc.kit.answer.prices import basis_of, priced, prices_of
from fastcalc.mentions import option
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
    first, second = (plan.scenario for plan in (decision.plans[0], decision.runner_up))
    chip, runner_up = first.hardware.id, second.hardware.id
    usd = decision.runner_up.scenario.quote.usd_per_hour
    now = f" (now ${usd:,.2f})" if usd else ""
    prices = [f"at a price below ${number(rounded_down(below))}{now}"] if below else []
    prices += [f"with {chip} above ${number(rounded_up(above))}"] if above else []
    return f"{runner_up} in {second.work.short_format} would win {' or '.join(prices)}"


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
        f"${dollars(bill)} per month, and these chips cost ${dollars(usd)}"
    )
    if usd > 0.0:
        rate = float(break_even_rate(usd_per_month=usd, usd_per_request=charged))
        tokens = rate * (service.prompt + service.output) * SECONDS_PER_MONTH
        of_capacity = f"more than their throughput of {number(capacity)}"
        if rate <= capacity:
            of_capacity = f"{number(rate / capacity * 100.0)}% of their throughput"
        note += (
            f". The chips are cheaper above {number(rate)} requests/s ({number(tokens / 1e6)} Mtok "
            f"per month, {of_capacity}). At {number(requests)} requests/s, both would cost the "
            f"same if the chips cost {number(bill / usd)} times as much"
        )
    yield note


def owning_each(fleet: Fleet, service: Service) -> Iterator[str]:
    """Yield the monthly cost of owned chips, used or idle, by chip type and in total."""
    for kind in fleet.owned:
        allocated = [allocation for allocation in fleet.allocations if allocation.owned is kind]
        tokens = service.prompt + service.output
        tokens *= sum(allocation.requests for allocation in allocated)
        for plan in [plan for allocation in allocated for plan in allocation.plans][:1]:
            yield owning(plan, kind.chips, tokens)


def owning(chosen: Plan, chips: int, tokens: float) -> str:
    """Describe the monthly cost of all owned chips of one type, used or idle.

    tokens : The throughput of prompt and output tokens. [1/s]
    """
    chip = chosen.scenario.hardware
    per_hour = chosen.scenario.pricing.per_chip_hour(chip)
    if per_hour is None:
        price = chip.chip_price.purchase
        missing = "purchase price" if price is None else "power"
        bought = "" if price is None else f" (${dollars(price.si)} per chip to buy)"
        return (
            f"no {missing} is known for {chip.id}{bought}, so its ownership cost is unknown; "
            f"set a price per hour with {option('price', f'{chip.id}=0.10')} (0 is allowed)"
        )
    usd = per_hour * chips
    month = dollars(usd * HOURS_PER_MONTH)
    pricing = chosen.scenario.pricing
    basis = (
        "the price set"
        if chip.id in pricing.user_prices
        else basis_of(pricing)
        if pricing.basis == "tco"
        else "cloud prices"
    )
    a_million = (
        f", or ${dollars(usd / 3600.0 / tokens * 1e6)}/Mtok (input and output)" if tokens else ""
    )
    all_chips = f"all {chips:,} {chip.id}" if chips > 1 else f"the {chip.id}"
    return f"owning {all_chips} costs ${month} per month{a_million}. Basis: {basis}"


def next_nodes(fleet: Fleet, grown: Mapping[str, float]) -> Iterator[str]:
    """Yield the throughput that one more node, or single chip, of each owned type would add.

    grown : By chip, the fleet's throughput with that addition. [1/s]
    """
    owned = {kind.hardware.id: kind for kind in fleet.owned}
    for chip, sustained in grown.items():
        if sustained <= fleet.requests and fleet.service.power < inf:  # the limit would stop it
            continue
        unit = owned[chip].unit(fleet.service)
        node = f"node ({unit} {chip})" if unit > 1 else chip
        before, after = number(fleet.requests), number(sustained)
        rise = f"raise the sustained rate from {before} to {after} requests/s"
        if before == after:
            rise = f"not raise the sustained rate of {before} requests/s"
        yield f"one more {node} would {rise}"


def idle_chips(fleet: Fleet) -> Iterator[str]:
    """Yield notes on idle owned chips."""
    for allocation in fleet.allocations:
        if allocation.owned is not None and allocation.plans and allocation.chips_left:
            chips = f"{allocation.chips:,} {allocation.owned.hardware.id}"
            yield f"Idle: {allocation.chips_left:,.0f} of {chips}"
    loaded = [allocation.owned for allocation in fleet.allocations]
    idle = [kind for kind in fleet.owned if kind not in loaded]
    if idle:
        chips = listed([f"{kind.chips:,} of {kind.chips:,} {kind.hardware.id}" for kind in idle])
        yield f"Idle: {chips}; the load goes to chips in the order of {option('own')}"


def over_limits(classes: Iterable[ServedClass]) -> Iterator[str]:
    """Yield the classes above a limit at the percentile that must meet it."""
    for served in classes:
        for name in ("ttft", "tpot"):
            if seconds := served.over(name):
                is_met = "; the mean TPOT at full batch is within it" if name == "tpot" else ""
                yield (
                    f"pool {served.pool}, {served.request_class.name}: p"
                    f"{(served.share or 0.0) * 100:g} {name.upper()} is "
                    f"{number(seconds * 1e3)} ms, above the limit of "
                    f"{number(getattr(served.request_class, name) * 1e3)} ms"
                    f"{is_met}"
                )


def one_chip_type(fleet: Fleet) -> Iterator[str]:
    """Yield the cost with one chip type, if the cheapest pools use several."""
    for allocation in fleet.allocations:
        pools = allocation.sharing.on_one_chip
        if pools is None:
            continue
        chip = pools[0].plan.scenario.hardware.id
        text = f"with one chip type, {chip}: {bill_of(pools)}"
        usd = sum_if_known(pool.plan.usd_per_month for pool in pools)
        cheapest = allocation.usd_per_month
        if usd is not None and cheapest:
            premium = usd - cheapest
            text += f", ${dollars(premium)} ({premium / cheapest:.0%}) more"
        yield text


def other_sharings(fleet: Fleet, models: Sequence[str]) -> Iterator[str]:
    """Yield the cost of other groupings."""
    last = fleet.allocations[-1]
    sharing, pools = last.sharing, last.pools
    label = "owned" if last.is_owned else "rented"
    part = "" if len(fleet.allocations) == 1 else f"on {label} chips, "
    if sharing.one_each is None or len(pools[0].classes) == len(pools) == 1:
        return
    if len(pools) > 1 and sharing.shared_by_all is not None:
        bill = bill_of(sharing.shared_by_all)
        yield f"{part}one pool for all classes would need {bill}"
    elif len(pools) > 1 and len(models) == 1:
        yield f"{part}no replica meets the limits of all classes together"
    if len(pools) < sum(len(pool.classes) for pool in pools):
        bill = bill_of(sharing.one_each)
        chips = dict.fromkeys(pool.plan.scenario.hardware.id for pool in sharing.one_each)
        is_same = bill == bill_of(pools)
        costs = "cost the same as this plan" if is_same else f"need {bill} ({listed([*chips])})"
        yield f"{part}a pool for each class would {costs}"
