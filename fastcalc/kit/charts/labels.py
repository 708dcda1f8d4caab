"""Place line names: at the end of the line if there is room, else in a right-hand column."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fastcalc.formulas.types import Floats
from fastcalc.kit.charts.drawing import GREY, Panel, Series

GAP = 12.0
"""Gap between the plot and the column, crossed by leader lines. [pt]"""
MARK = 9.0
"""Width of a line's marker in front of its name in the column. [pt]"""
_ALIKE = 1.5
"""Distance below which lines cannot be told apart. [pt]"""
_CLEAR = 2.0
"""Margin around a name inside the plot. [pt]"""
_EDGE = 0.94
"""Fraction of the plot width beyond which a line is taken to end at the right edge."""


@dataclass(frozen=True)
class Label:
    """A name with its line and its position, from the lower left corner of the plot.

    end : The end of the line, where a leader begins, or None if the name is written there.
    is_marked : Whether the line's marker (as wide as `MARK`) precedes the name.
    """

    name: str
    x: float
    y: float
    colour: int
    end: tuple[float, float] | None
    is_marked: bool = False


def spread(heights: Sequence[float], line: float, low: float, high: float) -> list[float]:
    """Space heights at least one line height apart, within limits, close to the wanted heights.

    Heights that are too close move as a block to the mean of their wanted positions, which is the
    ordered least-squares solution (pool-adjacent-violators).

    heights : The wanted heights in ascending order.

    >>> spread([10, 12, 40], 12, 0, 50)
    [5.0, 17.0, 40.0]
    >>> spread([1, 2], 12, 0, 50)
    [0.0, 12.0]
    """
    blocks: list[tuple[float, int]] = []  # lowest height of each block, less the lines below it
    for index, height in enumerate(heights):
        start, count = height - line * index, 1
        while blocks and blocks[-1][0] >= start:
            before, members = blocks.pop()
            start = (start * count + before * members) / (count + members)
            count += members
        blocks.append((start, count))
    starts = [start for start, count in blocks for _ in range(count)]
    top = high - line * (len(heights) - 1)
    return [float(min(max(start, low), top)) + line * index for index, start in enumerate(starts)]


def line_names(
    panel: Panel, wide: float, high: float, width_of: Callable[[str], float]
) -> list[tuple[str, list[Series]]]:
    """Return the names to write with their lines, joining names of overlapping lines if narrow.

    wide, high : The size of the plot, in points.
    """
    names: list[tuple[str, list[Series]]] = []
    for group in _together(panel, wide, high):
        before = len(names)
        for series in group:
            joined = f"{names[-1][0]}, {series.name}" if len(names) > before else ""
            if joined and width_of(joined) < _JOINED * wide:
                names[-1] = joined, names[-1][1]
            else:
                with_it = [other for other in group if other is not series]
                names.append((series.name, [series, *with_it]))
    return names


_JOINED = 0.3
"""Maximum width of joined names, relative to the plot's width."""


def _together(panel: Panel, wide: float, high: float) -> list[list[Series]]:
    drawn = [line for line in panel.series if line.name and line.style in ("line", "area")]
    drawn.sort(key=lambda line: line.colour == GREY)  # grey names join coloured ones
    colours = {line.colour for line in drawn}
    drawn += [
        line for line in panel.series if line.name and line.colour not in colours
    ]  # points and bounds without a line
    groups: list[list[Series]] = []
    for line in drawn:
        for group in groups:
            ends = [_end(panel, member, wide, high) for member in (line, group[0])]
            gap = max(abs(ends[0][axis] - ends[1][axis]) for axis in (0, 1))
            if gap < 2.0 * _ALIKE and is_on(panel, line, group[0], high):
                group.append(line)
                break
        else:
            groups.append([line])
    return groups


def is_on(panel: Panel, line: Series, other: Series, high: float) -> bool:
    """Check whether two lines cannot be distinguished where both are drawn.

    high : The height of the plot, in points.
    """
    if {line.style, other.style} != {"line"}:
        return False
    (x, y), (left, up) = (_sorted(panel, series) for series in (line, other))
    first, last = max(x[0], left[0]), min(x[-1], left[-1])
    if first > last or (first == last) != (len(x) == 1 or len(left) == 1):
        return False
    positions = np.linspace(first, last, 24)
    gaps = np.abs(np.interp(positions, x, y) - np.interp(positions, left, up))
    return bool(np.max(gaps) * high < _ALIKE)


def placed(
    panel: Panel,
    wide: float,
    high: float,
    width_of: Callable[[str], float],
    line: float,
    whole: float | None = None,
) -> list[Label]:
    """Place the names in a plot so that they cover no other name, line or point.

    Grey names are dropped if there is not enough room.

    wide, high : The size of the plot, in points.
    width_of : Measures the width of a text, in points.
    line : The height of a line of text, in points.
    whole : The width of the plot and the column, in points.
    """
    labels: list[Label] = []
    column: list[tuple[str, Series, tuple[float, float]]] = []
    boxes: list[tuple[float, float, float, float]] = []
    for name, group in line_names(panel, whole or wide, high, width_of):
        colour = group[0].colour
        end = _end(panel, group[0], wide, high)
        left = end[0] + 6.0
        box = (left, end[1] - line / 2.0, left + width_of(name), end[1] + line / 2.0)
        is_inside = end[0] < _EDGE * wide and group[0].style != "area"
        if is_inside and _is_clear(panel, group, box, wide, high, boxes):
            boxes.append(box)
            labels.append(Label(name, left, end[1], colour, None))
        else:
            column.append((name, group[0], end))
    room = int((high + line) / line)
    column.sort(key=lambda entry: entry[1].colour == GREY)  # coloured ones first, to keep them
    column = sorted(column[:room], key=lambda entry: entry[2][1])
    heights = spread([end[1] for *_, end in column], line, 0.0, high)
    # With several coloured lines, a marker also shows which line a leader belongs to.
    marked = {line.colour for _, line, _ in column if line.style != "area"} - {GREY}
    left = wide + GAP + MARK * (len(marked) > 1)
    labels += [
        Label(name, left, height, line.colour, end, len(marked) > 1 and line.colour in marked)
        for (name, line, end), height in zip(column, heights, strict=True)
    ]
    return labels


def fitted(
    panel: Panel, wide: float, high: float, width_of: Callable[[str], float], line: float
) -> tuple[list[Label], float]:
    """Place the names as `placed` does, and return them with the width left for the plot. [pt]"""
    left = wide
    while True:  # the names that fit inside depend on the width of the column
        labels = placed(panel, left, high, width_of, line, wide)
        ends = [label.x + width_of(label.name) for label in labels if label.end]
        over = max(ends, default=0.0) - wide
        if over <= 0.0 or left <= _LEAST * wide:
            return labels, left
        left = max(left - over, _LEAST * wide)


_LEAST = 0.3
"""Minimum fraction of the width left for the plot beside long names."""


def _sorted(panel: Panel, series: Series) -> tuple[Floats, Floats]:
    x, y = panel.across.share(series.x), panel.upward.share(series.y)
    order = np.argsort(x, kind="stable")
    return x[order], y[order]


def _end(panel: Panel, series: Series, wide: float, high: float) -> tuple[float, float]:
    x, y = _sorted(panel, series)
    return float(x[-1]) * wide, float(y[-1]) * high


def _is_clear(
    panel: Panel,
    group: Sequence[Series],
    box: tuple[float, float, float, float],
    wide: float,
    high: float,
    boxes: Sequence[tuple[float, float, float, float]],
) -> bool:
    """Check whether the box of a name covers no line, point or other name."""
    left, low, right, top = box
    if right > wide or low < 0.0 or top > high:
        return False
    if any(left < b[2] and b[0] < right and low < b[3] and b[1] < top for b in boxes):
        return False
    for series in panel.series:
        x, y = _sorted(panel, series)
        x, y = x * wide, y * high
        positions = np.linspace(left, right, 12)
        positions = np.concatenate([positions[(positions >= x[0]) & (positions <= x[-1])], x])
        positions = positions[(positions >= left) & (positions <= right)]
        heights = np.interp(positions, x, y)
        if series not in group and np.any((heights > low - _CLEAR) & (heights < top + _CLEAR)):
            return False
    return True
