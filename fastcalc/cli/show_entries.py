"""``fastcalc list``, ``show`` and ``diff``: the catalogue as people and as programs read it."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import SCHEMAS, Catalogue, Kind, nearest
from fastcalc.cli import options, output, requests
from fastcalc.cli.answers import Found, page
from fastcalc.cli.commands.catalogue import DiffEntries, ListEntries, ShowEntry
from fastcalc.cli.commands.evaluation import Compare, FitMemory
from fastcalc.cli.flags import Flags
from fastcalc.errors import InputError
from fastcalc.report import console, diff, entries, records
from fastcalc.written import json_text, shown

_Entry = Hardware | Model | Engine
_WRITTEN: dict[type, tuple[Callable[..., records.Record], Callable[..., list[console.Part]]]] = {
    Hardware: (entries.hardware_record, entries.hardware_parts),
    Model: (entries.model_record, entries.model_parts),
    Engine: (entries.engine_record, entries.engine_parts),
}
"""How an entry is written: as a record, and as a page."""


def run_list(asked: ListEntries) -> Found:
    """List one kind of entry in a format; return 1 if a file is left out because it is broken."""
    kind = cast(Kind, options.choice(asked.kind, "list", tuple(entries.LISTED)))
    catalogue = requests.catalogue(asked)
    load = _loaders(catalogue)[kind]
    found: list[_Entry] = []
    broken = []
    for name in catalogue.names(kind):
        try:
            found.append(load(name))
        except InputError as error:
            broken.append(str(error))
    if not found:
        raise InputError(*dict.fromkeys(broken))
    for one in SCHEMAS:
        catalogue.refuse_idle_changes(one, found)
    return Found(
        lambda screen: entries.list_parts(found, kind, screen.width),
        lambda: [_WRITTEN[type(entry)][0](entry) for entry in found],
        lambda: entries.listed(kind, found),
        reasons=[f"left out: {reason}" for reason in broken],
        code=1 if broken else 0,
    )


def _loaders(catalogue: Catalogue) -> dict[Kind, Callable[[str], _Entry]]:
    return {"hardware": catalogue.hardware, "models": catalogue.model, "engines": catalogue.engine}


def run_show(asked: ShowEntry) -> None:
    """Show one entry in a format."""
    catalogue = requests.catalogue(asked)
    entry = find(catalogue, asked.name)
    for kind in SCHEMAS:
        catalogue.refuse_idle_changes(kind, [entry])
    formats = (asked.weights, asked.kv) if isinstance(entry, Model) else ()
    if not formats and (asked.weights or asked.kv):
        raise InputError(f"--weights and --kv are of models; {entry.id} is none")
    as_record, as_parts = _WRITTEN[type(entry)]
    if asked.written_as == "json":
        output.write(json_text(as_record(entry, *formats)), asked.out)
    else:
        found = [*as_parts(entry, *formats), *next_of(asked, [asked.name], [entry])]
        page(asked, lambda _: found)


def run_diff(asked: DiffEntries) -> Found:
    """Compare two entries of one kind in a format."""
    catalogue = requests.catalogue(asked)
    one, two = find(catalogue, asked.left), find(catalogue, asked.right)
    if type(one) is not type(two):
        kinds = [type(entry).__name__.lower() for entry in (one, two)]
        raise InputError(
            f"{asked.left} is of kind {kinds[0]} and {asked.right} of kind {kinds[1]}; compare two "
            "of one kind"
        )
    for kind in SCHEMAS:
        catalogue.refuse_idle_changes(kind, [one, two])
    return Found(
        lambda _: [
            *diff.diff_parts(one, two),
            *next_of(asked, [asked.left, asked.right], [one, two]),
        ],
        lambda: diff.diff_records(one, two),
        lambda: (diff.COLUMNS, diff.diff_records(one, two)),
    )


def next_of(asked: Flags, names: Sequence[str], found: Sequence[_Entry]) -> list[console.Part]:
    """Return what comes next of chips or models, by their names as typed."""
    if any(isinstance(one, Engine) or getattr(one, "kind", "") == "host" for one in found):
        return []
    then = requests.again(asked, Compare, "compare", "--on", ",".join(names))
    if isinstance(found[0], Model):
        then = requests.again(asked, FitMemory, "fit", *names)
    return [console.Notes(next_command=then)]


def find(catalogue: Catalogue, name: str) -> _Entry:
    """Return the entry of a name, whatever its kind; a file's keys give its kind."""
    if name.endswith((".yaml", ".yml")):
        if not os.path.exists(name):
            raise InputError(f"{name}: there is no such file")
        return catalogue.of_any_kind(Path(name))
    if catalogue.is_configuration(name) or "/" in name:
        return catalogue.model(name)
    loaders = _loaders(catalogue)
    for kind, load in loaders.items():
        if catalogue.knows(name, kind):
            return load(name)
    known = [one for kind in loaders for one in catalogue.names(kind)]
    near = nearest(name, known)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else "'fastcalc list hardware' names all chips"
    )
    raise InputError(f"nothing is called '{shown(name)}'; {hint}")
