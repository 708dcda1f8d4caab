"""The tricks that leave the model as it is: batch, layout, chips, and other machines."""

from fastcalc.search.tricks.option import Option, in_order, option_of
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


def other_machines(base: Base) -> list[Option]:
    """Return each rival and SRAM machine, at its cheapest point that reaches the speed."""
    today = (base.scenario.hardware.released or "")[:4]
    chips = [("sram-machine", chip) for chip in base.sram_machines]
    for chip in base.rivals:
        is_newer = (chip.released or "")[:4] > today
        chips.append(("newer-hardware" if is_newer else "other-hardware", chip))
    return in_order([base.option(trick, chip.id, base.on(chip)) for trick, chip in chips])
