"""Latency percentiles of a replica with Poisson arrivals, in closed form.

The number of requests in flight is a birth-death process, whose departure rate is the service rate
at that batch. If requests share the machine, the probabilities depend only on mean lengths (F. P.
Kelly, "Reversibility and stochastic networks," 1979, sec. 3.3). Squared lengths matter only for the
prefill queue and for arrivals during a request.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.core.step.pass_work import AttentionWork, attention_of
from fastcalc.core.step.schedule import DECODE, FIRST, PROMPTS, Schedule
from fastcalc.core.timeline import served_run, token_in_traffic
from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.prefill_queue import PrefillQueue
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.core.traffic.request_times import RequestTimes
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.core.traffic.waits import Waits, mixture_quantile, mixture_share
from fastcalc.formulas.in_flight import closed_loop_arrivals, clustered_spread, found_by_arrivals
from fastcalc.formulas.load import slot_wait_regularity, variance_in_window
from fastcalc.formulas.types import Array, ArrayLike, Floats

MOST_BUSY = 0.85
"""The highest utilization at which percentiles are reliable. Above it, they depend on details of
arrivals and departures that no closed form here covers."""

MOST_QUEUED = 0.005
"""The maximum fraction of requests that may wait for a slot: half of those above the 99th
percentile.

Above this fraction, the 99th percentile is a wait for a slot and depends on how slots become free.
"""

MOST_PROMPTS = 0.8
"""The maximum fraction of time spent on prefill. Above it, prompts queue behind each other longer
than their squared lengths suggest."""

MOST_PROMPTS_IN_LOCKSTEP = 0.6
"""The same for attention replicas that step together: long steps gather prompts on all of them."""

ROOM_FOR_CHANCE = 0.8
"""The maximum fraction of a replica's capacity that can be used with reliable percentiles: slightly
below `MOST_BUSY`, since randomly varying requests occupy slots slightly longer."""

SHARES = (0.5, 0.9, 0.95, 0.99)
"""The reported percentiles."""

_QUEUED = 400  # maximum queue length in the distribution
# The maximum ratio of requests that wait for a slot to that of the process: set on simulated
# replicas (``python -m benchmarks.plan_limits 100``, seeds 3 and 5), tested on ``--seed 4``.
_UNEVEN = 2.0
_LENGTHS = 24  # number of prompt lengths for which queueing delays are computed
_ALONE = 1e-6  # smallest share of requests from other users
_MOST_FED_BACK = 0.95  # maximum fraction of time taken by other requests' prompts


@dataclass(frozen=True)
class Spread:
    """The mean and the percentiles of a latency, in seconds."""

    mean: float
    percentiles: tuple[float, ...]


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of TTFT, TPOT and end-to-end latency, as seen by clients, in seconds."""

    ttft: Spread
    tpot: Spread
    request: Spread


@dataclass(frozen=True, eq=False)
class _EachPrompt(Mix):
    """The traffic mix, with each request type's prompt on the last axis of first steps."""

    longer: Floats | float = 1.0

    @property
    def computed_prompt(self) -> Array:
        """The number of prompt tokens to compute for each request type."""
        return self.kinds.computed * self.longer

    def mean_over_prompts(self, count: Callable[[Floats, Floats], ArrayLike]) -> ArrayLike:
        """Evaluate a function at the context of each request type's prompt, without averaging."""
        requests = self.kinds
        return count((2.0 * requests.prompt - requests.computed) / 2.0, requests.computed / 2.0)


class _AnyRate(NamedTuple):
    """Values per number of requests in flight that do not depend on the arrival rate.

    holds, tokens : The time that a request occupies its slot, and its TPOT, in seconds.
    rates, prompt_shares : The service rate of requests [1/s], and the fraction of time spent on
        prefill. [1]
    """

    holds: Floats
    rates: Floats
    tokens: Floats
    prompt_shares: Floats


class _FirstSteps(NamedTuple):
    """The first steps of a request of each type, at the mean number in flight.

    seconds, overhead : The prefill time; the request overhead and the time to load cached prefixes,
        in seconds.
    chunks, step, streams : The number of prefill chunks [1], the decode step time [s], and the
        sequences per step. [1]
    """

    seconds: Floats
    overhead: Floats
    chunks: Floats
    step: float
    streams: float


@dataclass(frozen=True, eq=False)
class RandomLoad:
    """A server replica whose requests arrive at random (Poisson arrivals).

    passes : The steps at 1, 2, ... requests in flight, up to the number of slots.
    rate : The arrival rate of requests. [1/s]
    slowness : The ratio of actual to expected step times.
    cycle : The mean time between a closed-loop user's requests, or infinity for open-loop arrivals,
        in seconds.
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
        """Build the load that several request classes generate on a placement."""
        mix = replace(Mix.of(classes, speculation), is_random=True)
        return cls(Schedule(placement, mix, np.arange(1.0, slots + 1.0)), rate)

    def at(self, rate: float) -> "RandomLoad":
        """Return the same replica at another arrival rate, from a cache if possible, per second."""
        if rate not in self._at_rates:
            load = self._at_rates[rate] = replace(self, rate=rate)
            shared = {"_any_rate": self._any_rate, "_each_prompt": self._each_prompt}
            load.__dict__.update(shared, _at_rates=self._at_rates)
        return self._at_rates[rate]

    def slowed(self, slowness: float) -> "RandomLoad":
        """Return the same replica with all step times multiplied by a factor."""
        load = replace(self, slowness=slowness)
        load.__dict__["_any_rate"] = self._any_rate
        return load

    def with_slots(self, slots: int) -> "RandomLoad | None":
        """Return the same replica with fewer slots, or None if its bytes might then move."""
        passes = self.passes
        if not passes.has_one_memory:
            return None
        fewer = Schedule(passes.placement, self.mix, passes.batch[:slots], passes.attention)
        load = replace(self, passes=fewer)
        load.__dict__["_any_rate"] = _AnyRate(*(values[:slots] for values in self._any_rate))
        return load

    @cached_property
    def _at_rates(self) -> "dict[float, RandomLoad]":
        """The cached loads of the replica, by arrival rate."""
        return {self.rate: self}

    @property
    def mix(self) -> Mix:
        """The mix of requests."""
        assert isinstance(self.passes.traffic, Mix)
        return self.passes.traffic

    @property
    def _arrivals(self) -> float:
        """The arrival rate per second of expected step time, per second."""
        return self.rate * self.slowness

    @property
    def _lanes(self) -> int:
        """The number of attention replicas and pipeline micro-batches that share the requests."""
        return int(self.passes.placement.layout.dp * np.max(self.passes.lanes))

    @cached_property
    def _lane_rate(self) -> float:
        """The arrival rate at one attention replica or pipeline micro-batch, per second."""
        return self._arrivals / self._lanes

    @cached_property
    def _emptiest(self) -> float:
        """The requests in the emptiest lane, which a request joins, relative to the mean lane.

        A request that finds fewer requests than lanes shares its lane with none.
        """
        found = np.arange(float(len(self._found)))
        evenly = float(self._found @ found) / self._lanes
        return float(self._found @ (found // self._lanes)) / evenly if evenly else 1.0

    @property
    def _replicas(self) -> int:
        """The number of attention replicas, which run in lockstep."""
        return int(self.passes.placement.layout.dp)

    @cached_property
    def _any_rate(self) -> _AnyRate:
        # Copy the steps, since keeping them would take much memory.
        passes = Schedule(
            self.passes.placement, self.passes.traffic, self.passes.batch, self.passes.attention
        )
        chunk, requests = passes.machine.software.prompt_chunk, self.mix.kinds
        chunked = float(requests.share @ (np.ceil(requests.computed / chunk) - 1.0))
        beginning = passes.seconds(FIRST) if chunked else 0.0
        run, decoding = served_run(passes).seconds, np.ravel(passes.seconds(DECODE) * passes.steps)
        holds = np.asarray(np.ravel(run + chunked * beginning))
        return _AnyRate(
            holds=holds,
            rates=np.ravel(passes.batch) / holds,
            tokens=np.ravel(token_in_traffic(passes).seconds),
            prompt_shares=np.asarray(1.0 - decoding / np.ravel(run)),
        )

    @property
    def _rates(self) -> Floats:
        """The service rate of requests at each number in flight, per second."""
        return self._any_rate.rates

    @property
    def utilization(self) -> float:
        """How much of its capacity the replica uses, as a fraction."""
        return self.rate / self.capacity

    @property
    def capacity(self) -> float:
        """The highest request rate that the replica can sustain, in requests per second."""
        return float(self._rates[-1]) / self.slowness

    @property
    def is_known(self) -> bool:
        """Whether percentiles can be trusted at this utilization."""
        is_calm = self.utilization <= MOST_BUSY and self.queued <= MOST_QUEUED
        return is_calm and self.prompt_share <= self.most_prompts

    @property
    def most_prompts(self) -> float:
        """The maximum fraction of time spent on prefill at which percentiles can be trusted."""
        return MOST_PROMPTS if self._replicas == 1 else MOST_PROMPTS_IN_LOCKSTEP

    @property
    def queued(self) -> float:
        """The fraction of requests that have to wait because all slots are occupied."""
        return float(self._found[len(self._rates) :].sum())

    @cached_property
    def _found(self) -> Floats:
        """The probability that an arrival finds 0, 1, 2, ... other requests, queue included."""
        users, arrivals = self.rate * self.cycle, None
        queued = _QUEUED if users == inf else max(ceil(users) - len(self._rates), 1)
        served = np.concatenate([self._rates, np.full(queued, self._rates[-1])])
        if users < inf:
            arrivals = closed_loop_arrivals(users=users, rate=self._arrivals, served=served)
        if arrivals is None:  # or too few users for this rate
            arrivals = np.full(len(served) + 1, self._arrivals)
        return found_by_arrivals(
            arrivals=arrivals, served=served, slots=len(self._rates), spread=self._spread
        )

    @property
    def _spread(self) -> float:
        """The variance of the number in flight, relative to a birth-death process."""
        share, outputs = self.mix.kinds.share, self.mix.kinds.output
        prompts = float(np.interp(self._arrivals, self._rates, self._any_rate.prompt_shares))
        shorter = share @ np.minimum(outputs[:, np.newaxis], outputs) @ share
        overlap = float(shorter) / float(share @ outputs)
        return float(clustered_spread(prompts=prompts, overlap=overlap))

    @cached_property
    def _slots_taken(self) -> Floats:
        """The probability of each number of occupied slots, counting the arriving request."""
        slots = len(self._rates)
        chances = self._found[:slots].copy()
        chances[-1] += self._found[slots:].sum()
        return chances

    @property
    def in_flight(self) -> float:
        """The mean number of occupied slots seen by a request, counting its own."""
        return float(self._slots_taken @ np.ravel(self.passes.batch))

    @cached_property
    def _each_prompt(self) -> tuple[_EachPrompt, AttentionWork]:
        """The mix with each type's prompt in a separate first step, and its attention work."""
        stated = {part.name: getattr(self.mix, part.name) for part in fields(self.mix)}
        prompts = _EachPrompt(**stated)
        return prompts, attention_of(self.passes.placement, prompts)

    def _first(self, longer: Floats | float = 1.0) -> Schedule:
        """Build the first steps of a request of each type at the mean number in flight."""
        prompts, attention = self._each_prompt
        batch = np.array([self.in_flight])
        return Schedule(self.passes.placement, replace(prompts, longer=longer), batch, attention)

    @cached_property
    def _begun(self) -> _FirstSteps:
        passes = self._first()
        seconds = np.ravel(passes.chunks * passes.seconds(FIRST))
        loading = np.broadcast_to(np.ravel(passes.loading), seconds.shape)
        return _FirstSteps(
            seconds=seconds,
            overhead=np.asarray(passes.machine.software.request_overhead + loading),
            chunks=np.ravel(passes.chunks),
            step=float(np.ravel(passes.seconds(DECODE))[0]),
            streams=float(np.ravel(passes.streams)[0]),
        )

    @cached_property
    def _is_short(self) -> Floats:
        return np.asarray(self.mix.kinds.computed < self.passes.machine.software.prompt_chunk)

    @cached_property
    def _lengthened(self) -> Floats:
        """The decode stall caused by each type of prompt, which may share a step, in seconds."""
        begun = self._begun
        per_pass = begun.streams * self._replicas / float(np.ravel(self.passes.steps)[0])
        prompts = float(self.mix.kinds.share @ begun.chunks) * per_pass
        lumps = np.ravel(self.passes.lumps / self.passes.steps)
        shared = np.interp(self.in_flight, np.ravel(self.passes.batch), lumps) / prompts
        extra = np.maximum(begun.seconds - begun.chunks * begun.step, 0.0)
        apart = self._in_turn / self._replicas
        return np.asarray(extra * np.where(self._is_short, np.minimum(shared, 1.0), apart))

    @cached_property
    def _in_turn(self) -> float:
        """The number of attention replicas that prefill in turn while the others wait."""
        passes = self.passes
        in_turn = np.broadcast_to(passes.in_turn_at_random, passes.batch.shape)
        return float(np.interp(self.in_flight, passes.batch, in_turn))

    @cached_property
    def prompt_share(self) -> float:
        """The fraction of time spent on prefill if short prompts can share a step."""
        requests, chunk = self.mix.kinds, self.passes.machine.software.prompt_chunk
        filled = requests.computed / chunk
        in_chunks = filled * self._begun.seconds + (1.0 - filled) * self._marginal
        return (
            self._lane_rate
            * self._in_turn
            * float(requests.share @ np.where(self._is_short, in_chunks, self._begun.seconds))
        )

    @cached_property
    def _marginal(self) -> Floats:
        """The time that a short prompt adds to a step that already contains another prompt. [s]"""
        if not self._is_short.any():
            return np.zeros(len(self._is_short))
        chunk, computed = self.passes.machine.software.prompt_chunk, self.mix.kinds.computed
        longer = np.clip(np.nextafter(chunk / computed, 1.0), 1.0, 2.0)  # at most one chunk
        extra = np.ravel(self._first(longer).seconds(FIRST)) - self._begun.seconds
        return np.asarray(np.maximum(extra / np.maximum(longer - 1.0, 1e-9), 0.0) * self._is_short)

    @cached_property
    def _regularity(self) -> float:
        """The wait for a slot, relative to exponential service times."""
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
        """The probability of waiting for a slot, and the mean wait of requests that do. [1], [s]"""
        queued = self._found[len(self._rates) :]
        ahead = float(queued @ np.arange(1.0, len(queued) + 1.0)) / max(self.queued, 1e-300)
        return self.queued, self._regularity * ahead / float(self._rates[-1])

    @property
    def prefill_queue(self) -> PrefillQueue:
        """The queue of prompt tokens at one attention replica or pipeline micro-batch."""
        requests = self.mix.kinds
        batch = np.array([self.in_flight])
        passes = Schedule(self.passes.placement, self.mix, batch, self.passes.attention)
        # The same user has no other request in flight.
        others = max(1.0 - 1.0 / max(self.rate * self.cycle, 1.0), _ALONE)
        busy, added = 0.0, 0.0  # chance that the group prefills in a step, and what it adds
        if self._replicas > 1:
            seldom = 1.0 - float(np.ravel(passes.passes_at_random)[0])
            busy = 1.0 - seldom ** (self._replicas - 1)
            added = float(np.ravel(passes.seconds(PROMPTS))[0])
        return PrefillQueue(
            rate=self._lane_rate * others * self._emptiest,
            share=requests.share,
            tokens=requests.computed,
            chunk=float(self.passes.machine.software.prompt_chunk),
            step=self._begun.step,
            pass_seconds=passes.prefill_seconds,
            occupied=float(self._found[self._lanes if self._replicas == 1 else 1 :].sum()),
            group_busy=busy,
            group_seconds=added,
        )

    @cached_property
    def _first_tokens(self) -> list[tuple[Floats, Floats, float]]:
        """The TTFT distribution of each request type, excluding the wait for a slot.

        Each entry contains times [s] with their probabilities [1], shared by types with similar
        token counts, and a constant to add to these times [s]. A step with prompts is assumed to
        take as long as at the mean context; a prompt's own context and overhead are added.
        """
        queue, computed = self.prefill_queue, self.mix.kinds.computed
        # Prompts in a trace all differ in length, but their wait hardly depends on it.
        lengths = np.unique(computed)
        groups = np.array_split(lengths, min(len(lengths), _LENGTHS))
        like = np.asarray([group[len(group) // 2] for group in groups])[
            np.searchsorted([group[-1] for group in groups], computed)
        ]
        until = {tokens: queue.until_taken_in(tokens) for tokens in set(like.tolist())}
        own = (self._begun.seconds + self._begun.overhead).tolist()
        return [
            (*until[tokens], seconds - queue.alone(tokens))
            for tokens, seconds in zip(like.tolist(), own, strict=True)
        ]

    def share_prefilled_within(self, limit: float, index: int) -> float:
        """Compute the fraction of a class that prefills within a limit if it need not queue."""
        return float(self._share_of(index)[self._prefill <= limit].sum())

    @property
    def _prefill(self) -> Floats:
        """The prefill time of each request type including overhead, without queueing. [s]"""
        return np.asarray((self._begun.seconds + self._begun.overhead) * self.slowness)

    def prefill_quantile(self, part: float, index: int) -> float:
        """Compute a quantile of a class's prefill time, without queueing, in seconds."""
        order = np.argsort(self._prefill)
        up_to = np.cumsum(self._share_of(index)[order])
        return float(self._prefill[order][np.searchsorted(up_to, part * (1.0 - 1e-9))])

    def percentiles(self, index: int | None = None) -> Percentiles:
        """Compute percentiles for all requests, or for the class with the given index."""
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
        """Compute latency distributions for all requests, or for the class with the given index."""
        if index not in self._times:
            requests, fraction = self.mix.kinds, self._share_of(index)
            queued, wait = slot_wait = self.slot_wait
            if self.queued > MOST_QUEUED:
                # Slots fill up more unevenly than in a birth-death process: up to twice the
                # probability of waiting, and waits as long as with exponential service times.
                slot_wait = min(_UNEVEN * queued, 1.0), wait / self._regularity
            firsts = [(until + more, chances) for until, chances, more in self._first_tokens]
            # Plain sums, since BLAS would start threads even for such small products.
            means = np.array([(seconds * chances).sum() for seconds, chances in firsts])
            squares = np.array([(seconds**2 * chances).sum() for seconds, chances in firsts])
            some = [(part, *first) for part, first in zip(fraction, firsts, strict=True) if part]
            seconds = np.concatenate([times for _, times, _ in some])
            chances = np.concatenate([part * chances for part, _, chances in some])
            self._times[index] = RequestTimes(
                share=fraction,
                first=Waits.of(seconds, chances, slot_wait),
                first_means=means + queued * wait,
                first_variances=squares - means**2 + queued * (2.0 - queued) * wait**2,
                further=requests.output - 1.0,
                expected_tpot=self._tpot,
                tpot_variance=self._tpot_variance,
                slowness=self.slowness,
            )
        return self._times[index]

    @cached_property
    def _times(self) -> dict[int | None, RequestTimes]:
        return {}

    def _share_of(self, index: int | None) -> Floats:
        """Compute each request type's fraction of all requests or of one class."""
        requests = self.mix.kinds
        fraction = requests.share if index is None else requests.share * (requests.places == index)
        return np.asarray(fraction / fraction.sum())

    def share_within_tpot(self, limit: float, index: int | None = None) -> float:
        """Compute the fraction of requests, overall or in one class, within a TPOT limit.

        limit : The TPOT limit, or infinity for none; single-token requests have no TPOT and are not
            counted, in seconds.
        """
        return mixture_share(limit / self.slowness, *self._tpots(index))

    def tpot_quantile(self, part: float, index: int | None = None) -> float:
        """Compute a quantile of a class's TPOT, or NaN if none of its requests has a TPOT. [s]"""
        return mixture_quantile(part, *self._tpots(index)) * self.slowness

    def _tpots(self, index: int | None) -> tuple[Floats, Floats, Floats]:
        """Return weights, means and variances of the TPOT for each request type. [1], [s], [s^2]"""
        fractions = self._share_of(index) * (self.mix.kinds.output > 1.0)
        return fractions, np.full(len(fractions), self._tpot), self._tpot_variance

    @cached_property
    def _tpot(self) -> float:
        """The mean TPOT, in seconds."""
        return float(self._slots_taken @ self._any_rate.tokens)

    @cached_property
    def _tpot_variance(self) -> Floats:
        """The variance of the TPOT for each request type at this load. [s^2]

        Other requests arrive and finish during decode. Each prompt delays decode, so that more
        prompts arrive, as in the delay cycle of a queue (Harchol-Balter, 2013, ch. 27).
        """
        requests, tpot = self.mix.kinds, self._tpot
        at_once = float(self._slots_taken @ (self._any_rate.tokens - tpot) ** 2)
        window = requests.output / float(requests.share @ requests.output)
        rate = self._lane_rate * self._replicas
        fed_back = min(rate * float(requests.share @ self._lengthened), _MOST_FED_BACK)
        prompts = rate * tpot * float(requests.share @ self._lengthened**2)
        held_up = prompts / np.maximum(requests.output, 1.0) / (1.0 - fed_back) ** 2
        return np.asarray(at_once * variance_in_window(window=window) + held_up)
