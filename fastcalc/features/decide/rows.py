"""What each option of a decision takes to one success, and its columns of records."""

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
    """An option of a decision, its letter, and what it takes."""

    decision: Choice
    option: Contender

    @cached_property
    def prospect(self) -> Prospect:
        """What it takes to one success."""
        return self.decision.prospect(self.option)

    @cached_property
    def terms(self) -> Terms:
        """What it offers for the task."""
        return self.decision.terms(self.option)

    @property
    def gap(self) -> float:
        """The gap that is asked about; nan without one. [s]"""
        return math.nan if self.decision.window is None else self.decision.window

    @property
    def letter(self) -> str:
        """Its letter on a map."""
        return decision_map.letter(list(self.decision.options).index(self.option))

    @property
    def is_uncertain(self) -> bool:
        """Whether its price, or that of one that it routes to, is of an uncertain chip-hour."""
        names = {self.option.name, *(self.option.routes or ())}
        options = (option for option in self.decision.options if option.name in names)
        return any(scenario.quote.is_uncertain for scenario in scenarios_of(options))

    @property
    def limits(self) -> Iterator[str]:
        """Say from how many sessions on speed buys nothing, and from which use on a plan pays."""
        busy = float(self.prospect.busy_sessions)
        if math.isfinite(busy):
            yield (
                f"{self.option.name}: with {number(busy)} sessions side by side the user never "
                "waits, and more speed buys nothing"
            )
        yield from self._plan_limits()

    def _plan_limits(self) -> Iterator[str]:
        """Say what a plan includes, and how many successes its price buys without one."""
        plan, name = float(self.terms.plan), self.option.name
        if not plan:
            return
        quota = float(included(self.terms))
        if not math.isnan(quota):
            count = number(quota / float(self.prospect.tokens))
            yield (
                f"{name}: the plan includes {number(quota / 1e6)} million tokens a month, read and "
                f"written, {count} successes; beyond them its prices hold, and without any no more "
                "are to be had"
            )
        for row in rows(self.decision):
            success_usd = float(row.prospect.usd)
            if not float(row.terms.plan) and 0.0 < success_usd < math.inf:
                tokens = plan / success_usd * float(row.prospect.tokens)
                end = "its quota includes fewer" if quota < tokens else "with more it spares money"
                yield (
                    f"{name}: ${plan:,.0f} a month are {number(plan / success_usd)} successes of "
                    f"{row.option.name}, {number(tokens / 1e6)} million tokens read and written; "
                    f"{end}"
                )

    @property
    def tool_limit(self) -> str | None:
        """What tools leave for faster tokens to gain, in a sentence; None without tools."""
        tool, run = float(self.prospect.run.tool_seconds), float(self.prospect.run.seconds)
        if not tool:
            return None
        share = (run - tool) / run
        return (
            f"{self.option.name}: tools take {whole_percent(1 - share)} of a run; tokens twice as "
            f"fast make it {number(float(amdahl(share=share, speedup=2.0)))} times as fast, any "
            f"speed at most {number(run / tool)}"
        )

    @property
    def window_tokens(self) -> float:
        """Tokens that fit the gap. [1]"""
        return float(window_tokens(self.terms, self.gap))

    @property
    def window_speed(self) -> float:
        """Speed at which all tokens fit it. [1/s]"""
        return float(window_speed(self.terms, self.gap))

    def offered(self, field: str) -> float:
        """A number that a plain option offers; nan of one that routes."""
        return math.nan if self.option.routes else float(getattr(self.terms, field))


def rows(decision: Choice) -> list[Row]:
    """Options with what they take; a gap has no use for routes."""
    options = [
        option for option in decision.options if decision.objective != "window" or not option.routes
    ]
    return [Row(decision, option) for option in options]


def scenarios_of(contenders: Iterable[Contender | None]) -> list[Scenario]:
    """Scenarios of options whose price was computed from chips."""
    return [option.scenario for option in contenders if option and option.scenario]


def records(decision: Choice) -> list[Record]:
    """A record for each option; what is not known is None."""
    return [plainly(values(COLUMNS, row)) for row in rows(decision)]


def _of(
    key: str,
    unit: str,
    meaning: str,
    path: str,
    heading: tuple[str, str] = ("", ""),
    drop_priority: int = 0,
) -> Column[Row]:
    """Column of a number of a row; all amounts of money rest on the price of a token.

    path : of its attributes, or the name of a number that it offers
    """
    value, cell = partial(_value, path, unit), partial(_cell, path, unit)
    rests_on = ("price",) * unit.startswith("USD")
    return Column(key, unit, meaning, value, heading, drop_priority, cell, rests_on=rests_on)


def _value(path: str, unit: str, row: Row) -> float:
    value = float(attrgetter(path)(row)) if "." in path else row.offered(path)
    return value * 1e3 if unit == "ms" else value


def _cell(path: str, unit: str, row: Row) -> str:
    """A number as a table has it: a time in the unit that people say, a price marked."""
    value = _value(path, "", row)
    if unit in ("s", "ms"):
        return seconds(value)
    if unit.startswith("USD"):
        amount = "never" if math.isinf(value) else dollars(value)
        return record_tables.marked(amount, is_unsure=row.is_uncertain)
    return number(value)


COLUMNS: tuple[Column[Row], ...] = (
    Column("option", "text", "name of the option", "option.name", ("", "option")),
    Column("model", "text", "its model; null where a speed was given", "option.model"),
    Column("hardware", "text", "and its chip", "option.hardware"),
    Column("batch", "count", "and its batch", "option.batch"),
    _of("steps", "count", "steps of a run", "terms.steps"),
    _of("tokens_per_step", "count", "tokens out of a call", "tokens"),
    _of("tool_s_per_step", "s", "time of tools in a step", "tools"),
    _of(
        "accuracy",
        "share",
        "chance that an answer to a step is right",
        "accuracy",
        ("accuracy", "a step"),
        2,
    ),
    _of("tokens_per_s", "tokens/s", "of one stream", "speed", ("", "tok/s")),
    _of(
        "lead_ms",
        "ms",
        "time to first token; 0 where it is not counted",
        "lead",
        ("first", "token"),
    ),
    _of("round_trip_ms", "ms", "way there and back of a call", "round_trip", ("round", "trip"), 1),
    _of(
        "usd_per_mtok_output",
        "USD/Mtok",
        "price of a million tokens out",
        "price",
        ("$/Mtok", "output"),
        3,
    ),
    Column(
        "step_success",
        "share",
        "chance that a step is right at last",
        lambda row: float(row.prospect.run.success ** (1.0 / floats(row.terms.steps))),
    ),
    Column(
        "success",
        "share",
        "chance that a run is",
        partial(_value, "prospect.run.success", "share"),
        ("run", "succeeds"),
        format="percent",
    ),
    Column(
        "runs_to_success",
        "number",
        "runs for each that is",
        lambda row: float(time_to_success(attempt=1.0, success=row.prospect.run.success)),
    ),
    _of("run_s", "s", "time of a run", "prospect.run.seconds", ("one", "run"), 1),
    _of("run_model_s", "s", "of it in the model", "prospect.run.model_seconds"),
    _of("run_tool_s", "s", "of it in tools", "prospect.run.tool_seconds"),
    _of("run_usd", "USD", "price of a run", "prospect.run.usd"),
    _of(
        "s_to_success", "s", "from start to one success", "prospect.seconds", ("to one", "success")
    ),
    _of(
        "usd_to_success",
        "USD",
        "tokens and plan for one success",
        "prospect.usd",
        ("$ to one", "success"),
    ),
    _of(
        "user_s_to_success",
        "s",
        "time of the user for each",
        "prospect.user_seconds",
        ("of the", "user"),
    ),
    _of(
        "total_usd_to_success", "USD", "with the user's time", "prospect.total", ("$ with", "user")
    ),
    _of("busy_sessions", "number", "from which on speed is idle", "prospect.busy_sessions"),
    _of(
        "successes_a_month",
        "number",
        "in its hours and dollars",
        "prospect.month",
        ("successes", "a month"),
    ),
    _of(
        "usd_a_month", "USD/month", "of tokens and plan", "prospect.month_usd", ("$ a", "month"), 4
    ),
    Column(
        "wins",
        "yes or no",
        "best by the objective, or of options level by it, best by the other figure",
        lambda row: row.decision.winner is row.option,
    ),
    Column("window_ms", "ms", "the gap that is asked about", lambda row: row.gap * 1e3),
    Column(
        "window_tokens",
        "number",
        "tokens that fit it",
        "window_tokens",
        ("tokens", "that fit"),
        format=lambda row: f"{math.floor(row.window_tokens + 1e-9):,}",
    ),
    Column(
        "tokens_per_s_needed",
        "tokens/s",
        "for all tokens to fit",
        "window_speed",
        ("tok/s for", "all tokens"),
        format=lambda row: (
            "none does" if math.isinf(row.window_speed) else number(row.window_speed)
        ),
    ),
    _of("tokens_to_success", "count", "read and written for one success", "prospect.tokens"),
    Column(
        "included_tokens_a_month",
        "count",
        "of a plan; null without a quota",
        lambda row: float(included(row.terms)),
    ),
    Column(
        "low_confidence",
        "list",
        "keys of amounts by an uncertain price: of low confidence, inherited or substituted",
        lambda row: [
            column.key for column in COLUMNS if row.is_uncertain and "price" in column.rests_on
        ],
    ),
)
