"""Parallel evaluation of grids in blocks, of which only a few are in memory at a time."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from typing import TypeVar

import numpy as np

from fastcalc.grid.columns import Columns
from fastcalc.grid.grid import Grid, solve_grids

WORKERS = 2  # numpy releases the interpreter lock while computing, which keeps two threads busy
_KEPT = 31 * 2**20
_TOGETHER = 4096  # points of small blocks that are evaluated together

Given = TypeVar("Given")
Made = TypeVar("Made")


def keep_freed_memory() -> None:
    """Make glibc's allocator reuse freed memory instead of requesting it again.

    The allocator raises its mmap threshold to the size of a freed block, up to 32 MiB (mallopt(3),
    M_MMAP_THRESHOLD). Otherwise, the page faults of new arrays take three times as long as the
    arithmetic.
    """
    np.empty(_KEPT, dtype=np.uint8)


def solve_all(grids: Iterable[Grid]) -> Iterator[tuple[Grid, Columns]]:
    """Evaluate several grids, and yield each block with its columns in order."""
    keep_freed_memory()
    # Use copies, so that values cached by a grid and its scenario are freed once they are done.
    copies = (replace(grid, scenario=replace(grid.scenario)) for grid in grids)
    blocks = chain.from_iterable(grid.blocks() for grid in copies)
    solved = in_order(lambda pack: zip(pack, solve_grids(pack), strict=True), _packs(blocks))
    return chain.from_iterable(solved)


def _packs(blocks: Iterable[Grid]) -> Iterator[list[Grid]]:
    """Group consecutive small blocks, which are evaluated faster together."""
    pack, points = list[Grid](), 0
    for block in blocks:
        points += block.size
        if pack and points > _TOGETHER:
            yield pack
            pack, points = [], block.size
        pack.append(block)
    if pack:
        yield pack


def in_order(make: Callable[[Given], Made], jobs: Iterable[Given]) -> Iterator[Made]:
    """Run jobs in several threads, and yield their results in order."""
    waiting: deque[Future[Made]] = deque()
    source = iter(jobs)
    with ThreadPoolExecutor(WORKERS) as pool:
        waiting.extend(pool.submit(make, job) for job in islice(source, WORKERS))
        while waiting:
            computed = waiting.popleft().result()
            waiting.extend(pool.submit(make, job) for job in islice(source, 1))
            yield computed
