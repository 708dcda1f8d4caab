"""Charts drawn by matplotlib: svg, pdf, png and whatever else it writes."""

import textwrap
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.report.charts.drawing import (
    COLOURS,
    DARK,
    MARKS,
    MOST,
    Bar,
    Chart,
    Panel,
    Series,
    apart,
    ink_on,
    named_end,
    written,
)
from fastcalc.report.charts.tornado import draw_swings
from fastcalc.written import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "fastcalc",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_SPOTS = 60.0
"""Places along an axis at which markers differ. [1]"""
_LETTER, _LINE = 0.56, 1.35
"""Width of a letter and height of a line, over the size of the font. [1]"""


def figure(chart: Chart, width: float | None = None, *, is_dark: bool = False) -> "Figure":
    """Return a chart as a figure so many inches wide, whose height follows from what it holds."""
    _demand()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    ground, ink = ("#15181d", "#e6e8eb") if is_dark else ("#ffffff", "#1c1e21")
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    style = {**_STYLE, **dict.fromkeys(inked, ink), "axes.facecolor": ground}
    with mpl.rc_context(style):
        wide = width or (10.0 if chart.is_one else 8.0)
        columns = max(min(len(chart.panels), int(wide / (2.2 if chart.is_one else 3.9))), 1)
        rows = max(ceil(len(chart.panels) / columns), 1)
        plots = min(4.2, 0.75 * wide) if rows == 1 else (2.2 if chart.is_one else 2.9) * rows
        plots = 1.0 + 0.42 * len(chart.bars) if chart.bars else plots
        plots = 1.0 + 0.26 * len(chart.swings) if chart.swings else plots
        high = 0.5 + 0.15 * len(_notes(chart, wide)) + plots
        drawing = Figure((wide, high), facecolor=ground)
        setattr(drawing, "_repr_png_", partial(png, drawing))  # noqa: B010  (notebooks look for it)
        if chart.bars:
            _bars(drawing, chart.bars, DARK if is_dark else COLOURS, ink)
        if chart.swings:
            draw_swings(drawing, chart.swings, DARK if is_dark else COLOURS, ink)
        for place, panel in enumerate(chart.panels):
            plot = drawing.add_subplot(rows, columns, place + 1)
            _axes(plot, panel, ink, 2 if chart.is_one else 1)
            for series in panel.series:
                _series(
                    plot, panel, series, (DARK if is_dark else COLOURS)[series.colour % MOST], ink
                )
            if not chart.is_one:
                continue
            is_last, is_first = place + columns >= len(chart.panels), place % columns == 0
            plot.set_xlabel(panel.across.label if is_last else "")
            plot.set_ylabel(panel.upward.label if is_first else "")
            plot.tick_params(labelbottom=is_last, labelleft=is_first)
        _arranged(drawing, chart, ink)
    return drawing


def ending_of(file: Path | None) -> str | None:
    """Return what to write by the ending of a file, None for text; or raise an InputError."""
    ending = "" if file is None else file.suffix[1:].lower()
    if ending in ("", "txt"):
        return None
    _demand()
    from matplotlib.figure import Figure

    endings = sorted(Figure().canvas.get_supported_filetypes())
    if ending not in endings:
        raise InputError(
            f"{option('out')} {shown(file)} ends in none of {', '.join(endings)} or txt"
        )
    return ending


def _demand() -> None:
    try:
        import matplotlib  # noqa: F401  (whether it is there)
    except ImportError:
        raise InputError(
            "charts in files need matplotlib: python -m pip install matplotlib; without "
            f"{option('out')} the chart is drawn here"
        ) from None


def png(drawing: "Figure") -> bytes:
    """Return a figure as the bytes of a PNG."""
    stream = BytesIO()
    save(drawing, stream, "png")
    return stream.getvalue()


def _notes(chart: Chart, wide: float) -> list[str]:
    """Return the lines of the notes in a width. [inch]"""
    letters = int((72.0 * wide - 24.0) / (_LETTER * 8.0))
    return textwrap.wrap(" · ".join(dict.fromkeys(chart.notes)), max(letters, 20))


def save(drawing: "Figure", file: Any, kind: str) -> None:
    """Write a figure to an open file by an ending of matplotlib, the same bytes each time."""
    import matplotlib as mpl

    dated = {"svg": "Date", "svgz": "Date", "pdf": "CreationDate"}
    unsaid = {dated[kind]: None} if kind in dated else None
    with mpl.rc_context(_STYLE):
        drawing.savefig(
            file, format=kind, dpi=150, facecolor=drawing.get_facecolor(), metadata=unsaid
        )


def _axes(plot: "Axes", panel: Panel, ink: str, step: int) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    pairs = ((panel.across, plot.xaxis, "x"), (panel.upward, plot.yaxis, "y"))
    for axis, drawn, name in pairs:
        if axis.base:
            getattr(plot, f"set_{name}scale")("log", base=axis.base)
        getattr(plot, f"set_{name}lim")(axis.low, axis.high)
        drawn.set_major_locator(FixedLocator(axis.ticks[::step]))
        drawn.set_minor_locator(NullLocator())
        drawn.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
        getattr(plot, f"set_{name}label")(axis.label)
    plot.grid(color=ink, alpha=0.14, linewidth=0.6)
    plot.set_axisbelow(True)
    plot.set_title(panel.title, loc="left", fontsize=9.0)


def _series(plot: "Axes", panel: Panel, series: Series, colour: str, ink: str) -> None:
    mark, is_dense = MARKS[series.colour % MOST], len(series.x) > 20
    if series.low is not None and series.high is not None:
        look: dict[str, Any] = {"alpha": 0.18, "linewidth": 0.0}
        if series.style == "area":
            look = {"alpha": 0.9, "linewidth": 0.6, "edgecolor": plot.get_facecolor()}
        if len(series.x) == 1 or series.style == "points":
            plot.vlines(
                series.x, series.low, series.high, colors=colour, linewidth=6.0, alpha=look["alpha"]
            )
        else:
            plot.fill_between(series.x, series.low, series.high, facecolor=colour, **look)
    if series.style == "bound":
        plot.plot(
            series.x, series.y, color=colour if series.name else ink, linewidth=1.1, dashes=(4, 2)
        )
    elif series.style == "line":
        size = 2.8 if is_dense else 4.5
        plot.plot(series.x, series.y, color=colour, linewidth=1.7, marker=mark, markersize=size)
    elif series.style == "points":
        look = {"markersize": 3.0 if is_dense else 5.5, "alpha": 0.6 if is_dense else 1.0}
        spots = panel.across.share(series.x), panel.upward.share(series.y)
        grid = np.round(np.stack(spots) * _SPOTS)
        # What another covers is left out: markers are most of a file.
        places = np.sort(np.unique(grid, axis=1, return_index=True)[1])
        plot.plot(
            *(series.x[places], series.y[places], mark),
            color=colour,
            markeredgewidth=0.0 if is_dense else 0.8,
            **look,
        )


def _arranged(drawing: "Figure", chart: Chart, ink: str) -> None:
    """Give the title, the notes and labels at the ends of lines the room that they take."""
    wide, high = drawing.get_size_inches() * 72.0
    letter = _LETTER * 9.0
    title = textwrap.wrap(chart.title, max(int((wide - 24.0) / (0.66 * 10.5)), 20))
    notes = _notes(chart, wide / 72.0)
    top, bottom = 12.0 + 15.0 * len(title), 8.0 + 11.0 * len(notes)
    head: dict[str, Any] = {"va": "top", "fontsize": 10.5, "weight": "bold"}
    drawing.text(12.0 / wide, 1.0 - 8.0 / high, "\n".join(title), **head)
    drawing.text(12.0 / wide, 6.0 / high, "\n".join(notes), va="bottom", fontsize=8.0, alpha=0.85)
    labelled = (
        []
        if chart.is_one
        else [
            [series.name for series in panel.series if _is_labelled(panel, series)]
            for panel in chart.panels
        ]
    )
    texts = [name for names in labelled for name in names] + [bar.says for bar in chart.bars]
    named = [*(bar.name for bar in chart.bars), *(swing.name for swing in chart.swings)]
    room = max((14.0 + len(text) * letter for text in texts), default=14.0)
    plots = drawing.get_axes()
    left = 16.0 + 1.1 * letter * max(map(len, named), default=9)
    titled = max((panel.title.count("\n") + bool(panel.title) for panel in chart.panels), default=2)
    several = len(plots) > 1
    drawing.subplots_adjust(
        left=left / wide,
        right=1.0 - room / wide,
        top=1.0 - (top + 4.0 + 12.0 * titled) / high,
        bottom=(bottom + 34.0) / high,
        wspace=(room + 54.0) / (wide / 2.0 - room) if labelled and several else 0.24,
        hspace=0.4 if chart.is_one else 0.45,
    )
    for plot, panel in zip(plots, chart.panels, strict=False):
        if not chart.is_one:
            _labels(plot, panel, ink)


def _is_labelled(panel: Panel, series: Series) -> bool:
    """Return whether a series is named at its end: bounds are where they are no chip's own line."""
    lines = {line.name for line in panel.series if line.style == "line"}
    return bool(series.name) and series.name.removeprefix("bound of ") not in lines - {series.name}


def _labels(plot: "Axes", panel: Panel, ink: str) -> None:
    box = plot.get_window_extent()
    points = 72.0 / plot.figure.dpi
    shown = [series for series in panel.series if _is_labelled(panel, series)]
    ends = [
        (
            float(panel.across.share(series.x[named_end(panel, series)])) * box.width * points,
            float(panel.upward.share(series.y[named_end(panel, series)])) * box.height * points,
            len(series.name) * _LETTER * 8.5,
        )
        for series in shown
    ]
    for series, (x, y, _), height in zip(
        shown, ends, apart(ends, 8.5 * _LINE, box.height * points), strict=True
    ):
        plot.annotate(
            series.name,
            (x / points / box.width, y / points / box.height),
            (7.0, height - y),
            xycoords="axes fraction",
            textcoords="offset points",
            color=ink,
            fontsize=8.5,
            va="center",
            bbox={"facecolor": plot.get_facecolor(), "alpha": 0.75, "linewidth": 0, "pad": 0.6},
            annotation_clip=False,
        )


def _bars(drawing: "Figure", bars: Sequence[Bar], colours: Sequence[str], ink: str) -> None:
    """Draw parts of wholes; what is too narrow for its name stands in the key below."""
    plot = drawing.add_subplot(1, 1, 1)
    places = range(len(bars))
    wide = drawing.get_size_inches()[0] * 72.0 * 0.65
    for place, bar in enumerate(bars):
        left = 0.0
        plot.barh(place, 1.0, color="none", edgecolor=ink, linewidth=0.5, height=0.62)
        for name, colour, share in bar.parts:
            plot.barh(place, share, left=left, color=colours[colour % MOST], height=0.62)
            if share * wide > len(name) * _LETTER * 8.5:
                plot.text(
                    left + share / 2.0,
                    place,
                    name,
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color=ink_on(colours[colour % MOST]),
                )
            left += share
        plot.text(1.01, place, bar.says, va="center", fontsize=8.5)
    plot.set_yticks(places, [bar.name for bar in bars])
    plot.set_ylim(len(bars) - 0.5, -0.5)
    plot.set_xlim(0.0, 1.0)
    plot.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
    plot.set_xlabel("of what may be filled")
    plot.spines[["bottom", "left"]].set_visible(False)
    plot.tick_params(length=0)
    _key(drawing, plot, bars, colours)


def _key(drawing: "Figure", plot: "Axes", bars: Sequence[Bar], colours: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    colour_of = {name: colour for bar in bars for name, colour, _ in bar.parts}
    plot.legend(
        handles=[
            Patch(color=colours[colour % MOST], label=name) for name, colour in colour_of.items()
        ],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=len(colour_of) if drawing.get_size_inches()[0] > 6.0 else 3,
        frameon=False,
        fontsize=8.5,
        borderaxespad=0.2,
        handlelength=1.0,
        columnspacing=1.2,
    )
