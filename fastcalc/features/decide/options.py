"""Parse options: numbers of their own, models on chips, mixes of options, and known services."""

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fastcalc.catalogue.stand_ins import service, services
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import Outcome, each_warning, solve_all
from fastcalc.errors import InputError
from fastcalc.features.decide.choice import Contender
from fastcalc.features.decide.parameters import OF_OPTIONS, OF_TASKS, PARAMETERS, Variable
from fastcalc.features.decide.request import Decide
from fastcalc.kit.request import readers
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.scenarios import scenarios
from fastcalc.mentions import option
from fastcalc.written import shown

PROMPT = 1000
"""Default prompt length for computing speeds. The prefill time is not counted."""

DEFAULTS = ("opus", "opus-fast", "spark")
_DEPLOYED = ("model", "on", "batch", "weights", "kv", "engine", "chips", "speculate")
_MIXED = ("to", "else", "share")
_KEYS = (*OF_OPTIONS, *OF_TASKS, "judge", *_DEPLOYED, *_MIXED)
_EXAMPLE = "fast=speed=170,price=150"


def read_number(text: str, key: str, where: str) -> float:
    """Parse the number of a key in its own unit, and check its limits."""
    parameter = PARAMETERS[key]
    read = (
        readers.share_of(where) if key in ("cached", "share") else readers.number_of(where, float)
    )
    return checked(read(text), parameter, where)


def checked(value: float, parameter: Variable, where: str) -> float:
    """Check a number against a parameter's limit. Raises InputError if it is outside."""
    if parameter.limit.maximum == 1.0:
        return readers.share(value, where, zero=parameter.zero)
    return readers.number(value, where, parameter.limit, 10, zero=parameter.zero)


def parsed(request: Decide, catalogue: Catalogue) -> tuple[list[Contender], list[str], list[str]]:
    """Parse all options in the order typed, and return them with remarks and warnings."""
    contenders: list[Contender] = []
    notes: list[str] = []
    warnings: list[str] = []
    for text in request.options or DEFAULTS:
        name, _, settings = (text, "", "") if os.path.exists(text) else text.partition("=")
        name = name.strip()
        if name in _KEYS and "=" not in settings:
            raise InputError(f"'{shown(text)}' has no name; write for example {_EXAMPLE}")
        keys = _keys(name, settings) if settings else {}
        if any(key in keys for key in ("speed", *_MIXED)):
            new_options = [_plain(name, keys)]
        else:
            new_options, remarks, warned = _named(request, catalogue, name, keys)
            notes += remarks
            warnings += warned
        contenders += new_options
    _check_names(contenders)
    return contenders, notes, warnings


def _keys(name: str, text: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for piece in readers.names(text, name):
        key, equals, value = piece.partition("=")
        key, value = key.strip(), value.strip()
        if not equals or not value:
            raise InputError(
                f"{shown(name)}: '{shown(piece)}' is not KEY=VALUE, such as speed=1000"
            )
        key = readers.choice(key, shown(name), _KEYS)
        if key in keys:
            raise InputError(f"{shown(name)} gives {key} twice; remove one")
        keys[key] = value
    return keys


def _own_numbers(name: str, keys: Mapping[str, str]) -> dict[str, Any]:
    """Parse the numbers that an option sets itself, by field of `Terms`."""
    numbers: dict[str, Any] = {}
    for key, text in keys.items():
        if key in PARAMETERS:
            value = read_number(text, key, f"{shown(name)}: {key}")
            numbers[PARAMETERS[key].field] = value * PARAMETERS[key].scale
        elif key == "judge":
            numbers["judge"] = judge(text, f"{shown(name)}: judge")
    return numbers


def judge(text: str | float, where: str) -> float | None:
    """Parse how reliable the judge of the answers is. Returns None for a majority vote."""
    if not isinstance(text, str):
        return readers.share(text, where, zero=True)
    if text in ("majority", "oracle"):
        return None if text == "majority" else 1.0
    if not text[:1].isdigit():
        raise InputError(f"{where} '{shown(text)}' is not oracle, majority or a share")
    return readers.share(readers.share_of(where)(text), where, zero=True)


def _plain(name: str, keys: dict[str, str]) -> Contender:
    """Parse an option with a speed of its own, or one that routes between two others."""
    if "speed" in keys:
        clash = [key for key in (*_DEPLOYED, *_MIXED) if key in keys]
        if clash:
            raise InputError(
                f"{shown(name)} gives speed and {clash[0]}; a speed already includes it: remove one"
            )
        return Contender(name, _with_plan(name, _own_numbers(name, keys)))
    if set(keys) != set(_MIXED):
        raise InputError(
            f"{shown(name)} is not a mix: write for example both=to=spark,else=opus,share=0.7"
        )
    return Contender(name, _own_numbers(name, {"share": keys["share"]}), (keys["to"], keys["else"]))


def _with_plan(name: str, numbers: dict[str, Any]) -> dict[str, Any]:
    """Derive an option's missing prices from its subscription.

    Without a quota, the plan includes all tokens. With a quota but no price, tokens beyond the
    quota are unavailable.
    """
    for key, required in (("quota", "plan"), ("quota-hours", "quota")):
        if PARAMETERS[key].field in numbers and PARAMETERS[required].field not in numbers:
            raise InputError(
                f"{shown(name)}: {key} goes with {required}; write for example plan=200,quota=2e9"
            )
    if "plan" not in numbers:
        return numbers
    if "quota" not in numbers:
        return {"price": 0.0, "input_price": 0.0, **numbers}
    return (
        numbers if "price" in numbers else {"price": math.nan, "input_price": math.nan, **numbers}
    )


def _named(
    request: Decide, catalogue: Catalogue, name: str, keys: dict[str, str]
) -> tuple[list[Contender], list[str], list[str]]:
    service_name = keys.get("model", name)
    offer = None if service_name in catalogue.names("models") else service(service_name)
    deployed = [key for key in _DEPLOYED if key in keys]
    is_path = "/" in name or name.endswith((".yaml", ".yml", ".json")) or os.path.exists(name)
    if offer is not None and not deployed:
        if offer.speed is None:
            raise InputError(
                f"{name}: no speed of {offer.name} is published ({offer.source}); give one, such "
                f"as {name}=speed=100"
            )
        figures = {"speed": offer.speed, "price": offer.price, "input_price": offer.input_price}
        reported = {field: value for field, value in figures.items() if value is not None}
        source = f"{name}: {offer.name} as published: {offer.source}"
        return [Contender(name, reported | _own_numbers(name, keys))], [source], []
    models = list(offer.shapes) if offer else [keys.get("model", name)]
    if not offer and "model" not in keys and not (is_path or catalogue.knows(name, "models")):
        names = ", ".join(services())
        raise InputError(
            f"'{shown(name)}' is not a known service ({names}) or model; give it a speed, such as "
            f"{shown(name)}=speed=65,price=25, or model=NAME"
        )
    priced = [key for key in ("price", "input-price") if key in keys]
    if priced:
        raise InputError(
            f"{shown(name)}: {priced[0]} goes with speed; prices of chips follow "
            f"{option('price_basis')}"
        )
    where: dict[str, Any] = {"on": request.on or offer.chips} if offer else {}
    contenders, warnings = _evaluated(request, name, models, where | keys)
    remarks = (
        [
            f"{name}: the size of {offer.name} is not published; computed for "
            f"{' and '.join(models)} instead"
        ]
        if offer
        else []
    )
    return contenders, remarks, warnings


def _evaluated(
    request: Decide, name: str, models: list[str], keys: dict[str, Any]
) -> tuple[list[Contender], list[str]]:
    deployment: dict[str, Any] = {key: keys[key] for key in _DEPLOYED[1:] if key in keys}
    if "chips" in deployment:
        chips = read_number(deployment["chips"], "best-of", f"{shown(name)}: chips")
        deployment["chips"] = int(chips)
    numbers = _own_numbers(name, keys)
    output = int(numbers.get("tokens", request.tokens))
    prompt = int(numbers.get("prompt", request.prompt or 0)) or None
    comparison = Evaluated.sharing(
        request,
        **{"on": request.on or "h100-sxm,gb200,wse-3", "batch": request.batch or "1", **deployment},
        models=models,
        prompt=prompt or PROMPT,
        output=output,
        prefix_hit=float(numbers.get("cached", request.cached)),
        price=None,
    )
    warnings: list[str] = []
    outcomes = solve_all(scenarios(comparison, warnings))
    counts_prompt = prompt is not None or request.window_ms is not None
    contenders, missing = [], []
    for outcome in outcomes:
        where = (
            f"{outcome.scenario.model.id} does not fit {outcome.scenario.hardware.id} in "
            "this layout"
        )
        for index, batch in enumerate(outcome.scenario.batches):
            if outcome.estimate.fits[index]:
                contenders.append(_point(outcome, index, numbers, counts_prompt=counts_prompt))
            else:
                missing.append(f"{outcome.refused or f'batch {batch:,} of {where}'}: skipped")
    if not contenders:
        raise InputError(f"{shown(name)}: nothing fits: {missing[0].removesuffix(': skipped')}")
    return _told_apart(name, contenders), [
        *warnings,
        *dict.fromkeys(missing),
        *each_warning(outcomes),
    ]


def _told_apart(name: str, contenders: list[Contender]) -> list[Contender]:
    """Rename options so that their names are distinct."""
    pieces = ("model", "hardware", "batch")
    varying = [
        piece
        for piece in pieces
        if len({getattr(contender, piece) for contender in contenders}) > 1
    ]
    first = str(contenders[0].model) if os.path.exists(name) else name
    return [
        replace(
            contender,
            name="/".join([first, *(str(getattr(contender, piece)) for piece in varying)]),
        )
        for contender in contenders
    ]


def _point(
    outcome: Outcome, index: int, numbers: dict[str, Any], *, counts_prompt: bool
) -> Contender:
    estimate, scenario, usd = outcome.estimate, outcome.scenario, outcome.usd
    batch, low, high = scenario.batches[index], estimate.low, estimate.high
    computed = {
        "speed": float(estimate.speed[index]),
        "price": float(usd[1][index]) if usd else math.nan,
    }
    if counts_prompt:
        computed["lead"] = float(estimate.ttft[index])
        computed["input_price"] = float(usd[0][index]) if usd else math.nan
    ends = None if low is None or high is None else (float(low[index]), float(high[index]))
    where = (scenario.model.id, scenario.hardware.id, batch)
    return Contender("", computed | numbers, None, *where, ends, scenario)


def _check_names(contenders: list[Contender]) -> None:
    names = [contender.name for contender in contenders]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two options are called {shown(name)}; give each a name of its own")
    plain = [contender.name for contender in contenders if contender.routes is None]
    for contender in contenders:
        for piece in contender.routes or ():
            if piece not in plain:
                raise InputError(
                    f"{shown(contender.name)} routes to '{shown(piece)}', which is not an option; "
                    f"options: {', '.join(map(shown, plain)) or 'none'}"
                )
