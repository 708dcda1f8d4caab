"""Classes of requests on chips that are owned, and on what is rented on top of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from fastcalc.catalogue.schema import Hardware
from fastcalc.core.estimate import site_power
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.search.plan.class_search import ClassSearch
from fastcalc.search.plan.service import Service
from fastcalc.search.plan.sharing import Sharing


@dataclass(frozen=True, eq=False)
class OwnedChips:
    """Chips of one kind that the user has.

    usd_per_hour : what owning one costs; None if unknown [USD/h]
    search : finds pools of them
    """

    hardware: Hardware
    chips: int
    usd_per_hour: float | None
    search: ClassSearch


@dataclass(frozen=True)
class ClassShare:
    """What chips of one kind carry of the classes; rented ones are of any kind.

    sharing : their pools
    owned : what they are of; None where they are rented
    """

    sharing: Sharing
    owned: OwnedChips | None = None

    @property
    def requests(self) -> float:
        """Requests of the whole mix that they carry. [1/s]"""
        return self.sharing.rate

    @property
    def chips(self) -> float:
        """Chips of all its replicas. [1]"""
        return sum(pool.chips for pool in self.sharing.pools)

    @property
    def used_by_owned(self) -> dict[str, float]:
        """Dollars of a month of all owned chips, used or not, and watts of those that serve."""
        if (owned := self.owned) is None:
            return {}
        return {
            "budget": (owned.usd_per_hour or 0.0) * HOURS_PER_MONTH * owned.chips,
            "power": (site_power(owned.hardware) or 0.0) * self.chips,
        }


@dataclass(frozen=True)
class ClassFleet:
    """A fleet for classes of requests: the share of each kind of owned chip, and rented ones."""

    rate: float | None
    shares: tuple[ClassShare, ...]

    @property
    def requests(self) -> float:
        """Requests of the whole mix that all of it carries. [1/s]"""
        return sum(share.requests for share in self.shares)

    @property
    def is_enough(self) -> bool:
        """Whether something runs, and carries the rate where one is asked for."""
        return self.requests > 0.0 and self.requests >= (self.rate or 0.0) * (1.0 - 1e-9)


def class_fleet(
    owned: Sequence[OwnedChips], rented: ClassSearch, service: Service, rate: float | None
) -> ClassFleet:
    """Return what owned chips carry of a mix, in their order, and the cheapest to rent on top.

    What does not carry the rate carries what it can.

    service : ``max_chips`` are those rented; ``budget`` and ``power`` are of all
    rate : of the whole mix; None for the most that there is [1/s]
    """
    shares: list[ClassShare] = []
    left, rate_left = service, rate
    for kind in owned:
        alone = replace(left, budget=inf, max_chips=kind.chips, objective="chips", in_nodes=False)
        share = ClassShare(kind.search.carried(alone, rate_left), kind)
        shares.append(share)
        left = _less(left, share)
        rate_left = None if rate_left is None else rate_left - share.requests
        if rate_left is not None and rate_left <= (rate or 0.0) * 1e-9:
            return ClassFleet(rate, tuple(shares))
    has_means = left.budget < inf or (left.power < inf and not owned)
    if (rate is not None or has_means) and left.budget > 0.0 and left.power > 0.0:
        shares.append(ClassShare(rented.carried(left, rate_left)))
    return ClassFleet(rate, tuple(shares))


def _less(service: Service, share: ClassShare) -> Service:
    """Return what is left of a budget and a power."""
    used = share.used_by_owned
    means = {name: max(getattr(service, name) - amount, 0.0) for name, amount in used.items()}
    return service.limited(means)
