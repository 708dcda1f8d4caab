"""Options for a task as records, as a table, and what would make them equal."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fastcalc.articles.agent_task import (
    Prospect,
    ServingOption,
    Task,
    equal_accuracy,
    equal_check,
    equal_fix,
    prospect,
    window_speed,
    window_tokens,
)
from fastcalc.core.columns import Column
from fastcalc.formulas.agents import amdahl, time_to_success
from fastcalc.report import record_tables
from fastcalc.report.console import Notes, Part
from fastcalc.report.numbers_as_text import dollars, number
from fastcalc.report.record_tables import numbers, words
from fastcalc.report.records import Record, plain, plainly


@dataclass(frozen=True, eq=False)
class Choice:
    """An option with the name that people read and the task that it is to do.

    Model, hardware and batch say where its speed was evaluated; None where the user gave it.
    """

    name: str
    option: ServingOption
    task: Task
    model: str | None = None
    hardware: str | None = None
    batch: int | None = None

    @cached_property
    def prospect(self) -> Prospect:
        """What it takes."""
        return prospect(self.option, self.task)


def task_record(one: Choice, window: float | None) -> Record:
    """Return the record of an option; what is not known is None."""
    found, option, task = one.prospect, one.option, one.task
    record: Record = {
        "option": one.name,
        "model": one.model,
        "hardware": one.hardware,
        "batch": one.batch,
        "steps": task.steps,
        "tokens_per_step": task.tokens,
        "tool_s_per_step": task.tool,
        "accuracy": option.accuracy,
        "tokens_per_s": option.speed,
        "lead_ms": float(option.lead) * 1e3,
        "round_trip_ms": float(task.round_trip) * 1e3,
        "usd_per_mtok_output": option.price,
        "step_success": found.step_success,
        "success": found.success,
        "runs_to_success": time_to_success(attempt=1.0, success=found.success),
        "run_s": found.run_seconds,
        "run_model_s": found.model_seconds,
        "run_tool_s": found.tool_seconds,
        "run_usd": found.run_usd,
        "s_to_success": found.seconds,
        "usd_to_success": found.usd,
    }
    if window is not None:
        record["window_ms"] = window * 1e3
        record["window_tokens"] = window_tokens(option, task, window)
        record["tokens_per_s_needed"] = window_speed(option, task, window)
    return {
        key: plain(float(value) if isinstance(value, np.ndarray) else value)
        for key, value in record.items()
    }


def seconds(value: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> seconds(0.45), seconds(12.3), seconds(200.0), seconds(7300.0), seconds(float("inf"))
    ('450 ms', '12.3 s', '3.33 min', '2.03 h', 'never')
    """
    if math.isinf(value):
        return "never"
    for least, unit in ((3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if value >= least:
            return f"{number(value / least)} {unit}"
    return f"{number(value * 1e3)} ms"


_OPTION = words("option", lambda one: one.name)
_SPEED = numbers("tok/s", lambda one: number(float(one.option.speed)))
_COLUMNS = (
    _OPTION,
    numbers("accuracy|a step", lambda one: number(float(one.option.accuracy))),
    _SPEED,
    numbers("$/Mtok|output", lambda one: dollars(float(one.option.price)), 2),
    numbers("run|succeeds", lambda one: f"{number(float(one.prospect.success) * 100)} %"),
    numbers("one|run", lambda one: seconds(float(one.prospect.run_seconds)), 1),
    numbers("in the|model", lambda one: seconds(float(one.prospect.model_seconds)), 3),
    numbers("$ one|run", lambda one: dollars(float(one.prospect.run_usd)), 4),
    numbers("to one|success", lambda one: seconds(float(one.prospect.seconds))),
    numbers("$ to one|success", lambda one: _or("never", dollars, float(one.prospect.usd))),
)


def columns(window: float | None) -> Sequence[Column]:
    """Return the columns of a table of options for a task, or for a gap. [s]"""
    if window is None:
        return _COLUMNS

    def tokens(one: Choice) -> str:
        return f"{math.floor(float(window_tokens(one.option, one.task, window)) + 1e-9):,}"

    def needed(one: Choice) -> str:
        return _or("none does", number, float(window_speed(one.option, one.task, window)))

    return (
        _OPTION,
        _SPEED,
        numbers("first|token", lambda one: seconds(float(one.option.lead))),
        numbers("round|trip", lambda one: seconds(float(one.task.round_trip)), 1),
        numbers("tokens|that fit", tokens),
        numbers("tok/s for|all tokens", needed),
    )


def _or(word: str, written: Callable[[float], str], value: float) -> str:
    """Return a value as it is written, or a word where it is infinite."""
    return word if math.isinf(value) else written(value)


def parts(
    choices: Sequence[Choice],
    against: Choice | None,
    notes: Sequence[str],
    window: float | None,
    width: int,
) -> list[Part]:
    """Return options as a table, what would make them equal, and how they were computed."""
    reported = list(notes)
    if against is not None and window is None:
        reported = [line for one in choices for line in break_evens(one, against)] + reported
    rows = [*choices, *([against] if against else [])]
    table = record_tables.table(columns(window), rows, width)
    return [_heading(choices[0].task, window), "", table, "", Notes(reported)]


def _heading(task: Task, window: float | None) -> str:
    """Return what is to be done, in a line."""
    if window is not None:
        return f"A gap of {seconds(window)} for {float(task.tokens):,.0f} tokens"
    steps = float(task.steps)
    text = f"{steps:,.0f} step{'s' if steps != 1 else ''} of {float(task.tokens):,.0f} tokens"
    if float(task.tool):
        text += f" and {seconds(float(task.tool))} of tools"
    if float(task.retries):
        text += f", each done again up to {float(task.retries):g} times"
    if float(task.samples) > 1:
        by = "by majority"
        if task.judge is not None:
            sure = float(task.judge)
            by = "by a perfect judge" if sure == 1 else f"by a judge right in {sure * 100:g} %"
        order = "one after another" if task.is_serial else "at once"
        text += f"; of {float(task.samples):g} answers, {order}, one is taken {by}"
    return text


def break_even_records(choices: Sequence[Choice], other: Choice) -> list[Record]:
    """Return what would make each option equal to another: None where nothing would."""
    found = []
    for one in choices:
        first, second = float(one.prospect.seconds), float(other.prospect.seconds)
        record: Record = {"option": one.name, "against": other.name}
        record["times_as_soon"] = first / second if math.isfinite(first) else None
        found.append(plainly(record | _equal(one, other)))
    return found


def _equal(one: Choice, other: Choice) -> dict[str, float]:
    """Return the break-evens of two options; nan where there is none."""
    found, rival = one.prospect, other.prospect
    accurate, faster = (found, rival) if found.success > rival.success else (rival, found)
    trades = accurate.success > faster.success and accurate.run_seconds > faster.run_seconds
    return {
        "accuracy_as_soon": float(equal_accuracy(found.seconds, other.option, other.task)),
        "accuracy_as_cheap": float(equal_accuracy(found.usd, other.option, other.task, by="usd")),
        "check_s": float(equal_check(accurate, faster)) if trades else math.nan,
        "fix_s": float(equal_fix(accurate, faster)) if trades else math.nan,
    }


def break_evens(one: Choice, other: Choice) -> list[str]:
    """Return what would make two options equal, in sentences."""
    found, rival = one.prospect, other.prospect
    hopeless = [each.name for each in (one, other) if not each.prospect.success]
    if hopeless:
        return [f"{' and '.join(hopeless)}: no run ever succeeds"]
    first, second = float(found.seconds), float(rival.seconds)
    sooner, late, ratio = one, other, second / first
    if first > second:
        sooner, late, ratio = other, one, first / second
    lines = [f"{sooner.name} succeeds {number(ratio)} times as soon as {late.name}"]
    if ratio < 1.0005:
        lines = [f"{one.name} and {other.name} succeed as soon"]
    equal = _equal(one, other)
    for by, key, word in (
        ("seconds", "accuracy_as_soon", "as soon"),
        ("usd", "accuracy_as_cheap", "as cheaply"),
    ):
        if not math.isnan(float(getattr(found, by)) + float(getattr(rival, by))):
            reported = (
                "no accuracy makes it succeed"
                if math.isnan(equal[key])
                else f"at an accuracy of {number(equal[key])} a step it succeeds"
            )
            lines.append(f"{other.name} against {one.name}: {reported} {word}")
    if equal["check_s"] > 0:
        faster = other if found.success > rival.success else one
        lines.append(
            f"{faster.name} is the sooner while checking a run takes less than "
            f"{seconds(equal['check_s'])}, or mending a failed one by hand less than "
            f"{seconds(equal['fix_s'])}"
        )
    return lines


def tool_limit(one: Choice) -> str | None:
    """Return what tools leave for faster tokens to gain, in a sentence; None without tools."""
    tool, run = float(one.prospect.tool_seconds), float(one.prospect.run_seconds)
    if not tool:
        return None
    share = (run - tool) / run
    return (
        f"{one.name}: tools take {(1 - share) * 100:.0f} % of a run; tokens twice as fast make it "
        f"{number(float(amdahl(share=share, speedup=2.0)))} times as fast, any speed at most "
        f"{number(run / tool)}"
    )
