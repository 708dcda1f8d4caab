"""Batches between the few that are tried first, where one may cost less or be faster."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastcalc.formulas.types import Bools, Floats, Ints
from fastcalc.search.plan.pools import Pool
from fastcalc.search.plan.score import Weighed
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
        """Return the gaps that may beat the best deployments there are.

        Parameters
        ----------
        inside, apart : float
            What those cost, with prompts inside and apart; infinity for none.
        """
        cost = np.where(self.is_apart, apart, inside)
        return self._of(np.nonzero((self.least <= cost) & (self.least < np.inf))[0])

    def split(self) -> tuple["Gaps", "Gaps"]:
        """Return the most promising gaps, and the others."""
        order = np.argsort(self.least, kind="stable")
        return self._of(order[:_AT_ONCE]), self._of(order[_AT_ONCE:])

    def between(self) -> Grid:
        """Return the grid of the batches in the gaps, with those on both sides."""
        layouts = tuple(self.grid.layouts[place] for place in dict.fromkeys(self.layout))
        batches = [_tried(low, high) for low, high in zip(self.low, self.high, strict=True)]
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


def _tried(low: float, high: float) -> Floats:
    """Return whole batches from one to another, both with them."""
    return np.unique(np.round(np.linspace(low, high, min(int(high - low), _TRIED) + 1)))


def gaps_of(weighed: Sequence[Weighed], service: Service) -> Gaps:
    """Return the gaps of one grid in which something better may be.

    Cost falls with the batch and both times grow: the best batch of a layout is the largest that
    meets them, and the smallest that makes do with as many replicas. But one replica that must
    stay idle for random arrivals is best at some batch, on either side of the best that was tried.

    Parameters
    ----------
    weighed : sequence of Weighed
        All that was tried of one grid.
    service : Service
        What is asked.
    """
    grid = weighed[0].grid
    if service.rate is None and service.share is not None:
        found = [part for one in weighed for part in _beside(one, service)]
    else:
        found = [part for one in weighed for part in (_above(one, service), _below(one, service))]
    parts = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    pools = [one.pool for one in weighed if one.pool is not None]
    gaps = Gaps(grid, pools, *parts)
    return gaps._of(np.nonzero(gaps.high - gaps.low > 1.0)[0])


_Found = tuple[Floats, Ints, Floats, Floats, Bools]


def _above(one: Weighed, service: Service) -> _Found:
    """Return the gaps above the largest batch of each layout that is in time."""
    in_time = (one.values["ttft"] <= service.ttft) & (one.values["tpot"] <= service.tpot)
    (places,) = np.nonzero(in_time)
    layouts = one.layout[places]
    last = places[np.append(layouts[1:] != layouts[:-1], True)[: places.size]]
    batches = one.grid.batches
    above = np.append(batches[1:], np.ceil(_BEYOND * batches[-1]) + 1.0)
    low, high = batches[one.place[last]], above[one.place[last]]
    return _of(one, last, _least(one, service, last, low / high), low, high)


def _beside(one: Weighed, service: Service) -> tuple[_Found, _Found]:
    """Return the gaps on both sides of the best batch of each layout."""
    in_time = (one.values["ttft"] <= service.ttft) & (one.values["tpot"] <= service.tpot)
    (places,) = np.nonzero(in_time)
    order = places[np.lexsort((one.cost[places], one.layout[places]))]
    layouts = one.layout[order]
    best = order[np.append(True, layouts[1:] != layouts[:-1])[: order.size]]
    here, batches = one.place[best], one.grid.batches
    below = batches[np.maximum(here - 1, 0)]
    above = np.append(batches[1:], np.ceil(_BEYOND * batches[-1]) + 1.0)[here]
    least = one.cost[best] * np.minimum(below, batches[here] ** 2 / above) / batches[here]
    return (
        _of(one, best, least, below, batches[here]),
        _of(one, best, least, batches[here], above),
    )


def _of(one: Weighed, places: Ints, least: Floats, low: Floats, high: Floats) -> _Found:
    return least, one.layout[places], low, high, np.full(len(places), one.pool is not None)


def _least(one: Weighed, service: Service, places: Ints, share: Floats) -> Floats:
    """Return what deployments cost at least whose replicas need a share of the time for a request.

    That share is no less than of the batches: a run does not get shorter as the batch grows.
    """
    cost, chips = one.cost[places], one.values["chips"][places]
    if service.rate is None:
        return np.asarray(cost * share)
    before = one.replicas[places]
    replicas = np.ceil(one.busy[places] * before * share / service.utilization - 1e-6)
    apart = one.pool.chips if one.pool is not None else 0.0
    fewer = apart + (chips - apart) / before * np.maximum(replicas, 1.0)
    # Just above, for as much is no gain.
    return np.where(fewer <= service.max_chips, cost * fewer / chips * (1.0 + 1e-9), np.inf)


def _below(one: Weighed, service: Service) -> _Found:
    """Return the gap below the batch of the best, where fewer sequences may do for the same."""
    place = one.best(service)
    has_one = place is not None and service.rate is not None and one.place[place] > 0
    places = np.array([place] if has_one else [], dtype=int)
    here, batches = one.place[places], one.grid.batches
    return _of(one, places, one.cost[places], batches[here - 1], batches[here])
