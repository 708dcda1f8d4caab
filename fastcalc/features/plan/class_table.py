"""The latencies, percentiles and limits of each request class in the pools that serve it."""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np

from fastcalc.core.load import SHARES, Percentiles
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan.columns import UPPER
from fastcalc.features.plan.random_load import percentile_record, random_load
from fastcalc.features.plan.sharing import Pools
from fastcalc.formulas.sequences import grouped
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

    pool : The index of the pool that serves it.
    ttft, tpot : TTFT and TPOT to compare with the limits: percentiles at the actual load if random
        arrivals have a closed form, otherwise values for full replicas, in seconds.
    share : The fraction of its requests whose TTFT must be within the limit, or None for evenly
        spaced arrivals.
    percentiles : The percentiles at the actual load, for random arrivals.
    of_class : The fraction of the class that this pool serves.
    """

    request_class: RequestClass
    pool: int
    ttft: float
    tpot: float
    share: float | None
    percentiles: Percentiles | None = None
    of_class: float = 1.0

    def mean(self, name: str) -> float | None:
        """Return the mean latency, or None if it has no closed form for Poisson arrivals."""
        if self.percentiles is None:
            return None if self.share else float(getattr(self, name))
        return float(getattr(self.percentiles, name).mean)

    def longest(self, name: str) -> float | None:
        """Return the p99 latency, or its upper bound on full replicas, or None if unknown. [s]"""
        if self.percentiles is not None:
            return float(getattr(self.percentiles, name).percentiles[-1])
        if not self.share or not self.request_class.is_random:
            return None
        if name == "request":
            return self.ttft + (float(np.max(self.request_class.lengths.output)) - 1.0) * self.tpot
        return float(getattr(self, name))

    def over(self, name: str) -> float | None:
        """Return a latency that exceeds its limit, at the percentile that must meet it. [s]"""
        if self.percentiles is None or self.share is None:
            return None
        index = bisect(SHARES, self.share) - 1
        seconds = float(getattr(self.percentiles, name).percentiles[index])
        return seconds if seconds > getattr(self.request_class, name) else None


def served_classes(pools: Pools, fractions: Sequence[float]) -> list[ServedClass]:
    """Compute the latencies of each class by pool, with percentiles if they have a closed form.

    fractions : The fraction of its classes that each pool serves.
    """
    served = []
    for number_of_pool, (pool, fraction) in enumerate(zip(pools, fractions, strict=True), 1):
        plan, service = pool.plan, pool.decision.service
        load = random_load(plan, service) if service.is_random else None
        ttft = plan.class_ttft or (plan.values["ttft"],)
        tpot = plan.class_tpot or (plan.values["tpot"],) * len(pool.classes)
        for index, request_class in enumerate(pool.classes):
            percentiles = load.percentiles(index) if load and load.is_known else None
            latencies = ttft[index], tpot[index], service.share, percentiles, fraction
            served.append(ServedClass(request_class, number_of_pool, *latencies))
    return served


def class_record(served: ServedClass) -> Record:
    """Convert the limits, latencies and percentiles of a class to the units of records."""
    request_class = served.request_class
    return {
        "class": request_class.name,
        "share": plain(request_class.share * served.of_class),
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
    """Format the p99 latency, or its upper bound, with a mark if it exceeds the limit."""
    seconds = served.longest(name)
    if seconds is None:
        return "-"
    amount = number(seconds if name == "request" else seconds * 1e3)
    is_over = name != "request" and bool(served.over(name))
    return UPPER * (served.percentiles is None) + amount + OVER * is_over


def _time_columns(name: str, *, has_means: bool) -> list[TableColumn]:
    """Return the columns for a latency: mean, p99 and limit."""
    unit = f"{name.upper()} ms"
    mean: TableColumn = Column(
        f"{name}_mean_ms",
        "ms",
        value=lambda served: (seconds := served.mean(name)) and seconds * 1e3,
        heading=(unit, "mean"),
    )
    return [
        *([mean] if has_means else []),
        Column(
            f"{name}_p99_ms",
            "ms",
            heading=("" if has_means else unit, "p99"),
            format=partial(_slowest, name),
        ),
        Column(
            f"{name}_limit_ms",
            "ms",
            value=lambda served: getattr(served.request_class, name) * 1e3,
            heading=("", "limit"),
        ),
    ]


def _columns(*, has_means: bool) -> list[TableColumn]:
    """Return the columns of a table of classes."""
    return [
        Column("class", value="request_class.name", heading=("", "class")),
        Column(
            "share",
            "%",
            value=lambda served: served.request_class.share * served.of_class * 100.0,
            heading=("share", "%"),
        ),
        Column(
            "prompt", "count", value="request_class.prompt", heading=("", "prompt"), drop_priority=2
        ),
        Column(
            "output", "count", value="request_class.output", heading=("", "output"), drop_priority=2
        ),
        Column("pool", "count", value="pool", heading=("", "pool")),
        *_time_columns("ttft", has_means=has_means),
        *_time_columns("tpot", has_means=has_means),
        Column(
            "request_p99_s",
            "s",
            heading=("request", "p99 s"),
            format=partial(_slowest, "request"),
            drop_priority=1,
        ),
    ]


CLASS_COLUMNS: Sequence[TableColumn] = _columns(has_means=True)


def class_table(served: Sequence[ServedClass], width: int, *, wide: bool) -> TextTable:
    """Build a table of each class in each pool or, on a first screen, in its slowest pools."""
    pools_of = grouped(served, lambda served_class: served_class.request_class.name)
    if wide or len(pools_of) == len(served):
        return record_tables.table(CLASS_COLUMNS, served, width)
    rows = [_in_slowest_pools(pools) for pools in pools_of.values()]
    return record_tables.tables(_columns(has_means=False), [rows], width)[0]


def _in_slowest_pools(pools: Sequence[ServedClass]) -> record_tables.Row:
    """Build the cells of a class: all its pools, with each p99 latency where it is longest."""
    whole = replace(pools[0], of_class=sum(served.of_class for served in pools))
    row = record_tables.row(CLASS_COLUMNS, whole)
    row |= {"pool": ", ".join(str(served.pool) for served in pools)}
    for name, key in _P99.items():
        of_pools = [inf if (p99 := served.longest(name)) is None else p99 for served in pools]
        slowest = pools[of_pools.index(max(of_pools))]
        row[key] = record_tables.row(CLASS_COLUMNS, slowest)[key]
    return row


_P99 = {"ttft": "ttft_p99_ms", "tpot": "tpot_p99_ms", "request": "request_p99_s"}
