"""Predictions kept before anyone looks at how good they are: ``evidence/*_score.csv``.

``python -m benchmarks.frozen new-rows.csv fourth --about "9 sources of December"`` predicts a file
of measured points with this tree, writes ``evidence/fourth_score.csv``, and notes version and date
in ``evidence/scores.yaml``. A name is used once: what was predicted then is never written again,
whatever a later version makes of the same points. Do it before new rows join the evidence.
"""

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median

import yaml

from benchmarks.table import factor, markdown, spread
from fastcalc import __version__
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence.point import TIMES
from fastcalc.evidence.score import Prediction
from fastcalc.evidence.validate import validate
from fastcalc.importers.any_file import read
from fastcalc.written import csv_line

COLUMNS = ("id", "metric", "measured", "expected", "low", "high")
INDEX = "scores.yaml"
_DIGITS = 5


@dataclass(frozen=True)
class Frozen:
    """Predictions as a version made them.

    Attributes
    ----------
    file, version, about : str
        Of which points, and which version of fastcalc.
    date : str
        When they were kept.
    rows : sequence of mapping
        Cells by column.
    """

    file: str
    version: str
    date: str
    about: str
    rows: Sequence[Mapping[str, str]]

    @property
    def speeds(self) -> list[float]:
        """Predicted over measured, as rates. [1]"""
        ratios = [(float(row["expected"]) / float(row["measured"]), row) for row in self.rows]
        return [1.0 / ratio if row["metric"] in TIMES else ratio for ratio, row in ratios]

    @property
    def cover(self) -> float:
        """Share of what was measured inside the ranges. [1]"""
        inside = [
            float(row["low"]) <= float(row["measured"]) <= float(row["high"])
            for row in self.rows
            if row["low"]
        ]
        return sum(inside) / len(inside)


def kept(folder: Path) -> list[Frozen]:
    """Return all predictions that were kept, in the order of their dates."""
    entries = yaml.safe_load((folder / INDEX).read_text(encoding="utf-8"))
    return [
        Frozen(
            entry["file"],
            str(entry["version"]),
            str(entry["date"]),
            entry["about"],
            _rows(folder / entry["file"]),
        )
        for entry in entries
    ]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def to_csv(predictions: Sequence[Prediction]) -> str:
    """Return what is expected of each point, in the unit of its metric."""
    lines = [csv_line(COLUMNS)]
    for prediction in predictions:
        point = prediction.point
        numbers = (prediction.expected, prediction.low, prediction.high)
        texts = ["" if value is None else f"{value:.{_DIGITS}g}" for value in numbers]
        lines.append(csv_line([point.id, point.metric, f"{point.value:g}", *texts]))
    return "".join(lines)


def freeze(measured: Path, name: str, about: str, folder: Path, day: date) -> Path:
    """Write what this version expects of the points of a file, once.

    Parameters
    ----------
    measured : Path
        A file or a folder of measurements.
    name : str
        What the score is called; ``NAME_score.csv``.
    about : str
        Whose points they are.
    folder : Path
        Of the evidence.
    day : date
        Today.

    Raises
    ------
    InputError
        If there is a score of that name, or a point cannot be read.
    """
    file = folder / f"{name}_score.csv"
    if file.exists():
        raise InputError(f"{file} exists: what was predicted then stays; choose another name")
    catalogue = Catalogue()
    points = read(measured, catalogue=catalogue).demand()
    predictions = validate(points, catalogue).predictions
    if not predictions:
        raise InputError(f"{measured} holds no point that can be predicted")
    file.write_text(to_csv(predictions), encoding="utf-8")
    entry = {"file": file.name, "version": __version__, "date": day, "about": about}
    line = yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, width=1000).strip()
    with (folder / INDEX).open("a", encoding="utf-8") as index:
        index.write(f"- {line}\n")
    return file


def table(scores: Sequence[Frozen]) -> str:
    """Return a line for each score: how good the predictions of a version turned out."""
    lines = []
    for score in scores:
        middle, high = spread([factor(speed, 1.0) for speed in score.speeds])
        bias = median(score.speeds)
        cells = [str(len(score.rows)), f"{middle:.2f}", f"{high:.2f}", f"{bias:.2f}"]
        about = [f"`{score.file}`", score.about, score.version, score.date]
        lines.append([*about, *cells, f"{100 * score.cover:.0f}%"])
    headings = ("file", "of", "version", "date", "points", "median factor", "90% within", "bias")
    return markdown((*headings, "in range"), lines, left=4)


def main() -> None:
    """Keep predictions of a file of measured points."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frozen", description=__doc__)
    parser.add_argument("measured", type=Path, help="points that no fit has seen")
    parser.add_argument("name", help="of the score, such as fourth")
    parser.add_argument("--about", required=True, help="whose points they are")
    parser.add_argument("--folder", type=Path, default=shipped_folder("evidence"))
    request = parser.parse_args()
    try:
        file = freeze(request.measured, request.name, request.about, request.folder, date.today())
    except InputError as refusal:
        parser.exit(2, "".join(f"benchmarks.frozen: {line}\n" for line in refusal.args))
    sys.stdout.write(f"{table([kept(request.folder)[-1]])}\n\n{file}\n")


if __name__ == "__main__":
    main()
