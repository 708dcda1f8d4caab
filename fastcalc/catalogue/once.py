"""Results that are kept: entries of the catalogue are frozen, and asked about again and again."""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
Answer = TypeVar("Answer")

_MOST = 1024
"""More than the 847 scenarios of all claims."""


def once(compute: Callable[[*Arguments], Answer]) -> Callable[[*Arguments], Answer]:
    """Return what makes a result once for the very objects that it is given.

    By identity, but for text and tuples: comparing entries takes longer than most made of them.
    """
    answers: dict[tuple[object, ...], tuple[object, Answer]] = {}

    def cached(*args: *Arguments) -> Answer:
        key = tuple(
            argument if isinstance(argument, (str, tuple)) else id(argument) for argument in args
        )
        if key not in answers:
            if len(answers) >= _MOST:
                answers.pop(next(iter(answers)), None)
            answers[key] = args, compute(*args)  # with what it is of, so that no id comes again
        return answers[key][1]

    return cached
