"""Charts of a metric against a YAML parameter, or maps over two parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from fastcalc.core.outcome import Outcome
from fastcalc.formulas.types import Floats
from fastcalc.kit.answer.numbers_as_text import number, whole_percent
from fastcalc.kit.answer.point_records import Record, compare_records
from fastcalc.kit.charts.drawing import Chart, ChartAxis, Heights, Panel, Series, axes
from fastcalc.kit.charts.outcome_series import (
    grounds,
    marked_name,
    model_names,
    of_speeds,
    ranged,
    title_of,
    unsure,
)

FIGURES = {
    "speed": ("tokens_per_s_per_user", "Speed per user", "tokens/s of each user"),
    "price": ("usd_per_mtok_output", "Price of a token", "$ per million output tokens"),
}
"""Metrics that can be drawn: record key, subject and unit."""
_RATIO = 4.0
"""Ratio of the largest to the smallest value above which an axis is logarithmic."""
_MOST_SAID = 3
"""Maximum number of lines mentioned in a finding."""


@dataclass(frozen=True)
class Varied:
    """A YAML parameter and its values in ascending order.

    path, unit : As written in the file.
    """

    path: str
    unit: str
    values: Floats

    @property
    def base(self) -> int:
        """The base of the logarithmic axis, or 0 for a linear axis that starts at zero."""
        return 10 if self.values[0] > 0.0 and self.values[-1] > _RATIO * self.values[0] else 0

    @property
    def axis(self) -> ChartAxis:
        """The axis for its values."""
        return ChartAxis.over(self.label, [self.values], self.base)

    @property
    def map_axis(self) -> ChartAxis:
        """The axis for a map, which extends to the outer edges of the cells."""
        if self.base:
            return self.axis
        below, above = np.diff(self.values)[[0, -1]] / 2.0
        ends = float(self.values[0] - below), float(self.values[-1] + above)
        return ChartAxis(self.label, *ends, 0)

    @property
    def label(self) -> str:
        """The label of the axis."""
        return ", ".join(filter(None, (self.path, self.unit)))

    def said(self, value: float) -> str:
        """Format one of the values.

        >>> Varied("bandwidth", "TB/s", np.array([1.0])).said(16000.0)
        '16,000 TB/s'
        """
        return f"{float(f'{value:.4g}'):,.12g} {self.unit}".rstrip()


def over(chart_name: str, varied: Sequence[Varied], points: Sequence[Sequence[Outcome]]) -> Chart:
    """Plot a metric against a parameter, or map it over two, by chip, model and batch.

    points : The outcomes for each value; with two parameters, the second varies fastest.
    """
    key, subject, label = FIGURES[chart_name]
    cells: dict[tuple[str, int], list[Record]] = {}
    for outcomes in points:
        models = model_names(outcomes)
        for outcome in outcomes:
            model = models[outcome.scenario.model.checkpoint]
            of_model = f"{model} on {outcome.scenario.hardware.id}"
            name = marked_name(outcome, of_model * (len(models) > 1))
            for record in compare_records([outcome]):
                cells.setdefault((name, record["batch"]), []).append(record)
    has_batches = len({batch for _, batch in cells}) > 1
    lines = {
        f"{name}, batch {batch:,}" if has_batches else name: records
        for (name, batch), records in cells.items()
        if any(_value(record, key) is not None for record in records)
    }
    first = points[0]
    batches = "" if has_batches else f", batch {next(iter(cells))[1]:,}"
    paths = " and ".join(number_of_file.path for number_of_file in varied)
    case = f"{title_of(first, f'{subject} over {paths}')}{batches}"
    notes = list(dict.fromkeys(note for outcomes in points for note in unsure(outcomes)))
    chips = {record["chips"] for records in lines.values() for record in records}
    if len(chips) > 1:
        notes.append(
            f"each batch runs on the fewest chips that fit it, {min(chips):,} to {max(chips):,}"
        )
    if not lines:
        return Chart(case, notes=[*notes, "nothing fits its chips or has a price"])
    draw = _map if len(varied) > 1 else _lines
    chart = draw(case, label, key, varied, lines, notes)
    is_priced = not any(number_of_file.path.startswith("price") for number_of_file in varied)
    scenarios = [outcome.scenario for outcome in first]
    return replace(chart, grounds=grounds(scenarios, is_priced=is_priced))


def _value(record: Record, key: str) -> float | None:
    value: float | None = record[key] if record["fits"] else None
    return value


def _lines(
    case: str,
    label: str,
    key: str,
    varied: Sequence[Varied],
    lines: dict[str, list[Record]],
    notes: list[str],
) -> Chart:
    (across,) = varied
    series: list[Series] = []
    findings = []
    for index, (name, records) in enumerate(lines.items()):
        drawn_at = [at for at, record in enumerate(records) if _value(record, key) is not None]
        x = across.values[drawn_at]
        edges = ("", "_bound", "_low", "_high") if key.startswith("tokens") else ("",)
        columns = [[records[at][f"{key}{edge}"] for at in drawn_at] for edge in edges]
        y = np.array(columns[0])
        rest = [None if None in column else np.array(column) for column in columns[1:]]
        tips = [
            f"{name}, {across.said(value)}, limited by {records[at]['limiter']}"
            for value, at in zip(x, drawn_at, strict=True)
        ]
        findings.append(_bought(name, label, across, x, y))
        if rest:
            series += ranged(name, index, x, (y, *rest), tips)
        else:
            series.append(Series(name, x, y, index, tips=tips))
    finding = " ".join(findings[:_MOST_SAID])
    if key.startswith("tokens"):
        chart = of_speeds(case, {"": series}, across.label, across.base, notes)
        return replace(chart, finding=finding)
    axis, upward = axes(series, across.label, label, (across.base, 10))
    return Chart(case, [Panel("", axis, upward, series)], notes=notes, finding=finding)


def _bought(name: str, label: str, across: Varied, x: Floats, y: Floats) -> str:
    """State a metric at both ends, and the value from which on it changes by less than 1%.

    >>> speeds = np.array([10.0, 20.0, 20.0, 20.0])
    >>> bandwidth = Varied("bandwidth", "TB/s", np.array([1.0, 2.0, 4.0, 8.0]))
    >>> _bought("chip", "tokens/s", bandwidth, bandwidth.values, speeds)
    'chip: 10.0 tokens/s at 1 TB/s, 20.0 at 8 TB/s; from 2 TB/s on it changes by less than 1%.'
    """
    low, high = (number(float(end)) for end in (y[0], y[-1]))
    opening = f"{name}: ${low}{label[1:]}" if label.startswith("$") else f"{name}: {low} {label}"
    still = np.abs(y / y[-1] - 1.0) < 0.01
    if still.all():
        return (
            f"{opening}, within 1% from {across.said(float(x[0]))} to {across.said(float(x[-1]))}."
        )
    stable_from = len(y) - int(np.argmin(still[::-1]))
    is_reached = bool(x[stable_from] * _SETTLED < x[-1])
    beyond = (
        f"; from {across.said(float(x[stable_from]))} on it changes by less than 1%" * is_reached
    )
    at = [across.said(float(end)) for end in (x[0], x[-1])]
    return f"{opening} at {at[0]}, {high} at {at[1]}{beyond}."


_SETTLED = 1.4
"""Ratio of a plateau's end to its start from which on the plateau is mentioned."""


def _map(
    case: str,
    label: str,
    key: str,
    varied: Sequence[Varied],
    lines: dict[str, list[Record]],
    notes: list[str],
) -> Chart:
    across, upward = varied
    shape = len(across.values), len(upward.values)
    drawn = (
        record
        for records in lines.values()
        for record in records
        if _value(record, key) is not None
    )
    limiters = list(dict.fromkeys(record["limiter"] for record in drawn))
    panels, findings = [], []
    for name, records in lines.items():
        values = np.array([_value(record, key) for record in records], dtype=float)
        owners = np.array(
            [
                limiters.index(record["limiter"]) if np.isfinite(value) else nan
                for record, value in zip(records, values, strict=True)
            ]
        )
        heights = Heights(
            across.values, upward.values, values.reshape(shape).T, owners.reshape(shape).T
        )
        x, y = (grid.ravel() for grid in np.meshgrid(across.values, upward.values, indexing="ij"))
        by_limit = {
            f"limited by {limiter}": (index, owners == index)
            for index, limiter in enumerate(limiters)
            if np.any(owners == index)
        }
        spots = [
            Series(limit, x[group], y[group], index, "points")
            for limit, (index, group) in by_limit.items()
        ]
        panels.append(Panel(name, across.map_axis, upward.map_axis, spots, heights))
        fractions = ", ".join(
            f"{whole_percent(float(np.mean(group)))} {limit}"
            for limit, (_, group) in by_limit.items()
        )
        ends = [number(float(end)) for end in (np.nanmin(values), np.nanmax(values))]
        findings.append(f"{name}: {ends[0]} to {ends[1]} {label}; of the map {fractions}.")
    finding = " ".join(findings[:_MOST_SAID])
    return Chart(case, panels, notes=[f"contours show {label}", *notes], finding=finding)
