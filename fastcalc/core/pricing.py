"""Price per chip-hour: a dated rental price with its terms, or the ownership cost."""

from dataclasses import dataclass, field
from typing import Literal

from fastcalc.catalogue.schema import Hardware, Quantity
from fastcalc.catalogue.schema.hardware import Offer, Terms
from fastcalc.core.estimate import site_power
from fastcalc.formulas.money import ownership_per_hour

PriceBasis = Literal["cloud", "tco"]

YEARS = 4.0
"""The default depreciation period of an owned chip. [years]"""

USD_PER_KWH = 0.08
"""The default electricity price for ownership costs."""


@dataclass(frozen=True)
class Quote:
    """A price per chip-hour, together with the offer that it comes from.

    usd_per_hour : The price, or None if unknown, in USD per hour.
    terms : The terms of the offer, or ``given`` (by the user), ``ownership``, or ``unstated`` (in
        the file); None if there is no price.
    origin : The catalogue quantity, or None for a user's price.
    offer : The catalogue offer, or None if there is none.
    price_of : The entry that contains the price if the chip's file inherits it, otherwise None.
    is_asked : Whether the user requested these terms.
    """

    usd_per_hour: float | None
    terms: str | None = None
    origin: Quantity | None = None
    offer: Offer | None = None
    price_of: str | None = None
    is_asked: bool = False

    @property
    def date(self) -> str | None:
        """When the price was published: a day, a month or only a year."""
        return self.origin.date if self.origin else None

    @property
    def confidence(self) -> str | None:
        """How reliable the source of the price is, if the file says so."""
        return self.origin.confidence if self.origin else None

    @property
    def provider(self) -> str | None:
        """The cloud provider that makes the offer."""
        return self.offer.provider if self.offer else None

    @property
    def region(self) -> str | None:
        """The region of the offer."""
        return self.offer.region if self.offer else None

    @property
    def commitment_months(self) -> int | None:
        """The commitment of a reserved offer. [months]"""
        return self.offer.commitment_months if self.offer else None

    @property
    def is_substitute(self) -> bool:
        """Whether a price with other terms is used because there is no on-demand price."""
        return self.offer is not None and self.terms != "on-demand" and not self.is_asked

    @property
    def is_marketplace(self) -> bool:
        """Whether the price is only offered on a marketplace, by private owners."""
        return self.terms == "marketplace" and self.is_substitute

    @property
    def is_uncertain(self) -> bool:
        """Whether tables should mark the price with a question mark."""
        is_low = self.confidence in ("low", "memory")
        has_price = self.usd_per_hour is not None
        return has_price and (is_low or self.is_substitute or self.price_of is not None)


@dataclass(frozen=True)
class Pricing:
    """Settings that determine which price of a chip is used, and how much of it is idle time.

    basis : ``cloud`` for the dated rental price, ``tco`` for depreciation and electricity.
    utilization : The fraction of paid hours during which the machine serves requests.
    user_prices : The user's own prices by hardware id, in USD per hour.
    offer : The required rental terms. None means on-demand or, if there is no such offer, the next
        of ``DEFAULT_TERMS``.
    years, usd_per_kwh : The depreciation period of owned chips [1], and the price of electricity.
        [USD]
    """

    basis: PriceBasis = "cloud"
    utilization: float = 1.0
    user_prices: dict[str, float] = field(default_factory=dict)
    offer: Terms | None = None
    years: float = YEARS
    usd_per_kwh: float = USD_PER_KWH

    @property
    def name(self) -> str:
        """The name of the price basis in tables and records, for example ``reserved``."""
        return self.offer or self.basis

    def per_chip_hour(self, hardware: Hardware) -> float | None:
        """Compute what one chip costs per hour of use in USD, or None if no price is known."""
        return self.quote(hardware).usd_per_hour

    def quote(self, hardware: Hardware) -> Quote:
        """Look up the price of a chip and the offer that it comes from."""
        if hardware.id in self.user_prices:
            return Quote(self.user_prices[hardware.id], "given")
        price, node = hardware.chip_price, hardware.node.price if hardware.node else None
        is_of_node = node and (node.purchase if self.basis == "tco" else node.rent)
        price_of = hardware.inherited.get("node" if is_of_node else "price")
        if self.basis == "tco":
            watts = site_power(hardware)
            if price.purchase is None or watts is None:
                return Quote(None, None, price.purchase, price_of=price_of)
            usd = ownership_per_hour(
                purchase=price.purchase.si,
                years=self.years,
                power=watts,
                site_factor=1.0,
                energy_price=self.usd_per_kwh,
            )
            return Quote(float(usd), "ownership", price.purchase, price_of=price_of)
        offer = price.offered(self.offer) if self.offer else price.offer
        if offer:
            is_asked = self.offer is not None
            return Quote(offer.price.si, offer.terms, offer.price, offer, price_of, is_asked)
        if price.cloud and not self.offer:
            return Quote(price.cloud.si, "unstated", price.cloud, price_of=price_of)
        return Quote(None)

    def as_rented(self, hardware: Hardware) -> Hardware:
        """Limit a chip's link domain to the instance to which its price applies.

        Owned chips, and chips priced by the user, keep the domain given in their file.
        """
        offer = self.quote(hardware).offer
        return hardware if offer is None else hardware.joined(offer.instance_chips)
