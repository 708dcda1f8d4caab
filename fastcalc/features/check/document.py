"""A document with every readable number, even if other lines are invalid.

Numbers are read individually. This way, a misspelled key in one line does not prevent other lines
from being checked.
"""

import re
import types
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel

from fastcalc.catalogue.kinds import SCHEMAS, Kind
from fastcalc.catalogue.reader import Document, Path_
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.schema.quantities import Quantity, QuantityReader
from fastcalc.catalogue.units import QuantityError
from fastcalc.catalogue.validation import dotted
from fastcalc.written import Json

_LONGEST = 600
_TO_FILL_IN = re.compile(r"FILL[ _]?IN|TODO|FIXME|\bXXX\b")


@dataclass(frozen=True)
class WrittenNumber:
    """A number in a file, in SI units, with its text and accompanying keys."""

    path: Path_
    dimension: str
    si: float
    text: str
    about: dict[str, Json] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The dotted path of the number, such as ``memory[0].bandwidth``."""
        return dotted(self.path)

    def said(self, key: str) -> str | None:
        """Return the text of an accompanying key, shortened if it is very long."""
        value = self.about.get(key)
        return value[:_LONGEST] if isinstance(value, str) else None

    @property
    def remarks(self) -> str:
        """All text about the number in lower case, for searching."""
        return " ".join(str(self.said(key) or "") for key in ("printed", "reading", "note")).lower()


@dataclass(frozen=True)
class Sheet:
    """A hardware, model or engine file, with its numbers by dotted path.

    ``parent`` is the sheet of the entry it extends, from which it inherits numbers that it omits.
    """

    document: Document
    kind: Kind
    numbers: dict[str, WrittenNumber]
    entry: Hardware | Model | Engine | None = None
    parent: "Sheet | None" = None

    @property
    def shaped(self) -> Model | None:
        """The entry, if it is a model with a shape rather than only totals."""
        if not isinstance(self.entry, Model) or self.entry.is_minimal:
            return None
        return self.entry

    @property
    def data(self) -> dict[str, Json]:
        """The file's top-level mapping."""
        return self.document.mapping()

    def si(self, name: str) -> float | None:
        """Return a number in SI units, or None if it is missing or zero."""
        number = self.numbers.get(name)
        return (number.si or None) if number else None

    def word(self, *path: str | int) -> str:
        """Return the text at a path in lower case, or nothing if there is none."""
        value = self.at(*path)
        return value.lower() if isinstance(value, str) else ""

    def at(self, *path: str | int) -> Json:
        """Return the value at a path, or None if there is none."""
        return self.document.at(*path)

    def items(self, *path: str | int) -> list[Json]:
        """Return the items of the list at a path, or nothing if there is no list."""
        return self.document.items(*path)

    def states(self, path: Path_) -> bool:
        """Check whether the file itself, not the entry it extends, has a value at a path."""
        return path in self.document.values or path in self.document.keys

    @property
    def year(self) -> int | None:
        """The release year, if the file contains it."""
        text = str(self.at("released") or "")[:4]
        return int(text) if text.isdecimal() and len(text) == 4 else None


def place_holders(document: Document) -> Iterator[Path_]:
    """Yield the paths that still contain placeholders from 'fastcalc new'."""
    for path, text in document.texts:
        if _TO_FILL_IN.search(text[:2000]) and path in document.values:
            yield path


def sheet(
    document: Document,
    entry_type: Kind,
    entry: Hardware | Model | Engine | None = None,
    parent: Sheet | None = None,
) -> Sheet:
    """Convert a document to the form that rules use."""
    numbers = {
        number.name: number
        for number in _numbers(_Form(schema=SCHEMAS[entry_type]), document.data, ())
    }
    return Sheet(document, entry_type, numbers, entry, parent)


class _Form(NamedTuple):
    """How data of a schema type contain numbers.

    reader : The reader of a quantity.
    container, items : The type of a list or mapping, and form of its items.
    schema : The schema of a record.
    """

    reader: QuantityReader | None = None
    container: type | None = None
    items: "_Form | None" = None
    schema: type[BaseModel] | None = None


def _numbers(form: _Form, data: Json, path: Path_) -> Iterator[WrittenNumber]:
    """Yield the numbers in the data, as deep as the data match the form."""
    reader, container, items, schema = form
    if reader is not None:
        about: dict[str, Json] = {**data} if isinstance(data, dict) else {"value": data}
        value = about.pop("value", None)
        if value is not None:
            with suppress(QuantityError):
                yield WrittenNumber(path, reader.dimension, reader.si(value), str(value), about)
    elif schema is not None and isinstance(data, dict):
        for key, below in _forms(schema):
            if key in data:
                yield from _numbers(below, data[key], (*path, key))
    elif items is not None and isinstance(data, (dict, list)) and container is type(data):
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _numbers(items, value, (*path, step))


@cache
def _forms(schema: type[BaseModel]) -> list[tuple[str, _Form]]:
    """Return the fields of a record that may contain numbers, with their forms."""
    forms = (
        (name, _form(field.annotation, tuple(field.metadata)))
        for name, field in schema.model_fields.items()
    )
    return [(name, form) for name, form in forms if any(form)]


def _form(annotation: Any, metadata: tuple[Any, ...]) -> _Form:
    """Derive the form of a type. It is empty if the type contains no numbers."""
    if get_origin(annotation) is Annotated:
        inner, *inner_metadata = get_args(annotation)
        return _form(inner, (*inner_metadata, *metadata))
    if get_origin(annotation) in (Union, types.UnionType):
        choices = [choice for choice in get_args(annotation) if choice is not type(None)]
        return _form(choices[0], metadata) if len(choices) == 1 else _Form()
    if get_origin(annotation) in (dict, list):
        items = _form(get_args(annotation)[-1], ())
        return _Form(container=get_origin(annotation), items=items) if any(items) else _Form()
    if annotation is Quantity:
        return _Form(next((hint for hint in metadata if isinstance(hint, QuantityReader)), None))
    is_record = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return _Form(schema=annotation) if is_record else _Form()
