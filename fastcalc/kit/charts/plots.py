"""Draw plots with matplotlib: axes, lines, line names, and a key."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from fastcalc.formulas.types import Floats
from fastcalc.kit.charts.drawing import GREY, Chart, ChartAxis, Panel, Series, written
from fastcalc.kit.charts.labels import MARK, Label, fitted, is_on, line_names
from fastcalc.kit.charts.look import Letters, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Box = tuple[float, float, float, float]
"""The left, lower, right and upper edges. [pt]"""

_PANEL = 108.0
"""Minimum width of a plot if there are several. [pt]"""
_TALLEST = 300.0
"""Height of a single plot, unless the names of its lines need more. [pt]"""
_CONTOURS = 10
"""Maximum number of contour lines."""
_SPOTS = 40.0
"""Resolution of marker positions along an axis."""


@dataclass(frozen=True)
class PanelGrid:
    """The plots of a figure, arranged in rows. Identical axis labels are written once.

    wide : The total width, in points.
    """

    chart: Chart
    wide: float
    letters: Letters

    @property
    def columns(self) -> int:
        """The number of plots per row, chosen to fill the rows evenly."""
        count = max(len(self.chart.panels), 1)
        return ceil(count / ceil(count / max(min(count, 4, int(self.wide / _PANEL)), 1)))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return ceil(max(len(self.chart.panels), 1) / self.columns)

    @property
    def row(self) -> float:
        """The height of a row, in points."""
        cell, line = self.wide / self.columns, self.letters.line
        if len(self.chart.panels) > 1:
            return 0.66 * cell + (1.5 + self._titled + 2.7 / self.rows) * line
        names = [
            len(line_names(panel, 0.7 * cell, 0.4 * cell, self.letters.measure))
            for panel in self.chart.panels
        ]
        return max(min(0.6 * cell, _TALLEST), line * max(names, default=0)) + 3.6 * line

    def _title(self, panel: Panel) -> str:
        room = self.wide / self.columns - 24.0
        return "\n".join(self.letters.wrapped(line, room) for line in panel.title.splitlines())

    @property
    def _titled(self) -> int:
        titles = filter(None, map(self._title, self.chart.panels))
        return max((title.count("\n") + 1 for title in titles), default=0)

    def draw(self, drawing: "Figure", look: Look, area: Box) -> None:
        """Draw all plots in an area of a figure."""
        left, low, right, top = area
        line, columns = self.letters.line, self.columns
        all_across = [panel.across for panel in self.chart.panels]
        all_upward = [panel.upward for panel in self.chart.panels]
        is_across, is_upward = _is_shared(all_across), _is_shared(all_upward)
        room = (top - low) / self.rows - 3.0 * line
        upward = self.letters.wrapped(_common_label(all_upward), room)
        axes = (panel.upward for panel in self.chart.panels)
        texts = (written(tick) for axis in axes for tick in _ticks_up(axis, room, self.letters))
        ticks = max(map(self.letters.measure, texts)) + 5.0
        left += 1.3 * line * (1 + upward.count("\n")) + ticks * is_upward
        across = _common_label(all_across)
        low += 1.5 * line * bool(across) + 1.2 * line * is_across
        cell = (right - left) / columns, (top - low) / self.rows
        for index, panel in enumerate(self.chart.panels):
            column, row = index % columns, index // columns
            is_last = index + columns >= len(self.chart.panels)
            edge = left + column * cell[0], top - (row + 1) * cell[1]
            box = (
                edge[0] + ticks * (not is_upward),
                edge[1] + 1.2 * line * (not is_across) + 1.5 * line * (not across),
                edge[0] + cell[0] - (10.0 if len(self.chart.panels) > 1 else 2.0),
                edge[1] + cell[1] - 4.0 - 1.15 * line * self._titled,
            )
            names: list[Label] = []
            if len(self.chart.panels) == 1 and not panel.heights:
                names, wide = fitted(
                    panel, box[2] - box[0], box[3] - box[1], self.letters.measure, line
                )
                box = (*box[:2], box[0] + wide, box[3])
            plot = _plot(drawing, panel, box, look, self.letters)
            plot.set_title(self._title(panel), loc="left", fontsize=self.letters.size, pad=3.0)
            plot.tick_params(
                labelbottom=is_last or not is_across, labelleft=not (column and is_upward)
            )
            label = across * (is_last and not column) or panel.across.label * (not across)
            is_long = self.letters.measure(label) > box[2] - box[0]
            plot.set_xlabel(label, loc="left" if is_long else "center", labelpad=2.0)
            plot.set_ylabel("" if column else upward, labelpad=2.0)
            _names(plot, names, box, look, self.letters)


def _ticks_up(axis: ChartAxis, high: float, letters: Letters) -> list[float]:
    return axis.ticks_for(high, lambda _: 1.25 * letters.line)


def _is_shared(axes: Sequence[ChartAxis]) -> bool:
    return len({(axis.low, axis.high) for axis in axes}) == 1


def _common_label(axes: Sequence[ChartAxis]) -> str:
    """Return the label shared by all axes, without differing units, or nothing if there is none."""
    labels = [axis.label for axis in axes]
    heads = {label.partition(",")[0] for label in labels}
    return labels[0] if len(set(labels)) == 1 else heads.pop() if len(heads) == 1 else ""


def _plot(drawing: "Figure", panel: Panel, box: Box, look: Look, letters: Letters) -> "Axes":
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    wide, high = drawing.get_size_inches() * 72.0
    size = (box[2] - box[0]) / wide, (box[3] - box[1]) / high
    plot = drawing.add_axes((box[0] / wide, box[1] / high, *size))
    across = panel.across.ticks_for(
        box[2] - box[0], lambda text: letters.measure(text) + 0.6 * letters.size
    )
    upward = _ticks_up(panel.upward, box[3] - box[1], letters)
    pairs = ((panel.across, plot.xaxis, "x", across), (panel.upward, plot.yaxis, "y", upward))
    for axis, drawn, name, ticks in pairs:
        if axis.base:
            getattr(plot, f"set_{name}scale")("log", base=axis.base)
        getattr(plot, f"set_{name}lim")(axis.low, axis.high)
        drawn.set_major_locator(FixedLocator(ticks))
        drawn.set_minor_locator(NullLocator())
        drawn.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
    plot.tick_params(length=2.5, pad=2.0)
    plot.grid(color=look.ink, alpha=0.14, linewidth=0.6)
    plot.set_axisbelow(True)
    if panel.heights is not None:
        _map(plot, panel, look, letters)
        return plot
    for index, series in enumerate(panel.series):
        is_hiding = any(
            is_on(panel, series, other, box[3] - box[1]) for other in panel.series[:index]
        )
        _series(plot, panel, series, look, is_hiding=is_hiding)
    return plot


def _map(plot: "Axes", panel: Panel, look: Look, letters: Letters) -> None:
    """Draw the regions of a map, by series, and the contours of its heights."""
    from matplotlib.colors import ListedColormap

    heights = panel.heights
    assert heights is not None
    pale = [look.spot(colour) for colour in range(len(look.palette))]
    plot.pcolormesh(
        *(
            _edges(values, axis)
            for values, axis in ((heights.x, panel.across), (heights.y, panel.upward))
        ),
        np.ma.masked_invalid(heights.owners),
        cmap=ListedColormap(pale),
        vmin=-0.5,
        vmax=len(pale) - 0.5,
        rasterized=True,
    )
    values = heights.values[np.isfinite(heights.values)]
    if min(heights.values.shape) < 2 or not values.size or values.min() == values.max():
        return
    levels = ChartAxis.over("", [values]).ticks_for(1.0, lambda _: 0.0, _CONTOURS)
    drawn = plot.contour(
        heights.x, heights.y, heights.values, levels=levels, colors=look.ink, linewidths=0.9
    )
    plot.clabel(drawn, fmt=written, fontsize=letters.size, inline_spacing=2)


def _edges(values: Floats, axis: ChartAxis) -> Floats:
    """Compute the edges of the cells around values, halfway between them on the axis."""
    scaled = np.log(values) if axis.base else values
    if len(scaled) == 1:
        return np.array([axis.low, axis.high])
    middle = (scaled[1:] + scaled[:-1]) / 2.0
    outer = 2 * scaled[0] - middle[0], 2 * scaled[-1] - middle[-1]
    edges = np.concatenate([outer[:1], middle, outer[1:]])
    return np.asarray(np.clip(np.exp(edges) if axis.base else edges, axis.low, axis.high))


def _series(plot: "Axes", panel: Panel, series: Series, look: Look, *, is_hiding: bool) -> None:
    is_quiet = series.colour == GREY and series.style in ("line", "points")
    order = 2.0 if is_quiet else 3.0
    if series.low is not None and series.high is not None:
        edges = (series.low, series.high)
        colour = look.mark(series.colour)["color"]
        if series.style == "area":
            edge = {"linewidth": 0.6, "edgecolor": look.ground}
            plot.fill_between(series.x, *edges, **{**edge, **look.filled(series.colour)})
        elif len(series.x) == 1 or series.style == "points":
            plot.vlines(series.x, *edges, colors=colour, linewidth=6.0, alpha=0.18)
        else:
            plot.fill_between(series.x, *edges, facecolor=colour, alpha=0.16, linewidth=0.0)
    if series.style == "bound":
        ink = look.mark(series.colour)["color"] if series.name else look.ink
        plot.plot(series.x, series.y, color=ink, linewidth=0.9, dashes=(4, 2), zorder=order)
    if series.style not in ("line", "points"):
        return
    alike = (line for line in panel.series if line.style == series.style)
    is_dense = max(len(line.x) for line in alike) > 20
    mark = look.mark(series.colour) | {"zorder": order}
    if series.style == "line":
        small = 2.6 if is_dense else 4.0
        mark["markersize"] = 0.0 if is_quiet and len(series.x) > 1 else small
        mark["linewidth"] = 0.9 if is_quiet else 1.6
        mark["linestyle"] = (0, (3, 3)) if is_hiding else "-"  # lines below stay visible
        plot.plot(series.x, series.y, **mark)
        return
    mark["markersize"] = 2.6 if is_dense else 3.0 if is_quiet else 4.5
    mark |= {"linestyle": "", "markeredgewidth": 0.5 * look.is_print}
    spots = panel.across.share(series.x), panel.upward.share(series.y)
    # Covered markers are left out, because markers make up most of the file size.
    covers = np.unique(np.round(np.stack(spots) * _SPOTS), axis=1, return_index=True)[1]
    positions = np.sort(covers)
    plot.plot(series.x[positions], series.y[positions], alpha=0.65 if is_dense else 1.0, **mark)


def _names(plot: "Axes", labels: Sequence[Label], box: Box, look: Look, letters: Letters) -> None:
    """Write the names of lines, with leaders to those that are not at the end of their line."""
    wide, high = box[2] - box[0], box[3] - box[1]
    free: dict[str, Any] = {"transform": plot.transAxes, "clip_on": False}
    for label in labels:
        if label.is_marked:
            spot = [(label.x - MARK / 2.0) / wide], [label.y / high]
            plot.plot(*spot, **look.mark(label.colour), zorder=4.0, **free)
        if label.end is not None:
            (left, up), right = label.end, label.x - 1.5 - MARK * label.is_marked
            plot.plot(
                [left / wide, right / wide],
                [up / high, label.y / high],
                color=look.ink,
                alpha=0.55,
                linewidth=0.45,
                linestyle=(0, (1, 1.5)) if left < 0.9 * wide else "-",
                zorder=2.5,
                **free,
            )
        plot.text(
            label.x / wide,
            label.y / high,
            label.name,
            fontsize=letters.size,
            va="center_baseline",
            alpha=0.75 if label.colour == GREY else 1.0,
            zorder=4.0,
            **free,
        )


def draw_key(
    drawing: "Figure",
    entries: Sequence[tuple[str, int, str]],
    look: Look,
    letters: Letters,
    columns: int,
    top: float,
) -> None:
    """Draw the key of colours, markers and hatches below the title.

    top : The top of the key, in points.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for name, colour, style in entries:
        if style in ("area", "spot"):
            fill = look.filled(colour) if style == "area" else {"facecolor": look.spot(colour)}
            handles.append(Patch(label=name, **fill))
            continue
        mark = look.mark(colour)
        if style == "bound" or (style, colour) == ("line", GREY):
            mark["marker"] = ""
        mark["linestyle"] = {"points": "", "bound": (0, (4, 2))}.get(style, "-")
        handles.append(Line2D([], [], label=name, **mark))
    wide, high = drawing.get_size_inches() * 72.0
    # matplotlib fills column by column, but rows read better.
    rows = ceil(len(handles) / columns)
    by_column = [
        handles[at] for start in range(columns) for at in range(start, len(handles), columns)
    ]
    drawing.legend(
        handles=by_column if rows > 1 else handles,
        loc="upper left",
        bbox_to_anchor=(7.0 / wide, top / high),
        ncols=min(columns, len(handles)),
        frameon=False,
        fontsize=letters.size,
        borderpad=0.0,
        borderaxespad=0.0,
        handlelength=1.6,
        handletextpad=0.5,
        columnspacing=1.2,
        labelspacing=0.2,
    )
