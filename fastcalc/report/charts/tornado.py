"""A tornado: what less and more of each number does to a figure, the widest swing on top."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastcalc.report.charts.drawing import Swing
from fastcalc.report.console import TextTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LESS, MORE = "10 % less of it", "10 % more of it"
_ROOMY = 6.0
"""Width from which values stand alongside the bars. [inch]"""
_NARROWEST = 6
"""Characters on either side of the middle, at least."""


def draw_swings(
    drawing: "Figure", swings: Sequence[Swing], colours: Sequence[str], ink: str
) -> None:
    """Draw a tornado on a figure of matplotlib."""
    from matplotlib.transforms import blended_transform_factory

    plot = drawing.add_subplot(1, 1, 1)
    places = range(len(swings))
    for changes, colour, label, hatch in (
        ([swing.lowered for swing in swings], colours[1], LESS, "////"),
        ([swing.raised for swing in swings], colours[0], MORE, ""),
    ):
        look: dict[str, Any] = {"edgecolor": ink, "linewidth": 0.4, "hatch": hatch, "height": 0.66}
        plot.barh(places, [100.0 * change for change in changes], color=colour, label=label, **look)
    plot.axvline(0.0, color=ink, linewidth=0.8)
    plot.set_yticks(places, [swing.name for swing in swings])
    plot.set_ylim(len(swings) - 0.4, -0.6)
    reach = 100.0 * 1.18 * reach_of(swings)
    plot.set_xlim(-reach, reach)
    wide = float(drawing.get_size_inches()[0])
    for place, swing in enumerate(swings if wide >= _ROOMY else ()):
        right = 100.0 * max(swing.lowered, swing.raised, 0.0)
        plot.text(right + 0.02 * reach, place, swing.says, va="center", fontsize=7.5)
    plot.set_xlabel("% of tokens/s a user", loc="right")
    plot.spines[["left"]].set_visible(False)
    plot.tick_params(axis="y", length=0)
    plot.grid(axis="x", color=ink, alpha=0.14, linewidth=0.6)
    plot.set_axisbelow(True)
    plot.legend(
        loc="lower left",
        bbox_to_anchor=(12.0 / 72.0 / wide, 1.0),
        bbox_transform=blended_transform_factory(drawing.transFigure, plot.transAxes),
        ncols=2,
        frameon=False,
        fontsize=8.5,
        borderpad=0.0,
    )


def reach_of(swings: Sequence[Swing]) -> float:
    """Return the largest change of all, either way. [1]"""
    return max((swing.width for swing in swings), default=1.0) or 1.0


def swing_table(swings: Sequence[Swing], width: int) -> TextTable:
    """Return a tornado as text: ``-`` for ten per cent less of a number, ``+`` for more."""
    names, says = (max(len(getattr(swing, key)) for swing in swings) for key in ("name", "says"))
    half = max((width - names - says - 5) // 2, _NARROWEST)
    rows = [(swing.name, swing.says, _line(swing, half, reach_of(swings))) for swing in swings]
    ends = f"{-100.0 * reach_of(swings):.2g} %", f"{100.0 * reach_of(swings):+.2g} %"
    scale = f"{ends[0]:<{half}}0{ends[1]:>{half}}"
    return TextTable([("number",), ("now",), (scale,)], rows, left=(0, 2))


def _line(swing: Swing, half: int, reach: float) -> str:
    line = [" "] * half + ["|"] + [" "] * half
    for change, sign in ((swing.lowered, "-"), (swing.raised, "+")):
        length = round(abs(change) / reach * half)
        for step in range(1, length + 1):
            line[half + (step if change > 0.0 else -step)] = sign
    return "".join(line).rstrip()
