"""Batches between the few that are tried first, where one may cost less or be faster."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastcalc.core.overflow import batch_without_host
from fastcalc.formulas.types import Bools, Floats, Ints
from fastcalc.search.plan.pools import Pool
from fastcalc.search.plan.score import Scored
from fastcalc.search.plan.service import Service
from fastcalc.search.sweep.grid import Grid

_AT_ONCE = 32  # gaps tried together; what they find may rule out the others
_TRIED = 24  # batches of a gap; what is still between two of them is another gap
_AS_MUCH = 1e-9  # of a cost, by which another is no better


@dataclass(frozen=True, eq=False)
class Gaps:
    """Where a grid may hold better deployments than those tried.

    least : what a deployment in each gap costs at least
    layout, low, high : positions of the gaps' layouts in the grid's, batches on both sides [1]
    """

    grid: Grid
    pools: Sequence[Pool]
    least: Floats
    layout: Ints
    low: Floats
    high: Floats
    is_apart: Bools

    def below(self, inside: float, apart: float) -> "Gaps":
        """Return the gaps that may beat the best, by its cost with prompts inside and apart."""
        cost = np.where(self.is_apart, apart, inside)
        return self._of(np.nonzero((self.least <= cost) & (self.least < np.inf))[0])

    def split(self) -> tuple["Gaps", "Gaps"]:
        """Return the most promising gaps, and the others."""
        order = np.argsort(self.least, kind="stable")
        return self._of(order[:_AT_ONCE]), self._of(order[_AT_ONCE:])

    def between(self) -> Grid:
        """Return the grid of the batches in the gaps, a row for each, with those on both sides."""
        layouts = tuple(self.grid.layouts[place] for place in self.layout)
        batches = np.round(np.linspace(self.low, self.high, _TRIED + 1, axis=-1))
        return self.grid.part(layouts=layouts, batches=batches)

    def _of(self, places: Ints) -> "Gaps":
        arrays = ("least", "layout", "low", "high", "is_apart")
        return replace(self, **{name: getattr(self, name)[places] for name in arrays})

    def __len__(self) -> int:
        return len(self.least)


def with_largest(grid: Grid) -> Grid:
    """Return a grid with a row of batches for each layout, the largest that it holds among them.

    With a host also the largest that fits without it.
    """
    kinds = grid.requests[:]
    traffic = replace(grid.scenario.traffic, prompt=kinds.prompt, output=kinds.output)
    site = replace(grid.site, reserved_tokens=traffic.reserved_each)
    placed = site.place_all(grid.layouts, axes=1)
    limit = np.floor(site.machine.software.max_sequences * placed.layout.dp)
    most = np.maximum(np.minimum(placed.max_batch, limit), 1.0)
    near = np.clip(batch_without_host(placed), 1.0, most)
    rows = np.broadcast_to(grid.batches, (len(grid.layouts), grid.shape[-1]))
    return grid.part(batches=np.sort(np.concatenate([rows, near, most], axis=1)))


def gaps_of(scored: Sequence[Scored], service: Service) -> Gaps:
    """Return the gaps of one grid in which something better than what was tried may be.

    Cost falls with the batch and both times grow: the best batch of a layout is the largest that
    meets them, and the smallest that makes do with as many replicas. But one replica that must
    stay idle for random arrivals is best at some batch, on either side of the best that was tried.
    """
    grid = scored[0].grid
    has_cost = service.rate is None and service.objective != "chips"  # of its own at each batch
    is_idle = has_cost and service.share is not None
    found: list[tuple[Floats, Ints, Floats, Floats, Bools]] = []
    for one in scored:
        in_time = (one.values["ttft"] <= service.ttft) & (one.values["tpot"] <= service.tpot)
        (places,) = np.nonzero(in_time)
        rank = one.cost if is_idle else -one.batch
        order = places[np.lexsort((rank[places], one.layout[places]))]
        rows, first = np.unique(one.layout[order], return_index=True)
        best, apart = order[first], np.full(len(first), one.pool is not None)
        here, above = one.batch[best], one.batch[one.next(best)]
        if is_idle:
            below = one.batch[one.next(best, -1)]
            least = one.cost[best] * np.minimum(below, here**2 / above) / here
            found += [(least, rows, below, here, apart), (least, rows, here, above, apart)]
            continue
        found.append((_least(one, service, best), rows, here, above, apart))
        # Below the batch of the best, fewer sequences may do for the same.
        place = one.best(service)
        if place is not None and service.rate is not None:
            at = np.array([place])
            sides = one.batch[one.next(at, -1)], one.batch[at]
            found.append((one.cost[at], one.layout[at], *sides, np.array([one.pool is not None])))
    pools = [one.pool for one in scored if one.pool is not None]
    gaps = Gaps(grid, pools, *(np.concatenate(parts) for parts in zip(*found, strict=True)))
    return gaps._of(np.nonzero(gaps.high - gaps.low > 1.0)[0])


def _least(one: Scored, service: Service, places: Ints) -> Floats:
    """Return what deployments cost at least whose batches are between these and the next.

    A run does not get shorter as the batch grows, so the time for a request is no less than in
    proportion to the batches; and where it falls from here to the next, it is no less than there.
    """
    after = one.next(places)
    whole = one.cost if service.rate is None else one.seconds
    share, falls = one.batch[places] / one.batch[after], whole[after] / whole[places]
    share = np.where(falls <= 1.0 + _AS_MUCH, np.maximum(share, falls), share)
    cost, chips = one.cost[places], one.values["chips"][places]
    if service.rate is not None:
        before = one.replicas[places]
        replicas = np.ceil(one.busy[places] * before * share / service.utilization - 1e-6)
        apart = one.pool.chips if one.pool is not None else 0.0
        fewer = apart + (chips - apart) / before * np.maximum(replicas, 1.0)
        share, chips = fewer / chips, fewer
    # Just above, for as much is no gain.
    return np.where(chips <= service.max_chips, cost * share * (1.0 + _AS_MUCH), np.inf)
