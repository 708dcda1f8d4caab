"""What a user's own rows of a deployment say of its passes: how much slower they are than expected.

A row is the time of passes that decode and of passes that take in prompts. How much longer either
takes than the engine says is unknown, much alike at batches and lengths that are near; a row
measures their mean, weighted by the time of each.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine
from fastcalc.catalogue.schema.own_rows import OwnDeployment
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.layout import AnyLayout
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.core.traffic import Traffic
from fastcalc.formulas.kriging import correlation, error_by_others, share_unexplained
from fastcalc.formulas.types import Array, ArrayLike, Bools, Floats, floats

EVERYWHERE = 0.3
"""Share of a deployment's error that is the same at every batch and length."""

NOISE = 0.05
"""Share of its variance that is of each measurement alone."""

LENGTH = float(np.log(10.0))
"""Over a factor of ten in the batch or the tokens of a request, errors forget each other."""

PROMPTS = 2.0
"""Variance of the error of prompts over that of decoding."""

LEFT = 0.12
"""Share of a range's half-width that rows never take away: errors have longer tails than a normal
distribution's. All five are chosen on sources left out (`benchmarks/own_rows.py`)."""


@dataclass(frozen=True, eq=False)
class _Places:
    """Where passes were measured or are predicted, in logarithms that broadcast.

    decode_share : share of the time in which they decode [1]
    """

    batch: Array
    context: Array
    prompt: Array
    decode_share: Array

    def across(self, rows: "_Places") -> Array:
        """Return the covariance with rows, which are along the last axis. [1]"""
        decode, prompt = self._alike(rows, "context"), self._alike(rows, "prompt")
        share = floats(self.decode_share)[..., np.newaxis]
        both_prompt = (1.0 - share) * (1.0 - rows.decode_share)
        return share * rows.decode_share * decode + PROMPTS * both_prompt * prompt

    def _alike(self, rows: "_Places", length: str) -> Array:
        """Return the covariance of one kind of pass, by its batch and one length. [1]"""
        squares = (
            (floats(getattr(self, name))[..., np.newaxis] - getattr(rows, name)) ** 2
            for name in ("batch", length)
        )
        distance = np.sqrt(sum(squares)) / LENGTH
        return (1.0 - NOISE) * correlation(distance=distance, constant=EVERYWHERE)

    @property
    def variance(self) -> Array:
        """Variance of the error of one more measurement before any is known. [1]"""
        share = floats(self.decode_share)
        return (1.0 - NOISE) * (share**2 + PROMPTS * (1.0 - share) ** 2) + NOISE


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a deployment as arrays.

    covariance, inverse : among them, and its inverse with their noise [1]
    weights : of each in a prediction, whose mean is its covariance with them times these
    """

    places: _Places
    covariance: Array
    inverse: Array
    weights: Array

    def unexplained(self, places: _Places) -> Array:
        """Return the share of the variance of predictions that they leave. [1]"""
        across = places.across(self.places)
        explained = np.einsum("...i,ij,...j->...", across, self.inverse, across)
        return share_unexplained(explained=explained, variance=places.variance)


@once
def _rows_of(deployment: OwnDeployment) -> _Rows:
    """Return rows with what predictions take of them: Rasmussen and Williams 2006, eq. 2.23."""
    rows = deployment.rows
    numbers = np.array([(r.batch, r.context, r.prompt, r.slower, r.decode_share) for r in rows]).T
    batch, context, prompt = np.log(np.maximum(numbers[:3], 1.0))
    slower = np.log(numbers[3])
    places = _Places(batch, context, prompt, numbers[4])
    covariance = places.across(places)
    inverse = floats(np.linalg.inv(covariance + NOISE * np.eye(len(rows))))
    return _Rows(places, covariance, inverse, inverse @ slower)


@dataclass(frozen=True, eq=False)
class OwnEffect:
    """What rows of a deployment say of its passes at some batches and lengths.

    rows : of the deployment
    applies : where the layout is that of the rows
    batch, context, prompt : logarithms
    """

    rows: _Rows
    applies: Bools
    batch: Array
    context: Array
    prompt: Array

    def _slower(self, decode_share: float) -> Floats:
        places = self._at(floats(decode_share))
        logs = np.where(self.applies, places.across(self.rows.places) @ self.rows.weights, 0.0)
        return floats(np.exp(logs))

    def _at(self, decode_share: Array) -> _Places:
        return _Places(self.batch, self.context, self.prompt, decode_share)

    @cached_property
    def decode(self) -> Floats:
        """How many times as long as expected passes take that decode. [1]"""
        return self._slower(1.0)

    @cached_property
    def prompts(self) -> Floats:
        """The same of passes that take in prompts. [1]"""
        return self._slower(0.0)

    def unexplained(self, decode_share: ArrayLike) -> Floats:
        """Return the share of the variance of a prediction that rows leave. [1]

        decode_share : share of the time in which passes decode [1]
        """
        left = self.rows.unexplained(self._at(floats(decode_share)))
        return floats(np.where(self.applies, left, 1.0))

    def narrowed(self, decode_share: ArrayLike) -> Floats:
        """Return the half-width of a range over that without rows. [1]

        decode_share : share of the time in which passes decode [1]
        """
        return _narrowed(self.unexplained(decode_share))


def is_of(deployment: OwnDeployment, layout: AnyLayout) -> Bools:
    """Return whether a deployment was measured on a layout, as far as its owner said."""
    stated = {name: getattr(deployment, name) for name in ("chips", "tp", "pp", "ep", "dp")}
    alike = np.asarray(True)
    for name, count in stated.items():
        if count is not None:
            alike = alike & (np.asarray(getattr(layout, name)) == count)
    return alike


def _narrowed(unexplained: Array) -> Array:
    """Return the half-width of a range by the share of the variance that rows leave. [1]"""
    return floats(LEFT + (1.0 - LEFT) * unexplained)


def interpolated(
    deployment: OwnDeployment,
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Return how many times as slow rows are by all rows, and by all others of the deployment.

    Each with the half-width of its range over that without rows. [1]
    """
    rows = _rows_of(deployment)
    values = np.log([row.slower for row in deployment.rows])
    precision = np.diag(rows.inverse)
    errors = error_by_others(weight=rows.weights, precision=precision)
    by_all = _effects(rows.covariance @ rows.weights, rows.unexplained(rows.places))
    return by_all, _effects(values - errors, 1.0 / (precision * rows.places.variance))


def _effects(logs: Array, unexplained: Array) -> list[tuple[float, float]]:
    times, narrowed = np.exp(logs), _narrowed(np.minimum(unexplained, 1.0))
    return list(zip(times.tolist(), narrowed.tolist(), strict=True))


def measured_on(engine: Engine, hardware: str, work: Workload) -> list[OwnDeployment]:
    """Return an engine's measured deployments of a model in its formats on a chip, by its id."""
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
    applies: Bools = np.asarray(True),  # noqa: B008
) -> OwnEffect:
    """Return what rows of a deployment say at other batches and lengths.

    batch, context, prompt : sequences, and mean lengths of a sequence and of its prompt [1]
    applies : where the layout is that of the rows
    """
    logs = (np.log(np.maximum(floats(number), 1.0)) for number in (batch, context, prompt))
    return OwnEffect(_rows_of(deployment), applies, *logs)


def own_effect(placement: AnyPlacement, traffic: Traffic, batch: ArrayLike) -> list[OwnEffect]:
    """Return what an engine's own rows say, for each measured deployment with such a layout."""
    machine, layout = placement.machine, placement.layout
    if machine.engine.is_bound or not machine.engine.own_deployments:
        return []
    places = {"batch": batch, "context": traffic.context, "prompt": traffic.computed_prompt}
    deployments = measured_on(machine.engine, machine.hardware.id, placement.work)
    pairs = ((deployment, is_of(deployment, layout)) for deployment in deployments)
    return [
        effect_of(deployment, **places, applies=applies)
        for deployment, applies in pairs
        if np.any(applies)
    ]
