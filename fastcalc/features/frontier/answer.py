"""The answer of `frontier`: records, a summary sentence, and a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from fastcalc.core.outcome import Outcome, each_warning
from fastcalc.core.own_formats import is_narrowed
from fastcalc.core.ratios import Ranged, cost_range, independent_ratio, is_level
from fastcalc.core.scenario import Scenario
from fastcalc.features import request_of
from fastcalc.features.frontier.request import Frontier
from fastcalc.features.frontier.search import FrontierPoint, edge
from fastcalc.grid.column import Column, TableColumn
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import outcome_lines, record_tables
from fastcalc.kit.answer.answer import Answer, Charts, Screen
from fastcalc.kit.answer.next_commands import follow_up, typed_as
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.parts import Note, Part
from fastcalc.kit.answer.point_records import Record, assumptions, compare_records, named_chips
from fastcalc.kit.answer.prices import price_line, prices
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.fields import phrases
from fastcalc.mentions import flag, option
from fastcalc.written import first_few, listed


def _formats(record: Record) -> str:
    return f"{record['weight_format']}, kv {record['kv_format']}"


def _marked(record: Record) -> str:
    """Format the number formats, with a star if quantization changes the answers."""
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
"""Maximum number of rows on the first screen, evenly spaced in log speed."""

_TRIED = (
    f"Evaluated: practical layouts of one replica on up to {option('max_chips')} chips, at batch "
    "sizes in powers of two, at the largest one, and where the best chip changes. For other "
    f"layouts, use compare with {option('tp')}, {option('pp')}, {option('ep')} and {option('dp')}"
)
_KEY = (
    "key: rows: Pareto frontier of speed and price before rounding; 80% range: four of five "
    "measurements should fall inside it; bound: roofline limit; $/Mtok: $ per million output "
    "tokens, or prompt and output tokens (in+out)"
)
_MARKS = {"*": "quantizing below the published precision changes the answers"}


@dataclass(frozen=True, eq=False, kw_only=True)
class FrontierAnswer(Answer):
    """The result of ``fastcalc frontier``: the deployments with the best price at each speed.

    points : The frontier from the cheapest to the fastest point.
    searched : The scenarios that were searched.
    refused : Why other scenarios have no points.
    """

    request: Frontier
    points: Sequence[FrontierPoint]
    searched: Sequence[Scenario]
    refused: Sequence[str]
    marks = _MARKS

    @cached_property
    def _outcomes(self) -> list[Outcome]:
        return list({id(point.outcome): point.outcome for point in self.points}.values())

    @cached_property
    def _ends(self) -> list[Scenario]:
        return [point.outcome.scenario for point in (self.points[0], self.points[-1])]

    @cached_property
    def _few(self) -> list[FrontierPoint]:
        """The points shown on the first screen."""
        logs = np.log([point.speed for point in self.points])
        steps = np.linspace(logs[0], logs[-1], _FEW)[:, None]
        return [self.points[at] for at in np.unique(np.argmin(np.abs(logs - steps), axis=1))]

    def body(self, screen: Screen) -> Iterator[Part]:
        """Show which chip is cheapest at which speed, and the points of the frontier."""
        records = _rows(self.points if screen.wide else self._few)
        yield from verdict(self.points)
        yield from price_line(self._ends, others=self._outcomes)
        yield ""
        yield outcome_lines.heading(self._outcomes, phrases(self.settings))
        yield record_tables.table(columns(records, wide=screen.wide), records, screen.width)

    def key(self) -> str:
        """Return the key to rows and columns."""
        return _KEY + outcome_lines.key_of_bound(self._outcomes)

    def notes(self) -> Iterator[Note]:
        """Yield notes on the search, the prices and the points."""
        shown, count = len(self._few), len(self.points)
        if shown < count:
            yield Note(
                f"the table has {shown} of {count:,} rows; {option('wide')} prints all",
                is_of_rows=True,
            )
        yield Note(_TRIED, weight=0)
        yield Note(prices(self._outcomes), weight=0)
        yield from map(Note, self.warnings())

    def warnings(self) -> Iterator[str]:
        """Yield why chips have no points, and warnings about the points."""
        yield from self.refused
        yield from each_warning(self._outcomes)

    def next_command(self) -> str:
        """Suggest `fastmode`, which computes the cost of higher speeds on the cheapest chips."""
        request = Evaluated.sharing(self.request, weights=None, kv=None)
        chip = typed_as(request, request.on, self._ends[0].hardware.id)
        return follow_up(request, request_of("fastmode"), self.request.model, flag("on"), chip)

    def records(self) -> list[Record]:
        """Build one record per point, as in ``compare``."""
        return _records(self.points)

    def table(self) -> tuple[list[TableColumn], list[Record]]:
        """Return all points in a table with the columns of the first screen."""
        rows = _rows(self.points)
        return columns(rows), rows

    def premises(self) -> Record:
        """Return the traffic, prices and engines of the points."""
        return assumptions(self._outcomes)

    @property
    def charts(self) -> Charts:
        """A chart of speed against price, with one curve per chip."""
        from fastcalc.features.frontier.chart import frontiers

        found = " ".join(verdict(self.points))
        draw = partial(frontiers, self.searched, self.request.max_chips, found)
        return {"frontier": draw}


def _records(points: Sequence[FrontierPoint]) -> list[Record]:
    return [compare_records([point.outcome])[point.index] for point in points]


def _rows(points: Sequence[FrontierPoint]) -> list[Record]:
    """Build the records of the table, marking points in lower precision."""
    return [
        {**record, "is_narrowed": is_narrowed(point.outcome.scenario)}
        for point, record in zip(points, _records(points), strict=True)
    ]


def columns(records: Sequence[Record], *, wide: bool = False) -> list[TableColumn]:
    """Return the table columns. Formats are included if they differ or lower the precision."""
    several = len(set(map(_formats, records))) > 1
    several = several or any(record["is_narrowed"] for record in records)
    all_columns = [replace(column, drop_priority=0) for column in _EVERY] if wide else _COLUMNS
    return [column for column in all_columns if several or column.key != "formats"]


def verdict(points: Sequence[FrontierPoint]) -> list[str]:
    """Name the cheapest and fastest chips, and the speed up to which each one is cheapest."""
    slow, fast = points[0], points[-1]
    if len(points) == 1:
        return [f"Cheapest and fastest: {_offer(slow)}."]
    fastest = _offer(fast).replace("/Mtok", "")
    sentence = f"Cheapest: {_offer(slow)}; fastest: {fastest}."
    runs = runs_of(points)
    if len(runs) == 1 and len(runs[0].chips) == 1:
        return [sentence]
    if len(runs) == 1:
        names = listed(first_few(runs[0].chips, _MOST_RUNS))
        return [sentence, f"At speeds in between, it is uncertain which of {names} is cheapest."]
    if len(runs) > _MOST_RUNS:
        chips = dict.fromkeys(chip for run in runs for chip in run.chips)
        chips_text = listed(first_few([*chips], _MOST_RUNS))
        return [sentence, f"At speeds in between, the cheapest chip alternates: {chips_text}."]
    reach = [
        f"{name_of(before)} up to {number(edge(before.points, after.points))}"
        for before, after in pairwise(runs)
    ]
    reach[0] += " tok/s"
    cheapest = f"{', '.join(reach)}; above that, {name_of(runs[-1])}"
    return [sentence, f"Cheapest by speed: {cheapest}."]


_MOST_RUNS = 4
"""Maximum number of frontier segments, and of chips tied in price, named in a sentence."""


class _Run(NamedTuple):
    """Neighboring frontier points whose prices cannot be told apart, with their chips."""

    chips: list[str]
    points: list[FrontierPoint]


def runs_of(points: Sequence[FrontierPoint]) -> list[_Run]:
    """Group neighboring points. Chips that are faster at a tied price join the same group."""
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
    """Name the chips of a group. Several chips are tied in price."""
    chips = listed(first_few(run.chips, _MOST_RUNS))
    return chips if len(run.chips) == 1 else f"one of {chips}"


def _offer(point: FrontierPoint) -> str:
    (record,) = _records([point])
    speed, price = record_tables.user_speed(record), record_tables.output_price(record)
    return f"{named_chips(point.outcome)}, {speed} tok/s at {price}/Mtok"
