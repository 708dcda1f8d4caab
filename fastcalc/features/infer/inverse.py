"""The inverse: which services are consistent with two published speeds and two prices.

A box of all that is not published is searched with a stratified sample, and what comes within a
tolerance of the four numbers is kept: a region, for each combination of tricks.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from fastcalc.features.infer.two_tiers import (
    BOX,
    SIDES,
    TRICKS,
    ChipArrays,
    SoldTiers,
    Values,
    fast_tier,
    slow_tier,
)
from fastcalc.formulas.types import Bools, Floats

CHUNK = 1 << 18
SEED = 20260215
_SOLVED = ("markup", "markup_ratio")
"""Numbers that the published prices give once the rest is known: they need no sample."""

_SAMPLED = tuple(side.name for side in BOX if side.name not in _SOLVED)
_CHIPS = ("chip", "fast_chip")
_BINS = 4
"""Parts of a number that are told apart: as many points lie in each, of all regions together."""
_FOLDS = 8
"""Parts of a sample, each left out once to see how far what it says is a matter of luck."""
ENOUGH = 100
"""Samples from which a tenth of a region is ten of them or more."""
_EDGE = 0.75
"""Share of a side beyond which a band lies at the edge of what was tried."""

Combination = tuple[str, ...]
COMBINATIONS: tuple[Combination, ...] = tuple(
    tricks for count in range(1, len(TRICKS) + 1) for tricks in combinations(TRICKS, count)
)
"""Every combination of tricks, single ones first."""


@dataclass(frozen=True, eq=False)
class Region:
    """The services of one combination of tricks that are consistent with what is published.

    values : points of the region, by the names of the box
    weights : share of the box that each stands for [1]
    """

    tricks: Combination
    values: Values
    weights: Floats

    @property
    def share(self) -> float:
        """Share of the combination's box that the region takes. [1]"""
        return float(self.weights.sum())

    @property
    def is_found(self) -> bool:
        """Whether any service of this combination is consistent."""
        return len(self.weights) > 0

    def ends(self, name: str) -> tuple[float, float]:
        """Return the least and the largest value of a number."""
        return float(self.values[name].min()), float(self.values[name].max())

    def band(self, name: str) -> tuple[float, float]:
        """Return the values of a number below which a tenth and nine tenths of the region lie."""
        order = np.argsort(self.values[name])
        below = np.cumsum(self.weights[order]) / self.share
        places = np.minimum(np.searchsorted(below, (0.1, 0.9)), len(order) - 1)
        low, high = self.values[name][order][places]
        return float(low), float(high)

    def band_error(self, name: str) -> tuple[float, float]:
        """Return the sampling errors of both ends of a band; infinite of a sample too small."""
        low, high = zip(*(region.band(name) for region in self.parts), strict=True)
        return _error(low), _error(high)

    @property
    def is_thin(self) -> bool:
        """Whether the region rests on too few samples for its ranges to be more than rough."""
        return len(self.weights) < ENOUGH

    @property
    def at_edge(self) -> tuple[str, ...]:
        """Its numbers whose bands lie in the last part of their sides: a wider box may do more."""
        lows = {name: np.array(self.band(name)[0]) for name in self.ratios if self.is_found}
        return tuple(name for name, low in lows.items() if SIDES[name].share(low) > _EDGE)

    @property
    def ratios(self) -> tuple[str, ...]:
        """Numbers by which the tiers differ that are sides of the box."""
        return tuple(name for name in self.own if name in SIDES)

    @property
    def changed_chip(self) -> float:
        """Share of the region whose fast tier has another kind of chip; nan of none. [1]"""
        if not self.is_found:
            return math.nan
        changes = self.values["chip"] != self.values["fast_chip"]
        return float(self.weights[changes].sum() / self.share)

    @cached_property
    def parts(self) -> "list[Region]":
        """The region without each of its folds; itself alone where it has too few points."""
        places = np.arange(len(self.weights)) % _FOLDS
        if len(places) < 2 * _FOLDS:
            return [self]
        return [
            Region(
                self.tricks,
                {name: values[places != fold] for name, values in self.values.items()},
                self.weights[places != fold],
            )
            for fold in range(_FOLDS)
        ]

    @property
    def mean_width(self) -> float:
        """Mean share of the box's sides that the bands of 10 to 90 % take; nan of none. [1]"""
        if not self.is_found:
            return math.nan
        free = [name for name in SIDES if not name.endswith("_ratio") or name in self.own]
        widths = [np.diff(SIDES[name].share(np.array(self.band(name))))[0] for name in free]
        return float(np.mean(widths))

    @property
    def own(self) -> tuple[str, ...]:
        """Numbers by which the tiers differ."""
        return tuple(name for trick in self.tricks for name in TRICKS[trick])


@dataclass(frozen=True, eq=False)
class Inverse:
    """What two speeds and two prices leave open: a region for each combination of tricks.

    points : of the box that were tried [1]
    """

    chip_kinds: ChipArrays
    published: SoldTiers
    tolerance: float
    regions: Sequence[Region]
    points: int

    @cached_property
    def minimal(self) -> list[Region]:
        """Regions of the combinations that suffice, and of which no part does."""
        consistent = [region for region in self.regions if region.is_found]
        return [
            region
            for region in consistent
            if not any(set(subset.tricks) < set(region.tricks) for subset in consistent)
        ]

    @property
    def whole(self) -> Region:
        """The region of all tricks together, in the largest box."""
        return self.regions[-1]

    def decided_by(self) -> list[tuple[str, float, float]]:
        """Return the chance to tell minimal combinations by each number, the best first. [1]

        The sampling error of the chance stands next to it.
        """
        chances: list[tuple[str, float, float]] = []
        for name in SIDES if self.minimal else ():
            parts = zip(*(region.parts for region in self.minimal), strict=False)
            errors = _error([self._chance_by(name, left_out) for left_out in parts])
            chances.append((name, self._chance_by(name, self.minimal), errors))
        return sorted(chances, key=lambda row: -round(row[1], 6))

    def _chance_by(self, name: str, regions: Sequence[Region]) -> float:
        """Return the chance to name the region that a point is from, given a number of it. [1]"""
        values = [region.values[name] for region in regions]
        if name == "chips_ratio":  # of machines, the ratio of their bandwidths
            places = [[region.values[chip].astype(int) for chip in _CHIPS] for region in regions]
            speeds = [self.chip_kinds.bandwidth[np.array(pair)] for pair in places]
            values = [
                chips_ratio * fast / slow
                for chips_ratio, (slow, fast) in zip(values, speeds, strict=True)
            ]
        return _chance(regions, values)


def _error(left_out: Sequence[float]) -> float:
    """Return the error of a statistic, from its values with each fold left out (jackknife)."""
    if len(left_out) < _FOLDS:
        return float("inf")
    return float(np.sqrt((_FOLDS - 1.0) * np.var(left_out)))


def _chance(regions: Sequence[Region], values: Sequence[Floats]) -> float:
    """Return the chance to name the region that a point is from, given a number of it. [1]

    What is exactly alike in both tiers, a ratio of 1, is told from all that is not.
    """
    pooled = np.concatenate(values)
    unlike = pooled[pooled != 1.0]
    parts = np.linspace(0.0, 1.0, _BINS + 1)[1:-1]
    edges = np.quantile(unlike, parts) if len(unlike) else unlike
    counts = []
    for region, numbers in zip(regions, values, strict=True):
        places = np.where(numbers == 1.0, _BINS, np.searchsorted(edges, numbers))
        shares = np.bincount(places, region.weights / region.share, _BINS + 1)
        counts.append(shares)
    return float(np.max(counts, axis=0).sum() / len(regions))


def invert(
    published: SoldTiers, chip_kinds: ChipArrays, *, tolerance: float, points: int
) -> Inverse:
    """Return which services are consistent with what is published, within a factor of tolerance."""
    generator = np.random.default_rng(SEED)
    consistent: dict[Combination, list[tuple[Values, Floats]]] = {
        combination: [] for combination in COMBINATIONS
    }
    for values in _sample(generator, points, len(chip_kinds.names)):
        tier = slow_tier(values, chip_kinds)
        passing = tier.fits & _near(tier.speed, published.speeds[0], tolerance)
        passed = {name: numbers[passing] for name, numbers in values.items()}
        cost = tier.cost[passing]
        for tricks in COMBINATIONS:
            consistent[tricks].append(
                _consistent(tricks, passed, cost, published, chip_kinds, tolerance, generator)
            )
    regions = []
    for tricks, parts in consistent.items():
        joined = {
            name: np.concatenate([sampled[name] for sampled, _ in parts]) for name in parts[0][0]
        }
        weights = np.concatenate([weight for _, weight in parts]) / points
        regions.append(Region(tricks, joined, weights))
    return Inverse(chip_kinds, published, tolerance, regions, points)


def _sample(generator: np.random.Generator, points: int, chips: int) -> Iterator[dict[str, Floats]]:
    """Yield points of the box in parts: each side is cut into as many strips, one point in each."""
    for size in [CHUNK] * (points // CHUNK) + [points % CHUNK] * (points % CHUNK > 0):

        def strips(size: int = size) -> Floats:
            return (generator.permutation(size) + generator.random(size)) / size

        values = {name: SIDES[name].at(strips()) for name in _SAMPLED}
        yield values | {name: np.floor(strips() * chips) for name in _CHIPS}


def _near(computed: Floats, reported: float, tolerance: float) -> Bools:
    return np.asarray(np.abs(np.log(computed / reported)) <= np.log1p(tolerance))


def _consistent(
    tricks: Combination,
    values: dict[str, Floats],
    slow_cost: Floats,
    published: SoldTiers,
    chip_kinds: ChipArrays,
    tolerance: float,
    generator: np.random.Generator,
) -> tuple[Values, Floats]:
    """Return the points whose fast tier is consistent, too, and what each stands for."""
    differing = {name for trick in tricks for name in TRICKS[trick]}
    same = {name: np.ones_like(slow_cost) for name in SIDES if name.endswith("_ratio")}
    alike = {name: numbers for name, numbers in same.items() if name not in differing}
    alike |= {} if "fast_chip" in differing else {"fast_chip": values["chip"]}
    services = values | alike
    tier = fast_tier(services, chip_kinds)
    passing = tier.fits & _near(tier.speed, published.speeds[1], tolerance)
    consistent = {name: numbers[passing] for name, numbers in services.items()}
    needed = [
        np.log(reported / cost[passing])
        for reported, cost in zip(published.prices, (slow_cost, tier.cost), strict=True)
    ]
    markups, weights = _markups(needed, tolerance, generator, is_free="markup_ratio" in differing)
    consistent |= markups
    inside = weights > 0.0
    return {name: numbers[inside] for name, numbers in consistent.items()}, weights[inside]


def _markups(
    needed: Sequence[Floats], tolerance: float, generator: np.random.Generator, *, is_free: bool
) -> tuple[dict[str, Floats], Floats]:
    """Return markups within the tolerance of those needed, and the share of their sides they take.

    The markups needed in both tiers are logarithms. Where tiers have one markup, it must do for
    both; else the fast tier's is drawn after the slow one's.
    """
    slack, side, ratio = np.log1p(tolerance), SIDES["markup"], SIDES["markup_ratio"]
    slow, fast = needed
    low = np.maximum(slow - slack, np.log(side.low))
    high = np.minimum(slow + slack, np.log(side.high))
    if not is_free:
        low, high = np.maximum(low, fast - slack), np.minimum(high, fast + slack)
    markup = low + generator.random(len(slow)) * (high - low)
    weight = np.maximum(high - low, 0.0) / np.log(side.high / side.low)
    log_ratio = np.zeros_like(markup)
    if is_free:
        lowest = np.maximum(fast - slack - markup, np.log(ratio.low))
        highest = np.minimum(fast + slack - markup, np.log(ratio.high))
        log_ratio = lowest + generator.random(len(slow)) * (highest - lowest)
        weight = weight * np.maximum(highest - lowest, 0.0) / np.log(ratio.high / ratio.low)
    return {"markup": np.exp(markup), "markup_ratio": np.exp(log_ratio)}, weight
