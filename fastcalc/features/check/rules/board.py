"""HW06x: power, area, transistors, price and age."""

from statistics import median

from fastcalc.features.check.document import Sheet, WrittenNumber
from fastcalc.features.check.rule import Findings, RuleContext, rule
from fastcalc.features.check.silicon import GB, band, by_year, main_tier, tiers
from fastcalc.features.check.words import amount, ratio


@rule("HW061")
def power_of_its_kind(sheet: Sheet, _: RuleContext) -> Findings:
    """Power outside the range for this type of chip."""
    power = sheet.numbers.get("power.chip")
    low, high = band("watts", sheet.word("kind"))
    if power and not low <= power.si <= high:
        message = (
            f"{power.text} is outside {low:,.0f} to {high:,.0f} W of such chips; is it for one?"
        )
        yield power, message


@rule("HW062")
def all_in_is_more(sheet: Sheet, _: RuleContext) -> Findings:
    """All-in power that does not exceed the chip's own power."""
    chip, all_in = sheet.numbers.get("power.chip"), sheet.numbers.get("power.all_in")
    if chip and all_in and not 1.0 <= all_in.si / chip.si <= 4.0:
        times = ratio(all_in.si / chip.si)
        message = f"{all_in.text} is {times} times the chip's {chip.text}; 1 to 4 times is usual"
        yield all_in, message


@rule("HW063")
def area_of_its_kind(sheet: Sheet, _: RuleContext) -> Findings:
    """Area outside the range for chips."""
    area = sheet.numbers.get("area")
    low, high = band("silicon", sheet.word("kind"))
    if area and not low <= area.si <= high:
        yield area, f"{area.text} is outside {amount(low, 'area')} to {amount(high, 'area')}"


@rule("HW064")
def transistors_per_area(sheet: Sheet, _: RuleContext) -> Findings:
    """Implausible number of transistors per area."""
    count, area = sheet.numbers.get("transistors"), sheet.si("area")
    if not count or not area:
        return
    density, densest = count.si / (area * 1e6), by_year("density", sheet.year)
    if not 10e6 <= density <= densest:
        has = f"{count.si:,.0f} on {area * 1e6:,.0f} mm2 is {density / 1e6:,.0f} million per mm2"
        yield count, f"{has}; chips made by then have 10 to {densest / 1e6:,.0f}"


@rule("HW065")
def watts_per_area(sheet: Sheet, _: RuleContext) -> Findings:
    """Implausible power per area."""
    power, area = sheet.numbers.get("power.chip"), sheet.si("area")
    if power and area and not 0.02 <= power.si / (area * 1e6) <= 1.6:
        message = f"{power.text} on {area * 1e6:,.0f} mm2 is {power.si / area / 1e6:.2g} W per mm2"
        yield power, f"{message}; known chips have 0.02 to 1.6"


@rule("HW066")
def price_of_its_kind(sheet: Sheet, _: RuleContext) -> Findings:
    """A price outside the range for this type of chip."""
    node_chips = sheet.numbers.get("node.chips") or sheet.numbers.get("links.scale_up.domain")
    for name, dimension in (("cloud", "hourly price"), ("purchase", "price")):
        low, high = band(name, sheet.word("kind"))
        for price in (number for number in sheet.numbers.values() if number.dimension == dimension):
            chips = node_chips.si if node_chips and price.path[0] == "node" else 1.0
            if low <= price.si / chips <= high:
                continue
            message = f"{price.text} is outside {low:,g} to {high:,g} of such chips; is it for one?"
            yield price, message


@rule("HW067")
def rent_against_purchase(sheet: Sheet, _: RuleContext) -> Findings:
    """Implausible ratio of purchase price to hourly price."""
    price = sheet.numbers.get("price.purchase")
    for rent in sheet.numbers.values():
        if rent.dimension != "hourly price" or rent.path[0] == "node":
            continue
        hours = price.si / rent.si if price and rent.si else 0
        if price and hours and not 1500 <= hours <= 55_000:
            has = f"{price.text} is {hours:,.0f} hours of {rent.text}"
            yield price, f"{has}; known chips cost 1,500 to 55,000; are both prices for one chip?"


@rule("HW068")
def price_per_gigabyte(sheet: Sheet, _: RuleContext) -> Findings:
    """Implausible price per GB of memory."""
    price = sheet.numbers.get("price.purchase")
    for tier in tiers(sheet)[:1]:
        if price and tier.family in ("hbm", "gddr") and tier.capacity:
            low, high = band("price_per_gigabyte", tier.family)
            per_gigabyte = price.si / (tier.capacity.si / GB)
            if not low <= per_gigabyte <= high:
                message = (
                    f"{tier.capacity.text} for {price.text} is {per_gigabyte:,.0f} USD per GB; "
                )
                yield tier.capacity, f"{message}boards with such memory cost {low} to {high}"


@rule("HW069")
def year_is_plausible(sheet: Sheet, setting: RuleContext) -> Findings:
    """Impossible release year."""
    year = sheet.year
    latest = setting.today.year + (15 if sheet.at("hypothetical") is True else 2)
    if year is not None and not 2012 <= year <= latest:
        yield ("released",), f"{year} is outside 2012 to {latest}"


def _rents(sheet: Sheet) -> list[tuple[WrittenNumber, str, str]]:
    """Return the hourly prices with provider and terms. Survey prices have no provider."""
    cloud = sheet.numbers.get("price.cloud")
    rents = [(cloud, "", "on-demand")] if cloud else []
    for index in range(len(sheet.items("price", "offers"))):
        rent = sheet.numbers.get(f"price.offers[{index}].price")
        terms = sheet.word("price", "offers", index, "terms") or "on-demand"
        if rent:
            rents.append((rent, sheet.word("price", "offers", index, "provider"), terms))
    return rents


@rule("HW070")
def spot_is_cheaper(sheet: Sheet, _: RuleContext) -> Findings:
    """A spot or reserved price above the same provider's on-demand price."""
    rents = _rents(sheet)
    for price, provider, terms in rents:
        on_demand = [
            rent for rent, vendor, how in rents if vendor == provider and how == "on-demand"
        ]
        cheapest = min(on_demand, key=lambda rent: rent.si, default=None)
        if terms != "on-demand" and cheapest and price.si > cheapest.si:
            yield price, f"{terms} at {price.text} is above its on-demand price {cheapest.text}"


@rule("HW071")
def rents_agree(sheet: Sheet, _: RuleContext) -> Findings:
    """An hourly price far above the other prices for the same chip."""
    rents = _rents(sheet)
    for price, _provider, terms in rents:
        neighbours = [rent.si for rent, _, how in rents if how == "on-demand" and rent is not price]
        factor = 4.5 if terms == "on-demand" else 1.5
        if neighbours and price.si > factor * median(neighbours):
            message = (
                f"{price.text} is {ratio(price.si / median(neighbours))} times the others' median"
            )
            yield price, f"{message} {median(neighbours):.3g} USD/h; is it for one chip?"


@rule("HW072")
def rent_against_bandwidth(sheet: Sheet, _: RuleContext) -> Findings:
    """Implausible hourly price per memory bandwidth."""
    tier = main_tier(sheet)
    if not tier or not tier.bandwidth or not tier.bandwidth.si:
        return
    low, high = band("rent_per_bandwidth", tier.family)
    for price, _provider, terms in _rents(sheet):
        rent_per_tb = price.si / (tier.bandwidth.si / 1e12)
        if terms in ("on-demand", "survey") and not low <= rent_per_tb <= high:
            message = (
                f"{price.text} is {ratio(rent_per_tb)} USD/h for each TB/s of {tier.bandwidth.text}"
            )
            why = f"{message}; chips with such memory cost {low} to {high}; is it for one chip?"
            yield price, why
