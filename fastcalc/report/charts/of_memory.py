"""A chart of what lives where."""

from collections.abc import Sequence

from fastcalc.core.model.kinds import KINDS
from fastcalc.core.scenario import Location
from fastcalc.report.charts.drawing import Bar, Chart
from fastcalc.report.memories import NAMES, filled
from fastcalc.report.numbers_as_text import size


def memory(locations: Sequence[Location]) -> Chart:
    """Return what fills each memory of a chip, for each placed scenario that fits."""
    bars = [
        Bar(
            f"{location.scenario.hardware.id} {name}",
            f"{100 * sum(share for _, share in shares):.0f} % of {size(usable)}",
            [(NAMES[kind], KINDS.index(kind), share) for kind, share in shares],
        )
        for location in locations
        if location.fits
        for name, usable, shares in filled(location)
    ]
    drawn: dict[str, None] = {}
    unfit: dict[str, None] = {}
    for location in locations:
        batch = min(location.scenario.batches)
        chips = f"{location.placement.layout.chips:,} x {location.scenario.hardware.id}"
        if location.fits:
            drawn[f"{chips} at batch {batch:,}"] = None
            continue
        min_chips = location.min_chips[location.scenario.batches.index(batch)]
        takes = f"that takes {min_chips:,} chips" if min_chips else "no number of chips does"
        unfit[f"{chips} cannot hold batch {batch:,}: {takes}"] = None
    every = f"each bar is one chip of {', '.join(drawn)}; its whole is what may be filled"
    title = f"What lives where: {locations[0].scenario.model.name}"
    return Chart(title, (), bars, [*([every] if drawn else []), *unfit])
