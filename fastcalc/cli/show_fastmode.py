"""``fastcalc fastmode``: every trick from one serving point to one speed."""

from dataclasses import replace

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.store import Catalogue
from fastcalc.cli import options, output, requests
from fastcalc.cli.commands.evaluation import Compare
from fastcalc.cli.commands.search import Fastmode
from fastcalc.core.scenario import Outcome, Scenario, solve
from fastcalc.errors import InputError
from fastcalc.search.tricks import Answer, fastmode, start_at_speed
from fastcalc.written import shown, to_markdown

SPEEDUP = 2.5
"""The speed-up asked for where none is given: that of the first fast mode on sale."""

BATCH = 32
"""The batch that is served where neither batch nor speed is given."""


def run(asked: Fastmode) -> int:
    """Answer a request and return the exit code: 1 if nothing reaches the speed."""
    _check(asked)
    comparison = Compare.like(asked, models=[asked.model], batch=asked.batch or str(BATCH))
    scenario, catalogue = _scenario(comparison)
    slow = asked.from_speed
    found = scenario if slow is None else start_at_speed(scenario, slow)
    if found is None:
        return _unanswered(_no_start(scenario, slow or 0.0), asked)
    today = float(solve(found).estimate.speed[0])
    answer = fastmode(found, asked.to_speed or today * (asked.speedup or SPEEDUP), catalogue)
    output.write(_text(asked, comparison, answer), asked.out)
    if asked.format != "table":
        warnings = [line for one in _outcomes(answer) for line in one.warnings]
        output.warn(warnings)
    return 0 if answer.reached else 1


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


def _no_start(scenario: Scenario, slow: float) -> str:
    chips = scenario.sharding.chips
    where = f"{chips} chips of {scenario.hardware.id}" if chips else scenario.hardware.id
    return (
        f"no batch of {scenario.model.id} on {where} is expected to give each user {slow:g} "
        "tokens/s, so there is no point to start from"
    )


def _unanswered(reason: str, asked: Fastmode) -> int:
    """Write that there is no point to start from, and return the exit code."""
    if asked.format != "table":
        from fastcalc.report import fastmode, fastmode_table, records

        text = records.nothing(asked.format, fastmode.keys(), fastmode_table.header(), reason)
        output.write(text, asked.out)
    output.warn([reason])
    return 1


def _outcomes(answer: Answer) -> list[Outcome]:
    return [answer.today, *(one.outcome for one in answer.options if one.outcome is not None)]


def _text(asked: Fastmode, comparison: Compare, answer: Answer) -> str:
    from fastcalc.report import console, fastmode_table, records
    from fastcalc.report.fastmode import extra, fastmode_records, shown

    if asked.format in ("json", "csv"):
        rows = fastmode_records(
            answer, lambda outcome: requests.command(comparison, outcome, answer.today)
        )
        assumed = records.assumptions(_outcomes(answer))
        return records.as_text(asked.format, rows, **extra(answer), assumptions=assumed)
    few, left = shown(answer, everything=asked.everything or asked.format == "markdown")
    if asked.format == "markdown":
        cells = fastmode_table.cells(answer, few)
        return to_markdown(fastmode_table.header(), [list(row.values()) for row in cells])
    width = console.output_width()
    parts = fastmode_table.parts(answer, few, left, width, requests.again(comparison, "frontier"))
    return console.render(parts, width, colour=console.wants_colour() and not asked.out)
