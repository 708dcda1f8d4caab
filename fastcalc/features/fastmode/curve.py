"""What a smaller batch costs from every starting batch: records, a table, a chart of floors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fastcalc.core.scenario import Scenario
from fastcalc.core.undetermined import batching_notes, is_assumed, undetermined_notes
from fastcalc.features.fastmode.smaller_batches import Curve, Study
from fastcalc.formulas.money import usd_per_million
from fastcalc.grid.columns import Column, TableColumn, key_figure, values
from fastcalc.kit.answer import point_records as records
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Notes, Part, Title
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.point_records import Record, plainly
from fastcalc.kit.answer.record_tables import numbers
from fastcalc.kit.charts.drawing import Panel, Series, axes
from fastcalc.kit.charts.terminal import plot
from fastcalc.written import many

_CHART = 80
"""Characters in a line of the chart at most."""


@dataclass(frozen=True)
class CurveStart:
    """A batch that a curve starts from, and the smaller one that is faster.

    floor_ms : a step of one sequence [ms]
    batch, smaller_batch : at the start and the end; 0 where no end reaches the speed [1]
    speed, faster : of each user with them [1/s]
    before, after : how they are cut
    cost_multiple : of an output token, the end over the start [1]
    """

    study: Study
    scenario: Scenario
    floor_ms: float
    batch: int
    speed: float
    before: str
    smaller_batch: int
    faster: float
    after: str
    cost_multiple: float


def _usd(start: CurveStart, batch: float, speed: float) -> float | None:
    """Return dollars a million output tokens; None without a price or such a batch. [USD]"""
    pricing = start.scenario.pricing
    price = pricing.per_chip_hour(start.scenario.hardware)
    if price is None or not batch * speed > 0.0:
        return None
    hour = price * start.study.chips / pricing.utilization
    return float(usd_per_million(usd_per_hour=hour, seconds=1.0 / speed, tokens=batch))


_UNDETERMINED = (
    *("floor_ms", "tokens_per_s_per_user", "usd_per_mtok_output", "end_batch"),
    *("end_tokens_per_s_per_user", "end_usd_per_mtok_output", "cost_multiple"),
)

COLUMNS: tuple[Column[CurveStart], ...] = (
    Column("hardware", "text", "id of the chip", "scenario.hardware.id"),
    Column("model", "text", "id of the model", "scenario.model.id"),
    Column(
        "engine", "text", "id of the engine; textbook: all peaks and a floor", "scenario.engine.id"
    ),
    Column("weight_format", "text", "format of the weights", "scenario.work.weight_format"),
    Column("kv_format", "text", "format of the KV cache", "scenario.work.kv_format"),
    Column("chips", "count", "at both ends", "study.chips"),
    Column("floor_ms", "ms", "of a step of one sequence, one thing after another", "floor_ms"),
    Column("speedup", "ratio", "asked for", "study.speedup"),
    Column("batch", "count", "sequences decoded together at the start", "batch"),
    Column(
        "tokens_per_s_per_user",
        "tokens/s",
        "at the start, on the cut that serves it fastest; null where it does not fit",
        "speed",
    ),
    Column("layout", "text", "that cut", lambda start: start.before if start.speed > 0.0 else None),
    Column(
        "usd_per_mtok_output",
        "USD/Mtok",
        "at the start",
        lambda start: _usd(start, start.batch, start.speed),
    ),
    Column(
        "reaches",
        "yes or no",
        "whether some batch is so much faster",
        lambda start: start.smaller_batch > 0,
    ),
    Column(
        "end_batch",
        "count",
        "the batch that is, and costs least",
        lambda start: start.smaller_batch or None,
    ),
    Column("end_tokens_per_s_per_user", "tokens/s", "with it", "faster"),
    Column(
        "end_layout",
        "text",
        "how it is cut",
        lambda start: start.after if start.smaller_batch else None,
    ),
    Column(
        "end_usd_per_mtok_output",
        "USD/Mtok",
        "with it",
        lambda start: _usd(start, start.smaller_batch, start.faster),
    ),
    Column("cost_multiple", "ratio", "of an output token, the end over the start", "cost_multiple"),
    Column(
        "undetermined",
        "list",
        "keys of numbers that nothing published determines: read them as assumptions",
        lambda start: list(_UNDETERMINED) if is_assumed(start.scenario.engine) else [],
    ),
)
KEYS = tuple(column.key for column in COLUMNS)
START = numbers("users at|the start", str)
"""The first column of a table, without rows."""


def curve_records(study: Study) -> list[Record]:
    """Return a record for each start of each engine and format, and of each floor."""
    return [
        plainly(values(COLUMNS, start))
        for curve in (*study.engines, *study.floors)
        for start in _starts(study, curve)
    ]


def _starts(study: Study, curve: Curve) -> Iterator[CurveStart]:
    multiples = curve.multiple
    for place, batch in enumerate(curve.starts.tolist()):
        yield CurveStart(
            study=study,
            scenario=curve.space.scenario,
            floor_ms=1e3 * curve.floor,
            batch=batch,
            speed=float(curve.speed[place]),
            before=str(curve.before[place]) or "one chip",
            smaller_batch=int(curve.batch[place]),
            faster=float(curve.faster[place]),
            after=str(curve.after[place]) or "one chip",
            cost_multiple=float(multiples[place]),
        )


def name(curve: Curve) -> str:
    """Return what a curve is of."""
    scenario = curve.space.scenario
    return f"{scenario.engine.id} in {scenario.work.weight_format}, kv {scenario.work.kv_format}"


def rows(study: Study) -> list[int]:
    """Return the places that a table shows: powers of two, few that reach nothing, the largest."""
    starts = study.engines[0].starts
    reached = np.flatnonzero(np.any([curve.batch > 0 for curve in study.engines], axis=0))
    first = int(reached[0]) if len(reached) else len(starts) - 1
    places = [at for at, batch in enumerate(starts.tolist()) if not batch & (batch - 1)]
    before = [at for at in places if at < first][-1:]
    return sorted({*before, *(at for at in places if at >= first), len(starts) - 1})


def table(study: Study, cost: float) -> list[TableColumn]:
    """Return the columns of a table whose rows are places of starts."""
    first = study.engines[0]
    columns = [
        numbers("users at|the start", lambda at: f"{first.starts[at]:,}"),
        numbers(
            "tok/s|a user",
            lambda at: _marked(first, number(float(first.speed[at]))),
            drop_priority=9,
        ),
    ]
    shown_engines: set[str] = set()
    for curve in study.engines:
        engine = curve.space.scenario.engine.id
        heading = f"|{'narrow' if engine in shown_engines else 'native'}"
        columns.append(
            numbers(engine * (engine not in shown_engines) + heading, partial(_cell, curve))
        )
        shown_engines.add(engine)
    needed = floors_needed(study, cost)
    floor = numbers(f"floor for|{cost:g}x, ms", lambda at: number(needed[at]))
    columns.append(key_figure(floor))
    # Keys are headings elsewhere; here two columns may have the same.
    return [replace(column, key=f"{place}") for place, column in enumerate(columns)]


def _cell(curve: Curve, at: int) -> str:
    if not curve.speed[at] > 0.0:
        return "-"
    return _marked(curve, f"{number(float(curve.multiple[at]))}x") if curve.batch[at] else "never"


def _marked(curve: Curve, text: str) -> str:
    return record_tables.marked(text, is_unsure=is_assumed(curve.space.scenario.engine))


def floors_needed(study: Study, cost: float) -> list[float | None]:
    """Return the largest floor at which each start pays a cost multiple at most; or None. [ms]"""
    return [
        max(
            (1e3 * curve.floor for curve in study.floors if curve.multiple[at] <= cost),
            default=None,
        )
        for at in range(len(study.engines[0].starts))
    ]


def chart(study: Study, cost: float, width: int, *, is_ascii: bool) -> list[str]:
    """Return the chart of starts against floors: where the speed-up costs at most so much."""
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
        return [f"no start has {study.speedup:g}x at any floor tried"]
    engines = {curve.space.scenario.engine.id: 1e3 * curve.floor for curve in study.engines}
    drawn = [
        Series(key, np.array(points)[:, 0], np.array(points)[:, 1], place, "points")
        for place, (key, points) in enumerate(series.items())
        if points
    ]
    across = "floor of a step, ms, on a textbook step; blank: never"
    panel = Panel("", *axes(drawn, across, "users at the start", (10, 2)), drawn)
    return plot(
        panel,
        width=min(width, _CHART),
        is_ascii=is_ascii,
        marks={f"{engine}, {number(floor)} ms": floor for engine, floor in engines.items()},
    )


def parts(study: Study, cost: float, width: int, *, is_ascii: bool) -> list[Part]:
    """Return heading, table, chart and notes."""
    scenario = study.engines[0].space.scenario
    heading = (
        f"{scenario.model.asked_name} on {many(study.chips, 'chip')}: what "
        f"{study.speedup:g}x the speed of each user costs by a smaller batch alone"
    )
    shown = record_tables.table(table(study, cost), rows(study), width)
    return [
        Title(scenario.hardware.id, heading),
        shown,
        "",
        *chart(study, cost, width, is_ascii=is_ascii),
        "",
        Notes([*record_tables.key_of_mark(shown), *notes(study, cost)]),
    ]


def notes(study: Study, cost: float) -> list[str]:
    """Return where the cost multiple lies for each engine and format, and what all is of."""
    machine = study.engines[0].space.site.machine
    return [
        *(_where(curve, cost) for curve in study.engines),
        "a cost multiple is what an output token costs at the end over the start, whatever the "
        "price of the chips; from a start the cut that serves it fastest, at the end the one that "
        "serves most tokens at the speed asked for, of the cuts of the same chips that people "
        "run; from fewer users than shown never; -: the start does not fit",
        "a textbook step reaches all peaks and pays a floor; the last column has the largest floor "
        f"tried at which {study.speedup:g}x costs {cost:g}x at most, in native formats",
        *(undetermined_notes(machine) if is_assumed(machine.engine) else ()),
        *batching_notes(machine),
    ]


def _where(curve: Curve, cost: float) -> str:
    ends_at_any_cost, cheap = curve.ends(), curve.ends(cost)
    head = f"{name(curve)} (floor {number(1e3 * curve.floor)} ms, one user {number(curve.alone)})"
    if ends_at_any_cost is None:
        return f"{head}: {curve.speedup:g}x never"
    batches = "from {:,} to {:,}".format(*cheap) if cheap else "never"
    ends = "{:,} to {:,} users".format(*ends_at_any_cost)
    return f"{head}: {curve.speedup:g}x from {ends}; for {cost:g}x or less {batches}"


def alongside(study: Study) -> Record:
    """Return what stands alongside the records in JSON."""
    scenarios: Sequence[Any] = [
        curve.space.scenario for curve in (*study.engines, *study.floors[:1])
    ]
    traffic = scenarios[0].traffic
    tokens = {
        f"{key}_tokens": records.plain(getattr(traffic, key))
        for key in ("prompt", "output", "context")
    }
    return {"assumptions": {**tokens, **records.grounds(scenarios)}}
