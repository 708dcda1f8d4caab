"""The tricks that leave the model as it is: batch, layout, chips, and other machines."""

from fastcalc.catalogue.schema import Hardware
from fastcalc.core.layout import Layout
from fastcalc.core.legal import link_domain
from fastcalc.search import Reach, Space
from fastcalc.search.space import chip_counts
from fastcalc.search.tricks.option import Option, option_of
from fastcalc.search.tricks.start import SRAM_KINDS, Base

_MORE = (2, 4, 8)
"""How many times today's chips are tried."""

_WAFERS = 6
"""Chips of an SRAM machine are doubled so often at most."""


def smaller_batch(base: Base) -> Option:
    """Return today's chips, cut as they are, at the largest batch that reaches the speed."""
    found = base.search(base.space, [base.layout])
    return option_of("smaller-batch", "", found, base.speed)


def other_layout(base: Base) -> Option:
    """Return today's chips or fewer of them, cut otherwise, in the cheapest way."""
    layouts = base.up_to_today()
    if not layouts:
        return Option("other-layout", "", why_not="there is none")
    found = base.search(base.space, layouts)
    return option_of("other-layout", _cut(found), found, base.speed)


def more_chips(base: Base) -> Option:
    """Return twice, four or eight times today's chips, or its link domain, the cheapest of them."""
    today = base.layout.chips
    domain = link_domain(base.scenario.hardware)
    counts = {times * today for times in _MORE} | ({domain} if domain > today else set())
    layouts = base.space.layouts(*sorted(counts))
    found = base.search(base.space, layouts)
    return option_of("more-chips", _cut(found), found, base.speed)


def _cut(found: Reach) -> str:
    """Say how the chips of a point are cut."""
    if found.outcome is None:
        return ""
    layout = found.outcome.placement.layout
    return f"{layout}" if layout.chips > 1 else "one chip"


def hardware(base: Base) -> list[Option]:
    """Return each datacenter chip with a price, at its cheapest point that reaches the speed."""
    today = (base.scenario.hardware.released or "")[:4]
    tricks = {True: "newer-hardware", False: "other-hardware"}
    return [_machine(base, chip, tricks[(chip.released or "")[:4] > today]) for chip in base.rivals]


def sram_machines(base: Base) -> list[Option]:
    """Return each machine that is sold for its memory on the chip, with a price or without."""
    today = base.scenario.hardware.id
    chips = [one for one in base.chips if one.kind in SRAM_KINDS and one.id != today]
    return [_machine(base, chip, "sram-machine") for chip in chips]


def _machine(base: Base, chip: Hardware, trick: str) -> Option:
    def layouts(base: Base, space: Space) -> list[Layout]:
        if not space.site.machine.is_spatial:
            return base.deployments(space)
        fewest = space.fewest_chips
        return space.layouts(*chip_counts(fewest, fewest * 2**_WAFERS)) if fewest else []

    return base.option(trick, chip.id, base.on(chip), layouts)
