"""Percentiles in closed form against a simulation of the same scheduler, event by event.

``python -m benchmarks.queueing`` prints closed form over simulation by load and percentile, on a
machine whose passes take what a head can say: 10 + 0.01 b ms where b sequences decode, and
20 + 0.01 (b + c) ms with c prompt tokens in the pass, at most 1,000.
"""

import heapq
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.table import markdown
from fastcalc.core.load import SHARES, Percentiles
from fastcalc.formulas.types import Floats

CHUNK, OVERHEAD = 1000, 5e-3
LOADS = (0.3, 0.5, 0.7, 0.85)


class Kind(NamedTuple):
    """Requests of one length: their share, prompt and output tokens."""

    share: float
    prompt: int
    output: int


TRAFFIC: dict[str, tuple[list[Kind], int]] = {
    "alike": ([Kind(1, 1000, 200)], 200),
    "short prompts": ([Kind(1, 200, 100)], 256),
    "mixed": ([Kind(0.7, 500, 100), Kind(0.2, 2000, 300), Kind(0.1, 5000, 500)], 128),
    "few slots": ([Kind(1, 500, 200)], 16),
}
"""Kinds of requests, and slots, by name."""


def pass_seconds(decoded: float, prompt: float) -> float:
    """Return the time of a pass. [s]"""
    if prompt:
        return (20.0 + 0.01 * (decoded + prompt)) * 1e-3
    return (10.0 + 0.01 * decoded) * 1e-3


@dataclass
class _Prompt:
    request: int
    left: int
    has_slot: bool = False


class Simulated(NamedTuple):
    """Times of requests, without the first tenth. [s]"""

    ttft: Floats
    tpot: Floats
    request: Floats


def simulate(
    kinds: Sequence[Kind], slots: int, rate: float, count: int, seed: int = 1
) -> Simulated:
    """Simulate continuous batching with chunks of prompts, first come, first served.

    slots : sequences that are decoded or taken in at once [1]
    rate, count : requests that arrive at random a second, and in all [1/s], [1]
    """
    dice = np.random.default_rng(seed)
    arrival = np.cumsum(dice.exponential(1.0 / rate, count))
    share = np.array([kind.share for kind in kinds])
    drawn = dice.choice(len(kinds), count, p=share / share.sum())
    prompt, output = (
        np.array([getattr(kind, name) for kind in kinds])[drawn] for name in ("prompt", "output")
    )
    first, last = np.zeros(count), np.zeros(count)
    now, passes, arrived, busy = 0.0, 0, 0, 0
    queue: deque[_Prompt] = deque()
    decoding: list[tuple[int, int]] = []  # the pass after which each is done
    while arrived < count or queue or decoding:
        if not queue and not decoding:
            now = max(now, float(arrival[arrived]))
        while arrived < count and arrival[arrived] <= now:
            queue.append(_Prompt(arrived, int(prompt[arrived])))
            arrived += 1
        prompt_tokens, begun, busy = _take_in(queue, slots, busy)
        now += pass_seconds(len(decoding), prompt_tokens)
        passes += 1
        while decoding and decoding[0][0] == passes:
            last[heapq.heappop(decoding)[1]] = now
            busy -= 1
        for request in begun:
            first[request] = now
            heapq.heappush(decoding, (passes + int(output[request]) - 1, request))
    steady = slice(count // 10, None)
    return Simulated(
        (first - arrival)[steady] + OVERHEAD,
        ((last - first) / (output - 1))[steady],
        (last - arrival)[steady] + OVERHEAD,
    )


def _take_in(queue: deque[_Prompt], slots: int, busy: int) -> tuple[int, list[int], int]:
    """Return the prompt tokens of a pass, the requests whose prompts it ends, and slots taken."""
    pass_tokens, begun = 0, []
    while queue and pass_tokens < CHUNK:
        prompt = queue[0]
        if not prompt.has_slot:
            if busy == slots:
                break
            prompt.has_slot, busy = True, busy + 1
        tokens = min(prompt.left, CHUNK - pass_tokens)
        prompt.left, pass_tokens = prompt.left - tokens, pass_tokens + tokens
        if not prompt.left:
            begun.append(queue.popleft().request)
    return pass_tokens, begun, busy


def ratios(closed: Percentiles, simulated: Simulated) -> Iterator[tuple[str, list[float]]]:
    """Yield the mean and the percentiles over those simulated, of each time by its name."""
    for name in ("ttft", "tpot", "request"):
        spread, times = getattr(closed, name), getattr(simulated, name)
        measured = [float(times.mean()), *np.quantile(times, SHARES).tolist()]
        pairs = zip([spread.mean, *spread.percentiles], measured, strict=True)
        yield name, [expected / value for expected, value in pairs]


def main(count: int = 20_000) -> None:
    """Print the table."""
    from tests.made_up import random_load  # the machine of the tests

    rows = []
    for name, (kinds, slots) in TRAFFIC.items():
        capacity = random_load(kinds, slots, 1.0).capacity
        for share in LOADS:
            load = random_load(kinds, slots, share * capacity)
            times = simulate(kinds, slots, share * capacity, count)
            for time, factors in ratios(load.percentiles(), times):
                remark = "" if load.is_known else "not said"
                line = [
                    name,
                    f"{share:.0%}",
                    time,
                    *(f"{factor:.2f}" for factor in factors),
                    remark,
                ]
                rows.append(line)
    heads = ("traffic", "load", "time", "mean", *(f"p{part * 100:g}" for part in SHARES), "")
    sys.stdout.write(f"{markdown(heads, rows, left=3)}\n")


if __name__ == "__main__":
    main()
