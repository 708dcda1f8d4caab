"""What a change gains: two versions of predictions against the same measurements, by source.

``python -m benchmarks.gain before.csv after.csv`` takes what ``fastcalc validate --format csv``
wrote, or a score kept in ``evidence/``; without the second file, what this tree predicts. Points of
one source share its errors, so a gain is the mean over sources of what each gains, and its interval
is that of sources drawn again with replacement (B. Efron, "Bootstrap methods: another look at the
jackknife," Annals of Statistics 7, 1979).
"""

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import exp, log
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.table import factor, markdown, spread
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence.score import Prediction
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.validate import validate_shipped
from fastcalc.formulas.types import Floats

DRAWS = 4000
INSIDE = 90  # share of the draws that an interval holds [%]

Expected = Mapping[str, float]
"""What is expected of each point, by its id, in the unit of its metric."""


class Pair(NamedTuple):
    """A measured point and what two versions expect of it.

    part, source : its line of the table, and whose errors it shares
    before, after : expected over measured rates [1]
    """

    part: str
    source: str
    before: float
    after: float


@dataclass(frozen=True)
class Gain:
    """How many times nearer the measurements a version is than the one before it.

    low, high : ends of the interval
    better, worse : sources that gain or lose more than a hundredth
    """

    gain: float
    low: float
    high: float
    better: int
    worse: int


def gain_of(pairs: Sequence[Pair], seed: int = 1) -> Gain:
    """Return the gain in the mean factor, a source weighing as the root of its points.

    pairs : of at least one source
    seed : of the sources drawn
    """
    gains, counts = [], []
    by_name = attrgetter("source")
    for _, group in groupby(sorted(pairs, key=by_name), key=by_name):
        errors = [abs(log(pair.before)) - abs(log(pair.after)) for pair in group]
        gains.append(float(np.mean(errors)))
        counts.append(len(errors))
    by_source, weights = np.array(gains), np.sqrt(counts)
    drawn = np.random.default_rng(seed).integers(len(gains), size=(DRAWS, len(gains)))
    draws = _mean(by_source[drawn], weights[drawn])
    low, high = np.percentile(draws, [50 - INSIDE / 2, 50 + INSIDE / 2])
    return Gain(
        gain=exp(float(_mean(by_source, weights))),
        low=exp(low),
        high=exp(high),
        better=int(np.count_nonzero(by_source > 0.01)),
        worse=int(np.count_nonzero(by_source < -0.01)),
    )


def _mean(gains: Floats, weights: Floats) -> Floats:
    return np.asarray((gains * weights).sum(axis=-1) / weights.sum(axis=-1))


def expectations(path: Path) -> dict[str, float]:
    """Read the columns ``id`` and ``expected`` of a file of predictions."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row["id"]: float(row["expected"]) for row in csv.DictReader(file)}


def pairs_of(predictions: Sequence[Prediction], before: Expected, after: Expected) -> list[Pair]:
    """Return the points that both versions predict."""
    pairs = []
    for prediction in predictions:
        point = prediction.point
        if point.id in before and point.id in after:
            ratios = (version[point.id] / point.value for version in (before, after))
            rates = (1.0 / ratio if point.is_time else ratio for ratio in ratios)
            pairs.append(Pair(prediction.part, point.source_key, *rates))
    return pairs


def table(pairs: Sequence[Pair]) -> str:
    """Return factors and bias before and after by class, and what each class gains."""
    lines = []
    for part in ("all", *sorted({pair.part for pair in pairs})):
        members = [pair for pair in pairs if part in ("all", pair.part)]
        gain = gain_of(members)
        lines.append(
            [
                part,
                str(len(members)),
                str(len({pair.source for pair in members})),
                *_cells([pair.before for pair in members]),
                *_cells([pair.after for pair in members]),
                f"{gain.gain:.3f}",
                f"{gain.low:.3f} to {gain.high:.3f}",
                f"{gain.better} / {gain.worse}",
            ]
        )
    versions = ("before", "bias", "after", "bias")
    headings = ("class", "points", "sources", *versions, "gain", f"{INSIDE}%", "better / worse")
    return markdown(headings, lines)


def _cells(ratios: Sequence[float]) -> tuple[str, str]:
    median, p90 = spread([factor(ratio, 1.0) for ratio in ratios])
    return f"{median:.3f} / {p90:.2f}", f"{np.median(ratios):.2f}"


def main() -> None:
    """Print what a version gains on sources left out of fits, and on those held out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gain", description=__doc__)
    parser.add_argument("before", type=Path, help="predictions of the earlier version")
    parser.add_argument("after", type=Path, nargs="?", help="of the later one; else of this tree")
    request = parser.parse_args()
    parts = validate_shipped(shipped(), Catalogue())
    before = expectations(request.before)
    for title, validation in (
        ("Fitted, each source left out of its fit", parts.fitted),
        ("Held out: no engine was fitted on their publishers", parts.held_out),
    ):
        now = {prediction.point.id: prediction.expected for prediction in validation.predictions}
        after = expectations(request.after) if request.after else now
        if pairs := pairs_of(validation.predictions, before, after):
            sys.stdout.write(f"{title}\n\n{table(pairs)}\n\n")


if __name__ == "__main__":
    main()
