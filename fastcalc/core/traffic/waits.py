"""Waits one after another as one distribution, and quantiles of mixtures."""

from dataclasses import dataclass
from functools import cached_property
from math import nan

import numpy as np

from fastcalc.formulas.load import gamma_share, prompt_wait
from fastcalc.formulas.solving import bisect
from fastcalc.formulas.types import ArrayLike, Floats, floats

_POINTS = 4096  # of a time axis
_MEANS = 40.0  # of waits that it holds
_BUSIEST = 0.95
_NO_CHANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Waits:
    """The chances of a wait, on a time axis.

    spacing : of the axis [s]
    chances : of each part of it, from none, but for the wait for a slot [1]
    slots : chance that a request waits for a slot [1], and how long it does then on average [s]
    """

    spacing: float
    chances: Floats
    slots: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(
        cls,
        *,
        step: float,
        short_rate: float,
        short_pass: float,
        short_more: float,
        prompts: "PromptQueue",
        slots: tuple[float, float],
        occupied: float = 1.0,
    ) -> "Waits":
        """Return the sum of what a request waits for.

        The rest of the pass under way, which may have short prompts in it; those of others in the
        pass that takes in its own; longer prompts ahead; and a slot.

        step, short_pass, short_more : time of a pass that decodes, of one that takes in a short
            prompt as well, and what each further short prompt adds to it [s]
        short_rate : short prompts that come a second [1/s]
        prompts : the queue of prompts
        slots : chance that a request waits for one [1], and how long it does then on average [s]
        occupied : chance that a pass is under way, as others are in flight [1]
        """
        passes = _ShortPrompts.of(short_rate, short_pass, short_more, step)
        waits = prompts.mean + step + passes.mixed
        span = prompts.longest + _MEANS * waits
        spacing = span / _POINTS
        chances = occupied * passes.residual(spacing)
        chances[0] += 1.0 - occupied
        if passes.alongside:
            ends = np.arange(1, _POINTS + 1) * spacing
            below = gamma_share(
                value=ends, mean=passes.alongside, variance=passes.alongside_variance
            )
            chances = _sum(chances, np.asarray(np.diff(below, prepend=0.0)))
        if prompts.mean > 0.0:
            chances = _sum(chances, prompts.chances(spacing))
        return cls(spacing, chances / chances.sum(), slots)

    @property
    def _times(self) -> Floats:
        return floats((np.arange(_POINTS) + 0.5) * self.spacing)

    @cached_property
    def mean(self) -> float:
        """The mean wait. [s]"""
        queued, mean = self.slots
        return float(self.chances @ self._times) + queued * mean

    @property
    def variance(self) -> float:
        """Its variance. [s^2]"""
        queued, mean = self.slots
        first = float(self.chances @ self._times)
        others = float(self.chances @ self._times**2) - first**2
        return others + queued * (2.0 - queued) * mean**2

    @cached_property
    def _up_to(self) -> Floats:
        return np.cumsum(self.chances)

    @cached_property
    def _up_to_with_slot(self) -> Floats:
        """Share whose wait is within each time where they wait for a slot, too. [1]

        The exponential wait on top of the others, part by part of the axis. It has a scale of its
        own, which may be a thousand times theirs.
        """
        rate = self.spacing / self.slots[1]
        powers = np.exp(-rate * np.arange(_POINTS))
        kernel = -np.expm1(-rate) * powers
        return np.asarray(np.minimum(np.cumsum(_sum(self.chances, kernel)), self._up_to))

    def _waited(self, times: Floats) -> Floats:
        """Share of requests that wait no longer than some times. [1]"""
        waited = np.interp(times, self._times, self._up_to, left=0.0, right=1.0)
        queued, mean = self.slots
        if queued <= _NO_CHANCE:
            return np.asarray(waited)
        with_slot = np.interp(times, self._times, self._up_to_with_slot, left=0.0)
        beyond = np.maximum(times - self._times[-1], 0.0)
        with_slot = 1.0 - (1.0 - with_slot) * np.exp(-beyond / mean)
        return np.asarray((1.0 - queued) * waited + queued * with_slot)

    def share(self, value: ArrayLike, shares: Floats, offsets: Floats) -> float:
        """Share of requests that a wait and a time of their own take no longer than a value. [1]

        shares, offsets : of each kind of request, its share [1] and its own time [s]
        """
        return float(shares @ self._waited(np.asarray(value - offsets)))

    def quantile(self, part: float, shares: Floats, offsets: Floats) -> float:
        """Time that a part of requests does not exceed, with times of their own. [s]"""
        longest = float(offsets.max()) + _POINTS * self.spacing + _MEANS * self.slots[1]
        return float(
            bisect(lambda value: self.share(value, shares, offsets) < part, 0.0, longest)[1]
        )


@dataclass(frozen=True, eq=False)
class PromptQueue:
    """Prompts of a chunk or more in turn: a sum of residual times (Pollaczek and Khinchine).

    rates, seconds : of each kind, how many come a second [1/s] and the time of one [s]
    busy : share of the time in which these and shorter ones are taken in, below 1 [1]
    """

    rates: Floats
    seconds: Floats
    busy: float

    @property
    def longest(self) -> float:
        """The longest prompt. [s]"""
        return float(self.seconds.max())

    @property
    def mean(self) -> float:
        """The mean wait. [s]"""
        square = float(self.rates @ self.seconds**2)
        return float(prompt_wait(arrivals=1.0, mean=self.busy, square=square))

    def chances(self, spacing: float) -> Floats:
        """Return the chances of the wait: of none, one, two, ... residual times."""
        edges = np.arange(_POINTS + 1) * spacing
        residual = np.zeros(_POINTS)
        residual[0] = max(self.busy - float(self.rates @ self.seconds), 0.0)
        for rate, seconds in zip(self.rates, self.seconds, strict=True):
            if seconds > 0.0:
                residual += rate * np.diff(np.minimum(edges, seconds))
        transformed = (1.0 - self.busy) / (1.0 - np.fft.rfft(residual, 4 * _POINTS))
        return np.asarray(np.fft.irfft(transformed, 4 * _POINTS)[:_POINTS])


@dataclass(frozen=True)
class _ShortPrompts:
    """Passes where prompts shorter than a chunk come at random, some to one pass.

    A pass has some in it if any came during the one before: a chain of two states.

    step, mixed : time of a pass without, and of one with the prompts that come [s]
    share : of the time that has some [1]
    alongside, alongside_variance : time that others in the same pass add [s], its variance [s^2]
    """

    step: float
    mixed: float
    share: float
    alongside: float
    alongside_variance: float

    @classmethod
    def of(cls, rate: float, alone: float, added: float, step: float) -> "_ShortPrompts":
        if not rate:
            return cls(step, step, 0.0, 0.0, 0.0)
        fed_back = min(rate * added, _BUSIEST)
        mixed = alone / (1.0 - fed_back / 2.0)
        after_step, after_mixed = -np.expm1(-rate * step), -np.expm1(-rate * mixed)
        passes = float(after_step / (1.0 - after_mixed + after_step))
        mean = passes * mixed + (1.0 - passes) * step
        met = (passes * mixed**2 + (1.0 - passes) * step**2) / mean
        between = passes * (1.0 - passes) * (mixed - step) ** 2
        varied = added**2 * rate * mean / (1.0 - fed_back**2) + between
        variance = added**2 * rate * met + fed_back**2 * varied
        return cls(step, mixed, passes * mixed / mean, added * rate * met, variance)

    def residual(self, spacing: float) -> Floats:
        """Return the chances of what is left of the pass under way."""
        edges = np.arange(_POINTS + 1) * spacing
        parts = (
            share * np.diff(np.minimum(edges, length)) / length
            for share, length in ((self.share, self.mixed), (1.0 - self.share, self.step))
        )
        return np.asarray(sum(parts))


def _sum(first: Floats, second: Floats) -> Floats:
    """Return the chances of the sum of two waits."""
    product = np.fft.rfft(first, 2 * _POINTS) * np.fft.rfft(second, 2 * _POINTS)
    return np.asarray(np.maximum(np.fft.irfft(product, 2 * _POINTS)[:_POINTS], 0.0))


def mixture_share(value: ArrayLike, weights: Floats, means: Floats, variances: Floats) -> float:
    """Share of a mixture of gamma distributions that is not above a value; 1 of none. [1]

    weights : of each distribution, in any scale [1]
    """
    positive = weights > 0.0
    if not positive.any():
        return 1.0
    shares = weights[positive] / weights[positive].sum()
    below = gamma_share(value=value, mean=means[positive], variance=variances[positive])
    return float(shares @ below)


def mixture_quantile(part: float, weights: Floats, means: Floats, variances: Floats) -> float:
    """Value that a part of a mixture of gamma distributions does not exceed; NaN of none."""
    positive = weights > 0.0
    if not positive.any():
        return nan
    top = float(np.max((means + 50.0 * np.sqrt(variances))[positive]))

    def is_below(value: Floats) -> bool:
        return mixture_share(value, weights, means, variances) < part

    return float(bisect(is_below, 0.0, top)[1])
