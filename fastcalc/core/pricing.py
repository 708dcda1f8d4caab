"""What an hour of a chip costs: a cloud's dated price, or ownership over some years."""

from dataclasses import dataclass, field
from typing import Literal

from fastcalc.catalogue.schema import Hardware, Quantity
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

    basis : ``cloud``: the dated rent, on demand; ``tco``: purchase over four years, and power
    utilization : share of the hours paid for in which the machine serves [1]
    user_prices : a user's own prices by hardware id [USD/h]
    """

    basis: PriceBasis = "cloud"
    utilization: float = 1.0
    user_prices: dict[str, float] = field(default_factory=dict)

    def per_chip_hour(self, hardware: Hardware) -> float | None:
        """Return the price of an hour of one chip; None if unknown. [USD/h]"""
        if hardware.id in self.user_prices:
            return self.user_prices[hardware.id]
        price = hardware.price
        if self.basis == "cloud":
            return price.rent.si if price.rent else None
        watts = site_power(hardware)
        if price.purchase is None or watts is None:
            return None
        return float(
            ownership_per_hour(
                purchase=price.purchase.si,
                years=YEARS,
                power=watts,
                site_factor=1.0,
                energy_price=USD_PER_KWH,
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
        return hardware.price.rent if self.basis == "cloud" else hardware.price.purchase

    def provider(self, hardware: Hardware) -> str | None:
        """Return the cloud whose offer the price is; None where it is no single cloud's."""
        is_rent = self.basis == "cloud" and hardware.id not in self.user_prices
        offer = hardware.price.offer if is_rent else None
        return offer.provider if offer else None
