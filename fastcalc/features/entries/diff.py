"""Two entries side by side."""

import math
from typing import Any

from fastcalc.catalogue.schema import Engine, Hardware, Model, Quantity
from fastcalc.features.entries.answer import model_record, offers_of, quantities
from fastcalc.grid.columns import Column, TableColumn
from fastcalc.kit.answer.console import Notes, Part, TextTable
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.point_records import Record

AnyEntry = Hardware | Model | Engine

COLUMNS: tuple[TableColumn, ...] = (
    *(Column(key, heading=("", key)) for key in ("field", "left", "right")),
    Column("ratio", "ratio", heading=("", "ratio")),
)
"""Of a Markdown table."""


def diff_records(left: AnyEntry, right: AnyEntry) -> list[Record]:
    """Return a record for each number or word that either entry has.

    Keys: ``field``, ``left`` and ``right`` as the files write them, ``left_si`` and
    ``right_si`` for numbers, ``ratio`` of right over left.
    """
    left_fields, right_fields = _fields(left), _fields(right)
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


def _fields(entry: AnyEntry) -> dict[str, Any]:
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
        parts = path.split(".")
        parts = ["memory", parts[-1]] if parts[0] == "memory" else parts
        fields[offers.get(path, " ".join(parts).replace("_", " "))] = quantity
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


def diff_parts(left: AnyEntry, right: AnyEntry) -> list[Part]:
    """Return the table of two entries, right over left."""
    rows = []
    for row in diff_records(left, right):
        is_same = row["left_si"] == row["right_si"]
        ratio = number(row["ratio"])
        if row["ratio"] is None:
            is_same, ratio = row["left"] == row["right"], ""
        shown = (row["left"] or "-", row["right"] or "-", "=" if is_same else ratio)
        rows.append((row["field"], *shown))
    heads = [("",), (left.id,), (right.id,), ("ratio",)]
    return [
        TextTable(heads, rows, left=(0,), key_figures=(3,)),
        "",
        Notes([f"ratio: {right.id} over {left.id}; = where they are the same"]),
    ]
