"""Shipped files read once, and commands built once, in a process that asks for them many times.

A command reads what it needs, is built of its flags and ends; tests and the fuzz run thousands of
commands in one process, and neither files nor flags change. Tests look at one answer in many
formats and widths, too: they may have it computed once.
"""

import io
import pickle
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from typer import main

from fastcalc.articles import claim_file, judge
from fastcalc.catalogue import reader, store, validation
from fastcalc.cli import (
    app,
    show_claims,
    show_fastmode,
    show_frontier,
    show_infer,
    show_new,
    show_plan,
    show_validate,
)
from fastcalc.evidence.validate import validate_shipped
from fastcalc.importers import naming
from fastcalc.search import tricks

FOLDERS = {store.shipped(kind) for kind in ("hardware", "models", "engines", "evidence")}
_documents: dict[Path, reader.Document] = {}
_entries: dict[tuple[Path, type], Any] = {}
_names: dict[int, str] = {}


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
        _names[id(_entries[path, schema][0])] = f"{path} as {schema.__name__}"
    return _entries[path, schema]


_program = cache(app.program)
_command = cache(main.get_command)


def read_once() -> None:
    """Keep what is read from shipped files from here on, their frozen entries, and the commands."""
    app.program = lambda asked=None: _program(asked if asked in app.COMMANDS else None)
    main.get_command = _command
    store.read = claim_file.read = naming.read = _read
    store.validate = claim_file.validate = _validate


MOST_ANSWERS = 128


class _Key(pickle.Pickler):
    """Writes what goes into an answer: shipped entries by name, others by their fields alone."""

    def persistent_id(self, value: Any) -> Any:
        if isinstance(value, reader.Document):
            return "a document"  # where the parts of an entry stand changes no number
        if isinstance(value, store.Catalogue):
            return f"the catalogue, {value.changes!r}"
        return _names.get(id(value))

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, BaseModel):
            return type(value), tuple(value.__dict__[name] for name in type(value).model_fields)
        if is_dataclass(value) and not isinstance(value, type):
            return type(value), tuple(getattr(value, one.name) for one in fields(value))
        return NotImplemented


def _key(given: Any) -> bytes:
    written = io.BytesIO()
    key = _Key(written)
    key.fast = True  # equal parts are written alike, whether they are one or two
    key.dump(given)
    return written.getvalue()


def _remembered(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that keeps what it returned, but for catalogues with folders of their own.

    Files in those may change.
    """
    answers: dict[bytes, Any] = {}

    @wraps(compute)
    def once(*given: Any, **named: Any) -> Any:
        if any(isinstance(one, store.Catalogue) and any(one.own.values()) for one in given):
            return compute(*given, **named)
        key = _key((given, named))
        if key not in answers:
            answers[key] = compute(*given, **named)
            for oldest in list(answers)[:-MOST_ANSWERS]:
                del answers[oldest]
        return answers[key]

    return once


def answer_once() -> None:
    """Keep what commands compute at length from here on, and the schemas."""
    judged = _remembered(judge.judge)
    show_claims.judge = judge.judge = lambda entries, claims, document=None: [
        one for claim in claims for one in judged(entries, [claim], document)
    ]
    show_fastmode.tricks = tricks.fastmode = _remembered(tricks.fastmode)
    show_frontier.frontier = _remembered(show_frontier.frontier)
    show_infer.invert = _remembered(show_infer.invert)
    show_new.as_text = cache(show_new.as_text)
    show_plan.decide = _remembered(show_plan.decide)
    evidence = cache(show_validate.shipped)
    scored = _remembered(lambda catalogue: validate_shipped(evidence(), catalogue))
    show_validate.shipped = evidence
    show_validate.validate_shipped = lambda _, catalogue: scored(catalogue)
