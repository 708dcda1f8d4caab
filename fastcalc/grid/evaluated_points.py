"""What was evaluated, point by point or as arrays, by the names that columns take it from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fastcalc.core.estimate import Estimate
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.layout import Layout, Layouts
from fastcalc.core.placement.placement import AnyPlacement, Site
from fastcalc.core.placement.split import memories_used, near_share
from fastcalc.core.scenario import Scenario
from fastcalc.core.step.host_use import HOST
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.core.verdict import VERDICTS, verdicts
from fastcalc.formulas.types import ArrayLike, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column of few words.

    codes : position of each point's word
    words : texts, or lists of them
    """

    codes: Ints | np.integer[Any]
    words: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class EvaluatedPoints:
    """An estimate, and what records say of it in addition.

    scenario : what holds of every point; its batches, traffic and sharding are the estimate's
        affair
    estimate : of arrays that broadcast with each other
    usd_per_hour : price of each deployment, in use or not [USD/h]
    min_chips : gives the fewest chips that hold each batch safely; nan where none do [1]
    largest_batch : gives the sequences that the chips of each point hold safely [1]
    locations, warnings : give where it lives, and what a reader must know, as `CodedColumn`
    """

    scenario: Scenario
    estimate: Estimate
    usd_per_hour: ArrayLike | None
    min_chips: Callable[[], ArrayLike]
    largest_batch: Callable[[], ArrayLike]
    locations: Callable[[], CodedColumn]
    warnings: Callable[[], CodedColumn]

    @property
    def placement(self) -> AnyPlacement:
        """The workload on its layouts."""
        return self.estimate.placement

    @property
    def layout(self) -> Layout | Layouts:
        """How it is cut."""
        return self.placement.layout

    @property
    def work(self) -> Workload:
        """The model in its formats."""
        return self.placement.work

    @property
    def traffic(self) -> Traffic:
        """What requests look like."""
        return self.estimate.traffic

    @property
    def batch(self) -> Floats:
        """Sequences decoded together. [1]"""
        return self.estimate.batch

    @property
    def fits(self) -> Bools:
        """Whether memory holds them."""
        return self.estimate.fits

    @property
    def fit_verdict(self) -> CodedColumn:
        """Whether memory holds them safely."""
        return CodedColumn(verdicts(self.placement, self.batch), VERDICTS)

    @property
    def max_batch(self) -> ArrayLike:
        """Sequences that the chips of each point hold safely. [1]"""
        return self.largest_batch()

    @property
    def used(self) -> Floats:
        """Share of the usable memory that is taken. [1]"""
        return self.placement.used_fraction(self.batch)

    @cached_property
    def usd(self) -> tuple[Floats | None, Floats | None, Floats | None]:
        """Dollars per million tokens of input, output and both; None without a price. [USD]"""
        price = self.usd_per_hour
        if price is None:
            return None, None, None
        return self.estimate.usd(price / self.scenario.pricing.utilization)

    @property
    def usd_of_output(self) -> Floats | None:
        """Dollars per million tokens of output; None without a price. [USD]"""
        price = self.usd_per_hour
        if price is None:
            return None
        return self.estimate.usd_of_output(price / self.scenario.pricing.utilization)

    def near(self, kind: str) -> ArrayLike:
        """Share of a kind of bytes that is placed in the fastest memory. [1]"""
        return near_share(self.placement.machine, self.estimate.passes.split, kind)

    @property
    def host(self) -> str | None:
        """The host whose memory the chips may use."""
        host = self.scenario.memory.host
        return host.id if host else None

    @property
    def host_use(self) -> CodedColumn | None:
        """How a decode step uses what lives on the host; None where there is no host."""
        return host_use(self.estimate.passes)


def host_use(passes: Schedule) -> CodedColumn | None:
    """Return how a decode step uses what lives on a host; None where there is no host.

    Regions of a wafer stream it, as chips do whose host has no cores that multiply.
    """
    if passes.split is None or passes.is_bound:
        return None
    far = [index for index, tier in enumerate(passes.split.tiers) if not tier.is_near]
    if not far:
        return None
    streams = np.any([passes.split.used(index) for index in far], axis=0)
    host_bytes = [
        component.bytes for component in passes.decode.components if component.name == HOST
    ]
    computes = np.asarray(sum(host_bytes)) > 0.0
    return CodedColumn(np.where(computes, 2, np.where(streams, 1, 0)), (None, "stream", "compute"))


def places(
    estimate: Estimate, layout_positions: Ints, layouts: Sequence[Layout], site: Site
) -> CodedColumn:
    """Return where each point lives, in a phrase.

    layout_positions : the position of each point's layout
    """
    codes, names = memories_used(estimate.passes.split, site.machine.tiers)
    words = (site.place(layout).where(name) for layout in layouts for name in names)
    return CodedColumn(layout_positions * len(names) + codes, tuple(words))
