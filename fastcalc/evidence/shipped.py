"""Shipped evidence: measurements, their sources, and the split for held-out evaluation."""

from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from typing import Literal

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.schema.evidence import Provenance
from fastcalc.catalogue.store import load
from fastcalc.evidence.point import Point
from fastcalc.evidence.points import read_points

Role = Literal["fit", "choose", "judge"]

FOLDS = 10
"""The number of publisher groups that are held out in turn."""


def number_of(publisher: str) -> int:
    """Hash a publisher's name (SHA-256), which determines how its measurements are used."""
    return int.from_bytes(sha256(publisher.encode()).digest())


def role_of(publisher: str) -> Role:
    """Check whether a publisher's measurements are used for fitting, selection or evaluation.

    Of every five publishers, three are used for fitting, one for selection and one for evaluation.
    """
    remainder = number_of(publisher) % 5
    return "judge" if remainder == 0 else "choose" if remainder == 1 else "fit"


def fold_of(publisher: str) -> int:
    """Return the cross-validation fold that holds out a publisher, from 0 to `FOLDS` - 1."""
    return number_of(publisher) // 5 % FOLDS


@dataclass(frozen=True)
class Evidence:
    """Measurements with information about their sources and problems."""

    points: tuple[Point, ...]
    provenance: Provenance

    @cached_property
    def unpredictable(self) -> dict[str, str]:
        """The reasons why measurements cannot be predicted, by id."""
        return self._excluded("unpredictable")

    @cached_property
    def suspect(self) -> dict[str, str]:
        """The reasons why measurements are considered wrong, by id."""
        return self._excluded("suspect")

    def _excluded(self, effect: str) -> dict[str, str]:
        exclusions = self.provenance.exclusions
        return {
            row: exclusion.reason
            for exclusion in exclusions
            if exclusion.effect == effect
            for row in exclusion.rows
        }

    def publisher(self, point: Point) -> str:
        """Return the publisher of a measurement."""
        return self.provenance.sources[point.source_key].publisher

    def role(self, point: Point) -> Role:
        """Return how a measurement is used, which depends only on its publisher's name."""
        return role_of(self.publisher(point))

    def is_held_out(self, point: Point) -> bool:
        """Check whether no engine was fitted on a measurement's source.

        Its publisher is reserved for evaluation, or it arrived after the fit.
        """
        source = self.provenance.sources[point.source_key]
        return source.awaits_fit or self.role(point) == "judge"

    def is_awaiting(self, point: Point) -> bool:
        """Check whether a measurement arrived between the fit and the ranges learned from it.

        Measurements that are reserved for evaluation do not count.
        """
        source = self.provenance.sources[point.source_key]
        is_between = source.awaits_fit and not source.awaits_ranges
        return is_between and self.is_used(point) and self.role(point) != "judge"

    def is_blind(self, point: Point) -> bool:
        """Check whether a measurement had not been used when publishers were divided."""
        return self.provenance.sources[point.source_key].blind

    def is_used(self, point: Point) -> bool:
        """Check whether a measurement is not suspect and its model is entirely on chips."""
        excluded = point.id in self.unpredictable or point.id in self.suspect
        return not (excluded or point.is_offloaded)

    def is_fitted(self, point: Point) -> bool:
        """Check whether a measurement is used to fit the shipped engines."""
        return self.is_used(point) and not self.is_held_out(point)


@cache
def shipped() -> Evidence:
    """Read the shipped evidence once per process, or raise InputError if a file is invalid."""
    folder = shipped_folder("evidence")
    points = tuple(read_points(folder / "measured.csv").demand())
    return Evidence(points, load(folder / "sources.yaml", Provenance))
