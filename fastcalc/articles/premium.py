"""What a user speed costs by batch alone, on a step of textbook terms and an assumed layer floor.

The engines of the catalogue carry the floors they were fitted with. Here the floor is the unknown:
nobody has published how a closed model's servers pay it, so the same step is taken with several.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fastcalc.articles.finding import Finding, FindingRows, finding
from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.workload import Workload, workload
from fastcalc.errors import InputError
from fastcalc.formulas.experts import distinct_experts, other_ranks
from fastcalc.formulas.memory import largest_batch
from fastcalc.formulas.network import all_reduce_bytes, exchange_bytes
from fastcalc.formulas.roofline import time_of
from fastcalc.formulas.types import Array, ArrayLike, Floats

LARGEST_REDUCING_GROUP = 8
"""Chips that cut every layer between them; more take attention replicas and exchange tokens."""

PRICE = 6.0
"""What fast mode costs over standard, in all articles."""

_HALVINGS, _TRIED = 14, 66


class Server(NamedTuple):
    """What software makes of a chip.

    Time for each layer that no bandwidth shortens, shares of the peaks that it reaches, and the
    share of a memory that weights and caches may fill. [s, 1, 1, 1]
    """

    floor: float
    bandwidth_share: float
    compute_share: float
    usable: float


@dataclass(frozen=True)
class Case:
    """A model in its formats on some chips with some software; the context is tokens. [1]"""

    work: Workload
    hardware: Hardware
    chips: float
    context: float
    server: Server

    @property
    def name(self) -> str:
        """What is served where."""
        served = f"{self.work.model.id}, {self.context / 1024:g}k, {self.work.weight_format}"
        return f"{self.chips:g} {self.hardware.id}, {served}"

    @property
    def largest(self) -> int:
        """Sequences that fit. [1]"""
        usable = self.chips * self.hardware.memory[0].capacity.si * self.server.usable
        cache = self.work.cache_bytes(self.context)
        return int(
            largest_batch(
                usable=usable, weights=self.work.weight_bytes, cache_per_sequence=float(cache)
            )
        )

    def terms(self, batch: Floats) -> dict[str, Floats]:
        """Return the terms of a decode step by name. [s]"""
        bandwidth = self.hardware.memory[0].bandwidth.si * self.server.bandwidth_share
        is_narrow = self.work.weight_format == "fp8"
        peak = (self.hardware.rate("fp8") if is_narrow else None) or self.hardware.rate("bf16")
        assert peak is not None, "the schema asks for a 16-bit rate"
        work = self.work
        flops = batch * (work.flops_per_token + work.attention_flops(self.context))
        cache = batch * work.cache_read_bytes(self.context)
        weights = work.weight_bytes - work.embedding.bytes - work.routed.bytes + 0.0 * batch
        if work.experts:
            touched = distinct_experts(
                experts=work.experts, active=work.active_experts, tokens=batch
            )
            weights = weights + work.routed.bytes * touched / work.experts
        return {
            "weights": time_of(work=weights, rate=self.chips * bandwidth),
            "cache": time_of(work=cache, rate=self.chips * bandwidth),
            "compute": time_of(work=flops, rate=self.chips * peak.si * self.server.compute_share),
            "link": self._link(batch),
            "floor": np.full(batch.shape, self.work.layers * self.server.floor),
        }

    def step(self, batch: Floats) -> Floats:
        """Return the time of a decode step: reading hides computing or is hidden by it. [s]"""
        term = self.terms(batch)
        busy = np.maximum(term["weights"] + term["cache"], term["compute"])
        return np.asarray(busy + term["link"] + term["floor"])

    def _link(self, batch: Floats) -> Floats:
        link, width = self.hardware.links.scale_up, self.work.hidden
        assert link is not None, "a machine of several chips states its link"
        assert width is not None, "the shape of the model is known"
        if self.chips > LARGEST_REDUCING_GROUP:
            sent = exchange_bytes(
                tokens=batch / self.chips,
                hidden=width,
                destinations=other_ranks(
                    ranks=self.chips, experts=self.work.experts, active=self.work.active_experts
                ),
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
    """What `Server` holds, with as many floors and shares as are compared."""

    floors: ArrayLike
    bandwidth_shares: ArrayLike
    compute_shares: ArrayLike
    usable: float


def _cases(catalogue: Catalogue, served: Served) -> list[Case]:
    """Return the cases with no software yet; in 8 bits caches are too, unless they are latent."""
    count = np.zeros(len(served.models))
    chips, contexts, _ = np.broadcast_arrays(served.chips, served.contexts, count)
    if not (np.all(contexts >= 1) and np.all(chips >= 1)):
        raise InputError("contexts and chips are at least 1")
    found = []
    named = zip(served.models, served.machines, served.weights, chips, contexts, strict=True)
    for model, machine, weights, number, context in named:
        entry, bare = catalogue.model(model), Server(0.0, 1.0, 1.0, 1.0)
        caches = "fp8" if weights == "fp8" and not workload(entry).latent_layers else None
        work = workload(entry, None if weights == "native" else weights, caches)
        found.append(Case(work, catalogue.hardware(machine), float(number), float(context), bare))
    return found


def _servers(software: Software) -> list[Server]:
    each = np.broadcast_arrays(np.atleast_1d(software.floors), *software[1:])
    servers = [Server(*map(float, one)) for one in zip(*each, strict=True)]
    if any(one.floor < 0 or min(one[1:]) <= 0 for one in servers):
        raise InputError("floors are at least 0, shares above 0")
    return servers


def batches_for(case: Case, slow: float, fast: float) -> tuple[int, int]:
    """Return the largest batches at which every user has a slow and a fast speed; 0 for none."""
    return _largest_at(case, slow), _largest_at(case, fast)


def _largest_at(case: Case, speed: float) -> int:
    """Return the largest batch at a speed: a step of more users is never shorter."""
    low, high = 0, int(min(case.largest, LIMITS["sequences"].most)) + 1
    while high - low > 1:
        tried = np.unique(np.linspace(low, high, _TRIED).astype(int))[1:-1].astype(float)
        few = int(np.sum(1.0 / case.step(tried) >= speed))
        low = int(tried[few - 1]) if few else low
        high = int(tried[few]) if few < len(tried) else high
    return low


def cost_multiple(case: Case, many: int, few: int) -> float:
    """Return what a token costs with few users over many; infinity where either is none. [1]"""
    if not many or not few:
        return float("inf")
    step = case.step(np.array([float(many), float(few)]))
    return float(step[1] / few / (step[0] / many))


def cost_multiples(
    *, catalogue: Catalogue, served: Served, software: Software, slow: float, fast: float
) -> Array:
    """Return the cost multiple of a faster user speed for every case and floor. [1]"""
    servers = _servers(software)
    found = (replace(bare, server=one) for bare in _cases(catalogue, served) for one in servers)
    return np.array([cost_multiple(case, *batches_for(case, slow, fast)) for case in found])


def cost_table(
    *, catalogue: Catalogue, served: Served, software: Software, slow: float, fast: float
) -> Finding:
    """Return the same with its batches, and the floor at which each case costs `PRICE` times."""
    table: list[tuple[str, ...]] = []
    values: list[float] = []
    prices: list[float] = []
    servers = _servers(software)
    for bare in _cases(catalogue, served):
        cells = []
        for case in (replace(bare, server=server) for server in servers):
            many, few = batches_for(case, slow, fast)
            values.append(cost_multiple(case, many, few))
            never = f"{fast if many else slow:g}: never"
            cells.append(f"{many:,}->{few:,} {values[-1]:.3g}x" if many and few else never)
        at = _floor_for(replace(bare, server=servers[-1]), slow, fast)
        prices += [1e6 * at] if np.isfinite(at) else []
        table.append((bare.name, *cells, f"{1e6 * at:.3g} us" if np.isfinite(at) else "-"))
    reached = [value for value in values if np.isfinite(value)] or [float("inf")]
    heads = [f"{one.floor * 1e6:g} us" if one.floor else "no floor" for one in servers]
    found = f"{PRICE:g}x lies at {min(prices):.3g} to {max(prices):.3g} us" if prices else "none"
    return finding(
        np.array(values),
        ("least multiple", min(reached), "x"),
        ("largest multiple", max(reached), "x"),
        ("cells out of reach", np.sum(~np.isfinite(values))),
        ("cells", len(values)),
        rows=FindingRows(("case", *heads, f"{PRICE:g}x at"), tuple(table)),
        break_even=f"{found} a layer, in {len(prices)} of {len(table)} cases" if prices else found,
    )


def _floor_for(case: Case, slow: float, fast: float) -> float:
    """Return the floor from which a token costs `PRICE` times as much; nan where any does. [s]"""

    def is_dearer(floor: float) -> bool:
        asked = replace(case, server=case.server._replace(floor=floor))
        return cost_multiple(asked, *batches_for(asked, slow, fast)) >= PRICE

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
    case = replace(_cases(catalogue, served)[0], server=_servers(software)[0])
    found = batches_for(case, slow, fast)
    if not all(found):
        raise InputError(f"{case.name} does not reach both speeds")
    batch = np.array(found, float)
    term, step = case.terms(batch), case.step(batch)
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
