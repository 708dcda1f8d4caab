"""``fastcalc decide``: compare options by speed, price and accuracy, with break-even values."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from fastcalc.catalogue.limits import LIMITS
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.errors import InputError
from fastcalc.features.decide import options as decide_options
from fastcalc.features.decide.answer import DecideAnswer
from fastcalc.features.decide.choice import Axis, Choice, Contender, Objective, axis, winner_map
from fastcalc.features.decide.options import checked
from fastcalc.features.decide.parameters import PARAMETERS
from fastcalc.features.decide.request import Decide
from fastcalc.kit.request import number_lists, readers
from fastcalc.kit.request.chips import chips_of
from fastcalc.kit.request.loading import catalogue
from fastcalc.kit.request.pricing import basis_of
from fastcalc.mentions import option
from fastcalc.written import ReadingNote, shown
from fastcalc.written import listed as listed_names

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import PlacesGiven

ACROSS, UP = 61, 8
"""Width and height of a map, in characters and lines."""

_TO_ALL = (
    *("steps", "accuracy", "tokens", "cached", "tools", "retries", "best-of", "round-trip-ms"),
    *("check", "repair", "sessions", "look-away", "come-back", "hour", "hours", "budget"),
)
"""Keys of parameters that flags set for all options."""
_FLAGS = {"tools": "tool-seconds", "check": "check-seconds", "repair": "repair-seconds"}
"""Keys whose flags have different names."""


def run(request: Decide) -> DecideAnswer:
    """Compute the time and cost of each option, with break-even values."""
    entries = catalogue(request)
    # Validate these even if no option is a model on chips.
    readers.share(request.utilization, option("utilization"))
    basis_of(request)
    number_lists.numbers(request.batch or "1", option("batch"), LIMITS["sequences"])
    if request.on is not None:
        chips_of(entries, request.on, OWN_MEMORY, [])  # validates the names
    contenders, remarks, warned = decide_options.parsed(request, entries)
    counts_input = bool(request.prompt) or any(
        contender.numbers.get("prompt") for contender in contenders
    )
    listed, uncounted = _levelled(contenders, counts_input=counts_input)
    window = _window(request)
    decision = Choice(listed, _shared(request), _objective(request, window), window)
    winners = None if request.map is None else winner_map(decision, *_axes(request.map, decision))
    sure = [
        contender.name
        for contender in listed
        if "accuracy" not in contender.numbers and not contender.routes
    ]
    if sure and request.accuracy == 1.0 and window is None:
        uncounted.insert(
            0, f"no accuracy is given for {listed_names(sure)}, so every answer counts as right"
        )
    return DecideAnswer(
        request=request,
        decision=decision,
        winners=winners,
        uncounted=uncounted,
        remarks=remarks,
        warned=warned,
        reading=[text for text in warned if isinstance(text, ReadingNote)],
    )


def _window(request: Decide) -> float | None:
    """Parse the window that an answer must fit, if any, in seconds."""
    if request.window_ms is None:
        return None
    limit = PARAMETERS["hour"].limit
    return readers.number(request.window_ms, option("window_ms"), limit, 10) / 1e3


def _shared(request: Decide) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "prompt": float(request.prompt or 0),
        "judge": decide_options.judge(request.judge, option("judge")),
        "is_serial": request.serial,
    }
    for key in _TO_ALL:
        name, parameter = _FLAGS.get(key, key), PARAMETERS[key]
        value = request.values[name.replace("-", "_")]
        if value is not None:
            numbers[parameter.field] = (
                checked(value, parameter, option(name.replace("-", "_"))) * parameter.scale
            )
    return numbers


def _objective(request: Decide, window: float | None) -> Objective:
    if window is not None:
        if request.objective is not None:
            raise InputError(
                f"{option('window_ms')} asks how many tokens fit; remove {option('objective')}"
            )
        return "window"
    if request.objective is None:
        return "time" if request.hour is None else "total"
    objective = readers.choice(request.objective, option("objective"), ("total", "time", "cost"))
    if objective == "total" and request.hour is None:
        raise InputError(
            f"{option('objective')} total includes the user's time: give its value with "
            f"{option('hour', 'USD')}"
        )
    return cast(Objective, objective)


def _levelled(listed: list[Contender], *, counts_input: bool) -> tuple[list[Contender], list[str]]:
    """Count TTFT and input tokens only if all options specify them."""
    notes = []
    for field, label in (("lead", "time to first token"), ("input_price", "price of input")):
        plain = [contender for contender in listed if contender.routes is None]
        lacking = [contender.name for contender in plain if field not in contender.numbers]
        if not lacking:
            continue
        listed = [
            replace(
                contender,
                numbers={key: number for key, number in contender.numbers.items() if key != field},
            )
            for contender in listed
        ]
        if field == "lead" or counts_input:
            partly = f"{label} is not given for {listed_names(lacking)}, so it is ignored for all"
            nowhere = f"{label} is not given, so it is ignored"
            notes.append(partly if len(lacking) < len(plain) else nowhere)
    return listed, notes


def _axes(given: "PlacesGiven", decision: Choice) -> tuple[Axis, Axis]:
    text = readers.as_text(given)
    if isinstance(given, str):
        listed = (piece.partition("=") for piece in readers.names(given, option("map")))
        pieces = [(name, ends) for name, _, ends in listed]
    else:
        pieces = list(given.items())
    if len(pieces) != 2:
        raise InputError(
            f"{option('map')} '{shown(text)}' is not two axes; write for example "
            "tools=0..30,accuracy=0.6..1"
        )
    across, up = (
        _axis(name, ends, decision, points)
        for (name, ends), points in zip(pieces, (ACROSS, UP), strict=True)
    )
    if across.name == up.name:
        raise InputError(f"{option('map')} has {shown(across.name)} on both axes; name two")
    return across, up


def _axis(name: str, ends: str, decision: Choice, points: int) -> Axis:
    text = f"{name}={ends}"
    name, low, high = name.strip(), *(end.strip() for end in ends.partition("..")[::2])
    owner, _, key = name.rpartition(".")
    key = readers.choice(key, option("map"), tuple(PARAMETERS))
    mixes = [option.name for option in decision.options if option.routes]
    plain = [option for option in decision.options if not option.routes]
    owners = mixes if key == "share" else [option.name for option in plain]
    if (owner or key == "share" or key == "speed") and owner not in owners:
        example = f"{owners[0]}.{key}" if owners else "a mix: both=to=spark,else=opus,share=0.7"
        raise InputError(
            f"{option('map')} {shown(name)}: no option has that; write for example {example}"
        )
    field = PARAMETERS[key].field
    if not owner and all(field in option.numbers for option in plain):
        raise InputError(
            f"{option('map')} {key}: every option sets its own; write for example {owners[0]}.{key}"
        )
    if not low or not high:
        raise InputError(
            f"{option('map')} '{shown(text)}' has no two ends; write for example {key}=0.5..1"
        )
    first, last = (
        decide_options.read_number(end, key, f"{option('map')} {name}") for end in (low, high)
    )
    if not first < last:
        raise InputError(f"{option('map')} {shown(text)} is empty; write the smaller end first")
    return axis(name, first, last, points)
