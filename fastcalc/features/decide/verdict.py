"""The verdict of a decision: the winner, its margin, and the assumptions."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastcalc.catalogue.stand_ins import service
from fastcalc.features.decide.choice import BreakEven, Choice, Contender, Objective
from fastcalc.kit.answer.numbers_as_text import dollars, number, percent, seconds
from fastcalc.mentions import option
from fastcalc.written import listed, many

if TYPE_CHECKING:
    from fastcalc.features.decide.rows import Row


def _is_taken_as_right(decision: Choice, offered: "Sequence[Row]") -> bool:
    """Check whether models differ while no option specifies an accuracy."""
    plain = [row for row in offered if row.option.routes is None]
    is_accuracy_known = any(
        "accuracy" in row.option.numbers or row.offered("accuracy") < 1.0 for row in plain
    )
    models = set()
    for contender in (row.option for row in plain):  # a fast mode has its service's model
        name, offer = contender.name, service(contender.name)
        models.add(contender.model or (offer.fast_mode_of or offer.id if offer else name))
    return decision.objective != "window" and not is_accuracy_known and len(models) > 1


def failures(decision: Choice, offered: "Sequence[Row]") -> list[str]:
    """Say when failed steps are noticed, if steps can fail and a run has several of them."""
    may_fail = _is_taken_as_right(decision, offered)
    may_fail |= any(row.offered("accuracy") < 1.0 for row in offered)
    has_steps = any(float(row.terms.steps) > 1 for row in offered)
    if not may_fail or not has_steps or decision.objective == "window":
        return []
    tries = {row.offered("retries") for row in offered if row.option.routes is None}
    if tries == {0.0}:
        ends = (
            "a user repairs the run"
            if offered[0].terms.repair is not None
            else "the run is repeated"
        )
        return [f"Assumed: failures are noticed at the end; {ends} ({option('retries')})."]
    if len(tries) > 1:
        return [
            "Assumed: options with retries notice a failed step at once, and the others at the end "
            "of a run."
        ]
    return [
        "Assumed: a failed step is noticed at once and repeated, up to "
        f"{many(tries.pop(), 'time')} ({option('retries')})."
    ]


def verdict(decision: Choice, offered: "Sequence[Row]", flips: Sequence[BreakEven] = ()) -> str:
    """State the winner and its margin, with break-even accuracies if equal accuracy is assumed."""
    sentence = _leader(decision, offered)
    if not _is_taken_as_right(decision, offered) or sentence.startswith("No option"):
        return sentence
    first = decision.winner
    turns = [
        f" {flip.winner} ranks first if {first.name}'s accuracy is below {percent(flip.value)} "
        f"while {'its own' if len(offered) == 2 else 'that of every other option'} is 100%."
        for flip in flips
        if first is not None
        and flip.parameter == f"{first.name}.accuracy"
        and not flip.is_above
        and number(100.0 * flip.value) != "100"
    ]
    return f"At equal accuracy {sentence}{''.join(turns)}"


def _leader(decision: Choice, offered: "Sequence[Row]") -> str:
    """Name the winner and its margin in a sentence."""
    worth = {row.option.name: float(decision.value(row.option)) for row in offered}
    ranked = sorted(worth, key=lambda name: worth[name])
    leading, first = worth[ranked[0]], decision.winner
    if first is None:
        has_price = "" if decision.objective == "time" else "has both a price and a run that "
        return f"No option {has_price}ever succeeds."
    if decision.objective == "window":
        fit = [f"{name} {math.floor(-worth[name] + 1e-9):,}" for name in ranked]
        return f"Tokens that fit the window: {', '.join(fit)}."
    if decision.objective == "time":
        amount = f"{seconds(leading)} per successful run"
        sentence, comparison = f"{first.name} is fastest, at {amount}", "as long"
    else:
        with_user = ", the user's time included" * (decision.objective == "total")
        sentence, comparison = (
            f"{first.name} is cheapest, at ${dollars(leading)} per successful run{with_user}",
            "as much",
        )
    if len(decision.level) > 1:
        sentence = _level(decision)
    followers, level_names = list[str](), {contender.name for contender in decision.level}
    for name in (name for name in ranked if name not in level_names):
        # A ratio to zero is undefined.
        ratio = worth[name] / leading if leading else math.inf
        takes = "" if followers else f"{_TAKES[decision.objective]} "
        against = f"{takes}{number(ratio)} times{'' if followers else f' {comparison}'}"
        followers.append(f"{name} {against if math.isfinite(ratio) else 'cannot be compared'}")
    return f"{sentence}{'; ' if followers else ''}{', '.join(followers)}."


_TAKES = {"time": "takes", "cost": "costs", "total": "costs"}


def _level(decision: Choice) -> str:
    """Say that options tie on the objective, and which metric decides instead."""
    level = decision.level
    names, (amounts, unit) = [option.name for option in level], _amounts(decision, level)
    word, verb = "both" if len(names) == 2 else "all", _VERBS[decision.objective]
    if len(set(amounts)) == 1:
        sentence = f"{listed(names)} {word} {verb} {amounts[0]}{unit}"
    else:
        amounts_by_name = listed(
            [f"{name} {text}" for name, text in zip(names, amounts, strict=True)]
        )
        sentence = f"{listed(names)} are tied within their 80% ranges: {amounts_by_name}{unit}"
    return sentence + _deciding(decision)


def _deciding(decision: Choice) -> str:
    """Name the metric by which the first of the tied options wins, and any unknown values."""
    objective = decision.decided_by
    priced = [
        option
        for option in decision.level
        if math.isfinite(float(decision.value(option, objective=objective)))
    ]
    unknown = listed([option.name for option in decision.level if option not in priced])
    if not priced:
        return f"; the unknown price of {unknown} would decide"
    (first, *other_amounts), unit = _amounts(decision, priced, objective)
    if not unknown and {first} == {first, *other_amounts}:
        return f", and {_VERBS[objective]} {first}{unit}"
    followers = [
        f"{option.name} {text}" for option, text in zip(priced[1:], other_amounts, strict=True)
    ]
    sentence = (
        f"; {', '.join([f'{priced[0].name} {_VERBS[objective]}s {first}{unit}', *followers])}"
    )
    return sentence + f"; {unknown} has no known price and may be cheaper" * bool(unknown)


_VERBS = {"time": "take", "cost": "cost", "total": "cost"}


def _amounts(
    decision: Choice, level: Sequence[Contender], objective: Objective | None = None
) -> tuple[list[str], str]:
    """Format the times or costs of options, with their unit.

    Costs are per month if the months are equal.
    """
    objective = objective or decision.objective
    values = [float(decision.value(option, objective=objective)) for option in level]
    if objective == "time":
        return [seconds(value) for value in values], " per successful run"
    outlooks = [decision.prospect(option) for option in level]
    months = [float(outlook.month) for outlook in outlooks]
    if objective == "cost" != decision.objective and math.isclose(min(months), max(months)):
        return [f"${dollars(float(outlook.month_usd))}" for outlook in outlooks], "/month"
    unit = " per successful run" + ", the user's time included" * (objective == "total")
    return [f"${dollars(value)}" for value in values], unit


def cached_at_full_price(offered: "Sequence[Row]") -> list[str]:
    """Name the options whose cached input is billed at the full input price."""
    names = [
        row.option.name
        for row in offered
        if row.option.routes is None
        and row.option.model is None
        and row.terms.cached_price is None
        and float(row.terms.cached) * float(row.terms.prompt) * row.offered("input_price") > 0.0
    ]
    if not names:
        return []
    return [
        f"cached input of {', '.join(names)} is billed at the full input price: give "
        "cached-price in $ per million tokens"
    ]
