"""A chart of memory placement."""

from collections.abc import Sequence

from fastcalc.core.model.kinds import KINDS
from fastcalc.core.outcome import Location
from fastcalc.kit.answer.memories import NAMES, filled
from fastcalc.kit.answer.numbers_as_text import size, whole_percent
from fastcalc.kit.charts.drawing import Bar, Chart
from fastcalc.kit.charts.highlight import FEW
from fastcalc.kit.charts.outcome_series import grounds
from fastcalc.written import listed


def memory(locations: Sequence[Location]) -> Chart:
    """Draw what each memory of a chip contains, for each placed scenario that fits."""
    bars = [
        Bar(
            f"{location.scenario.hardware.id} {name}",
            f"{whole_percent(sum(fraction for _, fraction in fractions))} of {size(usable)}",
            [(NAMES[group], KINDS.index(group), fraction) for group, fraction in fractions],
        )
        for location in locations
        if location.fits
        for name, usable, fractions in filled(location)
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
        takes = f"that takes {min_chips:,} chips" if min_chips else "no number of chips is enough"
        unfit[f"{chips} cannot fit batch {batch:,}: {takes}"] = None
    batches = sorted({min(location.scenario.batches) for location in locations})
    at_batch = listed([f"{count:,}" for count in batches])
    first = locations[0].scenario
    case = f"{first.model.heading}, {first.work.short_format}, batch {at_batch}"
    deployments = ", ".join(drawn) if len(drawn) <= FEW else f"{len(drawn)} deployments"
    all_values = f"each bar is one chip of {deployments}; its full length is the usable memory"
    ordered = sorted(bars, key=lambda bar: -sum(fraction for *_, fraction in bar.parts))
    ends = [f"{bar.name} is filled to {bar.says}" for bar in (*ordered[:1], *ordered[1:][-1:])]
    return Chart(
        f"Memory placement: {case}",
        bars=bars,
        notes=[*([all_values] if drawn else []), *unfit],
        finding=f"Fullest: {'; least full: '.join(ends)}." if ends else "",
        grounds=grounds([location.scenario for location in locations]),
    )
