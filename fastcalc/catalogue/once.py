"""Cache of results for catalogue entries, which are immutable and used repeatedly."""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
Answer = TypeVar("Answer")

_MOST = 1024
"""The cache size, which exceeds the 847 scenarios of all claims."""


def once(compute: Callable[[*Arguments], Answer]) -> Callable[[*Arguments], Answer]:
    """Cache results by the identity of the arguments.

    Text and tuples are compared by value. Comparing entries takes longer than most computations.
    """
    answers: dict[tuple[object, ...], tuple[object, Answer]] = {}

    def cached(*args: *Arguments) -> Answer:
        # Building a list is faster than running a generator, which matters in short functions.
        key = tuple([item if isinstance(item, (str, tuple)) else id(item) for item in args])
        answer = answers.get(key)
        if answer is None:
            answer = args, compute(*args)  # keeps args alive, so that no id is reused
            if len(answers) >= _MOST:
                answers.pop(next(iter(answers)), None)
            answers[key] = answer
        return answer[1]

    return cached
