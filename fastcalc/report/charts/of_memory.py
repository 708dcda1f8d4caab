"""A chart of what lives where."""

from collections.abc import Sequence

from fastcalc.core.scenario import Location
from fastcalc.core.tier import KINDS
from fastcalc.report.charts.drawing import Bar, Chart
from fastcalc.report.memories import NAMES, filled
from fastcalc.report.numbers_as_text import size


def memory(locations: Sequence[Location]) -> Chart:
    """Return what fills each memory of a chip, for each placed scenario that fits."""
    bars = [
        Bar(
            f"{one.scenario.hardware.id} {name}",
            f"{100 * sum(share for _, share in held):.0f} % of {size(whole)}",
            [(NAMES[kind], KINDS.index(kind), share) for kind, share in held],
        )
        for one in locations
        if one.fits
        for name, whole, held in filled(one)
    ]
    first, chips = locations[0].scenario, {}
    for one in locations:
        layout, name = one.placement.layout, one.scenario.hardware.id
        chips[name] = f"{layout.chips:,} x {name} at batch {min(one.scenario.batches):,}"
        if not one.fits:
            chips[name] += " (does not fit)"
    notes = [
        f"each bar is one chip of {', '.join(chips.values())}; its whole is what may be filled"
    ]
    return Chart(f"What lives where: {first.model.name}", (), bars, notes)
