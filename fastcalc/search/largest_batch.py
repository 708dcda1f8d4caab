"""The largest batch at which every user still gets a speed, and the cheapest layout that does."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from fastcalc.core.layout import Layout
from fastcalc.core.placement import AnyPlacement, Placement, Placements, Site
from fastcalc.core.scenario import Outcome
from fastcalc.core.schedule import Schedule
from fastcalc.core.traffic import Traffic
from fastcalc.formulas.types import Array, ArrayLike, Bools, Floats
from fastcalc.search.space import BatchRange, Space

Batches = np.ndarray[Any, np.dtype[np.int64]]
"""Batches as whole numbers."""

_GRID = 1024
"""Batches tried at once between one that reaches a speed and one that does not: a thousand take
little longer than one."""

_STEPS = 4
"""Batches to an octave that say what a layout may come to."""

_ROUNDING = 1e-12


def speeds(placement: AnyPlacement, traffic: Traffic, batch: ArrayLike) -> Floats:
    """Return the expected tokens a second of each user, and nothing else of an estimate. [1/s]

    Batches broadcast with the layouts of the placement.
    """
    batches = np.atleast_1d(np.asarray(batch, dtype=np.float64))
    seconds = Schedule(placement, traffic, batches).decode.seconds
    return np.asarray(traffic.speculation.tokens_per_pass / seconds, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Tiers:
    """One memory tier of several layouts, a row each, at some batches.

    Attributes
    ----------
    lives : ndarray of bool
        Where batches live in it that no faster memory holds.
    batch, speed : ndarray
        Batches from the smallest that lives there to the largest, and tokens a second of each
        user. [1], [1/s]
    """

    site: Site
    placement: Placements
    lives: Bools
    batch: Floats
    speed: Floats


def tiers_at(space: Space, layouts: Sequence[Layout], *, steps: int = 1) -> Iterator[Tiers]:
    """Yield the memory tiers at so many batches to an octave, and at both ends of each layout's."""
    held: Array = np.zeros((len(layouts), 1))
    for site in space.sites if layouts else ():
        placement = site.place_all(layouts, axes=1)
        most = np.broadcast_to(placement.max_batch, held.shape)
        octaves = int(most.max()).bit_length()
        tried = np.unique(np.round(2.0 ** (np.arange(octaves * steps + 1) / steps)))
        batch = np.clip(tried, held + 1.0, np.maximum(most, held + 1.0))
        speed = speeds(placement, space.scenario.traffic, batch)
        yield Tiers(site, placement, (most > held)[:, 0], batch, speed)
        held = np.maximum(held, most)


def largest_batches(placement: Placement, traffic: Traffic, speed: ArrayLike) -> Batches:
    """Return the largest batch whose expected speed reaches each of some speeds.

    A larger batch is never faster on the same chips, so each answer is found between a batch that
    reaches its speed and one that does not.

    Parameters
    ----------
    placement, traffic : Placement, Traffic
        A workload on a layout, and what requests look like.
    speed : array_like
        Tokens a second that every user is to get, one dimension at most. [1/s]

    Returns
    -------
    ndarray of int
        One batch for each speed; 0 where not even one sequence reaches it. [1]
    """
    goals = np.atleast_1d(np.asarray(speed, float)) * (1.0 - _ROUNDING)
    reached = np.zeros(goals.shape, dtype=np.int64)
    missed = np.full(goals.shape, placement.max_batch + 1, dtype=np.int64)
    while np.any(missed - reached > 1):
        tried = _batches_between(reached, missed)
        reaches = (
            speeds(placement, traffic, tried.ravel().astype(float)).reshape(tried.shape)
            >= goals[:, None]
        )
        reached = np.maximum(reached, np.where(reaches, tried, 0).max(axis=1))
        above = ~reaches & (tried > reached[:, None])
        missed = np.where(above, tried, missed[:, None]).min(axis=1)
    return reached


def cost_multiples(
    placement: Placement, traffic: Traffic, slow: ArrayLike, fast: ArrayLike
) -> Floats:
    """Return what an output token costs at one user speed over what it costs at another. [1]

    The chips stay, and each speed is served at the largest batch that reaches it; so the multiple
    times the ratio of the speeds reached is the ratio of the batches. Nan where a speed is out of
    reach.

    Parameters
    ----------
    placement, traffic : Placement, Traffic
        A workload on a layout, and what requests look like.
    slow, fast : array_like
        Tokens a second of each user before and after, which broadcast to one dimension. [1/s]
    """
    pairs = np.broadcast_arrays(*(np.atleast_1d(np.asarray(one, float)) for one in (slow, fast)))
    before, after = (largest_batches(placement, traffic, one) for one in pairs)
    totals = [
        np.maximum(batch, 1) * speeds(placement, traffic, np.maximum(batch, 1))
        for batch in (before, after)
    ]
    return np.where((before > 0) & (after > 0), totals[0] / totals[1], np.nan)


def _batches_between(reached: Batches, missed: Batches) -> Batches:
    """Return batches between two for each speed, even in ratio, both neighbours among them.

    Where nothing is left between, the batch that reaches stands again.
    """
    low = np.minimum(reached + 1, np.maximum(missed - 1, 1))
    high = np.maximum(missed - 1, low)
    return np.round(np.geomspace(low, high, _GRID, axis=1)).astype(np.int64)


@dataclass(frozen=True)
class Reach:
    """How a search for a speed ended: the cheapest point that reaches it, or None.

    At the smallest batch, ``fastest`` is the highest expected speed, and ``bound`` the highest
    bound where there is no such point; 0 where nothing could be placed. [1/s]
    """

    outcome: Outcome | None
    fastest: float = 0.0
    bound: float = 0.0

    @property
    def is_placed(self) -> bool:
        """True where at least one layout holds a sequence."""
        return self.bound > 0.0


def cheapest(space: Space, layouts: Iterable[Layout], speed: float, below: float = inf) -> Reach:
    """Return the point of some layouts whose output tokens cost least at a speed, if any.

    Each layout is taken at its largest batch that reaches the speed, or a smaller one that is
    cheaper still. Without a price, the point with the fewest chip-seconds a token is taken.

    Parameters
    ----------
    space, layouts : Space, iterable of Layout
        The model on a kind of chip, and the layouts to look at.
    speed : float
        Tokens a second that every user is to get. [1/s]
    below : float
        Dollars a million output tokens from which a point is of no interest. [USD]
    """
    traffic, pricing = space.scenario.traffic, space.scenario.pricing
    hour = (pricing.per_chip_hour(space.scenario.hardware) or 1.0) / pricing.utilization
    best, point = below, None
    tried = sorted(_hopes(space, list(layouts), speed), key=lambda one: one.usd)
    fastest = max((one.fastest for one in tried), default=0.0)
    for one in tried:
        if one.usd * hour >= best:
            break
        scale = hour * one.layout.chips / 3600.0 * 1e6
        total, batch = _closest(one.tier, traffic, speed, best / scale)
        if batch and scale / total < best:
            best, point = scale / total, (one.layout, batch)
    if point is None:
        slow = [
            Schedule(one.tier.placement, traffic, np.ones(1)) for one in tried if one.usd == inf
        ]
        bounds = (traffic.speculation.tokens_per_pass / one.bound().seconds[0] for one in slow)
        return Reach(None, fastest, float(max(bounds, default=0.0)))
    return Reach(space.at(*point), fastest)


@dataclass(frozen=True)
class _Hope:
    """A tier of a layout: the least that a token may cost at a speed, and its fastest user.

    Dollars are a million tokens at a dollar a chip-hour; infinite where the speed is out of reach.
    """

    layout: Layout
    tier: BatchRange
    usd: float
    fastest: float


def _hopes(space: Space, layouts: Sequence[Layout], speed: float) -> Iterator[_Hope]:
    """Yield what each tier may come to: users are no faster at any batch than at a smaller one."""
    for one in tiers_at(space, layouts, steps=_STEPS):
        upto = np.append(one.batch[:, 1:] - 1.0, one.batch[:, -1:], axis=1)
        reached = one.speed >= speed * (1.0 - _ROUNDING)
        total = np.where(reached, np.maximum(upto, one.batch) * one.speed, 0.0).max(axis=1)
        for row in np.flatnonzero(one.lives).tolist():
            layout, most = layouts[row], float(total[row])
            usd = layout.chips / 3600.0 * 1e6 / most if most else inf
            tier = BatchRange(
                one.site.place(layout), int(one.batch[row, 0]), int(one.batch[row, -1])
            )
            yield _Hope(layout, tier, usd, float(one.speed[row, 0]))


def _closest(tier: BatchRange, traffic: Traffic, speed: float, below: float) -> tuple[float, int]:
    """Return the most tokens a second at a speed, and their batch or 0, as closely as matters.

    It is the largest that reaches the speed, but for pipelines that a batch or two more leave
    uneven: there a smaller one may be both faster and cheaper. From ``below`` seconds a token on
    a batch is of no interest.
    """
    low, high = tier.fewest - 1, tier.most + 1
    best = (0.0, 0)
    while True:
        tried = np.unique(_batches_between(np.array([low]), np.array([high])))
        reached = speeds(tier.placement, traffic, tried.astype(float))
        held = int(np.count_nonzero(reached >= speed * (1.0 - _ROUNDING)))
        if not held:
            return 0.0, 0
        totals = tried * reached
        top = int(np.argmax(totals[:held]))
        best = max(best, (float(totals[top]), int(tried[top])))
        # The next batch yields more, but is too slow: if that is too little, look no closer.
        beyond = min(held, len(tried) - 1)
        is_exact = tried[beyond] <= tried[held - 1] + 1
        if is_exact or max(best[0], float(totals[beyond])) * below <= 1.0:
            return best
        low, high = int(tried[held - 1]) - 1, int(tried[beyond])


def needed_tokens(outcome: Outcome, drafts: ArrayLike, speed: float) -> Floats:
    """Return the tokens that a pass must yield for a speed at the same batch. [1]

    One for each count of drafts, nan where the bound is below the speed even so. The outcome is of
    one batch.
    """
    batch, traffic = outcome.scenario.batches[0], outcome.scenario.traffic

    def speed_at(tokens: float, drafted: float) -> float:
        speculation = replace(traffic.speculation, tokens_per_pass=tokens, drafted=drafted)
        given = replace(traffic, speculation=speculation)
        return float(speeds(outcome.placement, given, batch)[0])

    found = []
    for drafted in np.atleast_1d(drafts).tolist():
        tokens = max(speed / speed_at(1.0, drafted), 1.0)  # a pass takes as long whatever it yields
        is_met = tokens > drafted + 1.0 or speed_at(tokens, drafted) >= speed * (1.0 - 1e-9)
        found.append(tokens if is_met else np.nan)
    return np.array(found)
