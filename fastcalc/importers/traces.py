"""Recorded requests: JSON lines with Mooncake's or AIPerf's fields, or Azure's CSV.

Mooncake (github.com/kvcache-ai/Mooncake) writes `timestamp` in ms, `input_length`,
`output_length` and `hash_ids`, one for each block of 512 prompt tokens; AIPerf adds `session_id`
and `delay` in ms after the turn before; Azure (github.com/Azure/AzurePublicDataset) writes
`TIMESTAMP,ContextTokens,GeneratedTokens`.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from fastcalc.catalogue.inputs import opened
from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.formulas.types import Floats
from fastcalc.written import shown

BLOCK_TOKENS = 512
"""Prompt tokens that one of Mooncake's hashes stands for. [1]"""

_AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")


@dataclass(frozen=True, eq=False)
class Trace:
    """Requests in the order of their arrival.

    prompt, output : tokens of each [1]
    arrival : of each, from the first; empty where the file does not say [s]
    blocks : hashes of the prompt blocks of each, where the file has them
    """

    prompt: Floats
    output: Floats
    arrival: Floats
    blocks: list[list[int]] = field(default_factory=list)

    @property
    def rate(self) -> float | None:
        """Requests that arrive a second, on average; None where nothing says. [1/s]"""
        if len(self.arrival) < 2 or self.arrival[-1] <= self.arrival[0]:
            return None
        return float((len(self.arrival) - 1) / (self.arrival[-1] - self.arrival[0]))


def read_trace(path: Path) -> Trace:
    """Read recorded requests.

    Raises InputError, with line and column, where a request is none, or there is not one.
    """
    try:
        with opened(path) as stream:
            lines = (raw.decode("utf-8-sig", "strict") for raw in stream)
            reader = _azure if path.suffix.lower() == ".csv" else _json_lines
            trace = reader(str(path), lines)
    except OSError as error:
        why = "this is a folder" if path.is_dir() else str(error.strerror).lower()
        raise InputError(f"{path}: cannot be read: {why}; give a .jsonl or .csv file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text; save the file as UTF-8") from error
    if not len(trace.prompt):
        raise InputError(
            f"{path}: holds no request; a line is for example "
            '{"timestamp": 0, "input_length": 1000, "output_length": 200}'
        )
    return trace


def _json_lines(file: str, lines: Iterator[str]) -> Trace:
    prompt: list[int] = []
    output: list[int] = []
    arrivals = _Arrivals()
    blocks: list[list[int]] = []
    for number, line in zip(count(1), lines, strict=False):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            column = getattr(error, "colno", 1)
            raise InputError(
                f"{file}:{number}:{column}: not a line of JSON; write one request a line"
            ) from error
        if not isinstance(record, dict):
            raise InputError(f"{file}:{number}:1: not a mapping; a request has input_length")
        place = (file, number, line)
        prompt.append(_tokens(record, "input_length", place))
        output.append(_tokens(record, "output_length", place))
        arrivals.add(record, place)
        if hashes := record.get("hash_ids"):
            if not isinstance(hashes, list) or not all(type(block) is int for block in hashes):
                raise _refusal(place, "hash_ids", "a list of whole numbers, one a block of 512")
            blocks.append(hashes)
        elif blocks:
            blocks.append([])
    if blocks and len(blocks) < len(prompt):
        blocks = [[] for _ in range(len(prompt) - len(blocks))] + blocks
    return _in_order(prompt, output, arrivals.seconds, blocks)


class _Arrivals:
    """When requests arrive: at their timestamps, or so long after the turn before of a session."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.last_of: dict[Any, float] = {}
        self.is_timed = True

    def add(self, record: dict[str, Any], place: "_Place") -> None:
        stamp, delay = record.get("timestamp"), record.get("delay")
        session = record.get("session_id")
        session = session if isinstance(session, (str, int)) else None
        if stamp is not None:
            seconds = _milliseconds(stamp, "timestamp", place) / 1e3
        elif session in self.last_of and delay is not None:
            seconds = self.last_of[session] + _milliseconds(delay, "delay", place) / 1e3
        else:
            self.is_timed, seconds = False, 0.0
        if session is not None:
            self.last_of[session] = seconds
        self.seconds.append(seconds)
        if not self.is_timed:
            self.seconds.clear()


_Place = tuple[str, int, str]
"""File, line number and line of a request."""


def _refusal(place: _Place, key: str, kind: str) -> InputError:
    file, number, line = place
    column = line.find(f'"{key}"') + 1 or 1
    return InputError(f"{file}:{number}:{column}: {key} is not {kind}")


def _tokens(record: dict[str, Any], key: str, place: _Place) -> int:
    value = record.get(key)
    if key not in record:
        keys = ", ".join(shown(name, 20) for name in list(record)[:4]) or "none"
        raise InputError(f"{place[0]}:{place[1]}:1: {key} is missing; its keys begin with {keys}")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _refusal(place, key, "a whole number of tokens")
    if value != value or not 0 <= value <= LIMITS["tokens"].maximum or value != int(value):
        raise _refusal(
            place, key, f"a whole number of tokens up to {LIMITS['tokens'].maximum:,.0f}"
        )
    return max(int(value), 1)


def _milliseconds(value: object, key: str, place: _Place) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e18:
        raise _refusal(place, key, "a number of milliseconds")
    return float(value)


def _azure(file: str, lines: Iterator[str]) -> Trace:
    rows = csv.reader(lines)
    header = next(rows, [])
    if [name.strip() for name in header[:3]] != list(_AZURE):
        raise InputError(f"{file}:1:1: the first line is not '{','.join(_AZURE)}'")
    stamps: list[str] = []
    lengths: list[tuple[int, int]] = []
    for number, row in zip(count(2), rows, strict=False):
        if not any(cell.strip() for cell in row):
            continue
        try:
            stamp, prompt, output = row[0], int(row[1]), int(row[2])
            if not (0 <= prompt <= LIMITS["tokens"].maximum and 0 <= output <= 1e9):
                raise ValueError
        except (ValueError, IndexError) as error:
            raise InputError(
                f"{file}:{number}:1: '{shown(','.join(row), 40)}' is not a time and two whole "
                "numbers of tokens"
            ) from error
        stamps.append(stamp.strip().partition("+")[0])
        lengths.append((max(prompt, 1), max(output, 1)))
    try:
        times = np.array(stamps, dtype="datetime64[ns]")
    except ValueError as error:
        raise InputError(f"{file}: a TIMESTAMP is not a time: {shown(str(error), 60)}") from error
    seconds = ((times - times[:1]) / np.timedelta64(1, "s")).tolist()
    return _in_order(
        [prompt for prompt, _ in lengths], [output for _, output in lengths], seconds, []
    )


def _in_order(
    prompt: list[int], output: list[int], seconds: list[float], blocks: list[list[int]]
) -> Trace:
    arrival = np.array(seconds if len(seconds) == len(prompt) else [], dtype=float)
    prompts, outputs = np.array(prompt, dtype=float), np.array(output, dtype=float)
    if not len(arrival):
        return Trace(prompts, outputs, arrival, blocks)
    order = np.argsort(arrival, kind="stable")
    ordered = [blocks[place] for place in order.tolist()] if blocks else []
    return Trace(prompts[order], outputs[order], arrival[order] - arrival[order[0]], ordered)
