"""``fastcalc compare``: scenarios to a table or to records."""

from itertools import groupby
from pathlib import Path
from typing import Any

from fastcalc.cli import options, output
from fastcalc.cli.requests import Request
from fastcalc.core.scenario import Outcome, solve
from fastcalc.errors import InputError
from fastcalc.written import to_markdown


def run(request: Request, format: str, file: Path | None, *, explain: bool) -> None:  # noqa: A002
    """Evaluate a request and write it in a format."""
    format = options.choice(format, "--format", ("table", "json", "csv", "markdown"))  # noqa: A001
    if explain and format not in ("table", "json"):
        raise InputError(f"--explain is no flat record: --format {format} cannot hold it; use json")
    outcomes = [solve(scenario) for scenario in request.scenarios()]
    if format == "table":
        next_command = request.again("fit")
        text = _table(outcomes, next_command, to_file=file is not None, explain=explain)
        output.write(text, file)
        return
    from fastcalc.report import records

    if format == "markdown":
        from fastcalc.report.compare import markdown_rows

        text = to_markdown(*markdown_rows(outcomes))
    else:
        beside = {"assumptions": records.assumptions(outcomes)}
        rows, told = records.compare_records(outcomes), _explanations(outcomes, explain=explain)
        text = records.as_text(format, rows, **beside, **told)
    output.write(text, file)
    output.warn([warning for outcome in outcomes for warning in outcome.warnings])


def _explanations(outcomes: list[Outcome], *, explain: bool) -> dict[str, list[dict[str, Any]]]:
    if not explain:
        return {}
    from fastcalc.report.explain import explanation_records

    return {"explanations": explanation_records(outcomes)}


def _table(outcomes: list[Outcome], next_command: str, *, to_file: bool, explain: bool) -> str:
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
    if explain:
        from fastcalc.report.explain import explanation_parts

        parts += explanation_parts(outcomes)
    parts.append(compare.notes(outcomes, left_out, next_command))
    return console.render(parts, width, colour=console.wants_colour() and not to_file)
