"""Evaluated points, single or as arrays, with the attributes from which columns take values."""

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
    """A column with few distinct words.

    codes : word index of each point
    words : texts, or lists of texts
    """

    codes: Ints | np.integer[Any]
    words: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class EvaluatedPoints:
    """An estimate, and the additional values of its records.

    scenario : common inputs of all points; batches, traffic and sharding are in the estimate
        instead
    estimate : of arrays that broadcast with each other
    usd_per_hour : price of each deployment, in use or not [USD/h]
    min_chips : function for the fewest chips that hold each batch safely; nan if none do [1]
    largest_batch : function for the sequences that the chips of each point hold safely [1]
    locations, warnings : functions for the memories in use and for notes, as `CodedColumn`
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
        """Layouts of the points."""
        return self.placement.layout

    @property
    def work(self) -> Workload:
        """The model in its number formats."""
        return self.placement.work

    @property
    def traffic(self) -> Traffic:
        """Lengths, cache hits and speculation of the requests."""
        return self.estimate.traffic

    @property
    def batch(self) -> Floats:
        """Sequences decoded together. [1]"""
        return self.estimate.batch

    @property
    def fits(self) -> Bools:
        """Whether the batch fits in memory."""
        return self.estimate.fits

    @property
    def fit_verdict(self) -> CodedColumn:
        """Whether the batch fits safely, tightly or not."""
        return CodedColumn(verdicts(self.placement, self.batch), VERDICTS)

    @property
    def max_batch(self) -> ArrayLike:
        """Sequences that the chips of each point hold safely. [1]"""
        return self.largest_batch()

    @property
    def used(self) -> Floats:
        """Share of the usable memory that is filled. [1]"""
        return self.placement.used_fraction(self.batch)

    @cached_property
    def usd(self) -> tuple[Floats | None, Floats | None, Floats | None]:
        """Price per million input tokens, output tokens, and both; None without a price. [USD]"""
        price = self.usd_per_hour
        if price is None:
            return None, None, None
        return self.estimate.usd(price / self.scenario.pricing.utilization)

    @property
    def usd_of_output(self) -> Floats | None:
        """Price per million output tokens; None without a price. [USD]"""
        price = self.usd_per_hour
        if price is None:
            return None
        return self.estimate.usd_of_output(price / self.scenario.pricing.utilization)

    def near(self, kind: str) -> ArrayLike:
        """Fraction of a category that the fastest memory holds. [1]"""
        return near_share(self.placement.machine, self.estimate.passes.split, kind)

    @property
    def host(self) -> str | None:
        """Host whose memory the chips may use."""
        host = self.scenario.memory.host
        return host.id if host else None

    @property
    def host_use(self) -> CodedColumn | None:
        """Use of weights on the host in a decode step; None without a host."""
        return host_use(self.estimate.passes)


def host_use(passes: Schedule) -> CodedColumn | None:
    """Use of weights on a host in a decode step; None without a host.

    Wafers with regions stream weights, as do chips whose host has no cores that multiply.
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
    """Phrase for the memories in use at each point.

    layout_positions : layout index of each point
    """
    codes, names = memories_used(estimate.passes.split, site.machine.tiers)
    words = (site.place(layout).where(name) for layout in layouts for name in names)
    return CodedColumn(layout_positions * len(names) + codes, tuple(words))
