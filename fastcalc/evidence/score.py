"""Predictions for measurements, and prediction errors by group."""

from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastcalc.catalogue.schema.engines import Phase
from fastcalc.core.chip.machine_class import SRAM_CLASSES, class_of
from fastcalc.core.speed_range import speed_range
from fastcalc.evidence.point import Point
from fastcalc.evidence.stacked import StackedPoints
from fastcalc.formulas.types import Floats

TOLERANCE = 1.02  # ratio to the bound that is still attributed to rounding
IMPLAUSIBLE = 100.0
"""The ratio of measured to expected time at which the unit is questioned, since s and ms differ by
1000."""
TOO_SLOW = (
    f"over {IMPLAUSIBLE:.0f} times slower than expected: is the value in the unit of its metric "
    "(tpot_s and ttft_s are seconds), and are chip, model and batch right?"
)
_CLASSES = dict.fromkeys(("apple", "unified"), "unified memory") | {"npu": "NPU", "tpu": "TPU"}
SRAM = "SRAM machines"
"""The class of machines whose engines are based on few published speeds."""
PHASES: dict[str, Phase] = {
    "decode": "decode",
    "decode_batch1": "decode",
    "tpot": "decode",
    "prefill": "prefill",
    "burst": "prefill",
    "ttft": "prefill",
}
"""The phase measured by each prediction rule; all others measure served traffic."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A measurement with its expected value, range and bound in the unit of its metric.

    machine, phase : The machine class; ``decode``, ``prefill`` or ``served``.
    low, high : The limits of the range, or None if there is only a hardware bound.
    assumed : The assumptions about the layout, and about the waves of a static batch.
    typical : The median speed over possible layouts, relative to the expected speed.
    fitted_share : The fitted fraction of the expected time.
    """

    point: Point
    engine_used: str
    machine: str
    phase: Phase
    has_experts: bool
    expected: float
    low: float | None
    high: float | None
    bound: float
    assumed: str | None = None
    typical: float = 1.0
    fitted_share: float = 1.0

    def within(self, below: float, above: float) -> "Prediction":
        """Add a range that covers the expected speed and the median speed over layouts."""
        below, above = below * max(1.0 / self.typical, 1.0), above * max(self.typical, 1.0)
        if self.point.is_time:
            low, high = max(self.expected / above, self.bound), self.expected * below
        else:
            low, high = self.expected / below, min(self.expected * above, self.bound)
        return replace(self, low=low, high=high)

    @property
    def factor(self) -> float:
        """The error factor of the expected value, in either direction."""
        ratio = self.expected / self.point.value
        return max(ratio, 1.0 / ratio)

    @property
    def bias(self) -> float:
        """The ratio of expected to measured rate. Above 1, the prediction is too fast."""
        ratio = self.expected / self.point.value
        return 1.0 / ratio if self.point.is_time else ratio

    @property
    def is_covered(self) -> bool:
        """Whether the measurement is within the range."""
        if self.low is None or self.high is None:
            return False
        return self.low <= self.point.value <= self.high

    @property
    def beats_bound(self) -> bool:
        """Whether a valid measurement exceeds the bound by more than rounding error."""
        if self.point.tokens_per_pass is None:
            return False
        over = self.point.value / self.bound
        return (1.0 / over if self.point.is_time else over) > TOLERANCE

    @property
    def is_implausible(self) -> bool:
        """Whether the measurement is so slow that its unit is questionable."""
        return self.bias > IMPLAUSIBLE

    @property
    def part(self) -> str:
        """The row of the table of classes to which the measurement belongs."""
        if self.machine == "offload":
            return "part of the model on a host"
        if self.machine in SRAM_CLASSES:
            return SRAM
        if self.phase == "prefill":
            return "prefill"
        if self.phase == "served":
            return f"served, {'MoE' if self.has_experts else 'dense'}"
        if self.has_experts and self.machine == "datacenter":
            return "decode, MoE"
        return f"decode, {_CLASSES.get(self.machine, self.machine)}"


@dataclass(frozen=True)
class Group:
    """Summarizes the prediction errors of a group of measurements, such as ``class:datacenter``.

    bias, coverage : The median ratio of expected to measured rates, and the fraction of
        measurements within their range.
    bound_beaten : The number of measurements that beat the bound.
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
    """Predict all measurements, optionally from given times in seconds."""
    # An engine whose parameters are all 1 must not beat the bound.
    expected = np.maximum(_as_measured(rows) if seconds is None else seconds, rows.bound)
    is_time = np.array([point.is_time for point in rows.points], dtype=bool)
    values = np.where(is_time, expected, rows.tokens / expected).tolist()
    fractions = rows.fitted_share
    bounds = np.where(is_time, rows.bound, rows.tokens / rows.bound).tolist()
    typical = rows.typical.tolist()
    predictions: list[Prediction] = []
    for batch in dict.fromkeys(rows.batches):
        phase, has_experts = PHASES.get(batch.rule, "served"), batch.placement.work.experts > 0
        is_offloaded, hardware = batch.points[0].is_offloaded, batch.deployment.hardware
        machine = "offload" if is_offloaded else class_of(hardware)
        about = batch.deployment.engine.id, machine, phase, has_experts
        fraction = fractions[len(predictions) :][: len(batch.points)]
        reach = speed_range(
            batch.placement, phase, fitted_share=fraction, is_offloaded=is_offloaded
        )
        narrowed = batch.recipe.timeline.narrowed
        limits = [edge**narrowed for edge in reach] if reach else []
        edges = np.broadcast_arrays(*limits, fraction)[: len(limits)]
        for row, (point, assumed) in enumerate(zip(batch.points, batch.assumptions, strict=True)):
            index = len(predictions)
            prediction = Prediction(
                point,
                *about,
                values[index],
                None,
                None,
                bounds[index],
                assumed,
                typical[index],
                fitted_share=fraction.item(row),
            )
            ends = [edge.item(row) for edge in edges]
            predictions.append(prediction.within(*ends) if ends else prediction)
    return predictions


def _as_measured(rows: StackedPoints) -> Floats:
    """Compute each measurement's time, corrected by the engine's own rows, if any, in seconds."""
    seconds, first = rows.seconds(), 0
    for batch in dict.fromkeys(rows.batches):
        after = first + len(batch.points)
        if batch.recipe.timeline.passes.own:
            seconds[first:after] = batch.recipe.timeline.seconds
        first = after
    return seconds


def groups_of(predictions: Sequence[Prediction]) -> list[Group]:
    """Score all measurements together, and by group."""
    if not predictions:
        return []
    alike: dict[tuple[object, ...], tuple[dict[str, str], array[int]]] = {}
    sources: dict[str, int] = {}
    scores = np.zeros((len(predictions), 5))
    for index, prediction in enumerate(predictions):
        point = prediction.point
        about = prediction.engine_used, prediction.machine, prediction.phase, prediction.has_experts
        key = (*about, point.kind, point.metric, point.hardware, point.model, point.source_key)
        if key not in alike:
            alike[key] = _names(prediction), array("i")
        alike[key][1].append(index)
        source = sources.setdefault(point.source_key, len(sources))
        errors = prediction.factor, prediction.bias
        scores[index] = *errors, prediction.is_covered, prediction.beats_bound, source
    members: dict[str, list[array[int]]] = defaultdict(list)
    for names, indices in alike.values():
        for group, name in names.items():
            members[group if group == "all" else f"{group}:{name}"].append(indices)
    order = list(_names(predictions[0]))
    return [
        _group(name, scores[np.concatenate(positions)])
        for name, positions in sorted(
            members.items(), key=lambda pair: (order.index(pair[0].partition(":")[0]), pair[0])
        )
    ]


def _group(name: str, scores: Floats) -> Group:
    """Build a group from the scores of its measurements, in the form used by `groups_of`."""
    factor, bias, is_covered, beats_bound, source = scores.T
    return Group(
        name=name,
        count=len(scores),
        sources=len(np.unique(source)),
        median_factor=float(np.median(factor)),
        p90_factor=float(np.percentile(factor, 90)),
        bias=float(np.median(bias)),
        coverage=float(np.mean(is_covered)),
        bound_beaten=int(np.count_nonzero(beats_bound)),
    )


def _names(prediction: Prediction) -> dict[str, str]:
    point = prediction.point
    return {
        "all": "",
        "part": prediction.part,
        "class": prediction.machine,
        "kind": point.kind or prediction.phase,
        "metric": point.metric,
        "engine": prediction.engine_used,
        "hardware": point.hardware,
        "model": point.model,
        "source": point.source_key,
    }
