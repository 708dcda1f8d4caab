"""Reader of YAML files into plain data, with the line and column of every value.

Only mappings, lists, text, numbers, ``true``, ``false`` and ``null`` are allowed. Other features of
YAML 1.1 (anchors, tags, ``no`` for false, ``1:30`` for ninety, ``010`` for eight) are rejected with
an explanation, because they are almost always mistakes in a data file.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import yaml

from fastcalc.catalogue.faults import MOST, Fault, in_order, refuse
from fastcalc.catalogue.inputs import read_bytes, why_unreadable
from fastcalc.written import Json, control_in, shown

MAX_BYTES = 256_000
MAX_DEPTH = 30
MAX_VALUES = 20_000
KEPT = 512  # cached documents per process, twice the number of shipped files

_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_DECIMAL = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9]*(?:[eE][-+][0-9]+)?")
_ALMOST_NUMBER = re.compile(
    r"[-+]?(?:[0-9.]+[eE][-+]?[0-9]+|0[0-9]+|0x[0-9a-fA-F]+|[0-9]+(?::[0-9]+)+)"
)
_SIGNS_AND_DIGITS = frozenset("+-.0123456789")
_BOOLEANS = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n"))

Path_ = tuple[str | int, ...]
Mark = tuple[int, int]


@dataclass
class Document:
    """The data of a file with the location of each key and value (line and column, from 1).

    ``refused`` contains the paths for which a problem was already found. A document is incomplete
    if reading stopped before the end; missing keys are then not a problem. ``entries`` contains the
    entries built from it, by schema.
    """

    file: str
    data: Json = None
    values: dict[Path_, Mark] = field(default_factory=dict)
    keys: dict[Path_, Mark] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    refused: set[Path_] = field(default_factory=set)
    is_whole: bool = True
    entries: dict[type, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def at(self, *path: str | int) -> Json:
        """Return the value at a path, or None."""
        node = self.data
        for step in path:
            node = inside(node, step)
        return node

    def mapping(self, *path: str | int) -> dict[str, Json]:
        """Return the mapping at a path (by default the whole file), or an empty mapping."""
        node = self.at(*path)
        return node if isinstance(node, dict) else {}

    def items(self, *path: str | int) -> list[Json]:
        """Return the items of the list at a path, or an empty list."""
        node = self.at(*path)
        return node if isinstance(node, list) else []

    @cached_property
    def texts(self) -> list[tuple[Path_, str]]:
        """Every text with its path, in file order."""
        return list(_texts(self.data, ()))

    @property
    def has_no_mapping(self) -> bool:
        """Whether it was read to the end and is empty, a list or a single value."""
        return any(fault.rule in ("ST006", "ST007") for fault in self.faults)

    def mark(self, path: Path_, *, key: bool = False) -> Mark:
        """Return the line and column of a path, or of its nearest parent in the file."""
        marks = self.keys if key and path in self.keys else self.values
        while path and path not in marks:
            path = path[:-1]
        return marks.get(path, (1, 1))

    def place(self, *path: str | int) -> str:
        """Format the location of a path or its nearest parent as ``file:line:column``."""
        line, column = self.mark(path)
        return f"{self.file}:{line}:{column}" if line else self.file

    def add(self, rule: str, mark: Mark, message: str) -> None:
        """Add a problem."""
        self.faults.append(Fault(rule, self.file, *mark, message))

    def is_refused(self, path: Path_) -> bool:
        """Check whether a problem was found at a path or above it."""
        return any(path[:length] in self.refused for length in range(len(path) + 1))


def inside(node: Json, step: str | int) -> Json:
    """Return the value at a key or index of the data, or None."""
    if isinstance(node, dict) and isinstance(step, str):
        return node.get(step)
    if isinstance(node, list) and isinstance(step, int) and 0 <= step < len(node):
        return node[step]
    return None


def _texts(node: Json, path: Path_) -> Iterator[tuple[Path_, str]]:
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, (dict, list)):
        for step, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _texts(value, (*path, step))


def plain(text: str) -> str | bool | int | float | None:
    """Convert an unquoted word to its value."""
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if text[0] not in _SIGNS_AND_DIGITS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", "")) if len(text) < 40 else text
    return float(text.replace("_", "")) if _DECIMAL.fullmatch(text) else text


_Node = yaml.ScalarEvent | yaml.CollectionStartEvent


class _StopReading(Exception):  # noqa: N818  (no error: the faults are noted)
    """Raised to stop reading, because nothing after this point can be trusted."""


def read(path: Path) -> Document:
    """Read a YAML file with a mapping at its top level, up to 256 kB.

    Results are cached, because they are never modified.

    Raises InputError if it is not YAML, repeats a key, or uses a rejected YAML feature.
    """
    document = _read(path, _parsed_once)
    if document.faults:
        raise refuse(in_order(document.faults))
    return document


def scan(path: Path) -> Document:
    """Read as much of a YAML file as possible, collecting all problems instead of raising one."""
    return _read(path, _parsed)


def _read(path: Path, parsed: Callable[[str, bytes], Document]) -> Document:
    unread = Document(str(path), is_whole=False)
    try:
        if path.is_dir():
            unread.add("ST001", (0, 0), "this is a folder; give the YAML file in it")
            return unread
        raw = read_bytes(path, MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        unread.add("ST001", (0, 0), f"cannot be read: {why_unreadable(error)}")
        return unread
    return parsed(str(path), raw)


def _parsed(file: str, raw: bytes) -> Document:
    document = Document(file)
    try:
        text = _text(document, raw)
        _Builder(document, iter(yaml.parse(text, Loader=_LOADER))).build()
    except yaml.YAMLError as error:
        marked = error if isinstance(error, yaml.MarkedYAMLError) else None
        mark = marked and marked.problem_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        lines = text.split("\n", line + 1)
        rule, problem = "ST005", "a tab cannot indent YAML; use spaces"
        if line >= len(lines) or "\t" not in lines[line][: column + 1]:
            rule = "ST004"
            problem = (marked and marked.problem) or str(error).splitlines()[0]
        document.add(rule, (line + 1, column + 1), f"not readable as YAML: {problem}")
        document.is_whole = False
    except _StopReading:
        document.is_whole = False
    if document.is_whole and document.data is None:
        hint = "'fastcalc new' prints chips, models and engines to fill in"
        document.add("ST006", (1, 1), f"the file is empty; {hint}")
        document.is_whole = False
    elif document.is_whole and not isinstance(document.data, dict):
        shape = "a list" if isinstance(document.data, list) else "a single value"
        hint = "an entry is a mapping that begins with 'id: its-name'"
        document.add("ST007", document.mark(()), f"the file holds {shape}; {hint}")
        document.is_whole = False
    return document


_parsed_once = lru_cache(maxsize=KEPT)(_parsed)


def _text(document: Document, raw: bytes) -> str:
    if len(raw) > MAX_BYTES:
        hint = "a catalogue entry is a few kilobytes"
        document.add("ST002", (0, 0), f"larger than {MAX_BYTES // 1000} kB; {hint}")
        raise _StopReading
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        document.add("ST003", (line, 1), "not UTF-8 text; save the file as UTF-8")
        raise _StopReading from error


class _Builder:
    """Builds plain data from parser events, without recursion for deep nesting."""

    def __init__(self, document: Document, events: Iterator[yaml.Event]) -> None:
        self.document = document
        self.events = events
        self.stack: list[tuple[dict[str, Json] | list[Json], Path_]] = []
        self.key: list[Path_ | None] = []  # of the value that comes next, in each mapping

    def build(self) -> None:
        documents = values = 0
        for event in self.events:
            if isinstance(event, yaml.ScalarEvent):
                values += 1
                if values > MAX_VALUES:
                    self.stop(event, "ST011", f"more than {MAX_VALUES:,} values; no entry has that")
                self.scalar(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self.note(event, "ST008", "a second document begins; keep one entry in a file")
                    return
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self.open(event)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self.stack.pop()
                self.key.pop()
            elif isinstance(event, yaml.AliasEvent):
                why = "aliases (*name) are not read here; write the value out"
                if self.expects_key():
                    self.stop(event, "ST010", why)
                self.note(event, "ST010", why, self.place(None, event))

    def note(self, event: yaml.Event, rule: str, why: str, path: Path_ | None = None) -> None:
        """Add a problem at an event. Given a path, no more problems are reported for that value."""
        self.document.add(rule, _mark(event), why)
        if path is not None:
            self.document.refused.add(path)
        if len(self.document.faults) >= MOST:
            self.document.add("ST011", _mark(event), f"{MOST} faults; the rest was not read")
            raise _StopReading

    def stop(self, event: yaml.Event, rule: str, why: str) -> None:
        self.note(event, rule, why)
        raise _StopReading

    def expects_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1][0], dict) and self.key[-1] is None

    def open(self, event: yaml.CollectionStartEvent) -> None:
        if len(self.stack) >= MAX_DEPTH:
            self.stop(event, "ST011", f"nested more than {MAX_DEPTH} deep; no entry needs that")
        if self.expects_key():
            self.stop(event, "ST014", "a key must be text")
        new: dict[str, Json] | list[Json] = {} if isinstance(event, yaml.MappingStartEvent) else []
        path = self.place(new, event)
        self.check_anchor(event, path)
        self.stack.append((new, path))
        self.key.append(None)

    def check_anchor(self, event: _Node, path: Path_) -> None:
        if event.anchor:
            self.note(event, "ST010", "anchors (&name) are not read here; write the value out")
        if event.tag is not None and event.tag != "!":
            self.note(event, "ST010", "tags (!name) are not read here", path)

    def scalar(self, event: yaml.ScalarEvent) -> None:
        if self.expects_key():
            parent, path = self.stack[-1]
            name, key_path = event.value, (*path, event.value)
            if name in parent:
                line, _ = self.document.keys[key_path]
                why = f"'{shown(name)}' is given twice (first in line {line}); keep one"
                self.note(event, "ST009", why)
            elif name == "<<":
                self.note(
                    event, "ST010", "merge keys (<<) are not read here; write it out", key_path
                )
            elif control := _control_in_key(name):
                why = f"'{shown(name)}' holds the control character {control}; a key is one line"
                self.note(event, "ST014", why, key_path)
            self.document.keys[key_path] = _mark(event)
            self.key[-1] = key_path
            return
        is_bare = event.implicit[0]  # neither quoted nor a block scalar
        value = plain(event.value) if is_bare else event.value
        path = self.place(value, event)
        if event.anchor or event.tag:
            self.check_anchor(event, path)
        if is_bare and isinstance(value, str):
            self.check_bare(event, path)

    def place(self, value: Json, event: yaml.Event) -> Path_:
        """Insert a value at its location, recording line and column."""
        if not self.stack:
            self.document.data = value
            self.document.values[()] = _mark(event)
            return ()
        parent, path = self.stack[-1]
        if isinstance(parent, dict):
            path, self.key[-1] = self.key[-1] or (), None
            parent[str(path[-1])] = value
        else:
            path = (*path, len(parent))
            parent.append(value)
        self.document.values[path] = _mark(event)
        return path

    def check_bare(self, event: yaml.ScalarEvent, path: Path_) -> None:
        text = event.value
        if text.lower() in _BOOLEANS:
            why = f"'{text}' is a boolean to some YAML readers; write true or false, or quote it"
            self.note(event, "ST013", why, path)
        elif text[0] in _SIGNS_AND_DIGITS and _ALMOST_NUMBER.fullmatch(text):
            why = (
                f"YAML reads {shown(text)} as text or as another number; write the number plainly "
                "with its unit, such as '1 TFLOP/s' or 1000000000"
            )
            self.note(event, "ST012", why, path)


_control_in_key = lru_cache(maxsize=KEPT)(control_in)  # keys recur within and across files


def _mark(event: yaml.Event) -> Mark:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (0, 0)
