"""Where text goes: standard output in one piece, or a file whole or not at all."""

import os
import sys
from pathlib import Path

from fastcalc.errors import InputError


def write(text: str, file: Path | None) -> None:
    """Write text to standard output, or to a file that appears only when it is whole.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    if file is None:
        sys.stdout.write(text)
        return
    if file.is_dir():
        raise InputError(f"-o {file} is a folder; name a file in it")
    try:
        _replace(text, file)
    except OSError as error:
        raise InputError(
            f"-o {file} cannot be written: {(error.strerror or str(error)).lower()}"
        ) from error


def _replace(text: str, file: Path) -> None:
    import tempfile

    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(draft).chmod(0o666 & ~mask)
        Path(draft).replace(file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def warn(lines: list[str]) -> None:
    """Write each line once to standard error."""
    for line in dict.fromkeys(lines):
        sys.stderr.write(f"fastcalc: note: {line}\n")
