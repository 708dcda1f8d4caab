"""``fastcalc fit``: does it fit, where, on how many chips, and how large a batch."""

from dataclasses import replace

from fastcalc.cli.answers import Found, later
from fastcalc.cli.commands.evaluation import Compare, FitMemory
from fastcalc.cli.requests import again, scenarios
from fastcalc.core.scenario import locate
from fastcalc.report import fit as report


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
        charts={"memory": later("charts.of_memory.memory", locations)},
        code=0 if any(location.fits for location in locations) else 1,
    )
