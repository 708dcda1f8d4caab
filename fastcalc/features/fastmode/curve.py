"""The cost of a smaller batch from every starting batch: records, a table, a chart of floors."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fastcalc.core.scenario import Scenario
from fastcalc.core.undetermined import batching_notes, is_assumed, undetermined_notes
from fastcalc.features.fastmode.request import Fastmode
from fastcalc.features.fastmode.smaller_batches import Curve, Study
from fastcalc.formulas.money import usd_per_million
from fastcalc.grid.column import TableColumn, key_figure, values
from fastcalc.grid.columns import columns_from
from fastcalc.kit.answer import output, record_tables
from fastcalc.kit.answer import point_records as records
from fastcalc.kit.answer.answer import Answer, Screen
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.parts import Note, Notes, Part, Title
from fastcalc.kit.answer.point_records import Record, plainly
from fastcalc.kit.answer.record_tables import numbers
from fastcalc.kit.charts.drawing import Panel, Series, axes
from fastcalc.kit.charts.terminal import plot
from fastcalc.written import many

_CHART = 80
"""Maximum width of the chart in characters."""


@dataclass(frozen=True)
class CurveStart:
    """One starting batch of a curve, and the smaller batch that reaches the speed-up.

    floor_ms : The latency floor of a step with one sequence, in milliseconds.
    batch, smaller_batch : The batch at the start and the end, or None if none is fast enough.
    speed, faster : The speed per user at the start and the end. [1/s]
    before, after : The layout at the start and the end, if it fits.
    cost_multiple : The cost per output token at the end, relative to the start.
    """

    study: Study
    scenario: Scenario
    floor_ms: float
    batch: int
    speed: float
    before: str | None
    smaller_batch: int | None
    faster: float
    after: str | None
    cost_multiple: float

    @property
    def reaches(self) -> bool:
        """Whether any batch reaches the speed-up."""
        return self.smaller_batch is not None

    @property
    def usd(self) -> float | None:
        """The price per million output tokens at the start, in USD."""
        return self._usd(self.batch, self.speed)

    @property
    def end_usd(self) -> float | None:
        """The price per million output tokens at the end, in USD."""
        return self._usd(self.smaller_batch or 0, self.faster)

    @property
    def undetermined(self) -> list[str]:
        """The keys of values that are not published."""
        return list(_UNDETERMINED) if is_assumed(self.scenario.engine) else []

    def _usd(self, batch: int, speed: float) -> float | None:
        pricing = self.scenario.pricing
        price = pricing.per_chip_hour(self.scenario.hardware)
        if price is None or not batch * speed > 0.0:
            return None
        hour = price * self.study.chips / pricing.utilization
        return float(usd_per_million(usd_per_hour=hour, seconds=1.0 / speed, tokens=batch))


_UNDETERMINED = (
    *("floor_ms", "tokens_per_s_per_user", "usd_per_mtok_output", "end_batch"),
    *("end_tokens_per_s_per_user", "end_usd_per_mtok_output", "cost_multiple"),
)

COLUMNS = columns_from(__file__)
START = numbers("users at|the start", str)
"""The first column of a table, without rows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveAnswer(Answer):
    """Shows the cost of a smaller batch from every starting batch, up to a cost multiple."""

    request: Fastmode
    study: Study

    def page(self, screen: Screen) -> list[Part]:
        """Build a page of cost multiples, the chart of floors, and all notes."""
        study, scenario = self.study, self.study.engines[0].space.scenario
        heading = (
            f"{scenario.model.asked_name} on {many(study.chips, 'chip')}: cost of "
            f"{study.speedup:g}x the speed per user by a smaller batch alone"
        )
        shown = record_tables.table(*self.table(), screen.width)
        is_ascii = not self.request.out and not output.draws()
        drawn = floors_chart(study, self.request.cost, screen.width, is_ascii=is_ascii)
        notes = screen.sentences(self.notes())
        under = Notes([*record_tables.key_of_mark(shown), *notes])
        return [Title(scenario.hardware.id, heading), shown, "", *drawn, "", under]

    def notes(self) -> Iterator[Note]:
        """Yield notes on the batches that stay within the cost multiple, and on the assumptions."""
        study, cost = self.study, self.request.cost
        machine = study.engines[0].space.site.machine
        yield from (Note(where(curve, cost)) for curve in study.engines)
        yield Note(
            "the cost multiple is the cost per output token after the speed-up over that before, "
            "for any price of the chips. Both use practical layouts of the same chips: the fastest "
            "before, and the one with the highest throughput after. With fewer users than shown, "
            "the multiple is never reached; -: the starting batch does not fit"
        )
        yield Note(
            "a roofline step runs at the datasheet peaks and adds a latency floor. The last column "
            f"shows the largest floor at which {study.speedup:g}x the speed costs at most "
            f"{cost:g}x, in native formats"
        )
        if is_assumed(machine.engine):
            yield from map(Note, undetermined_notes(machine))
        yield from map(Note, batching_notes(machine))

    def records(self) -> Iterator[Record]:
        """Build one record per starting batch, for each engine, format and floor."""
        for curve in (*self.study.engines, *self.study.floors):
            yield from (plainly(values(COLUMNS, start)) for start in _starts(self.study, curve))

    def table(self) -> tuple[list[TableColumn], list[int]]:
        """Return a table of cost multiples by engine and format, with a row per starting batch."""
        return columns(self.study, self.request.cost), rows(self.study)

    def premises(self) -> Record:
        """Return the tokens, prices and engines that were assumed."""
        curves = [*self.study.engines, *self.study.floors[:1]]
        scenarios = [curve.space.scenario for curve in curves]
        traffic = scenarios[0].traffic
        return {
            "prompt_tokens": records.plain(traffic.prompt),
            "output_tokens": records.plain(traffic.output),
            "context_tokens": records.plain(traffic.context),
            **records.grounds(scenarios),
        }


def _starts(study: Study, curve: Curve) -> Iterator[CurveStart]:
    multiples = curve.multiple
    for index, batch in enumerate(curve.starts.tolist()):
        speed, smaller_batch = float(curve.speed[index]), int(curve.batch[index])
        yield CurveStart(
            study=study,
            scenario=curve.space.scenario,
            floor_ms=1e3 * curve.floor,
            batch=batch,
            speed=speed,
            before=(str(curve.before[index]) or "one chip") if speed > 0.0 else None,
            smaller_batch=smaller_batch or None,
            faster=float(curve.faster[index]),
            after=(str(curve.after[index]) or "one chip") if smaller_batch else None,
            cost_multiple=float(multiples[index]),
        )


def name(curve: Curve) -> str:
    """Return the label of a curve: its engine and formats."""
    scenario = curve.space.scenario
    return (
        f"{scenario.engine.id} in {scenario.work.short_format}, KV cache {scenario.work.kv_format}"
    )


def rows(study: Study) -> list[int]:
    """Return the batches in the table: powers of two and the largest."""
    starts = study.engines[0].starts
    reached = np.flatnonzero(np.any([curve.batch > 0 for curve in study.engines], axis=0))
    first = int(reached[0]) if len(reached) else len(starts) - 1
    positions = [at for at, batch in enumerate(starts.tolist()) if not batch & (batch - 1)]
    before = [at for at in positions if at < first][-1:]
    return sorted({*before, *(at for at in positions if at >= first), len(starts) - 1})


def columns(study: Study, cost: float) -> list[TableColumn]:
    """Return the columns of a table whose rows are starting batches."""
    first = study.engines[0]
    user_speeds = [_marked(first, number(float(speed))) for speed in first.speed]
    shown = [
        numbers("users at|the start", [f"{start:,}" for start in first.starts].__getitem__),
        numbers("tok/s|per user", user_speeds.__getitem__, drop_priority=9),
    ]
    shown_engines: set[str] = set()
    for curve in study.engines:
        engine = curve.space.scenario.engine.id
        heading = "|narrow" if engine in shown_engines else f"{engine}|native"
        shown.append(numbers(heading, partial(_multiple_cell, curve)))
        shown_engines.add(engine)
    floors = [number(floor) for floor in floors_needed(study, cost)]
    shown.append(key_figure(numbers(f"floor for|{cost:g}x, ms", floors.__getitem__)))
    # Other tables use keys as headings, but here two columns may share a heading.
    return [replace(column, key=f"{index}") for index, column in enumerate(shown)]


def _multiple_cell(curve: Curve, at: int) -> str:
    if not curve.speed[at] > 0.0:
        return "-"
    return _marked(curve, f"{number(float(curve.multiple[at]))}x") if curve.batch[at] else "never"


def _marked(curve: Curve, text: str) -> str:
    return record_tables.marked(text, is_unsure=is_assumed(curve.space.scenario.engine))


def floors_needed(study: Study, cost: float) -> list[float | None]:
    """Return the largest floor at which each start stays within a cost multiple, or None. [ms]"""
    return [
        max(
            (1e3 * curve.floor for curve in study.floors if curve.multiple[at] <= cost),
            default=None,
        )
        for at in range(len(study.engines[0].starts))
    ]


def floors_chart(study: Study, cost: float, width: int, *, is_ascii: bool) -> list[str]:
    """Plot starting batches against floors, marking those within a cost multiple."""
    inside: list[tuple[float, float]] = []
    above: list[tuple[float, float]] = []
    for curve in study.floors:
        for start, multiple in zip(curve.starts.tolist(), curve.multiple.tolist(), strict=True):
            if multiple > 0.0:
                (inside if multiple <= cost else above).append((1e3 * curve.floor, start))
    series = {
        f"{study.speedup:g}x for {cost:g}x or less": inside,
        f"{study.speedup:g}x for more": above,
    }
    if not inside and not above:
        return [f"no start reaches {study.speedup:g}x at any floor tried"]
    engines = {curve.space.scenario.engine.id: 1e3 * curve.floor for curve in study.engines}
    drawn = [
        Series(key, np.array(points)[:, 0], np.array(points)[:, 1], index, "points")
        for index, (key, points) in enumerate(series.items())
        if points
    ]
    across = "latency floor of a textbook step, ms; blank: never"
    panel = Panel("", *axes(drawn, across, "users at the start", (10, 2)), drawn)
    return plot(
        panel,
        width=min(width, _CHART),
        is_ascii=is_ascii,
        marks={f"{engine}, {number(floor)} ms": floor for engine, floor in engines.items()},
    )


def where(curve: Curve, cost: float) -> str:
    """Describe the starting batches that reach the speed-up, at any cost and within a cost."""
    ends_at_any_cost, cheap = curve.ends(), curve.ends(cost)
    head = f"{name(curve)} (floor {number(1e3 * curve.floor)} ms, one user {number(curve.alone)})"
    if ends_at_any_cost is None:
        return f"{head}: {curve.speedup:g}x never"
    batches = "from {:,} to {:,}".format(*cheap) if cheap else "never"
    ends = "{:,} to {:,} users".format(*ends_at_any_cost)
    return f"{head}: {curve.speedup:g}x from {ends}; for {cost:g}x or less {batches}"
