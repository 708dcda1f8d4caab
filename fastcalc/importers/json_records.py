"""JSON records of other programs: one value, a list of them, or one a line."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from fastcalc.catalogue.limits import LIMITS
from fastcalc.evidence.text_files import FileFault, Text
from fastcalc.importers.json_places import json_marks, short_whole
from fastcalc.written import shown

_SPACE = re.compile(r"[ \t\r\n]*")
_MOST_TEXT = 10_000


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON mapping, the line it begins on, and the text that it was read from."""

    line: int
    data: Mapping[str, Any]
    source: str = "{}"
    start: int = 0

    def mark(self, *steps: str) -> tuple[int, int]:
        """Return line and column of a value, or of the mapping where it has no such key."""
        marks = json_marks(self.source, self.start)
        return marks.get(steps, marks[()])

    def text(self, key: str) -> str:
        """Return the text of a key; empty where there is none."""
        value = self.data.get(key)
        return shown(value.strip(), _MOST_TEXT) if isinstance(value, str) else ""

    def number(self, key: str) -> float | None:
        """Return the finite number of a key, or None.

        Raises
        ------
        BeyondError
            If it is one that nothing measured can be.
        """
        value = self.data.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
            return None
        if abs(value) not in LIMITS["any"]:
            raise BeyondError(key, f"{key} is {value:g}, which is out of range: {LIMITS['any']}")
        return float(value)

    def count(self, key: str) -> int | None:
        """Return the whole number of a key, or None."""
        value = self.number(key)
        return int(value) if value is not None and value.is_integer() else None


class BeyondError(ValueError):
    """A number of a record out of all range."""

    def __init__(self, key: str, sentence: str) -> None:
        super().__init__(sentence)
        self.key = key


def records(content: Text) -> tuple[list[Record], list[FileFault]]:
    """Return the mappings of a file, and what is wrong with it.

    A file cut off in the middle still gives the mappings before the cut.
    """
    scanner = _Scanner(content.file, content.text)
    faults = []
    found = []
    try:
        for record in scanner.mappings():
            found.append(record)
    except _NotJson as error:
        faults.append(FileFault(content.file, *scanner.place(error.index), error.message))
    return found, faults


class _NotJson(Exception):  # noqa: N818  (it becomes a fault)
    def __init__(self, index: int, message: str) -> None:
        self.index, self.message = index, message


@dataclass
class _Scanner:
    file: str
    text: str

    def place(self, index: int) -> tuple[int, int]:
        """Return line and column of an index, counted from 1."""
        index = min(index, len(self.text))
        before = self.text.rfind("\n", 0, index)
        return self.text.count("\n", 0, index) + 1, index - before

    def mappings(self) -> Iterator[Record]:
        """Yield what a list at the top holds, or what stands one after another."""
        decoder = json.JSONDecoder(parse_int=short_whole)
        index, line, counted = self._skip(0), 1, 0
        in_list = self.text.startswith("[", index)
        index = self._skip(index + 1) if in_list else index
        if index == len(self.text) and not in_list:
            raise _NotJson(0, "the file is empty")
        while index < len(self.text) and not (in_list and self.text[index] == "]"):
            line, counted = line + self.text.count("\n", counted, index), index
            value, end = self._decode(decoder, index)
            if not isinstance(value, dict):
                raise _NotJson(index, "the file holds something else than mappings, {...}")
            yield Record(line, value, self.text, index)
            index = self._after(self._skip(end), in_list=in_list)
        if in_list and index >= len(self.text):
            raise _NotJson(index, "the list is never closed: the file is cut off")

    def _decode(self, decoder: json.JSONDecoder, index: int) -> tuple[object, int]:
        try:
            return decoder.raw_decode(self.text, index)
        except json.JSONDecodeError as error:
            reason = error.msg[:1].lower() + error.msg[1:]
            raise _NotJson(error.pos, f"not readable as JSON: {reason}") from error
        except RecursionError as error:
            raise _NotJson(index, "nested too deeply; no measurement needs that") from error

    def _after(self, index: int, *, in_list: bool) -> int:
        """Return where the next mapping begins, beyond the comma that a list has."""
        if not in_list or index >= len(self.text) or self.text[index] == "]":
            return index
        if self.text[index] != ",":
            raise _NotJson(index, "not readable as JSON: a comma is missing between two mappings")
        return self._skip(index + 1)

    def _skip(self, index: int) -> int:
        match = _SPACE.match(self.text, index)
        return match.end() if match else index
