"""The rows of `decide`: time and cost per success of each option, with record columns."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter

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
from fastcalc.grid.column import Column, values
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
                f"{self.option.name}: with {number(busy)} concurrent sessions the user never "
                "waits, and more speed gains nothing"
            )
        plan, name = float(self.terms.plan), self.option.name
        if not plan:
            return
        quota = float(included(self.terms))
        if not math.isnan(quota):
            count = number(quota / float(self.prospect.tokens))
            yield (
                f"{name}: the plan includes {number(quota / 1e6)} million tokens per month "
                f"(input and output), {count} successes; beyond them its token prices apply, or "
                "nothing more is available if it has none"
            )
        for row in rows(self.decision):
            success_usd = float(row.prospect.usd)
            if not float(row.terms.plan) and 0.0 < success_usd < math.inf:
                tokens = plan / success_usd * float(row.prospect.tokens)
                end = "its quota includes fewer" if quota < tokens else "above that it saves money"
                yield (
                    f"{name}: ${plan:,.0f}/month pays for {number(plan / success_usd)} successes "
                    f"of {row.option.name}, {number(tokens / 1e6)} million input and output "
                    f"tokens; {end}"
                )

    @property
    def tool_limit(self) -> str | None:
        """A sentence on how much faster tokens can help, given the time spent in tools.

        None if there are no tools.
        """
        tool, run = float(self.prospect.run.tool_seconds), float(self.prospect.run.seconds)
        if not tool:
            return None
        fraction = (run - tool) / run
        return (
            f"{self.option.name}: tools take {whole_percent(1 - fraction)} of a run: doubling "
            f"the token speed makes it {number(float(amdahl(share=fraction, speedup=2.0)))} "
            f"times as fast, and no speed more than {number(run / tool)} times"
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


def _of(
    key: str,
    unit: str,
    meaning: str,
    path: str,
    heading: tuple[str, str] = ("", ""),
    drop_priority: int = 0,
) -> Column[Row]:
    """Build the column for a number of a row. All amounts of money depend on the token price.

    path : attribute path, or the name of one of the option's numbers
    """
    value, cell = partial(_value, path, unit), partial(_cell, path, unit)
    rests_on = ("price",) * unit.startswith("USD")
    return Column(key, unit, meaning, value, heading, drop_priority, cell, rests_on=rests_on)


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


COLUMNS: tuple[Column[Row], ...] = (
    Column("option", "text", "name of the option", "option.name", ("", "option")),
    Column("model", "text", "model; null if a speed was given", "option.model"),
    Column("hardware", "text", "chip of the model", "option.hardware"),
    Column("batch", "count", "batch of the model", "option.batch"),
    _of("steps", "count", "steps per run", "terms.steps"),
    _of("tokens_per_step", "count", "output tokens per call", "tokens"),
    _of("tool_s_per_step", "s", "time of tool calls per step", "tools"),
    _of(
        "accuracy",
        "share",
        "accuracy per step: chance that an answer is right",
        "accuracy",
        ("accuracy", "per step"),
        2,
    ),
    _of("tokens_per_s", "tokens/s", "speed of one stream", "speed", ("", "tok/s")),
    _of(
        "lead_ms",
        "ms",
        "TTFT; 0 if not counted",
        "lead",
        ("", "TTFT"),
    ),
    _of("round_trip_ms", "ms", "network round trip per call", "round_trip", ("round", "trip"), 1),
    _of(
        "usd_per_mtok_output",
        "USD/Mtok",
        "price per million output tokens",
        "price",
        ("$/Mtok", "output"),
        3,
    ),
    Column(
        "step_success",
        "share",
        "chance that a step succeeds, after retries and sampling",
        lambda row: float(row.prospect.run.success ** (1.0 / floats(row.terms.steps))),
    ),
    Column(
        "success",
        "share",
        "chance that a run succeeds",
        partial(_value, "prospect.run.success", "share"),
        ("success", "rate"),
        format="percent",
    ),
    Column(
        "runs_to_success",
        "number",
        "runs per success",
        lambda row: float(time_to_success(attempt=1.0, success=row.prospect.run.success)),
    ),
    _of("run_s", "s", "time per run", "prospect.run.seconds", ("time", "per run"), 1),
    _of("run_model_s", "s", "time per run in the model", "prospect.run.model_seconds"),
    _of("run_tool_s", "s", "time per run in tools", "prospect.run.tool_seconds"),
    _of("run_usd", "USD", "price per run", "prospect.run.usd"),
    _of(
        "s_to_success",
        "s",
        "time from start to one success",
        "prospect.seconds",
        ("time per", "success"),
    ),
    _of(
        "usd_to_success",
        "USD",
        "cost of tokens and plan per success",
        "prospect.usd",
        ("$ per", "success"),
    ),
    _of(
        "user_s_to_success",
        "s",
        "user's time per success",
        "prospect.user_seconds",
        ("user time", "/ success"),
    ),
    _of(
        "total_usd_to_success",
        "USD",
        "cost per success including the user's time",
        "prospect.total",
        ("$ incl.", "user time"),
    ),
    _of(
        "busy_sessions",
        "number",
        "concurrent sessions above which more speed gains nothing",
        "prospect.busy_sessions",
    ),
    _of(
        "successes_a_month",
        "number",
        "successes per month within its hours and budget",
        "prospect.month",
        ("successes", "per month"),
    ),
    _of(
        "usd_a_month",
        "USD/month",
        "cost per month of tokens and plan",
        "prospect.month_usd",
        ("$ per", "month"),
        4,
    ),
    Column(
        "wins",
        "yes or no",
        "whether it is best by the objective, or best by the other figure among options that tie",
        lambda row: row.decision.winner is row.option,
    ),
    Column("window_ms", "ms", "length of the window", lambda row: row.gap * 1e3),
    Column(
        "window_tokens",
        "number",
        "tokens that fit the window",
        "window_tokens",
        ("tokens", "that fit"),
        format=lambda row: f"{math.floor(row.window_tokens + 1e-9):,}",
    ),
    Column(
        "tokens_per_s_needed",
        "tokens/s",
        "speed needed for all tokens to fit",
        "window_speed",
        ("tok/s for", "all tokens"),
        format=lambda row: (
            "none does" if math.isinf(row.window_speed) else number(row.window_speed)
        ),
    ),
    _of("tokens_to_success", "count", "input and output tokens per success", "prospect.tokens"),
    Column(
        "included_tokens_a_month",
        "count",
        "tokens per month included in the plan; null without a quota",
        lambda row: float(included(row.terms)),
    ),
    Column(
        "low_confidence",
        "list",
        "keys of amounts that depend on an uncertain price: low confidence, inherited or "
        "substituted",
        lambda row: [
            column.key for column in COLUMNS if row.is_uncertain and "price" in column.rests_on
        ],
    ),
)
