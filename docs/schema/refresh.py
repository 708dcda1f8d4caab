"""Write the JSON Schemas, the line that names them in every YAML, and ``docs/records.md``.

Run ``python docs/schema/refresh.py`` after a change to the schema, a new column or a new file; a
test says when it is due.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any

from fastcalc import features as commands
from fastcalc.catalogue.json_schema import as_text
from fastcalc.features.dictionary import COMMANDS
from fastcalc.grid.column import Column
from fastcalc.kit.answer.point_records import SCHEMA
from fastcalc.kit.request.fields import declared, premises
from fastcalc.mentions import as_flags
from fastcalc.written import to_markdown

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDERS = {"hardware": "hardware", "models": "model", "engines": "engine", "evidence": "claims"}
TYPES = {"count": "integer", "text": "string", "yes or no": "boolean"}
"""JSON type of a unit; all other units belong to numbers."""
INTRODUCTION = """# Record keys

Generated from the table of columns by `python docs/schema/refresh.py`. JSON, CSV and Parquet have
these keys in this order. What does not apply is `null` in JSON and empty in CSV: for example all
rates, times and prices of a batch that does not fit. `docs/schema/records.schema.json` is the same
as a JSON Schema. A JSON document begins with `schema`, the `version` of fastcalc and the date on
which it was `generated` (`SOURCE_DATE_EPOCH` sets it). A workbook has version and date on its
second sheet; it displays the digits of a table and stores twelve.

`assumptions` of a JSON document (`table.assumptions` in Python, the second sheet of a workbook, the
last section of a page) hold what the records are computed from: traffic, prices with their dates,
engines, and under `settings` every flag that differs from its default, by premise:
`{"engine_limits": {"max_num_seqs": 64}, "files": {"set": ["memory.SRAM.capacity=60GB"]}}`. Numbers
are numbers, other values are text as given, and repeatable flags are lists.
"""
FIRST = "compare, frontier, sweep"
ENDS = ("_least", "_low", "_high", "_most")
"""Endings of the keys of one number's distribution: its ends and percentiles."""
_SETTINGS = "flags that differ from their defaults, by premise"


def data_dictionary() -> str:
    """The page on what each key means and in which unit it is."""
    stated = (
        [f"`{premise}`", ", ".join(f"`{name}`" for name in names)]
        for premise, names in settings().items()
    )
    sections = [INTRODUCTION, to_markdown(["premise", "settings"], stated)]
    for command, columns in COMMANDS.items():
        table = to_markdown(["key", "unit", "meaning"], _distributions(_own(command, columns)))
        sections.append(f"## {command}\n\n{_order(command, columns)}{table}")
    return "\n".join(sections)


def _own(command: str, columns: Iterable[Column[Any]]) -> list[Column[Any]]:
    """Columns of a command that `compare` does not have with the same unit and meaning."""
    first = {(one.key, one.unit, one.meaning) for one in COMMANDS[FIRST]}
    return [
        one for one in columns if command == FIRST or (one.key, one.unit, one.meaning) not in first
    ]


def _order(command: str, columns: Sequence[Column[Any]]) -> str:
    """All keys in their order, for a command whose table leaves out those of `compare`."""
    if len(_own(command, columns)) == len(columns):
        return ""
    keys = ", ".join(f"`{one.key}`" for one in columns)
    text = f"Keys in order; those missing in the table are as in `compare`: {keys}."
    return fill(text, 100, break_on_hyphens=False) + "\n\n"


def _distributions(columns: Iterable[Column[Any]]) -> list[list[str]]:
    """Rows of a table, those of one number's distribution joined."""
    rows = []
    for (meaning, unit), group in groupby(
        columns, key=lambda one: (one.meaning.partition(":")[0], one.unit)
    ):
        keys = [*group]
        if [one.key[one.key.rfind("_") :] for one in keys] == [*ENDS]:
            stem = keys[0].key.removesuffix(ENDS[0])
            ends = ", ".join(one.meaning.partition(": ")[2] for one in keys)
            names = ", ".join(f"`{end}`" for end in ENDS[1:])
            rows.append([f"`{stem}{ENDS[0]}`, {names}", unit, f"{meaning}: {ends}"])
        else:
            rows += [[f"`{one.key}`", one.unit, one.meaning] for one in keys]
    return rows


def settings() -> dict[str, dict[str, str]]:
    """Flags that the settings of an answer may hold, with their help, by premise."""
    kept: dict[str, dict[str, str]] = {}
    for command in commands.COMMANDS:
        request = commands.request_of(command)
        fields = declared(request)
        for name, premise in premises(request).items():
            help_text = as_flags(fields[name][0].__metadata__[0].help)
            kept.setdefault(premise, {}).setdefault(name, help_text)
    return kept


def _assumptions() -> dict[str, Any]:
    of_premises = {
        premise: {
            "type": "object",
            "properties": {name: {"description": text} for name, text in names.items()},
        }
        for premise, names in settings().items()
    }
    stated = {"type": "object", "description": _SETTINGS, "properties": of_premises}
    return {"type": "object", "properties": {"settings": stated}}


def records_schema() -> str:
    """The JSON Schema of what ``--format json`` prints."""
    kinds = {command.split(",")[0]: _record(columns) for command, columns in COMMANDS.items()}
    records = {"type": "array", "items": {"anyOf": [{"$ref": f"#/definitions/{k}"} for k in kinds]}}
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "What fastcalc prints with --format json",
        "type": "object",
        "required": ["schema", "version", "generated", "records"],
        "properties": {
            "schema": {"const": SCHEMA},
            "version": {"type": "string"},
            "generated": {"type": "string", "format": "date"},
            "records": records,
            "assumptions": _assumptions(),
        },
        "definitions": kinds,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _record(columns: tuple[Column[Any], ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [one.key for one in columns],
        "properties": {one.key: _property(one) for one in columns},
        "additionalProperties": False,
    }


def _property(column: Column[Any]) -> dict[str, Any]:
    if column.unit == "list":
        return {"type": "array", "items": {"type": "string"}, "description": column.meaning}
    kind = TYPES.get(column.unit, "number")
    unit = f" [{column.unit}]" if kind == "number" and column.unit else ""
    return {"type": [kind, "null"], "description": f"{column.meaning}{unit}"}


def line(kind: str) -> str:
    """The line by which an editor finds the schema of a file."""
    return f"# yaml-language-server: $schema=../docs/schema/{kind}.schema.json\n"


def main() -> None:
    """Write schemas, lines and the data dictionary."""
    (HERE / "records.schema.json").write_text(records_schema(), encoding="utf-8")
    (HERE.parent / "records.md").write_text(data_dictionary(), encoding="utf-8")
    for folder, kind in FOLDERS.items():
        (HERE / f"{kind}.schema.json").write_text(as_text(kind), encoding="utf-8")
        for path in sorted((ROOT / folder).glob("claims.yaml" if kind == "claims" else "*.yaml")):
            text = path.read_text(encoding="utf-8")
            if not text.startswith(line(kind)):
                path.write_text(line(kind) + text, encoding="utf-8")


if __name__ == "__main__":
    main()
