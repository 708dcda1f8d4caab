"""``fastcalc compare``: scenarios to a table or to records."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastcalc.core.own_rows import is_of, measured_on
from fastcalc.core.scenario import Outcome, chips_by_id, each_warning, solve
from fastcalc.errors import InputError
from fastcalc.features import request_of
from fastcalc.features.compare import answer as compare
from fastcalc.features.compare import overview
from fastcalc.features.compare.request import Compare
from fastcalc.kit.answer import outcome_lines
from fastcalc.kit.answer import point_records as records
from fastcalc.kit.answer.answer import CommandAnswer, later
from fastcalc.kit.answer.console import Part, Screen
from fastcalc.kit.answer.next_commands import follow_up, report_on, rows_kept
from fastcalc.kit.request.fields import phrases, settings
from fastcalc.kit.request.loading import DEFAULT_MODELS, catalogue, names_typed, scenarios
from fastcalc.mentions import flag, option
from fastcalc.written import listed

_KINDS = {
    **{kind: f"features.compare.chart.{kind}" for kind in ("speed", "price", "roofline")},
    "step": "features.compare.steps_chart.step",
}

_MOST_CHIPS = 4
"""Of what is next where all were compared."""


def run(request: Compare) -> CommandAnswer:
    """Return speed, latency and price of each model on each chip at each batch."""
    if request.explain and request.written_as not in ("table", "json", "html"):
        raise InputError(
            f"{option('explain')} is no flat record: {option('format')} {request.written_as} "
            "cannot hold it; use json"
        )
    request_notes: list[str] = []
    outcomes = [solve(scenario) for scenario in scenarios(request, request_notes)]
    steps: list[Part] = []
    stated = settings(request)
    notes: records.Record = {"assumptions": records.assumptions(outcomes)}
    if request.explain:
        from fastcalc.features.compare.explain import answer as explain

        if request.written_as == "table":
            steps = explain.explanation_parts(outcomes)
        elif request.written_as == "json":
            notes["explanations"] = explain.explanation_records(outcomes)
            notes["memory_explanations"] = explain.memory_records(outcomes)

    in_full = phrases(stated, without=outcome_lines.IN_HEADING)

    def page(screen: Screen) -> list[Part]:
        next_command = _next(request, outcomes)
        if screen.wide or request.explain:
            return compare.parts(outcomes, in_full, steps, next_command, screen.width)
        first = overview.parts(outcomes, phrases(stated), next_command, screen)
        return [*_like(outcomes, screen.width), *first] if request.like else first

    # Else there is nothing to draw.
    is_held = any(outcome.estimate.fits.any() for outcome in outcomes)
    answer = CommandAnswer(
        page,
        lambda: records.compare_records(outcomes),
        lambda: (compare.MARKDOWN, records.compare_records(outcomes)),
        lambda: notes,
        each_warning(outcomes),
        reading=request_notes,
        keys=records.KEYS,
        column=lambda key: records.compare_column(outcomes, key),
        drawn={
            **{kind: later(maker, outcomes) for kind, maker in _KINDS.items() if is_held},
            "memory": later("kit.charts.of_memory.memory", outcomes),
        },
    )
    return replace(answer, html=partial(_html, request, outcomes, answer))


def _html(
    request: Compare, outcomes: Sequence[Outcome], answer: CommandAnswer, file: Path | None
) -> str:
    """Return the page of a comparison."""
    from fastcalc.features.compare import page as comparison  # records need no page

    stated = phrases(answer.settings, without=outcome_lines.IN_HEADING)
    assumptions = answer.alongside()["assumptions"]
    return comparison.document(
        outcomes, stated, assumptions, report_on(request, request_of("report"), request.on, file)
    )


def _like(outcomes: Sequence[Outcome], width: int) -> list[Part]:
    """Return what the user's rows say of each deployment of theirs that is compared."""
    from fastcalc.kit.answer import own_rows  # most comparisons have none

    compared = {
        id(deployment): (deployment, scenario.engine.id)
        for outcome in outcomes
        for scenario in [outcome.scenario]
        for deployment in measured_on(scenario.engine, scenario.hardware.id, scenario.work)
        if is_of(deployment, outcome.placement.layout)
    }
    if not compared:
        return []
    deployments, engines = zip(*compared.values(), strict=True)
    return [*own_rows.parts(deployments, listed([*dict.fromkeys(engines)]), width), ""]


def _next(request: Compare, outcomes: Sequence[Outcome]) -> str:
    """Return what comes next: every deployment of the chips; without a price or draft, a report."""
    compared = chips_by_id(outcomes).keys()
    if request.like and (next_command := rows_kept(request, request.like, min(compared))):
        return next_command
    has_groups = not compared <= names_typed(catalogue(request), request.on).keys()
    priced = [outcome for outcome in outcomes if outcome.usd is not None]
    is_searched = priced and not request.speculate and (has_groups or len(priced) == len(outcomes))
    shown = priced if is_searched else outcomes
    ids = chips_by_id(shown)
    on = ",".join([*ids][:_MOST_CHIPS]) if has_groups else request.on
    if not is_searched:
        return report_on(request, request_of("report"), on)
    return follow_up(
        request, request_of("frontier"), (request.models or DEFAULT_MODELS)[0], flag("on"), on
    )
