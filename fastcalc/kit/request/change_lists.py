"""What-if values given as lists: ``memory.SRAM.capacity=40GB..100GB+20GB,200GB``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from fastcalc.catalogue.difference import change
from fastcalc.catalogue.reader import plain
from fastcalc.catalogue.units import UNITS, QuantityError, dimension_of, parse_quantity
from fastcalc.errors import InputError
from fastcalc.kit.request.number_lists import MOST_VALUES, READ_TWO_WAYS
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChangesGiven

_NUMBER = r"([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*([A-WYZa-wyz][A-WYZa-wyz0-9/]*?)?"
_RANGE = re.compile(rf"{_NUMBER}\s*\.\.\s*{_NUMBER}\s*(?:([x*+])\s*{_NUMBER})?")
_UNITS_OF_KEYS = {
    "size": "bytes",
    "reserve": "bytes",
    "bandwidth": "bytes_per_s",
    "compute rate": "flop_per_s",
    "time": "s",
    "power": "w",
    "area": "m2",
    "price": "usd",
    "hourly price": "usd_per_h",
}


@dataclass(frozen=True)
class ListedChange:
    """Stores one value from the list of a what-if.

    key : The key of the column for this value, with the unit.
    written : The what-if reduced to this value.
    value : The value as it appears in a record, in SI units.
    """

    key: str
    written: str
    value: float | str


@dataclass(frozen=True)
class ChangeLists:
    """The what-ifs of a request, some of which list several values.

    single : The what-ifs with one value, which apply to every point.
    listed : All values of each what-if that lists several.
    """

    single: tuple[str, ...]
    listed: tuple[tuple[ListedChange, ...], ...]

    @property
    def keys(self) -> dict[str, type]:
        """The key of each column and the type of its values."""
        return {changes[0].key: type(changes[0].value) for changes in self.listed}

    @property
    def written(self) -> dict[str, ListedChange]:
        """The listed values by the text of their what-if."""
        return {change.written: change for changes in self.listed for change in changes}

    def combined(self) -> Iterator[list[str]]:
        """Yield the what-ifs for every combination of values."""
        for combination in product(*self.listed):
            yield [*self.single, *(change.written for change in combination)]


def change_lists(what_ifs: "ChangesGiven | None") -> ChangeLists:
    """Parse the what-ifs of a request, expanding lists of values."""
    single: list[str] = []
    listed: list[tuple[ListedChange, ...]] = []
    for path, texts in _pairs(what_ifs):
        if len(texts) == 1:
            single.append(f"{path}={texts[0]}")
        else:
            listed.append(_listed(path, texts))
    if prod(map(len, listed)) > MOST_VALUES:
        raise InputError(
            f"{option('set')} lists {prod(map(len, listed)):,} combinations of values, of which "
            f"at most {MOST_VALUES:,} are evaluated; use larger steps"
        )
    return ChangeLists(tuple(single), tuple(listed))


def listed_values(text: str) -> list[str]:
    """Expand a list such as ``1PB/s..8PB/sx2,20PB/s`` into single values.

    >>> listed_values("40GB..100GB+20GB, 200 GB")
    ['40 GB', '60 GB', '80 GB', '100 GB', '200 GB']
    >>> listed_values("1..8x2")
    ['1', '2', '4', '8']
    """
    if READ_TWO_WAYS.search(text) and ".." not in text:
        raise InputError(
            f"{option('set')} '{shown(text)}' can be read two ways; write 3000 for one number, "
            "and 1..8 for a range"
        )
    items = [item.strip() for item in text.split(",")]
    if another := next((item for item in items[1:] if "=" in item), None):
        raise InputError(
            f"{option('set')} '{shown(another)}' appears in the list of values of another "
            "number; separate them"
        )
    values: list[str] = []
    for item in filter(None, items):
        steps = _RANGE.fullmatch(item)
        values += _range(steps) if steps else [item]
    return list(dict.fromkeys(values)) or [text]


def _pairs(what_ifs: "ChangesGiven | None") -> Iterator[tuple[str, list[str]]]:
    if isinstance(what_ifs, Mapping):
        for path, value in what_ifs.items():
            listed = value if isinstance(value, (list, tuple)) else [value]
            yield path, [text for item in listed for text in listed_values(as_text(item))]
        return
    for written in what_ifs or ():
        path, equals, text = written.partition("=")
        yield path, listed_values(text) if equals else [""]


def _listed(path: str, texts: Sequence[str]) -> tuple[ListedChange, ...]:
    """Parse the values of a what-if: numbers, quantities in SI units, or words."""
    key, values = path.strip(), list[float | str](texts)
    if all(type(plain(text)) in (int, float) for text in texts):
        values = [float(text) for text in texts]
    else:
        with suppress(QuantityError):
            dimension = dimension_of(texts[0])[1]
            values = [parse_quantity(text, dimension) for text in texts]
            key = f"{key}_{_UNITS_OF_KEYS[dimension]}"
    changes = [f"{path}={text}" for text in texts]
    for written in changes:
        change(written)  # raises an error if it is invalid
    return tuple(
        ListedChange(key, written, value) for written, value in zip(changes, values, strict=True)
    )


def _range(steps: re.Match[str]) -> list[str]:
    """Expand a range, in the unit of its first value or, if that has none, of its last value."""
    first, unit, last, last_unit, sign, step, step_unit = steps.groups()
    unit = unit or last_unit or ""
    start, end = float(first), float(last) * _factor(last_unit, unit, steps[0])
    factor = sign in ("x", "*")
    size = float(step or 1.0) * (1.0 if factor else _factor(step_unit, unit, steps[0]))
    is_wrong = size <= 1.0 or start <= 0.0 if factor else size <= 0.0
    if start > end or is_wrong or (factor and step_unit):
        wrong = "runs downwards" if start > end else "goes nowhere"
        raise InputError(
            f"{option('set')} range '{shown(steps[0])}' {wrong}; write it like 1PB/s..8PB/sx2 "
            "(times two) or 40GB..100GB+20GB"
        )
    values: list[float] = []
    value, position = start, 0
    while value <= end * (1.0 + 1e-9) and len(values) <= MOST_VALUES:
        values.append(value)
        position += 1
        value = start * size**position if factor else start + size * position
    return [f"{value:.12g} {unit}".rstrip() for value in values]


def _factor(unit: str | None, into: str, text: str) -> float:
    """Compute the factor that converts one unit into another. 1 without a unit."""
    if unit is None or unit == into:
        return 1.0
    factors = next((table for table in UNITS.values() if {unit, into} <= table.keys()), None)
    if factors is None:
        raise InputError(
            f"{option('set')} range '{shown(text)}' has the units {into} and {unit}, which do not "
            "convert into each other; write it like 40GB..100GB+20GB"
        )
    return factors[unit] / factors[into]
