"""Charts of the frontier of speed and price, and of predictions against measurements."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from fastcalc import search
from fastcalc.core.scenario import Scenario
from fastcalc.evidence.score import Prediction
from fastcalc.report.charts.drawing import MOST, Chart, ChartAxis, Panel, Series
from fastcalc.report.charts.of_outcomes import (
    PRICE,
    marked_name,
    of_prices,
    of_speeds,
    ranged,
    speeds_of,
)
from fastcalc.report.numbers_as_text import dollars, number

ALIKE = 1.5
"""Factor within which a prediction is drawn as good. [1]"""


def frontiers(placed: Sequence[Scenario], max_chips: int) -> Chart:
    """Return speed against price of each chip's best points: what each chip has alone.

    Of more chips than a chart tells apart, those with most points that no other chip beats.
    """
    chips: dict[str, list[Scenario]] = defaultdict(list)
    for scenario in placed:
        chips[scenario.hardware.id].append(scenario)
    best = {name: search.frontier(own, max_chips=max_chips) for name, own in chips.items()}
    best = {name: points for name, points in best.items() if points}
    drawn = _leading(best)
    series: list[Series] = []
    for place, name in enumerate(drawn):
        points = best[name]
        tips = [
            f"{one.outcome.placement.layout.chips:,} x {name}, batch {one.batch:,}, "
            f"${dollars(one.usd)}/Mtok"
            for one in points
        ]
        rows = zip(*(speeds_of(one.outcome, one.index) for one in points), strict=True)
        middle, bound, *ends = (None if None in row else np.array(row) for row in rows)
        most = bound if bound is None else np.maximum.accumulate(bound)  # for less, too
        usd = np.array([one.usd for one in points])
        series += ranged(marked_name(points[0].outcome), place, usd, (middle, most, *ends), tips)
    scenario = placed[0]
    title = (
        f"Speed and price: {scenario.model.name}, prompt {scenario.traffic.prompt:,.0f}, output "
        f"{scenario.traffic.output:,.0f} tokens"
    )
    notes = ["each point is a layout and a batch that no other of its chip beats in both"]
    notes += of_prices([one.outcome for name in drawn for one in best[name]])
    if len(drawn) < len(best):
        notes += [
            f"drawn are {len(drawn)} of {len(best)} chips: those with "
            f"{'most ' * (len(drawn) == MOST)}points that no other chip beats; "
            "--on names the chips to draw"
        ]
    return of_speeds(title, series, PRICE, 10, notes)


def _leading(best: Mapping[str, Sequence[search.FrontierPoint]]) -> list[str]:
    """Return the chips to draw, in order: all, or at most `MOST` that lead where all compete."""
    if len(best) <= MOST:
        return list(best)
    owners = [name for name, points in best.items() for _ in points]
    every = [point for points in best.values() for point in points]
    speed, usd = np.array([(point.speed, point.usd) for point in every]).T
    unbeaten = search.undominated(gain=speed, cost=usd)
    counts = Counter(owners[place] for place in np.flatnonzero(unbeaten))
    leading = {name for name, _ in counts.most_common(MOST)}
    return [name for name in best if name in leading]


def accuracy(predictions: Sequence[Prediction]) -> Chart:
    """Return predicted against measured rates, a plot for each class; times are one over them."""
    parts: dict[str, list[Prediction]] = defaultdict(list)
    for one in predictions:
        parts[one.part].append(one)
    names = sorted(parts, key=lambda one: -len(parts[one]))
    values = {}
    for name, found in parts.items():
        pairs = np.array([(one.point.value, one.expected) for one in found])
        is_time = np.array([one.point.is_time for one in found])[:, None]
        values[name] = np.where(is_time, 1.0 / pairs, pairs).T
    every = np.concatenate([np.ravel(one) for one in values.values()])
    across, upward = (
        ChartAxis.over(f"{what}, tokens/s", [every]) for what in ("measured", "predicted")
    )
    ends = np.array([across.low, across.high])
    panels = []
    for place, name in enumerate(names):
        own, (x, y) = parts[name], values[name]
        good = sum(one.factor <= ALIKE for one in own) / len(own)
        tips = [
            f"{one.point.id}: {one.point.model} on {one.point.hardware}, {one.point.metric} "
            f"{number(one.point.value)} measured, {number(one.expected)} predicted"
            for one in own
        ]
        line = Series("", ends, ends, MOST - 1, "bound", ends / ALIKE, ends * ALIKE)
        points = Series(name, x, y, place % (MOST - 1), "points", tips=tips)
        title = f"{name}\n{len(own):,} points, {100 * good:.0f} % in band"
        panels.append(Panel(title, across, upward, [line, points]))
    notes = [
        f"band: within a factor of {ALIKE:g}; above the line is predicted too fast",
        "times are drawn as 1/s",
    ]
    return Chart("Predicted against measured", panels, (), notes, is_one=True)
