"""A decision: the verdict in a sentence, the options as a table, and what flips it."""

import math
from collections.abc import Callable, Sequence

from fastcalc.features.decide import map as decision_map
from fastcalc.features.decide.agent_run import Terms
from fastcalc.features.decide.choice import BreakEven, Choice, WinnerMap
from fastcalc.features.decide.parameters import PARAMETERS
from fastcalc.features.decide.rows import Row, rows, scenarios_of
from fastcalc.features.decide.verdict import cached_at_full_price, failures, seconds, verdict
from fastcalc.grid.columns import TableColumn, key_figure
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Notes, Part, Screen
from fastcalc.kit.answer.numbers_as_text import dollars, number, percent
from fastcalc.kit.answer.point_records import Record, plainly, price_records
from fastcalc.kit.answer.prices import price_line
from fastcalc.kit.answer.record_tables import key_of_mark, marked, numbers, words
from fastcalc.mentions import option
from fastcalc.written import listed, many

_MOST_FLIPS = 4
"""Break-evens that a first screen has room for."""


def _or(word: str, written: Callable[[float], str], value: float) -> str:
    """Return a value as it is written, or a word where it is infinite."""
    return word if math.isinf(value) else written(value)


def _amount(heading: str, value: Callable[[Row], float], drop_priority: int = 0) -> TableColumn:
    """Return a column of dollars, marked where the price of a chip-hour is uncertain."""

    def cell(row: Row) -> str:
        return marked(_or("never", dollars, value(row)), is_unsure=row.is_uncertain)

    return numbers(heading, cell, drop_priority)


_LETTER = words("", lambda row: row.letter)
_OPTION = words("option", lambda row: row.option.name)
_SPEED = numbers("tok/s", lambda row: number(row.offered("speed")))
_SECONDS = numbers("to one|success", lambda row: seconds(float(row.prospect.seconds)))
_USD = _amount("$ to one|success", lambda row: float(row.prospect.usd))
_FITTING = numbers("tokens|that fit", lambda row: f"{math.floor(row.window_tokens + 1e-9):,}")
_TABLE = (
    _LETTER,
    _OPTION,
    _SPEED,
    _amount("$/Mtok|output", lambda row: row.offered("price"), 3),
    numbers("accuracy|a step", lambda row: number(row.offered("accuracy")), 2),
    numbers("run|succeeds", lambda row: percent(float(row.prospect.run.success))),
    numbers("one|run", lambda row: seconds(float(row.prospect.run.seconds)), 1),
    _SECONDS,
    _USD,
)
_USER = numbers("of the|user", lambda row: seconds(float(row.prospect.user_seconds)))
_TOTAL = _amount("$ with|user", lambda row: float(row.prospect.total))
_MONTH = (
    numbers("successes|a month", lambda row: number(float(row.prospect.month))),
    _amount("$ a|month", lambda row: float(row.prospect.month_usd), 4),
)
_GAP = (
    _LETTER,
    _OPTION,
    _SPEED,
    numbers("first|token", lambda row: seconds(float(row.terms.lead))),
    numbers("round|trip", lambda row: seconds(float(row.terms.round_trip)), 1),
    _FITTING,
    numbers("tok/s for|all tokens", lambda row: _or("none does", number, row.window_speed)),
)
_KEY_FIGURES = {"time": _SECONDS, "cost": _USD, "total": _TOTAL, "window": _FITTING}
"""The column that decides, by the objective."""


def columns(decision: Choice) -> Sequence[TableColumn]:
    """Return the columns of a table of options, or of what fits a gap."""
    key = _KEY_FIGURES[decision.objective]
    return [key_figure(column) if column is key else column for column in _columns(decision)]


def _columns(decision: Choice) -> Sequence[TableColumn]:
    if decision.objective == "window":
        return _GAP
    first = decision.terms(decision.options[0])
    user = (_USER,) if float(first.sessions) > 1 else ()
    total = (_TOTAL,) if decision.objective == "total" else ()
    return (*_TABLE, *user, *total, *_MONTH)


def parts(
    decision: Choice,
    drawn: WinnerMap | None,
    phrases: Sequence[str],
    notes: Sequence[str],
    next_command: str,
    screen: Screen,
) -> list[Part]:
    """Return the verdict, the table, who wins where, what flips it, and what is next."""
    offered = rows(decision)
    table = record_tables.table(columns(decision), offered, screen.width)
    # Of two speeds, one that rises to the other and one that falls to it are equally near.
    flips = sorted(decision.flips(), key=lambda flip: round(flip.distance, 9))
    sentences = " ".join([verdict(decision, offered, flips), *failures(decision, offered)])
    page: list[Part] = [
        sentences,
        *price_line(scenarios_of(decision.options)),
        "",
        _heading(decision, phrases),
        table,
    ]
    if drawn is not None:
        page += [decision_map.title(drawn), decision_map.table(drawn)]
    shown = flips if screen.notes else flips[:_MOST_FLIPS]
    flip_notes = [_flip_words(shown)] if shown else ["nothing here, changed alone, flips it"]
    hidden = len(flips) - len(shown)
    shown_notes = notes if screen.notes else notes[: 1 if drawn else 3]
    left = len(notes) - len(shown_notes)
    counted = ((hidden, "break-evens"), (left, "notes"))
    hint = listed([f"{count} more {noun}" for count, noun in counted if count])
    shown_notes = [
        *key_of_mark(table),
        *flip_notes,
        *shown_notes,
        *([f"{hint} with {option('notes')}"] if hint else []),
    ]
    return [*page, Notes(shown_notes, next_command)]


def assumptions(decision: Choice) -> Record:
    """Return what the records rest on: the prices of the chips of options that are models."""
    return {"prices": price_records(scenarios_of(decision.options))}


def _heading(decision: Choice, phrases: Sequence[str]) -> str:
    """Return the task, in a line: its steps and what else is asked of all options."""
    shared = Terms(**{"speed": 1.0, **decision.shared})
    tokens = f"{float(shared.tokens):,.0f} tokens"
    if decision.window is not None:
        return "; ".join([f"A gap of {seconds(decision.window)} for {tokens}", *phrases])
    task = f"{many(float(shared.steps), 'step')} of {tokens}"
    return "; ".join([task, *phrases, f"a month is {float(shared.hours):g} hours"])


def _flip_words(flips: Sequence[BreakEven]) -> str:
    by_winner: dict[str, list[str]] = {}
    for flip in flips:
        threshold = f"{decision_map.noun(flip.parameter)} {_side(flip)}"
        by_winner.setdefault(flip.winner, []).append(threshold)
    clauses = [f"{name} wins at {listed(where, 'or')}" for name, where in by_winner.items()]
    return f"what flips it, each alone: {'; '.join(clauses)}"


def _side(flip: BreakEven) -> str:
    """Return from where on or up to where another option wins, or that it does at 0 alone."""
    parameter = PARAMETERS[flip.parameter.rpartition(".")[2]]
    if parameter.is_count:
        text = f"{flip.value:,.0f} {parameter.unit}".rstrip()
        return f"from {text} on" if flip.is_above else f"up to {text}"
    if not flip.value and not flip.is_above:
        return f"of 0 {parameter.unit}".rstrip()
    side = "above" if flip.is_above else "below"
    return f"{side} {number(flip.value)} {parameter.unit}".rstrip()


def flip_records(decision: Choice) -> list[Record]:
    """Return a record for each value at which another option wins."""
    return [
        plainly(
            {
                "parameter": flip.parameter,
                "now": flip.now,
                "value": flip.value,
                "side": "above" if flip.is_above else "below",
                "winner": flip.winner,
            }
        )
        for flip in decision.flips()
    ]


def notes(decision: Choice) -> list[str]:
    """Return what the numbers rest on, and what they leave out."""
    if decision.objective == "window":
        return ["the gap holds the round trip, the first token and the stream"]
    offered = rows(decision)
    ends = "a failed run starts afresh, so one success takes one run over its chance on average"
    if decision.shared.get("repair") is not None:
        ends = "a user repairs a failed run"
    unknown = [row.option.name for row in offered if math.isnan(float(row.prospect.run.usd))]
    lines = cached_at_full_price(offered)
    lines += [f"no price of {', '.join(unknown)} is given: by cost it cannot win"] * bool(unknown)
    lines.append(f"steps fail independently and are noticed at no cost; {ends}")
    if math.isinf(decision.terms(decision.options[0]).look_away):
        lines.append(
            f"the user waits for every run; {option('look_away', 'S')} says after how long not"
        )
    is_priced = any(row.offered("price") > 0.0 for row in offered)
    if is_priced and not any(float(row.terms.prompt) for row in offered):
        lines.append(
            f"tokens read are not counted, and agents read more than they write: {option('prompt')}"
        )
    computed = [row.option for row in offered if row.option.model]
    if computed:
        where = ", ".join(
            f"{option.name} {option.batch:,} on {option.hardware}" for option in computed
        )
        other = {"time": "cost", "cost": "time", "total": "the user's time"}[decision.objective]
        lines.append(
            "speeds and prices of models are expected values, and where 80 % intervals leave open "
            f"which option is best, {other} decides; users at a time: {where}"
        )
    lines += [line for row in offered if row.option is decision.winner and (line := row.tool_limit)]
    return [*lines, *(line for row in offered for line in row.limits)]
