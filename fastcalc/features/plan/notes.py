"""The notes on a plan's page: its risks and costs, and why the others lose."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from fastcalc.catalogue.schema.hardware import Terms
from fastcalc.core.defaults_used import power_notes
from fastcalc.core.load import MOST_BUSY
from fastcalc.core.outcome import each_warning
from fastcalc.core.own_formats import own_formats
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan.allocation import Allocation
from fastcalc.features.plan.answer_regret import (
    chance_of_limits,
    odds_notes,
    regret_notes,
    tipping_point_notes,
)
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.fleet_notes import (
    idle_chips,
    next_nodes,
    one_chip_type,
    other_sharings,
    over_limits,
    owning_each,
)
from fastcalc.features.plan.phrases import (
    AMOUNTS,
    Weight,
    chips_and_price,
    cut,
    level_runner_up,
    times_the_cost,
    weighted,
)
from fastcalc.features.plan.random_load import in_words, most_requests, random_load
from fastcalc.features.plan.ranked_plan import SECONDS_PER_MONTH, api_usd_per_month, tpot_range
from fastcalc.features.plan.refusal import (
    MOST_NAMED,
    chips_of,
    refusal_of,
    unknown_chips,
    why_lost,
)
from fastcalc.features.plan.service import NEAR, Service
from fastcalc.features.plan.tipping_points import runner_up_prices
from fastcalc.formulas.money import HOURS_PER_MONTH, break_even_rate
from fastcalc.grid.grid import Grid
from fastcalc.kit.answer.commands import compare_command
from fastcalc.kit.answer.numbers_as_text import (
    dollars,
    number,
    rounded_down,
    rounded_up,
    size,
    stated_percent,
    whole_percent,
)
from fastcalc.kit.answer.parts import Note
from fastcalc.kit.answer.prices import priced, prices_of
from fastcalc.mentions import option
from fastcalc.written import listed, many

if TYPE_CHECKING:
    from fastcalc.features.plan.answer import PlanAnswer
    from fastcalc.features.plan.page_tables import PlanRow

_RENTED: tuple[Terms, ...] = ("on-demand", "spot", "reserved", "marketplace")
"""Rental terms for chips. All other terms describe the rental itself."""

_NAMES = {"ttft": "TTFT", "tpot": "TPOT", "chips": "max-chips"}

_PER_TOKEN = {"usd": "cost per token", "watts": "energy per token"}

_FULL = 0.9
"""Utilization above which a replica without a queueing model is noted."""

_HALF = 0.5
"""Fraction of a node's cost up to which single chips appear on the first screen."""

_MORE = 1.001
"""Smallest throughput ratio at which stronger quantization is worth a note."""


def notes_of(planned: "PlanAnswer", rows: Sequence["PlanRow"]) -> Iterator[Note]:
    """Yield notes on the plans of a page, their costs, and better alternatives."""
    fleet, service = planned.fleet, planned.service
    yield from weighted(Weight.QUEUE, bursts(planned.classes))
    yield from weighted(Weight.OVER_LIMITS, over_limits(planned.served))
    yield from weighted(Weight.API, against_api(planned))
    yield from weighted(Weight.OWNED, next_nodes(fleet, planned.grown))
    yield from weighted(Weight.OWNED, owning_each(fleet, service))
    yield from weighted(Weight.OWNED, idle_chips(fleet))
    yield from weighted(Weight.SHARING, one_chip_type(fleet))
    yield from weighted(Weight.SHARING, other_sharings(fleet, planned.models))
    yield from weighted(Weight.WARNING, unlimited_ttft(planned))
    if planned.is_of_one_class:
        for allocation in fleet.allocations:
            yield from notes_of_allocation(planned, allocation, rows)
    for index, (allocation, pool) in enumerate(planned.pools, 1):
        name = pool.plan.scenario.hardware.id if planned.is_of_one_class else f"pool {index}"
        is_only = planned.is_of_one_class
        yield from queue_notes(pool.plan, pool.decision.service, name, is_only=is_only)
        weight = Weight.IDLE if is_only else Weight.OWNED  # the chips of the table then add up
        yield from weighted(weight, () if allocation.is_owned else idle(pool.plan))
    yield from weighted(0, service_notes(service))
    warnings = {text for _, pool in planned.pools for text in pool.plan.replica.warnings}
    for warning in each_warning(row.plan.replica for row in rows):
        yield Note(warning, Weight.WARNING if warning in warnings else 0)
    yield from weighted(0, uncertain_prices(row.plan for row in rows))


def uncertain_prices(plans: Iterable[Plan]) -> Iterator[str]:
    """Yield what each price that is marked as uncertain is based on."""
    scenarios = (scenario for plan in plans for scenario in plan.scenarios)
    uncertain = (scenario for scenario in scenarios if scenario.quote.is_uncertain)
    texts = (priced(scenario.pricing, scenario.hardware, in_short=False) for scenario in uncertain)
    yield from (f"uncertain price per chip-hour: {text}" for text in dict.fromkeys(texts))


def notes_of_allocation(
    planned: "PlanAnswer", allocation: Allocation, rows: Sequence["PlanRow"]
) -> Iterator[Note]:
    """Yield notes on one class on some chips: alternatives, their risks, and why others lose."""
    chosen, decision = allocation.plan, allocation.decision
    if chosen is None:
        have = "has" if allocation.owned and allocation.chips == 1 else "have"
        text = f"{chips_of(allocation)} {have} no plan: {refusal_of(allocation)}"
        yield Note(text, Weight.OVER_LIMITS)
        return
    service = decision.service
    yield from weighted(Weight.SLOW_END, slow_end(chosen, service))
    yield from weighted(Weight.BUSY, _busy(chosen, service))
    if allocation.is_owned:
        yield from weighted(Weight.OWNED, _more_in_fewer_bits(allocation))
        return
    if (unlike := decision.on_unlike_chips) is not None:
        assert unlike.prefill_scenario is not None
        command = compare_command(unlike.prefill_scenario, planned.typed)
        yield Note(crossing_note(unlike, command), Weight.KV_TRANSFER)
    if (own := planned.in_own_formats) is not None:
        weights, cache = own_formats(own.scenario.model)
        cost = times_the_cost(decision, own, is_sure=planned.is_sure)
        bill = chips_and_price(own, planned.service)
        yield Note(f"in the model's own formats ({weights}, cache {cache}), {cost}: {bill}", 0)
    of_rented = [row for row in rows if not row.is_owned]
    listed_plans, shown = (
        [row.plan for row in of_rented if row.is_shown or also] for also in (1, 0)
    )
    yield from decision_notes(decision, listed_plans, shown, is_sure=planned.is_sure)
    if planned.request.think is not None and len(shown) > 1:
        rate = f"{number(planned.service.rate or 0.0)} requests/s"
        text = (
            f"All plans are sized for {rate}. With a faster plan, the same users would send more "
            "requests"
        )
        yield Note(text, Weight.QUEUE)
    verdict, whose = planned.verdict, "rented chips: " * bool(planned.fleet.owned)
    if whose and (chance := chance_of_limits(verdict).removeprefix("; ")):
        yield Note(f"{whose}{chance}", Weight.ODDS)
    for note in (
        *weighted(Weight.TIPPING_POINT, tipping_point_notes(verdict)),
        *regret_notes(verdict),
        *odds_notes(verdict),
        *single_chip_notes(decision, verdict.grids),
    ):
        yield replace(note, text=f"{whose}{note.written}") if whose else note


def decision_notes(
    decision: Decision, listed: Sequence[Plan], shown: Sequence[Plan], *, is_sure: bool = False
) -> Iterator[Note]:
    """Yield notes on the runner-up or near miss, other prices, and why others lost.

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
    yield from weighted(0 if on_cloud else Weight.WAYS_TO_PAY, ways_to_pay(chosen))
    ids = {plan.scenario.hardware.id for plan in shown}
    chips = {plan.scenario.hardware.id: plan.scenario.hardware for plan in listed}.values()
    for chip in chips if service.objective == "watts" or service.power < inf else ():
        yield from weighted(Weight.POWER if chip.id in ids else 0, power_notes(chip))
    yield from weighted(0, _others(decision))
    yield from _unpriced(decision)


def idle(chosen: Plan) -> Iterator[str]:
    """Yield the number of idle chips in a plan's nodes."""
    if chosen.idle_chips:
        chips = f"{chosen.idle_chips:,.0f}"
        verb = "is" if chosen.idle_chips == 1 else "are"
        chip = chosen.scenario.hardware.id
        yield f"{chips} {chip} {verb} idle, because only whole nodes are rented"


def _next_chip(decision: Decision, *, is_sure: bool = False) -> Iterator[str]:
    chosen, second = decision.plans[0], decision.runner_up
    if second is not None:
        bits = ", quantized further" * (decision.may_lead(chosen) and not decision.may_lead(second))
        bill = chips_and_price(second, decision.service)
        chip, times = second.scenario.hardware.id, times_the_cost(decision, second, is_sure=is_sure)
        yield f"Second-best chip: {chip}, {times}: {bill}{bits}"


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


def queue_notes(chosen: Plan, service: Service, name: str, is_only: bool) -> Iterator[Note]:
    """Yield the p99 latencies, or why they have no closed form.

    is_only : whether no table lists the latencies of each class
    """
    load = random_load(chosen, service) if service.is_random else None
    if load is not None and (is_only or not load.is_known):
        is_bound_of_plan = is_only and not load.is_known
        yield Note(in_words(load, name), 0 if is_bound_of_plan else Weight.QUEUE)


def bursts(classes: Iterable[RequestClass]) -> Iterator[str]:
    """Yield the classes whose arrivals are not random, although queues assume Poisson arrivals."""
    for request_class in classes:
        if request_class.is_random:
            continue
        way, wait = "more evenly than assumed", "shorter, and fewer replicas may be enough"
        if request_class.variation > 1.0:
            way, wait = "in bursts", "longer, and these replicas may not be enough"
        yield (
            f"{request_class.name}: requests arrive {way} (coefficient of variation "
            f"{number(request_class.variation)}; 1 with Poisson arrivals). Actual waits are {wait}"
        )


def _busy(chosen: Plan, service: Service) -> Iterator[str]:
    busiest, is_queued = max(chosen.busy, chosen.prefill_busy), service.share is not None
    if service.rate is not None and not is_queued and busiest > _FULL:
        yield (
            f"{chosen.scenario.hardware.id}: at {busiest:.1%} utilization, Poisson arrivals would "
            f"queue; use {option('percentile', '99')} to plan for them"
        )


def _others(decision: Decision) -> Iterator[str]:
    """Yield notes on missing plans, near misses, and why the other deployments lost."""
    chosen, service, near = decision.plans[0], decision.service, decision.near
    if chosen.is_narrowed and decision.in_own_formats is None:
        weights, cache = own_formats(chosen.scenario.model)
        yield (
            f"no plan uses the model's own formats ({weights}, KV cache {cache}); "
            f"use {option('weights', weights)} {option('kv', cache)} to request one"
        )
    if near is not None and near.cost < chosen.cost:
        per_token = {} if service.rate is not None else _PER_TOKEN
        unit = per_token.get(service.objective, AMOUNTS[service.objective])
        gain = f"at {whole_percent(near.cost / chosen.cost)} of the {unit}"
        if service.is_fleet:
            gain = f"sustaining {number(near.requests)} requests/s"
        yield f"near miss (less than {NEAR:g} times each limit) {gain}: {_miss(near)}"
    if decision.closest:
        closest = sorted(decision.closest.values(), key=lambda plan: max(plan.misses.values()))
        names = (
            f"{plan.scenario.hardware.id} {_times(max(plan.misses.values()))}" for plan in closest
        )
        yield f"chips that miss a limit, and by which factor: {', '.join(names)}"
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
        f"to transfer {cache} of KV cache over the slower link (less if sent layer by layer). For "
        f"the prefill speed, run '{command}'"
    )


def _miss(plan: Plan) -> str:
    over = [
        f"{_NAMES.get(name, name)} is {_times(value)} times its limit"
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


def in_single_chips(decision: Decision, grids: Sequence[Grid]) -> Plan | None:
    """Return a plan with the same chip rented singly, if one node was chosen and half suffices."""
    chosen, service = decision.plans[0], decision.service
    is_a_node = chosen.node_chips > 1 and chosen.values["chips"] == chosen.node_chips
    if not (grids and service.in_nodes and service.rate and is_a_node):
        return None
    of_chip = decision.grids_to_lead(grids, chosen.scenario.hardware.id)
    plans = decide(of_chip, replace(service, in_nodes=False), shown=0).plans
    return plans[0] if plans and plans[0].cost <= _HALF * chosen.cost else None


def single_chip_notes(decision: Decision, grids: Sequence[Grid]) -> Iterator[Note]:
    """Yield the cost of fewer chips than a node, if they suffice."""
    if (plan := in_single_chips(decision, grids)) is not None:
        bill = chips_and_price(plan, replace(decision.service, in_nodes=False))
        chip, flag = plan.scenario.hardware.id, option("by", "chip")
        text = f"if you rent single chips of {chip} ({flag}), {bill} would be enough"
        yield Note(text, Weight.SINGLE_CHIPS)


def unlimited_ttft(planned: "PlanAnswer") -> Iterator[str]:
    """Yield the TTFT for random arrivals, if there is no TTFT limit."""
    service, share = planned.fleet.service, planned.fleet.service.claimed_share
    if service.ttft == inf and share is not None:
        seconds = max(pool.plan.values["ttft"] for _, pool in planned.pools)
        time = f"{number(seconds)} s" if seconds >= 1.0 else f"{number(seconds * 1e3)} ms"
        yield f"no TTFT limit is set ({option('ttft')}): p{share * 100:g} TTFT is {time}"


def against_api(planned: "PlanAnswer") -> Iterator[str]:
    """Yield what the API charges for this load. The cost includes owned chips, used or idle."""
    fleet = planned.fleet
    if fleet.service.tariff.api is None:
        return
    capacity = planned.owned_capacity
    for allocation in fleet.allocations:
        plan = allocation.plan if planned.is_of_one_class else None
        if not allocation.is_owned:
            most = plan and most_requests(plan, allocation.decision.service)
            capacity += most or allocation.most_requests
    yield from api_notes(fleet.service, fleet.requests, capacity, fleet.usd_per_month)


def api_notes(
    service: Service, requests: float, capacity: float, usd: float | None
) -> Iterator[str]:
    """Yield what the API charges for the load, and the load above which chips are cheaper.

    requests, capacity : load, and highest throughput of the chips [1/s]
    usd : monthly cost of the chips, or None if unknown
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


def _more_in_fewer_bits(allocation: Allocation) -> Iterator[str]:
    """Yield the throughput of owned chips with quantized weights, if published formats lead."""
    decision = allocation.decision
    if allocation.plan is None or not decision.may_lead(allocation.plan):
        return
    narrowed = [plan for plan in decision.in_order if not decision.may_lead(plan)]
    requests = max((plan.requests for plan in narrowed), default=0.0)
    if decision.service.rate is None and requests > allocation.plan.requests * _MORE:
        plan = max(narrowed, key=lambda plan: plan.requests)
        weights, cache = plan.scenario.work.short_format, plan.scenario.work.kv_format
        yield (
            f"these chips would serve {number(requests)} requests/s if quantized further "
            f"({weights}, cache {cache}; {option('weights', weights)} {option('kv', cache)})"
        )


def service_notes(service: Service) -> Iterable[str]:
    """Return the notes that define the latencies of a plan."""
    between = "TPOT includes prefill of other requests between two tokens"
    if service.output <= 1.0:
        between = (
            "with a single output token, TPOT and its limit refer to one decode step at that "
            "batch, as in compare"
        )
    yield f"{between}; {_arrivals(service)}"
    if service.tpot < inf and service.share is not None:
        yield (
            "the TPOT limit must also be met at full batch, so a plan may use more chips than its "
            "percentiles require"
        )
    if service.utilization < 1.0 and (service.share or service.rate or service.is_fleet):
        cap = f"{stated_percent(service.utilization)} ({option('load')})"
        reason = ", as headroom for Poisson arrivals"
        if service.share is not None:
            reason = f"; percentile estimates are valid up to {whole_percent(MOST_BUSY)}"
        yield f"utilization of each replica is capped at {cap}{reason}"
    waits = ""
    if service.share is not None:
        level = f"p{service.share * 100:g}"
        waits = (
            f". Their TTFT adds the {level} waits of the prefill and decode queues, and their TPOT "
            "assumes a full batch"
        )
    yield (
        "disaggregated prefill: separate replicas prefill one prompt at a time and send its KV "
        f"cache over the scale-out network{waits}"
    )
    yield f"quantization may reduce quality; {option('weights')} and {option('kv')} set the formats"


def _arrivals(service: Service) -> str:
    """Describe the assumed arrival process, and the percentile of the latencies."""
    if service.share is None:
        return (
            "TTFT assumes evenly spaced requests and no queue; for Poisson arrivals, set "
            f"{option('percentile')}, or leave headroom with {option('load')}"
        )
    level = f"p{service.share * 100:g}"
    arriving = f"are {level} with Poisson arrivals"
    if not service.is_random:
        arriving = f"are {level} for Poisson arrivals, although these requests arrive differently"
    return (
        f"TTFT and TPOT {arriving}. Requests are assigned to replicas at random, and each replica "
        "has its own queue; load-aware routing would lower both"
    )
