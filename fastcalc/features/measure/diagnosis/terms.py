"""The terms that may be slower than predicted: parameters each one scales, and known settings."""

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from fastcalc.core.chip.machine import EngineParameters
from fastcalc.formulas.types import ArrayLike, floats

_SLIGHT = 1.5
"""Smallest slowdown that counts as a problem. Engines fitted with all of it include it."""

Powers = tuple[tuple[str, float], ...]
"""Engine parameters, each with the power of the slowdown by which it changes."""


@dataclass(frozen=True)
class Part:
    """A part of a term that can be slower on its own.

    name : The name in words, appended to the name of the term.
    rates, costs : The parameters divided and multiplied by powers of the slowdown; if both are
        empty, the part is the memory for requests.
    towards : The costs of an engine that has the problem; the cost that changes most is multiplied
        by the slowdown, and the others move by the same fraction. [SI]
    most : The largest slowdown known.
    """

    name: str
    rates: Powers = ()
    costs: Powers = ()
    towards: tuple[tuple[str, float], ...] = ()
    most: float = 150.0

    def slower(self, software: EngineParameters, times: float) -> EngineParameters:
        """Slow this part of an engine down by a factor."""
        rates = {name: software.value(name) / times**power for name, power in self.rates}
        costs = {name: software.value(name) * times**power for name, power in self.costs}
        return replace(software, **rates, **costs, **self._on_the_way(software, times))

    def is_within(self, other: "Part") -> bool:
        """Check whether another part slows down all the rates of this one as well."""
        rates = dict(self.rates).keys()
        is_of_rates = bool(rates) and not (self.costs or self.towards)
        return is_of_rates and rates <= dict(other.rates).keys()

    def times_shown(self, software: EngineParameters, times: float) -> float:
        """Return the slowdown of the first cost in `towards`, the one that users know.

        software, times : The predicted parameters, and slowdown as in `slower`.
        """
        for name, factor in self._on_the_way(software, times).items():
            ratio = float(np.median(factor / floats(software.value(name))))
            if ratio > 1.0:
                return ratio
        return times

    def _on_the_way(self, software: EngineParameters, times: float) -> dict[str, ArrayLike]:
        # On a machine without this cost, such as one without launches, nothing can grow.
        costs = {name: floats(software.value(name)) for name, _ in self.towards}
        ratios = {
            name: np.maximum(value / costs[name], 1.0)
            for name, value in self.towards
            if np.all(costs[name] > 0.0)
        }
        if not ratios:
            return {}
        largest = reduce(np.maximum, ratios.values(), floats(_SLIGHT))
        fraction = np.log(times) / np.log(largest)
        return {name: software.value(name) * ratio**fraction for name, ratio in ratios.items()}


@dataclass(frozen=True)
class SlowdownTerm:
    """A term that may be slower than predicted.

    name, worse, shows : The short name, verb and adjective for a slowdown, and measurements
        affected.
    parts : The parts that can be slower on their own.
    settings : The settings known to change it, the most likely first.
    """

    name: str
    worse: str
    shows: str
    parts: tuple[Part, ...]
    settings: tuple[str, ...]


_POWER = "a power cap or low clocks (nvidia-smi -q -d POWER,CLOCK)"
OLD_RELEASE = (
    "an old release of the engine (newer ones launch fewer kernels and schedule asynchronously)"
)
NEWER_RELEASE = "use a newer release of the engine, which schedules asynchronously"
EAGER = "eager mode instead of CUDA graphs (enforce_eager)"

# Launches without graphs cost about as much as in engines/eager.yaml, and kernels of an early
# release about as much as in engines/young.yaml.
LAUNCHES = Part(
    "per kernel launch",
    towards=(
        ("decode_layer_floor", 150e-6),
        ("collective_latency", 40e-6),
        ("sequence_overhead", 150e-6),
    ),
)
HOST = SlowdownTerm(
    "host time",
    "is longer",
    "steps are longer by a constant at any batch, or by a time per sequence for any model",
    parts=(
        Part("per step", costs=(("decode_layer_floor", 1.0),)),
        Part("per prompt", costs=(("prefill_layer_floor", 1.0),)),
        Part("per sequence", costs=(("sequence_overhead", 1.0), ("stage_overhead", 1.0))),
        LAUNCHES,
        Part(
            "per kernel",
            towards=(
                ("decode_layer_floor", 100e-6),
                ("prefill_layer_floor", 1.7e-3),
                ("expert_layer_extra", 4.0),
            ),
        ),
    ),
    settings=(
        EAGER,
        OLD_RELEASE,
        "a slow or busy host CPU; penalties, logprobs or guided decoding",
    ),
)
_READS = (("bandwidth_fraction", 1.0), ("bandwidth_per_core", 1.0))
_PRODUCTS = (("compute_fraction", 1.0), ("compute_per_core", 1.0))
BANDWIDTH = SlowdownTerm(
    "memory bandwidth",
    "is lower",
    "decode is slower at any batch, most with long contexts",
    parts=(Part("", rates=_READS, most=4.0),),
    settings=(
        _POWER,
        "another variant of the chip, or a slice of it (MIG; nvidia-smi -L)",
        "weights or cache in a wider format than stated; the attention backend and block size",
    ),
)
COMPUTE = SlowdownTerm(
    "compute",
    "is slower",
    "prompts and large batches are slower, single streams are not",
    parts=(
        Part("", rates=_PRODUCTS, most=8.0),
        Part("(and memory)", rates=(*_PRODUCTS, *((name, 0.4) for name, _ in _READS)), most=4.0),
    ),
    settings=(
        _POWER,
        "products in a wider format than stated, as where weights alone are quantized",
        "prompts in small chunks (max_num_batched_tokens)",
    ),
)
_LATENCIES = ("collective_latency", "crossing_latency", "rank_wait")
LINKS = SlowdownTerm(
    "links between chips",
    "are slower",
    "several chips are slower but a single one is not, most for prompts and large batches",
    parts=(
        Part("(bandwidth)", rates=(("link_fraction", 1.0),)),
        Part("(latency)", costs=tuple((name, 1.0) for name in _LATENCIES)),
        # Over PCIe, exchanges take three times as long, bytes 10 to 30 times (engines/gpu.yaml).
        Part(
            "(bandwidth and latency)",
            rates=(("link_fraction", 1.0),),
            costs=(("collective_latency", 0.4),),
        ),
    ),
    settings=(
        "PCIe instead of NVLink (nvidia-smi topo -m)",
        "no peer-to-peer copies or custom all-reduce (NCCL_P2P_DISABLE, "
        "--disable-custom-all-reduce)",
        EAGER,
    ),
)
ROOM = Part("")
RUNNING = SlowdownTerm(
    "KV-cache capacity",
    "is smaller",
    "above some concurrency requests wait, and throughput stops growing",
    parts=(ROOM,),
    settings=(
        "less memory for caches (gpu_memory_utilization)",
        "memory reserved for CUDA graphs (VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS)",
        "a limit on sequences (max_num_seqs)",
    ),
)

TERMS = (HOST, BANDWIDTH, COMPUTE, LINKS, RUNNING)
PARTS = tuple((term, part) for term in TERMS for part in term.parts)
"""All parts with their terms. Other modules refer to parts by their index here."""
