"""Known properties of memories and cores, from the tables in ``silicon.yaml``."""

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from fastcalc.catalogue.once import once
from fastcalc.catalogue.reader import read
from fastcalc.features.check.document import Sheet, WrittenNumber

GIB, GB = 2.0**30, 1e9


@cache
def tables() -> dict[str, Any]:
    """Load the tables by name, when a rule first needs one."""
    return {**read(Path(__file__).with_name("silicon.yaml")).mapping()}


def row(table: str, *keys: str) -> dict[str, Any]:
    """Return the row for the first key that a table has.

    Falls back to the row 'other', then to an empty row.
    """
    rows: dict[str, dict[str, Any]] = tables()[table]
    return next((rows[key] for key in (*keys, "other") if key in rows), {})


def band(table: str, *keys: str) -> tuple[float, float]:
    """Return the smallest and largest plausible values, for the first key that a table has."""
    low, high = row(table, *keys)["band"]
    return low, high


def by_year(table: str, year: int | None) -> float:
    """Return the upper limit for a year, or for the last period if there is no year."""
    rows = tables()[table]
    row_of_year = next((period for period in rows if year and year <= period["until"]), rows[-1])
    limit: float = row_of_year["most"]
    return limit


@dataclass(frozen=True)
class StackOrChannel:
    """A stack of HBM or a channel of GDDR, as explained in `silicon.yaml`."""

    gib: list[float]
    slowest: float
    fastest: float
    fewest: int
    most: int
    since: int
    source: str


@dataclass(frozen=True)
class Core:
    """A core's work per cycle and the links of such chips, as in `silicon.yaml`."""

    matrix: float
    slowest: float
    fastest: float
    source: str
    vector: float | None = None
    link: float | None = None
    adapter: float | None = None
    port: float | None = None
    most: int | None = None


def fastest_link(sheet: Sheet) -> float | None:
    """Return the one-way bandwidth of a chip's fastest link, if known. [1e9 byte/s]"""
    core, domain = core_of(sheet), sheet.si("links.scale_up.domain")
    if "pcie" in sheet.word("name") and domain != 2:  # two may be joined by a bridge
        return 32.0 if (sheet.year or 2100) <= 2021 else 64.0
    return core.link if core else row("link_rates", sheet.word("architecture")).get("most")


@once
def core_of(sheet: Sheet) -> Core | None:
    """Return the known properties of a chip's cores."""
    core_types = tables()["core_types"]
    name = sheet.word("architecture").removesuffix("-ga10x")
    suffix = {"gddr": "-graphics", "lpddr": "-embedded"}
    for tier in tiers(sheet)[:1]:
        with_memory = name + suffix.get(tier.family, "")
        name = with_memory if with_memory in core_types else name
    if name.startswith("apple") and name not in core_types:
        name = "apple"
    if sheet.word("id") in core_types:  # each wafer has its own
        name = sheet.word("id")
    if name not in core_types:
        return None
    core = Core(**core_types[name])
    if is_geforce(sheet) and "peak.bf16" in sheet.numbers:
        # GeForce cards reach the full rate only with 16-bit accumulation, otherwise half of it.
        core = replace(core, matrix=core.matrix / 2)
    return core


def is_geforce(sheet: Sheet) -> bool:
    """Check whether a card is a GeForce, whose 32-bit accumulation runs at half rate."""
    return bool(re.search(r"geforce|rtx ?[2345]0[5-9]0", sheet.word("name")))


def is_uniform(sheet: Sheet) -> bool:
    """Check whether halving the bits always doubles the rate, as on datacenter GPUs."""
    return sheet.word("vendor").startswith(("nvidia", "amd")) and not is_geforce(sheet)


@dataclass(frozen=True)
class MemoryParts:
    """The readable numbers of one memory of a chip."""

    index: int
    type: str
    family: str
    capacity: WrittenNumber | None
    bandwidth: WrittenNumber | None
    host: str = ""

    @property
    def rows(self) -> tuple[str, ...]:
        """The table rows that apply to the memory, most specific first."""
        return (*((self.host,) if self.family == "ddr" else ()), self.type, self.family)

    @property
    def part(self) -> StackOrChannel | None:
        """The stack or channel of the memory's generation, if the file names the generation."""
        generation = row(self.family, self.type) if self.family in ("hbm", "gddr") else {}
        return StackOrChannel(**generation) if generation else None

    def counts(self, *, capacity: float = 1.0, bandwidth: float = 1.0) -> list[int]:
        """Return the numbers of stacks or channels that give both the capacity and the bandwidth.

        All generations are tried if none is named. Factors on capacity and bandwidth test whether a
        mistake explains them. [1]
        """
        if not self.capacity or not self.bandwidth or self.family not in ("hbm", "gddr"):
            return []
        device = self.part
        steps = (
            [device]
            if device
            else [StackOrChannel(**row) for row in tables()[self.family].values()]
        )
        gib, rate = self.capacity.si * capacity / GIB, self.bandwidth.si * bandwidth / GB
        low, high = band("visible", "any")
        return [
            count
            for device in steps
            for count in range(device.fewest, device.most + 1)
            if device.slowest <= rate / count <= device.fastest
            and any(low <= gib / count / size <= high for size in device.gib)
        ]


_FAMILIES = {
    "hbm": r"hbm",
    "gddr": r"gddr",
    "lpddr": r"lpddr|unified",
    "ddr": r"ddr|host",
    "sram": r"sram|on-chip|on chip",
    "disk": r"nvme|ssd|disk",
}

_FAMILIES_BY_PLACE = {"host": "ddr", "disk": "disk"}


def host_key(sheet: Sheet) -> str:
    """Return the key of a host in the tables, such as ``consumer-host``, or nothing for chips."""
    if sheet.word("kind") != "host":
        return ""
    is_superchip = sheet.word("vendor").startswith("nvidia")
    return f"{'superchip' if is_superchip else sheet.word('market')}-host"


@once
def tiers(sheet: Sheet) -> list[MemoryParts]:
    """Return a chip's memories in the order of the file."""
    generations = ("hbm2e", "hbm3e", *tables()["hbm"], *tables()["gddr"])
    memories = []
    for index in range(len(sheet.items("memory"))):
        name = re.sub(r"[\s_-]", "", sheet.word("memory", index, "name"))
        family = next(
            (candidate for candidate, words in _FAMILIES.items() if re.search(words, name)),
            _FAMILIES_BY_PLACE.get(sheet.word("memory", index, "where"), ""),
        )
        generation_name = next((generation for generation in generations if generation in name), "")
        capacity, bandwidth = (
            sheet.numbers.get(f"memory[{index}].{key}") for key in ("capacity", "bandwidth")
        )
        memories.append(
            MemoryParts(
                index, generation_name or family, family, capacity, bandwidth, host_key(sheet)
            )
        )
    return memories


def main_tier(sheet: Sheet) -> MemoryParts | None:
    """Return the memory from which weights are read: the fastest with readable numbers."""
    readable = [tier for tier in tiers(sheet) if tier.bandwidth]
    return max(
        readable, key=lambda tier: tier.bandwidth.si if tier.bandwidth else 0.0, default=None
    )


def sixteen_bit(sheet: Sheet) -> WrittenNumber | None:
    """Return the dense 16-bit rate."""
    return sheet.numbers.get("peak.bf16") or sheet.numbers.get("peak.fp16")
