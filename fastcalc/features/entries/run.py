"""``fastcalc list``, ``show`` and ``diff``: the catalogue as people and as programs read it."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fastcalc.catalogue.kinds import SCHEMAS, Kind
from fastcalc.catalogue.schema import Engine, Entry, Hardware, Model
from fastcalc.catalogue.stand_ins import service
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.features import request_of
from fastcalc.features.entries import answer as entries
from fastcalc.features.entries import diff
from fastcalc.features.entries.request import DiffEntries, ListEntries, ShowEntry
from fastcalc.kit.answer import console, next_commands, output
from fastcalc.kit.answer import point_records as records
from fastcalc.kit.answer.answer import CommandAnswer
from fastcalc.kit.answer.respond import page
from fastcalc.kit.request import loading, readers
from fastcalc.kit.request.fields import Request
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import flag, option
from fastcalc.written import instead_of, json_text, shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import EntryGiven

_Entry = Hardware | Model | Engine
_WRITTEN: dict[type, tuple[Callable[..., records.Record], Callable[..., list[console.Part]]]] = {
    Hardware: (entries.hardware_record, entries.hardware_parts),
    Model: (entries.model_record, entries.model_parts),
    Engine: (entries.engine_record, entries.engine_parts),
}
"""How an entry is written: as a record, and as a page."""


def run_list(request: ListEntries) -> CommandAnswer:
    """Return the entries of a kind; the answer is no if a file is left out because it is broken."""
    kind = cast(Kind, readers.choice(request.entries, "list", tuple(entries.LISTED)))
    catalogue = loading.catalogue(request)
    load = _loaders(catalogue)[kind]
    loaded: list[_Entry] = []
    broken = []
    for name in catalogue.names(kind):
        try:
            loaded.append(load(name))
        except InputError as error:
            broken.append(error.sentence)
    if not loaded:
        raise InputError(*dict.fromkeys(broken))
    for schema_kind in SCHEMAS:
        catalogue.refuse_idle_changes(schema_kind, loaded)
    loaded = _filtered(request, loaded)
    next_command = next_commands.follow_up(request, ShowEntry, loaded[-1].id)
    return CommandAnswer(
        lambda screen: entries.list_parts(loaded, kind, screen.width, next_command),
        lambda: [_WRITTEN[type(entry)][0](entry) for entry in loaded],
        lambda: entries.list_table(kind, loaded),
        reasons=[f"left out: {reason}" for reason in broken],
        code=1 if broken else 0,
    )


def _filtered(request: ListEntries, loaded: list[_Entry]) -> list[_Entry]:
    """Return the entries that a request narrows a list to; none is an error."""
    if request.with_ is not None:
        fields = tuple(type(loaded[0]).model_fields)
        stated = readers.choice(request.with_, option("with_"), fields)
        loaded = [entry for entry in loaded if _is_stated(getattr(entry, stated))]
    for field, word in (("kind", request.kind), ("vendor", request.vendor)):
        if word is None:
            continue
        if request.entries != "hardware":
            raise InputError(f"{option(field)} is of hardware, not of {request.entries}")
        words = sorted({getattr(entry, field).lower() for entry in loaded})
        readers.choice(word.lower(), option(field), tuple(words))
        loaded = [entry for entry in loaded if getattr(entry, field).lower() == word.lower()]
    if not loaded:
        raise InputError(f"no file of {request.entries} states {request.with_}")
    return loaded


def _is_stated(value: object) -> bool:
    return bool(value.model_fields_set if isinstance(value, Entry) else value)


def _loaders(catalogue: Catalogue) -> dict[Kind, Callable[[str], _Entry]]:
    return {"hardware": catalogue.hardware, "models": catalogue.model, "engines": catalogue.engine}


def run_show(request: ShowEntry) -> None:
    """Write one entry, number by number."""
    catalogue = loading.catalogue(request)
    entry = find(catalogue, request.name)
    for kind in SCHEMAS:
        catalogue.refuse_idle_changes(kind, [entry])
    formats = (request.weights, request.kv) if isinstance(entry, Model) else ()
    if not formats and (request.weights or request.kv):
        raise InputError(
            f"{option('weights')} and {option('kv')} are of models; {entry.id} is none"
        )
    as_record, as_parts = _WRITTEN[type(entry)]
    if request.written_as == "json":
        output.write(json_text(as_record(entry, *formats)), request.out)
    else:
        parts = [*as_parts(entry, *formats), *next_of(request, [as_text(request.name)], [entry])]
        page(request, lambda _: parts)


def run_diff(request: DiffEntries) -> CommandAnswer:
    """Return what differs between two entries of one kind."""
    catalogue = loading.catalogue(request)
    left, right = find(catalogue, request.left), find(catalogue, request.right)
    if type(left) is not type(right):
        kinds = [type(entry).__name__.lower() for entry in (left, right)]
        raise InputError(
            f"{as_text(request.left)} is of kind {kinds[0]} and {as_text(request.right)} of kind "
            f"{kinds[1]}; compare two of one kind"
        )
    for kind in SCHEMAS:
        catalogue.refuse_idle_changes(kind, [left, right])
    return CommandAnswer(
        lambda _: [
            *diff.diff_parts(left, right),
            *next_of(request, [as_text(request.left), as_text(request.right)], [left, right]),
        ],
        lambda: diff.diff_records(left, right),
        lambda: (diff.COLUMNS, diff.diff_records(left, right)),
    )


def next_of(request: Request, names: Sequence[str], listed: Sequence[_Entry]) -> list[console.Part]:
    """Return what comes next of chips or models, by their names as typed."""
    if any(isinstance(entry, Engine) or getattr(entry, "kind", "") == "host" for entry in listed):
        return []
    next_command = next_commands.follow_up(
        request, request_of("compare"), flag("on"), ",".join(names)
    )
    if isinstance(listed[0], Model):
        next_command = next_commands.follow_up(request, request_of("fit"), *names)
    return [console.Notes(next_command=next_command)]


def find(catalogue: Catalogue, typed: "EntryGiven") -> _Entry:
    """Return the entry of a name, whatever its kind; a file's keys give its kind."""
    if isinstance(typed, _Entry):
        return typed
    name = str(typed)
    if name.endswith((".yaml", ".yml")):
        if not os.path.exists(name):
            raise InputError(f"{name}: there is no such file")
        return catalogue.of_any_kind(Path(name))
    if catalogue.is_configuration(name) or "/" in name:
        return catalogue.model(name)
    loaders = _loaders(catalogue)
    for kind, load in loaders.items():
        if catalogue.knows(name, kind):
            entry = load(name)
            return entry.asked_as([name]) if isinstance(entry, Model) else entry
    if unpublished := service(name):
        raise InputError(unpublished.refusal)
    near = catalogue.near(name, *loaders)
    lists = "'fastcalc list hardware', 'list models' and 'list engines' name all"
    hint = instead_of(near, lists)
    raise InputError(f"nothing is called '{shown(name)}'; {hint}")
