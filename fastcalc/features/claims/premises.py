"""Search for the break-evens of a check over the plausible ranges of its inputs."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise, product
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from fastcalc.catalogue.schema.claims import Input
from fastcalc.formulas.solving import bisect, bisect_integers
from fastcalc.formulas.types import ArrayLike

Outcome = Literal["holds", "varies", "fails"]
"""Whether a claim holds for all, some or none of its numbers."""

Moved = Mapping[str, Any]
"""Inputs whose values differ from the file, by name. [SI]"""

Found = TypeVar("Found")


def one_by_one(searches: Iterable[Callable[[], Found]]) -> list[Found]:
    """Run the parts of a search in sequence and return their results."""
    return [search() for search in searches]


_LOOKS, _HALVINGS = 17, 18
_WIDE = 10.0
"""Ratio of a range's ends above which it is sampled geometrically."""


@dataclass(frozen=True)
class Flip:
    """The value of an input at which the outcome changes, others as claimed. [unit of range]

    For counts, ``at`` is the first integer with the outcome ``above``.
    """

    premise: str
    at: float
    unit: str
    below: Outcome
    above: Outcome
    is_count: bool


@dataclass(frozen=True)
class Explored:
    """The break-even values of a check over the plausible ranges of its inputs.

    jointly : The inputs that change the outcome only together, at the ends of their ranges.
    """

    flips: tuple[Flip, ...] = ()
    alternatives: tuple[tuple[str, str, Outcome], ...] = ()
    jointly: Moved | None = None


class Each(Protocol):
    """Runs the independent parts of a search, as `Answered.each` does."""

    def __call__(self, searches: Iterable[Callable[[], Found]]) -> list[Found]:
        """Return the results of the parts in order."""


def outcome_over(
    answer: Callable[[Moved], Outcome],
    premises: Mapping[str, Input],
    counts: Container[str] = (),
    each: Each = one_by_one,
    *,
    is_thorough: bool = False,
) -> Outcome:
    """Return the outcome of a claim over the ranges of its inputs. ``counts`` are integers.

    Values inside the ranges are evaluated if the outcome is the same at all ends.

    is_thorough : Whether to evaluate them in any case, for inexpensive tests.
    """
    outcomes = set(each([partial(answer, moved) for moved in _corners(premises)]))
    if is_thorough or len(outcomes) == 1:
        looks = [
            {name: value}
            for name, premise in premises.items()
            if premise.ends
            for value in _looks(*premise.ends, is_count=name in counts)
        ]
        outcomes.update(each([partial(answer, moved) for moved in looks]))
    return outcomes.pop() if len(outcomes) == 1 else "varies"


def _corners(premises: Mapping[str, Input]) -> list[Moved]:
    """Return all combinations of claimed values and range ends, the claimed values first."""
    choices = [
        [{}, *({name: value} for value in premise.ends or premise.others)]
        for name, premise in premises.items()
    ]
    return [
        {name: value for choice in corner for name, value in choice.items()}
        for corner in product(*choices)
    ]


def explore(
    answer: Callable[[Moved], Outcome],
    premises: Mapping[str, Input],
    counts: Container[str] = (),
    each: Each = one_by_one,
) -> Explored:
    """Find the break-even values over the ranges of inputs. ``counts`` are integers."""
    everywhere = _corners(premises)
    answered = each([partial(answer, moved) for moved in everywhere])
    stands = answered[0]  # the first corner changes nothing
    corners: dict[Outcome, Moved] = {}
    for moved, outcome_there in zip(everywhere, answered, strict=True):
        corners.setdefault(outcome_there, moved)
    ranges = {name: premise for name, premise in premises.items() if premise.ends}
    flips_of = each(
        [
            partial(_flips, answer, name, premise.ends, each, is_count=name in counts)
            for name, premise in ranges.items()
        ]
    )
    flips = [
        Flip(name, at / premise.factor, premise.unit, below, above, name in counts)
        for (name, premise), changes in zip(ranges.items(), flips_of, strict=True)
        for at, below, above in changes
    ]
    alternative_inputs = [
        (name, alternative) for name, premise in premises.items() for alternative in premise.others
    ]
    of_others = each(
        [partial(answer, {name: alternative}) for name, alternative in alternative_inputs]
    )
    alternatives = tuple(
        (*alternative_input, answered_there)
        for alternative_input, answered_there in zip(alternative_inputs, of_others, strict=True)
    )
    outcomes = {*corners, *(flip.below for flip in flips), *(flip.above for flip in flips)}
    is_plain = (
        bool(flips)
        or any(answered_there != stands for *_, answered_there in alternatives)
        or len(outcomes) == 1
    )
    jointly = next(
        (moved for outcome_there, moved in corners.items() if outcome_there != stands), None
    )
    return Explored(tuple(flips), alternatives, None if is_plain else jointly)


def _flips(
    answer: Callable[[Moved], Outcome],
    name: str,
    ends: Sequence[float],
    each: Each,
    *,
    is_count: bool,
) -> list[tuple[float, Outcome, Outcome]]:
    """Bisect for the values between two bounds at which the outcome changes, with both outcomes.

    Counts are bisected down to neighboring integers, and other intervals `_HALVINGS` times.
    """

    def answer_at(value: float) -> Outcome:
        return answer({name: value})

    def flips_between(left: float, right: float) -> list[tuple[float, Outcome, Outcome]]:
        flips = []
        while (before := answer_at(left)) != answer_at(right):
            same = partial(is_as, before)
            if is_count:
                left = float(bisect_integers(same, int(left), int(right))[1])
            else:
                left = float(bisect(same, left, right, halvings=_HALVINGS)[1])
            flips.append((left, before, answer_at(left)))
        return flips

    def is_as(before: Outcome, value: ArrayLike) -> bool:
        return answer_at(float(value)) == before

    low, high = ends
    values = _looks(low, high, is_count=is_count)
    each([partial(answer_at, value) for value in values])
    flips_of_pairs = each([partial(flips_between, left, right) for left, right in pairwise(values)])
    return [flip for of_pair in flips_of_pairs for flip in of_pair]


@cache
def _looks(low: float, high: float, *, is_count: bool) -> list[float]:
    """Return the values of a range at which the outcome is evaluated first."""
    space = np.geomspace if low > 0.0 and high / low >= _WIDE else np.linspace
    values = space(low, high, _LOOKS)
    return list(np.unique(np.round(values)).tolist() if is_count else values.tolist())
