"""Search for the cheapest layout and batch that give every user a target speed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from fastcalc.core.outcome import Outcome
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement
from fastcalc.core.smaller_batch import (
    ROUNDING,
    all_speeds_at_most,
    speeds,
    speeds_at_most,
    speeds_by_memory,
)
from fastcalc.core.stacked import Evaluation
from fastcalc.core.step.bound import Bound
from fastcalc.core.step.component import Step
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.money import usd_per_million
from fastcalc.formulas.types import ArrayLike, Floats
from fastcalc.grid.space import Space

_GRID = 1024  # batches evaluated together: a thousand take little longer than one
_STEPS = 2  # batches per octave when estimating the potential of a layout


def by_octaves(space: Space, layouts: Sequence[Layout]) -> tuple[Floats, Floats]:
    """Compute speeds per user for several batches per layout, up to its capacity. [1], [1/s]"""
    placement, batch, traffic = octaves_of(space, layouts, steps=1)
    return batch, speeds(placement, traffic, batch)


def octaves_of(space: Space, layouts: Sequence[Layout], steps: int = _STEPS) -> Evaluation:
    """Return an evaluation of layouts at several batches per octave, up to each layout's capacity.

    steps : The number of batches per octave.
    """
    placement = space.site.place_all(layouts, axes=1)
    max_batch = np.broadcast_to(placement.max_batch, (len(layouts), 1))
    octaves = int(max_batch.max()).bit_length()
    batches = np.unique(np.round(2.0 ** (np.arange(octaves * steps + 1) / steps)))
    return Evaluation(placement, np.minimum(batches, max_batch), space.scenario.traffic)


@dataclass(frozen=True)
class Reach:
    """The cheapest point of a search or, if there is none, the fastest speed and its bound.

    alone : Each layout with a single user, or None if no layout fits a sequence or if a point was
        found.
    speed : The target speed per user. [1/s]
    """

    outcome: Outcome | None
    alone: Schedule | None = None
    speed: float = 0.0

    @cached_property
    def fastest(self) -> float:
        """The highest speed of a single user on any layout, per second."""
        return 0.0 if self.alone is None else float(self._user_speeds(self.alone.decode).max())

    @cached_property
    def bound(self) -> float:
        """The highest hardware bound among the layouts that are too slow. [1/s]"""
        if self.alone is None:
            return 0.0
        is_slow = self._user_speeds(self.alone.decode) < self.speed * (1.0 - ROUNDING)
        return float(self._user_speeds(self.alone.bound())[is_slow].max(initial=0.0))

    @property
    def is_placed(self) -> bool:
        """Whether at least one layout fits a sequence."""
        return self.bound > 0.0

    def _user_speeds(self, timed: Step | Bound) -> Floats:
        """Compute the speed of a single user on each layout, per second."""
        assert self.alone is not None
        shape = (*np.shape(self.alone.placement.layout.chips)[:-1], 1)
        tokens = self.alone.traffic.speculation.tokens_per_pass
        return np.asarray(tokens / np.broadcast_to(timed.seconds, shape))


def cheapest(space: Space, layouts: Iterable[Layout], speed: float, below: float = inf) -> Reach:
    """Find the point with the lowest cost per output token at a target speed, per second.

    For each layout, the search considers the largest batch that reaches the speed, and smaller
    batches that cost even less. Without a price, it minimizes chip-seconds per token. Points that
    cost ``below`` dollars per million output tokens or more are skipped.
    """
    (reach,) = cheapest_of_each([(space, layouts)], speed, below)
    return reach


def cheapest_of_each(
    searches: Iterable[tuple[Space, Iterable[Layout]]], speed: float, below: float = inf
) -> list[Reach]:
    """Run `cheapest` for many spaces, evaluating their batches together."""
    candidate_lists = [(space, space.holding(list(layouts))) for space, layouts in searches]
    octaves = [octaves_of(space, candidates) for space, candidates in candidate_lists if candidates]
    user_speeds = iter(zip(octaves, all_speeds_at_most(octaves), strict=True))
    reaches = []
    for space, candidates in candidate_lists:
        if not candidates:
            reaches.append(Reach(None))
            continue
        (_, batches, _), speeds_there = next(user_speeds)
        usd_at_least = least_usd(candidates, batches, speeds_there, speed)
        reaches.append(_cheapest(space, candidates, usd_at_least, speed, below))
    return reaches


def _cheapest(
    space: Space, candidates: list[Layout], usd_at_least: Floats, speed: float, below: float
) -> Reach:
    """Find the cheapest point among layouts that fit a sequence.

    usd_at_least : A lower bound on each layout's cost per million tokens, at one dollar per
        chip-hour, in USD.
    """
    traffic, pricing = space.scenario.traffic, space.scenario.pricing
    hour = (pricing.per_chip_hour(space.scenario.hardware) or 1.0) / pricing.utilization
    lowest_usd, point = below, None
    # Copies of a layout cost the same except for rounding; the one with the fewest chips wins.
    chips = np.array([layout.chips for layout in candidates])
    for index in np.lexsort((chips, usd_at_least.astype(np.float32))).tolist():
        if usd_at_least[index] * hour >= lowest_usd:
            break
        layout = candidates[index]
        scale = float(usd_per_million(usd_per_hour=hour * layout.chips, seconds=1.0, tokens=1.0))
        total, batch = _closest(space.site.place(layout), traffic, speed, lowest_usd / scale)
        if batch and scale / total < lowest_usd * (1.0 - ROUNDING):
            lowest_usd, point = scale / total, (layout, batch)
    if point is not None:
        return Reach(space.at(*point))
    return Reach(
        None, Schedule(space.site.place_all(candidates, axes=1), traffic, np.ones(1)), speed
    )


def least_usd(
    layouts: Sequence[Layout], batch: Floats, user_speeds: Floats, speed: float
) -> Floats:
    """Compute lower bounds on the cost per million tokens, at one dollar per chip-hour, in USD.

    Batches and speeds are those returned by `by_octaves`; speeds may also be upper bounds. Speed
    per user never increases with the batch, so if a batch misses the target, so do all batches up
    to the next one. The bound is infinite if no batch reaches the target.
    """
    upto = np.maximum(np.append(batch[:, 1:] - 1.0, batch[:, -1:], axis=1), batch)
    total = np.where(user_speeds >= speed * (1.0 - ROUNDING), upto * user_speeds, 0.0).max(axis=1)
    chips = np.array([layout.chips for layout in layouts])
    usd = np.full(len(chips), inf)
    second = usd_per_million(usd_per_hour=chips, seconds=1.0, tokens=1.0)
    np.divide(second, total, out=usd, where=total > 0.0)
    return usd


def _closest(
    placement: Placement, traffic: Traffic, speed: float, below: float
) -> tuple[float, int]:
    """Find the highest throughput at a target speed and its batch, or zeros if there is none.

    The largest batch that reaches the speed is best, except for pipelines that become uneven with
    one or two more sequences. Replicas have equal numbers of sequences, or at most one each.
    Batches that take ``below`` seconds per token or more are skipped.
    """
    replicas = placement.layout.dp
    goal = speed * (1.0 - ROUNDING)
    low, high = 0, int(placement.max_batch) // replicas + replicas
    highest = (0.0, 0)
    while True:
        candidates = np.unique(np.round(np.geomspace(low + 1, high - 1, _GRID)))
        # Batches that load replicas evenly, or with at most one sequence each.
        even = replicas * (candidates - replicas + 1.0)
        batches = np.where(candidates < replicas, candidates, even)
        if len(placement.machine.tiers) > 1:  # up to the first that is too slow for any placement
            hopeful = speeds_at_most(placement, traffic, batches) >= goal
            batches = batches[: np.count_nonzero(hopeful) + 1]
        reached = speeds_by_memory(placement, traffic, batches)
        count = int(np.count_nonzero(reached >= goal))
        if not count:
            return 0.0, 0
        totals = batches * reached
        top = int(np.argmax(totals[:count]))
        highest = max(highest, (float(totals[top]), int(batches[top])))
        # The next batch has more throughput but is too slow; if even that is not enough, stop.
        beyond = min(count, len(batches) - 1)
        is_exact = candidates[beyond] <= candidates[count - 1] + 1
        if is_exact or max(highest[0], float(totals[beyond])) * below <= 1.0:
            return highest
        low, high = int(candidates[count - 1]) - 1, int(candidates[beyond])


def tokens_needed_per_pass(outcome: Outcome, drafts: ArrayLike, speed: float) -> Floats:
    """Compute the tokens per step needed for a target speed, or NaN above the bound."""
    batch, traffic = outcome.scenario.batches[0], outcome.scenario.traffic

    def speed_at(tokens: float, drafted: float) -> float:
        speculation = replace(traffic.speculation, tokens_per_pass=tokens, drafted=drafted)
        drafting = replace(traffic, speculation=speculation)
        return float(speeds(outcome.placement, drafting, batch)[0])

    needed = []
    for drafted in np.atleast_1d(drafts).tolist():
        tokens = max(speed / speed_at(1.0, drafted), 1.0)  # a step's time does not depend on it
        is_met = tokens > drafted + 1.0 or speed_at(tokens, drafted) >= speed * (1.0 - 1e-9)
        needed.append(tokens if is_met else np.nan)
    return np.array(needed)
