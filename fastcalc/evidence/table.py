"""A CSV of measured points: every row that is right, and every fault with its place."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from fastcalc.evidence.point import COLUMNS, NUMBERS, Point
from fastcalc.evidence.point_cells import header_faults, read_cell, wrong_layout, wrong_words
from fastcalc.evidence.text_files import FileFault
from fastcalc.written import shown

_MOST_FAULTS = 1000  # kept of a file
_WHOLE_CELL = re.compile(r'\s*"(?:[^"]|"")*"\s*|[^"]*')


def no_file(_: str) -> None:
    """Return that nothing is known of the chip of some name."""


@dataclass
class PointTable:
    """One pass over the lines of a CSV.

    ranks_of : gives the ranks of a chip by its name, None where its file is not known [1]
    uncounted : faults after so many that nobody reads them [1]
    """

    file: str
    lines: Iterable[str]
    ranks_of: Callable[[str], int | None] = no_file
    faults: list[FileFault] = field(default_factory=list)
    uncounted: int = 0
    _ids: dict[str, int] = field(default_factory=dict)
    _row: dict[int, str] = field(default_factory=dict)

    def points(self) -> Iterator[Point]:
        """Yield the points of the rows that are right; note the faults of the others."""
        rows = self._rows()
        head, names = next(rows, (1, []))
        names = [name.strip() for name in names]
        if not names:
            if not self.faults:
                self._add(1, 1, f"the file is empty; it begins with {','.join(COLUMNS)}")
            return
        wrong = list(header_faults(names))
        for position, message in wrong:
            self._add(head, self._column(head, position), message)
        if wrong:
            return
        for line, cells in rows:
            if len(cells) != len(names):
                self._wrong_length(line, cells, names)
                continue
            point = self._point(line, [cell.strip() for cell in cells], names)
            if point:
                yield point

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line that a row begins on, and its cells; blank lines are passed over."""
        rows = csv.reader(self._remembered(), strict=True)
        while True:
            line = rows.line_num + 1
            self._row.clear()
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                self._unreadable(line, error)
                continue
            if any(map(str.strip, cells)):
                yield line, cells

    def _remembered(self) -> Iterator[str]:
        """Yield the lines, and keep those of the row that is read, for the places of its faults."""
        for number, line in enumerate(self.lines, 1):
            self._row[number] = line
            yield f"{line}\n"

    def _point(self, line: int, cells: Sequence[str], names: Sequence[str]) -> Point | None:
        row = dict(zip(names, cells))  # noqa: B905  (of one length)
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
            stands = f"id '{shown(row['id'])}' stands on line {first} already"
            wrong["id"] = f"{stands}; each point has its own"
        wrong = wrong or wrong_layout(numbers, lambda: self.ranks_of(row["hardware"]))
        for name, message in wrong.items():
            self._add(line, self._column(line, names.index(name)), message)
        # Of the row's texts those that are numbers are replaced, which a type checker does not see.
        return None if wrong else Point(**{**row, **numbers}, line=line)  # type: ignore[arg-type]

    def _wrong_length(self, line: int, cells: Sequence[str], names: Sequence[str]) -> None:
        position = min(len(cells), len(names))
        lengths = f"the row has {len(cells):,} cells, the header {len(names)}"
        is_torn = any("\n" in cell or "\r" in cell for cell in cells)
        if is_torn:
            position = len(_starts(self._row[line])) - 1
            hint = "it runs over several lines: close the quotes of each cell on its own line"
        elif len(cells) > len(names):
            hint = 'put a cell that holds commas into quotes, "like, this"'
        else:
            hint = f"'{names[position]}' and what follows is missing; leave unknown cells empty"
        self._add(line, self._column(line, position), f"{lengths}; {hint}")

    def _unreadable(self, line: int, error: csv.Error) -> None:
        text = self._row.get(line, "")
        starts = [*_starts(text), len(text) + 1]
        is_whole = [_WHOLE_CELL.fullmatch(text[a : b - 1]) is not None for a, b in pairwise(starts)]
        position = is_whole.index(False) if False in is_whole else 0
        if "new-line" in str(error):
            why = "a line ends here as on no other line; use one kind of line end"
            self._add(line, text.find("\r") + 1, why)
            return
        if False not in is_whole:
            message = "a cell of more than 100,000 letters; no measurement needs one"
        elif "unexpected end" in str(error) or "larger than" in str(error):
            message = "the quote that opens here is never closed; close it at the end of the cell"
        else:
            message = (
                "a quote within a cell; put the cell into quotes and write each of its own twice"
            )
        self._add(line, starts[position] + 1, message)

    def _add(self, line: int, column: int, message: str) -> None:
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(FileFault(self.file, line, column, message))
        else:
            self.uncounted += 1

    def _column(self, line: int, position: int) -> int:
        """Return where a cell begins, counted from 1; the line's end if that is before it."""
        text = self._row.get(line, "")
        starts = _starts(text)
        return starts[position] + 1 if position < len(starts) else len(text.rstrip("\r")) + 1


def _starts(line: str) -> list[int]:
    starts, is_quoted = [0], False
    for index, letter in enumerate(line):
        if letter == '"':
            is_quoted = not is_quoted
        elif letter == "," and not is_quoted:
            starts.append(index + 1)
    return starts
