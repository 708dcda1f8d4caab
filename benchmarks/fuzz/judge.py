"""What must hold of every case, whatever was asked."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

from benchmarks.fuzz.grammar import Case
from benchmarks.fuzz.running import BYTES, SECONDS, WALL, Outcome

LONGEST_LINE = 2000
"""Letters of a sentence on standard error; a name of thousands is not echoed whole."""

Run = Callable[[Case], Outcome]
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NO_NUMBER = re.compile(r"(?<![\w.\-/])[-+]?(?:nan|inf)(?![\w.\-/])")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def faults(case: Case, outcome: Outcome, base: int, run: Run) -> list[str]:
    """Return what is wrong with what a case did, each by a name that cases of a kind share.

    Parameters
    ----------
    case : Case
        What was asked.
    outcome : Outcome
        What came of it.
    base : int
        Memory of this process before the first case. [B]
    run : callable
        Runs a case: whether a file is why a request is refused is asked by giving it whole.
    """
    found = list(_broken(case, outcome, base))
    if found:
        return found
    return [
        *_streams(case, outcome),
        *_files(case, outcome),
        *(_output(case, outcome) if outcome.code in (0, 1) else _refusal(case, outcome, run)),
    ]


def _broken(case: Case, outcome: Outcome, base: int) -> Iterator[str]:
    command = case.words[0] if case.words else ""
    last = outcome.crash[-1] if outcome.crash else ""
    if "TooLongError: hangs" in last or outcome.seconds >= WALL:
        yield f"hangs: {command}"
    elif outcome.seconds >= SECONDS or "TooLongError" in last:
        yield f"slow: {command}"
    elif "MemoryError" in last:
        yield f"memory: {command}"
    elif outcome.crash:
        name = re.sub(r"\d[\d.]*|'[^']*'", "#", last)[:90]
        yield f"traceback: {name} at {outcome.crash[-2] if len(outcome.crash) > 1 else '?'}"
    elif "a fault of fastcalc" in outcome.err:  # a traceback by another name
        reason = outcome.err.strip().rpartition(": ")[2]
        yield f"fault: {_plain(reason)}: {command}"
    elif outcome.code not in (0, 1, 2):
        yield f"exit code {outcome.code}"
    if outcome.peak - base > BYTES:
        yield f"memory: {command}"
    for one in sorted(set(outcome.warned))[:1]:
        yield f"warning: {one[:120]}"


_OUT = ("-o", "--out")
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def _streams(case: Case, outcome: Outcome) -> Iterator[str]:
    if outcome.code == 2 and outcome.out:
        yield "text on standard output with exit code 2"
    if outcome.code == 2 and not outcome.err and not case.ends.startswith("stderr"):
        yield "exit code 2 without a word"
    lines = outcome.err.splitlines()
    if any(len(line) > LONGEST_LINE for line in lines):
        yield f"a line of {LONGEST_LINE} letters or more on standard error"
    has_page = case.words[:1] == ["calibrate"] and outcome.code == 0  # alongside the engine's file
    lines = [] if has_page else outcome.err.split("\n")
    if any(line and not line.startswith("fastcalc: ") for line in lines):
        yield "standard error holds a line that does not begin with fastcalc:"
    for name, text in (("standard output", outcome.out), ("standard error", outcome.err)):
        if _CONTROL.search(text.replace("\r\n", "\n")):
            yield f"control characters on {name}"


def _files(case: Case, outcome: Outcome) -> Iterator[str]:
    """Files come whole or not at all; what was read stays as it was."""
    for name, what in outcome.changed.items():
        if name in case.files and what != "new" and _is_input(name, case):
            yield f"an input file is {what}: {case.words[0]}"
        elif name.endswith(".fastcalc-draft") and what == "new":
            yield f"a draft is left behind: {case.words[0]}"
        elif outcome.code == 2:
            yield f"a file is {what} with exit code 2: {case.words[0]}"


def _is_input(name: str, case: Case) -> bool:
    """Return whether a command line names a file other than to write it.

    One in a folder that it names may be replaced: a fit in a folder of engines, say.
    """
    before = ["", *case.words]
    given = [
        word
        for last, word in zip(before, case.words, strict=False)
        if last not in _OUT and not word.startswith(_OUT)
    ]
    places = [word.rpartition("=")[2].removeprefix("./").rstrip("/") for word in given]
    return name in places


def asked_format(case: Case) -> str | None:
    """Return the format that a command line asks for, the last that it names."""
    found = None
    for word, after in zip(case.words, [*case.words[1:], ""], strict=False):
        if word == "--format":
            found = after
        elif word.startswith("--format="):
            found = word.partition("=")[2]
    return found


def _goes_elsewhere(case: Case) -> bool:
    words = set(case.words)
    long = any(word.startswith(("--out=", "-o")) for word in words)
    return long or bool(words & {"--out", "-h", "--help", "--version"}) or "--" in words


def _output(case: Case, outcome: Outcome) -> Iterator[str]:
    wanted = asked_format(case)
    if case.ends.startswith(("stdout", "reader")) or _goes_elsewhere(case):
        return
    if wanted == "json":
        yield from _json(case, outcome)
    elif wanted == "csv":
        yield from _csv(case, outcome)
    typed = " ".join(case.words).lower() + "".join(
        raw.decode("utf-8", "replace").lower() for raw in case.files.values()
    )
    if wanted != "json" and not _NO_NUMBER.search(typed) and _NO_NUMBER.search(outcome.out):
        yield f"nan or inf in the output: {case.words[0]}"


def _json(case: Case, outcome: Outcome) -> Iterator[str]:
    def no_number(text: str) -> NoReturn:
        raise ArithmeticError(text)

    try:
        json.loads(outcome.out, parse_constant=no_number)
    except ArithmeticError:
        yield f"NaN or Infinity in JSON: {case.words[0]}"
    except ValueError:
        kind = "is nothing" if not outcome.out.strip() else "does not parse"
        yield f"JSON {kind} with exit code {outcome.code}: {case.words[0]}"


def _csv(case: Case, outcome: Outcome) -> Iterator[str]:
    widths, formulas = set(), set()
    for row in csv.reader(io.StringIO(outcome.out), strict=True):  # a sweep may print gigabytes
        widths.add(len(row))
        formulas |= {cell for cell in row if cell.startswith(_FORMULAS)}
    if len(widths) > 1:
        yield f"CSV rows of different widths: {case.words[0]}"
    if not all(map(_NUMBER.fullmatch, formulas)):
        yield f"a cell that a spreadsheet takes for a formula: {case.words[0]}"


def _refusal(case: Case, outcome: Outcome, run: Run) -> Iterator[str]:
    """Yield a refused file that is not named, or has no line where one place is at fault."""
    if case.culprit is None or case.meant is None or case.ends != "plain":
        return
    last = outcome.err.strip().splitlines()[-1:] or [""]
    name = case.culprit.rpartition("/")[2]
    is_named = name in last[0]
    is_placed = not case.is_placed or re.search(rf"{re.escape(name)}:\d+", last[0])
    # These are answers about a chip, whichever file it is from.
    of_chip = "nothing fits|does not fit|has no cloud price|is no textbook step"
    if (is_named and is_placed) or re.search(of_chip, last[0]):
        return
    as_meant: dict[str, Any] = {case.culprit: case.meant}
    if run(replace(case, files={**case.files, **as_meant})).code == 2:
        return  # something else is why
    if not is_named:
        yield f"a refusal does not name the file: {case.words[0]}: {_plain(last[0])}"
    else:
        yield f"a refusal does not name the line: {case.words[0]}: {_plain(last[0], name)}"


def _plain(sentence: str, name: str = "\0") -> str:
    """Return a sentence without what differs from case to case."""
    after = sentence.partition(name)[2] or sentence
    return re.sub(r"'[^']*'|\d[\d.,]*|\S*[/\\]\S*", "#", after)[:60]
