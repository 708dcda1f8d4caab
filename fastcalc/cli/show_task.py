"""``fastcalc task``: options of speed, price and accuracy for a chain of steps."""

import math
from dataclasses import replace
from typing import Any

from fastcalc.articles.agent_task import ServingOption, Task
from fastcalc.catalogue.limits import LIMITS
from fastcalc.cli import options
from fastcalc.cli.answers import Found
from fastcalc.cli.commands.evaluation import AgentTask, Compare
from fastcalc.cli.requests import scenarios
from fastcalc.core.scenario import Outcome, solve
from fastcalc.errors import InputError
from fastcalc.report import tasks as report
from fastcalc.written import shown

PROMPT = 1000
"""Prompt at which speeds are evaluated where none is asked for; then it costs no time."""


_EVALUATED = ("models", "on", "batch", "weights", "kv", "engine", "chips")
_KEYS = (
    *("speed", "price", "input-price", "ttft-ms", "accuracy", "tokens", "retries", "best-of"),
    *("judge", "model", "on", "batch", "weights", "kv", "engine", "chips", "price-basis"),
)


def run(asked: AgentTask) -> Found:
    """Compute a task for every option and write it in a format."""
    window = None if asked.window_ms is None else _least(asked.window_ms, "--window-ms") / 1e3
    choices, warnings = _choices(asked)
    rival = None
    if asked.against is not None:
        rivals, more = _choices(_against(asked))
        if len(rivals) > 1:
            raise InputError("--against names one option; give one chip, batch and accuracy")
        rival, warnings = rivals[0], [*warnings, *more]
        if rival.name in [one.name for one in choices]:
            rival = replace(rival, name=f"{rival.name} (2)")
    everyone = [*choices, *([rival] if rival else [])]
    return Found(
        lambda width: report.parts(
            choices, rival, [*_notes(asked, everyone), *dict.fromkeys(warnings)], window, width
        ),
        lambda: [report.task_record(one, window) for one in everyone],
        lambda: (report.columns(window), everyone),
        lambda: {"break_even": report.break_even_records(choices, rival) if rival else []},
        warnings,
    )


def _choices(asked: AgentTask) -> tuple[list[report.Choice], list[str]]:
    """Return an option for each accuracy of each given or evaluated speed, and warnings."""
    task = _task(asked)
    accuracies = [
        _share(text, "--accuracy") for text in options.names(asked.accuracy, "--accuracy")
    ]
    sources, warnings = (
        ([_given(asked, task)], []) if asked.speed is not None else _evaluated(asked, task)
    )
    return [
        replace(one, option=replace(one.option, accuracy=accuracy))
        for one in sources
        for accuracy in accuracies
    ], warnings


def _task(asked: AgentTask) -> Task:
    judge: float | None = 1.0
    if asked.judge == "majority":
        judge = None
    elif asked.judge != "oracle":
        if not asked.judge[:1].isdigit():
            raise InputError(f"--judge '{shown(asked.judge)}' is not oracle, majority or a share")
        judge = _share(asked.judge, "--judge")
    return Task(
        steps=int(options.number(asked.steps, "--steps", LIMITS["sequences"], 10)),
        tokens=asked.tokens,
        prompt=asked.prompt or 0,
        tool=_least(asked.tool_seconds, "--tool-seconds", zero=True),
        round_trip=_least(asked.round_trip_ms, "--round-trip-ms", zero=True) / 1e3,
        retries=int(options.number(asked.retries, "--retries", LIMITS["tries"], 2, zero=True)),
        samples=int(options.number(asked.best_of, "--best-of", LIMITS["tries"], 5)),
        judge=judge,
        is_serial=asked.serial,
    )


def _given(asked: AgentTask, task: Task) -> report.Choice:
    """Return the option that the user's own speed and price make."""
    speed = _least(asked.speed or 0.0, "--speed")
    given = [name for name in _EVALUATED if getattr(asked, name) is not None]
    if given:
        what = "models" if given[0] == "models" else f"--{given[0]}"
        raise InputError(f"--speed stands for a model on a chip; leave {what} out, or --speed")
    price = math.nan if asked.price is None else _least(asked.price, "--price", zero=True)
    input_price = math.nan if float(task.prompt) else 0.0
    if asked.input_price is not None:
        input_price = _least(asked.input_price, "--input-price", zero=True)
    lead = _least(asked.ttft_ms or 0.0, "--ttft-ms", zero=True) / 1e3
    option = ServingOption(speed=speed, price=price, input_price=input_price, lead=lead)
    return report.Choice(f"{speed:g} tok/s", option, task)


def _evaluated(asked: AgentTask, task: Task) -> tuple[list[report.Choice], list[str]]:
    """Return the options that models on chips make, and what to know of them."""
    for name in ("price", "input_price"):
        if getattr(asked, name) is not None and asked.speed is None:
            flag = f"--{name.replace('_', '-')}"
            raise InputError(f"{flag} goes with --speed; prices of chips follow --price-basis")
    comparison = Compare.like(
        asked,
        on=asked.on or "h100-sxm,gb200,wse-3",
        batch=asked.batch or "1",
        prompt=PROMPT if asked.prompt is None else asked.prompt,
        output=asked.tokens,
        price=None,
    )
    outcomes = [solve(scenario) for scenario in scenarios(comparison)]
    found = [
        _choice(outcome, place, asked, task)
        for outcome in outcomes
        for place in range(len(outcome.scenario.batches))
        if bool(outcome.estimate.fits[place])
    ]
    missing = [
        f"batch {batch:,} of {one.scenario.model.id} does not fit {one.scenario.hardware.id} as "
        "placed: left out"
        for one in outcomes
        for place, batch in enumerate(one.scenario.batches)
        if not bool(one.estimate.fits[place])
    ]
    if not found:
        raise InputError(f"nothing fits: {missing[0].removesuffix(': left out')}")
    return found, [*missing, *(line for one in outcomes for line in one.warnings)]


def _choice(outcome: Outcome, place: int, asked: AgentTask, task: Task) -> report.Choice:
    estimate, scenario, usd = outcome.estimate, outcome.scenario, outcome.usd
    batch, counts_prompt = scenario.batches[place], asked.prompt is not None
    lead = 0.0
    if asked.ttft_ms is not None:
        lead = _least(asked.ttft_ms, "--ttft-ms", zero=True) / 1e3
    elif counts_prompt or asked.window_ms is not None:
        lead = float(estimate.ttft[place])
    option = ServingOption(
        speed=float(estimate.speed[place]),
        price=float(usd[1][place]) if usd else math.nan,
        input_price=float(usd[0][place]) if usd and counts_prompt else 0.0,
        lead=lead,
    )
    name = f"{scenario.model.id} on {scenario.hardware.id} at {batch:,}"
    return report.Choice(name, option, task, scenario.model.id, scenario.hardware.id, batch)


def _against(asked: AgentTask) -> AgentTask:
    """Return the flags of the second option: those of the first, but for what it names."""
    changed: dict[str, Any] = {}
    for part in options.names(asked.against or "", "--against"):
        key, given, value = part.partition("=")
        key = key.strip()
        if not given or not value.strip():
            raise InputError(f"--against '{shown(part)}' is not KEY=VALUE, such as speed=1000")
        key = options.choice(key, "--against", _KEYS).replace("-", "_")
        changed["models" if key == "model" else key] = _value(key, value.strip())
    if "speed" in changed:
        clash = [name for name in _EVALUATED if name in changed]
        if clash:
            raise InputError(f"--against gives speed and {clash[0]}; a speed stands for all of it")
        elsewhere: dict[str, Any] = dict.fromkeys(_EVALUATED)
        changed = elsewhere | {"price": None, "input_price": None, "ttft_ms": None} | changed
    elif any(name in changed for name in _EVALUATED):
        changed = {"speed": None, "price": None, "input_price": None, "ttft_ms": None} | changed
    return replace(asked, **changed, against=None)


def _value(key: str, text: str) -> Any:
    if key == "model":
        return [text]
    if key == "tokens":
        return options.tokens_of("--against tokens")(text)
    if key in ("chips", "retries", "best_of"):
        return 0 if text == "0" else options.whole(text, f"--against {key}", LIMITS["chips"])
    if key in ("speed", "price", "input_price", "ttft_ms"):
        return _real(text, f"--against {key.replace('_', '-')}")
    return text


def _notes(asked: AgentTask, choices: list[report.Choice]) -> list[str]:
    lines = []
    if asked.window_ms is not None:
        lines.append("the gap holds the round trip, the first token and the stream")
        return lines
    lines.append(
        "steps fail independently; a failed run is noticed at no cost and starts afresh; one "
        "success takes one run over its chance on average"
    )
    lines += [limit for limit in map(report.tool_limit, choices) if limit]
    if any(one.model for one in choices):
        lead = "prefill counted" if asked.prompt is not None else "prefill left out (--prompt)"
        lines.append(f"speeds and prices of models on chips are expected values; {lead}")
    if asked.subscription is not None:
        usd, bought = _least(asked.subscription, "--subscription"), []
        for one in choices:
            cost, price = float(one.prospect.usd), float(one.option.price)
            if math.isfinite(cost) and cost > 0 and price > 0:
                bought.append(
                    f"a subscription of {usd:,.0f} USD pays {usd / cost:,.0f} successes by "
                    f"{one.name}, or {usd / price:,.1f} million tokens of output"
                )
        lines += bought or ["without a price of tokens, no subscription can be compared"]
    return lines


def _real(text: str, flag: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{flag} '{shown(text)}' is not a number") from error


def _share(text: str, flag: str) -> float:
    return options.share(_real(text, flag), flag, zero=True)


def _least(value: float, flag: str, *, zero: bool = False) -> float:
    return options.number(value, flag, LIMITS["dollars"], 10, zero=zero)
