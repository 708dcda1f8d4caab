"""The one step function: T(b, c), a pass that decodes b sequences and takes in c prompt tokens.

With ``c = 0`` it is a decode step, with ``b = 0`` a prefill, and with both the mixed step
of real traffic. It is a short list of components, each a few bytes, FLOPs, messages or
launches at rates that an engine reaches. The arithmetic of decode rows mostly hides under the
read of the weights they share (`overlapped_time`); that of prompt rows is added to it, as
measured prefill asks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import NamedTuple

import numpy as np

from fastcalc.core.machine import Chip, EngineParameters, Reached, reached
from fastcalc.core.pass_work import ACTIVATION_BYTES, PassWork
from fastcalc.core.split import Split
from fastcalc.core.tiers import LEAST, InPlace, Located, Reads, ways_of
from fastcalc.formulas.experts import distinct_experts
from fastcalc.formulas.network import all_reduce_bytes, all_reduce_shots, exchange_bytes
from fastcalc.formulas.pipeline import pipelined_step
from fastcalc.formulas.roofline import overlapped_time, time_of
from fastcalc.formulas.types import Array, ArrayLike, Ints, floats

_FUSED_MULTIPLY_ADD = 2.0

PRODUCTS, GROUPED_PRODUCTS = 3.0, 1.0
"""How memory and compute time of matrix products overlap, and of products over routed experts."""

HOST = "host"
"""The component that the cores of a host work on."""

LIMITERS = ("memory", "compute", "link", "latency")


@dataclass(eq=False)
class Component:
    """One part of a step: its work on one chip, and the rates at which that is done.

    Attributes
    ----------
    name : str
        Attention, dense weights, routed experts, a collective, a floor.
    bytes, bandwidth : array_like
        Memory traffic [byte] and how fast it goes. [byte/s]
    flops, flop_rate : array_like
        Arithmetic [FLOP] and how fast it goes. [FLOP/s]
    sent, link : array_like
        What crosses links [byte] and how fast. [byte/s]
    count, each : array_like
        Launches, messages or hops one after another [1], and what each takes. [s]
    norm : float
        How its memory and compute time overlap: 1 for not at all, infinity for wholly. [1]
    """

    name: str
    bytes: ArrayLike = 0.0
    bandwidth: ArrayLike = inf
    flops: ArrayLike = 0.0
    flop_rate: ArrayLike = inf
    sent: ArrayLike = 0.0
    link: ArrayLike = inf
    count: ArrayLike = 0.0
    each: ArrayLike = 0.0
    norm: float = PRODUCTS

    def __post_init__(self) -> None:
        """Work out its times: of bytes and FLOPs alone and together, on links, and latency. [s]"""
        self.memory_time = _time(self.bytes, self.bandwidth)
        self.compute_time = _time(self.flops, self.flop_rate)
        self.link_time = _time(self.sent, self.link)
        self.latency = 0.0 if _is_nothing(self.count) else self.count * self.each
        self.work_time = self._overlapped()
        self.is_idle = all(map(_is_nothing, (self.work_time, self.link_time, self.latency)))

    def _overlapped(self) -> ArrayLike:
        if _is_nothing(self.compute_time):
            return self.memory_time
        if _is_nothing(self.memory_time):
            return self.compute_time
        if self.norm == inf:
            return np.maximum(self.memory_time, self.compute_time)
        return overlapped_time(memory=self.memory_time, compute=self.compute_time, norm=self.norm)

    @property
    def seconds(self) -> ArrayLike:
        """Time it takes. [s]"""
        rest = [one for one in (self.link_time, self.latency) if not _is_nothing(one)]
        return sum(rest, self.work_time)

    def by_limiter(self) -> tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]:
        """Return its time split into memory, compute, link and latency. [s]"""
        if _is_nothing(self.compute_time):
            return self.memory_time, 0.0, self.link_time, self.latency
        if _is_nothing(self.memory_time):
            return 0.0, self.compute_time, self.link_time, self.latency
        is_memory, work = self.memory_time >= self.compute_time, self.work_time
        return work * is_memory, work * ~is_memory, self.link_time, self.latency


def _is_nothing(amount: ArrayLike) -> bool:
    """Return whether an amount is the number zero, so that arrays of it need not be made."""
    return isinstance(amount, (float, int)) and not amount


def _time(work: ArrayLike, rate: ArrayLike) -> ArrayLike:
    return 0.0 if _is_nothing(work) else time_of(work=work, rate=rate)


def _total(terms: Iterable[ArrayLike]) -> ArrayLike:
    """Return the sum of some times, in order, numbers that are zero left out. [s]"""
    total: ArrayLike = 0.0
    for term in terms:
        if not _is_nothing(term):
            total = total + term
    return total


@lru_cache(maxsize=32)
def _idle(name: str) -> Component:
    """Return a component that has nothing to do."""
    return Component(name)


def largest_of(terms: Sequence[ArrayLike]) -> Ints:
    """Return the index of the largest of some times, the first of those that are equal."""
    best, index = floats(terms[0]), np.asarray(0)
    for place, term in enumerate(terms[1:], 1):
        index = np.maximum(index, place * (term > best))
        best = np.maximum(best, term)
    return index


@dataclass(frozen=True, eq=False)
class Step:
    """A step as the sum of its components.

    Attributes
    ----------
    components : tuple of Component
        In order.
    seconds : array_like
        Time of the whole step. [s]
    """

    components: tuple[Component, ...]
    seconds: Array

    @classmethod
    def of(cls, *components: Component) -> "Step":
        """Return the step of some components."""
        return cls((), floats(0.0)).then(*components)

    def then(self, *more: Component) -> "Step":
        """Return the step with more components after its own, whose sum is not made again.

        Parameters
        ----------
        more : Component
            In order.
        """
        total: ArrayLike = self.seconds
        for one in more:
            if not one.is_idle:
                total = total + one.seconds
        return Step((*self.components, *more), floats(total))

    @cached_property
    def limiter(self) -> Ints:
        """Index into `LIMITERS` of what takes most of it."""
        parts = [one.by_limiter() for one in self.components if not one.is_idle]
        return largest_of([_total(times) for times in zip(*parts, strict=True)])


class Decoded(NamedTuple):
    """What of a pass depends on the decoded sequences alone, with prompts or without."""

    dense: Component
    head: Component
    attention: Component


def decoded(
    work: PassWork, chip: Chip, software: EngineParameters, reads: Reads | None = None
) -> Decoded:
    """Return matrices and caches of decoded sequences, as `expected_step` takes them."""
    rates, tokens = reached(chip, software), work.sequences * work.verified
    reads = reads or Reads(*(rates.bandwidth,) * len(Reads._fields))
    rows = np.maximum(tokens, software.minimum_rows * (tokens > 0.0))
    return Decoded(
        Component(
            "dense weights",
            bytes=work.dense_bytes,
            bandwidth=reads.dense,
            flops=rows * work.dense_flops,
            flop_rate=rates.dense,
        ),
        Component(
            "head and norms",
            bytes=work.head_bytes,
            bandwidth=reads.head,
            flops=rows * work.head_flops,
            flop_rate=rates.head,
        ),
        # Caches are read once for all tokens of a sequence.
        Component(
            "attention",
            bytes=work.sequences * work.cache_bytes,
            bandwidth=reads.attention,
            flops=tokens * work.attention_flops,
            flop_rate=rates.attention,
        ),
    )


def expected_step(
    work: PassWork, chip: Chip, software: EngineParameters, same: Decoded | None = None
) -> Step:
    """Return the step an engine is expected to take on chips that run layer after layer.

    Parameters
    ----------
    work : PassWork
        The work of the pass.
    chip, software : Chip, EngineParameters
        What a chip prints, and what the engine makes of it; every field broadcasts with
        those of the work.
    same : Decoded, optional
        What the decoded sequences ask, where another pass of the same ones has it already.

    Returns
    -------
    Step
        Components in seconds: a pass through all layers, and with pipeline stages the hops
        and the wait for other micro-batches.
    """
    touched, elsewhere = touched_experts(work, software), _idle(HOST)
    if work.split is None:
        same = same or decoded(work, chip, software)
        parts = _worked(work, chip, software, touched, same)
    else:
        (work, _, host, _), parts = located(work, work.split, chip, software, touched)
        elsewhere = _host(host)
    passed = Step.of(
        *parts,
        _floor(work, software),
        _all_reduce(work, chip, software),
        _exchange(work, chip, software),
        Component("sequences", count=work.sequences, each=software.sequence_overhead),
        elsewhere,
    )
    return passed.then(*_pipeline(work, chip, software, passed.seconds))


def _worked(
    work: PassWork,
    chip: Chip,
    software: EngineParameters,
    touched: ArrayLike,
    same: Decoded,
    bandwidth: ArrayLike | None = None,
) -> tuple[Component, ...]:
    """Return what the chip reads and multiplies."""
    rates = reached(chip, software)
    return (
        same.dense,
        same.head,
        _routed(
            work, rates, software, touched, rates.bandwidth if bandwidth is None else bandwidth
        ),
        same.attention,
        _unpacking(work, chip, software, touched),
        *_prompt(work, rates, software),
    )


def located(
    work: PassWork, split: Split, chip: Chip, software: EngineParameters, touched: ArrayLike
) -> tuple[Located, tuple[Component, ...]]:
    """Return a pass whose bytes live in several memories, and what the chip does of it.

    The host's cores multiply what they hold where the pass takes less that way.

    Parameters
    ----------
    work : PassWork
        The work of the pass, wherever its bytes live.
    split : Split
        Where they live.
    chip, software : Chip, EngineParameters
        What a chip prints, and what the engine makes of it.
    touched : array_like
        Share of the routed weights that the pass reads. [1]
    """

    def done(way: Located) -> tuple[Located, tuple[Component, ...]]:
        same = decoded(way.work, chip, software, way.reads)
        return way, _worked(way.work, chip, software, touched, same, way.reads.routed)

    ways = ways_of(work, split, chip, software, touched)
    if ways.place is None or ways.host is None:
        return done(ways.streamed())
    here = done(ways.in_place(np.asarray(True)))
    if not split.tiers[ways.place].streams:
        return here
    streamed = done(ways.streamed())
    times = [floats(_total(one.seconds for one in parts)) for _, parts in (here, streamed)]
    kept = times[0] + ways.host.seconds < times[1]
    if kept.all():
        return here
    return done(ways.in_place(kept)) if kept.any() else streamed


def touched_experts(work: PassWork, software: EngineParameters) -> ArrayLike:
    """Return the share of the routed weights that the tokens of a pass read. [1]"""
    if _is_nothing(work.expert_layers):
        return 1.0
    distinct = distinct_experts(
        experts=work.experts,
        active=work.active,
        tokens=floats(work.together + work.prompt_together),
        correlation=software.expert_correlation,
    )
    return distinct / work.experts


def _imbalance(work: PassWork, software: EngineParameters) -> ArrayLike:
    """Return the work of the fullest rank over the mean, where experts are spread. [1]"""
    return 1.0 + work.spreads * (software.expert_imbalance - 1.0)


def _host(done: InPlace | None) -> Component:
    """Return what the host's cores do in its own memory, while the chip waits."""
    if done is None:
        return _idle(HOST)
    return Component(
        HOST,
        bytes=done.bytes,
        bandwidth=done.bandwidth,
        flops=done.flops,
        flop_rate=(done.flops + LEAST) / (done.compute + LEAST),
        sent=done.sent,
        link=done.link,
        count=done.layers,
        each=done.each,
        norm=inf,
    )


def _routed(
    work: PassWork,
    rates: Reached,
    software: EngineParameters,
    touched: ArrayLike,
    bandwidth: ArrayLike,
) -> Component:
    """Return the experts that are picked."""
    if _is_nothing(work.routed_bytes):
        return _idle("routed experts")
    uneven = _imbalance(work, software)
    return Component(
        "routed experts",
        bytes=work.routed_bytes * touched * uneven,
        bandwidth=bandwidth,
        flops=work.together * work.routed_flops * uneven,
        flop_rate=rates.routed,
        norm=GROUPED_PRODUCTS,
    )


def _unpacking(
    work: PassWork, chip: Chip, software: EngineParameters, touched: ArrayLike
) -> Component:
    """Return narrow weights widened to 16 bits on the vector units, once each."""
    weights = chip.dense_is_packed * work.dense_weights
    weights = weights + chip.head_is_packed * work.head_weights
    weights = weights + chip.routed_is_packed * work.routed_weights * touched
    operations = software.dequantization_operations * weights
    if _is_nothing(operations):
        return _idle("unpacking")
    return Component("unpacking", flops=operations, flop_rate=chip.vector / _FUSED_MULTIPLY_ADD)


def _prompt(
    work: PassWork, rates: Reached, software: EngineParameters
) -> tuple[Component, Component, Component]:
    """Return arithmetic of prompt tokens; the head serves only the last of them."""
    if _is_nothing(work.prompt):
        return _idle("prompt: dense"), _idle("prompt: experts"), _idle("prompt: attention")
    experts = _idle("prompt: experts")
    if not _is_nothing(work.routed_flops):
        experts = Component(
            "prompt: experts",
            flops=work.prompt_together * work.routed_flops * _imbalance(work, software),
            flop_rate=rates.prompt_routed,
        )
    return (
        Component(
            "prompt: dense",
            flops=work.prompt * (work.dense_flops + work.norm_flops),
            flop_rate=rates.prompt_dense,
        ),
        experts,
        Component(
            "prompt: attention",
            flops=work.prompt * work.prompt_flops,
            flop_rate=rates.attention,
        ),
    )


def _floor(work: PassWork, software: EngineParameters) -> Component:
    """Return launches, ramps and tails: a time per layer, larger without decode's graphs."""
    layers = work.depth + software.expert_layer_extra * work.expert_layers
    latent = software.latent_layer_extra * work.latent_layers
    if _is_nothing(work.prompt):
        return Component("layer floors", count=layers + latent, each=software.decode_layer_floor)
    is_prompt = floats(work.prompt) > 0.0
    if is_prompt.all():
        return Component("layer floors", count=layers, each=software.prefill_layer_floor)
    return Component(
        "layer floors",
        count=np.where(is_prompt, layers, layers + latent),
        each=np.where(is_prompt, software.prefill_layer_floor, software.decode_layer_floor),
    )


def _all_reduce(work: PassWork, chip: Chip, software: EngineParameters) -> Component:
    """Return two all-reduces a layer over the tensor-parallel group."""
    if isinstance(work.tp, int) and work.tp == 1:
        return _idle("all-reduce")
    link = chip.link * software.link_fraction
    message = work.tokens * work.hidden * ACTIVATION_BYTES
    latency = software.collective_latency
    shots = all_reduce_shots(ranks=work.tp, message=message, bandwidth=link, latency=latency)
    return Component(
        "all-reduce",
        sent=2.0 * work.depth * all_reduce_bytes(ranks=work.tp, message=message, shots=shots),
        link=link,
        count=2.0 * work.depth * shots,
        each=latency,
    )


def _exchange(work: PassWork, chip: Chip, software: EngineParameters) -> Component:
    """Return tokens sent to the ranks of their experts and back, between replicas."""
    layers = work.expert_layers * work.exchanges
    if _is_nothing(layers):
        return _idle("expert exchange")
    link = np.where(work.exchange_is_inside, chip.link, chip.link_out)
    hop = np.where(work.exchange_is_inside, 0.0, chip.hop)
    return Component(
        "expert exchange",
        sent=layers
        * exchange_bytes(tokens=work.tokens, hidden=work.hidden, destinations=work.destinations),
        link=link * software.link_fraction,
        count=2.0 * layers,
        each=software.collective_latency + hop,
    )


def _pipeline(
    work: PassWork, chip: Chip, software: EngineParameters, pass_time: Array
) -> tuple[Component, Component]:
    """Return the hops between pipeline stages, and the wait for the micro-batches ahead."""
    if isinstance(work.stages, int) and work.stages == 1:
        return _idle("stage hops"), _idle("stage wait")
    crossings = work.stages - 1.0
    link = np.where(work.hops_are_inside, chip.link, chip.link_out)
    hops = Component(
        "stage hops",
        sent=crossings * work.tokens * work.hidden * ACTIVATION_BYTES,
        link=link * software.link_fraction,
        count=crossings,
        each=np.where(work.hops_are_inside, chip.hop_inside, chip.hop),
    )
    alone = pass_time + hops.seconds
    whole = pipelined_step(
        pass_time=pass_time,
        hops=hops.seconds,
        stages=work.stages,
        slowest=work.slowest,
        streams=work.in_flight,
    )
    return hops, Component("stage wait", count=1.0, each=whole - alone)
