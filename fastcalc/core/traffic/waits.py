"""Distribution of the time to first token, and quantiles of mixtures."""

from dataclasses import dataclass
from functools import cached_property
from math import nan

import numpy as np

from fastcalc.formulas.load import gamma_share
from fastcalc.formulas.solving import bisect
from fastcalc.formulas.types import ArrayLike, Floats, floats

_POINTS = 2048  # on the time axis
_MEANS = 40.0  # length of the time axis in mean waits
NO_CHANCE = 1e-9
"""The probability below which a time is dropped."""


@dataclass(frozen=True, eq=False)
class Waits:
    """The distribution of the time to first token on a time grid.

    spacing : The grid spacing, in seconds.
    chances : The probability of each grid point, starting at 0 and without the wait for a slot.
    slots : The probability that a request waits for a slot [1], and the mean wait if it does. [s]
    """

    spacing: float
    chances: Floats
    slots: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, times: Floats, chances: Floats, slots: tuple[float, float]) -> "Waits":
        """Build the distribution from times and their probabilities, with `slots` as above."""
        axis, counted = binned(np.maximum(times, 0.0), chances, start=0.0)
        return cls(float(axis[1]), counted, slots)

    @property
    def _times(self) -> Floats:
        return floats(np.arange(_POINTS) * self.spacing)

    @cached_property
    def mean(self) -> float:
        """The mean time, in seconds."""
        queued, mean = self.slots
        return float(self.chances @ self._times) + queued * mean

    @cached_property
    def _up_to(self) -> Floats:
        return np.cumsum(self.chances)

    @cached_property
    def _up_to_with_slot(self) -> Floats:
        """The fraction of requests within each time, if all of them also wait for a slot.

        The exponential wait for a slot is added one interval at a time, since its time scale may be
        a thousand times longer than that of the other waits.
        """
        rate = self.spacing / self.slots[1]
        kernel = -np.expm1(-rate) * np.exp(-rate * np.arange(_POINTS))
        product = np.fft.rfft(self.chances, 2 * _POINTS) * np.fft.rfft(kernel, 2 * _POINTS)
        chances = np.maximum(np.fft.irfft(product, 2 * _POINTS)[:_POINTS], 0.0)
        return np.asarray(np.minimum(np.cumsum(chances), self._up_to))

    def share(self, value: ArrayLike) -> float:
        """Compute the fraction of requests whose time is at most the given value."""
        waited = float(np.interp(value, self._times, self._up_to, left=0.0, right=1.0))
        queued, mean = self.slots
        if queued <= NO_CHANCE:
            return waited
        with_slot = np.interp(value, self._times, self._up_to_with_slot, left=0.0)
        beyond = np.maximum(value - self._times[-1], 0.0)
        with_slot = 1.0 - (1.0 - with_slot) * np.exp(-beyond / mean)
        return float((1.0 - queued) * waited + queued * with_slot)

    def quantile(self, part: float) -> float:
        """Compute a quantile of the time, in seconds."""
        longest = _POINTS * self.spacing + _MEANS * self.slots[1]
        return float(bisect(lambda value: self.share(value) < part, 0.0, longest)[1])


def binned(
    times: Floats, chances: Floats, points: int = _POINTS, *, start: float | None = None
) -> tuple[Floats, Floats]:
    """Bin a distribution of times onto evenly spaced points, preserving the mean. [s],

    The probability of each time is divided between its two neighbors, which keeps the mean and adds
    at most a quarter of the squared spacing to the variance. Negligible probabilities are dropped.

    start : The first point; by default the smallest time, in seconds.

    >>> times, chances = binned(np.array([0.0, 1.0, 4.0]), np.array([0.2, 0.4, 0.4]), 3)
    >>> times.round(6).tolist(), chances.round(6).tolist()
    ([0.0, 2.0, 4.0], [0.4, 0.2, 0.4])
    """
    some = chances > NO_CHANCE
    times, chances = times[some], chances[some] / chances[some].sum()
    least = float(times.min()) if start is None else start
    spacing = max((float(times.max()) - least) * (1.0 + 1e-9) / (points - 1), 1e-12)
    at = (times - least) / spacing
    low = np.floor(at).astype(int)
    part = at - low
    counted = np.bincount(low, chances * (1.0 - part), points + 1)
    counted = counted + np.bincount(low + 1, chances * part, points + 1)
    return floats(least + spacing * np.arange(points)), floats(counted[:points])


def mixture_share(value: ArrayLike, weights: Floats, means: Floats, variances: Floats) -> float:
    """Compute the fraction of a gamma mixture at or below a value, or 1 if it is empty.

    weights : The weight of each distribution, not necessarily normalized.
    """
    positive = weights > 0.0
    if not positive.any():
        return 1.0
    fractions = weights[positive] / weights[positive].sum()
    below = gamma_share(value=value, mean=means[positive], variance=variances[positive])
    return float(fractions @ below)


def mixture_quantile(part: float, weights: Floats, means: Floats, variances: Floats) -> float:
    """Compute a quantile of a gamma mixture, or NaN if the mixture is empty."""
    positive = weights > 0.0
    if not positive.any():
        return nan
    top = float(np.max((means + 50.0 * np.sqrt(variances))[positive]))

    def is_below(value: Floats) -> bool:
        return mixture_share(value, weights, means, variances) < part

    return float(bisect(is_below, 0.0, top)[1])
