"""Parts that chips are made of: what a stack, a channel, a core and an adapter can do.

Bands hold every part that was on the market by 2026 with a little room; a rule that uses
them warns, and a file may say why it is right all the same. Where each is from:

- HBM: a stack has 1,024 pins (2,048 from HBM4); JEDEC JESD235, JESD238 and JESD270-4 name pin
  rates of 2.0 to 2.4 Gb/s (HBM2), 2.8 to 3.6 (HBM2e), 5.2 to 6.4 (HBM3), 5.6 to 9.8 as sold
  (HBM3e) and 6 to 11 (HBM4); stacks are 4 to 16 dies of 1 to 4 GiB.
- GDDR: a chip has 32 pins of data and 1, 2 or 3 GiB; two may share a channel.
- Cores: FLOP a cycle from the vendors' architecture papers, so that boost clocks come out.
"""

import re
from dataclasses import dataclass

from fastcalc.lint.document import Sheet, WrittenNumber

GIB, GB, TERA = 2.0**30, 1e9, 1e12


@dataclass(frozen=True)
class Stack:
    """What one stack of a generation of HBM holds and delivers."""

    gib: tuple[float, ...]
    slowest: float
    fastest: float
    most: int
    since: int


STACKS = {
    "hbm2": Stack((4, 8), 200, 320, 6, 2016),
    "hbm2e": Stack((8, 16), 350, 475, 8, 2019),
    "hbm3": Stack((16, 24), 590, 835, 8, 2022),
    "hbm3e": Stack((24, 32, 36), 690, 1280, 8, 2023),
    "hbm4": Stack((36, 48, 64), 1400, 2900, 16, 2025),
}
"""By generation; bandwidth in 1e9 byte/s."""

# Between what a stack holds and what a program sees lie a few per cent for ECC and the driver.
VISIBLE = (0.915, 1.004)


@dataclass(frozen=True)
class Channel:
    """What 32 pins of a generation of GDDR deliver, in 1e9 byte/s."""

    slowest: float
    fastest: float
    since: int


CHANNELS = {
    "gddr5": Channel(20, 36, 2008),
    "gddr6x": Channel(74, 98, 2020),
    "gddr6": Channel(44, 82, 2018),
    "gddr7": Channel(96, 132, 2024),
}
CHANNEL_GIB = (1, 2, 3, 4, 6)
MOST_CHANNELS = 16


@dataclass(frozen=True)
class Core:
    """What one core does in a cycle, and what joins chips of its time.

    Attributes
    ----------
    matrix : float
        Dense 16-bit FLOP a cycle of the matrix unit. [FLOP]
    vector : float or None
        32-bit FLOP a cycle of the vector lanes. [FLOP]
    slowest, fastest : float
        Clock as sold. [GHz]
    link : float or None
        Fastest link of a chip to its domain, one direction. [1e9 byte/s]
    adapter : float or None
        Fastest network adapter of a chip. [1e9 byte/s]
    port : float or None
        Bytes a cycle of a core's own memory, where it has one. [byte]
    """

    matrix: float
    vector: float | None
    slowest: float
    fastest: float
    link: float | None = None
    adapter: float | None = None
    port: float | None = None


CORES = {
    "volta": Core(1024, 128, 1.2, 1.7, 150, 25),
    "turing": Core(1024, 128, 1.2, 1.8, 50, 25),
    "ampere": Core(2048, 128, 1.2, 1.6, 300, 25),
    "ampere-graphics": Core(1024, 256, 1.3, 2.0, 56.3, 32),
    "ampere-embedded": Core(2048, 256, 0.6, 1.4, 10, 5),
    "ada": Core(1024, 256, 1.8, 2.8, 32, 50),
    "hopper": Core(4096, 256, 1.4, 2.05, 450, 50),
    "blackwell": Core(8192, 256, 1.55, 2.25, 900),
    "blackwell-ultra": Core(8192, 256, 1.55, 2.25, 900, 100),
    "blackwell-graphics": Core(1024, 256, 1.9, 2.95, 64, 50),
    "blackwell-consumer": Core(1024, 256, 1.9, 2.95, 64, 50),
    "blackwell-gb10": Core(1024, 256, 1.9, 2.95, 25, 25),
    "cdna2": Core(1024, 128, 1.4, 1.9, 400, 25),
    "cdna3": Core(2048, 256, 1.8, 2.3, 448, 50),
    "cdna4": Core(4096, 256, 2.0, 2.6, 576, 50),
    "rdna3": Core(512, 256, 1.8, 3.1, 32, 25),
    "rdna3.5": Core(512, 256, 1.8, 3.1, 32, 25),
    "apple": Core(256, 256, 0.9, 2.2, None, None),
    "wse-2": Core(8, None, 0.8, 1.2, None, 150, 24),
    "wse": Core(16, None, 0.8, 1.2, None, 150, 24),
    "wse-3t": Core(16, None, 0.8, 2.4, None, 300, 48),
    "wse-3": Core(16, None, 0.8, 1.2, None, 150, 24),
}
"""By architecture; the graphics parts of a family are told apart by their memory."""


LINKS = {
    "gaudi-2": 262.5,
    "gaudi-3": 525.0,
    "neuroncore-v2": 103.1,
    "neuroncore-v3": 640.0,
    "tpu-v5": 600.0,
    "tpu-v6": 400.0,
    "tpu-v7": 600.0,
}
"""Fastest link of a chip in one direction, of architectures without cores here. [1e9 byte/s]"""


def fastest_link(sheet: Sheet) -> float | None:
    """Return the fastest link that a chip can have in one direction, where that is known."""
    core, domain = core_of(sheet), sheet.si("links.scale_up.domain")
    if "pcie" in sheet.word("name") and domain != 2:  # two may be joined by a bridge
        return 32.0 if (sheet.year or 2100) <= 2021 else 64.0
    return core.link if core else LINKS.get(sheet.word("architecture"))


def core_of(sheet: Sheet) -> Core | None:
    """Return what is known of a chip's cores."""
    name = sheet.word("architecture").removesuffix("-ga10x")
    suffix = {"gddr": "-graphics", "lpddr": "-embedded"}
    for one in tiers(sheet)[:1]:
        with_memory = name + suffix.get(one.family, "")
        name = with_memory if with_memory in CORES else name
    if name.startswith("apple"):
        name = "apple"
    if name == "wse" and sheet.word("id").startswith("wse-"):
        name = sheet.word("id")
    core = CORES.get(name)
    if core and is_geforce(sheet) and "peak.bf16" in sheet.numbers:
        # GeForce cards multiply at full rate only into 16-bit sums; into 32-bit ones at half.
        return Core(
            core.matrix / 2, core.vector, core.slowest, core.fastest, core.link, core.adapter
        )
    return core


def is_geforce(sheet: Sheet) -> bool:
    """Return whether a card is of the line that multiplies into 32-bit sums at half rate."""
    return bool(re.search(r"geforce|rtx ?[2345]0[5-9]0", sheet.word("name")))


def is_uniform(sheet: Sheet) -> bool:
    """Return whether a chip doubles its rate with every halving of bits: GPUs on servers do."""
    return sheet.word("vendor").startswith(("nvidia", "amd")) and not is_geforce(sheet)


def by_year(limits: tuple[tuple[int, float], ...], year: int | None) -> float:
    """Return the limit of the first period that a year lies in; the last where none is told."""
    return next((limit for until, limit in limits if year and year <= until), limits[-1][1])


@dataclass(frozen=True)
class MemoryParts:
    """One memory of a chip, as far as it can be read."""

    index: int
    type: str
    family: str
    capacity: WrittenNumber | None
    bandwidth: WrittenNumber | None

    @property
    def seconds(self) -> float | None:
        """Time to read the whole of it once. [s]"""
        if not self.capacity or not self.bandwidth or not self.bandwidth.si:
            return None
        return self.capacity.si / self.bandwidth.si


_FAMILIES = (
    ("hbm", r"hbm"),
    ("gddr", r"gddr"),
    ("lpddr", r"lpddr|unified"),
    ("ddr", r"ddr|host"),
    ("sram", r"sram|on-chip|on chip"),
)


def tiers(sheet: Sheet) -> list[MemoryParts]:
    """Return the memories of a chip in the order of the file."""
    listed = sheet.at("memory")
    found = []
    for index in range(len(listed) if isinstance(listed, list) else 0):
        name = re.sub(r"[\s_-]", "", sheet.word("memory", index, "name"))
        family = next((family for family, words in _FAMILIES if re.search(words, name)), "")
        kind = next((one for one in ("hbm2e", "hbm3e", *STACKS, *CHANNELS) if one in name), "")
        numbers = (sheet.numbers.get(f"memory[{index}].{key}") for key in ("capacity", "bandwidth"))
        found.append(MemoryParts(index, kind or family, family, *numbers))
    return found


def main_tier(sheet: Sheet) -> MemoryParts | None:
    """Return the memory that weights are read from: the fastest that can be read."""
    known = [one for one in tiers(sheet) if one.bandwidth]
    return max(known, key=lambda one: one.bandwidth.si if one.bandwidth else 0.0, default=None)


def sixteen_bit(sheet: Sheet) -> WrittenNumber | None:
    """Return the dense 16-bit rate."""
    return sheet.numbers.get("peak.bf16") or sheet.numbers.get("peak.fp16")


def stack_counts(tier: MemoryParts, *, capacity: float = 1.0, bandwidth: float = 1.0) -> list[int]:
    """Return how many stacks of its generation give a memory's capacity and bandwidth.

    Parameters
    ----------
    tier : MemoryParts
        The memory; of HBM whose generation is not named, any will do.
    capacity, bandwidth : float
        What to multiply its numbers with first, to try what a mistake would explain.
    """
    if not tier.capacity or not tier.bandwidth:
        return []
    known = [STACKS[tier.type]] if tier.type in STACKS else list(STACKS.values())
    gib, rate = tier.capacity.si * capacity / GIB, tier.bandwidth.si * bandwidth / GB
    return [
        count
        for stack in known
        for count in range(1, stack.most + 1)
        if stack.slowest <= rate / count <= stack.fastest
        and any(VISIBLE[0] <= gib / count / size <= VISIBLE[1] for size in stack.gib)
    ]


def channel_counts(
    tier: MemoryParts, *, capacity: float = 1.0, bandwidth: float = 1.0
) -> list[int]:
    """Return how many 32-bit channels of GDDR give a memory's capacity and bandwidth."""
    if not tier.capacity or not tier.bandwidth:
        return []
    known = [CHANNELS[tier.type]] if tier.type in CHANNELS else list(CHANNELS.values())
    gib, rate = tier.capacity.si * capacity / GIB, tier.bandwidth.si * bandwidth / GB
    return [
        count
        for channel in known
        for count in range(2, MOST_CHANNELS + 1)
        if channel.slowest <= rate / count <= channel.fastest
        and any(VISIBLE[0] <= gib / count / size <= VISIBLE[1] for size in CHANNEL_GIB)
    ]
