"""Which classes of requests may share replicas, and the ways to deploy these."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan.cheapest_plans import held_throughput
from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import partitions
from fastcalc.features.plan.ways import CostBound, Way, ways, worth
from fastcalc.grid.grid import Grid

Classes = tuple[RequestClass, ...]
GridsFor = Callable[[Classes, Service, frozenset[str] | None], Sequence[Grid]]
"""Returns the deployments for classes with a service, on some chips or, for None, on all."""


@dataclass(frozen=True, eq=False)
class ClassGroup:
    """Classes that share replicas, their share of all requests, and the ways to deploy one.

    every_way, bounds : of each layout of the chips that were searched
    service : of these classes
    """

    classes: Classes
    share: float
    every_way: list[Way]
    bounds: Sequence[CostBound]
    service: Service

    def check(self, way: Way) -> None:
        """Lower what a way carries to where percentiles are within their limits; 0 drops it."""
        place = self.every_way.index(way)
        requests = held_throughput(way.grid, self.service, way.requests)
        checked = replace(way, requests=requests, is_checked=True)
        self.every_way[place : place + 1] = [checked] if requests else []
        for kept in ("_ways", "ways_of_chips"):
            self.__dict__.pop(kept, None)

    def cheapest(self, rate: float) -> Way:
        """Return the way whose replicas carry so many requests of all classes at the least cost.

        Of equal ones that on the fewest chips, and of those that of the smallest batch.
        """
        at_rate = rate * self.share
        return min(self._ways, key=lambda way: (way.cost(at_rate), way.chips(at_rate), way.batch))

    def cost(self, rate: float) -> float:
        """Return the least cost of so many requests of all classes."""
        return self.cheapest(rate).cost(rate * self.share)

    def least_costs(self, rate: float) -> dict[str, float]:
        """Return what so many requests of all classes cost at least, by chip."""
        costs: dict[str, float] = {}
        for bound in self.bounds:
            cost = bound.least_cost(rate * self.share)
            costs[bound.chip] = min(cost, costs.get(bound.chip, inf))
        return costs

    def costs_on_chips(self, rate: float) -> dict[str, float]:
        """Return the least cost of so many requests of all classes on each kind of chip."""
        costs: dict[str, float] = {}
        for way in self.every_way:
            chip = way.grid.scenario.hardware.id
            costs[chip] = min(way.cost(rate * self.share), costs.get(chip, inf))
        return costs

    @cached_property
    def _ways(self) -> Sequence[Way]:
        return worth(self.every_way)

    @cached_property
    def ways_of_chips(self) -> list[Way]:
        """Ways of which no other on the same kind of chip takes as few and carries as much."""
        kept: dict[str, list[Way]] = {}
        for way in sorted(self.every_way, key=lambda way: (way.each_chips, -way.requests)):
            fewer = kept.setdefault(way.grid.scenario.hardware.id, [])
            if not fewer or way.requests > fewer[-1].requests:
                fewer.append(way)
        return [way for ways_of_chip in kept.values() for way in ways_of_chip]


Option = Sequence[ClassGroup]
"""Groups of classes, of which each class is in one."""


class Groups:
    """The groups of some classes, by the bits of their places, as rates ask for them.

    may_share : whether classes can share replicas, as those of two models cannot
    is_narrow : whether in fewer bits than were asked for, too
    """

    def __init__(
        self,
        classes: Classes,
        grids_for: GridsFor,
        may_share: Callable[[Classes], bool],
        service: Service,
        *,
        is_narrow: bool,
    ) -> None:
        self._classes = tuple(sorted(classes, key=lambda kind: kind.prompt))
        self._grids_for, self._may_share = grids_for, may_share
        self._service, self.is_narrow = service, is_narrow
        cost_limit = {"usd": "budget", "watts": "power", "chips": "chips"}[service.objective]
        self._has_means = any(
            limit < inf for name, limit in service.means.items() if name != cost_limit
        )
        self._count = len(classes)
        self._options = list(partitions(self._count))
        self._groups: dict[int, ClassGroup] = {}
        self._searched: dict[int, frozenset[str]] = {}
        for place in range(len(classes)):
            self._search(1 << place, None)

    @property
    def served(self) -> set[RequestClass]:
        """Classes that some deployment serves alone."""
        groups = (group for group in self._groups.values() if group.every_way)
        return {kind for group in groups for kind in group.classes}

    def chips_of_all(self, rate: float) -> list[str]:
        """Return the chips that serve each class alone, those first on which all cost the least."""
        alone = [self._groups[1 << place].costs_on_chips(rate) for place in range(self._count)]
        chips = set(alone[0]).intersection(*alone[1:])
        return sorted(chips, key=lambda chip: (sum(costs[chip] for costs in alone), chip))

    def options(self, rate: float) -> list[Option]:
        """Return how classes may be grouped at a rate, on the chips that may be worth it there.

        Replicas that several share take the time of each of them, and so cost at least what each
        alone does on that chip without limits on times. (With its limits it may cost more alone:
        others' tokens lower the mean time between tokens.) Where all of them apart cost no more, on
        any chips, that chip is left out; but for the one that would cost the least.
        """
        costs: dict[int, float] = {}
        for members in sorted({members for option in self._options for members in option}):
            apart = min(
                (
                    costs[part] + costs[members ^ part]
                    for part in costs
                    if part & members == part and members ^ part in costs
                ),
                default=inf,
            )
            if members.bit_count() > 1 and self._can_share(members):
                self._search_shared(members, rate, apart)
            group = self._groups.get(members)
            costs[members] = min(apart, group.cost(rate) if group and group.every_way else inf)
        return [
            [self._groups[members] for members in option]
            for option in self._options
            if all(
                members in self._groups and self._groups[members].every_way for members in option
            )
        ]

    def _can_share(self, members: int) -> bool:
        return self._may_share(self._classes_of(members)) and all(
            single in self._groups for single in _singles(members)
        )

    def _classes_of(self, members: int) -> Classes:
        return tuple(self._classes[single.bit_length() - 1] for single in _singles(members))

    def _search_shared(self, members: int, rate: float, apart: float) -> None:
        """Search the chips on which a group may cost less than so much, which it does apart."""
        alone = [self._groups[single].least_costs(rate) for single in _singles(members)]
        least = {
            chip: max(costs[chip] for costs in alone)
            for chip in set(alone[0]).intersection(*alone[1:])
        }
        # Where something else than the cost is limited, dearer chips may be all that do.
        chips = {chip for chip, cost in least.items() if cost < apart or self._has_means}
        chips |= {min(least, key=lambda chip: least[chip])} if least else set()
        if new := frozenset(chips - self._searched.get(members, frozenset())):
            self._search(members, new)

    def _search(self, members: int, chips: frozenset[str] | None) -> None:
        """Add the ways of a group on some chips or, for None, on all."""
        classes = self._classes_of(members)
        share = sum(kind.share for kind in classes)
        at_share = self._service.of_classes(classes, share)
        grids = self._grids_for(classes, at_share, chips)
        if not self.is_narrow:
            decision = Decision(at_share)
            grids = [grid for grid in grids if decision.may_lead_in(grid.scenario)]
        every_way, bounds = ways(grids, at_share)
        if (before := self._groups.get(members)) is not None:
            every_way, bounds = [*before.every_way, *every_way], [*before.bounds, *bounds]
        if every_way:
            self._groups[members] = ClassGroup(classes, share, every_way, bounds, at_share)
        self._searched[members] = self._searched.get(members, frozenset()) | (chips or frozenset())


def _singles(members: int) -> list[int]:
    """Return the bit of each member."""
    return [1 << place for place in range(members.bit_length()) if members >> place & 1]
