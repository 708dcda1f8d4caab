"""Plans as a table: what to rent, what it does, and why not the others."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from fastcalc.core.own_formats import own_formats
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import each_warning
from fastcalc.features.plan.answer_regret import regret_notes
from fastcalc.features.plan.answer_turns import turn_notes
from fastcalc.features.plan.api import cheaper_api
from fastcalc.features.plan.columns import COLUMNS, WEAK
from fastcalc.features.plan.decision import FEWER_BITS, Decision, Plan
from fastcalc.features.plan.notes import (
    break_even,
    chips_and_price,
    crossing_note,
    cut,
    first_notes,
    in_fewer_bits,
    level_runner_up,
    reported,
    times_the_cost,
)
from fastcalc.features.plan.ranked_plan import tpot_range
from fastcalc.features.plan.records import notes, prompts_command, unrounded
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.verdict import Verdict
from fastcalc.grid.columns import Column, TableColumn, key_figure, pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.commands import Typed, compare_command
from fastcalc.kit.answer.console import Part, Screen, TextTable, Title, on_one_screen
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.prices import price_line
from fastcalc.mentions import option


def _cut(record: Record, prefix: str = "") -> str:
    return cut(Layout(*(record[f"{prefix}{name}"] for name in ("tp", "pp", "ep", "dp"))))


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
        Column("each", heading=("", "each"), format=_cut),
        Column(
            "prompts",
            heading=("", "prompts"),
            drop_priority=2,
            format=lambda record: (
                "inside"
                if record["prefill_replicas"] is None
                else f"{record['prefill_replicas']:,.0f} x {_cut(record, 'prefill_')} "
                f"{record['prefill_hardware'] or ''}".rstrip()
            ),
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

_FIRST, _OTHERS = 2, 2
"""Plans, and other chips, that a first screen has room for."""

_KEY = (
    "key: replicas x each decode, prompts inside or on chips of their own; TTFT and TPOT of this "
    "traffic, the latter's 80 % range"
)
_OF_SLOW_CHIPS = "; chips and times are those of slow chips, chips expected by expected speeds"
IN_NODES = f"; in whole nodes ({option('by', 'chip')}: singly)"
CHANGED = (
    f"; fewer bits change answers, so * leads only if {option('weights')} or {option('kv')} asks"
)
_RATELESS = {"usd": ("$/Mtok", "total"), "watts": ("joules", "a token")}
"""What is least where no rate says how many replicas there are: one column for the other."""


def parts(verdict: Verdict, top: int, request: str, typed: Typed, screen: Screen) -> list[Part]:
    """Return the answer in a sentence, one table of plans and other chips, a key and notes."""
    decision = verdict.decision
    chosen = decision.plans[0]
    plans = decision.plans[: top if screen.wide else min(top, _FIRST)]
    chips = {plan.scenario.hardware.id for plan in plans}
    own_plan = decision.in_own_formats if chosen.is_narrowed else None
    own_plans, fewer = [own_plan] if own_plan else [], decision.in_fewer_bits[:FEWER_BITS]
    other_chips = [plan for plan in decision.of_each_chip if plan.scenario.hardware.id not in chips]
    unlike = decision.on_unlike_chips
    if unlike is not None and unlike not in [*plans, *fewer, *own_plans]:
        other_chips = [unlike, *(plan for plan in other_chips if plan is not unlike)]
    listed = [*plans, *fewer, *own_plans, *other_chips]
    shown = [*plans, *fewer, *own_plans, *other_chips[: None if screen.wide else _OTHERS]]
    labels = [*(f"{place}" for place in range(1, len(plans) + 1)), *["fewer bits"] * len(fewer)]
    labels += [*["own formats"] * len(own_plans), *["other chip"] * len(shown)]
    labels = [label + _star(decision, plan) for label, plan in zip(labels, shown, strict=False)]
    records = unrounded(shown, decision.service, typed)
    columns = with_formats(_kept(decision, shown, wide=screen.wide), labels, records)
    rows = [
        record_tables.row(columns, record) | {"|plan": label}
        for label, record in zip(labels, records, strict=False)
    ]
    (table,) = record_tables.tables(columns, [rows], screen.width)
    all_notes = [*reported(decision, listed), *turn_notes(verdict), *regret_notes(verdict)]
    if own_plan:
        all_notes.insert(0, _own_formats_note(decision, own_plan))
    all_notes += [*notes(decision.service), *each_warning(plan.replica for plan in listed)]
    short_notes, command = first_notes(verdict, shown), compare_command(chosen.scenario, typed)
    if unlike is not None:
        crossing = crossing_note(unlike, prompts_command(unlike, typed))
        short_notes, all_notes = [crossing, *short_notes], [crossing, *all_notes]
    key = _KEY + _OF_SLOW_CHIPS * (decision.expected is not None)
    key += IN_NODES * any(plan.node_chips > 1 for plan in shown)
    key = with_marks(key + CHANGED * (not all(map(decision.may_lead, shown))), table)

    priced = price_line(chosen.scenarios, break_even(decision))

    def page(count: int) -> list[Part]:
        under = screen.under_table(key, short_notes[:count], all_notes, command)
        return [_title(decision, request), *priced, "", table, under]

    return on_one_screen(page, screen)


def _star(decision: Decision, plan: Plan) -> str:
    return "" if decision.may_lead(plan) else " *"


def _own_formats_note(decision: Decision, plan: Plan) -> str:
    weights, cache = own_formats(plan.scenario.model)
    cost, bill = times_the_cost(decision, plan), chips_and_price(plan, decision.service)
    return f"in the model's own formats ({weights}, cache {cache}), {cost}: {bill}"


def _title(decision: Decision, request: str) -> Title:
    chosen = decision.plans[0]
    bill = chips_and_price(chosen, decision.service)
    answer = f"{bill} for {request}"
    answer += in_fewer_bits([(decision, chosen)])
    answer += level_runner_up(decision)
    if decision.service.rate is not None:
        answer += cheaper_api(decision.service, decision.service.rate, chosen.usd_per_month)
    if decision.expected is not None:
        cheapest = decision.expected.plans[0]
        expected = cheapest.scenario.hardware.id, chips_and_price(cheapest, decision.service)
        differs = expected != (chosen.scenario.hardware.id, bill)
        answer += f"; by expected speeds {', '.join(expected)}" * differs
    return Title(chosen.scenario.hardware.id, answer, bill)


_KEPT_LONGER = {"weight_format": 0, "kv_format": 1}
"""Priorities by which formats leave a narrow table whose rows have fewer bits."""


def with_formats(
    columns: Sequence[TableColumn], labels: Sequence[str], records: Sequence[Record]
) -> list[TableColumn]:
    """Return columns that keep a format in a narrow table where its rows differ in it.

    Formats that all rows share stay longer where labels mark fewer bits.
    """
    kept_longer = _KEPT_LONGER if any(label.endswith("*") for label in labels) else {}
    kept_longer |= {key: 0 for key in _KEPT_LONGER if len({record[key] for record in records}) > 1}
    return [
        replace(column, drop_priority=kept_longer.get(column.key, column.drop_priority))
        for column in columns
    ]


def with_marks(key: str, table: TextTable) -> str:
    """Return the key of a table, with what the marks of its cells mean."""
    if any(cell.endswith(WEAK) for row in table.rows for cell in row):
        key += f"; {WEAK}: wider, for few or no measurements are like it"
    return record_tables.with_mark(key, table)


def _kept(decision: Decision, shown: Sequence[Plan], *, wide: bool) -> list[TableColumn]:
    service = decision.service
    is_needed = {
        "speculation_tokens_per_pass": any(
            plan.scenario.traffic.speculation.drafted for plan in decision.plans
        ),
        "utilization": service.rate is not None or service.share is not None,
        "service_tpot_ms_low": any(tpot_range(plan) is not None for plan in shown),
    }
    kept = [column for column in columns(service, wide=wide) if is_needed.get(column.key, True)]
    kept.insert(0, record_tables.words("|plan", lambda _: ""))
    return [replace(column, drop_priority=0) for column in kept] if wide else kept


_WIDE = ("service_output_tokens_per_s", "service_usd_per_mtok_total", "watts", "kwh_per_month")


def columns_but(service: Service, hidden: Collection[str], *, wide: bool) -> list[TableColumn]:
    """Columns without some; a wide screen drops none of them.

    hidden : keys of columns that say nothing here
    """
    return [
        replace(column, drop_priority=0) if wide else column
        for column in columns(service, wide=wide)
        if column.key not in hidden
    ]


def columns(service: Service, *, wide: bool = False) -> list[TableColumn]:
    """Return the columns; without a rate all plans are one replica, and tokens are what costs.

    wide : whether those are among them for which a first screen has no room
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
        heading = ("TTFT", f"p{service.share * 100:g} ms")
        by_key["service_ttft_ms"] = replace(by_key["service_ttft_ms"], heading=heading)
    answer = "watts" if service.objective == "watts" and is_sized else "usd_per_month"
    if by_key["replicas"].key == "cost":
        answer = "replicas"
    by_key[answer] = key_figure(by_key[answer])
    return list(by_key.values())
