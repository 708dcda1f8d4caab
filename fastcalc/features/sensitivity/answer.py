"""What each number buys, and what it would have to be: sentences and tables."""

from collections.abc import Sequence
from functools import partial
from itertools import islice
from math import isfinite
from typing import Any

from fastcalc.core.scenario import Outcome, each_warning
from fastcalc.features.sensitivity.moved_numbers import KEYS, MovedNumber, rank
from fastcalc.features.sensitivity.targets import Goal
from fastcalc.formulas.sequences import grouped
from fastcalc.grid.columns import TableColumn, key_figure
from fastcalc.kit.answer import outcome_lines, record_tables
from fastcalc.kit.answer.console import Part, Screen, TextTable
from fastcalc.kit.answer.numbers_as_text import capital, number, of_kind
from fastcalc.kit.answer.prices import price_line, prices
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.kit.answer.row_words import alone
from fastcalc.kit.answer.table_row import TableRow
from fastcalc.written import listed, many

_FEW = 12
"""Rows of a first screen."""


def _percent(row: MovedNumber, figure: str) -> str:
    change = row.change(figure)
    if row.effect.raised.value is None:
        return "at limit"
    if not isfinite(change):
        return "-" if figure == "usd" else "no fit"
    return "0" if abs(change) < 5e-5 else f"{100.0 * change:+.2g} %"


def _at_most(row: MovedNumber) -> str:
    return "-" if not isfinite(row.reach) else f"{number(row.reach, 3)}x"


_COLUMNS: tuple[TableColumn, ...] = (
    words("|number", lambda row: row.path + " *" * row.effect.lever.number.is_default),
    numbers("|now", lambda row: row.text(row.effect.lever.number.value)),
    key_figure(numbers("+10 %:|tok/s", partial(_percent, figure="speed"))),
    numbers("tok/s|served", partial(_percent, figure="total"), 3),
    numbers("|TTFT", partial(_percent, figure="ttft"), 2),
    numbers("$/Mtok|output", partial(_percent, figure="usd"), 4),
    numbers("largest|batch", partial(_percent, figure="largest_batch"), 5),
    numbers("tok/s|at most", _at_most),
    numbers("nothing|beyond", lambda row: row.text(row.enough if isfinite(row.enough) else None)),
)
_TARGETS: tuple[TableColumn, ...] = (
    *_COLUMNS[:2],
    key_figure(numbers("would have|to be", lambda row: row.text(row.alone.value))),
    numbers("|times", lambda row: "-" if row.alone.factor is None else _times(row.alone.factor)),
    numbers("with the best|value", lambda row: "" if row.alone.value else _reached(row)),
)
_KEY = (
    "key: what 10 % more of a number changes, or the next whole one; at most: tok/s a user with "
    "the best value that a file may hold, over today's; nothing beyond: from there on (of a cost "
    "below) less than 1 % of that is left; parameters and architectures are the engine's"
)
_TARGET_KEY = (
    "key: what each number alone would have to be; -: none that a file may hold reaches it, and "
    "the last column has the figure with the best; parameters and architectures are the engine's"
)


def _times(factor: float) -> str:
    return f"{number(factor)}x" if factor else "0"


def _reached(row: MovedNumber) -> str:
    assert row.alone is not None
    if not isfinite(row.alone.extreme):
        return "no fit"
    is_time = row.alone.figure == "ttft"
    return of_kind(row.alone.extreme, "time") if is_time else number(row.alone.extreme)


def of_table(rows: Sequence[MovedNumber]) -> tuple[Sequence[TableColumn], Sequence[MovedNumber]]:
    """Return the columns and rows of a table in Markdown: numbers that move a figure."""
    has_target = any(row.alone for row in rows)
    return (_TARGETS if has_target else _COLUMNS), [row for row in rows if row.moves]


def parts(
    outcomes: Sequence[Outcome],
    rows: Sequence[MovedNumber],
    goals: Sequence[Goal],
    phrases: Sequence[str],
    next_command: str,
    screen: Screen,
) -> list[Part]:
    """Return for each batch what decides, in sentences, and a table; then notes."""
    page: list[Part] = []
    by_batch = grouped(rows, lambda row: (id(row.outcome), row.place))
    for place, batch_rows in enumerate(by_batch.values()):
        columns, shown = of_table(batch_rows)
        opening = sentence(batch_rows)
        if goals:
            opening, shown = _reaching(batch_rows, goals[place]), _by_distance(shown)
        head = [""] if page else [outcome_lines.heading([batch_rows[0].outcome], phrases)]
        opening_parts = [opening, *price_line([batch_rows[0].outcome.scenario])]
        page += [*opening_parts, *[""][: not page], *head, _table(columns, shown, screen)]
    warnings = list(each_warning(outcomes))
    is_default = any(row.effect.lever.number.is_default and row.moves for row in rows)
    key = _TARGET_KEY if goals else _KEY
    key = f"{key}; *: left out of the file, a median stands in" if is_default else key
    count, names = _unmoved(rows, goals)
    short_notes = [*warnings, *count]
    all_notes = [*names, prices(outcomes), *warnings]
    return [*page, screen.under_table(key, short_notes, all_notes, next_command)]


def _unmoved(rows: Sequence[MovedNumber], goals: Sequence[Goal]) -> tuple[list[str], list[str]]:
    """Say how many numbers cannot help to reach a target at any batch, and which move nothing."""
    moving = {row.path for row in rows if row.moves}
    idle = list(dict.fromkeys(row.path for row in rows if row.path not in moving))
    if not idle:
        return [], []
    if not goals:
        return [], [f"move nothing here: {', '.join(idle)}"]
    cannot = f"cannot {_IMPROVE[goals[0].target.figure]}"
    return (
        [f"{many(len(idle), 'number')} that {cannot} are left out"],
        [f"left out, as they {cannot}: {', '.join(idle)}"],
    )


_IMPROVE = {"speed": "raise the speed", "ttft": "shorten TTFT", "usd": "lower the price"}
"""What it is to come nearer to a target of a figure."""


def _table(
    columns: Sequence[TableColumn], rows: Sequence[MovedNumber], screen: Screen
) -> TextTable:
    shown = rows if screen.wide else rows[:_FEW]
    return record_tables.table(columns, shown, screen.width)


def _by_distance(rows: Sequence[MovedNumber]) -> list[MovedNumber]:
    """Return those that reach a target first, the nearest to what it is before others."""

    def distance(row: MovedNumber) -> tuple[bool, float]:
        factor = row.alone.factor if row.alone else None
        return factor is None, max(factor, 1.0 / factor) if factor else rank(row)[0]

    return sorted(rows, key=distance)


def sentence(rows: Sequence[MovedNumber]) -> str:
    """Say how fast it is, what limits it, what buys most, and what buys nothing more."""
    bought = capital("; ".join([*buys(rows), *buys_nothing(rows)]))
    return f"{today(rows[0])} {bought}{'.' * bool(bought)}".strip()


def buys(rows: Sequence[MovedNumber]) -> list[str]:
    """Say what buys most, of chip and engine."""
    worth = (row for row in _designed(rows) if abs(row.elasticity) >= _WORTH)
    return [
        f"a per cent {'more' if row.elasticity > 0 else 'less'} of {row.path} buys "
        f"{number(abs(row.elasticity), 2)} %"
        for row in islice(worth, 2)
    ]


def buys_nothing(rows: Sequence[MovedNumber]) -> list[str]:
    """Say what of a chip buys nothing more beyond which value."""
    spare = [row for row in _designed(rows) if row.effect.lever.file == "hardware" and row.is_spare]
    spare = sorted(spare, key=lambda row: row.enough / row.effect.lever.number.value)[:3]
    return [f"{row.path} buys nothing beyond {row.text(row.enough)}" for row in spare]


def _designed(rows: Sequence[MovedNumber]) -> list[MovedNumber]:
    return [row for row in rows if isfinite(row.elasticity) and row.effect.lever.file != "model"]


_WORTH = 0.05
"""Per cent for a per cent from which a sentence names a number. [1]"""


def today(row: MovedNumber) -> str:
    """Say how fast it is without any change, at what price, and what limits it."""
    return alone(TableRow(row.point, row.outcome))


def _reaching(rows: Sequence[MovedNumber], goal: Goal) -> str:
    """Say which number alone reaches a target, and which two with the least change."""
    opening = f"{today(rows[0])} {_wanted(goal)}"
    if all(row.alone is not None and row.alone.factor == 1.0 for row in rows):
        return f"{opening} is reached as it is."
    reaching = [
        row
        for row in _by_distance(rows)
        if row.effect.lever.file != "model" and row.alone and row.alone.value is not None
    ]
    alone = [
        f"{row.path} of {row.text(row.alone.value)} where it is "
        f"{row.text(row.effect.lever.number.value)}"
        for row in reaching[:3]
        if row.alone
    ]
    sentence = (
        f"{opening} takes {listed(alone, 'or')}."
        if alone
        else (f"{opening} is out of reach of any one number of chip and engine.")
    )
    if goal.pair is None:
        return sentence
    pair = [
        f"{lever.number.path} of {of_kind(value, lever.number.kind)}"
        for lever, value in zip(goal.pair.levers, goal.pair.values, strict=True)
    ]
    return (
        f"{sentence} Of two, least: {listed(pair)}, each {number(goal.pair.factor)} times better."
    )


def _wanted(goal: Goal) -> str:
    """Say what is to be reached."""
    value = goal.target.value
    if goal.target.figure == "speed":
        return f"{number(value)} tokens/s"
    if goal.target.figure == "ttft":
        return f"A first token after {of_kind(value, 'time')}"
    return f"${number(value)} a million output tokens"


def target_record(goals: Sequence[Goal]) -> list[dict[str, Any]]:
    """Return the two numbers that reach a target with the least change, of each batch."""
    return [
        {
            "batch": goal.scenario.batches[0],
            "figure": KEYS[goal.target.figure],
            "target": goal.target.value * (1e3 if goal.target.figure == "ttft" else 1.0),
            "pair": None
            if goal.pair is None
            else {
                lever.number.path: value
                for lever, value in zip(goal.pair.levers, goal.pair.values, strict=True)
            },
            "factor": goal.pair and goal.pair.factor,
        }
        for goal in goals
    ]
