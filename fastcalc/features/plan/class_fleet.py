"""Classes of requests on chips that are owned, and on what is rented on top of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf

from fastcalc.core.estimate import site_power
from fastcalc.features.plan.class_search import ClassSearch
from fastcalc.features.plan.fleet import LIMITED
from fastcalc.features.plan.owned import Fleet, OwnedChips, fleet_of
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import Sharing
from fastcalc.formulas.sequences import sum_if_known


@dataclass(frozen=True, eq=False)
class OwnedForClasses(OwnedChips["ClassShare"]):
    """Chips of one kind that the user has, and what finds pools of them.

    Replicas of several pools fill a node, so all that runs is counted in nodes, and not each pool.
    """

    search: ClassSearch

    def shares(self, left: Service) -> "Iterator[ClassShare]":
        """Yield what they carry of what is left."""
        chips = self.runnable(left)
        alone = replace(left, budget=inf, max_chips=chips, objective="chips", in_nodes=False)
        yield ClassShare(self.search.carried(alone, left.rate), self, self.unit(left))


@dataclass(frozen=True)
class ClassShare:
    """What chips of one kind carry of the classes; rented ones are of any kind.

    sharing : their pools
    owned : what they are of; None where they are rented
    unit : owned chips that run together [1]
    """

    sharing: Sharing
    owned: OwnedForClasses | None = None
    unit: int = 1

    @property
    def requests(self) -> float:
        """Requests of the whole mix that they carry. [1/s]"""
        return self.sharing.rate

    @property
    def is_owned(self) -> bool:
        """Whether they are owned, or else rented."""
        return self.owned is not None

    @property
    def chips(self) -> float:
        """Chips of all its replicas. [1]"""
        return self.used("chips")

    @property
    def usd_per_month(self) -> float | None:
        """Price of the chips that run; None if unknown. [USD]"""
        return sum_if_known(pool.plan.usd_per_month for pool in self.sharing.pools)

    def used(self, name: str) -> float:
        """Return how much of a limit the pools take,."""
        plans = [pool.plan for pool in self.sharing.pools]
        if name == "power" and self.owned is not None:
            running = ceil(self.chips / self.unit) * self.unit
            return running * (site_power(self.owned.hardware) or 0.0)
        if name in LIMITED:
            return sum(plan.of_all_chips(LIMITED[name]) or 0.0 for plan in plans)
        return sum(plan.values[name] for plan in plans)


ClassFleet = Fleet[ClassShare]


def class_fleet(
    owned: Sequence[OwnedChips[ClassShare]], rented: ClassSearch, service: Service
) -> ClassFleet:
    """Return what owned chips carry of a mix, in their order, and the cheapest to rent on top.

    What does not carry the rate carries what it can.

    service : its rate is of the whole mix; None for the most that there is
    """
    return fleet_of(owned, lambda left: ClassShare(rented.carried(left, left.rate)), service)
