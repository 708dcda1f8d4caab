"""Where text goes: standard output in one piece, or a file whole or not at all."""

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
    text: str | Iterable[str],
    file: Path | None,
    *,
    rewrite: bool = False,
    executable: bool = False,
) -> None:
    """Write text, or one piece after another, to standard output, or to a file as `whole`."""
    pieces = map(visible, [text] if isinstance(text, str) else text)
    if file is None:
        with standard_output() as stream:
            height = shutil.get_terminal_size((80, 24)).lines
            if isinstance(text, str) and text.count("\n") >= height and _reads_a_terminal():
                _page("".join(pieces))
            else:
                stream.writelines(pieces)
        return
    with whole(file, rewrite=rewrite, executable=executable) as draft:
        draft.writelines(piece.encode(errors="replace") for piece in pieces)


def write_data(content: bytes, file: Path | None, *, rewrite: bool = False) -> None:
    """Write bytes exactly as they are, to standard output or to a file as `whole`.

    A terminal gets the text that they hold, as `write` shows it.
    """
    if file is None and sys.stdout is not None and sys.stdout.isatty():
        write(content.decode(errors="replace"), None)
    elif file is None:
        with standard_output() as stream:
            stream.flush()  # what was written before stays before it
            stream.buffer.write(content)
            stream.buffer.flush()
    else:
        with whole(file, rewrite=rewrite) as draft:
            draft.write(content)


def _reads_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _page(text: str) -> None:
    """Show text in the reader's pager, as git does: PAGER, or else less; cat is none."""
    import pydoc

    os.environ.setdefault("LESS", "FRX")
    pydoc.pager(text)


@contextmanager
def whole(file: Path, *, rewrite: bool = False, executable: bool = False) -> Iterator[BinaryIO]:
    """Give a draft of a file, which takes its place when it is done and goes if it is not.

    An executable one may be run by whoever may read it. Pipes, devices and what the shell has
    opened (``/dev/stdout``) are written in place.

    Raises InputError if it cannot be written; if the program has read it, unless it is there to
    write it again.
    """
    try:
        with _stream(file, rewrite=rewrite, executable=executable) as stream:
            yield stream
    except BrokenPipeError:
        raise SystemExit(0) from None
    except OSError as error:
        raise InputError(f"{option('out')} {file} cannot be written: {reason(error)}") from error


def is_stream(file: Path) -> bool:
    """Whether a path is written in place: a pipe, a device or what the shell has opened."""
    return file.is_fifo() or file.is_char_device() or _descriptor(file) is not None


@contextmanager
def _stream(file: Path, *, rewrite: bool, executable: bool) -> Iterator[BinaryIO]:
    opened = _descriptor(file)
    if is_stream(file):
        if sys.stdout is not None:
            sys.stdout.flush()  # what was written before stays before it
        with file.open("wb") if opened is None else os.fdopen(os.dup(opened), "wb") as stream:
            yield stream
        return
    state = None
    with suppress(FileNotFoundError):
        state = os.stat(file)
        if stat.S_ISDIR(state.st_mode):
            raise InputError(f"{option('out')} {file} is a folder; name a file in it")
        if not stat.S_ISREG(state.st_mode):
            raise InputError(f"{option('out')} {file} is not a file; use a pipe instead")
        # A draft could take the place of a read-only file, too: that is the folder's affair.
        if not os.access(file, os.W_OK):
            raise InputError(f"{option('out')} {file} may not be written; name another file")
        if was_read(state) and not rewrite:
            raise InputError(
                f"{option('out')} {file} is an input of this command; name another file"
            )
    # A link keeps pointing where it points.
    with _draft(Path(os.path.realpath(file)), state, executable=executable) as stream:
        yield stream


def _descriptor(file: Path) -> int | None:
    """Number of the open file that a path such as ``/dev/stdout`` means.

    To open it anew would empty a file that the shell appends to, and write from its beginning.
    """
    opened = {os.path.realpath(folder) for folder in ("/dev/fd", "/proc/self/fd")}
    path = str(file)
    for _ in range(40):  # links, as many as Linux follows
        folder, name = os.path.split(path)
        if name.isdecimal() and len(name) < 9 and os.path.realpath(folder) in opened:
            return int(name)
        if not os.path.islink(path):
            break
        path = os.path.join(folder, os.readlink(path))
    return None


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Give standard output; a reader that has seen enough, such as head, ends the program quietly.

    An InputError says that it is closed or cannot be written.
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
        _remove_dead_drafts(target)
        try:  # a signal may come as soon as there is a file
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
    """Return who may do what with a file: as before, or as with any new one."""
    if state is None:
        mask = os.umask(0)
        os.umask(mask)
        return (0o777 if executable else 0o666) & ~mask
    mode = stat.S_IMODE(state.st_mode)
    return mode | (mode & 0o444) >> 2 if executable else mode


def _remove_dead_drafts(target: Path) -> None:
    """Remove the drafts that programs left which were killed: nobody holds their locks."""
    with suppress(OSError):
        for entry in list(os.scandir(target.parent)):
            is_draft = entry.name.startswith(f".{target.name}.") and entry.name.endswith(_DRAFT)
            if is_draft and entry.is_file(follow_symlinks=False):
                with open(entry.path, "rb") as stream, suppress(OSError):
                    if _lock(stream.fileno()):
                        os.unlink(entry.path)


def _locked(draft: Path) -> tuple[int, int | None]:
    """A new file, open, and what holds its lock until it is closed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        # Another program may lock it before this one does, and remove it as a dead one.
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
    """Lock an open file, and return whether there are locks: Windows and some networks have none.

    A BlockingIOError says that another program holds it.
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
    """Write to standard error where that is possible: what is lost there changes no answer."""
    if sys.stderr is None:
        return
    try:
        with progress.cleared():
            sys.stderr.write(text)
            sys.stderr.flush()
    except OSError:
        discard(2)


def discard(number: int) -> None:
    """Let what is left in the buffer of a standard stream go nowhere: the end would fail on it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def reason(error: OSError) -> str:
    """Return why a file or stream cannot be used, as part of a sentence."""
    return (error.strerror or str(error)).lower()


def draws() -> bool:
    """Whether standard output has the characters of a frame."""
    try:
        "─│└·".encode(getattr(sys.stdout, "encoding", None) or "ascii")  # it may be closed
    except (UnicodeEncodeError, LookupError):
        return False
    return True
