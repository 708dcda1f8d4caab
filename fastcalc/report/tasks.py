"""Options for a task as records, as a table, and what would make them equal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

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
from fastcalc.formulas.agents import amdahl, time_to_success
from fastcalc.report.console import Notes, Part, Table, columns_that_fit, render
from fastcalc.report.numbers_as_text import dollars, number
from fastcalc.report.records import Record, plain


@dataclass(frozen=True, eq=False)
class Choice:
    """An option with its name and what it is for.

    Attributes
    ----------
    name : str
        What people read.
    option : ServingOption
        Its numbers.
    task : Task
        What it is to do.
    model, hardware, batch
        Where its speed was evaluated; None where the user gave it.
    """

    name: str
    option: ServingOption
    task: Task
    model: str | None = None
    hardware: str | None = None
    batch: int | None = None

    @property
    def prospect(self) -> Prospect:
        """What it takes."""
        return prospect(self.option, self.task)


_COLUMNS: dict[str, tuple[tuple[str, str], int]] = {
    "name": (("", "option"), 0),
    "accuracy": (("accuracy", "a step"), 0),
    "speed": (("", "tok/s"), 0),
    "price": (("$/Mtok", "output"), 2),
    "success": (("run", "succeeds"), 0),
    "run": (("one", "run"), 1),
    "model": (("in the", "model"), 3),
    "usd_run": (("$ one", "run"), 4),
    "seconds": (("to one", "success"), 0),
    "usd": (("$ to one", "success"), 0),
}


def task_records(choices: Sequence[Choice], window: float | None) -> list[Record]:
    """Return a record for each option; what is not known is None."""
    return [_record(one, window) for one in choices]


def _record(one: Choice, window: float | None) -> Record:
    found, option, task = one.prospect, one.option, one.task
    record = {
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
        key: value if value is None or isinstance(value, str) else plain(_number(value))
        for key, value in record.items()
    }


def _number(value: object) -> int | float:
    return value if isinstance(value, int) else float(value)  # type: ignore[arg-type]


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


def _cells(one: Choice) -> dict[str, str]:
    found, option = one.prospect, one.option
    usd = float(found.usd)
    return {
        "name": one.name,
        "accuracy": number(float(option.accuracy)),
        "speed": number(float(option.speed)),
        "price": dollars(float(option.price)),
        "success": f"{number(float(found.success) * 100)} %",
        "run": seconds(float(found.run_seconds)),
        "model": seconds(float(found.model_seconds)),
        "usd_run": dollars(float(found.run_usd)),
        "seconds": seconds(float(found.seconds)),
        "usd": "never" if math.isinf(usd) else dollars(usd),
    }


def _window_cells(one: Choice, window: float) -> dict[str, str]:
    option, task = one.option, one.task
    needed = float(window_speed(option, task, window))
    return {
        "name": one.name,
        "speed": number(float(option.speed)),
        "lead": seconds(float(option.lead)),
        "trip": seconds(float(task.round_trip)),
        "tokens": f"{math.floor(float(window_tokens(option, task, window)) + 1e-9):,}",
        "needed": "none does" if math.isinf(needed) else number(needed),
    }


_WINDOW_COLUMNS: dict[str, tuple[tuple[str, str], int]] = {
    "name": (("", "option"), 0),
    "speed": (("", "tok/s"), 0),
    "lead": (("first", "token"), 0),
    "trip": (("round", "trip"), 1),
    "tokens": (("tokens", "that fit"), 0),
    "needed": (("tok/s for", "all tokens"), 0),
}


def rows(
    choices: Sequence[Choice], window: float | None
) -> tuple[dict[str, tuple[tuple[str, str], int]], list[dict[str, str]]]:
    """Return the columns and the cells of a table of options."""
    if window is None:
        return _COLUMNS, [_cells(one) for one in choices]
    return _WINDOW_COLUMNS, [_window_cells(one, window) for one in choices]


def markdown_rows(
    choices: Sequence[Choice], window: float | None
) -> tuple[list[str], list[list[str]]]:
    """Return one header and the rows of all options, for a Markdown table."""
    columns, cells = rows(choices, window)
    header = [" ".join(heading).strip() for heading, _ in columns.values()]
    return header, [list(row.values()) for row in cells]


def table(
    choices: Sequence[Choice],
    against: Choice | None,
    notes: Sequence[str],
    window: float | None,
    width: int,
    *,
    colour: bool,
) -> str:
    """Return options as a table, what would make them equal, and how they were computed."""
    columns, cells = rows([*choices, *([against] if against else [])], window)
    shown, gap = columns_that_fit(
        {key: (*columns[key][0], *(row[key] for row in cells)) for key in columns},
        {key: rank for key, (_, rank) in columns.items()},
        width,
    )
    reported = list(notes)
    if against is not None and window is None:
        reported = [line for one in choices for line in break_evens(one, against)] + reported
    parts: list[Part] = [
        _heading(choices[0].task, window),
        "",
        Table(
            [columns[key][0] for key in shown], [[r[k] for k in shown] for r in cells], (0,), gap
        ),
        "",
        Notes(reported),
    ]
    return render(parts, width, colour=colour)


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
    return [
        {
            "option": one.name,
            "against": other.name,
            "times_as_soon": plain(_over(one, other)),
            **{key: plain(value) for key, value in _equal(one, other).items()},
        }
        for one in choices
    ]


def _over(one: Choice, other: Choice) -> float:
    """Return how many times as soon the second option succeeds. [1]"""
    first, second = float(one.prospect.seconds), float(other.prospect.seconds)
    return first / second if math.isfinite(first) else math.nan


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
    equal, lines = _equal(one, other), [_which(one, other)]
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


def _which(one: Choice, other: Choice) -> str:
    first, second = float(one.prospect.seconds), float(other.prospect.seconds)
    sooner, ratio = (one, second / first) if first <= second else (other, first / second)
    if ratio < 1.0005:
        return f"{one.name} and {other.name} succeed as soon"
    late = other if sooner is one else one
    return f"{sooner.name} succeeds {number(ratio)} times as soon as {late.name}"
