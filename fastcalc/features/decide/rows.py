"""The rows of `decide`: time and cost per success of each option, with record columns."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

from fastcalc.core.scenario import Scenario
from fastcalc.features.decide import map as decision_map
from fastcalc.features.decide.agent_run import (
    Prospect,
    Terms,
    included,
    window_speed,
    window_tokens,
)
from fastcalc.features.decide.choice import Choice, Contender
from fastcalc.formulas.agents import amdahl, time_to_success
from fastcalc.formulas.types import floats
from fastcalc.grid.column import Column, TableColumn, values
from fastcalc.grid.columns import columns_from
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.numbers_as_text import dollars, number, seconds, whole_percent
from fastcalc.kit.answer.point_records import Record, plainly


@dataclass(frozen=True, eq=False)
class Row:
    """An option in a decision, with its letter and results."""

    decision: Choice
    option: Contender

    @cached_property
    def prospect(self) -> Prospect:
        """The mean time and cost per success."""
        return self.decision.prospect(self.option)

    @cached_property
    def terms(self) -> Terms:
        """The numbers of the option for this task."""
        return self.decision.terms(self.option)

    @property
    def gap(self) -> float:
        """The length of the requested window, or NaN if there is none. [s]"""
        return math.nan if self.decision.window is None else self.decision.window

    @property
    def letter(self) -> str:
        """The option's letter on a map."""
        return decision_map.letter(list(self.decision.options).index(self.option))

    @property
    def is_uncertain(self) -> bool:
        """Whether the option, or one it routes to, has a price based on an uncertain chip price."""
        names = {self.option.name, *(self.option.routes or ())}
        options = (option for option in self.decision.options if option.name in names)
        return any(scenario.quote.is_uncertain for scenario in scenarios_of(options))

    @property
    def limits(self) -> Iterator[str]:
        """Describe above how many sessions speed does not help, and when a plan pays off."""
        busy = float(self.prospect.busy_sessions)
        if math.isfinite(busy):
            yield (
                f"{self.option.name}: with {number(busy)} concurrent sessions, the user never "
                "waits, and more speed does not help"
            )
        plan, name = float(self.terms.plan), self.option.name
        if not plan:
            return
        quota = float(included(self.terms))
        if not math.isnan(quota):
            count = number(quota / float(self.prospect.tokens))
            yield (
                f"{name}: the plan includes {number(quota / 1e6)} million tokens per month "
                f"(input and output), enough for {count} successes. Further tokens are billed at "
                "its token prices, or are not available if it has none"
            )
        for row in rows(self.decision):
            success_usd = float(row.prospect.usd)
            if not float(row.terms.plan) and 0.0 < success_usd < math.inf:
                tokens = plan / success_usd * float(row.prospect.tokens)
                end = "its quota includes fewer" if quota < tokens else "it is cheaper above that"
                yield (
                    f"{name}: ${plan:,.0f}/month pays for {number(plan / success_usd)} successes "
                    f"of {row.option.name}, {number(tokens / 1e6)} million input and output "
                    f"tokens; {end}"
                )

    @property
    def tool_limit(self) -> str | None:
        """A sentence on how much faster tokens can help, given the time spent in tools.

        It is None if there are no tools.
        """
        tool, run = float(self.prospect.run.tool_seconds), float(self.prospect.run.seconds)
        if not tool:
            return None
        fraction = (run - tool) / run
        return (
            f"{self.option.name}: tools take {whole_percent(1 - fraction)} of a run. Twice the "
            f"token speed makes it {number(float(amdahl(share=fraction, speedup=2.0)))} times as "
            f"fast, and the limit at any speed is {number(run / tool)} times"
        )

    @property
    def window_tokens(self) -> float:
        """The number of tokens that fit the window."""
        return float(window_tokens(self.terms, self.gap))

    @property
    def window_speed(self) -> float:
        """The speed at which all tokens fit the window, per second."""
        return float(window_speed(self.terms, self.gap))

    def offered(self, field: str) -> float:
        """Return a number of the option, or NaN if the option routes between others."""
        return math.nan if self.option.routes else float(getattr(self.terms, field))


def rows(decision: Choice) -> list[Row]:
    """Build the rows of all options. For a window, options that route are skipped."""
    options = [
        option for option in decision.options if decision.objective != "window" or not option.routes
    ]
    return [Row(decision, option) for option in options]


def scenarios_of(contenders: Iterable[Contender | None]) -> list[Scenario]:
    """Return the scenarios of options whose price was computed from chips."""
    return [option.scenario for option in contenders if option and option.scenario]


def records(decision: Choice) -> list[Record]:
    """Build one record per option. Unknown values are None."""
    return [plainly(values(COLUMNS, row)) for row in rows(decision)]


def _of_option(column: Column[Row]) -> Column[Row]:
    """Read and format a number of a row. All amounts of money depend on the token price."""
    path, unit = column.value, column.unit
    if not isinstance(path, str) or column.format or path.startswith("option."):
        return column
    value, cell = partial(_value, path, unit), partial(_cell, path, unit)
    return replace(column, value=value, format=cell, rests_on=("price",) * unit.startswith("USD"))


def _value(path: str, unit: str, row: Row) -> float:
    value = float(attrgetter(path)(row)) if "." in path else row.offered(path)
    return value * 1e3 if unit == "ms" else value


def _cell(path: str, unit: str, row: Row) -> str:
    """Format a number as a table cell: times in readable units, uncertain prices marked."""
    value = _value(path, "", row)
    if unit in ("s", "ms"):
        return seconds(value)
    if unit.startswith("USD"):
        amount = "never" if math.isinf(value) else dollars(value)
        return record_tables.marked(amount, is_unsure=row.is_uncertain)
    return number(value)


_VALUES: dict[str, Callable[[Any], Any]] = {
    "step_success": lambda row: float(row.prospect.run.success ** (1.0 / floats(row.terms.steps))),
    "success": partial(_value, "prospect.run.success", "share"),
    "runs_to_success": lambda row: float(
        time_to_success(attempt=1.0, success=row.prospect.run.success)
    ),
    "wins": lambda row: row.decision.winner is row.option,
    "window_ms": lambda row: row.gap * 1e3,
    "included_tokens_a_month": lambda row: float(included(row.terms)),
    "low_confidence": lambda row: [
        column.key for column in COLUMNS if row.is_uncertain and "price" in column.rests_on
    ],
}
"""Values that are not an attribute, by key."""

_FORMATS: dict[str, Callable[[Any], Any]] = {
    "window_tokens": lambda row: f"{math.floor(row.window_tokens + 1e-9):,}",
    "tokens_per_s_needed": lambda row: (
        "none does" if math.isinf(row.window_speed) else number(row.window_speed)
    ),
}
"""Cells with a format of their own, by key."""

COLUMNS: tuple[TableColumn, ...] = tuple(map(_of_option, columns_from(__file__, _VALUES, _FORMATS)))
