"""The answer of `diff`: two entries side by side."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fastcalc.catalogue.schema import Hardware, Model, Quantity
from fastcalc.features.entries.answer import EXECUTION, question_on
from fastcalc.features.entries.records import CatalogueEntry, model_record, offers_of, quantities
from fastcalc.features.entries.request import DiffEntries
from fastcalc.grid.column import Column, TableColumn
from fastcalc.kit.answer.answer import Answer, Screen
from fastcalc.kit.answer.field_names import in_words
from fastcalc.kit.answer.numbers_as_text import number, size
from fastcalc.kit.answer.parts import Note, Part, TextTable
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.request.readers import as_text

_COLUMNS: tuple[TableColumn, ...] = (
    *(Column(key, heading=("", key)) for key in ("field", "left", "right")),
    Column("ratio", "ratio", heading=("", "ratio")),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class DiffAnswer(Answer):
    """Shows two entries of the same category side by side."""

    request: DiffEntries
    left: CatalogueEntry
    right: CatalogueEntry

    def body(self, screen: Screen) -> Iterator[Part]:  # noqa: ARG002
        """Yield a table with a row per field, and the ratio right / left."""
        rows, names = [], dict[str, str]()  # the usual terms, where keys differ from them
        for entry in (self.left, self.right):
            if isinstance(entry, Hardware):
                names |= {_field(path): in_words(_of_rank(path)) for path in quantities(entry)}
                names["execution"] = "execution of layers"
                names["survey"] = "median rental price (survey)"
        for row in self.records():
            field, is_same = str(row["field"]), row["left_si"] == row["right_si"]
            ratio = number(row["ratio"])
            if row["ratio"] is None:
                is_same, ratio = row["left"] == row["right"], ""
            texts = []
            for text, si in ((row[side], row[f"{side}_si"]) for side in ("left", "right")):
                is_binary = text and text.endswith("iB") and si  # with decimal, as on other pages
                texts.append(f"{size(si)} ({text})" if is_binary else text or "-")
            shown = (*(EXECUTION.get(text, text) for text in texts), "=" if is_same else ratio)
            rows.append((names.get(field, field), *shown))
        heads = [("",), (self.left.id,), (self.right.id,), ("ratio",)]
        yield TextTable(heads, rows, left=(0,), key_figures=(3,))
        yield ""

    def notes(self) -> Iterator[Note]:
        """Explain the ratio."""
        yield Note(f"ratio: {self.right.id} / {self.left.id}; =: the same")

    def next_command(self) -> str | None:
        """Suggest a command that uses both entries."""
        names = [as_text(self.request.left), as_text(self.request.right)]
        return question_on(self.request, names, [self.left, self.right])

    def table(self) -> tuple[Sequence[TableColumn], Sequence[object]]:
        """Return a table of the values of both entries and their ratios."""
        return _COLUMNS, self.records()

    def records(self) -> list[Record]:
        """Build one record per field of either entry.

        Keys: ``field``, ``left`` and ``right`` as written in the files, ``left_si`` and
        ``right_si`` for numbers, and ``ratio`` (right / left).
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


def _of_rank(path: str) -> str:
    """Replace the name of a memory in a path by its index, so that it matches the other entry."""
    items = path.split(".")
    return ".".join(["memory", items[-1]] if items[0] == "memory" else items)


def _field(path: str) -> str:
    return _of_rank(path).replace(".", " ").replace("_", " ")


def _fields(entry: CatalogueEntry) -> dict[str, Any]:
    """Collect the comparable values of an entry by name: quantities, counts and words."""
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
        fields[offers.get(path, _field(path))] = quantity
    return fields


def _si(value: Any) -> float | None:
    if isinstance(value, Quantity):
        return value.si
    return float(value) if isinstance(value, (int, float)) else None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, Quantity):
        return value.text
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return f"{value:,.0f}"
    return number(value, 4) if _si(value) is not None else str(value)
