"""Columns of the tables of plans: their choice for a page, and the meaning of marks."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from fastcalc.core.placement.layout import Layout
from fastcalc.features.plan.columns import COLUMNS, UPPER
from fastcalc.features.plan.notes import cut
from fastcalc.features.plan.service import Service
from fastcalc.grid.column import Column, TableColumn, key_figure
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.point_records import Record
from fastcalc.written import many


def _cut(record: Record, prefix: str = "") -> str:
    return cut(Layout(*(record[f"{prefix}{name}"] for name in ("tp", "pp", "ep", "dp"))))


def _prefill(record: Record) -> str:
    """Text for the prefill replicas and their layout, or for colocated prefill."""
    if record["prefill_replicas"] is None:
        return "shared"
    chip, ranks = record["prefill_hardware"], _cut(record, "prefill_")
    shape = " ".join(word for word in (ranks, chip) if word and word != cut(Layout()))
    if not shape:
        return many(record["prefill_replicas"], "replica")
    return f"{record['prefill_replicas']:,.0f} x {shape}"


IS_UPPER = "is_upper_estimate"
"""Key of whether the latencies of a table row are upper estimates of their percentiles."""


def _percentile(key: str, record: Record) -> str:
    """Text for a latency at a percentile, marked if it is an upper estimate."""
    milliseconds = record[key]
    if milliseconds is None:
        return "-"
    return UPPER * bool(record.get(IS_UPPER)) + number(milliseconds)


_COLUMNS = pick(
    "hardware weight_format kv_format speculation_tokens_per_pass replicas utilization each "
    "batch prompts chips_total chips_expected service_requests_per_s requests_in_flight "
    "service_ttft_ms service_tpot_ms service_tpot_ms_low bound usd_per_month "
    "service_g_co2_per_mtok service_output_tokens_per_s service_usd_per_mtok_total watts "
    "kwh_per_month",
    (
        *COLUMNS,
        *(replace(column, heading=("", "chip")) for column in pick("hardware")),
        *(replace(column, drop_priority=4) for column in pick("batch")),
        Column("each", heading=("", "layout"), format=_cut),
        Column(
            "prompts",
            heading=("", "prefill"),
            drop_priority=2,
            format=_prefill,
        ),
        Column(
            "bound",
            "ms",
            heading=("bound", "ms"),
            drop_priority=7,
            format=lambda record: number(
                record["service_tpot_ms"]
                * record["tokens_per_s_per_user"]
                / (record[record_tables.SERIAL_BOUND] or record[record_tables.BOUND])
            ),
        ),
    ),
)

_RATELESS = {"usd": ("$/Mtok", "in+out"), "watts": ("joules", "per token")}
"""Heading of the cost column, which replaces the replicas column without a rate, by objective."""


_KEPT_LONGER = {"weight_format": 0, "kv_format": 1}
"""Drop priorities of the format columns in a narrow table with further quantized rows."""


def with_formats(
    columns: Sequence[TableColumn], records: Sequence[Record], *, has_fewer_bits: bool
) -> list[TableColumn]:
    """Columns that keep a format in a narrow table if its rows differ in that format.

    has_fewer_bits : whether rows are quantized further than requested; formats then stay longer
    """
    kept_longer = dict(_KEPT_LONGER) if has_fewer_bits else {}
    kept_longer |= {key: 0 for key in _KEPT_LONGER if len({record[key] for record in records}) > 1}
    return [
        replace(column, drop_priority=kept_longer.get(column.key, column.drop_priority))
        for column in columns
    ]


_WIDE = ("service_output_tokens_per_s", "service_usd_per_mtok_total", "watts", "kwh_per_month")


def columns_but(service: Service, hidden: Collection[str], *, wide: bool) -> list[TableColumn]:
    """Columns without the hidden ones; a wide screen drops none of the others.

    hidden : keys of columns without information here
    """
    return [
        replace(column, drop_priority=0) if wide else column
        for column in columns(service, wide=wide)
        if column.key not in hidden
    ]


def columns(service: Service, *, wide: bool = False) -> list[TableColumn]:
    """Columns of plans; without a rate every plan is one replica, with a price per token.

    wide : whether to include columns that do not fit on a first screen
    """
    is_sized = service.rate is not None or service.is_fleet
    hidden = set() if wide else set(_WIDE)
    if service.objective == "watts" and is_sized:
        hidden.discard("watts")
    by_key = {column.key: column for column in _COLUMNS if column.key not in hidden}
    if not (service.is_fleet or wide):
        for key in ("service_requests_per_s", "requests_in_flight"):
            by_key.pop(key)
    if not service.deviations or service.is_fleet:
        by_key.pop("chips_expected")
    if service.tariff.grid is None:
        by_key.pop("service_g_co2_per_mtok")
    if not is_sized and service.objective in _RATELESS:
        by_key["replicas"] = replace(
            by_key["replicas"],
            key="cost",
            heading=_RATELESS[service.objective],
            format=lambda record: number(record["cost"]),
        )
    if service.share is not None:
        level = f"p{service.share * 100:g}" if service.is_random else "Poisson"
        for key, unit in (("service_ttft_ms", f"{level} ms"), ("service_tpot_ms", level)):
            column = by_key[key]
            text = partial(_percentile, key)
            by_key[key] = replace(column, heading=(column.heading[0], unit), format=text)
    answer = "watts" if service.objective == "watts" and is_sized else "usd_per_month"
    if by_key["replicas"].key == "cost":
        answer = "replicas"
    by_key[answer] = key_figure(by_key[answer])
    return list(by_key.values())
