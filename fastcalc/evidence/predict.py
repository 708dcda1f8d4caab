"""Predictions of measured points, in the unit of each: expected, range and bound."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fastcalc.core.placement import Placement
from fastcalc.core.traffic import Speculation
from fastcalc.evidence.deployments import Deployment, Deployments, UnpredictableError
from fastcalc.evidence.kinds import RATES, Columns, Recipe
from fastcalc.evidence.point import Point
from fastcalc.formulas.types import Floats

KINDS = ("decode", "decode_batch1", "prefill", "e2e_concurrency", "e2e_saturated", "e2e_slo")
"""How a point may have been measured, as its notes say."""

_DECODE_METRICS = (
    "tokens_per_s_per_user",
    "tokens_per_s_total",
    "tokens_per_s_per_chip",
    "tpot_s",
)

SHORT_CHAT = 256.0
"""Mean context of a single stream whose lengths are not stated: a short prompt and answer."""


@dataclass(frozen=True)
class Batch:
    """Points of one deployment and one kind, and how to predict them: by a rule of `RATES`."""

    index: Sequence[int]
    points: Sequence[Point]
    deployment: Deployment
    placement: Placement
    rule: str
    recipe: Recipe

    @property
    def tokens(self) -> Floats:
        """What a time divides into to give each point's rate; 1 where the metric is a time."""
        recipe, chips = self.recipe, self.placement.layout.chips
        share = {
            "tokens_per_s_total": np.ones_like(recipe.tokens),
            "prefill_tokens_per_s": np.ones_like(recipe.tokens),
            "tokens_per_s_per_chip": np.ones_like(recipe.tokens) / chips,
            "tokens_per_s_per_user": 1.0 / recipe.batch,
        }
        rows = enumerate(self.points)
        return np.array(
            [1.0 if p.is_time else recipe.tokens[row] * share[p.metric][row] for row, p in rows]
        )


def rule_of(point: Point) -> str:
    """Return how a point is predicted: a key of `RATES`.

    Raises
    ------
    UnpredictableError
        If it does not say enough.
    """
    kind = point.kind or _kind_of(point)
    if kind not in KINDS:
        raise UnpredictableError(f"kind={kind} is not one that fastcalc can predict")
    _demand_lengths(point, kind)
    if kind.startswith("decode"):
        _demand(point, *_DECODE_METRICS)
        return kind
    if kind == "prefill":
        _demand(point, "ttft_s", "prefill_tokens_per_s")
        return kind
    if point.metric == "prefill_tokens_per_s":
        raise UnpredictableError(f"kind={kind} reports no prefill rate")
    if kind != "e2e_concurrency" and point.metric in ("ttft_s", "tokens_per_s_per_user"):
        raise UnpredictableError(
            "the time to the first token under saturated load is that of a queue of unknown length"
        )
    if point.is_static and not point.is_time:
        return "static"
    if point.metric == "ttft_s":
        return "ttft"
    if point.metric == "tpot_s":
        return "decode" if "inter-token" in point.notes else "tpot"
    return kind


def _kind_of(point: Point) -> str:
    """Return the kind of a point that states none."""
    if point.concurrency is None:
        raise UnpredictableError("no concurrency, and no kind= in the notes says how to predict it")
    if point.metric == "prefill_tokens_per_s" or (point.metric == "ttft_s" and not point.output):
        return "prefill"
    served = point.metric in ("tokens_per_s_total", "tokens_per_s_per_chip", "ttft_s")
    return "e2e_concurrency" if served and point.prompt and point.output else "decode"


def _demand(point: Point, *metrics: str) -> None:
    if point.metric not in metrics:
        raise UnpredictableError(f"kind={point.kind} does not report {point.metric}")


def _demand_lengths(point: Point, kind: str) -> None:
    if kind in ("decode", "prefill", "e2e_concurrency") and point.concurrency is None:
        raise UnpredictableError(f"kind={kind} without concurrency: the batch is not known")
    if kind.startswith("e2e") and not (point.prompt and point.output):
        raise UnpredictableError(f"kind={kind} without the lengths of prompt and output")
    if kind == "prefill" and not point.prompt:
        raise UnpredictableError("a prefill without the length of its prompt")


def speculation_of(point: Point) -> Speculation:
    """Return how a point drafts, to a hundredth; unknown speculation is predicted as none."""
    kept = round(point.tokens_per_pass or 1.0, 2)
    return Speculation.keeping(kept) if kept > 1.0 else Speculation()


def gather(points: Sequence[Point], deployments: Deployments) -> tuple[list[Batch], dict[int, str]]:
    """Return points in batches that are predicted together, and why the others are not."""
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    skipped: dict[int, str] = {}
    for index, point in enumerate(points):
        try:
            groups[rule_of(point), id(deployments.of(point))].append(index)
        except UnpredictableError as reason:
            skipped[index] = str(reason)
    batches = []
    for indices in groups.values():
        chosen = [points[index] for index in indices]
        try:
            batches.append(_batch(indices, chosen, deployments.of(chosen[0])))
        except UnpredictableError as reason:
            skipped.update(dict.fromkeys(indices, str(reason)))
    return batches, skipped


def _batch(index: Sequence[int], points: Sequence[Point], deployment: Deployment) -> Batch:
    rule, columns = rule_of(points[0]), _columns(points)
    longest = float(np.max(columns.prompt + columns.output))
    placement = deployment.place(longest if deployment.layout is None else 1.0)
    return Batch(index, points, deployment, placement, rule, RATES[rule](placement, columns))


def _columns(points: Iterable[Point]) -> Columns:
    rows = []
    for point in points:
        known = point.prompt is not None or point.output is not None
        prompt, output = point.prompt or 0.0, point.output or 0.0
        context = prompt + output / 2.0 if known else SHORT_CHAT
        most = point.in_flight or point.concurrency
        most = most or (1 if point.kind == "decode_batch1" else point.requests)
        drafts = speculation_of(point)
        lengths = (max(prompt, 1.0), max(output, 1.0), point.mean_context or context)
        rows.append((most or np.inf, *lengths, drafts.tokens_per_pass, drafts.drafted))
    return Columns(*np.array(rows, dtype=float).T)
