"""``fastcalc fastmode``: all techniques that take a serving point to a target speed."""

from dataclasses import replace
from functools import partial

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.selection import selected
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import locate, solve
from fastcalc.core.scenario import Scenario
from fastcalc.errors import InputError
from fastcalc.features.fastmode import curve
from fastcalc.features.fastmode.answer import FastmodeAnswer
from fastcalc.features.fastmode.lighter_passes import narrowest
from fastcalc.features.fastmode.records import COLUMNS, TABLE
from fastcalc.features.fastmode.request import Fastmode
from fastcalc.features.fastmode.sentences import no_option_reaches
from fastcalc.features.fastmode.smaller_batches import engines_of, study
from fastcalc.features.fastmode.solve import fastmode as tricks
from fastcalc.features.fastmode.solve import start_at_speed
from fastcalc.kit.answer.answer import Answer, NoAnswer
from fastcalc.kit.request import loading, readers
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.pricing import prices
from fastcalc.kit.request.scenarios import scenarios
from fastcalc.mentions import option
from fastcalc.written import many, shown

SPEEDUP = 2.5
"""Default speed-up: that of the first fast mode on the market."""

BATCH = 32
"""Default batch if neither a batch nor a speed is given."""


def run(request: Fastmode) -> Answer:
    """Find the options that reach the speed. The answer is "no" if none does."""
    _check(request)
    comparison = Evaluated.sharing(
        request, models=[request.model], batch=request.batch or str(BATCH)
    )
    reading: list[str] = []
    scenario, catalogue = _scenario(comparison, reading)
    if request.curve:
        return _curve(request, scenario, catalogue, reading)
    keys = [column.key for column in COLUMNS]
    no_answer = partial(NoAnswer, request=request, reading=reading, asked_keys=keys, columns=TABLE)
    slow = request.from_speed
    start = scenario if slow is None else start_at_speed(scenario, slow)
    if start is None:
        chips, where = scenario.sharding.chips, scenario.hardware.id
        where = f"{chips} chips of {where}" if chips else where
        reason = f"no batch of {scenario.model.id} on {where} reaches {slow:g} tokens/s per user"
        return no_answer(reasons=[f"{reason}, so there is no starting point"])
    today = float(solve(start).estimate.speed[0])
    speed = request.to_speed or today * (request.speedup or SPEEDUP)
    smaller = readers.names(request.smaller, option("smaller"))
    words = {"family": None, "none": [], "all": catalogue.names("models")}
    smaller_models = words.get(smaller[0], smaller) if len(smaller) == 1 else smaller
    solution = replace(tricks(start, speed, catalogue, smaller_models), asked_start=slow)
    answer = FastmodeAnswer(
        request=request, reading=reading, comparison=comparison, solution=solution
    )
    if solution.reached or request.written_as in ("table", "html"):
        return answer
    return no_answer(reasons=[no_option_reaches(solution)], beside=answer.details())


def _curve(
    request: Fastmode, scenario: Scenario, catalogue: Catalogue, reading: list[str]
) -> Answer:
    """Compute the cost of a smaller batch from every start. Raises InputError if nothing fits."""
    chips = scenario.sharding.chips or locate(scenario).placement.layout.chips
    engines = [scenario.engine] if request.engine else engines_of(catalogue, scenario.hardware)
    by_id = {engine.id: engine for engine in [*engines, catalogue.engine("ideal")]}
    variants: list[Scenario] = []
    for engine in by_id.values():
        native = replace(scenario, engine=engine)
        variants += [native, *(narrow for _, narrow in narrowest(native))]
    batch_study = study(variants, chips, request.speedup or SPEEDUP)
    if batch_study is not None:
        return curve.CurveAnswer(request=request, reading=reading, study=batch_study)
    where = f"{many(chips, 'chip')} of {scenario.hardware.id}"
    return NoAnswer(
        request=request,
        reading=reading,
        reasons=[f"no layout of {where} fits a sequence of {scenario.model.id}"],
        asked_keys=[column.key for column in curve.COLUMNS],
        columns=[curve.START],
    )


def _check(request: Fastmode) -> None:
    positive = (
        (request.from_speed, option("from_speed"), 50),
        (request.speedup, option("speedup"), 2.5),
        (request.to_speed, option("to_speed"), 150),
    )
    for value, flag, example in positive:
        if value is not None:
            readers.number(value, flag, LIMITS["speed"], example)
    readers.number(request.cost, option("cost"), LIMITS["speed"], 6)
    fixed = ("batch", "from_speed", "to_speed", "tp", "pp", "ep", "dp")
    conflicting = [option(name) for name in fixed if request.values[name] is not None]
    if request.curve and conflicting:
        raise InputError(
            f"{option('curve')} tries every start and every layout: remove {conflicting[0]}"
        )
    if request.from_speed is not None and request.batch:
        raise InputError(
            f"{option('batch')} and {option('from_speed')} both set the start; give one"
        )
    if request.speedup is not None and request.to_speed is not None:
        raise InputError(
            f"{option('speedup')} and {option('to_speed')} both set the target; give one"
        )


def _scenario(comparison: Evaluated, notes: list[str]) -> tuple[Scenario, Catalogue]:
    catalogue, batch = loading.catalogue(comparison), comparison.batch
    chips = selected(catalogue, readers.names(comparison.on, option("on")))
    if len(chips) > 1:
        raise InputError(
            f"{option('on')} names {len(chips)} chips, but fastmode starts from the one in use "
            f"now: write for example {option('on', chips[0].id)}"
        )
    text = readers.as_text(batch)
    if "," in text or ".." in text:
        raise InputError(
            f"{option('batch')} {shown(text)} names several batches; fastmode takes that in use now"
        )
    scenario = scenarios(replace(comparison, price=None), notes)[0]
    pricing = replace(scenario.pricing, user_prices=prices(comparison, catalogue))
    return replace(scenario, pricing=pricing), catalogue
