"""Predictions beside measurements, and how far apart they are by group."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastcalc.catalogue.schema import SpeedRange
from fastcalc.core.estimate import range_of
from fastcalc.core.machine_class import class_of
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import Batch
from fastcalc.evidence.stacked import StackedPoints
from fastcalc.formulas.types import Array, Floats

TOLERANCE = 1.02
"""How far a measurement may be above the bound and still be called within it: rounding."""

PHASES = {
    "decode": "decode",
    "decode_batch1": "decode",
    "tpot": "decode",
    "prefill": "prefill",
    "ttft": "prefill",
}
"""What a rule of prediction measures; all others are served traffic."""

_SRAM = ("wafer", "lpu", "rdu")


@dataclass(frozen=True)
class Prediction:
    """One point: measured, expected, range and bound in the unit of its metric.

    Attributes
    ----------
    point : Point
        What was measured.
    engine_used : str
        The engine that it was predicted with.
    machine, phase : str
        Class of machine; ``decode``, ``prefill`` or ``served``.
    has_experts : bool
        Whether the model routes experts.
    expected, low, high, bound : float
        The prediction; low and high are None for a bound alone.
    """

    point: Point
    engine_used: str
    machine: str
    phase: str
    has_experts: bool
    expected: float
    low: float | None
    high: float | None
    bound: float

    def within(self, below: float, above: float) -> "Prediction":
        """Return it with another range, from expected speed / below to expected speed x above."""
        low, high = span(self.expected, self.bound, below, above, is_time=self.point.is_time)
        return replace(self, low=low, high=high)

    @property
    def factor(self) -> float:
        """How many times the expected value is off, either way. [1]"""
        ratio = self.expected / self.point.value
        return max(ratio, 1.0 / ratio)

    @property
    def bias(self) -> float:
        """Expected over measured, both as rates: above 1 is too fast. [1]"""
        ratio = self.expected / self.point.value
        return 1.0 / ratio if self.point.is_time else ratio

    @property
    def is_covered(self) -> bool:
        """Whether the measurement lies in the range."""
        if self.low is None or self.high is None:
            return False
        return self.low <= self.point.value <= self.high

    @property
    def beats_bound(self) -> bool:
        """Whether an honest measurement is above the speed of light by more than rounding."""
        if self.point.tokens_per_pass is None:
            return False
        over = self.point.value / self.bound
        return (1.0 / over if self.point.is_time else over) > TOLERANCE

    @property
    def part(self) -> str:
        """The line of the table by class that it belongs to."""
        if self.machine in _SRAM:
            return "SRAM machines"
        if self.phase == "decode" and self.has_experts and self.machine == "datacenter":
            return "decode, routed experts"
        if self.phase == "decode":
            return f"decode, {'Apple and unified' if self.machine in _SHARED else self.machine}"
        if self.phase == "prefill":
            return "prefill"
        return f"served, {'routed experts' if self.has_experts else 'dense'}"


_SHARED = ("apple", "unified")


@dataclass(frozen=True)
class Group:
    """How good the predictions of some points are.

    Attributes
    ----------
    name : str
        For example ``class:datacenter``.
    count, sources : int
        Points, and the sources they come from.
    median_factor, p90_factor : float
        Of `Prediction.factor`.
    bias : float
        Median of expected over measured rates.
    coverage : float
        Share of measurements in the range.
    bound_beaten : int
        Points above the bound.
    """

    name: str
    count: int
    sources: int
    median_factor: float
    p90_factor: float
    bias: float
    coverage: float
    bound_beaten: int


def predictions_of(rows: StackedPoints, seconds: Floats | None = None) -> list[Prediction]:
    """Return every point predicted.

    Parameters
    ----------
    rows : StackedPoints
        Measured points.
    seconds : ndarray, optional
        Expected times from elsewhere, such as fits that left a source out. [s]
    """
    # The bound is a bound: an engine of all ones must not step over it.
    expected = np.maximum(rows.seconds() if seconds is None else seconds, rows.light)
    is_time = np.array([point.is_time for point in rows.points], dtype=bool)
    values = np.where(is_time, expected, rows.tokens / expected).tolist()
    bounds = np.where(is_time, rows.light, rows.tokens / rows.light).tolist()
    known: dict[int, _Batch] = {}
    found = []
    for index, (point, batch) in enumerate(zip(rows.points, rows.batches, strict=True)):
        if id(batch) not in known:
            known[id(batch)] = _Batch.of(batch)
        about = known[id(batch)]
        low, high = about.range_about(values[index], bounds[index], is_time=point.is_time)
        found.append(
            Prediction(
                point,
                about.engine,
                about.machine,
                about.phase,
                about.has_experts,
                values[index],
                low,
                high,
                bounds[index],
            )
        )
    return found


@dataclass(frozen=True)
class _Batch:
    """What all points of a batch have in common."""

    engine: str
    machine: str
    phase: str
    has_experts: bool
    speed: SpeedRange | None

    @classmethod
    def of(cls, batch: Batch) -> "_Batch":
        phase = PHASES.get(batch.rule, "served")
        return cls(
            engine=batch.deployment.engine.id,
            machine=class_of(batch.deployment.hardware),
            phase=phase,
            has_experts=batch.placement.work.experts > 0,
            speed=range_of(batch.placement, phase),
        )

    def range_about(
        self, expected: float, bound: float, *, is_time: bool
    ) -> tuple[float | None, float | None]:
        """Return the range about a value in its own unit; none for the bound itself."""
        if self.speed is None:
            return None, None
        return span(expected, bound, self.speed.below, self.speed.above, is_time=is_time)


def span(
    expected: float, bound: float, below: float, above: float, *, is_time: bool
) -> tuple[float, float]:
    """Return low and high, from expected speed / below to x above, but never beyond the bound."""
    if is_time:
        return max(expected / above, bound), expected * below
    return expected / below, min(expected * above, bound)


def groups_of(predictions: Sequence[Prediction]) -> list[Group]:
    """Return the scores of all points and of every group they fall into."""
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, one in enumerate(predictions):
        alike[_traits(one)].append(index)
    members: dict[str, list[int]] = defaultdict(list)
    for indices in alike.values():
        for name in _names(predictions[indices[0]]):
            members[name] += indices
    scores = _Scores.of(predictions)
    return [scores.group(name, np.array(members[name])) for name in sorted(members, key=_order)]


_GROUPS = ["all", "part", "class", "kind", "metric", "engine", "hardware", "model", "source"]


def _order(name: str) -> tuple[int, str]:
    return _GROUPS.index(name.partition(":")[0]), name


def _traits(one: Prediction) -> tuple[object, ...]:
    """Return what the groups of a point hang on."""
    point = one.point
    about = (one.engine_used, one.machine, one.phase, one.has_experts)
    return (*about, point.kind, point.metric, point.hardware, point.model, point.source_key)


def _names(one: Prediction) -> Iterable[str]:
    point = one.point
    yield "all"
    yield f"part:{one.part}"
    yield f"class:{one.machine}"
    yield f"kind:{point.kind or one.phase}"
    yield f"metric:{point.metric}"
    yield f"engine:{one.engine_used}"
    yield f"hardware:{point.hardware}"
    yield f"model:{point.model}"
    yield f"source:{point.source_key}"


@dataclass(frozen=True)
class _Scores:
    """What every prediction adds to its groups: each is judged once, however many it is in."""

    sources: Array
    factor: Floats
    bias: Floats
    is_covered: Array
    beats_bound: Array

    @classmethod
    def of(cls, predictions: Sequence[Prediction]) -> "_Scores":
        return cls(
            sources=np.array([one.point.source_key for one in predictions]),
            factor=np.array([one.factor for one in predictions]),
            bias=np.array([one.bias for one in predictions]),
            is_covered=np.array([one.is_covered for one in predictions]),
            beats_bound=np.array([one.beats_bound for one in predictions]),
        )

    def group(self, name: str, members: Array) -> Group:
        return Group(
            name=name,
            count=len(members),
            sources=len(set(self.sources[members])),
            median_factor=float(np.median(self.factor[members])),
            p90_factor=float(np.percentile(self.factor[members], 90)),
            bias=float(np.median(self.bias[members])),
            coverage=float(np.mean(self.is_covered[members])),
            bound_beaten=int(np.count_nonzero(self.beats_bound[members])),
        )
