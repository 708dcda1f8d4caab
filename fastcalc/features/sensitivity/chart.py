"""Charts of what single numbers of files buy."""

from collections.abc import Sequence
from math import isfinite

from fastcalc.features.sensitivity.answer import buys, buys_nothing, today
from fastcalc.features.sensitivity.moved_numbers import MovedNumber
from fastcalc.kit.answer.numbers_as_text import capital
from fastcalc.kit.answer.outcome_lines import requests_of
from fastcalc.kit.charts.drawing import Chart, Swing
from fastcalc.kit.charts.grounds import grounds

_MOST = 14
"""Numbers that a picture has room for."""

_LEAST = 5e-4
"""Change below which a number is not drawn. [1]"""


def tornado(rows: Sequence[MovedNumber]) -> Chart:
    """Return what ten per cent less and more of each number do to the speed of a user."""
    first = [row for row in rows if row.point == rows[0].point]
    every = [
        Swing(
            name=_short(row.path),
            says=row.text(row.effect.lever.number.value),
            lowered=_change(row, "lowered"),
            raised=_change(row, "raised"),
        )
        for row in first
    ]
    swings = sorted(
        (swing for swing in every if swing.width >= _LEAST), key=lambda swing: -swing.width
    )
    point = rows[0].point
    title = (
        f"What 10 % of each number does to the speed of a user: {point['model']} on "
        f"{point['chips']:,} {point['hardware']}, batch {point['batch']:,}; "
        f"{requests_of(rows[0].outcome)}"
    )
    notes = [*buys_nothing(first), "whole numbers of a model move to the next that a file may hold"]
    bought = "; ".join(buys(first))
    if len(first) < len(rows):
        notes.append("of the first batch")
    if len(swings) > _MOST:
        notes.append(f"the {_MOST} widest of {len(swings)} are drawn")
    return Chart(
        title,
        notes=notes,
        swings=swings[:_MOST],
        finding=f"{today(first[0])} {capital(bought)}{'.' * bool(bought)}".strip(),
        grounds=grounds([rows[0].outcome.scenario]),
    )


def _short(path: str) -> str:
    """Return a path without the word that all numbers of its kind begin with.

    >>> _short("memory.SRAM.bandwidth"), _short("blocks[0].count")
    ('SRAM.bandwidth', 'layers')
    """
    if path == "blocks[0].count":
        return "layers"
    return path.removeprefix("parameters.").removeprefix("memory.").removeprefix("blocks[0].")


def _change(row: MovedNumber, way: str) -> float:
    change = float(getattr(row.effect, way).change.speed[row.place]) - 1.0
    return change if isfinite(change) else 0.0
