"""HW02x: capacity, bandwidth and composition of memories."""

import re

from fastcalc.features.check.document import Sheet
from fastcalc.features.check.rule import Findings, RuleContext, rule
from fastcalc.features.check.silicon import GB, GIB, MemoryParts, band, by_year, core_of, tiers
from fastcalc.features.check.words import amount, near, ratio

# Factors of common mistakes, with their names.
_SLIPS = (
    (1 / 2, "half"),
    (2.0, "twice"),
    (1 / 8, "an eighth of"),
    (8.0, "eight times"),
    (1 / 72, "a seventy-second of"),
    (1e-3, "a thousandth of"),
    (1e3, "a thousand times"),
)


@rule("HW021")
def whole_stacks(sheet: Sheet, _: RuleContext) -> Findings:
    """Capacity and bandwidth that do not match any number of HBM stacks."""
    for tier in tiers(sheet):
        device = tier.part
        of = "no generation of HBM gives both"
        if device:
            sizes = " or ".join(f"{size:g}" for size in device.gib)
            speeds = f"{device.slowest:g} to {device.fastest:g} GB/s"
            of = f"{tier.type.upper()} has stacks of {sizes} GiB at {speeds}"
        yield from _no_count(tier, "hbm", "no number of stacks", of)


def _no_count(tier: MemoryParts, family: str, no_parts: str, of: str) -> Findings:
    """Yield a problem, with its likely cause, if no number of components gives this memory."""
    if tier.family != family or not tier.capacity or not tier.bandwidth or tier.counts():
        return
    slips = (
        (f"; {words} {quantity} would fit{question}", dict.fromkeys(keys, factor))
        for factor, words in _SLIPS
        for quantity, keys, question in (
            ("the bandwidth", ["bandwidth"], ""),
            ("the capacity", ["capacity"], ""),
            ("both", ["capacity", "bandwidth"], "; is it for one chip?"),
        )
    )
    slip = next((sentence for sentence, factors in slips if tier.counts(**factors)), "")
    message = f"{no_parts} has {tier.capacity.text} and {tier.bandwidth.text}: {of}{slip}"
    yield tier.bandwidth, message


@rule("HW022")
def whole_channels(sheet: Sheet, _: RuleContext) -> Findings:
    """Capacity and bandwidth that do not match any GDDR bus."""
    for tier in tiers(sheet):
        device = tier.part
        speed = f" at {device.slowest:g} to {device.fastest:g} GB/s" if device else ""
        of = f"a channel has 1, 2 or 3 GiB, or twice that{speed}"
        yield from _no_count(tier, "gddr", "no bus of 32-bit channels", of)


@rule("HW023")
def seconds_to_read(sheet: Sheet, _: RuleContext) -> Findings:
    """Implausible ratio of capacity to bandwidth for the type of memory."""
    for tier in tiers(sheet):
        low, high = band("seconds", *tier.rows)
        if tier.family == "lpddr" and sheet.word("kind") == "apple":
            high = by_year("seconds_apple", sheet.year)
        if not tier.capacity or not tier.bandwidth or not tier.bandwidth.si:
            continue
        seconds = tier.capacity.si / tier.bandwidth.si
        if not low <= seconds <= high:
            has = f"{tier.capacity.text} at {tier.bandwidth.text} takes {_time(seconds)}"
            has = f"{has} to read once; such memory takes {_time(low)} to {_time(high)}"
            yield tier.capacity, f"{has}; is it for one chip, in bytes, with the right prefix?"


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.1 else amount(seconds, "time")


@rule("HW024")
def memory_is_of_its_kind(sheet: Sheet, _: RuleContext) -> Findings:
    """A memory larger or faster than any of its type."""
    for tier in tiers(sheet):
        for number, table in ((tier.bandwidth, "bandwidth"), (tier.capacity, "capacity")):
            low, high = band(table, *tier.rows)
            if sheet.word("kind") == "soc" and number is tier.bandwidth:
                high = min(high, 0.35e12)
            if number and not low <= number.si <= high:
                ends = f"{amount(low, number.dimension)} to {amount(high, number.dimension)}"
                yield number, f"{number.text} is outside the range of such memory, {ends}"


@rule("HW025")
def gib_not_gb(sheet: Sheet, _: RuleContext) -> Findings:
    """A capacity in GB although the memory chips hold whole GiB."""
    for tier in tiers(sheet):
        number = tier.capacity
        if not number or tier.family not in ("hbm", "gddr", "lpddr"):
            continue
        written = re.fullmatch(r"\s*([0-9.]+)\s*GB\s*", number.text)
        if not written or re.search(r"decimal|10\^9|1e9", number.remarks):
            continue
        gib = float(written[1])
        if gib.is_integer() or tier.counts(capacity=gib * GIB / number.si):
            has = f"{number.text} is {number.si / GIB:.1f} GiB; memory chips of this kind hold"
            instead = (
                f"write '{written[1]} GiB', or add 'reading: decimal' if {number.text} is exact"
            )
            yield number, f"{has} whole GiB; {instead}"


@rule("HW026", "error")
def fabric_is_not_memory(sheet: Sheet, _: RuleContext) -> Findings:
    """The fabric bandwidth in the memory field."""
    fabric = sheet.si("fabric.bandwidth")
    for tier in tiers(sheet):
        if fabric and tier.bandwidth and near(tier.bandwidth.si, fabric, 0.02):
            words = f"{tier.bandwidth.text} is the fabric's bandwidth"
            yield tier.bandwidth, f"{words}; write the rate at which cores read"


@rule("HW027")
def sram_per_core(sheet: Sheet, _: RuleContext) -> Findings:
    """On-chip memory denser than SRAM or faster than its cores."""
    area, cores, core = sheet.si("area"), sheet.si("cores"), core_of(sheet)
    for tier in tiers(sheet):
        if tier.family != "sram":
            continue
        if area and tier.capacity and tier.capacity.si / (area * 1e6) > 1.3e6:
            dense = tier.capacity.si / (area * 1e12)
            yield tier.capacity, f"{tier.capacity.text} is {dense:.2f} MB per mm2; SRAM reaches 1.3"
        if core and core.port and cores and tier.bandwidth:
            clock = tier.bandwidth.si / (cores * core.port) / GB
            if not core.slowest <= clock <= core.fastest:
                ports = f"{cores:,.0f} cores of {core.port:g} bytes per cycle"
                has = f"{tier.bandwidth.text} over {ports}"
                runs = f"this architecture runs at {core.slowest} to {core.fastest}"
                yield tier.bandwidth, f"{has} is a clock of {ratio(clock)} GHz; {runs}"


@rule("HW028")
def memory_existed(sheet: Sheet, _: RuleContext) -> Findings:
    """A chip older than the generation of its memory."""
    year = sheet.year
    for tier in tiers(sheet) if year else ():
        if tier.part and year and year < tier.part.since:
            message = f"{tier.type.upper()} was not sold before {tier.part.since}; "
            yield ("memory", tier.index, "name"), f"{message}this chip was released in {year}"


@rule("HW029")
def bandwidth_per_watt(sheet: Sheet, _: RuleContext) -> Findings:
    """More bandwidth per watt than the type of memory allows."""
    power = sheet.numbers.get("power.chip")
    for tier in tiers(sheet)[:1]:
        if tier.family in ("hbm", "gddr") and tier.bandwidth and power and power.si:
            low, high = band("bandwidth_per_watt", tier.family)
            per_watt = tier.bandwidth.si / GB / power.si
            if not low <= per_watt <= high:
                message = (
                    f"{tier.bandwidth.text} at {power.text} is {ratio(per_watt)} GB/s per watt; "
                )
                yield tier.bandwidth, f"{message}boards with such memory have {low} to {high}"
