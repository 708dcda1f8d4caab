"""``fastcalc compare``: scenarios to a table or to records."""

from collections.abc import Sequence
from typing import Any

from fastcalc.cli.answers import Found, later
from fastcalc.cli.commands.evaluation import Compare
from fastcalc.cli.requests import DEFAULT_MODELS, again, report_on, scenarios, typed_as
from fastcalc.core.scenario import Outcome, solve
from fastcalc.errors import InputError
from fastcalc.report import compare, overview, records
from fastcalc.report.console import Part

_KINDS = ("speed", "price", "roofline", "step")
"""Charts of what is compared."""

_MOST_CHIPS = 4
"""Of a frontier that is next."""


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
        then = _next(asked, outcomes)
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
        as_html=later("page.filled_page.document", outcomes, report_on(asked, asked.on)),
    )


def _next(asked: Compare, outcomes: Sequence[Outcome]) -> str:
    """Return what comes next: every deployment of the chips; without a price or draft, a report."""
    from fastcalc.cli.commands.search import Frontier  # records need no next command

    priced = [one for one in outcomes if one.usd is not None]
    if asked.speculate or not priced:
        return report_on(asked, asked.on)
    chips = dict.fromkeys(typed_as(asked, one.scenario.hardware.id) for one in priced)
    model = (asked.models or DEFAULT_MODELS)[0]
    return again(asked, Frontier, "frontier", model, "--on", ",".join(list(chips)[:_MOST_CHIPS]))
