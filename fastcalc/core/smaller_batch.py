"""Search for the largest batch that reaches a target speed, and its cost per token."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
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
"""An array of integer batch sizes."""

ROUNDING = 1e-12
"""The relative tolerance for meeting a target speed."""

Speeds: TypeAlias = Callable[[Floats], Floats]
"""A function that computes tokens per second per user for the given batches."""

_LEAST_DECODE = attrgetter("least_decode")


def speeds(placement: AnyPlacement, traffic: Traffic, batch: ArrayLike) -> Floats:
    """Compute the expected tokens per second per user without a full estimate, per second.

    Batches broadcast with the layouts of the placement.
    """
    return _speeds(Schedule(placement, traffic, _floats(batch)).decode.seconds, traffic)


def speeds_at_most(placement: AnyPlacement, traffic: Traffic, batch: ArrayLike) -> Floats:
    """Compute upper bounds of `speeds` if bytes may be placed in several memories. [1/s]

    The bounds are much faster to compute, because no placement is searched for.
    """
    return _speeds(Schedule(placement, traffic, _floats(batch)).least_decode, traffic)


def all_speeds_at_most(evaluations: Sequence[Evaluation]) -> list[Floats]:
    """Compute `speeds_at_most` for many placements at once. [1/s]"""
    estimates = evaluate_all(evaluations)
    return [_speeds(estimate.of_passes(_LEAST_DECODE), estimate.traffic) for estimate in estimates]


def speeds_by_memory(placement: Placement, traffic: Traffic, batch: Floats) -> Floats:
    """Compute `speeds` for one layout, faster if only some batches need host memory. [1/s]"""
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
    """Find the largest batch that reaches each target speed, or 0 if none does.

    speed : The target tokens per second per user, with at most one dimension. [1/s]
    """
    goals = np.atleast_1d(np.asarray(speed, float)) * (1.0 - ROUNDING)
    speeds_at = partial(speeds, placement, traffic)
    return largest_reaching(speeds_at, goals, 0, placement.max_batch + 1)


def cost_multiples(speeds_at: Speeds, before: Batches, after: Batches) -> Floats:
    """Compute the ratio of the costs per output token at two batches.

    Both batches run on the same chips, so this ratio times the ratio of speeds equals the ratio of
    batches. The result is infinite if either batch is 0.
    """
    batches = np.maximum(np.stack([before, after]), 1.0)
    totals = batches * speeds_at(batches)
    return np.where((before > 0) & (after > 0), totals[0] / totals[1], np.inf)
