"""JSON records of other programs: a single value, a list of values, or one value per line."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.evidence.text_files import FileFault, Text, opened, text_in
from fastcalc.written import shown

Stated: TypeAlias = Mapping[str, str | int | None]
"""The settings given by a record, by name; empty if not given."""
_SPACE = re.compile(r"[ \t\r\n]*")
_MOST_TEXT = 10_000


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON mapping, the line on which it begins, and its source text.

    file : The name of the source file.
    steps : The keys and indices that lead from the outermost mapping to this one.
    """

    line: int
    data: Mapping[str, Any]
    source: str = "{}"
    start: int = 0
    file: str = ""
    steps: tuple[str | int, ...] = ()

    def mark(self, *steps: str | int) -> tuple[int, int]:
        """Return the line and column of a value, or of the innermost existing mapping around it."""
        marks, path = json_marks(self.source, self.start), (*self.steps, *steps)
        while path not in marks:
            path = path[:-1]
        return marks[path]

    def within(self, *steps: str) -> "Record":
        """Return the nested mapping at a path of keys, or an empty one if it does not exist."""
        data: Any = self.data
        for step in steps:
            data = data.get(step) if isinstance(data, dict) else None
        data = data if isinstance(data, dict) else {}
        return replace(self, data=data, steps=(*self.steps, *steps))

    def mappings(self, key: str) -> Iterator["Record"]:
        """Yield the mappings in the list at a key, if there is one."""
        values = self.data.get(key)
        for index, value in enumerate(values if isinstance(values, list) else []):
            data = value if isinstance(value, dict) else {}
            yield replace(self, data=data, steps=(*self.steps, key, index))

    def text(self, key: str) -> str:
        """Return the text at a key, or an empty text."""
        value = self.data.get(key)
        return shown(value.strip(), _MOST_TEXT) if isinstance(value, str) else ""

    def number(self, key: str) -> float | None:
        """Return the number at a key, or None.

        Raises NoNumberError if the value is not a number, not finite or out of range.
        """
        value = self.data.get(key)
        if value is None:
            return None
        path = (*self.steps, key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            text = f"the text '{shown(str(value))}'"
            kinds = {str: text, bool: str(value).lower(), list: "a list", dict: "a mapping"}
            raise NoNumberError(path, f"{key} is {kinds[type(value)]}, not a number")
        if not isfinite(value):
            raise NoNumberError(path, f"{key} is {value}, not a finite number")
        if abs(value) not in LIMITS["any"]:
            raise NoNumberError(path, f"{key} is {value:g}, which is out of range: {LIMITS['any']}")
        return float(value)

    def numbers(self, key: str) -> list[float]:
        """Return the finite numbers in the list at a key. A nested list counts as its sum."""
        values = self.data.get(key)
        sums = [
            sum(value) if isinstance(value, list) and _are_numbers(value) else value
            for value in (values if isinstance(values, list) else [])
        ]
        return [float(value) for value in sums] if _are_numbers(sums) else []

    def count(self, key: str) -> int | None:
        """Return the integer at a key, if there is one."""
        value = self.number(key)
        return int(value) if value is not None and value.is_integer() else None


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
        for value in values
    )


class NoNumberError(ValueError):
    """Raised if a value is not a number or is out of range. Its path is attached."""

    def __init__(self, path: tuple[str | int, ...], sentence: str) -> None:
        super().__init__(sentence)
        self.path = path


class NoRunError(Exception):
    """Raised if a record has no usable run. The message gives the reason."""


def records(content: Text) -> tuple[list[Record], list[FileFault]]:
    """Parse the mappings in a file, including those before a truncation, and its problems."""
    text, results = content.text, list[Record]()

    def broken(index: int, message: str) -> tuple[list[Record], list[FileFault]]:
        index = min(index, len(text))
        line, column = text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)
        return results, [FileFault(content.file, line, column, message)]

    decoder = json.JSONDecoder(parse_int=short_whole)
    index, line, counted = _skip(text, 0), 1, 0
    in_list = text.startswith("[", index)
    index = _skip(text, index + 1) if in_list else index
    if index == len(text) and not in_list:
        return broken(0, "the file is empty")
    while index < len(text) and not (in_list and text[index] == "]"):
        line, counted = line + text.count("\n", counted, index), index
        try:
            value, end = decoder.raw_decode(text, index)
        except json.JSONDecodeError as error:
            reason = error.msg[:1].lower() + error.msg[1:]
            return broken(error.pos, f"not readable as JSON: {reason}")
        except RecursionError:
            return broken(index, "nested too deeply; no measurement needs that")
        if not isinstance(value, dict):
            return broken(index, "expected JSON objects, {...}")
        results.append(Record(line, value, text, index, content.file))
        index = _skip(text, end)
        if in_list and index < len(text) and text[index] != "]":
            if text[index] != ",":
                return broken(
                    index, "not readable as JSON: a comma is missing between two mappings"
                )
            index = _skip(text, index + 1)
    if in_list and index >= len(text):
        return broken(index, "the list is never closed: the file is truncated")
    return results, []


def alongside(file: str, name: str) -> list[Record]:
    """Read the records of a file in the same folder, or nothing if it cannot be read."""
    path = Path(file).with_name(name)
    try:
        if not path.is_file():
            return []
        with opened(path) as stream:
            parsed, faults = records(text_in(str(path), stream))
    except (OSError, InputError):
        return []
    return [] if faults else parsed


def _skip(text: str, index: int) -> int:
    match = _SPACE.match(text, index)
    return match.end() if match else index


_MOST_DIGITS = 40
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')


def json_marks(text: str, start: int = 0) -> dict[tuple[str | int, ...], tuple[int, int]]:
    """Map every value's path of keys and indices to its line and column, counted from 1.

    >>> json_marks('{"a": [1, {"b": 2}]}')[("a", 1, "b")]
    (1, 17)
    """
    marks: dict[tuple[str | int, ...], tuple[int, int]] = {}
    path: list[str | int | None] = []  # one step per open list or mapping; None before a key
    line, before, counted_to = text.count("\n", 0, start) + 1, text.rfind("\n", 0, start), start
    for match in _TOKEN.finditer(text, start):
        mark, index = match[0], match.start()
        if newlines := text.count("\n", counted_to, index):
            line, before = line + newlines, text.rfind("\n", counted_to, index)
        counted_to = index
        step = path[-1] if path else ""
        if mark in ("}", "]"):
            path.pop()
        elif mark == ",":
            path[-1] = step + 1 if isinstance(step, int) else None
        elif mark != ":" and step is None:
            path[-1] = str(json.loads(mark))
        elif mark != ":":
            marks[tuple(key for key in path if key is not None)] = line, index - before
            if mark in ("{", "["):
                path.append(None if mark == "{" else 0)
        if not path:
            break
    return marks


def short_whole(digits: str) -> int | float:
    """Parse an integer. An absurdly long one becomes a float."""
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)
