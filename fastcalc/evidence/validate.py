"""Validation of predictions against a file of measurements or the shipped evidence."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from fastcalc.catalogue.schema import Engine
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence import left_out
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.point import Point
from fastcalc.evidence.points import Skipped
from fastcalc.evidence.predict import Batch, alike, batches_of
from fastcalc.evidence.score import TOO_SLOW, Group, Prediction, groups_of, predictions_of
from fastcalc.evidence.shipped import Evidence
from fastcalc.evidence.stacked import rows_of

_AT_ONCE = 4000
"""The number of measurements predicted at once, whose steps need a few megabytes."""


@dataclass(frozen=True)
class Validation:
    """The predictions, skipped measurements and scores of a validation."""

    predictions: Sequence[Prediction]
    skipped: Sequence[Skipped]
    groups: Sequence[Group]

    def of(self, kind: str) -> list[Group]:
        """List the groups of one type."""
        return [group for group in self.groups if group.name.startswith(kind)]


@dataclass(frozen=True)
class Shipped:
    """Validates the shipped evidence, with fitted measurements held out in turn.

    held_out : The measurements of publishers that are not used in any fit.
    """

    fitted: Validation
    held_out: Validation
    suspect: Validation


def validate(
    points: Sequence[Point],
    catalogue: Catalogue,
    *,
    engine: Engine | None = None,
    deployments: PointDeployments | None = None,
    skipped: Sequence[Skipped] = (),
    is_own: bool = False,
    so_far: Callable[[int], None] = lambda _: None,
) -> Validation:
    """Predict measurements and score the predictions, with one engine for all if it is given.

    deployments : The deployments of other measurements, to be reused.
    is_own : Whether these are a user's measurements; if so, questionable units are skipped.
    so_far : A progress callback that receives the number of predictions so far.
    """
    deployments = deployments or PointDeployments(catalogue, engine)
    predictions, left = _predicted(points, deployments, is_own=is_own, so_far=so_far)
    return Validation(predictions, [*skipped, *left], groups_of(predictions))


def _predicted(
    points: Sequence[Point],
    deployments: PointDeployments,
    *,
    is_own: bool = False,
    so_far: Callable[[int], None] = lambda _: None,
) -> tuple[list[Prediction], list[Skipped]]:
    groups, reasons = alike(points, deployments)
    predictions = dict[int, Prediction]()
    for batches in _pooled(batches_of(groups, points, reasons, _AT_ONCE)):
        index = [position for batch in batches for position in batch.index]
        scored = dict(zip(index, predictions_of(rows_of(batches)), strict=True))
        slow = [position for position in scored if is_own and scored[position].is_implausible]
        reasons |= dict.fromkeys(slow, TOO_SLOW)
        predictions |= {at: scored[at] for at in scored.keys() - set(slow)}
        so_far(len(predictions))
    left = [Skipped(points[at].id, points[at].line, why) for at, why in sorted(reasons.items())]
    return [predictions[at] for at in sorted(predictions)], left


def _pooled(batches: Iterable[Batch]) -> Iterator[list[Batch]]:
    """Yield groups of batches with a few thousand measurements, to be evaluated in one call."""
    pending: list[Batch] = []
    points = 0
    for batch in batches:
        pending.append(batch)
        points += len(batch.index)
        if points >= _AT_ONCE:
            yield pending
            pending, points = [], 0
    if pending:
        yield pending


def validate_shipped(evidence: Evidence, catalogue: Catalogue) -> Shipped:
    """Score the shipped evidence: fitted, held-out and suspect measurements."""
    excluded, suspect = evidence.unpredictable, evidence.suspect
    predictable = [point for point in evidence.points if point.id not in excluded]
    unpredictable = (point for point in evidence.points if point.id in excluded)
    unknown = [Skipped(point.id, point.line, excluded[point.id]) for point in unpredictable]
    deployments = PointDeployments(catalogue)
    fitted, unfitted = _predicted([p for p in predictable if evidence.is_fitted(p)], deployments)
    honest = left_out.applied(fitted)
    believed = [point for point in predictable if point.id not in suspect]
    offloaded = validate(
        [p for p in believed if p.is_offloaded], catalogue, deployments=deployments
    )
    judges = [p for p in believed if evidence.is_held_out(p) and not p.is_offloaded]
    judged = validate(judges, catalogue, deployments=deployments, skipped=offloaded.skipped)
    predictions = [*judged.predictions, *offloaded.predictions]
    groups = [*judged.groups, *offloaded.of("part:")]
    return Shipped(
        fitted=Validation(
            honest, [*unknown, *unfitted], [*groups_of(honest), *offloaded.of("class:")]
        ),
        held_out=Validation(predictions, judged.skipped, groups),
        suspect=validate(
            [p for p in predictable if p.id in suspect], catalogue, deployments=deployments
        ),
    )
