"""The frontier of user speed against price: records, table and chart."""

from collections.abc import Sequence

from fastcalc.core.columns import Column, pick
from fastcalc.core.scenario import Outcome
from fastcalc.report import compare, record_tables
from fastcalc.report.chart import plot
from fastcalc.report.charts import of_searches
from fastcalc.report.console import Notes, Part
from fastcalc.report.records import Record, compare_records
from fastcalc.search import FrontierPoint


def _formats(record: Record) -> str:
    return f"{record['weight_format']}, kv {record['kv_format']}"


_COLUMNS = pick(
    "tokens_per_s_per_user tokens_per_s_per_user_low tokens_per_s_per_user_bound "
    "usd_per_mtok_output usd_per_mtok_total batch chips hardware layout formats limiter",
    [
        Column(
            "layout",
            heading=("", "layout"),
            rank=1,
            format=lambda record: " ".join(
                f"{name} {record[name]}" for name in ("tp", "pp", "dp", "ep") if record[name] > 1
            ),
        ),
        Column("formats", heading=("", "formats"), format=_formats),
    ],
    keep="usd_per_mtok_output limiter",
)

_CHART = 80
"""Characters in a line of the chart at most."""

_ROWS = 40
"""Rows of the table at most; the chart and the other formats have all points."""


def frontier_records(points: Sequence[FrontierPoint]) -> list[Record]:
    """Return a record of ``compare`` for each point, from the cheapest to the fastest."""
    return [compare_records([point.outcome])[point.index] for point in points]


def outcomes(points: Sequence[FrontierPoint]) -> list[Outcome]:
    """Return the outcomes that points are of, each once."""
    return list({id(point.outcome): point.outcome for point in points}.values())


def by_chip(points: Sequence[FrontierPoint]) -> dict[str, list[FrontierPoint]]:
    """Return points by the chip that they are of, from the cheapest to the fastest."""
    found: dict[str, list[FrontierPoint]] = {}
    for point in points:
        found.setdefault(point.outcome.scenario.hardware.id, []).append(point)
    return found


def columns(records: Sequence[Record]) -> list[Column]:
    """Return the columns of a table of records, formats only where there are several."""
    several = len(set(map(_formats, records))) > 1
    return [column for column in _COLUMNS if several or column.key != "formats"]


def parts(
    points: Sequence[FrontierPoint],
    refused: Sequence[str],
    width: int,
    next_command: str,
    *,
    is_ascii: bool,
) -> list[Part]:
    """Return heading, chart, table and notes, which say why chips or formats have no point."""
    (panel,) = of_searches.frontier(by_chip(points)).panels
    lines = plot(panel, width=min(width, _CHART), is_ascii=is_ascii)
    shown, notes = list(points), []
    if len(points) > _ROWS:  # even in rank, both ends among them
        shown = [points[round(row * (len(points) - 1) / (_ROWS - 1))] for row in range(_ROWS)]
        notes = [f"{_ROWS} of {len(points):,} points are shown; --format csv has all"]
    drawn, records = outcomes(points), frontier_records(shown)
    notes += [
        "no other layout and batch tried is both as fast and cheaper; tried is every legal layout "
        "of one copy of the weights, on each number of chips up to --max-chips, at batches in "
        "powers of two and the largest",
        compare.prices(drawn),
        *refused,
    ]
    notes += dict.fromkeys(line for one in drawn for line in one.warnings)
    table = record_tables.table(columns(records), records, width)
    return [compare.heading(drawn[0]), "", *lines, "", table, "", Notes(notes, next_command)]
