"""``fastcalc fit``: does it fit, where, on how many chips, and how large a batch or a context."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast, get_args

from fastcalc.catalogue.limits import LIMITS
from fastcalc.core.scenario import Location, Scenario, locate_each
from fastcalc.errors import InputError
from fastcalc.features import request_of
from fastcalc.features.fit import answer as report
from fastcalc.features.fit import solved as fit_solved
from fastcalc.features.fit.records import fit_records
from fastcalc.features.fit.request import FitMemory
from fastcalc.features.fit.solve import Solution, Unknown, solve_for
from fastcalc.kit.answer.answer import CommandAnswer, later
from fastcalc.kit.answer.console import Part, Screen
from fastcalc.kit.answer.next_commands import follow_up, typed_as
from fastcalc.kit.request import readers
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.fields import phrases, settings
from fastcalc.kit.request.loading import DEFAULT_MODELS, formats_asked, scenarios
from fastcalc.kit.request.number_lists import numbers
from fastcalc.mentions import flag, option


def run(request: FitMemory) -> CommandAnswer:
    """Return where each model lives, or why nowhere; or the longest context or most users there."""
    notes: list[str] = []
    unknown, request = _unknown(request), _with_batch(request)
    requested = _scenarios(request, notes)
    locations = [location for scenario in requested for location in locate_each(scenario)]
    solutions = [] if unknown is None else [solve_for(unknown, place) for place in locations]
    locations = [solution.location for solution in solutions] or locations
    holding = [solution for solution in solutions if solution.certain]
    fitting = [solution.location for solution in holding] if solutions else _fitting(locations)
    is_held = bool(fitting) or any(solution.edge for solution in solutions)

    def page(screen: Screen) -> list[Part]:
        at_answer = _at_answer(request, holding[0]) if holding else request
        next_command = _next(at_answer, fitting[:1] if holding else fitting)
        if solutions:
            return fit_solved.parts(solutions, next_command, screen)
        stated = phrases(settings(request), without=report.IN_HEADING)
        return report.parts(locations, stated, next_command, screen)

    charts = {
        "memory": later("kit.charts.of_memory.memory", locations),
        "context": later("features.fit.chart.context", requested),
    }
    columns = report.MARKDOWN if unknown is None else fit_solved.markdown(unknown)
    return CommandAnswer(
        page,
        lambda: fit_records(locations, solutions),
        lambda: (columns, fit_records(locations, solutions)),
        drawn=dict(reversed(charts.items())) if solutions else charts,
        reading=list(dict.fromkeys(notes)),
        code=0 if is_held else 1,
    )


def _fitting(locations: Sequence[Location]) -> list[Location]:
    return [location for location in locations if location.fits]


def _unknown(request: FitMemory) -> Unknown | None:
    """Return what is solved for, and refuse what would be given and solved for at once."""
    if request.solve is None:
        return None
    unknown = cast(Unknown, readers.choice(request.solve, option("solve"), get_args(Unknown)))
    if unknown == "context" and request.context is not None:
        raise InputError(f"{option('solve', 'context')} finds it: leave out {option('context')}")
    if unknown == "users" and (request.users is not None or request.batch != FitMemory.batch):
        name = "batch" if request.users is None else "users"
        raise InputError(f"{option('solve', 'users')} finds how many: leave out {option(name)}")
    return unknown


def _with_batch(request: FitMemory) -> FitMemory:
    """Return a request with its users as the batch, which is what they are."""
    if request.users is None:
        return request
    if request.batch != FitMemory.batch:
        raise InputError(
            f"{option('users')} and {option('batch')} are the same here; give one of them"
        )
    users = numbers(request.users, option("users"), LIMITS["sequences"])
    return replace(request, batch=list(users), users=None)


def _scenarios(request: FitMemory, notes: list[str]) -> list[Scenario]:
    """Return the scenarios of each model in each pair of formats on each chip."""
    every = [
        scenario
        for weight, cache in formats_asked(request)
        for scenario in scenarios(Evaluated.sharing(request, weights=weight, kv=cache), notes)
    ]
    models = list(dict.fromkeys(scenario.model.id for scenario in every))
    return sorted(every, key=lambda scenario: models.index(scenario.model.id))


def _at_answer(request: FitMemory, solution: Solution) -> FitMemory:
    """Return the request at its answer, which other commands can say more of."""
    scenario = solution.location.scenario
    prompt, batch = int(scenario.traffic.prompt), str(min(scenario.batches))
    return replace(request, solve=None, prompt=prompt, batch=batch)


def _next(request: FitMemory, fitting: Sequence[Location]) -> str:
    """Return how fast what fits is, or what does hold it."""
    models = request.models or DEFAULT_MODELS
    if not fitting:
        return follow_up(replace(request, weights=None, kv=None), request_of("plan"), models[0])
    first = fitting[0].scenario
    native = replace(request, weights=first.weights, kv=first.kv)
    chips = dict.fromkeys(location.scenario.hardware.id for location in fitting)
    names = dict.fromkeys(typed_as(request, request.on, chip) for chip in chips)
    return follow_up(native, request_of("compare"), *models, flag("on"), ",".join(names))
