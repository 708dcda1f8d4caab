"""Predictions beside measurements, and how far apart they are by group."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastcalc.classes import class_of
from fastcalc.evaluate import range_of
from fastcalc.formulas.types import Array, Floats
from fastcalc.measured.point import Point
from fastcalc.measured.rows import Rows

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
        if self.point.is_time:
            low, high = max(self.expected / above, self.bound), self.expected * below
        else:
            low, high = self.expected / below, min(self.expected * above, self.bound)
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


def predictions_of(rows: Rows, seconds: Floats | None = None) -> list[Prediction]:
    """Return every point predicted.

    Parameters
    ----------
    rows : Rows
        Measured points.
    seconds : ndarray, optional
        Expected times from elsewhere, such as fits that left a source out. [s]
    """
    # The bound is a bound: an engine of all ones must not step over it.
    expected = np.maximum(rows.seconds() if seconds is None else seconds, rows.light)
    found = []
    for index, point in enumerate(rows.points):
        batch = rows.batches[index]
        phase = PHASES.get(batch.rule, "served")
        speed = range_of(batch.placement, phase)
        tokens = rows.tokens[index]
        one = Prediction(
            point=point,
            engine_used=batch.deployment.engine.id,
            machine=class_of(batch.deployment.hardware),
            phase=phase,
            has_experts=batch.placement.work.experts > 0,
            expected=_in_unit(expected[index], point, tokens),
            low=None,
            high=None,
            bound=_in_unit(rows.light[index], point, tokens),
        )
        found.append(one.within(speed.below, speed.above) if speed else one)
    return found


def _in_unit(seconds: float, point: Point, tokens: float) -> float:
    """Return a time as the metric has it."""
    return float(seconds) if point.is_time else float(tokens / seconds)


def groups_of(predictions: Sequence[Prediction]) -> list[Group]:
    """Return the scores of all points and of every group they fall into."""
    members: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(predictions):
        for name in _names(one):
            members[name].append(index)
    scores = _Scores.of(predictions)
    return [scores.group(name, np.array(members[name])) for name in sorted(members, key=_order)]


_GROUPS = ["all", "part", "class", "kind", "metric", "engine", "hardware", "model", "source"]


def _order(name: str) -> tuple[int, str]:
    return _GROUPS.index(name.partition(":")[0]), name


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
