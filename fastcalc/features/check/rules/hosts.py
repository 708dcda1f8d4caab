"""HW03x: hosts, which provide memory and cores to chips."""

from fastcalc.features.check.document import Sheet
from fastcalc.features.check.rule import Findings, RuleContext, rule
from fastcalc.features.check.silicon import GB, by_year, host_key, row, tables, tiers
from fastcalc.features.check.words import near

_CHANNEL_BYTES = 8


@rule("HW031")
def whole_channels_of_host(sheet: Sheet, _: RuleContext) -> Findings:
    """A host bandwidth that does not match any number of memory channels."""
    key = host_key(sheet)
    channels = row("channels", key)["counts"] if key else []
    year = sheet.year or 2100
    rates = [
        rate
        for generation in tables()["module_rates"].values()
        for rate in generation["rates"]
        if year >= generation["since"]
    ]
    for tier in tiers(sheet):
        if not key or tier.family != "ddr" or not tier.bandwidth:
            continue
        bandwidth = tier.bandwidth.si / 1e6 / _CHANNEL_BYTES
        if not any(near(bandwidth / count, rate, 0.01) for count in channels for rate in rates):
            counts = ", ".join(map(str, channels))
            message = f"no memory sold by then gives {tier.bandwidth.text} in {counts} channels"
            yield tier.bandwidth, f"{message}; is it channels x MT/s x 8 bytes?"


@rule("HW032")
def link_to_host(sheet: Sheet, _: RuleContext) -> Findings:
    """A host link outside the range of PCIe and NVLink-C2C."""
    key = host_key(sheet)
    is_superchip = key == "superchip-host"
    slot = by_year("superchip_links" if is_superchip else "slots", sheet.year)
    for tier in tiers(sheet) if key else ():
        link = sheet.numbers.get(f"memory[{tier.index}].link")
        is_disk = tier.family == "disk"
        low, high = (0.0, slot / 4) if is_disk else (slot * (0.9 if is_superchip else 0.24), slot)
        if link and not low <= link.si / GB <= 1.01 * high:
            message = f"{link.text} is outside {low:.3g} to {high:.3g} GB/s"
            why = f"{message}, the links sold by then in one direction; is it for both, or in bits?"
            yield link, why
        elif link and is_disk and tier.bandwidth and tier.bandwidth.si > 1.01 * link.si:
            yield link, f"{link.text} is less than the drive's {tier.bandwidth.text}"


@rule("HW033")
def chips_share_a_host(sheet: Sheet, _: RuleContext) -> Findings:
    """More chips on a host than such boards support."""
    key = host_key(sheet)
    limit = row("chips_of_host", key).get("most") if key else None
    for tier in tiers(sheet):
        shared = sheet.numbers.get(f"memory[{tier.index}].shared_by")
        if shared and limit and shared.si > limit:
            yield shared, f"{shared.text} is more than such hosts take, {limit}"
