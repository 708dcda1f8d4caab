"""What each number buys, and what it would have to be: records, sentences and tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

from fastcalc.core.scenario import Outcome
from fastcalc.records.columns import Column, values
from fastcalc.report import compare, overview, record_tables
from fastcalc.report.console import Part, Screen, TextTable
from fastcalc.report.headings import TableColumn
from fastcalc.report.numbers_as_text import counted, listed, number, of_kind
from fastcalc.report.record_tables import numbers, words
from fastcalc.report.records import Record, compare_records, plainly
from fastcalc.search.sensitivity.answers import FIGURES
from fastcalc.search.sensitivity.effects import NEARLY, Effect
from fastcalc.search.sensitivity.targets import Alone, Goal

_FEW = 12
"""Rows of a first screen."""

KEYS = {
    "speed": "tokens_per_s_per_user",
    "total": "served_tokens_per_s_total",
    "ttft": "ttft_ms",
    "usd": "usd_per_mtok_output",
    "largest_batch": "max_batch",
}
"""The keys of figures."""


@dataclass(frozen=True, eq=False)
class MovedNumber:
    """A number at one batch: a row.

    place : of the batch among those of the outcome
    point : the record of `compare` at that batch
    alone : what it would have to be, where a target is given
    """

    outcome: Outcome
    place: int
    point: Record
    effect: Effect
    alone: Alone | None

    @property
    def path(self) -> str:
        """How a what-if names it."""
        return self.effect.lever.number.path

    @property
    def elasticity(self) -> float:
        """Per cent of speed for a per cent of it. [1]"""
        return float(self.effect.elasticity.speed[self.place])

    @property
    def reach(self) -> float:
        """The most that it can make of the speed, over what it is. [1]"""
        return float(self.effect.reach[self.place])

    @property
    def enough(self) -> float:
        """From where on it buys nothing; nan where no value buys all. [SI]"""
        return float(self.effect.enough[self.place])

    @property
    def is_spare(self) -> bool:
        """Whether more of it buys neither speed nor a larger batch, and less of it would cost."""
        buys_batch = abs(self.slope("largest_batch")) > 0.0
        return self.reach < 1.0 / NEARLY and isfinite(self.enough) and not buys_batch

    def change(self, figure: str) -> float:
        """Return the share by which ten per cent more of it changes a figure. [1]"""
        return float(getattr(self.effect.raised.change, figure)[self.place]) - 1.0

    def slope(self, figure: str) -> float:
        """Return per cent of a figure for a per cent of it. [1]"""
        return float(getattr(self.effect.elasticity, figure)[self.place])

    def text(self, value: float | None) -> str:
        """Return a value of it with its unit."""
        return "-" if value is None else of_kind(value, self.effect.lever.number.kind)


def _of_point(key: str, unit: str, meaning: str) -> Column[MovedNumber]:
    return Column(key, unit, meaning, lambda row: row.point[key])


def _figures(
    ending: str, meaning: str, share: Callable[[str], Callable[[MovedNumber], float]]
) -> Iterator[Column[MovedNumber]]:
    for figure, key in KEYS.items():
        yield Column(f"{key}_{ending}", "ratio", meaning, share(figure))


def _change(figure: str) -> Callable[[MovedNumber], float]:
    return lambda row: row.change(figure)


def _slope(figure: str) -> Callable[[MovedNumber], float]:
    return lambda row: row.slope(figure)


COLUMNS: tuple[Column[MovedNumber], ...] = (
    _of_point("hardware", "text", "id of the chip"),
    _of_point("model", "text", "id of the model"),
    _of_point("engine", "text", "id of the engine"),
    _of_point("chips", "count", "tp x pp x dp / ranks of a chip"),
    _of_point("tp", "count", "tensor-parallel ranks"),
    _of_point("pp", "count", "pipeline stages"),
    _of_point("ep", "count", "ranks that share the experts"),
    _of_point("dp", "count", "attention replicas"),
    _of_point("batch", "count", "sequences decoded together by the whole deployment"),
    _of_point("tokens_per_s_per_user", "tokens/s", "as the files are"),
    _of_point("served_tokens_per_s_total", "tokens/s", "as the files are"),
    _of_point("ttft_ms", "ms", "as the files are"),
    _of_point("usd_per_mtok_output", "USD", "as the files are"),
    _of_point("max_batch", "count", "as the files are"),
    _of_point("limiter", "text", "what takes most of a decode step"),
    Column(
        "file",
        "text",
        "whose number it is: hardware, engine, model or host",
        lambda row: row.effect.lever.file,
    ),
    Column("entry", "text", "id of that file", lambda row: row.effect.lever.entry),
    Column("path", "text", "the number, as set takes it", lambda row: row.path),
    Column(
        "quantity",
        "text",
        "of what kind it is, such as bandwidth; values are in the SI unit of it",
        lambda row: row.effect.lever.number.kind,
    ),
    Column("value", "SI", "what it is", lambda row: float(row.effect.lever.number.value)),
    Column(
        "is_default",
        "yes or no",
        "whether the file leaves it out, and a median stands in",
        lambda row: row.effect.lever.number.is_default,
    ),
    Column(
        "more_value",
        "SI",
        "with 10 % more, or the next that a file may hold; null at its limit",
        lambda row: row.effect.raised.value,
    ),
    *_figures("change", "with that value over what it is, less 1", _change),
    *_figures(
        "elasticity",
        "per cent for a per cent more of it; of whole numbers of a model with that value",
        _slope,
    ),
    Column(
        "tokens_per_s_per_user_best",
        "tokens/s",
        "with the best value that a file may hold; null for models",
        lambda row: row.reach * float(row.outcome.estimate.speed[row.place]),
    ),
    Column(
        "enough_value",
        "SI",
        "from which on less than 1 % of that is left to gain",
        lambda row: row.enough,
    ),
    Column(
        "target_value",
        "SI",
        "what it alone would have to be to reach the target; null where no value does",
        lambda row: row.alone and row.alone.value,
    ),
    Column(
        "target_factor",
        "ratio",
        "that over what it is",
        lambda row: row.alone and row.alone.factor,
    ),
)
RECORD_KEYS = tuple(column.key for column in COLUMNS)


def rows_of(
    outcome: Outcome, effects: Sequence[Effect], goals: Mapping[int, Goal]
) -> list[MovedNumber]:
    """Return a row for each batch that fits and each number, those that buy most speed first.

    goals : how each batch reaches the target, by its place, if one is given
    """
    rows = []
    for place, point in enumerate(compare_records([outcome])):
        if not point["fits"]:
            continue
        alone = {answer.lever: answer for answer in goals[place].alone} if goals else {}
        of_batch = [
            MovedNumber(outcome, place, point, effect, alone.get(effect.lever))
            for effect in effects
        ]
        rows += sorted(of_batch, key=_rank)
    return rows


def _rank(row: MovedNumber) -> tuple[float, ...]:
    """Return what rows are sorted by: the effect on speed, then whose it is, then other effects."""
    slopes = [abs(row.slope(figure)) for figure in FIGURES]
    speed, *further = (-slope if isfinite(slope) else 0.0 for slope in slopes)
    return round(speed, 3), _FILES.index(row.effect.lever.file), *further


_FILES = ("hardware", "host", "engine", "model")


def sensitivity_records(rows: Iterable[MovedNumber]) -> list[Record]:
    """Return a record for each row."""
    return [plainly(values(COLUMNS, row)) for row in rows]


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
    numbers("+10 %:|tok/s", partial(_percent, figure="speed")),
    numbers("tok/s|served", partial(_percent, figure="total"), 3),
    numbers("|TTFT", partial(_percent, figure="ttft"), 2),
    numbers("$/Mtok|output", partial(_percent, figure="usd"), 4),
    numbers("largest|batch", partial(_percent, figure="largest_batch"), 5),
    numbers("tok/s|at most", _at_most),
    numbers("nothing|beyond", lambda row: row.text(row.enough if isfinite(row.enough) else None)),
)
_TARGETS: tuple[TableColumn, ...] = (
    *_COLUMNS[:2],
    numbers("would have|to be", lambda row: row.text(row.alone.value)),
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
    return number(row.alone.extreme) if isfinite(row.alone.extreme) else "no fit"


def of_table(rows: Sequence[MovedNumber]) -> tuple[Sequence[TableColumn], Sequence[MovedNumber]]:
    """Return the columns and rows of a table in Markdown: numbers that move a figure."""
    has_target = any(row.alone for row in rows)
    return (_TARGETS if has_target else _COLUMNS), [row for row in rows if _is_shown(row)]


def _is_shown(row: MovedNumber) -> bool:
    if row.alone is None:
        return row.effect.moves
    return row.alone.value is not None or row.effect.moves


def parts(
    outcomes: Sequence[Outcome],
    rows: Sequence[MovedNumber],
    goals: Sequence[Goal],
    next_command: str,
    screen: Screen,
) -> list[Part]:
    """Return for each batch what decides, in sentences, and a table; then notes."""
    page: list[Part] = []
    idle: dict[str, None] = {}
    by_batch: dict[tuple[int, int], list[MovedNumber]] = {}
    for row in rows:
        by_batch.setdefault((id(row.outcome), row.place), []).append(row)
    for place, batch_rows in enumerate(by_batch.values()):
        columns, shown = of_table(batch_rows)
        idle |= dict.fromkeys(row.path for row in batch_rows if not row.effect.moves)
        sentence = _sentence(batch_rows)
        if goals:
            sentence, shown = _reaching(batch_rows, goals[place]), _by_distance(shown)
        head = [overview.heading([batch_rows[0].outcome])] if not page else [""]
        page += [sentence, *[""][: not page], *head, _table(columns, shown, screen)]
    warnings = dict.fromkeys(line for outcome in outcomes for line in outcome.warnings)
    is_default = any(row.effect.lever.number.is_default and _is_shown(row) for row in rows)
    key = _TARGET_KEY if goals else _KEY
    key = f"{key}; *: left out of the file, a median stands in" if is_default else key
    unmoved = [f"move nothing here: {', '.join(idle)}"] if idle else []
    short_notes = [compare.prices(outcomes, in_short=True), *warnings]
    all_notes = [*unmoved, compare.prices(outcomes), *warnings]
    return [*page, screen.under_table(key, short_notes, all_notes, next_command)]


def _table(
    columns: Sequence[TableColumn], rows: Sequence[MovedNumber], screen: Screen
) -> TextTable:
    shown = rows if screen.wide else rows[:_FEW]
    return record_tables.table(columns, shown, screen.width)


def _by_distance(rows: Sequence[MovedNumber]) -> list[MovedNumber]:
    """Return those that reach a target first, the nearest to what it is before others."""

    def distance(row: MovedNumber) -> tuple[bool, float]:
        factor = row.alone.factor if row.alone else None
        return factor is None, max(factor, 1.0 / factor) if factor else _rank(row)[0]

    return sorted(rows, key=distance)


def _sentence(rows: Sequence[MovedNumber]) -> str:
    """Say how fast it is, what limits it, what buys most, and what buys nothing more."""
    slopes = (row for row in rows if isfinite(row.elasticity))
    designed = [row for row in slopes if row.effect.lever.file != "model"]
    bought = [row for row in designed if abs(row.elasticity) >= _WORTH][:2]
    buys = [
        f"a per cent {'more' if row.elasticity > 0 else 'less'} of {row.path} buys "
        f"{number(abs(row.elasticity), 2)} %"
        for row in bought
    ]
    spare = [row for row in designed if row.effect.lever.file == "hardware" and row.is_spare]
    spare = sorted(spare, key=lambda row: row.enough / row.effect.lever.number.value)[:3]
    beyond = [f"{row.path} buys nothing beyond {row.text(row.enough)}" for row in spare]
    return f"{_today(rows[0])} {_capital('; '.join([*buys, *beyond]))}".strip()


_WORTH = 0.05
"""Per cent for a per cent from which a sentence names a number. [1]"""


def _capital(sentence: str) -> str:
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def _today(row: MovedNumber) -> str:
    point = row.point
    gives = "gives" if point["chips"] == 1 else "give"
    chips = counted(point["chips"], point["hardware"])
    return (
        f"At batch {point['batch']:,} {chips} {gives} each user "
        f"{number(point['tokens_per_s_per_user'])} tokens/s; {point['limiter']} limits it."
    )


def _reaching(rows: Sequence[MovedNumber], goal: Goal) -> str:
    """Say which number alone reaches a target, and which two with the least change."""
    opening = f"{_today(rows[0])} {_wanted(goal)}"
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
