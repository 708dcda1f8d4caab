"""Score every layout and batch of a deployment: resources used, and limits missed."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import inf
from typing import Any

import numpy as np

from fastcalc.core.estimate import OF_TRAFFIC, site_power
from fastcalc.core.overflow import overflows
from fastcalc.core.placement.layout import Layouts
from fastcalc.core.scenario import Scenario
from fastcalc.core.stacked import Count
from fastcalc.features.plan.first_tokens import ClassFirstTokens, class_first_tokens, class_times
from fastcalc.features.plan.packing import (
    Packing,
    ReplicaCounts,
    bills,
    chips_within,
    counts_within,
)
from fastcalc.features.plan.pools import (
    KEPT,
    PrefillColumns,
    PrefillPool,
    added,
    pools_of,
    transfer_seconds,
)
from fastcalc.features.plan.queues import Asked, Queues, Sizing, needed, needed_of_all, slots_of
from fastcalc.features.plan.scored import Replica, Scored
from fastcalc.features.plan.service import Objective, Service
from fastcalc.formulas.money import usd_per_million
from fastcalc.formulas.types import ArrayLike, Floats
from fastcalc.grid.evaluated_points import EvaluatedPoints
from fastcalc.grid.grid import Grid, solved_all

AnyPools = Sequence[PrefillPool | None] | None
"""Prefill pools of a grid. None if they must be searched."""

STACK = 24
"""Number of grids evaluated together. Larger arrays no longer fit the caches of a core."""

_kept = OrderedDict[Grid, EvaluatedPoints]()
_ROUNDING = 1e-12  # of a limit: replicas at exactly the maximum utilization meet it


def _prepare(grids: Iterable[Grid], service: Service) -> None:
    """Evaluate the grids to score next as one stack, except those already cached."""
    new = [grid for grid in grids if grid not in _kept]
    together: list[Count] = [*OF_TRAFFIC, *class_times(len(service.classes))]
    for grid, points in zip(new, solved_all(new, together), strict=True):
        _kept[grid] = points
    while len(_kept) > max(KEPT, len(new)):
        _kept.popitem(last=False)


def score(
    grid: Grid, service: Service, prompt_pools: Sequence[PrefillPool | None] | None = None
) -> list[Scored]:
    """Score the deployments of a grid for one request class, with each type of prefill.

    Prefill pools are searched among the grid's layouts unless given. None means colocated prefill.
    """
    (scored,) = _score_all([(grid, service, prompt_pools)])
    return scored


AskedGrid = tuple[Grid, Service, AnyPools]
"""A grid, its service, and its prefill pools."""


def score_in_stacks(grids: Sequence[AskedGrid]) -> Iterator[list[Scored]]:
    """Yield the deployments of many grids for the same requests, scoring some together."""
    for start in range(0, len(grids), STACK):
        yield from _score_all(grids[start : start + STACK])


def _score_all(grids: Sequence[AskedGrid]) -> list[list[Scored]]:
    _prepare(dict.fromkeys(grid for grid, *_ in grids), grids[0][1])
    by_grid = [list(_all_unsized(*each)) for each in grids]
    sizings = iter(needed_of_all([unsized.asked for unsized in chain(*by_grid)]))
    return [[_sized(unsized, next(sizings)) for unsized in part] for part in by_grid]


def resized(scored: Scored, index: int, service: Service) -> Scored:
    """Size one deployment with colocated prefill for another service at the same speed."""
    only = scored.replica.only(index), scored.mixed.only(index)
    unsized = _unsized(scored.grid, service, *only)
    return _sized(unsized, needed(*unsized.asked))


def _all_unsized(grid: Grid, service: Service, prompt_pools: AnyPools) -> "Iterator[_Unsized]":
    """Yield the demand of a service on the replicas of a grid, by type of prefill."""
    if grid not in _kept:
        _prepare([grid], service)
    _kept.move_to_end(grid)
    points = _kept[grid]
    points = replace(points, estimate=points.estimate.slowed(service.deviations))
    is_new = np.diff(np.broadcast_to(grid.batches, grid.shape[1:]), prepend=0.0) > 0.0
    is_held = np.broadcast_to(grid.batches <= points.placement.max_batch, grid.shape)[0]
    # A server queues requests rather than slowing down by using host memory.
    is_over = np.broadcast_to(overflows(points.estimate), grid.shape)[0]
    fits = is_new & np.asarray(is_held & ~is_over)
    replica = Replica.of(points, fits)
    if service.share is not None:
        replica = replica.at_random(service.output)
    if prompt_pools is None:  # disaggregated prefill needs at least two chips
        has_two = chips_within(service, grid.scenario) >= 2.0
        prompt_pools = [None, *(pools_of(grid, service, points) if has_two else ())]
    arrivals = replica.batch / replica.run
    mixed = class_first_tokens(points, service.classes, fits=fits, arrivals=arrivals, dp=replica.dp)
    if None in prompt_pools:
        unfit = int(is_new.sum() - fits.sum())
        yield _unsized(grid, service, replica, mixed, unfit=unfit)
    if prefill_pools := list(filter(None, prompt_pools)):
        yield _unsized(grid, service, replica, mixed, prefill_pools)


@dataclass(frozen=True, eq=False)
class _Unsized:
    """The demand of a service on the replicas of a grid, before replicas are counted.

    asked : The service; replica time per request, for each replica [s]; TTFT without queueing, for
        pools x replicas [s]; queues if requests arrive at random.
    """

    grid: Grid
    replica: Replica
    mixed: ClassFirstTokens
    prefill_pools: Sequence[PrefillPool]
    pools: PrefillColumns | None
    unfit: int
    asked: Asked


def _sized(unsized: _Unsized, sizing: Sizing) -> Scored:
    """Size the deployments of a grid with the number of replicas that each needs."""
    scenario, replica, pools = unsized.grid.scenario, unsized.replica, unsized.pools
    mixed, (service, seconds, ttft, _) = unsized.mixed, unsized.asked
    replicas, busy, waits, busiest = sizing
    throughput = busiest / seconds
    counts = ReplicaCounts.of(replicas, throughput, pools)
    layouts, node_chips = Layouts.of(unsized.grid.layouts), service.node_chips(scenario.hardware)
    packing = Packing.of(node_chips, layouts, pools).of_layouts(replica.layout)
    if service.is_fleet:
        counts = counts_within(chips_within(service, scenario), packing, throughput, pools)
        busy = np.minimum(counts.requests * seconds / counts.replicas, busiest)
    chips = packing.chips(counts.replicas, counts.prompt_replicas)
    values = {
        "ttft": _held_against_limit(service, mixed, ttft, waits, pools),
        "tpot": replica.tpot_in_traffic if pools is None else replica.tpot,
        "chips": chips,
        **bills(scenario, service, chips, pools),
    }
    added_amounts = added(scenario, pools, UNITS[service.objective])
    cost = counts.cost  # of a fleet
    if not service.is_fleet:
        cost = _cost(unsized.grid, service, replica, chips, seconds / busy)
    flat = partial(_flat, like=ttft)
    return Scored(
        unsized.grid,
        service,
        replica,
        unsized.prefill_pools,
        mixed,
        values={name: flat(column) for name, column in values.items()},
        seconds=flat(seconds),
        throughput=flat(throughput),
        counts=ReplicaCounts(*map(flat, counts)),
        packing=Packing(packing.node_chips, *map(flat, packing[1:])),
        busy=flat(busy),
        cost=flat(cost + added_amounts),
        class_ttft=(mixed.seconds[:, np.newaxis] + waits).reshape(len(mixed.seconds), ttft.size),
        more=flat(added_amounts),
        unfit=unsized.unfit,
    )


def _flat(values: ArrayLike, like: Floats) -> Floats:
    column = np.asarray(values)
    if column.size != like.size:  # broadcasting takes longer than most computations here
        column = np.broadcast_to(column, like.shape)
    return column.reshape(-1)


UNITS: dict[Objective, Callable[[Scenario], float | None]] = {
    "usd": lambda scenario: scenario.quote.usd_per_hour,
    "watts": lambda scenario: site_power(scenario.hardware),
    "chips": lambda _: 1.0,
}
"""The objective per chip."""


def _held_against_limit(
    service: Service,
    mixed: ClassFirstTokens,
    ttft: Floats,
    waits: Floats,
    pools: PrefillColumns | None,
) -> Floats:
    """Return the TTFT to compare with its limit, in seconds."""
    first = mixed.over_limits(service, waits, ttft)
    if service.ttft < inf:
        is_limit = np.abs(first - service.ttft) <= _ROUNDING * service.ttft
        first = np.where(is_limit, service.ttft, first)
    if pools is None:
        return first
    # If late, this is the limit that would suffice, with half of it for each queue.
    enough = ttft - pools.waits + 2.0 * np.maximum(waits, pools.waits)
    return np.where(first > service.ttft, enough, first)


def _unsized(
    grid: Grid,
    service: Service,
    replica: Replica,
    mixed: ClassFirstTokens,
    prefill_pools: Sequence[PrefillPool] = (),
    unfit: int = 0,
) -> _Unsized:
    """Compute the demand on replicas with prefill pools, or with colocated prefill if none."""
    pools = PrefillColumns.of(prefill_pools)
    if pools is None:
        seconds, ttft, queued = _colocated_load(grid, service, replica, mixed)
    else:
        receiving = transfer_seconds(grid, service.prompt)[replica.layout]
        seconds, ttft, queued = _disaggregated_load(service, replica, pools, receiving)
    queues = None
    if service.share is not None:
        slots = slots_of(service.share)
        queues = Queues(service.share, **queued, slots=slots, kind=slots.kinds(replica.batch))
    asked = service, seconds, ttft, queues
    return _Unsized(grid, replica, mixed, prefill_pools, pools, unfit, asked)


_Times = tuple[Floats, Floats, dict[str, Any]]
"""Return the two times that a service needs, and the parameters of the queues."""


def _colocated_load(
    grid: Grid, service: Service, replica: Replica, mixed: ClassFirstTokens
) -> _Times:
    run, alone, batch = replica.run, replica.ttft, replica.batch
    prompts = replica.prompt_seconds(service.output)
    # Attention replicas run in step. If requests come faster than they are prefilled one by one,
    # several prefill in the same step, which is then as long as that of all.
    meets = np.minimum(alone * batch / replica.run, 1.0) * (1.0 - 1.0 / replica.dp)
    ttft = alone + meets * np.maximum(replica.prompts_together - alone, 0.0)
    # A single request waits for no other prompt. Each attention replica, and each micro-batch of a
    # pipeline, prefills its own prompts, and its queue is longer in proportion.
    lanes = np.minimum(replica.pp, grid.site.machine.software.micro_batches) * replica.dp
    before = prompts / batch * (1.0 - 1.0 / batch) * service.prompt_variation * lanes
    first = mixed.latest(service, ttft)[np.newaxis]
    step = np.where(
        batch > 1.0, replica.tpot * grid.scenario.traffic.speculation.tokens_per_pass, 0.0
    )
    queued = {"prompt": before, "prompt_busy": prompts / run, "holds": run, "step": step}
    queued["alone"] = 1.0 - prompts / run * (1.0 - 1.0 / batch)
    return service.output / replica.served, first, queued


def _disaggregated_load(
    service: Service, replica: Replica, pools: PrefillColumns, receiving: Floats
) -> _Times:
    """Compute the load of decode-only replicas. KV caches arrive over separate links."""
    decoding = service.output / replica.total
    seconds = np.maximum(decoding, receiving / replica.dp)
    ttft = pools.seconds + np.maximum(pools.kv_transfer_s, receiving)
    queued = {"prompt": 0.0, "prompt_busy": 0.0, "holds": decoding * replica.batch}
    return seconds, ttft, queued


def has_cost(scenario: Scenario, service: Service) -> bool:
    """Check whether the required price and power of a chip are known."""
    objective = "" if service.is_fleet else service.objective
    needs_power = objective == "watts" or "power" in service.limits
    needs_price = objective == "usd" or "budget" in service.limits
    has_power = scenario.hardware.power is not None
    has_price = scenario.quote.usd_per_hour is not None
    return (has_power or not needs_power) and (has_price or not needs_price)


def _cost(
    grid: Grid, service: Service, replica: Replica, chips: Floats, seconds_busy: Floats
) -> Floats:
    """Return the objective: for all chips or, without a rate, per token of one replica.

    seconds_busy : The replica time per request, including idle time, in seconds.
    """
    per_chip = UNITS[service.objective](grid.scenario)
    assert per_chip is not None
    if service.objective == "chips" or service.rate is not None:
        return np.asarray(per_chip * chips)
    if service.objective == "watts":
        return np.asarray(per_chip * replica.chips * seconds_busy / service.output)
    return usd_per_million(
        usd_per_hour=per_chip * replica.chips / grid.scenario.pricing.utilization,
        seconds=seconds_busy,
        tokens=service.prompt + service.output,
    )
