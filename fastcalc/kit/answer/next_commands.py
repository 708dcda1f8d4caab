"""Suggest next commands: repeat a request as a command, or follow up an answer."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastcalc import mentions
from fastcalc.core.outcome import Outcome
from fastcalc.core.scenario import Sharding
from fastcalc.importers.setup import LAYOUT
from fastcalc.kit.request.chips import count_of_names, names_typed
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.fields import Request, declared, differing, settings
from fastcalc.kit.request.groups import OwnFolders
from fastcalc.kit.request.loading import DEFAULT_MODELS, catalogue
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import flag
from fastcalc.quoting import shell_line

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven


def command(request: Evaluated, outcome: Outcome, today: Outcome) -> str:
    """Build the command that reproduces a point, with names as the user typed them."""
    from fastcalc.kit.answer.commands import OF_A_POINT, Typed, compare_command

    scenario, layout = today.scenario, outcome.placement.layout
    names = {scenario.model.id: as_text((request.models or DEFAULT_MODELS)[0])}
    names |= names_typed(catalogue(request), request.on)
    names |= {scenario.engine.id: as_text(request.engine)} if request.engine else {}
    placed = replace(outcome.scenario, sharding=Sharding.of(layout))
    has_memories = len(outcome.placement.machine.tiers) > 1
    words = repeated(request, Evaluated, OF_A_POINT, has_memories=has_memories)
    return compare_command(placed, Typed(names, words))


def follow_up(
    request: Request, target: type[Request], *begun: object, ending: Sequence[str] = ()
) -> str:
    """Build another command with the settings it shares with a request.

    begun : The first words of the command: arguments and chips, as names or objects.
    """
    line = ["fastcalc", target.command(), *map(as_text, begun)]
    apart = [name for name in declared(target) if flag(name) in (*line, *ending)]
    words = repeated(request, target, ("on", *apart))
    is_laid_out = any(request.values.get(name) for name in ("chips", *LAYOUT))
    if not is_laid_out and "chips" in declared(target) and request.values.get("on"):
        count = count_of_names(request)  # the count in a name such as 2xrtx-3090
        words += [flag("chips"), str(count)] if count else []
    return mentions.command(shell_line([*line, *words, *ending]))


def repeated(
    request: Request, target: type[Request], apart: Sequence[str], *, has_memories: bool = False
) -> list[str]:
    """Return the flags with which another command repeats the settings of a request.

    apart : Names of fields that the command sets itself.
    has_memories : Whether the chip has several memories.
    """
    is_placed = has_memories or any(request.values.get(name) for name in ("host", "place"))
    idle = () if is_placed else ("place_for",)
    return [
        word
        for setting in settings(request)
        if setting.name in declared(target)
        and setting.name not in (*apart, *idle)
        and not setting.shown.is_argument
        and setting.value != declared(target)[setting.name].default
        for word in setting.words
    ]


def again(request: Request) -> str:
    """Build the command that repeats a request with all its settings."""
    stated = [setting for setting in differing(request) if setting.name != "format"]
    stated.sort(key=lambda setting: not setting.shown.is_argument)
    words = (word for setting in stated for word in setting.words)
    return mentions.command(shell_line(["fastcalc", request.command(), *words]))


def report_on(
    request: Evaluated, target: type[Request], on: object, file: Path | None = None
) -> str:
    """Build the command that writes a report comparing chips to a file.

    target : The request class of the report command.
    """
    models = request.models or DEFAULT_MODELS
    ending = [flag("out"), str(file or "report.html")]
    return follow_up(request, target, *models, flag("on"), on, ending=ending)


def rows_kept(request: Evaluated, rows: Path, chip: str) -> str | None:
    """Build the command that saves measurements, with settings they lack, in an engine file.

    Search commands have no flags for these settings but accept the engine file.
    """
    from fastcalc.importers.any_file import is_foreign, read

    says_all = not (rows.is_dir() or is_foreign(rows))
    if says_all or not read(rows, catalogue=catalogue(request)).faults:
        return None
    names = ("weights", "kv", *LAYOUT)
    stated: dict[str, object] = {"hardware": chip, "model": (*(request.models or ()), None)[0]}
    stated |= {name: request.values[name] for name in names}
    words = [
        word for name, value in stated.items() if value for word in (flag(name), as_text(value))
    ]
    line = ["fastcalc", "calibrate", str(rows), *words, flag("out"), "our-engine.yaml"]
    return mentions.command(shell_line(line))


def typed_as(request: OwnFolders, on: "ChipsGiven", chip: str) -> str:
    """Return a chip's id as the user typed it, which may be a path."""
    return names_typed(catalogue(request), on).get(chip, chip)
