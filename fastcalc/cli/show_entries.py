"""``fastcalc list`` and ``fastcalc show``: the catalogue as people and as programs read it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from fastcalc.catalogue.reader import read
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue, Kind, kind_of, nearest
from fastcalc.cli import options, output, requests
from fastcalc.cli.commands.catalogue import ListEntries, ShowEntry
from fastcalc.errors import InputError
from fastcalc.report import console, entries, records
from fastcalc.written import shown, to_markdown

_CLASSES: dict[Kind, type[Hardware | Model | Engine]] = {
    "hardware": Hardware,
    "models": Model,
    "engines": Engine,
}
_WRITTEN: dict[type, tuple[Callable[..., Any], ...]] = {
    Hardware: (entries.hardware_row, entries.hardware_record, entries.hardware_parts),
    Model: (entries.model_row, entries.model_record, entries.model_parts),
    Engine: (entries.engine_row, entries.engine_record, entries.engine_parts),
}
"""How an entry is written: as a row of a table, as a record, and by itself."""


def run_list(asked: ListEntries) -> int:
    """List one kind of entry in a format; return 1 if a file is left out because it is broken."""
    kind = cast(Kind, options.choice(asked.kind, "list", tuple(_CLASSES)))
    catalogue = requests.catalogue(asked)
    found, broken = [], []
    for name in catalogue.names(kind):
        try:
            found.append(_loaders(catalogue)[kind](name))
        except InputError as error:
            broken.append(f"left out: {error}")
    output.warn(broken)
    as_row, as_record, _ = _WRITTEN[_CLASSES[kind]]
    lines = [as_row(entry) for entry in found]
    if asked.format == "table":
        colour = asked.out is None and console.wants_colour()
        text = _list_table(lines, kind, entries.cautions(found), colour=colour)
    elif asked.format == "markdown":
        text = to_markdown(list(lines[0]), [list(row.values()) for row in lines])
    else:
        text = records.as_text(asked.format, [as_record(entry) for entry in found])
    output.write(text, asked.out)
    return 1 if broken else 0


def _loaders(catalogue: Catalogue) -> dict[Kind, Callable[[str], Hardware | Model | Engine]]:
    return {
        "hardware": catalogue.hardware,
        "models": catalogue.model,
        "engines": catalogue.engine,
    }


def _list_table(
    lines: list[dict[str, str]], kind: str, cautions: list[str], *, colour: bool
) -> str:
    width = console.output_width()
    # Words in the last column may wrap; twenty-four characters of them are enough to plan with.
    texts = {
        key: [key, *(row[key][:24] if key == "fitted on" else row[key] for row in lines)]
        for key in lines[0]
    }
    ranks = dict.fromkeys(texts, 0) | {"name": 9, "link": 8, "context": 7}
    shown, gap = console.columns_that_fit(texts, ranks, width)
    words = [
        place
        for place, key in enumerate(shown)
        if key in ("id", "name", "default for", "fitted on")
    ]
    table = console.Table(
        [(key,) for key in shown], [[row[key] for key in shown] for row in lines], words, gap
    )
    notes = console.Notes(cautions, next_command=f"fastcalc show {lines[-1]['id']}")
    count = f"{len(lines)} {kind if len(lines) > 1 or kind == 'hardware' else kind[:-1]}"
    return console.render([table, "", count, notes], width, colour=colour)


def run_show(asked: ShowEntry) -> None:
    """Show one entry in a format."""
    entry = find(requests.catalogue(asked), asked.name)
    formats = (asked.weights, asked.kv) if isinstance(entry, Model) else ()
    if not formats and (asked.weights or asked.kv):
        raise InputError(f"--weights and --kv are of models; {entry.id} is none")
    _, as_record, as_parts = _WRITTEN[type(entry)]
    if asked.format == "json":
        output.write(records.json_text(as_record(entry, *formats)), asked.out)
        return
    colour = asked.out is None and console.wants_colour()
    text = console.render(as_parts(entry, *formats), console.output_width(), colour=colour)
    output.write(text, asked.out)


def find(catalogue: Catalogue, name: str) -> Hardware | Model | Engine:
    """Return the entry of a name, whatever its kind; a file's keys give its kind."""
    if name.endswith((".yaml", ".yml")):
        return _load_file(catalogue, name)
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


def _load_file(catalogue: Catalogue, name: str) -> Hardware | Model | Engine:
    if not os.path.exists(name):
        raise InputError(f"{name}: there is no such file")
    return _loaders(catalogue)[kind_of(read(Path(name))) or "models"](name)
