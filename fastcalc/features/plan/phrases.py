"""Phrases about plans that headlines, tables, notes and scripts share."""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from fastcalc.core.ratios import Ranged, cost_range, independent_ratio, is_level
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.ranked_plan import RankedPlan, low_confidence, undetermined
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import ReplicaPool
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.kit.answer.parts import Note
from fastcalc.kit.answer.record_tables import marked
from fastcalc.written import many

AMOUNTS = {"usd": "cost", "watts": "power", "chips": "chips"}
_MAYBE = {
    "usd": "may be cheaper",
    "watts": "may need less power",
    "chips": "may need fewer chips",
}


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
    OWNED = 13
    API = 14
    TIPPING_POINT = 15
    KV_TRANSFER = 16
    ODDS = 17
    SINGLE_CHIPS = 18
    SHARING = 19
    OVER_LIMITS = 20


def weighted(weight: int, texts: Iterable[str]) -> Iterator[Note]:
    """Yield texts as notes of one weight."""
    return (Note(text, weight) for text in texts)


def times_the_cost(decision: Decision, plan: Plan, *, is_sure: bool = False) -> str:
    """Describe the cost of a plan by its objective, relative to the best plan.

    For a fleet, which maximizes throughput, it is the throughput instead.
    """
    amount = AMOUNTS[decision.service.objective]
    times = f"{number(plan.cost / decision.plans[0].cost)} times the {amount}"
    if decision.service.is_fleet:
        times = f"sustains {number(plan.requests)} requests/s"
    return times + f" ({_may_win(decision)})" * _is_level_with_best(decision, plan, is_sure=is_sure)


def level_runner_up(decision: Decision, *, is_sure: bool = False) -> str:
    """Name the runner-up if the 80% ranges of speed do not decide which plan is best."""
    second = decision.runner_up
    if second is None or not _is_level_with_best(decision, second, is_sure=is_sure):
        return ""
    is_fleet, chip = decision.service.is_fleet, second.scenario.hardware.id
    count = f"{second.values['chips']:,.0f} " * is_fleet
    of = "throughput" if is_fleet else AMOUNTS[decision.service.objective]
    is_priced = decision.service.objective == "usd" and not is_fleet
    price = f" ({_price(second, decision.service)})" * is_priced
    first, name = (plan.scenario.work.short_format for plan in (decision.plans[0], second))
    bits = f" in {name}" * (name != first)
    return f"; {count}{chip}{bits}{price} {_may_win(decision)} (80% ranges of {of} overlap)"


def _price(plan: Plan, service: Service) -> str:
    """Format the price by which plans are ranked: per month, or per token if there is no rate."""
    is_dubious = bool(low_confidence(plan, service))
    if service.rate is None:
        return f"${marked(dollars(plan.cost), is_unsure=is_dubious)}/Mtok"
    return f"${marked(dollars(plan.usd_per_month or plan.cost), is_unsure=is_dubious)} per month"


def _may_win(decision: Decision) -> str:
    """Return the verb phrase for a plan that may be better than the best one."""
    return "may sustain more" if decision.service.is_fleet else _MAYBE[decision.service.objective]


def _is_level_with_best(decision: Decision, plan: Plan, *, is_sure: bool) -> bool:
    """Check whether the ranges of speed leave open which of a plan and the best one costs less.

    is_sure : Whether the best plan meets its limits at the slow end as well, without more chips.
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


def cut(layout: Any) -> str:
    """Format a layout without spaces."""
    return str(layout).replace(" ", "") or "1 chip"


def chips_and_price(plan: Plan, service: Service, chip: str | None = None) -> str:
    """Describe the chips and price of a plan.

    chip : What to count, such as a chip type, instead of "chips".
    """
    is_unsure = "chips_total" in undetermined(plan, service)
    count, _, chips = many(plan.values["chips"], "chip").partition(" ")
    chips = f"{marked(count, is_unsure=is_unsure)} {chip or chips}"
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


def bill_of(pools: Sequence[ReplicaPool], chip: str | None = None) -> str:
    """Describe the chips and price of the pools.

    chip : What to count, such as a chip type, instead of "chips".
    """
    if len(pools) == 1 and len(pools[0].classes) == 1:
        return chips_and_price(pools[0].plan, pools[0].decision.service, chip)
    count = sum(pool.chips for pool in pools)
    chips = f"{count:,.0f} {chip}" if chip else many(count, "chip")
    usd = sum_if_known(pool.plan.usd_per_month for pool in pools)
    return chips if usd is None else f"{chips}, ${dollars(usd)} per month"
