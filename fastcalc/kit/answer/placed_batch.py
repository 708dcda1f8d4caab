"""The smallest batch of a location, for columns to take numbers from."""

from dataclasses import dataclass, replace
from functools import cached_property

from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.cache_size import CacheSize, cache_size
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement
from fastcalc.core.placement.split import near_share
from fastcalc.core.scenario import Location, Scenario
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.types import ArrayLike, Floats


@dataclass(frozen=True)
class PlacedBatch:
    """The smallest batch of a location; columns take from it what `EvaluatedPoints` has, too."""

    location: Location

    @property
    def scenario(self) -> Scenario:
        """What was asked."""
        return self.location.scenario

    @property
    def traffic(self) -> Traffic:
        """What requests look like."""
        return self.scenario.traffic

    @property
    def placement(self) -> Placement:
        """The model on its chips."""
        return self.location.placement

    @property
    def layout(self) -> Layout:
        """How it is cut."""
        return self.placement.layout

    @property
    def work(self) -> Workload:
        """The model in its formats."""
        return self.placement.work

    @property
    def batch(self) -> int:
        """Sequences. [1]"""
        return min(self.scenario.batches)

    @cached_property
    def alone(self) -> Location:
        """The location with this batch alone."""
        return replace(self.location, scenario=replace(self.scenario, batches=(self.batch,)))

    @property
    def fits(self) -> bool:
        """Whether memory holds it."""
        return self.location.fits

    @property
    def fit_verdict(self) -> str:
        """Whether memory holds it safely."""
        return self.location.verdict

    @property
    def used(self) -> Floats:
        """Share of the usable memory that is taken. [1]"""
        return self.placement.used_fraction(self.batch)

    @property
    def host(self) -> str | None:
        """The host whose memory the chips may use."""
        host = self.scenario.memory.host
        return host.id if host else None

    @property
    def needed(self) -> tuple[int | None, int | None]:
        """Chips by capacity alone, and with layers whole. [1]"""
        return self.location.site.chips_needed(self.batch)

    @cached_property
    def cache(self) -> CacheSize | None:
        """What the caches of a replica hold."""
        return cache_size(self.placement)

    def locations(self) -> str:
        """Return where it lives, in a phrase."""
        return self.alone.where

    def near(self, kind: str) -> ArrayLike:
        """Share of a kind of bytes that is placed in the fastest memory. [1]"""
        return near_share(self.placement.machine, self.alone.split, kind)

    @property
    def max_batch(self) -> int:
        """Largest batch that its chips hold safely. [1]"""
        return self.location.max_batch

    def min_chips(self) -> int | None:
        """Fewest chips that hold it safely, None where none do. [1]"""
        return self.location.min_chips[self.scenario.batches.index(self.batch)]
