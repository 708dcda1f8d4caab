"""What a test finds: a number or several, numbers alongside, and perhaps a table."""

from dataclasses import dataclass
from typing import NamedTuple

from fastcalc.formulas.types import Array


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
    """The numbers of a test."""

    values: Array
    parts: tuple[FindingPart, ...] = ()
    rows: FindingRows | None = None
