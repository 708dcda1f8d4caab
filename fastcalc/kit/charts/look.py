"""How a picture looks: its size, its ground, and what its lines are distinguished by."""

from collections.abc import Callable, Sequence
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
"""Of areas and bars in print, whose greys are too few for them."""
_SINGLE_COLUMN = 3.3
"""Width of a column of a paper. [inch]"""
_FILLED = 0.95
"""Share of a width that letters may take: who shows an SVG has other letters, if like these. [1]"""
_NARROW, _ROOMY = 3.6, 5.5
"""Widths from which letters grow, and from which they grow no more. [inch]"""


@dataclass(frozen=True)
class Look:
    """What a user may say of a picture.

    width, height : None for what its contents take [inch]
    title : in place of the finding
    highlight : patterns of the lines in colour
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
        """Whether it is for paper, in greys."""
        return self.style == "print"

    @property
    def palette(self) -> Sequence[str]:
        """Colours by place."""
        return {"dark": DARK, "print": _PRINT}.get(self.style, COLOURS)

    @property
    def ground(self) -> str:
        """Colour of the paper."""
        return "#15181d" if self.style == "dark" else "#ffffff"

    @property
    def ink(self) -> str:
        """Colour of letters and axes."""
        return "#e6e8eb" if self.style == "dark" else "#1c1e21"

    def wide(self, usual: float) -> float:
        """Width, or the usual one of a picture. [inch]"""
        return self.width or (_SINGLE_COLUMN if self.is_print else usual)

    def filled(self, colour: int) -> dict[str, Any]:
        """Return how matplotlib fills an area or a bar."""
        index = colour % len(self.palette)
        look: dict[str, Any] = {"facecolor": self.palette[index]}
        if self.is_print:
            look = {"facecolor": "#e2e2e2" if _HATCHES[index] else self.palette[index]}
            look |= {"hatch": _HATCHES[index], "edgecolor": self.ink}
        return look

    def mark(self, colour: int) -> dict[str, Any]:
        """Return how matplotlib draws the marker of a line; in print every other one is hollow."""
        index = colour % len(self.palette)
        ink = self.palette[index]
        face = self.ground if self.is_print and index % 2 else ink
        return {"color": ink, "marker": MARKS[index], "markerfacecolor": face, "markersize": 4.0}

    def spot(self, colour: int) -> str:
        """Pale colour of spots of a map, on which letters are read."""
        if self.is_print:
            return ("#bdbdbd", "#efefef", "#969696", "#dadada", "#ffffff")[colour % 5]
        pairs = (
            (int(paint[at : at + 2], 16) for paint in (self.palette[colour], self.ground))
            for at in (1, 3, 5)
        )
        return "#" + "".join(f"{round(0.45 * ink + 0.55 * ground):02x}" for ink, ground in pairs)

    @property
    def program(self) -> str:
        """Which program drew it, and when."""
        return f"fastcalc {__version__}, {self.drawn_on.isoformat()}"


@dataclass(frozen=True)
class Letters:
    """Font size for a picture width in inches: small ones in a narrow picture.

    size : of names and ticks [pt]
    """

    size: float

    @classmethod
    def of(cls, wide: float) -> "Letters":
        """Letters of a width."""
        fraction = min(max((wide - _NARROW) / (_ROOMY - _NARROW), 0.0), 1.0)
        return cls(6.8 + 1.7 * fraction)

    @property
    def line(self) -> float:
        """Height of a line. [pt]"""
        return 1.3 * self.size

    @property
    def measure(self) -> Callable[[str], float]:
        """What measures a text. [pt]"""
        return lambda text: _width(text, self.size, "normal")

    def wrapped(self, text: str, room: float, size: float = 1.0, weight: str = "normal") -> str:
        """A text in lines that are no wider than some room. [pt]

        size : over that of names [1]
        """
        room *= _FILLED
        lines: list[str] = []
        for word in text.replace(" %", "\N{NO-BREAK SPACE}%").split(" "):
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
