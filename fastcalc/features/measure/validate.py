"""``fastcalc validate``: compare predictions with the shipped or the user's measurements."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.errors import InputError
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.earlier import ChipChange, chip_changes, factors_in
from fastcalc.evidence.point import Point
from fastcalc.evidence.points import Points
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.validate import Validation, validate, validate_shipped
from fastcalc.features.measure.request import Validate
from fastcalc.features.measure.validation import ValidationAnswer, changed
from fastcalc.importers.any_file import read
from fastcalc.kit.answer import progress
from fastcalc.kit.request import loading, readers
from fastcalc.kit.request.draft_models import draft_model
from fastcalc.kit.request.speculate import speculation
from fastcalc.mentions import option


def run(request: Validate) -> ValidationAnswer:
    """Score predictions. The answer is "no" if the median error is too large."""
    limit = request.max_median_factor
    if limit is not None and not limit >= 1.0:
        raise InputError(
            f"{option('max_median_factor')} {limit:g} is below 1, which nothing can reach"
        )
    earlier = _earlier(request)  # read before predicting, since it may be invalid
    catalogue, file_options = loading.catalogue(request), request.file_options()
    if request.path is not None:
        drafts = request.speculate, request.draft_model
        validation, aside = of_file(catalogue, request.path, file_options, *drafts), None
    else:
        if any((*file_options.values(), request.speculate, request.draft_model)):
            raise InputError("give a file; the shipped evidence names its own hardware and engines")
        scores = validate_shipped(shipped(), catalogue)
        predictions = [*scores.fitted.predictions, *scores.held_out.predictions]
        skipped = [*scores.fitted.skipped, *scores.held_out.skipped]
        validation, aside = Validation(predictions, skipped, scores.fitted.groups), scores
    median = next(group.median_factor for group in validation.groups if group.name == "all")
    changes, reasons = _changes(request, validation, earlier)
    if limit is not None and median > limit:
        reasons += [
            f"the median factor is {median:.3f}, above {option('max_median_factor')} {limit:g}"
        ]
    return ValidationAnswer(
        request=request,
        reading=loading.reading_of(catalogue, request.model),
        reasons=reasons,
        validation=validation,
        aside=aside,
        changes=changes,
    )


def _earlier(request: Validate) -> Mapping[str, float] | None:
    """Read the error factors of earlier predictions, if the request names a file of them."""
    if request.baseline is not None:
        readers.share(request.max_worse or 0.0, option("max_worse"), zero=True)
        return factors_in(request.baseline)
    if request.max_worse is not None:
        raise InputError(
            f"{option('max_worse')} compares with earlier predictions; name them with "
            f"{option('baseline', 'before.csv')}"
        )
    return None


def _changes(
    request: Validate, validation: Validation, earlier: Mapping[str, float] | None
) -> tuple[list[ChipChange] | None, list[str]]:
    """Compare chips with the baseline, and describe those that became too much worse."""
    if earlier is None:
        return None, []
    allowed, changes = request.max_worse, chip_changes(validation.predictions, earlier)
    if not changes:
        raise InputError(f"{request.baseline}: contains none of the points predicted here")
    if allowed is None:
        return changes, []
    worse = (change for change in changes if change.worse > allowed)
    return changes, [f"{changed(change)}, above the {allowed:.0%} allowed" for change in worse]


def points_of(catalogue: Catalogue, path: Path, file_options: Mapping[str, Any]) -> Points:
    """Read a file of measurements, for one engine if named. Raises InputError with all errors."""
    details = {key: value for key, value in file_options.items() if value and key != "engine"}
    measured = read(path, catalogue=catalogue, options=details)
    measured.demand()
    return measured


def drafted(points: Sequence[Point], drafts: Speculation) -> Sequence[Point]:
    """Add the server's draft tokens to measurements, and the tokens per step where missing."""
    if not drafts.drafted:
        return points
    notes, tokens = f"draft tokens {drafts.drafted:.0f}", float(drafts.tokens_per_pass)
    return [
        replace(
            point,
            tokens_per_pass=point.tokens_per_pass or tokens,
            notes=f"{point.notes}; {notes}" if point.notes else notes,
        )
        for point in points
    ]


def of_file(
    catalogue: Catalogue,
    path: Path,
    file_options: Mapping[str, Any],
    speculate: str | float | None = None,
    draft: str | None = None,
) -> Validation:
    """Predict the measurements of a file. Raises InputError if none can be predicted."""
    measured = points_of(catalogue, path, file_options)
    engine = catalogue.engine(file_options["engine"]) if file_options.get("engine") else None
    points, count = drafted(measured.points, speculation(speculate)), len(measured.points)
    is_separate = bool(draft and points)
    model = draft_model(catalogue, draft, catalogue.model(points[0].model)) if is_separate else None
    result = validate(
        points,
        catalogue,
        deployments=PointDeployments(catalogue, engine, model),
        skipped=measured.skipped,
        is_own=True,
        so_far=lambda points_done: progress.say(f"{points_done:,} of {count:,} points predicted"),
    )
    if not result.predictions:
        reasons = dict.fromkeys(skip.reason for skip in result.skipped)
        why = "; ".join(list(reasons)[:3]) or "it holds no point"
        line = result.skipped[0].line if result.skipped else 1
        location = f"{path}" if path.is_dir() else f"{path}:{line}:1"
        raise InputError(f"{location}: nothing can be predicted: {why}")
    return result
