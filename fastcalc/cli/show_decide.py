"""``fastcalc decide``: options of speed, price and accuracy, who wins, and what flips it."""

import shlex
from dataclasses import replace
from typing import Any, cast

from fastcalc.articles.choice import (
    PARAMETERS,
    Axis,
    Choice,
    Contender,
    Objective,
    axis,
    winner_map,
)
from fastcalc.cli import decide_options, options
from fastcalc.cli.answers import Found
from fastcalc.cli.commands.services import Decide
from fastcalc.cli.decide_options import checked
from fastcalc.cli.flags import declared
from fastcalc.cli.requests import catalogue, chips_of, typed
from fastcalc.core.tier import OWN_MEMORY
from fastcalc.errors import InputError
from fastcalc.report import decided as report
from fastcalc.report import decision_map as maps
from fastcalc.written import shown

ACROSS, UP = 61, 8
"""Points of a map along its axes: the characters and lines that it takes. [1]"""

_TO_ALL = (
    *("steps", "accuracy", "tokens", "cached", "tools", "retries", "best-of", "round-trip-ms"),
    *("check", "repair", "sessions", "look-away", "come-back", "hour", "hours", "budget"),
)
"""Keys of parameters that flags give to all options."""
_FLAGS = {"tools": "tool-seconds", "check": "check-seconds", "repair": "repair-seconds"}
"""Those of other names."""
_NOT_REPEATED = ("options", "map", "notes", "out", "format")


def run(asked: Decide) -> Found:
    """Decide between options and write it in a format."""
    entries = catalogue(asked)
    options.share(asked.utilization, "--utilization")  # whether or not a machine is rented
    if asked.on is not None:
        chips_of(entries, asked.on, OWN_MEMORY)  # wrong names are refused, whoever uses them
    given, said, warned = decide_options.parsed(asked, entries)
    counts_input = bool(asked.prompt) or any(one.numbers.get("prompt") for one in given)
    listed, uncounted = _levelled(given, counts_input=counts_input)
    window = None
    if asked.window_ms is not None:
        window = options.number(asked.window_ms, "--window-ms", PARAMETERS["hour"].limit, 10) / 1e3
    found = Choice(listed, _shared(asked), _objective(asked, window), window)
    drawn = None if asked.map is None else winner_map(found, *_axes(asked.map, found))
    sure = [one.name for one in listed if "accuracy" not in one.numbers and not one.routes]
    if sure and asked.accuracy == 1.0 and window is None:
        uncounted.insert(
            0, f"accuracy of {', '.join(sure)} is not given: every answer is taken as right"
        )
    notes = [*uncounted, *report.notes(found), *said, *dict.fromkeys(warned)]
    then = _next(asked, found)
    return Found(
        lambda screen: report.parts(found, drawn, notes, then, screen),
        lambda: maps.records(found, drawn) if drawn else report.records(found),
        lambda: (report.columns(found), report.rows(found)),
        lambda: {
            "objective": found.objective,
            "break_even": report.flip_records(found),
            **({"options": report.records(found)} if drawn else {}),
        },
        [*uncounted, *warned],
    )


def _shared(asked: Decide) -> dict[str, Any]:
    found: dict[str, Any] = {
        "prompt": float(asked.prompt or 0),
        "judge": decide_options.judge(asked.judge, "--judge"),
        "is_serial": asked.serial,
    }
    for key in _TO_ALL:
        name, parameter = _FLAGS.get(key, key), PARAMETERS[key]
        value = getattr(asked, name.replace("-", "_"))
        if value is not None:
            found[parameter.field] = checked(value, parameter, f"--{name}") * parameter.scale
    return found


def _objective(asked: Decide, window: float | None) -> Objective:
    if window is not None:
        if asked.objective is not None:
            raise InputError("--window-ms asks for what fits the gap; leave --objective out")
        return "window"
    if asked.objective is None:
        return "time" if asked.hour is None else "total"
    found = options.choice(asked.objective, "--objective", ("total", "time", "cost"))
    if found == "total" and asked.hour is None:
        raise InputError("--objective total adds a user's time: give its worth with --hour USD")
    return cast(Objective, found)


def _levelled(listed: list[Contender], *, counts_input: bool) -> tuple[list[Contender], list[str]]:
    """Return options of which none has the first token or the input counted unless all have."""
    said = []
    for field, what in (("lead", "time to first token"), ("input_price", "price of input")):
        plain = [one for one in listed if one.routes is None]
        lacking = [one.name for one in plain if field not in one.numbers]
        if not lacking:
            continue
        listed = [
            replace(one, numbers={key: each for key, each in one.numbers.items() if key != field})
            for one in listed
        ]
        if field == "lead" or counts_input:
            some = f"{what} of {', '.join(lacking)} is not given: counted for none"
            none = f"{what} is not given and not counted"
            said.append(some if len(lacking) < len(plain) else none)
    return listed, said


def _axes(text: str, found: Choice) -> tuple[Axis, Axis]:
    parts = options.names(text, "--map")
    if len(parts) != 2:
        raise InputError(
            f"--map '{shown(text)}' is not two axes; write for example tools=0..30,accuracy=0.6..1"
        )
    across, up = (
        _axis(one, found, points) for one, points in zip(parts, (ACROSS, UP), strict=True)
    )
    if across.name == up.name:
        raise InputError(f"--map has {shown(across.name)} on both axes; name two")
    return across, up


def _axis(text: str, found: Choice, points: int) -> Axis:
    name, _, ends = text.partition("=")
    name, low, high = name.strip(), *(one.strip() for one in ends.partition("..")[::2])
    owner, _, key = name.rpartition(".")
    key = options.choice(key, "--map", tuple(PARAMETERS))
    mixes = [one.name for one in found.options if one.routes]
    owners = mixes if key == "share" else [one.name for one in found.options if not one.routes]
    if (owner or key == "share" or key == "speed") and owner not in owners:
        example = f"{owners[0]}.{key}" if owners else "a mix: both=to=spark,else=opus,share=0.7"
        raise InputError(
            f"--map {shown(name)}: no option here has that; write for example {example}"
        )
    field = PARAMETERS[key].field
    if not owner and all(field in one.numbers for one in found.options if not one.routes):
        raise InputError(
            f"--map {key}: every option gives its own; write for example {owners[0]}.{key}"
        )
    if not low or not high:
        raise InputError(f"--map '{shown(text)}' has no two ends; write for example {key}=0.5..1")
    first, last = (decide_options.read_number(one, key, f"--map {name}") for one in (low, high))
    if not first < last:
        raise InputError(f"--map {shown(text)} goes nowhere; write the smaller end first")
    return axis(name, first, last, points)


def _next(asked: Decide, found: Choice) -> str:
    """Return a command that draws the map of what flips the verdict soonest, or shows all of it."""
    words = ["fastcalc", "decide", *(asked.options or decide_options.DEFAULTS)]
    for name in declared(Decide):
        value = getattr(asked, name)
        if name not in _NOT_REPEATED and value != getattr(Decide, name):
            words += typed(name, f"{value:g}" if isinstance(value, float) else value)
    if asked.map is not None or asked.window_ms is not None:
        return shlex.join([*words, "--notes"])
    plain = [one.name for one in found.options if one.routes is None]
    return shlex.join([*words, "--map", f"tools=0..30,{plain[-1]}.accuracy=0.5..1"])
