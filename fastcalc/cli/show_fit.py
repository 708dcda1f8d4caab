"""``fastcalc fit``: does it fit, where, on how many chips, and how large a batch."""

from dataclasses import replace

from fastcalc.cli import output
from fastcalc.cli.commands.evaluation import Compare, FitMemory
from fastcalc.cli.requests import again, scenarios
from fastcalc.core.scenario import locate
from fastcalc.report import fit as report
from fastcalc.report import records
from fastcalc.written import to_markdown


def run(asked: FitMemory) -> int:
    """Place the models, write where they go, and return the exit code."""
    comparison = Compare.like(asked)
    locations = [
        locate(replace(scenario, batches=(batch,)))
        for scenario in scenarios(comparison)
        for batch in scenario.batches
    ]
    if asked.format == "table":
        next_command = again(comparison, "compare")
        text = report.table(locations, next_command, to_file=asked.out is not None)
    elif asked.format == "markdown":
        text = to_markdown(*report.cells(locations))
    else:
        text = records.as_text(asked.format, report.fit_records(locations))
    output.write(text, asked.out)
    return 0 if any(location.fits for location in locations) else 1
