"""``fastcalc sweep``: evaluate all combinations, and write them block by block."""

import gc
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from io import TextIOWrapper
from itertools import groupby, islice, product
from math import nan
from pathlib import Path
from typing import TextIO

import numpy as np

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.schema import NamedEntry
from fastcalc.core.scenario import Scenario
from fastcalc.errors import InputError
from fastcalc.features.sweep.axes import Axes, Ranks, grids
from fastcalc.features.sweep.files import FORMATS, CSVSink, JSONSink, ParquetSink, Sink
from fastcalc.features.sweep.request import Sweep
from fastcalc.grid.blocks import solve_all
from fastcalc.grid.column import TableColumn
from fastcalc.grid.columns import Columns, pick
from fastcalc.grid.columns import records as points_of
from fastcalc.grid.evaluated_points import CodedColumn
from fastcalc.grid.grid import Grid
from fastcalc.kit.answer import output, progress
from fastcalc.kit.answer import point_records as records
from fastcalc.kit.answer.answer import Screen
from fastcalc.kit.answer.console import Wording, is_terminal
from fastcalc.kit.answer.envelope import envelope
from fastcalc.kit.answer.parts import Part, Remark
from fastcalc.kit.answer.record_tables import table
from fastcalc.kit.answer.respond import page
from fastcalc.kit.request import loading, readers
from fastcalc.kit.request.change_lists import ChangeLists, change_lists
from fastcalc.kit.request.chips import chips_of
from fastcalc.kit.request.draft_models import draft_model
from fastcalc.kit.request.engines import engines_of, implied_engine
from fastcalc.kit.request.fields import Setting, by_premise, settings
from fastcalc.kit.request.like import like
from fastcalc.kit.request.number_lists import numbers
from fastcalc.kit.request.pricing import pricing_of
from fastcalc.kit.request.speculate import speculations
from fastcalc.mentions import as_flags, option, written
from fastcalc.written import many

_Ids = tuple[str, str, str]

NOTED = 1_000_000
"""Number of points from which on a forecast is printed."""

LONGEST = 600.0
"""Longest run time that does not require confirmation. [s]"""

SECONDS = {"csv": 15e-6, "json": 20e-6, "parquet": 2e-6}
"""Time per point, rounded up, measured as described in docs/benchmarks.md. [s]"""

BYTES = {"csv": 450, "json": 1600, "parquet": 180}
"""Bytes per point, rounded up. [B]"""

DEPLOYMENT = 0.02
"""Setup time for each combination of chip, model, formats and engine. [s]"""


def foresee(
    points: int, deployments: int, file_format: str, file: Path | None, *, is_meant: bool
) -> None:
    """Print the size of a large output file, or raise InputError if it is excessive."""
    seconds = points * SECONDS[file_format] + deployments * DEPLOYMENT
    size = points * BYTES[file_format]
    time = f"{seconds / 60.0:,.0f} minutes" if seconds > 120.0 else f"{seconds:,.0f} s"
    forecast = f"{points:,} points, about {size / 1e9:,.1f} GB and {time}"
    free = float("inf")
    if file is not None and not output.is_stream(file):
        with suppress(OSError):
            free = float(shutil.disk_usage(os.path.dirname(os.path.realpath(file))).free)
    if not is_meant and (seconds > LONGEST or size > free):
        limit = f"the {free / 1e9:,.1f} GB free there" if size > free else "10 minutes"
        raise InputError(
            f"{forecast}: more than {limit}; name fewer values, or add {option('anyway')}"
        )
    if points > NOTED:
        output.warn([forecast])


_TABLE = "table"
TERMINAL_ROWS = 200
"""Maximum number of points printed by a sweep that is not written to a file."""

POINT_KEYS = "hardware model chips batch"
ANSWER_KEYS = "tokens_per_s_per_user tokens_per_s_total usd_per_mtok_total limiter"
VARIED_KEYS = "engine tp pp ep dp weight_format kv_format prompt_tokens output_tokens host fits"
"""Keys of the table on a terminal. Those of `VARIED_KEYS` appear only if the points differ."""


def run(request: Sweep) -> None:
    """Evaluate all combinations and write them."""
    file = request.out
    is_shown = file is None and request.format is None and is_terminal()
    file_format = _TABLE
    if not is_shown and request.format != _TABLE:
        file_format = readers.kind_of(request.format, file, (*FORMATS, _TABLE))
    notes: list[str] = []
    swept = combinations(request, notes)
    output.warn(notes)
    total, left_out = swept.points, swept.left_out
    if file_format == _TABLE:  # only the first points, however many there are
        page(request, partial(_first_points, swept))
        return
    foresee(total, len(swept.grids), file_format, file, is_meant=request.anyway)
    with _sink(file_format, file) as sink:
        unfit = fill(sink, swept, shows_progress=True)
    lines = (
        [
            f"{unfit:,} do not fit: too little memory, more sequences than the engine runs, or "
            "formats that it does not support"
        ]
        if unfit
        else []
    )
    if left_out:
        count = many(sum(left_out.values()), "combination")
        lines.append(f"{count} skipped: {_reasons(left_out)}")
    output.warn(["; ".join([many(total, "point"), *lines])] if lines else [])


def save(request: Sweep, file: Path, wording: Wording) -> None:
    """Evaluate all combinations and write them to a file without printing anything."""
    with _sink(readers.kind_of(None, file, FORMATS), file) as sink:
        fill(sink, combinations(request, []), wording)


@dataclass(frozen=True)
class Combinations:
    """Enumerates the combinations of a sweep.

    grids : The grids of the combinations to evaluate.
    left_out : The number of skipped combinations for each reason.
    changes : The what-ifs with several values, of which each point has one.
    settings : The settings of the request.
    """

    grids: Sequence[Grid]
    left_out: Counter[str]
    changes: ChangeLists
    settings: Sequence[Setting]

    @property
    def points(self) -> int:
        """The number of points."""
        return sum(grid.size for grid in self.grids)

    def changed(self, scenario: Scenario) -> Columns:
        """Return the columns of the listed what-ifs, with their values for a scenario."""
        columns: Columns = {
            key: nan if type_ is float else CodedColumn(np.int64(0), (None,))
            for key, type_ in self.changes.keys.items()
        }
        applied = _applied(scenario.hardware, scenario.model, scenario.engine, scenario.memory.host)
        for text in applied & self.changes.written.keys():
            change = self.changes.written[text]
            columns[change.key] = change.value
        return columns


def combinations(request: Sweep, notes: list[str]) -> Combinations:
    """Return the combinations to evaluate, and count the skipped ones for each reason.

    Raises InputError if the sweep is empty.
    """
    changes = change_lists(request.set)
    swept: list[Grid] = []
    left_out: Counter[str] = Counter()
    computed = defaultdict[_Ids, set[frozenset[str]]](set)  # entries that a list does not change
    for what_ifs in changes.combined():
        changed = replace(request, set=what_ifs or None)
        by_engine = _axes(changed, [] if swept else notes)
        like_rows = None
        if request.like is not None:
            entries = loading.catalogue(changed)
            engines = [pair[1:] for axes in by_engine for pair in axes.chips]
            like_rows = like(request, request.like, entries, engines)
            own = like_rows.engine  # corrected by the user's measurements
            by_engine = [
                replace(axes, chips=[(chip, own(engine), by) for chip, engine, by in axes.chips])
                for axes in by_engine
            ]
        new_grids: list[Grid] = []
        applied: list[tuple[_Ids, frozenset[str]]] = []
        for axes in by_engine:
            of_axes = [
                ((chip.id, model.id, engine.id), _applied(chip, model, engine, axes.memory.host))
                for (chip, engine, _), model in product(axes.chips, axes.models)
            ]
            repeated = {ids for ids, applied_set in of_axes if applied_set in computed[ids]}
            added, skipped = grids(replace(axes, computed=frozenset(repeated)))
            new_grids += added
            left_out += skipped
            applied += of_axes
        for ids, applied_set in applied:
            computed[ids].add(applied_set)
        if like_rows is not None and not swept:
            notes += like_rows.notes(grid.scenario for grid in new_grids)
        swept += new_grids
    if not any(grid.size for grid in swept):
        raise InputError(f"every combination was skipped: {_reasons(left_out)}")
    return Combinations(swept, left_out, changes, settings(request))


def _applied(*entries: NamedEntry | None) -> frozenset[str]:
    """Return the what-ifs applied to the entries, as the user wrote them."""
    return frozenset(change for entry in entries if entry for change in entry.what_if)


def fill(
    sink: Sink, swept: Combinations, wording: Wording = as_flags, *, shows_progress: bool = False
) -> int:
    """Write all points and the accompanying data, and return how many points do not fit."""
    gc.enable()  # a sweep runs longer than a table, so garbage collection pays off
    points_done, unfit, points = 0, 0, swept.points
    for grid, columns in solve_all(swept.grids):
        for key, column in columns.items():  # words may mention options
            if isinstance(column, CodedColumn):
                words = tuple(written(list(column.words), wording))
                columns[key] = CodedColumn(column.codes, words)
        sink.write({**columns, **swept.changed(grid.scenario)}, grid.shape)
        points_done += grid.size
        unfit += int(np.sum(~np.broadcast_to(columns["fits"], grid.shape)))
        if shows_progress:
            progress.say(f"{points_done:,} of {points:,} points ({points_done / points:.0%})")
    rests_on = records.grounds([grid.scenario for grid in swept.grids])
    rests_on["settings"] = by_premise(swept.settings)
    extra = {"points": points_done, "left_out": dict(swept.left_out), "assumptions": rests_on}
    sink.close(written(extra, wording))
    return unfit


def _axes(request: Sweep, notes: list[str]) -> list[Axes]:
    """List the axes of each run of models for which the chips have the same engines."""
    entries = loading.catalogue(request)
    memory = loading.memory_of(entries, request)
    chips = chips_of(entries, request.on, memory, notes)
    names = [None] if request.engine is None else readers.names(request.engine, option("engine"))
    models = loading.models_of(entries, request.models, notes)
    axes = replace(
        _axes_of_requests(request),
        models=models,
        drafts={
            model.id: draft_model(entries, request.draft_model, model, notes) for model in models
        },
        pricing=pricing_of(chips, request, utilization=request.utilization),
        memory=memory,
    )
    implied_by = partial(implied_engine, request, request.weights)
    by_engine = []
    for implied, alike in groupby(models, lambda model: implied_by([model])):
        engines = [engines_of(entries, chips, name, implied=implied) for name in names]
        pairs = [
            (chip, *engine)
            for chip, *choices in zip(chips, *engines, strict=True)
            for engine in choices
        ]
        by_engine.append(replace(axes, models=list(alike), chips=pairs))
    used = [engine for each in by_engine for _, engine, _ in each.chips]
    entries.refuse_idle_changes("engines", used)
    return by_engine


def _axes_of_requests(request: Sweep) -> Axes:
    """Read the axes that are lists of numbers or formats."""
    tokens = LIMITS["tokens"]
    return Axes(
        models=(),
        chips=(),
        prompts=numbers(request.prompt, option("prompt"), tokens),
        outputs=numbers(request.output, option("output"), tokens),
        batches=numbers(request.batch, option("batch"), LIMITS["sequences"]),
        contexts=()
        if request.context is None
        else numbers(request.context, option("context"), tokens),
        weights=readers.weights_if_any(request.weights) or (None,),
        kv=readers.caches_if_any(request.kv) or (None,),
        speculations=speculations(request.speculate, request.draft_model),
        ranks=Ranks(
            **{
                name: numbers(text, option(name), LIMITS["chips"])
                for name in ("chips", "tp", "pp", "ep", "dp")
                if (text := request.values[name]) is not None
            }
        ),
        prefix_hit=readers.share(request.prefix_hit, option("prefix_hit"), zero=True),
    )


def _first_points(swept: Combinations, screen: Screen) -> list[Part]:
    """Return a table of the first points with the main keys only, since a screen is narrow."""
    points = (
        records.plainly(record)
        for grid, columns in solve_all(swept.grids)
        for record in points_of({**columns, **swept.changed(grid.scenario)}, grid.shape)
    )
    rows = list(islice(points, TERMINAL_ROWS))
    varied = [
        TableColumn(key, heading=key.rpartition(".")[::2], format=partial(_cell, key))
        for key in (*VARIED_KEYS.split(), *swept.changes.keys)
        if len({row[key] for row in rows}) > 1
    ]
    is_cut = len(rows) < swept.points
    count = f"the first {len(rows):,} of {swept.points:,} points" if is_cut else ""
    where = f"{count or many(len(rows), 'point')}; {option('out', 'sweep.csv')} writes all columns"
    shown = table([*pick(POINT_KEYS), *varied, *pick(ANSWER_KEYS)], rows, screen.width)
    return [shown, "", Remark(where)]


def _cell(key: str, record: records.Record) -> str:
    value = record[key]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.6g}" if isinstance(value, (int, float)) else str(value or "-")


@contextmanager
def _sink(kind: str, file: Path | None) -> Iterator[Sink]:
    if file is None:
        with output.standard_output() as stream:
            yield _text_sink(kind, stream)
        return
    with output.whole(file) as draft:
        if kind == "parquet":
            yield ParquetSink(draft)
            return
        with TextIOWrapper(draft, "utf-8", "replace", newline="") as stream:
            yield _text_sink(kind, stream)


def _text_sink(file_format: str, stream: TextIO) -> Sink:
    return CSVSink(stream) if file_format == "csv" else JSONSink(stream, envelope(records.SCHEMA))


def _reasons(skipped: Counter[str]) -> str:
    return "; ".join(f"{count:,} with {reason}" for reason, count in skipped.most_common())
