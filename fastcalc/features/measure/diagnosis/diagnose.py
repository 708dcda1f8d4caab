"""The diagnosis of a deployment: terms that are slower than predicted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fastcalc.catalogue.schema import Engine, Model, Parameters
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import Batch, gather
from fastcalc.evidence.score import TOO_SLOW, Prediction, predictions_of
from fastcalc.evidence.stacked import rows_of
from fastcalc.features.measure.diagnosis.belief import (
    GRID,
    Belief,
    believe,
    parts_of,
    tested,
    together,
)
from fastcalc.features.measure.diagnosis.next_point import NextPoint, next_point
from fastcalc.features.measure.diagnosis.slowdowns import slowdowns_of
from fastcalc.features.measure.diagnosis.terms import PARTS, TERMS, SlowdownTerm
from fastcalc.formulas.sequences import evenly
from fastcalc.formulas.types import Floats
from fastcalc.written import many

DIFFERS = 0.5  # probability from which on a slower term is named
NOTHING = 0.75  # probability from which on the verdict is that nothing is slower
NAMED_TOO = 0.1  # probability from which on a second term is named
FEWEST, MOST_NAMED = 2, 2  # fewest measurements, and most named terms
MOST_POINTS = 200  # most measurements evaluated together; more would add no information
ENDS = (0.1, 0.5, 0.9)  # quantiles of a slowdown: ends of the range, and median


@dataclass(frozen=True)
class TermFinding:
    """Summarizes what the measurements say about one term.

    probability : The probability that it is slower.
    part : The index of its most likely slow part.
    low, slower, high : The slowdown factor with its 80% range.
    is_tested, is_named : Whether a slowdown would be visible, and whether the term is named.
    """

    term: SlowdownTerm
    probability: float
    part: int
    low: float
    slower: float
    high: float
    is_tested: bool
    is_named: bool


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis of a deployment from its measurements.

    predictions : The predictions of the measurements, before causes are named.
    before : The measured / predicted time, by the engine without the settings of a start.
    set_aside : Sentences on skipped measurements.
    deployments : The deployments for which further measurements may be suggested.
    has_room : Whether a log shows that memory for requests is as large as predicted.
    """

    predictions: Sequence[Prediction]
    belief: Belief
    before: Floats
    set_aside: Sequence[str]
    deployments: PointDeployments
    has_room: bool

    @cached_property
    def further(self) -> NextPoint | None:
        """The most informative next measurement, or None if nothing is left to decide."""
        measured = [prediction.point for prediction in self.predictions]
        return next_point(measured, self.deployments, self.belief)

    @property
    def verdict(self) -> str:
        """The verdict: ``differs``, ``nothing`` (is slower), or ``few`` (too few measurements)."""
        if len(self.predictions) < FEWEST:
            return "few"
        if 1.0 - self.belief.nothing >= DIFFERS:
            return "differs"
        return "nothing" if self.belief.nothing >= NOTHING else "few"

    @cached_property
    def findings(self) -> list[TermFinding]:
        """The findings for all terms, the most likely first. At most two are named."""
        belief = self.belief
        likely = {term: belief.of_any(parts_of(term)) for term in TERMS}
        order = sorted(TERMS, key=lambda term: -likely[term])
        leading = [term for term in order[1:MOST_NAMED] if likely[term] >= NAMED_TOO]
        causes = [order[0], *leading] if self.verdict == "differs" else []
        shown = set(tested(belief.slowdowns))
        software, findings = belief.slowdowns.rows.piles[0].software, []
        for term in order:
            components = parts_of(term)
            part = max(components, key=lambda index: belief.of_any([index]))
            total, shows = np.cumsum(belief.grid_of(part)), PARTS[part][1].times_shown
            factors = [float(np.exp(np.interp(end, total, GRID))) for end in ENDS]
            low, middle, high = (shows(software, factor) for factor in factors)
            is_tested, is_named = bool(shown & set(components)), term in causes
            findings.append(
                TermFinding(term, likely[term], part, low, middle, high, is_tested, is_named)
            )
        return findings

    @property
    def named(self) -> tuple[SlowdownTerm, ...]:
        """The terms named as causes."""
        return tuple(finding.term for finding in self.findings if finding.is_named)

    @property
    def terms_within_named(self) -> set[SlowdownTerm]:
        """The terms that a named part also slows down, such as compute and memory by low clocks."""
        named = [PARTS[finding.part][1] for finding in self.findings if finding.is_named]
        return {
            term
            for term in set(TERMS).difference(self.named)
            for component in term.parts
            if any(component.is_within(other) for other in named)
        }

    @cached_property
    def slower(self) -> Floats:
        """How much the named causes slow down each measurement: low, median, high."""
        positions, slowdowns = set(parts_of(*self.named)), self.belief.slowdowns
        named = [
            (probability, hypothesis)
            for probability, hypothesis in zip(
                self.belief.probabilities.tolist(), self.belief.hypotheses, strict=True
            )
            if {*hypothesis.parts} <= positions and bool(hypothesis.parts) == bool(positions)
        ]
        least = min(_RARE, max(probability for probability, _ in named))
        logs, weights = [], []
        for probability, hypothesis in named:
            if probability >= least:
                grids = [slowdowns.at(index, GRID) for index in hypothesis.parts]
                if len(grids) == 2:
                    of_grid = together(
                        tuple(hypothesis.parts), grids[0][:, np.newaxis], grids[1][np.newaxis]
                    )
                else:
                    of_grid = grids[0] if grids else np.zeros((1, len(slowdowns.residuals)))
                logs.append(of_grid.reshape(-1, len(slowdowns.residuals)))
                weights.append(probability * hypothesis.weights.ravel())
        columns, weight = np.concatenate(logs).T, np.concatenate(weights)
        quantiles = []
        for column in columns:
            at = np.argsort(column)
            summed = np.cumsum(weight[at])
            quantiles.append(np.interp(ENDS, summed / summed[-1], column[at]))
        slower: Floats = np.exp(np.stack(quantiles, axis=-1))
        return slower


_RARE = 1e-3
"""Probability below which a hypothesis is dropped, unless all are less likely."""


class UndiagnosedError(InputError):
    """Raised if no measurement is usable for a diagnosis.

    line : The line of the first rejected measurement, or 0 if the cause is not a line.
    """

    def __init__(self, reasons: str, line: int) -> None:
        super().__init__(f"nothing can be diagnosed: {reasons}")
        self.line = line


def diagnose(
    points: Sequence[Point],
    catalogue: Catalogue,
    engine: Engine | None = None,
    limits: Parameters | None = None,
    *,
    draft: Model | None = None,
    has_room: bool = False,
) -> Diagnosis:
    """Diagnose a deployment from its measurements, with the given engine if there is one.

    draft : The separate draft model of the server.
    limits : The parameters the server was started with.
    has_room : Whether its log shows that memory for requests is as large as predicted.

    Raises InputError if no measurement can be predicted.
    """
    plain = PointDeployments(catalogue, engine, draft)
    deployments = plain
    if limits is not None:
        limited = engine.limited(limits) if engine else None
        deployments = PointDeployments(replace(catalogue, limits=limits), limited, draft)
    batches, reasons = gather(points, deployments)
    set_aside = [f"{points[at].id}: {reason}" for at, reason in sorted(reasons.items())]
    if not batches:
        why = "; ".join(list(dict.fromkeys(reasons.values()))[:3]) or "the file holds no point"
        raise UndiagnosedError(why, points[min(reasons)].line if reasons else 0)
    batches, elsewhere = _of_one_deployment(batches)
    predictions = predictions_of(rows_of(batches))
    refusals = {prediction.point.id: _refused(prediction) for prediction in predictions}
    possible = [one.point for one in predictions if not refusals[one.point.id]]
    impossible = [f"skipped {name}: {why}" for name, why in refusals.items() if why]
    if not possible:
        raise UndiagnosedError("; ".join(impossible[:3]), 0)
    weighed, sampled = _few_enough(possible)
    batches, _ = gather(weighed, deployments)
    slowdowns = slowdowns_of(batches, has_room=has_room)
    by_default = rows_of(gather(weighed, plain)[0])
    times = by_default.measured / np.maximum(by_default.seconds(), by_default.bound)
    before = {id(point): time for point, time in zip(by_default.points, times, strict=True)}
    return Diagnosis(
        predictions=predictions_of(slowdowns.rows),
        belief=believe(slowdowns),
        before=np.array(
            [
                before.get(id(point), time)
                for point, time in zip(
                    slowdowns.rows.points, np.exp(slowdowns.residuals), strict=True
                )
            ]
        ),
        set_aside=[*set_aside, *elsewhere, *impossible, *sampled],
        deployments=deployments,
        has_room=has_room,
    )


def _of_one_deployment(batches: Sequence[Batch]) -> tuple[list[Batch], list[str]]:
    """Select the deployment with the most measurements, and describe the others in sentences.

    The number of chips may differ, since it reveals the cost of links.
    """
    groups: dict[str, list[Batch]] = {}
    for batch in batches:
        deployment, point = batch.deployment, batch.points[0]
        formats = " ".join(filter(None, (point.weights, point.kv)))
        name = f"{deployment.model.id} {formats}".strip()
        key = f"{name} on {deployment.hardware.id} under {deployment.engine.id}"
        groups.setdefault(key, []).append(batch)
    counts = {name: sum(len(batch.points) for batch in group) for name, group in groups.items()}
    largest = max(counts, key=lambda name: counts[name])
    return groups[largest], [
        f"skipped {many(count, 'point')} of {name}: a diagnosis covers one deployment, here "
        f"{largest}"
        for name, count in counts.items()
        if name != largest
    ]


def _refused(prediction: Prediction) -> str | None:
    """Explain why a measurement is implausible: too fast, or too slow for its unit."""
    if prediction.is_implausible:
        return f"{prediction.point.value:g} is {TOO_SLOW}"
    if not prediction.beats_bound:
        return None
    return (
        f"{prediction.point.value:g} exceeds the hardware bound of these chips "
        f"({prediction.bound:.4g}); check its unit, chips and format"
    )


def _few_enough(points: Sequence[Point]) -> tuple[Sequence[Point], list[str]]:
    if len(points) <= MOST_POINTS:
        return points, []
    sentence = f"{MOST_POINTS} of {len(points):,} points are used, evenly spread over the file"
    return evenly(points, MOST_POINTS), [sentence]
