"""Groups of request classes that may share replicas, and their replica options."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.percentile_checks import held_throughput
from fastcalc.features.plan.replica_options import CostBound, ReplicaOption, find_replica_options
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import partitions
from fastcalc.grid.grid import Grid

Classes = tuple[RequestClass, ...]
GridsFor = Callable[[Classes, Service, frozenset[str] | None], Sequence[Grid]]
"""Function that returns the deployments for classes on the given chips, or on all if None."""


@dataclass(frozen=True, eq=False)
class ClassGroup:
    """Classes that share replicas, their fraction of all requests, and their replica options.

    replica_options, bounds : The options, and cost bounds for each layout on the chips searched.
    service : What these classes require.
    """

    classes: Classes
    share: float
    replica_options: list[ReplicaOption]
    bounds: Sequence[CostBound]
    service: Service

    def check(self, option: ReplicaOption, above: float = 0.0) -> ReplicaOption | None:
        """Reduce an option's throughput until the percentiles meet their limits.

        An option that is left with no throughput is dropped.

        above : The throughput below which the option is of no interest and not checked. [1/s]
        """
        index = self.replica_options.index(option)
        above = above if above < option.requests else 0.0
        grid = option.grid.part(batches=option.batches_to_try)
        requests = held_throughput(grid, self.service, option.searched_requests, above)
        checked = replace(option, requests=requests, is_checked=requests > above)
        self.replica_options[index : index + 1] = [checked] if requests else []
        self.__dict__.pop("options_of_chips", None)
        return checked if requests else None

    def least_on_chips(self, rate: float) -> list[ReplicaOption]:
        """Return the option on each chip type with the fewest nodes at a rate, sorted by cost.

        Among equal options, it has the smallest batch.
        """
        at_rate, least = rate * self.share, dict[str, ReplicaOption]()
        for option in sorted(
            self.options_of_chips, key=lambda option: (option.filled(at_rate), option.batch)
        ):
            least.setdefault(option.chip, option)
        return sorted(least.values(), key=lambda option: option.cost_of_filled(at_rate))

    def costs_on_chips(self, rate: float) -> dict[str, float]:
        """Return the lowest cost of a rate of all classes by chip type, in dedicated nodes."""
        options = self.least_on_chips(rate)
        return {option.chip: option.cost(rate * self.share) for option in options}

    def least_costs(self, rate: float) -> dict[str, tuple[float, float]]:
        """Return lower bounds on the cost of a rate, by chip: in shared and in dedicated nodes."""
        costs: dict[str, tuple[float, float]] = {}
        for bound in self.bounds:
            cost = bound.least_cost(rate * self.share)
            costs[bound.chip] = min(cost, costs.get(bound.chip, cost))
        return costs

    @cached_property
    def options_of_chips(self) -> list[ReplicaOption]:
        """The Pareto-optimal options on each chip type, by chips and throughput."""
        options_by_chip: dict[str, list[ReplicaOption]] = {}
        for option in sorted(
            self.replica_options, key=lambda option: (option.each_chips, -option.requests)
        ):
            fewer = options_by_chip.setdefault(option.chip, [])
            if not fewer or option.requests > fewer[-1].requests:
                fewer.append(option)
        return [
            option for options_of_chip in options_by_chip.values() for option in options_of_chip
        ]


Grouping = Sequence[ClassGroup]
"""Groups that contain each class exactly once."""


class Groups:
    """Groups of request classes, identified by a bit mask of class indices and searched on demand.

    may_share : Whether classes can share replicas; those of different models cannot.
    is_narrow : Whether formats quantized below the request count as well.
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
        self._classes = tuple(sorted(classes, key=lambda request_class: request_class.prompt))
        self._grids_for, self._may_share = grids_for, may_share
        self._service, self.is_narrow = service, is_narrow
        cost_limit = {"usd": "budget", "watts": "power", "chips": "chips"}[service.objective]
        self._has_means = any(
            limit < inf for name, limit in service.means.items() if name != cost_limit
        )
        self._count = len(classes)
        self._groupings = list(partitions(self._count))
        self._groups: dict[int, ClassGroup] = {}
        self._searched: dict[int, frozenset[str]] = {}
        for index in range(len(classes)):
            self._search(1 << index, None)

    @property
    def served(self) -> set[RequestClass]:
        """The classes that some deployment can serve alone."""
        groups = (group for group in self._groups.values() if group.replica_options)
        return {request_class for group in groups for request_class in group.classes}

    def chips_of_all(self, rate: float) -> list[str]:
        """Return the chips that can serve each class alone, by the total cost of all classes."""
        alone = [self._groups[1 << index].costs_on_chips(rate) for index in range(self._count)]
        chips = set(alone[0]).intersection(*alone[1:])
        return sorted(chips, key=lambda chip: (sum(costs[chip] for costs in alone), chip))

    def groupings(self, rate: float) -> list[Grouping]:
        """Return candidate groupings of classes at a rate, on chips where they may be cheapest.

        Shared replicas need the time of every class, so they cost at least as much as each class
        alone on that chip without latency limits. (With limits, a class may cost more alone, since
        the tokens of other classes lower the mean TPOT.) If separate pools in dedicated nodes cost
        no more on any chips, the chip is skipped, except the one that would cost the least. A chip
        is also skipped if one node costs more than all classes cost on other chips.
        """
        costs: dict[int, float] = {}
        apart = sum(self._cost(1 << index, rate) for index in range(self._count))
        for members in sorted({members for grouping in self._groupings for members in grouping}):
            cost_without_sharing = min(
                (
                    costs[part] + costs[members ^ part]
                    for part in costs
                    if part & members == part and members ^ part in costs
                ),
                default=inf,
            )
            can_share = all(single in self._groups for single in _singles(members))
            if members.bit_count() > 1 and can_share and self._may_share(self._classes_of(members)):
                self._search_shared(members, rate, cost_without_sharing, apart)
            costs[members] = min(cost_without_sharing, self._cost(members, rate))
        return [
            [self._groups[members] for members in grouping]
            for grouping in self._groupings
            if all(
                members in self._groups and self._groups[members].replica_options
                for members in grouping
            )
        ]

    def _cost(self, members: int, rate: float) -> float:
        """Return the lowest cost of a searched group in dedicated nodes, or else infinity."""
        group = self._groups.get(members)
        return min(group.costs_on_chips(rate).values(), default=inf) if group else inf

    def _classes_of(self, members: int) -> Classes:
        return tuple(self._classes[single.bit_length() - 1] for single in _singles(members))

    def _search_shared(
        self, members: int, rate: float, cost_without_sharing: float, cost_of_all: float
    ) -> None:
        """Search the chips on which a shared pool may cost less than separate pools.

        cost_without_sharing, cost_of_all : The cost without sharing, of its classes and of all
            classes.
        """
        alone = [self._groups[single].least_costs(rate) for single in _singles(members)]
        least_costs = {
            chip: max(costs[chip] for costs in alone)
            for chip in set(alone[0]).intersection(*alone[1:])
        }
        # If other resources are limited too, only more expensive chips may suffice.
        chips = {
            chip
            for chip, (cost, cost_in_nodes) in least_costs.items()
            if (cost < cost_without_sharing and cost_in_nodes < cost_of_all) or self._has_means
        }
        if least_costs:
            chips.add(min(least_costs, key=lambda chip: (least_costs[chip], chip)))
        if new := frozenset(chips - self._searched.get(members, frozenset())):
            self._search(members, new)

    def _search(self, members: int, chips: frozenset[str] | None) -> None:
        """Add a group's replica options on the given chips, or on all chips if None."""
        classes = self._classes_of(members)
        share = sum(request_class.share for request_class in classes)
        at_share = self._service.of_classes(classes, share)
        grids = self._grids_for(classes, at_share, chips)
        if not self.is_narrow:
            decision = Decision(at_share)
            grids = [grid for grid in grids if decision.may_lead_in(grid.scenario)]
        replica_options, bounds = find_replica_options(grids, at_share)
        if (before := self._groups.get(members)) is not None:
            replica_options, bounds = (
                [*before.replica_options, *replica_options],
                [*before.bounds, *bounds],
            )
        if replica_options:
            self._groups[members] = ClassGroup(classes, share, replica_options, bounds, at_share)
        self._searched[members] = self._searched.get(members, frozenset()) | (chips or frozenset())


def _singles(members: int) -> list[int]:
    """Split the bit mask of a group into the bits of its members."""
    return [1 << index for index in range(members.bit_length()) if members >> index & 1]
