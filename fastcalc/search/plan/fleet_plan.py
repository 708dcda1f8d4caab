"""What owned chips carry, and what is rented on top of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

from fastcalc.catalogue.chip_defaults import completed
from fastcalc.catalogue.schema import Hardware
from fastcalc.core.placement.layout import HOST_CHIPS
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.search.plan.cheapest_plans import decide
from fastcalc.search.plan.decision import Decision, Plan
from fastcalc.search.plan.service import Service
from fastcalc.search.sweep.grid import Grid

Grids = Sequence[Grid]


_MOST_NODES = 8
"""Nodes up to which every division into deployments of whole nodes is tried; of more, few gain."""


@dataclass(frozen=True, eq=False)
class Owned:
    """Chips of one kind that the user has, and how they may be deployed."""

    hardware: Hardware
    chips: int
    grids: Grids
    _decisions: dict[tuple[Service, int], Decision] = field(default_factory=dict, repr=False)

    @property
    def node_chips(self) -> int:
        """Chips that are bought together: a node's, else those of a host or smaller domain. [1]"""
        if self.hardware.node_chips:
            return self.hardware.node_chips
        up = completed(self.hardware).links.scale_up
        domain = up.domain.si if up and up.domain else 1.0
        return int(min(HOST_CHIPS, domain))

    def carried(self, service: Service, chips: int) -> Decision:
        """Return the deployments of so many of them that carry the most requests."""
        if chips % self.node_chips:  # those that are there, if no whole nodes
            service = replace(service, in_nodes=False)
        if (service, chips) not in self._decisions:
            self._decisions[service, chips] = carried_by(self.grids, service, chips)
        return self._decisions[service, chips]

    def requests(self, service: Service, chips: int) -> float:
        """Return the most requests that one deployment of so many of them carries. [1/s]"""
        plans = self.carried(service, chips).plans
        return plans[0].requests if plans else 0.0

    def divided(self, service: Service, chips: int) -> list[int]:
        """Return the chips of each deployment, where several of whole nodes carry more than one."""
        nodes, left = divmod(chips, self.node_chips)
        if not 2 <= nodes <= _MOST_NODES:
            return [chips]
        divisions: list[tuple[float, list[int]]] = [(0.0, [])]
        for count in range(1, nodes + 1):
            options = []
            for first in range(count, 0, -1):
                before, parts = divisions[count - first]
                size = first * self.node_chips + (left if first == count == nodes else 0)
                options.append((before + self.requests(service, size), [size, *parts]))
            # As much of fewer deployments is better: those come first.
            divisions.append(
                max(options, key=lambda option: option[0] * (1.0 - 1e-9 * len(option[1])))
            )
        parts = sorted(divisions[nodes][1], reverse=True)
        parts[0] += chips - sum(parts)
        return parts


@dataclass(frozen=True)
class Share:
    """What chips of one kind do in a fleet.

    requests : that the first is to carry [1/s]
    owned : what they are of; None where they are rented
    chips : those that are owned [1]
    """

    decision: Decision
    requests: float
    owned: Owned | None = None
    chips: int = 0

    @property
    def plan(self) -> Plan | None:
        """The deployment taken."""
        return next(iter(self.decision.plans), None)

    @property
    def chips_left(self) -> float:
        """Owned chips that nothing runs on. [1]"""
        used = self.plan.values["chips"] - self.plan.idle_chips if self.owned and self.plan else 0.0
        return self.chips - used

    def used(self, name: str) -> float:
        """Return how much of a limit it takes: of dollars, what all owned chips cost, used or not.

        Only what is rented counts as chips.
        """
        if self.plan is None or (self.owned and name == "chips"):
            return 0.0
        if self.owned and name == "budget":
            usd = self.plan.scenario.pricing.per_chip_hour(self.owned.hardware) or 0.0
            return usd * HOURS_PER_MONTH * self.chips
        return self.plan.values[name]


@dataclass(frozen=True)
class FleetPlan:
    """A fleet for a service: the share of each kind of owned chip, and of rented ones on top."""

    service: Service
    shares: tuple[Share, ...]

    @property
    def requests(self) -> float:
        """Requests that all of it carries. [1/s]"""
        return sum(share.requests for share in self.shares)

    @cached_property
    def with_next_node(self) -> dict[str, float]:
        """Requests that all of it carries with one more node of an owned chip, by its id. [1/s]"""
        unlimited = replace(self.service, budget=inf, rate=None, max_chips=inf)
        kinds = {share.owned.hardware.id: share.owned for share in self.shares if share.owned}
        totals = {}
        for chip, owned in kinds.items():
            chips = owned.chips + owned.node_chips
            carried = sum(
                owned.requests(unlimited, part) for part in owned.divided(unlimited, chips)
            )
            unchanged = (
                share.requests
                for share in self.shares
                if share.owned is None or share.owned.hardware.id != chip
            )
            totals[chip] = carried + sum(unchanged)
        return totals

    @property
    def rents(self) -> bool:
        """Whether chips may be rented: for a rate, or for what a budget or a power leaves."""
        has_owned = any(share.owned for share in self.shares)
        has_means = self.service.budget < inf or (self.service.power < inf and not has_owned)
        return self.service.rate is not None or has_means

    def used(self, name: str) -> float:
        """Return how much of a limit it takes, or its longest time."""
        used = [share.used(name) for share in self.shares]
        return max(used) if name in ("ttft", "tpot") else sum(used)

    @property
    def is_enough(self) -> bool:
        """Whether something runs, and carries the rate where one is asked for."""
        rate = self.service.rate
        return self.requests > 0.0 if rate is None else self.requests >= rate * (1.0 - 1e-9)


def carried_by(grids: Grids, service: Service, chips: float, *, shown: int = 5) -> Decision:
    """Return the deployments of so many chips that carry the most requests."""
    fixed_chips = replace(service, rate=None, is_fleet=True, max_chips=chips)
    return decide(grids, fixed_chips, shown=shown)


def fleet_plan(
    owned: Sequence[Owned], rented: Callable[[], Grids] | Grids, service: Service, *, shown: int = 5
) -> FleetPlan:
    """Return what owned chips carry, in their order, and the cheapest to rent for what is left.

    Without a rate all of them carry what they can; what a budget or a power leaves is rented, too.

    rented : the deployments of chips that may be rented, or what returns them
    service : ``max_chips`` are those rented; ``budget`` and ``power`` are of all
    """
    shares: list[Share] = []
    left = service
    for part in owned:
        for share in _shares_of(part, left, shown):
            shares.append(share)
            left = less(left, share)
        if left.rate == 0.0:
            return FleetPlan(service, tuple(shares))
    if FleetPlan(service, tuple(shares)).rents and left.budget > 0.0 and left.power > 0.0:
        grids = rented() if callable(rented) else rented
        if left.rate is None:
            decision = carried_by(grids, left, left.max_chips, shown=shown)
            requests = decision.plans[0].requests if decision.plans else 0.0
        else:
            decision = decide(grids, left, shown=shown)
            requests = left.rate if decision.plans else 0.0
        for name in decision.relaxed.keys() & {"budget", "power"}:  # which owned chips take, too
            decision.relaxed[name] += getattr(service, name) - getattr(left, name)
        shares.append(Share(decision, requests))
    return FleetPlan(service, tuple(shares))


def _shares_of(part: Owned, left: Service, shown: int) -> Iterator[Share]:
    """Yield what owned chips carry of what is left: on the fewest chips where they carry all."""
    unlimited = replace(left, budget=inf, rate=None, max_chips=inf)
    if left.rate is not None and part.requests(unlimited, part.chips) >= left.rate:
        is_whole = part.chips % part.node_chips == 0
        fewest = replace(left, budget=inf, max_chips=part.chips, objective="chips")
        fewest = replace(fewest, in_nodes=fewest.in_nodes and is_whole)
        yield Share(decide(part.grids, fewest, shown=shown), left.rate, part, part.chips)
        return
    rate = inf if left.rate is None else left.rate
    for chips in part.divided(unlimited, part.chips):
        carried = min(part.requests(unlimited, chips), rate)
        yield Share(part.carried(unlimited, chips), carried, part, chips)
        rate -= carried


def less(service: Service, share: Share) -> Service:
    """Return what is left of a rate, a budget and a power: all owned chips cost, used or not."""
    limits = {
        name: max(limit - share.used(name), 0.0)
        for name, limit in service.means.items()
        if limit < inf
    }
    rate = None if service.rate is None else max(service.rate - share.requests, 0.0)
    return replace(service.limited(limits), rate=rate)
