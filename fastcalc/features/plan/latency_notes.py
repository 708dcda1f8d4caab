"""Notes on latencies of plans: what they mean, and where limits or queues may not hold."""

from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING

from fastcalc.core.load import MOST_BUSY
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.phrases import Weight
from fastcalc.features.plan.random_load import in_words, random_load
from fastcalc.features.plan.ranked_plan import tpot_range
from fastcalc.features.plan.service import Service
from fastcalc.kit.answer.numbers_as_text import (
    number,
    rounded_down,
    rounded_up,
    stated_percent,
    whole_percent,
)
from fastcalc.kit.answer.parts import Note
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.features.plan.answer import PlanAnswer

_FULL = 0.9
"""Utilization above which a replica without a queueing model is noted."""


def service_notes(service: Service) -> Iterable[str]:
    """Return the notes that define the latencies of a plan."""
    between = "TPOT includes prefill of other requests between two tokens"
    if service.output <= 1.0:
        between = (
            "with a single output token, TPOT and its limit refer to one decode step at that "
            "batch, as in compare"
        )
    yield f"{between}; {_arrivals(service)}"
    if service.tpot < inf and service.share is not None:
        yield (
            "the TPOT limit must also be met at full batch, so a plan may use more chips than its "
            "percentiles require"
        )
    if service.utilization < 1.0 and (service.share or service.rate or service.is_fleet):
        cap = f"{stated_percent(service.utilization)} ({option('load')})"
        reason = ", as headroom for Poisson arrivals"
        if service.share is not None:
            reason = f"; percentile estimates are valid up to {whole_percent(MOST_BUSY)}"
        yield f"utilization of each replica is capped at {cap}{reason}"
    waits = ""
    if service.share is not None:
        level = f"p{service.share * 100:g}"
        waits = (
            f". Their TTFT adds the {level} waits of the prefill and decode queues, and their TPOT "
            "assumes a full batch"
        )
    yield (
        "disaggregated prefill: separate replicas prefill one prompt at a time and send its KV "
        f"cache over the scale-out network{waits}"
    )
    yield f"quantization may reduce quality; {option('weights')} and {option('kv')} set the formats"


def _arrivals(service: Service) -> str:
    """Describe the assumed arrival process, and the percentile of the latencies."""
    if service.share is None:
        return (
            "TTFT assumes evenly spaced requests and no queue; for Poisson arrivals, set "
            f"{option('percentile')}, or leave headroom with {option('load')}"
        )
    level = f"p{service.share * 100:g}"
    arriving = f"are {level} with Poisson arrivals"
    if not service.is_random:
        arriving = f"are {level} for Poisson arrivals, although these requests arrive differently"
    return (
        f"TTFT and TPOT {arriving}. Requests are assigned to replicas at random, and each replica "
        "has its own queue; load-aware routing would lower both"
    )


def bursts(classes: Iterable[RequestClass]) -> Iterator[str]:
    """Yield the classes whose arrivals are not random, although queues assume Poisson arrivals."""
    for request_class in classes:
        if request_class.is_random:
            continue
        way, wait = "more evenly than assumed", "shorter, and fewer replicas may be enough"
        if request_class.variation > 1.0:
            way, wait = "in bursts", "longer, and these replicas may not be enough"
        yield (
            f"{request_class.name}: requests arrive {way} (coefficient of variation "
            f"{number(request_class.variation)}; 1 with Poisson arrivals). Actual waits are {wait}"
        )


def queue_notes(chosen: Plan, service: Service, name: str, is_only: bool) -> Iterator[Note]:
    """Yield the p99 latencies, or why they have no closed form.

    is_only : Whether no table lists the latencies of each class.
    """
    load = random_load(chosen, service) if service.is_random else None
    if load is not None and (is_only or not load.is_known):
        is_bound_of_plan = is_only and not load.is_known
        yield Note(in_words(load, name), 0 if is_bound_of_plan else Weight.QUEUE)


def slow_end(chosen: Plan, service: Service, name: str) -> Iterator[str]:
    """Yield a TPOT limit that is met at the expected speed but not over the whole range.

    name : The name of the chips.
    """
    _, slow = tpot_range(chosen) or (0.0, 0.0)
    if slow <= service.tpot:
        return
    if service.is_speed:
        speed, wanted_speed = rounded_down(1.0 / slow), 1.0 / service.tpot
        met = f"a user gets {speed:g} tokens/s, below {wanted_speed:g}"
    else:
        met = f"TPOT is {rounded_up(slow * 1e3):g} ms, above {service.tpot * 1e3:g} ms"
    yield f"{name}: at the slow end of the 80% range, {met}"


def busy(chosen: Plan, service: Service) -> Iterator[str]:
    """Yield a utilization at which Poisson arrivals would queue, if no queues are planned."""
    busiest, is_queued = max(chosen.busy, chosen.prefill_busy), service.share is not None
    if service.rate is not None and not is_queued and busiest > _FULL:
        yield (
            f"{chosen.scenario.hardware.id}: at {busiest:.1%} utilization, Poisson arrivals would "
            f"queue; use {option('percentile', '99')} to plan for them"
        )


def unlimited_ttft(planned: "PlanAnswer") -> Iterator[str]:
    """Yield the TTFT for random arrivals, if there is no TTFT limit."""
    service, share = planned.fleet.service, planned.fleet.service.claimed_share
    if service.ttft == inf and share is not None:
        seconds = max(pool.plan.values["ttft"] for _, pool in planned.pools)
        time = f"{number(seconds)} s" if seconds >= 1.0 else f"{number(seconds * 1e3)} ms"
        yield f"no TTFT limit is set ({option('ttft')}). The plan's p{share * 100:g} TTFT is {time}"
