"""Quantities with a unit and a source, and other types used in all files."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.annotated_handlers import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.catalogue.units import UNITS, QuantityError, parse_quantity
from fastcalc.errors import InputError
from fastcalc.written import A_NAME, Json, control_in, shown

Confidence = Literal["high", "medium", "low", "memory"]
_ID = r"[a-z0-9][a-z0-9._-]*"
Identifier = Annotated[str, Field(pattern=rf"^{_ID}$", max_length=80)]
JoinedIdentifiers = Annotated[str, Field(pattern=rf"^{_ID}(\+{_ID})*$", max_length=160)]
"""The name of an engine, optionally followed by variants after a '+'."""


def _on_one_line(text: str) -> str:
    if control := control_in(text):
        raise ValueError(f"'{shown(text)}' holds the control character {control}; {A_NAME}")
    return text


Name = Annotated[str, AfterValidator(_on_one_line)]
"""A name on a single line."""
Whole = Annotated[int, Field(gt=0, le=int(LIMITS["dimension"].maximum), strict=True)]
LayerCount = Annotated[int, Field(gt=0, le=int(LIMITS["layers"].maximum), strict=True)]
WholeOrZero = Annotated[int, Field(ge=0, le=int(LIMITS["dimension"].maximum), strict=True)]
Excuses = dict[str, Annotated[str, Field(min_length=10)]]
"""The rules of `fastcalc check` that a file violates for a good reason, with the reasons."""


def _known(name: object, *, cache: bool = False) -> str:
    try:
        known = number_format(str(name), cache=cache).id
    except InputError as error:
        raise ValueError(str(error)) from error
    if known != name:  # aliases are for command lines only: files must use the id
        raise ValueError(
            f"'{shown(name)}' is not a weight or KV format by id; did you mean '{known}'?"
        )
    return known


FormatName = Annotated[str, BeforeValidator(_known)]
CacheFormatName = Annotated[str, BeforeValidator(partial(_known, cache=True))]


class Entry(BaseModel):
    """Base class for immutable records that reject unknown keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), defer_build=True
    )

    @property
    def given(self) -> dict[str, Any]:
        """The values that are set, by key."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def changed(self, **keys: Any) -> Self:
        """Copy the entry with some keys replaced by values as in a file, such as ``'4 TB/s'``."""
        stated = {name: vars(self)[name] for name in self.model_fields_set}
        try:
            return type(self).model_validate(stated | keys)
        except ValidationError as error:
            faults = ((".".join(map(str, fault["loc"])), fault["msg"]) for fault in error.errors())
            raise InputError(
                "; ".join(f"{location}: {fault}" for location, fault in faults)
            ) from error


class NamedEntry(Entry):
    """Base class for chips, models and engines, which can extend each other.

    Only these classes have private attributes, which pydantic would initialize for each quantity.
    """

    _what_if: Mapping[str, str] = {}
    _inherited: Mapping[str, str] = {}
    _bases: tuple[str, ...] = ()

    @property
    def what_if(self) -> Mapping[str, str]:
        """The user's values that replace the file's: as typed, and as a sentence."""
        return self._what_if

    @property
    def inherited(self) -> Mapping[str, str]:
        """The id of the entry that defines each inherited top-level key."""
        return self._inherited

    @property
    def bases(self) -> tuple[str, ...]:
        """The ids of the entries that the file extends, directly or indirectly, nearest first."""
        return self._bases

    def changed(self, **keys: Any) -> Self:
        """Return a copy with some keys replaced, which are then no longer inherited."""
        changed = super().changed(**keys)
        changed._what_if, changed._bases = self._what_if, self._bases
        changed._inherited = {key: base for key, base in self._inherited.items() if key not in keys}
        return changed

    def inheriting(self, inherited: Mapping[str, str], bases: tuple[str, ...]) -> Self:
        """Return a copy that records its bases and the entries that define inherited keys."""
        copy = self.model_copy()
        copy._inherited, copy._bases = inherited, bases
        return copy

    def supposing(self, what_if: Mapping[str, str]) -> Self:
        """Return a copy with a user's values in place of the file's own."""
        copy = self.model_copy()
        copy._what_if = what_if
        return copy


class Source(Entry):
    """A document that is cited as a source of numbers in a file."""

    title: str
    url: str | None = None
    accessed: str | None = None
    note: str | None = None


class Quantity(Entry):
    """A number in SI units, with its text in the file and its provenance.

    ``printed`` is the source's wording; ``reading`` explains how the value was derived from it.
    """

    si: float
    text: str
    source: str | None = None
    printed: str | None = None
    reading: str | None = None
    note: str | None = None
    date: str | None = None
    confidence: Confidence | None = None
    band: list[float] | None = None


@dataclass(frozen=True)
class QuantityReader:
    """Reads quantities of one type in `LIMITS`, written as bare values or mappings."""

    kind: str

    @property
    def limit(self) -> Limit:
        """The allowed range of the value."""
        return LIMITS[self.kind]

    @property
    def dimension(self) -> str:
        """A dimension in `units`, or ``number`` for plain numbers."""
        return self.kind if self.kind in UNITS else "number"

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Build the core schema that pydantic uses to validate the field."""
        return core_schema.no_info_before_validator_function(self, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Json]:
        """Describe the notation in files for `json_schema`, which knows each dimension."""
        minimum = 0.0 if self.limit.zero else self.limit.minimum
        return {"quantity": [self.dimension, minimum, self.limit.maximum, self.limit.is_whole]}

    def __call__(self, raw: Any) -> Any:
        """Convert a value in a file into the fields of a `Quantity`."""
        if isinstance(raw, Quantity):
            return raw
        fields = dict(raw) if isinstance(raw, dict) else {"value": raw}
        if fields.get("value") is None:
            sentence = "a value is missing: write 'value:' or the bare number with its unit"
            raise QuantityError(sentence, "ST016")
        value = fields.pop("value")
        band = fields.get("band")
        if band is not None:  # fits use the logarithms of these limits
            ends = band if isinstance(band, list) and len(band) == 2 else [0, 0]
            is_range = all(type(end) in (int, float) and end in self.limit for end in ends)
            if not (is_range and 0 < ends[0] < ends[1]):
                sentence = f"band is not two ascending numbers above 0, each {self.limit}"
                raise QuantityError(sentence, "ST018")
        return {**fields, "si": self.si(value), "text": str(value)}

    def si(self, value: object) -> float:
        """Convert a bare quantity to SI units, or raise a `QuantityError`."""
        if self.dimension != "number":
            si = parse_quantity(value, self.kind)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            si = float(value)
        else:
            raise QuantityError(f"'{shown(value)}' is not a plain number", "ST017")
        if self.limit.is_whole and math.isfinite(si) and si != int(si):
            raise QuantityError(f"'{value}' is not a whole number", "ST018")
        if si not in self.limit:
            raise QuantityError(f"'{shown(value)}' is out of range: {self.limit}", "ST018")
        return si


Size = Annotated[Quantity, QuantityReader("size")]
Kept = Annotated[Quantity, QuantityReader("reserve")]
Bandwidth = Annotated[Quantity, QuantityReader("bandwidth")]
ComputeRate = Annotated[Quantity, QuantityReader("compute rate")]
Time = Annotated[Quantity, QuantityReader("time")]
Watts = Annotated[Quantity, QuantityReader("power")]
Area = Annotated[Quantity, QuantityReader("area")]
Dollars = Annotated[Quantity, QuantityReader("price")]
DollarsPerHour = Annotated[Quantity, QuantityReader("hourly price")]
Count = Annotated[Quantity, QuantityReader("amount")]
Fraction = Annotated[Quantity, QuantityReader("fraction")]
Part = Annotated[Quantity, QuantityReader("part")]
Switch = Annotated[Quantity, QuantityReader("switch")]
Number = Annotated[Quantity, QuantityReader("number")]
Factor = Annotated[Quantity, QuantityReader("factor")]
