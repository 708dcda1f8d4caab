"""What every ``ask_*.py`` prints: points per second, and numbers for the common cases."""

import json
import sys
import time
from collections.abc import Callable, Mapping

SPAN = 1.0
"""CPU time over which a rate is counted, which others on the machine lengthen least. [s]"""

PROMPT, OUTPUT = 2048, 128
"""Lengths of the common cases. [token]"""


LENGTHS = range(512, 100_000)
"""Prompts that differ from call to call, so that no cache answers for a calculator. [token]"""


def rate(evaluate: Callable[[int], object], points: int = 1) -> float:
    """Points per second of CPU time, by a function of the prompt's length. [1/s]

    Parameters
    ----------
    evaluate : callable
        What evaluates.
    points : int
        How many in a call. [1]
    """
    evaluate(PROMPT)
    begin = time.process_time()
    count = 0
    for count, prompt in enumerate(LENGTHS, 1):  # noqa: B007  (the count is the result)
        evaluate(prompt)
        if time.process_time() - begin > SPAN:
            break
    return count * points / (time.process_time() - begin)


def tell(points_per_s: float, cases: Mapping[str, float]) -> None:
    """Print the answer.

    Parameters
    ----------
    points_per_s : float
        Full estimates a second. [1/s]
    cases : mapping of str to float
        By name: ``step-1``, ``step-64`` and ``step-70b`` are one decode step, ``prompt`` the
        time to the first token. [s]
    """
    json.dump({"points_per_s": points_per_s, "cases": cases}, sys.stdout)
