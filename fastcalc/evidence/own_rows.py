"""A user's rows as an engine file keeps them: by deployment, each over what the engine expects."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fastcalc.catalogue.schema import Engine
from fastcalc.catalogue.schema.own_rows import OwnDeployment, OwnRow
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.own_rows import interpolated
from fastcalc.errors import InputError
from fastcalc.evidence.deployments import Deployments
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import Batch, gather
from fastcalc.evidence.score import Prediction, predictions_of
from fastcalc.evidence.stacked import StackedPoints, rows_of

MOST_ROWS = 64
"""Rows of a deployment that are kept: at a factor of ten of batch and length more say no more."""

_DIGITS = 6
_RANKS = ("tp", "pp", "ep", "dp")
_KEYS = ("hardware", "model", "weights", "kv", "chips", *_RANKS)
_ROW = ("batch", "context", "prompt", "decode_share", "slower")
_Row = tuple[OwnRow, Prediction]


@dataclass(frozen=True)
class OwnScore:
    """A row of the user's, predicted three times: in the unit of its metric.

    before : by the engine as it is
    after, alone : with all rows, and with all others of its deployment
    """

    before: Prediction
    after: Prediction
    alone: Prediction


@dataclass(frozen=True)
class OwnRows:
    """What the rows of a file say of an engine.

    engine : with the deployments that were measured
    scores : of each deployment, in its order, those of each of its rows
    left_aside : rows that are not kept, by the reason [1]
    """

    engine: Engine
    scores: Sequence[Sequence[OwnScore]]
    left_aside: dict[str, int]


def own_rows(points: Sequence[Point], catalogue: Catalogue, base: Engine, file: Path) -> OwnRows:
    """Return an engine with what rows of a file say of the deployments that they are of.

    Raises InputError if not one of them can be predicted with the engine, in the words of the first
    reasons.
    """
    left_aside = defaultdict[str, int](int)
    kept: list[Point] = []
    for point in points:
        if point.is_offloaded:
            left_aside["part of the model was on a host"] += 1
        elif not is_engine_of(point, catalogue, base):
            left_aside[f"of another engine ({point.engine})"] += 1
        else:
            kept.append(point)
    plain = base.model_copy(update={"own_deployments": []})
    batches, reasons = gather(kept, Deployments(catalogue, plain))
    for reason in reasons.values():
        left_aside[reason] += 1
    if not batches:
        raise InputError(_nothing(file, base, points, left_aside))
    members = _members(batches)
    deployments = [
        OwnDeployment.model_validate(
            {**dict(zip(_KEYS, key, strict=True)), "file": file.name, "rows": [r for r, _ in pairs]}
        )
        for key, pairs in members.items()
    ]
    scores = [
        _scores(deployment, [prediction for _, prediction in pairs])
        for deployment, pairs in zip(deployments, members.values(), strict=True)
    ]
    engine = base.model_copy(update={"own_deployments": deployments})
    return OwnRows(engine, scores, dict(left_aside))


def is_engine_of(point: Point, catalogue: Catalogue, engine: Engine) -> bool:
    """Return whether a point was measured under an engine, or one that it extends, or does not say.

    Raises InputError if its engine is none of the catalogue.
    """
    stated = point.engine.lower()
    if not stated or stated not in catalogue.known("engines"):
        return True
    stated_id, parent = catalogue.engine(stated).id, engine
    while parent.id != stated_id and parent.extends:
        parent = catalogue.engine(parent.extends)
    return parent.id == stated_id


def _nothing(file: Path, base: Engine, points: Sequence[Point], left_aside: dict[str, int]) -> str:
    line = points[0].line if points else 1
    why = "; ".join(list(left_aside)[:3]) or "it holds no point"
    return f"{file}:{line}:1: no row can be predicted with {base.id}: {why}"


def _members(batches: Sequence[Batch]) -> dict[tuple[object, ...], list[_Row]]:
    """Return rows by chip, model, formats and layout as far as it was stated."""
    rows = defaultdict[tuple[object, ...], list[_Row]](list)
    for batch in batches:
        placed, work = batch.deployment, batch.deployment.work
        stated = [getattr(placed.stated, name) for name in _RANKS]
        names = (placed.hardware.id, placed.model.id, work.weight_format, work.kv_format)
        key = (*names, batch.placement.layout.chips, *stated)
        stacked = rows_of([batch])
        rows[key] += zip(_rows(batch, stacked), predictions_of(stacked), strict=True)
    return {key: _thinned(pairs) for key, pairs in rows.items()}


def _scores(deployment: OwnDeployment, before: Sequence[Prediction]) -> list[OwnScore]:
    """Return each row of a deployment as the engine, all rows and all others predict it."""
    effects = interpolated(deployment)
    return [
        OwnScore(prediction, _moved(prediction, after), _moved(prediction, alone))
        for prediction, after, alone in zip(before, *effects, strict=True)
    ]


def _moved(prediction: Prediction, effect: tuple[float, float]) -> Prediction:
    """Return a prediction so many times as slow, in a range so many times as wide. [1], [1]"""
    slower, narrowed = effect
    times = slower if prediction.point.is_time else 1.0 / slower
    is_time, bound = prediction.point.is_time, prediction.bound
    nearest = max if is_time else min
    moved = replace(prediction, expected=nearest(prediction.expected * times, bound))
    if prediction.low is None or prediction.high is None:
        return moved
    below, above = prediction.reach
    return moved.within(below**narrowed, above**narrowed)


def _rows(batch: Batch, stacked: StackedPoints) -> list[OwnRow]:
    """Return each point of a batch over what its engine expects."""
    timeline = batch.recipe.timeline
    traffic = timeline.passes.traffic
    columns = (
        timeline.passes.batch,
        traffic.context,
        traffic.computed_prompt,
        timeline.decode_share,
        stacked.measured / np.maximum(stacked.seconds(), stacked.bound),
    )
    shape = stacked.measured.shape
    rows = zip(*(np.broadcast_to(column, shape).tolist() for column in columns), strict=True)
    return [
        OwnRow.model_validate(
            {name: f"{number:.{_DIGITS}g}" for name, number in zip(_ROW, row, strict=True)}
        )
        for row in rows
    ]


def _thinned(rows: list[_Row]) -> list[_Row]:
    """Return as many rows as are kept, evenly from the smallest batch to the largest."""
    if len(rows) <= MOST_ROWS:
        return rows
    ordered = sorted(rows, key=lambda pair: (pair[0].batch, pair[0].context))
    places = np.linspace(0, len(rows) - 1, MOST_ROWS).round().astype(int)
    return [ordered[place] for place in places.tolist()]
