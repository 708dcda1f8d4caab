"""The shipped evidence: points, where they come from, and which are left out of fits."""

from dataclasses import dataclass
from functools import cache, cached_property

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.schema.evidence import Provenance
from fastcalc.catalogue.store import load
from fastcalc.evidence.point import Point
from fastcalc.evidence.points import read_points


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

    def is_set_aside(self, point: Point) -> bool:
        """Whether a point's source is kept to score finished engines."""
        return self.provenance.sources[point.source_key].set_aside

    def is_held_apart(self, point: Point) -> bool:
        """Whether ranges are learned from a point: believed, and of no fitted source."""
        excluded = point.id in self.unpredictable or point.id in self.suspect
        return self.is_set_aside(point) and not (excluded or point.is_offloaded)

    def is_fitted(self, point: Point) -> bool:
        """Whether engines are fitted on a point."""
        excluded = point.id in self.unpredictable or point.id in self.suspect
        return not (excluded or point.is_offloaded or self.is_set_aside(point))


@cache
def shipped() -> Evidence:
    """Read, once in a process, the shipped evidence, or raise InputError if a file is at fault."""
    folder = shipped_folder("evidence")
    points = tuple(read_points(folder / "measured.csv").demand())
    return Evidence(points, load(folder / "sources.yaml", Provenance))
