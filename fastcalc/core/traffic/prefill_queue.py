"""Queue of prompt tokens under chunked prefill, modeled as a Markov chain, and its delay.

Each step processes waiting prompt tokens, first come, first served, up to the engine's token
budget. Steps with more prompt tokens take longer, so more requests arrive during them. The queue at
the start of a step depends only on the queue at the start of the previous step: it is the embedded
Markov chain of a bulk-service queue (M. F. Neuts, "A general class of bulk queues with Poisson
input," Annals of Mathematical Statistics 38, 1967).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from fastcalc.core.traffic.waits import NO_CHANCE, binned
from fastcalc.formulas.types import Floats, Ints

_FEWEST, _MOST = 8, 48  # quanta in the tokens of a full step
_STATES = 256  # approximate maximum number of waiting quanta
_PROMPTS, _CHUNKS = 10.0, 8.0  # maximum waiting work in longest prompts and full steps
_POSITIONS = 5  # positions of an arrival within the current step
_PASSED: Floats = (np.arange(_POSITIONS) + 0.5) / _POSITIONS  # of the pass before each
_BLOCK = 32  # minimum number of states that are eliminated together
_SMALL = 1e-13  # minimum probability of leaving a state
_UNLIKELY = 0.999 * NO_CHANCE  # the probability of a time that is sure to be dropped


@dataclass(frozen=True, eq=False)
class PrefillQueue:
    """Models the queue of prompt tokens in one lane.

    rate : The arrival rate of requests. [1/s]
    share, tokens : The fraction of each request type, and its uncached prompt tokens.
    chunk : The maximum prompt tokens per step, or infinity for an engine without a token budget.
    step : The time of a step without prompt tokens, in seconds.
    pass_seconds : The function that gives step times for an array of prompt tokens [1] ->. [s]
    occupied : The probability that a step is running when a request arrives.
    group_busy, group_seconds : The probability that other attention replicas, which step together
        with this lane, prefill in a step, and the time that they then add to a decode step. [1],
        [s]
    """

    rate: float
    share: Floats
    tokens: Floats
    chunk: float
    step: float
    pass_seconds: Callable[[Floats], Floats]
    occupied: float = 1.0
    group_busy: float = 0.0
    group_seconds: float = 0.0

    @cached_property
    def _full(self) -> float:
        """The prompt tokens of a full step, or of a full queue if there is no budget."""
        return self.chunk if np.isfinite(self.chunk) else _PROMPTS * float(self.tokens.max())

    @cached_property
    def _parts(self) -> int:
        """The number of quanta in a full step."""
        fine = 2.0 * self._full / max(float(self.tokens.min()), 1.0)
        chunks = _PROMPTS * float(self.tokens.max()) / self._full + _CHUNKS
        return int(np.clip(fine, _FEWEST, max(min(_MOST, _STATES / chunks), _FEWEST)))

    @cached_property
    def _states(self) -> int:
        """The maximum number of waiting quanta."""
        chunks = np.ceil(_PROMPTS * float(self.tokens.max()) / self._full) + _CHUNKS
        return int(min(chunks * self._parts, 2 * _STATES))

    @property
    def _part(self) -> float:
        return self._full / self._parts

    @cached_property
    def _levels(self) -> tuple[Floats, Floats]:
        """A grid of prompt tokens and step times for linear interpolation. [1],, in seconds"""
        tokens = np.concatenate([[1.0], np.arange(1, self._parts + 1) * self._part])
        return tokens, np.maximum(self.pass_seconds(tokens), self.step)

    def _until_all_prefilled(self, seconds: Floats) -> Floats:
        """Compute the time of steps that last until all attention replicas are done. [s]"""
        longer = np.maximum(self.step + self.group_seconds - seconds, 0.0)
        return np.asarray(seconds + self.group_busy * longer)

    def _seconds(self, tokens: Floats) -> Floats:
        return self._until_all_prefilled(np.interp(tokens, *self._levels))

    @cached_property
    def _types(self) -> Floats:
        """The time of a step with 0, 1, 2, ... quanta, in seconds."""
        return self._until_all_prefilled(np.concatenate([[self.step], self._levels[1][1:]]))

    @cached_property
    def _transform(self) -> Floats:
        """The transform, minus 1, of the distribution of a request's quanta."""
        sizes = self.tokens / self._part
        low = np.minimum(np.floor(sizes), self._states - 2).astype(int)
        above = np.minimum(sizes - low, 1.0)
        chances = np.bincount(low, self.share * (1.0 - above), self._states)
        chances = chances + np.bincount(low + 1, self.share * above, self._states)
        return np.asarray(np.fft.rfft(chances, 2 * self._states) - 1.0)

    def _arrived(self, seconds: Floats) -> Floats:
        """Compute the distribution of quanta that arrive in given times, along a last axis."""
        exponent = (self.rate * seconds)[..., np.newaxis] * self._transform
        chances = np.fft.irfft(np.exp(exponent), 2 * self._states)[..., : self._states]
        return np.maximum(chances, 0.0)

    @cached_property
    def _waiting(self) -> Floats:
        """The fraction of time in steps that start with each queue length."""
        quanta, states = self._parts, self._states
        arrived = self._arrived(self._types)
        arrived[:, -1] += np.maximum(1.0 - arrived.sum(axis=1), 0.0)
        left = np.maximum(np.arange(states) - quanta, 0)
        full = np.concatenate([np.zeros(states), arrived[quanta]])
        moves = sliding_window_view(full, states)[states - left]
        moves[:quanta] = arrived[:quanta]
        moves[:, -1] += np.maximum(1.0 - moves.sum(axis=1), 0.0)
        chances = _stationary(moves, quanta)
        times = chances * self._types[np.minimum(np.arange(states), quanta)]
        return np.asarray(times / times.sum())

    @cached_property
    def _chances(self) -> Floats:
        """The probability that an arrival finds a step of each type, with full steps last."""
        quanta, waiting = self._parts, self._waiting
        chances = np.append(waiting[:quanta], waiting[quanta:].sum())
        chances[0] = max(chances[0] - (1.0 - self.occupied), 0.0)
        return chances

    @cached_property
    def _likely(self) -> Ints:
        """The types of steps that arrivals find often enough to matter."""
        return np.flatnonzero(self._chances > _UNLIKELY * _POSITIONS)

    @cached_property
    def _before(self) -> Floats:
        """The distribution of quanta that arrived since likely steps began, at each position."""
        return self._arrived(self._types[self._likely, np.newaxis] * _PASSED)

    @cached_property
    def _ahead(self) -> Floats:
        """The distribution of quanta ahead of an arrival (steps, positions, quanta)."""
        quanta, waiting, ahead = self._parts, self._waiting, self._before
        if quanta not in self._likely:
            return ahead
        over = np.fft.rfft(waiting[quanta:] / max(waiting[quanta:].sum(), 1e-300), 2 * self._states)
        summed = np.fft.irfft(np.fft.rfft(ahead[-1], 2 * self._states) * over, 2 * self._states)
        return np.concatenate([ahead[:-1], np.maximum(summed[np.newaxis, :, : self._states], 0.0)])

    def until_taken_in(self, tokens: float) -> tuple[Floats, Floats]:
        """Compute the time from arrival until a prompt is processed, as a distribution. [s],"""
        chances, left = self._chances, self._types[self._likely, np.newaxis] * (1.0 - _PASSED)
        weights = (chances[self._likely] / _POSITIONS)[:, np.newaxis, np.newaxis]
        limit = int(np.floor((self._full - tokens) / self._part + 1e-9))
        within = max(limit + 1, 0)
        alone = max(1.0 - float(chances.sum()), 0.0)
        ahead = weights * self._ahead[..., within:]
        together = weights * self._together(within) if within else ahead[..., :0]
        total = alone + float(ahead.sum()) + float(together.sum())
        # Times are computed only for quanta with non-negligible probability.
        joined, after = (np.nonzero(part > _UNLIKELY * total) for part in (together, ahead))
        taken = np.minimum(joined[2] * self._part + tokens, self._full)
        ends = (within + after[2]) * self._part + tokens
        full = np.ceil(ends / self._full - 1e-9) - 1.0
        before = left[after[:2]] + full * self._types[-1]
        mean = self.rate * float(self.share @ self.tokens)
        last = np.minimum(ends - full * self._full + mean * before, self._full)
        times = (
            np.array([self.alone(tokens)]),
            left[joined[:2]] + self._seconds(taken),
            before + self._seconds(last),
        )
        chances_of = np.array([alone]), together[joined], ahead[after]
        return binned(np.concatenate(times), np.concatenate(chances_of) / total)

    @cached_property
    def _behind(self) -> Floats:
        """The transform of the quanta that arrive before the current step ends."""
        # The time left at one position equals the time passed at the mirrored position.
        return np.asarray(np.fft.rfft(self._before[:, ::-1], 2 * self._states))

    def _together(self, within: int) -> Floats:
        """Compute the distribution of quanta ahead, up to a number, and behind in a step."""
        if within not in self._both:
            ahead = np.fft.rfft(self._ahead[..., :within], 2 * self._states)
            summed = np.fft.irfft(ahead * self._behind, 2 * self._states)
            self._both[within] = np.maximum(summed, 0.0)
        return self._both[within]

    @cached_property
    def _both(self) -> dict[int, Floats]:
        return {}

    def alone(self, tokens: float) -> float:
        """Compute the prefill time of a prompt with nothing ahead of it, in seconds."""
        full = np.ceil(tokens / self._full) - 1.0
        last = np.interp(tokens - full * self._full, *self._levels)
        return float(full * self._levels[1][-1] + last)


def _stationary(moves: Floats, down: int) -> Floats:
    """Compute the stationary distribution of a chain with bounded downward jumps, unnormalized.

    Blocks of states are eliminated one at a time, starting from the last (W. K. Grassmann, M. I.
    Taksar, D. P. Heyman, "Regenerative analysis and steady state distributions for Markov chains,"
    Operations Research 33, 1985).
    """
    moves, ratios, width = moves.copy(), list[Floats](), max(down, _BLOCK)
    for end in range(len(moves), 1, -width):
        start = max(end - width, 1)
        low, block = max(start - down, 0), slice(start, end)
        onward, leaving = moves[block, low:start], -moves[block, block]
        np.fill_diagonal(leaving, 0.0)
        np.fill_diagonal(leaving, onward.sum(axis=1) - leaving.sum(axis=1) + _SMALL)
        ratios.append(moves[:start, block] @ np.linalg.inv(leaving))
        moves[:start, low:start] += ratios[-1] @ onward
    chances: Floats = np.ones(1)
    for ratio in reversed(ratios):
        chances = np.concatenate([chances, chances @ ratio])
        chances /= chances.max()  # in unstable queues, they grow without bound
    return chances
