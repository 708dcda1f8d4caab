"""``fastcalc validate``: predictions against measurements, whoever's they are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence.earlier import ChipChange, chip_changes, factors_in
from fastcalc.evidence.points import Points
from fastcalc.evidence.score import SRAM, Prediction
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.validate import Shipped, Validation, validate, validate_shipped
from fastcalc.features import request_of
from fastcalc.features.measure import validation as report
from fastcalc.features.measure.request import Validate
from fastcalc.importers.any_file import read
from fastcalc.kit.answer import next_commands, progress
from fastcalc.kit.answer.answer import CommandAnswer, later
from fastcalc.kit.request import loading, readers
from fastcalc.kit.request.fields import by_premise, settings
from fastcalc.mentions import flag, option

MISSED = 1


def run(request: Validate) -> CommandAnswer:
    """Return the scores of predictions; the answer is no if their median is too far off."""
    limit = request.max_median_factor
    if limit is not None and not limit >= 1.0:
        raise InputError(
            f"{option('max_median_factor')} {limit:g} is below 1, which nothing can reach"
        )
    validation, shipped_scores = _validation(request)
    kinds = _kinds(shipped_scores) if shipped_scores else {"": validation.predictions}
    median = next(group.median_factor for group in validation.groups if group.name == "all")
    changes, reasons = _changes(request, validation)
    if limit is not None and median > limit:
        reasons += [
            f"the median factor is {median:.3f}, above {option('max_median_factor')} {limit:g}"
        ]

    name, next_command = request.path.name if request.path else "", None
    if not request.model:  # a word that a chart does not take
        begun = ["validate", *map(str, filter(None, [request.path]))]
        begun += [flag("on"), request.hardware] if request.hardware else []
        next_command = next_commands.follow_up(request, request_of("plot"), *begun)
    return CommandAnswer(
        lambda screen: report.parts(
            validation, name, shipped_scores, changes, next_command, screen
        ),
        lambda: map(report.point_record, validation.predictions),
        lambda: (report.SCORES, report.shown(validation.groups)),
        extra=lambda: report.premises(validation),
        drawn={"validate": later("features.measure.accuracy_chart.accuracy", kinds)},
        document=lambda: report.json_text(validation, {"settings": by_premise(settings(request))}),
        reasons=reasons,
        code=MISSED if reasons else 0,
    )


def _validation(request: Validate) -> tuple[Validation, Shipped | None]:
    """Return the predictions of a file, or those of the shipped evidence, and these by kind."""
    catalogue, file_options = loading.catalogue(request), request.file_options()
    if request.path is not None:
        return of_file(catalogue, request.path, file_options), None
    if any(file_options.values()):
        raise InputError("give a file; the shipped evidence names its own hardware and engines")
    scores = validate_shipped(shipped(), catalogue)
    predictions = [*scores.fitted.predictions, *scores.set_aside.predictions]
    skipped = [*scores.fitted.skipped, *scores.set_aside.skipped]
    return Validation(predictions, skipped, scores.fitted.groups), scores


def _kinds(scores: Shipped) -> dict[str, Sequence[Prediction]]:
    """Return the shipped predictions by what the fits of their engines knew of them."""
    fitted, aside = scores.fitted.predictions, scores.set_aside.predictions
    return {
        "source left out of the fit": [row for row in fitted if row.part != SRAM],
        "source set aside": [row for row in aside if not row.point.is_offloaded],
        "with a host": [row for row in aside if row.point.is_offloaded],
        "engine set from these few": [row for row in fitted if row.part == SRAM],
    }


def _changes(
    request: Validate, validation: Validation
) -> tuple[list[ChipChange] | None, list[str]]:
    """Return how chips changed since the baseline, and those too much worse, in sentences."""
    allowed = request.max_worse
    if request.baseline is None:
        if allowed is not None:
            raise InputError(
                f"{option('max_worse')} is against earlier predictions; name them with "
                f"{option('baseline', 'before.csv')}"
            )
        return None, []
    readers.share(allowed or 0.0, option("max_worse"), zero=True)
    changes = chip_changes(validation.predictions, factors_in(request.baseline))
    if not changes:
        raise InputError(f"{request.baseline}: has none of the points that are predicted here")
    if allowed is None:
        return changes, []
    worse = (change for change in changes if change.worse > allowed)
    return changes, [
        f"{report.changed(change)}, above the {allowed:.0%} allowed" for change in worse
    ]


def points_of(catalogue: Catalogue, path: Path, file_options: Mapping[str, Any]) -> Points:
    """Read a file of measurements, of an engine if that is named, or refuse all its faults."""
    details = {key: value for key, value in file_options.items() if value and key != "engine"}
    measured = read(path, catalogue=catalogue, options=details)
    measured.demand()
    return measured


def of_file(catalogue: Catalogue, path: Path, file_options: Mapping[str, Any]) -> Validation:
    """Predict the points of a file; refuse one of which nothing can be predicted."""
    measured = points_of(catalogue, path, file_options)
    engine = catalogue.engine(file_options["engine"]) if file_options.get("engine") else None
    count = len(measured.points)
    result = validate(
        measured.points,
        catalogue,
        engine=engine,
        skipped=measured.skipped,
        so_far=lambda points_done: progress.say(f"{points_done:,} of {count:,} points predicted"),
    )
    if not result.predictions:
        reasons = dict.fromkeys(skip.reason for skip in result.skipped)
        why = "; ".join(list(reasons)[:3]) or "it holds no point"
        line = result.skipped[0].line if result.skipped else 1
        place = f"{path}" if path.is_dir() else f"{path}:{line}:1"
        raise InputError(f"{place}: nothing can be predicted: {why}")
    return result
