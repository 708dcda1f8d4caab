"""A chart of predictions against measurements, with a plot for each machine class."""

from collections.abc import Mapping, Sequence

import numpy as np

from fastcalc.evidence.score import Prediction
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.charts.drawing import GREY, Chart, ChartAxis, Panel, Series
from fastcalc.written import listed, many


def accuracy(components: Mapping[str, Sequence[Prediction]]) -> Chart:
    """Plot predicted against measured rates and times, with separate axes for each machine class.

    components : The predictions by method, such as from fits without their source; a single method
        has an empty name.
    """
    classes: dict[tuple[str, bool], dict[str, list[Prediction]]] = {}
    for component, predictions in components.items():
        for prediction in predictions:
            key = prediction.part, prediction.point.is_time
            classes.setdefault(key, {}).setdefault(component, []).append(prediction)
    sizes = {key: sum(map(len, by_part.values())) for key, by_part in classes.items()}
    order = sorted(classes, key=lambda key: (key[1], -sizes[key]))
    engines = {prediction.engine_used for drawn in components.values() for prediction in drawn}
    return Chart(
        "Predicted against measured",
        [_panel(name, classes[name, is_time], list(components)) for name, is_time in order],
        notes=[
            "rates are in tokens/s, times in s; the band is the median 80% range around equal "
            "values; above it, a rate is predicted too fast, a time too slow"
        ],
        is_one=True,
        finding=" ".join(_score(name, drawn) for name, drawn in components.items() if drawn),
        grounds=f"Engines: {listed(sorted(engines))}.",
    )


def _panel(name: str, by_part: Mapping[str, Sequence[Prediction]], order: Sequence[str]) -> Panel:
    """Plot one class of measurements, with equal axes that span them."""
    drawn = [prediction for predictions in by_part.values() for prediction in predictions]
    unit = "s" if drawn[0].point.is_time else "tokens/s"
    series = [
        Series(
            component or name,
            np.array([prediction.point.value for prediction in predictions]),
            np.array([prediction.expected for prediction in predictions]),
            order.index(component),
            "points",
            tips=[_tip(prediction) for prediction in predictions],
        )
        for component, predictions in by_part.items()
    ]
    values = [edge for points in series for edge in (points.x, points.y)]
    middle = np.exp(np.mean(np.log(np.concatenate(values))))
    values.append(middle * np.array([0.7, 1.4]))  # at least a factor of two
    across, upward = (
        ChartAxis.over(f"{axis_title}, {unit}", values) for axis_title in ("measured", "predicted")
    )
    ends = np.array([across.low, across.high])
    fractions = np.array(
        [
            (prediction.low / prediction.expected, prediction.high / prediction.expected)
            for prediction in drawn
            if prediction.low is not None and prediction.high is not None
        ]
    )
    title = f"{name}\n{many(len(drawn), 'time' if unit == 's' else 'rate')}"
    low = high = None
    if fractions.size:
        below, above = np.median(fractions, axis=0)
        low, high = ends / above, ends / below
        title += f", {_coverage(drawn):.0f}% inside"
    line = Series("", ends, ends, GREY, "bound", low, high)
    return Panel(title, across, upward, [line, *series])


def _coverage(predictions: Sequence[Prediction]) -> float:
    """Return the fraction of measurements within their ranges, in percent."""
    return 100.0 * float(np.mean([prediction.is_covered for prediction in predictions]))


def _tip(prediction: Prediction) -> str:
    point = prediction.point
    return (
        f"{point.id}: {point.model} on {point.hardware}, {point.metric} {number(point.value)} "
        f"measured, {number(prediction.expected)} predicted"
    )


def _score(name: str, predictions: Sequence[Prediction]) -> str:
    """Describe the median error and the fraction of measurements within their ranges."""
    middle = float(np.median([prediction.factor for prediction in predictions]))
    heading = f"{name[:1].upper()}{name[1:]}: " if name else ""
    return (
        f"{heading}{many(len(predictions), 'point')}, half within a factor of {middle:.2f}, "
        f"{_coverage(predictions):.0f}% in their 80% range."
    )
