"""A smaller batch: the largest that reaches a speed, and what a token costs there."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastcalc.core.placement.placement import AnyPlacement, Placement
from fastcalc.core.stacked import Evaluation, evaluate_all
from fastcalc.core.step.schedule import Schedule, fits_near
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.solving import largest_reaching
from fastcalc.formulas.types import ArrayLike, Floats

Batches: TypeAlias = npt.NDArray[np.int64]
"""Batches as whole numbers."""

ROUNDING = 1e-12
"""A speed that is met but for this share is met."""

Speeds: TypeAlias = Callable[[Floats], Floats]
"""The tokens per second of each user at some batches."""


def speeds(placement: AnyPlacement, traffic: Traffic, batch: ArrayLike) -> Floats:
    """Expected tokens per second of each user, and nothing else of an estimate. [1/s]

    Batches broadcast with the layouts of the placement.
    """
    return _speeds(Schedule(placement, traffic, _floats(batch)).decode.seconds, traffic)


def speeds_at_most(placement: AnyPlacement, traffic: Traffic, batch: ArrayLike) -> Floats:
    """No less than what `speeds` returns, where bytes may be placed in several memories. [1/s]

    Much sooner, for where they live is not searched for.
    """
    return _speeds(Schedule(placement, traffic, _floats(batch)).least_decode, traffic)


def all_speeds_at_most(evaluations: Sequence[Evaluation]) -> list[Floats]:
    """Return what `speeds_at_most` returns of each of many placements, in few stacks. [1/s]"""
    estimates = evaluate_all(evaluations)
    return [_speeds(estimate.of_passes(_least_decode), estimate.traffic) for estimate in estimates]


def _least_decode(passes: Schedule) -> Floats:
    return passes.least_decode


def speeds_by_memory(placement: Placement, traffic: Traffic, batch: Floats) -> Floats:
    """Return what `speeds` returns of one layout, sooner where some batches need no host. [1/s]"""
    needs_more = ~fits_near(placement, batch)
    if not needs_more.any() or needs_more.all():
        return speeds(placement, traffic, batch)
    user_speeds = np.empty_like(batch)
    for mask in (needs_more, ~needs_more):
        user_speeds[mask] = speeds(placement, traffic, batch[mask])
    return user_speeds


def _floats(batch: ArrayLike) -> Floats:
    return np.atleast_1d(np.asarray(batch, dtype=np.float64))


def _speeds(seconds: ArrayLike, traffic: Traffic) -> Floats:
    return np.asarray(traffic.speculation.tokens_per_pass / seconds, dtype=np.float64)


def largest_batches(placement: Placement, traffic: Traffic, speed: ArrayLike) -> Batches:
    """Largest batch whose expected speed reaches each of some speeds; 0 for none. [1]

    speed : tokens per second that every user is to get, one dimension at most [1/s]
    """
    goals = np.atleast_1d(np.asarray(speed, float)) * (1.0 - ROUNDING)
    speeds_at = partial(speeds, placement, traffic)
    return largest_reaching(speeds_at, goals, 0, placement.max_batch + 1)


def cost_multiples(speeds_at: Speeds, before: Batches, after: Batches) -> Floats:
    """Return what an output token costs at one batch over what it costs at another. [1]

    The chips stay, so the multiple times the ratio of the speeds is the ratio of the batches.
    Infinite where either batch is 0.
    """
    batches = np.maximum(np.stack([before, after]), 1.0)
    totals = batches * speeds_at(batches)
    return np.where((before > 0) & (after > 0), totals[0] / totals[1], np.inf)
