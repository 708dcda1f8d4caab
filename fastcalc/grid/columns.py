"""Definitions of the columns of operating points.

Each column is defined only once. JSON, CSV and sweep files take keys, order and values from here,
the data dictionary in ``docs/`` takes the descriptions, and tables take the headings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fastcalc.core.chip.machine import Machine
from fastcalc.core.scenario import Scenario
from fastcalc.core.step.component import LIMITERS
from fastcalc.core.undetermined import undetermined
from fastcalc.formulas.types import Array
from fastcalc.grid.column import Column, TableColumn
from fastcalc.grid.evaluated_points import CodedColumn, EvaluatedPoints

Columns = dict[str, Any]
"""Values by key: text, a number, an array that broadcasts with the others, or `CodedColumn`."""

_fitting = partial(Column[EvaluatedPoints], needs_fit=True)
"""Build a column that has no value if the batch does not fit."""
_SERVED = ("engine", "prefill")
_SERVED_PRICE = (*_SERVED, "price")

FIRST: tuple[Column[EvaluatedPoints], ...] = (
    # Key, unit, meaning, value, table heading, and the priority with which narrow tables drop it.
    Column("hardware", "text", "id of the chip", "scenario.hardware.id", ("", "hardware")),
    Column("model", "text", "id of the model", "scenario.model.id", ("", "model")),
    Column("engine", "text", "id of the engine", "scenario.engine.id"),
    Column("chips", "count", "chips: tp x pp x dp / ranks per chip", "layout.chips", ("", "chips")),
    Column("tp", "count", "tensor-parallel ranks", "layout.tp"),
    Column("pp", "count", "pipeline stages", "layout.pp"),
    Column("ep", "count", "expert-parallel ranks", "layout.ep"),
    Column("dp", "count", "attention replicas", "layout.dp"),
    Column(
        "weight_format",
        "text",
        "format of the weights",
        "work.weight_format",
        ("weight", "format"),
        drop_priority=3,
    ),
    Column("kv_format", "text", "format of the KV cache", "work.kv_format", ("KV", "cache"), 5),
    Column(
        "batch",
        "count",
        "batch: sequences decoded together by the whole deployment",
        "batch",
        ("", "batch"),
    ),
    Column("prompt_tokens", "count", "prompt tokens per request", "traffic.prompt"),
    Column("output_tokens", "count", "output tokens per request", "traffic.output"),
    Column("context_tokens", "tokens", "mean context in decode", "traffic.context"),
    Column(
        "speculation_tokens_per_pass",
        "tokens",
        "tokens accepted per decode step",
        "traffic.speculation.tokens_per_pass",
        ("tokens", "per step"),
        drop_priority=4,
    ),
    Column(
        "fits",
        "yes or no",
        "whether it fits memory (tight included) and the engine's limits",
        "fits",
    ),
    Column(
        "placement",
        "text",
        "memory tiers that hold the model, and its layout",
        lambda points: points.locations(),
        ("", "where"),
    ),
    Column(
        "min_chips",
        "count",
        "fewest chips that hold the batch in a practical layout, at the engine's maximum reserve",
        lambda points: points.min_chips(),
    ),
    Column(
        "max_batch",
        "count",
        "largest batch that fits with prompt and output reserved, within the engine's limits; "
        "over all practical layouts unless ranks are set",
        "max_batch",
        ("largest", "batch"),
    ),
    Column(
        "weights_gb",
        "GB",
        "weights",
        lambda points: points.work.weight_bytes / 1e9,
        ("weights", "GB"),
    ),
    Column(
        "kv_gb",
        "GB",
        "KV cache of the batch with prompt and output reserved",
        lambda points: (
            points.batch * (points.work.cache_bytes(points.placement.reserved_tokens) / 1e9)
        ),
        ("KV cache", "GB"),
    ),
    Column(
        "memory_used_fraction",
        "ratio",
        "fraction of the expected usable memory that is filled; above 1 if it is too small",
        "used",
        ("memory", "used"),
        drop_priority=1,
        format="percent",
    ),
    _fitting(
        "tokens_per_s_per_user",
        "tokens/s",
        "expected output tokens/s per user, decode only",
        "estimate.speed",
        ("tok/s", "per user"),
        is_key_figure=True,
        rests_on=("engine",),
    ),
    _fitting(
        "tokens_per_s_per_user_low",
        "tokens/s",
        "lower limit of the 80% range",
        "estimate.low",
        ("80%", "range"),
        drop_priority=1,
        format="range",
    ),
    _fitting(
        "tokens_per_s_per_user_high", "tokens/s", "upper limit of the 80% range", "estimate.high"
    ),
    _fitting(
        "tokens_per_s_per_user_bound",
        "tokens/s",
        "hardware bound (roofline) on these chips",
        "estimate.bound",
        ("", "bound"),
        drop_priority=3,
    ),
    _fitting(
        "tokens_per_s_total",
        "tokens/s",
        "batch x tokens_per_s_per_user",
        "estimate.total",
        ("tok/s", "total"),
        drop_priority=4,
        rests_on=("engine",),
    ),
    _fitting(
        "tokens_per_s_per_chip",
        "tokens/s",
        "tokens_per_s_total / chips",
        lambda points: points.estimate.total / points.layout.chips,
        rests_on=("engine",),
    ),
    _fitting(
        "tpot_ms",
        "ms",
        "time per output token, decode only",
        lambda points: points.estimate.tpot * 1e3,
        ("TPOT", "ms"),
        drop_priority=6,
        rests_on=("engine",),
    ),
    _fitting(
        "ttft_ms",
        "ms",
        "TTFT: time to first token",
        lambda points: points.estimate.ttft * 1e3,
        ("TTFT", "ms"),
        drop_priority=5,
        rests_on=_SERVED,
    ),
    _fitting(
        "request_s",
        "s",
        "end-to-end latency of a request: TTFT, then the other tokens at tpot_ms",
        "estimate.request",
        ("request", "s"),
        rests_on=_SERVED,
    ),
    Column(
        "limiter",
        "text",
        "resource that limits a decode step: memory, compute, link or latency; capacity if "
        "the batch does not fit",
        lambda points: CodedColumn(
            np.where(points.fits, points.estimate.limiter_index, len(LIMITERS)),
            (*LIMITERS, "capacity"),
        ),
        ("limited", "by"),
        drop_priority=1,
        format="limiter",
    ),
    _fitting(
        "usd_per_mtok_input",
        "USD/Mtok",
        "price per million input tokens, from the time that prefill adds to served traffic",
        lambda points: points.usd[0],
        ("$/Mtok", "input"),
        drop_priority=6,
        rests_on=_SERVED_PRICE,
    ),
    _fitting(
        "usd_per_mtok_output",
        "USD/Mtok",
        "price per million output tokens, decode only",
        "usd_of_output",
        ("$/Mtok", "output"),
        drop_priority=3,
        rests_on=("engine", "price"),
    ),
    _fitting(
        "usd_per_mtok_total",
        "USD/Mtok",
        "price of a request per million of its input and output tokens",
        lambda points: points.usd[2],
        ("$/Mtok", "in+out"),
        drop_priority=2,
        rests_on=_SERVED_PRICE,
    ),
    _fitting(
        "joules_per_token",
        "J/token",
        "energy per output token in served traffic, at the power of chips, host and site",
        "estimate.joules",
        ("J per", "token"),
        drop_priority=9,
        rests_on=_SERVED,
    ),
    Column("warnings", "list", "notes on this row", lambda points: points.warnings()),
    _fitting(
        "served_tokens_per_s_total",
        "tokens/s",
        "throughput of the deployment, including prefill",
        "estimate.served",
        ("tok/s", "served"),
        drop_priority=8,
        rests_on=_SERVED,
    ),
    _fitting(
        "served_request_s",
        "s",
        "time to serve one batch of requests",
        "estimate.run",
        ("request served", "s"),
        rests_on=_SERVED,
    ),
    _fitting(
        "bound_limiter",
        "text",
        "term that sets the bound: memory, compute or link",
        lambda points: CodedColumn(points.estimate.bound_limiter, LIMITERS),
    ),
    _fitting(
        "tokens_per_s_per_user_bound_memory",
        "tokens/s",
        "bound from memory bandwidth alone",
        "estimate.bound_memory",
    ),
    _fitting(
        "tokens_per_s_per_user_bound_compute",
        "tokens/s",
        "bound from compute alone",
        "estimate.bound_compute",
    ),
    Column(
        "usd_per_hour",
        "USD/h",
        "price of all chips per hour, whether in use or idle",
        "usd_per_hour",
        rests_on=("price",),
    ),
)

LATER: tuple[Column[EvaluatedPoints], ...] = (
    _fitting(
        "tpot_in_traffic_ms",
        "ms",
        "TPOT with interleaved prefill of other requests, as benchmarks measure it",
        lambda points: points.estimate.tpot_in_traffic * 1e3,
        ("TPOT in", "traffic"),
        drop_priority=7,
        rests_on=_SERVED,
    ),
    Column("host", "text", "host whose memory the chips may use", "host"),
    _fitting(
        "host_use",
        "text",
        "use of weights on the host in a decode step: stream over the link, or compute in place",
        "host_use",
    ),
    _fitting(
        "dense_near_fraction",
        "ratio",
        "fraction of the dense weights in the chip's fastest memory",
        lambda points: points.near("dense"),
        ("dense weights", "near"),
        format="percent",
    ),
    _fitting(
        "experts_near_fraction",
        "ratio",
        "fraction of the routed experts in the chip's fastest memory; empty without experts",
        lambda points: points.near("experts") if points.work.experts else None,
        ("experts", "near"),
        format="percent",
    ),
    _fitting(
        "kv_near_fraction",
        "ratio",
        "fraction of the KV cache in the chip's fastest memory",
        lambda points: points.near("kv"),
        ("KV cache", "near"),
        format="percent",
    ),
    Column(
        "speculation_drafted_tokens",
        "count",
        "draft tokens before each decode step; speculate takes them after the accepted tokens, as "
        "in 2.5/3",
        "traffic.speculation.drafted",
    ),
    Column(
        "undetermined",
        "list",
        "keys of values that are not published; they are assumptions",
        lambda points: CodedColumn(
            (points.estimate.batch > 1.0).astype(np.int64),
            tuple(
                undetermined_keys(points.placement.machine, is_alone=is_alone)
                for is_alone in (True, False)
            ),
        ),
    ),
    Column(
        "fit_verdict",
        "text",
        "fits; edge: fits only if the engine reserves less than its maximum; or no",
        "fit_verdict",
    ),
    _fitting(
        "tokens_per_s_per_user_bound_serial",
        "tokens/s",
        "bound if each layer has its own region: layers in sequence at datasheet peaks; "
        "null on other machines",
        "estimate.bound_serial",
    ),
)
"""Columns after those guaranteed by the output contract."""

PRICES: tuple[Column[Any], ...] = (
    Column(
        "usd_per_chip_hour",
        "USD/h",
        "price of a chip-hour",
        "scenario.quote.usd_per_hour",
        rests_on=("price",),
    ),
    Column(
        "price_terms",
        "text",
        "on-demand, reserved, spot, marketplace, survey, estimate, given, ownership or unstated",
        "scenario.quote.terms",
    ),
    Column(
        "price_commitment_months",
        "months",
        "length of the commitment of a reserved price, if stated",
        "scenario.quote.commitment_months",
    ),
    Column("price_provider", "text", "cloud that charges the price", "scenario.quote.provider"),
    Column("price_region", "text", "region of that cloud", "scenario.quote.region"),
    Column("price_date", "text", "date of the price", "scenario.quote.date"),
    Column(
        "price_confidence",
        "text",
        "confidence in its source: high, medium, low or memory; null if unknown",
        "scenario.quote.confidence",
    ),
    Column(
        "low_confidence",
        "list",
        "keys of amounts that depend on an uncertain price: low confidence, inherited or "
        "substituted",
        lambda points: CodedColumn(np.int64(0), (uncertain_amounts(points.scenario),)),
    ),
)
"""The price per chip-hour and where it comes from, at the end of every record."""

COLUMNS = (*FIRST, *LATER, *PRICES)
"""The columns of ``compare``, ``frontier`` and ``sweep``, in the order of the output contract."""

NEEDS_FIT = frozenset(column.key for column in COLUMNS if column.needs_fit)
WORDS = frozenset(column.key for column in COLUMNS if column.unit in ("text", "list"))
WHOLE = frozenset(column.key for column in COLUMNS if column.unit == "count")


def undetermined_keys(machine: Machine, *, is_alone: bool = True) -> list[str]:
    """List the keys of columns that depend on undetermined engine parameters.

    is_alone : whether the machine serves a single user
    """
    unknown = undetermined(machine, is_alone=is_alone)
    return _resting_on(unknown) if unknown else []


def uncertain_amounts(scenario: Scenario) -> list[str]:
    """List the keys of columns that depend on an uncertain chip price."""
    return _resting_on("price") if scenario.quote.is_uncertain else []


def _resting_on(what: str) -> list[str]:
    """List the keys of columns that depend on the engine, on prefill or on a price."""
    return [column.key for column in COLUMNS if what in column.rests_on]


def pick(keys: str, columns: Sequence[Column[Any]] = (), *, keep: str = "") -> list[TableColumn]:
    """Select columns by key.

    keys : the keys, separated by spaces
    columns : additional columns, which replace standard columns with the same key
    keep : the keys of columns that narrow tables never drop
    """
    by_key = {column.key: column for column in (*COLUMNS, *columns)}
    picked = [by_key[key] for key in keys.split()]
    return [
        replace(column, drop_priority=0) if column.key in keep.split() else column
        for column in picked
    ]


def records(columns: Columns, shape: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Yield a record for each point. Columns without a value are None.

    columns : arrays that broadcast to the shape
    shape : the shape of the grid
    """
    fits_by_point = np.broadcast_to(columns["fits"], shape).ravel().tolist()
    cells = [flat(column, shape).tolist() for column in columns.values()]
    for fits, *values in zip(fits_by_point, *cells, strict=True):
        yield {
            key: value if fits or key not in NEEDS_FIT else None
            for key, value in zip(columns, values, strict=True)
        }


def flat(column: Any, shape: tuple[int, ...]) -> Array:
    """Broadcast a column to a shape and flatten it."""
    if isinstance(column, CodedColumn):
        words = np.empty(len(column.words), dtype=object)
        words[:] = column.words
        return words[np.broadcast_to(column.codes, shape)].ravel()
    if column is None or isinstance(column, str):
        column = np.array(column, dtype=object)
    return np.broadcast_to(column, shape).ravel()
