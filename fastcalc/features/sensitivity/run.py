"""``fastcalc sensitivity``: effects of parameters, and values that reach a target."""

import re
from typing import TYPE_CHECKING

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.units import UNITS
from fastcalc.core.outcome import Outcome, solve_all
from fastcalc.errors import InputError
from fastcalc.features.sensitivity.answer import TABLE, MovedBatch, SensitivityAnswer, batches_of
from fastcalc.features.sensitivity.effects import effects
from fastcalc.features.sensitivity.figures import MovedFigures
from fastcalc.features.sensitivity.moved_numbers import COLUMNS
from fastcalc.features.sensitivity.request import Sensitivity
from fastcalc.features.sensitivity.targets import Target, goals
from fastcalc.kit.answer import outcome_lines, progress
from fastcalc.kit.answer.answer import Answer, NoAnswer
from fastcalc.kit.request import readers
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.readers import as_text
from fastcalc.kit.request.scenarios import scenarios
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import NumberGiven


_TARGET = re.compile(r"(\$?)\s*([0-9]+(?:\.[0-9]+)?)\s*([^0-9\s].*)?")
_SPEEDS = ("", "tok/s", "tokens/s", "tps")
_DOLLARS = ("$/Mtok", "USD/Mtok", "/Mtok")


def target(text: "NumberGiven") -> Target:
    """Parse a target. Its unit determines the metric.

    >>> target("0.5$/Mtok"), target("200 ms")
    (Target(figure='usd', value=0.5), Target(figure='ttft', value=0.2))
    >>> target(1000)
    Target(figure='speed', value=1000.0)
    """
    match = _TARGET.fullmatch(str(text).strip())
    sign, digits, unit = match.groups() if match else ("", "0", "")
    value, unit = float(digits), (unit or "").strip()
    if unit in UNITS["time"] and not sign:
        value, figure = value * UNITS["time"][unit], "ttft"
    elif unit in _DOLLARS and (sign != "") == (unit == "/Mtok"):
        figure = "usd"
    else:
        figure = "speed"
    is_known = figure != "speed" or (unit in _SPEEDS and not sign)
    if not is_known or value not in LIMITS["speed" if figure == "speed" else "dollars"]:
        raise InputError(
            f"{option('target')} '{shown(text)}' is not a target; write 1000 for tokens/s "
            "per user, 200ms for TTFT, or 0.5$/Mtok"
        )
    return Target(figure, value)


_MOST_BATCHES = 12


def run(request: Sensitivity) -> Answer:
    """Vary every parameter at each batch. The answer is "no" if nothing reaches a target."""
    aim = None if request.target is None else target(request.target)
    reading: list[str] = []
    outcomes = _outcomes(request, reading)
    too_large = list(dict.fromkeys(line for outcome in outcomes for line in _too_large(outcome)))
    if not any(outcome.estimate.fits.any() for outcome in outcomes):
        return NoAnswer(
            request=request,
            reading=reading,
            reasons=list(map(outcome_lines.unfit, outcomes)),
            asked_keys=[column.key for column in COLUMNS],
            columns=TABLE,
        )
    if aim and aim.figure == "usd" and any(outcome.usd is None for outcome in outcomes):
        chip, basis = outcomes[0].scenario.hardware.id, outcomes[0].scenario.pricing.name
        raise InputError(
            f"{option('target', request.target)}: {chip} has no {basis} price; set one with "
            f"{option('price', f'{chip}=USD')}"
        )
    batches: list[MovedBatch] = []
    for outcome in outcomes:
        figures = MovedFigures(outcome.on_its_layout)
        progress.say("values that reach the target")
        reached = goals(outcome, aim, figures) if aim else {}
        progress.say("effect of each number")
        batches += batches_of(outcome, effects(outcome, figures), reached)
    return SensitivityAnswer(
        request=request, reading=[*reading, *too_large], outcomes=outcomes, batches=batches
    )


def _too_large(outcome: Outcome) -> list[str]:
    """Name the batches that do not fit, and the number of chips each would need."""
    if outcome.refused:
        return [outcome.refused]
    batches = zip(outcome.scenario.batches, outcome.estimate.fits, outcome.min_chips, strict=True)
    return [
        f"batch {batch:,} needs {option('chips', fewest)}"
        if fewest
        else f"batch {batch:,} does not fit"
        for batch, fits, fewest in batches
        if not fits
    ]


def _outcomes(request: Sensitivity, notes: list[str]) -> list[Outcome]:
    """Return the outcomes of the models on the single requested chip."""
    chips = readers.names(request.on, option("on"))
    if len(chips) > 1 or chips == ["all"]:
        raise InputError(
            f"{option('on')} {as_text(request.on)}: sensitivity is computed for one chip; name one"
        )
    comparison = Evaluated.sharing(request, models=[request.model])
    asked = scenarios(comparison, notes)
    batches = max(len(scenario.batches) for scenario in asked)
    if batches > _MOST_BATCHES:
        raise InputError(
            f"{option('batch')} names {batches:,} batches, and every number is varied at each: "
            f"name at most {_MOST_BATCHES}, such as 1..1024x2"
        )
    return solve_all(asked)
