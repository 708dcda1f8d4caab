"""The meaning of every record key, for all commands."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from fastcalc.features.benchmark import answer as benchmark
from fastcalc.features.caches import records as caches
from fastcalc.features.decide import rows as decision_rows
from fastcalc.features.fastmode import curve
from fastcalc.features.fastmode import records as fastmode
from fastcalc.features.fit import records as fit_records
from fastcalc.features.infer import answer as infer
from fastcalc.features.measure import term_rows
from fastcalc.features.plan import columns as plan_columns
from fastcalc.features.sensitivity import moved_numbers
from fastcalc.grid.column import Column
from fastcalc.grid.columns import COLUMNS
from fastcalc.mentions import flag

COMMANDS: dict[str, tuple[Column[Any], ...]] = {
    "compare, frontier, sweep": COLUMNS,
    "caches": caches.COLUMNS,
    "fit": fit_records.COLUMNS,
    "plan": plan_columns.COLUMNS,
    "fastmode": fastmode.COLUMNS,
    f"fastmode {flag('curve')}": curve.COLUMNS,
    "sensitivity": moved_numbers.COLUMNS,
    "decide": decision_rows.COLUMNS,
    "infer": infer.COLUMNS,
    "measure": benchmark.COLUMNS,
    "diagnose": term_rows.COLUMNS,
}


@cache
def meanings() -> Mapping[str, Column[Any]]:
    """Map each key to its column in the first command that uses it."""
    columns = [column for columns_of_command in COMMANDS.values() for column in columns_of_command]
    return {column.key: column for column in reversed(columns)}


_TYPES = {"count": int, "yes or no": bool, "list": list, "text": str}


def type_of(key: str, values: Iterable[Any]) -> type:
    """Return the type of a key's values: int, float, bool, list or str.

    values : Values in all records; they decide if the dictionary lacks the key, or if a command
        stores lists under a key that holds numbers elsewhere.
    """
    types = {type(cell) for cell in values if cell is not None}
    if (column := meanings().get(key)) and (list not in types or column.unit in _TYPES):
        return _TYPES.get(column.unit, float)
    if len(types) == 1 and types <= {*_TYPES.values()}:
        return types.pop()
    return float if types <= {int, float} else str
