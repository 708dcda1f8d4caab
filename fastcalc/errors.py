"""The exception for errors in a user's input, and helpers for its messages."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastcalc.mentions import as_arguments

_ENDLESS = re.compile(r"(\S{120})\S{80,}(\S{120})")
"""Words longer than this are shortened in the middle, since paths are recognized by their ends."""


class InputError(Exception):
    """Raised if a request or a file is invalid.

    The message says what is wrong, where, and what to write instead. Several problems in a file are
    passed as several arguments, one line each. In ``str(error)``, options are written as Python
    arguments; `sentence` keeps them as placeholders, for use in another message.
    """

    def __init__(self, *sentences: str) -> None:
        super().__init__(*(_ENDLESS.sub(r"\1...\2", sentence) for sentence in sentences))

    @property
    def sentence(self) -> str:
        """The message with options as `mentions` that are not yet replaced."""
        return "\n".join(map(str, self.args))

    def __str__(self) -> str:
        return as_arguments(self.sentence)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


@contextmanager
def placed(place: Callable[..., str], *steps: str | int) -> Iterator[None]:
    """Prefix errors raised inside with their location, which is computed only if an error occurs.

    place : The function that returns ``file:line:column`` for the steps.
    *steps : keys and indices that lead to a value in the file
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{place(*steps)}: {error.sentence}") from error
