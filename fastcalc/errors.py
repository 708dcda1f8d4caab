"""The one exception that a person's input can raise, and what its sentences share."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ENDLESS = re.compile(r"(\S{120})\S{80,}(\S{120})")
"""A word that nobody reads to its end; both its ends are kept, for a path is known by them."""


class InputError(Exception):
    """The request or a file is wrong: one sentence says what, where, and what to write."""

    def __init__(self, sentence: str) -> None:
        super().__init__(_ENDLESS.sub(r"\1...\2", sentence))


@contextmanager
def placed(place: Callable[..., str], *steps: str | int) -> Iterator[None]:
    """Put a place before what goes wrong inside; it is looked for only then.

    Parameters
    ----------
    place : callable
        Takes the steps and returns ``file:line:column``.
    *steps : str or int
        Keys and positions that lead to a value in the file.
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{place(*steps)}: {error}") from error


def shown(value: object, most: int = 60) -> str:
    r"""Return a value as text that fits in a sentence on any terminal.

    Examples
    --------
    >>> shown("a\nb"), shown("a" * 50, 8)
    ('a?b', 'aaaaa...')
    """
    text = str(value)
    fit = text if len(text) <= most else text[: most - 3] + "..."
    return "".join(letter if letter.isprintable() else "?" for letter in fit)
