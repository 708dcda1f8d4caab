"""Correction of predicted step times by a user's own measurements of a deployment.

Each measurement mixes decode and prefill steps. Both deviate from the engine's prediction by
unknown factors that are similar at nearby batches and lengths; a measurement reveals the
time-weighted mean of these factors. The error of a deployment and the scatter of its measurements
are also unknown: measurements that contradict each other change the prediction less and do not
narrow its range.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine
from fastcalc.catalogue.schema.own_rows import OwnDeployment, OwnRow
from fastcalc.core.interpolation import Interpolation, expected_variance, interpolation
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.layout import AnyLayout
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.kriging import correlation
from fastcalc.formulas.recorded import Recorded
from fastcalc.formulas.types import Array, ArrayLike, Bools, Floats, floats

EVERYWHERE = 0.3
"""The fraction of a deployment's error variance that is common to all batches and lengths."""

DEPLOYMENTS = (0.05, 0.1, 0.2, 0.4)
"""Candidate errors of a deployment, as standard deviations of logarithms, all equally likely."""

ROWS = (0.025, 0.05, 0.1, 0.2)
"""Candidate errors of a single measurement, each half as likely as the previous one."""

LENGTH = float(np.log(10.0))
"""The correlation length: a factor of ten in the batch or in the tokens of a request."""

PROMPTS = 2.0
"""The error variance of prefill over that of decode."""

LEFT = 0.12
"""The fraction of a range's half-width that no measurement removes, since errors have heavier tails
than a normal distribution. All values were chosen on held-out sources
(`benchmarks/own_rows.py`)."""

_VARIANCES = np.repeat(np.square(DEPLOYMENTS), len(ROWS))
_NOISES = np.tile(np.square(ROWS), len(DEPLOYMENTS))
_PRIOR = np.tile(0.5 ** np.arange(len(ROWS)), len(DEPLOYMENTS))
_PRIOR = _PRIOR / _PRIOR.sum()


class Places(NamedTuple):
    """The operating points of measured or predicted steps, as broadcastable logarithms.

    decode_share : The fraction of time spent on decode steps.
    """

    batch: Array
    context: Array
    prompt: Array
    decode_share: Array

    @classmethod
    def of(
        cls, batch: ArrayLike, context: ArrayLike, prompt: ArrayLike, decode_share: ArrayLike
    ) -> "Places":
        """Build operating points from plain numbers."""
        batch, context, prompt = (
            floats(np.log(np.maximum(number, 1.0))) for number in (batch, context, prompt)
        )
        return cls(batch, context, prompt, floats(decode_share))

    def followed_by(self, others: "Places") -> "Places":
        """Append other operating points along the only axis."""
        return Places(*(np.concatenate(pair) for pair in zip(self, others, strict=True)))

    def across(self, rows: "Places") -> Array:
        """Compute the covariance with each measurement, along a new last axis."""
        columns = (floats(number)[..., np.newaxis] for number in self)
        return Places(*columns).covariance(rows)

    def covariance(self, rows: "Places") -> Array:
        """Compute the elementwise covariance with measurements."""
        decode = self._alike(rows, self.context, rows.context)
        prompt = self._alike(rows, self.prompt, rows.prompt)
        both_prompt = (1.0 - self.decode_share) * (1.0 - rows.decode_share)
        return self.decode_share * rows.decode_share * decode + PROMPTS * both_prompt * prompt

    def with_each(self, rows: "Places") -> list[Array] | None:
        """Compute the covariance with each measurement while recording, else return None."""
        if not any(isinstance(number, Recorded) for number in self):
            return None
        return [self.covariance(Places(*row)) for row in zip(*rows, strict=True)]

    def _alike(self, rows: "Places", own_length: ArrayLike, row_length: ArrayLike) -> Array:
        """Compute the covariance of one type of step, given its batch and one length.

        own_length, row_length : This length and the length of each measurement, as logarithms.
        """
        pairs = ((self.batch, rows.batch), (own_length, row_length))
        squares = ((own_value - row_value) ** 2 for own_value, row_value in pairs)
        return correlation(distance=np.sqrt(sum(squares)) / LENGTH, constant=EVERYWHERE)

    @property
    def variance(self) -> Array:
        """The error variance, relative to that of a decode step."""
        fraction = floats(self.decode_share)
        return fraction**2 + PROMPTS * (1.0 - fraction) ** 2


@dataclass(frozen=True, eq=False)
class _Rows:
    """The measurements of a deployment as arrays.

    drafted : The measurements with draft tokens, or None if there are none.
    """

    places: Places
    says: Interpolation
    drafted: "_Rows | None" = None

    def slower(self, conditions: Places) -> Array:
        """Predict the log factor by which steps are slower than expected."""
        item = conditions.with_each(self.places)
        if item is not None:
            terms = zip(self.says.weights.tolist(), item, strict=True)
            return floats(sum(weight * share for weight, share in terms))
        return conditions.across(self.places) @ self.says.weights

    def unexplained(self, conditions: Places) -> Array:
        """Compute the variance of predictions, relative to that without measurements."""
        says, all_alike = self.says, conditions.variance
        item = conditions.with_each(self.places)
        if item is None:
            across = conditions.across(self.places)
            decrease = np.einsum("...i,ij,...j->...", across, says.decrease, across)
        else:
            halves = np.triu(2.0 * says.decrease) - np.diag(np.diag(says.decrease))
            pairs = zip(*(axis.tolist() for axis in np.nonzero(halves)), strict=True)
            decrease = sum(float(halves[i, j]) * (item[i] * item[j]) for i, j in pairs)
        before = float(_PRIOR @ _VARIANCES) * all_alike + float(_PRIOR @ _NOISES)
        after = says.variance * all_alike + says.noise - decrease
        return floats(np.maximum(after, 0.0) / before)


@once
def _rows_of(deployment: OwnDeployment) -> _Rows:
    drafted = [row for row in deployment.rows if row.drafted]
    return replace(_of(deployment.rows), drafted=_of(drafted) if drafted else None)


def _of(rows: Sequence[OwnRow]) -> _Rows:
    numbers = np.array([(row.batch, row.context, row.prompt, row.decode_share) for row in rows]).T
    conditions = Places.of(*numbers)
    says = interpolation(
        covariance=conditions.across(conditions),
        values=np.log([row.slower for row in rows]),
        variances=_VARIANCES,
        noises=_NOISES,
        prior=_PRIOR,
    )
    return _Rows(conditions, says)


@dataclass(frozen=True, eq=False)
class OwnEffect:
    """Computes the correction by a deployment's measurements at given batches and lengths.

    rows : The measurements of the deployment.
    applies : Whether the layout is the measured layout.
    places : The operating points, as if all steps were decode steps.
    has_drafts : Whether draft tokens are used.
    """

    rows: _Rows
    applies: Bools
    places: Places
    has_drafts: Bools

    def _slower(self, decode_share: float) -> Floats:
        logs = np.where(self.applies, self.rows.slower(self._at(decode_share)), 0.0)
        return floats(np.exp(logs))

    def _at(self, decode_share: ArrayLike) -> Places:
        return self.places._replace(decode_share=floats(decode_share))

    @cached_property
    def decode(self) -> Floats:
        """The factor by which decode steps are slower than expected."""
        return self._slower(1.0)

    @cached_property
    def prompts(self) -> Floats:
        """The factor by which prefill steps are slower than expected."""
        return self._slower(0.0)

    def unexplained(self, decode_share: ArrayLike) -> Floats:
        """Compute the variance of a prediction, relative to that without measurements.

        With draft tokens, half of the variance comes from speculation, and only measurements with
        speculation reduce it.

        decode_share : The fraction of time spent on decode steps.
        """
        rows, conditions = self.rows, self._at(decode_share)
        left = rows.unexplained(conditions)
        if np.any(self.has_drafts):
            of_drafts = rows.drafted.unexplained(conditions) if rows.drafted else 1.0
            left = np.where(self.has_drafts, (left + of_drafts) / 2.0, left)
        return floats(np.where(self.applies, left, 1.0))

    def narrowed(self, decode_share: ArrayLike) -> Floats:
        """Compute the half-width of a range, relative to that without measurements.

        decode_share : The fraction of time spent on decode steps.
        """
        return floats(LEFT + (1.0 - LEFT) * self.unexplained(decode_share))


def is_of(deployment: OwnDeployment, layout: AnyLayout) -> Bools:
    """Return where a deployment was measured on a layout, as far as its owner specified it."""
    pairs = (
        (deployment.chips, layout.chips),
        (deployment.tp, layout.tp),
        (deployment.pp, layout.pp),
        (deployment.ep, layout.ep),
        (deployment.dp, layout.dp),
    )
    alike = np.asarray(True)
    for count, ranks in pairs:
        if count is not None:
            alike = alike & (np.asarray(ranks) == count)
    return alike


def interpolated(
    deployment: OwnDeployment,
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Predict each measurement from all measurements, and from all others.

    Returns latency factors, and half-widths of ranges relative to those without measurements. [1]
    """
    rows = deployment.rows
    leaving_out = (
        deployment.model_copy(update={"rows": [*rows[:index], *rows[index + 1 :]]})
        for index in range(len(rows) if len(rows) > 1 else 0)
    )
    by_others = [_row_by(rows_left, row) for rows_left, row in zip(leaving_out, rows, strict=False)]
    return [_row_by(deployment, row) for row in rows], by_others or [(1.0, 1.0)]


def believed_at_rows(deployment: OwnDeployment) -> tuple[Floats, Floats]:
    """Predict each measurement from all of them: latency factors and relative half-widths."""
    columns = ("batch", "context", "prompt", "drafted", "decode_share")
    numbers = {name: np.array([getattr(row, name) for row in deployment.rows]) for name in columns}
    fraction = numbers.pop("decode_share")
    effect = effect_of(deployment, **numbers)
    return effect.decode**fraction * effect.prompts ** (1.0 - fraction), effect.narrowed(fraction)


def after_one_row(off: float) -> float:
    """Compute the relative half-width of the TPOT range at a single measurement, at most 1.

    off : The logarithm of measured over expected time.
    """
    row = OwnRow(batch=1, context=1, prompt=1, decode_share=1.0, slower=float(np.exp(off)))
    unexplained = float(_of([row]).unexplained(Places.of(1.0, 1.0, 1.0, 1.0)))
    return min(LEFT + (1.0 - LEFT) * unexplained, 1.0)


def expected_width(new: Places, targets: Places, measured: Sequence[OwnRow] = ()) -> Floats:
    """Predict how much narrower the 80% ranges become after new measurements.

    The half-width is relative to that without any measurements.

    new : The operating points to measure.
    targets : The operating points to predict.
    measured : The existing measurements of the deployment.
    """
    chances = _PRIOR
    if measured:
        rows = _of(measured)
        new, chances = rows.places.followed_by(new), rows.says.chances
    left = expected_variance(
        covariance=new.across(new),
        across=targets.across(new),
        variance=targets.variance,
        variances=_VARIANCES,
        noises=_NOISES,
        chances=chances,
    )
    before = float(_PRIOR @ _VARIANCES) * targets.variance + float(_PRIOR @ _NOISES)
    return floats(LEFT + (1.0 - LEFT) * left / before)


def _row_by(deployment: OwnDeployment, row: OwnRow) -> tuple[float, float]:
    """Predict the latency factor at a measurement's operating point, with its half-width."""
    effect = effect_of(
        deployment, batch=row.batch, context=row.context, prompt=row.prompt, drafted=row.drafted
    )
    fraction = row.decode_share
    slower = effect.decode**fraction * effect.prompts ** (1.0 - fraction)
    return float(slower), float(effect.narrowed(fraction))


def measured_on(engine: Engine, hardware: str, work: Workload) -> list[OwnDeployment]:
    """List the deployments of a model that were measured on a chip with this engine."""
    names = (hardware, work.model.id, work.weight_format, work.kv_format)
    return [
        deployment
        for deployment in engine.own_deployments
        if names == (deployment.hardware, deployment.model, deployment.weights, deployment.kv)
    ]


def effect_of(
    deployment: OwnDeployment,
    *,
    batch: ArrayLike,
    context: ArrayLike,
    prompt: ArrayLike,
    drafted: ArrayLike = 0.0,
    applies: Bools = np.asarray(True),  # noqa: B008
) -> OwnEffect:
    """Compute the correction by a deployment's measurements at other batches and lengths.

    batch, context, prompt : The number of sequences, and the mean lengths of a sequence and of its
        prompt.
    drafted : The number of draft tokens.
    applies : Whether the layout is the measured layout.
    """
    conditions = Places.of(batch, context, prompt, decode_share=1.0)
    return OwnEffect(_rows_of(deployment), applies, conditions, floats(drafted) > 0.0)


def own_effect(placement: AnyPlacement, traffic: Traffic, batch: ArrayLike) -> list[OwnEffect]:
    """Find the corrections that apply to a layout, from the user's measurements."""
    machine, layout = placement.machine, placement.layout
    if machine.engine.is_bound or not machine.engine.own_deployments:
        return []
    conditions = {"batch": batch, "context": traffic.context, "prompt": traffic.computed_prompt,
              "drafted": traffic.speculation.drafted}  # fmt: skip
    deployments = measured_on(machine.engine, machine.hardware.id, placement.work)
    pairs = ((deployment, is_of(deployment, layout)) for deployment in deployments)
    return [
        effect_of(deployment, **conditions, applies=applies)
        for deployment, applies in pairs
        if np.any(applies)
    ]
