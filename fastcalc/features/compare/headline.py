"""The headline of a comparison as data: table rows, and ratios between them.

A ratio compares two rows at the same batch. Speeds are compared only if the faster row has no more
chips than the other. If the 80% range of a ratio contains 1, the rows are tied. `headline_words`
turns the data into sentences.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan

from fastcalc.core.outcome import Outcome
from fastcalc.core.ratios import Ranged, independent_ratio, is_level
from fastcalc.core.scenario import Scenario
from fastcalc.formulas.sequences import grouped
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.point_records import point_records
from fastcalc.kit.answer.row_words import Figure, TableRow

_MOST_PRICED = 2
"""Maximum number of chips whose prices appear below a headline."""


@dataclass(frozen=True)
class Comparison:
    """Compares two rows at the same batch, by speed or by cost."""

    figure: Figure
    over: TableRow
    under: TableRow

    def __post_init__(self) -> None:
        if self.over.batch != self.under.batch:
            raise ValueError("a ratio of rows at unequal batches")

    @property
    def ratio(self) -> Ranged:
        """The ratio with its 80% range, assuming that the two ranges are independent."""
        return independent_ratio(
            over=self.over.figure(self.figure), under=self.under.figure(self.figure)
        )

    @property
    def is_level(self) -> bool:
        """Whether the range contains 1."""
        return bool(is_level(self.ratio))


@dataclass(frozen=True)
class Statement:
    """The best row by speed or by cost, and the other rows that the headline mentions.

    leaders : The best row of the best chip, and the best rows of chips tied with it.
    others : The best rows of other chips, each at its own batch.
    comparison : The comparison of two rows at the same batch, if possible.
    """

    figure: Figure
    leaders: tuple[TableRow, ...]
    others: tuple[TableRow, ...] = ()
    comparison: Comparison | None = None

    @property
    def is_level(self) -> bool:
        """Whether several rows tie for the best."""
        return len(self.leaders) > 1


@dataclass(frozen=True)
class Headline:
    """The content of a model's headline.

    model, smallest_batch, tried : The model, batch and chips to name if nothing fits.
    fastest : The fastest of all rows that fit, or None if none fits.
    cheapest : None without a price, or if a single chip has no row that is clearly cheaper.
    left_out : For each chip, batches that need more chips than its rows have, and how many.
    has_rivals : Whether the model fits on several chips.
    is_sized : Whether the user set the number of chips, or ranks.
    stopped : Those of `tried` whose memory holds the model, but whose engine does not start.
    """

    model: str
    smallest_batch: int
    tried: tuple[str, ...]
    fastest: Statement | None
    cheapest: Statement | None
    left_out: tuple[tuple[str, dict[int, int]], ...]
    has_rivals: bool
    is_sized: bool
    stopped: tuple[str, ...] = ()

    @property
    def has_ratio(self) -> bool:
        """Whether the headline contains a ratio of two rows."""
        return any(
            stated is not None and stated.comparison for stated in (self.fastest, self.cheapest)
        )

    @property
    def priced(self) -> list[Scenario]:
        """The scenarios whose prices are listed: cheapest and compared rows, else the fastest."""
        statement = self.cheapest or self.fastest
        rows = [*statement.leaders] if statement else []
        if statement is not None and statement.figure == "cost" and statement.comparison:
            rows.insert(1, statement.comparison.over)
        return [row.outcome.scenario for row in rows[:_MOST_PRICED]]


def headline(outcomes: Sequence[Outcome]) -> Headline:
    """Build the headline for one model."""
    rows = [
        TableRow(record, outcome) for outcome in outcomes for record in point_records([outcome])
    ]
    by_chip = _by_chip(row for row in rows if row.record["fits"])
    fastest = _fastest(by_chip) if by_chip else None
    cheapest = None
    if fastest is not None and len(by_chip) > 1:
        cheapest = _cheapest(by_chip)
    elif fastest is not None and fastest.leaders[0].price is not None:
        row = _cheapest_row(by_chip[0])
        is_cheaper = not _are_level(fastest.leaders[0], row, "cost")
        cheapest = Statement("cost", (row,)) if is_cheaper else None
    short = _by_chip(
        row
        for row in rows
        if not (row.record["fits"] or (by_chip and row.outcome.is_stopped))
        and (row.record["min_chips"] or 0) > row.chips
    )
    shardings = [outcome.scenario.sharding for outcome in outcomes]
    return Headline(
        model=outcomes[0].scenario.model.asked_name,
        smallest_batch=min(row.batch for row in rows),
        tried=tuple(dict.fromkeys(row.name for row in rows)),
        fastest=fastest,
        cheapest=cheapest,
        left_out=tuple(
            (of[0].chip, {row.batch: row.record["min_chips"] for row in of}) for of in short
        ),
        has_rivals=len(by_chip) > 1,
        is_sized=any(sharding.chips is not None or sharding.names_ranks for sharding in shardings),
        stopped=tuple(dict.fromkeys(row.name for row in rows if row.outcome.is_stopped)),
    )


def _by_chip(rows: Iterable[TableRow]) -> list[list[TableRow]]:
    """Group rows by chip. Different layouts of a chip do not compete."""
    return list(grouped(rows, lambda row: row.chip).values())


def _at(rows: Iterable[TableRow], batch: int) -> TableRow | None:
    return next((row for row in rows if row.batch == batch), None)


def _are_level(leader: TableRow, row: TableRow, figure: Figure) -> bool:
    return bool(is_level(independent_ratio(over=leader.figure(figure), under=row.figure(figure))))


def _fastest(by_chip: Sequence[Sequence[TableRow]]) -> Statement:
    """Find the fastest row, and the fastest of the other chips, at the same batch if possible.

    Among rows that print the same speed, it is the one with the highest lower end, then the one
    whose batch suits the next chip best.
    """
    first, *rivals = sorted(by_chip, key=lambda rows: -_fastest_rows(rows)[0].speed.expected)
    batches = [row.batch for rows in rivals[:1] for row in reversed(_fastest_rows(rows))]
    candidates = _fastest_rows(first)
    lows = [float(row.speed.low) for row in candidates]
    if not any(map(isnan, lows)):  # to two digits
        candidates = [
            row for row, low in zip(candidates, lows, strict=True) if low > 0.99 * max(lows)
        ]
    leader = next(filter(None, (_at(candidates, batch) for batch in batches)), candidates[-1])
    level: list[TableRow] = []
    slower_rows: list[TableRow] = []
    for rows in rivals:
        row = _at(rows, leader.batch) or _fastest_rows(rows)[-1]
        (level if _are_level(leader, row, "speed") else slower_rows).append(row)
    rival = next(
        (r for r in slower_rows if r.batch == leader.batch and r.chips >= leader.chips), None
    )
    comparison = Comparison("speed", leader, rival) if rival and not level else None
    return Statement("speed", (leader, *level), tuple(slower_rows), comparison)


def _fastest_rows(rows: Sequence[TableRow]) -> list[TableRow]:
    """Return all rows that print the highest speed, ordered by batch.

    If the speed of some of them is published, only these are returned.
    """
    top_speed = number(max(float(row.speed.expected) for row in rows))
    same = [row for row in rows if number(float(row.speed.expected)) == top_speed]
    sure = [row for row in same if "tokens_per_s_per_user" not in row.record["undetermined"]]
    return sorted(sure or same, key=lambda row: row.batch)


def _cheapest_row(rows: Iterable[TableRow]) -> TableRow:
    return min(rows, key=lambda row: (row.price, -row.speed.expected))


def _cheapest(by_chip: Sequence[Sequence[TableRow]]) -> Statement | None:
    """Find the cheapest row of each chip, and compare the cheapest chip with the next cheapest."""
    priced = [rows for rows in by_chip if rows[0].price is not None]
    if not priced:
        return None
    first, *rivals = sorted(priced, key=lambda rows: _cheapest_row(rows).cost.expected)
    leader, rows_of = _cheapest_row(first), {rows[0].chip: rows for rows in rivals}
    cheapest_rows = [_cheapest_row(rows) for rows in rivals]
    level = [row for row in cheapest_rows if _are_level(leader, row, "cost")]
    dearer_rows = [row for row in cheapest_rows if row not in level]
    comparison = None
    if dearer_rows and not level:
        against = dearer_rows[0]
        over, under = (
            {row.batch: row for row in reversed(rows)} for rows in (rows_of[against.chip], first)
        )
        preferred = (against.batch, leader.batch, *sorted(over.keys() & under.keys(), reverse=True))
        batch = next((batch for batch in preferred if batch in over and batch in under), None)
        comparison = Comparison("cost", over[batch], under[batch]) if batch else None
    return Statement("cost", (leader, *level), tuple(dearer_rows), comparison)
