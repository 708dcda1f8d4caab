"""Which pools of replicas classes of requests have: at the least cost, or for the most requests."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt

from fastcalc.core.request_class import RequestClass
from fastcalc.formulas.types import floats
from fastcalc.search.plan.cheapest_plans import decide
from fastcalc.search.plan.decision import Decision
from fastcalc.search.plan.fleet import bills
from fastcalc.search.plan.service import Service
from fastcalc.search.plan.sharing import Pools, ReplicaPool, Sharing, partitions
from fastcalc.search.plan.ways import Way, ways
from fastcalc.search.sweep.grid import Grid

_FIRST, _LEAST = 1.0, 1e-4  # rates that are tried; what carries less carries nothing [1/s]
_NEAR = 1.02  # of a rate: within it the next step is tried
_STEP = 1.0 + 1e-6
_WORTH = 2.0  # times the least cost of a class, up to which a chip may serve it with others

Classes = tuple[RequestClass, ...]
GridsFor = Callable[[Classes, Service, frozenset[str] | None], Sequence[Grid]]
"""Returns the deployments for classes with a service, on some chips or, for None, on all."""


@dataclass(frozen=True, eq=False)
class ClassSearch:
    """What is searched for classes of requests.

    may_share : whether classes can share replicas, as those of two models cannot
    """

    classes: Classes
    grids_for: GridsFor
    may_share: Callable[[Classes], bool] = lambda _: True

    def carried(self, service: Service, rate: float | None) -> Sharing:
        """Return the pools for a rate within the means of a service, or for the most that they can.

        In fewer bits than were asked for only where they carry nothing otherwise. Where they are
        not enough, `needed` is what would be.

        rate : of all classes; None for the most that there is [1/s]
        """
        for is_narrow in (False, True):
            groups = self._groups(service, is_narrow=is_narrow)
            options = [
                [groups[members] for members in option]
                for option in partitions(len(self.classes))
                if all(members in groups for members in option)
            ]
            chosen = _cheapest(options, rate, service) if rate else None
            chosen = chosen or _most(options, service, rate or inf)
            if chosen is not None:
                return self._sharing(chosen, options, service, rate or chosen.rate)
        served = {kind for group in groups.values() for kind in group.classes}
        unserved = tuple(
            self._alone(kind, _without_means(service), rate or _FIRST)
            for kind in self.classes
            if kind not in served
        )
        needed = {} if unserved else _needed(options, rate or _LEAST, service)
        return Sharing((), None, None, unserved, needed)

    def _groups(self, service: Service, *, is_narrow: bool) -> "dict[int, _Group]":
        """Return the classes that may share replicas, and how, by the bits of their places.

        Several do on chips on which a replica or a request of each of them alone costs up to twice
        what it does at least.
        """
        kinds = sorted(self.classes, key=lambda kind: kind.prompt)
        member_sets = {members for option in partitions(len(kinds)) for members in option}
        groups: dict[int, _Group] = {}
        for members in sorted(member_sets, key=int.bit_count):
            singles = [1 << place for place in range(len(kinds)) if members >> place & 1]
            classes = tuple(kinds[single.bit_length() - 1] for single in singles)
            chips = None
            if len(classes) > 1:
                if not self.may_share(classes) or not all(single in groups for single in singles):
                    continue
                chips = frozenset.intersection(*(groups[single].chips for single in singles))
            share = sum(kind.share for kind in classes)
            at_share = service.of_classes(classes, share)
            grids = self.grids_for(classes, at_share, chips)
            if not is_narrow:
                decision = Decision(at_share)
                grids = [grid for grid in grids if decision.may_lead_in(grid.scenario)]
            if found_ways := ways(grids, at_share):
                groups[members] = _Group(classes, share, found_ways)
        return groups

    def _sharing(
        self, chosen: "_Chosen", options: "Sequence[Option]", service: Service, rate: float
    ) -> Sharing:
        """Return what was chosen with what there is besides, for a rate that it may not carry."""

        def pools_of(groups: int) -> Pools | None:
            alike = [option for option in options if len(option) == groups]
            cheapest = _cheapest(alike, chosen.rate)  # whether or not the means allow them
            return self._pools(cheapest, _without_means(service)) if cheapest else None

        is_short = rate > chosen.rate * _STEP
        return Sharing(
            pools=self._pools(chosen, service),
            shared_by_all=pools_of(1),
            one_each=pools_of(len(self.classes)),
            unserved=(),
            needed=_needed(options, rate, service) if is_short else {},
        )

    def _pools(self, chosen: "_Chosen", service: Service) -> Pools:
        """Return the plans of pools, at what they are to carry."""
        pools = []
        for group, way in chosen.pools:
            at_rate = service.of_classes(group.classes, chosen.rate * group.share)
            pools.append(
                ReplicaPool(group.classes, decide([way.grid], at_rate, shown=1, prompt_pools=()))
            )
        return tuple(pools)

    def _alone(self, kind: RequestClass, service: Service, rate: float) -> ReplicaPool:
        """Return the deployments for one class."""
        at_rate = service.of_classes((kind,), rate * kind.share)
        grids = self.grids_for((kind,), at_rate, None)
        return ReplicaPool((kind,), decide(grids, at_rate, shown=1, prompt_pools=()))


@dataclass(frozen=True, eq=False)
class _Group:
    """Classes that share replicas, their share of all requests, and the ways to deploy one."""

    classes: Classes
    share: float
    ways: Sequence[Way]

    def cheapest(self, rate: float) -> Way:
        """Return the way whose replicas carry so many requests of all classes at the least cost."""
        return min(self.ways, key=lambda way: way.cost(rate * self.share))

    @cached_property
    def chips(self) -> frozenset[str]:
        """The kinds of chips that are worth a try for more classes: by replica or by request."""
        node = min(way.each for way in self.ways)
        request = min(way.each / way.requests for way in self.ways)
        return frozenset(
            way.grid.scenario.hardware.id
            for way in self.ways
            if way.each <= _WORTH * node or way.each / way.requests <= _WORTH * request
        )


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Groups of classes, each with the way that its replicas are deployed, at a rate."""

    pools: Sequence[tuple[_Group, Way]]
    rate: float

    @property
    def requests(self) -> float:
        """Requests of all classes that the replicas carry at most. [1/s]"""
        return min(
            way.replicas(self.rate * group.share) * way.requests / group.share
            for group, way in self.pools
        )

    def amounts(self, service: Service) -> dict[str, float]:
        """Return the chips and, where those are limited, dollars a month and watts."""
        total: Counter[str] = Counter()
        for group, way in self.pools:
            chips = way.chips(self.rate * group.share)
            limited = bills(way.grid.scenario, service, floats(chips))
            total.update({"chips": chips} | {name: float(value) for name, value in limited.items()})
        return dict(total)

    @property
    def order(self) -> tuple[float, int]:
        """What it costs, and then how many pools there are."""
        costs = (way.cost(self.rate * group.share) for group, way in self.pools)
        return sum(costs), len(self.pools)


Option = Sequence[_Group]
"""Groups of classes, of which each class is in one."""


def _cheapest(
    options: Sequence[Option], rate: float, service: Service | None = None
) -> _Chosen | None:
    """Return the pools of least cost for a rate, within the means of a service if there is one."""
    chosen = [
        _Chosen([(group, group.cheapest(rate)) for group in option], rate) for option in options
    ]
    if service is not None:
        chosen = [
            pools
            for pools in chosen
            if all(amount <= service.means[name] for name, amount in pools.amounts(service).items())
        ]
    return min(chosen, key=lambda pools: pools.order, default=None)


def _needed(options: Sequence[Option], rate: float, service: Service) -> dict[str, float]:
    """Return what the cheapest pools for a rate take, of the means that do not allow it."""
    cheapest = _cheapest(options, rate)
    amounts = cheapest.amounts(service) if cheapest else {}
    return {name: value for name, value in amounts.items() if value > service.means[name]}


def _without_means(service: Service) -> Service:
    return replace(service, max_chips=inf, budget=inf, power=inf)


def _most(options: Sequence[Option], service: Service, beyond: float) -> _Chosen | None:
    """Return the pools that carry the most within the means of a service, at that rate.

    What a rate takes grows with it in steps, of a replica each. Pools carry more than the rate that
    they were found for, up to a step; the most is carried where nothing is found just above that.

    beyond : a rate that is too much [1/s]
    """
    if min(service.means.values()) == inf:
        return None
    carried, trial = None, min(_FIRST, beyond / 2.0)
    while trial > _LEAST:
        chosen = _cheapest(options, trial, service)
        if chosen is not None:
            carried = chosen
        else:
            beyond = trial
        if carried is None:
            trial /= 8.0
        elif carried.requests * _STEP >= beyond:
            return replace(carried, rate=carried.requests / _STEP)
        elif beyond == inf:
            trial = carried.requests * 2.0
        elif beyond < carried.requests * _NEAR:
            trial = carried.requests * _STEP
        else:
            trial = sqrt(carried.requests * beyond)
    return None
