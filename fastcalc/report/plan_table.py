"""Plans as a table: what to rent, what it does, and why not the others."""

from collections.abc import Iterable, Mapping, Sequence

from fastcalc.report.commands import Typed
from fastcalc.report.console import OPTIONAL, Notes, Part, Table, Title, columns_that_fit
from fastcalc.report.numbers_as_text import dollars, number
from fastcalc.report.plan import (
    command,
    is_narrowed,
    notes,
    tpot_range,
)
from fastcalc.report.plan_notes import cut, times_the_cost, told, what
from fastcalc.search.plan.decision import Decision, Plan, own_formats
from fastcalc.search.plan.service import Service

_COLUMNS = {
    "chip": (("", "chip"), 0),
    "weights": (("weight", "format"), 3),
    "cache": (("KV", "cache"), 5),
    "drafts": (("tokens", "a pass"), 4),
    "replicas": (("repli-", "cas"), 0),
    "busy": (("busy", "%"), 6),
    "each": (("", "each"), 0),
    "batch": (("", "batch"), 0),
    "prompts": (("", "prompts"), 2),
    "chips": (("", "chips"), 0),
    "ttft": (("TTFT", "ms"), 0),
    "tpot": (("TPOT", "ms"), 0),
    "range": (("80 %", "range"), 1),
    "bound": (("bound", "ms"), 7),
    "usd": (("$ a", "month"), 0),
}
"""Headings in two lines, and how readily each column makes room (0 never)."""

_WORDS = ("chip", "weights", "cache", "each", "prompts")

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
    rows = [_row(plan, service) for plan in shown]
    unneeded = _unneeded(found, shown)
    headings = {key: heading for key, heading in _headings(service).items() if key not in unneeded}
    keys, gap, left_out = _fitting(headings, rows, width)

    def part(some: Sequence[Mapping[str, str]]) -> Table:
        left = [place for place, key in enumerate(keys) if key in _WORDS]
        cells = [[row[key] for key in keys] for row in some]
        return Table([headings[key] for key in keys], cells, left, gap)

    title = Title(best.scenario.hardware.id, f"{what(best)} for {asked}")
    parts: list[Part] = [title, "", part(rows[: len(plans)]), ""]
    rest = len(plans) + len(whole)
    if own is not None:
        weights, cache = own_formats(own.scenario.model)
        heading = f"in the model's own formats ({weights}, cache {cache}), "
        heading += times_the_cost(found, own)
        parts += [heading, part(rows[len(plans) : rest]), ""]
    if others:
        parts += ["the best of each other chip", part(rows[rest:]), ""]
    warned = (line for plan in shown for line in plan.warnings)
    lines = [*told(found, shown), *notes(service), *dict.fromkeys(warned), *left_out]
    return [*parts, Notes(lines, command(best, service, typed))]


def _unneeded(found: Decision, shown: Sequence[Plan]) -> set[str]:
    """Return the columns that would say nothing."""
    service = found.service
    is_needed = {
        "drafts": any(plan.scenario.traffic.speculation.drafted for plan in found.plans),
        "busy": service.rate is not None or service.share is not None,
        "range": any(tpot_range(plan) is not None for plan in shown),
    }
    return {key for key, needed in is_needed.items() if not needed}


def _fitting(
    headings: Mapping[str, tuple[str, str]], rows: Sequence[Mapping[str, str]], width: int
) -> tuple[list[str], int, list[str]]:
    """Return the columns that fit, the gap between them, and a line on those left out.

    A column that says the same in every row leaves first, and the line says what that is.
    """
    texts = {key: [row[key] for row in rows] for key in headings}
    same = {key: cells[0] for key, cells in texts.items() if len(set(cells)) == 1}
    ranks = {key: _COLUMNS[key][1] for key in headings}
    keys, gap = columns_that_fit(
        {key: (*headings[key], *cells) for key, cells in texts.items()},
        {key: rank + OPTIONAL * (rank > 0 and key in same) for key, rank in ranks.items()},
        width,
    )
    gone = [
        _joined(headings[key]) + (f" ({same[key]})" if key in same else "")
        for key in headings
        if key not in keys
    ]
    told = f"left out at this width: {', '.join(gone)}; --format csv has all"
    return keys, gap, [told] if gone else []


def rows(plans: Iterable[Plan], service: Service) -> tuple[list[str], list[list[str]]]:
    """Return one header and a row for each plan, for a Markdown table."""
    header = [_joined(heading) for heading in _headings(service).values()]
    return header, [list(_row(plan, service).values()) for plan in plans]


def _joined(heading: tuple[str, str]) -> str:
    return " ".join(heading).strip().replace("- ", "")


def _headings(service: Service) -> dict[str, tuple[str, str]]:
    """Return the headings; without a rate all plans are one replica, and tokens are what costs."""
    headings = {key: heading for key, (heading, _) in _COLUMNS.items()}
    if service.rate is None and service.objective in _RATELESS:
        headings["replicas"] = _RATELESS[service.objective]
    if service.share is not None:
        headings["ttft"] = (f"TTFT p{service.share * 100:g}", "ms")
    return headings


def _row(plan: Plan, service: Service) -> dict[str, str]:
    prefill = plan.prefill_layout
    apart = f"{plan.prefill_replicas:,.0f} x {cut(prefill)}" if prefill else "inside"
    is_priced_by_token = service.rate is None and service.objective in _RATELESS
    numbers, tpot = plan.numbers, plan.values["tpot"] * 1e3
    slowed = numbers["tokens_per_s_per_user"] / numbers["tokens_per_s_per_user_bound"]
    return {
        "chip": plan.scenario.hardware.id,
        "weights": plan.site.work.weight_format,
        "cache": plan.site.work.kv_format,
        "drafts": number(float(plan.scenario.traffic.speculation.tokens_per_pass)),
        "replicas": number(plan.cost) if is_priced_by_token else f"{plan.replicas:,.0f}",
        "busy": f"{plan.busy:.1%}".rstrip("%"),
        "each": cut(plan.layout),
        "batch": f"{plan.batch:,.0f}",
        "prompts": apart,
        "chips": f"{plan.values['chips']:,.0f}",
        "ttft": number(plan.values["ttft"] * 1e3),
        "tpot": number(tpot),
        "range": _range(plan),
        "bound": number(tpot * slowed),
        "usd": dollars(plan.usd_per_month),
    }


def _range(plan: Plan) -> str:
    """Return the milliseconds between tokens from the fast end to the slow, in few digits."""
    ends = tpot_range(plan)
    return "-" if ends is None else "..".join(number(end * 1e3, 2) for end in ends)
