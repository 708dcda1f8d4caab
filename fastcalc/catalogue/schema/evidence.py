"""Schema of the file about measurements: their sources, and measurements to exclude."""

from typing import Annotated, Literal

from pydantic import Field

from fastcalc.catalogue.schema.quantities import Entry


class EvidenceSource(Entry):
    """The publication and method of the measurements whose ids share a prefix.

    publisher : who measured or published them, which determines whether they are used for fitting
    blind : whether nobody had seen these measurements when publishers were split
    """

    title: str
    url: str
    publisher: str
    measured: str
    trust: Literal["high", "medium", "low"]
    date: str
    blind: bool = False


class Exclusion(Entry):
    """Measurements excluded from all fits, although suspect ones are still predicted and shown."""

    rows: Annotated[list[str], Field(min_length=1)]
    effect: Literal["unpredictable", "suspect"]
    reason: str


class Provenance(Entry):
    """The sources by the prefix of their ids, and the exclusions."""

    sources: dict[str, EvidenceSource]
    exclusions: list[Exclusion] = []
