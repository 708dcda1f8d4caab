"""The load of one replica with random arrivals, and its percentiles as numbers and words."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import ceil, floor, inf, isnan, log

import numpy as np

from fastcalc.core.load import (
    MOST_BUSY,
    MOST_QUEUED,
    ROOM_FOR_CHANCE,
    SHARES,
    Percentiles,
    RandomLoad,
    Spread,
)
from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.core.traffic.request_times import RequestTimes
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.service import Service
from fastcalc.formulas.solving import first_not_negative, last_positive
from fastcalc.kit.answer.numbers_as_text import number, stated_percent
from fastcalc.kit.answer.point_records import Record, plain
from fastcalc.mentions import option
from fastcalc.written import listed

NAMES = tuple(f"p{share * 100:g}" for share in SHARES)
_LAST = NAMES[-1]


def percentile_record(percentiles: Percentiles) -> Record:
    """Return the mean and percentiles of each latency, in ms."""
    times: Mapping[str, Spread] = {
        "ttft_ms": percentiles.ttft,
        "tpot_ms": percentiles.tpot,
        "request_ms": percentiles.request,
    }
    return {
        key: {"mean": plain(spread.mean * 1e3)}
        | {
            name: plain(seconds * 1e3)
            for name, seconds in zip(NAMES, spread.percentiles, strict=True)
        }
        for key, spread in times.items()
    }


def request_seconds(plan: Plan, service: Service) -> float:
    """Return the mean end-to-end latency of a request. Queueing is ignored without a closed form.

    For closed-loop users it is also the number of requests in flight per request/s (Little's law).
    """
    load = random_load(plan, service)
    return load.times().request_mean if load else plan.request_seconds(service.output)


def in_words(load: RandomLoad, name: str) -> str:
    """Describe the 99th percentiles, or why there is no closed form.

    name : The name of the replicas.
    """
    if not load.is_known:
        lower = min(floor(load.utilization * 20.0 - 1e-9) / 20.0, ROOM_FOR_CHANCE)
        shares = (
            ("utilization is {}", load.utilization, MOST_BUSY),
            ("prefill takes {} of the time", load.prompt_share, load.most_prompts),
            ("{} of the requests queue for a slot", load.queued, MOST_QUEUED),
        )
        causes = [
            f"{text.format(f'{number(share * 100.0)}%')}, above {stated_percent(most)}"
            for text, share, most in shares
            if share > most
        ]
        return (
            f"{name}: percentiles are upper bounds, because {listed(causes)}; "
            f"{option('load', f'{max(lower, 0.05):g}')} or less avoids that"
        )
    slowest = load.percentiles()
    ttft, tpot, request = (
        spread.percentiles[-1] for spread in (slowest.ttft, slowest.tpot, slowest.request)
    )
    return (
        f"{name}, {_LAST} with Poisson arrivals: TTFT {number(ttft * 1e3)} ms, "
        f"TPOT {number(tpot * 1e3)} ms, end-to-end latency {number(request)} s"
    )


_NEAR = 2.0**-10  # of a rate that is not divided among whole replicas
_FEW = 1e-4  # of the requests: fewer late ones than this are no better
_IDLE = 1e-2  # of a capacity: a plan with replicas more idle than that is none
_SLACK = 1e-9  # of a replica
_BINNED, _ROUNDED = 0.9, 1.0 - 1e-9  # of a lower bound: a distribution has points, bisection an end

_KEPT = 128
"""Number of layouts whose loads are cached. Searches with other limits try the same layouts."""

_loads = OrderedDict[
    tuple[object, ...], tuple[Scenario, tuple[RequestClass, ...], dict[float, RandomLoad | None]]
]()


def random_load(plan: Plan, service: Service) -> RandomLoad | None:
    """Build the queueing model of a replica, or None without a request rate or a closed form.

    The closed form covers replicas with colocated prefill on chips that run layers in sequence.
    Bursty and evenly spaced arrivals are treated as Poisson.
    """
    rate = plan.requests if service.is_fleet else service.rate
    if rate is None or plan.prefill_layout is not None:
        return None
    scenario, cycle = plan.scenario, service.users / rate
    entries = scenario.hardware, scenario.model, scenario.engine, scenario.memory
    formats = scenario.weights, scenario.kv, scenario.traffic.speculation
    replica = plan.layout, plan.slowness, cycle
    key = (*map(id, entries), *formats, *replica, *_requests_key(service))
    # The entries are kept so that no id is reused.
    *_, by_batch = _loads.setdefault(key, (scenario, service.classes, {}))
    _loads.move_to_end(key)
    while len(_loads) > _KEPT:
        _loads.popitem(last=False)
    if plan.batch not in by_batch:
        larger = by_batch[max(by_batch)] if max(by_batch, default=0.0) > plan.batch else None
        load = larger and larger.with_slots(int(plan.batch))
        by_batch[plan.batch] = load or _load_of(plan, service, rate / plan.replicas, cycle)
    load = by_batch[plan.batch]
    return load and load.at(rate / plan.replicas)


def _requests_key(service: Service) -> tuple[object, ...]:
    """Return the key for the lengths of requests, regardless of their limits."""
    if service.classes:
        return tuple(
            (id(request_class.lengths), request_class.share, request_class.prefix_hit)
            for request_class in service.classes
        )
    return service.prompt, service.output, service.prefix_hit


def _load_of(plan: Plan, service: Service, rate: float, cycle: float) -> RandomLoad | None:
    placement = plan.replica.placement
    if placement.machine.is_spatial or placement.machine.engine.is_bound:
        return None
    load = RandomLoad.of(
        placement,
        service.request_classes,
        speculation=plan.scenario.traffic.speculation,
        slots=int(plan.batch),
        rate=rate,
    )
    return replace(load, slowness=plan.slowness, cycle=cycle)


@dataclass(frozen=True, eq=False)
class HeldLimits:
    """A service's latency limits compared with the percentiles of a load.

    part : The fraction of the requests in each class that must be within its limits.
    """

    load: RandomLoad
    classes: tuple[RequestClass, ...]
    part: float

    @cached_property
    def times(self) -> list[RequestTimes]:
        """The latencies of each class."""
        return [self.load.times(index) for index in range(len(self.classes))]

    @property
    def are_limited(self) -> bool:
        """Whether any class has a limit."""
        return any(
            min(request_class.ttft, request_class.tpot) < inf for request_class in self.classes
        )

    @property
    def are_met(self) -> bool:
        """Whether percentiles, or upper estimates if not exact, are within their limits."""
        return self._margin >= 0.0

    @property
    def is_tpot_met(self) -> bool:
        """Whether the percentiles of TPOT are within their limits."""
        return min(self._within_tpot) >= self.part

    @cached_property
    def _within_tpot(self) -> list[float]:
        """The fraction of each class's requests whose TPOT is within its limit."""
        return [
            self.load.share_within_tpot(request_class.tpot, index)
            for index, request_class in enumerate(self.classes)
        ]

    @cached_property
    def _margin(self) -> float:
        """The log ratio of allowed to actual late requests, as fractions, for the worst class.

        TPOT is checked before TTFT, which requires a Markov chain.
        """
        shares = self._within_tpot
        if self.is_tpot_met:
            shares = [
                self.load.share_prefilled_within(request_class.ttft, index)
                for index, request_class in enumerate(self.classes)
            ]
        if min(shares) >= self.part:
            shares = self._within_tpot + [
                times.share_within_ttft(request_class.ttft)
                for times, request_class in zip(self.times, self.classes, strict=True)
            ]
        return log((1.0 - self.part + _FEW) / (1.0 - min(shares) + _FEW))

    def at(self, rate: float) -> "HeldLimits":
        """Return the comparison at another rate per replica, per second."""
        return HeldLimits(self.load.at(rate), self.classes, self.part)

    @property
    def least_misses(self) -> dict[str, float]:
        """Lower bounds on the ratios of percentiles to their limits, which ignore queueing delays.

        They do not require a Markov chain. TPOT is omitted if no request has one.
        """
        ratios: list[dict[str, float]] = [
            {
                "ttft": self.load.prefill_quantile(self.part, index) / limits.ttft * _BINNED,
                "tpot": self.load.tpot_quantile(self.part, index) / limits.tpot * _ROUNDED,
            }
            for index, limits in enumerate(self.classes)
        ]
        names = ("ttft", "tpot")
        largest = {name: float(np.fmax.reduce([row[name] for row in ratios])) for name in names}
        return {name: ratio for name, ratio in largest.items() if not isnan(ratio)}

    def slowed(self, slowness: float) -> "HeldLimits":
        """Return the comparison on slower chips.

        slowness : The latency relative to the expected latency.
        """
        return HeldLimits(self.load.slowed(slowness), self.classes, self.part)

    def highest_rate(self, max_rate: float, above: float = 0.0) -> float:
        """Find the highest rate per replica within the limits, up to a maximum. 0 if none. [1/s]

        above : The rate to exceed, for a search among several replicas. [1/s]
        """
        max_rate = min(max_rate, MOST_BUSY * self.load.capacity)
        if above and (max_rate <= above or not self.at(above).are_met):
            return 0.0
        if self.at(max_rate).are_met:
            return max_rate
        return last_positive(
            lambda rate: self.at(rate)._margin, 0.0, max_rate, near=max_rate * _NEAR
        )

    def fewest_replicas(
        self, rate: float, guess: float, max_rate: float, affordable: float = inf
    ) -> int:
        """Find the fewest replicas that meet the limits at a rate, or 0 if no number suffices.

        guess : The initial guess of the number of replicas.
        max_rate : The maximum rate per replica. [1/s]
        affordable : The maximum number of replicas.
        """

        @cache
        def margin_of(replicas: int) -> float:
            return self.at(rate / replicas)._margin

        def is_enough(replicas: int) -> bool:
            return margin_of(replicas) >= 0.0

        min_replicas = max(ceil(rate / min(max_rate, MOST_BUSY * self.load.capacity) - _SLACK), 1)
        if affordable < min_replicas or not (affordable == inf or is_enough(int(affordable))):
            return 0
        guess = max(int(guess), min_replicas)
        if is_enough(guess):
            if guess == min_replicas or not is_enough(guess - 1):
                return guess
            if is_enough(min_replicas):
                return min_replicas
            return first_not_negative(margin_of, min_replicas, guess - 1)
        trials = [guess]
        while rate / trials[-1] >= _IDLE * self.load.capacity:
            trials.append(trials[-1] + 2 ** (len(trials) - 1))
        if not is_enough(trials[-1]):
            return 0
        first = next(index for index, count in enumerate(trials) if is_enough(count))
        return first_not_negative(margin_of, trials[first - 1], trials[first])

    def percentiles(self, name: str) -> tuple[float, ...]:
        """Return the percentile of a latency to which its limit applies, for each class. [s]"""
        return tuple(getattr(times, name)(self.part) for times in self.times)

    def held_against(self, name: str, limit: float) -> float:
        """Scale a limit by the largest ratio of a latency to its limit over all classes. [s]

        Without limits, it is the percentile over all requests. NaN for TPOT if no request has one.
        """
        if limit == inf:
            return float(getattr(self.load.times(), name)(self.part))
        limits = (getattr(request_class, name) for request_class in self.classes)
        times = zip(self.percentiles(name), limits, strict=True)
        return float(
            np.fmax.reduce([seconds / class_limit * limit for seconds, class_limit in times])
        )


def held_limits(plan: Plan, service: Service) -> HeldLimits | None:
    """Compare limits with a plan's percentiles. Returns None if these have no closed form."""
    if service.share is None or (load := random_load(plan, service)) is None:
        return None
    return HeldLimits(load, service.request_classes, service.share)


def most_requests(plan: Plan, service: Service) -> float:
    """Return the highest throughput of all replicas of a plan within its limits, per second.

    For a plan with a rate, it is the highest rate with percentiles within the limits, if known.
    """
    limits = held_limits(plan, service) if service.rate and plan.is_checked and plan.busy else None
    if limits is None or not limits.are_limited:
        return plan.requests
    max_rate = limits.load.rate / plan.busy * service.utilization
    return plan.replicas * limits.highest_rate(max_rate)
