"""Stacked bars and tornado charts, drawn with matplotlib."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastcalc.kit.answer.numbers_as_text import whole_percent
from fastcalc.kit.charts.drawing import Bar, Swing, ink_on
from fastcalc.kit.charts.look import Letters, Look
from fastcalc.kit.charts.plots import Box
from fastcalc.kit.charts.tornado import LESS, MORE, reach_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WAYS = [(LESS, 1, "area"), (MORE, 0, "area")]
"""Key of a tornado chart."""


def _plot(
    drawing: "Figure", names: Sequence[str], aside: float, letters: Letters, area: Box
) -> tuple["Axes", float]:
    """Plot with a name for each bar, and its width without the given margin. [pt]"""
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
    """Draw stacked bars; segments too narrow for their name are named in the key above."""
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
    """Draw a tornado chart, with the value of each number."""
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
