"""Comparison of prediction errors with those of an earlier version, chip by chip."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from fastcalc.catalogue.numerals import parse_number
from fastcalc.errors import InputError
from fastcalc.evidence.csv_rows import refuse, rows_of
from fastcalc.evidence.score import Prediction
from fastcalc.written import shown


@dataclass(frozen=True)
class ChipChange:
    """Compares the median prediction error for a chip before and after a change.

    count : The number of measurements predicted by both versions.
    before, after : The median error factors.
    """

    hardware: str
    count: int
    before: float
    after: float

    @property
    def worse(self) -> float:
        """The relative increase of the median error factor, which is negative if it decreased."""
        return self.after / self.before - 1.0


def factors_in(path: Path) -> dict[str, float]:
    """Read each measurement's error factor from the output of ``validate --format csv``."""
    factors: dict[str, float] = {}
    with rows_of(path) as rows:
        iterator = iter(rows)
        _, header = next(iterator, (1, []))
        names = [name.strip() for name in header]
        if not {"id", "factor"} <= set(names):
            raise InputError(
                f"{path}:1:1: has no columns id and factor; 'fastcalc validate' writes them as csv"
            )
        for line, cells in iterator:
            row = dict(zip(names, cells, strict=False))
            text = row.get("factor", "")
            factor = parse_number(text)
            if factor is None or factor < 1.0 or "id" not in row:
                fault = f"factor '{shown(text)}' is not a number from 1"
                refuse(rows.fault(line, names.index("factor"), fault))
            factors[row["id"]] = factor
    return factors


def chip_changes(
    predictions: Iterable[Prediction], earlier: Mapping[str, float]
) -> list[ChipChange]:
    """Compare each chip's error with that of an earlier version, worst change first.

    Only measurements predicted by both versions are compared.

    earlier : The error factors of the earlier version, by measurement id.
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
