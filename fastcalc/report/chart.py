"""A scatter of points as text: letters in a frame, both axes in ratios."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastcalc.report.numbers_as_text import number

Point = tuple[float, float]

_HEIGHT = 16
"""Lines of the plot itself."""

_DRAWN = {"rule": "─", "side": "│", "corner": "└"}
_ASCII = {"rule": "-", "side": "|", "corner": "+"}


@dataclass(frozen=True)
class _Axis:
    """A range of values in equal ratios over some places."""

    low: float
    high: float
    places: int

    @classmethod
    def over(cls, values: Sequence[float], places: int) -> "_Axis":
        """Return the axis that holds all values, with room alongside a single one."""
        low, high = min(values), max(values)
        return cls(low, high, places) if low < high else cls(low / 2.0, high * 2.0, places)

    def place(self, value: float) -> int:
        """Return where a value stands, from 0."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(share * (self.places - 1))

    def value(self, place: int) -> float:
        """Return the value at a place."""
        return float(self.low * (self.high / self.low) ** (place / (self.places - 1)))


def scatter(
    series: Mapping[str, Sequence[Point]],
    *,
    across: str,
    upward: str,
    width: int = 80,
    is_ascii: bool = False,
    marks: Mapping[str, float] | None = None,
) -> list[str]:
    """Return the lines of a chart; each series has a letter, and places that two share have ``*``.

    All values are above 0. ``across`` and ``upward`` say what the axes show. ``marks`` are values
    on the axis across that have a capital letter below it, where they are inside.
    """
    points = [point for one in series.values() for point in one]
    heights = _Axis.over([point[1] for point in points], _HEIGHT)
    ticks = {place: number(heights.value(place)) for place in range(0, _HEIGHT, 5)}
    margin = max(len(tick) for tick in ticks.values())
    widths = _Axis.over([point[0] for point in points], max(width - margin - 2, 20))
    drawn = _ASCII if is_ascii else _DRAWN
    grid: dict[tuple[int, int], str] = {}
    for index, series_points in enumerate(series.values()):
        letter = letter_of(index)
        for x, y in series_points:
            spot = widths.place(x), heights.place(y)
            grid[spot] = letter if grid.get(spot, letter) == letter else "*"
    lines = [upward]
    for place in reversed(range(_HEIGHT)):
        row = "".join(grid.get((column, place), " ") for column in range(widths.places))
        lines.append(f"{ticks.get(place, ''):>{margin}} {drawn['side']}{row}".rstrip())
    lines.append(" " * (margin + 1) + drawn["corner"] + drawn["rule"] * widths.places)
    inside = [name for name, at in (marks or {}).items() if widths.low <= at <= widths.high]
    if marks and inside:
        under = [" "] * (margin + 2 + widths.places)
        for place, name in enumerate(inside):
            under[margin + 2 + widths.place(marks[name])] = letter_of(place).upper()
        lines.append("".join(under).rstrip())
    lines.append(_scale(widths, margin + 2))
    lines.append(across.rjust(margin + 2 + widths.places).rstrip())
    lines += [f"  {letter_of(place)}  {name}" for place, name in enumerate(series)]
    lines += [f"  {letter_of(place).upper()}  {name}" for place, name in enumerate(inside)]
    return lines


def letter_of(place: int) -> str:
    """Return the letter of a series, by its place."""
    return chr(ord("a") + place % 26)


def _scale(axis: _Axis, margin: int) -> str:
    """Return the line of numbers under a chart: both ends and three between."""
    line = [" "] * (margin + axis.places)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        place = round(share * (axis.places - 1))
        text = number(axis.value(place))
        start = min(max(margin + place - len(text) // 2, margin), margin + axis.places - len(text))
        line[start : start + len(text)] = text
    return "".join(line).rstrip()
