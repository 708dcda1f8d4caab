"""The exception for errors in a user's input, and helpers for its messages."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastcalc.mentions import as_arguments

_ENDLESS = re.compile(r"(\S{120})\S{80,}(\S{120})")
"""Length from which a word is shortened in the middle, as a path is recognized by its ends."""


class InputError(Exception):
    """Invalid request or file.

    The message says what is wrong, where, and what to write instead. Several faults in a file are
    several arguments, one line each. ``str(error)`` names arguments of Python functions;
    `sentence` keeps placeholders for options, for use in another message.
    """

    def __init__(self, *sentences: str) -> None:
        super().__init__(*(_ENDLESS.sub(r"\1...\2", sentence) for sentence in sentences))

    @property
    def sentence(self) -> str:
        """Message with options as `mentions`, which are not yet replaced."""
        return "\n".join(map(str, self.args))

    def __str__(self) -> str:
        return as_arguments(self.sentence)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


@contextmanager
def placed(place: Callable[..., str], *steps: str | int) -> Iterator[None]:
    """Prefix errors raised inside with their location, which is computed only on error.

    place : function of the steps that returns ``file:line:column``
    *steps : keys and indices that lead to a value in the file
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{place(*steps)}: {error.sentence}") from error
