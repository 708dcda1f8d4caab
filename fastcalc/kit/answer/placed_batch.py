"""The smallest batch of a placed scenario, as a source of column values."""

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
    """The smallest batch of a placed scenario, with the attributes that table columns read."""

    location: Location

    @property
    def scenario(self) -> Scenario:
        """The scenario of the placement."""
        return self.location.scenario

    @property
    def traffic(self) -> Traffic:
        """The traffic of the scenario."""
        return self.scenario.traffic

    @property
    def placement(self) -> Placement:
        """The placement of the model on its chips."""
        return self.location.placement

    @property
    def layout(self) -> Layout:
        """The layout of the placement."""
        return self.placement.layout

    @property
    def work(self) -> Workload:
        """The workload: the model in the chosen formats."""
        return self.placement.work

    @property
    def batch(self) -> int:
        """The number of sequences in the batch."""
        return min(self.scenario.batches)

    @cached_property
    def alone(self) -> Location:
        """The placed scenario reduced to this batch."""
        return replace(self.location, scenario=replace(self.scenario, batches=(self.batch,)))

    @property
    def fits(self) -> bool:
        """Whether the batch fits in memory."""
        return self.location.fits

    @property
    def fit_verdict(self) -> str:
        """The verdict: the batch fits, does not fit, or is a tight fit."""
        return self.location.verdict

    @property
    def used(self) -> Floats:
        """The fraction of usable memory in use."""
        return self.placement.used_fraction(self.batch)

    @property
    def host(self) -> str | None:
        """The host whose memory the chips may use."""
        host = self.scenario.memory.host
        return host.id if host else None

    @property
    def needed(self) -> tuple[int | None, int | None]:
        """The number of chips needed by capacity alone, and with whole layers."""
        return self.location.site.chips_needed(self.batch)

    @cached_property
    def cache(self) -> CacheSize | None:
        """The capacity of a replica's KV caches."""
        return cache_size(self.placement)

    def locations(self) -> str:
        """Describe where the data is placed, in a phrase."""
        return self.alone.where

    def near(self, kind: str) -> ArrayLike:
        """Return the fraction of a data category that is in the fastest memory."""
        return near_share(self.placement.machine, self.alone.split, kind)

    @property
    def max_batch(self) -> int:
        """The largest batch that safely fits on the chips."""
        return self.location.max_batch

    def min_chips(self) -> int | None:
        """Return the smallest number of chips on which the batch safely fits, or None."""
        return self.location.min_chips[self.scenario.batches.index(self.batch)]
