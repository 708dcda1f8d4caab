"""Records as tables: a cell for each column, and as many columns as a width holds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fastcalc.core.columns import Column
from fastcalc.report.console import Table, columns_that_fit
from fastcalc.report.numbers_as_text import dollars, number

Row = Mapping[str, str]
"""Cells by the keys of their columns."""


def row(columns: Iterable[Column], record: dict[str, Any]) -> dict[str, str]:
    """Return the cells of a record."""
    return {column.key: _cell(column, record) for column in columns}


def _cell(column: Column, record: dict[str, Any]) -> str:
    if callable(column.format):
        return column.format(record)
    value = record[column.key]
    if column.format == "range":
        return ends(record, column.key)
    if column.format == "limiter" and not record["fits"]:
        return _needs(record["min_chips"], record["chips"])
    return "-" if value is None else FORMATS.get(column.format or column.unit, number)(value)


def ends(record: dict[str, Any], low: str, digits: int = 3) -> str:
    """Return both ends of a range as a cell.

    Parameters
    ----------
    record : dict
        With both.
    low : str
        Key of the low end.
    digits : int
        Significant ones.
    """
    both = (record[low], record[low.removesuffix("low") + "high"])
    return "-" if None in both else "..".join(number(one, digits) for one in both)


def _needs(least: int | None, chips: int) -> str:
    if least is None:
        return "no place"
    return f"recut {least:,}" if least <= chips else f"needs {least:,}"


FORMATS: dict[str, Callable[[Any], str]] = {
    "text": str,
    "limiter": str,
    "count": "{:,.0f}".format,
    "USD": dollars,
    "percent": lambda share: f"{number(100.0 * share)} %",
}
"""By format or unit, where it is not `number`."""


def heading(column: Column) -> str:
    """Return the heading of a column on one line."""
    return " ".join(column.heading).strip().replace("- ", "")


def fitting(columns: Sequence[Column], rows: Sequence[Row], width: int) -> tuple[list[Column], int]:
    """Return the columns that fit a width, and the gap between them.

    Parameters
    ----------
    columns : sequence of Column
        All there are.
    rows : sequence of mapping
        Their cells.
    width : int
        Characters in a line.
    """
    shown, gap = columns_that_fit(
        {one.key: (*one.heading, *(cells[one.key] for cells in rows)) for one in columns},
        {one.key: one.rank for one in columns},
        width,
    )
    return [one for one in columns if one.key in shown], gap


def table(columns: Sequence[Column], gap: int, rows: Iterable[Row]) -> Table:
    """Return a table of columns, those of words aligned to the left."""
    left = [place for place, one in enumerate(columns) if one.unit in ("text", "yes or no")]
    cells = [[row[one.key] for one in columns] for row in rows]
    return Table([one.heading for one in columns], cells, left, gap)


def markdown(
    columns: Sequence[Column], records: Iterable[dict[str, Any]]
) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of a Markdown table."""
    rows = [list(row(columns, record).values()) for record in records]
    return [heading(column) for column in columns], rows
