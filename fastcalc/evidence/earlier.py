"""Predictions alongside those of an earlier version, chip by chip."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from fastcalc.errors import InputError
from fastcalc.evidence.score import Prediction
from fastcalc.evidence.text_files import opened, text_in
from fastcalc.written import shown


@dataclass(frozen=True)
class ChipChange:
    """How far off the points of a chip are, and were, by the median factor.

    count : points that both versions predict [1]
    before, after : median factors between prediction and measurement [1]
    """

    hardware: str
    count: int
    before: float
    after: float

    @property
    def worse(self) -> float:
        """Share by which the later median factor is larger; below 0 it is smaller. [1]"""
        return self.after / self.before - 1.0


def factors_in(path: Path) -> dict[str, float]:
    """Return the factor of each point, by its id, of what ``validate --format csv`` wrote."""
    with opened(path) as stream:
        text = text_in(str(path), stream)
    rows = csv.DictReader(text.text.splitlines())
    if not {"id", "factor"} <= set(rows.fieldnames or ()):
        raise InputError(
            f"{path}:1:1: has no columns id and factor; 'fastcalc validate' writes them as csv"
        )
    factors: dict[str, float] = {}
    for row in rows:
        try:
            factor = float(row["factor"])
        except (TypeError, ValueError):
            factor = 0.0
        if not 1.0 <= factor < float("inf"):
            raise InputError(
                f"{path}:{rows.line_num}:1: factor '{shown(row['factor'])}' is not a number from 1"
            )
        factors[row["id"]] = factor
    return factors


def chip_changes(
    predictions: Iterable[Prediction], earlier: Mapping[str, float]
) -> list[ChipChange]:
    """Return the change of each chip whose points both versions predict, the worst first.

    earlier : factors of the version before, by the id of the point [1]
    """
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for prediction in predictions:
        point = prediction.point
        if point.id in earlier:
            pairs[point.hardware].append((earlier[point.id], prediction.factor))
    changes = [
        ChipChange(chip, len(factors), *(median(version) for version in zip(*factors, strict=True)))
        for chip, factors in pairs.items()
    ]
    return sorted(changes, key=lambda change: -change.worse)
