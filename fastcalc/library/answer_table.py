"""What a function of the library returns: records, columns, and the same files and pages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from fastcalc.commands import sweep
from fastcalc.commands.answer import CommandAnswer, screen, write
from fastcalc.commands.output import kept_notes, whole
from fastcalc.errors import InputError
from fastcalc.formulas.types import Array
from fastcalc.records.columns import NEEDS_FIT, Columns, flat, pick
from fastcalc.report import console, record_tables
from fastcalc.report.dictionary import meanings, type_of
from fastcalc.report.numbers_as_text import many
from fastcalc.report.records import Record, plainly
from fastcalc.requests.readers import choice

_SHOWN = "model hardware chips batch tokens_per_s_per_user tokens_per_s_total limiter"

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


class Table(Sequence[Record]):
    """An answer: a sequence of records, whose columns are arrays.

    ``table[0]`` is a record, ``table["tpot_ms"]`` an array of numbers (nan where a key has no
    value) or truths, or of objects where values are words. Printed it is the page of the command
    line, in a notebook a table.
    """

    def __init__(self, flags: Any, answer: CommandAnswer, messages: Sequence[str] = ()) -> None:
        self._flags, self._answer, self._messages = flags, answer, messages

    @property
    def found(self) -> bool:
        """False where the answer is no: the command line then exits with 1."""
        return self._answer.code == 0

    @cached_property
    def records(self) -> list[Record]:
        """A mapping for each row, by the keys of the data dictionary."""
        return list(self._answer.records())

    @cached_property
    def premises(self) -> Record:
        """What stands alongside the records in JSON: traffic, prices with their dates, engines."""
        return self._answer.extra()

    @cached_property
    def notes(self) -> list[str]:
        """What to know of the answer, and why it is no where it is."""
        answer = self._answer
        return list(dict.fromkeys([*answer.reasons, *self._messages, *answer.warnings]))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Keys of the records, in order."""
        return tuple(self.records[0] if self.records else self._answer.keys)

    @property
    def units(self) -> dict[str, str]:
        """Unit of each key that the data dictionary has."""
        dictionary = meanings()
        return {key: dictionary[key].unit for key in self.keys if key in dictionary}

    def column(self, key: str) -> Array:
        """Return the values of a key, or a KeyError.

        Truths are bool, and counts whole numbers, or floats where one is missing; other numbers
        are floats, and words objects.
        """
        if key not in self.keys:
            raise KeyError(key)
        values = [record[key] for record in self.records]
        type_ = type_of(key, values)
        if type_ in (int, bool) and all(isinstance(value, type_) for value in values):
            return np.array(values, dtype=type_)
        if type_ in (int, float):
            return np.array([np.nan if value is None else value for value in values], dtype=float)
        objects = np.empty(len(values), dtype=object)  # of lists, too, one a row
        objects[:] = values
        return objects

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: str) -> Array: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: Any) -> Any:
        return self.column(index) if isinstance(index, str) else self.records[index]

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def to_pandas(self) -> "DataFrame":
        """Return the records as a frame, or an InputError where pandas is not installed."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise InputError(
                "a frame needs pandas: python -m pip install pandas; records and columns do not"
            ) from error
        return DataFrame({key: self.column(key) for key in self.keys})

    def save(self, file: str | Path) -> None:
        """Write a file in the format of its ending: csv, json, md, xlsx, parquet or txt.

        Raises InputError if the ending is not known, or the file cannot be written.
        """
        with kept_notes():
            write(replace(self._flags, out=Path(file), format=None), self._answer)

    def plot(self, kind: str | None = None, file: str | Path | None = None) -> "Figure":
        """Return a chart as a figure of matplotlib, and write it to a file by its ending.

        kind : ``speed``, ``roofline``, ``step`` or ``memory`` of a comparison; others have one kind
        file : such as ``speed.svg``

        Raises InputError if matplotlib is not installed, or there is no such chart.
        """
        from fastcalc.report.charts import figure

        charts, where = self._answer.charts, file and Path(file)
        if not charts:
            raise InputError("this answer has no chart; compare, fit, frontier and validate have")
        ending = figure.ending_of(where) if where else None
        chart = figure.figure(charts[choice(kind or next(iter(charts)), "kind", tuple(charts))]())
        if where:
            with whole(where) as draft:
                figure.save(chart, draft, ending or "svg")
        return chart

    def __str__(self) -> str:
        if self._answer.parts is None:
            return "\n".join(self.notes)
        page = screen(self._flags)
        with kept_notes():
            return console.render(self._answer.parts(page), page.width, colour=False)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns, rows = self._answer.rows()
        head = "".join(f"<th>{escape(record_tables.heading(column))}</th>" for column in columns)
        body = (record_tables.row(columns, record).values() for record in rows)
        lines = ("".join(f"<td>{escape(cell)}</td>" for cell in cells) for cells in body)
        table = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{table}</tbody></table>"


class SweptTable(Table):
    """The points of a sweep, in arrays: records of millions of them would take gigabytes."""

    def __init__(
        self,
        flags: Any,
        columns: Mapping[str, Array],
        premises: Record,
        messages: Sequence[str] = (),
    ) -> None:
        left_out = premises["left_out"].items()
        super().__init__(
            flags,
            CommandAnswer(
                None,
                lambda: [
                    plainly(dict(zip(columns, row, strict=True)))
                    for row in zip(*(column.tolist() for column in columns.values()), strict=True)
                ],
                rows=lambda: (pick(_SHOWN), self.records),
                extra=lambda: premises,
                warnings=[f"{many(n, 'combination')} left out: {why}" for why, n in left_out],
                keys=tuple(columns),
            ),
            messages,
        )
        self._columns = columns

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the records, in order."""
        return tuple(self._columns)

    def column(self, key: str) -> Array:
        """Return the values of a key, or a KeyError; of the types that `Table.column` has."""
        values = self._columns[key]
        is_count = type_of(key, ()) is int and values.dtype.kind == "f"
        return values.astype(int) if is_count and not np.isnan(values).any() else values

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __str__(self) -> str:
        return "\n".join([f"{len(self):,} points of {len(self.keys)} keys", *self.notes])

    __repr__ = __str__

    def save(self, file: str | Path) -> None:
        """Write a csv, json or parquet file by its ending; points are computed anew."""
        with kept_notes():
            sweep.run(replace(self._flags, out=Path(file), format=None))


class ArraySink:
    """Takes the blocks of a sweep as arrays, one a key."""

    def __init__(self) -> None:
        self._blocks: dict[str, list[Array]] = {}
        self.premises: Record = {}

    def write(self, columns: Columns, shape: tuple[int, ...]) -> None:
        """Take the points of a block."""
        void = ~np.broadcast_to(columns["fits"], shape).ravel()
        for key, column in columns.items():
            values = flat(column, shape)
            if key in NEEDS_FIT and void.any():
                nothing: Any = None if values.dtype == object else np.nan
                values = np.where(void, nothing, values)
            self._blocks.setdefault(key, []).append(values)

    def close(self, extra: Record) -> None:
        """Take what belongs alongside the points."""
        self.premises = extra

    @property
    def columns(self) -> dict[str, Array]:
        """All points of each key."""
        return {key: np.concatenate(blocks) for key, blocks in self._blocks.items()}
