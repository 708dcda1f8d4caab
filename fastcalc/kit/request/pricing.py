"""Read the prices of a request: the user's own, their basis, and marketplaces to skip."""

from dataclasses import replace
from typing import TYPE_CHECKING, cast, get_args

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.schema.hardware import Terms
from fastcalc.catalogue.selection import named
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.pricing import USD_PER_KWH, YEARS, PriceBasis, Pricing
from fastcalc.errors import InputError
from fastcalc.kit.request import readers
from fastcalc.kit.request.groups import PriceBasisOnly, Prices
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven


def prices(request: Prices, entries: Catalogue) -> dict[str, float]:
    """Return the user's own prices by chip id, for any chip in the catalogue, in USD per hour."""
    pairs = readers.prices(request.price)
    return {entries.hardware(name).id: value for name, value in pairs}


def basis_of(request: PriceBasisOnly) -> Pricing:
    """Read the price basis: cloud prices and their terms, or ownership cost over several years."""
    basis = readers.choice(request.price_basis, option("price_basis"), get_args(PriceBasis))
    if request.offer is not None:
        readers.choice(request.offer, option("offer"), get_args(Terms))
        if basis == "tco":
            raise InputError(
                f"{option('offer', request.offer)} is for cloud prices, and "
                f"{option('price_basis', 'tco')} for ownership cost; remove one"
            )
    numbers = {"years": ("years", YEARS), "electricity": ("energy price", USD_PER_KWH)}
    for name, (dimension, usual) in numbers.items():
        if (value := request.values[name]) is not None:
            readers.number(value, option(name), LIMITS[dimension], usual)
            if basis == "cloud" and request.values.get("own") is None:
                raise InputError(
                    f"{option(name)} applies to owned chips; add {option('price_basis', 'tco')}"
                )
    return Pricing(
        cast(PriceBasis, basis),
        offer=cast(Terms | None, request.offer),
        years=YEARS if request.years is None else request.years,
        usd_per_kwh=USD_PER_KWH if request.electricity is None else request.electricity,
    )


def pricing_of(chips: list[Hardware], request: Prices, *, utilization: float) -> Pricing:
    """Build the chip-hour prices for the given chips."""
    fraction = readers.share(utilization, option("utilization"))
    usd_per_hour: dict[str, float] = {}
    for name, value in readers.prices(request.price):
        ids = [chip.id for chip in chips if name in (chip.id, *chip.aliases)]
        if not ids:
            compared = ", ".join(chip.id for chip in chips)
            raise InputError(
                f"{option('price')} names '{shown(name)}', which is not compared here; "
                f"{option('on')} has {compared}"
            )
        usd_per_hour[ids[0]] = value
    return replace(basis_of(request), utilization=fraction, user_prices=usd_per_hour)


def without_marketplaces(
    entries: Catalogue, on: "ChipsGiven", chips: list[Hardware], pricing: Pricing, notes: list[str]
) -> list[Hardware]:
    """Remove chips that are rented only on marketplaces, unless they were named, with a note."""
    chosen = named(entries, readers.names(on, option("on")))
    left_out = [
        chip.id for chip in chips if chip.id not in chosen and pricing.quote(chip).is_marketplace
    ]
    if not left_out or len(left_out) == len(chips):
        return chips
    notes.append(
        f"chips rented only on marketplaces are skipped: {', '.join(left_out)}; name them "
        f"with {option('on')}, or add {option('offer', 'marketplace')}"
    )
    return [chip for chip in chips if chip.id not in left_out]
