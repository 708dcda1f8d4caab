"""What a user speed costs by batch alone, on a step of textbook terms and an assumed layer floor.

The engines of the catalogue carry the floors they were fitted with. Here the floor is the unknown:
nobody has published how a closed model's servers pay it, so the same step is taken with several.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.rates import working_rate
from fastcalc.core.model.workload import Workload, workload
from fastcalc.core.smaller_batch import Batches, cost_multiples, largest_reaching
from fastcalc.errors import InputError
from fastcalc.evidence.claims.finding import Finding, FindingRows, finding
from fastcalc.formulas.experts import distinct_experts, other_ranks
from fastcalc.formulas.memory import largest_batch
from fastcalc.formulas.network import all_reduce_bytes, exchange_bytes
from fastcalc.formulas.roofline import time_of
from fastcalc.formulas.types import Array, ArrayLike, Floats

LARGEST_REDUCING_GROUP = 8
"""Chips that cut every layer between them; more take attention replicas and exchange tokens."""

PRICE = 6.0
"""What fast mode costs over standard, in all articles."""

_HALVINGS = 14


class Server(NamedTuple):
    """What software makes of a chip, a number for each of several.

    Time for each layer that no bandwidth shortens, and shares of the peaks that it reaches.
    [s, 1, 1]
    """

    floor: Array
    bandwidth_share: Array
    compute_share: Array


class _Sequence(NamedTuple):
    """What a token of one sequence takes: in matrices, in attention, and of its cache.

    [FLOP, FLOP, byte]
    """

    matrices: float
    attention: float
    cache: float


@lru_cache(maxsize=64)
def _each_sequence(work: Workload, context: float) -> _Sequence:
    attention, cache = work.attention_flops(context), work.cache_read_bytes(context)
    return _Sequence(float(work.flops_per_token), float(attention), float(cache))


@dataclass(frozen=True)
class Case:
    """A model in its formats on some chips, with the share that it may fill of their memory. [1]"""

    work: Workload
    hardware: Hardware
    chips: float
    context: float
    usable: float

    @property
    def name(self) -> str:
        """What is served where."""
        served = f"{self.work.model.id}, {self.context / 1024:g}k, {self.work.weight_format}"
        return f"{self.chips:g} {self.hardware.id}, {served}"

    @property
    def largest(self) -> int:
        """Sequences that fit. [1]"""
        usable = self.chips * self.hardware.memory[0].capacity.si * self.usable
        cache = float(self.work.cache_bytes(self.context))
        weights = self.work.weight_bytes
        return int(largest_batch(usable=usable, weights=weights, cache_per_sequence=cache))

    def terms(self, batch: Floats, server: Server) -> dict[str, Floats]:
        """Return the terms of a decode step by name. [s]"""
        bandwidth = self.hardware.memory[0].bandwidth.si * server.bandwidth_share
        work, share = self.work, self.chips * server.compute_share
        sequence = _each_sequence(work, self.context)
        matrices, attention = (peak * share for peak in self._peaks)
        weights = work.weight_bytes - work.embedding.bytes - work.routed.bytes + 0.0 * batch
        if work.experts:
            touched = distinct_experts(
                experts=work.experts, active=work.active_experts, tokens=batch
            )
            weights = weights + work.routed.bytes * touched / work.experts
        computing = time_of(work=sequence.matrices, rate=matrices)
        computing += time_of(work=sequence.attention, rate=attention)
        return {
            "weights": time_of(work=weights, rate=self.chips * bandwidth),
            "cache": time_of(work=batch * sequence.cache, rate=self.chips * bandwidth),
            "compute": batch * computing,
            "link": self._link(batch),
            "floor": work.layers * server.floor + 0.0 * batch,
        }

    def step(self, batch: Floats, server: Server) -> Floats:
        """Return the time of a decode step: reading hides computing or is hidden by it. [s]"""
        term = self.terms(batch, server)
        busy = np.maximum(term["weights"] + term["cache"], term["compute"])
        return np.asarray(busy + term["link"] + term["floor"])

    def batches(self, server: Server, slow: float, fast: float) -> tuple[Batches, Batches, Floats]:
        """Return the largest batches at two speeds, and what a token costs at the fast one. [1]

        0 and infinity where a speed is out of reach; one of each for each software.
        """

        def speed_at(batch: Floats) -> Floats:
            return 1.0 / self.step(batch, server)

        end = int(min(self.largest, LIMITS["sequences"].maximum)) + 1
        goals = np.array([slow, fast])[:, np.newaxis] + 0.0 * server.floor
        slow_batches, fast_batches = largest_reaching(speed_at, goals, 0, end)
        return slow_batches, fast_batches, cost_multiples(speed_at, slow_batches, fast_batches)

    @cached_property
    def _peaks(self) -> tuple[float, float]:
        """What a chip multiplies matrices at, and attention. [FLOP/s]"""
        # Attention multiplies in the format of the cache, which latent caches keep at 16 bits.
        formats = self.work.dense.format, number_format(self.work.kv_format, cache=True)
        matrices, attention = (working_rate(self.hardware, stored).peak for stored in formats)
        return matrices, attention

    @cached_property
    def _destinations(self) -> Array:
        """Other ranks that the experts of one token live on. [1]"""
        work = self.work
        return other_ranks(ranks=self.chips, experts=work.experts, active=work.active_experts)

    def _link(self, batch: Floats) -> Floats:
        link, width = self.hardware.links.scale_up, self.work.hidden
        assert link is not None, "a machine of several chips states its link"
        assert width is not None, "the shape of the model is known"
        if self.chips > LARGEST_REDUCING_GROUP:
            sent = exchange_bytes(
                tokens=batch / self.chips,
                hidden=width,
                destinations=self._destinations,
            )
            crossing = time_of(work=self.work.expert_layers * sent, rate=link.bandwidth.si)
            return np.asarray(crossing)
        sent = all_reduce_bytes(ranks=self.chips, message=2.0 * batch * width) / self.chips
        return np.asarray(time_of(work=2.0 * self.work.layers * sent, rate=link.bandwidth.si))


class Served(NamedTuple):
    """What is served on what, as parallel lists; a format is named, or ``native``."""

    models: list[str]
    machines: list[str]
    chips: ArrayLike
    contexts: ArrayLike
    weights: list[str]


class Software(NamedTuple):
    """What `Server` holds, of all floors that are compared, and the usable share of a memory."""

    floors: ArrayLike
    bandwidth_shares: ArrayLike
    compute_shares: ArrayLike
    usable: float


def cases(catalogue: Catalogue, served: Served, usable: float) -> list[Case]:
    """Return the cases; in 8 bits caches are too, unless they are latent."""
    count = np.zeros(len(served.models))
    chips, contexts, _ = np.broadcast_arrays(served.chips, served.contexts, count)
    if not (np.all(contexts >= 1) and np.all(chips >= 1)):
        raise InputError("contexts and chips are at least 1")
    served_cases = []
    rows = zip(served.models, served.machines, served.weights, chips, contexts, strict=True)
    for model, machine, weights, number, context in rows:
        entry = catalogue.model(model)
        caches = "fp8" if weights == "fp8" and not workload(entry).latent_layers else None
        work = workload(entry, None if weights == "native" else weights, caches)
        hardware = catalogue.hardware(machine)
        served_cases.append(Case(work, hardware, float(number), float(context), usable))
    return served_cases


def server_of(software: Software) -> Server:
    """Return all software that is compared."""
    server = Server(*np.broadcast_arrays(np.atleast_1d(software.floors), *software[1:3]))
    shares = (server.bandwidth_share, server.compute_share, software.usable)
    if np.any(server.floor < 0) or any(np.any(np.asarray(share) <= 0) for share in shares):
        raise InputError("floors are at least 0, shares above 0")
    return server


def cost_multiples_of(
    *, catalogue: Catalogue, served: Served, software: Software, slow: float, fast: float
) -> Array:
    """Return the cost multiple of a faster user speed for every case and floor. [1]"""
    server, served_cases = server_of(software), cases(catalogue, served, software.usable)
    return np.concatenate([case.batches(server, slow, fast)[2] for case in served_cases])


def cost_table(
    *, catalogue: Catalogue, served: Served, software: Software, slow: float, fast: float
) -> Finding:
    """Return the same with its batches, and the floor at which each case costs `PRICE` times."""
    table: list[tuple[str, ...]] = []
    values: list[float] = []
    prices: list[float] = []
    server = server_of(software)
    for case in cases(catalogue, served, software.usable):
        cells = []
        for slow_batch, fast_batch, value in zip(*case.batches(server, slow, fast), strict=True):
            values.append(value)
            never = f"{fast if slow_batch else slow:g}: never"
            cells.append(
                f"{slow_batch:,}->{fast_batch:,} {value:.3g}x"
                if slow_batch and fast_batch
                else never
            )
        at = _floor_for(case, Server(*(numbers[-1:] for numbers in server)), slow, fast)
        prices += [1e6 * at] if np.isfinite(at) else []
        table.append((case.name, *cells, f"{1e6 * at:.3g} us" if np.isfinite(at) else "-"))
    reached = [value for value in values if np.isfinite(value)] or [float("inf")]
    heads = [f"{floor * 1e6:g} us" if floor else "no floor" for floor in server.floor]
    price_range = (
        f"{PRICE:g}x lies at {min(prices):.3g} to {max(prices):.3g} us" if prices else "none"
    )
    return finding(
        np.array(values),
        ("least multiple", min(reached), "x"),
        ("largest multiple", max(reached), "x"),
        ("cells out of reach", np.sum(~np.isfinite(values))),
        ("cells", len(values)),
        rows=FindingRows(("case", *heads, f"{PRICE:g}x at"), tuple(table)),
        break_even=f"{price_range} a layer, in {len(prices)} of {len(table)} cases"
        if prices
        else price_range,
    )


def _floor_for(case: Case, server: Server, slow: float, fast: float) -> float:
    """Return the floor from which a token costs `PRICE` times as much; nan where any does. [s]"""

    def is_dearer(floor: float) -> bool:
        _, _, (multiple,) = case.batches(server._replace(floor=np.array([floor])), slow, fast)
        return bool(multiple >= PRICE)

    low, high = 0.0, 1.0 / fast / case.work.layers
    if is_dearer(low):
        return float("nan")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if is_dearer(middle) else (middle, high)
    return high


def saving_by_flops(
    *, catalogue: Catalogue, served: Served, software: Software, slow: float, fast: float
) -> Finding:
    """Return the share of the time saved by a smaller batch that fewer FLOPs account for."""
    case = cases(catalogue, served, software.usable)[0]
    server = Server(*(numbers[:1] for numbers in server_of(software)))
    batch = np.array(case.batches(server, slow, fast)[:2], float)[:, 0]
    if not batch.all():
        raise InputError(f"{case.name} does not reach both speeds")
    term, step = case.terms(batch, server), case.step(batch, server)
    # Reading hides computing: FLOPs shorten the step by what they stood out beyond the reading.
    reading = term["weights"] + term["cache"]
    beyond = np.maximum(term["compute"] - reading, 0.0)
    saved = float(step[0] - step[1])
    return finding(
        (beyond[0] - beyond[1]) / saved,
        ("batch at the slow speed", batch[0]),
        ("batch at the fast speed", batch[1]),
        *(
            (f"{name}, {speed} speed", float(term[name][place]) * 1e3, "ms")
            for name in ("cache", "weights", "compute", "floor")
            for place, speed in enumerate(("slow", "fast"))
        ),
    )
