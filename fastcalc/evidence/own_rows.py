"""Conversion of a user's measurements into rows of an engine file, by deployment."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np

from fastcalc.catalogue.schema import Engine
from fastcalc.catalogue.schema.own_rows import OwnDeployment, OwnRow
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.point import Point
from fastcalc.evidence.points import Points
from fastcalc.evidence.predict import Batch, gather
from fastcalc.evidence.score import IMPLAUSIBLE, TOLERANCE, TOO_SLOW
from fastcalc.evidence.stacked import StackedPoints, rows_of
from fastcalc.formulas.sequences import evenly
from fastcalc.formulas.types import Floats
from fastcalc.written import without_controls

MOST_ROWS = 64
"""The maximum number of rows kept per deployment; more rows within a factor of ten add little."""

_DIGITS = 6
_SPECULATED = (
    "a run with speculative decoding (several tokens per chunk) whose tokens per step are not "
    "stated, so its plain decode speed is unknown"
)
_RANKS = ("tp", "pp", "ep", "dp")
_KEYS = ("hardware", "model", "weights", "kv", "chips", *_RANKS)
_ROW = ("batch", "context", "prompt", "decode_share", "slower", "drafted")


@dataclass(frozen=True)
class OwnRows:
    """Converts the measurements in a file for an engine.

    engine : The engine including the measured deployments.
    left_aside : The number of skipped rows for each reason.
    inherited : The number of rows used that were measured with another engine, by engine id.
    """

    engine: Engine
    left_aside: dict[str, int]
    inherited: Counter[str]


def own_rows(
    measured: Points, catalogue: Catalogue, base: Engine, file: Path, *, any_engine: bool
) -> OwnRows:
    """Add the deployments measured in the rows of a file to an engine.

    any_engine : Whether to use rows of other engines as well.

    Raises InputError with the first reasons if none of the rows can be predicted.
    """
    points, left_aside = measured.points, defaultdict[str, int](int)
    for skipped in measured.skipped:
        left_aside[skipped.reason] += 1
    usable, inherited = list[Point](), Counter[str]()
    for point in points:
        if point.is_offloaded:
            left_aside["part of the model was on a host"] += 1
        elif point.is_speculation_inferred:
            left_aside[_SPECULATED] += 1
        elif not (any_engine or _applies_to(base, measured_with := _engine_of(point, catalogue))):
            left_aside[f"measured with {point.engine}, not {base.id}"] += 1
        else:
            usable.append(point)
            if not any_engine and measured_with and measured_with.id != base.id:
                inherited[measured_with.id] += 1
    plain = base.model_copy(update={"own_deployments": []})
    batches, reasons = gather(usable, PointDeployments(catalogue, plain))
    for reason in reasons.values():
        left_aside[reason] += 1
    if not batches:
        raise InputError(_nothing(file, points, left_aside))
    members, dates, refused = _members(batches)
    for reason, count in refused.items():
        left_aside[reason] += count
    if not members:
        raise InputError(_nothing(file, points, left_aside))
    deployments = [
        OwnDeployment.model_validate(
            {
                **dict(zip(_KEYS, key, strict=True)),
                "file": without_controls(file.name),
                "date": dates[key],
                "rows": rows,
            }
        )
        for key, rows in members.items()
    ]
    engine = base.model_copy(update={"own_deployments": deployments})
    return OwnRows(engine, dict(left_aside), inherited)


def _applies_to(engine: Engine, measured_with: Engine | None) -> bool:
    """Check whether a measurement applies to an engine.

    It applies if it was made with this engine, with an unknown engine, or with one that this engine
    extends and that is the same program: rows from vLLM may come from any release, and do not say
    whether graphs were used.
    """
    if measured_with is None or measured_with.id == engine.id:
        return True
    return measured_with.id in engine.bases and measured_with.program == engine.program


def _engine_of(point: Point, catalogue: Catalogue) -> Engine | None:
    """Return the engine of a measurement, or None if it is missing or unknown."""
    stated = point.engine.lower()
    is_in_catalogue = catalogue.known("engines").issuperset(stated.split("+"))
    return catalogue.engine(stated) if is_in_catalogue else None


def _nothing(file: Path, points: Sequence[Point], left_aside: dict[str, int]) -> str:
    line = points[0].line if points else 1
    why = "; ".join(list(left_aside)[:3]) or "it holds no point"
    return f"{file}:{line}:1: none of its rows can be used: {why}"


_TOO_FAST = (
    "faster than the specifications of these chips allow: are the chip and the units right, are "
    "weights quantized further, or was speculative decoding used?"
)

_Key = tuple[object, ...]
"""The key of a deployment: chip, model, formats and given layout."""

_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?", re.ASCII)


def _members(
    batches: Sequence[Batch],
) -> tuple[dict[_Key, list[OwnRow]], dict[_Key, str], Counter[str]]:
    """Group rows by deployment, with their latest date, and count implausible rows."""
    rows, refused = defaultdict[_Key, list[OwnRow]](list), Counter[str]()
    dates = defaultdict[_Key, str](str)
    for batch in batches:
        placed, work = batch.deployment, batch.deployment.work
        stated = placed.stated
        ranks = (stated.tp, stated.pp, stated.ep, stated.dp)
        names = (placed.hardware.id, placed.model.id, work.weight_format, work.kv_format)
        stacked = rows_of([batch])
        expected = np.maximum(stacked.seconds(), stacked.bound)
        is_fast = np.ravel(stacked.measured * TOLERANCE < stacked.bound)
        is_slow = np.ravel(stacked.measured > IMPLAUSIBLE * expected)
        refused.update({_TOO_FAST: int(np.sum(is_fast)), TOO_SLOW: int(np.sum(is_slow))})
        possible = compress(rows_over(batch, stacked, expected), ~(is_fast | is_slow))
        key = (*names, batch.placement.layout.chips, *ranks)
        rows[key] += possible
        stated_dates = (point.date for point in batch.points if _DATE.fullmatch(point.date))
        dates[key] = max([dates[key], *stated_dates])
    thin = {key: _thinned(of_deployment) for key, of_deployment in rows.items() if of_deployment}
    return thin, dates, +refused


def rows_over(batch: Batch, stacked: StackedPoints, expected: Floats) -> list[OwnRow]:
    """Return the ratio of measured to expected time for each measurement in a batch."""
    timeline = batch.recipe.timeline
    traffic = timeline.passes.traffic
    columns = (
        timeline.passes.batch,
        traffic.context,
        traffic.computed_prompt,
        timeline.decode_share,
        stacked.measured / expected,
        traffic.speculation.drafted,
    )
    shape = stacked.measured.shape
    rows = zip(*(np.broadcast_to(column, shape).tolist() for column in columns), strict=True)
    return [
        OwnRow.model_validate(
            {name: f"{number:.{_DIGITS}g}" for name, number in zip(_ROW, row, strict=True)}
            | {"point": point.id, "metric": point.metric}
        )
        for point, row in zip(batch.points, rows, strict=True)
    ]


def _thinned(rows: list[OwnRow]) -> list[OwnRow]:
    """Reduce rows to the maximum number, evenly spaced from the smallest to the largest batch."""
    if len(rows) <= MOST_ROWS:
        return rows
    return evenly(sorted(rows, key=lambda row: (row.batch, row.context)), MOST_ROWS)
