"""Argument and result types of formulas: numbers and float arrays, which broadcast."""

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
"""An argument of a formula: a number or an array of numbers, such as ranks of layouts."""


def floats(numbers: ArrayLike) -> Floats:
    """Convert to float64, since numpy integers overflow silently.

    A number stays a scalar: numpy is ten times faster with its scalars than with 0-d arrays.
    `Recorded` arguments are returned unchanged.
    """
    if isinstance(numbers, (float, int)):
        return cast(Floats, np.float64(numbers))
    if isinstance(numbers, Recorded):
        return numbers
    return np.asarray(numbers, np.float64)


def where(condition: ArrayLike | Bools, yes: ArrayLike, no: ArrayLike) -> Array:
    """Choose between two values by a condition, evaluating only one if it is a scalar."""
    if isinstance(condition, (bool, float, np.bool_)):
        return floats(yes if condition else no)
    return np.where(condition, yes, no)
