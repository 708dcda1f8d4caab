"""Select the benchmark runs expected to narrow a deployment's prediction ranges the most."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np

from fastcalc.catalogue.schema.own_rows import OwnRow
from fastcalc.core.own_rows import Places, expected_width
from fastcalc.features.benchmark.runs import BenchmarkRun
from fastcalc.formulas.types import Floats

AS_WIDE = 1.02
"""Ratio of range widths below which a shorter run is preferred over a slightly better one."""


@dataclass(frozen=True, eq=False)
class Advice:
    """Lists the recommended benchmark runs, most informative first.

    runs : The runs in that order.
    widths : The geometric mean width of the user's ranges after each run and those before it,
        relative to having no measurements; the first is the present width.
    """

    runs: Sequence[BenchmarkRun]
    widths: Sequence[float]


def advise(
    candidates: Sequence[BenchmarkRun], targets: Places, count: int, measured: Sequence[OwnRow] = ()
) -> Advice:
    """Choose the benchmark runs that narrow the prediction ranges most.

    If two runs are equally good, the shorter one is chosen. Returns fewer runs if another run would
    not narrow the ranges.

    targets : Points that the user wants predicted.
    count : The maximum number of runs.
    measured : Existing measurements of the deployment.
    """

    def width(runs: Sequence[BenchmarkRun]) -> float:
        return float(np.exp(np.mean(np.log(widths_after(runs, targets, measured)))))

    sizes = range(1, min(count, len(candidates)) + 1)
    groups = [group for size in sizes for group in combinations(candidates, size)]
    widths = [width(group) for group in groups]
    limit = min(widths) * AS_WIDE
    near = [group for group, wide in zip(groups, widths, strict=True) if wide <= limit]
    remaining = list(min(near, key=lambda group: sum(run.seconds for run in group)))
    ordered: list[BenchmarkRun] = []
    while remaining:
        ordered.append(min(remaining, key=lambda run: width([*ordered, run])))
        remaining.remove(ordered[-1])
    return Advice(ordered, [width(ordered[:made]) for made in range(len(ordered) + 1)])


def widths_after(
    runs: Sequence[BenchmarkRun], targets: Places, measured: Sequence[OwnRow] = ()
) -> Floats:
    """Estimate the half-widths of ranges after some runs, relative to the present ones."""
    places = [run.places for run in runs] or [Places(*[np.empty(0)] * 4)]
    return expected_width(reduce(Places.followed_by, places), targets, measured)
