"""Allocate the offered load: owned chips first, and rented chips for the rest."""

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

_ROUNDING = 1e-9  # of a limit or a chip, so that values exactly on a limit pass
_MOST_NODES = 8
"""Maximum number of nodes for which every division is tried. Larger fleets gain little from it."""


@dataclass(frozen=True)
class Allocation:
    """The part of the load that is served by one owned chip type, or by rented chips.

    sharing : The pools of replicas.
    requests : The request rate that the pools must serve, for the whole mix. [1/s]
    owned : The owned chips, or None if the chips are rented.
    chips, unit : The number of owned chips, and how many of them work together.
    """

    sharing: Sharing
    requests: float
    owned: "OwnedChips | None" = None
    chips: int = 0
    unit: int = 1

    @property
    def is_owned(self) -> bool:
        """Whether the chips are owned rather than rented."""
        return self.owned is not None

    @property
    def pools(self) -> Sequence[ReplicaPool]:
        """The pools of replicas. It is empty if no deployment serves all classes."""
        return self.sharing.pools

    @property
    def plans(self) -> list[Plan]:
        """The best deployment in each pool."""
        return [pool.plan for pool in self.pools]

    @property
    def plan(self) -> Plan | None:
        """The best deployment in the first pool."""
        return next(iter(self.plans), None)

    @property
    def decision(self) -> Decision:
        """The decision for the first pool, or for the first class that no deployment serves."""
        return (*self.pools, *self.sharing.unserved)[0].decision

    @property
    def most_requests(self) -> float:
        """The highest throughput of the running chips, for the whole mix, per second."""
        sharing = self.sharing
        return sharing.requests if sharing.rate else sum(plan.requests for plan in self.plans)

    @property
    def chips_left(self) -> float:
        """The number of idle owned chips."""
        running = sum(plan.values["chips"] - plan.idle_chips for plan in self.plans)
        return self.chips - running if self.owned else 0.0

    @property
    def usd_per_month(self) -> float | None:
        """The price of the running chips, or None if it is unknown, in USD."""
        return sum_if_known(plan.usd_per_month for plan in self.plans)

    def used(self, name: str) -> float:
        """Return how much of a limited resource the running chips use, or their longest latency."""
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
    """The owned chips of one type.

    usd_per_hour : The ownership cost per chip, or None if unknown, in USD per hour.
    search : The search for replica pools on these chips.
    """

    hardware: Hardware
    chips: int
    usd_per_hour: float | None
    search: PoolSearch
    _decisions: dict[tuple[Service, int], Decision] = field(default_factory=dict, repr=False)

    @property
    def usd_per_month(self) -> float | None:
        """The ownership cost of all chips, used or idle, or None if it is unknown, in USD."""
        return self.usd_per_hour and self.usd_per_hour * HOURS_PER_MONTH * self.chips

    @property
    def node_chips(self) -> int:
        """The chips in the smallest unit: a node, or else a host or a smaller domain."""
        if self.hardware.node_chips:
            return self.hardware.node_chips
        up = completed(self.hardware).links.scale_up
        domain = up.domain.si if up and up.domain else 1.0
        return int(min(HOST_CHIPS, domain))

    def with_nodes(self, nodes: int, service: Service) -> Self:
        """Return these chips plus nodes, or plus single chips if they are owned singly."""
        return replace(self, chips=self.chips + nodes * self.unit(service))

    def unit(self, service: Service) -> int:
        """Return how many chips work together: a whole node if all chips are in whole nodes."""
        node_chips = (service.in_nodes and self.hardware.node_chips) or 1
        return 1 if self.chips % node_chips else node_chips

    def runnable(self, service: Service) -> int:
        """Return how many chips a power limit allows."""
        watts = site_power(self.hardware)
        if service.power == inf or watts is None:
            return self.chips
        units = floor(service.power / (watts * self.unit(service)) + _ROUNDING)
        return min(units * self.unit(service), self.chips)

    def allocations(self, left: Service) -> Iterator[Allocation]:
        """Yield allocations for the remaining rate, on the fewest chips that serve all of it.

        left : The remaining service; its power limit covers all running chips, its budget rented
            ones.
        """
        chips = self.runnable(left)
        within = replace(left, budget=inf, max_chips=chips, objective="chips")
        if site_power(self.hardware) is not None:
            within = replace(within, power=inf)
        if not self.search.is_of_one_class:
            # Replicas of several pools may share a node, so all running chips are counted in nodes.
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

    def is_narrowed(self, service: Service) -> bool:
        """Check whether these chips serve the class only in narrower formats than requested."""
        if not self.search.is_of_one_class:
            return False
        decision = self.filled(replace(service, rate=None, budget=inf, max_chips=inf), self.chips)
        return bool(decision.plans) and not any(map(decision.may_lead, decision.plans))

    def filled(self, service: Service, chips: int) -> Decision:
        """Find the deployments on some of these chips with the highest throughput for one class."""
        if chips % self.node_chips:  # the chips there are, if not in whole nodes
            service = replace(service, in_nodes=False)
        if (service, chips) not in self._decisions:
            self._decisions[service, chips] = self.search.most_on(service, chips)
        return self._decisions[service, chips]

    def requests(self, service: Service, chips: int, total: int | None = None) -> float:
        """Return the highest throughput of one deployment on a number of these chips, per second.

        Formats are quantized below the request only if the model otherwise does not fit on all
        running chips.

        total : The number of running chips, by default those of this deployment.
        """
        decision_for_all = self.filled(service, total or chips)
        is_any = not any(map(decision_for_all.may_lead, decision_for_all.plans))
        decision = self.filled(service, chips)
        plans = (plan for plan in decision.in_order if is_any or decision.may_lead(plan))
        return max((plan.requests for plan in plans), default=0.0)

    def divided(self, service: Service, chips: int) -> list[int]:
        """Divide the chips among deployments in whole nodes, if these outperform a single one."""
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
            # At the same throughput, fewer deployments are better, so they come first.
            divisions.append(
                max(options, key=lambda option: option[0] * (1.0 - 1e-9 * len(option[1])))
            )
        parts = sorted(divisions[nodes][1], reverse=True)
        parts[0] += chips - sum(parts)
        return parts


@dataclass(frozen=True)
class Fleet:
    """The allocations for a service: one for each owned chip type, then the rented chips.

    service : ``max_chips`` counts rented chips; ``budget`` and ``power`` cover the whole fleet.
    searched_rate : The rate for which the fleet was found, if closed-loop users make another. [1/s]
    """

    service: Service
    owned: Sequence[OwnedChips]
    allocations: tuple[Allocation, ...]
    searched_rate: float | None = None

    @property
    def requests(self) -> float:
        """The throughput of the whole fleet, per second."""
        return sum(allocation.requests for allocation in self.allocations)

    @property
    def rents(self) -> bool:
        """Whether chips may be rented: for a given rate, or with the remaining budget or power."""
        service = self.service
        has_means = min(service.budget, service.max_chips) < inf or not self.owned
        return service.rate is not None or has_means

    def used(self, name: str) -> float:
        """Return how much of a limited resource the fleet uses, or its highest latency.

        The cost includes all owned chips, even if they are idle. The number of chips only includes
        rented chips.
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
        """The cost of the whole fleet with idle owned chips, or None if it is unknown, in USD."""
        rented = [
            allocation.usd_per_month for allocation in self.allocations if not allocation.is_owned
        ]
        return sum_if_known([*(kind.usd_per_month for kind in self.owned), *rented])

    @property
    def is_within(self) -> bool:
        """Whether the fleet stays within its resource limits."""
        limits = self.service.means.items()
        return all(self.used(name) <= limit * (1.0 + _ROUNDING) for name, limit in limits)

    @property
    def serves_all(self) -> bool:
        """Whether any chip runs, and the rate (if given) is served."""
        return self.requests > 0.0 and self.requests >= (self.service.rate or 0.0) * (
            1.0 - _ROUNDING
        )

    @property
    def is_enough(self) -> bool:
        """Whether the fleet serves the load within its resource limits."""
        return self.serves_all and self.is_within

    @property
    def left(self) -> Service:
        """The rate, budget and power that this fleet leaves over."""
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
    """Allocate the load to owned chips in the given order, and rent chips for the rest.

    Owned chips that only fit a model quantized below the request come last. Without a rate, all
    owned chips run at full throughput, and any remaining budget or power goes to rented chips.

    rented : The search for pools on chips to rent, or None if renting is not allowed.
    """
    fleet = Fleet(service, owned, ())
    several = len(owned) > 1 and service.rate is not None
    for kind in sorted(owned, key=lambda kind: several and kind.is_narrowed(service)):
        if (left := fleet.left).rate != 0.0:
            fleet = replace(fleet, allocations=(*fleet.allocations, *kind.allocations(left)))
    left = fleet.left
    if rented and fleet.rents and left.rate != 0.0 and left.budget > 0.0 and left.power > 0.0:
        allocation = _rented(rented, left, service)
        fleet = replace(fleet, allocations=(*fleet.allocations, allocation))
    return fleet


def _rented(search: PoolSearch, left: Service, service: Service) -> Allocation:
    """Rent the cheapest chips for the remaining rate, or as much throughput as the limits allow."""
    sharing = search.pools_for(left)
    if not search.is_of_one_class:
        return Allocation(sharing, sharing.rate)
    allocation = Allocation(sharing, 0.0)
    relaxed = allocation.decision.relaxed
    for name in relaxed.keys() & {"budget", "power"}:  # which owned chips use as well
        relaxed[name] += getattr(service, name) - getattr(left, name)
    if allocation.plan is None:
        return allocation
    return replace(allocation, requests=left.rate or allocation.plan.requests)


def with_next_node(fleet: Fleet) -> dict[str, float]:
    """Return the fleet's throughput with one more node of each owned type, by chip id, per second.

    Nodes that exceed the power limit are skipped. Rented chips and formats stay the same. If chips
    are owned singly, a single chip is added instead.
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
