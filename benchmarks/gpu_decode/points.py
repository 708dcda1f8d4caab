"""Rows of measured points from timings: plain Python, so that they are tested without a chip."""

import csv
import io
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from statistics import median

import fastcalc
from fastcalc.errors import InputError

_WHAT = ("id", "source", "url", "date", "hardware", "chips", "model", "engine", "weights", "kv")
_LOAD = ("tp", "ep", "pp", "dp", "concurrency", "prompt", "output")
COLUMNS = (*_WHAT, *_LOAD, "metric", "value", "tokens_per_pass", "measured_by", "notes")
"""Those of every file of measured points."""

ENGINE = "torch-graph"
Row = dict[str, str | int | float]


@dataclass(frozen=True)
class Timing:
    """Seconds of one run, from several repetitions of some runs each.

    Attributes
    ----------
    seconds : tuple of float
        Mean time of a run in each repetition. [s]
    runs : int
        In one repetition. [1]

    Raises
    ------
    InputError
        If a time is not above zero, or there is none: a clock that did not run.
    """

    seconds: tuple[float, ...]
    runs: int

    def __post_init__(self) -> None:
        if not self.seconds or self.runs < 1:
            raise InputError("a timing needs one repetition of one run at least")
        for value in self.seconds:
            if not math.isfinite(value) or value <= 0:
                raise InputError(f"{value} s is not the time of a run; the clock did not run")

    @property
    def median(self) -> float:
        """Of the repetitions. [s]"""
        return median(self.seconds)

    @property
    def spread(self) -> str:
        """How the repetitions lie, for the notes."""
        low, high = min(self.seconds) * 1e3, max(self.seconds) * 1e3
        return (
            f"median of {len(self.seconds)} repetitions of {self.runs} runs, "
            f"{low:.6g} to {high:.6g} ms"
        )


@dataclass(frozen=True)
class Decode:
    """One decode step that was timed.

    Attributes
    ----------
    hardware, model : str
        Ids of the catalogue.
    batch, context : int
        Sequences decoded together, and tokens that each new token attends to, itself among
        them. [1]
    timing : Timing
        Of the step.
    how : tuple of str
        What ran: the device, the versions, the kernels that were picked.
    """

    hardware: str
    model: str
    batch: int
    context: int
    timing: Timing
    how: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.hardware or not self.model:
            raise InputError("a measured point needs the ids of its hardware and its model")
        if self.batch < 1:
            raise InputError(f"batch {self.batch} is not a whole number from 1")
        if self.context < 2:
            raise InputError(f"context {self.context} leaves no prompt; it starts at 2 tokens")

    def row(self, day: date) -> Row:
        """Return the measured point, column by column.

        The step stands for a request that generates two tokens around the context: prompt +
        output / 2 is the context, and no more cache is reserved than was there.
        """
        notes = ("kind=decode", f"mean context {self.context}", self.timing.spread, *self.how)
        values: Row = {
            "id": f"{ENGINE}-{self.hardware}-{self.model}-b{self.batch}-c{self.context}",
            "source": f"benchmarks/gpu_decode of fastcalc {fastcalc.__version__}",
            "date": day.isoformat(),
            "hardware": self.hardware,
            "model": self.model,
            "engine": ENGINE,
            "weights": "bf16",
            "kv": "bf16",
            "concurrency": self.batch,
            "prompt": self.context - 1,
            "output": 2,
            "metric": "tpot_s",
            "value": float(f"{self.timing.median:.6g}"),
            "tokens_per_pass": 1,
            "measured_by": "community",
            "notes": "; ".join(notes),
        }
        values |= dict.fromkeys(("chips", "tp", "ep", "pp", "dp"), 1)
        return {column: values.get(column, "") for column in COLUMNS}


def csv_text(columns: Iterable[str], rows: Iterable[Row]) -> str:
    """Return rows as CSV with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def points_csv(steps: Iterable[Decode], day: date) -> str:
    """Return the file of measured points of some decode steps."""
    return csv_text(COLUMNS, (step.row(day) for step in steps))
