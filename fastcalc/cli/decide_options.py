"""What options of a decision may say: numbers of their own, models on chips, mixes, services."""

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fastcalc.articles.choice import OF_OPTIONS, OF_TASKS, PARAMETERS, Contender, Variable
from fastcalc.catalogue.stand_ins import service, services
from fastcalc.catalogue.store import Catalogue
from fastcalc.cli import options
from fastcalc.cli.commands.evaluation import Compare
from fastcalc.cli.commands.services import Decide
from fastcalc.cli.requests import scenarios
from fastcalc.core.scenario import Outcome, solve
from fastcalc.errors import InputError
from fastcalc.written import shown

PROMPT = 1000
"""Prompt at which speeds are evaluated where none is asked for; then it costs no time."""

DEFAULTS = ("opus", "opus-fast", "spark")
_DEPLOYED = ("model", "on", "batch", "weights", "kv", "engine", "chips", "speculate")
_MIXED = ("to", "else", "share")
_KEYS = (*OF_OPTIONS, *OF_TASKS, "judge", *_DEPLOYED, *_MIXED)
_EXAMPLE = "fast=speed=170,price=150"


def read_number(text: str, key: str, where: str) -> float:
    """Return the number of a key in its own unit, within its limit."""
    parameter = PARAMETERS[key]
    try:
        value = options.share_of(where)(text) if key in ("cached", "share") else float(text)
    except ValueError:
        raise InputError(f"{where} '{shown(text)}' is not a number") from None
    return checked(value, parameter, where)


def checked(value: float, parameter: Variable, where: str) -> float:
    """Return a number within the limit of a parameter, or refuse it."""
    if parameter.limit.maximum == 1.0:
        return options.share(value, where, zero=parameter.zero)
    return options.number(value, where, parameter.limit, 10, zero=parameter.zero)


def parsed(asked: Decide, catalogue: Catalogue) -> tuple[list[Contender], list[str], list[str]]:
    """Return every option, in the order typed, what to know of them, and warnings."""
    found: list[Contender] = []
    notes: list[str] = []
    warnings: list[str] = []
    for text in asked.options or DEFAULTS:
        name, _, rest = (text, "", "") if os.path.exists(text) else text.partition("=")
        name = name.strip()
        if name in _KEYS and "=" not in rest:
            raise InputError(f"'{shown(text)}' has no name; write for example {_EXAMPLE}")
        keys = _keys(name, rest) if rest else {}
        if any(key in keys for key in ("speed", *_MIXED)):
            made = [_plain(name, keys)]
        else:
            made, said, warned = _named(asked, catalogue, name, keys)
            notes += said
            warnings += warned
        found += made
    _check_names(found)
    return found, notes, warnings


def _keys(name: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in options.names(text, name):
        key, given, value = part.partition("=")
        key, value = key.strip(), value.strip()
        if not given or not value:
            raise InputError(f"{shown(name)}: '{shown(part)}' is not KEY=VALUE, such as speed=1000")
        key = options.choice(key, shown(name), _KEYS)
        if key in found:
            raise InputError(f"{shown(name)} gives {key} twice; leave one out")
        found[key] = value
    return found


def _own(name: str, keys: Mapping[str, str]) -> dict[str, Any]:
    """Return the numbers of an option's own, by the field of the terms."""
    found: dict[str, Any] = {}
    for key, text in keys.items():
        if key in PARAMETERS:
            value = read_number(text, key, f"{shown(name)}: {key}")
            found[PARAMETERS[key].field] = value * PARAMETERS[key].scale
        elif key == "judge":
            found["judge"] = judge(text, f"{shown(name)}: judge")
    return found


def judge(text: str, where: str) -> float | None:
    """Return how surely one of several answers is taken; None for a majority."""
    if text in ("majority", "oracle"):
        return None if text == "majority" else 1.0
    if not text[:1].isdigit():
        raise InputError(f"{where} '{shown(text)}' is not oracle, majority or a share")
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{where} '{shown(text)}' is not a number") from None
    return options.share(value, where, zero=True)


def _plain(name: str, keys: dict[str, str]) -> Contender:
    """Return the option that a speed of its own makes, or one that routes between two others."""
    if "speed" in keys:
        clash = [key for key in (*_DEPLOYED, *_MIXED) if key in keys]
        if clash:
            raise InputError(
                f"{shown(name)} gives speed and {clash[0]}; a speed stands for all of it: leave "
                "one out"
            )
        return Contender(name, _with_plan(name, _own(name, keys)))
    if set(keys) != set(_MIXED):
        raise InputError(
            f"{shown(name)} is not a mix: write for example both=to=spark,else=opus,share=0.7"
        )
    return Contender(name, _own(name, {"share": keys["share"]}), (keys["to"], keys["else"]))


def _with_plan(name: str, own: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of an option with what a subscription makes of prices left out.

    Without a quota it includes all tokens; beyond one without a price there are no more.
    """
    for key, other in (("quota", "plan"), ("quota-hours", "quota")):
        if PARAMETERS[key].field in own and PARAMETERS[other].field not in own:
            raise InputError(
                f"{shown(name)}: {key} goes with {other}; write for example plan=200,quota=2e9"
            )
    if "plan" not in own:
        return own
    if "quota" not in own:
        return {"price": 0.0, "input_price": 0.0, **own}
    return own if "price" in own else {"price": math.nan, "input_price": math.nan, **own}


def _named(
    asked: Decide, catalogue: Catalogue, name: str, keys: dict[str, str]
) -> tuple[list[Contender], list[str], list[str]]:
    asked_for = keys.get("model", name)
    known = None if asked_for in catalogue.names("models") else service(asked_for)
    deployed = [key for key in _DEPLOYED if key in keys]
    is_path = "/" in name or name.endswith((".yaml", ".yml", ".json")) or os.path.exists(name)
    if known is not None and not deployed:
        if known.speed is None:
            raise InputError(
                f"{name}: no speed of {known.name} is reported ({known.source}); give it one, such "
                f"as {name}=speed=100"
            )
        figures = {"speed": known.speed, "price": known.price, "input_price": known.input_price}
        reported = {field: value for field, value in figures.items() if value is not None}
        source = f"{name}: {known.name} as reported: {known.source}"
        return [Contender(name, reported | _own(name, keys))], [source], []
    models = list(known.shapes) if known else [keys.get("model", name)]
    if not known and "model" not in keys and not (is_path or catalogue.knows(name, "models")):
        names = ", ".join(services())
        raise InputError(
            f"'{shown(name)}' is no service ({names}) and no model; give it a speed, such as "
            f"{shown(name)}=speed=65,price=25, or model=NAME"
        )
    priced = [key for key in ("price", "input-price") if key in keys]
    if priced:
        raise InputError(
            f"{shown(name)}: {priced[0]} goes with speed; prices of chips follow --price-basis"
        )
    where = {"on": asked.on or known.chips} if known else {}
    found, warnings = _evaluated(asked, name, models, where | keys)
    said = (
        [f"{name}: {known.name} is not published; {' and '.join(models)} stand in"] if known else []
    )
    return found, said, warnings


def _evaluated(
    asked: Decide, name: str, models: list[str], keys: dict[str, str]
) -> tuple[list[Contender], list[str]]:
    given: dict[str, Any] = {key: keys[key] for key in _DEPLOYED[1:] if key in keys}
    if "chips" in given:
        given["chips"] = int(read_number(given["chips"], "best-of", f"{shown(name)}: chips"))
    own = _own(name, keys)
    output = int(own.get("tokens", asked.tokens))
    prompt = int(own.get("prompt", asked.prompt or 0)) or None
    comparison = Compare.like(
        asked,
        **{"on": asked.on or "h100-sxm,gb200,wse-3", "batch": asked.batch or "1", **given},
        models=models,
        prompt=prompt or PROMPT,
        output=output,
        prefix_hit=float(own.get("cached", asked.cached)),
        price=None,
    )
    outcomes = [solve(scenario) for scenario in scenarios(comparison)]
    counts_prompt = prompt is not None or asked.window_ms is not None
    found, missing = [], []
    for one in outcomes:
        where = f"{one.scenario.model.id} does not fit {one.scenario.hardware.id} as placed"
        for place, batch in enumerate(one.scenario.batches):
            if one.estimate.fits[place]:
                found.append(_point(one, place, own, counts_prompt=counts_prompt))
            else:
                missing.append(f"batch {batch:,} of {where}: left out")
    if not found:
        raise InputError(f"{shown(name)}: nothing fits: {missing[0].removesuffix(': left out')}")
    parts = ("model", "hardware", "batch")
    varying = [part for part in parts if len({getattr(one, part) for one in found}) > 1]
    first = str(found[0].model) if os.path.exists(name) else name
    found = [
        replace(one, name="/".join([first, *(str(getattr(one, part)) for part in varying)]))
        for one in found
    ]
    return found, [*missing, *(line for one in outcomes for line in one.warnings)]


def _point(outcome: Outcome, place: int, own: dict[str, Any], *, counts_prompt: bool) -> Contender:
    estimate, scenario, usd = outcome.estimate, outcome.scenario, outcome.usd
    batch = scenario.batches[place]
    computed = {
        "speed": float(estimate.speed[place]),
        "price": float(usd[1][place]) if usd else math.nan,
    }
    if counts_prompt:
        computed["lead"] = float(estimate.ttft[place])
        computed["input_price"] = float(usd[0][place]) if usd else math.nan
    return Contender("", computed | own, None, scenario.model.id, scenario.hardware.id, batch)


def _check_names(found: list[Contender]) -> None:
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two options are called {shown(name)}; give each a name of its own")
    plain = [one.name for one in found if one.routes is None]
    for one in found:
        for part in one.routes or ():
            if part not in plain:
                raise InputError(
                    f"{shown(one.name)} routes to '{shown(part)}', which is no option here; "
                    f"there are {', '.join(map(shown, plain)) or 'none'}"
                )
