"""Fit of the engines to the shipped evidence, with ranges and errors on held-out sources."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fastcalc.catalogue.schema.engines import Phase, RangeWidths
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.parameters import ParameterFamily, family_of
from fastcalc.evidence.predict import gather
from fastcalc.evidence.regression import Fit
from fastcalc.evidence.score import Prediction, predictions_of
from fastcalc.evidence.shipped import Evidence, fold_of
from fastcalc.evidence.speed_ranges import ENOUGH, learned, publishers_behind, ranged, unseen_kinds
from fastcalc.evidence.stacked import rows_of
from fastcalc.formulas.types import Floats

FittedKinds = Collection[tuple[str, Phase, str]]
"""The chip classes whose measurements are used in a fit, by engine and phase."""


@dataclass(frozen=True)
class Calibration:
    """A fit of all engines, with values by node, log-scale uncertainties, and ranges.

    publishers : The number of publishers whose measurements depend on each value.
    kinds, architectures : The chip classes (by phase) and architectures that were fitted, by
        engine.
    prefill_chips : The chips with prefill measurements from enough publishers, by engine.
    left_out : All fitted measurements, each predicted by a fit without its publisher.
    """

    family: ParameterFamily
    values: Floats
    uncertainty: Floats
    publishers: Sequence[int]
    widths: RangeWidths
    kinds: Mapping[str, Mapping[Phase, Sequence[str]]]
    architectures: Mapping[str, Sequence[str]]
    prefill_chips: Mapping[str, Sequence[str]]
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
    fitted = {
        (prediction.engine_used, prediction.phase, prediction.machine)
        for prediction in predictions_of(rows)
    }
    fitted_kinds = {engine: _kinds_of(engine, fitted, family) for engine in family.engines}
    folds = np.array([str(fold_of(evidence.publisher(point))) for point in rows.points])
    held_out = fit.left_out(everything, folds, so_far)
    left_out = predictions_of(rows, rows.measured * np.exp(held_out))
    blind = {point.id for point in rows.points if evidence.is_blind(point)}
    behind = publishers_behind(left_out, evidence.publisher)
    unseen = unseen_kinds(left_out, evidence.publisher)
    widths = learned(left_out, blind, unseen, behind)
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
        kinds=fitted_kinds,
        architectures={owner: sorted(names - {""}) for owner, names in architectures.items()},
        prefill_chips=_prefill_chips(left_out, evidence),
        left_out=[
            prediction
            if deployment.engine.stated_range(prediction.phase)
            else ranged(prediction, widths, unseen=alone, behind=count)
            for prediction, deployment, count, alone in zip(
                left_out, rows.deployments, behind, unseen, strict=True
            )
        ],
    )


def fit_of(evidence: Evidence, catalogue: Catalogue) -> Fit:
    """Prepare the fit of a catalogue's engines to evidence."""
    points = [point for point in evidence.points if evidence.is_fitted(point)]
    batches, _ = gather(points, PointDeployments(catalogue))
    return Fit(family_of(catalogue.engine_files()), rows_of(batches))


_DEPENDS = 0.05
"""The elasticity above which a predicted time counts as depending on a value."""


def publishers_of(fit: Fit, logs: Floats, evidence: Evidence) -> list[int]:
    """Count the publishers whose measurements depend on each value."""
    publishers = np.array([evidence.publisher(point) for point in fit.rows.points])
    depends = np.abs(fit.jacobian(logs)) >= _DEPENDS
    return [len(np.unique(publishers[column])) for column in depends.T]


def _kinds_of(engine: str, fitted: FittedKinds, family: ParameterFamily) -> dict[Phase, list[str]]:
    """List the chip classes used to fit an engine or, if there are none, engines that extend it."""
    is_fitted = any(name == engine for name, _, _ in fitted)
    fitted_kinds = defaultdict[Phase, set[str]](set)
    for name, phase, point_type in fitted:
        parents = (parent.id for parent in family.chain(name))
        if name == engine or (not is_fitted and engine in parents):
            fitted_kinds[phase].add(point_type)
    return {phase: sorted(fitted_kinds[phase]) for phase in sorted(fitted_kinds)}


def _prefill_chips(predictions: Sequence[Prediction], evidence: Evidence) -> dict[str, list[str]]:
    """List the chips with prefill measurements from enough publishers, by engine."""
    publishers = defaultdict[tuple[str, str], set[str]](set)
    for prediction in predictions:
        if prediction.phase == "prefill":
            cell = prediction.engine_used, prediction.point.hardware
            publishers[cell].add(evidence.publisher(prediction.point))
    chips = defaultdict[str, list[str]](list)
    for (engine, chip), names in sorted(publishers.items()):
        if len(names) >= ENOUGH:
            chips[engine].append(chip)
    return chips
