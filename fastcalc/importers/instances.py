"""Lookup of chips by cloud instance type, and by a name preceded by a count."""

import re
from functools import cache

from fastcalc.catalogue.store import Catalogue
from fastcalc.catalogue.tables import table_of
from fastcalc.importers.naming import chip_id

_CARD = re.compile(r"([2-5]0[5-9]0)(\s*-?ti)?", re.IGNORECASE)
_COUNTED = re.compile(r"(\d{1,4})\s*[xX*]\s*(.+)|(.+?)(?:\s+[xX]|\s*[*:])\s*(\d{1,4})")


@cache
def instances() -> dict[str, tuple[str, int]]:
    """The chip and the number of chips of each cloud instance type."""
    return {row["instance"]: (row["chip"], int(row["chips"])) for row in table_of(__file__)}


def stated_count(text: str) -> int | None:
    """Return the number of chips in an instance type or counted name, or None.

    >>> stated_count("8xh100"), stated_count("a3-highgpu-8g"), stated_count("mi300x")
    (8, 8, None)
    """
    return _parsed(text)[1]


def _parsed(text: str) -> tuple[str, int | None]:
    if instance := instances().get(text.strip().lower()):
        return instance
    match = _COUNTED.fullmatch(text.strip())
    return (match[2] or match[3], int(match[1] or match[4]) or None) if match else (text, None)


def printed_chip(text: str, entries: Catalogue) -> str | None:
    """Return the chip named by an instance type, a counted name or a driver, or None.

    >>> printed_chip("8xh100", Catalogue()), printed_chip("p5.48xlarge", Catalogue())
    ('h100', 'h100-sxm')
    >>> printed_chip("2x3090", Catalogue()), printed_chip("8 x NVIDIA H200", Catalogue())
    ('rtx-3090', 'NVIDIA H200')
    """
    name, _ = _parsed(text)
    if card := _CARD.fullmatch(name.strip()):  # a GeForce card given only by its number
        name = f"rtx-{card[1]}-ti" if card[2] else f"rtx-{card[1]}"
    return name if entries.knows(name, "hardware") else chip_id(name, entries)
