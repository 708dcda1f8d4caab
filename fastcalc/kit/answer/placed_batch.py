"""Smallest batch of a placed scenario, as a source of values for columns."""

from dataclasses import dataclass, replace
from functools import cached_property

from fastcalc.core.model.workload import Workload
from fastcalc.core.outcome import Location
from fastcalc.core.placement.cache_size import CacheSize, cache_size
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement
from fastcalc.core.placement.split import near_share
from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.types import ArrayLike, Floats


@dataclass(frozen=True)
class PlacedBatch:
    """Smallest batch of a location, with the attributes of `EvaluatedPoints` that columns read."""

    location: Location

    @property
    def scenario(self) -> Scenario:
        """Scenario of the location."""
        return self.location.scenario

    @property
    def traffic(self) -> Traffic:
        """Traffic of the scenario."""
        return self.scenario.traffic

    @property
    def placement(self) -> Placement:
        """Placement of the model on its chips."""
        return self.location.placement

    @property
    def layout(self) -> Layout:
        """Layout of the placement."""
        return self.placement.layout

    @property
    def work(self) -> Workload:
        """Workload: the model in its formats."""
        return self.placement.work

    @property
    def batch(self) -> int:
        """Sequences in the batch. [1]"""
        return min(self.scenario.batches)

    @cached_property
    def alone(self) -> Location:
        """Location with only this batch."""
        return replace(self.location, scenario=replace(self.scenario, batches=(self.batch,)))

    @property
    def fits(self) -> bool:
        """Whether the batch fits in memory."""
        return self.location.fits

    @property
    def fit_verdict(self) -> str:
        """Verdict on whether the batch fits: yes, no, or a tight fit."""
        return self.location.verdict

    @property
    def used(self) -> Floats:
        """Used share of the usable memory. [1]"""
        return self.placement.used_fraction(self.batch)

    @property
    def host(self) -> str | None:
        """Host whose memory the chips may use."""
        host = self.scenario.memory.host
        return host.id if host else None

    @property
    def needed(self) -> tuple[int | None, int | None]:
        """Chips needed by capacity alone, and with unsplit layers. [1]"""
        return self.location.site.chips_needed(self.batch)

    @cached_property
    def cache(self) -> CacheSize | None:
        """Capacity of the KV caches of a replica."""
        return cache_size(self.placement)

    def locations(self) -> str:
        """Memory placement, in a phrase."""
        return self.alone.where

    def near(self, kind: str) -> ArrayLike:
        """Share of a kind of bytes in the fastest memory. [1]"""
        return near_share(self.placement.machine, self.alone.split, kind)

    @property
    def max_batch(self) -> int:
        """Largest batch that safely fits on its chips. [1]"""
        return self.location.max_batch

    def min_chips(self) -> int | None:
        """Fewest chips on which it safely fits, None if it fits on no number of chips. [1]"""
        return self.location.min_chips[self.scenario.batches.index(self.batch)]
