"""Records of prefix-cache hits: one per tier of a deployment."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from fastcalc.grid.column import Column, TableColumn, values
from fastcalc.grid.columns import pick
from fastcalc.grid.prefix_caches import BEHIND, CachedDeployment, CachedTier, break_even
from fastcalc.kit.answer.numbers_as_text import dollars, size
from fastcalc.kit.answer.placed_batch import PlacedBatch
from fastcalc.kit.answer.point_records import Record, named_chips, plainly


@dataclass(frozen=True, kw_only=True)
class _TierOfDeployment(PlacedBatch):
    """A cache tier of a deployment.

    tier, own : the cache tier, and the chips' own memory
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


COLUMNS: tuple[TableColumn, ...] = (
    *pick("hardware model engine chips tp pp ep dp weight_format kv_format batch"),
    *pick("prompt_tokens output_tokens"),
    Column(
        "cache_tier",
        "text",
        "memory that holds the prefix cache; tier: memory behind an unspecified host",
        lambda row: row.tier.name or "none",
        heading=("prefix cache", "stored in"),
        format=lambda record: (
            "another tier" if record["cache_tier"] == BEHIND else record["cache_tier"]
        ),
    ),
    Column(
        "cache_gb",
        "GB",
        "size of the cache, total over all chips",
        lambda row: row.tier.size / 1e9,
        heading=("", "size"),
        format=lambda record: size(record["cache_gb"] * 1e9) if record["cache_gb"] else "-",
    ),
    Column(
        "cache_tokens",
        "count",
        "prompt tokens that fit in the cache",
        lambda row: int(row.tier.tokens),
        heading=("tokens", "held"),
        drop_priority=2,
    ),
    Column(
        "prefix_hit",
        "ratio",
        "hit rate: fraction of prompt tokens found in it or in the chips' own memory",
        "tier.hit",
        heading=("", "hit rate"),
        format="percent",
        is_key_figure=True,
    ),
    Column(
        "prefix_loaded",
        "ratio",
        "fraction of prompt tokens loaded from it",
        "tier.loaded",
        heading=("loaded", "from tier"),
        drop_priority=4,
        format="percent",
    ),
    Column(
        "computed_prompt_tokens",
        "tokens",
        "prompt tokens of a mean request that are computed, not cached",
        "tier.estimate.traffic.computed_prompt",
        heading=("prefill tok", "/ request"),
        drop_priority=3,
        format="count",
    ),
    Column(
        "requests_per_s",
        "1/s",
        "request rate that the chips sustain on the trace",
        "tier.requests",
        heading=("requests", "/s"),
    ),
    Column(
        "requests_per_s_per_chip",
        "1/s",
        "request rate sustained per chip",
        lambda row: row.tier.requests / row.layout.chips,
    ),
    Column(
        "requests_limited_by",
        "text",
        "what limits the request rate: chips, or the link that loads caches; null without a host",
        "limited_by",
        heading=("limited", "by"),
        drop_priority=1,
    ),
    Column(
        "mean_ttft_ms",
        "ms",
        "TTFT of a request with mean lengths, including cache loading",
        lambda row: row.tier.ttft * 1e3,
        heading=("TTFT", "ms"),
        drop_priority=5,
    ),
    Column(
        "usd_per_request",
        "USD/request",
        "price of the chips per request, without the tier",
        "usd",
        heading=("$ per 1,000", "requests"),
        format=lambda record: dollars((record["usd_per_request"] or 0.0) * 1e3),
    ),
    Column(
        "break_even_usd_per_gb_month",
        "USD/GB/month",
        "price per GB and month below which the tier pays off, compared with the chips' own "
        "memory; null if it raises no throughput",
        "break_even",
        heading=("break-even", "$/GB-month"),
    ),
)


@dataclass(frozen=True, eq=False)
class DeploymentTiers:
    """Represents a deployment with each cache tier: none, its own memory, and further tiers."""

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
