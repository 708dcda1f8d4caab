"""Text of measurement files, and messages about problems in it."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from gzip import GzipFile
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import cast

from fastcalc.catalogue import inputs
from fastcalc.errors import InputError
from fastcalc.written import shown

MAX_BYTES = 200_000_000  # maximum size of a file that is read as a whole, such as JSON
_MOST_LINE = 1_000_000  # maximum length of a line in characters
_GZIP = b"\x1f\x8b"  # first bytes of a gzip file
_MARK = b"\xef\xbb\xbf"  # byte order mark of a UTF-8 file


@dataclass(frozen=True, slots=True)
class FileFault:
    """A problem in a file, with its location."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class NoTextError(Exception):
    """Raised for a file that is not text, with the location of the first problem."""

    def __init__(self, fault: FileFault) -> None:
        super().__init__(str(fault))
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Text:
    """The decoded text of a file, or the problem if it is not text."""

    file: str
    text: str
    fault: FileFault | None = None


@contextmanager
def opened(path: Path, *, is_kept: bool = False) -> Iterator[BufferedReader]:
    """Open a file for reading and decompress gzip. Raises InputError if it is unreadable.

    is_kept : Whether a pipe must be readable again later.
    """
    try:
        with inputs.opened_again(path, MAX_BYTES) if is_kept else inputs.opened(path) as stream:
            is_packed = stream.peek(2)[:2] == _GZIP
            yield BufferedReader(cast(RawIOBase, GzipFile(fileobj=stream))) if is_packed else stream
    except (EOFError, zlib.error) as error:
        raise InputError(f"{shown(path, 200)} is a damaged or truncated gzip file") from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"{shown(path, 200)} cannot be read: {inputs.why_unreadable(error)}"
        ) from error


def text_in(file: str, stream: BufferedReader) -> Text:
    """Read the rest of an open file as UTF-8 text. Raises InputError if it is too large."""
    raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        too_large = f"{shown(file, 200)} is larger than {MAX_BYTES // 1_000_000} MB"
        raise InputError(f"{too_large}; split it, or save results without per-request details")
    try:
        return Text(file, decoded(file, raw.removeprefix(_MARK)))
    except NoTextError as error:
        return Text(file, "", error.fault)


def decoded(file: str, raw: bytes, first: int = 1) -> str:
    """Decode lines of a file, or raise NoTextError if they are not UTF-8.

    first : The number of the first of these lines.
    """
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + first
        column = error.start - raw.rfind(b"\n", 0, error.start)
        is_utf16 = line == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        cause = "the file is UTF-16" if is_utf16 else f"byte 0x{raw[error.start]:02x} is not UTF-8"
        message = f"{cause}; save the file as UTF-8"
        raise NoTextError(FileFault(file, line, column, message)) from error


def lines_of(file: str, stream: BufferedReader) -> Iterator[str]:
    """Yield the lines of an open text file without line ends, or raise NoTextError.

    Carriage returns count as line ends if the file has no others.
    """
    line = stream.readline(_MOST_LINE + 1).removeprefix(_MARK)
    if not line.endswith(b"\n") and len(line) <= _MOST_LINE:
        yield from decoded(file, line).split("\r")
        return
    number = 1
    while line:
        if len(line) > _MOST_LINE:
            message = f"a line of more than {_MOST_LINE:,} characters; end rows with a line feed"
            raise NoTextError(FileFault(file, number, 1, message))
        yield decoded(file, line, number).removesuffix("\n")
        line, number = stream.readline(_MOST_LINE + 1), number + 1
