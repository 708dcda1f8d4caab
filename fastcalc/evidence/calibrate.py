"""Fit of the engines to the shipped evidence, with ranges and errors on held-out sources."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fastcalc.catalogue.schema.engines import Phase, RangeWidths
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.parameters import ParameterFamily, family_of
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import gather
from fastcalc.evidence.regression import Fit
from fastcalc.evidence.score import Prediction, predictions_of
from fastcalc.evidence.shipped import Evidence, fold_of
from fastcalc.evidence.speed_ranges import learned, publishers_behind, ranged
from fastcalc.evidence.stacked import StackedPoints, rows_of
from fastcalc.formulas.types import Floats

Cell = tuple[str, Phase, str]
"""An engine, a phase and a chip."""


@dataclass(frozen=True)
class Calibration:
    """A fit of all engines, with values by node, log-scale uncertainties, and ranges.

    publishers : The number of publishers whose measurements depend on each value.
    cells : The number of publishers of each chip, by engine and phase.
    architectures : The architectures that were fitted, by engine.
    left_out : All fitted measurements, each predicted by a fit without its publisher.
    """

    family: ParameterFamily
    values: Floats
    uncertainty: Floats
    publishers: Sequence[int]
    widths: RangeWidths
    cells: Mapping[str, Mapping[Phase, Mapping[str, int]]]
    architectures: Mapping[str, Sequence[str]]
    left_out: Sequence[Prediction]


def calibrate(
    evidence: Evidence,
    catalogue: Catalogue,
    so_far: Callable[[int, int], None] = lambda _fits, _all: None,
) -> Calibration:
    """Fit all engines in a catalogue to evidence, and their ranges to held-out publishers.

    so_far : A progress callback that receives the number of fits done and the total.

    Raises InputError if scipy is not installed or if an engine file is invalid.
    """
    fit = fit_of(evidence, catalogue)
    rows, family = fit.rows, family_of(catalogue.engine_files())
    everything = np.ones(len(rows.points), dtype=bool)
    logs = fit.solve(everything)
    folds = np.array([str(fold_of(evidence.publisher(point))) for point in rows.points])
    held_out = fit.left_out(everything, folds, so_far)
    left_out = predictions_of(rows, rows.measured * np.exp(held_out))
    behind = publishers_behind(left_out, evidence.publisher)
    widths = widths_of(left_out, awaiting(evidence, catalogue, fit, logs), evidence)
    cells = defaultdict[Cell, set[str]](set)
    for prediction in left_out:
        cell = prediction.engine_used, prediction.phase, prediction.point.hardware
        cells[cell].add(evidence.publisher(prediction.point))
    architectures = defaultdict(set)
    for deployment in rows.deployments:
        naming = (e.id for e in family.chain(deployment.engine.id) if e.fitted_architectures)
        architectures[next(naming, "")].add(deployment.hardware.architecture or "")
    return Calibration(
        family=family,
        values=np.exp(logs),
        uncertainty=fit.uncertainty(logs),
        publishers=publishers_of(fit, logs, evidence),
        widths=widths,
        cells={engine: publishers_by_chip(engine, cells, family) for engine in family.engines},
        architectures={owner: sorted(names - {""}) for owner, names in architectures.items()},
        left_out=[
            prediction
            if deployment.engine.stated_range(prediction.phase)
            else ranged(prediction, widths, behind=count)
            for prediction, deployment, count in zip(
                left_out, rows.deployments, behind, strict=True
            )
        ],
    )


def fit_of(evidence: Evidence, catalogue: Catalogue) -> Fit:
    """Prepare the fit of a catalogue's engines to evidence."""
    points = [point for point in evidence.points if evidence.is_fitted(point)]
    return Fit(family_of(catalogue.engine_files()), rows_of_points(points, catalogue))


def awaiting(evidence: Evidence, catalogue: Catalogue, fit: Fit, logs: Floats) -> list[Prediction]:
    """Predict the measurements that arrived after a fit with its log values."""
    points = [point for point in evidence.points if evidence.is_awaiting(point)]
    if not points:
        return []
    rows = rows_of_points(points, catalogue)
    return predictions_of(rows, rows.measured * np.exp(Fit(fit.family, rows).residuals(logs)))


def widths_of(
    fitted: Sequence[Prediction], later: Sequence[Prediction], evidence: Evidence
) -> RangeWidths:
    """Calibrate ranges on fitted measurements and on those that arrived after the fit.

    fitted : The predictions by fits without the publisher.
    """
    everything = [*fitted, *later]
    points = [prediction.point for prediction in everything]
    blind = {point.id for point in points if evidence.is_blind(point)}
    return learned(everything, blind, publishers_behind(everything, evidence.publisher, fitted))


def rows_of_points(points: Sequence[Point], catalogue: Catalogue) -> StackedPoints:
    """Stack the predictable measurements so that fits can evaluate them quickly."""
    batches, _ = gather(points, PointDeployments(catalogue))
    return rows_of(batches)


_DEPENDS = 0.05
"""The elasticity above which a predicted time counts as depending on a value."""


def publishers_of(fit: Fit, logs: Floats, evidence: Evidence) -> list[int]:
    """Count the publishers whose measurements depend on each value."""
    publishers = np.array([evidence.publisher(point) for point in fit.rows.points])
    depends = np.abs(fit.jacobian(logs)) >= _DEPENDS
    return [len(np.unique(publishers[column])) for column in depends.T]


def publishers_by_chip(
    engine: str, cells: Mapping[Cell, Collection[str]], family: ParameterFamily
) -> dict[Phase, dict[str, int]]:
    """Count the publishers of an engine or, if it has none, of engines that extend it.

    cells : The publishers by engine, phase and chip.
    """
    is_fitted = any(name == engine for name, *_ in cells)
    names = defaultdict[tuple[Phase, str], set[str]](set)
    for (name, phase, chip), publishers in cells.items():
        parents = (parent.id for parent in family.chain(name))
        if name == engine or (not is_fitted and engine in parents):
            names[phase, chip] |= set(publishers)
    counts = defaultdict[Phase, dict[str, int]](dict)
    for (phase, chip), publishers in sorted(names.items()):
        counts[phase][chip] = len(publishers)
    return dict(counts)
