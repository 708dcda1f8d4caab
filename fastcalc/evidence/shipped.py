"""The shipped evidence: points, where they come from, and which are held out of fits."""

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
"""Groups of publishers that fits leave out in turn."""


def number_of(publisher: str) -> int:
    """The SHA-256 of a publisher's name: it says what its points are for, whoever asks."""
    return int.from_bytes(sha256(publisher.encode()).digest())


def role_of(publisher: str) -> Role:
    """What the points of a publisher are for: to fit values, to choose terms, or to judge.

    Of five publishers three are fitted, one chooses, one judges.
    """
    remainder = number_of(publisher) % 5
    return "judge" if remainder == 0 else "choose" if remainder == 1 else "fit"


def fold_of(publisher: str) -> int:
    """Cross-validation fold in which a publisher is held out, 0 to `FOLDS` - 1."""
    return number_of(publisher) // 5 % FOLDS


@dataclass(frozen=True)
class Evidence:
    """Measured points and what is known of them."""

    points: tuple[Point, ...]
    provenance: Provenance

    @cached_property
    def unpredictable(self) -> dict[str, str]:
        """Why points cannot be predicted, by id."""
        return self._excluded("unpredictable")

    @cached_property
    def suspect(self) -> dict[str, str]:
        """Why points are not believed, by id."""
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
        """Who measured or published a point."""
        return self.provenance.sources[point.source_key].publisher

    def role(self, point: Point) -> Role:
        """What a point is for; decided by its publisher's name alone."""
        return role_of(self.publisher(point))

    def is_held_out(self, point: Point) -> bool:
        """Whether a point's publisher judges finished engines, and is never fitted."""
        return self.role(point) == "judge"

    def is_blind(self, point: Point) -> bool:
        """Whether nobody had looked at a point when publishers were split."""
        return self.provenance.sources[point.source_key].blind

    def is_used(self, point: Point) -> bool:
        """Whether a point is believed and of a server with all of its model on chips."""
        excluded = point.id in self.unpredictable or point.id in self.suspect
        return not (excluded or point.is_offloaded)

    def is_fitted(self, point: Point) -> bool:
        """Whether the shipped engines are fitted on a point."""
        return self.is_used(point) and not self.is_held_out(point)


@cache
def shipped() -> Evidence:
    """Read, once in a process, the shipped evidence, or raise InputError if a file is at fault."""
    folder = shipped_folder("evidence")
    points = tuple(read_points(folder / "measured.csv").demand())
    return Evidence(points, load(folder / "sources.yaml", Provenance))
