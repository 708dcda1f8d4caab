"""A YAML file to plain data, remembering the line and column of every value.

Only what a hardware, model or engine file needs is read: mappings, lists, text, whole
and decimal numbers, ``true``, ``false`` and ``null``. The rest of YAML 1.1 (anchors,
tags, ``no`` for false, ``1:30`` for ninety, ``010`` for eight) is refused with a
sentence, because in a data sheet it is always an accident.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fastcalc.errors import InputError

MAX_BYTES = 1_000_000
MAX_DEPTH = 30

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_DECIMAL = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9]*(?:[eE][-+][0-9]+)?")
_ALMOST_NUMBER = re.compile(
    r"[-+]?(?:[0-9.]+[eE][-+]?[0-9]+|0[0-9]+|0x[0-9a-fA-F]+|[0-9]+(?::[0-9]+)+)"
)
_OLD_BOOLEANS = {"yes", "no", "on", "off", "y", "n"}

Path_ = tuple[str | int, ...]
Mark = tuple[int, int]


@dataclass
class Document:
    """The data of one file, and where each key and value stands (line, column; from 1)."""

    file: str
    data: Any = None
    values: dict[Path_, Mark] = field(default_factory=dict)
    keys: dict[Path_, Mark] = field(default_factory=dict)

    def at(self, path: Path_, *, key: bool = False) -> str:
        """Return ``file:line:column`` of a path, or of its nearest parent in the file."""
        marks = self.keys if key and path in self.keys else self.values
        while path and path not in marks:
            path = path[:-1]
        line, column = marks.get(path, (1, 1))
        return f"{self.file}:{line}:{column}"


def read(path: Path) -> Document:
    """Read one YAML file whose top level is a mapping.

    Parameters
    ----------
    path : Path
        The file. At most a megabyte is read.

    Returns
    -------
    Document
        Plain data with the place of every value.

    Raises
    ------
    InputError
        If the file cannot be read, is not UTF-8 YAML, is empty, is not a mapping, repeats
        a key, or uses a part of YAML that fastcalc refuses.
    """
    document = Document(str(path))
    text = _text(path)
    try:
        _Builder(document, _events(text)).build()
    except yaml.YAMLError as error:
        raise InputError(_syntax_error(document.file, text, error)) from error
    if document.data is None:
        raise InputError(f"{path}:1:1: the file is empty; 'fastcalc show' prints a filled-in entry")
    if not isinstance(document.data, dict):
        kind = "a list" if isinstance(document.data, list) else "a single value"
        raise InputError(
            f"{document.at(())}: the file holds {kind}; "
            "an entry is a mapping that begins with 'id: its-name'"
        )
    return document


def _text(path: Path) -> str:
    """Return the file's text, or say in a sentence why there is none."""
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder; give the YAML file in it")
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}"
        ) from error
    if len(raw) > MAX_BYTES:
        raise InputError(f"{path} is larger than a megabyte; a catalogue entry is a few kilobytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}:1: not UTF-8 text; save the file as UTF-8") from error


def _events(text: str) -> Iterator[Any]:
    return iter(yaml.parse(text, Loader=_LOADER))


def _syntax_error(file: str, text: str, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    line, column = (mark.line, mark.column) if mark else (0, 0)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    lines = text.splitlines()
    if line < len(lines) and "\t" in lines[line][: column + 1]:
        problem = "a tab cannot indent YAML; use spaces"
    return f"{file}:{line + 1}:{column + 1}: not readable as YAML: {problem}"


class _Builder:
    """Plain data from parser events, without recursion, so that depth cannot hurt."""

    def __init__(self, document: Document, events: Iterator[Any]) -> None:
        self.document = document
        self.events = events
        self.stack: list[tuple[dict[str, Any] | list[Any], Path_]] = []
        self.key: list[str | None] = []

    def build(self) -> None:
        documents = 0
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self.refuse(event, "a second document begins; keep one entry in a file")
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self.open(event)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self.stack.pop()
                self.key.pop()
            elif isinstance(event, yaml.AliasEvent):
                self.refuse(event, "aliases (*name) are not read here; write the value out")
            elif isinstance(event, yaml.ScalarEvent):
                self.scalar(event)

    def refuse(self, event: Any, why: str) -> None:
        mark = event.start_mark
        raise InputError(f"{self.document.file}:{mark.line + 1}:{mark.column + 1}: {why}")

    def open(self, event: Any) -> None:
        if event.anchor:
            self.refuse(event, "anchors (&name) are not read here; write the value out")
        if len(self.stack) >= MAX_DEPTH:
            self.refuse(event, f"nested more than {MAX_DEPTH} deep; no entry needs that")
        if isinstance(self.parent(), dict) and self.key[-1] is None:
            self.refuse(event, "a key must be text")
        new: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        path = self.place(new, event)
        self.stack.append((new, path))
        self.key.append(None)

    def parent(self) -> dict[str, Any] | list[Any] | None:
        return self.stack[-1][0] if self.stack else None

    def scalar(self, event: Any) -> None:
        if event.anchor:
            self.refuse(event, "anchors (&name) are not read here; write the value out")
        if isinstance(self.parent(), dict) and self.key[-1] is None:
            self.open_key(event)
            return
        self.place(self.value_of(event), event)

    def open_key(self, event: Any) -> None:
        parent, path = self.stack[-1]
        if event.value in parent:
            line, _ = self.document.keys[(*path, event.value)]
            self.refuse(event, f"'{event.value}' is given twice (first in line {line}); keep one")
        self.document.keys[(*path, event.value)] = _mark(event)
        self.key[-1] = event.value

    def place(self, value: Any, event: Any) -> Path_:
        """Put a value where it belongs and remember where it stands."""
        if not self.stack:
            self.document.data = value
            self.document.values[()] = _mark(event)
            return ()
        parent, path = self.stack[-1]
        step: str | int
        if isinstance(parent, dict):
            step = str(self.key[-1])
            parent[step] = value
            self.key[-1] = None
        else:
            step = len(parent)
            parent.append(value)
        self.document.values[(*path, step)] = _mark(event)
        return (*path, step)

    def value_of(self, event: Any) -> Any:
        text = event.value
        if event.tag is not None and event.tag != "!":
            self.refuse(event, "tags (!name) are not read here")
        if not event.implicit[0]:  # quoted, or a block of text
            return text
        if text in ("", "~", "null"):
            return None
        if text in ("true", "false"):
            return text == "true"
        if _INTEGER.fullmatch(text):
            return int(text.replace("_", "")) if len(text) < 40 else float(text.replace("_", ""))
        if _DECIMAL.fullmatch(text):
            return float(text.replace("_", ""))
        if text.lower() in _OLD_BOOLEANS | {"true", "false"}:
            self.refuse(event, f"'{text}' is a boolean to some YAML readers; write true or false")
        if _ALMOST_NUMBER.fullmatch(text):
            self.refuse(
                event,
                f"YAML reads {text} as text or as another number; write the number plainly with "
                "its unit, such as '1 TFLOP/s' or 1000000000",
            )
        return text


def _mark(event: Any) -> Mark:
    return event.start_mark.line + 1, event.start_mark.column + 1
