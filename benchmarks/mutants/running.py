"""Tests run in a copy of the repository, with a mutant or without."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.mutants.generated import Mutant

ROOT = Path(__file__).resolve().parent.parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__")
_BROKEN, _NONE = 3, 5
"""Exit codes of pytest where it breaks and where it collects no test."""

FEW = (0, 20, 150, None)
"""Where the tests of a mutant are parted into runs: most need the first alone, and few files."""

WAITING = 20.0
"""Seconds that a run may take for one that its tests take, on a machine that others use, too."""


class NoVerdictError(Exception):
    """The tests say nothing about a mutant; the text says why."""


@dataclass(frozen=True)
class Result:
    """How a run of pytest ended: its exit code, negative for a signal, and what it printed."""

    code: int
    printed: str

    @property
    def last(self) -> str:
        """Last line printed."""
        return (self.printed.splitlines() or [""])[-1]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant, ``killed``, ``endless`` (killed, too) or ``survived``; by what."""

    mutant: Mutant
    word: str
    seconds: float
    by: str = ""

    @property
    def is_killed(self) -> bool:
        """True where a test noticed."""
        return self.word != "survived"


@contextmanager
def copied(root: Path) -> Iterator[Path]:
    """Yield a copy of a repository that is deleted in the end."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder).resolve() / "tree"
        shutil.copytree(root, copy, ignore=LEFT_OUT, symlinks=True)
        yield copy


@contextmanager
def applied(mutant: Mutant, copy: Path) -> Iterator[None]:
    """Make a copy wrong for a while; no byte code of either version outlives its text."""
    path = copy / mutant.file
    before, after = path.read_text(), mutant.text(copy)

    def write(text: str) -> None:
        path.write_text(text)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()

    try:
        write(after)
        yield
    finally:
        write(before)


def tested(copy: Path, paths: list[str], plugin: Mapping[str, str], timeout: float) -> Result:
    """Run tests in a copy, in a process of their own.

    Parameters
    ----------
    copy, paths
        Where the tests are, and those to collect.
    plugin
        What `benchmarks.mutants.plugin` is to do.
    timeout
        After which they are stopped [s]; the result's code is that of the signal.
    """
    unset = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": ""}
    path = os.pathsep.join(map(str, (copy, ROOT)))
    options = ("-q", "--tb=line", "-p", "no:cacheprovider", "-p", "benchmarks.mutants.plugin")
    options += ("--assert=plain", f"--rootdir={copy}")  # whatever lies in the folders above it
    command = [sys.executable, "-m", "pytest", *options, *paths]
    with subprocess.Popen(
        command,
        cwd=copy,
        env={**os.environ, **unset, "PYTHONPATH": path, **plugin},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, _ = process.communicate()
    return Result(process.returncode, printed)


def verdict_on(mutant: Mutant, copy: Path, tests: Mapping[str, float]) -> Verdict:
    """Return what tests say of a mutant; they run in their order until one fails.

    A test that fails without the mutant as well, after the same tests, says nothing.

    Parameters
    ----------
    mutant, copy
        What is made wrong, and where.
    tests
        By their names in pytest, with the seconds that each takes without a mutant.

    Raises
    ------
    NoVerdictError
        If pytest finds none of them, breaks, or ends without the mutant as well.
    """
    began = time.monotonic()
    names = list(tests)
    for part in filter(None, (names[start:end] for start, end in pairwise(FEW))):
        chosen, ignored = {name: tests[name] for name in part}, set[str]()
        while True:
            with applied(mutant, copy):
                result = _stopping(copy, chosen, ignored)
            if not result.code:
                break
            without = _stopping(copy, _up_to(failed_tests(result), chosen), ignored)
            if not without.code:
                word = "endless" if result.code < 0 else "killed"
                return Verdict(mutant, word, time.monotonic() - began, _failure(result))
            if not (broken := {*failed_tests(without)} - ignored):
                raise NoVerdictError(f"tests end without it, too\n{without.printed[-2000:]}")
            ignored |= broken
    return Verdict(mutant, "survived", time.monotonic() - began)


def _stopping(copy: Path, tests: Mapping[str, float], ignored: Collection[str]) -> Result:
    """Run tests up to the first that fails, but for those that fail without a mutant."""
    files = sorted({name.partition("::")[0] for name in tests})
    without = [word for name in ignored for word in ("--deselect", name)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as listed:
        json.dump(dict(tests), listed)
        listed.flush()
        timeout = WAITING * (10.0 + sum(tests.values()))
        result = tested(copy, ["-x", *without, *files], {"MUTANTS_TESTS": listed.name}, timeout)
    if result.code in (_BROKEN, _NONE):
        raise NoVerdictError(f"exit code {result.code}\n{result.printed[-2000:]}")
    return result


def _up_to(failed: Collection[str], tests: Mapping[str, float]) -> Mapping[str, float]:
    """Return tests up to those that failed; all of them if none is among them."""
    names = list(tests)
    end = max((names.index(name) + 1 for name in failed if name in tests), default=len(names))
    return {name: tests[name] for name in names[:end]}


def failed_tests(result: Result) -> list[str]:
    """Return the names of the tests, or of their files, that failed."""
    return re.findall(r"(?m)^(?:FAILED|ERROR) (.+?)(?: - .*)?$", result.printed)


def _failure(result: Result) -> str:
    """Return the line that names the test that failed."""
    lines = [line for line in result.printed.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0] if lines else result.last
