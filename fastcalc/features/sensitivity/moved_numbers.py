"""Rows and records for the effects of parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

from fastcalc.core.outcome import Outcome
from fastcalc.features.sensitivity.effects import NEARLY, Effect
from fastcalc.features.sensitivity.figures import FIGURES
from fastcalc.features.sensitivity.targets import NeededValue
from fastcalc.grid.column import Column, TableColumn, key_figure
from fastcalc.grid.columns import columns_from, pick
from fastcalc.kit.answer.field_names import in_words
from fastcalc.kit.answer.numbers_as_text import number, of_kind
from fastcalc.kit.answer.point_records import Record, value_at_point

KEYS = {
    "speed": "tokens_per_s_per_user",
    "total": "served_tokens_per_s_total",
    "ttft": "ttft_ms",
    "usd": "usd_per_mtok_output",
    "largest_batch": "max_batch",
}
"""The record key of each metric."""


@dataclass(frozen=True, eq=False)
class MovedNumber:
    """The table row of a parameter at one batch.

    place : The index of the batch in the outcome.
    point : The record of `compare` at that batch.
    alone : The value with which it reaches the target alone, if there is a target.
    """

    outcome: Outcome
    place: int
    point: Record
    effect: Effect
    alone: NeededValue | None

    @property
    def path(self) -> str:
        """The path of the parameter in a what-if."""
        return self.effect.lever.number.path

    @property
    def value(self) -> float:
        """The present value, in SI units."""
        return float(self.effect.lever.number.value)

    @property
    def elasticity(self) -> float:
        """The relative change of speed per relative change of the parameter."""
        return float(self.effect.elasticity.speed[self.place])

    @property
    def reach(self) -> float:
        """The highest possible speed relative to the present speed."""
        return float(self.effect.reach[self.place])

    @property
    def best_speed(self) -> float:
        """The speed at the best valid value, per second."""
        return self.reach * float(self.outcome.estimate.speed[self.place])

    @property
    def enough(self) -> float:
        """The saturation value, or NaN if no value reaches the full gain. [SI]"""
        return float(self.effect.enough[self.place])

    @property
    def is_spare(self) -> bool:
        """Whether raising it improves neither speed nor batch, although lowering it would hurt."""
        buys_batch = abs(self.slope("largest_batch")) > 0.0
        return self.reach < 1.0 / NEARLY and isfinite(self.enough) and not buys_batch

    @property
    def needed(self) -> float | None:
        """The value that reaches the target, or None if none does. [SI]"""
        return self.alone.value if self.alone else None

    @property
    def factor(self) -> float | None:
        """The value needed relative to the present one, or None if there is none."""
        return self.alone.factor if self.alone else None

    @property
    def moves(self) -> bool:
        """Whether it changes the target's metric at this batch or, without a target, any metric."""
        if self.alone is None:
            return self.effect.moves
        return self.alone.moves or abs(self.slope(self.alone.figure)) > 0.0

    def change(self, figure: str) -> float:
        """Return the relative change of a metric for 10% more."""
        return float(getattr(self.effect.raised.change, figure)[self.place]) - 1.0

    def slope(self, figure: str) -> float:
        """Return the elasticity of a metric."""
        return float(getattr(self.effect.elasticity, figure)[self.place])

    def text(self, value: float | None) -> str:
        """Format a value with its unit."""
        return "-" if value is None else of_kind(value, self.effect.lever.number.kind)

    def path_cell(self) -> str:
        """Format the path of the parameter, with a star if a median is assumed."""
        return self._starred(self.path)

    @property
    def name(self) -> str:
        """The readable name of the parameter."""
        return in_words(self.path)

    def name_cell(self) -> str:
        """Format the name of the parameter, with a star if a median is assumed."""
        return self._starred(self.name)

    def _starred(self, text: str) -> str:
        return text + " *" * self.effect.lever.number.is_default

    def value_cell(self) -> str:
        """Format the present value with its unit."""
        return self.text(self.value)

    def change_cell(self, figure: str) -> str:
        """Format the change of a metric in percent, or why there is none."""
        change = self.change(figure)
        if self.effect.raised.value is None:
            return "at limit"
        if not isfinite(change):
            return "-" if figure == "usd" else "no fit"
        return "0" if abs(change) < 5e-5 else f"{100.0 * change:+.2g}%"

    def reach_cell(self) -> str:
        """Format the highest possible speed relative to the present speed."""
        return "-" if not isfinite(self.reach) else f"{number(self.reach, 3)}x"

    def enough_cell(self) -> str:
        """Format the saturation value."""
        return self.text(self.enough if isfinite(self.enough) else None)

    def needed_cell(self) -> str:
        """Format the value that reaches the target."""
        return self.text(self.needed)

    def factor_cell(self) -> str:
        """Format the value needed relative to the present one."""
        if self.factor is None:
            return "-"
        return f"{number(self.factor)}x" if self.factor else "0"

    def best_cell(self) -> str:
        """Format the target metric at the best value, if no value reaches the target."""
        if self.alone is None or self.needed is not None:
            return ""
        if not isfinite(self.alone.extreme):
            return "no fit"
        is_time = self.alone.figure == "ttft"
        return of_kind(self.alone.extreme, "time") if is_time else number(self.alone.extreme)


def _of_point(column: TableColumn, meaning: str) -> TableColumn:
    return Column(column.key, column.unit, meaning, partial(value_at_point, column.key))


def _change(figure: str, heading: tuple[str, str], drop_priority: int = 0) -> Column[MovedNumber]:
    return Column(
        f"{KEYS[figure]}_change",
        "ratio",
        "relative change with that value",
        partial(MovedNumber.change, figure=figure),
        heading,
        drop_priority,
        partial(MovedNumber.change_cell, figure=figure),
    )


_FORMATS: dict[str, Callable[[Any], Any]] = {
    "path": MovedNumber.path_cell,
    "value": MovedNumber.value_cell,
    "tokens_per_s_per_user_best": MovedNumber.reach_cell,
    "enough_value": MovedNumber.enough_cell,
    "target_value": MovedNumber.needed_cell,
    "target_factor": MovedNumber.factor_cell,
}
"""Cells with a format of their own, by key."""

COLUMNS: tuple[TableColumn, ...] = (
    *(_of_point(column, column.meaning) for column in pick("hardware model engine chips")),
    *(_of_point(column, column.meaning) for column in pick("tp pp ep dp batch")),
    *(_of_point(column, "at the values in the files") for column in pick(" ".join(KEYS.values()))),
    *(_of_point(column, "largest component of a decode step") for column in pick("limiter")),
    *columns_from(__file__, {}, _FORMATS, group="number"),
    key_figure(_change("speed", ("tok/s", "change"))),
    _change("total", ("served tok/s", "change"), 3),
    _change("ttft", ("TTFT", "change"), 2),
    _change("usd", ("$/Mtok", "change"), 4),
    _change("largest_batch", ("max batch", "change"), 5),
    *(
        Column(
            f"{key}_elasticity",
            "ratio",
            "elasticity: percent per percent of the parameter; for whole numbers, at that value",
            partial(MovedNumber.slope, figure=figure),
        )
        for figure, key in KEYS.items()
    ),
    *columns_from(__file__, {}, _FORMATS, group="gain"),
)
NAME = Column[MovedNumber]("name", "text", heading=("", "parameter"), format=MovedNumber.name_cell)
"""A column for tables only: the readable name of the parameter."""

BEST = Column[MovedNumber](
    "best", "figure", heading=("best", "reached"), format=MovedNumber.best_cell
)
"""A column for tables only: the best value of the target metric if nothing reaches it."""


def rank(row: MovedNumber) -> tuple[float, ...]:
    """Sort rows by effect on speed, then type of file, then other effects."""
    slopes = [abs(row.slope(figure)) for figure in FIGURES]
    speed, *further = (-slope if isfinite(slope) else 0.0 for slope in slopes)
    return round(speed, 3), _FILES.index(row.effect.lever.file), *further


_FILES = ("hardware", "host", "engine", "model")
