"""Held-out predictions: each measurement is predicted by a fit without its source."""

import csv
from collections.abc import Sequence
from dataclasses import replace

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.evidence.score import Prediction
from fastcalc.written import csv_line

COLUMNS = ("id", "expected", "low", "high")
_DIGITS = 5


def to_csv(predictions: Sequence[Prediction]) -> str:
    """Return held-out predictions as CSV, in the unit of each measurement's metric."""
    lines = [csv_line(COLUMNS)]
    for prediction in sorted(predictions, key=lambda prediction: prediction.point.id):
        numbers = (prediction.expected, prediction.low, prediction.high)
        texts = ["" if value is None else f"{value:.{_DIGITS}g}" for value in numbers]
        lines.append(csv_line([prediction.point.id, *texts]))
    return "".join(lines)


def applied(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Replace the predictions for fitted measurements by the shipped held-out predictions."""
    file = shipped_folder("evidence") / "left_out.csv"
    with file.open(encoding="utf-8", newline="") as stream:
        expectations = {row["id"]: row for row in csv.DictReader(stream)}
    updated = []
    for prediction in predictions:
        if row := expectations.get(prediction.point.id):
            low, high = (float(row[name]) if row[name] else None for name in ("low", "high"))
            prediction = replace(prediction, expected=float(row["expected"]), low=low, high=high)
        updated.append(prediction)
    return updated
