"""What a test finds: a number or several, numbers beside it, and perhaps a table."""

from dataclasses import dataclass
from typing import NamedTuple

from fastcalc.formulas.types import Array


class Part(NamedTuple):
    """A number beside the one that decides, for whoever wants to know why."""

    label: str
    value: float
    unit: str


class Rows(NamedTuple):
    """A table beside the number: headings, and rows of text."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Finding:
    """The numbers of a test.

    Attributes
    ----------
    values : ndarray
        One number, or one for each defensible input. [SI]
    parts : tuple of Part
        Numbers beside.
    rows : Rows or None
        A table beside.
    """

    values: Array
    parts: tuple[Part, ...] = ()
    rows: Rows | None = None
