"""Kinds of files, and of which kind one is: by its keys, its folder, or the entry it extends."""

import os
from pathlib import Path
from typing import Literal

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.reader import Document
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.written import shown

Kind = Literal["hardware", "models", "engines"]
SINGULAR = {"hardware": "hardware", "models": "model", "engines": "engine"}

SCHEMAS: dict[Kind, type[Hardware] | type[Model] | type[Engine]] = {
    "hardware": Hardware,
    "models": Model,
    "engines": Engine,
}

_SHARED = {"id", "name", "aliases", "sources", "notes", "excused", "released", "hypothetical"}


def kind_of(document: Document, preferred: Kind | None = None) -> Kind | None:
    """Return the kind of a document's keys.

    Where several tie, the preferred, that of its folder, or that of the shipped entry it extends.
    """
    keys = set(document.data) if isinstance(document.data, dict) else set()
    telling = keys - _SHARED
    counts = {kind: len(telling & set(schema.model_fields)) for kind, schema in SCHEMAS.items()}
    top_count = max(counts.values())
    likely = [kind for kind, count in counts.items() if count == top_count]
    if top_count and (len(likely) == 1 or preferred in likely):
        return preferred if preferred in likely else likely[0]
    folder = Path(os.path.realpath(document.file)).parent.name
    if not top_count or folder in likely:
        return next((kind for kind in likely if kind == folder), None)
    parent = f"{shown(document.at('extends'))}.yaml"
    return next((kind for kind in likely if (shipped_folder(kind) / parent).is_file()), likely[0])


def is_of_another_program(document: Document) -> bool:
    """Return whether most keys of a document, as far as it could be read, are none of ours."""
    kind = kind_of(document)
    if kind is None and not document.faults:
        return True
    if not isinstance(document.data, dict):
        return isinstance(document.data, list)
    ours = _SHARED if kind is None else SCHEMAS[kind].model_fields.keys()
    our_keys = len(document.data.keys() & ours)
    return 2 * our_keys < len(document.data) or not document.data
