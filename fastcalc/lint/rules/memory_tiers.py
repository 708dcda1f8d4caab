"""HW02x: capacity, bandwidth and what memory is made of."""

import re
from collections.abc import Iterator

from fastcalc.catalogue.faults import Fault
from fastcalc.lint.document import Sheet
from fastcalc.lint.rule import HARDWARE, Setting, rule
from fastcalc.lint.silicon import (
    CHANNELS,
    GB,
    GIB,
    STACKS,
    MemoryParts,
    by_year,
    channel_counts,
    stack_counts,
    tiers,
)
from fastcalc.lint.words import amount, near, ratio

# What a mistake would have multiplied a number with, and what people call it.
_SLIPS = (
    (1 / 2, "half"),
    (2.0, "twice"),
    (1 / 8, "an eighth of"),
    (8.0, "eight times"),
    (1 / 72, "a seventy-second of"),
    (1e-3, "a thousandth of"),
    (1e3, "a thousand times"),
)


def _explained(tier: MemoryParts, counts: object) -> str:
    """Return the mistake that would explain a memory, in words, or nothing."""
    assert callable(counts)
    for factor, words in _SLIPS:
        if counts(tier, bandwidth=factor):
            return f"; {words} the bandwidth would fit"
        if counts(tier, capacity=factor):
            return f"; {words} the capacity would fit"
        if counts(tier, capacity=factor, bandwidth=factor):
            return f"; {words} both would fit: is it of one chip?"
    return ""


@rule(
    "HW021",
    "warning",
    "no number of HBM stacks gives this capacity and bandwidth",
    kinds=HARDWARE,
    why="HBM comes in stacks of known size and speed; one count must give both numbers.",
    seen="A GB200 with 16 TB/s and 372 GB: the superchip's two GPUs in one entry.",
    mend="Write capacity and bandwidth of one chip, and the generation as the memory's name.",
)
def whole_stacks(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find HBM whose capacity and bandwidth no count of stacks explains."""
    for tier in tiers(sheet):
        if tier.family == "hbm" and tier.capacity and tier.bandwidth and not stack_counts(tier):
            known = STACKS.get(tier.type)
            of = (
                f"{tier.type.upper()} has stacks of {' or '.join(f'{one:g}' for one in known.gib)} "
                f"GiB at {known.slowest:g} to {known.fastest:g} GB/s"
                if known
                else "no generation of HBM gives both"
            )
            yield sheet.fault(
                "HW021",
                tier.bandwidth,
                f"no count of stacks has {tier.capacity.text} and {tier.bandwidth.text}: {of}"
                f"{_explained(tier, stack_counts)}",
            )


@rule(
    "HW022",
    "warning",
    "no bus of GDDR gives this capacity and bandwidth",
    kinds=HARDWARE,
    why="GDDR comes in 32-bit channels of known size and speed; one count must give both numbers.",
    seen="An RTX 4090 with 2,016 GB/s: 1,008 doubled for 'both directions'.",
    mend="Write the card's own capacity and bandwidth.",
)
def whole_channels(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find GDDR whose capacity and bandwidth no count of channels explains."""
    for tier in tiers(sheet):
        if tier.family == "gddr" and tier.capacity and tier.bandwidth and not channel_counts(tier):
            known = CHANNELS.get(tier.type)
            speed = f" at {known.slowest:g} to {known.fastest:g} GB/s" if known else ""
            yield sheet.fault(
                "HW022",
                tier.bandwidth,
                f"no bus of 32-bit channels has {tier.capacity.text} and {tier.bandwidth.text}: "
                f"a channel has 1, 2 or 3 GiB, or twice that{speed}"
                f"{_explained(tier, channel_counts)}",
            )


# Seconds to read the whole memory once, of chips from 2016 to 2026.
_SECONDS = {
    "hbm": (0.0165, 0.052),
    "hbm4": (0.0105, 0.052),
    "gddr": (0.0135, 0.095),
    "sram": (1e-6, 4e-5),
    "ddr": (0.3, 30.0),
}
_SECONDS_LPDDR = ((2021, 0.26), (2022, 0.27), (2023, 0.35), (2024, 0.30), (2100, 0.75))


@rule(
    "HW023",
    "warning",
    "capacity against bandwidth out of the band of the memory",
    kinds=HARDWARE,
    why="The time to read the whole memory once is the floor of a decode step that fills it.",
    seen="Wafer fabric of 27 PB/s in a memory field; 640 GB of eight GPUs with one GPU's "
    "bandwidth.",
    mend="Write both of one chip; check bits and bytes, GB and TB.",
)
def seconds_to_read(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare capacity over bandwidth with what such memory takes."""
    for tier in tiers(sheet):
        low, high = _SECONDS.get(tier.type, _SECONDS.get(tier.family, (1e-6, 30.0)))
        if tier.family == "lpddr":
            low, high = 0.09, 1.0
            if sheet.word("kind") == "apple":
                high = by_year(_SECONDS_LPDDR, sheet.year)
        if tier.seconds is None or low <= tier.seconds <= high or not tier.capacity:
            continue
        assert tier.bandwidth
        yield sheet.fault(
            "HW023",
            tier.capacity,
            f"{tier.capacity.text} at {tier.bandwidth.text} takes {_time(tier.seconds)} to read "
            f"once; such memory takes {_time(low)} to {_time(high)}: one chip, bytes, and the "
            "right prefix?",
        )


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.1 else amount(seconds, "time")


# Bandwidth and capacity of one memory of one chip, whatever else is known.
_BANDWIDTH = {
    "hbm": (0.25e12, 45e12),
    "gddr": (0.1e12, 2.2e12),
    "lpddr": (0.03e12, 1.3e12),
    "ddr": (0.01e12, 1.2e12),
    "sram": (5e12, 1e17),
}
_CAPACITY = {
    "hbm": (7.4e9, 1.1e12),
    "gddr": (3.9e9, 2e11),
    "lpddr": (3.9e9, 1.1e12),
    "ddr": (7.4e9, 1.3e13),
    "sram": (1e7, 1e11),
}


@rule(
    "HW024",
    "warning",
    "a memory larger or faster than any of its kind",
    kinds=HARDWARE,
    why="A prefix or bits for bytes that both numbers share survives their ratio.",
    seen="'13.4 TB' of an NVL72 rack as one GPU's memory.",
    mend="Write one chip's; check the prefix.",
)
def memory_is_of_its_kind(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find capacity or bandwidth beyond a kind of memory."""
    for tier in tiers(sheet):
        for number, bands in ((tier.bandwidth, _BANDWIDTH), (tier.capacity, _CAPACITY)):
            low, high = bands.get(tier.family, (0.0, 1e18))
            if sheet.word("kind") == "soc" and number is tier.bandwidth:
                high = min(high, 0.35e12)
            if number and not low <= number.si <= high:
                band = f"{amount(low, number.dimension)} to {amount(high, number.dimension)}"
                message = f"{number.text} is outside what such memory has in one chip, {band}"
                yield sheet.fault("HW024", number, message)


@rule(
    "HW025",
    "warning",
    "GB where the chips hold GiB",
    kinds=HARDWARE,
    why="HBM and GDDR hold powers of two: reading 80 GiB as 80e9 bytes loses 7 %, which is a "
    "batch or a second GPU.",
    seen="'80 GB' of an H100 is 85.9e9 bytes; the quarrel over B300 (268, 270 or 288) is one "
    "memory of 268.6 GiB.",
    mend="Write '80 GiB' with 'printed: \"80GB\"' and a 'reading' that says so; if it is decimal, "
    "let 'reading' or 'note' say 'decimal'.",
)
def gib_not_gb(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find decimal sizes whose number is a whole number of binary chips."""
    for tier in tiers(sheet):
        number = tier.capacity
        if not number or tier.family not in ("hbm", "gddr", "lpddr"):
            continue
        written = re.fullmatch(r"\s*([0-9.]+)\s*GB\s*", number.text)
        if not written or re.search(r"decimal|10\^9|1e9", number.remarks):
            continue
        if _fits_in_gib(tier, float(written[1])):
            yield sheet.fault(
                "HW025",
                number,
                f"{number.text} is {number.si / GIB:.1f} GiB; memory chips of this kind hold whole "
                f"GiB: write '{written[1]} GiB', or say 'decimal' in 'reading'",
            )


def _fits_in_gib(tier: MemoryParts, gib: float) -> bool:
    """Return whether a number of GiB is what stacks or channels of this memory hold."""
    if not tier.capacity:
        return False
    if tier.family == "lpddr":
        return gib.is_integer()
    scale = gib * GIB / tier.capacity.si
    counts = stack_counts if tier.family == "hbm" else channel_counts
    return bool(counts(tier, capacity=scale)) or gib.is_integer()


@rule(
    "HW026",
    "error",
    "the fabric's bandwidth in the memory's field",
    kinds=HARDWARE,
    why="A network between cores is not memory: no weight is read from it.",
    seen="27 PB/s in articles on the WSE-3's memory: 214 Pb/s of fabric, over eight.",
    mend="Write 21 PB/s as the memory and 214 Pb/s as the fabric.",
)
def fabric_is_not_memory(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find a memory as fast as the fabric."""
    fabric = sheet.si("fabric.bandwidth")
    for tier in tiers(sheet):
        if fabric and tier.bandwidth and near(tier.bandwidth.si, fabric, 0.02):
            message = f"{tier.bandwidth.text} is the fabric's bandwidth; what do its cores read at?"
            yield sheet.fault("HW026", tier.bandwidth, message)


@rule(
    "HW027",
    "warning",
    "on-chip memory denser or faster than its cores",
    kinds=HARDWARE,
    why="SRAM has a known density and a core a known port: a wafer's numbers can be checked too.",
    seen="'1.2 TB/s' of wafer I/O where the sheet has terabits.",
    mend="Check capacity over area (at most 1.3 MB a mm2) and bandwidth over cores and clock.",
)
def sram_per_core(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare SRAM with the area and with the ports of the cores."""
    from fastcalc.lint.silicon import core_of

    area, cores, core = sheet.si("area"), sheet.si("cores"), core_of(sheet)
    for tier in tiers(sheet):
        if tier.family != "sram":
            continue
        if area and tier.capacity and tier.capacity.si / (area * 1e6) > 1.3e6:
            dense = tier.capacity.si / (area * 1e12)
            message = f"{tier.capacity.text} is {dense:.2f} MB a mm2; SRAM reaches 1.3"
            yield sheet.fault("HW027", tier.capacity, message)
        if core and core.port and cores and tier.bandwidth:
            clock = tier.bandwidth.si / (cores * core.port) / GB
            if not core.slowest <= clock <= core.fastest:
                message = (
                    f"{tier.bandwidth.text} over {cores:,.0f} cores of {core.port:g} bytes a cycle "
                    f"is a clock of {ratio(clock)} GHz; this architecture runs at {core.slowest} "
                    f"to {core.fastest}"
                )
                yield sheet.fault("HW027", tier.bandwidth, message)


@rule(
    "HW028",
    "warning",
    "memory older than its generation",
    kinds=HARDWARE,
    why="A chip released before its memory existed has the name or the year of another.",
    seen="'HBM3' for the A100, which has HBM2 and HBM2e.",
    mend="Write the generation that the data sheet prints, and the year of the first sale.",
)
def memory_existed(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the year of release with the memory's."""
    year = sheet.year
    for tier in tiers(sheet) if year else ():
        part = STACKS.get(tier.type) or CHANNELS.get(tier.type)
        if part and year and year < part.since:
            message = f"{tier.type.upper()} was not sold before {part.since}; this is of {year}"
            yield sheet.fault("HW028", ("memory", tier.index, "name"), message)


# GB/s a watt of whole boards: memory takes a part of the power, and no more.
_PER_WATT = {"hbm": (2.5, 12.5), "gddr": (1.5, 6.2)}


@rule(
    "HW029",
    "warning",
    "more bandwidth a watt than its memory allows",
    kinds=HARDWARE,
    why="Moving a bit costs 4 to 8 picojoules: a board cannot spend more than it draws on that.",
    seen="An L4 with 600 GB/s at 72 W: half of its power would go into GDDR6.",
    mend="Write one chip's bandwidth and power; 300 GB/s for the L4.",
)
def bandwidth_per_watt(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare bandwidth over power with boards of that memory."""
    power = sheet.numbers.get("power.chip")
    for tier in tiers(sheet)[:1]:
        band = _PER_WATT.get(tier.family)
        if not band or not tier.bandwidth or not power or not power.si:
            continue
        found = tier.bandwidth.si / GB / power.si
        if not band[0] <= found <= band[1]:
            message = (
                f"{tier.bandwidth.text} at {power.text} is {ratio(found)} GB/s a watt; boards with "
                f"such memory have {band[0]} to {band[1]}"
            )
            yield sheet.fault("HW029", tier.bandwidth, message)
