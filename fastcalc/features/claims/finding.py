"""What a test finds: a number or several, numbers alongside, and perhaps a table."""

from dataclasses import dataclass
from typing import NamedTuple

from fastcalc.errors import InputError
from fastcalc.formulas.types import Array, ArrayLike, floats


class DoesNotFitError(InputError):
    """What a claim speaks of fits no number of the chips that it names."""


class FindingPart(NamedTuple):
    """A number alongside the one that decides, for whoever wants to know why."""

    label: str
    value: float
    unit: str = ""


class FindingRows(NamedTuple):
    """A table alongside the number: headings, and rows of text."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Finding:
    """The numbers of a test, and the break-even where the test solves for it itself."""

    values: Array
    parts: tuple[FindingPart, ...] = ()
    rows: FindingRows | None = None
    break_even: str = ""


def finding(
    values: ArrayLike,
    *parts: tuple[str, ArrayLike, *tuple[str, ...]],
    rows: FindingRows | None = None,
    break_even: str = "",
) -> Finding:
    """Return what a test finds; each part is a label, its value and a unit if it has one."""
    labelled = (FindingPart(label, float(value), *unit) for label, value, *unit in parts)
    return Finding(floats(values), tuple(labelled), rows, break_even)
