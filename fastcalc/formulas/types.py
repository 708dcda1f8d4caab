"""What formulas take and give: numbers and float arrays, which broadcast."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

Item = TypeVar("Item")

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.integer[Any]]
Bools: TypeAlias = npt.NDArray[np.bool_]

Array: TypeAlias = Floats
"""What a formula returns: of no dimensions, a numpy float, if all arguments are numbers."""

ArrayLike: TypeAlias = float | npt.NDArray[np.floating[Any]] | Ints
"""What a formula takes: a number or an array of numbers, such as ranks of layouts."""


def floats(numbers: ArrayLike) -> Floats:
    """Return numbers as float64: whole numbers of numpy wrap around silently.

    A number stays one: numpy is ten times as fast with its own as with arrays of no dimensions.
    """
    if isinstance(numbers, (float, int)):
        return cast(Floats, np.float64(numbers))
    return np.asarray(numbers, np.float64)


def sum_if_known(amounts: Iterable[float | None]) -> float | None:
    """Sum of amounts, None where one of them is unknown.

    >>> sum_if_known([1.0, 2.0]), sum_if_known([1.0, None])
    (3.0, None)
    """
    known = list(amounts)
    return None if None in known else sum(amount for amount in known if amount is not None)


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """Some of many items, evenly from the first to the last.

    >>> evenly("abcde", 3), evenly("ab", 3)
    (['a', 'c', 'e'], ['a', 'b'])
    """
    places = np.linspace(0, len(items) - 1, min(len(items), most)).round().astype(int)
    return [items[place] for place in places.tolist()]


def where(condition: ArrayLike | Bools, yes: ArrayLike, no: ArrayLike) -> Array:
    """Return one where a condition holds and the other elsewhere; of a bare condition, just it."""
    if isinstance(condition, (bool, float, np.bool_)):
        return floats(yes if condition else no)
    return np.where(condition, yes, no)
