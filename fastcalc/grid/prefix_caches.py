"""Prefix-cache hits of a deployment on a trace, for each memory tier, and the savings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isnan, nan

import numpy as np

from fastcalc.catalogue.chip_defaults import completed
from fastcalc.core.chip.tier import MemoryChoice, own_tiers
from fastcalc.core.estimate import Estimate, evaluate
from fastcalc.core.outcome import Location, locate, site_of
from fastcalc.core.scenario import Scenario
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.reuse import Reuse, SharedPrefixes
from fastcalc.formulas.reuse import tier_break_even

BEHIND = "tier"
"""The name of the host memory if no host is named."""

_APART = 1.4
"""The ratio of successive cache sizes if the user specifies none."""


@dataclass(frozen=True, eq=False)
class CachedTier:
    """Computes the performance of a deployment that keeps prefix caches in a memory tier.

    name : The name of the memory, or None if nothing is cached.
    size : The cache size over all chips, in bytes.
    tokens : The capacity in tokens.
    hit, loaded : The fractions of prompt tokens that are hits, and that are loaded over a link.
    estimate : The estimate with this hit rate for every prompt.
    loading : The time to load a request's tokens over the link, or NaN if no host is named, in
        seconds.
    requests : The request rate that can be sustained. [1/s]
    """

    name: str | None
    size: float
    tokens: float
    hit: float
    loaded: float
    estimate: Estimate
    loading: float
    requests: float

    @property
    def is_limited_by_link(self) -> bool:
        """Whether the link, rather than the chips, limits the request rate."""
        return self.requests < _carried(self.estimate)

    @property
    def ttft(self) -> float:
        """The mean time to first token, in seconds."""
        return float(self.estimate.ttft[0]) + (0.0 if isnan(self.loading) else self.loading)


@dataclass(frozen=True, eq=False)
class CachedDeployment:
    """A deployment that serves a trace and caches prefixes in the free memory.

    location : The model on its chips, for a single batch and without a host.
    scenario : The same with its host, if any, whose memory is used only for caches.
    lengths, reuse : The request lengths in the trace, and the prefix reuse of its prompts.
    """

    location: Location
    scenario: Scenario
    lengths: Lengths
    reuse: Reuse | SharedPrefixes

    @classmethod
    def of(
        cls, scenario: Scenario, lengths: Lengths, reuse: Reuse | SharedPrefixes
    ) -> "CachedDeployment":
        """Build the deployment for a scenario."""
        memory = MemoryChoice(longest=scenario.memory.longest, draft=scenario.memory.draft)
        traffic = _traffic(scenario, lengths, 0.0)
        location = locate(replace(scenario, memory=memory, traffic=traffic))
        return cls(location, scenario, lengths, reuse)

    @cached_property
    def bytes_per_token(self) -> float:
        """The cache size per token of a mean prompt, over all chips that store it, in bytes."""
        prompt, placement = self.lengths.mean(self.lengths.prompt), self.location.placement
        layout = placement.layout
        return float(placement.cache_on_chip(prompt)) / prompt * layout.chips / layout.dp

    @cached_property
    def own_size(self) -> float:
        """The chip memory left by the weights and by outputs in flight, in bytes.

        Prompts in flight count as recently used prefixes.
        """
        placement, traffic = self.location.placement, self.location.scenario.traffic
        longest = np.asarray(traffic.longest_each)
        output = placement.cache_on_chip(longest) - placement.cache_on_chip(traffic.prompt)
        output_bytes = placement.sequences(min(self.location.scenario.batches)) * output
        return max(float(placement.available - output_bytes), 0.0) * placement.layout.chips

    @cached_property
    def _own_hit(self) -> float:
        return float(self.reuse.hit(self.own_size / self.bytes_per_token))

    def tiers(self, sizes: Sequence[float]) -> list[CachedTier]:
        """Evaluate each tier: no cache, chip memory, host memories, and one of the given sizes.

        sizes : The cache sizes, over all chips, in bytes.
        """
        host, chips = self.scenario.memory.host, self.location.placement.layout.chips
        memories = own_tiers(completed(host)) if host else ()
        behind = [
            (tier.name, tier.capacity * float(tier.share(chips)) * chips) for tier in memories
        ]
        name = behind[0][0] if behind else BEHIND
        behind += [(name, size) for size in sizes]
        tiers_tried = [self._tier(None, 0.0, 0.0, 0.0)]
        tiers_tried += [self._tier(self.location.memories, self.own_size, self._own_hit, 0.0)]
        for name, size in sorted(behind, key=lambda pair: pair[1]):
            hit = max(float(self.reuse.hit(size / self.bytes_per_token)), self._own_hit)
            tiers_tried.append(self._tier(name, size, hit, hit - self._own_hit))
        return tiers_tried

    def sizes(self) -> list[float]:
        """List cache sizes to try, from the chips' memory up to a size that captures all reuse."""
        last = self.reuse.tokens * self.bytes_per_token
        powers = range(int(np.log10(max(self.own_size, 1e9))), int(np.log10(max(last, 1.0))) + 1)
        steps = [step * 10.0**power for power in powers for step in (1.0, 3.0)]
        distinct = [step for step in steps if _APART * self.own_size < step < last / _APART]
        return [*distinct, last]

    def _tier(self, name: str | None, size: float, hit: float, loaded: float) -> CachedTier:
        placement, batch = self.location.placement, min(self.location.scenario.batches)
        traffic = _traffic(self.scenario, self.lengths, hit)
        estimate = evaluate(placement, batch=np.array([batch]), traffic=traffic)
        loading, host = 0.0, self.scenario.memory.host
        if loaded and host is not None:
            memory = MemoryChoice(host, "stream", prefix_tier=name)
            site = site_of(replace(self.scenario, memory=memory), placement.reserved_tokens)
            part = _traffic(self.scenario, self.lengths, loaded)
            behind = Schedule(site.place(placement.layout), part, np.ones(1))
            loading = float(behind.loading)
        elif loaded:
            loading = nan
        of_link = placement.layout.dp / loading if loading > 0.0 else inf
        tokens, requests = size / self.bytes_per_token, min(_carried(estimate), of_link)
        return CachedTier(name, size, tokens, hit, loaded, estimate, loading, requests)


def _traffic(scenario: Scenario, lengths: Lengths, hit: float) -> Mix:
    """Build the traffic of a trace for a given prefix-cache hit rate."""
    alike = RequestClass("", 1.0, lengths, prefix_hit=hit)
    return Mix.of([alike], scenario.traffic.speculation)


def _carried(estimate: Estimate) -> float:
    """Compute the request rate that the chips sustain, ignoring links, per second."""
    return float(estimate.served[0] / estimate.traffic.output)


def gain(tier: CachedTier, in_chips: CachedTier) -> float:
    """Return the request rate with a tier, relative to that with chip memory alone."""
    return tier.requests / in_chips.requests


def break_even(tier: CachedTier, in_chips: CachedTier, usd_per_hour: float | None) -> float | None:
    """Compute the price below which a tier pays off, or None without a price or a saving.

    in_chips : The tier for the chips' own memory.
    usd_per_hour : The price of the chips, in USD per hour.
    """
    if usd_per_hour is None or not tier.loaded or gain(tier, in_chips) <= 1.0:
        return None
    price = tier_break_even(usd_per_hour=usd_per_hour, gain=gain(tier, in_chips), size=tier.size)
    return float(price)
