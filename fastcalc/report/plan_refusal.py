"""Why there is no plan, and which limit to relax to what."""

from math import inf

from fastcalc.mentions import option
from fastcalc.report.rounding import rounded_down, rounded_up
from fastcalc.search.plan.decision import REASONS, Decision
from fastcalc.search.plan.service import Service

FIELDS = {"ttft": "ttft", "tpot": "tpot", "chips": "max_chips"}
"""What limits each value, by its name."""

MOST_NAMED = 12
"""Chips that a sentence names, so that it stays one; JSON names all."""


def refusal(decision: Decision) -> str:
    """Say why there is no plan, and which limit to relax to what."""
    if not decision.candidates:
        return "no layout of these chips holds one request of this model"
    sentence, nearest = "no deployment meets this", decision.nearest
    if options := relaxed(decision):
        sentence += f"; it would with {', or '.join(options)}"
    elif nearest is None:
        reasons = (
            f"{count:,} {REASONS[name]}" for name, count in decision.reasons.items() if count
        )
        sentence += f": {', '.join(reasons)}"
    else:
        needed = " and ".join(
            _limit(name, nearest.values[name], decision.service)
            for name, over in nearest.misses.items()
            if over > 1.0
        )
        name = nearest.scenario.hardware.id
        sentence += f", nor with one limit relaxed; {name} would with {needed}"
    if decision.unknown:
        chips_unknown, how = unknown_chips(decision)
        sentence += f"; {chips_unknown}, which might meet it: {how}"
    return sentence


def unknown_chips(decision: Decision) -> tuple[str, str]:
    """Say of which chips no price or power is known, and how to plan with them all the same."""
    chips = [name for name, _ in decision.unknown.most_common()]
    names = ", ".join(chips[:MOST_NAMED])
    if len(chips) > MOST_NAMED:
        names += f" and {len(chips) - MOST_NAMED} more"
    if decision.service.objective == "watts":
        return f"no power is known of {names}", f"use {option('objective', 'usd')} or chips"
    how = f"give one with {option('price', 'CHIP=USD')}, or use {option('objective', 'chips')}"
    return f"no price is known of {names}", how


def relaxed(decision: Decision) -> list[str]:
    """Return the options that would let a deployment in, each alone."""
    limits = decision.relaxed.items()
    return [_limit(name, value, decision.service) for name, value in limits if value < inf]


def _limit(name: str, value: float, service: Service) -> str:
    """Return an option with a value that is not stricter than a limit."""
    if name == "chips":
        return option("max_chips", f"{value:.0f}")
    if name == "tpot" and service.is_speed:
        return option("min_speed", f"{rounded_down(1.0 / value):g}")
    up = rounded_up(value * 1e3)
    return option(FIELDS[name], f"{up:g}ms" if up < 1e3 else f"{up / 1e3:g}s")
