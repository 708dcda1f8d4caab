"""The measured points of a file, and everything that is wrong with it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastcalc.errors import InputError
from fastcalc.evidence.packed_points import PackedPoints
from fastcalc.evidence.point import Point
from fastcalc.evidence.table import PointTable, no_file
from fastcalc.evidence.text_files import FileFault, NoTextError, lines_of, opened

__all__ = ["Point", "Points", "Skipped", "gathered", "points_in", "read_points"]

MOST_FAULTS = 100  # listed of a file; whoever has more fixes those first


@dataclass(frozen=True, slots=True)
class Skipped:
    """A measurement that was read and is no point, and why."""

    id: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Points:
    """What one file holds: valid points, and `MOST_FAULTS` faults by place and a count of the rest.

    skipped : measurements that are nobody's fault and no points
    """

    file: str
    points: Sequence[Point] = ()
    faults: tuple[FileFault, ...] = ()
    unlisted: int = 0
    skipped: tuple[Skipped, ...] = ()

    def sentences(self) -> list[str]:
        """A sentence for each fault, with its place, and one that counts the rest."""
        unlisted = [f"{self.file}: and {self.unlisted:,} more"] if self.unlisted else []
        return [*map(str, self.faults), *unlisted]

    def demand(self) -> Sequence[Point]:
        """Points, or raise InputError with all that is wrong with the file."""
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
    """Return what one file holds, its faults by place and at most as much as anyone reads.

    uncounted : further faults, after those [1]
    """
    ordered = sorted(faults, key=lambda fault: (fault.line, fault.column))
    listed = tuple(ordered[:MOST_FAULTS])
    return Points(file, points, listed, len(ordered) - len(listed) + uncounted, tuple(skipped))


def read_points(path: Path) -> Points:
    """Read a CSV of measured points: the columns of `Point` in any order, then a row a point."""
    with opened(path) as stream:
        return points_in(str(path), lines_of(str(path), stream))


def points_in(
    file: str, lines: Iterable[str], ranks_of: Callable[[str], int | None] = no_file
) -> Points:
    """Return what the lines of a CSV hold.

    ranks_of : gives the ranks of a chip by its name, None where its file is unknown [1]
    """
    table = PointTable(file, lines, ranks_of)
    try:
        points = PackedPoints(table.points())
    except NoTextError as error:
        return gathered(file, (), [error.fault])
    return gathered(file, points, table.faults, uncounted=table.uncounted)
