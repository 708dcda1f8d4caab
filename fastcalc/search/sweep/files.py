"""Blocks of columns to files: CSV, JSON, or Parquet with pyarrow."""

import json
from typing import Any, BinaryIO, Protocol, TextIO

import numpy as np

from fastcalc.core.columns import NEEDS_FIT, WHOLE, Columns
from fastcalc.core.evaluated_points import Words
from fastcalc.errors import InputError
from fastcalc.search.sweep.cells import json_text, rows
from fastcalc.written import csv_cell, csv_line, visible

FORMATS = ("csv", "json", "parquet")


class Sink(Protocol):
    """Something that takes blocks one after another."""

    def write(self, columns: Columns, shape: tuple[int, ...]) -> None:
        """Take the points of a block."""

    def close(self, extra: dict[str, Any]) -> None:
        """Write what belongs at the end."""


class CSVSink:
    """A header and a line for each point."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.is_new = stream, True

    def write(self, columns: Columns, shape: tuple[int, ...]) -> None:
        """Take the points of a block."""
        if self.is_new:
            self.stream.write(csv_line(columns))
        self.is_new = False
        self.stream.writelines(",".join(row) + "\n" for row in rows(columns, shape, csv_cell))

    def close(self, extra: dict[str, Any]) -> None:
        """Write nothing: a table has no place for it."""


class JSONSink:
    """One document in the form of ``compare``, a record for each point."""

    def __init__(self, stream: TextIO, schema: str) -> None:
        self.stream, self.between = stream, "\n"
        stream.write('{\n  "schema": ' + json.dumps(schema) + ',\n  "records": [')

    def write(self, columns: Columns, shape: tuple[int, ...]) -> None:
        """Take the points of a block."""
        lines = (f"      {json.dumps(key)}: %s" for key in columns)
        record = "    {\n" + ",\n".join(lines) + "\n    }"
        for row in rows(columns, shape, json_text):
            self.stream.write(self.between + record % row)
            self.between = ",\n"

    def close(self, extra: dict[str, Any]) -> None:
        """Write what belongs alongside the records."""
        self.stream.write("\n  ]")
        for key, value in extra.items():
            text = visible(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
            self.stream.write(f",\n  {json.dumps(key)}: " + text.replace("\n", "\n  "))
        self.stream.write("\n}\n")


class ParquetSink:
    """A row group for each block; words as dictionaries, what has no value as null."""

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
        """Take the points of a block."""
        void = ~np.broadcast_to(columns["fits"], shape).ravel()
        table = self.arrow.table(
            {key: self._array(key, column, shape, void) for key, column in columns.items()}
        )
        if self.writer is None:
            self.writer = self.parquet.ParquetWriter(self.stream, table.schema, compression="zstd")
        self.writer.write_table(table)

    def close(self, extra: dict[str, Any]) -> None:
        """Write the footer, with what belongs alongside the points in its metadata."""
        if self.writer is not None:
            self.writer.add_key_value_metadata({"fastcalc": json.dumps(extra)})
            self.writer.close()

    def _array(self, key: str, column: Any, shape: tuple[int, ...], void: Any) -> Any:
        arrow, missing = self.arrow, void if key in NEEDS_FIT else None
        if column is None:
            return arrow.nulls(int(np.prod(shape)), arrow.float64())
        if isinstance(column, str):
            column = Words(np.int32(0), (column,))
        if isinstance(column, Words):
            codes = np.broadcast_to(column.codes, shape).ravel().astype(np.int32)
            words = ["; ".join(one) if isinstance(one, list) else one for one in column.words]
            return arrow.DictionaryArray.from_arrays(
                arrow.array(codes, mask=missing), arrow.array(words, arrow.string())
            )
        values = np.broadcast_to(column, shape).ravel()
        if values.dtype == bool:
            return arrow.array(values)
        nothing = ~np.isfinite(values)
        missing = nothing if missing is None else missing | nothing
        if key in WHOLE:
            values = np.where(nothing, 0, values).astype(np.int64)
        return arrow.array(values, mask=missing)
