"""Schema of claims files: statements made in articles, and the numbers that support them."""

from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.schema.quantities import Entry, Identifier, Name, Source, Whole
from fastcalc.catalogue.units import dimension_of, parse_quantity
from fastcalc.errors import InputError
from fastcalc.written import Json

EXPECTED = "expected"
MOST_PREMISES = 4  # three values of each are combined with three of all others
Comparison = Literal["equals", "at-least", "at-most", "between"]
Fields = dict[str, Any]  # of an `Input`, before types are validated
_FORMS = "a number, a list of numbers, a quantity such as '44 GB', a name, or a mapping"


class Input(Entry):
    """An input of a test, which can be numbers, names, or numbers from catalogue entries.

    In a file, an input is written as ``6``, ``[0.75, 0.68]``, ``44 GB`` or ``glm-4.7``, as a
    mapping with ``value``, ``source`` and ``note``, or as ``{entry: hardware/wse-3, field: area}``.
    Values are in SI units; ``factor`` is the SI value of the ``unit``. Numbers may have a
    ``range``, given by its lower and upper limit, and names may have plausible alternatives. The
    verdict covers the whole range.
    """

    values: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    is_list: bool = False
    factor: float = 1.0
    unit: str = ""
    entry: tuple[str, ...] = ()
    field: str | None = None
    source: str | None = None
    note: str | None = None
    ends: tuple[float, ...] = ()
    others: tuple[str, ...] = ()
    range_texts: tuple[str, ...] = ()

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Json]:
        """Build the JSON Schema of what a file may contain, for editors."""
        number: Json = {"type": "number"}
        text: Json = {"type": "string"}
        several: Json = {"type": "array", "items": {"anyOf": [number, text]}, "minItems": 1}
        names: Json = {"type": "array", "items": text, "minItems": 1}
        options = [number, text, several]
        keys: Json = {
            "value": {"anyOf": options},
            "entry": {"anyOf": [text, names]},
            "range": several,
            **dict.fromkeys(("field", "source", "note"), text),
        }
        mapping: Json = {"type": "object", "additionalProperties": False, "properties": keys}
        return {"anyOf": [*options, mapping]}

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, raw: Json) -> Fields:
        if not isinstance(raw, dict):
            return _read(raw)
        fields = {key: written for key, written in raw.items() if key != "range"}
        ends = _range(raw["range"]) if "range" in raw else {}
        if "entry" in fields:
            entry = fields["entry"]
            listed = entry if isinstance(entry, list) else [entry]
            if not all(isinstance(name, str) and name.count("/") == 1 for name in listed):
                raise ValueError("entry is 'hardware/NAME', 'models/NAME' or 'engines/NAME'")
            if not isinstance(fields.get("field"), str):
                raise ValueError("entry needs 'field', such as memory.bandwidth")
            return {**fields, "entry": tuple(listed), "is_list": listed is entry, **ends}
        if "value" not in fields:
            raise ValueError(f"a mapping needs 'value' or 'entry'; else write {_FORMS}")
        read = _read(fields.pop("value"))
        if ends and bool(ends["others"]) != ("names" in read):
            raise ValueError("a range holds numbers for a number, names for a name")
        return {**read, **ends, **fields}

    @model_validator(mode="after")
    def _one_name_has_others(self) -> "Input":
        if self.others and self.is_list:
            raise ValueError("a range goes with one name: a list holds its cases itself")
        return self


def _range(raw: Json) -> Fields:
    read = _read(raw)
    ends, alternatives = read.get("values", ()), read.get("names", ())
    if ends and not (len(ends) == 2 and ends[0] < ends[1]):
        raise ValueError("a range is its lower and its upper end, or a list of other names")
    fields = {"ends": ends, "others": alternatives, "range_texts": read["texts"]}
    return fields if alternatives else {**fields, "unit": read["unit"], "factor": read["factor"]}


def _read(raw: Json) -> Fields:
    listed = raw if isinstance(raw, list) else [raw]
    pieces = [
        item
        for item in listed
        if isinstance(item, (int, float, str)) and not isinstance(item, bool)
    ]
    if not pieces or len(pieces) < len(listed):
        raise ValueError(f"write {_FORMS}")
    values: list[float] = []
    signatures: set[tuple[str, float, bool]] = set()  # unit, its SI value, and whether it is a name
    for item in pieces:
        if isinstance(item, (int, float)) or not item[:1].isdigit():
            signatures.add(("", 1.0, isinstance(item, str)))
            values += [] if isinstance(item, str) else [_bounded(item)]
            continue
        try:
            unit, dimension = dimension_of(item)
            values.append(_bounded(parse_quantity(item, dimension)))
            signatures.add((unit, parse_quantity(f"1 {unit}", dimension), False))
        except InputError as error:
            raise ValueError(str(error)) from error
    if len(signatures) > 1:
        raise ValueError("a list holds numbers, names, or quantities of one unit")
    [(unit, factor, is_name)] = signatures
    texts = tuple(str(item) for item in pieces)
    fields = {"texts": texts, "is_list": isinstance(raw, list), "unit": unit, "factor": factor}
    return {**fields, "names" if is_name else "values": texts if is_name else tuple(values)}


def _bounded(value: float) -> float:
    if abs(value) not in LIMITS["given"]:
        raise ValueError(f"{value:g} is out of range: {LIMITS['given']}, or the same below 0")
    return float(value)


class Check(Entry):
    """A test, with the condition on its result under which the claim holds.

    ``quantity`` describes the result, such as "user speed on wafers over that on GPUs". Several
    ``expected`` values apply to one result each, or are the limits for ``between``: two for all
    results, or two for each. A claim with ``may`` needs to be true in only one case.
    """

    test: Identifier
    quantity: str | None = None
    inputs: dict[str, Input] = {}
    comparison: Comparison = "equals"
    expected: Input
    unit: str = ""
    tolerance: Annotated[float, Field(ge=0, le=10)] = 0.0
    may: bool = False

    @model_validator(mode="after")
    def _two_ends(self) -> "Check":
        if not self.expected.values:
            raise ValueError("expected is a number, or a quantity with its unit")
        if self.expected.ends and self.expected.is_list:
            raise ValueError("expected has one value where it has a range")
        if self.comparison == "between" and len(self.expected.values) % 2:
            raise ValueError("between needs two expected values, the lower and the upper end")
        if self.expected.unit and self.unit:
            raise ValueError("expected has a unit already; leave 'unit' out")
        if len(self.premises) > MOST_PREMISES:
            raise ValueError(f"at most {MOST_PREMISES} premises of a check have a range")
        return self

    @property
    def premises(self) -> dict[str, Input]:
        """The inputs with a range, by name; `EXPECTED` is the value given in the claim."""
        inputs = {**self.inputs, EXPECTED: self.expected}
        return {name: premise for name, premise in inputs.items() if premise.ends or premise.others}


class Article(Entry):
    """The source of a claim, as far as the article identifies itself."""

    title: str
    author: Name | None = None
    url: str | None = None
    date: str | None = None
    note: str | None = None


class Claim(Entry):
    """A statement from articles. Without a ``check``, it cannot be tested.

    ``place`` gives headings and paragraphs by article, and ``hedge`` the limitations that an author
    mentions. ``ours`` marks claims made by no article. ``conclusion`` tests the article's
    conclusion, ``condition`` is a premise that it leaves out, and ``unpublished`` names the missing
    data that would decide the claim.
    """

    id: Identifier
    claim: str
    articles: list[str] = []
    check: Check | None = None
    conclusion: Check | None = None
    condition: str | None = None
    unpublished: str | None = None
    reason: str
    place: dict[str, dict[str, Whole | list[Whole]]] = {}
    hedge: dict[str, str] = {}
    ours: bool = False

    @property
    def checks(self) -> dict[str, Check]:
        """The tests of the claim and of its conclusion, by key."""
        return {key: self.given[key] for key in ("check", "conclusion") if key in self.given}

    @model_validator(mode="before")
    @classmethod
    def _where_it_stands(cls, raw: Json) -> Json:
        if isinstance(raw, dict) and isinstance(location := raw.get("place"), dict):
            return {"articles": [*location], **raw}
        return raw

    @model_validator(mode="after")
    def _somebody_says_it(self) -> "Claim":
        if bool(self.articles) == self.ours:
            raise ValueError("write 'place' or 'articles' of who says it, or else 'ours: true'")
        if not set(self.place) | set(self.hedge) <= set(self.articles):
            raise ValueError("place and hedge may name only articles that the claim lists")
        return self

    @model_validator(mode="after")
    def _needs_a_check(self) -> "Claim":
        if self.check is None and (self.conclusion or self.condition or self.unpublished):
            raise ValueError("a claim without 'check' is external: nothing else decides it")
        return self


class Claims(Entry):
    """The claims of a file.

    The words of a name in ``topics`` select its claims; those of the first topic lead the tables.
    """

    articles: dict[str, Article]
    sources: dict[str, Source] = {}
    topics: dict[str, list[Identifier]] = {}
    claims: Annotated[list[Claim], Field(min_length=1)]
