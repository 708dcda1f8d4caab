"""Records and table cells of options."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from fastcalc.core.ratios import Ranged, independent_ratio
from fastcalc.features.fastmode.factors import cost_multiple_cell
from fastcalc.features.fastmode.option import TRICKS, Option
from fastcalc.features.fastmode.solve import SpeedupOptions
from fastcalc.grid import columns
from fastcalc.grid.column import Column, TableColumn, values
from fastcalc.grid.columns import columns_from, pick
from fastcalc.kit.answer import point_records
from fastcalc.kit.answer.point_records import Record, compare_records, plainly, value_at_point


@dataclass(frozen=True, eq=False)
class Trial:
    """Compares an option with today's serving point.

    option, point : The option and its record (empty if nothing reaches the speed).
    today : Today's record.
    """

    solution: SpeedupOptions
    option: Option
    point: Record
    today: Record

    @property
    def reaches(self) -> bool:
        """Whether its expected speed reaches the target."""
        return self.option.outcome is not None and self.option.trick != "today"

    @property
    def low_end_reaches(self) -> bool | None:
        """Whether the lower end of its range reaches the target, or None without a range."""
        low = self.point["tokens_per_s_per_user_low"]
        return None if low is None else bool(low >= self.solution.speed)

    @property
    def changes_answers(self) -> bool:
        """Whether it uses another model (unless named) or a lower precision than today."""
        return self.reaches and self.option not in self.solution.same_answers

    @property
    def batch_ratio(self) -> float | None:
        """Today's batch divided by the option's."""
        return _ratio(self.today, self.point, "batch")

    def ratio(self, key: str) -> float | None:
        """Return the ratio of a value to today's, or None if either is unknown."""
        return _ratio(self.point, self.today, key)

    @cached_property
    def _ranges(self) -> tuple[Ranged, Ranged] | None:
        """The option's speed relative to today's, and the inverse ratio, each with its range."""
        if not self.reaches or self.option.outcome is None:
            return None
        speed = self.option.outcome.estimate.ranged_speed
        today = self.solution.today.estimate.ranged_speed
        faster = independent_ratio(over=speed, under=today)
        return faster, independent_ratio(over=today, under=speed)

    def speedup_end(self, end: int) -> float | None:
        """Return one end of the speed-up's range: 1 for the lower, 2 for the upper."""
        return float(self._ranges[0][end][0]) if self._ranges else None

    def cost_multiple_end(self, end: int) -> float | None:
        """Return one end of the cost multiple's range. Lower speed means higher cost."""
        cost = self.ratio("usd_per_mtok_output")
        if cost is None or self._ranges is None:
            return None
        slower = self._ranges[1]
        return cost * float((slower[end] / slower.expected)[0])

    def unsure(self, marks: str) -> list[str]:
        """Return the values, and the ratios to today's, that depend on a marked number.

        marks : The record key with the list of marked numbers.
        """
        keys = {*self.point[marks], *self.today[marks]} if self.point["model"] else set()
        return [*self.point[marks], *(ratio for ratio, key in _RATIOS.items() if key in keys)]


def _ratio(above: Record, below: Record, key: str) -> float | None:
    if above[key] is None or not below[key]:
        return None
    return float(above[key] / below[key])


_RATIOS = {
    "speedup": "tokens_per_s_per_user",
    "cost_multiple": "usd_per_mtok_output",
    "cost_multiple_total": "usd_per_mtok_total",
}
"""Ratios to today's point, with the key of the value they compare."""


def rows(solution: SpeedupOptions, options: Sequence[Option]) -> list[Record]:
    """Build records for today's point and the given options, with ratios to today."""
    (today,) = compare_records([solution.today])
    void: Record = {**dict.fromkeys(point_records.KEYS), "warnings": []}
    void |= {"undetermined": [], "low_confidence": []}
    records = []
    for option in (Option("today", "", solution.today), *options):
        point = compare_records([option.outcome])[0] if option.outcome else void
        records.append(plainly(values(COLUMNS, Trial(solution, option, point, today))))
    return records


def trick_cell(record: Record) -> str:
    """Return the user's name for a technique. At a lower target speed, the batch is larger."""
    if record["trick"] == "smaller-batch" and (record["batch_ratio"] or 1.0) < 1.0:
        return "larger batch"
    return str(TRICKS.get(record["trick"], record["trick"]))


def _change_cell(record: Record) -> str | None:
    """Format the change, with a star if it changes the answers."""
    change: str | None = record["change"]
    return f"{change} *" if record["changes_answers"] else change


def _how(record: Record) -> str:
    change, cannot = _change_cell(record), record["cannot"]
    if cannot:
        return f"not enough: {change}, {cannot}" if change else f"not enough: {cannot}"
    unpriced = None if record["usd_per_mtok_output"] is not None else "no price"
    return "; ".join(word for word in (change, record["limiter"], unpriced) if word)


def _how_in_short(record: Record) -> str:
    if record["trick"] == "today":
        return f"none ({record['limiter']}-bound)"
    return _change_cell(record) or "-"


def _of_point(column: TableColumn) -> TableColumn:
    """Adapt a column of points to options, which all reach a speed and differ in cost."""
    of = partial(value_at_point, column.key)
    if column.key in ("undetermined", "low_confidence"):
        of = partial(Trial.unsure, marks=column.key)
    return replace(column, value=of, is_key_figure=False)


_VALUES: dict[str, Callable[[Any], Any]] = {
    "change": lambda trial: trial.option.change or None,
    "speedup": partial(Trial.ratio, key=_RATIOS["speedup"]),
    "cost_multiple": partial(Trial.ratio, key=_RATIOS["cost_multiple"]),
    "cost_multiple_total": partial(Trial.ratio, key=_RATIOS["cost_multiple_total"]),
    "speedup_low": partial(Trial.speedup_end, end=1),
    "speedup_high": partial(Trial.speedup_end, end=2),
    "cost_multiple_low": partial(Trial.cost_multiple_end, end=1),
    "cost_multiple_high": partial(Trial.cost_multiple_end, end=2),
}
"""Values that are not an attribute, by key."""

_FORMATS: dict[str, Callable[[Any], Any]] = {
    "trick": trick_cell,
    "cost_multiple": cost_multiple_cell,
}
"""Cells with a format of their own, by key."""

COLUMNS: tuple[TableColumn, ...] = (
    *columns_from(__file__, _VALUES, _FORMATS, group="option"),
    *map(_of_point, columns.FIRST),
    *columns_from(__file__, _VALUES, _FORMATS, group="command"),
    *map(_of_point, columns.LATER),
    *columns_from(__file__, _VALUES, _FORMATS, group="answers"),
    *map(_of_point, columns.PRICES),
)
TABLE = pick(
    "trick batch chips tokens_per_s_per_user tokens_per_s_per_user_low "
    "tokens_per_s_per_user_bound usd_per_mtok_output cost_multiple how",
    [
        *COLUMNS,
        Column(
            "how",
            heading=("change, and what limits speed;", "or why it is not enough"),
            format=_how,
        ),
    ],
)
NARROW_TABLE = [*TABLE[:-1], Column("how", heading=("", "change"), format=_how_in_short)]
"""Columns of the first screen, which shows only options that reach the speed."""
