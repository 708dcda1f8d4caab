"""``fastcalc list``, ``show`` and ``diff``: display catalogue entries."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fastcalc.catalogue.kinds import SCHEMAS, Kind
from fastcalc.catalogue.schema import Entry, Hardware, Model
from fastcalc.catalogue.stand_ins import service
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.features.entries.answer import (
    ChipAnswer,
    EngineAnswer,
    EntryAnswer,
    ListAnswer,
    ModelAnswer,
)
from fastcalc.features.entries.diff import DiffAnswer
from fastcalc.features.entries.records import CatalogueEntry
from fastcalc.features.entries.request import DiffEntries, ListEntries, ShowEntry
from fastcalc.kit.request import loading, readers
from fastcalc.kit.request.readers import as_text
from fastcalc.kit.request.repositories import repository_model
from fastcalc.mentions import option
from fastcalc.written import ReadingNote, instead_of, shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import EntryGiven


def run_list(request: ListEntries) -> ListAnswer:
    """List the entries of a category. The answer is "no" if an invalid file was skipped."""
    asked = "hardware" if request.entries == "chips" else request.entries
    entry_type = cast(Kind, readers.choice(asked, "list", tuple(SCHEMAS)))
    catalogue = loading.catalogue(request)
    load = _loaders(catalogue)[entry_type]
    loaded: list[CatalogueEntry] = []
    broken = []
    for name in catalogue.names(entry_type):
        try:
            loaded.append(load(name))
        except InputError as error:
            broken.append(error.sentence)
    if not loaded:
        raise InputError(*dict.fromkeys(broken))
    for schema_kind in SCHEMAS:
        catalogue.refuse_idle_changes(schema_kind, loaded)
    if request.with_ is not None:
        fields = tuple(type(loaded[0]).model_fields)
        stated = readers.choice(request.with_, option("with_"), fields)
        values = [(entry, getattr(entry, stated)) for entry in loaded]
        loaded = [
            entry
            for entry, value in values
            if (value.model_fields_set if isinstance(value, Entry) else value)
        ]
    for field, word in (("kind", request.kind), ("vendor", request.vendor)):
        if word is None:
            continue
        if request.entries != "hardware":
            raise InputError(f"{option(field)} applies to hardware, not to {request.entries}")
        words = sorted({getattr(entry, field).lower() for entry in loaded})
        readers.choice(word.lower(), option(field), tuple(words))
        loaded = [entry for entry in loaded if getattr(entry, field).lower() == word.lower()]
    if not loaded:
        raise InputError(f"no {request.entries} file states {request.with_}")
    return ListAnswer(
        request=request,
        reasons=[f"skipped: {reason}" for reason in broken],
        kind=entry_type,
        entries=loaded,
    )


def _loaders(catalogue: Catalogue) -> dict[Kind, Callable[[str], CatalogueEntry]]:
    return {"hardware": catalogue.hardware, "models": catalogue.model, "engines": catalogue.engine}


def run_show(request: ShowEntry) -> EntryAnswer:
    """Show one entry with all its numbers."""
    catalogue = loading.catalogue(request)
    entry = find(catalogue, request.name)
    for entry_type in SCHEMAS:
        catalogue.refuse_idle_changes(entry_type, [entry])
    if isinstance(entry, Model):
        reading = _warnings(catalogue, request.name)
        return ModelAnswer(request=request, entry=entry, reading=reading)
    if request.weights or request.kv:
        raise InputError(
            f"{option('weights')} and {option('kv')} apply to models; {entry.id} is not one"
        )
    if isinstance(entry, Hardware):
        return ChipAnswer(request=request, entry=entry)
    return EngineAnswer(request=request, entry=entry)


def run_diff(request: DiffEntries) -> DiffAnswer:
    """Compare two entries of the same category."""
    catalogue = loading.catalogue(request)
    left, right = find(catalogue, request.left), find(catalogue, request.right)
    if type(left) is not type(right):
        entry_types = [type(entry).__name__.lower() for entry in (left, right)]
        raise InputError(
            f"{as_text(request.left)} is in {entry_types[0]} and {as_text(request.right)} in "
            f"{entry_types[1]}; compare two of the same category"
        )
    for entry_type in SCHEMAS:
        catalogue.refuse_idle_changes(entry_type, [left, right])
    warnings = [*_warnings(catalogue, request.left), *_warnings(catalogue, request.right)]
    return DiffAnswer(request=request, left=left, right=right, reading=warnings)


def _warnings(catalogue: Catalogue, name: "EntryGiven") -> list[str]:
    """Return warnings from reading a model's configuration. Returns nothing for other entries."""
    if not isinstance(name, (str, Path)):
        return []
    computed: list[str] = []
    if repository_model(catalogue, name, computed):
        return computed
    return [text for text in loading.reading_of(catalogue, name) if isinstance(text, ReadingNote)]


def find(catalogue: Catalogue, given: "EntryGiven") -> CatalogueEntry:
    """Find an entry by name. For a file, its keys determine the category."""
    if isinstance(given, CatalogueEntry):
        return given
    name = str(given)
    if name.endswith((".yaml", ".yml")):
        if not os.path.exists(name):
            raise InputError(f"{name}: there is no such file")
        return catalogue.of_any_kind(Path(name))
    if catalogue.is_configuration(name) or "/" in name:
        return repository_model(catalogue, name, []) or catalogue.model(name)
    loaders = _loaders(catalogue)
    for entry_type, load in loaders.items():
        if catalogue.knows(name, entry_type):
            entry = load(name)
            return entry.asked_as([name]) if isinstance(entry, Model) else entry
    if any(catalogue.knows(part, "engines") for part in name.split("+")):
        return catalogue.engine(name)
    if unpublished := service(name):
        raise InputError(unpublished.refusal)
    near = catalogue.near(name, *loaders)
    lists = "'fastcalc list hardware', 'list models' and 'list engines' name all"
    hint = instead_of(near, lists)
    raise InputError(f"nothing is called '{shown(name)}'; {hint}")
