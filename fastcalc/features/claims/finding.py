"""The result of a test: its numbers, explanatory numbers, and a table."""

from dataclasses import dataclass
from typing import NamedTuple

from fastcalc.errors import InputError
from fastcalc.formulas.types import Array, ArrayLike, floats


class DoesNotFitError(InputError):
    """The model in a claim does not fit on any number of the chips it names."""


class FindingPart(NamedTuple):
    """An additional number that explains the deciding number."""

    label: str
    value: float
    unit: str = ""


class FindingRows(NamedTuple):
    """A table that explains the number, with headings and rows of text."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Finding:
    """The values that a test computed, and its break-even value if it computes one."""

    values: Array
    parts: tuple[FindingPart, ...] = ()
    rows: FindingRows | None = None
    break_even: str = ""


def finding(
    values: ArrayLike,
    *details: tuple[str, ArrayLike, *tuple[str, ...]],
    rows: FindingRows | None = None,
    break_even: str = "",
) -> Finding:
    """Build a test result. Each of ``details`` is a label, a value and optionally a unit."""
    labelled = (FindingPart(label, float(value), *unit) for label, value, *unit in details)
    return Finding(floats(values), tuple(labelled), rows, break_even)
