"""What the file with the measured points may hold: their sources, and which to leave out."""

from typing import Annotated, Literal

from pydantic import Field

from fastcalc.catalogue.schema.quantities import Entry


class EvidenceSource(Entry):
    """Where the points whose ids share a prefix were published, and how they were measured.

    publisher : whoever measured or published them; its name decides what they are used for
    blind : whether nobody had looked at these points when publishers were split
    """

    title: str
    url: str
    publisher: str
    measured: str
    trust: Literal["high", "medium", "low"]
    date: str
    blind: bool = False


class Exclusion(Entry):
    """Points that nothing is fitted on: suspect ones are predicted and shown, the others not."""

    rows: Annotated[list[str], Field(min_length=1)]
    effect: Literal["unpredictable", "suspect"]
    reason: str


class Provenance(Entry):
    """Sources by the prefix of their ids, and exclusions."""

    sources: dict[str, EvidenceSource]
    exclusions: list[Exclusion] = []
