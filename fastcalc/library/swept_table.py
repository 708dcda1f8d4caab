"""Result of `sweep` in Python: up to millions of points in arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fastcalc.features.dictionary import type_of
from fastcalc.features.sweep import run as sweep
from fastcalc.formulas.types import Array
from fastcalc.grid.column import TableColumn
from fastcalc.grid.columns import NEEDS_FIT, Columns, flat, pick
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.answer.point_records import Record, plainly
from fastcalc.kit.request.groups import Output
from fastcalc.library.answer_table import MOST_ROWS, SlicedAnswer, Table
from fastcalc.written import many

_SHOWN = "model hardware chips batch tokens_per_s_per_user tokens_per_s_total limiter"


@dataclass(frozen=True, eq=False, kw_only=True)
class _Swept(Answer):
    """Points of a sweep, as arrays by key.

    rests_on : inputs of the points, and what was omitted
    """

    arrays: Mapping[str, Array]
    rests_on: Record

    @property
    def keys(self) -> Iterable[str]:
        """Keys of the points."""
        return self.arrays

    def records(self) -> list[Record]:
        """One record per point."""
        points = zip(*(array.tolist() for array in self.arrays.values()), strict=True)
        return [plainly(dict(zip(self.arrays, point, strict=True))) for point in points]

    def table(self) -> tuple[Sequence[TableColumn], Sequence[object]]:
        """Columns and the first points."""
        first = {key: array[: MOST_ROWS + 1] for key, array in self.arrays.items()}
        return pick(_SHOWN), replace(self, arrays=first).records()

    def premises(self) -> Record:
        """Inputs of the points."""
        return dict(self.rests_on.get("assumptions", {}))

    def details(self) -> Record:
        """Omitted combinations."""
        return {key: value for key, value in self.rests_on.items() if key != "assumptions"}

    def warnings(self) -> list[str]:
        """Notes on the number of omitted combinations, with reasons."""
        left_out = self.rests_on["left_out"].items()
        return [f"skipped {many(count, 'combination')}: {why}" for why, count in left_out]


class SweptTable(Table):
    """Table of a sweep, stored in arrays because millions of records would take gigabytes."""

    def __init__(
        self, flags: Any, columns: Mapping[str, Array], premises: Record, notes: Sequence[str] = ()
    ) -> None:
        swept = _Swept(request=flags, reading=notes, arrays=columns, rests_on=premises)
        super().__init__(flags, swept)
        self._premises = premises
        self._columns = columns

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the records, in order."""
        return tuple(self._columns)

    def column(self, key: str) -> Array:
        """Values of a key, with the dtypes of `Table.column`; KeyError if it is unknown."""
        self._demand(key)
        values = self._columns[key]
        is_count = type_of(key, ()) is int and values.dtype.kind == "f"
        return values.astype(int) if is_count and not np.isnan(values).any() else values

    def _rows(self, index: slice) -> Table:
        """Some points as a separate table."""
        columns = {key: column[index] for key, column in self._columns.items()}
        points = SweptTable(self._flags, columns, self._premises, self._answer.reading)
        rows = SlicedAnswer(
            request=self._flags,
            reading=points.notes,
            whole=points._answer,
            all_keys=points.keys,
            taken=points.records,
            columns=pick(_SHOWN),
            chosen=points.records,
        )
        return Table(Output(), rows)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __str__(self) -> str:
        return "\n".join([f"{len(self):,} points of {len(self.keys)} keys", *self.notes])

    __repr__ = __str__

    def save(self, file: str | Path) -> None:
        """Write a csv, json or parquet file, by its ending; the points are computed again."""
        sweep.save(self._flags, Path(file))


class ArraySink:
    """Sink for the blocks of a sweep, which collects one array per key."""

    def __init__(self) -> None:
        self._blocks: dict[str, list[Array]] = {}
        self.premises: Record = {}

    def write(self, columns: Columns, shape: tuple[int, ...]) -> None:
        """Add the points of a block."""
        void = ~np.broadcast_to(columns["fits"], shape).ravel()
        for key, column in columns.items():
            values = flat(column, shape)
            if key in NEEDS_FIT and void.any():
                nothing: Any = None if values.dtype == object else np.nan
                values = np.where(void, nothing, values)
            self._blocks.setdefault(key, []).append(values)

    def close(self, extra: Record) -> None:
        """Add the assumptions and details of the points."""
        self.premises = extra

    @property
    def columns(self) -> dict[str, Array]:
        """All values of each key."""
        return {key: np.concatenate(blocks) for key, blocks in self._blocks.items()}
