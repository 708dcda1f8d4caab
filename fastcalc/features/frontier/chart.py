"""A chart of the frontier of speed and price."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fastcalc.core.scenario import Scenario
from fastcalc.features.frontier.search import FrontierPoint, frontier
from fastcalc.formulas.dominance import undominated
from fastcalc.kit.answer.numbers_as_text import dollars
from fastcalc.kit.charts.drawing import MOST, Chart, Series
from fastcalc.kit.charts.outcome_series import (
    PRICE,
    grounds,
    marked_name,
    of_prices,
    of_speeds,
    ranged,
    speeds_of,
)
from fastcalc.mentions import option


def frontiers(scenarios: Sequence[Scenario], max_chips: int, finding: str) -> Chart:
    """Plot speed against price on the frontier of each chip.

    If there are too many chips to name, it shows those with most points on the common frontier.

    finding : The summary of the common frontier of all chips.
    """
    chips: dict[str, list[Scenario]] = defaultdict(list)
    for scenario in scenarios:
        chips[scenario.hardware.id].append(scenario)
    by_chip = {name: frontier(of_chip, max_chips=max_chips) for name, of_chip in chips.items()}
    by_chip = {name: points for name, points in by_chip.items() if points}
    drawn = _leading(by_chip)
    series: list[Series] = []
    for index, name in enumerate(drawn):
        points = by_chip[name]
        tips = [
            f"{point.outcome.placement.layout.chips:,} x {name}, batch {point.batch:,}, "
            f"${dollars(point.usd)}/Mtok"
            for point in points
        ]
        rows = zip(*(speeds_of(point.outcome, point.index) for point in points), strict=True)
        middle, bound, *ends = (None if None in row else np.array(row) for row in rows)
        bounds = bound if bound is None else np.maximum.accumulate(bound)  # also at lower prices
        usd = np.array([point.usd for point in points])
        series += ranged(marked_name(points[0].outcome), index, usd, (middle, bounds, *ends), tips)
    scenario = scenarios[0]
    title = (
        f"Speed and price: {scenario.model.heading}, prompt {scenario.traffic.prompt:,.0f}, output "
        f"{scenario.traffic.output:,.0f} tokens"
    )
    notes = ["each point is a layout and batch that no other on the same chip beats in both"]
    notes += of_prices([point.outcome for name in drawn for point in by_chip[name]])
    if len(drawn) < len(by_chip):
        notes += [
            f"{len(drawn)} of {len(by_chip)} chips are drawn: those with "
            f"{'most ' * (len(drawn) == MOST)}points that no other chip beats; "
            f"choose the chips to draw with {option('on')}"
        ]
    chart = of_speeds(title, {"": series}, PRICE, 10, notes)
    return replace(chart, finding=finding, grounds=grounds(scenarios))


def _leading(by_chip: Mapping[str, Sequence[FrontierPoint]]) -> list[str]:
    """Return the chips to draw: all, or the `MOST` chips with most of the common frontier."""
    if len(by_chip) <= MOST:
        return list(by_chip)
    owners = [name for name, points in by_chip.items() for _ in points]
    all_points = [point for points in by_chip.values() for point in points]
    speed, usd = np.array([(point.speed, point.usd) for point in all_points]).T
    unbeaten = undominated(gain=speed, cost=usd)
    counts = Counter(owners[position] for position in np.flatnonzero(unbeaten))
    leading = {name for name, _ in counts.most_common(MOST)}
    return [name for name in by_chip if name in leading]
