"""80 % ranges from residuals of points whose source was left out of the fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, sqrt

import numpy as np

from fastcalc.formulas.types import Array, Floats

INSIDE = 0.8
"""Share of unseen points that a range should hold."""

FEWEST_SOURCES = 3
"""Sources below which points of a kind get the range of a wider group."""

_NARROWEST = 1.05


@dataclass(frozen=True)
class Interval:
    """A range about an expected speed, and what it rests on.

    Attributes
    ----------
    below, above : float
        From ``expected / below`` to ``expected * above``. [1]
    count, sources : int
        Points and independent sources behind it.
    """

    below: float
    above: float
    count: int
    sources: int

    def at_least(self, other: "Interval") -> "Interval":
        """Return it, widened to hold another."""
        return replace(self, below=max(self.below, other.below), above=max(self.above, other.above))


def interval(residuals: Floats, sources: Array) -> Interval:
    """Return the range that holds 80 % of points of a source never seen.

    Sources count as the square root of their points. The quantiles are stretched as Student's t
    stretches a normal deviate for so few sources, and by the mean's own error.
    """
    from scipy.stats import norm, t

    names, inverse, counts = np.unique(sources, return_inverse=True, return_counts=True)
    weights = 1.0 / np.sqrt(counts[inverse])
    edge = (1.0 - INSIDE) / 2.0
    degrees = max(len(names) - 1, 1)
    stretch = float(t.ppf(1.0 - edge, degrees) / norm.ppf(1.0 - edge))
    stretch *= sqrt(1.0 + 1.0 / len(names))
    order = np.argsort(residuals)
    reached = np.cumsum(weights[order]) - weights[order] / 2.0
    low, high = np.interp(
        np.sum(weights) * np.array([edge, 1.0 - edge]), reached, residuals[order]
    ).tolist()
    return Interval(
        below=max(exp(-low * stretch), _NARROWEST),
        above=max(exp(high * stretch), _NARROWEST),
        count=len(residuals),
        sources=len(names),
    )


def intervals(
    residuals: Floats, sources: Array, names: Sequence[Sequence[str]]
) -> Mapping[str, Interval]:
    """Return the range of every name that enough sources stand behind."""
    found = {}
    for name in sorted({name for own in names for name in own}):
        chosen = np.array([name in own for own in names])
        if len(np.unique(sources[chosen])) >= FEWEST_SOURCES:
            found[name] = interval(residuals[chosen], sources[chosen])
    return found
