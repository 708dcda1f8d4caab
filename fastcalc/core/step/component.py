"""Components of a step, each with its work and the rates at which the work is done."""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf

import numpy as np

from fastcalc.formulas.roofline import overlapped_time
from fastcalc.formulas.types import Array, ArrayLike, Floats, Ints, floats

PRODUCTS, GROUPED_PRODUCTS = 3.0, 1.0
"""The overlap of memory and compute time in matrix products, and in products with routed
experts."""

Basis = tuple[ArrayLike, ArrayLike]
"""The fractions of a time at data-sheet rates, and at rates fitted for an engine. Both are 0 for
time outside the layers, such as the head and pipeline waits."""

PRINTED: Basis = (1.0, 0.0)
FITTED: Basis = (0.0, 1.0)
BESIDE: Basis = (0.0, 0.0)

LIMITERS = ("memory", "compute", "link", "latency")


@dataclass(eq=False)
class Component:
    """One component of a step, with its work on one chip and the rates at which it runs.

    name : The component: attention, dense weights, routed experts, a collective, or a floor.
    bytes, bandwidth : The memory traffic [byte] and its rate. [byte/s]
    flops, flop_rate : The arithmetic [FLOP] and its rate. [FLOP/s]
    sent, link : The bytes sent over links [byte] and their rate. [byte/s]
    count, seconds_each : The number of sequential launches, messages or hops [1], and the time per
        item. [s]
    norm : How much memory and compute time overlap: 1 for not at all, infinity for completely.
    basis : The fractions of its time at data-sheet rates and at fitted rates.
    """

    name: str
    bytes: ArrayLike = 0.0
    bandwidth: ArrayLike = inf
    flops: ArrayLike = 0.0
    flop_rate: ArrayLike = inf
    sent: ArrayLike = 0.0
    link: ArrayLike = inf
    count: ArrayLike = 0.0
    seconds_each: ArrayLike = 0.0
    norm: float = PRODUCTS
    basis: Basis = FITTED

    def __post_init__(self) -> None:
        """Compute memory, compute, overlapped, link, latency and total times."""
        self.memory_time = _time(self.bytes, self.bandwidth)
        self.compute_time = _time(self.flops, self.flop_rate)
        self.link_time = _time(self.sent, self.link)
        self.latency = 0.0 if is_nothing(self.count) else self.count * self.seconds_each
        memory, compute = self.memory_time, self.compute_time
        if is_nothing(compute) or is_nothing(memory):
            self.work_time = memory if is_nothing(compute) else compute
        elif self.norm == inf:
            self.work_time = np.maximum(memory, compute)
        else:
            self.work_time = overlapped_time(memory=memory, compute=compute, norm=self.norm)
        self.seconds = total_of((self.work_time, self.link_time, self.latency))

    def part(self, fraction: ArrayLike) -> "Component":
        """Return a fraction of a component that has only bytes and FLOPs."""
        if is_nothing(self.seconds) or (isinstance(fraction, float) and fraction == 1.0):
            return self
        component = copy(self)
        for name in ("bytes", "flops", "memory_time", "compute_time", "work_time", "seconds"):
            setattr(component, name, scaled(getattr(self, name), fraction))
        return component

    def times(self, fraction: ArrayLike) -> "Component":
        """Return a fraction of any component, as a single time."""
        if is_nothing(self.seconds) or (isinstance(fraction, float) and fraction == 1.0):
            return self
        return Component(self.name, count=fraction, seconds_each=self.seconds, basis=self.basis)

    def by_limiter(self) -> tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]:
        """Split the time into memory, compute, link and latency, in seconds."""
        if is_nothing(self.compute_time):
            return self.memory_time, 0.0, self.link_time, self.latency
        if is_nothing(self.memory_time):
            return 0.0, self.compute_time, self.link_time, self.latency
        is_memory, work = self.memory_time >= self.compute_time, self.work_time
        return work * is_memory, work * ~is_memory, self.link_time, self.latency


def is_nothing(amount: ArrayLike) -> bool:
    """Check whether an amount is the scalar zero, so that arrays need not be computed."""
    return isinstance(amount, (float, int)) and not amount


def scaled(amount: ArrayLike, fraction: ArrayLike) -> ArrayLike:
    """Multiply an amount by a fraction, preserving the scalar zero."""
    return 0.0 if is_nothing(amount) else amount * fraction


def _time(work: ArrayLike, rate: ArrayLike) -> ArrayLike:
    return 0.0 if is_nothing(work) else work / rate


def total_of(terms: Iterable[ArrayLike]) -> ArrayLike:
    """Add up times in order, skipping scalar zeros, in seconds."""
    total: ArrayLike = 0.0
    for term in terms:
        if not is_nothing(term):
            total = term if is_nothing(total) else total + term
    return total


def derived(name: str, seconds: ArrayLike) -> Component:
    """Build a component whose time is derived from that of other components."""
    return Component(name, count=1.0, seconds_each=seconds, basis=BESIDE)


@lru_cache(maxsize=32)
def idle(name: str) -> Component:
    """Build a component without work."""
    return Component(name)


def largest_of(terms: Sequence[ArrayLike]) -> Ints:
    """Return the index of the largest time, or of the first one in a tie."""
    largest, index = floats(terms[0]), np.asarray(0)
    for item_index, term in enumerate(terms[1:], 1):
        index = np.maximum(index, item_index * (term > largest))
        largest = np.maximum(largest, term)
    return index


@dataclass(frozen=True, eq=False)
class Step:
    """A step as the sum of its components.

    seconds : The time of the whole step, in seconds.
    """

    components: tuple[Component, ...]
    seconds: Array

    @classmethod
    def of(cls, *components: Component) -> "Step":
        """Build a step from components."""
        return cls((), floats(0.0)).then(*components)

    def then(self, *components: Component) -> "Step":
        """Append components to a step."""
        total = total_of([self.seconds, *(component.seconds for component in components)])
        return Step((*self.components, *components), floats(total))

    @property
    def by_basis(self) -> tuple[ArrayLike, ArrayLike]:
        """The time spent in layers at data-sheet rates, and at fitted rates, in seconds."""
        times = [
            [scaled(component.seconds, fraction) for fraction in component.basis]
            for component in self.components
        ]
        printed, fitted = map(total_of, zip(*times, strict=True))
        return printed, fitted

    @property
    def fitted_share(self) -> Floats:
        """The fraction of the time in layers that an engine was fitted to."""
        printed, fitted = self.by_basis
        return np.atleast_1d(fitted / (floats(printed) + fitted))

    @cached_property
    def limiter(self) -> Ints:
        """The index in `LIMITERS` of the resource that accounts for most of the step."""
        components = [component.by_limiter() for component in self.components]
        return largest_of([total_of(times) for times in zip(*components, strict=True)])
