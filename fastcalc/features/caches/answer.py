"""What caches of prompts find of a trace: records, a sentence and a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from fastcalc.core.traffic.reuse import SharedPrefixes
from fastcalc.grid.columns import Column, pick, values
from fastcalc.grid.prefix_caches import BEHIND, CachedDeployment, CachedTier, break_even
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Part, Screen
from fastcalc.kit.answer.numbers_as_text import dollars, number, percent, size
from fastcalc.kit.answer.placed_batch import PlacedBatch
from fastcalc.kit.answer.point_records import Record, named_chips, plainly
from fastcalc.kit.answer.prices import prices_of
from fastcalc.mentions import option


@dataclass(frozen=True, eq=False)
class CacheAnswer:
    """What a deployment does with each tier: none, its own memory, and those behind it."""

    place: CachedDeployment
    tiers: Sequence[CachedTier]

    @property
    def chips(self) -> str:
        """So many of which chip."""
        return named_chips(self.place.location)


@dataclass(frozen=True, kw_only=True)
class _Row(PlacedBatch):
    """A tier of a deployment.

    tier, own : it, and the chips' memory
    """

    tier: CachedTier
    own: CachedTier

    @property
    def usd(self) -> float | None:
        """Price of the chips for a request. [USD]"""
        price = self.location.usd_per_hour
        return None if price is None else price / 3600.0 / self.tier.requests

    @property
    def limited_by(self) -> str | None:
        """What carries no more requests; None where nobody says how fast a tier is."""
        if isnan(self.tier.loading):
            return None
        return "link" if self.tier.is_limited_by_link else "chips"

    @property
    def break_even(self) -> float | None:
        """Price of the tier below which it pays. [USD/GB a month]"""
        return break_even(self.tier, self.own, self.location.usd_per_hour)


COLUMNS: tuple[Column[Any], ...] = (
    *pick("hardware model engine chips tp pp ep dp weight_format kv_format batch"),
    *pick("prompt_tokens output_tokens"),
    Column(
        "cache_tier",
        "text",
        "the memory that keeps caches of prompts, tier behind a host that is not named",
        lambda row: row.tier.name or "none",
        heading=("", "cache in"),
    ),
    Column(
        "cache_gb",
        "GB",
        "of it, of all chips together",
        lambda row: row.tier.size / 1e9,
        heading=("", "size"),
        format=lambda record: size(record["cache_gb"] * 1e9) if record["cache_gb"] else "-",
    ),
    Column(
        "cache_tokens",
        "count",
        "prompt tokens that it holds",
        lambda row: int(row.tier.tokens),
        heading=("tokens", "held"),
        drop_priority=2,
    ),
    Column(
        "prefix_hit",
        "ratio",
        "share of the prompt tokens found in it or in the chips' own memory",
        "tier.hit",
        heading=("", "found"),
        format="percent",
        is_key_figure=True,
    ),
    Column(
        "prefix_loaded",
        "ratio",
        "share of the prompt tokens loaded from it",
        "tier.loaded",
        heading=("", "loaded"),
        drop_priority=4,
        format="percent",
    ),
    Column(
        "computed_prompt_tokens",
        "tokens",
        "of a mean request, that are left to compute",
        "tier.estimate.traffic.computed_prompt",
        heading=("prefill", "tokens"),
        drop_priority=3,
        format="count",
    ),
    Column(
        "requests_per_s",
        "1/s",
        "requests that the chips carry, of those of the trace",
        "tier.requests",
        heading=("requests", "/s"),
    ),
    Column(
        "requests_per_s_per_chip",
        "1/s",
        "the same of each chip",
        lambda row: row.tier.requests / row.layout.chips,
    ),
    Column(
        "requests_limited_by",
        "text",
        "chips, or the link that caches are loaded over; null where no host is named",
        "limited_by",
        heading=("limited", "by"),
        drop_priority=1,
    ),
    Column(
        "mean_ttft_ms",
        "ms",
        "time to the first token of a request of mean lengths, what is loaded included",
        lambda row: row.tier.ttft * 1e3,
        heading=("TTFT", "ms"),
        drop_priority=5,
    ),
    Column(
        "usd_per_request",
        "USD/request",
        "price of the chips for a request, without that of the tier",
        "usd",
        heading=("$ a 1,000", "requests"),
        format=lambda record: dollars((record["usd_per_request"] or 0.0) * 1e3),
    ),
    Column(
        "break_even_usd_per_gb_month",
        "USD/GB/month",
        "price of a GB of the tier for a month below which it pays, against the chips' own memory; "
        "null where it carries no more",
        "break_even",
        heading=("pays below", "$/GB-month"),
    ),
)
KEYS = tuple(column.key for column in COLUMNS)
_ROWS = (
    "cache_tier cache_gb cache_tokens prefix_hit prefix_loaded computed_prompt_tokens "
    "requests_per_s requests_limited_by mean_ttft_ms usd_per_request break_even_usd_per_gb_month"
)
SHOWN = pick(f"hardware chips {_ROWS}", COLUMNS)
_KEY = (
    "key: found: share of prompt tokens in a cache that keeps what was used last, with all before "
    "it in its prompt; pays below: a month's price of a GB of it that saves as much in chips"
)


def records(answers: Sequence[CacheAnswer]) -> list[Record]:
    """Return one record for each tier of each deployment."""
    return [
        plainly(
            values(COLUMNS, _Row(location=answer.place.location, tier=tier, own=answer.tiers[1]))
        )
        for answer in answers
        for tier in answer.tiers
    ]


def too_large(place: CachedDeployment) -> str:
    """Say that chips do not hold the batch, and which they hold."""
    location = place.location
    chip, batch_held = location.scenario.hardware.id, int(location.placement.edge_batch)
    batch, tokens = min(location.scenario.batches), location.placement.reserved_tokens
    return (
        f"{chip}: {batch} requests of {tokens:,.0f} tokens on average do not fit on "
        f"{location.placement.layout.chips}; the most are {batch_held}: lower {option('batch')} or "
        f"raise {option('chips')}"
    )


def _sentence(answer: CacheAnswer) -> str:
    """Say what is found in the chips' memory, and in the largest tier."""
    _, near, *behind = answer.tiers
    model, last = answer.place.location.scenario.model.asked_name, behind[-1]
    return (
        f"{near.name} of {answer.chips} keeps {percent(near.hit)} of {model}'s prompt "
        f"tokens at hand; {size(last.size)} would keep {percent(last.hit)}, and carry "
        f"{number(last.requests)} requests/s instead of {number(near.requests)}."
    )


def parts(
    answers: Sequence[CacheAnswer],
    rate: float | None,
    reasons: Sequence[str],
    next_command: str,
    screen: Screen,
) -> list[Part]:
    """Return what each deployment keeps, in a sentence and a table.

    rate : requests of the trace a second, if it says [1/s]
    """
    shown = pick(_ROWS, COLUMNS)
    page: list[Part] = []
    notes = list(reasons)
    for answer in answers:
        table = record_tables.table(shown, records([answer]), screen.width)
        page += [*[""][: len(page)], _sentence(answer), "", table]
        notes += _notes(answer, rate)
    distinct = list(dict.fromkeys(notes))
    return [*page, screen.under_table(_KEY, distinct[:3], distinct, next_command)]


_REPLAYED = (
    "hash_ids stand for blocks of {} tokens; they are used in the order of arrival, of a prompt "
    "the last first, and what was used longest ago makes room"
)
_ASSUMED = (
    "classes share what prefix_length says, found as in Che's approximation: requests independent "
    "of each other, popularity by Zipf's law, and the rest of each prompt never again"
)


def _notes(answer: CacheAnswer, rate: float | None) -> list[str]:
    place, near = answer.place, answer.tiers[1]
    scenario = place.scenario
    chip, batch = scenario.hardware.id, min(scenario.batches)
    notes = []
    if any(tier.name == BEHIND for tier in answer.tiers):
        notes.append(
            f"{chip}: how fast a tier is loaded is undetermined without a host, and taken as at "
            f"once; name one with {option('host', 'dram=1TB@300GB/s,link=64GB/s')}"
        )
    if rate is not None:
        notes.append(
            f"the file has {number(rate)} requests/s, {number(rate / near.requests)} times what "
            f"{answer.chips} carry; each finds so much only if prompts that begin alike come to "
            "the same one, or the tier is shared"
        )
    return [
        *notes,
        f"{chip}: weights and the outputs of {batch} requests under way leave {size(near.size)} of "
        f"{near.name}; a token takes {size(place.bytes_per_token)} of a prompt of mean length",
        _ASSUMED
        if isinstance(place.reuse, SharedPrefixes)
        else _REPLAYED.format(place.reuse.block),
        prices_of(scenario.pricing, [scenario.hardware], in_short=True),
    ]
