"""Files that a command was given or has read: what it writes takes the place of none of them."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import cast

from fastcalc.errors import InputError
from fastcalc.written import shown

MOST_WALKED = 100_000
"""Files and folders of one that is walked; a disk or repository that has more is named in parts."""

_read: set[tuple[int, int]] = set()
_piped: dict[tuple[int, int], bytes] = {}
"""What pipes have held, which can be read but once."""


def read_bytes(path: Path, limit: int) -> bytes:
    """At most a given number of bytes of a file, and remember the file by whatever name it has."""
    with opened(path) as stream:
        return stream.read(limit)


def opened(path: Path) -> BufferedReader:
    """A file open to be read, and remember it by whatever name it has."""
    stream = path.open("rb")
    _read.add(_identity(os.fstat(stream.fileno())))
    return stream


def files_below(folder: Path, advice: str) -> Iterator[Path]:
    """Yield the files of a folder and of those in it, hidden ones omitted.

    Raises InputError if it holds more than `MOST_WALKED` files, as a whole disk does.

    advice : what to do then
    """
    walked = 0
    for location, below, names in os.walk(folder):
        below[:] = [name for name in below if not name.startswith(".")]  # what is walked next
        walked += len(names) + len(below)
        if walked > MOST_WALKED:
            raise InputError(
                f"{shown(folder, 200)} holds more than {MOST_WALKED:,} files; {advice}"
            )
        yield from (Path(location, name) for name in names if not name.startswith("."))


def opened_again(path: Path, limit: int) -> BufferedReader:
    """A file open to be read from its start, even if it is a pipe that was read before.

    limit : bytes that a pipe may hold
    """
    state = os.stat(path)
    if not stat.S_ISFIFO(state.st_mode):
        return opened(path)
    key = _identity(state)
    if key not in _piped:
        raw = read_bytes(path, limit + 1)
        if len(raw) > limit:
            raise ValueError(f"a pipe of more than {limit // 1_000_000} MB; give a file")
        _piped[key] = raw
    return BufferedReader(cast(RawIOBase, BytesIO(_piped[key])))


def why_unreadable(error: OSError | ValueError) -> str:
    """Return why a file cannot be read, to end a sentence with."""
    reason = error.strerror if isinstance(error, OSError) else None
    return (reason or str(error)).lower()


def remember(path: object) -> None:
    """Remember a file that a flag names, whether or not it is read in the end."""
    if isinstance(path, (str, Path)):
        with suppress(OSError, ValueError):
            _read.add(_identity(os.stat(path)))


def was_read(state: os.stat_result) -> bool:
    """Whether a file was named or read since the command began, through any of its links."""
    return _identity(state) in _read


def forget() -> None:
    """Begin a command: what an earlier one of this process has read is nothing to it."""
    _read.clear()
    _piped.clear()


def _identity(state: os.stat_result) -> tuple[int, int]:
    return state.st_dev, state.st_ino
