"""Which classes of requests share replicas, and which have some of their own: the cheapest way."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from fastcalc.core.request_class import RequestClass
from fastcalc.search.plan.decision import Decision, Plan

EVERY_GROUP = 3
"""Classes up to which every group of them is tried; of more, those next to each other by their
prompts, which share best. [1]"""

DecideFor = Callable[[tuple[RequestClass, ...], frozenset[str] | None], Decision]
"""Finds deployments for classes that share replicas, on some chips or, for None, on all."""


@dataclass(frozen=True)
class ReplicaPool:
    """Classes that share replicas, and the deployments found for them."""

    classes: tuple[RequestClass, ...]
    decision: Decision

    @property
    def plan(self) -> Plan:
        """The best deployment."""
        return self.decision.plans[0]

    @property
    def cost(self) -> float:
        """What is to be least; infinity where no deployment serves them."""
        return self.plan.cost if self.decision.plans else inf

    @property
    def chips(self) -> float:
        """Chips of all its replicas. [1]"""
        return self.plan.values["chips"] if self.decision.plans else inf

    @cached_property
    def cost_by_chip(self) -> dict[str, float]:
        """What is to be least, on each kind of chip that serves them."""
        costs: dict[str, float] = {}
        for plan in self.decision.plans:
            chip = plan.scenario.hardware.id
            costs[chip] = min(plan.cost, costs.get(chip, inf))
        return costs


Pools = tuple[ReplicaPool, ...]


@dataclass(frozen=True)
class Sharing:
    """The cheapest pools, and others to compare them with.

    pools : all classes are in one of them each; none where nothing serves all
    shared_by_all, one_each : one pool for all, and one for each class, where they were searched
    unserved : classes that no deployment serves alone, with why
    """

    pools: Pools
    shared_by_all: Pools | None
    one_each: Pools | None
    unserved: Pools


def cheapest_sharing(
    classes: Sequence[RequestClass],
    decide_for: DecideFor,
    *,
    may_share: Callable[[tuple[RequestClass, ...]], bool] = lambda _: True,
    max_chips: float = inf,
) -> Sharing:
    """Return the pools that cost least.

    Each class is first served alone on every kind of chip. What serves several costs no less than
    what serves any of them, so they share only on chips where that leaves something to gain.

    may_share : whether classes can, as those of two models cannot
    max_chips : of all pools together
    """
    ordered = sorted(classes, key=lambda kind: kind.prompt)
    singles = tuple(ReplicaPool((kind,), decide_for((kind,), None)) for kind in ordered)
    pools = {1 << place: single for place, single in enumerate(singles)}
    options: list[Pools] = []
    for groups in _partitions(len(ordered)):
        for members in groups:
            if members not in pools:
                chosen = tuple(kind for place, kind in enumerate(ordered) if members >> place & 1)
                chips = _worth_sharing(members, singles) if may_share(chosen) else frozenset()
                decision = decide_for(chosen, chips)
                pools[members] = ReplicaPool(chosen, decision)
        options.append(tuple(pools[members] for members in groups))
    served = [pools for pools in options if _chips(pools) <= max_chips and _cost(pools) < inf]
    return Sharing(
        pools=min(served, key=lambda pools: (_cost(pools), len(pools), _chips(pools)), default=()),
        shared_by_all=next((pools for pools in served if len(pools) == 1), None),
        one_each=next((pools for pools in served if len(pools) == len(ordered)), None),
        unserved=tuple(single for single in singles if single.cost == inf),
    )


def _worth_sharing(members: int, singles: Pools) -> frozenset[str]:
    """Return the kinds of chips on which classes that share replicas may cost the least."""
    inside = [single for place, single in enumerate(singles) if members >> place & 1]
    outside = [single for place, single in enumerate(singles) if not members >> place & 1]
    outside_cost = max((single.cost for single in outside), default=0.0)
    chips = frozenset.intersection(*(frozenset(single.cost_by_chip) for single in inside))
    lowest_cost = {chip: max(single.cost_by_chip[chip] for single in inside) for chip in chips}
    return frozenset(chip for chip in chips if lowest_cost[chip] + outside_cost <= _cost(singles))


def _cost(pools: Pools) -> float:
    return sum(pool.cost for pool in pools)


def _chips(pools: Pools) -> float:
    return sum(pool.chips for pool in pools)


def _partitions(count: int) -> Iterator[list[int]]:
    """Yield the ways to group some classes, each group as the bits of its members.

    >>> list(_partitions(2))
    [[3], [1, 2]]
    """
    if count <= EVERY_GROUP:
        yield from _all_partitions((1 << count) - 1)
        return
    for cuts in range(1 << (count - 1)):
        ends = [place + 1 for place in range(count - 1) if cuts >> place & 1]
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
    while True:  # every set of the others joins the lowest
        for groups in _all_partitions(remaining ^ joining):
            yield [lowest | joining, *groups]
        if not joining:
            return
        joining = (joining - 1) & remaining
