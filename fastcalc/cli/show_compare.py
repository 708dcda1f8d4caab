"""``fastcalc compare``: scenarios to a table or to records."""

from itertools import groupby
from typing import Any

from fastcalc.cli import output
from fastcalc.cli.commands.evaluation import Compare
from fastcalc.cli.requests import again, scenarios
from fastcalc.core.scenario import Outcome, solve
from fastcalc.errors import InputError
from fastcalc.written import to_markdown


def run(asked: Compare) -> None:
    """Evaluate a comparison and write it in a format."""
    if asked.explain and asked.format not in ("table", "json"):
        raise InputError(
            f"--explain is no flat record: --format {asked.format} cannot hold it; use json"
        )
    outcomes = [solve(scenario) for scenario in scenarios(asked)]
    if asked.format == "table":
        output.write(_table(outcomes, asked), asked.out)
        return
    from fastcalc.report import records

    if asked.format == "markdown":
        from fastcalc.report.compare import markdown_rows

        text = to_markdown(*markdown_rows(outcomes))
    else:
        notes: dict[str, Any] = {"assumptions": records.assumptions(outcomes)}
        if asked.explain:
            from fastcalc.report.explain import explanation_records

            notes["explanations"] = explanation_records(outcomes)
        text = records.as_text(asked.format, records.compare_records(outcomes), **notes)
    output.write(text, asked.out)
    output.warn([warning for outcome in outcomes for warning in outcome.warnings])


def _table(outcomes: list[Outcome], asked: Compare) -> str:
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
    if asked.explain:
        from fastcalc.report.explain import explanation_parts

        parts += explanation_parts(outcomes)
    parts.append(compare.notes(outcomes, left_out, again(asked, "fit")))
    return console.render(parts, width, colour=console.wants_colour() and not asked.out)
