"""Write records to typed files: XLSX workbooks or Parquet."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from fastcalc.errors import InputError
from fastcalc.features.dictionary import meanings, type_of
from fastcalc.kit.answer.arrow_arrays import list_array, number_array, word_array
from fastcalc.kit.answer.envelope import envelope
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.point_records import SCHEMA, Record
from fastcalc.written import to_json, visible

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet


def to_xlsx(records: list[Record], keys: Iterable[str], premises: Record) -> bytes:
    """Build an XLSX workbook of the records, with units and sources. Requires XlsxWriter."""
    try:
        from xlsxwriter import Workbook
    except ImportError as error:
        raise _missing("xlsx", "XlsxWriter") from error
    file, header, column_meanings = BytesIO(), list(keys), meanings()
    with Workbook(file, {"in_memory": True}) as book:
        book.set_properties({"created": datetime(2000, 1, 1)})  # makes output reproducible
        styles = {"bold": book.add_format({"bold": True})}
        for code in (_WHOLE, _SMALL, *(f"0.{'0' * decimals}" for decimals in range(1, _MOST))):
            styles[code] = book.add_format({"num_format": code})
        sheet = book.add_worksheet("records")
        rows = [header, *([record[key] for key in header] for record in records)]
        _fill(sheet, rows, styles)
        sheet.freeze_panes(1, 0)
        if header:
            sheet.autofilter(0, 0, len(records), len(header) - 1)
        about = book.add_worksheet("about")
        columns = [
            [key, column_meanings[key].unit, column_meanings[key].meaning]
            if key in column_meanings
            else [key]
            for key in header
        ]
        head = envelope(SCHEMA)
        grounds = [[key, None, head[key]] for key in ("version", "generated")]
        grounds += [[], ["assumptions"]]
        for key, unit, value in leaves(premises, ()):
            grounds.append([key, unit, to_json(value) if isinstance(value, list) else value])
        _fill(about, [["key", "unit", "meaning"], *columns, [], *grounds], styles)
    return file.getvalue()


def _fill(sheet: "Worksheet", rows: list[list[Any]], styles: dict[str, "Format"]) -> None:
    """Write rows. Text is never a formula, and numbers show as many digits as in tables."""
    widths: dict[int, int] = {}
    for row, cells in enumerate(rows):
        for column, value in enumerate(cells):
            if isinstance(value, bool):
                sheet.write(row, column, value)
            elif isinstance(value, (int, float)):
                sheet.write(row, column, value, styles[number_format(value)])
                shown = max(len(number(value)), len(str(rows[0][column])))
                widths[column] = max(shown, widths.get(column, 0))
            elif value is not None:
                text, style = visible(_joined(value)), styles["bold"] if row == 0 else None
                sheet.write_string(row, column, text, style)
    sheet.autofit()
    for column, width in widths.items():
        sheet.set_column(column, column, width + 2)


_WHOLE, _SMALL, _MOST = "#,##0", "0.00E+00", 10


def number_format(value: float) -> str:
    """Return the number format for a sheet. The stored value is not rounded.

    >>> number_format(0.0973654321), number_format(65.30482), number_format(8)
    ('0.0000', '0.0', '#,##0')
    """
    decimals = 0 if isinstance(value, int) else len(number(value).partition(".")[2])
    if decimals >= _MOST:
        return _SMALL
    return f"0.{'0' * decimals}" if decimals else _WHOLE


def leaves(value: Any, path: tuple[str, ...]) -> Iterator[list[Any]]:
    """Yield the leaves of a document, each preceded by its path."""
    if isinstance(value, dict):
        for key, content in value.items():
            yield from leaves(content, (*path, str(key)))
    else:
        yield [" ".join(path), None, value]


def to_parquet(records: list[Record], keys: Iterable[str], premises: Record) -> bytes:
    """Build a Parquet file of the records, with their assumptions as metadata. Requires pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise _missing("parquet", "pyarrow") from error
    types = {int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    types |= {str: pyarrow.string(), list: pyarrow.list_(pyarrow.string())}
    columns, fields = [], []
    for key in keys:
        values = [record[key] for record in records]
        type_ = type_of(key, values)
        if type_ is str:
            words = [None if cell is None else _data(cell) for cell in values]
            columns.append(word_array(pyarrow, words))
        elif type_ is list:
            lists = [cell and [_data(item) for item in cell] for cell in values]
            columns.append(list_array(pyarrow, lists))
        else:
            missing = np.array([cell is None for cell in values], dtype=bool)
            numbers = np.array([0 if cell is None else cell for cell in values])
            columns.append(number_array(pyarrow, types[type_], numbers, missing))
        fields.append((key, types[type_]))
    schema = pyarrow.schema(fields, {"fastcalc": to_json(premises)})
    file = BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, schema=schema), file)
    return file.getvalue()


def _data(value: Any) -> str:
    """Join one or several strings, replacing bytes that are not UTF-8."""
    return _joined(value).encode(errors="replace").decode()


def _joined(value: Any) -> str:
    return "; ".join(map(str, value if isinstance(value, list) else [value]))


def _missing(extra: str, package: str) -> InputError:
    install = f"python -m pip install {package}"
    return InputError(f"{extra} needs {package}: {install}; csv and json need nothing")
