"""The latencies, percentiles and limits of each request class in the pools that serve it."""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from fastcalc.core.load import SHARES, Percentiles, Spread
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan.columns import UPPER
from fastcalc.features.plan.random_load import percentile_record, random_load
from fastcalc.features.plan.sharing import Pools
from fastcalc.grid.column import Column, TableColumn
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.parts import TextTable
from fastcalc.kit.answer.point_records import Record, plain

OVER = "^"
"""The mark for a latency above its limit."""


@dataclass(frozen=True)
class ServedClass:
    """The latencies of a request class in its pool.

    pool : index of the pool that serves it [1]
    ttft, tpot : TTFT and TPOT to compare with the limits: percentiles at the actual load if random
        arrivals have a closed form, otherwise values for full replicas [s]
    share : fraction of its requests whose TTFT must be within the limit, or None for evenly spaced
        arrivals [1]
    percentiles : percentiles at the actual load, for random arrivals
    """

    request_class: RequestClass
    pool: int
    ttft: float
    tpot: float
    share: float | None
    percentiles: Percentiles | None = None

    def mean(self, name: str) -> float | None:
        """Return the mean latency. None if it has no closed form for Poisson arrivals."""
        if self.percentiles is None:
            return None if self.share else float(getattr(self, name))
        return float(getattr(self.percentiles, name).mean)

    def over(self, name: str) -> float | None:
        """Return a latency that exceeds its limit, at the percentile that must meet it. [s]"""
        if self.percentiles is None or self.share is None:
            return None
        index = bisect(SHARES, self.share) - 1
        seconds = float(getattr(self.percentiles, name).percentiles[index])
        return seconds if seconds > getattr(self.request_class, name) else None


def with_percentiles(pools: Pools) -> list[ServedClass]:
    """Compute the latencies of each class, with percentiles if they have a closed form."""
    services = [pool.decision.service for pool in pools]
    loads = [
        random_load(pool.plan, service) if service.is_random else None
        for pool, service in zip(pools, services, strict=True)
    ]
    indices = [index for pool in pools for index in range(len(pool.classes))]
    return [
        replace(served, percentiles=load.percentiles(index)) if load and load.is_known else served
        for served, index in zip(served_classes(pools), indices, strict=True)
        for load in [loads[served.pool - 1]]
    ]


def served_classes(pools: Pools) -> list[ServedClass]:
    """Compute the latencies of each class, by pool."""
    return [
        ServedClass(request_class, index, ttft, tpot, pool.decision.service.share)
        for index, pool in enumerate(pools, 1)
        for request_class, ttft, tpot in zip(
            pool.classes,
            pool.plan.class_ttft or (pool.plan.values["ttft"],),
            pool.plan.class_tpot or (pool.plan.values["tpot"],) * len(pool.classes),
            strict=True,
        )
    ]


def class_record(served: ServedClass) -> Record:
    """Convert the limits, latencies and percentiles of a class to the units of records."""
    request_class = served.request_class
    return {
        "class": request_class.name,
        "share": plain(request_class.share),
        "prompt_tokens": plain(request_class.prompt),
        "output_tokens": plain(request_class.output),
        "pool": served.pool,
        "ttft_ms": plain(served.ttft * 1e3),
        "ttft_limit_ms": plain(request_class.ttft * 1e3) if request_class.ttft < inf else None,
        "tpot_ms": plain(served.tpot * 1e3),
        "tpot_limit_ms": plain(request_class.tpot * 1e3) if request_class.tpot < inf else None,
        "tokens_per_s_per_user": plain(1.0 / served.tpot),
        "percentiles": served.percentiles and percentile_record(served.percentiles),
    }


def _slowest(name: str, served: ServedClass) -> str:
    """Format the p99 latency, or an upper estimate, with a mark if it exceeds the limit."""
    if served.percentiles is None:
        is_known = served.share and served.request_class.is_random
        return UPPER + number(getattr(served, name) * 1e3) if is_known else "-"
    spread: Spread = getattr(served.percentiles, name)
    return number(spread.percentiles[-1] * 1e3) + OVER * bool(served.over(name))


def _time_columns(name: str) -> list[TableColumn]:
    """Return the columns for a latency: mean, p99 and limit."""
    return [
        Column(
            f"{name}_mean_ms",
            "ms",
            value=lambda served: (mean := served.mean(name)) and mean * 1e3,
            heading=(f"{name.upper()} ms", "mean"),
        ),
        Column(f"{name}_p99_ms", "ms", heading=("", "p99"), format=partial(_slowest, name)),
        Column(
            f"{name}_limit_ms",
            "ms",
            value=lambda served: getattr(served.request_class, name) * 1e3,
            heading=("", "limit"),
        ),
    ]


CLASS_COLUMNS: Sequence[TableColumn] = (
    Column("class", value="request_class.name", heading=("", "class")),
    Column(
        "share",
        "%",
        value=lambda served: served.request_class.share * 100.0,
        heading=("share", "%"),
    ),
    Column(
        "prompt", "count", value="request_class.prompt", heading=("", "prompt"), drop_priority=1
    ),
    Column(
        "output", "count", value="request_class.output", heading=("", "output"), drop_priority=1
    ),
    Column("pool", "count", value="pool", heading=("", "pool")),
    *_time_columns("ttft"),
    *_time_columns("tpot"),
    Column(
        "request_p99_s",
        "s",
        value=lambda served: served.percentiles and served.percentiles.request.percentiles[-1],
        heading=("request", "p99 s"),
        drop_priority=2,
    ),
)

_OF_POOLS: Sequence[TableColumn] = [
    replace(column, heading=(column.key[:4].upper() + " ms", "p99"))
    if column.key in ("ttft_p99_ms", "tpot_p99_ms")
    else column
    for column in CLASS_COLUMNS
    if not column.key.endswith("_mean_ms")
]


def class_table(served: Sequence[ServedClass], width: int, *, wide: bool) -> TextTable:
    """Return a table of each class in each pool or, on a first screen, in its slowest pools."""
    pools_of: dict[str, list[ServedClass]] = {}
    for served_class in served:
        pools_of.setdefault(served_class.request_class.name, []).append(served_class)
    if wide or len(pools_of) == len(served):
        return record_tables.table(CLASS_COLUMNS, served, width)
    rows = [_in_slowest_pools(pools) for pools in pools_of.values()]
    (table,) = record_tables.tables(_OF_POOLS, [rows], width)
    return table


def _in_slowest_pools(pools: Sequence[ServedClass]) -> record_tables.Row:
    """Build the cells of a class: all its pools, with each p99 latency where it is longest."""
    cells = [record_tables.row(CLASS_COLUMNS, served) for served in pools]
    row = cells[0] | {"pool": ", ".join(cell["pool"] for cell in cells)}
    for name in ("ttft", "tpot", "request"):
        seconds = [_p99(name, served) for served in pools]
        key = "request_p99_s" if name == "request" else f"{name}_p99_ms"
        row[key] = cells[seconds.index(max(seconds))][key]
    return row


def _p99(name: str, served: ServedClass) -> float:
    """Return the p99 latency, or its upper estimate. Infinite if it is unknown. [s]"""
    if served.percentiles is None:
        return inf if name == "request" else float(getattr(served, name))
    return float(getattr(served.percentiles, name).percentiles[-1])
