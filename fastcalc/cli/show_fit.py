"""``fastcalc fit``: does it fit, where, on how many chips, and how large a batch."""

from dataclasses import replace
from pathlib import Path

from fastcalc.cli import options, output
from fastcalc.cli.requests import Request
from fastcalc.core.scenario import locate
from fastcalc.report import fit as report
from fastcalc.report import records
from fastcalc.written import to_markdown


def run(request: Request, format: str, file: Path | None) -> int:  # noqa: A002
    """Place a request's models, write where they go, and return the exit code."""
    format = options.choice(format, "--format", ("table", "json", "csv", "markdown"))  # noqa: A001
    locations = [
        locate(replace(scenario, batches=(batch,)))
        for scenario in request.scenarios()
        for batch in scenario.batches
    ]
    if format == "table":
        output.write(
            report.table(locations, request.again("compare"), to_file=file is not None), file
        )
    elif format == "markdown":
        output.write(to_markdown(*report.cells(locations)), file)
    else:
        output.write(records.as_text(format, report.fit_records(locations)), file)
    return 0 if any(location.fits for location in locations) else 1
