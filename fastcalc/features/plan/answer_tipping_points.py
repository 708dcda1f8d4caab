"""Tipping points for the choice of the cheapest chip, as notes and records."""

from collections.abc import Iterator

from fastcalc.features.plan.tipping_points import TippingPoint
from fastcalc.features.plan.verdict import Verdict
from fastcalc.kit.answer.point_records import Record, plain
from fastcalc.kit.answer.rounding import rounded_down, rounded_up

_WORDS = {
    "price": "{of} {side} ${at} per chip-hour",
    "slowness": "{of} {at} times slower",
    "rate": "{at} requests/s or {more}",
    "prompt": "prompts of {at} tokens or {more}",
    "output": "outputs of {at} tokens or {more}",
}


def tipping_point_notes(verdict: Verdict) -> Iterator[str]:
    """Notes on the tipping points, each taken alone, grouped by the new leader."""
    for leads in dict.fromkeys(turn.leads for turn in verdict.turns or ()):
        texts = (_text(turn) for turn in verdict.turns or () if turn.leads == leads)
        yield f"{leads} would win with any one of these: {', '.join(texts)}"
    if verdict.turns == []:
        yield "nothing changes the answer: no two chips with colocated prefill sustain a rate"


def _text(turn: TippingPoint) -> str:
    digits = f"{(rounded_up if turn.is_above else rounded_down)(turn.at):,g}"
    side, more = ("from", "more") if turn.is_above else ("up to", "fewer")
    return _WORDS[turn.quantity].format(of=turn.of, side=side, at=digits, more=more)


def tipping_point_records(verdict: Verdict) -> list[Record] | None:
    """Record of each tipping point; None if not requested."""
    if verdict.turns is None:
        return None
    return [
        {
            "quantity": turn.quantity,
            "of": turn.of,
            "at": plain(turn.at),
            "side": "above" if turn.is_above else "below",
            "leads": turn.leads,
        }
        for turn in verdict.turns
    ]
