"""A plan as records and as text: what to rent, what it does, and why not the others."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from fastcalc.evaluate import SITE_FACTOR
from fastcalc.plan.decide import NEAR, REASONS, Decision, Plan, rounded_down, rounded_up
from fastcalc.plan.service import Service
from fastcalc.report.console import Notes, Part, Table, Title
from fastcalc.report.records import Record, plain
from fastcalc.report.text import dollars, number

_TAKEN = (
    "tokens_per_s_per_user",
    "tokens_per_s_per_user_low",
    "tokens_per_s_per_user_high",
    "tokens_per_s_per_user_bound",
    "memory_used_fraction",
    "usd_per_mtok_total",
    "joules_per_token",
)
_UNITS = {"usd": "$", "watts": "W", "chips": "chips"}
_FLAGS = {"ttft": "--ttft", "tpot": "--tpot", "chips": "--max-chips"}
_HEADINGS = (
    ("", "chip"),
    ("", "weights"),
    ("KV", "cache"),
    ("tokens", "a pass"),
    ("repli-", "cas"),
    ("", "each"),
    ("", "batch"),
    ("", "prompts"),
    ("", "chips"),
    ("TTFT", "ms"),
    ("TPOT", "ms"),
    ("$ a", "month"),
)

_DRAFTS, _REPLICAS, _LEFT = 3, 4, (0, 1, 2, 5, 7)
"""Columns of speculation and of replicas, and those of words."""

_RATELESS = {"usd": ("$/Mtok", "total"), "watts": ("joules", "a token")}
"""What is least where no rate says how many replicas there are: one column for the other."""


@dataclass(frozen=True)
class Typed:
    """What a command must repeat to be understood again.

    Attributes
    ----------
    names : mapping of str to str
        What a person typed for a model or chip, by its id; others go by their id.
    folders : sequence of str
        Words that name a person's own folders.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    folders: Sequence[str] = ()


def plan_records(plans: Iterable[Plan], service: Service, typed: Typed) -> list[Record]:
    """Return one record for each plan, in order."""
    return [
        {key: plain(value) for key, value in _record(rank, plan, service, typed).items()}
        for rank, plan in enumerate(plans, 1)
    ]


def _record(rank: int, plan: Plan, service: Service, typed: Typed) -> Record:
    scenario, layout, prefill = plan.scenario, plan.layout, plan.prefill_layout
    work = plan.site.work
    power = scenario.hardware.power
    return {
        "rank": rank,
        "hardware": scenario.hardware.id,
        "model": scenario.model.id,
        "engine": scenario.engine.id,
        "weight_format": work.weight_format,
        "kv_format": work.kv_format,
        "speculation_tokens_per_pass": scenario.traffic.speculation.tokens_per_pass,
        "prefill": "together" if prefill is None else "apart",
        "replicas": plan.replicas,
        "chips_per_replica": layout.chips,
        "tp": layout.tp,
        "pp": layout.pp,
        "ep": layout.ep,
        "dp": layout.dp,
        "batch": plan.batch,
        "prefill_replicas": plan.prefill_replicas if prefill else None,
        "prefill_tp": prefill.tp if prefill else None,
        "prefill_pp": prefill.pp if prefill else None,
        "prefill_ep": prefill.ep if prefill else None,
        "prefill_dp": prefill.dp if prefill else None,
        "chips_total": plan.values["chips"],
        "service_ttft_ms": plan.values["ttft"] * 1e3,
        "service_tpot_ms": plan.values["tpot"] * 1e3,
        "ttft_ms": plan.numbers.get("ttft_ms"),
        "tpot_ms": plan.numbers.get("tpot_ms"),
        **{key: plan.numbers.get(key) for key in _TAKEN},
        "usd_per_hour": plan.usd_per_hour,
        "usd_per_month": plan.usd_per_month,
        "watts": power.chip.si * SITE_FACTOR * plan.values["chips"] if power else None,
        "objective": service.objective,
        "cost": plan.cost,
        "warnings": plan.warnings,
        "command": command(plan, service, typed),
    }


def command(plan: Plan, service: Service, typed: Typed) -> str:
    """Return the command that shows the numbers of one replica of a plan."""
    scenario, layout = plan.scenario, plan.layout
    model, chip = scenario.model.id, scenario.hardware.id
    words = ["fastcalc", "compare", typed.names.get(model, model)]
    words += ["--on", typed.names.get(chip, chip)]
    words += [] if scenario.engine_is_borrowed else ["--engine", scenario.engine.id]
    words += ["--prompt", f"{service.prompt:.0f}"]
    words += ["--output", f"{service.output:.0f}", "--batch", f"{plan.batch:.0f}"]
    words += ["--weights", scenario.weights] if scenario.weights else []
    words += ["--kv", scenario.kv] if scenario.kv else []
    drafts = scenario.traffic.speculation
    if drafts.drafted:
        words += ["--speculate", f"{drafts.tokens_per_pass!r}/{drafts.drafted:.0f}"]
    ranks = {"tp": layout.tp, "pp": layout.pp, "ep": layout.ep, "dp": layout.dp}
    if scenario.hardware.execution == "spatial":
        ranks = {"pp": layout.pp}
    words += [word for name, count in ranks.items() for word in (f"--{name}", str(count))]
    pricing = scenario.pricing
    words += ["--price-basis", pricing.basis] if pricing.basis != "cloud" else []
    words += ["--price", f"{chip}={pricing.given[chip]!r}"] if chip in pricing.given else []
    return shlex.join([*words, *typed.folders])


def beside(found: Decision, typed: Typed) -> Record:
    """Return what stands beside the plans: why others lost, the runner-up, what would help."""
    service = found.service
    return {
        "candidates": found.candidates,
        "lost": {REASONS[name]: count for name, count in found.reasons.items() if count},
        "runner_up": _first(found.runner_up, service, typed),
        "cheapest_near_miss": _missed(found.near, service, typed),
        "best_of_each_chip": plan_records(found.of_each_chip, service, typed),
        "closest_of_other_chips": [
            _missed(plan, service, typed) for _, plan in sorted(found.closest.items())
        ],
        "relax": [] if found.plans else [text for _, text in _relaxed(found)],
        "assumptions": list(_notes()),
    }


def _first(plan: Plan | None, service: Service, typed: Typed) -> Record | None:
    return None if plan is None else plan_records([plan], service, typed)[0]


def _missed(plan: Plan | None, service: Service, typed: Typed) -> Record | None:
    record = _first(plan, service, typed)
    if plan is None or record is None:
        return None
    over = {name: plain(value) for name, value in plan.misses.items() if value > 1.0}
    return {**record, "over_limit": over}


def table(found: Decision, top: int, asked: str, typed: Typed) -> list[Part]:
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
    """
    best, service = found.plans[0], found.service
    with_drafts = any(plan.scenario.traffic.speculation.drafted for plan in found.plans)
    parts: list[Part] = [
        Title(best.scenario.hardware.id, f"{_what(best)} for {asked}"),
        "",
        _rows(found.plans[:top], service, with_drafts=with_drafts),
        "",
    ]
    shown = {plan.scenario.hardware.id for plan in found.plans[:top]}
    others = [one for one in found.of_each_chip if one.scenario.hardware.id not in shown]
    if others:
        rows = _rows(others, service, with_drafts=with_drafts)
        parts += ["the best of each other chip", rows, ""]
    warned = (line for plan in [*found.plans[:top], *others] for line in plan.warnings)
    lines = [*_told(found), *_notes(), *dict.fromkeys(warned)]
    return [*parts, Notes(lines, command(best, service, typed))]


def rows(plans: Iterable[Plan], service: Service) -> tuple[list[str], list[list[str]]]:
    """Return one header and a row for each plan, for a Markdown table."""
    headings = _headings(service)
    header = [" ".join(words).strip().replace("- ", "") for words in headings]
    return header, [_row(plan, service) for plan in plans]


def _rows(plans: Sequence[Plan], service: Service, *, with_drafts: bool) -> Table:
    """Return a table; the tokens of a pass are shown where any plan drafts ahead."""
    headings = _headings(service)
    kept = [place for place in range(len(headings)) if with_drafts or place != _DRAFTS]
    left = [number for number, place in enumerate(kept) if place in _LEFT]
    rows = [[row[place] for place in kept] for row in (_row(plan, service) for plan in plans)]
    return Table([headings[place] for place in kept], rows, left)


def _headings(service: Service) -> list[tuple[str, str]]:
    """Return the headings; without a rate all plans are one replica, and tokens are what costs."""
    headings = list(_HEADINGS)
    if service.rate is None and service.objective in _RATELESS:
        headings[_REPLICAS] = _RATELESS[service.objective]
    return headings


def _row(plan: Plan, service: Service) -> list[str]:
    prefill = plan.prefill_layout
    apart = f"{plan.prefill_replicas:,.0f} x {_cut(prefill)}" if prefill else "inside"
    is_priced_by_token = service.rate is None and service.objective in _RATELESS
    return [
        plan.scenario.hardware.id,
        plan.site.work.weight_format,
        plan.site.work.kv_format,
        number(plan.scenario.traffic.speculation.tokens_per_pass),
        number(plan.cost) if is_priced_by_token else f"{plan.replicas:,.0f}",
        _cut(plan.layout),
        f"{plan.batch:,.0f}",
        apart,
        f"{plan.values['chips']:,.0f}",
        number(plan.values["ttft"] * 1e3),
        number(plan.values["tpot"] * 1e3),
        dollars(plan.usd_per_month),
    ]


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
        f"{_FLAGS[name].lstrip('-')} {number(value)} times the limit"
        for name, value in plan.misses.items()
        if value > 1.0
    ]
    cut = f"{plan.replicas:,.0f} x {_cut(plan.layout)}"
    return f"{plan.scenario.hardware.id}, {cut}, batch {plan.batch:,.0f}: {', '.join(over)}"


def _notes() -> Iterable[str]:
    yield (
        "TPOT holds the prompts of others that are taken in between two tokens; TTFT is of an even "
        "stream of requests, with no queue, so leave room with --utilization"
    )
    yield (
        "prompts apart: taken in one by one at batch 1 on replicas of their own, their caches then "
        "sent over the link beyond the domain; narrower formats may cost quality, --weights and "
        "--kv choose"
    )


def refusal(found: Decision) -> str:
    """Say why there is no plan, and which limit to relax to what."""
    if not found.candidates:
        return "no layout of these chips holds one request of this model"
    options = [text for _, text in _relaxed(found)]
    if options:
        return f"no deployment meets this; it would with {', or '.join(options)}"
    nearest = found.nearest
    if nearest is None:
        reasons = (f"{count:,} {REASONS[name]}" for name, count in found.reasons.items() if count)
        is_unpriced = found.reasons["unknown"] > 0 and found.service.objective == "usd"
        ask = "; give one with --price CHIP=USD, or --objective chips" if is_unpriced else ""
        return f"no deployment meets this: {', '.join(reasons)}{ask}"
    needed = " and ".join(
        _limit(name, nearest.values[name], found.service)
        for name, over in nearest.misses.items()
        if over > 1.0
    )
    name = nearest.scenario.hardware.id
    return f"no deployment meets this, nor with one limit relaxed; {name} would with {needed}"


def _relaxed(found: Decision) -> list[tuple[str, str]]:
    """Return the flag that would help alone, by the name of its limit."""
    return [
        (name, _limit(name, value, found.service))
        for name, value in found.relaxed.items()
        if value < inf
    ]


def _limit(name: str, value: float, service: Service) -> str:
    """Return a flag with a value that is not stricter than a limit."""
    if name == "chips":
        return f"--max-chips {value:.0f}"
    if name == "tpot" and service.is_speed:
        return f"--min-speed {rounded_down(1.0 / value):g}"
    up = rounded_up(value * 1e3)
    return f"{_FLAGS[name]} " + (f"{up:g}ms" if up < 1e3 else f"{up / 1e3:g}s")
