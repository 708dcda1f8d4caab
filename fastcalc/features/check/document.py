"""A document as rules see it: every number that can be read, whatever else is wrong.

A misspelt key in one line must not hide a sparse rate in another: numbers are read one by one.
"""

import re
import types
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

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
    """One number of a file in SI, as the file writes it, and its other keys (source, note, ...)."""

    path: Path_
    dimension: str
    si: float
    text: str
    about: dict[str, Json] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``memory[0].bandwidth``."""
        return dotted(self.path)

    def said(self, key: str) -> str | None:
        """One of its other keys if it is text, shortened if very long."""
        value = self.about.get(key)
        return value[:_LONGEST] if isinstance(value, str) else None

    @property
    def remarks(self) -> str:
        """Everything said about it, in lower case, to search for words."""
        return " ".join(str(self.said(key) or "") for key in ("printed", "reading", "note")).lower()


@dataclass(frozen=True)
class Sheet:
    """A document of a known kind: its numbers by dotted path, and its entry where it is valid.

    ``parent`` is the sheet of the entry that it extends, whose numbers it has where it gives none.
    """

    document: Document
    kind: Kind
    numbers: dict[str, WrittenNumber]
    entry: Hardware | Model | Engine | None = None
    parent: "Sheet | None" = None

    @property
    def shaped(self) -> Model | None:
        """The entry where it is a model with its shape, not with totals alone."""
        if not isinstance(self.entry, Model) or self.entry.is_minimal:
            return None
        return self.entry

    @property
    def data(self) -> dict[str, Json]:
        """The file's top-level mapping."""
        return self.document.mapping()

    def si(self, name: str) -> float | None:
        """A number in SI, or None where the file has none or zero."""
        number = self.numbers.get(name)
        return (number.si or None) if number else None

    def word(self, *path: str | int) -> str:
        """A text in lower case, or the empty one."""
        value = self.at(*path)
        return value.lower() if isinstance(value, str) else ""

    def at(self, *path: str | int) -> Json:
        """Return what stands at a path, or None."""
        return self.document.at(*path)

    def items(self, *path: str | int) -> list[Json]:
        """Items of the list at a path; none where there is no list."""
        return self.document.items(*path)

    def states(self, path: Path_) -> bool:
        """Whether the file itself says what stands at a path, not one that it extends."""
        return path in self.document.values or path in self.document.keys

    @property
    def year(self) -> int | None:
        """The year of release, where the file says it."""
        text = str(self.at("released") or "")[:4]
        return int(text) if text.isdecimal() and len(text) == 4 else None


def place_holders(document: Document) -> Iterator[Path_]:
    """Yield the places that still hold what 'fastcalc new' leaves to be filled in."""
    for path in document.values:
        value = document.at(*path) if path else None
        if isinstance(value, str) and _TO_FILL_IN.search(value[:2000]):
            yield path


def sheet(
    document: Document,
    entry_type: Kind,
    entry: Hardware | Model | Engine | None = None,
    parent: Sheet | None = None,
) -> Sheet:
    """A document as rules see it."""
    numbers = {
        number.name: number for number in _numbers(SCHEMAS[entry_type], (), document.data, ())
    }
    return Sheet(document, entry_type, numbers, entry, parent)


def _numbers(
    annotation: Any, metadata: tuple[Any, ...], data: Json, path: Path_
) -> Iterator[WrittenNumber]:
    """Yield the numbers of some data, as deep as a type and the data agree."""
    annotation, metadata = _plain(annotation, metadata)
    if annotation is Quantity:
        reader = next((hint for hint in metadata if isinstance(hint, QuantityReader)), None)
        about: dict[str, Json] = {**data} if isinstance(data, dict) else {"value": data}
        value = about.pop("value", None)
        if reader is not None and value is not None:
            with suppress(QuantityError):
                yield WrittenNumber(path, reader.dimension, reader.si(value), str(value), about)
    elif get_origin(annotation) is dict and isinstance(data, dict):
        for key, value in data.items():
            yield from _numbers(get_args(annotation)[1], (), value, (*path, key))
    elif get_origin(annotation) is list and isinstance(data, list):
        for index, value in enumerate(data):
            yield from _numbers(get_args(annotation)[0], (), value, (*path, index))
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for key, model_field in annotation.model_fields.items():
            if isinstance(data, dict) and key in data:
                yield from _numbers(
                    model_field.annotation, tuple(model_field.metadata), data[key], (*path, key)
                )


@cache
def _plain(annotation: Any, metadata: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(annotation) is Annotated:
        inner, *inner_metadata = get_args(annotation)
        return _plain(inner, (*inner_metadata, *metadata))
    if get_origin(annotation) in (Union, types.UnionType):
        items = [item for item in get_args(annotation) if item is not type(None)]
        if len(items) == 1:
            return _plain(items[0], metadata)
    return annotation, metadata
