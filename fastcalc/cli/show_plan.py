"""``fastcalc plan``: the deployments that meet a service, the cheapest first."""

import re
from math import inf
from typing import cast

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.units import parse_quantity
from fastcalc.cli import options, output, requests
from fastcalc.cli.answers import Found, no
from fastcalc.cli.commands.search import FindPlans
from fastcalc.cli.speculate import speculations
from fastcalc.core.formats_run import four_bits
from fastcalc.core.scenario import check_context
from fastcalc.errors import InputError
from fastcalc.report import commands, plan_table
from fastcalc.report import plan as report
from fastcalc.report.numbers_as_text import many
from fastcalc.search.plan.candidates import candidates, deployments
from fastcalc.search.plan.decide import decide
from fastcalc.search.plan.service import Objective, Service
from fastcalc.search.sweep.grid import Grid
from fastcalc.written import shown

_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:/(s|min|h))?")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def run(asked: FindPlans) -> Found:
    """Search, write the plans, and return the exit code: 1 where there is none."""
    options.number(asked.top, "--top", LIMITS["sequences"], 5)
    service = _service(asked)
    found = decide(_grids(asked, service), service, shown=asked.top)
    if not found.plans:
        return no(
            [report.refusal(found)],
            report.KEYS,
            plan_table.columns(service),
            lambda: report.details(found, _typed(asked)),
        )
    plans, typed = found.plans[: asked.top], _typed(asked)

    return Found(
        lambda screen: plan_table.parts(found, asked.top, _phrase(asked), typed, screen),
        lambda: report.plan_records(plans, service, typed),
        lambda: (plan_table.columns(service), report.unrounded(plans, service, commands.Typed())),
        lambda: report.details(found, typed),
    )


def _service(asked: FindPlans) -> Service:
    tpot, is_speed = _seconds(asked.tpot, "--tpot"), False
    if asked.min_speed is not None:
        options.number(asked.min_speed, "--min-speed", LIMITS["speed"], 50)
        is_speed, tpot = 1.0 / asked.min_speed < tpot, min(tpot, 1.0 / asked.min_speed)
    chips = options.ranks(asked.max_chips, "--max-chips")
    ttft, rate, share = _seconds(asked.ttft, "--ttft"), _rate(asked.rate), None
    if asked.percentile is not None:
        if asked.ttft is None:
            raise InputError("--percentile is of requests that meet --ttft; give that too, as 1s")
        if not 50 <= asked.percentile <= 99.99:
            raise InputError(
                f"--percentile {asked.percentile:g} is not from 50 to 99.99; write for example 99"
            )
        share = asked.percentile / 100.0
    load, flag = asked.load, "--load"
    if asked.utilization is not None:
        load, flag = asked.utilization, "--utilization"
        output.warn(["plan --utilization is now --load, and goes in the next minor version"])
    objective = options.choice(asked.objective, "--objective", ("usd", "watts", "chips"))
    return Service(
        prompt=float(asked.prompt),
        output=float(asked.output),
        ttft=ttft,
        tpot=tpot,
        rate=rate,
        share=share,
        max_chips=inf if chips is None else chips,
        utilization=options.share(load, flag),
        is_speed=is_speed,
        objective=cast(Objective, objective),
        prefix_hit=options.share(asked.prefix_hit, "--prefix-hit", zero=True),
        any_weights=asked.weights is not None,
        any_cache=asked.kv is not None,
    )


def _grids(asked: FindPlans, service: Service) -> list[Grid]:
    entries = requests.catalogue(asked)
    (model, *_) = requests.models_of(entries, [asked.model])
    tokens = service.prompt + service.output
    check_context(model, tokens, f"prompt + output = {tokens:,.0f} tokens")
    memory = requests.memory_of(entries, asked)
    chips = requests.chips_of(entries, asked.on, memory)
    engines = requests.engines_of(entries, chips, asked.engine)
    entries.refuse_idle_changes("engines", [engine for engine, _ in engines])
    pricing = requests.pricing_of(chips, asked, utilization=1.0)
    choices = _formats(asked, chips)
    speculated = speculations(asked.speculate)
    scenarios = (
        scenario
        for chip, engine in zip(chips, engines, strict=True)
        if chip.id in choices
        for scenario in deployments(
            model,
            [(chip, *engine)],
            **choices[chip.id],
            speculations=speculated,
            pricing=pricing,
            memory=memory,
            prefix_hit=service.prefix_hit,
        )
    )
    grids = (candidates(one, prompt=service.prompt, output=service.output) for one in scenarios)
    return [grid for grid in grids if grid is not None]


def _formats(asked: FindPlans, chips: list[Hardware]) -> dict[str, dict[str, list[str] | None]]:
    """Return the weight and cache formats asked of each chip that has units for one of each."""
    weights = options.names_if_any(asked.weights, "--weights")
    kv = options.names_if_any(asked.kv, "--kv")
    found = {
        chip.id: {"weights": _in_full(weights, chip), "kv": _in_full(kv, chip, cache=True)}
        for chip in chips
    }
    kept = {chip: choice for chip, choice in found.items() if [] not in choice.values()}
    if not kept:
        flag = "--weights" if all(one["weights"] == [] for one in found.values()) else "--kv"
        raise InputError(
            f"{flag} fp4: no chip of --on has units for that; name one that does, such as b200"
        )
    if len(kept) < len(found):
        less = len(found) - len(kept)
        output.warn([f"fp4: {less} of {len(found)} chips have no units for it, and are left out"])
    return kept


def _typed(asked: FindPlans) -> commands.Typed:
    """Return what a command must repeat: files by the paths typed, and folders."""
    entries = requests.catalogue(asked)
    names = {entries.model(asked.model).id: asked.model}
    if not requests.is_all(asked.on):
        typed = options.names(asked.on, "--on")
        names |= {entries.hardware(name).id: name for name in typed}
    names |= {entries.engine(asked.engine).id: asked.engine} if asked.engine else {}
    return commands.Typed(names, requests.as_typed(asked))


def _phrase(asked: FindPlans) -> str:
    tokens = many(asked.output, "token")
    cached = f" ({asked.prefix_hit * 100:g} % cached)" if asked.prefix_hit else ""
    words = [f"{asked.model}, prompts of {asked.prompt:,}{cached} and outputs of {tokens}"]
    of = f" for {asked.percentile:g} % of requests" if asked.percentile else ""
    words += [f"TTFT up to {asked.ttft}{of}"] if asked.ttft else []
    words += [f"TPOT up to {asked.tpot}"] if asked.tpot else []
    words += [f"at least {asked.min_speed:g} tokens/s a user"] if asked.min_speed else []
    rate, _, unit = (asked.rate or "").partition("/")
    noun = "request" if rate and float(rate) == 1 else "requests"
    words += [f"{rate.strip()} {noun}/{unit.strip() or 's'}"] if rate else []
    words += [f"at most {asked.max_chips:,} chips"] if asked.max_chips else []
    return ", ".join(words)


def _in_full(formats: list[str] | None, chip: Hardware, *, cache: bool = False) -> list[str] | None:
    """Return formats with ``fp4`` as what the chip multiplies, left out where it cannot be."""
    if formats is None:
        return None
    four = four_bits(chip)
    if four is not None and cache and number_format(four).cache_bits is None:
        four = None
    found = (four if name == "fp4" else name for name in formats)
    return list(dict.fromkeys(name for name in found if name is not None))


def _seconds(text: str | None, flag: str) -> float:
    if text is None:
        return inf
    try:
        value = parse_quantity(text, "time")
    except InputError:
        value = 0.0
    if value not in LIMITS["duration"]:
        raise InputError(
            f"{flag} '{shown(text, 40)}' is not a time with its unit {LIMITS['duration']}; "
            "write for example 25ms or 1s"
        )
    return value


def _rate(text: str | None) -> float | None:
    if text is None:
        return None
    match = _RATE.fullmatch(text.strip())
    rate = float(match[1]) / _SECONDS[match[2] or "s"] if match else 0.0
    if rate not in LIMITS["speed"]:
        raise InputError(
            f"--rate '{shown(text, 40)}' is not a rate of requests {LIMITS['speed']} a second; "
            "write for example 20/s or 300/min"
        )
    return rate
