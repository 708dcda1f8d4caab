"""HW06x: power, area, transistors, price and age."""

from collections.abc import Iterator

from fastcalc.catalogue.faults import Fault
from fastcalc.lint.document import Sheet
from fastcalc.lint.rule import HARDWARE, Setting, rule
from fastcalc.lint.silicon import GB, by_year, tiers
from fastcalc.lint.words import amount, ratio

_WATTS = {"wafer": (5e3, 60e3), "apple": (5, 600), "soc": (5, 600), "cpu": (15, 1000)}


@rule(
    "HW061",
    "warning",
    "power that no such chip draws",
    kinds=HARDWARE,
    why="Watts set joules a token and the price of ownership.",
    seen="A node's 10.2 kW as one GPU's; 23 W for a 23 kW wafer.",
    mend="Write one chip's maximum, in W or kW.",
)
def power_of_its_kind(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find power outside the band of a kind."""
    power = sheet.numbers.get("power.chip")
    low, high = _WATTS.get(sheet.word("kind"), (15, 2600))
    if power and not low <= power.si <= high:
        message = f"{power.text} is outside {low:,.0f} to {high:,.0f} W of such chips: of one chip?"
        yield sheet.fault("HW061", power, message)


@rule(
    "HW062",
    "warning",
    "power with the site's share is not above the chip's",
    kinds=HARDWARE,
    why="all_in adds server, network and cooling: 1.2 to 3.5 times the chip.",
    seen="The two fields swapped.",
    mend="Swap them, or leave all_in out.",
)
def all_in_is_more(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare power with and without the site's share."""
    chip, whole = sheet.numbers.get("power.chip"), sheet.numbers.get("power.all_in")
    if chip and whole and not 1.0 <= whole.si / chip.si <= 4.0:
        message = (
            f"{whole.text} is {ratio(whole.si / chip.si)} times the chip's {chip.text}; 1 to 4"
        )
        yield sheet.fault("HW062", whole, message)


@rule(
    "HW063",
    "warning",
    "area that no chip has",
    kinds=HARDWARE,
    why="A reticle exposes at most 858 mm2; a package has a few such dies, a wafer 46,225 mm2.",
    seen="Area in cm2 under a heading of mm2.",
    mend="Write the silicon of one chip in mm2.",
)
def area_of_its_kind(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find area outside the band of a kind."""
    area = sheet.numbers.get("area")
    low, high = (20e-3, 50e-3) if sheet.word("kind") == "wafer" else (60e-6, 3600e-6)
    if area and not low <= area.si <= high:
        message = f"{area.text} is outside {amount(low, 'area')} to {amount(high, 'area')}"
        yield sheet.fault("HW063", area, message)


# Transistors a mm2 that processes of a year reach, as sold.
_DENSITY = ((2019, 45e6), (2021, 150e6), (2023, 180e6), (2100, 320e6))


@rule(
    "HW064",
    "warning",
    "transistors against area",
    kinds=HARDWARE,
    why="A process has a density; twice that is two dies' transistors on one die's area.",
    seen="208 billion transistors of a B200 (two dies) over the 814 mm2 of one.",
    mend="Count transistors and area of the same silicon.",
)
def transistors_per_area(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the density with that of processes of the year."""
    count, area = sheet.numbers.get("transistors"), sheet.si("area")
    if not count or not area:
        return
    found, most = count.si / (area * 1e6), by_year(_DENSITY, sheet.year)
    if not 10e6 <= found <= most:
        message = (
            f"{count.si:,.0f} on {area * 1e6:,.0f} mm2 is {found / 1e6:,.0f} million a mm2; "
            f"10 to {most / 1e6:,.0f} were made by then"
        )
        yield sheet.fault("HW064", count, message)


@rule(
    "HW065",
    "warning",
    "watts against area",
    kinds=HARDWARE,
    why="Silicon sheds up to 1.6 W a mm2; beyond that the watts are of more chips than the area.",
    seen="A module's 1,400 W over one die's area.",
    mend="Write watts and area of the same thing.",
)
def watts_per_area(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare power with area."""
    power, area = sheet.numbers.get("power.chip"), sheet.si("area")
    if power and area and not 0.02 <= power.si / (area * 1e6) <= 1.6:
        message = f"{power.text} on {area * 1e6:,.0f} mm2 is {power.si / area / 1e6:.2g} W a mm2"
        yield sheet.fault("HW065", power, f"{message}; chips have 0.02 to 1.6")


_HOURLY = {"wafer": (5, 500), "gpu": (0.05, 30), "tpu": (0.3, 20), "npu": (0.2, 20)}
_PURCHASE = {"wafer": (3e5, 6e6), "gpu": (100, 120_000), "apple": (400, 15_000)}


@rule(
    "HW066",
    "warning",
    "a price that no such chip has",
    kinds=HARDWARE,
    why="Clouds price machines of eight: eight times one chip's price is eight times the $/Mtok.",
    seen="55 USD/h for 'a B200': the eight-GPU machine.",
    mend="Divide by the chips of the machine; write USD/h for rent and USD for purchase.",
)
def price_of_its_kind(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find prices outside the band of a kind."""
    kind = sheet.word("kind")
    for name, bands in (("cloud", _HOURLY), ("purchase", _PURCHASE)):
        price = sheet.numbers.get(f"price.{name}")
        low, high = bands.get(kind, (0.01, 500) if name == "cloud" else (50, 6e6))
        if price and not low <= price.si <= high:
            message = f"{price.text} is outside {low:,g} to {high:,g} of such chips: of one chip?"
            yield sheet.fault("HW066", price, message)


@rule(
    "HW067",
    "warning",
    "rent against purchase",
    kinds=HARDWARE,
    why="Rent pays a chip back in two months to six years; otherwise one of the two is wrong.",
    seen="A rack's three million beside one GPU's rent.",
    mend="Write both of one chip.",
)
def rent_against_purchase(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare hours that pay a chip back with those of the market."""
    rent, price = sheet.numbers.get("price.cloud"), sheet.numbers.get("price.purchase")
    if not rent or not price or not rent.si:
        return
    hours = price.si / rent.si
    if not 1200 <= hours <= 55_000:
        message = (
            f"{price.text} is {hours:,.0f} hours of {rent.text}; chips are paid back in 1,200 to "
            "55,000: both of one chip?"
        )
        yield sheet.fault("HW067", price, message)


# USD a gigabyte of whole boards.
_PER_GB = {"hbm": (40, 700), "gddr": (45, 400)}


@rule(
    "HW068",
    "warning",
    "price against memory",
    kinds=HARDWARE,
    why="Boards cost 45 to 700 dollars a gigabyte; else one of the two is another board's.",
    seen="A 24 GB card with the 48 GB of its professional sister.",
    mend="Write price and capacity of the same board.",
)
def price_per_gigabyte(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the price with the capacity."""
    price = sheet.numbers.get("price.purchase")
    for tier in tiers(sheet)[:1]:
        band = _PER_GB.get(tier.family)
        if price and band and tier.capacity:
            found = price.si / (tier.capacity.si / GB)
            if not band[0] <= found <= band[1]:
                message = (
                    f"{tier.capacity.text} for {price.text} is {found:,.0f} USD a gigabyte; boards "
                    f"with such memory cost {band[0]} to {band[1]}"
                )
                yield sheet.fault("HW068", tier.capacity, message)


@rule(
    "HW069",
    "warning",
    "released in a year that cannot be",
    kinds=HARDWARE,
    why="Years decide what memory, adapters and densities are plausible.",
    seen="'released: 2202'.",
    mend="Write the year of the first sale; mark what is not on sale 'hypothetical: true'.",
)
def year_is_plausible(sheet: Sheet, setting: Setting) -> Iterator[Fault]:
    """Find years before accelerators or in the far future."""
    year = sheet.year
    latest = setting.today.year + (15 if sheet.at("hypothetical") is True else 2)
    if year is not None and not 2012 <= year <= latest:
        yield sheet.fault("HW069", ("released",), f"{year} is outside 2012 to {latest}")
