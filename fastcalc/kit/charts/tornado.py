"""A tornado chart: how 10% less or more of each parameter changes a metric, widest bar first."""

from collections.abc import Sequence

from fastcalc.kit.answer.parts import TextTable
from fastcalc.kit.charts.drawing import Swing

LESS, MORE = "10% less of it", "10% more of it"
_NARROWEST = 6
"""Minimum number of characters on either side of the middle."""


def reach_of(swings: Sequence[Swing]) -> float:
    """Return the largest change in either direction."""
    return max((swing.width for swing in swings), default=1.0) or 1.0


def ends_of(swings: Sequence[Swing]) -> tuple[str, str]:
    """Return the labels at the two ends of the scale.

    >>> ends_of([Swing("cores", "132", lowered=-0.05, raised=0.04)])
    ('-5%', '+5%')
    """
    reach = 100.0 * reach_of(swings)
    return f"{-reach:.2g}%", f"{reach:+.2g}%"


def swing_table(swings: Sequence[Swing], width: int) -> TextTable:
    """Draw a tornado chart: ``-`` for ten percent less of a parameter, ``+`` for more."""
    names = max(len(swing.name) for swing in swings)
    says = max(len(swing.says) for swing in swings)
    half = max((width - names - says - 5) // 2, _NARROWEST)
    rows = []
    for swing in swings:
        line = [*(" " * half), "|", *(" " * half)]
        for change, sign in ((swing.lowered, "-"), (swing.raised, "+")):
            for step in range(1, round(abs(change) / reach_of(swings) * half) + 1):
                line[half + (step if change > 0.0 else -step)] = sign
        rows.append((swing.name, swing.says, "".join(line).rstrip()))
    ends = ends_of(swings)
    scale = f"{ends[0]:<{half}}0{ends[1]:>{half}}"
    return TextTable([("number",), ("now",), (scale,)], rows, left=(0, 2))
