"""``fastcalc fit``: does it fit, where, on how many chips, and how large a batch."""

from dataclasses import replace
from pathlib import Path

from fastcalc.cli import options, output
from fastcalc.cli.requests import Request
from fastcalc.report import fit as report
from fastcalc.report import records
from fastcalc.scenario import locate


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
        output.write(records.to_markdown(*report.cells(locations)), file)
    else:
        rows = report.fit_records(locations)
        text = records.to_json(rows) if format == "json" else records.to_csv(rows)
        output.write(text, file)
    return 0 if any(location.fits for location in locations) else 1
