"""``fastcalc compare``: scenarios to a table or to records."""

from itertools import groupby
from pathlib import Path

from fastcalc.cli import options, output
from fastcalc.cli.requests import Request
from fastcalc.scenario import Outcome, solve


def run(request: Request, format: str, file: Path | None) -> None:  # noqa: A002
    """Evaluate a request and write it in a format."""
    format = options.choice(format, "--format", ("table", "json", "csv", "markdown"))  # noqa: A001
    outcomes = [solve(scenario) for scenario in request.scenarios()]
    if format == "table":
        text = _table(outcomes, request.again("fit"), to_file=file is not None)
        output.write(text, file)
        return
    from fastcalc.report import records

    if format == "markdown":
        from fastcalc.report.compare import markdown_rows

        text = records.to_markdown(*markdown_rows(outcomes))
    else:
        rows = records.compare_records(outcomes)
        text = records.to_csv(rows)
        if format == "json":
            text = records.to_json(rows, assumptions=records.assumptions(outcomes))
    output.write(text, file)
    output.warn([warning for outcome in outcomes for warning in outcome.warnings])


def _table(outcomes: list[Outcome], next_command: str, *, to_file: bool) -> str:
    from fastcalc.report import compare, console

    width = console.output_width()
    tables, left_out = compare.tables(outcomes, width)
    parts: list[console.Part] = []
    pairs = zip(outcomes, tables, strict=True)
    for _, group in groupby(pairs, key=lambda pair: pair[0].scenario.model.id):
        members = list(group)
        parts.append(compare.heading(members[0][0]))
        for _, table in members:
            parts += ["", *table]
        parts.append("")
    parts.append(compare.notes(outcomes, left_out, next_command))
    return console.render(parts, width, colour=console.wants_colour() and not to_file)
