"""The columns of plans: the values and cells of those that ``columns.csv`` lists."""

from collections.abc import Callable
from functools import partial
from typing import Any

from fastcalc.core.speed_range import weaknesses
from fastcalc.features.plan.ranked_plan import RankedPlan
from fastcalc.grid.columns import columns_from
from fastcalc.kit.answer import point_records as records
from fastcalc.kit.answer.record_tables import ends

WEAK = "!"
"""The mark for a range wider than the ranges of the measurements used to fit it."""

UPPER = "<"
"""The mark for a latency that is an upper estimate of its percentile."""


def _prefill_ranks(name: str, point: RankedPlan) -> int | None:
    layout = point.plan.prefill_layout
    return None if layout is None else int(getattr(layout, name))


_VALUES: dict[str, Callable[[RankedPlan], Any]] = {
    "prefill": lambda point: "apart" if point.plan.prefill_layout else "together",
    "prefill_replicas": lambda point: (
        point.plan.prefill_replicas if point.plan.prefill_layout else None
    ),
    "prefill_utilization": lambda point: (
        point.plan.prefill_busy if point.plan.prefill_layout else None
    ),
    **{f"prefill_{name}": partial(_prefill_ranks, name) for name in ("tp", "pp", "ep", "dp")},
    "chips_total": lambda point: point.plan.values["chips"],
    "service_ttft_ms": lambda point: point.plan.values["ttft"] * 1e3,
    "service_ttft_percentile": lambda point: point.service.share and point.service.share * 100.0,
    "service_tpot_ms": lambda point: point.plan.values["tpot"] * 1e3,
    "service_tpot_ms_low": lambda point: point.tpot_ms[0],
    "service_tpot_ms_high": lambda point: point.tpot_ms[1],
    "service_output_tokens_per_s": lambda point: point.requests * point.service.output,
    "api_break_even_utilization": lambda point: (
        point.api_break_even and point.api_break_even / point.most_requests
    ),
    "range_is_wider": lambda point: (
        "; ".join(weaknesses(point.plan.scenario.engine, point.plan.scenario.hardware)) or None
    ),
    "prefill_hardware": lambda point: (
        point.plan.prefill_scenario and point.plan.prefill_scenario.hardware.id
    ),
    "prefill_chips": lambda point: (
        point.plan.prefill_chips if point.plan.prefill_scenario else None
    ),
    "prefill_sending_ms": lambda point: (
        point.plan.kv_transfer_s * 1e3 if point.plan.prefill_scenario else None
    ),
    "prefill_usd_per_chip_hour": lambda point: (
        point.plan.prefill_scenario and point.plan.prefill_scenario.quote.usd_per_hour
    ),
    "prefill_price_terms": lambda point: (
        point.plan.prefill_scenario and point.plan.prefill_scenario.quote.terms
    ),
    "classes": lambda point: ", ".join(point.classes) or None,
}
"""Values that are not an attribute of the ranked plan, by key."""

_FORMATS: dict[str, Callable[[records.Record], str]] = {
    "utilization": lambda record: f"{record['utilization']:.1%}".rstrip("%"),
    "service_tpot_ms_low": lambda record: (
        ends(record, "service_tpot_ms_low", digits=2) + WEAK * bool(record["range_is_wider"])
    ),
    "requests_in_flight": lambda record: f"{record['requests_in_flight']:,.0f}",
}

COLUMNS = columns_from(__file__, _VALUES, _FORMATS)

PLAN_COLUMNS = [column for column in COLUMNS if column.key not in records.KEYS]
"""Columns specific to plans. The rest are those of ``compare`` for one replica."""

KEYS = tuple(column.key for column in COLUMNS)
