"""Measures taken in turn, so that a machine that drifts drifts for all of them alike."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median


def in_turn(measures: Mapping[str, Callable[[], float]], runs: int) -> dict[str, float]:
    """Return the median of each of some measures, by name.

    Parameters
    ----------
    measures : mapping of str to callable
        By name, what measures once and returns the value.
    runs : int
        Rounds that count; one before them, which fills the caches of the machine, does not. [1]
    """
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(runs + 1):
        for name, measure in measures.items():
            found[name].append(measure())
    return {name: median(values[1:]) for name, values in found.items()}


def seconds(task: Callable[[], object]) -> float:
    """Return the wall time of one call. [s]"""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def seconds_of_cpu(task: Callable[[], object]) -> float:
    """Return the CPU time of one call in this process. [s]"""
    start = time.process_time()
    task()
    return time.process_time() - start


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> bytes:
    """Return what a command prints; it fails if the command does.

    Parameters
    ----------
    command : sequence of str
        What is run.
    environment : mapping of str to str, optional
        What is added to the environment.
    """
    variables = {**os.environ, **(environment or {})}
    # An installed package comes compiled; a checkout is after the first run, unless asked not to.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(command, check=True, capture_output=True, env=variables).stdout
