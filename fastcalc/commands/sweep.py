"""``fastcalc sweep``: every combination to a file, block by block."""

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np

from fastcalc.catalogue.limits import LIMITS
from fastcalc.commands import loading, output, progress
from fastcalc.commands.answer import HEAD
from fastcalc.commands.size import foresee
from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.report import records
from fastcalc.report.numbers_as_text import many
from fastcalc.requests import readers
from fastcalc.requests.number_lists import numbers
from fastcalc.requests.search import Sweep
from fastcalc.requests.speculate import speculations
from fastcalc.search.sweep.axes import Axes, Ranks, grids
from fastcalc.search.sweep.blocks import solve_all
from fastcalc.search.sweep.files import FORMATS, CSVSink, JSONSink, ParquetSink, Sink
from fastcalc.search.sweep.grid import Grid


def run(request: Sweep) -> None:
    """Evaluate every combination and write it."""
    file, kind = request.out, readers.kind_of(request.format, request.out, FORMATS)
    notes: list[str] = []
    swept, skipped = combinations(request, notes)
    output.warn(notes)
    total = sum(grid.size for grid in swept)
    foresee(total, len(swept), kind, file, is_meant=request.anyway)
    with _sink(kind, file) as sink:
        unfit = fill(sink, swept, skipped, lambda points_done: _progress(points_done, total))
    lines = [f"{unfit:,} with fits false, for want of memory"] if unfit else []
    left_out = sum(skipped.values())
    lines += [f"{many(left_out, 'combination')} left out: {_reasons(skipped)}"] if skipped else []
    output.warn(["; ".join([many(total, "point"), *lines])] if lines else [])


def save(request: Sweep, file: Path) -> None:
    """Evaluate every combination and write it to a file, without a word."""
    with _sink(readers.kind_of(None, file, FORMATS), file) as sink:
        fill(sink, *combinations(request, []), lambda _: None)


def combinations(request: Sweep, notes: list[str]) -> tuple[list[Grid], Counter[str]]:
    """Return what is evaluated and how many are left out, by reason; refuse to have nothing.

    notes : takes what to know of the models and chips
    """
    swept, skipped = grids(_axes(request, notes))
    if not any(grid.size for grid in swept):
        raise InputError(f"no combination is left: {_reasons(skipped)}")
    return swept, skipped


def fill(sink: Sink, swept: list[Grid], skipped: Counter[str], say: Callable[[int], object]) -> int:
    """Give a sink every point and what belongs alongside; return how many do not fit."""
    gc.enable()  # a sweep lives longer than a table
    points_done = unfit = 0
    for grid, columns in solve_all(swept):
        sink.write(columns, grid.shape)
        points_done += grid.size
        unfit += int(np.sum(~np.broadcast_to(columns["fits"], grid.shape)))
        say(points_done)
    premises = records.grounds([grid.scenario for grid in swept])
    sink.close({"points": points_done, "left_out": dict(skipped), "assumptions": premises})
    return unfit


def _axes(request: Sweep, notes: list[str]) -> Axes:
    entries = loading.catalogue(request)
    memory = loading.memory_of(entries, request)
    chips = loading.chips_of(entries, request.on, memory, notes)
    names = [None] if request.engine is None else readers.names(request.engine, option("engine"))
    engines = [loading.engines_of(entries, chips, name) for name in names]
    entries.refuse_idle_changes(
        "engines", [engine for per_chip in engines for engine, _ in per_chip]
    )
    pairs = [
        (chip, *engine)
        for chip, *choices in zip(chips, *engines, strict=True)
        for engine in choices
    ]
    tokens = LIMITS["tokens"]
    return Axes(
        models=loading.models_of(entries, request.models, notes),
        chips=pairs,
        prompts=numbers(request.prompt, option("prompt"), tokens),
        outputs=numbers(request.output, option("output"), tokens),
        batches=numbers(request.batch, option("batch"), LIMITS["sequences"]),
        contexts=()
        if request.context is None
        else numbers(request.context, option("context"), tokens),
        weights=readers.names_if_any(request.weights, option("weights")) or (None,),
        kv=readers.names_if_any(request.kv, option("kv")) or (None,),
        speculations=speculations(request.speculate),
        ranks=Ranks(
            **{
                name: numbers(text, option(name), LIMITS["chips"])
                for name in ("chips", "tp", "pp", "ep", "dp")
                if (text := getattr(request, name)) is not None
            }
        ),
        prefix_hit=readers.share(request.prefix_hit, option("prefix_hit"), zero=True),
        pricing=loading.pricing_of(chips, request, utilization=request.utilization),
        memory=memory,
    )


@contextmanager
def _sink(kind: str, file: Path | None) -> Iterator[Sink]:
    text: dict[str, Callable[[Any], Sink]] = {
        "csv": CSVSink,
        "json": lambda stream: JSONSink(stream, HEAD),
    }
    if file is None:
        with output.standard_output() as stream:
            yield text[kind](stream)
        return
    with output.whole(file) as draft:
        if kind == "parquet":
            yield ParquetSink(draft)
            return
        with TextIOWrapper(draft, "utf-8", "replace", newline="") as stream:
            yield text[kind](stream)


def _progress(points_done: int, total: int) -> None:
    progress.say(f"{points_done:,} of {total:,} points ({points_done / total:.0%})")


def _reasons(skipped: Counter[str]) -> str:
    return "; ".join(f"{count:,} with {reason}" for reason, count in skipped.most_common())
