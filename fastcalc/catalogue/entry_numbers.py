"""Numbers in an entry: their paths and limits, and copies of the entry with other values."""

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
"""The keys and indices that lead to a number in an entry."""


@dataclass(frozen=True)
class EntryNumber:
    """A number in the file of a chip, engine or model.

    place : The location in the entry.
    path : The path used in a what-if.
    value : The value in SI units, or as given for a plain number.
    kind : The type of number in `LIMITS`; for a quantity, its dimension.
    is_default : Whether the number is missing from the file and replaced by a default.
    """

    place: Place
    path: str
    value: float
    kind: str
    is_default: bool = False

    @property
    def limit(self) -> Limit:
        """The range allowed in files."""
        return LIMITS[self.kind]


def with_value(entry: Any, location: Place, value: float) -> Any:
    """Return a copy of an entry with another value at a location."""
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
    item = vars(entry)[name]
    item = Quantity(si=value, text=f"{value:g}") if item is None else item
    return entry.changed(**{name: with_value(item, tuple(below), value)})


def entry_numbers(entry: Hardware | Model | Engine) -> list[EntryNumber]:
    """List the nonzero numbers in an entry, in file order."""
    return [
        EntryNumber(location, path, value.si if isinstance(value, Quantity) else value, kind)
        for location, path, value, kind in numbers_of(entry)
        if (value.si if isinstance(value, Quantity) else value) > 0
    ]


def default_numbers(chip: Hardware) -> list[EntryNumber]:
    """List the defaults used for numbers missing from a chip's file."""
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
    """Map each field to its type of number, or to an empty text if it is not a number."""
    return {
        name: _kind((field.annotation, *field.metadata))
        for name, field in schema.model_fields.items()
    }


def _kind(pieces: tuple[Any, ...]) -> str:
    """Return the type of number declared by an annotation or its metadata."""
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
