"""The frontier of user speed against price: records, a sentence, and a table."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from fastcalc.core.own_formats import is_narrowed
from fastcalc.core.ratios import Ranged, cost_range, independent_ratio, is_level
from fastcalc.core.scenario import Outcome, each_warning
from fastcalc.features.frontier.search import FrontierPoint, edge
from fastcalc.grid.columns import Column, TableColumn, pick
from fastcalc.kit.answer import outcome_lines, record_tables
from fastcalc.kit.answer.console import Part, Screen
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.point_records import Record, compare_records, named_chips
from fastcalc.kit.answer.prices import other_prices, price_line, prices
from fastcalc.mentions import option
from fastcalc.written import listed


def _formats(record: Record) -> str:
    return f"{record['weight_format']}, kv {record['kv_format']}"


def _marked(record: Record) -> str:
    """Return formats, with a star where fewer bits than published change the answers."""
    return f"{_formats(record)} *" if record["is_narrowed"] else _formats(record)


_OWN: list[TableColumn] = [
    Column("layout", heading=("", "layout"), drop_priority=1, format=record_tables.layout),
    Column("formats", heading=("", "formats"), format=_marked),
]
_COLUMNS = pick(
    "tokens_per_s_per_user tokens_per_s_per_user_low tokens_per_s_per_user_bound "
    "usd_per_mtok_output usd_per_mtok_total batch chips hardware layout formats limiter",
    _OWN,
    keep="usd_per_mtok_output limiter",
)
_EVERY = (*pick("hardware chips layout formats", _OWN), *outcome_lines.OUTCOME_COLUMNS)

_FEW = 10
"""Rows of a first screen at most, even in the logarithm of speed; other formats have all points."""

_TRIED = (
    "no other layout and batch tried is both as fast and cheaper; tried are the layouts that "
    f"people run, of one copy of the weights, on each number of chips up to {option('max_chips')}, "
    "at batches in powers of two and the largest; where one chip follows another, at any batch of "
    f"the layouts shown; compare takes any other by {option('tp')}, {option('pp')}, {option('ep')} "
    f"and {option('dp')}"
)
_KEY = (
    "key: each row is a layout and a batch that nothing tried beats in both speed and price; tok/s "
    "per user with its 80 % range and the bound, which no software exceeds"
)
_CHANGED = "; *: fewer bits than the model is published in change the answers"


def frontier_records(points: Sequence[FrontierPoint]) -> list[Record]:
    """Return a record of ``compare`` for each point, from the cheapest to the fastest."""
    return [compare_records([point.outcome])[point.index] for point in points]


def rows(points: Sequence[FrontierPoint]) -> list[Record]:
    """Return the records as a table needs them: with a mark of those in fewer bits."""
    return [
        {**record, "is_narrowed": is_narrowed(point.outcome.scenario)}
        for point, record in zip(points, frontier_records(points), strict=True)
    ]


def outcomes(points: Sequence[FrontierPoint]) -> list[Outcome]:
    """Return the outcomes that points are of, each once."""
    return list({id(point.outcome): point.outcome for point in points}.values())


def columns(records: Sequence[Record], *, wide: bool = False) -> list[TableColumn]:
    """Return the columns of a table of rows; formats where there are several, or fewer bits."""
    several = len(set(map(_formats, records))) > 1
    several = several or any(record["is_narrowed"] for record in records)
    every = [replace(column, drop_priority=0) for column in _EVERY] if wide else _COLUMNS
    return [column for column in every if several or column.key != "formats"]


def parts(
    points: Sequence[FrontierPoint],
    phrases: Sequence[str],
    refused: Sequence[str],
    next_command: str,
    screen: Screen,
) -> list[Part]:
    """Return which chip is cheapest up to which speed, some points or all, and notes."""
    shown = list(points)
    if not screen.wide:
        logs = np.log([point.speed for point in points])
        steps = np.linspace(logs[0], logs[-1], _FEW)[:, None]
        shown = [points[at] for at in np.unique(np.argmin(np.abs(logs - steps), axis=1))]
    drawn, records = outcomes(points), rows(shown)
    warnings = list(each_warning(drawn))
    has_more = len(shown) < len(points)
    count_note = [f"{len(shown)} of {len(points):,} points; {option('wide')} has all"] * has_more
    ends = [point.outcome.scenario for point in (points[0], points[-1])]
    short_notes = [*count_note, *other_prices(drawn, ends), *refused, *warnings]
    all_notes = [_TRIED, prices(drawn), *refused, *warnings]
    table = record_tables.table(columns(records, wide=screen.wide), records, screen.width)
    key = (
        _KEY
        + outcome_lines.key_of_bound(drawn)
        + _CHANGED * any(record["is_narrowed"] for record in records)
    )
    key = record_tables.with_mark(key, table)
    under = screen.under_table(key, short_notes, all_notes, next_command)
    head = [verdict(points), *price_line(ends), "", outcome_lines.heading(drawn, phrases)]
    return [*head, table, under]


def verdict(points: Sequence[FrontierPoint]) -> str:
    """Say who is cheapest, who is fastest, and up to which speed each chip is cheapest."""
    slow, fast = points[0], points[-1]
    gives = "gives" if slow.outcome.placement.layout.chips == 1 else "give"
    model = slow.outcome.scenario.model.asked_name
    sentence = f"{model}: {_named(slow)} {gives} each user {_offer(slow)} per million output tokens"
    if len(points) == 1:
        return f"{sentence}, and nothing tried is faster or cheaper."
    sentence += f", {_named(fast)} {_offer(fast)}"
    runs = runs_of(points)
    if len(runs) == 1 and len(runs[0].chips) == 1:
        return f"{sentence}."
    if len(runs) == 1:
        return f"{sentence}; between them {listed(runs[0].chips)} are level in price."
    if len(runs) > _MOST_RUNS:
        chips = dict.fromkeys(chip for run in runs for chip in run.chips)
        return f"{sentence}; between them {listed([*chips])} take turns."
    reach = [
        f"{name_of(before)} to {number(edge(before.points, after.points))}"
        for before, after in pairwise(runs)
    ]
    return f"{sentence}; cheapest is {', '.join(reach)} tokens/s, {name_of(runs[-1])} beyond."


_MOST_RUNS = 5
"""Chips in turn that a sentence names."""


class _Run(NamedTuple):
    """Chips in turn on the frontier, none of which is clearly cheaper than the next."""

    chips: list[str]
    points: list[FrontierPoint]


def runs_of(points: Sequence[FrontierPoint]) -> list[_Run]:
    """Return the chips in turn; those are one run that offer a higher speed at a level price."""
    runs: list[_Run] = []
    for chip, group in groupby(points, lambda point: point.outcome.scenario.hardware.id):
        members = list(group)
        if runs and (chip in runs[-1].chips or _are_level(runs[-1].points[0], members[0])):
            runs[-1].chips.extend([chip] * (chip not in runs[-1].chips))
            runs[-1].points.extend(members)
        else:
            runs.append(_Run([chip], members))
    return runs


def _are_level(slow: FrontierPoint, fast: FrontierPoint) -> bool:
    return bool(is_level(independent_ratio(over=_ranged_cost(fast), under=_ranged_cost(slow))))


def _ranged_cost(point: FrontierPoint) -> Ranged:
    speed = (end[point.index] for end in point.outcome.estimate.ranged_speed)
    return cost_range(point.usd, Ranged(*speed))


def name_of(run: _Run) -> str:
    """Name the chips of a run, several as level in price."""
    return run.chips[0] if len(run.chips) == 1 else f"{listed(run.chips, 'or')} (level in price)"


def _named(point: FrontierPoint) -> str:
    return named_chips(point.outcome)


def _offer(point: FrontierPoint) -> str:
    (record,) = frontier_records([point])
    low, high = (record[f"tokens_per_s_per_user_{end}"] for end in ("low", "high"))
    ranged = "" if low is None else f" ({number(low)} to {number(high)})"
    return f"{number(point.speed)} tokens/s{ranged} at {record_tables.output_price(record)}"
