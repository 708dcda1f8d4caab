"""Tables of records: how cells are formatted, and which columns fit."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

from fastcalc.core.placement.layout import Layout
from fastcalc.grid.column import Column, TableColumn
from fastcalc.kit.answer.numbers_as_text import dollars, number, percent
from fastcalc.kit.answer.parts import TextTable
from fastcalc.written import csv_cell, to_markdown

Row = Mapping[str, str]
"""The cells of a row by column key."""

OPTIONAL = 8
"""Drop priority from which columns are dropped before the gaps are narrowed."""

UNDETERMINED = "?"
"""The mark for numbers without a published source and for uncertain prices."""

_MARKED = re.compile(r"\dx?\?")
MARK_MEANS = f"{UNDETERMINED}: rough (unpublished figure, uncertain price or unmeasured batch)"
"""Key entry for the mark. The notes on the chip and its price give the reason."""

BOUND = "tokens_per_s_per_user_bound"
SERIAL_BOUND = f"{BOUND}_serial"

FORMATS: dict[str, Callable[[Any], str]] = {
    "text": str,
    "limiter": str,
    "count": "{:,.0f}".format,
    "yes or no": {True: "yes", False: "no"}.__getitem__,
    "USD": dollars,
    "percent": percent,
}
"""The cell formatter for each format or unit. The default is `number`."""


def _column(
    unit: str, heading: str, cell: Callable[[Any], str], drop_priority: int = 0
) -> TableColumn:
    first, _, second = heading.rpartition("|")
    return Column(heading, unit, heading=(first, second), drop_priority=drop_priority, format=cell)


words, numbers = partial(_column, "text"), partial(_column, "count")
"""Build a record column from its heading (lines separated by ``|``) and cell function."""


def layout(record: Mapping[str, Any]) -> str:
    """Describe the parallel ranks of a record that exceed one."""
    return str(Layout(**{name: record[name] for name in ("tp", "pp", "ep", "dp")}))


def of_keys(keys: Iterable[str]) -> list[TableColumn]:
    """Build a column for each key, with the key as its heading."""
    return [Column(key, heading=("", key), format=partial(_any_cell, key)) for key in keys]


def _any_cell(key: str, record: Mapping[str, Any]) -> str:
    value = record[key]
    if isinstance(value, float):
        return number(value)
    return "-" if value is None else csv_cell(value)


def row(columns: Iterable[TableColumn], record: Any) -> dict[str, str]:
    """Format the cells of a record by column key."""
    return {
        column.key: marked(_plain_cell(column, record), is_unsure=_is_unsure(record, column.key))
        for column in columns
    }


def _is_unsure(record: Any, key: str) -> bool:
    marks = ("undetermined", "low_confidence")
    return isinstance(record, Mapping) and any(key in (record.get(mark) or ()) for mark in marks)


def output_price(record: Mapping[str, Any]) -> str:
    """Format the price per million output tokens, marked if it is uncertain."""
    key = "usd_per_mtok_output"
    return f"${marked(dollars(record[key]), is_unsure=_is_unsure(record, key))}"


def user_speed(record: Mapping[str, Any]) -> str:
    """Format the tokens/s per user, marked if no publication supports it."""
    key = "tokens_per_s_per_user"
    return marked(number(record[key]), is_unsure=_is_unsure(record, key))


def marked(text: str, *, is_unsure: bool) -> str:
    """Append the mark to a number if it is uncertain."""
    return f"{text}{UNDETERMINED}" if is_unsure and text != "-" else text


def key_of_mark(*tables: TextTable) -> list[str]:
    """Return the line that explains the mark, or nothing if no cell has it."""
    return [*filter(None, [with_mark("", *tables)])]


def with_mark(key: str, *tables: TextTable, marks: Mapping[str, str] | None = None) -> str:
    """Explain each mark that appears in the printed tables.

    marks : The meaning of additional marks at the end of cells.
    """
    cells = [cell for table in tables for row in table.rows for cell in row]
    meanings = [
        f"{mark}: {meaning}"
        for mark, meaning in (marks or {}).items()
        if any(cell.endswith(mark) for cell in cells)
    ]
    meanings += [MARK_MEANS] * any(_MARKED.search(cell) for cell in cells)
    return f"{f'{key}; ' if key else 'key: '}{'; '.join(meanings)}" if meanings else key


def _plain_cell(column: TableColumn, record: Any) -> str:
    if callable(column.format):
        return column.format(record)
    value = value_of(column, record)
    if column.format == "range":
        return ends(record, column.key)
    if column.format == "limiter" and not record["fits"]:
        min_chips = record["min_chips"]
        has_room = (record.get("memory_used_fraction") or inf) <= 1.0
        if record.get("refused_formats") is not None or (has_room and not record.get("max_batch")):
            return "does not start"
        if min_chips is None:
            return "too large"
        return f"{'fits on' if min_chips <= record['chips'] else 'needs'} {min_chips:,}"
    # Some units are per million tokens or per hour.
    column_format = column.format or column.unit.partition("/")[0]
    return "-" if value is None else FORMATS.get(column_format, number)(value)


def value_of(column: TableColumn, record: Any) -> Any:
    """Return the value a table shows. If layers run in turn, it shows their bound instead.

    If each layer has its own region of the chip, a single token never uses the memory and compute
    of all regions at once.

    record : A record, or the object it was built from.
    """
    if not isinstance(record, Mapping):
        return column.of(record)
    value = record[column.key]
    serial = record.get(SERIAL_BOUND) if column.key == BOUND else None
    return value if serial is None else serial


def ends(record: dict[str, Any], low: str, digits: int = 3) -> str:
    """Format the bounds of a range, given the key of the lower bound."""
    low_and_high = (record[low], record[low.removesuffix("low") + "high"])
    return "-" if None in low_and_high else "..".join(number(end, digits) for end in low_and_high)


def heading(column: TableColumn) -> str:
    """Join the lines of a column heading."""
    return " ".join(column.heading).strip().replace("- ", "")


def tables(
    columns: Sequence[TableColumn],
    groups: Sequence[Sequence[Row]],
    width: int,
    wrapped: Mapping[str, int] | None = None,
) -> list[TextTable]:
    """Build a table for each group of rows, with the columns that fit.

    Columns with the highest drop priority are dropped first, and those from `OPTIONAL` up before
    the gaps are narrowed. If no more columns can be dropped, the console makes room. Columns that
    may wrap count with the width in `wrapped`.
    """
    claims, rows = wrapped or {}, [cells for group in groups for cells in group]
    widths = {}
    for column in columns:
        claimed = (cells[column.key][: claims.get(column.key)] for cells in rows)
        widths[column.key] = max(map(len, (*column.heading, *claimed)))
    removable = (column for column in columns if column.drop_priority)
    leaving = sorted(removable, key=lambda column: -column.drop_priority)
    optional = sum(column.drop_priority >= OPTIONAL for column in leaving)
    tries = [(count, 2) for count in range(optional + 1)]
    tries += [(count, 1) for count in range(len(leaving) + 1)] if leaving else []
    for count, gap in tries:
        shown = [column for column in columns if column not in leaving[:count]]
        if sum(widths[column.key] + gap for column in shown) - gap <= width:
            break
    lines = [line for line in zip(*(column.heading for column in shown), strict=True) if any(line)]
    left = [index for index, column in enumerate(shown) if column.unit in ("text", "yes or no")]
    heads = list(zip(*lines, strict=True))
    cells = ([[row[column.key] for column in shown] for row in group] for group in groups)
    bold = [index for index, column in enumerate(shown) if column.is_key_figure]
    return [TextTable(heads, group_cells, left, gap, bold) for group_cells in cells]


def table(
    columns: Sequence[TableColumn],
    records: Iterable[Any],
    width: int,
    wrapped: Mapping[str, int] | None = None,
) -> TextTable:
    """Build one table of records, laid out as by `tables`."""
    return tables(columns, [[row(columns, record) for record in records]], width, wrapped)[0]


def markdown(columns: Sequence[TableColumn], records: Iterable[Any]) -> str:
    """Format records as a Markdown table."""
    rows = (list(row(columns, record).values()) for record in records)
    return to_markdown([heading(column) for column in columns], rows)
