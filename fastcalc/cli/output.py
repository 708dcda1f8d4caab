"""Where text goes: standard output in one piece, or a file whole or not at all."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from fastcalc.errors import InputError
from fastcalc.written import line, visible


def write(text: str, file: Path | None) -> None:
    """Write text to standard output, or to a file that appears only when it is whole.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    text = visible(text)
    if file is None:
        with standard_output() as stream:
            stream.write(text)
        return
    with whole(file) as draft:
        draft.write_text(text, encoding="utf-8", newline="")


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """Give a draft beside a file, which takes its place when it is done and goes if it is not.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    try:
        with _draft(_target(file)) as draft:
            yield draft
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"-o {file} cannot be written: {why}") from error


def _target(file: Path) -> Path:
    """Return where a file is written if it may be: a link keeps pointing where it points."""
    target = file.resolve()
    if target.exists() and not target.is_file():
        what = (
            "a folder; name a file in it" if target.is_dir() else "not a file; use a pipe instead"
        )
        raise InputError(f"-o {file} is {what}")
    # A draft could take the place of a read-only file all the same: that is the folder's affair.
    if target.exists() and not os.access(target, os.W_OK):
        raise InputError(f"-o {file} may not be written; name another file")
    return target


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Give standard output; a reader that has seen enough, such as head, ends the program quietly.

    Raises
    ------
    InputError
        If it is closed or cannot be written.
    """
    if sys.stdout is None:
        raise InputError("standard output is closed; -o FILE writes to a file")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer would be written, and refused, once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise SystemExit(0) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"standard output cannot be written: {why}") from error


@contextmanager
def _draft(target: Path) -> Iterator[Path]:
    import tempfile

    with _unwound():
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        draft = Path(name)
        try:
            yield draft
            draft.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


@contextmanager
def _unwound() -> Iterator[None]:
    """Let a signal that ends the program end it as an exception does, which clears up on its way.

    One that is ignored (nohup) or handled already is left alone.
    """
    import signal
    from threading import current_thread, main_thread

    def leave(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one must not stop the clearing up
        raise SystemExit(128 + number)

    ends = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}  # Windows has no SIGHUP
    if current_thread() is not main_thread():
        ends.clear()  # only the main thread may say what signals do
    taken = [number for number in ends if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def warn(lines: list[str]) -> None:
    """Write each line once to standard error."""
    for told in dict.fromkeys(lines):
        sys.stderr.write(f"fastcalc: note: {line(told)}\n")
