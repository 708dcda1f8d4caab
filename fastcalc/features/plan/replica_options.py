"""Replica options: each layout with colocated prefill, at the batch of highest throughput.

The throughput of a replica does not depend on the number of replicas. Each layout is therefore
searched only once, and the number of replicas follows from the rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastcalc.core.estimate import site_power
from fastcalc.features.plan.candidates import BATCHES
from fastcalc.features.plan.packing import Packing, usd_per_month
from fastcalc.features.plan.refine import Gaps, with_own_batches
from fastcalc.features.plan.score import has_cost, score_in_stacks
from fastcalc.features.plan.scored import Scored
from fastcalc.features.plan.service import Service
from fastcalc.formulas.types import Floats
from fastcalc.grid.grid import Grid

_NEXT_TO = 2.0  # the batches on either side of one that was tried
_SLACK = 1e-9  # of a replica, so that a rate of exactly their throughput does not need another


@dataclass(frozen=True, eq=False)
class ReplicaOption:
    """A replica of a layout at the batch of its highest throughput.

    grid : The grid of only that layout and batch.
    requests : The throughput. [1/s]
    nodes, node_chips : The nodes it uses, maybe shared with other replicas, and chips per node.
    cost_per_chip : The objective per chip.
    searched_requests : The throughput found by the search, before percentiles were checked. [1/s]
    is_checked : Whether percentiles are within their limits at that throughput, if they have a
        closed form.
    """

    grid: Grid
    requests: float
    nodes: float
    node_chips: int
    cost_per_chip: float
    searched_requests: float
    is_checked: bool = False

    @property
    def batch(self) -> float:
        """The decode batch of a replica."""
        return float(self.grid.batches.ravel()[-1])

    @property
    def batches_to_try(self) -> Floats:
        """The batches up to its own, one of which may sustain more within percentiles."""
        return np.append(BATCHES[self.batch > BATCHES], self.batch)

    def replicas(self, rate: float) -> float:
        """Return the number of replicas needed for a rate."""
        return ceil(rate / self.requests - _SLACK)

    @property
    def chip(self) -> str:
        """The id of its chip."""
        return self.grid.scenario.hardware.id

    @property
    def usd_per_chip(self) -> float:
        """The monthly price per chip, or infinity if it is unknown, in USD."""
        usd = usd_per_month(self.grid.scenario)
        return inf if usd is None else usd

    def filled(self, rate: float) -> float:
        """Return the nodes filled at a rate, including a fraction for the last one."""
        return self.replicas(rate) * self.nodes

    def chips(self, nodes: float) -> float:
        """Return the chips in the whole nodes that a fractional number of filled nodes needs.

        This is also valid for several pools, because every stage is a whole fraction of a node.
        """
        return ceil(nodes - _SLACK) * self.node_chips

    def cost(self, rate: float) -> float:
        """Return the cost of a rate in dedicated nodes."""
        return self.chips(self.filled(rate)) * self.cost_per_chip

    def cost_of_filled(self, rate: float) -> float:
        """Return the cost of a rate if other pools fill the rest of the nodes."""
        return self.filled(rate) * self.node_cost

    @property
    def each_chips(self) -> float:
        """The chips per replica in full nodes."""
        return self.nodes * self.node_chips

    @property
    def node_cost(self) -> float:
        """The cost of a full node."""
        return self.node_chips * self.cost_per_chip

    @property
    def each(self) -> float:
        """The cost of a replica in full nodes."""
        return self.nodes * self.node_cost


@dataclass(frozen=True, eq=False)
class CostBound:
    """Upper bounds on the throughput of a replica of each layout, on one chip, without SLOs.

    requests : The throughput at the batch with the least time per request. [1/s]
    nodes, node_chips, cost_per_chip : As in `ReplicaOption`.
    """

    chip: str
    requests: Floats
    nodes: Floats
    node_chips: int
    cost_per_chip: float

    def least_cost(self, rate: float) -> tuple[float, float]:
        """Return lower bounds on the cost of a rate: in shared nodes, and in dedicated nodes."""
        replicas = np.ceil(rate / self.requests - _SLACK)
        nodes = float(np.min(replicas * self.nodes, initial=inf))
        node_cost = self.node_chips * self.cost_per_chip
        return nodes * node_cost, np.ceil(nodes - _SLACK) * node_cost


class _Best(dict[Any, ReplicaOption]):
    """The best option of each layout of each deployment."""

    def max_throughput_at_cost(self, chip: str, cost: float) -> float:
        """Return the highest per-replica throughput among options that cost no more, per second.

        An option on another chip must cost less by one node, since its nodes may be partly idle.
        """
        numbers = self._numbers
        at_most = np.where(self._chips == chip, numbers[1], numbers[1] + numbers[2])
        return float(np.max(numbers[0][at_most <= cost * (1.0 + _SLACK)], initial=0.0))

    def limits_of(self, gaps: Gaps) -> Floats:
        """Return minus the throughput each gap must exceed: that of options of no higher cost."""
        scenario, layouts = gaps.grid.scenario, gaps.grid.layouts
        options = (self[layouts[row], id(scenario)] for row in gaps.layout)
        chip = scenario.hardware.id
        return np.array([-self.max_throughput_at_cost(chip, option.each) for option in options])

    @cached_property
    def _numbers(self) -> Floats:
        return np.array(
            [
                (option.requests, option.each, option.node_chips * option.cost_per_chip)
                for option in self.values()
            ]
        ).T

    @cached_property
    def _chips(self) -> NDArray[np.str_]:
        return np.array([option.grid.scenario.hardware.id for option in self.values()])


def find_replica_options(
    grids: Sequence[Grid], service: Service
) -> tuple[list[ReplicaOption], list[CostBound]]:
    """Find the best option of each layout, refining batches where it may be the cheapest.

    The bounds cover every deployment.

    service : The service of the classes, whose rate and resource limits are ignored.
    """
    service = replace(service.without_means, rate=1.0)
    options, bounds = _Best(), list[CostBound]()
    waiting = [with_own_batches(grid) for grid in grids if has_cost(grid.scenario, service)]
    while waiting:
        gaps_found, is_first = list[Gaps](), not bounds
        colocated = score_in_stacks([(grid, service, [None]) for grid in waiting])
        for (group,) in colocated:
            if is_first:
                bounds.append(_bound(group, service))
            gaps_found.append(_gaps(group, service, options))
        options = _Best(options)
        promising = (gaps.below(options.limits_of(gaps)) for gaps in gaps_found)
        waiting = [gaps.between() for gaps in promising if len(gaps)]
    return list(options.values()), bounds


def _bound(group: Scored, service: Service) -> CostBound:
    starts = np.flatnonzero(np.diff(group.row, prepend=-1))
    seconds = np.minimum.reduceat(group.seconds, starts) if starts.size else group.seconds
    packing = group.packing.at(starts)
    return CostBound(
        group.grid.scenario.hardware.id,
        1.0 / seconds,
        _nodes(packing),
        packing.node_chips,
        _cost_per_chip(group.grid, service),
    )


def _nodes(packing: Packing) -> Floats:
    """Return the nodes that a replica uses, possibly shared with other replicas."""
    return np.maximum(packing.nodes, packing.slots / packing.node_slots)


def _gaps(group: Scored, service: Service, options: _Best) -> Gaps:
    """Keep the best batch of each layout, and find gaps that may contain a better one.

    The value bounded from below is minus the throughput.
    """
    grid = group.grid
    chosen = group.best_of_rows(-group.throughput)
    packing = group.packing.at(chosen)
    layouts, batches, (low, high) = (
        group.layout[chosen],
        group.batch[chosen],
        group.tried_around(chosen),
    )
    per_chip, size = _cost_per_chip(grid, service), packing.node_chips
    numbers = (layouts, group.throughput[chosen].tolist(), _nodes(packing).tolist(), batches)
    for row, requests, nodes, batch in zip(*numbers, strict=True):
        layout = grid.layouts[row]
        alone = grid.part(layouts=(layout,), batches=np.array([batch]))
        option = ReplicaOption(alone, requests, nodes, size, per_chip, requests)
        key = (layout, id(grid.scenario))
        if key not in options or options[key].requests < option.requests:
            options[key] = option
    bound = -group.throughput[chosen] * batches / np.minimum(low, batches**2 / high)
    gaps = Gaps(grid, [None], bound, layouts, low, high, np.zeros(len(layouts), bool))
    return gaps.below(np.where(high - low > _NEXT_TO, inf, -inf))


def _cost_per_chip(grid: Grid, service: Service) -> float:
    """Return the cost per chip, by the objective."""
    if service.objective == "chips":
        return 1.0
    is_usd = service.objective == "usd"
    cost = usd_per_month(grid.scenario) if is_usd else site_power(grid.scenario.hardware)
    return cost or 0.0
