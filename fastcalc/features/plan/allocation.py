"""The allocation of a demand: what owned chips serve, and what is rented for the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, inf
from typing import Self

from fastcalc.catalogue.chip_defaults import completed
from fastcalc.catalogue.schema import Hardware
from fastcalc.core.estimate import site_power
from fastcalc.core.placement.layout import HOST_CHIPS
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.packing import LIMITED
from fastcalc.features.plan.pool_search import PoolSearch
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import ReplicaPool, Sharing
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.sequences import sum_if_known

_ROUNDING = 1e-9  # of a limit or a chip, so that what just meets it does
_MOST_NODES = 8
"""Nodes up to which every division into deployments of whole nodes is tried; of more, few gain."""


@dataclass(frozen=True)
class Allocation:
    """What owned chips of one kind, or chips rented on top of them, serve of a demand.

    sharing : its pools of replicas
    requests : of the whole mix that they are to serve [1/s]
    owned : the chips that are owned; None where they are rented
    chips, unit : those that are owned, and how many of them run together [1]
    """

    sharing: Sharing
    requests: float
    owned: "OwnedChips | None" = None
    chips: int = 0
    unit: int = 1

    @property
    def is_owned(self) -> bool:
        """Whether its chips are owned, or else rented."""
        return self.owned is not None

    @property
    def pools(self) -> Sequence[ReplicaPool]:
        """Its pools; none where nothing serves all classes."""
        return self.sharing.pools

    @property
    def plans(self) -> list[Plan]:
        """The deployment of each pool."""
        return [pool.plan for pool in self.pools]

    @property
    def plan(self) -> Plan | None:
        """The deployment of the first pool."""
        return next(iter(self.plans), None)

    @property
    def decision(self) -> Decision:
        """What was found for the first pool, or for the first class that nothing serves."""
        return (*self.pools, *self.sharing.unserved)[0].decision

    @property
    def most_requests(self) -> float:
        """Highest throughput of the chips that run, of the whole mix. [1/s]"""
        sharing = self.sharing
        return sharing.requests if sharing.rate else sum(plan.requests for plan in self.plans)

    @property
    def chips_left(self) -> float:
        """Owned chips on which nothing runs. [1]"""
        running = sum(plan.values["chips"] - plan.idle_chips for plan in self.plans)
        return self.chips - running if self.owned else 0.0

    @property
    def usd_per_month(self) -> float | None:
        """Price of the chips that run; None if unknown. [USD]"""
        return sum_if_known(plan.usd_per_month for plan in self.plans)

    def used(self, name: str) -> float:
        """How much of a limit the chips that run take, or their longest time."""
        if name in ("ttft", "tpot"):
            return max((plan.values[name] for plan in self.plans), default=0.0)
        if name == "power" and self.owned is not None:
            running = ceil(self.used("chips") / self.unit) * self.unit
            return running * (site_power(self.owned.hardware) or 0.0)
        if name in LIMITED:
            return sum(plan.of_all_chips(LIMITED[name]) or 0.0 for plan in self.plans)
        return sum(plan.values[name] for plan in self.plans)


@dataclass(frozen=True, eq=False)
class OwnedChips:
    """Chips of one kind that the user has.

    usd_per_hour : what owning one costs; None if unknown [USD/h]
    search : what finds pools of replicas on them
    """

    hardware: Hardware
    chips: int
    usd_per_hour: float | None
    search: PoolSearch
    _decisions: dict[tuple[Service, int], Decision] = field(default_factory=dict, repr=False)

    @property
    def usd_per_month(self) -> float | None:
        """What all of them cost, used or not; None if unknown. [USD]"""
        return self.usd_per_hour and self.usd_per_hour * HOURS_PER_MONTH * self.chips

    @property
    def node_chips(self) -> int:
        """Chips that are not divided: a node's, else those of a host or smaller domain. [1]"""
        if self.hardware.node_chips:
            return self.hardware.node_chips
        up = completed(self.hardware).links.scale_up
        domain = up.domain.si if up and up.domain else 1.0
        return int(min(HOST_CHIPS, domain))

    def with_nodes(self, nodes: int, service: Service) -> Self:
        """The same with some nodes more, or chips where they are owned singly."""
        return replace(self, chips=self.chips + nodes * self.unit(service))

    def unit(self, service: Service) -> int:
        """How many come and run together: a node's, where all are in whole nodes. [1]"""
        node_chips = (service.in_nodes and self.hardware.node_chips) or 1
        return 1 if self.chips % node_chips else node_chips

    def runnable(self, service: Service) -> int:
        """How many of them a power lets run. [1]"""
        watts = site_power(self.hardware)
        if service.power == inf or watts is None:
            return self.chips
        units = floor(service.power / (watts * self.unit(service)) + _ROUNDING)
        return min(units * self.unit(service), self.chips)

    def allocations(self, left: Service) -> Iterator[Allocation]:
        """Yield what they serve of what is left of a rate: on the fewest where they serve all.

        left : its power limit covers all running chips; its budget only rented ones
        """
        chips = self.runnable(left)
        within = replace(left, budget=inf, max_chips=chips, objective="chips")
        if site_power(self.hardware) is not None:
            within = replace(within, power=inf)
        if not self.search.is_of_one_class:
            # Replicas of several pools fill a node, so all that runs is counted in nodes.
            sharing = self.search.pools_for(replace(within, in_nodes=False))
            yield self._allocated(sharing, sharing.rate, self.chips, left)
            return
        filled = replace(within, rate=None, max_chips=inf, objective=left.objective)
        if not chips:
            decision = self.filled(replace(left, budget=inf), self.chips)
            yield self._allocated(self.search.sharing(decision), 0.0, self.chips, left)
        elif left.rate is not None and self.requests(filled, chips) >= left.rate:
            in_nodes = left.in_nodes and chips % self.node_chips == 0
            sharing = self.search.pools_for(replace(within, in_nodes=in_nodes))
            yield self._allocated(sharing, left.rate, self.chips, left)
        else:
            yield from self._divided_between(filled, chips, left)

    def _divided_between(self, filled: Service, chips: int, left: Service) -> Iterator[Allocation]:
        """Yield the deployments that some chips are divided between."""
        rate, idle = inf if left.rate is None else left.rate, self.chips - chips
        for size in self.divided(filled, chips):
            requests = min(self.requests(filled, size, chips), rate)
            sharing = self.search.sharing(self.filled(filled, size))
            yield self._allocated(sharing, requests, size + idle, left)
            rate, idle = rate - requests, 0

    def _allocated(
        self, sharing: Sharing, requests: float, chips: int, left: Service
    ) -> Allocation:
        return Allocation(sharing, requests, self, chips, self.unit(left))

    def filled(self, service: Service, chips: int) -> Decision:
        """Deployments on a number of these chips that serve the most requests of one class."""
        if chips % self.node_chips:  # those that are there, if no whole nodes
            service = replace(service, in_nodes=False)
        if (service, chips) not in self._decisions:
            self._decisions[service, chips] = self.search.most_on(service, chips)
        return self._decisions[service, chips]

    def requests(self, service: Service, chips: int, total: int | None = None) -> float:
        """Highest throughput of one deployment on a number of these chips. [1/s]

        Quantized further than asked for only where all running chips hold the model no other way.

        total : chips that run; those of this deployment by default
        """
        decision_for_all = self.filled(service, total or chips)
        is_any = not any(map(decision_for_all.may_lead, decision_for_all.plans))
        decision = self.filled(service, chips)
        plans = (plan for plan in decision.in_order if is_any or decision.may_lead(plan))
        return max((plan.requests for plan in plans), default=0.0)

    def divided(self, service: Service, chips: int) -> list[int]:
        """The chips of each deployment, where several of whole nodes serve more than one."""
        nodes, left = divmod(chips, self.node_chips)
        if not 2 <= nodes <= _MOST_NODES:
            return [chips]
        divisions: list[tuple[float, list[int]]] = [(0.0, [])]
        for count in range(1, nodes + 1):
            options = []
            for first in range(count, 0, -1):
                before, parts = divisions[count - first]
                size = first * self.node_chips + (left if first == count == nodes else 0)
                options.append((before + self.requests(service, size, chips), [size, *parts]))
            # As much of fewer deployments is better: those come first.
            divisions.append(
                max(options, key=lambda option: option[0] * (1.0 - 1e-9 * len(option[1])))
            )
        parts = sorted(divisions[nodes][1], reverse=True)
        parts[0] += chips - sum(parts)
        return parts


@dataclass(frozen=True)
class Fleet:
    """Allocations for a service: of each kind of owned chips, and of rented ones on top.

    service : ``max_chips`` counts rented chips; ``budget`` and ``power`` cover the whole fleet
    """

    service: Service
    owned: Sequence[OwnedChips]
    allocations: tuple[Allocation, ...]

    @property
    def requests(self) -> float:
        """Requests that all of it serves. [1/s]"""
        return sum(allocation.requests for allocation in self.allocations)

    @property
    def rents(self) -> bool:
        """Whether chips may be rented: for a rate, or for what a budget or a power leaves."""
        service = self.service
        has_means = min(service.budget, service.max_chips) < inf or not self.owned
        return service.rate is not None or has_means

    def used(self, name: str) -> float:
        """How much of a limit it takes, or its longest time.

        Of dollars, what all owned chips cost, used or not; of chips, those that are rented.
        """
        if name in ("ttft", "tpot"):
            return max(allocation.used(name) for allocation in self.allocations)
        counted = (
            allocation
            for allocation in self.allocations
            if name == "power" or not allocation.is_owned
        )
        owned = [kind.usd_per_month or 0.0 for kind in self.owned if name == "budget"]
        return sum(owned) + sum(allocation.used(name) for allocation in counted)

    @property
    def usd_per_month(self) -> float | None:
        """What all of it costs, owned chips whether used or not; None if unknown. [USD]"""
        rented = [
            allocation.usd_per_month for allocation in self.allocations if not allocation.is_owned
        ]
        return sum_if_known([*(kind.usd_per_month for kind in self.owned), *rented])

    @property
    def is_within(self) -> bool:
        """Whether it takes no more than its means."""
        limits = self.service.means.items()
        return all(self.used(name) <= limit * (1.0 + _ROUNDING) for name, limit in limits)

    @property
    def serves_all(self) -> bool:
        """Whether something runs, and serves the rate where one is asked for."""
        return self.requests > 0.0 and self.requests >= (self.service.rate or 0.0) * (
            1.0 - _ROUNDING
        )

    @property
    def is_enough(self) -> bool:
        """Whether it does what is asked, within its means."""
        return self.serves_all and self.is_within

    @property
    def left(self) -> Service:
        """What is left of a rate, a budget and a power, by what it takes of them."""
        limits = {
            name: max(limit - self.used(name), 0.0)
            for name, limit in self.service.means.items()
            if name != "chips"
        }
        rate = self.service.rate
        if rate is not None:
            rate = 0.0 if self.requests >= rate * (1.0 - _ROUNDING) else rate - self.requests
        return replace(self.service.limited(limits), rate=rate)


def allocate(owned: Sequence[OwnedChips], rented: PoolSearch | None, service: Service) -> Fleet:
    """What owned chips serve, in their order, and what is rented for what is left.

    Without a rate all of them serve what they can; what a budget or a power leaves is rented, too.

    rented : finds pools on chips to rent; None for no such chips
    """
    fleet = Fleet(service, owned, ())
    for kind in owned:
        if (left := fleet.left).rate != 0.0:
            fleet = replace(fleet, allocations=(*fleet.allocations, *kind.allocations(left)))
    left = fleet.left
    if rented and fleet.rents and left.rate != 0.0 and left.budget > 0.0 and left.power > 0.0:
        allocation = _rented(rented, left, service)
        fleet = replace(fleet, allocations=(*fleet.allocations, allocation))
    return fleet


def _rented(search: PoolSearch, left: Service, service: Service) -> Allocation:
    """The cheapest to rent for what is left, or the most that what is left sustains."""
    sharing = search.pools_for(left)
    if not search.is_of_one_class:
        return Allocation(sharing, sharing.rate)
    allocation = Allocation(sharing, 0.0)
    relaxed = allocation.decision.relaxed
    for name in relaxed.keys() & {"budget", "power"}:  # which owned chips take, too
        relaxed[name] += getattr(service, name) - getattr(left, name)
    if allocation.plan is None:
        return allocation
    return replace(allocation, requests=left.rate or allocation.plan.requests)


def with_next_node(fleet: Fleet) -> dict[str, float]:
    """Requests of a fleet with one more node of an owned chip, by its id. [1/s]

    Where a power holds that node, and what is rented stays; in as few bits as all that are owned.
    Of chips that are owned singly with one more.
    """
    rented = tuple(allocation for allocation in fleet.allocations if not allocation.is_owned)
    service, totals = replace(fleet.service, budget=inf, max_chips=inf, rate=None), {}
    plans = [
        (pool.decision, pool.plan)
        for allocation in fleet.allocations
        for pool in allocation.pools
        if allocation.is_owned
    ]
    if not any(decision.may_lead(plan) for decision, plan in plans):
        service = replace(service, any_weights=True, any_cache=True)
    for kind in fleet.owned:
        owned = [part.with_nodes(1, service) if part is kind else part for part in fleet.owned]
        alone = allocate(owned, None, service)
        with_rented = replace(alone, allocations=(*alone.allocations, *rented))
        if with_rented.used("power") <= service.power:
            totals[kind.hardware.id] = with_rented.requests
    return totals
