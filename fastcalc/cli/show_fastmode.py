"""``fastcalc fastmode``: every trick from one serving point to one speed."""

from dataclasses import replace

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.store import Catalogue
from fastcalc.cli import options, requests
from fastcalc.cli.answers import Found, no
from fastcalc.cli.commands.evaluation import Compare
from fastcalc.cli.commands.search import Fastmode, Frontier
from fastcalc.core.scenario import Scenario, solve
from fastcalc.errors import InputError
from fastcalc.report import fastmode, fastmode_table, records
from fastcalc.search.tricks import fastmode as tricks
from fastcalc.search.tricks import start_at_speed
from fastcalc.written import shown

SPEEDUP = 2.5
"""The speed-up asked for where none is given: that of the first fast mode on sale."""

BATCH = 32
"""The batch that is served where neither batch nor speed is given."""


def run(asked: Fastmode) -> Found:
    """Found a request and return the exit code: 1 if nothing reaches the speed."""
    _check(asked)
    comparison = Compare.like(asked, models=[asked.model], batch=asked.batch or str(BATCH))
    scenario, catalogue = _scenario(comparison)
    slow = asked.from_speed
    found = scenario if slow is None else start_at_speed(scenario, slow)
    if found is None:
        chips, where = scenario.sharding.chips, scenario.hardware.id
        where = f"{chips} chips of {where}" if chips else where
        reason = (
            f"no batch of {scenario.model.id} on {where} is expected to give each user {slow:g} "
            "tokens/s, so there is no point to start from"
        )
        return no([reason], fastmode.KEYS, fastmode_table.TABLE)
    today = float(solve(found).estimate.speed[0])
    made = tricks(found, asked.to_speed or today * (asked.speedup or SPEEDUP), catalogue)
    outcomes = [made.today, *(one.outcome for one in made.options if one.outcome is not None)]
    few, left = fastmode.shown(made, everything=asked.everything or asked.written_as == "markdown")
    next_command = requests.again(comparison, "frontier", Frontier)
    return Found(
        lambda width: fastmode_table.parts(made, few, left, width, next_command),
        lambda: fastmode.rows(
            made, made.options, lambda one: requests.command(comparison, one, made.today)
        ),
        lambda: (fastmode_table.TABLE, fastmode.rows(made, few)),
        lambda: {**fastmode.alongside(made), "assumptions": records.assumptions(outcomes)},
        (line for one in outcomes for line in one.warnings),
        code=0 if made.reached else 1,
    )


def _check(asked: Fastmode) -> None:
    """Refuse numbers that make no sense, alone or together."""
    named = (
        (asked.from_speed, "--from-speed", 50),
        (asked.speedup, "--speedup", 2.5),
        (asked.to_speed, "--to-speed", 150),
    )
    for value, flag, example in named:
        if value is not None:
            options.number(value, flag, LIMITS["speed"], example)
    if asked.from_speed is not None and asked.batch:
        raise InputError("--batch and --from-speed both say where to start; give one of them")
    if asked.speedup is not None and asked.to_speed is not None:
        raise InputError("--speedup and --to-speed both say where to go; give one of them")


def _scenario(comparison: Compare) -> tuple[Scenario, Catalogue]:
    """Return what is served, priced for every chip of the catalogue, and the catalogue."""
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
