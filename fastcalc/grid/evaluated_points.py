"""Evaluated operating points, with the values that fill columns."""

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
    """A text column with few distinct values.

    codes : The index into ``words`` for each point.
    words : The distinct texts, or lists of texts.
    """

    codes: Ints | np.integer[Any]
    words: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class EvaluatedPoints:
    """An estimate with the additional values that its records contain.

    scenario : The inputs shared by all points; batches, traffic and sharding come from the estimate
        instead.
    estimate : The estimate, whose arrays broadcast with each other.
    usd_per_hour : The hourly price of each deployment, including idle chips, in USD per hour.
    min_chips : The function that gives the fewest chips that fit each batch safely, or NaN if none
        do.
    largest_batch : The function that gives the largest batch that fits safely on each point's
        chips.
    locations, warnings : The functions that return the memories in use and the notes, as
        `CodedColumn`.
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
        """The placement of the model on the layouts."""
        return self.estimate.placement

    @property
    def layout(self) -> Layout | Layouts:
        """The layout of each point."""
        return self.placement.layout

    @property
    def work(self) -> Workload:
        """The model in its number formats."""
        return self.placement.work

    @property
    def traffic(self) -> Traffic:
        """The traffic: request lengths, cache hits and speculative decoding."""
        return self.estimate.traffic

    @property
    def batch(self) -> Floats:
        """The number of sequences decoded together."""
        return self.estimate.batch

    @property
    def fits(self) -> Bools:
        """Whether the batch fits in memory."""
        return self.estimate.fits

    @property
    def fit_verdict(self) -> CodedColumn:
        """Whether the batch fits safely, fits tightly, or does not fit."""
        return CodedColumn(verdicts(self.placement, self.batch), VERDICTS)

    @property
    def max_batch(self) -> ArrayLike:
        """The largest batch that fits safely on the chips of each point."""
        return self.largest_batch()

    @property
    def used(self) -> Floats:
        """The fraction of usable memory that is in use."""
        return self.placement.used_fraction(self.batch)

    @cached_property
    def usd(self) -> tuple[Floats | None, Floats | None, Floats | None]:
        """The price per million input, output and total tokens, or None if unknown, in USD."""
        price = self.usd_per_hour
        if price is None:
            return None, None, None
        return self.estimate.usd(price / self.scenario.pricing.utilization)

    @property
    def usd_of_output(self) -> Floats | None:
        """The price per million output tokens, or None if unknown, in USD."""
        price = self.usd_per_hour
        if price is None:
            return None
        return self.estimate.usd_of_output(price / self.scenario.pricing.utilization)

    def near(self, kind: str) -> ArrayLike:
        """Compute the fraction of a category of bytes that is in the fastest memory."""
        return near_share(self.placement.machine, self.estimate.passes.split, kind)

    @property
    def host(self) -> str | None:
        """The host whose memory the chips may use, if any."""
        host = self.scenario.memory.host
        return host.id if host else None

    @property
    def host_use(self) -> CodedColumn | None:
        """How decode steps use weights on the host, or None without a host."""
        return host_use(self.estimate.passes)


def host_use(passes: Schedule) -> CodedColumn | None:
    """Describe how decode steps use weights on the host, or return None without a host.

    Wafers with a region per layer always stream weights, as do chips whose host cannot compute.
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
    """Describe the memories in use at each point.

    layout_positions : The layout index of each point.
    """
    codes, names = memories_used(estimate.passes.split, site.machine.tiers)
    words = (site.place(layout).where(name) for layout in layouts for name in names)
    return CodedColumn(layout_positions * len(names) + codes, tuple(words))
