"""What each trick buys and costs: records, and cells for tables."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fastcalc.core.ratios import independent_ratio
from fastcalc.core.scenario import Outcome
from fastcalc.features.fastmode.factors import cost_multiple_cell, factor_records
from fastcalc.features.fastmode.option import TRICKS, Option
from fastcalc.features.fastmode.solve import FastModeAnswer
from fastcalc.features.fastmode.waterfall import Factor, waterfall
from fastcalc.grid import columns
from fastcalc.grid.columns import Column, values
from fastcalc.kit.answer import point_records as records
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.point_records import Record, compare_records, plain, plainly

Command = Callable[[Outcome], str | None]
"""Returns the command that prints a point again, or None where there is none."""


@dataclass(frozen=True)
class Trial:
    """An option next to today's point.

    option, point : what is tried, and its record, empty where nothing reaches the speed
    base, today : today's point, and its record
    changes_answers : whether another model, unless it was named, or fewer bits than today's answer
    """

    option: Option
    point: Record
    base: Outcome
    today: Record
    speed: float
    command: str | None
    changes_answers: bool


def rows(
    answer: FastModeAnswer, options: Sequence[Option], command: Command = lambda _: None
) -> list[Record]:
    """Return a record for today's point and one for each of some options, ratios against it."""
    (today,), table_rows = compare_records([answer.today]), []
    start = Option("today", "", answer.today)
    for option in (start, *options):
        point: Record = {**dict.fromkeys(records.KEYS), "warnings": []}
        point |= {"undetermined": [], "low_confidence": []}
        if option.outcome is not None:
            point = compare_records([option.outcome])[0]
        trial = Trial(
            option=option,
            point=point,
            today=today,
            speed=answer.speed,
            base=answer.today,
            command=command(option.outcome) if option.outcome else None,
            changes_answers=option.outcome is not None
            and option not in (start, *answer.same_answers),
        )
        record = {**plainly(values(_BEFORE, trial)), **point, **values(_AFTER, trial)}
        record |= plainly(values((*_RANGE, *_LAST), trial))
        for marks in ("undetermined", "low_confidence"):
            record[marks] = point[marks] + _unsure_ratios(point, today, marks)
        table_rows.append({key: record[key] for key in KEYS})
    return table_rows


def _ratio(above: Record, below: Record, key: str) -> float | None:
    """Return how many times one record's value is another's; None where either is not known."""
    if above[key] is None or not below[key]:
        return None
    return float(above[key] / below[key])


def _unsure_ratios(point: Record, today: Record, marks: str) -> list[str]:
    """Return the keys of ratios that rest on a marked number on either side.

    marks : the key that lists them
    """
    unsure = {*point[marks], *today[marks]} if point["model"] else set()
    return [ratio for ratio, key in _RATIOS if key in unsure]


_RATIOS = (
    ("speedup", "tokens_per_s_per_user"),
    ("cost_multiple", "usd_per_mtok_output"),
    ("cost_multiple_total", "usd_per_mtok_total"),
)


def _reaches_at_low_end(trial: Trial) -> bool | None:
    low = trial.point["tokens_per_s_per_user_low"]
    return None if low is None else bool(low >= trial.speed)


_BEFORE: tuple[Column[Trial], ...] = (
    Column("trick", "text", "what is tried", "option.trick"),
    Column("change", "text", "what is changed", lambda trial: trial.option.change or None),
    Column(
        "reaches",
        "yes or no",
        "whether the speed is expected",
        lambda trial: trial.option.outcome is not None and trial.option.trick != "today",
    ),
    Column("cannot", "text", "why it is not", "option.why_not"),
    Column(
        "speedup",
        "ratio",
        "over today's speed of each user",
        lambda trial: _ratio(trial.point, trial.today, "tokens_per_s_per_user"),
    ),
    Column(
        "cost_multiple",
        "ratio",
        "over today's price of an output token",
        lambda trial: _ratio(trial.point, trial.today, "usd_per_mtok_output"),
        ("", "cost"),
        format=cost_multiple_cell,
        is_key_figure=True,
    ),
    Column(
        "cost_multiple_total",
        "ratio",
        "over today's price of a token, prompts among them",
        lambda trial: _ratio(trial.point, trial.today, "usd_per_mtok_total"),
    ),
    Column(
        "batch_ratio",
        "ratio",
        "today's batch over this one",
        lambda trial: _ratio(trial.today, trial.point, "batch"),
    ),
    Column(
        "low_end_reaches",
        "yes or no",
        "whether it is at the low end of the 80 % range",
        _reaches_at_low_end,
    ),
)
_AFTER: tuple[Column[Trial], ...] = (
    Column("compare", "text", "command that prints the point again", "command"),
)


def _gain(end: str) -> Callable[[Trial], float | None]:
    """Return an end of the range of the speed-up; None of today's point and of none."""

    def of(trial: Trial) -> float | None:
        if trial.option.outcome is None or trial.option.trick == "today":
            return None
        speeds = (outcome.estimate.ranged_speed for outcome in (trial.option.outcome, trial.base))
        end_values = getattr(independent_ratio(over=next(speeds), under=next(speeds)), end)
        return float(end_values[0])

    return of


_RANGE: tuple[Column[Trial], ...] = tuple(
    Column(
        f"speedup_{end}",
        "ratio",
        f"{end} end of it, both 80 % ranges taken as independent",
        _gain(end),
    )
    for end in ("low", "high")
)


def _dearer(end: str) -> Callable[[Trial], float | None]:
    """Return an end of the range of the cost multiple: a slower user costs more, on either side."""

    def of(trial: Trial) -> float | None:
        cost = _ratio(trial.point, trial.today, "usd_per_mtok_output")
        if cost is None or trial.option.outcome is None or trial.option.trick == "today":
            return None
        over, under = trial.base.estimate, trial.option.outcome.estimate
        slower = independent_ratio(over=over.ranged_speed, under=under.ranged_speed)
        return cost * float((getattr(slower, end) / slower.expected)[0])

    return of


_LAST: tuple[Column[Trial], ...] = (
    Column(
        "changes_answers",
        "yes or no",
        "whether another model, unless it was named, or fewer bits than today's answer",
        "changes_answers",
    ),
    *(
        Column(
            f"cost_multiple_{end}",
            "ratio",
            f"{end} end of it, both 80 % ranges taken as independent",
            _dearer(end),
        )
        for end in ("low", "high")
    ),
)
COLUMNS: tuple[Column[Any], ...] = (
    *_BEFORE,
    *columns.FIRST,
    *_AFTER,
    *columns.LATER,
    *_RANGE,
    *_LAST,
    *columns.PRICES,
)
KEYS = tuple(column.key for column in COLUMNS)


def alongside(answer: FastModeAnswer) -> dict[str, Any]:
    """Return what stands alongside the records in JSON: the speed, the drafts, smaller shapes."""
    drafts = zip(answer.drafts, answer.tokens, answer.acceptance, strict=True)
    return {
        "target": {
            "tokens_per_s_per_user": plain(answer.speed),
            "speedup": plain(answer.speed / float(answer.today.estimate.speed[0])),
        },
        "speculation_at_todays_batch": [
            {
                "drafts": int(count),
                "tokens_per_pass_needed": plain(float(tokens)),
                "acceptance_needed": plain(float(share)),
            }
            for count, tokens, share in drafts
        ],
        "smaller_shapes_at_todays_batch": {
            name: shape and plainly(asdict(shape))
            for name, shape in (
                ("fewer_layers", answer.fewer_layers),
                ("thinner_layers", answer.thinner_layers),
            )
        },
        "waterfall": factor_records(factors_of(answer, answer.cheapest)),
    }


def factors_of(answer: FastModeAnswer, way: Option | None) -> list[Factor]:
    """Return what the speed-up of an option is the product of; none where it does not reach."""
    return waterfall(answer.today, way.outcome) if way and way.outcome else []


def no_option_reaches(answer: FastModeAnswer) -> str:
    """Say that nothing reaches the speed, and what comes nearest."""
    speed, how = answer.nearest or (0.0, "")
    sentence = f"nothing in the catalogue reaches {number(answer.speed)} tokens/s"
    return f"{sentence}; one user alone expects at most {number(speed)}, with {how or 'today'}"


MOST_SHOWN = {
    "newer-hardware": 3,
    "other-hardware": 3,
    "fewer-bits": 2,
    "smaller-model": 2,
    "sram-machine": 3,
    "two-tricks": 2,
    "three-tricks": 2,
}
"""Options of a trick that a table shows unless asked for all."""


def shown(answer: FastModeAnswer, *, everything: bool) -> tuple[list[Option], dict[str, int]]:
    """Return the options that a table shows, and how many of each trick it leaves out."""
    if everything:
        return answer.options, {}
    shown_options: list[Option] = []
    left: dict[str, int] = {}
    for trick in TRICKS:
        options = [option for option in answer.options if option.trick == trick]
        reached = [option for option in options if option.outcome is not None]
        nearest = sorted(options, key=lambda option: -option.fastest)[:1]
        first_options = reached[: MOST_SHOWN.get(trick, 1)] or nearest
        cheapest = [option for option in reached if option is answer.cheapest]
        first_options += [option for option in cheapest if option not in first_options]
        shown_options += first_options
        if len(options) > len(first_options):
            left[trick] = len(options) - len(first_options)
    return shown_options, left
