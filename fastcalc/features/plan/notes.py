"""The notes on a plan's page: its risks and costs, and why the others lose."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from fastcalc.core.defaults_used import power_notes
from fastcalc.core.outcome import each_warning
from fastcalc.core.own_formats import own_formats
from fastcalc.features.plan.allocation import Allocation
from fastcalc.features.plan.answer_regret import (
    CHANCE,
    chance_of_limits,
    odds_notes,
    regret_notes,
    tipping_point_notes,
)
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.cost_notes import (
    against_api,
    idle_chips,
    next_nodes,
    one_chip_type,
    other_prices_of_plans,
    other_sharings,
    over_limits,
    owning_each,
    uncertain_prices,
    ways_to_pay,
)
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.latency_notes import (
    bursts,
    busy,
    queue_notes,
    service_notes,
    slow_end,
    unlimited_ttft,
)
from fastcalc.features.plan.odds import chance_by_percentiles, has_odds
from fastcalc.features.plan.phrases import (
    AMOUNTS,
    Weight,
    chips_and_price,
    cut,
    level_runner_up,
    times_the_cost,
    weighted,
)
from fastcalc.features.plan.refusal import MOST_NAMED, chips_of, refusal_of, unknown_chips, why_lost
from fastcalc.features.plan.service import NEAR, Service
from fastcalc.grid.grid import Grid
from fastcalc.kit.answer.commands import compare_command
from fastcalc.kit.answer.numbers_as_text import number, size, whole_percent
from fastcalc.kit.answer.parts import Note
from fastcalc.mentions import option
from fastcalc.written import many

if TYPE_CHECKING:
    from fastcalc.features.plan.answer import PlanAnswer
    from fastcalc.features.plan.page_tables import PlanRow

_NAMES = {"ttft": "TTFT", "tpot": "TPOT", "chips": "max-chips"}

_PER_TOKEN = {"usd": "cost per token", "watts": "energy per token"}

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
        is_only = planned.is_of_one_class
        name = _chips(planned, allocation, pool.plan) if is_only else f"pool {index}"
        yield from queue_notes(pool.plan, pool.decision.service, name, is_only=is_only)
        weight = Weight.IDLE if is_only else Weight.OWNED  # the chips of the table then add up
        yield from weighted(weight, () if allocation.is_owned else idle(pool.plan))
    yield from weighted(0, service_notes(service))
    warnings = {text for _, pool in planned.pools for text in pool.plan.replica.warnings}
    for warning in each_warning(row.plan.replica for row in rows):
        yield Note(warning, Weight.WARNING if warning in warnings else 0)
    yield from weighted(0, uncertain_prices(row.plan for row in rows))


def _chips(planned: "PlanAnswer", allocation: Allocation, plan: Plan) -> str:
    """Name the chips of a plan, and whether they are owned if there are both kinds."""
    chip = plan.scenario.hardware.id
    if len({part.is_owned for part in planned.fleet.allocations}) == 1:
        return chip
    return f"owned {chip}" if allocation.is_owned else f"rented {chip}"


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
    slow = slow_end(chosen, service, _chips(planned, allocation, chosen))
    yield from weighted(Weight.SLOW_END, slow)
    yield from weighted(Weight.BUSY, busy(chosen, service))
    if allocation.is_owned:
        yield from weighted(Weight.OWNED, _more_in_fewer_bits(allocation))
        if planned.is_of_one_class:
            yield from weighted(Weight.ODDS, _chance_of_owned(chosen, service))
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
    listed_plans = [row.plan for row in rows if not row.is_owned]
    shown = [row.plan for row in rows if row.is_shown and not row.is_owned]
    yield from decision_notes(decision, listed_plans, shown, is_sure=planned.is_sure)
    if planned.request.think is not None and len(shown) > 1:
        yield Note(_for_faster_plans(planned.service.rate or 0.0), Weight.QUEUE)
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


def _for_faster_plans(rate: float) -> str:
    """Say that users who think send more requests to a faster plan."""
    sized = f"All plans are sized for {number(rate)} requests/s"
    return f"{sized}. With a faster plan, the same users would send more requests"


def _chance_of_owned(chosen: Plan, service: Service) -> Iterator[str]:
    """Yield the probability that owned chips meet the limits, unless a confidence is requested."""
    if has_odds(chosen, service) and not service.deviations:
        chance = chance_by_percentiles(chosen, service)
        if chance is not None:
            yield f"owned {chosen.scenario.hardware.id}: {whole_percent(chance)} {CHANCE}"


def decision_notes(
    decision: Decision, listed: Sequence[Plan], shown: Sequence[Plan], *, is_sure: bool = False
) -> Iterator[Note]:
    """Yield notes on the runner-up or near miss, other prices, and why others lost.

    listed, shown : All plans on the page, and those in its table.
    is_sure : Whether the best plan meets its limits at the slow end of its speed as well.
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


def single_chip_notes(decision: Decision, grids: Sequence[Grid]) -> Iterator[Note]:
    """Yield the cost of single chips, if one node was chosen and half of it suffices."""
    chosen, service = decision.plans[0], decision.service
    is_a_node = chosen.node_chips > 1 and chosen.values["chips"] == chosen.node_chips
    if not (grids and service.in_nodes and service.rate and is_a_node):
        return
    chip, singly = chosen.scenario.hardware.id, replace(service, in_nodes=False)
    for plan in decide(decision.grids_to_lead(grids, chip), singly, shown=0).plans[:1]:
        if plan.cost <= _HALF * chosen.cost:
            flag, bill = option("by", "chip"), chips_and_price(plan, singly)
            text = f"with {flag}, single {chip} chips would be enough: {bill}"
            yield Note(text, Weight.SINGLE_CHIPS)


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
