"""Write blocks of columns to CSV, JSON, or Parquet (with pyarrow)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Protocol, TextIO

import numpy as np

from fastcalc.errors import InputError
from fastcalc.formulas.types import Bools
from fastcalc.grid.columns import NEEDS_FIT, WHOLE, WORDS, Columns
from fastcalc.grid.evaluated_points import CodedColumn
from fastcalc.kit.answer.arrow_arrays import number_array, word_array
from fastcalc.kit.answer.point_records import Record
from fastcalc.written import csv_cell, csv_line, to_json, visible

FORMATS = ("csv", "json", "parquet")
Write = Callable[[Any], str]


class Sink(Protocol):
    """Interface of a writer that receives one block after another."""

    def write(self, columns: Columns, shape: tuple[int, ...]) -> None:
        """Write the points of a block."""

    def close(self, extra: Record) -> None:
        """Write the data that accompanies the points, and finish."""


class CSVSink:
    """Writes CSV with a header and a line for each point."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.is_new = stream, True

    def write(self, columns: Columns, shape: tuple[int, ...]) -> None:
        """Write the points of a block."""
        if self.is_new:
            self.stream.write(csv_line(columns))
        self.is_new = False
        self.stream.writelines(",".join(row) + "\n" for row in rows(columns, shape, csv_cell))

    def close(self, extra: Record) -> None:
        """Write nothing, because CSV has no room for accompanying data."""


class JSONSink:
    """Writes a JSON document as ``compare`` does, with a record for each point."""

    def __init__(self, stream: TextIO, head: Mapping[str, str]) -> None:
        self.stream, self.between = stream, "\n"
        lines = (f"  {to_json(key)}: {to_json(text)},\n" for key, text in head.items())
        stream.write("{\n" + "".join(lines) + '  "records": [')

    def write(self, columns: Columns, shape: tuple[int, ...]) -> None:
        """Write the points of a block."""
        keys = [f"      {to_json(key)}: " for key in columns]
        before = [f"{{\n{keys[0]}", *(f",\n{key}" for key in keys[1:])]
        pieces = [text for key in before for text in (key, "")]
        for row in rows(columns, shape, json_text):
            pieces[1::2] = row
            self.stream.write(f"{self.between}    {''.join(pieces)}\n    }}")
            self.between = ",\n"

    def close(self, extra: Record) -> None:
        """Write the data that accompanies the records."""
        self.stream.write("\n  ]")
        for key, value in extra.items():
            text = visible(to_json(value, indent=2))
            self.stream.write(f",\n  {to_json(key)}: " + text.replace("\n", "\n  "))
        self.stream.write("\n}\n")


class ParquetSink:
    """Writes Parquet with one row group per block. Missing values are null."""

    def __init__(self, stream: BinaryIO) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise InputError(
                "parquet needs pyarrow: python -m pip install pyarrow; csv and json need nothing"
            ) from error
        self.arrow, self.parquet, self.stream = pyarrow, pyarrow.parquet, stream
        self.writer: Any = None

    def write(self, columns: Columns, shape: tuple[int, ...]) -> None:
        """Write a block as one row group."""
        does_not_fit = ~np.broadcast_to(columns["fits"], shape).ravel()
        arrays = [self._array(key, column, shape, does_not_fit) for key, column in columns.items()]
        table = self.arrow.Table.from_arrays(arrays, names=list(columns))
        if self.writer is None:
            is_word = self.arrow.types.is_dictionary
            self.writer = self.parquet.ParquetWriter(
                self.stream,
                table.schema,
                compression="zstd",
                # Numbers in a sweep seldom repeat, so dictionaries would cost time and space.
                use_dictionary=[field.name for field in table.schema if is_word(field.type)],
            )
        self.writer.write_table(table)

    def close(self, extra: Record) -> None:
        """Write the footer, with the accompanying data as metadata."""
        if self.writer is not None:
            self.writer.add_key_value_metadata({"fastcalc": to_json(extra)})
            self.writer.close()

    def _array(self, key: str, column: Any, shape: tuple[int, ...], does_not_fit: Bools) -> Any:
        arrow, missing = self.arrow, does_not_fit & (key in NEEDS_FIT)
        if isinstance(column, str) or (column is None and key in WORDS):
            column = CodedColumn(np.int32(0), (column,))
        if column is None:
            return arrow.nulls(int(np.prod(shape)), arrow.float64())
        if isinstance(column, CodedColumn):
            codes = np.broadcast_to(column.codes, shape).ravel().astype(np.int32)
            words = ["; ".join(word) if isinstance(word, list) else word for word in column.words]
            missing = missing | np.array([word is None for word in words])[codes]
            return arrow.DictionaryArray.from_arrays(
                number_array(arrow, arrow.int32(), codes, missing),
                word_array(arrow, [word or "" for word in words]),
            )
        values = np.broadcast_to(column, shape).ravel()
        if values.dtype == bool:
            return number_array(arrow, arrow.bool_(), values, missing)
        nothing = ~np.isfinite(values)
        if key in WHOLE:
            whole = np.where(nothing, 0, values)
            return number_array(arrow, arrow.int64(), whole, missing | nothing)
        return number_array(arrow, arrow.float64(), values, missing | nothing)


def rows(columns: Columns, shape: tuple[int, ...], write: Write) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each point of a grid as text, formatted by `csv_cell` or `json_text`."""
    fits = np.broadcast_to(columns["fits"], shape).ravel().tolist()
    has_gaps, missing, table = not all(fits), write(None), []
    for key, column in columns.items():
        if isinstance(column, CodedColumn):
            texts = np.array([write(word) for word in column.words], dtype=object)[column.codes]
        elif column is None or isinstance(column, str):
            texts = np.array(write(column), dtype=object)
        elif (values := np.asarray(column)).dtype == bool:
            texts = np.take(np.array([write(False), write(True)], dtype=object), values)
        else:
            digits = numbers(values.ravel().tolist(), write)
            texts = np.array(digits, dtype=object).reshape(values.shape)
        cells = np.ravel(np.asarray(texts, dtype=object)).tolist()
        if len(cells) == 1:  # in most columns, for which broadcasting would take longer
            cells *= len(fits)
        elif len(cells) < len(fits):
            cells = np.broadcast_to(texts, shape).ravel().tolist()
        if has_gaps and key in NEEDS_FIT:
            cells = [cell if fit else missing for cell, fit in zip(cells, fits, strict=True)]
        table.append(cells)
    return zip(*table, strict=True)


def numbers(values: Sequence[float], write: Write) -> list[str]:
    """Format numbers with twelve digits. Non-finite numbers are written as missing values.

    Formatting all numbers in one call is faster than one call per number.

    >>> from fastcalc.written import csv_cell
    >>> numbers([0.1 + 0.2, 4e3, 1.5e13, float("nan")], csv_cell)
    ['0.3', '4000', '15000000000000', '']
    """
    if not values:
        return []
    joined = " ".join(["%.12g"] * len(values)) % tuple(values)
    texts = joined.split(" ")
    if "n" not in joined and "e+" not in joined:
        return texts
    return [_number(text, write) if "n" in text or "e+" in text else text for text in texts]


def _number(text: str, write: Write) -> str:
    """Format a large or non-finite number."""
    if "n" in text:  # nan and inf
        return write(None)
    rounded = float(text)
    return str(int(rounded)) if abs(rounded) < 1e15 else repr(rounded)


def json_text(value: Any) -> str:
    """Format a value as JSON."""
    return visible(to_json(value))
