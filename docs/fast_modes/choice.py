"""What a user chooses: time until a job is right, and where the choice turns."""

from typing import Literal, NamedTuple

import numpy as np
from book import EVEN, FAST, FASTER, LATER, PREMIUM, SLOW, SOLD, Book, Words, is_even, table

from fastcalc.formulas.agents import busy_sessions, chain_success, time_to_success
from fastcalc.formulas.break_even import break_even_check, break_even_fix
from fastcalc.kit.answer.numbers_as_text import number

STEP = 800.0
"""Tokens of a step, as claim 61 assumes. [1]"""

SPEEDS = np.array([SLOW, FAST, 1000.0, 1000.0])
ACCURACY = np.array([0.9, 0.9, 0.75, 0.68])
"""Of a step, as the post reads two scores. [1]"""

NAMES = ("standard", "fast mode", *(f"Spark at {one:g}" for one in ACCURACY[2:]))

WRITTEN, READ = (SOLD, SOLD * PREMIUM), 5.0
"""Prices of a million tokens out, standard and fast, and of a million in. [USD]"""

LEAD = 0.2
"""Time to the first token of a voice model, assumed. [s]"""

PLAN = 200.0
"""Price of a month of the larger plans. [USD]"""


class Job(NamedTuple):
    """Steps with seconds of tools in each; a wrong one alone is done again, or all of them are."""

    steps: int
    tools: float
    redone: Literal["step", "all"]


HALF = STEP / SLOW
"""Tools that take as long as a standard answer. [s]"""

JOBS = (
    Job(1, 0.0, "step"),
    Job(10, 0.0, "step"),
    Job(10, 0.0, "all"),
    Job(10, HALF, "step"),
    Job(10, HALF, "all"),
)
REDONE = {
    "step": "mistakes noticed at once, only the wrong step redone",
    "all": "mistakes noticed at the end, all steps redone",
}
READ_MORE, READ_MOST = 10.0, 100.0
"""Tokens read for each that is written: of a long task, and of an agent, assumed. [1]"""

CACHED = 0.9
"""Share of these that a cache holds where it holds most, assumed. [1]"""

CACHE_PRICE = 0.1
"""Price of a cached token over that of input, in both modes. [1]

Source: https://platform.claude.com/docs/about-claude/models/whats-new-opus-5 (0.50 over 5 USD)
"""


def label(job: Job) -> str:
    """A job in words.

    Examples
    --------
    >>> label(JOBS[0]), label(JOBS[3])
    ('one answer', '10 steps with 12.3 s of tools each, mistakes noticed at once, only the wrong step redone')
    """  # noqa: E501 (what is returned, in one line)
    if job.steps == 1:
        return "one answer"
    tools = f" with {job.tools:.1f} s of tools each" * bool(job.tools)
    return f"{job.steps} steps{tools}, {REDONE[job.redone]}"


def times(job: Job) -> np.ndarray:
    """The time of each option until a job is right, on average. [s]"""
    run = job.steps * (STEP / SPEEDS + job.tools)
    steps_redone = job.steps if job.redone == "all" else 1
    return time_to_success(
        attempt=run, success=chain_success(accuracy=ACCURACY, steps=steps_redone)
    )


def choice(_: Book) -> Words:
    """The table of jobs, who wins each of them, and what turns that."""
    found = [times(job) for job in JOBS]
    rows = [
        [label(job), *(number(float(one), 2) for one in seconds), soonest(seconds)]
        for job, seconds in zip(JOBS, found, strict=True)
    ]
    answer, step, whole, _, tooled = found
    return {
        "choice_table": table(("seconds until the result is right", *NAMES, "fastest"), rows),
        "step_winner": soonest(step),
        "step_gain": number(float(min(step[:2]) / step[2]), 2),
        "whole_winner": soonest(whole),
        "tooled_winner": soonest(tooled),
        "spark_words": spark_words(answer, step, whole),
        "half": f"{HALF:.1f}",
        "step_tokens": number(STEP, 1),
        "check_fast": number(_check(1, 1), 2),
        "check_strict": number(_check(1, 1, 3), 2),
        "tool_standard": number(_check(0, 10) / 10.0, 2),
        "accuracy_fast": f"{_accuracy(1):.3f}",
        "accuracy_standard": f"{_accuracy(0):.3f}",
        "accuracy_step": f"{ACCURACY[1] * SPEEDS[1] / SPEEDS[2]:.3f}",
        "hour_price": number(hour_price(), 2),
        "hour_later": number(hour_price(premium=LATER), 2),
        "hour_reading": number(hour_price(READ_MORE), 3),
        "hour_reading_cached": number(hour_price(READ_MORE, CACHED), 2),
        "hour_agent": number(hour_price(READ_MOST), 2),
        "hour_agent_cached": number(hour_price(READ_MOST, CACHED), 2),
        "cached": f"{100.0 * CACHED:g}",
        "read_more": f"{READ_MORE:g}",
        "read_most": f"{READ_MOST:g}",
        "steps": f"{JOBS[-1].steps}",
    }


MODES = ("the standard mode", "the fast mode", "Spark")


def soonest(seconds: np.ndarray) -> str:
    """Who is soonest; none wins by a few percent, and Spark's accuracy may turn it.

    Examples
    --------
    >>> soonest(np.array([353.0, 135.0, 142.0, 378.0]))
    'the fast mode and Spark tie; at 0.68 the fast mode'
    >>> soonest(np.array([13.7, 5.2, 1.1, 1.2]))
    'Spark'
    """
    loose, hard = (_winner(np.array([*seconds[:2], seconds[spark]])) for spark in (2, 3))
    return loose if loose == hard else f"{loose}; at {ACCURACY[3]:g} {hard}"


def _winner(seconds: np.ndarray) -> str:
    near = [mode for mode, time in zip(MODES, seconds, strict=True) if is_even(time / min(seconds))]
    return near[0] if len(near) == 1 else f"{' and '.join(near)} tie"


def spark_words(answer: np.ndarray, step: np.ndarray, whole: np.ndarray) -> str:
    """Say in one sentence where Spark is faster than the fast mode, and where it is not.

    Examples
    --------
    >>> some = np.array([14.0, 5.0, 1.0, 1.2])
    >>> spark_words(some, some, np.array([353.0, 135.0, 142.0, 378.0]))
    'Spark is faster if mistakes are noticed at once and only the wrong answer is redone, but not if mistakes show only after 10 steps'
    >>> spark_words(some, some, some)
    'Spark is faster in all cases tried'
    """  # noqa: E501 (what is returned, in one line)
    wins = [bool(max(each[2:]) * (1.0 + EVEN) < min(each[:2])) for each in (answer, step, whole)]
    if all(wins):
        return "Spark is faster in all cases tried"
    if not any(wins):
        return "Spark is not clearly faster in any of the cases tried"
    if wins == [True, True, False]:
        return (
            "Spark is faster if mistakes are noticed at once and only the wrong answer is redone, "
            f"but not if mistakes show only after {JOBS[-1].steps} steps"
        )
    return f"Spark is faster in {sum(wins)} of {len(wins)} cases tried"


def _check(rival: int, steps: int, spark: int = 2) -> float:
    """The time added to each run at which Spark and a rival succeed as soon. [s]"""
    runs, right = steps * STEP / SPEEDS, chain_success(accuracy=ACCURACY, steps=steps)
    return float(
        break_even_check(
            attempt=runs[rival], success=right[rival], other=runs[spark], other_success=right[spark]
        )
    )


def _accuracy(rival: int) -> float:
    """The accuracy at which Spark does ten steps as soon as a rival. [1]"""
    return float(ACCURACY[rival] * (SPEEDS[rival] / SPEEDS[2]) ** 0.1)


def hour_price(read: float = 0.0, cached: float = 0.0, premium: float = PREMIUM) -> float:
    """What an hour that fast mode saves costs, with some tokens read per token written.

    Examples
    --------
    125 dollars more a million tokens, each 9.5 ms sooner; 25 more at twice the price.

    >>> round(hour_price(), 1), round(hour_price(premium=2.0), 1)
    (47.4, 9.5)
    """
    usd = WRITTEN[0] + read * READ * (1.0 - cached * (1.0 - CACHE_PRICE))
    return 3600.0 * (premium - 1.0) * usd / 1e6 / (1.0 / SLOW - 1.0 / FAST)


def questions(book: Book) -> Words:
    """The numbers of the short answers."""
    think, response = (180.0, 960.0)
    low, high = (f"{100.0 * one:.0f}" for one in book.values("54"))
    voice = [
        number(book.alongside("68", f"tokens at {speed:g} tokens/s, first after {lead:g} s"), 2)
        for lead in (0.0, LEAD)
        for speed in (SLOW, 1000.0)
    ]
    trip, token, lead = (
        _percent(book.filled("53", f"input[{name}_saving]")) for name in ("trip", "token", "lead")
    )
    sessions, fewer = (
        busy_sessions(response=one, think=think) for one in (response, response / FASTER)
    )
    return {
        **dict(
            zip(
                ("voice_slow", "voice_fast", "voice_slow_late", "voice_fast_late"),
                voice,
                strict=True,
            )
        ),
        "voice_lead": f"{LEAD:g} s",
        "session_minutes": f"{response / 60.0:g}",
        "think_minutes": f"{think / 60.0:g}",
        "plan": f"{PLAN:g}",
        "openai_savings": (
            f"{trip}% of round trips, {token}% of the overhead per token and {lead}% of the TTFT"
        ),
        "handshake": f"{low} to {high}%",
        "handshake_range": _ends(book.filled("54", "input[handshake]")),
        "voice_range": _ends(book.filled("68", "range[window]")),
        "mistakes": _percent(book.filled("63", "input[more_errors]")),
        "slots_busy": _percent(book.filled("8", "input[utilization]")),
        "tools_share": _percent(book.filled("64", "input[share]")),
        "saved": number(100.0 * book.values("53")[0], 2),
        "effort_lead": number(book.turn("16", "lead"), 2),
        "sessions": f"{float(sessions):.1f}",
        "sessions_fast": f"{float(fewer):.1f}",
        "plan_tokens": number(PLAN / WRITTEN[0], 2),
        "plan_tokens_fast": number(PLAN / WRITTEN[1], 2),
        "amdahl": number(book.values("64")[0], 2),
        "mending": number(book.alongside("63", "break-even time of fixing"), 2),
        "score_full": book.filled("59", "input[under]"),
        "score_spark": book.filled("59", "input[over]"),
        "mending_rare": number(float(break_even_fix(speedup=6.0, more_errors=0.02)), 2),
        "faster": f"{FASTER:g}",
        "premium": f"{PREMIUM:g}",
        "slow": f"{SLOW:g}",
        "fast": f"{FAST:g}",
    }


def _ends(pair: str) -> str:
    """Two ends as a range.

    Examples
    --------
    >>> _ends("0.05 s and 0.2 s")
    '0.05 to 0.2 s'
    """
    low, high = pair.split(" and ")
    return f"{low.split()[0]} to {high}"


def _percent(share: str) -> str:
    """A share in percent.

    Examples
    --------
    >>> _percent("0.2")
    '20'
    """
    return f"{100.0 * float(share):g}"
