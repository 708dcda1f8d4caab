"""Deployments of a grid held against a service: what each does, and which of them are best."""

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

_LEAST = 1e-9  # of a limit, where nothing is left of it
Amounts = TypeVar("Amounts", float, Floats)

_OF_ESTIMATE = (
    "batch",
    "total",
    "served",
    "tpot",
    "tpot_in_traffic",
    "ttft",
    "prompts_together",
    "run",
    "slowness",
    "in_turn_at_random",
)


@dataclass(frozen=True, eq=False)
class Replica:
    """One full replica with colocated prefill, as columns: an element for each that fits.

    layout : its position in the grid's [1]
    batch : sequences that it decodes together [1]
    chips, pp, dp : of its layout [1]

    The others are values of its `fastcalc.core.estimate.Estimate`, as slow as the service says.
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
        """Those of the deployments that fit, layouts x batches, of one kind of request."""

        def those(values: ArrayLike) -> Any:
            return np.broadcast_to(values, (1, *fits.shape))[0][fits]

        return cls(
            **{name: those(getattr(points.estimate, name)) for name in _OF_ESTIMATE},
            layout=np.nonzero(fits)[0],
            chips=those(points.layout.chips),
            pp=those(points.layout.pp),
            dp=those(points.layout.dp),
        )

    def at_random(self, output: float) -> "Replica":
        """The same where requests come at random, and attention replicas prefill in turn.

        output : tokens of an answer [1]
        """
        longer = self.in_turn_at_random - 1.0
        run = self.run + longer * self.prompt_seconds(output)
        token = self.tpot_in_traffic + longer * np.maximum(self.tpot_in_traffic - self.tpot, 0.0)
        return replace(self, run=run, served=self.served * self.run / run, tpot_in_traffic=token)

    def prompt_seconds(self, output: float) -> Floats:
        """Time of the prompts of a run. [s]

        output : tokens of an answer [1]
        """
        # Where prompts cost next to nothing, rounding may leave less than nothing.
        return np.asarray(np.maximum(self.run - output * self.tpot, 0.0))

    def only(self, index: int) -> "Replica":
        """One of them alone."""
        columns = {part.name: getattr(self, part.name)[index : index + 1] for part in fields(self)}
        return Replica(**columns)


@dataclass(frozen=True, eq=False)
class Scored:
    """Deployments of a grid that fit: each replica with each prefill pool, if any.

    service : what they are held against
    replica, pools : of which each deployment is one of the first, and of the second if there are
    mixed : when each class has its first token on each replica
    values : what is limited, by name: seconds to the first token, seconds between tokens, chips,
        and dollars per month and watts where those are
    seconds : time of a replica that a request takes [s]
    throughput : of each replica at its highest utilization [1/s]
    counts, packing : how many replicas, and how they fill nodes
    busy : the share of its capacity that each that decodes does [1]
    cost, unfit : the objective; and the number of deployments that do not fit [1]
    class_ttft : time to the first token of each class, a row each, if there are several [s]
    more : cost of the prefill pool beyond that of the same number of decode chips
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
    unfit: int = 0

    @property
    def _ways(self) -> int:
        """Number of prefill pools, one if colocated. [1]"""
        return len(self.every_pool)

    @cached_property
    def layout(self) -> Ints:
        """Position of the layout in the grid's. [1]"""
        return np.tile(self.replica.layout, self._ways)

    @cached_property
    def batch(self) -> Floats:
        """Decode batch of each deployment. [1]"""
        return np.tile(self.replica.batch, self._ways)

    @cached_property
    def row(self) -> Ints:
        """A number for each layout with each pool. [1]"""
        pools = np.repeat(np.arange(self._ways), len(self.replica.batch))
        return self.layout + len(self.grid.layouts) * pools

    def pool(self, index: int) -> PrefillPool | None:
        """The prefill pool of a deployment; None if colocated."""
        return self.every_pool[index // len(self.replica.batch)]

    @property
    def every_pool(self) -> Sequence[PrefillPool | None]:
        """The prefill pools; None alone where prefill is colocated with decode."""
        return self.pools or [None]

    def by_pool(self, indices: Ints) -> Iterator[tuple[PrefillPool | None, Ints]]:
        """Yield each prefill pool that some deployments have, and the places of these, in order."""
        pools = indices // max(len(self.replica.batch), 1)
        for at in np.unique(pools):
            among = indices[pools == at]
            yield self.pool(among[0]), among

    @property
    def replicas(self) -> Floats:
        """Replicas that decode. [1]"""
        return self.counts.replicas

    def next(self, indices: Ints, step: int = 1) -> Ints:
        """Where the next batches of the same layouts are, or the places themselves."""
        near = np.clip(indices + step, 0, len(self.row) - 1)
        return np.where(self.row[near] == self.row[indices], near, indices)

    def tried_around(self, indices: Ints) -> tuple[Floats, Floats]:
        """Batches below and above those of deployments that were tried last, or their own. [1]

        Whether these fit or not: with a host larger batches may fit where smaller ones do not.
        """
        tried = np.broadcast_to(self.grid.batches, self.grid.shape[1:])[self.layout[indices]]
        own = self.batch[indices, np.newaxis]
        below = np.max(np.where(tried < own, tried, -inf), axis=-1)
        above = np.min(np.where(tried > own, tried, inf), axis=-1)
        own = own[:, 0]
        return np.where(below > 0.0, below, own), np.where(above < inf, above, own)

    @cached_property
    def misses(self) -> dict[str, Floats]:
        """Each value over its limit: at most 1 where it is met."""
        return misses_of(self.values, self.service)

    @cached_property
    def is_in_time(self) -> Bools:
        """Whether both times to tokens are within their limits."""
        limits = self.service.limits
        first, between = (self.values[name] <= limits[name] for name in ("ttft", "tpot"))
        return first & between

    def best_of_rows(self, priority: Floats) -> Ints:
        """The place of the least priority of each row that has any in time.

        Places of a row are one after another; of equals it is the first.
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
        """Place of the best that misses nothing of each layout with each pool, in order."""
        (indices,) = np.nonzero(self.is_met)
        keys = self.last_resort[indices], self.values["chips"][indices], self.cost[indices]
        indices = indices[np.lexsort(keys)]
        _, first = np.unique(self.row[indices], return_index=True)
        return [int(index) for index in indices[np.sort(first)]]

    def in_row_of(self, layout: Layout, pool: PrefillPool | None) -> Ints:
        """Indices of all batches of a layout with a prefill pool, or colocated prefill for None."""
        layouts = [at for at, own in enumerate(self.grid.layouts) if own == layout]
        pools = [at for at, own in enumerate(self.every_pool) if own is pool]
        rows = np.add.outer(len(self.grid.layouts) * np.array(pools, int), np.array(layouts, int))
        return np.flatnonzero(np.isin(self.row, rows))

    def order(self, index: int) -> tuple[float, float, float]:
        """Key to sort a deployment by, as that of a plan."""
        columns = self.cost, self.values["chips"], self.last_resort
        cost, chips, last_resort = (float(values[index]) for values in columns)
        return cost, chips, last_resort

    @cached_property
    def cheapest(self) -> Ints:
        """Places of those that miss nothing at the least cost, and on the fewest chips of these."""
        return self._least(self.is_met)

    def _least(self, among: Bools) -> Ints:
        (indices,) = np.nonzero(among)
        for key in (self.cost, self.values["chips"]):
            if indices.size:
                indices = indices[key[indices] == key[indices].min()]
        return indices

    @property
    def best(self) -> int | None:
        """The place of the best that misses nothing."""
        return self._first(self.cheapest)

    def first_of(self, among: Bools) -> int | None:
        """The place of the first of some deployments, in the order of plans."""
        return self._first(self._least(among))

    def first_of_pools(self, indices: Ints) -> Ints:
        """The first deployment of each pool, among those of one cost and chip count."""
        indices = indices[np.argsort(self.last_resort[indices], kind="stable")]
        _, first = np.unique(indices // len(self.replica.batch), return_index=True)
        return indices[first]

    def _first(self, indices: Ints) -> int | None:
        return int(indices[np.argmin(self.last_resort[indices])]) if indices.size else None

    @cached_property
    def last_resort(self) -> Floats:
        """Tie-breaker between deployments of one cost and chip count.

        With a rate the smallest batch is the fastest, but that where requests at random may wait
        as long as it takes: then the shortest wait. Without a rate the least time does the most.
        """
        service = self.service
        if service.rate is None:
            return self.seconds
        is_patient = service.share is not None and service.ttft == inf
        return self.values["ttft"] if is_patient else self.batch


def misses_of(values: Mapping[str, Amounts], service: Service) -> dict[str, Amounts]:
    """Values over the limits of a service, by name: at most 1 where one is met."""
    return {name: values[name] / max(limit, _LEAST) for name, limit in service.limits.items()}
