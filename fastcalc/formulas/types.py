"""Argument and result types of formulas: numbers and broadcastable float arrays."""

from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from fastcalc.formulas.recorded import Recorded

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.integer[Any]]
Bools: TypeAlias = npt.NDArray[np.bool_]

Array: TypeAlias = Floats
"""The result of a formula: a numpy float if all arguments are numbers."""

ArrayLike: TypeAlias = float | npt.NDArray[np.floating[Any]] | Ints
"""An argument of a formula: a number or an array of numbers."""

_FLOAT = np.dtype(np.float64)


def floats(numbers: ArrayLike) -> Floats:
    """Convert to float64, because numpy integers overflow silently.

    Numbers stay scalars, which are ten times faster in numpy than 0-d arrays. `Recorded` arguments
    are returned unchanged.
    """
    if isinstance(numbers, np.ndarray) and numbers.dtype is _FLOAT:
        return cast(Floats, numbers)
    if isinstance(numbers, (float, int)):
        return cast(Floats, np.float64(numbers))
    if isinstance(numbers, Recorded):
        return numbers
    return np.asarray(numbers, np.float64)


def max_of(numbers: ArrayLike) -> float:
    """Return the largest number, like numpy.max but fast for scalars."""
    return float(np.max(numbers) if isinstance(numbers, np.ndarray) else numbers)


def where(condition: ArrayLike | Bools, yes: ArrayLike, no: ArrayLike) -> Array:
    """Select one of two values by a condition, like numpy.where but fast for scalars."""
    if isinstance(condition, (bool, float, np.bool_)):
        return floats(yes if condition else no)
    return np.where(condition, yes, no)
