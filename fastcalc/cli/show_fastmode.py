"""``fastcalc fastmode``: every trick from one serving point to one speed."""

from dataclasses import replace
from pathlib import Path

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.store import Catalogue
from fastcalc.cli import options, output
from fastcalc.cli.requests import Request
from fastcalc.core.scenario import Outcome, Scenario, solve
from fastcalc.errors import InputError
from fastcalc.search.tricks import Answer, fastmode, start_at_speed
from fastcalc.written import shown, to_markdown

SPEEDUP = 2.5
"""The speed-up asked for where none is given: that of the first fast mode on sale."""

BATCH = 32
"""The batch that is served where neither batch nor speed is given."""


def run(
    request: Request,
    goal: tuple[float | None, float | None, float | None],
    format: str,  # noqa: A002
    file: Path | None,
    *,
    everything: bool,
) -> int:
    """Answer a request and return the exit code: 1 if nothing reaches the speed.

    Parameters
    ----------
    request : Request
        What is served; its batch is empty where it is to be solved for.
    goal : tuple
        Speed today, speed-up, and speed wanted, None where not given.
    format : str
        Output format.
    file : Path or None
        Where to write.
    everything : bool
        Show every option in a table.
    """
    format = options.choice(format, "--format", ("table", "json", "csv", "markdown"))  # noqa: A001
    slow, speedup, fast = _checked(request, goal)
    scenario, catalogue = _scenario(request)
    found = _today(scenario, slow)
    if found is None:
        return _unanswered(_no_start(scenario, slow or 0.0), format, file)
    today = float(solve(found).estimate.speed[0])
    answer = fastmode(found, fast or today * (speedup or SPEEDUP), catalogue)
    output.write(_text(request, answer, format, everything=everything, to_file=bool(file)), file)
    if format != "table":
        warnings = [line for one in _outcomes(answer) for line in one.warnings]
        output.warn(warnings)
    return 0 if answer.reached else 1


def _checked(
    request: Request, goal: tuple[float | None, float | None, float | None]
) -> tuple[float | None, float | None, float | None]:
    """Return the goal if its numbers make sense together."""
    slow, speedup, fast = goal
    named = ((slow, "--from-speed", 50), (speedup, "--speedup", 2.5), (fast, "--to-speed", 150))
    for value, flag, example in named:
        if value is not None:
            options.number(value, flag, LIMITS["speed"], example)
    if slow is not None and request.batch:
        raise InputError("--batch and --from-speed both say where to start; give one of them")
    if speedup is not None and fast is not None:
        raise InputError("--speedup and --to-speed both say where to go; give one of them")
    return goal


def _scenario(request: Request) -> tuple[Scenario, Catalogue]:
    """Return what is served, priced for every chip of the catalogue, and the catalogue."""
    chips = options.names(request.on, "--on")
    if request.on.strip() == "all":
        raise InputError("--on all names every chip; fastmode starts from one")
    if len(chips) > 1:
        raise InputError(f"--on names {len(chips)} chips; fastmode starts from one")
    batch = request.batch or str(BATCH)
    if "," in batch or ".." in batch:
        raise InputError(f"--batch {shown(batch)} names several batches; fastmode starts from one")
    scenario = replace(request, batch=batch, price=None).scenarios()[0]
    catalogue = request.catalogue()
    pricing = replace(scenario.pricing, given=request.prices(catalogue))
    return replace(scenario, pricing=pricing), catalogue


def _today(scenario: Scenario, slow: float | None) -> Scenario | None:
    return scenario if slow is None else start_at_speed(scenario, slow)


def _no_start(scenario: Scenario, slow: float) -> str:
    chips = scenario.sharding.chips
    where = f"{chips} chips of {scenario.hardware.id}" if chips else scenario.hardware.id
    return (
        f"no batch of {scenario.model.id} on {where} is expected to give each user {slow:g} "
        "tokens/s, so there is no point to start from"
    )


def _unanswered(reason: str, format: str, file: Path | None) -> int:  # noqa: A002
    """Write that there is no point to start from, and return the exit code."""
    if format != "table":
        from fastcalc.report import fastmode, fastmode_table, records

        text = records.nothing(format, fastmode.keys(), fastmode_table.header(), reason)
        output.write(text, file)
    output.warn([reason])
    return 1


def _outcomes(answer: Answer) -> list[Outcome]:
    return [answer.today, *(one.outcome for one in answer.options if one.outcome is not None)]


def _text(
    request: Request,
    answer: Answer,
    format: str,  # noqa: A002
    *,
    everything: bool,
    to_file: bool,
) -> str:
    from fastcalc.report import console, fastmode_table, records
    from fastcalc.report.fastmode import beside, fastmode_records, shown

    if format in ("json", "csv"):
        rows = fastmode_records(answer, lambda outcome: request.command(outcome, answer.today))
        assumed = records.assumptions(_outcomes(answer))
        return records.as_text(format, rows, **beside(answer), assumptions=assumed)
    few, left = shown(answer, everything=everything or format == "markdown")
    if format == "markdown":
        cells = fastmode_table.cells(answer, few)
        return to_markdown(fastmode_table.header(), [list(row.values()) for row in cells])
    width = console.output_width()
    parts = fastmode_table.parts(answer, few, left, width, request.again("frontier"))
    return console.render(parts, width, colour=console.wants_colour() and not to_file)
