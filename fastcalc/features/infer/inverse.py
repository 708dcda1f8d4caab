"""Search for services that match two published speeds and two prices.

A stratified sample covers the ranges of all unpublished parameters. For each combination of
techniques, the services that match the four published numbers within a tolerance form a region.
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
    TECHNIQUES,
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
"""Parameters that follow from the published prices once the others are sampled."""

_SAMPLED = tuple(side.name for side in BOX if side.name not in _SOLVED)
_CHIPS = ("chip", "fast_chip")
_BINS = 4
"""Number of bins per parameter. Each has the same number of samples, over all regions."""
_FOLDS = 8
"""Number of folds of a sample. Leaving each out once estimates the sampling error (jackknife)."""
ENOUGH = 100
"""Number of samples with which a tenth of a region has ten samples."""
_EDGE = 0.75
"""Fraction of a search range beyond which a band counts as reaching its limit."""

Combination = tuple[str, ...]
COMBINATIONS: tuple[Combination, ...] = tuple(
    tricks for count in range(1, len(TECHNIQUES) + 1) for tricks in combinations(TECHNIQUES, count)
)
"""All combinations of techniques, single ones first."""


@dataclass(frozen=True, eq=False)
class Region:
    """The services that match the published numbers with one combination of techniques.

    values : The sampled parameters of each service, by their names in the box.
    weights : The fraction of the box represented by each service.
    """

    tricks: Combination
    values: Values
    weights: Floats

    @property
    def share(self) -> float:
        """The fraction of the combination's box that matches."""
        return float(self.weights.sum())

    @property
    def is_found(self) -> bool:
        """Whether any service matches with this combination."""
        return len(self.weights) > 0

    def ends(self, name: str) -> tuple[float, float]:
        """Return the smallest and largest value of a parameter."""
        return float(self.values[name].min()), float(self.values[name].max())

    def band(self, name: str) -> tuple[float, float]:
        """Compute the 10th and 90th percentile of a parameter over the region."""
        order = np.argsort(self.values[name])
        below = np.cumsum(self.weights[order]) / self.share
        indices = np.minimum(np.searchsorted(below, (0.1, 0.9)), len(order) - 1)
        low, high = self.values[name][order][indices]
        return float(low), float(high)

    def band_error(self, name: str) -> tuple[float, float]:
        """Estimate the sampling error at both ends of a band.

        Returns infinity if the sample is too small.
        """
        low, high = zip(*(region.band(name) for region in self.folds), strict=True)
        return _error(low), _error(high)

    @property
    def is_thin(self) -> bool:
        """Whether the region has so few samples that its ranges are rough."""
        return len(self.weights) < ENOUGH

    @property
    def at_edge(self) -> tuple[str, ...]:
        """The parameters whose bands reach a search limit: a wider search may find more."""
        lows = {name: np.array(self.band(name)[0]) for name in self.ratios if self.is_found}
        return tuple(name for name, low in lows.items() if SIDES[name].share(low) > _EDGE)

    @property
    def ratios(self) -> tuple[str, ...]:
        """The parameters that differ between the tiers and have a search range."""
        return tuple(name for name in self.own if name in SIDES)

    @property
    def changed_chip(self) -> float:
        """The fraction of the region whose fast tier has another chip type, or NaN if empty."""
        if not self.is_found:
            return math.nan
        changes = self.values["chip"] != self.values["fast_chip"]
        return float(self.weights[changes].sum() / self.share)

    @cached_property
    def folds(self) -> "list[Region]":
        """The region with each fold left out in turn, or whole if it has too few samples."""
        fold_of = np.arange(len(self.weights)) % _FOLDS
        if len(fold_of) < 2 * _FOLDS:
            return [self]
        return [
            Region(
                self.tricks,
                {name: values[fold_of != fold] for name, values in self.values.items()},
                self.weights[fold_of != fold],
            )
            for fold in range(_FOLDS)
        ]

    @property
    def mean_width(self) -> float:
        """The mean width of the 10 to 90% bands, relative to the ranges, or NaN if empty."""
        if not self.is_found:
            return math.nan
        free = [name for name in SIDES if not name.endswith("_ratio") or name in self.own]
        widths = [np.diff(SIDES[name].share(np.array(self.band(name))))[0] for name in free]
        return float(np.mean(widths))

    @property
    def own(self) -> tuple[str, ...]:
        """The parameters that differ between the tiers."""
        return tuple(name for technique in self.tricks for name in TECHNIQUES[technique])


@dataclass(frozen=True, eq=False)
class Inverse:
    """Finds the services that match the published numbers, for each combination of techniques.

    points : The number of services tried.
    """

    chip_kinds: ChipArrays
    published: SoldTiers
    tolerance: float
    regions: Sequence[Region]
    points: int

    @cached_property
    def minimal(self) -> list[Region]:
        """The regions of sufficient combinations that contain no smaller sufficient one."""
        consistent = [region for region in self.regions if region.is_found]
        return [
            region
            for region in consistent
            if not any(set(subset.tricks) < set(region.tricks) for subset in consistent)
        ]

    @property
    def whole(self) -> Region:
        """The region in which all techniques are combined."""
        return self.regions[-1]

    def decided_by(self) -> list[tuple[str, float, float]]:
        """Rank parameters by the probability that each identifies the minimal combination.

        Each row has the parameter, the probability and its sampling error.
        """
        chances: list[tuple[str, float, float]] = []
        for name in SIDES if self.minimal else ():
            folds = zip(*(region.folds for region in self.minimal), strict=False)
            errors = _error([self._chance_by(name, regions) for regions in folds])
            chances.append((name, self._chance_by(name, self.minimal), errors))
        return sorted(chances, key=lambda row: -round(row[1], 6))

    def _chance_by(self, name: str, regions: Sequence[Region]) -> float:
        """Compute the probability that a parameter identifies the region of a service."""
        values = [region.values[name] for region in regions]
        if name == "chips_ratio":  # other hardware is compared by bandwidth
            chips = [[region.values[chip].astype(int) for chip in _CHIPS] for region in regions]
            speeds = [self.chip_kinds.bandwidth[np.array(pair)] for pair in chips]
            values = [
                chips_ratio * fast / slow
                for chips_ratio, (slow, fast) in zip(values, speeds, strict=True)
            ]
        return _chance(regions, values)


def _error(estimates: Sequence[float]) -> float:
    """Estimate the jackknife error of a statistic from its values with each fold left out."""
    if len(estimates) < _FOLDS:
        return float("inf")
    return float(np.sqrt((_FOLDS - 1.0) * np.var(estimates)))


def _chance(regions: Sequence[Region], values: Sequence[Floats]) -> float:
    """Compute the probability that a parameter identifies the region of a service.

    A ratio of exactly 1 (the same value in both tiers) gets its own bin.
    """
    pooled = np.concatenate(values)
    unlike = pooled[pooled != 1.0]
    quantiles = np.linspace(0.0, 1.0, _BINS + 1)[1:-1]
    edges = np.quantile(unlike, quantiles) if len(unlike) else unlike
    counts = []
    for region, numbers in zip(regions, values, strict=True):
        bins = np.where(numbers == 1.0, _BINS, np.searchsorted(edges, numbers))
        counts.append(np.bincount(bins, region.weights / region.share, _BINS + 1))
    return float(np.max(counts, axis=0).sum() / len(regions))


def invert(
    published: SoldTiers, chip_kinds: ChipArrays, *, tolerance: float, points: int
) -> Inverse:
    """Find the services within a factor of ``1 + tolerance`` of the published numbers."""
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
    for tricks, chunks in consistent.items():
        joined = {
            name: np.concatenate([sampled[name] for sampled, _ in chunks]) for name in chunks[0][0]
        }
        weights = np.concatenate([weight for _, weight in chunks]) / points
        regions.append(Region(tricks, joined, weights))
    return Inverse(chip_kinds, published, tolerance, regions, points)


def _sample(generator: np.random.Generator, points: int, chips: int) -> Iterator[dict[str, Floats]]:
    """Draw services in chunks by Latin hypercube sampling: one point per stratum of each range."""
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
    """Select the services whose fast tier matches too, and return them with their weights."""
    differing = {name for technique in tricks for name in TECHNIQUES[technique]}
    same = {name: np.ones_like(slow_cost) for name in SIDES if name.endswith("_ratio")}
    equal = {name: numbers for name, numbers in same.items() if name not in differing}
    equal |= {} if "fast_chip" in differing else {"fast_chip": values["chip"]}
    services = values | equal
    tier = fast_tier(services, chip_kinds)
    passing = tier.fits & _near(tier.speed, published.speeds[1], tolerance)
    consistent = {name: numbers[passing] for name, numbers in services.items()}
    needed = [
        np.log(reported / cost[passing])
        for reported, cost in zip(published.prices, (slow_cost, tier.cost), strict=True)
    ]
    # The markups that are within the tolerance, and their weight in the box. If the markups of the
    # tiers may differ, that of the fast tier is drawn second.
    is_free = "markup_ratio" in differing
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
    consistent |= {"markup": np.exp(markup), "markup_ratio": np.exp(log_ratio)}
    inside = weight > 0.0
    return {name: numbers[inside] for name, numbers in consistent.items()}, weight[inside]
