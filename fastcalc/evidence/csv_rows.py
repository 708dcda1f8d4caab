"""Reader for the rows of a user's CSV that locates cells and reports unreadable rows."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from fastcalc.errors import InputError
from fastcalc.evidence.text_files import FileFault, NoTextError, lines_of, opened

_WHOLE_CELL = re.compile(r'\s*"(?:[^"]|"")*"\s*|[^"]*')


@dataclass
class CsvRows:
    """Iterates once over the rows of a CSV file.

    report : Called with the problem if a row cannot be read; may raise an error.
    """

    file: str
    lines: Iterable[str]
    report: Callable[[FileFault], object]
    _row: dict[int, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the first line number and the cells of each row, skipping blank lines."""
        rows = csv.reader(self._remembered(), strict=True)
        while True:
            line = rows.line_num + 1
            self._row.clear()
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                self.report(self._unreadable(line, error))
                continue
            if any(map(str.strip, cells)):
                yield line, cells

    def column(self, line: int, position: int) -> int:
        """Return the column at which a cell begins, counted from 1, up to the end of the line."""
        text = self._row.get(line, "")
        starts = _starts(text)
        return starts[position] + 1 if position < len(starts) else len(text.rstrip("\r")) + 1

    def cells_begun(self, line: int) -> int:
        """Count the cells that begin on a line of the last row."""
        return len(_starts(self._row[line]))

    def fault(self, line: int, position: int, message: str) -> FileFault:
        """Build a problem report for a cell of the last row."""
        return FileFault(self.file, line, self.column(line, position), message)

    def _remembered(self) -> Iterator[str]:
        """Yield the lines, keeping those of the current row to locate problems."""
        for number, line in enumerate(self.lines, 1):
            self._row[number] = line
            yield f"{line}\n"

    def _unreadable(self, line: int, error: csv.Error) -> FileFault:
        text = self._row.get(line, "")
        starts = [*_starts(text), len(text) + 1]
        is_whole = [_WHOLE_CELL.fullmatch(text[a : b - 1]) is not None for a, b in pairwise(starts)]
        position = is_whole.index(False) if False in is_whole else 0
        if "new-line" in str(error):
            why = "the line end here differs from the others; use one kind of line end"
            return FileFault(self.file, line, text.find("\r") + 1, why)
        if False not in is_whole:
            message = "a cell of more than 100,000 letters; no measurement needs one"
        elif "unexpected end" in str(error) or "larger than" in str(error):
            message = "the quote that opens here is never closed; close it at the end of the cell"
        else:
            message = (
                "a quote within a cell; put the cell into quotes and double each quote inside it"
            )
        return FileFault(self.file, line, starts[position] + 1, message)


@contextmanager
def rows_of(path: Path) -> Iterator[CsvRows]:
    """Open the rows of a file. The first unreadable row raises InputError."""
    with opened(path) as stream:
        try:
            yield CsvRows(str(path), lines_of(str(path), stream), refuse)
        except NoTextError as error:
            raise InputError(str(error)) from error


def refuse(fault: FileFault) -> NoReturn:
    """Raise InputError for a problem in a file."""
    raise InputError(str(fault))


def _starts(line: str) -> list[int]:
    starts, is_quoted = [0], False
    for index, letter in enumerate(line):
        if letter == '"':
            is_quoted = not is_quoted
        elif letter == "," and not is_quoted:
            starts.append(index + 1)
    return starts
