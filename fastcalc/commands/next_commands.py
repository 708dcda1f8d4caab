"""What a user may type next: a request as a command again, and what follows from an answer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fastcalc import mentions
from fastcalc.commands.loading import DEFAULT_MODELS, catalogue, names_typed
from fastcalc.core.scenario import Outcome, Sharding
from fastcalc.importers.setup import LAYOUT
from fastcalc.mentions import flag
from fastcalc.quoting import shell_line
from fastcalc.requests.evaluation import Compare, FitMemory
from fastcalc.requests.fields import Request, declared
from fastcalc.requests.groups import EngineLimits, HostMemory
from fastcalc.requests.readers import as_text


def command(request: Compare, outcome: Outcome, today: Outcome) -> str:
    """Return the command that prints a point again; entries go by the names typed."""
    from fastcalc.report.commands import Typed, compare_command

    scenario, layout = today.scenario, outcome.placement.layout
    names = {scenario.model.id: as_text((request.models or DEFAULT_MODELS)[0])}
    names |= names_typed(catalogue(request), request.on)
    names |= {scenario.engine.id: as_text(request.engine)} if request.engine else {}
    sharding = Sharding(None, layout.tp, layout.pp, layout.ep, layout.dp)
    placed = replace(outcome.scenario, sharding=sharding)
    has_memories = len(outcome.placement.machine.tiers) > 1
    words = [*as_typed(request, has_memories=has_memories), *limits_as_typed(request)]
    return compare_command(placed, Typed(names, words))


FOLDERS = ("hardware_dir", "models_dir", "engines_dir")
_NAMED_APART = ("on", "plugins", *FOLDERS)
_PAIRS = ("price", "own", "set")
"""Flags that are given once for each pair."""
_HEADINGS_APART = ("Arguments", "Measurements", "Memory", "Output")


def follow_up(
    request: Request, kind: type[Request], *begun: object, ending: Sequence[str] = ()
) -> str:
    """Return a command of another kind with the flags of a request, those that it has itself.

    begun : its first words, which name models and chips, or these themselves
    """
    shared = [
        name
        for name, (_, heading) in declared(kind).items()
        if name in declared(type(request))
        and heading not in _HEADINGS_APART
        and name not in _NAMED_APART
    ]
    flag_values = {name: getattr(request, name) for name in shared}
    words = [
        word
        for name, value in flag_values.items()
        if value not in (None, getattr(type(request), name), getattr(kind, name))
        for word in typed(name, value)
    ]
    line = ["fastcalc", *map(as_text, begun), *words, *as_typed(request)]
    return mentions.command(shell_line([*line, *ending]))


def again(request: Request, name: str) -> str:
    """Return the command that a request is, with all that it sets."""
    arguments, flags = list[str](), list[str]()
    for field, (annotation, _) in declared(type(request)).items():
        value = getattr(request, field)
        if field == "format" or value in (None, getattr(type(request), field, None)):
            continue
        if annotation.__metadata__[0].is_argument:
            arguments += map(as_text, value if isinstance(value, list) else [value])
        else:
            flags += typed(field, value)
    return mentions.command(shell_line(["fastcalc", name, *arguments, *flags]))


def typed(name: str, value: object) -> Iterator[str]:
    """Yield the words that give a flag a value, or each of several."""
    if name in _PAIRS and isinstance(value, Mapping):
        value = [as_text({key: part}) for key, part in value.items()]
    for setting in value if isinstance(value, list) else [value]:
        yield flag(name)
        yield from [] if setting is True else [as_text(setting)]


def report_on(request: Compare, on: object, file: Path | None = None) -> str:
    """Return the command that writes a report of a comparison, on some chips, to a file."""
    from fastcalc.requests.drawings import WriteReport  # records need no next command

    models = request.models or DEFAULT_MODELS
    ending = [flag("out"), str(file or "report.html")]
    return follow_up(request, WriteReport, "report", *models, flag("on"), on, ending=ending)


def rows_kept(request: Compare, rows: Path, chip: str) -> str | None:
    """Return the command that keeps rows in an engine with what their file leaves unsaid, if any.

    Searches have no flags for that, but take the engine.
    """
    from fastcalc.importers.any_file import is_foreign, read

    says_all = not (rows.is_dir() or is_foreign(rows))
    if says_all or not read(rows, catalogue=catalogue(request)).faults:
        return None
    names = ("weights", "kv", *LAYOUT)
    stated: dict[str, object] = {"hardware": chip, "model": (*(request.models or ()), None)[0]}
    stated |= {name: getattr(request, name) for name in names}
    words = [word for name, value in stated.items() if value for word in typed(name, value)]
    line = ["fastcalc", "calibrate", str(rows), *words, flag("out"), "our-engine.yaml"]
    return mentions.command(shell_line(line))


def typed_as(request: Compare | FitMemory, chip: str) -> str:
    """Return a chip's id as the user typed it, which may be a path."""
    return names_typed(catalogue(request), request.on).get(chip, chip)


def limits_as_typed(request: EngineLimits) -> list[str]:
    """Return the words on the engine's limits."""
    values = {name: getattr(request, name) for name in declared(EngineLimits)}
    return [
        word for name, value in values.items() if value is not None for word in typed(name, value)
    ]


def as_typed(request: Request, *, has_memories: bool = False) -> list[str]:
    """Return the words on memory and the user's own folders, which any command may repeat.

    has_memories : whether the chip has several memories of its own
    """
    names = ("like", "host", "host_use", "place", "plugins", *FOLDERS)
    values = {name: getattr(request, name, None) for name in names}
    if isinstance(request, HostMemory) and (request.host or request.place or has_memories):
        values["place_for"] = None if request.place_for == "served" else request.place_for
    return [word for name, value in values.items() if value for word in typed(name, value)]
