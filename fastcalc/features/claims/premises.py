"""Break-evens of a check over the plausible ranges of its inputs."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise, product
from typing import Any, Literal

import numpy as np

from fastcalc.catalogue.schema.claims import Input
from fastcalc.formulas.solving import bisect, bisect_integers
from fastcalc.formulas.types import ArrayLike

Outcome = Literal["holds", "varies", "fails"]
"""Whether all numbers are as claimed, some, or none."""

Moved = Mapping[str, Any]
"""Inputs by name that have another value than in the file. [SI]"""

_LOOKS, _HALVINGS = 17, 18
_WIDE = 10.0
"""A range whose ends differ by more than this factor is sampled in equal ratios."""


@dataclass(frozen=True)
class Flip:
    """Value of an input at which the outcome changes, all others as stated. [unit of the range]

    For a count, ``at`` is the first whole number with the outcome ``above``.
    """

    premise: str
    at: float
    unit: str
    below: Outcome
    above: Outcome
    is_count: bool = False


@dataclass(frozen=True)
class Explored:
    """Outcome of a check over the plausible ranges of its inputs.

    outcome : over everything that was tried
    jointly : inputs that change the outcome only together, at the ends of their ranges
    """

    outcome: Outcome
    flips: tuple[Flip, ...] = ()
    alternatives: tuple[tuple[str, str, Outcome], ...] = ()
    jointly: Moved | None = None


def explore(
    answer: Callable[[Moved], Outcome], premises: Mapping[str, Input], counts: Container[str] = ()
) -> Explored:
    """Outcome of a check over the ranges of its inputs; ``counts`` take whole numbers only."""
    stands = answer({})
    choices = [
        [{}, *({name: value} for value in premise.ends or premise.others)]
        for name, premise in premises.items()
    ]
    corners: dict[Outcome, Moved] = {}
    for corner in product(*choices):
        moved = {name: value for choice in corner for name, value in choice.items()}
        corners.setdefault(answer(moved), moved)
    flips = [
        Flip(name, at / premise.factor, premise.unit, below, above, name in counts)
        for name, premise in premises.items()
        if premise.ends
        for at, below, above in _flips(answer, name, *premise.ends, is_count=name in counts)
    ]
    alternatives = tuple(
        (name, alternative, answer({name: alternative}))
        for name, premise in premises.items()
        for alternative in premise.others
    )
    outcomes = {*corners, *(flip.below for flip in flips), *(flip.above for flip in flips)}
    outcome: Outcome = stands if len(outcomes) == 1 else "varies"
    is_plain = (
        bool(flips)
        or any(answered != stands for *_, answered in alternatives)
        or len(outcomes) == 1
    )
    jointly = next((moved for answered, moved in corners.items() if answered != stands), None)
    return Explored(outcome, tuple(flips), alternatives, None if is_plain else jointly)


def _flips(
    answer: Callable[[Moved], Outcome], name: str, low: float, high: float, *, is_count: bool
) -> Iterator[tuple[float, Outcome, Outcome]]:
    """Values between two ends where the outcome changes, by bisection, with both outcomes.

    Counts are bisected to the last whole number, other intervals `_HALVINGS` times.
    """
    space = np.geomspace if low > 0.0 and high / low >= _WIDE else np.linspace
    values = space(low, high, _LOOKS)
    values = np.unique(np.round(values)) if is_count else values

    @cache
    def answer_at(value: float) -> Outcome:
        return answer({name: value})

    def is_as(before: Outcome, value: ArrayLike) -> bool:
        return answer_at(float(value)) == before

    for left, right in pairwise(values.tolist()):
        while (before := answer_at(left)) != answer_at(right):
            same = partial(is_as, before)
            if is_count:
                left = float(bisect_integers(same, int(left), int(right))[1])
            else:
                left = float(bisect(same, left, right, halvings=_HALVINGS)[1])
            yield left, before, answer_at(left)
