"""Charts as data: axes and series of plain arrays, independent of how they are drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from fastcalc.formulas.types import Floats
from fastcalc.kit.answer.parts import sentence

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#C26A9B", "#BF8400", "#3E9AD6", "#8A7A00", "#777777")
"""Palette of Okabe and Ito, which color-blind readers can tell apart. The lighter colours are
darkened so that lines contrast with white; yellow and black become olive and grey."""

DARK = ("#56A8E0", "#F08030", "#2CC79A", "#E29BC2", "#F0B429", "#8CCEF2", "#C9BE3F", "#A6A6A6")
"""The same palette in lighter colours, for dark backgrounds."""

MARKS = "osD^vP*X"
"""The matplotlib marker for each colour, so that lines differ in greyscale."""

GREY = 7
"""Palette index for the background: lines that are not highlighted, and components too small to
have a colour."""

MOST = 20
"""Maximum number of lines that a chart names."""

Style = Literal["line", "points", "bound", "area"]


@dataclass(frozen=True, eq=False)
class Series:
    """A named series of points.

    x, y : The coordinates; an area has the edges `low` and `high` instead of y; in other styles
        these are the bounds of a range.
    colour : The palette index; series of the same chip share it.
    style : ``line`` (with a marker for each point), ``points``, ``bound`` (dashed) or ``area``.
    tips : The tooltips of the points.
    """

    name: str
    x: Floats
    y: Floats
    colour: int
    style: Style = "line"
    low: Floats | None = None
    high: Floats | None = None
    tips: Sequence[str] = ()

    @property
    def heights(self) -> list[Floats]:
        """All y values, including edges and ranges. [of the axis]"""
        return [self.y, *(edge for edge in (self.low, self.high) if edge is not None)]


@dataclass(frozen=True)
class ChartAxis:
    """The range of an axis: logarithmic with a base, or linear from zero if the base is 0."""

    label: str
    low: float
    high: float
    base: int = 10

    @classmethod
    def over(cls, label: str, values: Sequence[Floats], base: int = 10) -> "ChartAxis":
        """Build an axis that covers all values, with some margin.

        If all values are zero, a linear axis runs to 1.
        """
        all_values = np.concatenate([np.ravel(array) for array in values])
        low, high = float(all_values.min()), float(all_values.max())
        if not base:
            return cls(label, 0.0, high * 1.05 or 1.0, 0)
        room = 2.0 if low == high else (high / low) ** 0.04
        return cls(label, low / room, high * room, base)

    def share(self, values: Floats | float) -> Floats:
        """Convert values to positions on the axis, from 0 (low end) to 1 (high end)."""
        if not self.base:
            return np.asarray((np.asarray(values) - self.low) / (self.high - self.low))
        return np.asarray(np.log(np.asarray(values) / self.low) / np.log(self.high / self.low))

    @cached_property
    def ticks(self) -> list[float]:
        """The values of the ticks: up to seven round numbers.

        If the axis contains no round number, it is the middle of the axis.
        """
        return self.ticks_for(1.0, lambda _: 0.0)

    def ticks_for(
        self, length: float, extent: Callable[[str], float], maximum: int = 7
    ) -> list[float]:
        """Choose as many round tick values as fit without overlapping labels.

        length : The length of the axis, in the unit of `extent`, which measures a label along the
            axis.
        """
        fewest: list[float] = []
        for row in self._rows():
            inside = [tick for tick in row if self.low * 0.9999 <= tick <= self.high * 1.0001]
            fewest = inside if inside and len(inside) <= maximum else fewest
            ends = [
                (length * float(self.share(tick)), extent(written(tick)) / 2.0) for tick in inside
            ]
            is_clear = all(
                right - half >= left + room for (left, room), (right, half) in pairwise(ends)
            )
            if 0 < len(inside) <= maximum and is_clear:
                return inside
        return fewest[:1] or [float(f"{(self.low + self.high) / 2.0:.2g}")]

    def _rows(self) -> list[list[float]]:
        if not self.base:
            unit = 10.0 ** np.floor(np.log10(self.high))
            steps = [unit * factor for factor in (0.1, 0.2, 0.5, 1.0, 2.0)]
            return [
                [step * position for position in range(int(self.high / step) + 1)] for step in steps
            ]
        ends = (np.log(end) / np.log(self.base) for end in (self.low, self.high))
        first, last = (int(np.floor(end)) for end in ends)
        powers = range(first, last + 2)
        rows = [
            [float(self.base) ** p for p in powers if p % step == 0] for step in (1, 2, 3, 4, 6)
        ]
        if self.base == 2:
            return rows
        leads = ((1, 1.5, 2, 3, 4, 5, 6, 7, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3))
        return [*([lead * 10.0**p for p in powers for lead in row] for row in leads), *rows]


def written(value: float) -> str:
    """Format the label of a tick.

    >>> written(0.05), written(20.0), written(5e6)
    ('0.05', '20', '5M')
    """
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= factor:
            scale = 1e3 if prefix == "k" else factor
            return f"{value / scale:,.6g}{prefix}"
    return f"{value:,.6g}"


@dataclass(frozen=True, eq=False)
class Heights:
    """Stores the height and the owning series at each point of a grid.

    x, y : The grid coordinates in ascending order.
    values, owners : One row per y and one column per x; nan where there is no value.
    """

    x: Floats
    y: Floats
    values: Floats
    owners: Floats


@dataclass(frozen=True, eq=False)
class Panel:
    """A plot with its axes and series, and with heights if it is a map."""

    title: str
    across: ChartAxis
    upward: ChartAxis
    series: Sequence[Series]
    heights: Heights | None = None


@dataclass(frozen=True)
class Bar:
    """A stacked bar of named, coloured fractions [1]. `says` is its label."""

    name: str
    says: str
    parts: Sequence[tuple[str, int, float]]


@dataclass(frozen=True)
class Swing:
    """A bar of a tornado chart: relative change of a metric for less and more of an input."""

    name: str
    says: str
    lowered: float
    raised: float

    @property
    def width(self) -> float:
        """The larger of the two changes."""
        return max(abs(self.lowered), abs(self.raised))


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart: plots side by side, stacked bars or a tornado, with notes on how to read it.

    title : The metric, and what it is plotted for.
    finding : The main result, as a sentence.
    grounds : The prices and engines behind the chart, with their dates.
    is_one : Whether a terminal draws the panels together, in one plot.
    """

    title: str
    panels: Sequence[Panel] = ()
    bars: Sequence[Bar] = ()
    notes: Sequence[str] = field(default_factory=tuple)
    is_one: bool = False
    swings: Sequence[Swing] = ()
    finding: str = ""
    grounds: str = ""

    @property
    def sentences(self) -> list[str]:
        """The notes as sentences, without duplicates."""
        return list(dict.fromkeys(map(sentence, filter(None, self.notes))))

    def stating(self, stated: Sequence[str]) -> "Chart":
        """Copy the chart, adding phrases on its settings to the title."""
        return replace(self, title="; ".join([self.title, *stated]))

    def worded(self, wording: Callable[[str], str]) -> "Chart":
        """Copy the chart, rewriting references to options in its text."""
        title, finding = wording(self.title), wording(self.finding)
        return replace(self, title=title, finding=finding, notes=list(map(wording, self.notes)))


def axes(
    series: Sequence[Series], across: str, upward: str, bases: tuple[int, int] = (10, 10)
) -> tuple[ChartAxis, ChartAxis]:
    """Build axes that cover all the series."""
    heights = [height for line in series for height in line.heights]
    return (
        ChartAxis.over(across, [line.x for line in series], bases[0]),
        ChartAxis.over(upward, heights, bases[1]),
    )


def luminance(colour: str) -> float:
    """Compute the relative luminance of a colour.

    Source: W3C, Web Content Accessibility Guidelines 2.2, definition of relative luminance.

    >>> luminance("#ffffff"), luminance("#000000")
    (1.0, 0.0)
    """
    components = (int(colour[position : position + 2], 16) / 255.0 for position in (1, 3, 5))
    linear = [
        item / 12.92 if item <= 0.04045 else ((item + 0.055) / 1.055) ** 2.4 for item in components
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(colour: str) -> str:
    """Return black or white, whichever contrasts more with a colour. They tie at 0.179.

    >>> ink_on("#0072B2"), ink_on("#E69F00")
    ('#ffffff', '#000000')
    """
    return "#000000" if luminance(colour) > 0.179 else "#ffffff"
