"""Cached results for catalogue entries, which are frozen and used repeatedly."""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
Answer = TypeVar("Answer")

_MOST = 1024
"""Cache size: more than the 847 scenarios of all claims."""


def once(compute: Callable[[*Arguments], Answer]) -> Callable[[*Arguments], Answer]:
    """Decorator that caches results by the identity of the arguments.

    Text and tuples are compared by value. Comparing entries takes longer than most computations.
    """
    answers: dict[tuple[object, ...], tuple[object, Answer]] = {}

    def cached(*args: *Arguments) -> Answer:
        key = tuple(
            argument if isinstance(argument, (str, tuple)) else id(argument) for argument in args
        )
        if key not in answers:
            if len(answers) >= _MOST:
                answers.pop(next(iter(answers)), None)
            answers[key] = args, compute(*args)  # keeps args alive, so that no id is reused
        return answers[key][1]

    return cached
