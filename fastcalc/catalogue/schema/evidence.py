"""Schema of the provenance file: sources of measurements, and measurements to exclude."""

from typing import Annotated, Literal

from pydantic import Field

from fastcalc.catalogue.schema.quantities import Entry


class EvidenceSource(Entry):
    """The publication and method behind all measurements whose ids share a prefix.

    publisher : Who measured or published them, which decides whether they are used for fitting.
    blind : Whether nobody had seen these measurements when publishers were divided.
    awaits_fit : Whether these measurements arrived after the engines were fitted.
    awaits_ranges : Whether they arrived after the ranges were learned, too.
    """

    title: str
    url: str
    publisher: str
    measured: str
    trust: Literal["high", "medium", "low"]
    date: str
    blind: bool = False
    awaits_fit: bool = False
    awaits_ranges: bool = False


class Exclusion(Entry):
    """Measurements that are excluded from all fits. Suspect ones are still predicted."""

    rows: Annotated[list[str], Field(min_length=1)]
    effect: Literal["unpredictable", "suspect"]
    reason: str


class Provenance(Entry):
    """The sources by id prefix, and the measurements excluded from fits."""

    sources: dict[str, EvidenceSource]
    exclusions: list[Exclusion] = []
