"""Engines fitted on the shipped evidence: values, ranges, and what is left of unseen sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fastcalc.catalogue.schema.engines import UNSEEN
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine_class import range_group
from fastcalc.evidence.deployments import Deployments
from fastcalc.evidence.parameters import ParameterFamily, family_of
from fastcalc.evidence.predict import gather
from fastcalc.evidence.regression import Fit
from fastcalc.evidence.score import PHASES, Prediction, predictions_of
from fastcalc.evidence.shipped import Evidence
from fastcalc.evidence.speed_ranges import Interval, interval, intervals
from fastcalc.evidence.stacked import StackedPoints, rows_of
from fastcalc.formulas.types import Array, Floats


@dataclass(frozen=True)
class Calibration:
    """A fit of all engines: values by node, uncertainties in logarithms, ranges by engine.

    What is left out is every fitted point, predicted by a fit, and in ranges, without its source.
    """

    family: ParameterFamily
    values: Floats
    uncertainty: Floats
    ranges: Mapping[str, Mapping[str, Interval]]
    architectures: Mapping[str, Sequence[str]]
    left_out: Sequence[Prediction]


def calibrate(evidence: Evidence, catalogue: Catalogue) -> Calibration:
    """Fit all engines of a catalogue on evidence, without points set aside or excluded.

    Raises InputError if scipy is not installed, or an engine file is at fault.
    """
    fit = fit_of(evidence, catalogue)
    rows, family = fit.rows, family_of(catalogue.engine_files())
    everything = np.ones(len(rows.points), dtype=bool)
    logs = fit.solve(everything)
    owners = [  # the engine file that a point's range stands in
        next((e.id for e in family.chain(deployment.engine.id) if e.ranges is not None), "")
        for deployment in rows.deployments
    ]
    layout = _Ranges(rows, np.array(owners), fit.left_out(everything, rows.sources))
    ranges = layout.all(fit.left_out(everything, layout.architectures))
    return Calibration(
        family=family,
        values=np.exp(logs),
        uncertainty=fit.uncertainty(logs),
        ranges=ranges,
        architectures={
            owner: sorted({*map(str, layout.architectures[layout.owners == owner])} - {""})
            for owner in ranges
        },
        left_out=layout.predictions(),
    )


def fit_of(evidence: Evidence, catalogue: Catalogue) -> Fit:
    """Return the fit of a catalogue's engines on evidence, not yet solved."""
    points = [point for point in evidence.points if evidence.is_fitted(point)]
    batches, _ = gather(points, Deployments(catalogue))
    return Fit(family_of(catalogue.engine_files()), rows_of(batches))


class _Ranges:
    """Ranges by the engine file that they are written in."""

    def __init__(self, rows: StackedPoints, owners: Array, residuals: Floats) -> None:
        self.rows, self.owners, self.residuals = rows, owners, residuals
        self.names: list[tuple[str, str]] = []
        for batch in rows.batches:
            phase = PHASES.get(batch.rule, "served")
            group = range_group(batch.deployment.hardware, batch.placement.work.experts > 0)
            self.names.append((phase, f"{phase}-{group}"))
        self.architectures = np.array(
            [deployment.hardware.architecture or "" for deployment in rows.deployments]
        )

    def all(self, without_architecture: Floats) -> dict[str, dict[str, Interval]]:
        """Return every range that enough sources stand behind, that of unseen architectures too."""
        ranges_by_owner = {}
        for owner in sorted({*map(str, self.owners)} - {""}):
            of_owner = self.owners == owner
            if ranges := self.of(of_owner):
                unseen = interval(without_architecture[of_owner], self.architectures[of_owner])
                ranges_by_owner[owner] = ranges | {UNSEEN: unseen.at_least(ranges["decode"])}
        return ranges_by_owner

    def of(self, chosen: Array, left_out: str | None = None) -> dict[str, Interval]:
        """Return the ranges that some points give, but for those of a source."""
        names = [self.names[index] for index in np.flatnonzero(chosen)]
        return dict(intervals(self.residuals[chosen], self.rows.sources[chosen], names, left_out))

    def predictions(self) -> list[Prediction]:
        """Return every point as a stranger to the fit and to its range."""
        seconds = self.rows.measured * np.exp(self.residuals)
        predictions = predictions_of(self.rows, seconds)
        ranges: dict[tuple[str, str], dict[str, Interval]] = {}
        for index, prediction in enumerate(predictions):
            key = str(self.owners[index]), prediction.point.source_key
            if key not in ranges:
                ranges[key] = self.of(self.owners == key[0], left_out=key[1])
            spans = [
                ranges[key][name] for name in reversed(self.names[index]) if name in ranges[key]
            ]
            if spans:
                predictions[index] = prediction.within(spans[0].below, spans[0].above)
        return predictions
