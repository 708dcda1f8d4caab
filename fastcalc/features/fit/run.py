"""``fastcalc fit``: whether models fit, on how many chips, and their largest batch or context."""

from dataclasses import replace
from itertools import chain
from typing import cast, get_args

from fastcalc.catalogue.limits import LIMITS
from fastcalc.core.outcome import locate_each
from fastcalc.core.start import start_location
from fastcalc.errors import InputError
from fastcalc.features.fit.answer import FitAnswer
from fastcalc.features.fit.gpu_layers import most_on_card
from fastcalc.features.fit.request import FitMemory
from fastcalc.features.fit.solve import Unknown, solve_for
from fastcalc.features.fit.solved import SolvedAnswer
from fastcalc.formulas.sequences import grouped
from fastcalc.kit.answer.quantized import fitting_quantization
from fastcalc.kit.request import readers
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.loading import catalogue, format_pairs
from fastcalc.kit.request.number_lists import numbers
from fastcalc.kit.request.scenarios import scenarios
from fastcalc.mentions import option


def run(request: FitMemory) -> FitAnswer:
    """Place each model or explain why none fits, or solve for the longest context or most users."""
    reading: list[str] = []
    unknown = _unknown(request)
    asked = _with_batch(request)
    evaluated = [
        scenarios(Evaluated.sharing(asked, weights=weight, kv=cache), reading)
        for weight, cache in format_pairs(asked)
    ]
    started = (  # with the engine's limits as they are, since `fit` is about a start
        replace(scenario, memory=replace(scenario.memory, lowers_sequence_limit=False))
        for scenario in chain(*evaluated)
    )
    by_model = grouped(started, lambda scenario: scenario.model.id)
    requested, reading = [*chain(*by_model.values())], list(dict.fromkeys(reading))
    locations = [start_location(location) for location in locate_each(requested)]
    if unknown is None:
        entries = catalogue(request)
        layers = [most_on_card(location, entries) for location in locations]
        return FitAnswer(
            request=request,
            reading=reading,
            scenarios=requested,
            locations=locations,
            gpu_layers=[count for count in layers if count],
            quantized=[*filter(None, map(fitting_quantization, locations))],
        )
    solutions = [solve_for(unknown, location) for location in locations]
    unfit = [start_location(one.location) for one in solutions if not one.edge]
    return SolvedAnswer(
        request=request,
        reading=reading,
        scenarios=requested,
        locations=[start_location(solution.location) for solution in solutions],
        solutions=solutions,
        quantized=[*filter(None, map(fitting_quantization, unfit))],
    )


def _unknown(request: FitMemory) -> Unknown | None:
    """Return the quantity to solve for. Raises InputError if the request also sets it."""
    if request.solve is None:
        return None
    unknown = cast(Unknown, readers.choice(request.solve, option("solve"), get_args(Unknown)))
    if unknown == "context" and request.context is not None:
        raise InputError(
            f"{option('solve', 'context')} computes the context: remove {option('context')}"
        )
    if unknown == "users" and (request.users is not None or request.batch != FitMemory.batch):
        name = "batch" if request.users is None else "users"
        raise InputError(f"{option('solve', 'users')} finds their number: remove {option(name)}")
    return unknown


def _with_batch(request: FitMemory) -> FitMemory:
    """Set the batch to the number of users, which means the same."""
    if request.users is None:
        return request
    if request.batch != FitMemory.batch:
        raise InputError(
            f"{option('users')} and {option('batch')} are the same here; give one of them"
        )
    users = numbers(request.users, option("users"), LIMITS["sequences"])
    return replace(request, batch=list(users), users=None)
