"""``fastcalc compare``: scenarios to a table or to records."""

from typing import Any

from fastcalc.cli.answers import Found, later
from fastcalc.cli.commands.evaluation import Compare, FitMemory
from fastcalc.cli.requests import again, repeated, scenarios
from fastcalc.core.scenario import solve
from fastcalc.errors import InputError
from fastcalc.report import compare, overview, records
from fastcalc.report.console import Part

_KINDS = ("speed", "price", "roofline", "step")
"""Charts of what is compared."""


def run(asked: Compare) -> Found:
    """Evaluate a comparison and write it in a format."""
    if asked.explain and asked.written_as not in ("table", "json", "html"):
        raise InputError(
            f"--explain is no flat record: --format {asked.written_as} cannot hold it; use json"
        )
    outcomes = [solve(scenario) for scenario in scenarios(asked)]
    steps: list[Part] = []
    notes: dict[str, Any] = {"assumptions": records.assumptions(outcomes)}
    if asked.explain:
        from fastcalc.report import explain

        if asked.written_as == "table":
            steps = explain.explanation_parts(outcomes)
        elif asked.written_as == "json":
            notes["explanations"] = explain.explanation_records(outcomes)

    def page(width: int) -> list[Part]:
        from fastcalc.cli.commands.search import Frontier  # records need no next command

        # From one deployment of each chip to all of them; without a price, to where it lives.
        is_searched = not asked.speculate and outcomes[0].usd is not None
        then = again(asked, *(("frontier", Frontier) if is_searched else ("fit", FitMemory)))
        if asked.wide or asked.explain:
            return compare.parts(outcomes, steps, then, width)
        said = compare.notes(outcomes)
        return overview.parts(outcomes, said, then, width, has_all_notes=asked.notes)

    return Found(
        page,
        lambda: records.compare_records(outcomes),
        lambda: (compare.MARKDOWN, records.compare_records(outcomes)),
        lambda: notes,
        (warning for outcome in outcomes for warning in outcome.warnings),
        charts={
            **{kind: later(f"charts.of_outcomes.{kind}", outcomes) for kind in _KINDS},
            "memory": later("charts.of_memory.memory", outcomes),
        },
        as_html=later("page.filled_page.document", outcomes, repeated(asked, "report")),
    )
