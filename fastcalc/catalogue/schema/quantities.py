"""Numbers with a unit and a source, and the other types that all files share."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import core_schema

from fastcalc.errors import InputError
from fastcalc.units import parse_quantity

Confidence = Literal["high", "medium", "low", "memory"]
Identifier = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=80)]
Whole = Annotated[int, Field(gt=0, le=10**9, strict=True)]
LayerCount = Annotated[int, Field(gt=0, le=10_000, strict=True)]
WholeOrZero = Annotated[int, Field(ge=0, le=10**9, strict=True)]
Excuses = dict[str, Annotated[str, Field(min_length=10)]]
"""Rules of `fastcalc check` that a file breaks and is right, each with the reason."""


class Entry(BaseModel):
    """A frozen record that refuses keys it does not know."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), defer_build=True
    )


class Source(Entry):
    """A document that numbers were taken from."""

    title: str
    url: str | None = None
    accessed: str | None = None
    note: str | None = None


class Quantity(Entry):
    """A number in SI units with where it came from.

    Attributes
    ----------
    si : float
        The value. [SI]
    text : str
        The value as the file writes it.
    source : str or None
        A key of the entry's ``sources``.
    printed : str or None
        The source's own characters, for whoever searches the document.
    reading : str or None
        How the printed characters were read, where they need reading.
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


def _plain_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"'{str(value)[:60]}' is not a plain number")
    return float(value)


class QuantityError(ValueError):
    """A quantity that cannot be read, and the rule that says so."""

    def __init__(self, sentence: str, rule: str) -> None:
        super().__init__(sentence)
        self.rule = rule


@dataclass(frozen=True)
class QuantityReader:
    """Reads what a file writes for a `Quantity`: bare, or a mapping with its provenance.

    Attributes
    ----------
    dimension : str
        A dimension of `units`, or ``number`` for a plain one.
    least, most : float
        Limits, far outside what exists: beyond them a unit or a prefix is wrong. [SI]
    whole : bool
        Whether only whole numbers will do.
    """

    dimension: str
    least: float
    most: float
    whole: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Let pydantic call this before it validates the fields."""
        return core_schema.no_info_before_validator_function(self, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe what people write; `json_schema` knows each dimension."""
        return {"quantity": [self.dimension, self.least, self.most, self.whole]}

    def __call__(self, raw: Any) -> Any:
        """Return the fields of a `Quantity`."""
        if isinstance(raw, Quantity):
            return raw
        fields = dict(raw) if isinstance(raw, dict) else {"value": raw}
        if fields.get("value") is None:
            sentence = "a value is missing: write 'value:' or the bare number with its unit"
            raise QuantityError(sentence, "ST016")
        value = fields.pop("value")
        return {**fields, "si": self.si(value), "text": str(value)}

    def si(self, value: object) -> float:
        """Return the SI value of a bare quantity, or raise a `QuantityError`."""
        try:
            plain = self.dimension == "number"
            si = _plain_number(value) if plain else parse_quantity(value, self.dimension)
        except InputError as error:
            raise QuantityError(str(error), getattr(error, "rule", "ST017")) from error
        if not self.least <= si <= self.most:
            unit = "" if self.dimension == "number" else f" {_SI_UNIT[self.dimension]}"
            sentence = f"'{value}' is out of range: from {self.least:g} to {self.most:g}{unit}"
            raise QuantityError(sentence, "ST018")
        if self.whole and si != int(si):
            raise QuantityError(f"'{value}' is not a whole number", "ST018")
        return si


_SI_UNIT = {
    "size": "B",
    "bandwidth": "B/s",
    "compute rate": "FLOP/s",
    "time": "s",
    "power": "W",
    "area": "m2",
    "price": "USD",
    "hourly price": "USD/h",
}
Size = Annotated[Quantity, QuantityReader("size", 1e3, 1e18)]
Bandwidth = Annotated[Quantity, QuantityReader("bandwidth", 1e3, 1e20)]
ComputeRate = Annotated[Quantity, QuantityReader("compute rate", 1e6, 1e22)]
Time = Annotated[Quantity, QuantityReader("time", 0.0, 1e3)]
Watts = Annotated[Quantity, QuantityReader("power", 1e-3, 1e9)]
Area = Annotated[Quantity, QuantityReader("area", 1e-9, 1e2)]
Dollars = Annotated[Quantity, QuantityReader("price", 1e-2, 1e12)]
DollarsPerHour = Annotated[Quantity, QuantityReader("hourly price", 1e-6, 1e9)]
Count = Annotated[Quantity, QuantityReader("number", 1.0, 1e15, whole=True)]
Fraction = Annotated[Quantity, QuantityReader("number", 1e-6, 1.0)]
Number = Annotated[Quantity, QuantityReader("number", 0.0, 1e6)]
Factor = Annotated[Quantity, QuantityReader("number", 1.0, 100.0)]
