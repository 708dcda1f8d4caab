"""What owned chips carry, and what is rented on top of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from fastcalc.core.estimate import site_power
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.fleet import LIMITED
from fastcalc.features.plan.owned import Fleet, OwnedChips, fleet_of
from fastcalc.features.plan.service import Service
from fastcalc.grid.grid import Grid

Grids = Sequence[Grid]


_MOST_NODES = 8
"""Nodes up to which every division into deployments of whole nodes is tried; of more, few gain."""


@dataclass(frozen=True, eq=False)
class Owned(OwnedChips["Share"]):
    """Chips of one kind that the user has, and how they may be deployed."""

    grids: Grids
    _decisions: dict[tuple[Service, int], Decision] = field(default_factory=dict, repr=False)

    def carried(self, service: Service, chips: int) -> Decision:
        """Return the deployments of so many of them that carry the most requests."""
        if chips % self.node_chips:  # those that are there, if no whole nodes
            service = replace(service, in_nodes=False)
        if (service, chips) not in self._decisions:
            self._decisions[service, chips] = carried_by(self.grids, service, chips)
        return self._decisions[service, chips]

    def requests(self, service: Service, chips: int, total: int | None = None) -> float:
        """Return the most requests that one deployment of so many of them carries. [1/s]

        In fewer bits than were asked for only where all that run hold the model in no others.

        total : that run; those of this deployment if left out
        """
        whole = self.carried(service, total or chips)
        is_any = not any(map(whole.may_lead, whole.plans))
        decision = self.carried(service, chips)
        plans = (plan for plan in decision.in_order if is_any or decision.may_lead(plan))
        return max((plan.requests for plan in plans), default=0.0)

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
                options.append((before + self.requests(service, size, chips), [size, *parts]))
            # As much of fewer deployments is better: those come first.
            divisions.append(
                max(options, key=lambda option: option[0] * (1.0 - 1e-9 * len(option[1])))
            )
        parts = sorted(divisions[nodes][1], reverse=True)
        parts[0] += chips - sum(parts)
        return parts

    def shares(self, left: Service) -> "Iterator[Share]":
        """Yield what they carry of what is left: on the fewest where they carry all."""
        chips, has_power = self.runnable(left), site_power(self.hardware) is not None
        if not chips:
            yield Share(self.carried(replace(left, budget=inf), self.chips), 0.0, self, self.chips)
            return
        unlimited = replace(left, budget=inf, power=inf if has_power else left.power)
        alone = replace(unlimited, rate=None, max_chips=inf)
        if left.rate is not None and self.requests(alone, chips) >= left.rate:
            is_whole = chips % self.node_chips == 0
            fewest = replace(unlimited, max_chips=chips, objective="chips")
            fewest = replace(fewest, in_nodes=fewest.in_nodes and is_whole)
            yield Share(decide(self.grids, fewest), left.rate, self, self.chips)
            return
        rate, parts = inf if left.rate is None else left.rate, self.divided(alone, chips)
        idle = self.chips - chips
        for part in parts:
            requests = min(self.requests(alone, part, chips), rate)
            yield Share(self.carried(alone, part), requests, self, part + idle)
            rate, idle = rate - requests, 0


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
    def is_owned(self) -> bool:
        """Whether they are owned, or else rented."""
        return self.owned is not None

    @property
    def plan(self) -> Plan | None:
        """The deployment taken."""
        return next(iter(self.decision.plans), None)

    @property
    def chips_left(self) -> float:
        """Owned chips that nothing runs on. [1]"""
        used = self.plan.values["chips"] - self.plan.idle_chips if self.owned and self.plan else 0.0
        return self.chips - used

    @property
    def usd_per_month(self) -> float | None:
        """Price of the chips that run; None if unknown. [USD]"""
        return self.plan.usd_per_month if self.plan else 0.0

    def used(self, name: str) -> float:
        """Return how much of a limit it takes, or its time."""
        if self.plan is None:
            return 0.0
        if name in LIMITED:
            return self.plan.of_all_chips(LIMITED[name]) or 0.0
        return self.plan.values[name]


FleetPlan = Fleet[Share]


def with_next_node(fleet: FleetPlan) -> dict[str, float]:
    """Return requests of a fleet with one more node of an owned chip, by its id. [1/s]

    Where a power holds that node, and what is rented stays; in as few bits as all that are owned.
    Of chips that are owned singly with one more.
    """
    rented = tuple(share for share in fleet.shares if not share.is_owned)
    service, totals = replace(fleet.service, budget=inf, max_chips=inf, rate=None), {}
    in_use = [share for share in fleet.shares if share.is_owned and share.plan]
    if not any(share.decision.may_lead(share.plan) for share in in_use if share.plan):
        service = replace(service, any_weights=True, any_cache=True)
    for kind in fleet.owned:
        owned = [part.with_nodes(1, service) if part is kind else part for part in fleet.owned]
        alone = fleet_plan(owned, (), service)
        with_rented = replace(alone, shares=(*alone.shares, *rented))
        if with_rented.used("power") <= service.power:
            totals[kind.hardware.id] = with_rented.requests
    return totals


def carried_by(grids: Grids, service: Service, chips: float, *, shown: int = 5) -> Decision:
    """Return the deployments of so many chips that carry the most requests."""
    fixed_chips = replace(service, rate=None, max_chips=chips)
    return decide(grids, fixed_chips.sized_to_limits, shown=shown)


def fleet_plan(
    owned: Sequence[OwnedChips[Share]],
    rented: Callable[[], Grids] | Grids,
    service: Service,
    *,
    shown: int = 5,
) -> FleetPlan:
    """Return what owned chips carry, in their order, and the cheapest to rent for what is left.

    rented : the deployments of chips that may be rented, or what returns them
    """

    def rent(left: Service) -> Share:
        grids = rented() if callable(rented) else rented
        decision, requests = decide(grids, left.sized_to_limits, shown=shown), 0.0
        if decision.plans:
            requests = decision.plans[0].requests if left.rate is None else left.rate
        for name in decision.relaxed.keys() & {"budget", "power"}:  # which owned chips take, too
            decision.relaxed[name] += getattr(service, name) - getattr(left, name)
        return Share(decision, requests)

    return fleet_of(owned, rent, service)
