"""Two entries side by side."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fastcalc.catalogue.schema import Hardware, Model, Quantity
from fastcalc.features.entries.answer import question_on
from fastcalc.features.entries.records import (
    CatalogueEntry,
    model_record,
    offers_of,
    quantities,
)
from fastcalc.features.entries.request import DiffEntries
from fastcalc.grid.column import Column, TableColumn
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.answer.console import Note, Part, Screen, TextTable
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.request.readers import as_text

_COLUMNS: tuple[TableColumn, ...] = (
    *(Column(key, heading=("", key)) for key in ("field", "left", "right")),
    Column("ratio", "ratio", heading=("", "ratio")),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class DiffAnswer(Answer):
    """Two entries of one kind side by side."""

    request: DiffEntries
    left: CatalogueEntry
    right: CatalogueEntry

    def body(self, screen: Screen) -> Iterator[Part]:  # noqa: ARG002
        """A row for each number or word, right over left."""
        rows = []
        for row in self.records():
            is_same = row["left_si"] == row["right_si"]
            ratio = number(row["ratio"])
            if row["ratio"] is None:
                is_same, ratio = row["left"] == row["right"], ""
            shown = (row["left"] or "-", row["right"] or "-", "=" if is_same else ratio)
            rows.append((row["field"], *shown))
        heads = [("",), (self.left.id,), (self.right.id,), ("ratio",)]
        yield TextTable(heads, rows, left=(0,), key_figures=(3,))
        yield ""

    def notes(self) -> Iterator[Note]:
        """What the ratio is."""
        yield Note(f"ratio: {self.right.id} over {self.left.id}; =: the same")

    def next_command(self) -> str | None:
        """What to ask of both."""
        names = [as_text(self.request.left), as_text(self.request.right)]
        return question_on(self.request, names, [self.left, self.right])

    def table(self) -> tuple[Sequence[TableColumn], Sequence[object]]:
        """What the entries hold, and the ratio."""
        return _COLUMNS, self.records()

    def records(self) -> list[Record]:
        """A record for each number or word that either entry has.

        Keys: ``field``, ``left`` and ``right`` as the files write them, ``left_si`` and
        ``right_si`` for numbers, ``ratio`` of right over left.
        """
        left_fields, right_fields = _fields(self.left), _fields(self.right)
        names = [*left_fields, *(name for name in right_fields if name not in left_fields)]
        records = []
        for name in names:
            first, second = left_fields.get(name), right_fields.get(name)
            below, above = _si(first), _si(second)
            ratio = above / below if below and above is not None else math.nan
            records.append(
                {
                    "field": name,
                    "left": _text(first),
                    "right": _text(second),
                    "left_si": below,
                    "right_si": above,
                    "ratio": ratio if math.isfinite(ratio) else None,
                }
            )
        return records


def _fields(entry: CatalogueEntry) -> dict[str, Any]:
    """Return what can be compared of an entry, by name: quantities, counts and words."""
    words = {
        key: getattr(entry, key)
        for key in ("name", "vendor", "kind", "execution", "architecture", "released")
        if getattr(entry, key, None)
    }
    if isinstance(entry, Model):
        record = model_record(entry)
        skipped = {"id", "name", "released", "aliases", "hypothetical"}
        return words | {
            key.replace("_", " "): content for key, content in record.items() if key not in skipped
        }
    fields = dict(words)
    offers = offers_of(entry) if isinstance(entry, Hardware) else {}
    for path, quantity in quantities(entry).items():
        # Memory is known by its rank, not by its make, to meet its peer.
        items = path.split(".")
        items = ["memory", items[-1]] if items[0] == "memory" else items
        fields[offers.get(path, " ".join(items).replace("_", " "))] = quantity
    return fields


def _si(value: Any) -> float | None:
    if isinstance(value, Quantity):
        return value.si
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if plain else None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, Quantity):
        return value.text
    return number(value, 4) if _si(value) is not None else str(value)
