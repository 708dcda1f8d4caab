"""Time decode steps of several networks, batches and contexts, as far as they fit."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch

from benchmarks.gpu_decode.clock import captured, fastest, free_bytes, measure
from benchmarks.gpu_decode.network import Network, Step
from benchmarks.gpu_decode.points import Decode, Timing
from benchmarks.gpu_decode.shape import Shape

_SPARE = 0.95
"""Share of the free memory that is planned with; workspaces of libraries take the rest."""


@dataclass(frozen=True)
class Plan:
    """What to time, on what.

    Attributes
    ----------
    device : torch.device
        Where it runs.
    hardware : str
        Its id in the catalogue.
    batches, contexts : tuple of int
        Sizes of a step. [1]
    repeat : int
        Repetitions of each. [1]
    about : tuple of str
        What the notes of every row say.
    """

    device: torch.device
    hardware: str
    batches: tuple[int, ...]
    contexts: tuple[int, ...]
    repeat: int
    about: tuple[str, ...]


def decode_steps(
    plan: Plan, shapes: Iterable[Shape], tell: Callable[[str], None]
) -> Iterator[Decode]:
    """Yield the steps that were timed, and tell of those that do not fit."""
    for shape in shapes:
        torch.manual_seed(0)
        free = free_bytes(plan.device) * _SPARE
        if shape.weight_bytes() > free:
            need, have = shape.weight_bytes() / 1e9, free / 1e9
            tell(f"{shape.model} left out: its weights take {need:.1f} GB, {have:.1f} GB are free")
            continue
        network = Network(shape, plan.device)
        for context in plan.contexts:
            for batch in plan.batches:
                step = _one(plan, network, batch, context, tell)
                if step is not None:
                    yield step
        del network


def _one(
    plan: Plan, network: Network, batch: int, context: int, tell: Callable[[str], None]
) -> Decode | None:
    """Time one step, or tell why it cannot be."""
    model = network.shape.model
    name = f"{model}, batch {batch}, context {context:,}"
    need = network.shape.step_bytes(batch, context)
    free = free_bytes(plan.device) * _SPARE
    if need > free:
        tell(f"{name} left out: it needs {need / 1e9:.1f} GB more, {free / 1e9:.1f} GB are free")
        return None
    try:
        timing, kernels = _timed(plan, network, batch, context)
    except torch.cuda.OutOfMemoryError:
        tell(f"{name} left out: the memory ran out")
        return None
    tell(f"{name}: {timing.median * 1e3:.4g} ms")
    return Decode(plan.hardware, model, batch, context, timing, (*kernels, *plan.about))


def _timed(
    plan: Plan, network: Network, batch: int, context: int
) -> tuple[Timing, tuple[str, ...]]:
    """Pick the kernels of a step and time it with them."""
    step = Step(network, batch, context)
    step.attention = fastest(step.attention_ways(), plan.device)
    kernels = [f"attention: {step.attention}"]
    if network.shape.routed:
        step.experts = fastest(step.expert_ways(), plan.device)
        kernels += [f"experts: {step.experts}", "routing uniform at random"]
    return measure(captured(step, plan.device), plan.device, plan.repeat), tuple(kernels)
