"""80 % ranges from residuals of points whose source was left out of the fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt

import numpy as np

from fastcalc.formulas.types import Array, Floats

INSIDE = 0.8  # share of unseen points that a range should hold
FEWEST_SOURCES = 3  # with fewer, points of a kind get the range of a wider group
ENOUGH_SOURCES = 5  # a group has a range of its own however much they differ
_NARROWEST = 1.05


@dataclass(frozen=True)
class Interval:
    """From ``expected / below`` to ``expected * above``, and points and sources behind it. [1]"""

    below: float
    above: float
    count: int
    sources: int

    def at_least(self, inner: "Interval") -> "Interval":
        """Return it, widened to hold another."""
        return replace(self, below=max(self.below, inner.below), above=max(self.above, inner.above))


def interval(residuals: Floats, sources: Array, stretch: float | None = None) -> Interval:
    """Return the range that holds 80 % of points of a source never seen.

    It lies between the quantiles of all residuals, sources counting as the square root of their
    points, stretched until such ranges, each of the other sources, hold 80 % of all points.
    """
    low, high = _edges(residuals, sources)
    stretch = stretch_of(residuals, sources) if stretch is None else stretch
    return Interval(
        below=max(exp(-low * stretch), _NARROWEST),
        above=max(exp(high * stretch), _NARROWEST),
        count=len(residuals),
        sources=len(np.unique(sources)),
    )


def stretch_of(residuals: Floats, sources: Array) -> float:
    """Return how much wider than the quantiles of others a range must be for a new source. [1]"""
    names = np.unique(sources)
    if len(names) < FEWEST_SOURCES:
        return _by_chance(len(names))
    needed = np.zeros(len(residuals))
    for name in names:
        of_source = sources == name
        low, high = _edges(residuals[~of_source], sources[~of_source])
        needed[of_source] = np.where(
            residuals[of_source] > 0.0, residuals[of_source] / high, residuals[of_source] / low
        )
    return float(np.quantile(needed, INSIDE))


def _by_chance(sources: int) -> float:
    """Return how Student's t stretches a normal deviate, and the mean's own error. [1]"""
    from scipy.stats import norm, t

    edge = (1.0 + INSIDE) / 2.0
    t_over_normal = float(t.ppf(edge, max(sources - 1, 1)) / norm.ppf(edge))
    return t_over_normal * sqrt(1.0 + 1.0 / sources)


def _edges(residuals: Floats, sources: Array) -> tuple[float, float]:
    """Return the quantiles that leave a tenth on either side, apart from one another."""
    _, inverse, counts = np.unique(sources, return_inverse=True, return_counts=True)
    weights = 1.0 / np.sqrt(counts[inverse])
    edge = (1.0 - INSIDE) / 2.0
    order = np.argsort(residuals)
    reached = np.cumsum(weights[order]) - weights[order] / 2.0
    low, high = np.interp(
        np.sum(weights) * np.array([edge, 1.0 - edge]), reached, residuals[order]
    ).tolist()
    return min(low, -log(_NARROWEST)), max(high, log(_NARROWEST))


def intervals(
    residuals: Floats,
    sources: Array,
    names: Sequence[Sequence[str]],
    left_out: str | None = None,
) -> Mapping[str, Interval]:
    """Return the range of every name that enough sources stand behind, one left out or none.

    It is stretched as that of all. Few sources that differ by more than chance have their phase's.
    """
    ranges = {}
    for name in sorted({name for point_names in names for name in point_names}):
        chosen = np.array([name in point_names for point_names in names])
        remaining = chosen & (sources != left_out)
        if len(np.unique(sources[remaining])) >= FEWEST_SOURCES:
            stretch = stretch_of(residuals[chosen], sources[chosen])
            count = len(np.unique(sources[chosen]))
            if "-" in name and count < ENOUGH_SOURCES and stretch > _by_chance(count):
                continue
            ranges[name] = interval(residuals[remaining], sources[remaining], stretch)
    return ranges
