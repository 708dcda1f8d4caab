"""The verdict of a decision: who wins, by how much, and what that takes as given."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastcalc.catalogue.stand_ins import service
from fastcalc.mentions import option
from fastcalc.report.numbers_as_text import dollars, number
from fastcalc.services.decide.choice import BreakEven, Choice, Contender

if TYPE_CHECKING:
    from fastcalc.report.decide import Row


def winner(decision: Choice) -> Contender | None:
    """Return the option that wins; None where none ever succeeds, or nothing is known."""
    place = int(decision.winners())
    return decision.options[place] if place >= 0 else None


def seconds(value: float) -> str:
    """Return a time as people say it.

    >>> seconds(0.45), seconds(12.3), seconds(200.0), seconds(7300.0), seconds(float("inf"))
    ('450 ms', '12.3 s', '3.33 min', '2.03 h', 'never')
    """
    if math.isinf(value):
        return "never"
    for unit_seconds, unit in ((3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if value >= unit_seconds:
            return f"{number(value / unit_seconds)} {unit}"
    return f"{number(value * 1e3)} ms"


def _model(option: Contender) -> str:
    """Return what answers of an option: its model, or what a fast mode is the fast mode of."""
    offer = service(option.name)
    return option.model or (offer.fast_mode_of or offer.id if offer else option.name)


def _is_taken_as_right(decision: Choice, listed: "Sequence[Row]") -> bool:
    """Return whether models differ and no accuracy is given of any."""
    plain = [row for row in listed if row.option.routes is None]
    is_accuracy_known = any(
        "accuracy" in row.option.numbers or row.offered("accuracy") < 1.0 for row in plain
    )
    models = {_model(row.option) for row in plain}
    return decision.objective != "window" and not is_accuracy_known and len(models) > 1


def failures(decision: Choice, listed: "Sequence[Row]") -> list[str]:
    """Say when failed steps are found, where any fail and a run has several."""
    may_fail = _is_taken_as_right(decision, listed)
    may_fail |= any(row.offered("accuracy") < 1.0 for row in listed)
    has_steps = any(float(row.terms.steps) > 1 for row in listed)
    if not may_fail or not has_steps or decision.objective == "window":
        return []
    tries = {row.offered("retries") for row in listed if row.option.routes is None}
    if tries == {0.0}:
        ends = "a user repairs the run" if listed[0].terms.repair is not None else "all is redone"
        return [
            f"Assumed: a failed step is found at the end, and {ends} (else {option('retries')})."
        ]
    if len(tries) > 1:
        return ["Assumed: a failed step is found at once or at the end, by each option's retries."]
    retries = f"{tries.pop():g}"
    return [
        f"Assumed: a failed step is found at once and redone, up to {retries} times "
        f"({option('retries')})."
    ]


def verdict(decision: Choice, listed: "Sequence[Row]", flips: Sequence[BreakEven] = ()) -> str:
    """Return who wins and by how much, and where it turns if models are taken as equally right."""
    sentence = _leader(decision, listed)
    if not _is_taken_as_right(decision, listed) or sentence.startswith("No option"):
        return sentence
    first = winner(decision)
    turns = [
        f" {flip.winner} wins where {first.name} is right in fewer than "
        f"{number(100.0 * flip.value)} % of steps and the others in all."
        for flip in flips
        if first is not None and flip.parameter == f"{first.name}.accuracy" and not flip.is_above
    ]
    return f"If they are equally right, {sentence}{''.join(turns)}"


def _leader(decision: Choice, listed: "Sequence[Row]") -> str:
    """Return who wins and by how much, in a sentence."""
    worth = {row.option.name: float(decision.value(row.option)) for row in listed}
    ranked = sorted(worth, key=lambda name: worth[name])
    leading = worth[ranked[0]]
    if math.isinf(leading):
        has_price = "" if decision.objective == "time" else "has both a price and a run that "
        return f"No option {has_price}ever succeeds."
    if decision.objective == "window":
        fit = [f"{name} {math.floor(-worth[name] + 1e-9):,}" for name in ranked]
        return f"Into the gap fit, in tokens: {', '.join(fit)}."
    with_user = " with the user's time" * (decision.objective == "total")
    sentence = f"{ranked[0]} costs least{with_user}, ${dollars(leading)} a success"
    comparison = "as much"
    if decision.objective == "time":
        sentence = f"{ranked[0]} succeeds soonest, in {seconds(leading)} of a user's time"
        comparison = "as long"
    followers = []
    for name in ranked[1:]:
        # Next to what takes nothing, no number of times is as much.
        ratio = worth[name] / leading if leading else 1.0 if worth[name] == leading else math.inf
        factor = "" if ratio < 1.0005 else f"{number(ratio)} times "
        against = f"{factor}{comparison}" if math.isfinite(ratio) else "cannot be compared"
        followers.append(f"{name} {against}")
    return f"{sentence}{': ' if followers else ''}{', '.join(followers)}."


def cached_at_full_price(listed: "Sequence[Row]") -> list[str]:
    """Say whose cached input costs as much as the rest, for want of a price of it."""
    names = [
        row.option.name
        for row in listed
        if row.option.routes is None
        and row.option.model is None
        and row.terms.cached_price is None
        and float(row.terms.cached) * float(row.terms.prompt) * row.offered("input_price") > 0.0
    ]
    if not names:
        return []
    return [
        f"cached input of {', '.join(names)} is counted at the full price of input: give "
        "cached-price in $ a million tokens"
    ]
