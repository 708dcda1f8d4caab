"""Validation of predictions against a file of measurements or the shipped evidence."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from fastcalc.catalogue.schema import Engine
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence import left_out
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.packed_points import RebuiltSequence
from fastcalc.evidence.point import Point
from fastcalc.evidence.points import Skipped
from fastcalc.evidence.predict import Batch, alike, batches_of
from fastcalc.evidence.score import TOO_SLOW, Group, Prediction, groups_of, predictions_of
from fastcalc.evidence.shipped import Evidence
from fastcalc.evidence.stacked import rows_of

_NUMBERS = ("expected", "low", "high", "bound", "typical", "fitted_share")
_WORDS = ("engine_used", "machine", "phase", "has_experts", "assumed")


class PackedPredictions(RebuiltSequence[Prediction]):
    """The predictions for measurements, in order. Some measurements may have none.

    predicted : the number of measurements with a prediction
    """

    def __init__(self, points: Sequence[Point]) -> None:
        self._points, self.predicted = points, 0
        self._numbers = {name: np.full(len(points), nan) for name in _NUMBERS}
        self._words: list[dict[str, Any]] = []
        self._places: dict[tuple[object, ...], int] = {}
        self._codes = array("i", [-1]) * len(points)
        self._index = array("i")

    def take(self, index: Sequence[int], predictions: Sequence[Prediction]) -> None:
        """Store the predictions for the measurements at the given positions."""
        self.predicted += len(index)
        for name, numbers in self._numbers.items():
            # None is stored as NaN.
            numbers[index] = [getattr(prediction, name) for prediction in predictions]
        for position, prediction in zip(index, predictions, strict=True):
            words = tuple(getattr(prediction, name) for name in _WORDS)
            code = self._places.setdefault(words, len(self._words))
            if code == len(self._words):
                self._words.append(dict(zip(_WORDS, words, strict=True)))
            self._codes[position] = code

    def close(self) -> None:
        """Finish storing, and drop measurements without a prediction."""
        self._index = array("i", (index for index, code in enumerate(self._codes) if code >= 0))

    def __len__(self) -> int:
        return len(self._index)

    def at(self, position: int) -> Prediction:
        """Return the prediction at an index among the measurements that have one."""
        index = self._index[position]
        numbers = {name: column.item(index) for name, column in self._numbers.items()}
        # A prediction with only a bound has no range.
        fields: dict[str, Any] = {
            name: None if number != number else number for name, number in numbers.items()
        }
        return Prediction(self._points[index], **self._words[self._codes[index]], **fields)


_AT_ONCE = 4000
"""The number of measurements predicted at once, whose steps need a few megabytes."""


@dataclass(frozen=True)
class Validation:
    """The result of a validation: predictions, skipped measurements, and scores by group."""

    predictions: Sequence[Prediction]
    skipped: Sequence[Skipped]
    groups: Sequence[Group]

    def of(self, kind: str) -> list[Group]:
        """List the groups of one type."""
        return [group for group in self.groups if group.name.startswith(kind)]


@dataclass(frozen=True)
class Shipped:
    """The validation of the shipped evidence, in which fitted measurements are held out in turn.

    held_out : the measurements of publishers that are not used in any fit
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

    deployments : the deployments of other measurements, to be reused
    is_own : whether these are a user's measurements; if so, questionable units are skipped
    so_far : a progress callback that receives the number of predictions so far
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
) -> tuple[PackedPredictions, list[Skipped]]:
    """Predict measurements, and list those that cannot be predicted."""
    groups, reasons = alike(points, deployments)
    predictions = PackedPredictions(points)
    for batches in _pooled(batches_of(groups, points, reasons, _AT_ONCE)):
        index = [position for batch in batches for position in batch.index]
        found = dict(zip(index, predictions_of(rows_of(batches)), strict=True))
        slow = [position for position in found if is_own and found[position].is_implausible]
        reasons |= dict.fromkeys(slow, TOO_SLOW)
        for position in slow:
            del found[position]
        predictions.take([*found], [*found.values()])
        so_far(predictions.predicted)
    predictions.close()
    left = [Skipped(points[at].id, points[at].line, why) for at, why in sorted(reasons.items())]
    return predictions, left


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
