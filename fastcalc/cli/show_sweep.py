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
from fastcalc.cli import options, output, progress, requests
from fastcalc.cli.commands.search import Sweep
from fastcalc.cli.number_lists import numbers
from fastcalc.cli.size import foresee
from fastcalc.cli.speculate import speculations
from fastcalc.errors import InputError
from fastcalc.report import records
from fastcalc.report.numbers_as_text import many
from fastcalc.search.sweep.axes import Axes, Ranks, grids
from fastcalc.search.sweep.blocks import solve_all
from fastcalc.search.sweep.files import FORMATS, CSVSink, JSONSink, ParquetSink, Sink
from fastcalc.search.sweep.grid import Grid


def run(asked: Sweep) -> None:
    """Evaluate every combination and write it."""
    file, kind = asked.out, options.kind_of(asked.format, asked.out, FORMATS)
    found, skipped = combinations(asked)
    total = sum(grid.size for grid in found)
    foresee(total, len(found), kind, file, is_meant=asked.anyway)
    with _sink(kind, file) as sink:
        unfit = fill(sink, found, skipped, lambda done: _progress(done, total))
    lines = [f"{unfit:,} with fits false, for want of memory"] if unfit else []
    left_out = sum(skipped.values())
    lines += [f"{many(left_out, 'combination')} left out: {_reasons(skipped)}"] if skipped else []
    output.warn(["; ".join([many(total, "point"), *lines])] if lines else [])


def combinations(asked: Sweep) -> tuple[list[Grid], Counter[str]]:
    """Return what is evaluated and how many are left out, by reason; refuse to have nothing."""
    found, skipped = grids(_axes(asked))
    if not any(grid.size for grid in found):
        raise InputError(f"no combination is left: {_reasons(skipped)}")
    return found, skipped


def fill(sink: Sink, found: list[Grid], skipped: Counter[str], say: Callable[[int], object]) -> int:
    """Give a sink every point and what belongs alongside; return how many do not fit."""
    gc.enable()  # a sweep lives longer than a table
    done = unfit = 0
    for grid, columns in solve_all(found):
        sink.write(columns, grid.shape)
        done += grid.size
        unfit += int(np.sum(~np.broadcast_to(columns["fits"], grid.shape)))
        say(done)
    premises = records.grounds([grid.scenario for grid in found])
    sink.close({"points": done, "left_out": dict(skipped), "assumptions": premises})
    return unfit


def _axes(asked: Sweep) -> Axes:
    entries = requests.catalogue(asked)
    memory = requests.memory_of(entries, asked)
    chips = requests.chips_of(entries, asked.on, memory)
    names = [None] if asked.engine is None else options.names(asked.engine, "--engine")
    engines = [requests.engines_of(entries, chips, name) for name in names]
    entries.refuse_idle_changes("engines", [engine for each in engines for engine, _ in each])
    pairs = [
        (chip, *engine) for chip, *each in zip(chips, *engines, strict=True) for engine in each
    ]
    tokens = LIMITS["tokens"]
    return Axes(
        models=requests.models_of(entries, asked.models),
        chips=pairs,
        prompts=numbers(asked.prompt, "--prompt", tokens),
        outputs=numbers(asked.output, "--output", tokens),
        batches=numbers(asked.batch, "--batch", LIMITS["sequences"]),
        contexts=() if asked.context is None else numbers(asked.context, "--context", tokens),
        weights=options.names_if_any(asked.weights, "--weights") or (None,),
        kv=options.names_if_any(asked.kv, "--kv") or (None,),
        speculations=speculations(asked.speculate),
        ranks=Ranks(
            **{
                name: numbers(text, f"--{name}", LIMITS["chips"])
                for name in ("chips", "tp", "pp", "ep", "dp")
                if (text := getattr(asked, name)) is not None
            }
        ),
        prefix_hit=options.share(asked.prefix_hit, "--prefix-hit", zero=True),
        pricing=requests.pricing_of(chips, asked, utilization=asked.utilization),
        memory=memory,
    )


@contextmanager
def _sink(kind: str, file: Path | None) -> Iterator[Sink]:
    text: dict[str, Callable[[Any], Sink]] = {
        "csv": CSVSink,
        "json": lambda stream: JSONSink(stream, records.SCHEMA),
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


def _progress(done: int, total: int) -> None:
    progress.say(f"{done:,} of {total:,} points ({done / total:.0%})")


def _reasons(skipped: Counter[str]) -> str:
    return "; ".join(f"{count:,} with {reason}" for reason, count in skipped.most_common())
