"""``fastcalc validate``: predictions against measurements, whoever's they are."""

from collections.abc import Mapping
from pathlib import Path

from fastcalc.catalogue.store import Catalogue
from fastcalc.cli import progress, requests
from fastcalc.cli.answers import Found, later
from fastcalc.cli.commands.drawings import Plot
from fastcalc.cli.commands.measurements import Validate
from fastcalc.errors import InputError
from fastcalc.evidence.points import Points
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.validate import Validation, validate, validate_shipped
from fastcalc.importers.any_file import read
from fastcalc.report import validation as report

MISSED = 1


def run(asked: Validate) -> Found:
    """Score predictions and write them in a format; return 1 if their median is too far off."""
    catalogue, given, most = requests.catalogue(asked), asked.given(), asked.max_median_factor
    if most is not None and not most >= 1.0:
        raise InputError(f"--max-median-factor {most:g} is below 1, which nothing can reach")
    both = None
    if asked.path is None:
        if any(given.values()):
            raise InputError("give a file; the shipped evidence names its own hardware and engines")
        both = validate_shipped(shipped(), catalogue)
        found = Validation(
            [*both.fitted.predictions, *both.set_aside.predictions],
            [*both.fitted.skipped, *both.set_aside.skipped],
            both.fitted.groups,
        )
    else:
        found = of_file(catalogue, asked.path, given)
    median = next(one.median_factor for one in found.groups if one.name == "all")
    reasons = []
    if most is not None and median > most:
        reasons = [f"the median factor is {median:.3f}, above --max-median-factor {most:g}"]

    name, then = asked.path.name if asked.path else "", None
    if not (asked.hardware or asked.model):  # words that a chart does not take
        begun = "plot", "validate", *map(str, filter(None, [asked.path]))
        then = requests.again(asked, Plot, *begun)
    return Found(
        lambda screen: report.parts(found, name, both, then, screen),
        lambda: map(report.point_record, found.predictions),
        lambda: (report.SCORES, report.shown(found.groups)),
        extra=lambda: report.premises(found),
        charts={"validate": later("charts.of_searches.accuracy", found.predictions)},
        as_json=lambda: report.json_text(found),
        reasons=reasons,
        code=MISSED if reasons else 0,
    )


def points_of(catalogue: Catalogue, path: Path, given: Mapping[str, str]) -> Points:
    """Read a file of measurements, of an engine if that is named, or refuse all its faults."""
    said = {key: value for key, value in given.items() if value and key != "engine"}
    found = read(path, catalogue=catalogue, options=said)
    found.demand()
    return found


def of_file(catalogue: Catalogue, path: Path, given: Mapping[str, str]) -> Validation:
    """Predict the points of a file; refuse one of which nothing can be predicted."""
    found = points_of(catalogue, path, given)
    engine = catalogue.engine(given["engine"]) if given.get("engine") else None
    count = len(found.points)
    result = validate(
        found.points,
        catalogue,
        engine=engine,
        skipped=found.skipped,
        so_far=lambda done: progress.say(f"{done:,} of {count:,} points predicted"),
    )
    if not result.predictions:
        reasons = dict.fromkeys(one.reason for one in result.skipped)
        why = "; ".join(list(reasons)[:3]) or "it holds no point"
        line = result.skipped[0].line if result.skipped else 1
        raise InputError(f"{path}:{line}:1: nothing can be predicted: {why}")
    return result
