"""What every ``ask_*.py`` prints: how many points a second, and its numbers for the common cases."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle

SPAN = 1.0
"""Seconds over which a rate is counted."""

PROMPT, OUTPUT = 2048, 128
"""Lengths of the common cases. [token]"""


def lengths() -> Iterator[int]:
    """Yield prompts that differ from call to call, so that no cache answers for a calculator."""
    return cycle(range(1024, 3072))


def rate(evaluate: Callable[[int], object], span: float = SPAN) -> float:
    """Return evaluations a second of a function of the prompt's length. [1/s]"""
    evaluate(PROMPT)
    begin = time.perf_counter()
    for count, prompt in enumerate(lengths(), 1):  # noqa: B007  (the count is the result)
        evaluate(prompt)
        if time.perf_counter() - begin > span:
            break
    return count / (time.perf_counter() - begin)


def tell(points_per_s: float, cases: Mapping[str, float]) -> None:
    """Print the answer.

    Parameters
    ----------
    points_per_s : float
        Full estimates a second. [1/s]
    cases : mapping of str to float
        By name: ``step-1``, ``step-64`` and ``step-70b`` are one decode step, ``prompt`` the time to
        the first token. [s]
    """
    json.dump({"points_per_s": points_per_s, "cases": cases}, sys.stdout)
