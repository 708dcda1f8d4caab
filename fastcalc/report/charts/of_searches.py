"""Charts of the frontier of speed and price, and of predictions against measurements."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from fastcalc import search
from fastcalc.core.scenario import Outcome, Scenario
from fastcalc.evidence.score import Prediction
from fastcalc.report.charts.drawing import MOST, Chart, ChartAxis, Panel, Series, axes
from fastcalc.report.numbers_as_text import dollars, number
from fastcalc.search import FrontierPoint

ALIKE = 1.5
"""Factor within which a prediction is drawn as good. [1]"""


def frontier(found: Mapping[str, Sequence[FrontierPoint]]) -> Chart:
    """Return speed against price of each chip's best points, by the name of the chip."""
    series = []
    for place, (name, points) in enumerate(found.items()):
        x, y = (np.array([getattr(one, key) for one in points]) for key in ("speed", "usd"))
        tips = [
            f"{one.outcome.placement.layout.chips:,} x {name}, batch {one.batch:,}: "
            f"{number(one.speed)} tokens/s, ${dollars(one.usd)}"
            for one in points
        ]
        series.append(Series(name, x, y, place % MOST, tips=tips))
    across, upward = axes(series, "output tokens/s of each user, expected", "$/Mtok output")
    first: Outcome = next(iter(found.values()))[0].outcome
    traffic = first.scenario.traffic
    title = (
        f"Speed and price: {first.scenario.model.name}, prompt {traffic.prompt:,.0f}, output "
        f"{traffic.output:,.0f} tokens"
    )
    notes = ["each point is a layout and a batch that no other of its chip beats in both"]
    return Chart(title, [Panel("", across, upward, series)], (), notes)


def frontiers(placed: Sequence[Scenario], max_chips: int) -> Chart:
    """Return the frontier of each chip alone: how far the others are from the best, too."""
    chips: dict[str, list[Scenario]] = defaultdict(list)
    for one in placed:
        chips[one.hardware.id].append(one)
    return frontier({n: search.frontier(own, max_chips=max_chips) for n, own in chips.items()})


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
