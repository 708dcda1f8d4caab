"""Shipped files read once, and commands built once, in a process that asks for them many times.

A command reads what it needs, is built of its flags and ends; tests and the fuzz run thousands of
commands in one process, and neither files nor flags change.
"""

from functools import cache
from pathlib import Path
from typing import Any

from typer import main

from fastcalc.articles import claim_file
from fastcalc.catalogue import reader, store, validation
from fastcalc.cli import app
from fastcalc.importers import naming

FOLDERS = {store.shipped(kind) for kind in ("hardware", "models", "engines", "evidence")}
_documents: dict[Path, reader.Document] = {}
_entries: dict[tuple[Path, type], Any] = {}


def _read(path: Path) -> reader.Document:
    if path.parent not in FOLDERS:
        return reader.read(path)
    if path not in _documents:
        _documents[path] = reader.read(path)
    return _documents[path]


def _validate(document: reader.Document, schema: Any) -> Any:
    path = Path(document.file)
    if _documents.get(path) is not document:
        return validation.validate(document, schema)
    if (path, schema) not in _entries:
        _entries[path, schema] = validation.validate(document, schema)
    return _entries[path, schema]


_program = cache(app.program)
_command = cache(main.get_command)


def read_once() -> None:
    """Keep what is read from shipped files from here on, their frozen entries, and the commands."""
    app.program = lambda asked=None: _program(asked if asked in app.COMMANDS else None)
    main.get_command = _command
    store.read = claim_file.read = naming.read = _read
    store.validate = claim_file.validate = _validate
