"""Write output to standard output, or atomically to a file."""

import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from fastcalc.catalogue.inputs import was_read
from fastcalc.errors import InputError
from fastcalc.kit.answer import progress
from fastcalc.mentions import as_flags, option
from fastcalc.written import line, visible

_DRAFT = ".fastcalc-draft"


def write(
    text: str | Iterable[str], file: Path | None, *, rewrite: bool = False, executable: bool = False
) -> None:
    """Write text, whole or in chunks, to standard output, or atomically to a file (see `whole`)."""
    pieces = map(visible, [text] if isinstance(text, str) else text)
    if file is None:
        with standard_output() as stream:
            height = shutil.get_terminal_size((80, 24)).lines
            if isinstance(text, str) and text.count("\n") >= height and _reads_a_terminal():
                import pydoc

                os.environ.setdefault("LESS", "FRX")
                pydoc.pager("".join(pieces))
            else:
                stream.writelines(pieces)
        return
    with whole(file, rewrite=rewrite, executable=executable) as draft:
        draft.writelines(piece.encode(errors="replace") for piece in pieces)


def write_data(content: bytes, file: Path | None, *, rewrite: bool = False) -> None:
    """Write bytes unchanged to standard output, or atomically to a file (see `whole`).

    On a terminal, they are decoded and printed as `write` prints text.
    """
    if file is None and sys.stdout is not None and sys.stdout.isatty():
        write(content.decode(errors="replace"), None)
    elif file is None:
        with standard_output() as stream:
            stream.flush()  # keep earlier output before this
            stream.buffer.write(content)
            stream.buffer.flush()
    else:
        with whole(file, rewrite=rewrite) as draft:
            draft.write(content)


def _reads_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


@contextmanager
def whole(file: Path, *, rewrite: bool = False, executable: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces the target when writing succeeds.

    An executable file can be run by everyone who can read it. Pipes, devices and files opened by
    the shell (``/dev/stdout``) are written in place.

    Raises InputError if the file cannot be written, or if the program has read it and `rewrite`
    is false.
    """
    try:
        with _stream(file, rewrite=rewrite, executable=executable) as stream:
            yield stream
    except BrokenPipeError:
        raise SystemExit(0) from None
    except OSError as error:
        raise InputError(f"{option('out', file)} cannot be written: {reason(error)}") from error


def is_stream(file: Path) -> bool:
    """Check whether to write in place: to a pipe, a device or a file opened by the shell."""
    return file.is_fifo() or file.is_char_device() or _descriptor(file) is not None


@contextmanager
def _stream(file: Path, *, rewrite: bool, executable: bool) -> Iterator[BinaryIO]:
    opened = _descriptor(file)
    if is_stream(file):
        if sys.stdout is not None:
            sys.stdout.flush()  # keep earlier output before this
        with file.open("wb") if opened is None else os.fdopen(os.dup(opened), "wb") as stream:
            yield stream
        return
    state = None
    with suppress(FileNotFoundError):
        state = os.stat(file)
        if stat.S_ISDIR(state.st_mode):
            raise InputError(f"{option('out', file)} is a folder; name a file in it")
        if not stat.S_ISREG(state.st_mode):
            raise InputError(f"{option('out', file)} is not a file; use a pipe instead")
        # Renaming a draft would replace even read-only files: only the folder's permissions count.
        if not os.access(file, os.W_OK):
            raise InputError(f"{option('out', file)} may not be written; name another file")
        if was_read(state) and not rewrite:
            raise InputError(
                f"{option('out', file)} is an input of this command; name another file"
            )
    # A symbolic link is preserved, and its target is replaced.
    with _draft(Path(os.path.realpath(file)), state, executable=executable) as stream:
        yield stream


def _descriptor(file: Path) -> int | None:
    """Return the descriptor of the open file that a path such as ``/dev/stdout`` refers to.

    Opening it again would truncate a file to which the shell appends.
    """
    opened = {os.path.realpath(folder) for folder in ("/dev/fd", "/proc/self/fd")}
    path = str(file)
    for _ in range(40):  # as many links as Linux follows
        folder, name = os.path.split(path)
        if name.isdecimal() and len(name) < 9 and os.path.realpath(folder) in opened:
            return int(name)
        if not os.path.islink(path):
            break
        path = os.path.join(folder, os.readlink(path))
    return None


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Yield standard output. If its pipe is closed (as by head), the program ends silently.

    Raises InputError if it is closed or cannot be written.
    """
    if sys.stdout is None:
        raise InputError(f"standard output is closed; {option('out', 'FILE')} writes to a file")
    if sys.stdout.isatty():
        progress.end()
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        discard(1)
        raise SystemExit(0) from None
    except OSError as error:
        raise InputError(f"standard output cannot be written: {reason(error)}") from error


@contextmanager
def _draft(target: Path, state: os.stat_result | None, *, executable: bool) -> Iterator[BinaryIO]:
    draft, lock = target.with_name(f".{target.name}.{os.urandom(6).hex()}{_DRAFT}"), None
    with _unwound():
        with suppress(OSError):
            for entry in list(os.scandir(target.parent)):
                is_draft = entry.name.startswith(f".{target.name}.") and entry.name.endswith(_DRAFT)
                if is_draft and entry.is_file(follow_symlinks=False):
                    with open(entry.path, "rb") as stream, suppress(OSError):
                        if _lock(stream.fileno()):
                            os.unlink(entry.path)
        try:  # a signal may arrive as soon as the file exists
            handle, lock = _locked(draft)
            with os.fdopen(handle, "wb") as stream:
                yield stream
            draft.chmod(_mode(state, executable=executable))
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        finally:
            if lock is not None:
                os.close(lock)


def _mode(state: os.stat_result | None, *, executable: bool) -> int:
    """Return the file permissions: those of an existing file, or the default for a new one."""
    if state is None:
        mask = os.umask(0)
        os.umask(mask)
        return (0o777 if executable else 0o666) & ~mask
    mode = stat.S_IMODE(state.st_mode)
    return mode | (mode & 0o444) >> 2 if executable else mode


def _locked(draft: Path) -> tuple[int, int | None]:
    """Open a new draft, and return its descriptor and the descriptor that holds its lock."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        # Another program may lock the draft first and remove it as abandoned.
        with suppress(FileExistsError):
            handle, lock = os.open(draft, flags, 0o600), None
            with suppress(BlockingIOError):
                lock = os.dup(handle) if _lock(handle) else None
                if draft.exists():
                    return handle, lock
            for opened in (handle, lock):
                if opened is not None:
                    os.close(opened)


def _lock(handle: int) -> bool:
    """Lock an open file, or False if locks are unsupported, as on Windows and some network drives.

    Raises BlockingIOError if another program holds the lock.
    """
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


@contextmanager
def _unwound() -> Iterator[None]:
    """Turn termination signals into exceptions, so that temporary files are removed.

    Signals that are ignored (nohup) or already handled keep their handlers.
    """
    import signal
    from threading import current_thread, main_thread

    def leave(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second signal must not interrupt the cleanup
        raise SystemExit(128 + number)

    ends = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}  # Windows has no SIGHUP
    if current_thread() is not main_thread():
        ends.clear()  # only the main thread may set signal handlers
    caught = [number for number in ends if signal.getsignal(number) is signal.SIG_DFL]
    for number in caught:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


def warn(lines: list[str]) -> None:
    """Write each line once to standard error."""
    distinct = dict.fromkeys(map(as_flags, lines))
    notify("".join(f"fastcalc: note: {line(text)}\n" for text in distinct))


def notify(text: str) -> None:
    """Write to standard error if possible. Failures are ignored because no answer depends on it."""
    if sys.stderr is None:
        return
    try:
        with progress.cleared():
            sys.stderr.write(text)
            sys.stderr.flush()
    except OSError:
        discard(2)


def discard(number: int) -> None:
    """Discard the buffer of a standard stream, which would make the interpreter fail at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def reason(error: OSError) -> str:
    """Return why a file or stream cannot be used, for use within a sentence."""
    return (error.strerror or str(error)).lower()


def draws() -> bool:
    """Check whether standard output can encode box-drawing characters."""
    try:
        "─│└·".encode(getattr(sys.stdout, "encoding", None) or "ascii")  # it may be closed
    except (UnicodeEncodeError, LookupError):
        return False
    return True
