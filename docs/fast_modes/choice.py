"""What a user chooses: time to an answer that is right, and where the choice turns."""

import numpy as np
from book import FAST, FASTER, PREMIUM, SLOW, Book, Words, table

from fastcalc.articles.judge import MEANING
from fastcalc.formulas.agents import busy_sessions, chain_success, time_to_success
from fastcalc.formulas.break_even import break_even_check, break_even_fix
from fastcalc.report.numbers_as_text import number

STEP = 800.0
"""Tokens of a step, as claim 61 assumes. [1]"""

SPEEDS = np.array([SLOW, FAST, 1000.0, 1000.0])
ACCURACY = np.array([0.9, 0.9, 0.75, 0.68])
"""Of a step, as the post reads two scores. [1]"""

NAMES = ("standard", "fast mode", *(f"Spark at {one:g}" for one in ACCURACY[2:]))

WRITTEN, READ = (25.0, 150.0), (5.0, 30.0)
"""Prices of a million tokens out and in, standard and fast. [USD]"""

LEAD = 0.2
"""Time to the first token of a voice model, assumed. [s]"""

PLAN = 200.0
"""Price of a month of the larger plans. [USD]"""


def times(steps: int, tools: float) -> np.ndarray:
    """Return the time of each option to the first success, with tools in every step. [s]"""
    runs = steps * (STEP / SPEEDS + tools)
    return time_to_success(attempt=runs, success=chain_success(accuracy=ACCURACY, steps=steps))


def choice(_: Book) -> Words:
    """Return the third table, who wins each of its jobs, and what turns that."""
    half = STEP / SLOW
    jobs = (
        ("one answer", 1, 0.0),
        ("ten steps, no tools", 10, 0.0),
        (f"ten steps, {half:.1f} s of tools each, as long as the standard answer", 10, half),
    )
    found = [times(steps, tools) for _, steps, tools in jobs]
    rows = [
        [job, *(number(float(one)) for one in each), NAMES[int(each.argmin())]]
        for (job, *_), each in zip(jobs, found, strict=True)
    ]
    one, ten, tooled = (_winner(each) for each in found)
    return {
        "choice_table": table(("", *NAMES, "soonest"), rows),
        "one_winner": one,
        "ten_winner": ten,
        "tools_winner": tooled,
        "step_tokens": number(STEP, 1),
        "check_fast": number(_check(1, 1), 2),
        "check_strict": number(_check(1, 1, 3), 2),
        "tool_standard": number(_check(0, 10) / 10.0, 2),
        "accuracy_fast": f"{_accuracy(1):.3f}",
        "accuracy_standard": f"{_accuracy(0):.3f}",
        "hour_price": number(hour_price(0.0), 2),
        "hour_reading": number(hour_price(10.0), 3),
    }


def _winner(each: np.ndarray) -> str:
    """Return who is soonest; Spark's accuracy may turn it."""
    known = ("the standard mode", "the fast mode", "Spark")
    kind, strict = (int(np.argmin([*each[:2], each[spark]])) for spark in (2, 3))
    if kind == strict:
        return known[kind]
    loose, hard = ACCURACY[2:]
    return f"{known[kind]} if Spark gets {loose:g}, and {known[strict]} if {hard:g}"


def _check(rival: int, steps: int, spark: int = 2) -> float:
    """Return the time added to each run at which Spark and a rival succeed as soon. [s]"""
    runs, right = steps * STEP / SPEEDS, chain_success(accuracy=ACCURACY, steps=steps)
    return float(
        break_even_check(
            attempt=runs[rival], success=right[rival], other=runs[spark], other_success=right[spark]
        )
    )


def _accuracy(rival: int) -> float:
    """Return the accuracy at which Spark does ten steps as soon as a rival. [1]"""
    return float(ACCURACY[rival] * (SPEEDS[rival] / SPEEDS[2]) ** 0.1)


def hour_price(read: float) -> float:
    """Return what an hour that fast mode saves costs, with so many tokens read for one written.

    Examples
    --------
    125 dollars more a million tokens, each 9.5 ms sooner.

    >>> round(hour_price(0.0), 1)
    47.4
    """
    more = (WRITTEN[1] - WRITTEN[0] + read * (READ[1] - READ[0])) / 1e6
    return 3600.0 * more / (1.0 / SLOW - 1.0 / FAST)


def questions(book: Book) -> Words:
    """Return the numbers of the short answers, and what the verdicts' words mean."""
    think, response = (180.0, 960.0)
    low, high = (f"{100.0 * one:.0f}" for one in book.values("54"))
    voice = [
        number(book.alongside("68", f"tokens at {speed:g} tokens/s, first after {lead:g} s"), 2)
        for lead in (0.0, LEAD)
        for speed in (SLOW, 1000.0)
    ]
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
        "sold_fast": f"{WRITTEN[1]:g}",
        "read_slow": f"{READ[0]:g}",
        "read_fast": f"{READ[1]:g}",
        "handshake": f"{low} to {high} %",
        "handshake_range": _ends(book.filled("54", "input[handshake]")),
        "voice_range": _ends(book.filled("68", "range[window]")),
        "mistakes": _percent(book.filled("63", "input[more_errors]")),
        "slots_busy": _percent(book.filled("8", "input[utilization]")),
        "tools_share": _percent(book.filled("64", "input[share]")),
        "saved": number(100.0 * book.values("53")[0], 2),
        "effort_lead": number(book.turn("16", "lead"), 2),
        "sessions": f"{float(sessions):.1f}",
        "sessions_fast": f"{float(fewer):.1f}",
        "plans": f"{5.0 * PLAN:,.0f}",
        "plan_tokens": number(PLAN / WRITTEN[0], 2),
        "plan_tokens_fast": number(PLAN / WRITTEN[1], 2),
        "amdahl": number(book.values("64")[0], 2),
        "mending": number(book.alongside("63", "break-even time of fixing"), 2),
        "mending_rare": number(float(break_even_fix(speedup=6.0, more_errors=0.02)), 2),
        "bargain_verdict": book.plain("63"),
        "meanings": "\n".join(f"- *{word}* (verdict): {what}." for word, what in MEANING.items()),
        "faster": f"{FASTER:g}",
        "premium": f"{PREMIUM:g}",
        "slow": f"{SLOW:g}",
        "fast": f"{FAST:g}",
    }


def _ends(pair: str) -> str:
    """Return two ends as a range.

    Examples
    --------
    >>> _ends("0.05 s and 0.2 s")
    '0.05 to 0.2 s'
    """
    low, high = pair.split(" and ")
    return f"{low.split()[0]} to {high}"


def _percent(share: str) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> _percent("0.2")
    '20'
    """
    return f"{100.0 * float(share):g}"
