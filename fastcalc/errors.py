"""The one exception that a user's input can raise, and what its sentences share."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastcalc.mentions import as_arguments

_ENDLESS = re.compile(r"(\S{120})\S{80,}(\S{120})")
"""A word that nobody reads to its end; both its ends are kept, for a path is known by them."""


class InputError(Exception):
    """Wrong request or file.

    The message says what is wrong, where, and what to write instead. Several faults of a file are
    several arguments, one line each. ``str(error)`` names arguments of Python functions;
    `sentence` keeps placeholders for options, for use in another message.
    """

    def __init__(self, *sentences: str) -> None:
        super().__init__(*(_ENDLESS.sub(r"\1...\2", sentence) for sentence in sentences))

    @property
    def sentence(self) -> str:
        """What it says, options as `mentions` that are yet to be written out."""
        return "\n".join(map(str, self.args))

    def __str__(self) -> str:
        return as_arguments(self.sentence)


@contextmanager
def placed(place: Callable[..., str], *steps: str | int) -> Iterator[None]:
    """Put a place before what goes wrong inside; it is looked for only then.

    place : takes the steps and returns ``file:line:column``
    *steps : keys and positions that lead to a value in the file
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{place(*steps)}: {error.sentence}") from error
