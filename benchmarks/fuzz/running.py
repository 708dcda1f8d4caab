"""One case run: in this process with its streams caught, or as a process of its own."""

import gc
import io
import os
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fuzz.grammar import Case
from fastcalc.cli import main

SECONDS = 5.0
"""Most processor time of a case; other programs may keep a machine busy. [s]"""
IDLE = 5.0
"""Time without computing after which a case is taken to wait for ever. [s]"""
LEAST_SHARE = 0.01
"""Share of a processor that a case which computes gets on the busiest machine. [1]"""
WALL = 60.0
"""Most time of a process. [s]"""
BYTES = 1 << 30
"""Most memory of a case, above what this process has before the first. [B]"""

CODE_LOST = -99


@dataclass
class Outcome:
    """What a case did.

    Attributes
    ----------
    crash : list of str
        The last calls of a traceback, outermost first; empty where there is none.
    warned : list of str
        Python's warnings.
    changed : dict of str to str
        What became of the files in the folder: new, gone or changed.
    """

    code: int
    out: str
    err: str
    seconds: float
    peak: int = 0
    crash: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    changed: dict[str, str] = field(default_factory=dict)


class TooLongError(BaseException):
    """The time of a case is over; no Exception, so that nothing in the program catches it."""


@contextmanager
def folder(case: Case) -> Iterator[Path]:
    """Make the folder of a case, with all its files and places, the current one."""
    before = Path.cwd()
    scratch = Path(tempfile.mkdtemp(prefix="fuzz-"))
    pipes: list[threading.Thread] = []
    try:
        os.chdir(scratch)
        for name, raw in case.files.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)
        for name, place in case.places.items():
            _make(Path(name), place, pipes)
        yield scratch
    finally:
        for name, place in case.places.items():
            if place in ("fifo", "drain"):
                _release(Path(name))
        for pipe in pipes:
            pipe.join(1.0)
        os.chdir(before)
        shutil.rmtree(scratch, ignore_errors=True)


def _make(path: Path, place: str, pipes: list[threading.Thread]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # a name too long for the file system is a case as well
        if place == "folder":
            path.mkdir()
        elif place == "loop":
            path.symlink_to(path.name)
        elif place == "dangling":
            path.symlink_to("nowhere")
        elif place == "link":
            Path("target").write_bytes(b"id: odd\n")
            path.symlink_to(Path("target").resolve())
        elif place == "endless":
            path.symlink_to("/dev/zero")
        elif place == "socket":
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(str(path))
        elif place in ("fifo", "drain"):
            os.mkfifo(path)
            if path.parent == Path():  # named outright: somebody writes to it or reads it
                use = _serve if place == "fifo" else _drain
                pipes.append(threading.Thread(target=use, args=(path,), daemon=True))
                pipes[-1].start()
        else:
            path.write_bytes(b"" if place == "empty" else b"id: odd\n")
            path.chmod(0 if place == "unreadable" else 0o644)


def _serve(path: Path) -> None:
    with suppress(OSError):
        path.write_bytes(b"id: odd\n")


def _drain(path: Path) -> None:
    with suppress(OSError):
        path.read_bytes()


def _release(path: Path) -> None:
    """Let go of whoever waits at a pipe that nobody opened."""
    for way in (os.O_RDONLY, os.O_WRONLY):
        with suppress(OSError):
            os.close(os.open(path, way | os.O_NONBLOCK))


def _files(top: Path) -> dict[str, tuple[int, int, int]]:
    """Return the files of a folder by name: kind, size and time of change."""
    found = {}
    for where, folders, names in os.walk(top):
        for name in (*folders, *names):
            with suppress(OSError):
                state = os.lstat(os.path.join(where, name))
                size = state.st_mtime_ns if stat.S_ISREG(state.st_mode) else 0
                key = os.path.relpath(os.path.join(where, name), top)
                found[key] = (state.st_mode, state.st_ino, size)
    return found


def _changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    changes = {name: "gone" for name in before if name not in after}
    changes |= {name: "new" for name in after if name not in before}
    return changes | {
        name: "changed" for name in before if after.get(name, before[name]) != before[name]
    }


def in_process(case: Case) -> Outcome:
    """Run a case by the program's own entry, streams caught."""
    with folder(case) as scratch, _variables(case):
        before = _files(scratch)
        outcome = _call(case)
        outcome.changed = _changes(before, _files(scratch))
    return outcome


def _call(case: Case) -> Outcome:
    kept = sys.argv, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    code, crash = CODE_LOST, []
    sys.argv = ["fastcalc", *case.words]
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(
        err, encoding="utf-8", errors="backslashreplace", write_through=True
    )
    streams = sys.stdout, sys.stderr
    start = time.process_time()
    with warnings.catch_warnings(record=True) as warned, _limited():
        warnings.simplefilter("always")
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        except BaseException as error:  # whatever it is, it would be a traceback
            crash = _calls(error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            seconds = time.process_time() - start
            sys.argv, sys.stdout, sys.stderr = kept
    for stream in streams:
        with suppress(ValueError, UnicodeError):
            stream.flush()
    printed, said = (stream.getvalue().decode("utf-8", "replace") for stream in (out, err))
    return Outcome(
        code,
        printed,
        said,
        seconds,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        crash or _reported(said),
        [f"{one.category.__name__}: {one.message} ({_short(one.filename)})" for one in warned],
    )


def _short(file: str) -> str:
    return "/".join(Path(file).parts[-2:])


def _reported(err: str) -> list[str]:
    """Return the calls and the words of a traceback that the program has printed itself."""
    _, is_there, text = err.rpartition("Traceback (most recent call last)")
    calls = re.findall(r'File "(.+)", line (\d+), in (\S+)', text)
    words = [line for line in text.splitlines() if re.match(r"[\w.]+(?=:|$)", line)]
    ends = [line for line in words if not line.startswith("fastcalc: ")]
    places = [f"{_short(file)}:{number} {name}" for file, number, name in calls[-4:]]
    return [*places, *ends[-1:]] if is_there else []


def _calls(error: BaseException) -> list[str]:
    found = traceback.extract_tb(error.__traceback__)
    ours = [one for one in found if "fastcalc" in one.filename] or list(found)
    words = f"{type(error).__name__}: {str(error)[:200]}"
    return [*(f"{_short(one.filename)}:{one.lineno} {one.name}" for one in ours[-4:]), words]


@contextmanager
def _limited() -> Iterator[None]:
    used = time.process_time()

    def stop(number: int, _: object) -> None:
        nonlocal used
        before, used = used, time.process_time()
        if number == signal.SIGPROF:
            raise TooLongError("slow")
        if used - before < IDLE * LEAST_SHARE:
            raise TooLongError("hangs")

    handlers = {one: signal.signal(one, stop) for one in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_PROF, SECONDS + 0.5, 1.0)
    signal.setitimer(signal.ITIMER_REAL, IDLE, IDLE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def _variables(case: Case) -> Iterator[None]:
    kept = dict(os.environ)
    os.environ.pop("COLUMNS", None)
    os.environ.update(case.env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


@contextmanager
def fenced() -> Iterator[None]:
    """Keep cases from the memory that others need, and from waiting for a terminal."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = Path("/proc/self/statm")  # Linux has it; elsewhere nothing is fenced
    size = int(pages.read_text().split()[0]) * resource.getpagesize() if pages.exists() else None
    kept, empty = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    if size is not None:
        resource.setrlimit(resource.RLIMIT_AS, (size + 2 * BYTES, before[1]))
    # Arrow's own allocators reserve more addresses than the fence allows.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        os.dup2(kept, 0)
        os.close(kept)
        os.close(empty)
        tidy()


def tidy() -> None:
    """Undo what the program does to the collector: it means to end soon."""
    gc.unfreeze()
    gc.enable()


def as_process(case: Case) -> Outcome:
    """Run a case as a process of its own, with the streams that it is to have."""
    with folder(case) as scratch, _variables(case):
        before = _files(scratch)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            outcome = _spawn(case, out, err)
            for stream in (out, err):
                stream.seek(0)
            outcome.out = out.read().decode("utf-8", "replace")
            outcome.err = err.read().decode("utf-8", "replace")
        outcome.changed = _changes(before, _files(scratch))
    outcome.crash = _reported(outcome.err)
    outcome.warned = [line for line in outcome.err.splitlines() if "Warning: " in line]
    return outcome


def _spawn(case: Case, out: Any, err: Any) -> Outcome:
    words = [sys.executable, "-m", "fastcalc", *case.words]
    streams: dict[str, Any] = {"stdout": out, "stderr": err}
    opened: list[int] = []
    if case.ends in ("stdout full", "stderr full"):
        opened.append(os.open("/dev/full", os.O_WRONLY))
        streams[case.ends.split()[0]] = opened[0]
    if case.ends == "reader gone":
        read, write = os.pipe()
        os.close(read)
        opened.append(write)
        streams["stdout"] = write
    if case.ends in ("stdout closed", "stderr closed"):
        number = 1 if case.ends == "stdout closed" else 2
        words = ["/bin/sh", "-c", f'exec "$@" {number}>&-', "sh", *words]
    start = time.monotonic()
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        **streams,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 * BYTES, 3 * BYTES)),
    )
    for one in opened:
        os.close(one)
    timer = threading.Timer(WALL, process.kill)
    timer.start()
    _, status, used = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = used.ru_utime + used.ru_stime
    seconds = max(seconds, WALL if time.monotonic() - start > WALL else 0.0)
    # Until it is another program it has the memory of this one: no more than that says nothing.
    inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken = used.ru_maxrss * 1024 if used.ru_maxrss > inherited else 0
    return Outcome(process.returncode, "", "", seconds, taken)
