"""The notes on a plan's page: for ranked plans, for a fleet, or for several request classes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from fastcalc.core.defaults_used import power_notes
from fastcalc.core.outcome import each_warning
from fastcalc.core.own_formats import own_formats
from fastcalc.features.plan import api_bill
from fastcalc.features.plan import notes as plan_notes
from fastcalc.features.plan import records as plan_records
from fastcalc.features.plan.allocation import Allocation, Fleet
from fastcalc.features.plan.answer_regret import (
    chance_of_limits,
    odds_notes,
    regret_notes,
    tipping_point_notes,
)
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.class_table import ServedClass
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.notes import Weight, chips_and_price, weighted
from fastcalc.features.plan.page_tables import PlanRow, in_own_formats
from fastcalc.features.plan.planned_fleet import PlannedFleet
from fastcalc.features.plan.random_load import in_words, random_load
from fastcalc.features.plan.refusal import chips_of, refusal_of
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import ReplicaPool
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.grid.grid import Grid
from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.kit.answer.parts import Note
from fastcalc.kit.answer.prices import basis_of
from fastcalc.mentions import option
from fastcalc.written import listed, many


def in_all(fleet: Fleet) -> str:
    """Describe the total monthly cost of owned and additionally rented chips."""
    usd = fleet.usd_per_month
    return "" if usd is None else f" (${dollars(usd)} in all)"


def sustain_verb(fleet: Fleet) -> str:
    """Return the verb for owned chips: they serve a given rate, or sustain a maximum rate."""
    is_all = fleet.service.rate is not None and all(part.is_owned for part in fleet.allocations)
    verb = "serve" if is_all and fleet.serves_all else "sustain"
    return f"{verb}s" if sum(kind.chips for kind in fleet.owned) == 1 else verb


def owning_each(fleet: Fleet, service: Service) -> Iterator[str]:
    """Yield the monthly cost of owned chips, used or idle, by chip type and in total."""
    for kind in fleet.owned:
        allocated = [allocation for allocation in fleet.allocations if allocation.owned is kind]
        tokens = service.prompt + service.output
        tokens *= sum(allocation.requests for allocation in allocated)
        for plan in [plan for allocation in allocated for plan in allocation.plans][:1]:
            yield owning(plan, kind.chips, tokens)
    yield from owning_all(fleet)


def owning_all(fleet: Fleet) -> Iterator[str]:
    """Yield the total cost of owned chips of several types."""
    usd = sum_if_known(kind.usd_per_month for kind in fleet.owned)
    if usd is not None and len(fleet.owned) > 1:
        yield f"owning all these chips costs ${dollars(usd)} per month"


def owning(chosen: Plan, chips: int, tokens: float) -> str:
    """Describe the monthly cost of all owned chips of one type, used or idle.

    tokens : throughput of prompt and output tokens [1/s]
    """
    chip = chosen.scenario.hardware
    per_hour = chosen.scenario.pricing.per_chip_hour(chip)
    if per_hour is None:
        price = chip.chip_price.purchase
        missing = "purchase price" if price is None else "power"
        bought = "" if price is None else f" (${dollars(price.si)} per chip to buy)"
        return (
            f"no {missing} is known for {chip.id}{bought}, so owning it has no price; "
            f"{option('price', f'{chip.id}=0.10')} sets one per hour (0 is allowed)"
        )
    usd = per_hour * chips
    month = dollars(usd * HOURS_PER_MONTH)
    pricing = chosen.scenario.pricing
    basis = "at the price set" if chip.id in pricing.user_prices else f"basis: {basis_of(pricing)}"
    a_million = (
        f", ${dollars(usd / 3600.0 / tokens * 1e6)}/Mtok (input and output)" if tokens else ""
    )
    all_chips = f"all {chips:,} {chip.id}" if chips > 1 else f"the {chip.id}"
    return f"owning {all_chips} costs ${month} per month{a_million}; {basis}"


def next_nodes(fleet: Fleet, grown: Mapping[str, float]) -> Iterator[str]:
    """Yield the throughput that one more node, or single chip, of each owned type would add.

    grown : by chip, the fleet's throughput with that addition [1/s]
    """
    owned = {kind.hardware.id: kind for kind in fleet.owned}
    for chip, sustained in grown.items():
        if sustained <= fleet.requests and fleet.service.power < inf:  # the limit would stop it
            continue
        unit = owned[chip].unit(fleet.service)
        node = f"node ({unit} {chip})" if unit > 1 else chip
        growth = number(sustained - fleet.requests)
        yield f"one more {node} would raise this to {number(sustained)} requests/s (+{growth})"


def idle_chips(fleet: Fleet) -> Iterator[str]:
    """Yield notes on idle owned chips."""
    for allocation in fleet.allocations:
        if allocation.owned is not None and allocation.plans and allocation.chips_left:
            chips = f"{allocation.chips:,} {allocation.owned.hardware.id}"
            yield f"Idle: {allocation.chips_left:,.0f} of {chips}"


def over_limits(classes: Iterable[ServedClass]) -> Iterator[str]:
    """Yield the classes above a limit at the percentile that must meet it."""
    for served in classes:
        for name in ("ttft", "tpot"):
            if seconds := served.over(name):
                is_met = "; the mean TPOT at full batch is within it" if name == "tpot" else ""
                yield (
                    f"pool {served.pool}, {served.request_class.name}: {name.upper()} is "
                    f"{number(seconds * 1e3)} ms at p{(served.share or 0.0) * 100:g}, over its "
                    f"limit of {number(getattr(served.request_class, name) * 1e3)} ms{is_met}"
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


def shared_nodes(fleet: Fleet) -> Iterator[str]:
    """Yield the pools that share nodes."""
    pools = [
        (allocation, pool.plan) for allocation in fleet.allocations for pool in allocation.pools
    ]
    for allocation in fleet.allocations:
        in_nodes = (plan for plan in allocation.plans if plan.node_chips > 1)
        chips = Counter(plan.scenario.hardware.id for plan in in_nodes)
        for chip in (chip for chip, count in chips.items() if count > 1):
            numbers = [
                str(number)
                for number, (serving, plan) in enumerate(pools, 1)
                if serving is allocation and plan.scenario.hardware.id == chip
            ]
            yield f"replicas of pools {listed(numbers)} share nodes of {chip}"


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


def bill_of(pools: Sequence[ReplicaPool]) -> str:
    """Describe the chips and price of the pools."""
    if len(pools) == 1 and len(pools[0].classes) == 1:
        return chips_and_price(pools[0].plan, pools[0].decision.service)
    chips = many(sum(pool.chips for pool in pools), "chip")
    usd = sum_if_known(pool.plan.usd_per_month for pool in pools)
    return chips if usd is None else f"{chips}, ${dollars(usd)} per month"


_HALF = 0.5
"""Fraction of a node's cost up to which single chips appear on the first screen. [1]"""


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
        text = f"rented by the chip ({flag}), {chip} needs {bill}"
        yield Note(text, Weight.SINGLE_CHIPS)


_MORE = 1.001
"""Smallest throughput ratio at which stronger quantization is worth a note. [1]"""


def notes_of(planned: PlannedFleet, rows: Sequence[PlanRow]) -> Iterator[Note]:
    """Yield notes on the plans of a page, their costs, and better alternatives."""
    yield from plan_notes.bursts(planned.classes)
    if not planned.is_of_one_class:
        yield from _notes_of_mix(planned)
    elif planned.is_of_fleet:
        yield from _notes_of_fleet(planned, rows)
    else:
        yield from _notes_of_ranked(planned, rows)


def _notes_of_ranked(planned: PlannedFleet, rows: Sequence[PlanRow]) -> Iterator[Note]:
    """Yield the notes on ranked plans: basis, runner-up, why others lost, and tipping points."""
    decision, unlike = planned.decision, planned.decision.on_unlike_chips
    if planned.request.think is not None and len(rows) > 1:
        rate = f"{number(planned.service.rate or 0.0)} requests/s"
        text = f"All plans are sized for {rate}; on a faster plan, the same users would send more"
        yield Note(text, Weight.QUEUE)
    if unlike is not None:
        command = plan_records.prompts_command(unlike, planned.typed)
        yield Note(plan_notes.crossing_note(unlike, command), Weight.KV_TRANSFER)
    yield from weighted(0, _own_formats_notes(planned))
    plans = [row.plan for row in rows]
    shown = [row.plan for row in rows if row.is_shown]
    yield from weighted(Weight.API, api_bill.against_api(decision.plans[0], decision.service))
    yield from plan_notes.decision_notes(decision, plans, shown, is_sure=planned.is_sure)
    yield from weighted(Weight.TIPPING_POINT, tipping_point_notes(planned.verdict))
    yield from regret_notes(planned.verdict)
    yield from odds_notes(planned.verdict)
    yield from weighted(Weight.WARNING, unlimited_ttft(planned))
    yield from single_chip_notes(decision, planned.verdict.grids)
    yield from weighted(0, plan_records.service_notes(planned.service))
    warnings = decision.plans[0].replica.warnings
    for warning in each_warning(plan.replica for plan in plans):
        yield Note(warning, Weight.WARNING if warning in warnings else 0)


def unlimited_ttft(planned: PlannedFleet) -> Iterator[str]:
    """Yield the TTFT for random arrivals, if there is no TTFT limit."""
    service, share = planned.fleet.service, planned.fleet.service.claimed_share
    if service.ttft == inf and share is not None:
        seconds = max(pool.plan.values["ttft"] for _, pool in planned.pools)
        time = f"{number(seconds)} s" if seconds >= 1.0 else f"{number(seconds * 1e3)} ms"
        yield f"no TTFT limit is set ({option('ttft')}): p{share * 100:g} TTFT is {time}"


def _own_formats_notes(planned: PlannedFleet) -> Iterator[str]:
    for plan in in_own_formats(planned):
        weights, cache = own_formats(plan.scenario.model)
        cost = plan_notes.times_the_cost(planned.decision, plan, is_sure=planned.is_sure)
        bill = plan_notes.chips_and_price(plan, planned.service)
        yield f"in the model's own formats ({weights}, cache {cache}), {cost}: {bill}"


def _notes_of_fleet(planned: PlannedFleet, rows: Sequence[PlanRow]) -> Iterator[Note]:
    """Yield notes on a fleet: an API, more chips and all owned chips, then each allocation."""
    rented = [row.plan for row in rows if not row.is_owned]
    yield from weighted(1, _against_api(planned))
    yield from weighted(1, next_nodes(planned.fleet, planned.grown))
    yield from weighted(1, owning_each(planned.fleet, planned.service))
    yield from weighted(1, unlimited_ttft(planned))
    for allocation in planned.fleet.allocations:
        yield from weighted(1, _notes_of_allocation(allocation))
    if chance := chance_of_limits(planned.verdict).removeprefix("; "):
        yield Note(f"rented chips: {chance}", 1)
    for note in (*odds_notes(planned.verdict), *regret_notes(planned.verdict)):
        yield replace(note, text=f"rented chips: {note.written}", weight=min(note.weight, 1))
    for text in tipping_point_notes(planned.verdict):
        yield Note(f"rented chips: {text}", 2)  # the user asked for it
    yield from weighted(1, plan_notes.other_prices_of_plans(rented))
    yield from weighted(0, plan_records.service_notes(planned.fleet.service))
    for _, pool in planned.pools:
        for note in plan_notes.decision_notes(pool.decision, [pool.plan], [pool.plan]):
            if not note.is_hint:
                yield replace(note, weight=0)
    yield from weighted(0, each_warning(row.plan.replica for row in rows))


def _notes_of_mix(planned: PlannedFleet) -> Iterator[Note]:
    """Yield notes on a mix: missed limits, costs, other groupings, pools without percentiles."""
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
    """Yield what the API charges for this load. The cost includes owned chips, used or idle."""
    fleet = planned.fleet
    if fleet.service.tariff.api is None:
        return
    rented = (allocation for allocation in fleet.allocations if not allocation.is_owned)
    capacity = planned.owned_capacity + sum(allocation.most_requests for allocation in rented)
    yield from api_bill.api_notes(fleet.service, fleet.requests, capacity, fleet.usd_per_month)


def _busy(planned: PlannedFleet) -> Iterator[str]:
    """Yield the pools without percentiles, and the reason."""
    for index, (_, pool) in enumerate(planned.pools, 1):
        service = pool.decision.service
        load = random_load(pool.plan, service) if service.is_random else None
        if load and not load.is_known:
            yield in_words(load, f"pool {index}")


def _more_in_fewer_bits(allocation: Allocation) -> Iterator[str]:
    """Yield the throughput of owned chips with quantized weights, if published formats lead."""
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
    """Yield which owned chips stay idle, and how the others serve the load."""
    chosen, owned = allocation.plan, allocation.owned
    if chosen is None:
        have = "has" if allocation.owned and allocation.chips == 1 else "have"
        yield f"{chips_of(allocation)} {have} no throughput: {refusal_of(allocation)}"
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
