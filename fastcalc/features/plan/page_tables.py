"""The tables of a plan, and their key: ranked plans or, for a mix, pools and classes."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from fastcalc.core.placement.layout import Layout
from fastcalc.features.plan import records as plan_records
from fastcalc.features.plan.allocation import Allocation
from fastcalc.features.plan.class_table import OVER, class_table
from fastcalc.features.plan.columns import COLUMNS, UPPER, WEAK
from fastcalc.features.plan.decision import FEWER_BITS, Decision, Plan
from fastcalc.features.plan.phrases import cut
from fastcalc.features.plan.ranked_plan import tpot_range
from fastcalc.features.plan.service import Service
from fastcalc.grid.column import Column, TableColumn, key_figure
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Screen
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.parts import TextTable
from fastcalc.kit.answer.point_records import Record
from fastcalc.mentions import option

if TYPE_CHECKING:
    from fastcalc.features.plan.answer import PlanAnswer


def _cut(record: Record, prefix: str = "") -> str:
    return cut(Layout(*(record[f"{prefix}{name}"] for name in ("tp", "pp", "ep", "dp"))))


def _prefill(record: Record) -> str:
    """Format the prefill replicas and their layout, or say that prefill is colocated."""
    if record["prefill_replicas"] is None:
        return "shared"
    chip, ranks = record["prefill_hardware"], _cut(record, "prefill_")
    single_chip = cut(Layout())
    words_of_shape = [word for word in (ranks, chip) if word and word != single_chip]
    shape = " ".join(words_of_shape or [single_chip])
    return f"{record['prefill_replicas']:,.0f} x {shape}"


IS_UPPER = "is_upper_estimate"
"""Key for whether the latencies of a table row are upper estimates."""


def _percentile(key: str, record: Record) -> str:
    """Format a latency at a percentile, with a mark if it is an upper estimate."""
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
        Column("prompts", heading=("", "prefill"), drop_priority=2, format=_prefill),
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
"""Drop priorities of format columns in a narrow table with more strongly quantized rows."""


def with_formats(
    columns: Sequence[TableColumn], records: Sequence[Record], *, has_fewer_bits: bool
) -> list[TableColumn]:
    """Keep a format column in a narrow table if rows differ in that format.

    has_fewer_bits : Whether rows are quantized below the request, which keeps formats longer.
    """
    kept_longer = dict(_KEPT_LONGER) if has_fewer_bits else {}
    kept_longer |= {key: 0 for key in _KEPT_LONGER if len({record[key] for record in records}) > 1}
    return [
        replace(column, drop_priority=kept_longer.get(column.key, column.drop_priority))
        for column in columns
    ]


_WIDE = ("service_output_tokens_per_s", "service_usd_per_mtok_total", "watts", "kwh_per_month")


def columns_but(service: Service, hidden: Collection[str], *, wide: bool) -> list[TableColumn]:
    """Remove hidden columns. Wide screens show all others.

    hidden : The keys of columns that carry no information here.
    """
    return [
        replace(column, drop_priority=0) if wide else column
        for column in columns(service, wide=wide)
        if column.key not in hidden
    ]


def columns(service: Service, *, wide: bool = False) -> list[TableColumn]:
    """Return the columns for plans. Without a rate, each plan is one replica priced per token.

    wide : Whether to include columns that do not fit on a first screen.
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


STAR = " *"
"""The mark for plans quantized below the request."""

_FIRST, _OTHERS = 2, 2
"""Number of plans, and of other chips, on the first screen."""

_LABEL = TableColumn("label", heading=("", "plan"))
_POOL, _OWNED = TableColumn("label", heading=("", "pool")), TableColumn("owned")
_LEFT_OUT = (
    *("speculation_tokens_per_pass", "service_ttft_ms", "service_tpot_ms"),
    *("service_tpot_ms_low", "bound"),
)
"""Columns without meaning for several classes, whose latencies have a table of their own."""


@dataclass(frozen=True, eq=False)
class PlanRow:
    """A plan as listed on a page.

    label : The label of the plan in the table.
    decision : The decision that the plan belongs to.
    is_owned : Whether its chips are owned.
    is_shown : Whether it is in the table on the page.
    """

    label: str
    plan: Plan
    decision: Decision
    is_owned: bool = False
    is_shown: bool = True

    @property
    def is_marked(self) -> bool:
        """Whether the plan is quantized below the request, so that it may not lead."""
        return not self.decision.may_lead(self.plan)

    @property
    def cells(self) -> dict[str, object]:
        """The values of its record that only tables show."""
        has_bounds = self.decision.service.claimed_share and not self.plan.has_percentiles
        owner = "owned" if self.is_owned else "rented"
        label = self.label + STAR * self.is_marked
        return {_LABEL.key: label, _OWNED.key: owner, IS_UPPER: has_bounds}


def rows_of(planned: "PlanAnswer", *, wide: bool) -> list[PlanRow]:
    """Return the plans on a page: each pool's plan, and alternatives if plans are ranked.

    wide : Whether the page shows all of them.
    """
    if not planned.is_of_one_class:
        return [
            PlanRow(f"{index}", pool.plan, pool.decision, allocation.is_owned)
            for index, (allocation, pool) in enumerate(planned.pools, 1)
        ]
    return [
        row for allocation, _ in planned.pools for row in _ranked(planned, allocation, wide=wide)
    ]


def _ranked(planned: "PlanAnswer", allocation: Allocation, *, wide: bool) -> Iterator[PlanRow]:
    """Yield an allocation's plans, plus alternatives with stronger quantization or rented chips."""
    decision, is_owned = allocation.decision, allocation.is_owned
    is_alone, top = len(planned.fleet.allocations) == 1, planned.request.top
    plans = decision.plans[: (top if wide else min(top, _FIRST)) if is_alone else 1]
    label = ("owned" if is_owned else "rented") * planned.is_of_fleet
    for index, plan in enumerate(plans, 1):
        numbered = f"{label} {index}".strip() if is_alone else label
        yield PlanRow(numbered, plan, decision, is_owned)
    if not is_alone and not wide:
        return
    for plan in decision.in_fewer_bits[:FEWER_BITS]:
        yield PlanRow("quantized", plan, decision, is_owned)
    if (plan_in_own := planned.in_own_formats) is not None:
        yield PlanRow("own formats", plan_in_own, decision, is_owned)
    if is_owned:
        return
    chips = {plan.scenario.hardware.id for plan in plans}
    further = [plan for plan in decision.of_each_chip if plan.scenario.hardware.id not in chips]
    unlike = decision.on_unlike_chips
    if unlike is not None and unlike not in plans:
        further = [unlike, *(plan for plan in further if plan is not unlike)]
    for index, plan in enumerate(further):
        is_shown = wide or index < _OTHERS
        if is_shown or not planned.is_of_fleet:
            yield PlanRow("other chip", plan, decision, is_shown=is_shown)


def tables_of(planned: "PlanAnswer", rows: Sequence[PlanRow], screen: Screen) -> list[TextTable]:
    """Build the table of plans or pools and, for several classes, of their latencies."""
    shown = columns_but(
        planned.service, hidden_columns(planned, rows, wide=screen.wide), wide=screen.wide
    )
    hidden = plan_records.SLOW_KEYS.difference(column.key for column in shown)
    records = [
        row.cells
        | plan_records.record_of(row.plan, row.decision.service, planned.typed, hidden=hidden)
        for row in rows
        if row.is_shown
    ]
    fitting = with_formats(shown, records, has_fewer_bits=any(row.is_marked for row in rows))
    if planned.is_of_one_class:
        return [record_tables.table([_LABEL, *fitting], records, screen.width)]
    owned, models = [_OWNED] * bool(planned.fleet.owned), pick("model") * (len(planned.models) > 1)
    return [
        record_tables.table([_POOL, *owned, *models, *fitting], records, screen.width),
        class_table(planned.served, screen.width, wide=screen.wide),
    ]


def hidden_columns(
    planned: "PlanAnswer", rows: Sequence[PlanRow], *, wide: bool
) -> Collection[str]:
    """Return the keys of columns that carry no information for the plans in a table."""
    service = planned.service
    hidden = set[str]() if planned.is_of_one_class else {*_LEFT_OUT}
    if service.rate is None and service.share is None and not service.is_fleet:
        hidden.add("utilization")
    if all(tpot_range(row.plan) is None for row in rows):
        hidden.add("service_tpot_ms_low")
    plans = [row.plan for row in rows] if planned.is_of_fleet else planned.decision.plans
    if not any(plan.scenario.traffic.speculation.drafted for plan in plans):
        hidden.add("speculation_tokens_per_pass")
    chips = {row.plan.scenario.hardware.id for row in rows}
    if planned.is_of_fleet and planned.is_of_one_class and not wide and len(chips) == 1:
        hidden.add("hardware")
    return hidden


_TERMS = {
    "batch": "batch: largest per replica",
    "prefill": "prefill: shared (colocated with decode) or on its own replicas",
    "80%": "80% range: of TPOT",
    "bound": "bound: roofline TPOT",
    "util.": "util.: load of a replica / its throughput",
    "expected": f"chips, TTFT, TPOT: for slow servers; {option('confidence')} is the chance that "
    "yours are faster; chips expected: chips needed at expected speeds",
}
"""Explanations for ranked plans and fleets, by the column heading that must be shown."""

_AT_FULL_BATCH = "TTFT: without queueing; TPOT: at full batch, prefill stalls included"

_OF_MIX = "pool: the replicas that serve a class; latencies: with Poisson arrivals"

_OF_SLOWEST = ", in the slowest pool"

_WITH_PREFILL = f"chips include separate prefill replicas ({option('wide')} shows them)"

_IN_NODES = (
    f"chips: rented in whole nodes if sold that way ({option('by', 'chip')} rents single chips)"
)

_QUANTIZED = (
    f"*: quantized further than published, which may reduce quality; never ranked first unless "
    f"{option('weights')} or {option('kv')} names the format"
)

_QUANTIZED_FIRST = "*: quantized, because these chips have no plan in the published precision"

_MARKS = {
    OVER: "over its limit",
    WEAK: "wider range: few or no measurements of similar deployments",
}


def legend(planned: "PlanAnswer", rows: Sequence[PlanRow], tables: Sequence[TextTable]) -> str:
    """Return the key to the columns and marks of the tables on a page.

    rows : The plans in the tables.
    """
    headings = {line for table in tables for heading in table.headings for line in heading}
    texts = [_OF_MIX + _OF_SLOWEST * ("mean" not in headings)]
    if planned.is_of_one_class:
        terms = _TERMS if planned.service.share else _TERMS | {"TTFT": _AT_FULL_BATCH}
        texts = [text for heading, text in terms.items() if heading in headings]
        is_disaggregated = any(row.plan.prefill_layout for row in rows)
        texts += [_WITH_PREFILL] * (is_disaggregated and "prefill" not in headings)
        is_rented = any(not allocation.is_owned for allocation, _ in planned.pools)
        texts += [_IN_NODES] * (is_rented and any(row.plan.node_chips > 1 for row in rows))
    cells = [cell for table in tables for row in table.rows for cell in row]
    texts += [f"{UPPER}: upper bound"] * any(cell.startswith(UPPER) for cell in cells)
    leads = all(pool.decision.may_lead(pool.plan) for _, pool in planned.pools)
    texts += [_QUANTIZED if leads else _QUANTIZED_FIRST] * any(
        cell.endswith(" *") for cell in cells
    )
    return record_tables.with_mark(f"key: {'; '.join(texts)}", *tables, marks=_MARKS)
