"""The deployments of a grid scored against a service, and the best among them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import inf
from typing import Any, TypeVar

import numpy as np

from fastcalc.core.placement.layout import Layout
from fastcalc.features.plan.first_tokens import ClassFirstTokens
from fastcalc.features.plan.packing import Packing, ReplicaCounts
from fastcalc.features.plan.pools import PrefillPool
from fastcalc.features.plan.service import Service
from fastcalc.formulas.types import ArrayLike, Bools, Floats, Ints
from fastcalc.grid.evaluated_points import EvaluatedPoints
from fastcalc.grid.grid import Grid

_LEAST = 1e-9  # of a limit, if nothing is left of it
Amounts = TypeVar("Amounts", float, Floats)

_OF_LAYOUT = ("chips", "pp", "dp")


@dataclass(frozen=True, eq=False)
class Replica:
    """Full replicas with colocated prefill, as columns with an element per fitting deployment.

    layout : The index of its layout in the grid.
    batch : The decode batch.
    chips, pp, dp : The chips and parallel ranks of its layout.

    The rest are values of its `fastcalc.core.estimate.Estimate`, at the speed that the service
    assumes.
    """

    layout: Ints
    batch: Floats
    chips: Floats
    pp: Floats
    dp: Ints
    total: Floats
    served: Floats
    tpot: Floats
    tpot_in_traffic: Floats
    ttft: Floats
    prompts_together: Floats
    run: Floats
    slowness: Floats
    in_turn_at_random: Floats

    @classmethod
    def of(cls, points: EvaluatedPoints, fits: Bools) -> "Replica":
        """Collect the replicas of deployments that fit, from layouts x batches, for one class."""
        layout, _ = np.nonzero(fits)
        (where,) = np.nonzero(fits.reshape(-1))

        def those(values: ArrayLike) -> Any:
            points = np.asarray(values)
            if points.size != fits.size:
                points = np.broadcast_to(points, (1, *fits.shape))
            return points.reshape(-1)[where]

        names = [part.name for part in fields(cls) if part.name not in ("layout", *_OF_LAYOUT)]
        of_layout = {name: those(getattr(points.layout, name)) for name in _OF_LAYOUT}
        of_estimate = {name: those(getattr(points.estimate, name)) for name in names}
        return cls(layout=layout, **of_layout, **of_estimate)

    def at_random(self, output: float) -> "Replica":
        """Return the replicas for random arrivals, whose attention replicas prefill in turn.

        output : The output tokens per request.
        """
        longer = self.in_turn_at_random - 1.0
        run = self.run + longer * self.prompt_seconds(output)
        token = self.tpot_in_traffic + longer * np.maximum(self.tpot_in_traffic - self.tpot, 0.0)
        return replace(self, run=run, served=self.served * self.run / run, tpot_in_traffic=token)

    def prompt_seconds(self, output: float) -> Floats:
        """Return the part of a run that is spent on prefill, in seconds.

        output : The output tokens per request.
        """
        # If prompts take almost no time, rounding may make the difference negative.
        return np.asarray(np.maximum(self.run - output * self.tpot, 0.0))

    def only(self, index: int) -> "Replica":
        """Return a single replica."""
        columns = {part.name: getattr(self, part.name)[index : index + 1] for part in fields(self)}
        return Replica(**columns)


@dataclass(frozen=True, eq=False)
class Scored:
    """The deployments of a grid that fit: each replica with each prefill pool, if any.

    service : The service with its limits.
    replica, pools : Each deployment combines a replica with a pool, if there are pools.
    mixed : TTFT of each class on each replica.
    values : The limited quantities by name: TTFT and TPOT in seconds, chips, and dollars per month
        and watts if these are limited.
    seconds : The replica time per request, in seconds.
    throughput : The throughput of each replica at its maximum utilization. [1/s]
    counts, packing : Numbers of replicas, and how they are packed into nodes.
    busy : The utilization of each decode replica.
    cost, unfit : The objective, and how many deployments do not fit.
    class_ttft : TTFT with a row per class, if there are several, in seconds.
    more : Additional cost of the prefill pool over the same number of decode chips.
    """

    grid: Grid
    service: Service
    replica: Replica
    pools: Sequence[PrefillPool]
    mixed: ClassFirstTokens
    values: dict[str, Floats]
    seconds: Floats
    throughput: Floats
    counts: ReplicaCounts
    packing: Packing
    busy: Floats
    cost: Floats
    class_ttft: Floats
    more: Floats
    unfit: int

    @property
    def _ways(self) -> int:
        """The number of prefill pools, or one if prefill is colocated."""
        return len(self.every_pool)

    @cached_property
    def layout(self) -> Ints:
        """The index of the layout in the grid."""
        return np.tile(self.replica.layout, self._ways)

    @cached_property
    def batch(self) -> Floats:
        """The decode batch of each deployment."""
        return np.tile(self.replica.batch, self._ways)

    @cached_property
    def row(self) -> Ints:
        """An index for each combination of a layout and a pool."""
        pools = np.repeat(np.arange(self._ways), len(self.replica.batch))
        return self.layout + len(self.grid.layouts) * pools

    def pool(self, index: int) -> PrefillPool | None:
        """Return the prefill pool of a deployment, or None if prefill is colocated."""
        return self.every_pool[index // len(self.replica.batch)]

    @property
    def every_pool(self) -> Sequence[PrefillPool | None]:
        """All prefill pools, or a single None if prefill is colocated with decode."""
        return self.pools or [None]

    def by_pool(self, indices: Ints) -> Iterator[tuple[PrefillPool | None, Ints]]:
        """Yield each prefill pool with the indices of its deployments, in order."""
        pools = indices // max(len(self.replica.batch), 1)
        for at in np.unique(pools):
            among = indices[pools == at]
            yield self.pool(among[0]), among

    @property
    def replicas(self) -> Floats:
        """The decode replicas."""
        return self.counts.replicas

    def next(self, indices: Ints, step: int = 1) -> Ints:
        """Return the indices of the next batches of the same layouts, or the same at the end."""
        near = np.clip(indices + step, 0, len(self.row) - 1)
        return np.where(self.row[near] == self.row[indices], near, indices)

    def tried_around(self, indices: Ints) -> tuple[Floats, Floats]:
        """Return the evaluated batch sizes directly below and above those of the deployments.

        Batches that do not fit are included, because with host memory a larger one may still fit.
        """
        tried = np.broadcast_to(self.grid.batches, self.grid.shape[1:])[self.layout[indices]]
        own = self.batch[indices, np.newaxis]
        below = np.max(np.where(tried < own, tried, -inf), axis=-1)
        above = np.min(np.where(tried > own, tried, inf), axis=-1)
        own = own[:, 0]
        return np.where(below > 0.0, below, own), np.where(above < inf, above, own)

    @cached_property
    def misses(self) -> dict[str, Floats]:
        """The ratio of each value to its limit, at most 1 if the limit is met."""
        return misses_of(self.values, self.service)

    @cached_property
    def is_in_time(self) -> Bools:
        """Whether TTFT and TPOT are within their limits."""
        limits = self.service.limits
        first, between = (self.values[name] <= limits[name] for name in ("ttft", "tpot"))
        return first & between

    def best_of_rows(self, priority: Floats) -> Ints:
        """Return the best deployment in each row that has deployments within the limits.

        The indices of a row are consecutive. Among equals, the first is used.
        """
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        priority = np.where(self.is_in_time, priority, inf)
        least = np.minimum.reduceat(priority, starts) if starts.size else priority
        counts = np.diff(starts, append=len(priority))
        indices = np.flatnonzero((priority == np.repeat(least, counts)) & self.is_in_time)
        return indices[np.diff(self.row[indices], prepend=-1) > 0]

    @cached_property
    def is_met(self) -> Bools:
        """Whether no limit is missed."""
        return np.asarray(np.all([miss <= 1.0 for miss in self.misses.values()], axis=0))

    @property
    def best_of_layouts(self) -> list[int]:
        """The best deployment within all limits for each layout and pool, by index, in order."""
        (indices,) = np.nonzero(self.is_met)
        keys = self.last_resort[indices], self.values["chips"][indices], self.cost[indices]
        indices = indices[np.lexsort(keys)]
        _, first = np.unique(self.row[indices], return_index=True)
        return [int(index) for index in indices[np.sort(first)]]

    def in_row_of(self, layout: Layout, pool: PrefillPool | None) -> Ints:
        """Return all batches of a layout with a prefill pool (None if colocated), by index."""
        layouts = [at for at, own in enumerate(self.grid.layouts) if own == layout]
        pools = [at for at, own in enumerate(self.every_pool) if own is pool]
        rows = np.add.outer(len(self.grid.layouts) * np.array(pools, int), np.array(layouts, int))
        return np.flatnonzero(np.isin(self.row, rows))

    def order(self, index: int) -> tuple[float, float, float]:
        """Return the sort key of a deployment, like that of a plan."""
        columns = self.cost, self.values["chips"], self.last_resort
        cost, chips, last_resort = (float(values[index]) for values in columns)
        return cost, chips, last_resort

    @cached_property
    def cheapest(self) -> Ints:
        """The cheapest deployments within all limits, on the fewest chips, by index."""
        return self._least(self.is_met)

    def _least(self, among: Bools) -> Ints:
        (indices,) = np.nonzero(among)
        for key in (self.cost, self.values["chips"]):
            if indices.size:
                indices = indices[key[indices] == key[indices].min()]
        return indices

    @property
    def best(self) -> int | None:
        """The index of the best deployment within all limits."""
        return self._first(self.cheapest)

    def first_of(self, among: Bools) -> int | None:
        """Return the index of the first of several deployments, in the order of plans."""
        return self._first(self._least(among))

    def first_of_pools(self, indices: Ints) -> Ints:
        """Return the first deployment of each pool, among those with equal cost and chip count."""
        indices = indices[np.argsort(self.last_resort[indices], kind="stable")]
        _, first = np.unique(indices // len(self.replica.batch), return_index=True)
        return indices[first]

    def _first(self, indices: Ints) -> int | None:
        return int(indices[np.argmin(self.last_resort[indices])]) if indices.size else None

    @cached_property
    def last_resort(self) -> Floats:
        """The tie-breaker between deployments of equal cost and chip count.

        With a rate, the smallest batch is the fastest. If arrivals are random and TTFT is
        unlimited, the shortest TTFT wins. Without a rate, the shortest time per request wins.
        """
        service = self.service
        if service.rate is None:
            return self.seconds
        is_patient = service.share is not None and service.ttft == inf
        return self.values["ttft"] if is_patient else self.batch


def misses_of(values: Mapping[str, Amounts], service: Service) -> dict[str, Amounts]:
    """Divide values by the limits of a service, by name. At most 1 if a limit is met."""
    return {name: values[name] / max(limit, _LEAST) for name, limit in service.limits.items()}
