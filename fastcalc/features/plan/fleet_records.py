"""Records of a fleet: its plans, assumptions and details."""

from functools import partial
from math import inf

from fastcalc.features.plan import records as plan_records
from fastcalc.features.plan.allocation import Allocation
from fastcalc.features.plan.class_table import class_record
from fastcalc.features.plan.planned_fleet import PlannedFleet
from fastcalc.features.plan.ranked_plan import SECONDS_PER_MONTH
from fastcalc.features.plan.sharing import ReplicaPool
from fastcalc.features.plan.verdict import Verdict
from fastcalc.kit.answer.point_records import Record, plain


def unrounded(planned: PlannedFleet, count: int) -> list[Record]:
    """Build the unrounded records of each pool's first plans. The very first is the chosen plan."""
    rows: list[Record] = []
    for allocation, pool in planned.pools:
        owned = allocation.chips if allocation.is_owned else None
        names = tuple(kind.name for kind in pool.classes if kind.name)
        for row in plan_records.unrounded(
            pool.decision.plans[:count], pool.decision.service, planned.typed, owned, names
        ):
            if not planned.is_of_one_class:
                row["rank"] = len(rows) + 1
            if (nearest := _nearest_limit(pool)) is not None:
                row["service_ttft_ms"] = nearest * 1e3
            if allocation.is_owned and row["api_break_even_tokens_per_month"]:
                _charge_all_owned(planned, row, allocation, pool)
            rows.append(row)
    return rows


def _charge_all_owned(
    planned: PlannedFleet, row: Record, allocation: Allocation, pool: ReplicaPool
) -> None:
    """Set the rate at which an API costs as much as all owned chips of a type, used or idle."""
    used = row["chips_total"] if planned.is_of_one_class else allocation.used("chips")
    row["api_break_even_tokens_per_month"] *= allocation.chips / used
    if len(planned.fleet.owned) == 1:
        service = pool.decision.service
        share = sum(kind.share for kind in pool.classes)
        tokens = (service.prompt + service.output) * SECONDS_PER_MONTH
        rate = row["api_break_even_tokens_per_month"] / tokens
        row["api_break_even_utilization"] = rate / (share * planned.owned_capacity)


def assumptions(planned: PlannedFleet) -> Record:
    """Report the traffic, prices, engines and the definition of the latencies."""
    decision = planned.decision if planned.is_of_one_class else planned.pools[0][1].decision
    shared = plan_records.assumptions(decision)
    if planned.is_of_fleet or not planned.is_of_one_class:
        shared["requests_per_s"] = plain(planned.fleet.requests)
    if not planned.is_of_one_class:
        lengths = ("prompt_tokens", "output_tokens", "context_tokens", "prefix_hit")
        shared = {key: value for key, value in shared.items() if key not in lengths}
    return shared | ({"traffic": str(planned.request.traffic)} if planned.request.traffic else {})


def details(planned: PlannedFleet) -> Record:
    """Report why others lost, what would help, class latencies and allocations."""
    of_plans: Record = {}
    if planned.is_of_one_class and not planned.is_of_fleet:
        of_plans = plan_records.details(planned.verdict, planned.typed)
    return {
        **of_plans,
        "classes": [class_record(served) for served in planned.served],
        "sharing": plan_records.sharings(planned.fleet.allocations[-1].sharing),
        "requests_per_s": plain(planned.fleet.requests),
        "rate": plain(planned.fleet.service.rate),
        "requests_per_s_with_next_node": {
            chip: plain(sustained) for chip, sustained in planned.grown.items()
        },
        "shares": [*map(partial(_share, planned), planned.fleet.allocations)],
    }


def _share(planned: PlannedFleet, allocation: Allocation) -> Record:
    """Build the record of an allocation, with its decision unless that is listed elsewhere."""
    of_plans = {}
    if planned.is_of_one_class and planned.is_of_fleet:
        is_last = allocation is planned.fleet.allocations[-1]
        verdict = planned.verdict if is_last else Verdict(allocation.decision)
        of_plans = {
            "assumptions": plan_records.assumptions(allocation.decision),
            **plan_records.details(verdict, planned.typed),
        }
    return {
        "owned_chips": allocation.chips if allocation.is_owned else None,
        "requests_per_s": plain(allocation.requests),
        "chips_left": plain(allocation.chips_left),
        **of_plans,
        "sharing": plan_records.sharings(allocation.sharing),
    }


def _nearest_limit(pool: ReplicaPool) -> float | None:
    """Return the TTFT of the class nearest to its limit, if any class has one. [s]"""
    times = zip(pool.plan.class_ttft, pool.classes, strict=False)
    limited = [(ttft / kind.ttft, ttft) for ttft, kind in times if kind.ttft < inf]
    return max(limited)[1] if limited else None
