"""The parameters of a decision that an option, flag or map axis can set, with their limits."""

from dataclasses import dataclass

import numpy as np

from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.catalogue.tables import table_of
from fastcalc.formulas.types import Floats


@dataclass(frozen=True)
class Variable:
    """A number that an option, flag or map axis can set.

    field : The field of `Terms`, or ``share`` for an option that routes steps.
    limit : The allowed values.
    noun, unit : The name in words, and text that follows the value.
    scale : Its unit, in units of the field.
    zero : Whether 0 is allowed.
    """

    field: str
    limit: Limit
    noun: str
    unit: str = ""
    scale: float = 1.0
    zero: bool = False

    @property
    def is_count(self) -> bool:
        """Whether only integers are meaningful."""
        return self.limit.is_whole

    def grid(self, points: int) -> Floats:
        """Return values over the whole search range, more densely at common values."""
        if self.limit.maximum == 1.0:
            return np.linspace(0.0 if self.zero else max(self.limit.minimum, 1e-6), 1.0, points)
        first = max(self.limit.minimum, 1e-4)
        values = np.geomspace(first, min(self.limit.maximum, 1e7), points)
        if self.is_count:
            values = np.unique(np.round(values))
        return np.concatenate([[0.0], values]) if self.zero else values


def _of(group: str) -> dict[str, Variable]:
    return {
        row["key"]: Variable(
            row["field"],
            LIMITS[row["limit"]],
            row["noun"],
            row["unit"],
            float(row["scale"] or 1.0),
            row["zero"] == "yes",
        )
        for row in table_of(__file__)
        if row["group"] == group
    }


OF_OPTIONS, OF_TASKS = _of("option"), _of("task")
PARAMETERS = OF_OPTIONS | OF_TASKS | _of("mix")
"""The parameters by the names that users type."""
