"""The prefill pools of disaggregated deployments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from fastcalc.core.placement.layout import Layout, Layouts
from fastcalc.core.placement.placement import Placements
from fastcalc.core.scenario import Scenario
from fastcalc.features.plan.queues import Queues, needed
from fastcalc.features.plan.service import NEAR, Service
from fastcalc.formulas.dominance import undominated
from fastcalc.formulas.types import ArrayLike, Floats, Ints, floats
from fastcalc.grid.evaluated_points import EvaluatedPoints
from fastcalc.grid.grid import Grid, solved

KEPT = 256
"""Number of cached grids. A chip's grids are searched again at other speeds and rates."""


@dataclass(frozen=True)
class PrefillPool:
    """Prefill replicas of one layout, each handling one prompt at a time, and their chips.

    busiest : The maximum utilization of each replica.
    taking : The replica time per prompt, in seconds.
    seconds, waits : The time from arrival to the end of prefill, and the queueing delay in it, in
        seconds.
    kv_transfer_s : KV-cache transfer time after prefill, in seconds.
    scenario : The scenario of the replicas, if their chip type differs from the decode chips.
    """

    layout: Layout
    replicas: float
    chips: float
    busiest: float
    taking: float
    seconds: float
    waits: float
    kv_transfer_s: float
    scenario: Scenario | None = field(default=None, kw_only=True)

    @property
    def capacity(self) -> float:
        """The throughput of a replica at its maximum utilization, per second."""
        return self.busiest / self.taking


@dataclass(frozen=True, eq=False)
class PrefillColumns:
    """Pools on one chip type, with each quantity of a `PrefillPool` as a column."""

    layout: Layouts
    replicas: Floats
    chips: Floats
    capacity: Floats
    seconds: Floats
    waits: Floats
    kv_transfer_s: Floats
    scenario: Scenario | None

    @classmethod
    def of(cls, pools: Sequence[PrefillPool]) -> "PrefillColumns | None":
        """Convert pools to columns. Returns None if there are none."""
        if not pools:
            return None
        names = ("replicas", "chips", "capacity", "seconds", "waits", "kv_transfer_s")
        return cls(
            **{name: np.array([[getattr(pool, name)] for pool in pools]) for name in names},
            layout=Layouts.of([pool.layout for pool in pools], axes=1),
            scenario=pools[0].scenario,
        )


def stages_in_nodes(node_chips: int, chips: ArrayLike, stages: ArrayLike) -> tuple[Floats, Floats]:
    """Return the stages per replica, and the chips per stage, at most those of a node."""
    whole = np.where(chips % stages == 0.0, floats(stages), 1.0)  # on a chip that fits several
    width = chips / whole
    nodes = np.ceil(width / node_chips)
    return whole * nodes, np.ceil(width / nodes)


@lru_cache(maxsize=KEPT)
def transfer_seconds(grid: Grid, prompt: float) -> Floats:
    """Return the time to send or receive a prompt's KV cache over each layout's links. [s]"""
    site, beyond = grid.site, grid.scenario.hardware.links.scale_out
    assert beyond is not None
    index = Placements(site.machine, site.work, Layouts.of(grid.layouts), prompt)
    link = beyond.bandwidth.si * site.machine.software.link_fraction
    return np.broadcast_to(index.cache_per_chip / link, (len(grid.layouts),))


def can_disaggregate(grid: Grid, service: Service) -> bool:
    """Check whether prefill can be disaggregated.

    This requires a rate or a fleet, a link, tokens to decode, uniform requests, and batch 1 in the
    grid, which gives the prefill time of one prompt.
    """
    is_whole = grid.site.machine.is_spatial
    has_alone = bool(np.all(grid.batches[..., 0] == 1))
    return can_decode_alone(grid, service) and has_alone and not is_whole


def can_decode_alone(grid: Grid, service: Service) -> bool:
    """Check whether a deployment can receive the KV caches of prompts over its link."""
    has_several = service.rate is not None or service.is_fleet
    scenario, has_rate = grid.scenario, has_several and service.output > 1.0
    has_link = scenario.hardware.links.scale_out is not None
    # Engines with few ways to split a model cannot pass KV caches to another server either.
    engine_sends = not (scenario.engine.is_bound or scenario.engine.split_modes)
    return has_rate and has_link and engine_sends and not service.classes


def pools_of(grid: Grid, service: Service, points: EvaluatedPoints) -> list[PrefillPool]:
    """Return the Pareto-optimal prefill pools for all prompts, by chips and time.

    The prefill time of a single prompt is the TTFT at batch 1. Among pools within the limit, the
    smallest and the fastest are kept. Among pools above the limit, which show how far to relax it,
    the smallest, the first near miss and the fastest are kept. A fleet gets one replica of each
    layout that is not redundant.
    """
    if not can_disaggregate(grid, service):
        return []
    if service.is_fleet:
        return _worth_filling(every_pool(grid, service, points), service.ttft)
    node_chips = service.node_chips(grid.scenario.hardware)

    def worth(layouts: Sequence[Layout], chips: Floats, first: Floats) -> list[int]:
        ranks = Layouts.of(layouts)
        _, widths = stages_in_nodes(node_chips, ranks.chips, ranks.pp)
        if np.all(node_chips % widths == 0):
            widths[:] = 1  # stages of any width fill nodes as well
        return [
            at
            for width in np.unique(widths)
            for at in _worth_sizing(np.flatnonzero(widths == width), chips, first, service.ttft)
        ]

    return every_pool(grid, service, points, worth)


def pools_of_each_layout(grid: Grid, service: Service) -> list[PrefillPool]:
    """Return a prefill pool for each layout of a grid, or nothing if this is not possible."""
    alone = grid.part(batches=np.ones(1))
    if not can_disaggregate(alone, service):
        return []
    points = solved(alone)
    points = replace(points, estimate=points.estimate.slowed(service.deviations))
    return every_pool(alone, service, points)


def every_pool(
    grid: Grid,
    service: Service,
    points: EvaluatedPoints,
    worth: Callable[[Sequence[Layout], Floats, Floats], Sequence[int]] | None = None,
) -> list[PrefillPool]:
    """Build a pool for each layout of a grid that fits a prompt, or for those `worth` selects.

    points : The estimates of the grid, whose first batch is 1.
    worth : Selects layouts by index, from their chips [1] and the times until the cache is sent.
        [s]
    """
    (where,) = np.nonzero(np.broadcast_to(points.estimate.is_certain, grid.shape)[0, :, 0])
    if not where.size:
        return []
    alone = np.broadcast_to(points.estimate.ttft, grid.shape)[0, where, 0]
    layouts = [grid.layouts[index] for index in where]
    sending = transfer_seconds(grid, service.prompt)[where]
    queues = None if service.share is None else Queues(service.share, alone, 1.0)
    # Half of the time left is for this queue, and the other half for the queue for a slot.
    each_takes = np.maximum(alone, sending)
    replicas, _, waits, busiest = needed(service, each_takes, alone + sending, queues, part=0.5)
    chips, seconds = replicas * [float(layout.chips) for layout in layouts], alone + waits
    columns_of = (replicas, chips, busiest, each_takes, seconds, waits, sending)
    chosen = worth(layouts, chips, seconds + sending) if worth else range(len(layouts))
    return [
        PrefillPool(layouts[at], *(float(values[at]) for values in columns_of)) for at in chosen
    ]


def undominated_pools(
    pools: Sequence[PrefillPool], *burdens: Sequence[float] | Floats
) -> list[PrefillPool]:
    """Return the prefill pools on the Pareto front of several costs. Among equals, keep the first.

    burdens : The chips, times and other costs, each with one value per pool.
    """
    columns = np.array(burdens)
    is_no_more = np.all(columns[:, :, np.newaxis] <= columns[:, np.newaxis], axis=0)
    is_equal = is_no_more & is_no_more.T
    is_beaten = np.any(is_no_more & ~np.tril(is_equal), axis=0)
    return [pool for pool, beaten in zip(pools, is_beaten, strict=True) if not beaten]


def _worth_sizing(indices: Ints, chips: Floats, first: Floats, limit: float) -> Ints:
    """Select the pools to try, as described in `pools_of`.

    chips, first : The chips of all replicas [1], and time until the cache is sent. [s]
    """
    front = indices[undominated(gain=-first[indices], cost=chips[indices])]
    front = front[np.argsort(chips[front])]  # and so from the slowest to the fastest
    late, far = (int(np.sum(first[front] > times * limit)) for times in (1.0, NEAR))
    chosen = np.clip([0, far, late - 1, late, len(front)], 0, max(len(front) - 1, 0))
    return np.asarray(front[np.unique(chosen)[: len(front)]])


def _worth_filling(replicas: list[PrefillPool], limit: float) -> list[PrefillPool]:
    """Select the replicas that may suit a fleet best, or the fastest if all exceed the limit.

    A larger layout is skipped if copies of a smaller one do the same on the same chips.
    """
    in_time = [replica for replica in replicas if replica.seconds + replica.kv_transfer_s <= limit]
    if not in_time:
        return sorted(replicas, key=lambda replica: replica.seconds + replica.kv_transfer_s)[:1]
    worth: list[PrefillPool] = []
    for replica in sorted(in_time, key=lambda replica: (replica.chips, -replica.capacity)):
        if not any(_replaces(smaller, replica) for smaller in worth):
            worth.append(replica)
    return worth


def _replaces(smaller: PrefillPool, replica: PrefillPool) -> bool:
    """Check whether copies of a smaller replica on as many chips are as fast as another."""
    copies, left = divmod(replica.chips, smaller.chips)
    return (
        left == 0
        and smaller.layout.width <= replica.layout.width
        and copies * smaller.capacity >= replica.capacity
        and smaller.seconds <= replica.seconds
        and smaller.kv_transfer_s <= replica.kv_transfer_s
    )


def added(
    scenario: Scenario, pools: PrefillColumns | None, per_chip: Callable[[Scenario], float | None]
) -> ArrayLike:
    """Return the additional cost or power of pools on other chips, over as many decode chips.

    per_chip : The dollars or watts per decode chip.
    """
    if pools is None or pools.scenario is None:
        return 0.0
    return pools.chips * ((per_chip(pools.scenario) or 0.0) - (per_chip(scenario) or 0.0))
