"""What formulas take and give: numbers and numpy arrays, which broadcast."""

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A float, or a float array of the arguments' broadcast shape."""

ArrayLike: TypeAlias = Any
"""A number or an array of numbers."""

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
"""A float array, where one is needed and a bare number is not enough."""
