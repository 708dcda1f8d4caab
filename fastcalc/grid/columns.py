"""Definitions of the columns of operating points.

Each column is a line of ``columns.csv``: an attribute of `EvaluatedPoints` or a function in
`_VALUES`, two lines of heading, and the priority with which narrow tables drop it. JSON, CSV and
sweep files take keys, order and values from here, the data dictionary in ``docs/`` takes the
descriptions, and tables take the headings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from fastcalc.catalogue.tables import table_of
from fastcalc.core.chip.machine import Machine
from fastcalc.core.scenario import Scenario
from fastcalc.core.step.component import LIMITERS
from fastcalc.core.undetermined import undetermined
from fastcalc.formulas.types import Array
from fastcalc.grid.column import Column, TableColumn, nothing
from fastcalc.grid.evaluated_points import CodedColumn, EvaluatedPoints

Columns = dict[str, Any]
"""Values by key: text, a number, an array that broadcasts with the others, or `CodedColumn`."""

_VALUES: dict[str, Callable[[EvaluatedPoints], Any]] = {
    "placement": lambda points: points.locations(),
    "min_chips": lambda points: points.min_chips(),
    "weights_gb": lambda points: points.work.weight_bytes / 1e9,
    "kv_gb": lambda points: (
        points.batch * (points.work.cache_bytes(points.placement.reserved_tokens) / 1e9)
    ),
    "tokens_per_s_per_chip": lambda points: points.estimate.total / points.layout.chips,
    "tpot_ms": lambda points: points.estimate.tpot * 1e3,
    "ttft_ms": lambda points: points.estimate.ttft * 1e3,
    "limiter": lambda points: CodedColumn(
        np.where(points.fits, points.estimate.limiter_index, len(LIMITERS)), (*LIMITERS, "capacity")
    ),
    "usd_per_mtok_input": lambda points: points.usd[0],
    "usd_per_mtok_total": lambda points: points.usd[2],
    "warnings": lambda points: points.warnings(),
    "bound_limiter": lambda points: CodedColumn(points.estimate.bound_limiter, LIMITERS),
    "tpot_in_traffic_ms": lambda points: points.estimate.tpot_in_traffic * 1e3,
    "dense_near_fraction": lambda points: points.near("dense"),
    "experts_near_fraction": lambda points: points.near("experts") if points.work.experts else None,
    "kv_near_fraction": lambda points: points.near("kv"),
    "undetermined": lambda points: CodedColumn(
        (points.estimate.batch > 1.0).astype(np.int64),
        tuple(
            undetermined_keys(points.placement.machine, is_alone=is_alone)
            for is_alone in (True, False)
        ),
    ),
    "low_confidence": lambda points: CodedColumn(
        np.int64(0), (uncertain_amounts(points.scenario),)
    ),
}
"""Values that are not an attribute of the points, by key."""

_STANDARD: dict[str, Column[EvaluatedPoints]] = {}


def columns_from(
    module: str,
    values: Mapping[str, Callable[[Any], Any]] = MappingProxyType({}),
    formats: Mapping[str, Callable[[Any], str]] = MappingProxyType({}),
    *,
    group: str = "",
) -> tuple[TableColumn, ...]:
    """Build the columns that the CSV file next to a module lists.

    A line with a key alone stands for the column of operating points with this key.

    module : The path of the module, ``__file__``.
    values, formats : The functions for the values that are not an attribute, and for the cells with
        a format of their own, by key.
    group : The group of the lines, if the file has several.
    """
    columns = []
    for row in table_of(module):
        key = row["key"]
        if row.get("group", "") != group:
            continue
        if not row["unit"]:
            columns.append(_STANDARD[key])
            continue
        columns.append(
            Column(
                key,
                row["unit"],
                row["meaning"],
                values.get(key) or row.get("value") or nothing,
                (row.get("above", ""), row.get("heading", "")),
                int(row.get("drop_priority") or 0),
                formats.get(key) or row.get("format", ""),
                row.get("is_key_figure") == "yes",
                needs_fit=row.get("needs_fit") == "yes",
                rests_on=tuple(row.get("rests_on", "").split()),
            )
        )
    return tuple(columns)


FIRST, LATER, PRICES = (
    columns_from(__file__, _VALUES, group=group) for group in ("first", "later", "prices")
)
"""The columns that the output contract guarantees, those after them, and the price per chip-hour
with its origin and what the engine refuses, at the end of every record."""

COLUMNS = (*FIRST, *LATER, *PRICES)
"""The columns of ``compare``, ``frontier`` and ``sweep``, in the order of the output contract."""

_STANDARD |= {column.key: column for column in COLUMNS}

NEEDS_FIT = frozenset(column.key for column in COLUMNS if column.needs_fit)
WORDS = frozenset(column.key for column in COLUMNS if column.unit in ("text", "list"))
WHOLE = frozenset(column.key for column in COLUMNS if column.unit == "count")


def undetermined_keys(machine: Machine, *, is_alone: bool = True) -> list[str]:
    """List the keys of columns that depend on undetermined engine parameters.

    is_alone : Whether the machine serves a single user.
    """
    unknown = undetermined(machine, is_alone=is_alone)
    return _resting_on(unknown) if unknown else []


def uncertain_amounts(scenario: Scenario) -> list[str]:
    """List the keys of columns that depend on an uncertain chip price."""
    return _resting_on("price") if scenario.quote.is_uncertain else []


def _resting_on(what: str) -> list[str]:
    """List the keys of columns that depend on the engine, on prefill or on a price."""
    return [column.key for column in COLUMNS if what in column.rests_on]


def pick(keys: str, columns: Sequence[Column[Any]] = (), *, keep: str = "") -> list[TableColumn]:
    """Select columns by key.

    keys : The keys, separated by spaces.
    columns : Additional columns, which replace standard columns with the same key.
    keep : The keys of columns that narrow tables never drop.
    """
    by_key = {column.key: column for column in (*COLUMNS, *columns)}
    picked = [by_key[key] for key in keys.split()]
    return [
        replace(column, drop_priority=0) if column.key in keep.split() else column
        for column in picked
    ]


def records(columns: Columns, shape: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Yield a record for each point. Columns without a value are None.

    columns : The arrays that broadcast to the shape.
    shape : The shape of the grid.
    """
    fits_by_point = np.broadcast_to(columns["fits"], shape).ravel().tolist()
    cells = [flat(column, shape).tolist() for column in columns.values()]
    for fits, *values in zip(fits_by_point, *cells, strict=True):
        yield {
            key: value if fits or key not in NEEDS_FIT else None
            for key, value in zip(columns, values, strict=True)
        }


def flat(column: Any, shape: tuple[int, ...]) -> Array:
    """Broadcast a column to a shape and flatten it."""
    if isinstance(column, CodedColumn):
        words = np.empty(len(column.words), dtype=object)
        words[:] = column.words
        return words[np.broadcast_to(column.codes, shape)].ravel()
    if column is None or isinstance(column, str):
        column = np.array(column, dtype=object)
    return np.broadcast_to(column, shape).ravel()
