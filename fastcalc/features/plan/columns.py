"""The columns of plans: fields of a record, and which of them a table shows."""

from functools import partial
from typing import Any

from fastcalc.core.speed_range import weaknesses
from fastcalc.features.plan.ranked_plan import RankedPlan
from fastcalc.grid.column import Column
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import point_records as records
from fastcalc.kit.answer.record_tables import ends

_RANKS = ("tp", "pp", "ep", "dp")
WEAK = "!"
"""The mark for a range wider than the ranges of the measurements used to fit it."""


UPPER = "<"
"""The mark for a latency that is an upper estimate of its percentile."""


def _prefill_ranks(name: str, point: RankedPlan) -> int | None:
    layout = point.plan.prefill_layout
    return None if layout is None else int(getattr(layout, name))


COLUMNS: tuple[Column[Any], ...] = (
    Column("rank", "count", "rank of the plan, 1 for the best", "rank"),
    *pick("hardware model engine weight_format kv_format speculation_tokens_per_pass"),
    Column(
        "prefill",
        "text",
        "together: colocated with decode; apart: disaggregated, on replicas of its own",
        lambda point: "apart" if point.plan.prefill_layout else "together",
    ),
    Column("replicas", "count", "number of decode replicas", "plan.replicas", ("repli-", "cas")),
    Column(
        "utilization",
        "ratio",
        "utilization of each decode replica: load over capacity",
        "plan.busy",
        ("util.", "%"),
        6,
        lambda record: f"{record['utilization']:.1%}".rstrip("%"),
    ),
    Column("chips_per_replica", "count", "tp x pp x dp / ranks of a chip", "plan.layout.chips"),
    *pick("tp pp ep dp batch"),
    Column(
        "prefill_replicas",
        "count",
        "replicas of disaggregated prefill",
        lambda point: point.plan.prefill_replicas if point.plan.prefill_layout else None,
    ),
    Column(
        "prefill_utilization",
        "ratio",
        "utilization of each prefill replica: load over capacity",
        lambda point: point.plan.prefill_busy if point.plan.prefill_layout else None,
    ),
    *(
        Column(
            f"prefill_{column.key}",
            column.unit,
            f"{column.meaning} of each prefill replica",
            partial(_prefill_ranks, column.key),
        )
        for column in pick(" ".join(_RANKS))
    ),
    Column(
        "chips_total",
        "count",
        "chips of all replicas, in whole nodes",
        lambda point: point.plan.values["chips"],
        ("", "chips"),
    ),
    Column(
        "service_ttft_ms",
        "ms",
        "TTFT with queueing, compared with ttft",
        lambda point: point.plan.values["ttft"] * 1e3,
        ("TTFT", "ms"),
    ),
    Column(
        "service_ttft_percentile",
        "%",
        "percentile of requests that service_ttft_ms is for, with Poisson arrivals",
        lambda point: point.service.share and point.service.share * 100.0,
    ),
    Column(
        "service_tpot_ms",
        "ms",
        "TPOT, compared with tpot; includes prefill of other requests, except with disaggregated "
        "prefill",
        lambda point: point.plan.values["tpot"] * 1e3,
        ("TPOT", "ms"),
    ),
    *pick(
        "ttft_ms tpot_ms tokens_per_s_per_user tokens_per_s_per_user_low "
        "tokens_per_s_per_user_high tokens_per_s_per_user_bound memory_used_fraction "
        "usd_per_mtok_total joules_per_token"
    ),
    Column("service_usd_per_hour", "USD/h", "price of all replicas", "plan.usd_per_hour"),
    Column(
        "usd_per_month",
        "USD/month",
        "price of all replicas for 730 hours",
        "plan.usd_per_month",
        ("$ per", "month"),
    ),
    Column("watts", "W", "power of all chips, including host and site", "watts", ("", "watts")),
    Column("objective", "text", "quantity that is minimized", "service.objective"),
    Column("cost", "as objective", "amount of that quantity", "plan.cost"),
    *pick("warnings"),
    Column("command", "text", "command that prints one replica", "command"),
    Column(
        "service_tpot_ms_low",
        "ms",
        "lower limit of the 80% range of service_tpot_ms",
        lambda point: point.tpot_ms[0],
        heading=("80%", "range"),
        drop_priority=1,
        format=lambda record: (
            ends(record, "service_tpot_ms_low", digits=2) + WEAK * bool(record["range_is_wider"])
        ),
    ),
    Column(
        "service_tpot_ms_high",
        "ms",
        "upper limit of the 80% range of service_tpot_ms",
        lambda point: point.tpot_ms[1],
    ),
    Column(
        "service_usd_per_mtok_total",
        "USD/Mtok",
        "service_usd_per_hour / input and output tokens per hour at the rate",
        "usd_per_mtok",
        ("$", "/Mtok"),
    ),
    Column(
        "service_joules_per_token",
        "J/token",
        "watts / output tokens per second at the rate",
        "joules_per_token",
    ),
    *pick(
        "host host_use dense_near_fraction experts_near_fraction kv_near_fraction "
        "speculation_drafted_tokens undetermined"
    ),
    Column(
        "service_requests_per_s",
        "1/s",
        "request rate of all replicas: the given rate, else their throughput",
        "requests",
        ("", "req/s"),
    ),
    Column(
        "service_requests_per_s_most",
        "1/s",
        "highest throughput of all replicas within the limits",
        "most_requests",
    ),
    Column(
        "service_output_tokens_per_s",
        "tokens/s",
        "output tokens/s at service_requests_per_s",
        lambda point: point.requests * point.service.output,
        ("output", "tok/s"),
        8,
    ),
    Column(
        "requests_in_flight",
        "requests",
        "requests in flight, by Little's law",
        "in_flight",
        ("in", "flight"),
        3,
        lambda record: f"{record['requests_in_flight']:,.0f}",
    ),
    Column(
        "kwh_per_month", "kWh/month", "watts for 730 hours", "kwh_per_month", ("kWh per", "month")
    ),
    Column(
        "node_chips",
        "count",
        "chips per node; 1 if chips are rented individually",
        "plan.node_chips",
    ),
    Column("idle_chips", "count", "idle chips among chips_total", "plan.idle_chips"),
    Column(
        "owned_chips",
        "count",
        "owned chips of this type; null if they are rented",
        "owned",
    ),
    Column(
        "api_usd_per_month",
        "USD/month",
        "monthly API price at service_requests_per_s; null without an API",
        "api_usd_per_month",
    ),
    Column(
        "api_break_even_tokens_per_month",
        "tokens/month",
        "input and output tokens per month for which the API charges usd_per_month (for owned "
        "chips, the cost of all chips of that type)",
        "tokens_at_break_even",
    ),
    Column(
        "api_break_even_utilization",
        "ratio",
        "break-even load / throughput of the same chips; above 1 the API is cheaper",
        lambda point: point.api_break_even and point.api_break_even / point.most_requests,
    ),
    Column(
        "service_g_co2_per_mtok",
        "g/Mtok",
        "CO2 per million input and output tokens; null without a grid",
        "grams_per_mtok",
        ("g CO2", "/Mtok"),
        2,
    ),
    Column(
        "chips_expected",
        "count",
        "chips of the best plan of this variant at expected speeds; with a confidence, "
        "chips_total assumes slower speeds",
        "chips_expected",
        ("chips", "expected"),
    ),
    Column(
        "range_is_wider",
        "text",
        "reason why the 80% range is wider than for measured deployments; null if it is not",
        lambda point: (
            "; ".join(weaknesses(point.plan.scenario.engine, point.plan.scenario.hardware)) or None
        ),
    ),
    Column(
        "prefill_hardware",
        "text",
        "id of the prefill chip, if it differs from the decode chip",
        lambda point: point.plan.prefill_scenario and point.plan.prefill_scenario.hardware.id,
    ),
    Column(
        "prefill_chips",
        "count",
        "number of prefill chips in chips_total",
        lambda point: point.plan.prefill_chips if point.plan.prefill_scenario else None,
    ),
    Column(
        "prefill_sending_ms",
        "ms",
        "KV-cache transfer time of a prompt over the slower of both links, part of service_ttft_ms",
        lambda point: point.plan.kv_transfer_s * 1e3 if point.plan.prefill_scenario else None,
    ),
    Column(
        "prefill_command",
        "text",
        "command that prints one prefill replica; its ttft_ms is the prefill time of a prompt",
        "prefill_command",
    ),
    *pick(
        "usd_per_chip_hour price_terms price_commitment_months price_provider price_region "
        "price_date price_confidence low_confidence tokens_per_s_per_user_bound_serial"
    ),
    Column(
        "prefill_usd_per_chip_hour",
        "USD/h",
        "price per chip-hour of the prefill chip",
        lambda point: (
            point.plan.prefill_scenario and point.plan.prefill_scenario.quote.usd_per_hour
        ),
    ),
    Column(
        "prefill_price_terms",
        "text",
        "terms of that price, like price_terms",
        lambda point: point.plan.prefill_scenario and point.plan.prefill_scenario.quote.terms,
    ),
    Column(
        "classes",
        "text",
        "request classes of the traffic file that the replicas serve; null without a file",
        lambda point: ", ".join(point.classes) or None,
    ),
)
PLAN_COLUMNS = [column for column in COLUMNS if column.key not in records.KEYS]
"""Columns specific to plans. The rest are those of ``compare`` for one replica."""

KEYS = tuple(column.key for column in COLUMNS)
