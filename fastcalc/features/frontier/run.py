"""``fastcalc frontier``: user speed against price, the points that no other beats."""

from dataclasses import replace

from fastcalc.catalogue.formats import number_format, weight_formats
from fastcalc.catalogue.limits import LIMITS
from fastcalc.core.scenario import Scenario, each_warning
from fastcalc.errors import InputError
from fastcalc.features import request_of
from fastcalc.features.frontier import answer as report
from fastcalc.features.frontier.request import Frontier
from fastcalc.features.frontier.search import frontier, placeable
from fastcalc.kit.answer import point_records as records
from fastcalc.kit.answer.answer import Answer, CommandAnswer, later, no_answer
from fastcalc.kit.answer.console import Part, Screen
from fastcalc.kit.answer.next_commands import follow_up, typed_as
from fastcalc.kit.request import readers
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.fields import phrases, settings
from fastcalc.kit.request.like import without_ranks
from fastcalc.kit.request.loading import formats_asked, scenarios
from fastcalc.mentions import flag, option


def run(request: Frontier) -> Answer:
    """Return what nothing beats in both speed and price; the answer is no if nothing fits."""
    comparison = Evaluated.sharing(
        request, models=[request.model], batch="1", weights=None, kv=None
    )
    readers.number(request.max_chips, option("max_chips"), LIMITS["chips searched"], 72)
    notes: list[str] = []
    placed, refused = placeable(_scenarios(request, comparison, notes), request.max_chips)
    points = frontier(placed, max_chips=request.max_chips)
    if not points:
        reasons = [*refused, "nothing has both a place and a price"]
        headings = report.columns([])
        return no_answer(reasons, records.KEYS, headings, lambda: {"assumptions": {}}, notes)

    def page(screen: Screen) -> list[Part]:
        chip = typed_as(comparison, comparison.on, points[0].outcome.scenario.hardware.id)
        begun = replace(comparison, batch=Evaluated.batch)
        next_command = follow_up(begun, request_of("fastmode"), request.model, flag("on"), chip)
        return report.parts(points, phrases(settings(request)), refused, next_command, screen)

    return CommandAnswer(
        page,
        lambda: report.frontier_records(points),
        lambda: (report.columns(rows := report.rows(points)), rows),
        lambda: {"assumptions": records.assumptions(report.outcomes(points))},
        [*refused, *each_warning(point.outcome for point in points)],
        reading=notes,
        drawn={
            "frontier": later(
                "features.frontier.chart.frontiers", placed, request.max_chips, points
            )
        },
    )


def _scenarios(request: Frontier, comparison: Evaluated, notes: list[str]) -> list[Scenario]:
    formats = list(formats_asked(request))
    for weight, cache in formats:
        if weight:
            weight_formats(weight)
        if cache:
            number_format(cache, cache=True)
    try:
        of_chips = scenarios(comparison, notes)
    except InputError as error:
        like = request.like
        raise InputError(*(without_ranks(s, like) if like else s for s in error.args)) from None
    return [
        replace(scenario, weights=weight, kv=cache)
        for scenario in of_chips
        for weight, cache in formats
    ]
