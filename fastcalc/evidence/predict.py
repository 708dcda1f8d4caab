"""Predictions of measurements in their own units: expected value, range and bound."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from fastcalc.core.placement.layout import Layouts
from fastcalc.core.placement.placement import Placement, Placements
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.errors import InputError
from fastcalc.evidence.deployments import Deployment, PointDeployments, UnpredictableError
from fastcalc.evidence.kinds import RATES, Columns, Recipe, room
from fastcalc.evidence.point import METRICS, Point
from fastcalc.formulas.types import Bools, Floats, floats

KINDS = (
    "decode",
    "decode_batch1",
    "prefill",
    "burst",
    "e2e_concurrency",
    "e2e_saturated",
    "e2e_slo",
)
"""The types of measurement that notes may name."""

_DECODED = frozenset(METRICS) - {"ttft_s", "prefill_tokens_per_s"}
_REPORTED = {
    "decode": _DECODED,
    "decode_batch1": _DECODED,
    "prefill": frozenset(("ttft_s", "prefill_tokens_per_s")),
    "burst": frozenset(("ttft_s",)),
}
"""The metrics of measurement types that are predicted by a single rule."""

_BEST = {
    "decode": "the layout that decodes fastest",
    "decode_batch1": "the layout that decodes fastest",
    "prefill": "the layout with the fastest prefill",
    "burst": "the layout with the fastest prefill",
}

_MOST_SERVED = "the layout that serves most"

MANY = 2**31  # no limit on the number of measurements

SHORT_CHAT = 256.0  # assumed mean context of a single stream if no lengths are given


@dataclass(frozen=True, eq=False)
class Batch:
    """Groups measurements of one layout and type, predicted by a rule in `RATES`.

    typical : The median speed over possible layouts, relative to that of the chosen layout.
    """

    index: Sequence[int]
    points: Sequence[Point]
    deployment: Deployment
    placement: Placement
    rule: str
    recipe: Recipe
    assumed: str | None
    typical: Floats

    @property
    def assumptions(self) -> list[str | None]:
        """The assumptions on each measurement's layout, and on waves if its batch does not fit."""
        capacities = np.broadcast_to(self.recipe.at_once, self.recipe.batch.shape).tolist()
        waves = (
            f"in {ceil(batch / at_once):,} waves: {at_once:,.0f} sequences fit in memory"
            if batch > at_once
            else None
            for batch, at_once in zip(self.recipe.batch.tolist(), capacities, strict=True)
        )
        return ["; ".join(filter(None, (self.assumed, text))) or None for text in waves]

    @property
    def tokens(self) -> Floats:
        """The number of tokens that yields each rate if divided by the time, or 1 for times."""
        recipe, metrics = self.recipe, np.array([point.metric for point in self.points])
        among = np.where(metrics == "tokens_per_s_per_user", recipe.batch, 1.0)
        among = np.where(metrics == "tokens_per_s_per_chip", self.placement.layout.chips, among)
        is_time = np.array([point.is_time for point in self.points])
        return np.where(is_time, 1.0, recipe.tokens / among)


def rule_of(point: Point) -> str:
    """Return the rule in `RATES` for a measurement, or raise UnpredictableError."""
    point_type = _kind(point)
    if point_type not in KINDS:
        raise UnpredictableError(f"kind={point_type} cannot be predicted by fastcalc")
    if (
        point_type in ("decode", "prefill", "burst", "e2e_concurrency")
        and point.concurrency is None
    ):
        raise UnpredictableError(f"kind={point_type} without concurrency: the batch is unknown")
    if point_type.startswith("e2e") and not (point.prompt and point.output):
        raise UnpredictableError(f"kind={point_type} without prompt and output lengths")
    if point.is_speculation_inferred and not (point.tokens_per_pass or point.metric == "ttft_s"):
        raise UnpredictableError("speculative decoding without stated tokens per step")
    if point_type in ("prefill", "burst") and not point.prompt:
        raise UnpredictableError(f"a {point_type} without a prompt length")
    if point_type in _REPORTED:
        if point.metric not in _REPORTED[point_type]:
            raise UnpredictableError(f"kind={point.kind} does not report {point.metric}")
        return point_type
    if point.metric == "prefill_tokens_per_s":
        raise UnpredictableError(f"kind={point_type} reports no prefill rate")
    if point_type != "e2e_concurrency" and point.metric in ("ttft_s", "tokens_per_s_per_user"):
        ttft = "the time to the first token under saturated load"
        raise UnpredictableError(f"{ttft} depends on a queue of unknown length")
    if point.is_static and not point.is_time:
        if not (point.concurrency or point.in_flight or point.requests):
            raise UnpredictableError("a static batch without concurrency: its size is unknown")
        return "static"
    if point.metric == "ttft_s":
        return "ttft"
    if point.metric == "tpot_s":
        return "decode" if "inter-token" in point.notes else "tpot"
    return point_type


def _kind(point: Point) -> str:
    if point.kind:
        return point.kind
    if point.concurrency is None:
        raise UnpredictableError("neither a concurrency nor a kind= in the notes is stated")
    if point.metric == "prefill_tokens_per_s" or (point.metric == "ttft_s" and not point.output):
        return "prefill"
    served = point.metric in ("tokens_per_s_total", "tokens_per_s_per_chip", "ttft_s")
    return "e2e_concurrency" if served and point.prompt and point.output else "decode"


def speculation_of(point: Point) -> Speculation:
    """Return the speculative decoding of a measurement, rounded to 0.01."""
    accepted = round(point.tokens_per_pass or 1.0, 2)
    if 1.0 < accepted <= point.drafted + 1.0:
        return Speculation(accepted, point.drafted)
    return Speculation.keeping(accepted) if accepted > 1.0 else Speculation()


@dataclass
class Alike:
    """Groups measurements that are predicted together, with the same rule, type and deployment.

    index : The positions of the measurements.
    longest : The prompt plus output of the longest request, in tokens.
    """

    rule: str
    kind: str
    deployment: Deployment
    index: "array[int]" = field(default_factory=lambda: array("i"))
    longest: float = 0.0


def alike(
    points: Sequence[Point], deployments: PointDeployments
) -> tuple[list[Alike], dict[int, str]]:
    """Group measurements that are predicted together, with reasons for those that are not."""
    groups: dict[tuple[str, str, int], Alike] = {}
    skipped: dict[int, str] = {}
    for index, point in enumerate(points):
        try:
            rule, point_type, deployment = rule_of(point), _kind(point), deployments.of(point)
        except InputError as reason:
            skipped[index] = str(reason)
            continue
        key = rule, point_type, id(deployment)
        if key not in groups:
            groups[key] = Alike(*key[:2], deployment)
        groups[key].index.append(index)
        groups[key].longest = max(groups[key].longest, sum(_lengths(point)))
    return list(groups.values()), skipped


def gather(
    points: Sequence[Point], deployments: PointDeployments
) -> tuple[list[Batch], dict[int, str]]:
    """Batch measurements that are predicted together, with reasons for those that are not."""
    groups, skipped = alike(points, deployments)
    return list(batches_of(groups, points, skipped)), skipped


def batches_of(
    groups: Iterable[Alike],
    points: Sequence[Point],
    skipped: dict[int, str],
    max_points: int = MANY,
) -> Iterator[Batch]:
    """Split groups of measurements into batches of limited size, recording unpredictable ones."""
    for group in groups:
        try:
            placements = group.deployment.placements(group.longest)
            for start in range(0, len(group.index), max_points):
                chunk = group.index[start : start + max_points]
                yield from _by_layout(group, placements, points, chunk)
        except InputError as reason:
            skipped.update(dict.fromkeys(group.index, str(reason)))


def _by_layout(
    group: Alike, placements: Sequence[Placement], points: Sequence[Point], index: Sequence[int]
) -> Iterator[Batch]:
    """Yield measurements by layout: the given layout, or the best possible one."""
    rule, batch_points = group.rule, [points[position] for position in index]
    columns = columns_of(batch_points)
    chosen, typical = np.zeros(len(batch_points), dtype=int), np.ones(len(batch_points))
    if len(placements) > 1:
        first = placements[0]
        layouts = Layouts.of([placement.layout for placement in placements], axes=1)
        all_placements = Placements(first.machine, first.work, layouts, first.reserved_tokens)
        is_time = np.array([point.is_time for point in batch_points])
        goals = _speeds(all_placements, columns, group.kind, False)
        speeds = _speeds(all_placements, columns, rule, is_time)
        chosen = goals.argmax(axis=0)
        typical = np.median(speeds, axis=0) / np.take_along_axis(speeds, chosen[None], axis=0)[0]
    for choice in np.unique(chosen):
        members = np.flatnonzero(chosen == choice)
        placement = placements[choice]
        assumed = group.deployment.assumed(
            placement.layout, _BEST.get(group.kind, _MOST_SERVED), len(placements)
        )
        yield Batch(
            index=[index[at] for at in members.tolist()],
            points=[batch_points[at] for at in members.tolist()],
            deployment=group.deployment,
            placement=placement,
            rule=rule,
            recipe=RATES[rule](placement, columns.at(members)),
            assumed=assumed,
            typical=typical[members],
        )


def _speeds(placements: Placements, columns: Columns, rule: str, is_time: Bools | bool) -> Floats:
    """Compute the speed of measurements on each layout, excluding tokens that do not fit."""
    recipe = RATES[rule](placements, columns)
    tokens = np.where(is_time, 1.0, recipe.tokens)
    if rule in _BEST:
        tokens = tokens * np.minimum(room(placements, columns) / columns.concurrency, 1.0)
    return floats(tokens / recipe.seconds)


def columns_of(points: Iterable[Point]) -> Columns:
    """Convert the inputs of measurements into arrays."""
    rows = []
    for point in points:
        has_lengths = point.prompt is not None or point.output is not None
        context = (point.prompt or 0.0) + (point.output or 0.0) / 2.0 if has_lengths else SHORT_CHAT
        concurrency = point.in_flight or point.concurrency
        concurrency = concurrency or (1 if point.kind == "decode_batch1" else point.requests)
        drafts = speculation_of(point)
        lengths = (*_lengths(point), point.mean_context or context)
        speculation = (drafts.tokens_per_pass, drafts.drafted)
        rows.append((concurrency or np.inf, *lengths, *speculation, point.requests or np.inf))
    return Columns(*np.array(rows, dtype=float).T)


def _lengths(point: Point) -> tuple[float, float]:
    """Return prompt and output tokens, at least one each."""
    return max(point.prompt or 0.0, 1.0), max(point.output or 0.0, 1.0)
