"""Search for replica pools of request classes, at the lowest cost or highest throughput."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import floor, inf, sqrt

from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan.cheapest_plans import decide, decide_surely
from fastcalc.features.plan.class_groups import Classes, ClassGroup, GridsFor, Grouping, Groups
from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.packing import bills
from fastcalc.features.plan.replica_options import ReplicaOption
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import Pools, ReplicaPool, Sharing, in_shared_nodes
from fastcalc.formulas.types import floats
from fastcalc.grid.grid import Grid

_FIRST, _LEAST = 1.0, 1e-4  # rates to try; throughput below the second counts as none [1/s]
_NEAR = 1.02  # of a rate: within it the next step is tried
_STEP = 1.0 + 1e-6
_SAME_COST = 1e-9  # relative difference up to which costs differ only by rounding
_ONE_KIND = 4
"""Number of chip types tried on their own if the cheapest pools use several."""


@dataclass(frozen=True, eq=False)
class PoolSearch:
    """A search for replica pools for request classes among the candidate deployments.

    may_share : Whether classes can share replicas; those of different models cannot.
    prefill_grids : The deployments of other chips that may prefill for a service.
    shown : The number of plans to report for a single class.
    """

    classes: Classes
    grids_for: GridsFor
    may_share: Callable[[Classes], bool] = lambda _: True
    prefill_grids: Sequence[Grid] = ()
    shown: int = 5

    @property
    def is_of_one_class(self) -> bool:
        """Whether there is a single request class, served by one pool."""
        return len(self.classes) == 1

    @cached_property
    def grids(self) -> Sequence[Grid]:
        """All deployments for the single class."""
        return self.grids_for(self.classes, Service(1.0, 1.0).of_classes(self.classes, None), None)

    def on_chips_of(self, decision: Decision) -> "PoolSearch":
        """Return the search, restricted to the chips on which a decision has a plan."""
        chips = {plan.scenario.hardware.id for plan in decision.of_each_chip}
        grids = [grid for grid in self.grids if grid.scenario.hardware.id in chips]
        return replace(self, grids_for=lambda *_: grids, shown=1)

    def most_on(self, service: Service, chips: float) -> Decision:
        """Find the deployments on the given chips with the highest throughput for one class."""
        fixed_chips = replace(service, rate=None, max_chips=chips)
        return decide(
            self.grids, fixed_chips.sized_to_limits, shown=self.shown, taking=self.prefill_grids
        )

    def sharing(self, decision: Decision) -> Sharing:
        """Build the pool of the single class, or return why no deployment serves it."""
        pools = (ReplicaPool(self.classes, decision),)
        return (
            Sharing(pools, pools, pools, ()) if decision.plans else Sharing((), None, None, pools)
        )

    def pools_for(self, service: Service) -> Sharing:
        """Find pools for a rate within a service's resource limits, or for the highest throughput.

        Formats are quantized below the request only if no other plan has any throughput. If the
        pools do not suffice, `needed` gives the resources that would. For a single class whose rate
        exceeds the limits, the result says why.

        service : Its rate is summed over classes, or None for the highest throughput. [1/s]
        """
        if self.is_of_one_class:
            return self.sharing(
                decide_surely(self.grids, service, shown=self.shown, taking=self.prefill_grids)
            )
        rate, service = service.rate, replace(service, is_fleet=False)
        for is_narrow in (False, True):
            groups = Groups(
                self.classes, self.grids_for, self.may_share, service, is_narrow=is_narrow
            )
            chosen = _cheapest(groups.groupings(rate), rate, service) if rate else None
            chosen = chosen or _most(groups, service, rate or inf)
            if chosen is not None and rate and chosen.rate > rate:  # by groups that were tried
                cheapest = _cheapest(groups.groupings(rate), rate, service)
                chosen = cheapest or replace(chosen, rate=rate)
            if chosen is not None:
                sharing = self._sharing(chosen, groups, service, rate or chosen.rate)
                return replace(sharing, on_one_chip=self._on_one_chip(chosen, groups, service))
        unserved = tuple(
            self._alone(request_class, service.without_means, rate or _FIRST)
            for request_class in self.classes
            if request_class not in groups.served
        )
        needed = {} if unserved else _needed(groups, rate or _LEAST, service)
        return Sharing((), None, None, unserved, needed)

    def _sharing(self, chosen: "_Chosen", groups: Groups, service: Service, rate: float) -> Sharing:
        """Build the chosen pools with alternatives, for a rate that they may not sustain."""
        groupings = groups.groupings(chosen.rate)

        def pools_of(count: int) -> Pools | None:
            same_count = [grouping for grouping in groupings if len(grouping) == count]
            cheapest = _cheapest(same_count, chosen.rate)  # whether or not the resources allow them
            return self._pools(cheapest, service.without_means) if cheapest else None

        is_short = rate > chosen.rate * _STEP
        return Sharing(
            pools=self._pools(chosen, service),
            shared_by_all=pools_of(1),
            one_each=pools_of(len(self.classes)),
            unserved=(),
            needed=_needed(groups, rate, service) if is_short else {},
        )

    def _on_one_chip(self, chosen: "_Chosen", groups: Groups, service: Service) -> Pools | None:
        """Find the cheapest pools on one chip type within limits, if the chosen pools use several.

        Searches the chips on which separate pools for the classes cost least.
        """
        if len({option.grid.scenario.hardware.id for _, option in chosen.pools}) == 1:
            return None
        cheapest: _Chosen | None = None
        for chip in groups.chips_of_all(chosen.rate)[:_ONE_KIND]:
            of_chip = Groups(
                self.classes,
                partial(self._grids_of, chip),
                self.may_share,
                service,
                is_narrow=groups.is_narrow,
            )
            pools = _cheapest(of_chip.groupings(chosen.rate), chosen.rate, service)
            cheapest = min(
                filter(None, (cheapest, pools)), key=lambda pools: pools.order, default=None
            )
        return None if cheapest is None else self._pools(cheapest, service)

    def _grids_of(
        self, chip: str, classes: Classes, service: Service, chips: frozenset[str] | None
    ) -> Sequence[Grid]:
        """Return the deployments for classes on one chip type."""
        is_asked = chips is None or chip in chips
        return self.grids_for(classes, service, frozenset({chip})) if is_asked else []

    def _pools(self, chosen: "_Chosen", service: Service) -> Pools:
        """Build the pools' plans, sized for their load. Pools share nodes of the same chip type."""
        pools = []
        for group, option in chosen.pools:
            at_rate = service.of_classes(group.classes, chosen.rate * group.share)
            grid = option.grid.part(batches=option.batches_to_try)
            decision = decide([grid], replace(at_rate, in_nodes=False), shown=1, prompt_pools=())
            pools.append(ReplicaPool(group.classes, replace(decision, service=at_rate)))
        return in_shared_nodes(pools)

    def _alone(self, request_class: RequestClass, service: Service, rate: float) -> ReplicaPool:
        """Find the deployments for one class."""
        at_rate = service.of_classes((request_class,), rate * request_class.share)
        grids = self.grids_for((request_class,), at_rate, None)
        return ReplicaPool((request_class,), decide(grids, at_rate, shown=1, prompt_pools=()))


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Groups of classes, each with its chosen replica option, at a rate."""

    pools: Sequence[tuple[ClassGroup, ReplicaOption]]
    rate: float

    @property
    def requests(self) -> float:
        """The highest throughput of all classes, per second."""
        return min(
            option.replicas(self.rate * group.share) * option.requests / group.share
            for group, option in self.pools
        )

    def amounts(self, service: Service) -> dict[str, float]:
        """Return the number of chips and, if limited, dollars per month and watts.

        Returns infinity if a chip's price or power is unknown.
        """
        total = dict.fromkeys(service.means, 0.0)
        for option, chips in self._chips.values():
            bill = bills(option.grid.scenario, service, floats(chips))
            amounts = {"chips": floats(chips), **bill}
            for name in total:
                total[name] += float(amounts.get(name, inf))
        return total

    @cached_property
    def _chips(self) -> dict[str, tuple[ReplicaOption, float]]:
        """The chips in the nodes that all pools on each chip type fill, and one option on it."""
        nodes = defaultdict[str, float](float)
        options = {option.chip: option for _, option in self.pools}
        for group, option in self.pools:
            nodes[option.chip] += option.filled(self.rate * group.share)
        return {chip: (option, option.chips(nodes[chip])) for chip, option in options.items()}

    def is_within(self, service: Service) -> bool:
        """Check whether a service's resource limits allow the pools."""
        amounts = self.amounts(service)
        return all(amount <= service.means[name] for name, amount in amounts.items())

    @property
    def order(self) -> tuple[float, float, int]:
        """The sort key: cost, then price if it is not the objective, then the number of pools."""
        amounts = self._chips.values()
        cost = sum(chips * option.cost_per_chip for option, chips in amounts)
        return cost, sum(chips * option.usd_per_chip for option, chips in amounts), len(self.pools)

    @property
    def least_cost(self) -> float:
        """The cost if other pools use the rest of the nodes."""
        return sum(option.cost_of_filled(self.rate * group.share) for group, option in self.pools)

    def least_throughput(self, group: ClassGroup, option: ReplicaOption, cost: float) -> float:
        """Return the throughput of an option's replicas below which all pools cost more. [1/s]"""
        rate = self.rate * group.share
        left = cost - self.least_cost + option.cost_of_filled(rate)
        if cost == inf or (replicas := floor(left / option.each + _SAME_COST)) < 1:
            return 0.0
        return rate / replicas / _STEP


def _cheapest(
    groupings: Sequence[Grouping], rate: float, service: Service | None = None
) -> _Chosen | None:
    """Find the cheapest pools for a rate, within the resource limits of a service if given.

    Percentiles are checked for the chosen options until all of them are. Once some pools are known
    to meet the limits, another option is checked only at the throughput that would make it cheaper.
    """
    least_cost = inf
    while True:
        chosen: _Chosen | None = None
        for grouping in groupings:
            options = [
                [_Chosen([(group, option)], rate) for option in group.least_on_chips(rate)]
                for group in grouping
            ]
            if all(options):
                chosen = _of_grouping(_Chosen((), rate), options, service, chosen)
        if chosen is None or all(option.is_checked for _, option in chosen.pools):
            return chosen
        checked = [
            (group, option if option.is_checked else group.check(option, above))
            for group, option in chosen.pools
            for above in [chosen.least_throughput(group, option, least_cost)]
        ]
        holding = [(group, option) for group, option in checked if option and option.is_checked]
        if len(holding) == len(checked):
            pools = replace(chosen, pools=holding)
            if service is None or pools.is_within(service):
                least_cost = min(least_cost, pools.order[0])


def _of_grouping(
    chosen: _Chosen,
    options: Sequence[Sequence[_Chosen]],
    service: Service | None,
    least: _Chosen | None,
) -> _Chosen | None:
    """Find the cheapest pools with the chosen options and one option for each remaining group.

    Replicas of several pools share the nodes of a chip type, so one chip type for all may cost less
    than the cheapest chip type of each pool. Adding pools never lowers cost or resource use, so
    branches are skipped if they exceed resource limits or cost no less than the best known pools.

    options : The options for each remaining group, ordered by their lowest cost.
    least : The best known pools.
    """
    if service is not None and not chosen.is_within(service):
        return least
    if least is not None and chosen.order >= least.order:
        return least
    if not options:
        return chosen
    rest = sum(group[0].least_cost for group in options[1:])
    for option in options[0]:
        cost = chosen.least_cost + option.least_cost + rest
        if least is not None and cost * (1.0 - _SAME_COST) > least.order[0]:
            break
        further = _Chosen([*chosen.pools, *option.pools], chosen.rate)
        least = _of_grouping(further, options[1:], service, least)
    return least


def _needed(groups: Groups, rate: float, service: Service) -> dict[str, float]:
    """Return the resources that the cheapest pools need for a rate, for each limit they exceed."""
    cheapest = _cheapest(groups.groupings(rate), rate)
    amounts = cheapest.amounts(service) if cheapest else {}
    return {name: value for name, value in amounts.items() if value > service.means[name]}


def _most(groups: Groups, service: Service, beyond: float) -> _Chosen | None:
    """Find the pools with the highest throughput within the resource limits of a service.

    The resources for a rate grow in steps of one replica. Pools sustain more than the rate they
    were found for, up to the next step. The search ends if nothing is found just above that.

    beyond : A rate that is too high. [1/s]
    """
    if not service.has_means:
        return None
    best, trial = None, min(_FIRST, beyond / 2.0)
    while trial > _LEAST:
        chosen = _cheapest(groups.groupings(trial), trial, service)
        if chosen is not None:
            best = chosen
        else:
            beyond = trial
        if best is None:
            trial /= 8.0
        elif best.requests * _STEP >= beyond:
            return replace(best, rate=best.requests / _STEP)
        elif beyond == inf:
            trial = best.requests * 2.0
        elif beyond < best.requests * _NEAR:
            trial = best.requests * _STEP
        else:
            trial = sqrt(best.requests * beyond)
    return None
