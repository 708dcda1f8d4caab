"""``fastcalc fit``: does it fit, where, on how many chips, and how large a batch."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fastcalc.cli.answers import Found
from fastcalc.cli.commands.evaluation import Compare, FitMemory
from fastcalc.cli.requests import again, scenarios
from fastcalc.core.scenario import Location, locate
from fastcalc.report import fit as report

if TYPE_CHECKING:
    from fastcalc.report.charts.drawing import Chart


def run(asked: FitMemory) -> Found:
    """Place the models, write where they go, and return the exit code."""
    comparison = Compare.like(asked)
    locations = [
        locate(replace(scenario, batches=(batch,)))
        for scenario in scenarios(comparison)
        for batch in scenario.batches
    ]
    return Found(
        lambda width: report.parts(locations, again(asked, "compare", Compare), width),
        lambda: report.fit_records(locations),
        lambda: (report.MARKDOWN, report.fit_records(locations)),
        charts={"memory": lambda: _chart(locations)},
        code=0 if any(location.fits for location in locations) else 1,
    )


def _chart(locations: Sequence[Location]) -> "Chart":
    from fastcalc.report.charts import of_memory

    return of_memory.memory(locations)
