"""What fits without a point's source expect of it: written by a fit, read by whoever reports."""

import csv
from collections.abc import Sequence
from dataclasses import replace

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.evidence.score import Prediction
from fastcalc.written import csv_line

COLUMNS = ("id", "expected", "low", "high")
_DIGITS = 5


def to_csv(predictions: Sequence[Prediction]) -> str:
    """Return expectations as CSV, in the unit of each point's metric."""
    lines = [csv_line(COLUMNS)]
    for one in sorted(predictions, key=lambda each: each.point.id):
        numbers = (one.expected, one.low, one.high)
        texts = ["" if value is None else f"{value:.{_DIGITS}g}" for value in numbers]
        lines.append(csv_line([one.point.id, *texts]))
    return "".join(lines)


def applied(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Return predictions with the shipped expectations of fits without their source, if fitted."""
    file = shipped_folder("evidence") / "left_out.csv"
    with file.open(encoding="utf-8", newline="") as stream:
        known = {row["id"]: row for row in csv.DictReader(stream)}
    found = []
    for one in predictions:
        if row := known.get(one.point.id):
            low, high = (float(row[name]) if row[name] else None for name in ("low", "high"))
            one = replace(one, expected=float(row["expected"]), low=low, high=high)
        found.append(one)
    return found
