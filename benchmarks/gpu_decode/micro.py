"""What the device reaches alone: copying, multiplying, and starting a kernel in a graph."""

from collections.abc import Iterator

import torch

from benchmarks.gpu_decode.clock import captured, free_bytes, measure
from benchmarks.gpu_decode.points import Timing
from benchmarks.gpu_decode.reach import Reached

_COPY = {"cuda": 2**31, "cpu": 2**26}
"""Bytes copied: many times any cache of a GPU, and little enough for a CPU's patience."""

_WIDTH = {"cuda": 16384, "cpu": 512}
"""Rows and columns of the weights multiplied: 537 MB on a GPU, more than its caches hold."""

_ROWS = (1, 8, 16, 64, 128, 256, 512, 1024, 4096, 8192)
"""Rows multiplied: as many as sequences in decode, then as many as tokens in prefill."""

_CPU_ROWS = 256
_NODES = 1000
_ELEMENT_BYTES = 2


def all_of_them(device: torch.device, repeat: int) -> Iterator[Reached]:
    """Yield every measurement."""
    yield copy(device, repeat)
    yield from gemm(device, repeat)
    yield launch(device, repeat)


def copy(device: torch.device, repeat: int) -> Reached:
    """Copy a large buffer: every byte is read once and written once."""
    size = min(_COPY[device.type], int(free_bytes(device) // 4))
    source = torch.empty(size // _ELEMENT_BYTES, dtype=torch.bfloat16, device=device).normal_()
    target = torch.empty_like(source)
    timing = measure(captured(lambda: target.copy_(source), device), device, repeat)
    moved = 2 * _ELEMENT_BYTES * source.numel()
    return Reached("copy, read and written", f"{moved // 2} bytes", timing, moved, "B/s")


def gemm(device: torch.device, repeat: int) -> Iterator[Reached]:
    """Multiply by square weights in bf16: the rate, and the weights read a second."""
    width = _WIDTH[device.type]
    weights = torch.empty(width, width, dtype=torch.bfloat16, device=device).normal_()
    for rows in _ROWS:
        if device.type == "cpu" and rows > _CPU_ROWS:
            return
        inputs = torch.empty(rows, width, dtype=torch.bfloat16, device=device).normal_()
        timing = _product(inputs, weights, device, repeat)
        size = f"M={rows} N=K={width}"
        yield Reached("GEMM bf16", size, timing, 2 * rows * width**2, "FLOP/s")
        yield Reached("GEMM bf16, weights", size, timing, _ELEMENT_BYTES * width**2, "B/s")


def _product(
    inputs: torch.Tensor, weights: torch.Tensor, device: torch.device, repeat: int
) -> Timing:
    run = captured(lambda: torch.nn.functional.linear(inputs, weights), device)
    return measure(run, device, repeat)


def launch(device: torch.device, repeat: int) -> Reached:
    """Add one to one number, again and again: what a kernel costs that does nothing."""
    number = torch.zeros(1, device=device)

    def chain() -> None:
        for _ in range(_NODES):
            number.add_(1)

    timing = measure(captured(chain, device), device, repeat)
    each = Timing(tuple(value / _NODES for value in timing.seconds), timing.runs)
    what = "kernel in a graph" if device.type == "cuda" else "operation, no graph"
    return Reached(what, f"chain of {_NODES}", each, None, "s")
