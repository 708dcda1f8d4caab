"""``fastcalc compare``: scenarios to a table or to records."""

from collections.abc import Sequence
from typing import Any

from fastcalc.cli.answers import Found, later
from fastcalc.cli.commands.evaluation import Compare
from fastcalc.cli.requests import DEFAULT_MODELS, again, is_all, report_on, scenarios
from fastcalc.core.scenario import Outcome, solve
from fastcalc.errors import InputError
from fastcalc.report import compare, overview, records
from fastcalc.report.console import Part, Screen

_KINDS = ("speed", "price", "roofline", "step")

_MOST_CHIPS = 4
"""Of what is next where all were compared."""


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

    def page(screen: Screen) -> list[Part]:
        then = _next(asked, outcomes)
        if screen.wide or asked.explain:
            return compare.parts(outcomes, steps, then, screen.width)
        return overview.parts(outcomes, compare.notes(outcomes), then, screen)

    is_held = any(one.estimate.fits.any() for one in outcomes)  # else there is nothing to draw
    return Found(
        page,
        lambda: records.compare_records(outcomes),
        lambda: (compare.MARKDOWN, records.compare_records(outcomes)),
        lambda: notes,
        (warning for outcome in outcomes for warning in outcome.warnings),
        charts={
            **{kind: later(f"charts.of_outcomes.{kind}", outcomes) for kind in _KINDS if is_held},
            "memory": later("charts.of_memory.memory", outcomes),
        },
        as_html=lambda file: later(
            "page.filled_page.document", outcomes, report_on(asked, asked.on, file)
        )(),
    )


def _next(asked: Compare, outcomes: Sequence[Outcome]) -> str:
    """Return what comes next: every deployment of the chips; without a price or draft, a report."""
    from fastcalc.cli.commands.search import Frontier  # records need no next command

    has_all, some = is_all(asked.on), [one for one in outcomes if one.usd is not None]
    is_searched = some and not asked.speculate and (has_all or len(some) == len(outcomes))
    ids = dict.fromkeys(one.scenario.hardware.id for one in (some if is_searched else outcomes))
    on = ",".join([*ids][:_MOST_CHIPS]) if has_all else asked.on
    if not is_searched:
        return report_on(asked, on)
    return again(asked, Frontier, "frontier", (asked.models or DEFAULT_MODELS)[0], "--on", on)
