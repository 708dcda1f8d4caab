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
    held: dict[str, None] = {}
    unfit: dict[str, None] = {}
    for one in locations:
        batch = min(one.scenario.batches)
        chips = f"{one.placement.layout.chips:,} x {one.scenario.hardware.id}"
        if one.fits:
            held[f"{chips} at batch {batch:,}"] = None
            continue
        least = one.min_chips[one.scenario.batches.index(batch)]
        takes = f"that takes {least:,} chips" if least else "no number of chips does"
        unfit[f"{chips} cannot hold batch {batch:,}: {takes}"] = None
    every = f"each bar is one chip of {', '.join(held)}; its whole is what may be filled"
    title = f"What lives where: {locations[0].scenario.model.name}"
    return Chart(title, (), bars, [*([every] if held else []), *unfit])
