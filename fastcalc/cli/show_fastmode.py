"""``fastcalc fastmode``: every trick from one serving point to one speed."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.store import Catalogue
from fastcalc.cli import options, output, requests
from fastcalc.cli.answers import Found, no
from fastcalc.cli.commands.evaluation import Compare
from fastcalc.cli.commands.search import Fastmode
from fastcalc.core.best_cut import best_cut
from fastcalc.core.scenario import Scenario, locate, solve
from fastcalc.errors import InputError
from fastcalc.report import curve, fastmode, fastmode_table, records
from fastcalc.report.console import Part, Screen
from fastcalc.search.tricks import Answer, Option, start_at_speed
from fastcalc.search.tricks import fastmode as tricks
from fastcalc.search.tricks.lighter_passes import narrowest
from fastcalc.search.tricks.smaller_batches import engines_of, study
from fastcalc.written import shown

SPEEDUP = 2.5
"""The speed-up asked for where none is given: that of the first fast mode on sale."""

BATCH = 32
"""The batch that is served where neither batch nor speed is given."""


def run(asked: Fastmode) -> Found:
    """Return every way to the speed; the answer is no if nothing reaches it."""
    _check(asked)
    comparison = Compare.like(asked, models=[asked.model], batch=asked.batch or str(BATCH))
    scenario, catalogue = _scenario(comparison)
    if asked.curve:
        return _curve(asked, scenario, catalogue)
    slow = asked.from_speed
    found = best_cut(scenario) if slow is None else start_at_speed(scenario, slow)
    if found is None:
        chips, where = scenario.sharding.chips, scenario.hardware.id
        where = f"{chips} chips of {where}" if chips else where
        reason = (
            f"no batch of {scenario.model.id} on {where} is expected to give each user {slow:g} "
            "tokens/s, so there is no point to start from"
        )
        return no([reason], fastmode.KEYS, fastmode_table.TABLE)
    today = float(solve(found).estimate.speed[0])
    speed = asked.to_speed or today * (asked.speedup or SPEEDUP)
    smaller = options.names(asked.smaller, "--smaller")
    words = {"family": None, "none": [], "all": catalogue.names("models")}
    few_models = words.get(smaller[0], smaller) if len(smaller) == 1 else smaller
    made = tricks(found, speed, catalogue, few_models)
    if not made.reached and asked.written_as != "table":
        extra = partial(fastmode.alongside, made)
        return no([fastmode.nothing(made)], fastmode.KEYS, fastmode_table.TABLE, extra)
    outcomes = [made.today, *(one.outcome for one in made.options if one.outcome is not None)]
    few, left = fastmode.shown(made, everything=asked.everything or asked.written_as == "markdown")

    def page(screen: Screen) -> list[Part]:
        then = _next(asked, comparison, made, few)
        much = replace(screen, wide=screen.wide or asked.everything)
        return fastmode_table.parts(made, few, left, then, much)

    return Found(
        page,
        lambda: fastmode.rows(
            made, made.options, lambda one: requests.command(comparison, one, made.today)
        ),
        lambda: (fastmode_table.TABLE, fastmode.rows(made, few)),
        lambda: {**fastmode.alongside(made), "assumptions": records.assumptions(outcomes)},
        (line for one in outcomes for line in one.warnings),
        code=0 if made.reached else 1,
    )


def _next(asked: Fastmode, comparison: Compare, made: Answer, shown: Sequence[Option]) -> str:
    """Return a report on today's chips alongside those that would serve the same model so fast."""
    today = made.today.scenario
    chips = [
        one.outcome.scenario.hardware.id
        for one in shown
        if one.outcome and one.usd and one.outcome.scenario.model is today.model
    ]
    on = ",".join(list(dict.fromkeys([asked.on, *chips]))[:3])
    return requests.report_on(replace(comparison, batch=str(today.batches[0])), on)


def _curve(asked: Fastmode, scenario: Scenario, catalogue: Catalogue) -> Found:
    """Return what a smaller batch costs from every start, or that no cut of the chips holds any."""
    chips = scenario.sharding.chips or locate(scenario).placement.layout.chips
    engines = engines_of(catalogue, scenario.hardware)
    if asked.engine:
        engines = [scenario.engine]
    engines = [*engines, catalogue.engine("ideal")]
    native = [replace(scenario, engine=one) for one in {one.id: one for one in engines}.values()]
    found = study(
        [each for one in native for each in (one, *(narrow for _, narrow in narrowest(one)))],
        chips,
        asked.speedup or SPEEDUP,
    )
    if found is None:
        where = f"{chips} chip{'s' if chips > 1 else ''} of {scenario.hardware.id}"
        reason = f"no cut of {where} holds a sequence of {scenario.model.id}"
        return no([reason], curve.KEYS, [curve.START])
    return Found(
        lambda screen: curve.parts(
            found, asked.cost, screen.width, is_ascii=not asked.out and not output.draws()
        ),
        lambda: curve.curve_records(found),
        lambda: (curve.table(found, asked.cost), curve.rows(found)),
        lambda: curve.alongside(found),
    )


def _check(asked: Fastmode) -> None:
    named = (
        (asked.from_speed, "--from-speed", 50),
        (asked.speedup, "--speedup", 2.5),
        (asked.to_speed, "--to-speed", 150),
    )
    for value, flag, example in named:
        if value is not None:
            options.number(value, flag, LIMITS["speed"], example)
    options.number(asked.cost, "--cost", LIMITS["speed"], 6)
    ends = {"--batch": asked.batch, "--from-speed": asked.from_speed, "--to-speed": asked.to_speed}
    ranks = {f"--{name}": getattr(asked, name) for name in ("tp", "pp", "ep", "dp")}
    given = [name for name, value in {**ends, **ranks}.items() if value is not None]
    if asked.curve and given:
        raise InputError(f"--curve tries every start and every cut: leave out {given[0]}")
    if asked.from_speed is not None and asked.batch:
        raise InputError("--batch and --from-speed both say where to start; give one of them")
    if asked.speedup is not None and asked.to_speed is not None:
        raise InputError("--speedup and --to-speed both say where to go; give one of them")


def _scenario(comparison: Compare) -> tuple[Scenario, Catalogue]:
    chips, batch = options.names(comparison.on, "--on"), comparison.batch
    if comparison.on.strip() == "all":
        raise InputError("--on all names every chip; fastmode starts from one")
    if len(chips) > 1:
        raise InputError(f"--on names {len(chips)} chips; fastmode starts from one")
    if "," in batch or ".." in batch:
        raise InputError(f"--batch {shown(batch)} names several batches; fastmode starts from one")
    scenario = requests.scenarios(replace(comparison, price=None))[0]
    catalogue = requests.catalogue(comparison)
    pricing = replace(scenario.pricing, given=requests.prices(comparison, catalogue))
    return replace(scenario, pricing=pricing), catalogue
