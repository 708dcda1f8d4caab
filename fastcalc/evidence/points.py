"""Reader of measurements from a file, which reports all problems in it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern

from fastcalc.errors import InputError
from fastcalc.evidence.csv_rows import CsvRows
from fastcalc.evidence.point import COLUMNS, NUMBERS, Point
from fastcalc.evidence.point_cells import header_faults, read_cell, wrong_layout, wrong_words
from fastcalc.evidence.text_files import FileFault, NoTextError, lines_of, opened
from fastcalc.written import shown

_MOST_FAULTS = 1000  # maximum number of problems kept per file
_EMPTY = dict.fromkeys(COLUMNS, "")
"""Empty cells for columns that a file does not have."""


def no_file(_: str) -> None:
    """Return None, as a substitute for `ranks_of` when no chips are known."""


@dataclass
class PointTable:
    """Iterates once over the lines of a CSV file.

    ranks_of : The function that gives the ranks per chip by chip name, or None for an unknown file.
    uncounted : The number of problems beyond those listed.
    """

    file: str
    lines: Iterable[str]
    ranks_of: Callable[[str], int | None] = no_file
    faults: list[FileFault] = field(default_factory=list)
    uncounted: int = 0
    _ids: dict[str, int] = field(default_factory=dict)
    _rows: CsvRows = field(init=False)

    def __post_init__(self) -> None:
        """Start the pass over the rows."""
        self._rows = CsvRows(self.file, self.lines, self._note)

    def points(self) -> Iterator[Point]:
        """Yield the measurements in valid rows, and record the problems in others."""
        rows = self._rows
        iterator = iter(rows)
        head, names = next(iterator, (1, []))
        names = [name.strip() for name in names]
        if not names:
            if not self.faults:
                empty = f"the file is empty; its first line must be {','.join(COLUMNS)}"
                self._note(FileFault(self.file, 1, 1, empty))
            return
        wrong = list(header_faults(names))
        for position, message in wrong:
            self._note(rows.fault(head, position, message))
        if wrong:
            return
        for line, cells in iterator:
            if len(cells) != len(names):
                at = min(len(cells), len(names))
                lengths = f"the row has {len(cells):,} cells, the header {len(names)}"
                is_torn = any("\n" in cell or "\r" in cell for cell in cells)
                if is_torn:
                    at = self._rows.cells_begun(line) - 1
                    hint = "it spans several lines: close the quotes of each cell on the same line"
                elif len(cells) > len(names):
                    hint = 'put a cell that contains commas into quotes, "like, this"'
                else:
                    hint = f"the cells from '{names[at]}' on are missing; leave unknown cells empty"
                self._note(self._rows.fault(line, at, f"{lengths}; {hint}"))
                continue
            point = self._point(line, [intern(cell.strip()) for cell in cells], names)
            if point:
                yield point

    def _point(self, line: int, cells: Sequence[str], names: Sequence[str]) -> Point | None:
        row = {**_EMPTY, "id": f"row-{line}", **dict(zip(names, cells))}  # noqa: B905  (one length)
        numbers: dict[str, float | None] = {}
        wrong = wrong_words(row)
        for name in NUMBERS:
            text = row[name]
            try:
                numbers[name] = read_cell(name, text) if text else None
            except ValueError as error:
                wrong[name] = str(error)
        first = self._ids.setdefault(row["id"], line)
        if row["id"] and first != line:
            stands = f"id '{shown(row['id'])}' is already used on line {first}"
            wrong["id"] = f"{stands}; ids are unique"
        wrong = wrong or wrong_layout(numbers, lambda: self.ranks_of(row["hardware"]))
        for name, message in wrong.items():
            position = names.index(name) if name in names else 0
            self._note(self._rows.fault(line, position, message))
        # Numeric texts in the row are replaced by numbers, which a type checker does not see.
        return None if wrong else Point(**{**row, **numbers}, line=line)  # type: ignore[arg-type]

    def _note(self, fault: FileFault) -> None:
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(fault)
        else:
            self.uncounted += 1


__all__ = ["Point", "Points", "Skipped", "gathered", "points_in", "read_points"]

MOST_FAULTS = 100  # maximum number of problems listed per file


@dataclass(frozen=True, slots=True)
class Skipped:
    """A measurement that was read but not used, with the reason."""

    id: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Points:
    """The measurements of a file, and up to `MOST_FAULTS` of its problems.

    skipped : The measurements that are not used, although they have no problems.
    """

    file: str
    points: Sequence[Point] = ()
    faults: tuple[FileFault, ...] = ()
    unlisted: int = 0
    skipped: tuple[Skipped, ...] = ()

    def sentences(self) -> list[str]:
        """Return a message for each problem with its location, and one that counts the others."""
        unlisted = [f"{self.file}: and {self.unlisted:,} more"] if self.unlisted else []
        return [*map(str, self.faults), *unlisted]

    def demand(self) -> Sequence[Point]:
        """Return the measurements, or raise InputError with all problems in the file."""
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
    """Assemble the content of a file, with problems sorted by location and limited in number.

    uncounted : The number of additional problems.
    """
    ordered = sorted(faults, key=lambda fault: (fault.line, fault.column))
    listed = tuple(ordered[:MOST_FAULTS])
    return Points(file, points, listed, len(ordered) - len(listed) + uncounted, tuple(skipped))


def read_points(path: Path) -> Points:
    """Read a CSV of measurements, one per row, with the columns of `Point` in any order."""
    with opened(path) as stream:
        return points_in(str(path), lines_of(str(path), stream))


def points_in(
    file: str, lines: Iterable[str], ranks_of: Callable[[str], int | None] = no_file
) -> Points:
    """Read measurements from the lines of a CSV.

    ranks_of : The function that gives the ranks per chip by chip name, or None for an unknown file.
    """
    table = PointTable(file, lines, ranks_of)
    try:
        points = list(table.points())
    except NoTextError as error:
        return gathered(file, (), [error.fault])
    return gathered(file, points, table.faults, uncounted=table.uncounted)
