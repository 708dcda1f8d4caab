"""Draw charts as text: letters in a frame, a legend, and bars of letters."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from fastcalc.formulas.sequences import grouped
from fastcalc.kit.answer.memories import LETTERS, NAMES, bar
from fastcalc.kit.answer.parts import Notes, Part, TextTable
from fastcalc.kit.charts.drawing import Chart, ChartAxis, Panel, Series, written
from fastcalc.kit.charts.tornado import swing_table

_HEIGHT = 16
"""Height of the plot in lines, without the frame and legend."""

_EVERY = 8
"""Columns between two signs of a bound. At least the number of bounds, so that all are visible."""

_RANGED = ("line", "points")
"""Styles in which `low` and `high` are the range of each point."""

_DRAWN = {"rule": "─", "side": "│", "corner": "└", "bound": "·", "band": ":"}
_ASCII = {"rule": "-", "side": "|", "corner": "+", "bound": ".", "band": ":"}


def parts(chart: Chart, width: int, *, is_ascii: bool) -> list[Part]:
    """Build the page elements of a chart."""
    page: list[Part] = [*filter(None, (chart.finding, chart.title)), ""]
    panels = chart.panels
    if chart.is_one:
        panels = list(_merged(panels))
    for panel in panels:
        page += [panel.title] if panel.title else []
        page += [*plot(panel, width=width, is_ascii=is_ascii), ""]
    if chart.swings:
        page += [swing_table(chart.swings, width), ""]
    if chart.bars:
        bars = chart.bars
        categories = {item[0] for memory in bars for item in memory.parts}
        letters = {
            NAMES[group]: letter for group, letter in LETTERS.items() if NAMES[group] in categories
        }
        names, says = [memory.name for memory in bars], [memory.says for memory in bars]
        bar_width = min(max(width - max(map(len, names)) - max(map(len, says)) - 4, 10), 40)
        fractions = (
            [(letters[name], fraction) for name, _, fraction in memory.parts] for memory in bars
        )
        drawn_bars = (bar(memory_shares, bar_width) for memory_shares in fractions)
        rows = [*zip(names, says, drawn_bars, strict=True)]
        drawn = {letter for *_, drawn in rows for letter in drawn}
        legend = ", ".join(
            f"{letter} {name}{'' if letter in drawn else ' (less than a letter)'}"
            for name, letter in letters.items()
        )
        page += [
            TextTable([("memory",), ("filled",), ("with",)], rows, (0, 2), key_figures=(1,)),
            "",
        ]
        page += [legend, ""]
    return [*page, Notes(chart.sentences)]


def _merged(panels: Sequence[Panel]) -> Iterator[Panel]:
    """Yield panels merged by their x-axis label, with one letter per panel."""
    for alike in grouped(panels, lambda panel: panel.across.label).values():
        ends = [np.array([panel.across.low, panel.across.high]) for panel in alike]
        across, upward = (
            ChartAxis.over(axis.label, ends) for axis in (alike[0].across, alike[0].upward)
        )
        same = np.array([across.low, across.high])
        series = [Series("", same, same, 0, "bound")]
        for index, panel in enumerate(alike):
            points = [item for item in panel.series if item.style == "points"]
            x = np.concatenate([item.x for item in points])
            y = np.concatenate([item.y for item in points])
            series.append(Series(panel.title.partition("\n")[0], x, y, index, "points"))
        yield Panel("", across, upward, series)


def plot(
    panel: Panel,
    *,
    width: int = 80,
    is_ascii: bool = False,
    marks: Mapping[str, float] | None = None,
) -> list[str]:
    """Draw a plot with one letter per series, or ``*`` where two series coincide.

    marks : The x values to mark with a capital letter below the axis.
    """
    upward, drawn = panel.upward, _ASCII if is_ascii else _DRAWN
    ticks = {_place(upward, tick, _HEIGHT): written(tick) for tick in upward.ticks}
    margin = max(map(len, ticks.values()))
    columns = max(width - margin - 2, 20)
    grid: dict[tuple[int, int], str] = {}
    bounds = [series for series in panel.series if series.style == "bound"]
    has_digits = 1 < len(bounds) <= 9  # a sign takes one column
    signs = [str(index) if has_digits else drawn["bound"] for index, _ in enumerate(bounds, 1)]
    for series in panel.series:
        sign = signs[bounds.index(series)] if series in bounds else ""
        _edges(grid, panel, series, columns, drawn, sign)
    shown = [series for series in panel.series if series.style != "bound"]
    lettered = [(letter_of(index), series) for index, series in enumerate(shown)]
    spots: dict[tuple[int, int], str] = {}
    for letter, series in lettered:
        for spot in _spots(panel, series, columns):
            spots[spot] = letter if spots.get(spot, letter) == letter else "*"
    grid |= spots
    lines = [panel.upward.label]
    for index in reversed(range(_HEIGHT)):
        row = "".join(grid.get((column, index), " ") for column in range(columns))
        lines.append(f"{ticks.get(index, ''):>{margin}} {drawn['side']}{row}".rstrip())
    lines.append(" " * (margin + 1) + drawn["corner"] + drawn["rule"] * columns)
    axis = panel.across
    inside = {name: at for name, at in (marks or {}).items() if axis.low <= at <= axis.high}
    if inside:
        positions = [margin + 2 + _place(axis, at, columns) for at in inside.values()]
        lines.append(_capitals(positions, margin + 2 + columns))
    lines.append(_scale(panel.across, columns, margin + 2))
    lines.append(panel.across.label.rjust(margin + 2 + columns).rstrip())
    lines += [f"  {letter}  {series.name}" for letter, series in lettered]
    lines += [
        f"  {sign}  {series.name}"
        for sign, series in zip(signs, bounds, strict=True)
        if series.name
    ]
    if any(series.style in _RANGED and series.low is not None for series in panel.series):
        lines += [f"  {drawn['band']}  range"]
    return [*lines, *(f"  {letter_of(index).upper()}  {name}" for index, name in enumerate(inside))]


def _capitals(positions: Sequence[int], width: int) -> str:
    line = [" "] * width
    for index, position in enumerate(positions):
        line[position] = letter_of(index).upper()
    return "".join(line).rstrip()


def letter_of(index: int) -> str:
    """Return the letter of a series, by its index."""
    return chr(ord("a") + index % 26)


def _place(axis: ChartAxis, value: float, indices: int) -> int:
    return round(float(axis.share(value)) * (indices - 1))


def _spots(panel: Panel, series: Series, columns: int) -> Iterator[tuple[int, int]]:
    """Yield where to draw the letter of a series: at its points, or inside an area."""
    if series.style != "area":
        for x, y in zip(series.x, series.y, strict=True):
            yield _place(panel.across, x, columns), _place(panel.upward, y, _HEIGHT)
        return
    assert series.low is not None
    assert series.high is not None
    at = [_place(panel.across, x, columns) for x in series.x]
    for column in range(at[0], at[-1] + 1):
        low, high = (float(np.interp(column, at, edge)) for edge in (series.low, series.high))
        for position in range(_HEIGHT):
            value = panel.upward.high * position / (_HEIGHT - 1)
            if low <= value < high:
                yield column, position


def _edges(
    grid: dict[tuple[int, int], str],
    panel: Panel,
    series: Series,
    columns: int,
    drawn: dict[str, str],
    sign: str,
) -> None:
    """Draw a bound as a line of its sign, and the range around each point of a line."""
    if series.style in _RANGED and series.low is not None and series.high is not None:
        for x, *ends in zip(series.x, series.low, series.high, strict=True):
            low, high = (_place(panel.upward, end, _HEIGHT) for end in ends)
            for position in range(low, high + 1):
                grid[_place(panel.across, x, columns), position] = drawn["band"]
    if series.style == "bound":
        at = [
            (_place(panel.across, x, columns), float(panel.upward.share(y)))
            for x, y in zip(series.x, series.y, strict=True)
        ]
        for (left, first), (right, last) in pairwise(at):
            for column in range(left, right + 1):
                fraction = first + (last - first) * (column - left) / max(right - left, 1)
                spot = column, round(fraction * (_HEIGHT - 1))  # may be outside the frame
                if column == at[-1][0] or column % _EVERY == ord(sign) % _EVERY:
                    grid[spot] = sign
                elif not grid.get(spot, "").isdigit():
                    grid[spot] = drawn["bound"]


def _scale(axis: ChartAxis, columns: int, margin: int) -> str:
    """Draw the tick labels below a chart, as many as fit."""
    line = [" "] * (margin + columns)
    free = 0
    for tick in axis.ticks:
        text = written(tick)
        middle = margin + _place(axis, tick, columns)
        start = min(max(middle - len(text) // 2, margin), margin + columns - len(text))
        if start >= free:
            line[start : start + len(text)] = text
            free = start + len(text) + 1
    return "".join(line).rstrip()
