"""An option: a serving point that reaches the target speed, or why there is none."""

from dataclasses import dataclass

from fastcalc.core.outcome import Outcome
from fastcalc.grid.largest_batch import Reach


@dataclass(frozen=True, eq=False)
class Option:
    """One technique for higher speed, with its cheapest serving point.

    trick, change : The technique (a key of `TRICKS`), and the change in words.
    outcome, why_not : The cheapest point that reaches the speed, or why none does.
    fastest : The highest expected speed if none reaches it, or 0 if no layout fits. [1/s]
    tricks, is_ruled_out : The number of techniques [1], and whether the request excludes them.
    """

    trick: str
    change: str
    outcome: Outcome | None = None
    why_not: str | None = None
    fastest: float = 0.0
    tricks: int = 1
    is_ruled_out: bool = False

    @property
    def usd(self) -> float | None:
        """The price per million output tokens, or None without a serving point or a price. [USD]"""
        if self.outcome is None or self.outcome.usd is None:
            return None
        return float(self.outcome.usd[1][0])


TRICKS = {
    "smaller-batch": "smaller batch",
    "other-layout": "other layout",
    "more-chips": "more chips",
    "newer-hardware": "newer hardware",
    "other-hardware": "other hardware",
    "fewer-bits": "quantization",
    "speculation": "speculation",
    "smaller-model": "other model",
    "sram-machine": "SRAM accelerator",
    "two-tricks": "two techniques",
    "three-tricks": "three techniques",
    "four-tricks": "four techniques",
}
"""Techniques in the order of the table, with their names in text."""


def option_of(trick: str, change: str, reach: Reach, speed: float) -> Option:
    """Build an option from a search: its serving point, or why none was found."""
    if reach.outcome is not None:
        return Option(trick, change, reach.outcome)
    why_not = f"at most {reach.fastest:,.0f} tokens/s expected at batch 1"
    if not reach.is_placed:
        why_not = "no layout fits it"
    elif reach.bound < speed:
        why_not = f"hardware bound is {reach.bound:,.0f} tokens/s"
    return Option(trick, change, why_not=why_not, fastest=reach.fastest)


def in_order(options: list[Option]) -> list[Option]:
    """Sort options by price, then by number of techniques.

    Options without a price or a serving point come last.
    """

    def key(option: Option) -> tuple[bool, bool, float, int, float]:
        is_unpriced, usd = option.usd is None, option.usd or 0.0
        return option.outcome is None, is_unpriced, usd, option.tricks, -option.fastest

    return sorted(options, key=key)


def best(options: list[Option]) -> Option | None:
    """Return the first option in that order with a serving point, or None."""
    return next((option for option in in_order(options) if option.outcome is not None), None)


MOST_SHOWN = {
    "newer-hardware": 3,
    "other-hardware": 3,
    "fewer-bits": 2,
    "smaller-model": 2,
    "sram-machine": 3,
    "two-tricks": 2,
    "three-tricks": 2,
}
"""Maximum number of options per technique in a table, unless all are requested."""


def shown(options: list[Option], cheapest: Option | None) -> list[Option]:
    """Return the options for a table: a few per technique, and the cheapest of all.

    For a technique that never reaches the speed, its fastest option is shown.
    """
    chosen: list[Option] = []
    for trick in TRICKS:
        of_trick = [option for option in options if option.trick == trick]
        reached = [option for option in of_trick if option.outcome is not None]
        nearest = sorted(of_trick, key=lambda option: -option.fastest)[:1]
        first = reached[: MOST_SHOWN.get(trick, 1)] or nearest
        chosen += first
        chosen += [option for option in reached if option is cheapest and option not in first]
    return chosen
