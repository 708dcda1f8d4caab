"""What requests that arrive at random meet on a replica: percentiles in closed form.

Requests in flight are those that arrive while others are served, and the more there are the longer
all of them take. So the number in flight is a birth-death process whose departures are what a batch
of that size serves; where time is shared, its chances depend on mean lengths alone (F. P. Kelly,
"Reversibility and stochastic networks," 1979, sec. 3.3). Lengths count by their squares where
prompts wait for each other, and in what a request sees of the others while it lasts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import ceil, inf

import numpy as np

from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.core.step.schedule import DECODE, FIRST, PROMPTS, Schedule
from fastcalc.core.timeline import served_run, token_in_traffic
from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.prefill_queue import PrefillQueue
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.core.traffic.request_times import RequestTimes
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.core.traffic.waits import Waits, mixture_share
from fastcalc.formulas.in_flight import (
    closed_loop_arrivals,
    clustered_spread,
    found_by_arrivals,
)
from fastcalc.formulas.load import slot_wait_regularity, variance_in_window
from fastcalc.formulas.types import Array, ArrayLike, Floats

MOST_BUSY = 0.85
"""Utilization up to which percentiles hold: beyond it they depend on how requests come and
go in ways that no closed form here has. [1]"""

MOST_QUEUED = 0.005
"""Share of the requests that may find no slot: half of those later than the 99th percentile.

Of more, that percentile is a wait for a slot or none, by how slots come free.
"""

MOST_PROMPTS = 0.8
"""Share of the time in which prompts may be prefilled: of more, they queue for each other by more
than their squares say. [1]"""

ROOM_FOR_CHANCE = 0.8
"""Share of its capacity that a replica is given at most where percentiles are to hold: a little
below `MOST_BUSY`, as a run of requests at random holds slots a little longer. [1]"""

SHARES = (0.5, 0.9, 0.95, 0.99)
"""Percentiles that are reported. [1]"""

_OF_ANY_RATE = ("_rates", "_tokens", "_prompt_shares")
"""What of a load does not depend on its rate."""

_QUEUED = 400  # requests beyond the slots whose chances are counted
# Requests that wait for a slot over those of the process, at most: of simulated replicas
# (``python -m benchmarks.plan_limits 100``, seeds 3 and 5), and held against others (``--seed 4``).
_UNEVEN = 2.0
_ALONE = 1e-6  # of the requests, of a single user's that meet no other's
_MOST_FED_BACK = 0.95  # of the time that prompts take of others'


@dataclass(frozen=True)
class Spread:
    """Times of requests: their mean, and those that the shares in `SHARES` do not exceed. [s]"""

    mean: float
    percentiles: tuple[float, ...]


@dataclass(frozen=True)
class Percentiles:
    """Times to the first token, between tokens, and of whole requests; from arrival. [s]"""

    ttft: Spread
    tpot: Spread
    request: Spread


@dataclass(frozen=True, eq=False)
class _EachPrompt(Mix):
    """The mix, with the prompt of every kind by itself: the last axis of what begins a request."""

    longer: Floats | float = 1.0

    @property
    def computed_prompt(self) -> Array:
        """Prompt tokens that must be computed, of each kind. [1]"""
        return self.kinds.computed * self.longer

    def mean_over_prompts(self, count: Callable[[Floats, Floats], ArrayLike]) -> ArrayLike:
        """Return what is counted at the context of each kind's prompt."""
        requests = self.kinds
        return count((2.0 * requests.prompt - requests.computed) / 2.0, requests.computed / 2.0)


@dataclass(frozen=True, eq=False)
class RandomLoad:
    """One replica under requests that arrive at random.

    passes : its passes at 1, 2, ... requests in flight, up to its slots, of a random mix
    rate : requests that arrive a second [1/s]
    slowness : times of passes over those expected [1]
    cycle : mean time from one request of a user to the next, of users who wait for an answer before
        they ask again; infinity where requests depend on no answer [s]
    """

    passes: Schedule
    rate: float
    slowness: float = 1.0
    cycle: float = inf

    @classmethod
    def of(
        cls,
        placement: AnyPlacement,
        classes: Sequence[RequestClass],
        *,
        speculation: Speculation,
        slots: int,
        rate: float,
    ) -> "RandomLoad":
        """Load of a placement by some request classes, each with its fraction of all requests."""
        mix = replace(Mix.of(classes, speculation), is_random=True)
        return cls(Schedule(placement, mix, np.arange(1.0, slots + 1.0)), rate)

    def at(self, rate: float) -> "RandomLoad":
        """The same replica at another rate, with what does not depend on it. [1/s]"""
        load = replace(self, rate=rate)
        load.__dict__.update({name: getattr(self, name) for name in _OF_ANY_RATE})
        return load

    @property
    def mix(self) -> Mix:
        """What requests look like."""
        assert isinstance(self.passes.traffic, Mix)
        return self.passes.traffic

    @property
    def _arrivals(self) -> float:
        """Requests that arrive in a second of passes at expected speed. [1/s]"""
        return self.rate * self.slowness

    @cached_property
    def _lane_rate(self) -> float:
        """Arrivals for one attention replica, or one stage's micro-batch. [1/s]"""
        lanes = self.passes.placement.layout.dp * self.passes.lanes
        return self._arrivals / float(lanes)

    @property
    def _replicas(self) -> int:
        """Attention replicas whose passes last as long as the longest. [1]"""
        return int(self.passes.placement.layout.dp)

    @cached_property
    def _holds(self) -> Floats:
        """Time that a request holds its slot, at each number in flight. [s]"""
        chunk, requests = self.passes.machine.software.prompt_chunk, self.mix.kinds
        passes = float(requests.share @ (np.ceil(requests.computed / chunk) - 1.0))
        beginning = self.passes.seconds(FIRST) if passes else 0.0
        return np.asarray(np.ravel(served_run(self.passes).seconds + passes * beginning))

    @cached_property
    def _rates(self) -> Floats:
        """Requests that are served a second, at each number in flight. [1/s]"""
        return np.asarray(np.ravel(self.passes.batch) / self._holds)

    @cached_property
    def _prompt_shares(self) -> Floats:
        """Share of the time in which prompts are prefilled, at each number in flight served. [1]"""
        run = served_run(self.passes)
        decoding = np.ravel(self.passes.seconds(DECODE) * self.passes.steps)
        return np.asarray(1.0 - decoding / np.ravel(run.seconds))

    @property
    def utilization(self) -> float:
        """Share of the capacity that is asked for. [1]"""
        return self.rate / self.capacity

    @property
    def capacity(self) -> float:
        """Requests that are served a second where all slots are taken. [1/s]"""
        return float(self._rates[-1]) / self.slowness

    @property
    def is_known(self) -> bool:
        """Whether percentiles hold at this load."""
        is_calm = self.utilization <= MOST_BUSY and self.queued <= MOST_QUEUED
        return is_calm and self.prompt_share <= MOST_PROMPTS

    @property
    def queued(self) -> float:
        """Share of the requests that find no slot. [1]"""
        return float(self._found[len(self._rates) :].sum())

    @cached_property
    def _found(self) -> Floats:
        """Chances that an arrival finds none, one, two, ... others, queued ones at the end. [1]"""
        users, arrivals = self.rate * self.cycle, None
        queued = _QUEUED if users == inf else max(ceil(users) - len(self._rates), 1)
        served = np.concatenate([self._rates, np.full(queued, self._rates[-1])])
        if users < inf:
            arrivals = closed_loop_arrivals(users=users, rate=self._arrivals, served=served)
        if arrivals is None:  # or users too few to make so many requests
            arrivals = np.full(len(served) + 1, self._arrivals)
        return found_by_arrivals(
            arrivals=arrivals, served=served, slots=len(self._rates), spread=self._spread
        )

    @property
    def _spread(self) -> float:
        """Variance of the number in flight over that of a birth-death process. [1]"""
        share, outputs = self.mix.kinds.share, self.mix.kinds.output
        prompts = float(np.interp(self._arrivals, self._rates, self._prompt_shares))
        shorter = share @ np.minimum(outputs[:, np.newaxis], outputs) @ share
        overlap = float(shorter) / float(share @ outputs)
        return float(clustered_spread(prompts=prompts, overlap=overlap))

    @cached_property
    def _slots_taken(self) -> Floats:
        """Probability of each number of occupied slots, including the arriving request's. [1]"""
        slots = len(self._rates)
        chances = self._found[:slots].copy()
        chances[-1] += self._found[slots:].sum()
        return chances

    @property
    def in_flight(self) -> float:
        """Slots taken on average, as a request finds them with its own. [1]"""
        return float(self._slots_taken @ np.ravel(self.passes.batch))

    def _first(self, longer: Floats | float = 1.0) -> Schedule:
        """Passes that begin a request of each kind among the mean number in flight."""
        stated = {part.name: getattr(self.mix, part.name) for part in fields(self.mix)}
        prompts = _EachPrompt(**stated, longer=longer)
        return Schedule(self.passes.placement, prompts, np.array([self.in_flight]))

    @cached_property
    def _begun(self) -> Schedule:
        return self._first()

    @cached_property
    def _prompt_seconds(self) -> Floats:
        """Time of each kind's own prompt. [s]"""
        passes = self._begun
        return np.ravel(passes.chunks * passes.seconds(FIRST))

    @property
    def _overhead(self) -> Floats:
        """Time of each kind's request with its prompt. [s]"""
        passes = self._begun
        loading = np.broadcast_to(np.ravel(passes.loading), self._prompt_seconds.shape)
        return np.asarray(passes.machine.software.request_overhead + loading)

    @cached_property
    def _is_short(self) -> Floats:
        return np.asarray(self.mix.kinds.computed < self.passes.machine.software.prompt_chunk)

    @cached_property
    def _step(self) -> float:
        """Time of a pass that decodes. [s]"""
        return float(np.ravel(self._begun.seconds(DECODE))[0])

    @cached_property
    def _lengthened(self) -> Floats:
        """Time that a prompt of each kind adds to what others decode, some sharing a pass. [s]"""
        passes = self._begun
        streams = float(np.ravel(passes.streams)[0]) * self._replicas
        per_pass = streams / float(np.ravel(self.passes.steps)[0])
        prompts = float(self.mix.kinds.share @ np.ravel(passes.chunks)) * per_pass
        lumps = np.ravel(self.passes.lumps / self.passes.steps)
        shared = np.interp(self.in_flight, np.ravel(self.passes.batch), lumps) / prompts
        extra = np.maximum(self._prompt_seconds - np.ravel(passes.chunks) * self._step, 0.0)
        apart = self._in_turn / self._replicas
        return np.asarray(extra * np.where(self._is_short, np.minimum(shared, 1.0), apart))

    @cached_property
    def _in_turn(self) -> float:
        """Attention replicas that prefill one after another, each of which all wait for. [1]"""
        passes = self.passes
        in_turn = np.broadcast_to(passes.in_turn_at_random, passes.batch.shape)
        return float(np.interp(self.in_flight, passes.batch, in_turn))

    @cached_property
    def prompt_share(self) -> float:
        """Fraction of time spent on prefill, with several short prompts per step where they fit."""
        requests, chunk = self.mix.kinds, self.passes.machine.software.prompt_chunk
        filled = requests.computed / chunk
        in_chunks = filled * self._prompt_seconds + (1.0 - filled) * self._marginal
        return (
            self._lane_rate
            * self._in_turn
            * float(requests.share @ np.where(self._is_short, in_chunks, self._prompt_seconds))
        )

    @cached_property
    def _marginal(self) -> Floats:
        """Time that a short prompt adds to a pass which has another in it. [s]"""
        if not self._is_short.any():
            return np.zeros(len(self._is_short))
        chunk, computed = self.passes.machine.software.prompt_chunk, self.mix.kinds.computed
        longer = np.clip(np.nextafter(chunk / computed, 1.0), 1.0, 2.0)  # no more than a chunk
        extra = np.ravel(self._first(longer).seconds(FIRST)) - self._prompt_seconds
        return np.asarray(np.maximum(extra / np.maximum(longer - 1.0, 1e-9), 0.0) * self._is_short)

    @cached_property
    def _regularity(self) -> float:
        """Wait for a slot over that with exponential times of service. [1]"""
        requests = self.mix.kinds
        variation = (
            float(requests.share @ requests.output**2 / (requests.share @ requests.output) ** 2)
            - 1.0
        )
        return float(
            slot_wait_regularity(
                slots=len(self._rates),
                utilization=min(self.utilization, 0.999),
                variation=variation,
            )
        )

    @cached_property
    def slot_wait(self) -> tuple[float, float]:
        """Chance that a request waits for a slot, and how long it does then on average. [1], [s]"""
        queued = self._found[len(self._rates) :]
        ahead = float(queued @ np.arange(1.0, len(queued) + 1.0)) / max(self.queued, 1e-300)
        return self.queued, self._regularity * ahead / float(self._rates[-1])

    @property
    def _cautious_slot_wait(self) -> tuple[float, float]:
        """Upper estimate of `slot_wait`, for percentiles once waiting is common. [1], [s]

        Slots then fill more unevenly than in a birth-death process: up to twice the probability of
        waiting, and waits as long as with exponential service times.
        """
        chance, mean = self.slot_wait
        if self.queued <= MOST_QUEUED:
            return chance, mean
        return min(_UNEVEN * chance, 1.0), mean / self._regularity

    @cached_property
    def prefill_queue(self) -> PrefillQueue:
        """The queue of prompt tokens of one attention replica, or one stage's micro-batch."""
        requests = self.mix.kinds
        passes = Schedule(self.passes.placement, self.mix, np.array([self.in_flight]))
        # The user who asks has no other request in flight.
        others = max(1.0 - 1.0 / max(self.rate * self.cycle, 1.0), _ALONE)
        return PrefillQueue(
            rate=self._lane_rate * others,
            share=requests.share,
            tokens=requests.computed,
            chunk=float(self.passes.machine.software.prompt_chunk),
            step=self._step + self._others_prefill(passes),
            pass_seconds=passes.prefill_seconds,
            occupied=1.0 - float(self._found[0]),
        )

    def _others_prefill(self, passes: Schedule) -> float:
        """Time that prompts of other attention replicas add to a pass without own ones. [s]"""
        if self._replicas == 1:
            return 0.0
        with_any = float(np.ravel(passes.lumps / passes.steps)[0])
        own = with_any * float(np.ravel(passes.prefilling_replicas)[0]) / self._replicas
        return (with_any - own) * float(np.ravel(passes.seconds(PROMPTS))[0])

    @cached_property
    def _first_tokens(self) -> list[tuple[Floats, Floats]]:
        """Times to the first token of each kind, but for the wait for a slot: [s], chances [1].

        A pass with prompts takes what one of the mean context does; a prompt's own context and
        overhead come on top.
        """
        queue, computed = self.prefill_queue, self.mix.kinds.computed
        taken_in = {tokens: queue.until_taken_in(tokens) for tokens in set(computed.tolist())}
        own = self._prompt_seconds + self._overhead
        times = list[tuple[Floats, Floats]]()
        for tokens, seconds in zip(computed.tolist(), own, strict=True):
            until, chances = taken_in[tokens]
            times.append((until + (seconds - queue.alone(tokens)), chances))
        return times

    def percentiles(self, index: int | None = None) -> Percentiles:
        """Times of all requests, or of those of one class by its position."""
        times = self.times(index)
        return Percentiles(
            *(
                Spread(mean, tuple(quantile(part) for part in SHARES))
                for mean, quantile in (
                    (times.ttft_mean, times.ttft),
                    (times.tpot_mean, times.tpot),
                    (times.request_mean, times.request),
                )
            )
        )

    def times(self, index: int | None = None) -> RequestTimes:
        """Distributions of the times of all requests, or of those of one class by its position."""
        requests, fraction = self.mix.kinds, self._share_of(index)
        queued, wait = self.slot_wait
        firsts = self._first_tokens
        # Sums, as BLAS starts threads for products of so few numbers.
        means = np.array([(seconds * chances).sum() for seconds, chances in firsts])
        squares = np.array([(seconds**2 * chances).sum() for seconds, chances in firsts])
        some = [(part, *first) for part, first in zip(fraction, firsts, strict=True) if part]
        seconds = np.concatenate([times for _, times, _ in some])
        chances = np.concatenate([part * chances for part, _, chances in some])
        return RequestTimes(
            share=fraction,
            first=Waits.of(seconds, chances, self._cautious_slot_wait),
            first_means=means + queued * wait,
            first_variances=squares - means**2 + queued * (2.0 - queued) * wait**2,
            further=requests.output - 1.0,
            expected_tpot=self._tpot,
            tpot_variance=self._tpot_variance,
            slowness=self.slowness,
        )

    def _share_of(self, index: int | None) -> Floats:
        """Share of each kind among all requests, or among those of one class. [1]"""
        requests = self.mix.kinds
        fraction = requests.share if index is None else requests.share * (requests.places == index)
        return np.asarray(fraction / fraction.sum())

    def share_within_tpot(self, limit: float, index: int | None = None) -> float:
        """Share of the requests, of all or of one class, whose TPOT is not above a limit. [1]

        limit : for none it is infinite, and for one token there is no TPOT to exceed it [s]
        """
        fractions = self._share_of(index) * (self.mix.kinds.output > 1.0)
        means = np.full(len(fractions), self._tpot)
        return mixture_share(limit / self.slowness, fractions, means, self._tpot_variance)

    @cached_property
    def _tokens(self) -> Floats:
        """Time between tokens, at each number in flight. [s]"""
        return np.ravel(token_in_traffic(self.passes).seconds)

    @cached_property
    def _tpot(self) -> float:
        """Mean time between tokens. [s]"""
        return float(self._slots_taken @ self._tokens)

    @property
    def _tpot_at_once(self) -> float:
        """Variance of the time between tokens over the numbers in flight. [s^2]"""
        return float(self._slots_taken @ (self._tokens - self._tpot) ** 2)

    @cached_property
    def _tpot_variance(self) -> Floats:
        """Variance of the time between tokens of each kind at this load. [s^2]"""
        return self._token_variance(self._tpot, self._tpot_at_once)

    def _token_variance(self, tpot: float, at_once: float) -> Floats:
        """Variance of the time between tokens of each kind. [s^2]

        Others come and go while it lasts, and each prompt of theirs holds it up, and lets more of
        them come: what a delay of a queue is longer by (Harchol-Balter, 2013, ch. 27).
        """
        requests = self.mix.kinds
        window = requests.output / float(requests.share @ requests.output)
        rate = self._lane_rate * self._replicas
        fed_back = min(rate * float(requests.share @ self._lengthened), _MOST_FED_BACK)
        prompts = rate * tpot * float(requests.share @ self._lengthened**2)
        held_up = prompts / np.maximum(requests.output, 1.0) / (1.0 - fed_back) ** 2
        return np.asarray(at_once * variance_in_window(window=window) + held_up)
