"""Plans as a table: what to rent, what it does, and why not the others."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastcalc.plan.decide import NEAR, REASONS, Decision, Plan
from fastcalc.plan.service import Service
from fastcalc.report.commands import Typed
from fastcalc.report.console import OPTIONAL, Notes, Part, Table, Title, columns_that_fit
from fastcalc.report.plan import FLAGS, command, notes
from fastcalc.report.text import dollars, number

_UNITS = {"usd": "$", "watts": "W", "chips": "chips"}
_COLUMNS = {
    "chip": (("", "chip"), 0),
    "weights": (("", "weights"), 1),
    "cache": (("KV", "cache"), 3),
    "drafts": (("tokens", "a pass"), 2),
    "replicas": (("repli-", "cas"), 0),
    "busy": (("busy", "%"), 2),
    "each": (("", "each"), 0),
    "batch": (("", "batch"), 0),
    "prompts": (("", "prompts"), 4),
    "chips": (("", "chips"), 0),
    "ttft": (("TTFT", "ms"), 0),
    "tpot": (("TPOT", "ms"), 0),
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
    shown = {plan.scenario.hardware.id for plan in plans}
    others = [one for one in found.of_each_chip if one.scenario.hardware.id not in shown]
    rows = [_row(plan, service) for plan in (*plans, *others)]
    with_drafts = any(plan.scenario.traffic.speculation.drafted for plan in found.plans)
    unneeded = {"drafts": not with_drafts, "busy": service.share is None}
    headings = {
        key: heading for key, heading in _headings(service).items() if not unneeded.get(key)
    }
    keys, gap, left_out = _fitting(headings, rows, width)

    def part(some: Sequence[Mapping[str, str]]) -> Table:
        left = [place for place, key in enumerate(keys) if key in _WORDS]
        cells = [[row[key] for key in keys] for row in some]
        return Table([headings[key] for key in keys], cells, left, gap)

    title = Title(best.scenario.hardware.id, f"{_what(best)} for {asked}")
    parts: list[Part] = [title, "", part(rows[: len(plans)]), ""]
    if others:
        parts += ["the best of each other chip", part(rows[len(plans) :]), ""]
    warned = (line for plan in [*plans, *others] for line in plan.warnings)
    lines = [*_told(found), *notes(service), *dict.fromkeys(warned), *left_out]
    return [*parts, Notes(lines, command(best, service, typed))]


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
    apart = f"{plan.prefill_replicas:,.0f} x {_cut(prefill)}" if prefill else "inside"
    is_priced_by_token = service.rate is None and service.objective in _RATELESS
    return {
        "chip": plan.scenario.hardware.id,
        "weights": plan.site.work.weight_format,
        "cache": plan.site.work.kv_format,
        "drafts": number(plan.scenario.traffic.speculation.tokens_per_pass),
        "replicas": number(plan.cost) if is_priced_by_token else f"{plan.replicas:,.0f}",
        "busy": f"{plan.busy:.1%}".rstrip("%"),
        "each": _cut(plan.layout),
        "batch": f"{plan.batch:,.0f}",
        "prompts": apart,
        "chips": f"{plan.values['chips']:,.0f}",
        "ttft": number(plan.values["ttft"] * 1e3),
        "tpot": number(plan.values["tpot"] * 1e3),
        "usd": dollars(plan.usd_per_month),
    }


def _cut(layout: Any) -> str:
    return str(layout).replace(" ", "") or "1 chip"


def _what(plan: Plan) -> str:
    """Say what a plan takes, in a phrase."""
    chips, price = plan.values["chips"], plan.usd_per_month
    cost = f", ${dollars(price)} a month" if price is not None else ""
    return f"{chips:,.0f} chip{'s' if chips > 1 else ''}{cost}"


def _told(found: Decision) -> Iterable[str]:
    """Say what came second, what just misses, and why the others lost."""
    best, second = found.plans[0], found.runner_up
    unit = _unit(found.service)
    if second is not None:
        ratio = second.cost / best.cost
        name = second.scenario.hardware.id
        yield f"next chip: {name}, {_what(second)}: {number(ratio)} times the {unit}"
    if found.near is not None and found.near.cost < best.cost:
        share = f"{found.near.cost / best.cost:.0%} of the {unit}"
        yield f"cheapest that misses by less than {NEAR:g} times: {_miss(found.near)}, at {share}"
    if found.closest:
        closest = sorted(found.closest.values(), key=lambda one: max(one.misses.values()))
        names = (
            f"{one.scenario.hardware.id} {number(max(one.misses.values()))}" for one in closest
        )
        yield f"chips that cannot meet it, and how far the closest is over: {', '.join(names)}"
    lost = (f"{count:,} {REASONS[name]}" for name, count in found.reasons.most_common() if count)
    yield f"of {found.candidates:,} deployments {', '.join(lost)}"


def _unit(service: Service) -> str:
    """Say what is least, in a word."""
    a_token = {"usd": "$ a token", "watts": "joules a token"}
    word = _UNITS[service.objective]
    return word if service.rate is not None else a_token.get(service.objective, word)


def _miss(plan: Plan) -> str:
    over = [
        f"{FLAGS[name].lstrip('-')} {number(value)} times the limit"
        for name, value in plan.misses.items()
        if value > 1.0
    ]
    cut = f"{plan.replicas:,.0f} x {_cut(plan.layout)}"
    return f"{plan.scenario.hardware.id}, {cut}, batch {plan.batch:,.0f}: {', '.join(over)}"
