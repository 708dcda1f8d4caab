"""What an hour of a chip costs: a cloud's dated price, or ownership over some years."""

from dataclasses import dataclass, field
from typing import Literal

from fastcalc.catalogue.schema import Hardware, Quantity
from fastcalc.catalogue.schema.hardware import Offer, Terms
from fastcalc.core.estimate import site_power
from fastcalc.formulas.money import ownership_per_hour

PriceBasis = Literal["cloud", "tco"]


YEARS = 4.0
"""Years over which an owned chip is written off."""


USD_PER_KWH = 0.08
"""Price of electricity in the cost of ownership."""


@dataclass(frozen=True)
class Pricing:
    """How an hour of a chip is priced.

    basis : ``cloud``: the dated rent, on demand; ``tco``: purchase over some years, and power
    utilization : share of the hours paid for in which the machine serves [1]
    user_prices : a user's own prices by hardware id [USD/h]
    offer : terms on which clouds rent it; None for the rent that the file takes
    years, usd_per_kwh : over which an owned chip is written off [1], price of electricity [USD]
    """

    basis: PriceBasis = "cloud"
    utilization: float = 1.0
    user_prices: dict[str, float] = field(default_factory=dict)
    offer: Terms | None = None
    years: float = YEARS
    usd_per_kwh: float = USD_PER_KWH

    @property
    def name(self) -> str:
        """What it is a price of, in a word: a cloud's, ownership's, or that of some terms."""
        return self.offer or self.basis

    def per_chip_hour(self, hardware: Hardware) -> float | None:
        """Return the price of an hour of one chip; None if unknown. [USD/h]"""
        if hardware.id in self.user_prices:
            return self.user_prices[hardware.id]
        price, watts = self.origin(hardware), site_power(hardware)
        if price is not None and self.basis == "cloud":
            return price.si
        if price is None or watts is None:
            return None
        return float(
            ownership_per_hour(
                purchase=price.si,
                years=self.years,
                power=watts,
                site_factor=1.0,
                energy_price=self.usd_per_kwh,
            )
        )

    def includes_power(self, hardware: Hardware) -> bool:
        """Whether the price of a chip has its electricity in it."""
        is_owned = self.basis == "tco" and hardware.id not in self.user_prices
        return is_owned and self.per_chip_hour(hardware) is not None

    def origin(self, hardware: Hardware) -> Quantity | None:
        """Return the catalogue number that the price rests on; None for a user's own."""
        if hardware.id in self.user_prices:
            return None
        if self.basis == "tco":
            return hardware.chip_price.purchase
        if offer := self._offer(hardware):
            return offer.price
        return hardware.chip_price.cloud if self.offer in (None, "on-demand") else None

    def provider(self, hardware: Hardware) -> str | None:
        """Return the cloud whose offer the price is; None where it is no single cloud's."""
        is_rent = self.basis == "cloud" and hardware.id not in self.user_prices
        offer = self._offer(hardware) if is_rent else None
        return offer.provider if offer else None

    def _offer(self, hardware: Hardware) -> Offer | None:
        price = hardware.chip_price
        return price.offered(self.offer) if self.offer else price.offer
