"""Pools of replicas, shared by request classes or dedicated to one of them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf
from typing import Self

from fastcalc.core.placement.layout import Layouts
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.packing import Packing
from fastcalc.features.plan.scored import misses_of

_ROUNDING = 1e-9  # of a node, so that replicas that just fill it do not take another
EVERY_GROUP = 3
"""Maximum number of classes for which every group is tried. With more, only classes with
neighboring prompt lengths, which share best, are grouped."""


@dataclass(frozen=True)
class ReplicaPool:
    """Request classes that share replicas, and the deployments found for them."""

    classes: tuple[RequestClass, ...]
    decision: Decision

    @property
    def plan(self) -> Plan:
        """The best deployment."""
        return self.decision.plans[0]

    @property
    def cost(self) -> float:
        """The value of the objective, or infinity if no deployment serves the classes."""
        return self.plan.cost if self.decision.plans else inf

    @property
    def chips(self) -> float:
        """The chips of all replicas."""
        return self.plan.values["chips"] if self.decision.plans else inf

    def on_chips(self, chips: float, node_chips: int) -> Self:
        """Return the pool with another number of chips in its nodes, some of which may be idle."""
        times, values = chips / self.chips, self.plan.values
        amounts = values.keys() & {"chips", "budget", "power"}
        values = values | {name: values[name] * times for name in amounts}
        plan = replace(
            self.plan,
            values=values,
            misses=misses_of(values, self.decision.service),
            cost=self.plan.cost * times,
            node_chips=node_chips,
        )
        return replace(self, decision=replace(self.decision, best_by_variant={plan.variant: plan}))


Pools = tuple[ReplicaPool, ...]


def in_shared_nodes(pools: Sequence[ReplicaPool]) -> Pools:
    """Place pools in shared nodes of a chip type. The last pool gets the idle chips.

    pools : The pools whose chips include only running ones.
    """
    nodes, left = defaultdict[str, float](float), defaultdict[str, float](float)
    shared: list[ReplicaPool] = []
    for pool in pools:
        plan, service = pool.plan, pool.decision.service
        chip, size = plan.scenario.hardware.id, service.node_chips(plan.scenario.hardware)
        nodes[chip] += plan.replicas * Packing.of(size, Layouts.of([plan.layout])).nodes.item()
        left[chip] -= pool.chips
        shared.append(pool.on_chips(pool.chips, size))
    for index, pool in reversed([*enumerate(shared)]):
        chip = pool.plan.scenario.hardware.id
        if chip in nodes:
            size = pool.plan.node_chips
            idle = ceil(nodes.pop(chip) - _ROUNDING) * size + left[chip]
            shared[index] = pool.on_chips(pool.chips + idle, size)
    return tuple(shared)


@dataclass(frozen=True)
class Sharing:
    """The cheapest pools, with alternatives to compare.

    pools : Each class is in one of them; empty if no deployment serves all classes.
    shared_by_all, one_each : One pool for all classes, and one for each class, if searched.
    unserved : The classes that no deployment serves with any resources, with the reason.
    on_one_chip : The cheapest pools on one chip type, if the cheapest overall use several.
    needed : The resources of the cheapest pools for the full rate, for each limit they exceed.
    """

    pools: Pools
    shared_by_all: Pools | None
    one_each: Pools | None
    unserved: Pools
    needed: Mapping[str, float] = field(default_factory=dict)
    on_one_chip: Pools | None = None

    @property
    def rate(self) -> float:
        """The request rate for which the pools were found, per second."""
        return sum(pool.decision.service.rate or 0.0 for pool in self.pools)

    @property
    def requests(self) -> float:
        """The highest throughput of all classes, per second."""
        throughput = (
            pool.plan.requests / (pool.decision.service.rate or 1.0) for pool in self.pools
        )
        return min(throughput, default=0.0) * self.rate


def partitions(count: int) -> Iterator[list[int]]:
    """Yield all groupings of classes, with each group as a bit mask of its members.

    >>> list(partitions(2))
    [[3], [1, 2]]
    """
    if count <= EVERY_GROUP:
        yield from _all_partitions((1 << count) - 1)
        return
    for cuts in range(1 << (count - 1)):
        ends = [index + 1 for index in range(count - 1) if cuts >> index & 1]
        yield [
            (1 << end) - (1 << start) for start, end in zip([0, *ends], [*ends, count], strict=True)
        ]


def _all_partitions(members: int) -> Iterator[list[int]]:
    if not members:
        yield []
        return
    lowest = members & -members
    remaining = members ^ lowest
    joining = remaining
    while True:  # every subset of the others joins the lowest
        for groups in _all_partitions(remaining ^ joining):
            yield [lowest | joining, *groups]
        if not joining:
            return
        joining = (joining - 1) & remaining
