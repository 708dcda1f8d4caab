"""Wall times of commands, one after another in turn, so that a drifting machine drifts for all."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

RUNS = 15
"""Times of each; the first, which fills the caches of the machine, comes before."""


def seconds(command: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """Return the wall time of one run. [s]"""
    told = {**os.environ, **(environment or {})}
    # An installed package comes compiled; a checkout is after the first run, unless told not to.
    told.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=told)
    return time.perf_counter() - start


def interleaved(
    commands: Mapping[str, tuple[Sequence[str], Mapping[str, str]]], runs: int = RUNS
) -> dict[str, list[float]]:
    """Return the wall times of commands, by name. [s]

    Parameters
    ----------
    commands : mapping of str to tuple
        By name, what is run and what is added to the environment.
    runs : int
        Times of each. [1]
    """
    timed: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs + 1):
        for name, (command, environment) in commands.items():
            timed[name].append(seconds(command, environment))
    return {name: values[1:] for name, values in timed.items()}


def rate(work: Callable[[], int], runs: int = RUNS) -> float:
    """Return the median points a second of a function that returns how many it did. [1/s]"""
    rates = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        rates.append(work() / (time.perf_counter() - start))
    return median(rates[1:])
