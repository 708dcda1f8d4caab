"""What an engine file may hold."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, create_model

from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.catalogue.schema.quantities import (
    CacheFormatName,
    Entry,
    Excuses,
    FormatName,
    Identifier,
    Source,
)


class SpeedRange(Entry):
    """An 80 % range around an expected speed: ``expected / below`` to ``expected * above``."""

    below: Annotated[float, Field(ge=1.0, le=100.0)]
    above: Annotated[float, Field(ge=1.0, le=100.0)]
    basis: str


UNSEEN = "unseen"  # chips that an engine was not fitted on, and all that has no other range
BORROWED = "borrowed"  # kinds of machine that no engine was fitted on
OFFLOAD = "offload"  # part of the model lives on a host
Ranges = dict[
    Annotated[
        str, Field(pattern=r"^(decode|prefill|served)(-[a-z]+)?$|^(unseen|borrowed|offload)$")
    ],
    SpeedRange,
]
"""Ranges by what is predicted, and of that by class of machine (``decode-apple``) or kind of model
(``decode-moe``, ``decode-dense``)."""


if TYPE_CHECKING:  # what code takes from a file, it takes by name
    _Declared = Entry
else:
    _Declared = create_model(
        "_Declared",
        __base__=Entry,
        **{name: (parameter.quantity | None, None) for name, parameter in PARAMETERS.items()},
    )


class Parameters(_Declared):
    """What software reaches and what it pays; a value left out costs nothing."""

    @property
    def given(self) -> frozenset[str]:
        """Names of the values that are given."""
        return frozenset(name for name, value in self if value is not None)


def merged(first: Parameters, *later: Parameters) -> Parameters:
    """Return parameters with those of later ones in their place where they are given."""
    for override in later:
        first = first.model_copy(update={name: getattr(override, name) for name in override.given})
    return first


class Instead(Entry):
    """What old measurements, or those of some chips or models, are predicted with instead."""

    engine: Identifier
    before: Annotated[str, Field(pattern=r"^\d{4}-\d\d$")] | None = None
    kinds: list[str] = []
    attention: Literal["latent"] | None = None


class FormatsRun(Entry):
    """The formats that software runs in a chip's own units, on some architectures or on all."""

    architectures: list[Identifier] | None = None
    weights: list[FormatName]
    caches: list[CacheFormatName]
    source: str
    note: str | None = None


class Engine(Entry):
    """How well one piece of software uses hardware."""

    id: Identifier
    name: str
    date: str | None = None
    aliases: list[Identifier] = []
    sources: dict[str, Source] = {}
    extends: Identifier | None = None
    fitted_on: str
    is_bound: bool = False
    fitted_architectures: list[Identifier] = []
    cache_formats: dict[FormatName, CacheFormatName] = {}
    formats: list[FormatsRun] = []
    parameters: Parameters = Field(default_factory=Parameters)
    architectures: dict[Identifier, Parameters] = {}
    instead: list[Instead] = []
    ranges: Ranges | None = None
    notes: list[str] = []
    excused: Excuses = {}

    def range_of(self, *names: str) -> SpeedRange | None:
        """Return the first range of some names that there is, else that of what is not seen."""
        if self.ranges is None:
            return None
        return next((self.ranges[name] for name in (*names, UNSEEN) if name in self.ranges), None)

    def on(self, *groups: str | None) -> Parameters:
        """Return the parameters for a chip of some kind and architecture, the latter's last."""
        overrides = [self.architectures[key] for key in groups if key in self.architectures]
        return merged(self.parameters, *overrides)
