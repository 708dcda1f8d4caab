"""Plans as a table: what to rent, what it does, and why not the others."""

from collections.abc import Sequence
from dataclasses import replace

from fastcalc.core.columns import Column, pick
from fastcalc.core.layout import Layout
from fastcalc.core.own_formats import own_formats
from fastcalc.report import record_tables
from fastcalc.report.commands import Typed, compare_command
from fastcalc.report.console import Part, Screen, Title
from fastcalc.report.numbers_as_text import number
from fastcalc.report.plan import COLUMNS, notes, tpot_range, unrounded
from fastcalc.report.plan_notes import cut, first_notes, reported, times_the_cost, what
from fastcalc.report.records import Record
from fastcalc.search.plan.decision import FEWER_BITS, Decision, Plan
from fastcalc.search.plan.service import Service


def _cut(record: Record, prefix: str = "") -> str:
    return cut(Layout(*(record[f"{prefix}{name}"] for name in ("tp", "pp", "ep", "dp"))))


_COLUMNS = pick(
    "hardware weight_format kv_format speculation_tokens_per_pass replicas utilization each "
    "batch prompts chips_total service_ttft_ms service_tpot_ms service_tpot_ms_low bound "
    "usd_per_month",
    (
        *COLUMNS,
        *(replace(one, heading=("", "chip")) for one in pick("hardware")),
        Column("each", heading=("", "each"), format=_cut),
        Column(
            "prompts",
            heading=("", "prompts"),
            drop_priority=2,
            format=lambda record: (
                "inside"
                if record["prefill_replicas"] is None
                else f"{record['prefill_replicas']:,.0f} x {_cut(record, 'prefill_')}"
            ),
        ),
        Column(
            "bound",
            "ms",
            heading=("bound", "ms"),
            drop_priority=7,
            format=lambda record: number(
                record["service_tpot_ms"]
                * (record["tokens_per_s_per_user"] / record["tokens_per_s_per_user_bound"])
            ),
        ),
    ),
)

_FIRST, _OTHERS = 3, 4
"""Plans, and other chips, that a first screen has room for."""

_KEY = (
    "key: replicas x each decode, prompts are taken inside or on chips of their own; TTFT and TPOT "
    "are of this traffic, with the latter's 80 % range"
)
_CHANGED = (
    "; *: fewer bits change the answers, so such a plan leads only where --weights or --kv "
    "names them"
)
_RATELESS = {"usd": ("$/Mtok", "total"), "watts": ("joules", "a token")}
"""What is least where no rate says how many replicas there are: one column for the other."""


def parts(found: Decision, top: int, asked: str, typed: Typed, screen: Screen) -> list[Part]:
    """Return the answer in a sentence, one table of plans and other chips, a key and notes."""
    best = found.plans[0]
    plans = found.plans[: top if screen.wide else min(top, _FIRST)]
    seen = {plan.scenario.hardware.id for plan in plans}
    own = found.in_own_formats if best.is_narrowed else None
    whole, fewer = [own] if own else [], found.in_fewer_bits[:FEWER_BITS]
    others = [one for one in found.of_each_chip if one.scenario.hardware.id not in seen]
    listed = [*plans, *fewer, *whole, *others]
    shown = [*plans, *fewer, *whole, *others[: None if screen.wide else _OTHERS]]
    labels = [*(f"{place}" for place in range(1, len(plans) + 1)), *["fewer bits"] * len(fewer)]
    labels += [*["own formats"] * len(whole), *["other chip"] * len(shown)]
    labels = [
        label if found.may_lead(plan) else f"{label} *"
        for label, plan in zip(labels, shown, strict=False)
    ]
    kept = [replace(one, drop_priority=0) if screen.wide else one for one in _kept(found, shown)]
    columns = [record_tables.words("|plan", lambda _: ""), *kept]
    rows = [
        record_tables.row(columns, record) | {"|plan": label}
        for label, record in zip(labels, unrounded(shown, found.service, typed), strict=False)
    ]
    (made,) = record_tables.tables(columns, [rows], screen.width)
    every = list(reported(found, listed))
    if own:
        weights, cache = own_formats(own.scenario.model)
        said = f"in the model's own formats ({weights}, cache {cache})"
        every.insert(0, f"{said}, {times_the_cost(found, own)}: {what(own, found.service)}")
    warned = (line for plan in listed for line in plan.replica.warnings)
    every += [*notes(found.service), *dict.fromkeys(warned)]
    few, command = first_notes(found, shown), compare_command(best.scenario, typed)
    answer = f"{what(best, found.service)} for {asked}"
    if not found.may_lead(best):
        weights, cache = own_formats(best.scenario.model)
        answer += f", in fewer bits than it is published in ({weights}, cache {cache})"
    title = Title(best.scenario.hardware.id, answer)
    key = _KEY + ("" if all(map(found.may_lead, shown)) else _CHANGED)
    key = record_tables.with_mark(key, made)
    return [title, "", made, screen.under_table(key, few, every, command)]


def _kept(found: Decision, shown: Sequence[Plan]) -> list[Column]:
    service = found.service
    is_needed = {
        "speculation_tokens_per_pass": any(
            plan.scenario.traffic.speculation.drafted for plan in found.plans
        ),
        "utilization": service.rate is not None or service.share is not None,
        "service_tpot_ms_low": any(tpot_range(plan) is not None for plan in shown),
    }
    return [one for one in columns(service) if is_needed.get(one.key, True)]


def columns(service: Service) -> list[Column]:
    """Return the columns; without a rate all plans are one replica, and tokens are what costs."""
    found = {column.key: column for column in _COLUMNS}
    if service.rate is None and service.objective in _RATELESS:
        found["replicas"] = replace(
            found["replicas"],
            key="cost",
            heading=_RATELESS[service.objective],
            format=lambda record: number(record["cost"]),
        )
    if service.share is not None:
        heading = (f"TTFT p{service.share * 100:g}", "ms")
        found["service_ttft_ms"] = replace(found["service_ttft_ms"], heading=heading)
    return list(found.values())
