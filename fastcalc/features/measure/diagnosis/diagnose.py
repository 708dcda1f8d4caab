"""Measured points of one deployment, and what of it is slower than predicted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fastcalc.catalogue.schema import Engine, Parameters
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
from fastcalc.features.measure.diagnosis.slowdowns import Slowdowns, slowdowns_of
from fastcalc.features.measure.diagnosis.terms import PARTS, TERMS, SlowdownTerm
from fastcalc.formulas.sequences import evenly
from fastcalc.formulas.types import Floats
from fastcalc.written import many

DIFFERS = 0.5  # that something is slower, from which on it is named
NOTHING = 0.75  # that nothing is, from which on that is said
NAMED_TOO = 0.1  # the probability from which on a second term is named
FEWEST, MOST_NAMED = 2, 2  # points, and terms
MOST_POINTS = 200  # that are weighed together; more would say no more of few terms
ENDS = (0.1, 0.5, 0.9)  # of the interval of a slowdown, and its middle


@dataclass(frozen=True)
class TermFinding:
    """What points say of one term.

    probability : that it is slower [1]
    part : position of the part of it that most likely is
    low, slower, high : how many times, with an interval of 80 % [1]
    is_tested, is_named : whether it would show in the points, and whether it is named
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
    """What is slower than predicted, in the points of one deployment.

    predictions : of the points, before anything is named
    before : measured time over predicted, of the engine without the settings of a start [1]
    set_aside : sentences about skipped points
    deployments : where further points are looked up
    has_room : whether a log says that there is as much room for requests as predicted
    """

    predictions: Sequence[Prediction]
    belief: Belief
    before: Floats
    set_aside: Sequence[str]
    deployments: PointDeployments
    has_room: bool = False

    @cached_property
    def further(self) -> NextPoint | None:
        """The point that would tell most; None where nothing is open."""
        measured = [prediction.point for prediction in self.predictions]
        return next_point(measured, self.deployments, self.belief)

    @property
    def verdict(self) -> str:
        """Whether something ``differs``, ``nothing`` does, or the points are too ``few``."""
        if len(self.predictions) < FEWEST:
            return "few"
        if 1.0 - self.belief.nothing >= DIFFERS:
            return "differs"
        return "nothing" if self.belief.nothing >= NOTHING else "few"

    @cached_property
    def findings(self) -> list[TermFinding]:
        """What the points say of each term, the likeliest first; at most two are named."""
        belief = self.belief
        likely = {term: belief.of_any(parts_of(term)) for term in TERMS}
        order = sorted(TERMS, key=lambda term: -likely[term])
        leading = [term for term in order[1:MOST_NAMED] if likely[term] >= NAMED_TOO]
        causes = [order[0], *leading] if self.verdict == "differs" else []
        shown = set(tested(belief.slowdowns))
        return [self._finding(term, likely[term], shown, is_named=term in causes) for term in order]

    def _finding(
        self, term: SlowdownTerm, probability: float, shown: set[int], *, is_named: bool
    ) -> TermFinding:
        components = parts_of(term)
        component = max(components, key=lambda index: self.belief.of_any([index]))
        belief = self.belief
        total = np.cumsum(belief.grid_of(component))
        software = belief.slowdowns.rows.piles[0].software
        low, middle, high = (
            PARTS[component][1].times_shown(software, float(np.exp(np.interp(end, total, GRID))))
            for end in ENDS
        )
        is_tested = bool(shown & set(components))
        return TermFinding(term, probability, component, low, middle, high, is_tested, is_named)

    @property
    def named(self) -> tuple[SlowdownTerm, ...]:
        """The terms that are named."""
        return tuple(finding.term for finding in self.findings if finding.is_named)

    @property
    def terms_within_named(self) -> set[SlowdownTerm]:
        """Terms whose rates a part that is named slows as well: compute and memory, by clocks."""
        named = [PARTS[finding.part][1] for finding in self.findings if finding.is_named]
        return {
            term
            for term in set(TERMS).difference(self.named)
            for component in term.parts
            if any(component.is_within(other) for other in named)
        }

    @cached_property
    def slower(self) -> Floats:
        """How many times longer points take with what is named: low, middle, high by points. [1]"""
        positions, slowdowns = set(parts_of(*self.named)), self.belief.slowdowns
        logs, weights = [], []
        for probability, hypothesis in zip(
            self.belief.probabilities.tolist(), self.belief.hypotheses, strict=True
        ):
            components = hypothesis.parts
            if (
                set(components) <= positions
                and bool(components) == bool(positions)
                and probability > 1e-3
            ):
                logs.append(_of_grid(slowdowns, components).reshape(-1, len(slowdowns.residuals)))
                weights.append(probability * hypothesis.weights.ravel())
        columns, weight = np.concatenate(logs).T, np.concatenate(weights)
        return np.exp(np.stack([_quantiles(column, weight) for column in columns], axis=-1))


def _of_grid(slowdowns: Slowdowns, components: Sequence[int]) -> Floats:
    """Return the logarithms of how much longer points take, by places of the grid of each part."""
    grids = [slowdowns.at(index, GRID) for index in components]
    if len(grids) == 2:
        return together(tuple(components), grids[0][:, np.newaxis], grids[1][np.newaxis])
    return grids[0] if grids else np.zeros((1, len(slowdowns.residuals)))


def _quantiles(values: Floats, weights: Floats) -> Floats:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return np.interp(ENDS, total / total[-1], values[order])


class UndiagnosedError(InputError):
    """Points of which none says anything about a deployment.

    line : of the first that was refused; 0 where no line is at fault
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
    has_room: bool = False,
) -> Diagnosis:
    """Return what of a deployment is slower than predicted, all under one engine if it is given.

    limits : parameters that its server was started with
    has_room : whether its log says that there is as much room for requests as predicted

    Raises InputError if no point of it can be predicted.
    """
    plain = PointDeployments(catalogue, engine)
    deployments = plain
    if limits is not None:
        limited = engine.limited(limits) if engine else None
        deployments = PointDeployments(replace(catalogue, limits=limits), limited)
    batches, reasons = gather(points, deployments)
    set_aside = [f"{points[at].id}: {reason}" for at, reason in sorted(reasons.items())]
    if not batches:
        why = "; ".join(list(dict.fromkeys(reasons.values()))[:3]) or "the file holds no point"
        raise UndiagnosedError(why, points[min(reasons)].line if reasons else 0)
    batches, elsewhere = _of_one_deployment(batches)
    possible, impossible = _plausible(batches)
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
    """Return the batches of the deployment with most points, and a sentence for each other one.

    The number of chips may differ: one chip and several tell what links cost.
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


def _plausible(batches: Sequence[Batch]) -> tuple[list[Point], list[str]]:
    """Return the points that software may reach, and a sentence about each of the others."""
    predictions = predictions_of(rows_of(batches))
    reasons = {prediction.point.id: _refused(prediction) for prediction in predictions}
    possible = [one.point for one in predictions if not reasons[one.point.id]]
    return possible, [f"skipped {name}: {reason}" for name, reason in reasons.items() if reason]


def _refused(prediction: Prediction) -> str | None:
    """Say why software does not reach a point: too fast, or too slow for its unit."""
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
    sentence = f"{MOST_POINTS} of {len(points):,} points are weighed, evenly over the file"
    return evenly(points, MOST_POINTS), [sentence]
