"""Run a piece of work again and again and time it: as a CUDA graph on a GPU, as it is on a CPU."""

import gc
import math
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterable

import torch

from benchmarks.gpu_decode.points import Timing
from fastcalc.errors import InputError

Work = Callable[[], object]

_REPETITION = 0.05
"""Shortest repetition: far above a clock's resolution and a start from the host. [s]"""

_WARM_UP = 3
"""Runs before a capture: libraries pick kernels and take their workspace in the first ones."""


def captured(work: Work, device: torch.device) -> Work:
    """Return work that runs as one CUDA graph; on a CPU, the work itself."""
    if device.type != "cuda":
        return work
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # The outer stream comes back even where a capture fails half-way.
    with torch.cuda.stream(torch.cuda.current_stream()), torch.cuda.graph(graph):
        work()
    return graph.replay


def measure(run: Work, device: torch.device, repeat: int) -> Timing:
    """Time work that is ready to run.

    The first repetition finds how many runs the others need, and warms the chip up.

    Parameters
    ----------
    run : callable
        From `captured`.
    device : torch.device
        Whose clock counts.
    repeat : int
        Repetitions. [1]
    """
    run()
    runs, spent = 1, _seconds(run, device, 1)
    while spent < _REPETITION:
        runs = max(2 * runs, min(math.ceil(runs * _REPETITION / max(spent, 1e-9)), 100 * runs))
        spent = _seconds(run, device, runs)
    return Timing(tuple(_seconds(run, device, runs) / runs for _ in range(repeat)), runs)


def _seconds(run: Work, device: torch.device, runs: int) -> float:
    """Return the time of some runs in a row. [s]"""
    if device.type != "cuda":
        start = time.perf_counter()
        for _ in range(runs):
            run()
        return time.perf_counter() - start
    start_event, end_event = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start_event.record()
    for _ in range(runs):
        run()
    end_event.record()
    end_event.synchronize()
    return float(start_event.elapsed_time(end_event)) / 1e3


def fastest(ways: Iterable[tuple[str, Work]], device: torch.device) -> str:
    """Return the name of the fastest of several ways to do the same work.

    A way that this device or this PyTorch does not have is passed over.
    """
    timed: dict[str, float] = {}
    why = ""
    for name, work in ways:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # why a kernel is not there, once for each reason
                timed[name] = measure(captured(work, device), device, 3).median
        except torch.cuda.OutOfMemoryError:
            raise
        except (RuntimeError, NotImplementedError, AttributeError) as error:
            why = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
    if not timed:
        raise InputError(f"this PyTorch has no kernel for a step on this device: {why}")
    return min(timed, key=timed.__getitem__)


def free_bytes(device: torch.device) -> float:
    """Return the memory that is free, or infinity where the system does not say. [byte]"""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        return float(torch.cuda.mem_get_info()[0])
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def identity(device: torch.device) -> tuple[str, float]:
    """Return the name that the driver gives a device, and the memory that it shows. [byte]"""
    if device.type == "cuda":
        found = torch.cuda.get_device_properties(device)
        return str(found.name), float(found.total_memory)
    return platform.processor() or platform.machine() or "CPU", math.inf
