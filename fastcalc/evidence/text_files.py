"""Files of evidence: their text, and sentences about what is wrong with it."""

from dataclasses import dataclass
from pathlib import Path

from fastcalc.catalogue.inputs import read_bytes
from fastcalc.errors import InputError
from fastcalc.written import shown

MAX_BYTES = 200_000_000  # a thousand times what a table of measurements takes


@dataclass(frozen=True, slots=True)
class FileFault:
    """One thing that is wrong with a file."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


@dataclass(frozen=True, slots=True)
class Text:
    """What a file holds, decoded; its fault where it is not text."""

    file: str
    text: str
    fault: FileFault | None = None


def text_of(path: Path) -> Text:
    """Read a file as UTF-8, or raise InputError if it cannot be read or is too large."""
    file = str(path)
    try:
        raw = read_bytes(path, MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{shown(file, 200)} cannot be read: {reason.lower()}") from error
    if len(raw) > MAX_BYTES:
        what = f"{shown(file, 200)} is larger than {MAX_BYTES // 1_000_000} MB"
        raise InputError(f"{what}; split it, or save results without the detail of every request")
    try:
        return Text(file, raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        is_utf16 = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        what = "the file is UTF-16" if is_utf16 else f"byte 0x{raw[error.start]:02x} is not UTF-8"
        return Text(file, "", FileFault(file, line, column, f"{what}; save the file as UTF-8"))
