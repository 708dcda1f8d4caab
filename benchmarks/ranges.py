"""80% ranges, learned on half of the sources and scored on points of the others.

Points are predicted by fits that have not seen their publisher, and scored if nobody had looked at
them when terms were chosen. ``python -m benchmarks.ranges`` splits the sources 16 times. The
interval score is the width of a range and ten times what a measurement lies outside it, in
logarithms: less is better, and neither wide ranges nor narrow ones gain by it (T. Gneiting and A.
Raftery, "Strictly proper scoring rules, prediction, and estimation," JASA 102, 2007).
"""

import argparse
import csv
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np

from benchmarks.table import markdown
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence import left_out
from fastcalc.evidence.score import Prediction
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.speed_ranges import INSIDE, learned, publishers_behind, ranged
from fastcalc.evidence.validate import validate

SPLITS = 16
FIRST_SCORES = ("fourth_score.csv",)
"""What earlier versions said of sources that they had not seen, ranges and all."""


@dataclass(frozen=True)
class RangeScore:
    """How good the ranges of some points are.

    cover : share of the measurements inside [1]
    width : upper end over lower end, geometric mean [1]
    score : mean interval score, in logarithms [1]
    """

    cover: float
    width: float
    score: float


def interval_score(prediction: Prediction) -> float:
    """Return the width of a range and what missing it costs, in logarithms. [1]"""
    low, high = (log(end or prediction.expected) for end in (prediction.low, prediction.high))
    measured = log(prediction.point.value)
    outside = max(low - measured, measured - high, 0.0)
    return high - low + 2.0 / (1.0 - INSIDE) * outside


def score_of(predictions: Sequence[Prediction]) -> RangeScore:
    """Return the score of some points in their ranges."""
    widths = [log((p.high or p.expected) / (p.low or p.expected)) for p in predictions]
    return RangeScore(
        cover=float(np.mean([prediction.is_covered for prediction in predictions])),
        width=exp(float(np.mean(widths))),
        score=float(np.mean([interval_score(prediction) for prediction in predictions])),
    )


def halves(
    predictions: Sequence[Prediction],
    blind: Collection[str],
    behind: Sequence[int],
    splits: int,
    seed: int,
) -> Iterator[list[Prediction]]:
    """Yield blind points of half of the sources, in ranges learned on the other half.

    blind : ids of points that nobody had looked at
    behind : The other publishers that measured the chip, engine and phase of each prediction.
    """
    rows = list(zip(predictions, behind, strict=True))
    sources = np.unique([prediction.point.source_key for prediction in predictions])
    random = np.random.default_rng(seed)
    for _ in range(splits):
        chosen = set(random.permutation(sources)[: len(sources) // 2])
        known = [row for row in rows if row[0].point.source_key in chosen]
        of_known, counts = zip(*known, strict=True)
        widths = learned(of_known, blind, counts)
        yield [
            ranged(prediction, widths, behind=count)
            for prediction, count in rows
            if prediction.point.source_key not in chosen and prediction.point.id in blind
        ]


def first_ranges(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Return points as earlier versions predicted them, those that were scored unseen."""
    first: dict[str, dict[str, float]] = {}
    for name in FIRST_SCORES:
        path = shipped_folder("evidence") / name
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                first[row["id"]] = {key: float(row[key]) for key in ("expected", "low", "high")}
    return [
        replace(prediction, **first[prediction.point.id])
        for prediction in predictions
        if prediction.point.id in first
    ]


def table(scored: Sequence[Sequence[Prediction]], before: Sequence[Prediction]) -> str:
    """Return cover, width and interval score by class, over all splits; and what was before."""
    first_ids = {prediction.point.id for prediction in before}
    parts = sorted({prediction.part for split in scored for prediction in split})
    lines = []
    for part in ("all", *parts):
        now = [p for split in scored for p in split if part in ("all", p.part)]
        again = [p for p in now if p.point.id in first_ids]
        then = [p for p in before if part in ("all", p.part)]
        cells = [
            part,
            str(len({p.point.id for p in now})),
            str(len({p.point.source_key for p in now})),
            *_cells(score_of(now)),
            f"{score_of(again).score:.2f}" if again else "",
            *(_cells(score_of(then)) if then else ("", "", "")),
        ]
        lines.append(cells)
    headings = ("class", "points", "sources", "cover", "width", "score", "of those before")
    return markdown((*headings, "cover then", "width then", "score then"), lines)


def _cells(score: RangeScore) -> tuple[str, str, str]:
    return f"{100 * score.cover:.0f}%", f"{score.width:.2f}", f"{score.score:.2f}"


def main() -> None:
    """Print how good learned ranges are on sources that they were not learned from."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranges", description=__doc__)
    parser.add_argument("--splits", type=int, default=SPLITS, help="how often sources are halved")
    parser.add_argument("--seed", type=int, default=1, help="of the random halves")
    request = parser.parse_args()
    evidence, catalogue = shipped(), Catalogue()
    fitted, later = (
        validate([point for point in evidence.points if chosen(point)], catalogue).predictions
        for chosen in (evidence.is_fitted, evidence.is_awaiting)
    )
    predictions = [*left_out.applied(fitted), *later]
    blind = {one.point.id for one in predictions if evidence.is_blind(one.point)}
    behind = publishers_behind(predictions, evidence.publisher, among=fitted)
    scored = list(halves(predictions, blind, behind, request.splits, request.seed))
    covers = [score_of(split).cover for split in scored]
    before = first_ranges([one for one in predictions if one.point.id in blind])
    sys.stdout.write(
        f"{table(scored, before)}\n\nCover of {request.splits} halves: "
        f"{100 * min(covers):.0f} to {100 * max(covers):.0f}%.\n"
    )


if __name__ == "__main__":
    main()
