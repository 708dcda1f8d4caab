"""A tornado chart of the effects of single parameters."""

from collections.abc import Sequence
from math import isfinite

from fastcalc.features.sensitivity.answer import MovedBatch
from fastcalc.features.sensitivity.effects import OtherValue
from fastcalc.kit.answer.outcome_lines import requests_of
from fastcalc.kit.charts.drawing import Chart, Swing
from fastcalc.kit.charts.outcome_series import grounds

_MOST = 14
"""Maximum number of parameters in the chart."""

_LEAST = 5e-4
"""Relative change below which a parameter is not drawn."""


def tornado(batches: Sequence[MovedBatch]) -> Chart:
    """Draw how 10% less and more of each parameter changes the speed per user.

    batches : The batches, of which the first one is drawn.
    """
    first = batches[0]
    all_swings = [
        Swing(
            name=row.name,
            says=row.text(row.value),
            lowered=_change(row.effect.lowered, row.place),
            raised=_change(row.effect.raised, row.place),
        )
        for row in first.rows
    ]
    swings = sorted(
        (swing for swing in all_swings if swing.width >= _LEAST), key=lambda swing: -swing.width
    )
    point = first.rows[0].point
    title = (
        f"Effect of 10% of each number on the speed per user: {point['model']} on "
        f"{point['chips']:,} {point['hardware']}, batch {point['batch']:,}; "
        f"{requests_of(first.outcome)}"
    )
    notes = [
        *filter(None, [first.saturated()]),
        "integers of a model change to the next valid value",
    ]
    if len(batches) > 1:
        notes.append("the chart shows the first batch")
    if len(swings) > _MOST:
        notes.append(f"the chart shows the {_MOST} largest of {len(swings)} effects")
    return Chart(
        title,
        notes=notes,
        swings=swings[:_MOST],
        finding=first.opening(2),
        grounds=grounds([first.outcome.scenario]),
    )


def _change(other: OtherValue, index: int) -> float:
    change = float(other.change.speed[index]) - 1.0
    return change if isfinite(change) else 0.0
