"""Records of where models fit: one for each model on each chip."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.cache_size import CacheSize, cache_size
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement
from fastcalc.core.placement.split import near_share
from fastcalc.core.scenario import Location, Scenario
from fastcalc.core.traffic import Traffic
from fastcalc.formulas.types import ArrayLike, Floats
from fastcalc.records.columns import NEEDS_FIT, Column, pick, values
from fastcalc.report.records import Record, plainly
from fastcalc.search.capacity import Solution

COLUMNS: tuple[Column[Any], ...] = (
    *pick(
        "hardware model engine chips tp pp ep dp weight_format kv_format batch prompt_tokens "
        "output_tokens context_tokens fits placement min_chips max_batch weights_gb kv_gb "
        "memory_used_fraction"
    ),
    Column(
        "kv_gb_per_sequence",
        "GB",
        "KV cache of a sequence, prompt and output reserved",
        lambda point: float(point.work.cache_bytes(point.traffic.reserved)) / 1e9,
    ),
    Column("memory_tier", "text", "the memory that holds weights and cache", "alone.memories"),
    Column(
        "usable_gb_per_chip",
        "GB",
        "of that memory, what the engine leaves for them",
        lambda point: sum(point.placement.usable) / 1e9,
    ),
    Column(
        "chips_by_capacity",
        "count",
        "chips needed if bytes could go anywhere",
        lambda point: point.needed[0],
        ("capacity", "alone"),
        3,
    ),
    Column(
        "chips_by_whole_layers",
        "count",
        "chips needed if layers stay whole",
        lambda point: point.needed[1],
        ("whole", "layers"),
        2,
    ),
    *pick("speculation_tokens_per_pass host"),
    *pick("dense_near_fraction experts_near_fraction kv_near_fraction speculation_drafted_tokens"),
    Column(
        "reserved_gb_per_chip",
        "GB",
        "of the chip's memory, what the engine is expected to keep for activations and runtime",
        lambda point: float(point.placement.reserved) / 1e9,
    ),
    Column(
        "available_kv_gb_per_chip",
        "GB",
        "of the usable memory, what the weights leave for caches; below 0 they do not fit",
        lambda point: float(point.placement.available) / 1e9,
    ),
    *pick("fit_verdict"),
    Column(
        "kv_cache_tokens",
        "count",
        "tokens that the caches of a replica are expected to hold, as vLLM prints at its start",
        lambda point: point.cache and point.cache.tokens,
    ),
    Column(
        "max_concurrency",
        "sequences",
        "sequences of the longest length that engine or model take which they hold",
        lambda point: point.cache and point.cache.concurrency,
    ),
    Column(
        "solved_for",
        "text",
        "context or users, where one was solved for",
        lambda point: point.solution and point.solution.unknown,
    ),
    Column(
        "solution",
        "count",
        "the most users, or tokens of a sequence, prompt and output, that fit for certain",
        lambda point: point.solution and point.solution.certain,
    ),
    Column(
        "solution_at_edge",
        "count",
        "the same if the engine keeps as little as it may",
        lambda point: point.solution and point.solution.edge,
    ),
    Column(
        "solution_limited_by",
        "text",
        "what takes no more: memory, the model's context or a limit of the engine",
        lambda point: point.solution and point.solution.limited_by,
    ),
)


@dataclass(frozen=True)
class PlacedBatch:
    """The smallest batch of a location; columns take from it what `EvaluatedPoints` has, too.

    solution : what was solved for, if anything was
    """

    location: Location
    solution: Solution | None = None

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
        """Whether memory holds it for certain."""
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
        """Return the share of a kind of bytes that lives in the fastest memory. [1]"""
        return near_share(self.placement.machine, self.alone.split, kind)

    @property
    def max_batch(self) -> int:
        """Largest batch that its chips hold for certain. [1]"""
        return self.location.max_batch

    def min_chips(self) -> int | None:
        """Fewest chips that hold it for certain, None where none do. [1]"""
        return self.location.min_chips[self.scenario.batches.index(self.batch)]


def fit_records(locations: Sequence[Location], solutions: Sequence[Solution] = ()) -> list[Record]:
    """Return one record for each model on each chip; the keys mean what they do in compare.

    solutions : what was solved for at each, if anything was
    """
    records = []
    for location, solution in zip_longest(locations, solutions):
        point = PlacedBatch(location, solution)
        record = plainly(values(COLUMNS, point))
        records.append(record if point.fits else record | dict.fromkeys(NEEDS_FIT & record.keys()))
    return records
