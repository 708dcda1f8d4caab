"""Chips that are owned, and whether a fleet of them and of rented ones is within its limits."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor, inf
from typing import Generic, Protocol, Self, TypeVar

from fastcalc.catalogue.chip_defaults import completed
from fastcalc.catalogue.schema import Hardware
from fastcalc.core.estimate import site_power
from fastcalc.core.placement.layout import HOST_CHIPS
from fastcalc.features.plan.service import Service
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.sequences import sum_if_known

_ROUNDING = 1e-9  # of a limit or a chip, so that what just meets it does


class AnyShare(Protocol):
    """What some chips of a fleet do."""

    @property
    def requests(self) -> float:
        """Requests that they carry. [1/s]"""

    @property
    def is_owned(self) -> bool:
        """Whether they are owned, or else rented."""

    @property
    def usd_per_month(self) -> float | None:
        """Price of the chips that run, None if unknown. [USD]"""

    def used(self, name: str) -> float:
        """Return how much of a limit the chips that run take."""


ShareT = TypeVar("ShareT", bound=AnyShare)


@dataclass(frozen=True, eq=False)
class OwnedChips(ABC, Generic[ShareT]):
    """Chips of one kind that the user has.

    usd_per_hour : what owning one costs; None if unknown [USD/h]
    """

    hardware: Hardware
    chips: int
    usd_per_hour: float | None

    @abstractmethod
    def shares(self, left: Service) -> Iterator[ShareT]:
        """Yield what they carry of what is left of a rate, within what is left of a power."""

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
        """Return the same with some nodes more, or chips where they are owned singly."""
        return replace(self, chips=self.chips + nodes * self.unit(service))

    def unit(self, service: Service) -> int:
        """Return how many come and run together: a node's, where all are in whole nodes. [1]"""
        node_chips = (service.in_nodes and self.hardware.node_chips) or 1
        return 1 if self.chips % node_chips else node_chips

    def runnable(self, service: Service) -> int:
        """Return how many of them a power lets run. [1]"""
        watts = site_power(self.hardware)
        if service.power == inf or watts is None:
            return self.chips
        units = floor(service.power / (watts * self.unit(service)) + _ROUNDING)
        return min(units * self.unit(service), self.chips)


@dataclass(frozen=True)
class Fleet(Generic[ShareT]):
    """A fleet for a service: the shares of each kind of owned chips, and of rented ones on top.

    service : ``max_chips`` are those rented; ``budget`` and ``power`` are of all
    """

    service: Service
    owned: Sequence[OwnedChips[ShareT]]
    shares: tuple[ShareT, ...]

    @property
    def requests(self) -> float:
        """Requests that all of it carries. [1/s]"""
        return sum(share.requests for share in self.shares)

    @property
    def rents(self) -> bool:
        """Whether chips may be rented: for a rate, or for what a budget or a power leaves."""
        service = self.service
        has_means = min(service.budget, service.max_chips) < inf
        has_means |= service.power < inf and not self.owned
        return service.rate is not None or has_means

    def used(self, name: str) -> float:
        """Return how much of a limit it takes, or its longest time.

        Of dollars, what all owned chips cost, used or not; of chips, those that are rented.
        """
        if name in ("ttft", "tpot"):
            return max(share.used(name) for share in self.shares)
        counted = (share for share in self.shares if name == "power" or not share.is_owned)
        owned = [kind.usd_per_month or 0.0 for kind in self.owned if name == "budget"]
        return sum(owned) + sum(share.used(name) for share in counted)

    @property
    def usd_per_month(self) -> float | None:
        """What all of it costs, owned chips whether used or not; None if unknown. [USD]"""
        rented = [share.usd_per_month for share in self.shares if not share.is_owned]
        return sum_if_known([*(kind.usd_per_month for kind in self.owned), *rented])

    @property
    def is_within(self) -> bool:
        """Whether it takes no more than its means."""
        limits = self.service.means.items()
        return all(self.used(name) <= limit * (1.0 + _ROUNDING) for name, limit in limits)

    @property
    def carries_all(self) -> bool:
        """Whether something runs, and carries the rate where one is asked for."""
        return self.requests > 0.0 and self.requests >= (self.service.rate or 0.0) * (
            1.0 - _ROUNDING
        )

    @property
    def is_enough(self) -> bool:
        """Whether it does what is asked, within its means."""
        return self.carries_all and self.is_within

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


def fleet_of(
    owned: Sequence[OwnedChips[ShareT]],
    rented: Callable[[Service], ShareT],
    service: Service,
) -> Fleet[ShareT]:
    """Return what owned chips carry, in their order, and what is rented for what is left.

    Without a rate all of them carry what they can; what a budget or a power leaves is rented, too.

    rented : returns what is rented within what is left
    """
    fleet: Fleet[ShareT] = Fleet(service, owned, ())
    for kind in owned:
        if (left := fleet.left).rate != 0.0:
            fleet = replace(fleet, shares=(*fleet.shares, *kind.shares(left)))
    left = fleet.left
    if fleet.rents and left.rate != 0.0 and left.budget > 0.0 and left.power > 0.0:
        fleet = replace(fleet, shares=(*fleet.shares, rented(left)))
    return fleet
