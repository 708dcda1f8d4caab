"""Locations of values in a JSON text, computed only if there is an error."""

import json
import re

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
    """Parse an integer; an absurdly long one becomes a float."""
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)
