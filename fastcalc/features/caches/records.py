"""Records of prefix-cache hits: one per tier of a deployment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from fastcalc.grid.column import values
from fastcalc.grid.columns import columns_from
from fastcalc.grid.prefix_caches import BEHIND, CachedDeployment, CachedTier, break_even
from fastcalc.kit.answer.numbers_as_text import dollars, size
from fastcalc.kit.answer.placed_batch import PlacedBatch
from fastcalc.kit.answer.point_records import Record, named_chips, plainly


@dataclass(frozen=True, kw_only=True)
class _TierOfDeployment(PlacedBatch):
    """A cache tier of a deployment.

    tier, own : The cache tier, and the chips' own memory.
    """

    tier: CachedTier
    own: CachedTier

    @property
    def usd(self) -> float | None:
        """The price of the chips per request, in USD."""
        price = self.location.usd_per_hour
        return None if price is None else price / 3600.0 / self.tier.requests

    @property
    def limited_by(self) -> str | None:
        """The resource that limits the request rate, or None if a tier's speed is unknown."""
        if isnan(self.tier.loading):
            return None
        return "link" if self.tier.is_limited_by_link else "chips"

    @property
    def break_even(self) -> float | None:
        """The memory price below which the tier pays off. [USD/GB per month]"""
        return break_even(self.tier, self.own, self.location.usd_per_hour)


_VALUES: dict[str, Callable[[Any], Any]] = {
    "cache_tier": lambda row: row.tier.name or "none",
    "cache_gb": lambda row: row.tier.size / 1e9,
    "cache_tokens": lambda row: int(row.tier.tokens),
    "requests_per_s_per_chip": lambda row: row.tier.requests / row.layout.chips,
    "mean_ttft_ms": lambda row: row.tier.ttft * 1e3,
}
"""Values that are not an attribute, by key."""

_FORMATS: dict[str, Callable[[Any], Any]] = {
    "cache_tier": lambda record: (
        "another tier" if record["cache_tier"] == BEHIND else record["cache_tier"]
    ),
    "cache_gb": lambda record: size(record["cache_gb"] * 1e9) if record["cache_gb"] else "-",
    "usd_per_request": lambda record: dollars((record["usd_per_request"] or 0.0) * 1e3),
}
"""Cells with a format of their own, by key."""

COLUMNS = columns_from(__file__, _VALUES, _FORMATS)


@dataclass(frozen=True, eq=False)
class DeploymentTiers:
    """A deployment with each cache tier: none, its own memory, and further tiers."""

    deployment: CachedDeployment
    tiers: Sequence[CachedTier]

    @property
    def chips(self) -> str:
        """The number and type of the chips, as text."""
        return named_chips(self.deployment.location)

    def records(self) -> list[Record]:
        """Build one record per tier."""
        location, own = self.deployment.location, self.tiers[1]
        points = (_TierOfDeployment(location=location, tier=tier, own=own) for tier in self.tiers)
        return [plainly(values(COLUMNS, point)) for point in points]
