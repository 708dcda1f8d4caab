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
        """Return the finite number of a key, or None; raise BeyondError if it is out of range."""
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


class _NotJson(Exception):  # noqa: N818  (it becomes a fault)
    def __init__(self, index: int, message: str) -> None:
        self.index, self.message = index, message


def records(content: Text) -> tuple[list[Record], list[FileFault]]:
    """Return the mappings of a file, those before a cut, too, and what is wrong with it."""
    text, results = content.text, []
    try:
        for record in _mappings(text):
            results.append(record)
    except _NotJson as error:
        index = min(error.index, len(text))
        line, column = text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)
        return results, [FileFault(content.file, line, column, error.message)]
    return results, []


def _mappings(text: str) -> Iterator[Record]:
    decoder = json.JSONDecoder(parse_int=short_whole)
    index, line, counted = _skip(text, 0), 1, 0
    in_list = text.startswith("[", index)
    index = _skip(text, index + 1) if in_list else index
    if index == len(text) and not in_list:
        raise _NotJson(0, "the file is empty")
    while index < len(text) and not (in_list and text[index] == "]"):
        line, counted = line + text.count("\n", counted, index), index
        try:
            value, end = decoder.raw_decode(text, index)
        except json.JSONDecodeError as error:
            reason = error.msg[:1].lower() + error.msg[1:]
            raise _NotJson(error.pos, f"not readable as JSON: {reason}") from error
        except RecursionError as error:
            raise _NotJson(index, "nested too deeply; no measurement needs that") from error
        if not isinstance(value, dict):
            raise _NotJson(index, "the file holds something else than mappings, {...}")
        yield Record(line, value, text, index)
        index = _skip(text, end)
        if in_list and index < len(text) and text[index] != "]":
            if text[index] != ",":
                why = "not readable as JSON: a comma is missing between two mappings"
                raise _NotJson(index, why)
            index = _skip(text, index + 1)
    if in_list and index >= len(text):
        raise _NotJson(index, "the list is never closed: the file is cut off")


def _skip(text: str, index: int) -> int:
    match = _SPACE.match(text, index)
    return match.end() if match else index
