"""How good the shipped engines are on publishers that judge, looked at once a release and noted.

``python -m benchmarks.judge`` predicts the points of publishers that no engine was fitted on,
prints factors, cover and interval score (see ``benchmarks.ranges``) by class and by how many fitted
publishers stand behind a chip, its engine and the phase, and adds a line to
``evidence/judged.yaml``. A version is judged once: whoever looks at these points while terms are
chosen has nothing left that judges them.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import yaml

from benchmarks.ranges import score_of
from benchmarks.table import markdown, spread
from fastcalc import __version__
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence.score import Prediction
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.speed_ranges import by_novelty, publishers_behind
from fastcalc.evidence.validate import validate

LOG = "judged.yaml"
WIDER = 1.3
"""How many times as wide the ranges are that the shipped ones are compared with."""


def table(judged: Sequence[Prediction], behind: Sequence[int]) -> str:
    """Factors and cover of judged points by class and by novelty."""
    groups = {"all": list(judged)}
    for name in sorted({one.part for one in judged}):
        groups[name] = [one for one in judged if one.part == name]
    for name, group in by_novelty(judged, behind).items():
        groups[f"fitted publishers: {name}"] = group
    headings = ("class", "points", "sources", "median factor", "90% within", "in range")
    headings = (*headings, "interval score", f"{WIDER:g} times as wide")
    return markdown(headings, [[name, *cells(group)] for name, group in groups.items() if group])


def scores(judged: Sequence[Prediction]) -> dict[str, float]:
    """Points, sources, median factor, what 90% are within, and cover of some predictions."""
    middle, high = spread([one.factor for one in judged])
    return {
        "points": len(judged),
        "sources": len({one.point.source_key for one in judged}),
        "median_factor": round(middle, 3),
        "within_90": round(high, 3),
        "cover": round(sum(one.is_covered for one in judged) / len(judged), 3),
    }


def cells(judged: Sequence[Prediction]) -> list[str]:
    """The scores of some predictions, as text."""
    points, sources, middle, high, cover = scores(judged).values()
    factors = f"{middle:.2f}", f"{high:.2f}", f"{100 * cover:.0f}%"
    widths = (score_of(judged).score, score_of(list(map(wider, judged))).score)
    return [str(points), str(sources), *factors, *(f"{score:.2f}" for score in widths)]


def wider(judged: Prediction) -> Prediction:
    """Return a prediction whose range is wider on both sides, in logarithms."""
    low, high = judged.low or judged.expected, judged.high or judged.expected
    low, high = (judged.expected * (end / judged.expected) ** WIDER for end in (low, high))
    return replace(judged, low=low, high=high)


def note(judged: Sequence[Prediction], folder: Path, version: str, day: date) -> None:
    """Add what a version was found to be worth to the log.

    Raises InputError if the version was judged before.
    """
    log = folder / LOG
    known = yaml.safe_load(log.read_text(encoding="utf-8")) or [] if log.exists() else []
    if any(str(entry["version"]) == version for entry in known):
        raise InputError(f"{version} was judged before; {log} has what was found")
    entry = {"version": version, "date": day, **scores(judged)}
    line = yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, width=1000).strip()
    with log.open("a", encoding="utf-8") as stream:
        stream.write(f"- {line}\n")


def main() -> None:
    """Judge this version, and note it unless only a look at what is noted is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge", description=__doc__)
    parser.add_argument("--version", default=__version__, help="what is judged, as noted")
    request = parser.parse_args()
    evidence, catalogue = shipped(), Catalogue()
    used = [point for point in evidence.points if evidence.is_used(point)]
    judges = [point for point in used if evidence.role(point) == "judge"]
    fitted = [point for point in used if not evidence.is_held_out(point)]
    judged = validate(judges, catalogue).predictions
    try:
        note(judged, shipped_folder("evidence"), request.version, date.today())
    except InputError as error:
        sys.exit(str(error))
    known = validate(fitted, catalogue).predictions
    behind = publishers_behind(judged, evidence.publisher, among=known)
    sys.stdout.write(f"{table(judged, behind)}\n")


if __name__ == "__main__":
    main()
