"""A progress line on the terminal, shown once a command has run for a second."""

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

FIRST, EVERY = 1.0, 0.25
"""Delay until the line appears, and interval between updates. [s]"""

_CLEARED = "\r\x1b[K"


class Progress:
    """A progress line that a separate thread draws, so that the running code need not."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self.text = ""
        self._name, self._stream, self._start = name, stream, time.monotonic()
        self._is_drawn, self._lock, self._ended = False, threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True)
        self._thread.start()

    def _draw(self) -> None:
        wait = FIRST
        while not self._ended.wait(wait):
            wait = EVERY
            spent = time.monotonic() - self._start
            line = ", ".join(filter(None, [self.text, f"{spent:.0f} s"]))
            line = f"{self._name}: {line}"[: shutil.get_terminal_size().columns - 1]
            with self._lock:
                self._is_drawn = self._write(f"{_CLEARED}{line}")

    def _write(self, text: str) -> bool:
        """Write a text, and return whether the terminal is still open."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone or closed
            self._ended.set()
            return False
        return True

    @contextmanager
    def cleared(self) -> Iterator[None]:
        """Hide the line while something else is printed."""
        with self._lock:
            if self._is_drawn:
                self._write(_CLEARED)
                self._is_drawn = False
            yield

    def end(self) -> None:
        """Remove the line permanently."""
        self._ended.set()
        self._thread.join()
        with self.cleared():
            pass


_line: Progress | None = None


def begin(name: str) -> None:
    """Start the progress line of a command, if standard error is a terminal."""
    global _line
    if sys.stderr is not None and sys.stderr.isatty():
        _line = Progress(name, sys.stderr)


def say(text: str) -> None:
    """Set the text of the progress line."""
    if _line is not None:
        _line.text = text


@contextmanager
def cleared() -> Iterator[None]:
    """Hide the line while a note is printed."""
    if _line is None:
        yield
        return
    with _line.cleared():
        yield


def end() -> None:
    """Remove the progress line, before the answer is printed or at the end."""
    global _line
    if _line is not None:
        _line.end()
        _line = None
