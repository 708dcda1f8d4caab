"""Notes below a plan: its confidence, the runner-up, and why the others lost."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any

import numpy as np

from fastcalc.catalogue.schema.hardware import Terms
from fastcalc.core.defaults_used import power_notes
from fastcalc.core.own_formats import own_formats
from fastcalc.core.ratios import Ranged, cost_range, independent_ratio, is_level
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.random_load import in_words, random_load
from fastcalc.features.plan.ranked_plan import (
    RankedPlan,
    low_confidence,
    tpot_range,
    undetermined,
)
from fastcalc.features.plan.refusal import FIELDS, MOST_NAMED, unknown_chips, why_lost
from fastcalc.features.plan.service import NEAR, Service
from fastcalc.features.plan.tipping_points import runner_up_prices
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.kit.answer.numbers_as_text import (
    dollars,
    number,
    rounded_down,
    rounded_up,
    size,
    whole_percent,
)
from fastcalc.kit.answer.parts import Note
from fastcalc.kit.answer.prices import prices_of
from fastcalc.kit.answer.record_tables import marked
from fastcalc.mentions import option
from fastcalc.written import many

_RENTED: tuple[Terms, ...] = ("on-demand", "spot", "reserved", "marketplace")
"""Rental terms for chips. All other terms describe the rental itself."""

_AMOUNTS = {"usd": "cost", "watts": "power", "chips": "chips"}
_MAYBE = {
    "usd": "may turn out cheaper",
    "watts": "may need less power",
    "chips": "may need fewer chips",
}
_NAMES = {"ttft": "TTFT", "tpot": "TPOT"}
_FULL = 0.9
"""Utilization above which a replica without a queueing model is noted. [1]"""


class Weight(IntEnum):
    """How important a note is. The most important ones appear on the first screen."""

    MANY_UNPRICED = 1
    WARNING = 2
    POWER = 3
    OTHER_PRICES = 4
    IDLE = 5
    BUSY = 6
    SLOW_END = 7
    QUEUE = 8
    REGRET = 9
    UNPRICED = 10
    NEXT_CHIP = 11
    WAYS_TO_PAY = 12
    API = 13
    TIPPING_POINT = 14
    KV_TRANSFER = 15
    ODDS = 16
    SINGLE_CHIPS = 17


def weighted(weight: int, texts: Iterable[str]) -> Iterator[Note]:
    """Yield texts as notes of one weight."""
    return (Note(text, weight) for text in texts)


def decision_notes(
    decision: Decision, listed: Sequence[Plan], shown: Sequence[Plan], *, is_sure: bool = False
) -> Iterator[Note]:
    """Yield notes on the best plan's basis, the runner-up or near miss, and why others lost.

    listed, shown : all plans on the page, and those in its table
    is_sure : whether the best plan meets its limits at the slow end of its speed as well
    """
    chosen, service = decision.plans[0], decision.service
    on_cloud = chosen.scenario.pricing.name == "cloud"
    is_seen = level_runner_up(decision, is_sure=is_sure) or any(
        plan is decision.runner_up for plan in shown
    )
    yield from weighted(0 if is_seen else Weight.NEXT_CHIP, _next_chip(decision, is_sure=is_sure))
    for price in other_prices_of_plans(shown):
        yield Note(price, Weight.OTHER_PRICES, is_hint=True)
    yield from weighted(0, prices_of_plans(listed))
    yield from weighted(0 if on_cloud else Weight.WAYS_TO_PAY, ways_to_pay(chosen))
    ids = {plan.scenario.hardware.id for plan in shown}
    chips = {plan.scenario.hardware.id: plan.scenario.hardware for plan in listed}.values()
    for chip in chips if service.objective == "watts" else ():
        yield from weighted(Weight.POWER if chip.id in ids else 0, power_notes(chip))
    yield from queue_notes(chosen, service)
    yield from weighted(Weight.SLOW_END, slow_end(chosen, service))
    yield from weighted(Weight.BUSY, _busy(chosen, service))
    yield from weighted(Weight.IDLE, idle(chosen))
    yield from weighted(0, by_the_chip(listed, service))
    yield from weighted(0, _others(decision))
    yield from _unpriced(decision)


def idle(chosen: Plan) -> Iterator[str]:
    """Yield the number of idle chips in a plan's nodes."""
    if chosen.idle_chips:
        chips = f"{chosen.idle_chips:,.0f}"
        verb = "is" if chosen.idle_chips == 1 else "are"
        yield f"{chips} {chosen.scenario.hardware.id} {verb} idle, because nodes are rented whole"


def by_the_chip(shown: Sequence[Plan], service: Service) -> Iterator[str]:
    """Yield the chips whose node size is unknown, if chips are rented by the node."""
    if service.in_nodes:
        chips = {plan.scenario.hardware.id: plan.scenario.hardware for plan in shown}.values()
        names = [chip.id for chip in chips if chip.node_chips is None]
        if names:
            yield (
                "counted in single chips, because hardware files give no node size: "
                f"{', '.join(names)}"
            )


def _next_chip(decision: Decision, *, is_sure: bool = False) -> Iterator[str]:
    chosen, second = decision.plans[0], decision.runner_up
    if second is not None:
        bits = ", quantized further" * (decision.may_lead(chosen) and not decision.may_lead(second))
        bill = chips_and_price(second, decision.service)
        chip, times = second.scenario.hardware.id, times_the_cost(decision, second, is_sure=is_sure)
        yield f"Second-best chip: {chip}, {times}: {bill}{bits}"


def break_even(decision: Decision) -> str:
    """Give the prices of the best chip or the runner-up at which the runner-up wins, if any."""
    above, below = runner_up_prices(decision)
    if decision.runner_up is None or (above is None and below is None):
        return ""
    chip, runner_up = (
        plan.scenario.hardware.id for plan in (decision.plans[0], decision.runner_up)
    )
    prices = [f"it costs less than ${number(rounded_down(below))}"] if below else []
    verb = "" if below else " costs"
    prices += [f"{chip}{verb} more than ${number(rounded_up(above))}"] if above else []
    usd = decision.runner_up.scenario.quote.usd_per_hour
    now = f" (${usd:,.2f})" if usd else ""
    return f"{runner_up}{now} wins if {' or '.join(prices)}"


def other_prices_of_plans(shown: Sequence[Plan]) -> Iterator[str]:
    """Yield the prices of chips that the first plan does not use."""
    above = {scenario.hardware.id for plan in shown[:1] for scenario in plan.scenarios}
    plans_of_other_chips = [plan for plan in shown if plan.scenario.hardware.id not in above]
    yield from prices_of_plans(plans_of_other_chips, in_short=True) if plans_of_other_chips else ()


def prices_of_plans(shown: Sequence[Plan], *, in_short: bool = False) -> Iterator[str]:
    """Yield the price per hour assumed for each chip, and its date."""
    pricing = shown[0].scenario.pricing
    scenarios = (
        scenario_of_plan
        for plan in shown
        for scenario_of_plan in (plan.scenario, plan.prefill_scenario)
        if scenario_of_plan
    )
    chips = {scenario.hardware.id: scenario.hardware for scenario in scenarios}.values()
    priced_chips = [chip for chip in chips if pricing.per_chip_hour(chip) is not None]
    if priced_chips:
        yield prices_of(pricing, priced_chips, in_short=in_short)


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
        note += f"; reserving is cheaper for chips in use more than {busy} of the time"
    yield note


def queue_notes(chosen: Plan, service: Service) -> Iterator[Note]:
    """Yield the p99 latencies, or why they have no closed form."""
    load = random_load(chosen, service)
    if load is not None and service.is_random:
        text = in_words(load, chosen.scenario.hardware.id)
        yield Note(text, Weight.QUEUE if load.is_known else 0)


def bursts(classes: Iterable[RequestClass]) -> Iterator[Note]:
    """Yield the classes whose arrivals are not random, although queues assume Poisson arrivals."""
    for request_class in classes:
        if request_class.is_random:
            continue
        way, wait = "more evenly", "shorter, and fewer replicas may do"
        if request_class.variation > 1.0:
            way, wait = "in bursts", "longer, and these replicas may be too few"
        yield Note(
            f"{request_class.name}: requests arrive {way} (coefficient of variation "
            f"{number(request_class.variation)}), but queues are computed for Poisson arrivals "
            f"(1): waits are {wait}",
            Weight.QUEUE,
        )


def _busy(chosen: Plan, service: Service) -> Iterator[str]:
    busiest, is_queued = max(chosen.busy, chosen.prefill_busy), service.share is not None
    if service.rate is not None and not is_queued and busiest > _FULL:
        yield (
            f"{chosen.scenario.hardware.id}: at {busiest:.1%} utilization, Poisson arrivals would "
            f"queue; {option('percentile', '99')} plans for them"
        )


def _others(decision: Decision) -> Iterator[str]:
    """Yield notes on missing plans, near misses, and why the other deployments lost."""
    chosen, service, near = decision.plans[0], decision.service, decision.near
    if chosen.is_narrowed and decision.in_own_formats is None:
        weights, cache = own_formats(chosen.scenario.model)
        yield (
            f"no plan uses the model's own formats ({weights}, KV cache {cache}); "
            f"{option('weights', weights)} {option('kv', cache)} asks for one"
        )
    if near is not None and near.cost < chosen.cost:
        gain = f"at {whole_percent(near.cost / chosen.cost)} of the {_unit(service)}"
        if service.is_fleet:
            gain = f"sustaining {number(near.requests)} requests/s"
        yield f"near miss (below {NEAR:g} times each limit) {gain}: {_miss(near)}"
    if decision.closest:
        closest = sorted(decision.closest.values(), key=lambda plan: max(plan.misses.values()))
        names = (
            f"{plan.scenario.hardware.id} {_times(max(plan.misses.values()))}" for plan in closest
        )
        yield f"chips that exceed a limit, and by what factor: {', '.join(names)}"
    yield f"best of {decision.candidates:,} deployments: {', '.join(why_lost(decision))}"


def _unpriced(decision: Decision) -> Iterator[Note]:
    """Yield chips without a known price or power. If there are many, the note comes last."""
    if not decision.unknown:
        return
    text = ": ".join(unknown_chips(decision))
    if len(decision.unknown) <= MOST_NAMED:
        yield Note(text, Weight.UNPRICED)
        return
    yield Note(text, Weight.MANY_UNPRICED, is_hint=True)
    yield Note(f"{text}; {option('format', 'json')} names all", weight=0)


def times_the_cost(decision: Decision, plan: Plan, *, is_sure: bool = False) -> str:
    """Describe the cost of a plan by its objective, relative to the best plan.

    For a fleet, which maximizes throughput, it is the throughput instead.
    """
    amount = _AMOUNTS[decision.service.objective]
    times = f"{number(plan.cost / decision.plans[0].cost)} times the {amount}"
    if decision.service.is_fleet:
        times = f"sustains {number(plan.requests)} requests/s"
    return times + f" ({_may_win(decision)})" * _is_level_with_best(decision, plan, is_sure=is_sure)


def level_runner_up(decision: Decision, *, is_sure: bool = False) -> str:
    """Name the runner-up if the 80% ranges of speed do not decide which plan is best."""
    second = decision.runner_up
    if second is None or not _is_level_with_best(decision, second, is_sure=is_sure):
        return ""
    chip, service = second.scenario.hardware.id, decision.service
    if service.is_fleet:
        chips = f"{second.values['chips']:,.0f} {chip}"
        return f"; {chips} {_may_win(decision)} (80% ranges overlap)"
    usd = second.usd_per_month if service.objective == "usd" else None
    bill = chips_and_price(second, service) if usd is None else f"${dollars(usd)}"
    return f"; {chip} ({bill}) {_may_win(decision)} (80% ranges overlap)"


def _may_win(decision: Decision) -> str:
    """Return the verb phrase for a plan that may be better than the best one."""
    return "may sustain more" if decision.service.is_fleet else _MAYBE[decision.service.objective]


def _is_level_with_best(decision: Decision, plan: Plan, *, is_sure: bool) -> bool:
    """Return whether the ranges of speed leave open which of a plan and the best one costs less.

    is_sure : whether the best plan meets its limits at the slow end as well, without more chips
    """
    cheapest, compared = (
        _cost_range(candidate, decision.service) for candidate in (decision.plans[0], plan)
    )
    if is_sure:
        cheapest = cheapest._replace(high=cheapest.expected)
    return bool(is_level(independent_ratio(over=compared, under=cheapest))[0])


def _cost_range(plan: Plan, service: Service) -> Ranged:
    """Return the range of a plan's cost if its chips grow in proportion to the slowdown.

    Whole nodes cost at least one node. The throughput of a fleet falls in proportion.
    """
    ranged = cost_range(plan.cost, plan.replica.estimate.ranged_speed)
    one_node = plan.cost * min(plan.node_chips / plan.values["chips"], 1.0)
    return ranged if service.is_fleet else ranged._replace(low=np.maximum(ranged.low, one_node))


def in_fewer_bits(chosen_plans: Iterable[tuple[Decision, Plan]]) -> str:
    """Say that a plan is quantized below the published format without a request for it."""
    models = {
        plan.scenario.model.id: plan.scenario.model
        for decision, plan in chosen_plans
        if not decision.may_lead(plan)
    }
    published = [", cache ".join(own_formats(model)) for model in models.values()]
    return f", quantized further than published ({'; '.join(published)})" if published else ""


def slow_end(chosen: Plan, service: Service) -> Iterator[str]:
    """Yield a TPOT limit that is met at the expected speed but not over the whole range."""
    _, slow = tpot_range(chosen) or (0.0, 0.0)
    if slow <= service.tpot:
        return
    if service.is_speed:
        speed, wanted_speed = rounded_down(1.0 / slow), 1.0 / service.tpot
        met = f"a user gets {speed:g} tokens/s, below {wanted_speed:g}"
    else:
        met = f"TPOT is {rounded_up(slow * 1e3):g} ms, above {service.tpot * 1e3:g} ms"
    yield f"{chosen.scenario.hardware.id}: at the slow end of the 80% range, {met}"


def crossing_note(plan: Plan, command: str | None) -> str:
    """Describe the KV-cache transfer from prefill chips to decode chips of another type."""
    taking, traffic = plan.prefill_scenario, plan.scenario.traffic
    assert taking is not None
    cache = size(float(plan.scenario.work.cache_bytes(float(traffic.prompt))))
    return (
        f"prefill on {taking.hardware.id}: TTFT includes {number(plan.kv_transfer_s * 1e3)} ms "
        f"for the KV-cache transfer of {cache} over the slower link (less if sent layer by "
        f"layer). '{command}' shows prefill speed"
    )


def _miss(plan: Plan) -> str:
    over = [
        f"{_NAMES.get(name) or FIELDS[name].replace('_', '-')} is {_times(value)} times its limit"
        for name, value in plan.misses.items()
        if value > 1.0
    ]
    parts = [plan.scenario.hardware.id, f"{plan.replicas:,.0f} x {cut(plan.layout)}"]
    parts += [f"batch {plan.batch:,.0f}"]
    if plan.prefill_layout is not None:
        parts += [f"prefill on {plan.prefill_replicas:,.0f} x {cut(plan.prefill_layout)}"]
    parts += [f"{many(plan.values['chips'], 'chip')} in total"]
    return f"{', '.join(parts)}; {', '.join(over)}"


def _times(value: float) -> str:
    """Format the ratio of a value to its limit, rounded so that it stays above 1."""
    text = number(value)
    if value < NEAR and float(text.replace(",", "")) >= NEAR:
        return f"just under {NEAR:g}"
    return "just over 1" if text == number(1.0) else text


def cut(layout: Any) -> str:
    """Format a layout without spaces."""
    return str(layout).replace(" ", "") or "1 chip"


def chips_and_price(plan: Plan, service: Service) -> str:
    """Describe the chips and price of a plan."""
    is_unsure = "chips_total" in undetermined(plan, service)
    count, _, chips = many(plan.values["chips"], "chip").partition(" ")
    chips = f"{marked(count, is_unsure=is_unsure)} {chips}"
    if plan.node_chips > 1:
        nodes = plan.values["chips"] / plan.node_chips
        chips += f" in {'a node' if nodes == 1 else f'{nodes:,.0f} nodes'}"
    watts = RankedPlan(1, plan, service, "").watts
    if service.objective == "watts" and watts is not None:
        chips += f", {number(watts / 1e3)} kW"
    if plan.usd_per_month is None:
        return chips
    is_dubious = bool(low_confidence(plan, service))
    usd = marked(dollars(plan.usd_per_month), is_unsure=is_unsure or is_dubious)
    month = f"${usd} per month"
    if service.objective == "usd" and service.rate is None and not service.is_fleet:
        token = marked(dollars(plan.cost), is_unsure=is_dubious)  # plans are ranked by it
        return f"{chips}, ${token}/Mtok, {month}"
    return f"{chips}, {month}"


def _unit(service: Service) -> str:
    a_token = {"usd": "cost per token", "watts": "energy per token"}
    word = _AMOUNTS[service.objective]
    return word if service.rate is not None else a_token.get(service.objective, word)
