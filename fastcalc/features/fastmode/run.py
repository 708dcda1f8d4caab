"""``fastcalc fastmode``: every trick from one serving point to one speed."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.selection import selected
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.scenario import Scenario, each_warning, locate, solve
from fastcalc.errors import InputError
from fastcalc.features import request_of
from fastcalc.features.fastmode import answer as fastmode_table
from fastcalc.features.fastmode import curve
from fastcalc.features.fastmode import records as fastmode
from fastcalc.features.fastmode.lighter_passes import narrowest
from fastcalc.features.fastmode.option import Option
from fastcalc.features.fastmode.request import Fastmode
from fastcalc.features.fastmode.smaller_batches import engines_of, study
from fastcalc.features.fastmode.solve import FastModeAnswer, start_at_speed
from fastcalc.features.fastmode.solve import fastmode as tricks
from fastcalc.kit.answer import next_commands, outcome_lines, output
from fastcalc.kit.answer import point_records as records
from fastcalc.kit.answer.answer import Answer, CommandAnswer, later, no_answer
from fastcalc.kit.answer.console import Part, Screen
from fastcalc.kit.request import loading, readers
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.fields import phrases, settings
from fastcalc.mentions import option
from fastcalc.written import many, shown

SPEEDUP = 2.5
"""The speed-up asked for where none is given: that of the first fast mode on sale."""

BATCH = 32
"""The batch that is served where neither batch nor speed is given."""


def run(request: Fastmode) -> Answer:
    """Return every way to the speed; the answer is no if nothing reaches it."""
    _check(request)
    comparison = Evaluated.sharing(
        request, models=[request.model], batch=request.batch or str(BATCH)
    )
    notes: list[str] = []
    scenario, catalogue = _scenario(comparison, notes)
    if request.curve:
        return _curve(request, scenario, catalogue, notes)
    slow = request.from_speed
    start = scenario if slow is None else start_at_speed(scenario, slow)
    if start is None:
        return no_answer(
            [_no_start(scenario, slow)], fastmode.KEYS, fastmode_table.TABLE, notes=notes
        )
    today = float(solve(start).estimate.speed[0])
    speed = request.to_speed or today * (request.speedup or SPEEDUP)
    smaller_models = _smaller_models(request, catalogue)
    answer = replace(tricks(start, speed, catalogue, smaller_models), asked_start=slow)
    if not answer.reached and request.written_as not in ("table", "html"):
        extra, reason = partial(fastmode.alongside, answer), fastmode.no_option_reaches(answer)
        return no_answer([reason], fastmode.KEYS, fastmode_table.TABLE, extra, notes)
    outcomes = [answer.today, *(option.outcome for option in answer.options if option.outcome)]
    everything = request.everything or request.written_as == "markdown"
    shown_options, left = fastmode.shown(answer, everything=everything)

    def page(screen: Screen) -> list[Part]:
        next_command = _next(comparison, answer, shown_options)
        widened = replace(screen, wide=screen.wide or request.everything)
        stated = phrases(settings(request), without=outcome_lines.IN_HEADING)
        return fastmode_table.parts(answer, shown_options, left, stated, next_command, widened)

    return CommandAnswer(
        page,
        lambda: fastmode.rows(
            answer,
            answer.options,
            lambda outcome: next_commands.command(comparison, outcome, answer.today),
        ),
        lambda: (fastmode_table.TABLE, fastmode.rows(answer, shown_options)),
        lambda: {**fastmode.alongside(answer), "assumptions": records.assumptions(outcomes)},
        each_warning(outcomes),
        reading=notes,
        code=0 if answer.reached else 1,
        drawn={"fastmode": later("features.fastmode.chart.tricks", answer, shown_options)},
    )


def _smaller_models(request: Fastmode, catalogue: Catalogue) -> list[str] | None:
    """Return the models that may take today's place; None for those of its family."""
    smaller = readers.names(request.smaller, option("smaller"))
    words = {"family": None, "none": [], "all": catalogue.names("models")}
    return words.get(smaller[0], smaller) if len(smaller) == 1 else smaller


def _no_start(scenario: Scenario, speed: float | None) -> str:
    """Return the sentence for a speed that no batch is expected to give."""
    chips, where = scenario.sharding.chips, scenario.hardware.id
    where = f"{chips} chips of {where}" if chips else where
    return (
        f"no batch of {scenario.model.id} on {where} is expected to give each user {speed:g} "
        "tokens/s, so there is no point to start from"
    )


def _next(comparison: Evaluated, answer: FastModeAnswer, shown: Sequence[Option]) -> str:
    """Return a report on today's chips alongside those that would serve the same model so fast."""
    today = answer.today.scenario
    chips = [
        option.outcome.scenario.hardware.id
        for option in shown
        if option.outcome and option.usd and option.outcome.scenario.model is today.model
    ]
    on = ",".join(
        list(
            dict.fromkeys(
                [next_commands.typed_as(comparison, comparison.on, today.hardware.id), *chips]
            )
        )[:3]
    )
    return next_commands.report_on(
        replace(comparison, batch=str(today.batches[0])), request_of("report"), on
    )


def _curve(request: Fastmode, scenario: Scenario, catalogue: Catalogue, notes: list[str]) -> Answer:
    """Return what a smaller batch costs from every start, or that no cut of the chips holds any."""
    chips = scenario.sharding.chips or locate(scenario).placement.layout.chips
    engines = engines_of(catalogue, scenario.hardware)
    if request.engine:
        engines = [scenario.engine]
    engines = [*engines, catalogue.engine("ideal")]
    by_id = {engine.id: engine for engine in engines}
    native = [replace(scenario, engine=engine) for engine in by_id.values()]
    batch_study = study(
        [
            variant
            for native_scenario in native
            for variant in (native_scenario, *(narrow for _, narrow in narrowest(native_scenario)))
        ],
        chips,
        request.speedup or SPEEDUP,
    )
    if batch_study is None:
        where = f"{many(chips, 'chip')} of {scenario.hardware.id}"
        reason = f"no cut of {where} holds a sequence of {scenario.model.id}"
        return no_answer([reason], curve.KEYS, [curve.START], notes=notes)
    return CommandAnswer(
        lambda screen: curve.parts(
            batch_study, request.cost, screen.width, is_ascii=not request.out and not output.draws()
        ),
        lambda: curve.curve_records(batch_study),
        lambda: (curve.table(batch_study, request.cost), curve.rows(batch_study)),
        lambda: curve.alongside(batch_study),
        reading=notes,
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
    ends = {
        option("batch"): request.batch,
        option("from_speed"): request.from_speed,
        option("to_speed"): request.to_speed,
    }
    ranks = {option(name): getattr(request, name) for name in ("tp", "pp", "ep", "dp")}
    conflicting = [name for name, value in {**ends, **ranks}.items() if value is not None]
    if request.curve and conflicting:
        raise InputError(
            f"{option('curve')} tries every start and every cut: leave out {conflicting[0]}"
        )
    if request.from_speed is not None and request.batch:
        raise InputError(
            f"{option('batch')} and {option('from_speed')} both say where to start; give one of "
            "them"
        )
    if request.speedup is not None and request.to_speed is not None:
        raise InputError(
            f"{option('speedup')} and {option('to_speed')} both say where to go; give one of them"
        )


def _scenario(comparison: Evaluated, notes: list[str]) -> tuple[Scenario, Catalogue]:
    catalogue, batch = loading.catalogue(comparison), comparison.batch
    chips = selected(catalogue, readers.names(comparison.on, option("on")))
    if len(chips) > 1:
        raise InputError(f"{option('on')} names {len(chips)} chips; fastmode starts from one")
    typed = readers.as_text(batch)
    if "," in typed or ".." in typed:
        raise InputError(
            f"{option('batch')} {shown(typed)} names several batches; fastmode starts from one"
        )
    scenario = loading.scenarios(replace(comparison, price=None), notes)[0]
    pricing = replace(scenario.pricing, user_prices=loading.prices(comparison, catalogue))
    return replace(scenario, pricing=pricing), catalogue
