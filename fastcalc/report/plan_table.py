"""Plans as a table: what to rent, what it does, and why not the others."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from fastcalc.core.columns import Column, pick
from fastcalc.core.layout import Layout
from fastcalc.report import record_tables
from fastcalc.report.commands import Typed
from fastcalc.report.console import OPTIONAL, Notes, Part, Title
from fastcalc.report.numbers_as_text import number
from fastcalc.report.plan import COLUMNS, command, is_narrowed, notes, tpot_range, unrounded
from fastcalc.report.plan_notes import cut, reported, times_the_cost, what
from fastcalc.report.record_tables import Row
from fastcalc.report.records import Record
from fastcalc.search.plan.decision import Decision, Plan, own_formats
from fastcalc.search.plan.service import Service


def _cut(record: Record, prefix: str = "") -> str:
    return cut(Layout(*(record[f"{prefix}{name}"] for name in ("tp", "pp", "ep", "dp"))))


def _prompts(record: Record) -> str:
    count = record["prefill_replicas"]
    return "inside" if count is None else f"{count:,.0f} x {_cut(record, 'prefill_')}"


def _bound(record: Record) -> str:
    slowed = record["tokens_per_s_per_user"] / record["tokens_per_s_per_user_bound"]
    return number(record["service_tpot_ms"] * slowed)


_COLUMNS = pick(
    "hardware weight_format kv_format speculation_tokens_per_pass replicas utilization each "
    "batch prompts chips_total service_ttft_ms service_tpot_ms service_tpot_ms_low bound "
    "usd_per_month",
    (
        *COLUMNS,
        *(replace(one, heading=("", "chip")) for one in pick("hardware")),
        Column("each", heading=("", "each"), format=_cut),
        Column("prompts", heading=("", "prompts"), rank=2, format=_prompts),
        Column("bound", "ms", heading=("bound", "ms"), rank=7, format=_bound),
    ),
)

_RATELESS = {"usd": ("$/Mtok", "total"), "watts": ("joules", "a token")}
"""What is least where no rate says how many replicas there are: one column for the other."""


def table(found: Decision, top: int, asked: str, typed: Typed, width: int) -> list[Part]:
    """Return the plans, and why the others lost, as parts of a page.

    Parameters
    ----------
    found : Decision
        At least one plan.
    top : int
        Plans to show. [1]
    asked : str
        What was asked, in a phrase.
    typed : Typed
        What the command at the end must repeat.
    width : int
        Characters in a line.
    """
    best, service, plans = found.plans[0], found.service, found.plans[:top]
    seen = {plan.scenario.hardware.id for plan in plans}
    others = [one for one in found.of_each_chip if one.scenario.hardware.id not in seen]
    own = found.in_own_formats if is_narrowed(best) else None
    whole = [own] if own is not None else []
    shown = [*plans, *whole, *others]
    columns = _columns(service, _unneeded(found, shown))
    rows = [record_tables.row(columns, record) for record in unrounded(shown, service, typed)]
    fit, gap, left_out = _fitting(columns, rows, width)
    title = Title(best.scenario.hardware.id, f"{what(best)} for {asked}")
    parts: list[Part] = [title, "", record_tables.table(fit, gap, rows[: len(plans)]), ""]
    rest = len(plans) + len(whole)
    if own is not None:
        weights, cache = own_formats(own.scenario.model)
        heading = f"in the model's own formats ({weights}, cache {cache}), "
        heading += times_the_cost(found, own)
        parts += [heading, record_tables.table(fit, gap, rows[len(plans) : rest]), ""]
    if others:
        parts += ["the best of each other chip", record_tables.table(fit, gap, rows[rest:]), ""]
    warned = (line for plan in shown for line in plan.warnings)
    lines = [*reported(found, shown), *notes(service), *dict.fromkeys(warned), *left_out]
    return [*parts, Notes(lines, command(best, service, typed))]


def _unneeded(found: Decision, shown: Sequence[Plan]) -> set[str]:
    """Return the columns that would say nothing."""
    service = found.service
    is_needed = {
        "speculation_tokens_per_pass": any(
            plan.scenario.traffic.speculation.drafted for plan in found.plans
        ),
        "utilization": service.rate is not None or service.share is not None,
        "service_tpot_ms_low": any(tpot_range(plan) is not None for plan in shown),
    }
    return {key for key, needed in is_needed.items() if not needed}


def _columns(service: Service, unneeded: Container[str] = ()) -> list[Column]:
    """Return the columns; without a rate all plans are one replica, and tokens are what costs."""
    columns = {column.key: column for column in _COLUMNS if column.key not in unneeded}
    if service.rate is None and service.objective in _RATELESS:
        columns["replicas"] = replace(
            columns["replicas"],
            heading=_RATELESS[service.objective],
            format=lambda record: number(record["cost"]),
        )
    if service.share is not None:
        heading = (f"TTFT p{service.share * 100:g}", "ms")
        columns["service_ttft_ms"] = replace(columns["service_ttft_ms"], heading=heading)
    return list(columns.values())


def _fitting(
    columns: Sequence[Column], rows: Sequence[Row], width: int
) -> tuple[list[Column], int, list[str]]:
    """Return the columns that fit, the gap between them, and a line on those left out.

    A column that says the same in every row leaves first, and the line says what that is.
    """
    texts = {column.key: {row[column.key] for row in rows} for column in columns}
    same = {key: f" ({cells.pop()})" for key, cells in texts.items() if len(cells) == 1}
    early = [
        replace(one, rank=one.rank + OPTIONAL) if one.rank and one.key in same else one
        for one in columns
    ]
    shown, gap = record_tables.fitting(early, rows, width)
    gone = [record_tables.heading(one) + same.get(one.key, "") for one in early if one not in shown]
    reported = f"left out at this width: {', '.join(gone)}; --format csv has all"
    return shown, gap, [reported] if gone else []


def rows(plans: Iterable[Plan], service: Service) -> tuple[list[str], list[list[str]]]:
    """Return one header and a row for each plan, for a Markdown table."""
    return record_tables.markdown(_columns(service), unrounded(plans, service, Typed()))
