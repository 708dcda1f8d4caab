"""Records of `fit`, one for each model on each chip."""

from collections.abc import Sequence
from itertools import zip_longest

from fastcalc.core.outcome import Location
from fastcalc.core.start import StartLocation, start_location
from fastcalc.features.fit.solve import Solution
from fastcalc.grid.column import Column, TableColumn, values
from fastcalc.grid.columns import NEEDS_FIT, pick
from fastcalc.kit.answer.placed_batch import PlacedBatch
from fastcalc.kit.answer.point_records import Record, plainly


def _tight(record: Record) -> str:
    """Format the larger value that fits only tightly, if there is one."""
    tight = record["solution_at_edge"]
    return f"{tight:,}" if tight and tight != record["solution"] else "-"


_SOLVED: tuple[Column[Solution], ...] = (
    Column("solved_for", "text", "context or users, if solved for", "unknown"),
    Column(
        "solution",
        "count",
        "most users, or tokens per sequence (prompt and output), that fit at the engine's maximum "
        "reserve",
        "certain",
        heading=("", "fits"),
        format=lambda record: f"{record['solution'] or 0:,}",
        is_key_figure=True,
    ),
    Column(
        "solution_at_edge",
        "count",
        "the same at the engine's minimum reserve",
        "edge",
        heading=("", "tight"),
        format=_tight,
    ),
    Column(
        "solution_limited_by",
        "text",
        "limiting factor: memory, the model's context or a limit of the engine",
        "limited_by",
        heading=("limited", "by"),
    ),
)
_PLACED: tuple[TableColumn, ...] = (
    *pick(
        "hardware model engine chips tp pp ep dp weight_format kv_format batch prompt_tokens "
        "output_tokens context_tokens fits placement min_chips max_batch weights_gb kv_gb "
        "memory_used_fraction"
    ),
    Column(
        "kv_gb_per_sequence",
        "GB",
        "KV cache per sequence, with prompt and output reserved",
        lambda point: float(point.work.cache_bytes(point.traffic.reserved)) / 1e9,
    ),
    Column("memory_tier", "text", "memory that holds weights and cache", "alone.memories"),
    Column(
        "usable_gb_per_chip",
        "GB",
        "the part of that memory available for weights and cache",
        lambda point: sum(point.placement.usable) / 1e9,
    ),
    Column(
        "chips_by_capacity",
        "count",
        "chips needed if bytes could be placed anywhere",
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
        "chip memory that the engine is expected to reserve for activations and runtime",
        lambda point: float(point.placement.reserved) / 1e9,
    ),
    Column(
        "available_kv_gb_per_chip",
        "GB",
        "usable memory minus weights, available for caches; negative: weights do not fit",
        lambda point: float(point.placement.available) / 1e9,
    ),
    *pick("fit_verdict"),
    Column(
        "kv_cache_tokens",
        "count",
        "tokens expected to fit in the KV cache of a replica, as vLLM logs at start-up",
        lambda point: point.cache and point.cache.tokens,
        heading=("tokens", "cached"),
    ),
    Column(
        "max_concurrency",
        "sequences",
        "sequences of the maximum length that fit in the caches",
        lambda point: point.cache and point.cache.concurrency,
        heading=("longest", "at once"),
    ),
)
_STARTED: tuple[Column[StartLocation], ...] = (
    Column(
        "stop_line",
        "text",
        "error that the engine prints instead of starting; empty if it starts or none is known",
        "stop_line",
    ),
    Column(
        "start_remedies",
        "list",
        "alternative changes with which it would start: a setting and its value, or two settings",
        lambda location: [
            ", ".join(f"{each.setting} {each.value}" for each in changes)
            for changes in (*location.joint_remedies, *([each] for each in location.remedies))
        ],
    ),
    Column(
        "refused_formats",
        "text",
        "reason why the engine does not start with these formats; empty if it has kernels for them",
        "refused",
    ),
)
COLUMNS: tuple[TableColumn, ...] = (*_PLACED, *_SOLVED, *_STARTED)


def fit_records(locations: Sequence[Location], solutions: Sequence[Solution] = ()) -> list[Record]:
    """Build one record for each model on each chip. Keys mean the same as in `compare`.

    solutions : solution for each placement, if the request solves for a quantity
    """
    unsolved = dict.fromkeys(column.key for column in _SOLVED)
    records = []
    for location, solution in zip_longest(locations, solutions):
        point = PlacedBatch(location)
        solved = unsolved if solution is None else values(_SOLVED, solution)
        record = plainly(
            values(_PLACED, point) | solved | values(_STARTED, start_location(location))
        )
        records.append(record if point.fits else record | dict.fromkeys(NEEDS_FIT & record.keys()))
    return records
