"""Plans of scored deployments, with the estimates of the search."""

from collections import Counter
from dataclasses import replace
from math import inf

import numpy as np

from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.pools import PrefillPool, transfer_seconds
from fastcalc.features.plan.scored import Scored
from fastcalc.features.plan.service import NEAR, Service
from fastcalc.formulas.types import Bools, Floats


def summary_of(scored: Scored) -> Decision:
    """Deployments of a grid as a decision: the best, the near misses, and why the others lose."""
    service, misses = scored.service, scored.misses
    table = np.stack([misses[name] for name in service.limits])
    is_missed = table > 1.0
    missed, largest_miss = is_missed.sum(axis=0), np.max(table, axis=0)
    reasons = Counter(unfit=scored.unfit, several=int((missed > 1).sum()))
    near = scored.first_of((missed > 0) & (largest_miss < NEAR))
    cheapest, closest = scored.best, _argmin(largest_miss, missed > 0)
    plan = None if cheapest is None else plan_of(scored, cheapest)
    chip = scored.grid.scenario.hardware.id
    relaxed = {}
    for name, wrong in zip(service.limits, is_missed, strict=True):
        reasons[name] = int((wrong & (missed == 1)).sum())
        index = _argmin(scored.values[name], (missed == 1) & wrong)
        if index is not None:
            relaxed[name] = float(scored.values[name][index])
    reasons["beaten"] = int((missed == 0).sum())
    return Decision(
        service,
        candidates=scored.unfit + len(scored.cost),
        reasons=reasons,
        best_by_variant={} if plan is None else {plan.variant: plan},
        options={} if plan is None else {plan.variant: [scored]},
        near=None if near is None else plan_of(scored, near),
        closest={} if closest is None else {chip: plan_of(scored, closest)},
        relaxed=relaxed,
    )


def _argmin(values: Floats, among: Bools) -> int | None:
    candidates = np.where(among, values, inf)
    index = int(np.argmin(candidates)) if candidates.size else 0
    return index if candidates.size and candidates[index] < inf else None


def plan_of(scored: Scored, index: int) -> Plan:
    """A deployment of a grid as a plan, with the estimates of the search."""
    service, grid, row = scored.service, scored.grid, int(scored.layout[index])
    batch, pool, busy = float(scored.batch[index]), scored.pool(index), float(scored.busy[index])
    base = grid.scenario
    replicas, prompt_replicas, requests = (float(values[index]) for values in scored.counts)
    prompt_busy = 0.0
    if pool is not None:
        taken_in = (service.rate or requests) * pool.taking / prompt_replicas
        prompt_busy = min(taken_in, pool.busiest)
    # Without a rate, nothing else tells how idle a replica is, and its tokens must pay for that.
    paid = busy if service.rate is None and not service.is_fleet else 1.0
    scenario = replace(
        base,
        batches=(int(batch),),
        traffic=service.traffic(base.traffic),
        sharding=Sharding.of(grid.layouts[row]),
        pricing=replace(base.pricing, utilization=paid),
    )
    plan = Plan(
        scenario=scenario,
        layout=grid.layouts[row],
        batch=batch,
        replicas=replicas,
        busy=busy,
        prefill_layout=pool.layout if pool else None,
        prefill_replicas=prompt_replicas,
        prefill_busy=prompt_busy,
        values={name: float(scored.values[name][index]) for name in service.limits},
        misses={name: float(scored.misses[name][index]) for name in service.limits},
        requests=requests,
        cost=float(scored.cost[index]),
        last_resort=float(scored.last_resort[index]),
        class_ttft=tuple(scored.class_ttft[:, index].tolist()),
        slowness=float(scored.replica.slowness[index % len(scored.replica.batch)]),
        node_chips=scored.packing.node_chips,
    )
    if pool is None or pool.scenario is None:
        return plan
    return _with_prompts_on(
        pool, pool.scenario, plan, service, transfer_seconds(grid, service.prompt)[row]
    )


def _with_prompts_on(
    pool: PrefillPool, scenario: Scenario, plan: Plan, service: Service, seconds: float
) -> Plan:
    """Plan with heterogeneous prefill, including the KV-cache transfer time."""
    traffic, ranks = service.traffic(scenario.traffic), Sharding.of(pool.layout)
    return replace(
        plan,
        prefill_scenario=replace(scenario, traffic=traffic, sharding=ranks),
        prefill_chips=pool.chips,
        kv_transfer_s=max(pool.kv_transfer_s, float(seconds)),
    )
