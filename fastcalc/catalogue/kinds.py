"""Types of files, recognized by their keys, their folder, or the entry that they extend."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Literal

from fastcalc.catalogue.corrections import is_one_slip
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.reader import Document
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.written import shown

Kind = Literal["hardware", "models", "engines"]
SINGULAR = {"hardware": "hardware", "models": "model", "engines": "engine"}

FIELDS: dict[Kind, str] = {"hardware": "on", "models": "models", "engines": "engine"}
"""The request field that names entries of each type."""

SCHEMAS: dict[Kind, type[Hardware] | type[Model] | type[Engine]] = {
    "hardware": Hardware,
    "models": Model,
    "engines": Engine,
}

_SHARED = {"id", "name", "aliases", "sources", "notes", "excused", "released", "hypothetical"}


def kind_of(document: Document, preferred: Kind | None = None) -> Kind | None:
    """Return the file type that shares the most keys with a document.

    Ties are resolved by the preferred type, the type of the folder, or the type of the shipped
    entry that the file extends.
    """
    telling = _keys(document) - _SHARED
    counts = {
        entry_type: len(telling & set(schema.model_fields))
        for entry_type, schema in SCHEMAS.items()
    }
    top_count = max(counts.values())
    likely = [entry_type for entry_type, count in counts.items() if count == top_count]
    if top_count and (len(likely) == 1 or preferred in likely):
        return preferred if preferred in likely else likely[0]
    folder = _folder(document)
    if not top_count or folder in likely:
        return next((entry_type for entry_type in likely if entry_type == folder), None)
    parent = f"{shown(document.at('extends')).rpartition('+')[2]}.yaml"
    return next(
        (entry_type for entry_type in likely if (shipped_folder(entry_type) / parent).is_file()),
        likely[0],
    )


def share_of_keys(document: Document) -> float:
    """Compute the fraction of a document's keys that belong to an entry, as far as it was read.

    The result is 0 for a document without keys, such as a file with only comments. A document that
    could not be read counts as an entry if its first letters or its folder suggest it.
    """
    keys = _keys(document)
    if keys:
        entry_type = kind_of(document)
        known = _SHARED if entry_type is None else SCHEMAS[entry_type].model_fields.keys()
        return len(keys & known) / len(document.mapping())
    if document.has_no_mapping:
        return 0.0
    is_in_ours = not document.is_whole and _folder(document) in SCHEMAS
    return 0.0 if isinstance(document.data, (dict, list)) and not is_in_ours else 1.0


def _folder(document: Document) -> str:
    return Path(os.path.realpath(document.file)).parent.name


def is_of_another_program(document: Document) -> bool:
    """Check whether most keys of a document are unknown, or no key identifies a type."""
    if share_of_keys(document) < 0.5:
        return True
    return kind_of(document) is None and not document.faults


def _keys(document: Document) -> set[str]:
    """List the top-level keys of a document, with misspelled keys corrected."""
    return set(map(_meant, document.data)) if isinstance(document.data, dict) else set()


@lru_cache(maxsize=4096)
def _meant(key: str) -> str:
    """Return the entry key with this spelling, or one typing error away.

    Short words and singulars are excluded, because other programs often use them as keys.
    """
    written = key.lower().replace("-", "_")
    if written in _KNOWN:
        return written
    singular = written.removesuffix("s")
    long = (name for name in _KNOWN if len(name) >= _LEAST_LETTERS)
    others = (name for name in long if name.removesuffix("s") != singular)
    return next((name for name in others if is_one_slip(written, name)), key)


_KNOWN = sorted({name for schema in SCHEMAS.values() for name in schema.model_fields})
"""The top-level keys of all entry types."""

_LEAST_LETTERS = 5
