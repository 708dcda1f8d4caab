"""Which benchmark runs are expected to narrow the ranges of a deployment most."""

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
"""Ratio of widths within which the shorter runs are taken: nobody would see the difference."""


@dataclass(frozen=True, eq=False)
class Advice:
    """Runs to make, the most telling first.

    runs : in that order
    widths : of the ranges at the user's points after each run and those before it, the geometric
        mean over that without any measurement; the first is that of today [1]
    """

    runs: Sequence[BenchmarkRun]
    widths: Sequence[float]


def advise(
    candidates: Sequence[BenchmarkRun],
    targets: Places,
    count: int,
    measured: Sequence[OwnRow] = (),
) -> Advice:
    """Runs that narrow the ranges at some points most; of equal ones, those that take least time.

    They are fewer where one more would narrow nothing.

    targets : where the user's predictions are
    count : of runs at most [1]
    measured : rows of the deployment that there are already
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
    """Half-widths of ranges expected after some runs, over those without any measurement. [1]"""
    places = [run.places for run in runs] or [_nowhere()]
    return expected_width(reduce(Places.followed_by, places), targets, measured)


def _nowhere() -> Places:
    none = np.empty(0)
    return Places(none, none, none, none)
