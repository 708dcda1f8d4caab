"""Notes of a plan's page: for ranked plans, for a fleet, or for several request classes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from fastcalc.core.defaults_used import power_notes
from fastcalc.core.own_formats import own_formats
from fastcalc.core.scenario import each_warning
from fastcalc.features.plan import notes as plan_notes
from fastcalc.features.plan import records as plan_records
from fastcalc.features.plan.allocation import Allocation
from fastcalc.features.plan.answer_regret import chance_of_limits, odds_notes, regret_notes
from fastcalc.features.plan.answer_tipping_points import tipping_point_notes
from fastcalc.features.plan.api import api_notes
from fastcalc.features.plan.fleet_notes import idle_chips, next_nodes, owning_each
from fastcalc.features.plan.notes import Weight, weighted
from fastcalc.features.plan.page_tables import PlanRow, in_own_formats
from fastcalc.features.plan.percentiles import in_words
from fastcalc.features.plan.planned_fleet import PlannedFleet
from fastcalc.features.plan.random_load import random_load
from fastcalc.features.plan.refusal import chips_of, refusal_of
from fastcalc.features.plan.sharing_notes import (
    one_chip_type,
    other_sharings,
    over_limits,
    shared_nodes,
)
from fastcalc.features.plan.single_chips import single_chip_notes
from fastcalc.kit.answer.console import Note
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.mentions import option

_MORE = 1.001
"""Lowest throughput ratio at which quantizing further is worth a note. [1]"""


def notes_of(planned: PlannedFleet, rows: Sequence[PlanRow]) -> Iterator[Note]:
    """Notes on the plans of a page, their costs, and better alternatives."""
    yield from plan_notes.bursts(planned.classes)
    if not planned.is_of_one_class:
        yield from _notes_of_mix(planned)
    elif planned.is_of_fleet:
        yield from _notes_of_fleet(planned, rows)
    else:
        yield from _notes_of_ranked(planned, rows)


def _notes_of_ranked(planned: PlannedFleet, rows: Sequence[PlanRow]) -> Iterator[Note]:
    """Notes on ranked plans: basis, runner-up, why others lost, and tipping points."""
    decision, unlike = planned.decision, planned.decision.on_unlike_chips
    if planned.request.think is not None and len(rows) > 1:
        rate = f"{number(planned.service.rate or 0.0)} requests/s"
        text = f"all rows use plan 1's {rate}; on a faster plan the same users would send more"
        yield Note(text, Weight.QUEUE)
    if unlike is not None:
        command = plan_records.prompts_command(unlike, planned.typed)
        yield Note(plan_notes.crossing_note(unlike, command), Weight.KV_TRANSFER)
    yield from weighted(0, _own_formats_notes(planned))
    plans = [row.plan for row in rows]
    shown = [row.plan for row in rows if row.is_shown]
    yield from plan_notes.decision_notes(decision, plans, shown)
    yield from weighted(Weight.TIPPING_POINT, tipping_point_notes(planned.verdict))
    yield from regret_notes(planned.verdict)
    yield from odds_notes(planned.verdict)
    yield from single_chip_notes(decision, planned.verdict.grids)
    yield from weighted(0, plan_records.service_notes(planned.service))
    warnings = decision.plans[0].replica.warnings
    for warning in each_warning(plan.replica for plan in plans):
        yield Note(warning, Weight.WARNING if warning in warnings else 0)


def _own_formats_notes(planned: PlannedFleet) -> Iterator[str]:
    for plan in in_own_formats(planned):
        weights, cache = own_formats(plan.scenario.model)
        cost = plan_notes.times_the_cost(planned.decision, plan)
        bill = plan_notes.chips_and_price(plan, planned.service)
        yield f"in the model's own formats ({weights}, cache {cache}), {cost}: {bill}"


def _notes_of_fleet(planned: PlannedFleet, rows: Sequence[PlanRow]) -> Iterator[Note]:
    """Notes on a fleet: an API, more chips and all owned chips, then each allocation."""
    rented = [row.plan for row in rows if not row.is_owned]
    yield from weighted(1, _against_api(planned))
    yield from weighted(1, next_nodes(planned.fleet, planned.grown))
    yield from weighted(1, owning_each(planned.fleet, planned.service))
    for allocation in planned.fleet.allocations:
        yield from weighted(1, _notes_of_allocation(allocation))
    if chance := chance_of_limits(planned.verdict).removeprefix("; "):
        yield Note(f"rented chips: {chance}", 1)
    for note in (*odds_notes(planned.verdict), *regret_notes(planned.verdict)):
        yield replace(note, text=f"rented chips: {note.text}", weight=min(note.weight, 1))
    for text in tipping_point_notes(planned.verdict):
        yield Note(f"rented chips: {text}", 2)  # which was asked for
    yield from weighted(1, plan_notes.other_prices_of_plans(rented))
    yield from weighted(0, plan_records.service_notes(planned.fleet.service))
    for _, pool in planned.pools:
        for note in plan_notes.decision_notes(pool.decision, [pool.plan], [pool.plan]):
            if not note.is_hint:
                yield replace(note, weight=0)
    yield from weighted(0, each_warning(row.plan.replica for row in rows))


def _notes_of_mix(planned: PlannedFleet) -> Iterator[Note]:
    """Notes on a mix: missed limits, costs, other groupings, pools without percentiles."""
    yield from weighted(1, over_limits(planned.served))
    yield from weighted(1, one_chip_type(planned.fleet))
    yield from weighted(1, _against_api(planned))
    yield from weighted(1, next_nodes(planned.fleet, planned.grown))
    yield from weighted(1, shared_nodes(planned.fleet))
    for allocation, pool in planned.pools:
        yield from weighted(1, () if allocation.is_owned else plan_notes.idle(pool.plan))
    yield from weighted(1, idle_chips(planned.fleet))
    yield from weighted(1, owning_each(planned.fleet, planned.service))
    yield from weighted(1, other_sharings(planned.fleet, planned.models))
    yield from weighted(1, _busy(planned))
    yield from weighted(0, plan_records.service_notes(planned.service))


def _against_api(planned: PlannedFleet) -> Iterator[str]:
    """Note the API's charge for the same load; the cost includes owned chips, used or idle."""
    fleet = planned.fleet
    if fleet.service.tariff.api is None:
        return
    rented = (allocation for allocation in fleet.allocations if not allocation.is_owned)
    capacity = planned.owned_capacity + sum(allocation.most_requests for allocation in rented)
    yield from api_notes(fleet.service, fleet.requests, capacity, fleet.usd_per_month)


def _busy(planned: PlannedFleet) -> Iterator[str]:
    """Note which pools have no percentiles, and why."""
    for index, (_, pool) in enumerate(planned.pools, 1):
        service = pool.decision.service
        load = random_load(pool.plan, service) if service.is_random else None
        if load and not load.is_known:
            yield in_words(load, f"pool {index}")


def _more_in_fewer_bits(allocation: Allocation) -> Iterator[str]:
    """Note the throughput of owned chips with quantized weights, if published formats lead."""
    decision = allocation.decision
    if allocation.plan is None or not decision.may_lead(allocation.plan):
        return
    narrowed = [plan for plan in decision.in_order if not decision.may_lead(plan)]
    requests = max((plan.requests for plan in narrowed), default=0.0)
    if decision.service.rate is None and requests > allocation.plan.requests * _MORE:
        plan = max(narrowed, key=lambda plan: plan.requests)
        weights, cache = plan.scenario.work.weight_format, plan.scenario.work.kv_format
        formats = f"{weights}, cache {cache}"
        yield (
            f"quantized further ({formats}), these chips would serve {number(requests)} "
            f"requests/s: {option('weights', weights)} {option('kv', cache)}"
        )


def _notes_of_allocation(allocation: Allocation) -> Iterator[str]:
    """Notes on owned chips: which ones stay idle, and how the others serve the load."""
    chosen, owned = allocation.plan, allocation.owned
    if chosen is None:
        yield f"{chips_of(allocation)} have no throughput: {refusal_of(allocation)}"
        return
    service = allocation.decision.service
    if owned is None:
        if service.power < inf:
            yield from power_notes(chosen.scenario.hardware)
        return
    if allocation.chips_left:
        yield f"Idle: {allocation.chips_left:,.0f} of {allocation.chips:,} {owned.hardware.id}"
    yield from _more_in_fewer_bits(allocation)
    yield from (note.text for note in plan_notes.queue_notes(chosen, service) if note.weight)
    yield from plan_notes.slow_end(chosen, service)
