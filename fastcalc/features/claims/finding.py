"""Result of a test: one or several numbers, further numbers that explain them, and a table."""

from dataclasses import dataclass
from typing import NamedTuple

from fastcalc.errors import InputError
from fastcalc.formulas.types import Array, ArrayLike, floats


class DoesNotFitError(InputError):
    """A model of a claim fits no number of the chips that the claim names."""


class FindingPart(NamedTuple):
    """A further number that helps to explain the one that decides."""

    label: str
    value: float
    unit: str = ""


class FindingRows(NamedTuple):
    """A table that explains the number: headings, and rows of text."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Finding:
    """Numbers of a test, and the break-even if the test solves for it itself."""

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
    """Result of a test; each of ``parts`` is a label, a value and a unit if it has one."""
    labelled = (FindingPart(label, float(value), *unit) for label, value, *unit in details)
    return Finding(floats(values), tuple(labelled), rows, break_even)
