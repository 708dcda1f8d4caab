"""Record of the files that a command received or read, so that output never overwrites them."""

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
"""The maximum number of files and folders below a folder; larger disks or repositories must be
processed in parts."""

_read: set[tuple[int, int]] = set()
_piped: dict[tuple[int, int], bytes] = {}
"""The contents of pipes, which can only be read once."""


def read_bytes(path: Path, limit: int) -> bytes:
    """Read up to a number of bytes from a file, and remember the file's identity."""
    with opened(path) as stream:
        return stream.read(limit)


def opened(path: Path) -> BufferedReader:
    """Open a file for reading, and remember its identity."""
    stream = path.open("rb")
    _read.add(_identity(os.fstat(stream.fileno())))
    return stream


def files_below(folder: Path, advice: str) -> Iterator[Path]:
    """Yield the files in a folder and its subfolders, except hidden ones.

    Raises InputError if there are more than `MOST_WALKED` files, as on an entire disk.

    advice : The advice to give in the error message.
    """
    walked = 0
    for location, below, names in os.walk(folder):
        below[:] = [name for name in below if not name.startswith(".")]  # to be walked next
        walked += len(names) + len(below)
        if walked > MOST_WALKED:
            raise InputError(
                f"{shown(folder, 200)} holds more than {MOST_WALKED:,} files; {advice}"
            )
        yield from (Path(location, name) for name in names if not name.startswith("."))


def opened_again(path: Path, limit: int) -> BufferedReader:
    """Open a file at its start, even if it is a pipe that has been read before.

    limit : The maximum number of bytes read from a pipe.
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
    """Explain why a file cannot be read, as the end of a sentence."""
    reason = error.strerror if isinstance(error, OSError) else None
    return (reason or str(error)).lower()


def remember(path: object) -> None:
    """Remember a file named by a flag, even if it is not read."""
    if isinstance(path, (str, Path)):
        with suppress(OSError, ValueError):
            _read.add(_identity(os.stat(path)))


def was_read(state: os.stat_result) -> bool:
    """Check whether the command named or read a file, through any of its links."""
    return _identity(state) in _read


def forget() -> None:
    """Forget the files read by an earlier command in the same process."""
    _read.clear()
    _piped.clear()


def _identity(state: os.stat_result) -> tuple[int, int]:
    return state.st_dev, state.st_ino
