"""Cache of results for catalogue entries, which are frozen and used repeatedly."""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
Answer = TypeVar("Answer")

_MOST = 1024
"""The cache size, larger than the 847 scenarios of all claims."""


def once(compute: Callable[[*Arguments], Answer]) -> Callable[[*Arguments], Answer]:
    """Cache results by the identity of the arguments.

    Text and tuples are compared by value. Comparing entries takes longer than most computations.
    """
    answers: dict[tuple[object, ...], tuple[object, Answer]] = {}

    def cached(*args: *Arguments) -> Answer:
        # A list is built faster than a generator runs, which counts in the shortest functions.
        key = tuple([item if isinstance(item, (str, tuple)) else id(item) for item in args])
        answer = answers.get(key)
        if answer is None:
            answer = args, compute(*args)  # keeps args alive, so that no id is reused
            if len(answers) >= _MOST:
                answers.pop(next(iter(answers)), None)
            answers[key] = answer
        return answer[1]

    return cached
