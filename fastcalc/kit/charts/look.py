"""The appearance of a chart: its size, background, colours, markers and hatches."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any

from fastcalc import __version__
from fastcalc.kit.answer.envelope import today
from fastcalc.kit.charts.drawing import COLOURS, DARK, MARKS

STYLES = ("light", "dark", "print")
_PRINT = (*("#000000", "#6e6e6e", "#000000", "#6e6e6e", "#3c3c3c", "#8c8c8c", "#3c3c3c"), "#b4b4b4")
_HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++", "")
"""Hatches for areas and bars in print, where there are too few greys."""
_SINGLE_COLUMN = 3.3
"""Width of a column in a paper. [inch]"""
_FILLED = 0.95
"""Fraction of the width that text may fill, as SVG viewers substitute similar fonts."""
_NARROW, _ROOMY = 3.6, 5.5
"""Chart widths between which the font size increases. [inch]"""


@dataclass(frozen=True)
class Look:
    """The appearance options a user can choose.

    width, height : The size, or None to fit the contents. [inch]
    title : The title to use instead of the finding.
    highlight : The patterns for the lines to draw in colour.
    """

    style: str = "light"
    width: float | None = None
    height: float | None = None
    dpi: float = 150.0
    title: str | None = None
    highlight: Sequence[str] = ()
    drawn_on: date = field(default_factory=today)

    @property
    def is_print(self) -> bool:
        """Whether the chart is in greys, for print."""
        return self.style == "print"

    @property
    def palette(self) -> Sequence[str]:
        """The colours by palette index."""
        return {"dark": DARK, "print": _PRINT}.get(self.style, COLOURS)

    @property
    def ground(self) -> str:
        """The background colour."""
        return "#15181d" if self.style == "dark" else "#ffffff"

    @property
    def ink(self) -> str:
        """The colour of text and axes."""
        return "#e6e8eb" if self.style == "dark" else "#1c1e21"

    def wide(self, usual: float) -> float:
        """Return the chosen width, or else the usual width of a chart. [inch]"""
        return self.width or (_SINGLE_COLUMN if self.is_print else usual)

    def filled(self, colour: int) -> dict[str, Any]:
        """Return matplotlib arguments for filling an area or a bar."""
        index = colour % len(self.palette)
        look: dict[str, Any] = {"facecolor": self.palette[index]}
        if self.is_print:
            look = {"facecolor": "#e2e2e2" if _HATCHES[index] else self.palette[index]}
            look |= {"hatch": _HATCHES[index], "edgecolor": self.ink}
        return look

    def mark(self, colour: int) -> dict[str, Any]:
        """Return matplotlib arguments for a line's marker.

        In print, every other marker is hollow.
        """
        index = colour % len(self.palette)
        ink = self.palette[index]
        face = self.ground if self.is_print and index % 2 else ink
        return {"color": ink, "marker": MARKS[index], "markerfacecolor": face, "markersize": 4.0}

    def spot(self, colour: int) -> str:
        """Return a pale colour for map regions, on which text is readable."""
        if self.is_print:
            return ("#bdbdbd", "#efefef", "#969696", "#dadada", "#ffffff")[colour % 5]
        pairs = (
            (int(paint[at : at + 2], 16) for paint in (self.palette[colour], self.ground))
            for at in (1, 3, 5)
        )
        return "#" + "".join(f"{round(0.45 * ink + 0.55 * ground):02x}" for ink, ground in pairs)

    @property
    def program(self) -> str:
        """The program version and the date of the drawing."""
        return f"fastcalc {__version__}, {self.drawn_on.isoformat()}"


@dataclass(frozen=True)
class Letters:
    """The font size for the width of a chart, smaller in narrow charts.

    size : The font size of names and ticks, in points.
    """

    size: float

    @classmethod
    def of(cls, wide: float) -> "Letters":
        """Choose the font size for a chart width."""
        fraction = min(max((wide - _NARROW) / (_ROOMY - _NARROW), 0.0), 1.0)
        return cls(6.8 + 1.7 * fraction)

    @property
    def line(self) -> float:
        """The line height, in points."""
        return 1.3 * self.size

    def measure(self, text: str) -> float:
        """Measure the width of a text, in points."""
        return _width(text, self.size, "normal")

    def wrapped(self, text: str, room: float, size: float = 1.0, weight: str = "normal") -> str:
        """Wrap a text to a width, in points.

        size : The font size relative to that of names.
        """
        room *= _FILLED
        lines: list[str] = []
        for word in text.split(" "):
            longer = f"{lines[-1]} {word}" if lines else word
            if lines and _width(longer, size * self.size, weight) <= room:
                lines[-1] = longer
            else:
                lines.append(word)
        return "\n".join(lines)


@lru_cache(maxsize=4096)
def _width(text: str, size: float, weight: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="sans-serif", size=size, weight=weight)
    width: float = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    return width
