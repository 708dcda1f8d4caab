"""``fastcalc frontier``: the Pareto frontier of speed per user and price."""

from dataclasses import replace

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.features.frontier.answer import FrontierAnswer, columns
from fastcalc.features.frontier.request import Frontier
from fastcalc.features.frontier.search import frontier, placeable
from fastcalc.kit.answer.answer import Answer, NoAnswer
from fastcalc.kit.answer.point_records import KEYS
from fastcalc.kit.request import readers
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.like import without_ranks
from fastcalc.kit.request.loading import format_pairs
from fastcalc.kit.request.scenarios import scenarios
from fastcalc.mentions import option


def run(request: Frontier) -> Answer:
    """Find the Pareto-optimal points in speed and price.

    If nothing fits, the answer has a nonzero exit code.
    """
    readers.number(request.max_chips, option("max_chips"), LIMITS["chips searched"], 72)
    notes: list[str] = []
    compared = (
        Evaluated.sharing(request, models=[request.model], batch="1", weights=weight, kv=cache)
        for weight, cache in format_pairs(request)
    )
    try:
        asked = [
            replace(scenario, hardware=scenario.pricing.as_rented(scenario.hardware))
            for comparison in compared
            for scenario in scenarios(comparison, notes)
        ]
    except InputError as error:
        like = request.like
        raise InputError(*(without_ranks(s, like) if like else s for s in error.args)) from None
    placed, refused = placeable(asked, request.max_chips)
    notes = list(dict.fromkeys(notes))
    points = frontier(placed, max_chips=request.max_chips)
    if not points:
        reasons = [*refused, "no deployment both fits and has a price"]
        return NoAnswer(
            request=request, reading=notes, reasons=reasons, asked_keys=KEYS, columns=columns([])
        )
    return FrontierAnswer(
        request=request, reading=notes, points=points, searched=placed, refused=refused
    )
