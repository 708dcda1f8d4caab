"""Batches between the few that are tried first, where one may cost less or be faster."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastcalc.formulas.types import Bools, Floats, Ints
from fastcalc.search.plan.pools import Pool
from fastcalc.search.plan.score import Scored
from fastcalc.search.plan.service import Service
from fastcalc.search.sweep.grid import Grid

_AT_ONCE = 8
"""Gaps of a grid that are tried together; what they find may rule out the others. [1]"""

_TRIED = 24
"""Batches of a gap; what is still between two of them is another gap. [1]"""

_BEYOND = 1.5
"""How many times the largest batch of a grid is tried next, where that was still in time. [1]"""


@dataclass(frozen=True, eq=False)
class Gaps:
    """Where a grid may hold better deployments than those tried.

    Attributes
    ----------
    grid : Grid
        What was tried.
    pools : sequence of Pool
        What takes in prompts that are apart.
    least : ndarray
        What a deployment in each gap costs at least.
    layout : ndarray
        Positions of the gaps' layouts in the grid's. [1]
    low, high : ndarray
        Batches on both sides of each. [1]
    is_apart : ndarray
        Whether prompts are apart.
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
        """Return the grid of the batches in the gaps, with those on both sides."""
        layouts = tuple(self.grid.layouts[place] for place in dict.fromkeys(self.layout))
        batches = [
            np.round(np.linspace(low, high, min(int(high - low), _TRIED) + 1))
            for low, high in zip(self.low, self.high, strict=True)
        ]
        return self.grid.part(layouts=layouts, batches=np.unique(np.concatenate(batches)))

    def _of(self, places: Ints) -> "Gaps":
        return Gaps(
            self.grid,
            self.pools,
            self.least[places],
            self.layout[places],
            self.low[places],
            self.high[places],
            self.is_apart[places],
        )

    def __len__(self) -> int:
        return len(self.least)


def gaps_of(scored: Sequence[Scored], service: Service) -> Gaps:
    """Return the gaps of one grid in which something better may be.

    Cost falls with the batch and both times grow: the best batch of a layout is the largest that
    meets them, and the smallest that makes do with as many replicas. But one replica that must
    stay idle for random arrivals is best at some batch, on either side of the best that was tried.

    Parameters
    ----------
    scored : sequence of Scored
        All that was tried of one grid.
    service : Service
        What is asked.
    """
    grid = scored[0].grid
    batches = grid.batches
    beyond = np.append(batches[1:], np.ceil(_BEYOND * batches[-1]) + 1.0)
    is_idle = service.rate is None and service.share is not None
    found: list[tuple[Floats, Ints, Floats, Floats, Bools]] = []
    for one in scored:
        in_time = (one.values["ttft"] <= service.ttft) & (one.values["tpot"] <= service.tpot)
        (places,) = np.nonzero(in_time)
        rank = one.cost if is_idle else -batches[one.place]
        order = places[np.lexsort((rank[places], one.layout[places]))]
        layouts, first = np.unique(one.layout[order], return_index=True)
        best, apart = order[first], np.full(len(first), one.pool is not None)
        here, above = batches[one.place[best]], beyond[one.place[best]]
        if is_idle:
            below = batches[np.maximum(one.place[best] - 1, 0)]
            least = one.cost[best] * np.minimum(below, here**2 / above) / here
            found += [(least, layouts, below, here, apart), (least, layouts, here, above, apart)]
            continue
        found.append((_least(one, service, best, here / above), layouts, here, above, apart))
        # Below the batch of the best, fewer sequences may do for the same.
        place = one.best(service)
        if place is not None and service.rate is not None and one.place[place] > 0:
            at, sides = np.array([place]), batches[one.place[place] - 1 :][:2, np.newaxis]
            found.append((one.cost[at], one.layout[at], *sides, np.array([one.pool is not None])))
    pools = [one.pool for one in scored if one.pool is not None]
    gaps = Gaps(grid, pools, *(np.concatenate(parts) for parts in zip(*found, strict=True)))
    return gaps._of(np.nonzero(gaps.high - gaps.low > 1.0)[0])


def _least(one: Scored, service: Service, places: Ints, share: Floats) -> Floats:
    """Return what deployments cost at least whose replicas need a share of the time for a request.

    That share is no less than of the batches: a run does not get shorter as the batch grows.
    """
    cost, chips = one.cost[places], one.values["chips"][places]
    if service.rate is None:
        return np.where(chips <= service.max_chips, cost * share, np.inf)
    before = one.replicas[places]
    replicas = np.ceil(one.busy[places] * before * share / service.utilization - 1e-6)
    apart = one.pool.chips if one.pool is not None else 0.0
    fewer = apart + (chips - apart) / before * np.maximum(replicas, 1.0)
    # Just above, for as much is no gain.
    return np.where(fewer <= service.max_chips, cost * fewer / chips * (1.0 + 1e-9), np.inf)
