"""The tricks that leave the model as it is: batch, layout, chips, and other machines."""

from fastcalc.search.tricks.option import Option, option_of
from fastcalc.search.tricks.start import Base


def todays_chips(base: Base) -> list[Option]:
    """Return today's chips at the largest batch that reaches the speed, cut otherwise, and more."""
    options, others = [], base.up_to_today()
    tried = (("smaller-batch", [base.layout]), ("other-layout", others))
    for trick, layouts in (*tried, ("more-chips", base.beyond_today())):
        found = base.search(base.space, layouts)
        cut = found.outcome.placement.layout if found.outcome else None
        change = "" if cut is None or cut == base.layout else str(cut) or "one chip"
        options.append(option_of(trick, change, found, base.speed))
    if not others:
        options[1] = Option("other-layout", "", why_not="there is none")
    return options


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
