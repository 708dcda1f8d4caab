"""Batch sizes between those tried, in layouts where one of them may be better."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from fastcalc.core.overflow import batch_without_host
from fastcalc.features.plan.pools import KEPT, PrefillPool
from fastcalc.formulas.types import ArrayLike, Bools, Floats, Ints
from fastcalc.grid.grid import Grid

_AT_ONCE = 32  # gaps tried together; what they find may rule out the others
_TRIED = 24  # batches of a gap; what is still between two of them is another gap


@dataclass(frozen=True, eq=False)
class Gaps:
    """The gaps between tried batches of a grid that may hold better deployments.

    pools : the prefill pools that are tried with the batches, None for colocated prefill
    bound : lower bound on a cost, or another value, of the deployments in each gap
    layout, low, high : index of each gap's layout in the grid, and the batches on both sides [1]
    is_disaggregated : whether a gap is one of disaggregated prefill
    """

    grid: Grid
    pools: Sequence[PrefillPool | None]
    bound: Floats
    layout: Ints
    low: Floats
    high: Floats
    is_disaggregated: Bools

    def below(self, limit: ArrayLike) -> "Gaps":
        """Select gaps with batches whose bound is at most a limit, given for each or for all."""
        is_open = (self.high - self.low > 1.0) & (self.bound < np.inf)
        return self._at(is_open & (self.bound <= limit))

    def split(self) -> tuple["Gaps", "Gaps"]:
        """Split off the most promising gaps."""
        order = np.argsort(self.bound, kind="stable")
        return self._at(order[:_AT_ONCE]), self._at(order[_AT_ONCE:])

    def between(self) -> Grid:
        """Build the grid of the batches in the gaps and on both sides, one row for each gap."""
        batches = np.round(np.linspace(self.low, self.high, _TRIED + 1, axis=-1))
        layouts = tuple(self.grid.layouts[index] for index in self.layout)
        return self.grid.part(layouts=layouts, batches=batches)

    def _at(self, among: Ints | Bools) -> "Gaps":
        arrays = ("bound", "layout", "low", "high", "is_disaggregated")
        return replace(self, **{name: getattr(self, name)[among] for name in arrays})

    def __len__(self) -> int:
        return len(self.bound)


@lru_cache(maxsize=KEPT)
def with_largest(grid: Grid) -> Grid:
    """Extend each layout's row of batches with the largest that fits.

    With host memory, the largest batch that fits without it is added, too.
    """
    traffic = grid.requests[:].traffic(grid.scenario.traffic)
    site = replace(grid.site, reserved_tokens=traffic.reserved_each.ravel())
    placements = site.place_all(grid.layouts, axes=1)
    largest = np.maximum(placements.max_batch, 1.0)
    near = np.clip(batch_without_host(placements), 1.0, largest)
    rows = np.broadcast_to(grid.batches, (len(grid.layouts), grid.shape[-1]))
    return grid.part(batches=np.sort(np.concatenate([rows, near, largest], axis=1)))
