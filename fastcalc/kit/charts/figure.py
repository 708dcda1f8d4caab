"""Draw charts with matplotlib, including bars and tornados, as svg, pdf, png and others."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastcalc.errors import InputError
from fastcalc.kit.answer.numbers_as_text import whole_percent
from fastcalc.kit.charts.drawing import GREY, Bar, Chart, Swing, ink_on
from fastcalc.kit.charts.look import Letters, Look
from fastcalc.kit.charts.plots import Box, PanelGrid, draw_key
from fastcalc.kit.charts.tornado import LESS, MORE, reach_of
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WAYS = [(LESS, 1, "area"), (MORE, 0, "area")]
"""The key of a tornado chart."""


def _plot(
    drawing: "Figure", names: Sequence[str], aside: float, letters: Letters, area: Box
) -> tuple["Axes", float]:
    """Create a plot with named bars, and return it with its width without the margin, in points."""
    wide, high = drawing.get_size_inches() * 72.0
    left = area[0] + max(map(letters.measure, names)) + 5.0
    low, across = area[1] + 2.7 * letters.line, area[2] - aside - left
    plot = drawing.add_axes((left / wide, low / high, across / wide, (area[3] - low - 2.0) / high))
    plot.set_yticks(range(len(names)), names)
    plot.set_ylim(len(names) - 0.5, -0.5)
    plot.tick_params(axis="y", length=0, pad=4.0)
    plot.spines[["left"]].set_visible(False)
    return plot, across


def draw_bars(
    drawing: "Figure", bars: Sequence[Bar], look: Look, letters: Letters, area: Box
) -> None:
    """Draw stacked bars. Segments too narrow for their name appear in the key above."""
    aside = 8.0 + max(letters.measure(bar.says) for bar in bars)
    plot, wide = _plot(drawing, [bar.name for bar in bars], aside, letters, area)
    frame: dict[str, Any] = {"color": "none", "edgecolor": look.ink, "linewidth": 0.5}
    for index, bar in enumerate(bars):
        left = 0.0
        for name, colour, fraction in bar.parts:
            fill = look.filled(colour)
            plot.barh(index, fraction, left=left, height=0.66, linewidth=0.0, **fill)
            if fraction * wide > letters.measure(name) + 6.0 and not fill.get("hatch"):
                middle: dict[str, Any] = {
                    "ha": "center",
                    "va": "center_baseline",
                    "fontsize": letters.size,
                }
                ink = ink_on(fill["facecolor"])
                plot.text(left + fraction / 2.0, index, name, color=ink, **middle)
            left += fraction
        plot.barh(index, 1.0, height=0.66, clip_on=False, **frame)
        plot.text(1.0 + 6.0 / wide, index, bar.says, va="center_baseline", fontsize=letters.size)
    plot.set_xlim(0.0, 1.0)
    quarters = [0.0, 0.25, 0.5, 0.75, 1.0]
    ticks = quarters if wide > 4.5 * letters.measure("100%") else quarters[::2]
    plot.set_xticks(ticks, [whole_percent(tick) if tick else "0" for tick in ticks])
    plot.set_xlabel("of usable memory", labelpad=2.0)
    plot.spines[["bottom"]].set_visible(False)
    plot.tick_params(axis="x", length=0)


def draw_swings(
    drawing: "Figure", swings: Sequence[Swing], look: Look, letters: Letters, area: Box
) -> None:
    """Draw a tornado chart with the value of each parameter."""
    aside = 6.0 + max(letters.measure(swing.says) for swing in swings)
    plot, wide = _plot(drawing, [swing.name for swing in swings], aside, letters, area)
    positions = range(len(swings))
    for (_, colour, _), changes in zip(
        WAYS, ([s.lowered for s in swings], [s.raised for s in swings]), strict=True
    ):
        style: dict[str, Any] = {"edgecolor": look.ink, "linewidth": 0.4, **look.filled(colour)}
        plot.barh(positions, [100.0 * change for change in changes], height=0.66, **style)
    plot.axvline(0.0, color=look.ink, linewidth=0.8)
    reach = 100.0 * 1.05 * reach_of(swings)
    plot.set_xlim(-reach, reach)
    for index, swing in enumerate(swings):
        at = reach * (1.0 + 12.0 / wide)
        plot.text(at, index, swing.says, va="center_baseline", fontsize=letters.size)
    plot.locator_params(axis="x", nbins=max(min(int(wide / (5.0 * letters.size)), 8), 2))
    plot.set_xlabel("change of tokens/s per user, %", labelpad=2.0)
    plot.grid(axis="x", color=look.ink, alpha=0.14, linewidth=0.6)
    plot.set_axisbelow(True)


_STYLE: dict[str, Any] = {
    "svg.hashsalt": "fastcalc",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "text.parse_math": False,
    "text.hinting": "no_hinting",  # hinting changes letter widths from the measured ones
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.5,
}
_PAD = 9.0
"""Margin around the figure. [pt]"""
_LONG = 100
"""Title length above which a smaller font is used."""
_LOWEST = 50.0
"""Minimum height of a plot. [pt]"""
_FEW_GREY = 2
"""Maximum number of grey lines named in a key."""


@dataclass(frozen=True)
class FigureLayout:
    """The layout of a figure: its width, fonts, and the text above and below the plots.

    wide : The width, in points.
    head, foot : The lines of text with their relative font size and weight.
    entries : The entries of a key that several plots share: name, colour and style.
    """

    wide: float
    letters: Letters
    head: Sequence[tuple[str, float, str]]
    foot: Sequence[tuple[str, float, str]]
    entries: Sequence[tuple[str, int, str]]

    @classmethod
    def of(cls, chart: Chart, look: Look, wide: float) -> "FigureLayout":
        """Lay out a chart for a width in inches."""
        letters, room = Letters.of(wide), 72.0 * wide - 2.0 * _PAD
        finding = look.title or chart.finding
        head = [(finding, 1.2 if len(finding) < _LONG else 1.05, "bold")] if finding else []
        head += [(chart.title, 1.0 if finding else 1.2, "normal" if finding else "bold")]
        notes = " ".join(chart.sentences)
        foot = [(text, 0.9, "normal") for text in (notes, chart.grounds, look.program)]
        above, below = (
            [
                (letters.wrapped(text, room, size, weight), size, weight)
                for text, size, weight in lines
                if text
            ]
            for lines in (head, foot)
        )
        return cls(72.0 * wide, letters, above, below, _entries(chart))

    def high(self, lines: Sequence[tuple[str, float, str]]) -> float:
        """Compute the height of text lines, including the gap to the plots, in points."""
        heights = (
            (1.3 * (text.count("\n") + 1) * size + 0.35) * self.letters.size
            for text, size, _ in lines
        )
        return _PAD + sum(heights)

    @property
    def key_columns(self) -> int:
        """The number of entries per row of the key."""
        widest = max(map(self.letters.measure, (name for name, *_ in self.entries)), default=1.0)
        return max(int((self.wide - 2.0 * _PAD) / (widest + 4.5 * self.letters.size)), 1)

    @property
    def key_high(self) -> float:
        """The height of the key, in points."""
        return 1.1 * self.letters.line * ceil(len(self.entries) / self.key_columns)

    @property
    def top(self) -> float:
        """The height of the title and key, in points."""
        return self.high(self.head) + self.key_high

    def write(self, drawing: "Figure") -> None:
        """Draw the title and the notes."""
        wide, high = drawing.get_size_inches() * 72.0
        look: dict[str, Any] = {"linespacing": 1.3, "ha": "left"}
        height_at = high - 0.8 * _PAD
        for lines, alpha in ((self.head, 1.0), (self.foot, 0.85)):
            for text, size, weight in lines:
                font: dict[str, Any] = {
                    "fontsize": size * self.letters.size,
                    "weight": weight,
                    "alpha": alpha,
                }
                drawing.text(_PAD / wide, height_at / high, text, va="top", **font, **look)
                height_at -= (1.3 * (text.count("\n") + 1) * size + 0.35) * self.letters.size
            height_at = self.high(self.foot) - 0.5 * _PAD


def figure(chart: Chart, look: Look | None = None) -> "Figure":
    """Draw a chart as a matplotlib figure. By default, its height follows from its contents.

    Raises InputError if a line to highlight does not exist, or if the height is too small.
    """
    _demand()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    look = look or Look()
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    wide = look.wide(10.0 if chart.is_one else 8.0)
    sheet = FigureLayout.of(chart, look, wide)
    sizes = dict.fromkeys(("font.size", "xtick.labelsize", "ytick.labelsize"), sheet.letters.size)
    with mpl.rc_context(
        {**_STYLE, **dict.fromkeys(inked, look.ink), "axes.facecolor": look.ground, **sizes}
    ):
        grid = PanelGrid(chart, sheet.wide - 2.0 * _PAD, sheet.letters)
        count, line = len(chart.bars or chart.swings), sheet.letters.line
        plots = grid.rows * grid.row
        if count:
            plots = (1.75 if count <= 8 else 1.35) * line * count + 3.0 * line
        fixed = sheet.top + sheet.high(sheet.foot)
        minimum_height = fixed + (grid.rows * _LOWEST if not count else (count + 3.0) * line)
        high = fixed + plots if look.height is None else 72.0 * look.height
        if high < minimum_height:
            raise InputError(
                f"{option('height')} {look.height:g} leaves no room for a plot; at least "
                f"{ceil(minimum_height / 7.2) / 10:g}, or a larger {option('width')}"
            )
        drawing = Figure((wide, high / 72.0), facecolor=look.ground, dpi=look.dpi)
        setattr(drawing, "_repr_png_", partial(png, drawing))  # noqa: B010  (notebooks look for it)
        sheet.write(drawing)
        area = (_PAD, sheet.high(sheet.foot), sheet.wide - _PAD, high - sheet.top)
        if chart.bars:
            draw_bars(drawing, chart.bars, look, sheet.letters, area)
        elif chart.swings:
            draw_swings(drawing, chart.swings, look, sheet.letters, area)
        if chart.panels:
            grid.draw(drawing, look, area)
        if sheet.entries:
            key_top = area[3] + sheet.key_high
            draw_key(drawing, sheet.entries, look, sheet.letters, sheet.key_columns, key_top)
    return drawing


def _entries(chart: Chart) -> list[tuple[str, int, str]]:
    """Return the entries of the key: segments of bars, lines of several plots, or map regions."""
    if chart.bars:
        return list(
            dict.fromkeys((name, at, "area") for bar in chart.bars for name, at, _ in bar.parts)
        )
    if chart.swings:
        return WAYS
    lines = [line for panel in chart.panels for line in panel.series if line.name]
    if any(panel.heights for panel in chart.panels):
        return list(dict.fromkeys((line.name, line.colour, "spot") for line in lines))
    if len(chart.panels) < 2:
        return []
    main = {line.colour for line in lines if line.style in ("line", "area")}
    entries = dict.fromkeys(
        (line.name, line.colour, line.style)
        for line in lines
        if line.style in ("line", "area") or line.colour not in main
    )
    grey = [name for name, colour, style in entries if (colour, style) == (GREY, "line")]
    told_apart = [entry for entry in entries if entry[1:] != (GREY, "line")]
    grey_names = ", ".join(grey) if len(grey) <= _FEW_GREY else f"{len(grey)} others"
    return [*told_apart, *[(grey_names, GREY, "line")][: len(grey)]]


def ending_of(file: Path | None) -> str | None:
    """Return the figure format for a file ending, or None for text. May raise InputError."""
    ending = "" if file is None else file.suffix[1:].lower()
    if ending in ("", "txt"):
        return None
    _demand()
    from matplotlib.figure import Figure

    endings = sorted(Figure().canvas.get_supported_filetypes())
    if ending not in endings:
        raise InputError(
            f"{option('out', shown(file))} ends in none of {', '.join(endings)} or txt"
        )
    return ending


def _demand() -> None:
    try:
        import matplotlib  # noqa: F401  (checks that it is installed)
    except ImportError:
        raise InputError(
            "charts in files need matplotlib: python -m pip install matplotlib; without "
            f"{option('out')} the chart is drawn here"
        ) from None


def png(drawing: "Figure") -> bytes:
    """Render a figure as PNG."""
    stream = BytesIO()
    save(drawing, stream, "png")
    return stream.getvalue()


def save(drawing: "Figure", file: Any, file_format: str) -> None:
    """Save a figure to an open file in a matplotlib format, with reproducible bytes."""
    import matplotlib as mpl

    dated = {"svg": "Date", "svgz": "Date", "pdf": "CreationDate"}
    unsaid = {dated[file_format]: None} if file_format in dated else None
    with mpl.rc_context(_STYLE):
        drawing.savefig(
            file, format=file_format, facecolor=drawing.get_facecolor(), metadata=unsaid
        )
