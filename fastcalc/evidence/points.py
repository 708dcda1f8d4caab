"""Measurements of a file, and all of its faults."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastcalc.errors import InputError
from fastcalc.evidence.packed_points import PackedPoints
from fastcalc.evidence.point import Point
from fastcalc.evidence.table import PointTable, no_file
from fastcalc.evidence.text_files import FileFault, NoTextError, lines_of, opened

__all__ = ["Point", "Points", "Skipped", "gathered", "points_in", "read_points"]

MOST_FAULTS = 100  # maximum number of faults listed for a file


@dataclass(frozen=True, slots=True)
class Skipped:
    """A measurement that was read but not used, with the reason."""

    id: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Points:
    """Content of a file: valid measurements, up to `MOST_FAULTS` faults, and a count of the others.

    skipped : measurements that are not used, although they are not faults
    """

    file: str
    points: Sequence[Point] = ()
    faults: tuple[FileFault, ...] = ()
    unlisted: int = 0
    skipped: tuple[Skipped, ...] = ()

    def sentences(self) -> list[str]:
        """A message for each fault with its location, and one that counts the others."""
        unlisted = [f"{self.file}: and {self.unlisted:,} more"] if self.unlisted else []
        return [*map(str, self.faults), *unlisted]

    def demand(self) -> Sequence[Point]:
        """Measurements; raises InputError with all faults of the file if there are any."""
        if self.faults:
            raise InputError(*self.sentences())
        return self.points


def gathered(
    file: str,
    points: Sequence[Point],
    faults: Sequence[FileFault],
    skipped: Sequence[Skipped] = (),
    *,
    uncounted: int = 0,
) -> Points:
    """Content of a file, with its faults sorted by location and limited in number.

    uncounted : number of further faults [1]
    """
    ordered = sorted(faults, key=lambda fault: (fault.line, fault.column))
    listed = tuple(ordered[:MOST_FAULTS])
    return Points(file, points, listed, len(ordered) - len(listed) + uncounted, tuple(skipped))


def read_points(path: Path) -> Points:
    """Read a CSV of measurements: the columns of `Point` in any order, and one row each."""
    with opened(path) as stream:
        return points_in(str(path), lines_of(str(path), stream))


def points_in(
    file: str, lines: Iterable[str], ranks_of: Callable[[str], int | None] = no_file
) -> Points:
    """Content of the lines of a CSV.

    ranks_of : returns the ranks of a chip by its name, None if its file is unknown [1]
    """
    table = PointTable(file, lines, ranks_of)
    try:
        points = PackedPoints(table.points())
    except NoTextError as error:
        return gathered(file, (), [error.fault])
    return gathered(file, points, table.faults, uncounted=table.uncounted)
