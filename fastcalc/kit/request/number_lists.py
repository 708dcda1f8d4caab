"""Parse lists of numbers: ``1,8,32``, ``1..1024x2``, ``8..64+8``, ``1k,128k``."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fastcalc.catalogue.limits import Limit
from fastcalc.errors import InputError
from fastcalc.kit.request import readers
from fastcalc.written import shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import CountsGiven

MOST_VALUES = 10_000
READ_TWO_WAYS = re.compile(r"(?<![0-9])[0-9]{1,3},0[0-9]{2}(?![0-9])|[0-9]-[0-9]")
"""Matches ambiguous texts such as 3,000 and 1-8, which are rejected. 1,512 goes undetected."""
_STEPS = re.compile(r"([0-9_]+[kM]?)\.\.([0-9_]+[kM]?)(?:([x+])([1-9][0-9_]*[kM]?))?")


def numbers(listing: "CountsGiven", flag: str, limit: Limit) -> tuple[int, ...]:
    """Parse a list into distinct sorted whole numbers, each checked against a limit.

    Text is comma-separated. In ranges, ``a..bxk`` multiplies and ``a..b+k`` adds. ``k`` means
    thousand and ``M`` million.

    >>> from fastcalc.catalogue.limits import LIMITS
    >>> numbers("1k,1..8x2,10..20+5", "--batch", LIMITS["sequences"])
    (1, 2, 4, 8, 10, 15, 20, 1000)
    """
    values: set[int] = set()
    for item in _parts(listing, flag):
        steps = None if isinstance(item, int) else _STEPS.fullmatch(item)
        values.update(_range(steps, flag, limit) if steps else [_whole(item, flag, limit)])
        if len(values) > MOST_VALUES:
            listed = f" {shown(listing)}" if isinstance(listing, str) else ""
            raise InputError(
                f"{flag}{listed} has more than {MOST_VALUES:,} values; use larger steps"
            )
    return tuple(sorted(values))


def _parts(listing: "CountsGiven", flag: str) -> Iterable[int | str]:
    """Split a list into numbers and ranges. Text is split at commas."""
    if isinstance(listing, int):
        return [listing]
    if not isinstance(listing, str):
        listed = [item for number in listing for item in _parts(number, flag)]
        if not listed:
            raise InputError(f"{flag} names no number; give one or several")
        return listed
    if READ_TWO_WAYS.search(listing):
        raise InputError(
            f"{flag} '{shown(listing)}' can be read two ways; write 3000, 3_000 or 3k for one "
            "number, and 1..8 for a range"
        )
    return readers.names(listing, flag)


def _range(steps: re.Match[str], flag: str, limit: Limit) -> list[int]:
    first, last = _whole(steps[1], flag, limit), _whole(steps[2], flag, limit)
    is_product, step = steps[3] == "x", _whole(steps[4] or "1", flag, limit)
    if first > last or (is_product and step < 2):
        wrong = "runs downwards" if first > last else "goes nowhere"
        raise InputError(
            f"{flag} range '{shown(steps[0])}' {wrong}; write it like 1..1024x2 (times two) "
            "or 8..64+8"
        )
    values: list[int] = []
    while first <= last and len(values) <= MOST_VALUES:
        values.append(first)
        first = first * step if is_product else first + step
    return values


def _whole(item: str | int, flag: str, limit: Limit) -> int:
    return readers.whole(item, flag, limit, "8, 1k or 1..256x2")
