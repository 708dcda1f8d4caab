"""What formulas take and give: numbers and float arrays, which broadcast."""

from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from fastcalc.formulas.recorded import Recorded

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.integer[Any]]
Bools: TypeAlias = npt.NDArray[np.bool_]

Array: TypeAlias = Floats
"""What a formula returns: of no dimensions, a numpy float, if all arguments are numbers."""

ArrayLike: TypeAlias = float | npt.NDArray[np.floating[Any]] | Ints
"""What a formula takes: a number or an array of numbers, such as ranks of layouts."""


def floats(numbers: ArrayLike) -> Floats:
    """Numbers as float64: whole numbers of numpy wrap around silently.

    A number stays one: numpy is ten times as fast with its own as with arrays of no dimensions.
    What stands for a number while a formula is recorded stays that.
    """
    if isinstance(numbers, (float, int)):
        return cast(Floats, np.float64(numbers))
    if isinstance(numbers, Recorded):
        return numbers
    return np.asarray(numbers, np.float64)


def where(condition: ArrayLike | Bools, yes: ArrayLike, no: ArrayLike) -> Array:
    """One where a condition holds and the other elsewhere; of a bare condition, just it."""
    if isinstance(condition, (bool, float, np.bool_)):
        return floats(yes if condition else no)
    return np.where(condition, yes, no)
