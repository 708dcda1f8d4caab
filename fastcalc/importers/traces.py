"""Recorded requests: JSON lines with Mooncake's or AIPerf's fields, or Azure's CSV.

Mooncake (github.com/kvcache-ai/Mooncake) writes `timestamp` in ms, `input_length`,
`output_length` and `hash_ids`, one for each block of 512 prompt tokens; AIPerf adds `session_id`
and `delay` in ms after the turn before; Azure (github.com/Azure/AzurePublicDataset) writes
`TIMESTAMP,ContextTokens,GeneratedTokens`.
"""

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from pydantic_core import from_json

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.numerals import parse_number
from fastcalc.errors import InputError
from fastcalc.evidence.csv_rows import CsvRows, refuse, rows_of
from fastcalc.evidence.text_files import NoTextError, decoded, opened
from fastcalc.formulas.types import Floats, Ints
from fastcalc.importers.json_places import short_whole
from fastcalc.written import Json, shown

_AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_AZURE_ROW = "2023-11-16 18:15:46,1000,200"
_BLOCKS = (512, 16, 32, 64, 128, 256, 1024)
"""Prompt tokens that a hash may stand for: Mooncake's, then what servers take for a block. [1]"""

_MOST_TOKENS = LIMITS["tokens"].maximum


def _none() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Trace:
    """Requests in the order of their arrival.

    prompt, output : tokens of each [1]
    arrival : of each, from the first; empty where the file does not say [s]
    blocks : hashes of prompt blocks, request after request, where the file has them
    ends : number of these up to the end of each request; empty where there are none [1]
    """

    prompt: Floats
    output: Floats
    arrival: Floats
    blocks: Ints = field(default_factory=_none)
    ends: Ints = field(default_factory=_none)

    @property
    def rate(self) -> float | None:
        """Requests that arrive a second, on average; None where nothing says. [1/s]"""
        if len(self.arrival) < 2 or self.arrival[-1] <= self.arrival[0]:
            return None
        return float((len(self.arrival) - 1) / (self.arrival[-1] - self.arrival[0]))

    @property
    def block(self) -> int | None:
        """Tokens of a block: of those in use, what makes as many of each prompt as it has. [1]"""
        sizes = np.diff(self.ends, prepend=0)
        prompt = self.prompt[: len(sizes)]
        fitting = (
            block for block in _BLOCKS if np.all((sizes == 0) | (sizes == np.ceil(prompt / block)))
        )
        return next(fitting, None) if len(self.blocks) else None


def read_trace(path: Path) -> Trace:
    """Read recorded requests."""
    is_azure = path.suffix.lower() == ".csv"
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a .yaml, .jsonl or .csv file")
    if is_azure:
        with rows_of(path) as rows:
            trace = _azure(rows)
    else:
        with opened(path) as stream:
            trace = _json_lines(str(path), stream)
    if not len(trace.prompt):
        line = '{"timestamp": 0, "input_length": 1000, "output_length": 200}'
        example = _AZURE_ROW if is_azure else line
        raise InputError(f"{path}: holds no request; a line is for example {example}")
    limit = LIMITS["request rate"]
    if trace.rate is not None and trace.rate not in limit:
        raise InputError(
            f"{path}: {len(trace.arrival):,} requests arrive in {trace.arrival[-1]:.3g} s, "
            f"{trace.rate:.3g} a second, which is out of range: {limit}; "
            f"{'check TIMESTAMP' if is_azure else 'write timestamp in milliseconds'}"
        )
    return trace


def _json_lines(file: str, lines: Iterable[bytes]) -> Trace:
    lengths = {"input_length": array("q"), "output_length": array("q")}
    arrivals, blocks, ends = _Arrivals(), array("q"), array("q")
    for number, line in enumerate(lines, 1):
        place = (file, number, line)
        try:
            record = from_json(line, allow_inf_nan=True)
        except ValueError:
            record = _with_place_of_fault(place)
            if record is None:
                continue
        if not isinstance(record, dict):
            raise InputError(f"{file}:{number}:1: not a mapping; a request has input_length")
        for key, tokens in lengths.items():
            value = record.get(key)
            if type(value) is not int or not 0 < value <= _MOST_TOKENS:
                value = _tokens(record, key, place)
            tokens.append(value)
        arrivals.add(record, place)
        if hashes := record.get("hash_ids"):
            try:
                blocks.fromlist(hashes)
            except (TypeError, OverflowError) as error:
                kind = "a list of whole numbers of 64 bits, one a block of 512"
                raise _refusal(place, "hash_ids", kind) from error
        ends.append(len(blocks))
    prompt, output = (np.array(tokens, dtype=float) for tokens in lengths.values())
    if not blocks:
        return _in_order(prompt, output, arrivals.seconds, _none(), _none())
    hashes, counts = np.frombuffer(blocks, np.int64), np.frombuffer(ends, np.int64)
    return _in_order(prompt, output, arrivals.seconds, hashes, counts)


def _with_place_of_fault(place: "_Place") -> object:
    """Return a line that begins with a byte order mark, None for one without text."""
    file, number, line = place
    try:
        text = decoded(file, line.removeprefix(b"\xef\xbb\xbf"), number)
    except NoTextError as error:
        raise InputError(str(error)) from error
    if not text.strip():
        return None
    try:
        return json.loads(text, parse_int=short_whole)
    except (json.JSONDecodeError, RecursionError) as error:
        column = error.colno if isinstance(error, json.JSONDecodeError) else 1
        raise InputError(
            f"{file}:{number}:{column}: not a line of JSON; write one request a line"
        ) from error


class _Arrivals:
    """When requests arrive: at their timestamps, or so long after the turn before of a session."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.last_of: dict[str | int, float] = {}
        self.is_timed = True

    def add(self, record: dict[str, Json], place: "_Place") -> None:
        stamp, delay = record.get("timestamp"), record.get("delay")
        session = record.get("session_id")
        session = session if isinstance(session, (str, int)) else None
        if stamp is not None:
            seconds = _milliseconds(stamp, "timestamp", place) / 1e3
        elif session is not None and session in self.last_of and delay is not None:
            seconds = self.last_of[session] + _milliseconds(delay, "delay", place) / 1e3
        else:
            self.is_timed, seconds = False, 0.0
        if session is not None:
            self.last_of[session] = seconds
        self.seconds.append(seconds)
        if not self.is_timed:
            self.seconds.clear()


_Place = tuple[str, int, bytes]
"""File, line number and line of a request."""


def _refusal(place: _Place, key: str, kind: str) -> InputError:
    file, number, line = place
    column = line.decode(errors="replace").find(f'"{key}"') + 1 or 1
    return InputError(f"{file}:{number}:{column}: {key} is not {kind}")


def _tokens(record: dict[str, Json], key: str, place: _Place) -> int:
    value = record.get(key)
    if key not in record:
        keys = ", ".join(shown(name, 20) for name in list(record)[:4]) or "none"
        raise InputError(f"{place[0]}:{place[1]}:1: {key} is missing; its keys begin with {keys}")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _refusal(place, key, "a whole number of tokens")
    if value != value or not 0 <= value <= _MOST_TOKENS or value != int(value):
        raise _refusal(place, key, f"a whole number of tokens up to {_MOST_TOKENS:,.0f}")
    return max(int(value), 1)


def _milliseconds(value: object, key: str, place: _Place) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e18:
        raise _refusal(place, key, "a number of milliseconds")
    return float(value)


def _azure(rows: CsvRows) -> Trace:
    each = iter(rows)
    _, header = next(each, (1, []))
    if [name.strip() for name in header[:3]] != list(_AZURE):
        raise InputError(f"{rows.file}:1:1: the first line is not '{','.join(_AZURE)}'")
    times: list[datetime] = []
    lengths: list[tuple[float, float]] = []
    for line, row in each:
        request = _request(row)
        if request is None:
            says = f"'{shown(','.join(row), 40)}' is not a time and two whole numbers of tokens"
            refuse(rows.fault(line, 0, f"{says}; write for example {_AZURE_ROW}"))
        times.append(request[0])
        lengths.append(request[1:])
    seconds = [(time - times[0]).total_seconds() for time in times]
    prompts, outputs = np.maximum(np.array(lengths, dtype=float).reshape(-1, 2), 1.0).T
    return _in_order(prompts, outputs, seconds, _none(), _none())


def _request(row: Sequence[str]) -> tuple[datetime, float, float] | None:
    """Return the time and the tokens of a row; None where one is none."""
    if len(row) < 3:
        return None
    prompt, output = parse_number(row[1]), parse_number(row[2])
    if prompt is None or output is None or prompt % 1.0 or output % 1.0:
        return None
    if not (0.0 <= prompt <= _MOST_TOKENS and 0.0 <= output <= _MOST_TOKENS):
        return None
    try:
        time = datetime.fromisoformat(row[0].strip())
    except ValueError:
        return None
    # Azure's first recordings name no zone, its later ones this.
    return time if time.tzinfo else time.replace(tzinfo=UTC), prompt, output


def _in_order(
    prompt: Floats, output: Floats, seconds: list[float], blocks: Ints, ends: Ints
) -> Trace:
    arrival = np.array(seconds if len(seconds) == len(prompt) else [], dtype=float)
    if not (np.diff(arrival) < 0.0).any():
        return Trace(prompt, output, arrival - arrival[:1], blocks, ends)
    order = np.argsort(arrival, kind="stable")
    if len(ends):
        starts, sizes = np.append(0, ends[:-1])[order], np.diff(ends, prepend=0)[order]
        ends = np.cumsum(sizes)
        blocks = blocks[np.repeat(starts - ends + sizes, sizes) + np.arange(len(blocks))]
    arrival = arrival[order]
    return Trace(prompt[order], output[order], arrival - arrival[0], blocks, ends)
