"""Records of `fit`, one for each model on each chip."""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from fastcalc.core.outcome import Location
from fastcalc.core.start import start_location
from fastcalc.features.fit.solve import Solution
from fastcalc.grid.column import TableColumn, values
from fastcalc.grid.columns import NEEDS_FIT, columns_from
from fastcalc.kit.answer.placed_batch import PlacedBatch
from fastcalc.kit.answer.point_records import Record, plainly


def _tight(record: Record) -> str:
    """Format the larger value that fits only tightly, if there is one."""
    tight = record["solution_at_edge"]
    return f"{tight:,}" if tight and tight != record["solution"] else "-"


_VALUES: dict[str, Callable[[Any], Any]] = {
    "kv_gb_per_sequence": lambda point: float(point.work.cache_bytes(point.traffic.reserved)) / 1e9,
    "usable_gb_per_chip": lambda point: sum(point.placement.usable) / 1e9,
    "chips_by_capacity": lambda point: point.needed[0],
    "chips_by_whole_layers": lambda point: point.needed[1],
    "reserved_gb_per_chip": lambda point: float(point.placement.reserved) / 1e9,
    "available_kv_gb_per_chip": lambda point: float(point.placement.available) / 1e9,
    "kv_cache_tokens": lambda point: point.cache and point.cache.tokens,
    "max_concurrency": lambda point: point.cache and point.cache.concurrency,
    "start_remedies": lambda location: [
        ", ".join(f"{each.setting} {each.value}" for each in changes)
        for changes in (*location.joint_remedies, *([each] for each in location.remedies))
    ],
}
"""Values that are not an attribute, by key."""

_FORMATS: dict[str, Callable[[Any], Any]] = {
    "solution": lambda record: f"{record['solution'] or 0:,}",
    "solution_at_edge": _tight,
}
"""Cells with a format of their own, by key."""

_SOLVED = columns_from(__file__, _VALUES, _FORMATS, group="solved")
_PLACED = columns_from(__file__, _VALUES, _FORMATS, group="placed")
_STARTED = columns_from(__file__, _VALUES, _FORMATS, group="started")
COLUMNS: tuple[TableColumn, ...] = (*_PLACED, *_SOLVED, *_STARTED)


def fit_records(locations: Sequence[Location], solutions: Sequence[Solution] = ()) -> list[Record]:
    """Build one record for each model on each chip. Keys mean the same as in `compare`.

    solutions : The solution for each placement, if the request solves for a quantity.
    """
    unsolved = dict.fromkeys(column.key for column in _SOLVED)
    records = []
    for location, solution in zip_longest(locations, solutions):
        point = PlacedBatch(location)
        solved = unsolved if solution is None else values(_SOLVED, solution)
        record = plainly(
            values(_PLACED, point) | solved | values(_STARTED, start_location(location))
        )
        records.append(record if point.fits else record | dict.fromkeys(NEEDS_FIT & record.keys()))
    return records
