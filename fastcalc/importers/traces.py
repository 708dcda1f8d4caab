"""Recorded request traces in CSV or JSON lines, optionally gzipped: tokens and arrival times.

`trace_fields` defines the fields and units of each format. Unreadable rows are skipped and counted;
a file in which at least half of the rows are unreadable is rejected.
"""

import json
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import cast

import numpy as np
from pydantic_core import from_json

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.numerals import parse_number
from fastcalc.errors import InputError
from fastcalc.evidence.csv_rows import CsvRows, refuse
from fastcalc.evidence.text_files import NoTextError, decoded, lines_of, opened
from fastcalc.formulas.types import Floats, Ints
from fastcalc.importers.json_records import short_whole
from fastcalc.importers.trace_fields import (
    MOONCAKE,
    UNIT_WORDS,
    TraceFields,
    arrival_field,
    arrivals_words,
    ask_for_unit,
    fields_of,
    known_fields,
    unit_of,
)
from fastcalc.written import Json, ReadingNote, shown

_EXAMPLES = {
    ".csv": "2023-11-16 18:15:46,1000,200",
    "": '{"timestamp": 0, "input_length": 1000, "output_length": 200}',
}
_BLOCKS = (512, 16, 32, 64, 128, 256, 1024)
"""The numbers of prompt tokens per hash: Mooncake's block size, then those of servers."""

_MOST_TOKENS = LIMITS["tokens"].maximum
_LATEST = 1e19  # limit on timestamps, above nanoseconds since 1970
_MOST_LINE = 20_000_000
"""The maximum length of a JSON line, which contains one hash for every 16 prompt tokens. [byte]"""
_MOST_ODD = 1000
"""The maximum number of invalid rows before the first request, so that reading devices ends."""


def _none() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Trace:
    """The requests in order of arrival.

    prompt, output : Tokens of each request.
    arrival : The arrival of each request after the first, empty if unknown, in seconds.
    blocks : The hashes of prompt blocks, request by request, if the file has them.
    ends : The number of blocks up to the end of each request, empty if there are none.
    reading : The notes on request count, time span, rate, unit and skipped rows.
    """

    prompt: Floats
    output: Floats
    arrival: Floats
    blocks: Ints = field(default_factory=_none)
    ends: Ints = field(default_factory=_none)
    reading: tuple[str, ...] = ()

    @property
    def rate(self) -> float | None:
        """The mean request rate, or None if unknown, per second."""
        if len(self.arrival) < 2 or self.arrival[-1] <= self.arrival[0]:
            return None
        return float((len(self.arrival) - 1) / (self.arrival[-1] - self.arrival[0]))

    @property
    def block(self) -> int | None:
        """The tokens per block: the common size that explains the number of blocks."""
        sizes = np.diff(self.ends, prepend=0)
        prompt = self.prompt[: len(sizes)]
        fitting = (
            block for block in _BLOCKS if np.all((sizes == 0) | (sizes == np.ceil(prompt / block)))
        )
        return next(fitting, None) if len(self.blocks) else None


def read_trace(path: Path) -> Trace:
    """Read recorded requests, or raise InputError."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a .yaml, .jsonl or .csv file")
    file, suffix = str(path), Path(path.name.lower().removesuffix(".gz")).suffix
    with opened(path) as stream:
        read = _csv_requests if suffix == ".csv" else _json_requests
        requests = read(file, stream)
    if requests.odd_rows >= max(len(requests.prompt), 1):
        raise InputError(requests.first_odd)
    if not len(requests.prompt):
        example = _EXAMPLES.get(suffix, _EXAMPLES[""])
        raise InputError(f"{path}: contains no request; a line is for example {example}")
    return requests.trace()


@dataclass
class _Requests:
    """The requests read so far, in the units of the file.

    stamps : The arrival times; fewer than requests if some have none.
    unit : The unit of the arrival times, if the file defines it, in seconds.
    is_dated : Whether the file has dates, which are stored as seconds.
    odd_rows : The number of rows that are not requests.
    first_odd : The reason for the first such row, with its location.
    failed : The number of requests without an answer.
    """

    file: str
    fields: TraceFields = MOONCAKE
    arrival: str = "timestamp"
    unit: float | None = None
    is_dated: bool = False
    prompt: "array[float]" = field(default_factory=lambda: array("d"))
    output: "array[float]" = field(default_factory=lambda: array("d"))
    stamps: "array[float]" = field(default_factory=lambda: array("d"))
    blocks: "array[int]" = field(default_factory=lambda: array("q"))
    ends: "array[int]" = field(default_factory=lambda: array("q"))
    odd_rows: int = 0
    first_odd: str = ""
    failed: int = 0

    def refuse_row(self, error: InputError) -> None:
        """Skip a row, or raise InputError if a file begins with too many rows without a request."""
        self.first_odd = self.first_odd or str(error)
        self.odd_rows += 1
        if self.odd_rows >= _MOST_ODD and not self.prompt:
            raise InputError(self.first_odd)

    def add(self, prompt: float, output: float, stamp: float | None) -> bool:
        """Add a request, and return whether it counts. Failed requests do not."""
        if output == 0.0 and self.fields.zero_output_failed:
            self.failed += 1
            return False
        self.prompt.append(max(prompt, 1.0))
        self.output.append(max(output, 1.0))
        if stamp is not None:
            self.stamps.append(stamp)
        return True

    def trace(self) -> Trace:
        """Build the trace: requests in order of arrival, in seconds."""
        stamps, unit = np.array(self.stamps), self.unit
        if len(stamps) < len(self.prompt):
            stamps, unit = np.zeros(0), 1.0
        if unit is None:
            unit = unit_of(stamps)
        if unit is None:
            rate = (len(stamps) - 1) / float(stamps.max() - stamps.min())
            raise InputError(f"{self.file}: {ask_for_unit(self.arrival, rate)}")
        blocks = np.array(self.blocks, dtype=np.int64)
        ends = np.array(self.ends, dtype=np.int64) if len(blocks) else _none()
        lengths = np.array(self.prompt), np.array(self.output)
        trace = _in_order(*lengths, stamps * unit, blocks, ends)
        limit = LIMITS["request rate"]
        if trace.rate is not None and trace.rate not in limit:
            raise InputError(
                f"{self.file}: {len(stamps):,} requests arrive in {trace.arrival[-1]:.3g} s, "
                f"{trace.rate:.3g} per second, which is out of range: {limit}; check "
                f"{self.arrival}, read in {UNIT_WORDS[unit]}"
            )
        return replace(trace, reading=tuple(self._reading(trace, unit)))

    def _reading(self, trace: Trace, unit: float) -> Iterator[str]:
        name, count = Path(self.file).name, len(trace.prompt)
        if trace.rate is None:
            yield ReadingNote(f"{name}: {count:,} requests without arrival times")
        else:
            arrivals = arrivals_words(count, float(trace.arrival[-1]), trace.rate)
            words = "dates" if self.is_dated else UNIT_WORDS[unit]
            unit_read = f"{self.arrival} read as {words} ({self.fields.format} trace format)"
            yield ReadingNote(f"{name}: {arrivals}; {unit_read}")
        if self.failed:
            yield f"{name}: skipped {self.failed:,} failed requests ({self.fields.output} 0)"
        if self.odd_rows:
            yield f"{self.first_odd}; skipped {self.odd_rows:,} such rows"


def _json_requests(file: str, stream: BufferedReader) -> _Requests:
    requests, arrivals = _Requests(file), _Arrivals()
    names: Mapping[str, object] = {}
    for number, line in enumerate(iter(lambda: stream.readline(_MOST_LINE + 1), b""), 1):
        if len(line) > _MOST_LINE:
            raise InputError(
                f"{file}:{number}:1: a line of more than {_MOST_LINE // 1_000_000} MB; write one "
                "request per line"
            )
        location = (file, number, line)
        try:
            record = _record(location)
            if record is None:
                continue
            if not names and (fields := fields_of(record)):
                names, requests.fields = record, fields
                requests.arrival, requests.unit = arrival_field(fields, record)
            prompt = _tokens(record, requests.fields.prompt, location)
            output = _tokens(record, requests.fields.output, location)
            stamp = arrivals.of(record, requests.arrival, location)
            begun = len(requests.blocks)
            if hashes := record.get("hash_ids"):
                try:
                    requests.blocks.extend(array("q", cast("list[int]", hashes)))
                except (TypeError, OverflowError) as error:
                    raise _refusal(
                        location, "hash_ids", "a list of whole numbers of 64 bits"
                    ) from error
            if requests.add(prompt, output, stamp):
                requests.ends.append(len(requests.blocks))
            else:
                del requests.blocks[begun:]
        except InputError as error:
            requests.refuse_row(error)
    return requests


def _record(location: "_Place") -> dict[str, Json] | None:
    """Parse the mapping in a line, or return None for a blank line."""
    file, number, line = location
    try:
        record = from_json(line, allow_inf_nan=True)
    except ValueError:  # an error to locate, a byte order mark, or a blank line
        try:
            text = decoded(file, line.removeprefix(b"\xef\xbb\xbf"), number)
            record = json.loads(text, parse_int=short_whole) if text.strip() else None
        except NoTextError as error:
            raise InputError(str(error)) from error
        except (json.JSONDecodeError, RecursionError) as error:
            column = error.colno if isinstance(error, json.JSONDecodeError) else 1
            raise InputError(
                f"{file}:{number}:{column}: not a line of JSON; write one request per line"
            ) from error
        if record is None:
            return None
    if not isinstance(record, dict):
        raise InputError(f"{file}:{number}:1: not a mapping; a request has input_length")
    return record


class _Arrivals:
    """Computes arrivals from a timestamp, or from the delay after the previous turn in a session.

    is_timed : Whether the first request has a time, so that all others must have one.
    """

    def __init__(self) -> None:
        self.last_of: dict[str | int, float] = {}
        self.is_timed: bool | None = None

    def of(self, record: dict[str, Json], field: str, place: "_Place") -> float | None:
        """Return the arrival time of a request in the unit of the file, or None if unknown."""
        stamp, delay, session = record.get(field), record.get("delay"), record.get("session_id")
        session = session if isinstance(session, (str, int)) else None
        if self.is_timed is None:
            self.is_timed = stamp is not None
        if stamp is not None:
            time = _time(stamp, field, place)
        elif session is not None and session in self.last_of and delay is not None:
            time = self.last_of[session] + _time(delay, "delay", place)
        elif self.is_timed and session is None:
            raise InputError(f"{place[0]}:{place[1]}:1: {field} is missing")
        else:
            return None
        if session is not None:
            self.last_of[session] = time
        return time


_Place = tuple[str, int, bytes]
"""The file, line number and line of a request."""


def _refusal(location: _Place, key: str, expected: str) -> InputError:
    file, number, line = location
    column = line.decode(errors="replace").find(f'"{key}"') + 1 or 1
    return InputError(f"{file}:{number}:{column}: {key} is not {expected}")


def _tokens(record: dict[str, Json], key: str, location: _Place) -> float:
    value = record.get(key)
    if key not in record:
        keys = ", ".join(shown(name) for name in list(record)[:4]) or "no key"
        raise InputError(f"{location[0]}:{location[1]}:1: {key} is missing; the line has {keys}")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _refusal(location, key, "a whole number of tokens")
    if value != value or not 0 <= value <= _MOST_TOKENS or value != int(value):
        raise _refusal(location, key, f"a whole number of tokens up to {_MOST_TOKENS:,.0f}")
    return float(value)


def _time(value: object, key: str, location: _Place) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _LATEST:
        raise _refusal(location, key, "a number")
    return float(value)


def _csv_requests(file: str, stream: BufferedReader) -> _Requests:
    try:
        rows = CsvRows(file, lines_of(file, stream), refuse)
        lines, requests = iter(rows), _Requests(rows.file)
        _, header = next(lines, (1, []))
        names = [name.strip() for name in header]
        fields = fields_of(names)
        if fields is None:
            columns_found = ", ".join(shown(name) for name in names[:4])
            why = f"no trace has columns {columns_found}" if columns_found else "the file is empty"
            raise InputError(f"{rows.file}:1:1: {why}; {known_fields()}")
        requests.fields = fields
        requests.arrival, requests.unit = arrival_field(fields, names)
        columns = [names.index(name) for name in (fields.prompt, fields.output)]
        arrival = names.index(requests.arrival) if requests.arrival in names else None
        clock = _Clock()
        for line, row in lines:
            try:
                prompt, output = (_cell(row, column) for column in columns)
                requests.add(prompt, output, None if arrival is None else clock.read(row[arrival]))
            except (ValueError, IndexError):
                says = f"'{shown(','.join(row))}' is not a time and two whole numbers of tokens"
                requests.refuse_row(
                    InputError(
                        str(rows.fault(line, 0, f"{says}; write for example {_EXAMPLES['.csv']}"))
                    )
                )
        if clock.first is not None:
            requests.unit, requests.is_dated = 1.0, True
        return requests
    except NoTextError as error:
        raise InputError(str(error)) from error


def _cell(row: list[str], column: int) -> float:
    """Parse a whole number of tokens in a cell. Raises ValueError if it is invalid."""
    tokens = parse_number(row[column])
    if tokens is None or tokens % 1.0 or not 0.0 <= tokens <= _MOST_TOKENS:
        raise ValueError
    return tokens


class _Clock:
    """Arrival times in a column: numbers, or dates as seconds since the first date.

    first : The first date, or None before it is read.
    """

    def __init__(self) -> None:
        self.first: datetime | None = None
        self.is_numeric = False

    def read(self, cell: str) -> float:
        """Parse the time in a cell. Raises ValueError if it is invalid or the notation changes."""
        number = parse_number(cell)
        if number is not None and self.first is None and abs(number) < _LATEST:
            self.is_numeric = True
            return number
        if number is not None or self.is_numeric:
            raise ValueError
        date = datetime.fromisoformat(cell.strip())
        # Azure's first traces have no time zone; later ones use UTC.
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        self.first = self.first or date
        return (date - self.first).total_seconds()


def _in_order(prompt: Floats, output: Floats, arrival: Floats, blocks: Ints, ends: Ints) -> Trace:
    if not (np.diff(arrival) < 0.0).any():
        return Trace(prompt, output, arrival - arrival[:1], blocks, ends)
    order = np.argsort(arrival, kind="stable")
    if len(ends):
        starts, sizes = np.append(0, ends[:-1])[order], np.diff(ends, prepend=0)[order]
        ends = np.cumsum(sizes)
        blocks = blocks[np.repeat(starts - ends + sizes, sizes) + np.arange(len(blocks))]
    arrival = arrival[order]
    return Trace(prompt[order], output[order], arrival - arrival[0], blocks, ends)
