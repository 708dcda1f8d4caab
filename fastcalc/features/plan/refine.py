"""Try batch sizes between those tried first, where one may cost less or be faster."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from fastcalc.core.overflow import batch_without_host
from fastcalc.features.plan.packing import chips_within
from fastcalc.features.plan.pools import KEPT, PrefillPool
from fastcalc.features.plan.scored import Scored
from fastcalc.formulas.types import ArrayLike, Bools, Floats, Ints
from fastcalc.grid.grid import Grid

_AT_ONCE = 32  # gaps tried together; what they contain may rule out others
_TRIED = 24  # batches per gap; what is still between two of them is another gap
_AS_MUCH = 1e-9  # of a cost, by which another is no better


@dataclass(frozen=True, eq=False)
class Gaps:
    """The gaps between tried batches of a grid that may contain better deployments.

    pools : The prefill pools that are tried with the batches, None for colocated prefill.
    bound : The lower bound on the cost, or another value, of the deployments in each gap.
    layout, low, high : The index of each gap's layout in the grid, and the batches on either side.
    is_disaggregated : Whether a gap is for disaggregated prefill.
    """

    grid: Grid
    pools: Sequence[PrefillPool | None]
    bound: Floats
    layout: Ints
    low: Floats
    high: Floats
    is_disaggregated: Bools

    def below(self, limit: ArrayLike) -> "Gaps":
        """Return the gaps that contain batches and whose bound is at most a limit, or their own."""
        is_open = (self.high - self.low > 1.0) & (self.bound < np.inf)
        return self._at(is_open & (self.bound <= limit))

    def split(self) -> tuple["Gaps", "Gaps"]:
        """Split off the most promising gaps."""
        order = np.argsort(self.bound, kind="stable")
        return self._at(order[:_AT_ONCE]), self._at(order[_AT_ONCE:])

    def between(self) -> Grid:
        """Build the grid of the batches in the gaps and on either side, one row per gap."""
        batches = np.round(np.linspace(self.low, self.high, _TRIED + 1, axis=-1))
        layouts = tuple(self.grid.layouts[index] for index in self.layout)
        return self.grid.part(layouts=layouts, batches=batches)

    def _at(self, among: Ints | Bools) -> "Gaps":
        arrays = ("bound", "layout", "low", "high", "is_disaggregated")
        return replace(self, **{name: getattr(self, name)[among] for name in arrays})

    def __len__(self) -> int:
        return len(self.bound)


@lru_cache(maxsize=KEPT)
def with_own_batches(grid: Grid) -> Grid:
    """Extend each layout's row with the largest batch, and the first whose prompts join decode.

    Prefill alone may have a higher latency floor, so TTFT may fall there. With host memory, the
    largest batch that fits without it is added as well.
    """
    traffic = grid.requests[:].traffic(grid.scenario.traffic)
    each = traffic.reserved_each.ravel()
    site = replace(grid.site, reserved_tokens=each if each.size > 1 else float(each[0]))
    placements = site.place_all(grid.layouts, axes=1)
    lanes = np.minimum(placements.layout.pp, site.machine.software.micro_batches)
    own = [np.full(1, np.inf), placements.layout.dp * lanes + 1.0]
    if np.any(np.isfinite(near := batch_without_host(placements))):
        own.append(near)
    largest = np.maximum(placements.max_batch, 1.0)
    added = [np.clip(batches, 1.0, largest) for batches in own]
    rows = np.broadcast_to(grid.batches, (len(grid.layouts), grid.shape[-1]))
    return grid.part(batches=np.sort(np.concatenate([rows, *added], axis=1)))


def gaps_of(scored: Sequence[Scored]) -> Gaps:
    """Find the gaps of a grid that may contain better deployments than those tried.

    As the batch grows, cost falls and both latencies rise. So the best batch of a layout is the
    largest that meets the limits, and the smallest that needs no more replicas. With headroom for
    random arrivals, the best batch may be on either side of the best one tried.
    """
    grid, service = scored[0].grid, scored[0].service
    is_own = service.is_fleet or service.objective != "chips"
    has_cost = service.rate is None and is_own  # a cost of its own at each batch
    is_idle = service.share is not None and (has_cost or service.rate is not None)
    gaps_found: list[tuple[Floats, Ints, Floats, Floats, Bools]] = []
    for group in scored:
        priority = -group.batch
        if is_idle:
            priority = group.cost if service.rate is None else -group.throughput
        indices = group.best_of_rows(priority)
        is_disaggregated, rows = np.full(len(indices), bool(group.pools)), group.layout[indices]
        batch = group.batch[indices]
        below, above = group.tried_around(indices)
        if is_idle:
            share = np.minimum(below, batch**2 / above) / batch
            cost = _lowest_costs_at_random(group, indices, share)
            gaps_found += [
                (cost, rows, below, batch, is_disaggregated),
                (cost, rows, batch, above, is_disaggregated),
            ]
        else:
            gaps_found.append((_lowest_costs(group, indices), rows, batch, above, is_disaggregated))
        # A batch below the best may serve the same load with fewer sequences.
        if service.rate is not None:
            at = group.first_of_pools(group.cheapest)
            below, _ = group.tried_around(at)
            is_disaggregated = np.full(len(at), bool(group.pools))
            gaps_found.append(
                (group.cost[at], group.layout[at], below, group.batch[at], is_disaggregated)
            )
    pools = [pool for group in scored for pool in group.every_pool]
    return Gaps(grid, pools, *(np.concatenate(parts) for parts in zip(*gaps_found, strict=True)))


def _lowest_costs(group: Scored, indices: Ints) -> Floats:
    """Return a lower bound on the cost of deployments with batches between these and the next.

    A larger batch never takes less time in total, so the time per request falls at most in inverse
    proportion to the batch. If it falls from here to the next batch, it is no less than there.
    """
    after = group.next(indices)
    service = group.service
    amounts = group.cost if service.rate is None else group.seconds
    share, falls = (group.batch[indices] / group.batch[after], amounts[after] / amounts[indices])
    share = np.where(falls <= 1.0 + _AS_MUCH, np.maximum(share, falls), share)
    if service.rate is not None:
        needed = group.busy[indices] * group.replicas[indices] * share / service.utilization
        return _costs_of(group, indices, needed)
    # Slightly higher, because the same cost is no gain.
    cost = group.cost[indices] * share * (1.0 + _AS_MUCH)
    return np.where(_is_allowed(group, indices), cost, np.inf)


def _lowest_costs_at_random(group: Scored, indices: Ints, share: Floats) -> Floats:
    """Return a lower bound on the cost around a batch, with headroom for random arrivals.

    share : The lowest possible time per request there, relative to that at the batch.
    """
    if (rate := group.service.rate) is not None:
        return _costs_of(group, indices, rate / group.throughput[indices] * share)
    return np.where(_is_allowed(group, indices), group.cost[indices] * share, np.inf)


def _is_allowed(group: Scored, indices: Ints) -> Bools:
    """Return a mask of the deployments within the limit on chips."""
    return np.asarray(
        group.values["chips"][indices] <= chips_within(group.service, group.grid.scenario)
    )


def _costs_of(group: Scored, indices: Ints, needed: Floats) -> Floats:
    """Return the cost for other replica counts, slightly raised because the same cost is no gain.

    needed : The number of replicas, not rounded up.
    """
    replicas = np.maximum(np.ceil(needed - 1e-6), 1.0)
    fewer = group.packing.at(indices).chips(replicas, group.counts.prompt_replicas[indices])
    # With two types of chips, a budget does not determine a number.
    is_unlike = bool(np.any(group.packing.other_chips))
    service = group.service
    limit = service.max_chips if is_unlike else chips_within(service, group.grid.scenario)
    share, more = fewer / group.values["chips"][indices], group.more[indices]
    cost = (group.cost[indices] - more) * share + more
    return np.where(fewer <= limit, cost * (1.0 + _AS_MUCH), np.inf)
