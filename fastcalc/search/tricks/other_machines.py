"""The tricks that leave the model as it is: batch, layout, chips, and other machines."""

from fastcalc.search import Reach
from fastcalc.search.tricks.option import Option, option_of
from fastcalc.search.tricks.start import Base


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
    found = base.search(base.space, base.beyond_today())
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
    return [
        base.option(tricks[(chip.released or "")[:4] > today], chip.id, base.on(chip))
        for chip in base.rivals
    ]


def sram_machines(base: Base) -> list[Option]:
    """Return each machine that is sold for its memory on the chip, with a price or without."""
    return [base.option("sram-machine", chip.id, base.on(chip)) for chip in base.sram_machines]
