"""Numbers of an entry: their paths, their limits, and the entry with another value."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from fastcalc.catalogue.chip_defaults import MEDIANS, defaults_of
from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Entry, Hardware, Model
from fastcalc.catalogue.schema.hardware import Memory
from fastcalc.catalogue.schema.quantities import Quantity, QuantityReader

Place = tuple[str | int, ...]
"""Keys and indices that lead to a number of an entry."""


@dataclass(frozen=True)
class EntryNumber:
    """A number of a chip, engine or model.

    place : the location in the entry
    path : the name in a what-if
    value : the value in SI units, or as stated for a plain number
    kind : the type of number, as in `LIMITS`, which for a quantity is its dimension
    is_default : whether the file omits it and a default replaces it
    """

    place: Place
    path: str
    value: float
    kind: str
    is_default: bool = False

    @property
    def limit(self) -> Limit:
        """The allowed range in a file."""
        return LIMITS[self.kind]


def with_value(entry: Any, location: Place, value: float) -> Any:
    """Build an entry with another value at a location."""
    if not location:
        if isinstance(entry, Quantity):
            return entry.model_copy(update={"si": float(value), "text": f"{value:g}"})
        return int(value) if isinstance(entry, int) else value
    key, *below = location
    if isinstance(entry, (list, dict)):
        copy: Any = entry.copy()
        copy[key] = with_value(copy[key], tuple(below), value)
        return copy
    name = str(key)
    item = entry.given.get(name, Quantity(si=value, text=f"{value:g}"))
    return entry.changed(**{name: with_value(item, tuple(below), value)})


def entry_numbers(entry: Hardware | Model | Engine) -> list[EntryNumber]:
    """List the numbers that an entry states, in file order, except those that are 0."""
    return [
        EntryNumber(location, path, value.si if isinstance(value, Quantity) else value, kind)
        for location, path, value, kind in numbers_of(entry)
        if (value.si if isinstance(value, Quantity) else value) > 0
    ]


def default_numbers(chip: Hardware) -> list[EntryNumber]:
    """List the defaults for numbers that a chip's file omits."""
    names = [tier.name for tier in chip.memory]
    numbers = []
    for default in defaults_of(chip):
        first, *below = default.path.split(".")
        location: Place = (first, *below)
        if first == "memory":
            name, field = default.path.removeprefix("memory.").rsplit(".", 1)
            location = ("memory", names.index(name), field)
        kind = MEDIANS[default.row].dimension
        if default.row == "power.all_in":
            kind = "power"
        numbers.append(
            EntryNumber(location, default.path, default.quantity.si, kind, is_default=True)
        )
    return numbers


def numbers_of(
    entry: Any, kind: str = "", location: Place = (), path: str = ""
) -> Iterator[tuple[Place, str, Quantity | int, str]]:
    """Yield the location, what-if path, value and type of each number."""
    start = f"{path}." if path else ""
    if isinstance(entry, Quantity) or (isinstance(entry, int) and kind):
        yield location, path, entry, kind
    elif isinstance(entry, dict):
        for key, item in entry.items():
            yield from numbers_of(item, kind, (*location, key), f"{start}{key}")
    elif isinstance(entry, list):
        for index, item in enumerate(entry):
            name = f"{start}{item.name}" if isinstance(item, Memory) else f"{path}[{index}]"
            yield from numbers_of(item, kind, (*location, index), name)
    elif isinstance(entry, Entry):
        types = kinds_of(type(entry))
        for key, item in entry.given.items():
            yield from numbers_of(item, types[key], (*location, key), f"{start}{key}")


@once
def kinds_of(schema: type[Entry]) -> dict[str, str]:
    """Map each field to its type of number, which is empty if it is not a number."""
    return {
        name: _kind((field.annotation, *field.metadata))
        for name, field in schema.model_fields.items()
    }


def _kind(pieces: tuple[Any, ...]) -> str:
    """Find the type of number that an annotation, or its metadata, declares."""
    for item in pieces:
        if isinstance(item, QuantityReader):
            return item.kind
        if getattr(item, "le", None) in _WHOLE:
            return _WHOLE[item.le]
    for item in pieces:
        nested = (*get_args(item), *getattr(item, "metadata", ()))
        if nested and (kind := _kind(nested)):
            return kind
    return ""


_WHOLE = {int(LIMITS[kind].maximum): kind for kind in ("dimension", "layers")}
