"""What a user speed costs by batch alone, on a step of textbook terms and an assumed layer floor.

The engines of the catalogue carry the floors they were fitted with. Here the floor is the unknown:
nobody has published how a closed model's servers pay it, so the same step is taken with several.
"""

from dataclasses import dataclass

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
from fastcalc.formulas.types import Floats

USABLE = 0.9
"""Share of a memory that weights and caches may fill."""

BANDWIDTH_SHARE, COMPUTE_SHARE = 0.75, 0.70
"""What a server with a layer floor reaches of its peaks; one without is taken at the peaks."""

LARGEST_REDUCING_GROUP = 8
"""Chips that cut every layer between them; more take attention replicas and exchange tokens."""


@dataclass(frozen=True)
class Case:
    """A model in 8 bits on some chips, at a context and with a floor for each layer.

    The context is tokens of a sequence, the floor time that no bandwidth shortens. [1, s]
    """

    work: Workload
    hardware: Hardware
    chips: float
    context: float
    floor: float

    @property
    def largest(self) -> int:
        """Sequences that fit. [1]"""
        usable = self.chips * self.hardware.memory[0].capacity.si * USABLE
        cache = self.work.cache_bytes(self.context)
        return int(
            largest_batch(
                usable=usable, weights=self.work.weight_bytes, cache_per_sequence=float(cache)
            )
        )

    def terms(self, batch: Floats) -> dict[str, Floats]:
        """Return the terms of a decode step by name. [s]"""
        shares = (BANDWIDTH_SHARE, COMPUTE_SHARE) if self.floor else (1.0, 1.0)
        bandwidth = self.chips * self.hardware.memory[0].bandwidth.si * shares[0]
        peak = self.hardware.rate("fp8") or self.hardware.rate("bf16")
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
            "weights": time_of(work=weights, rate=bandwidth),
            "cache": time_of(work=cache, rate=bandwidth),
            "compute": time_of(work=flops, rate=self.chips * peak.si * shares[1]),
            "link": self._link(batch),
            "floor": np.full(batch.shape, self.work.layers * self.floor),
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
                destinations=other_ranks(ranks=self.chips, active=self.work.active_experts),
            )
            crossing = time_of(work=self.work.expert_layers * sent, rate=link.bandwidth.si)
            return np.asarray(crossing)
        sent = all_reduce_bytes(ranks=self.chips, message=2.0 * batch * width) / self.chips
        return np.asarray(time_of(work=2.0 * self.work.layers * sent, rate=link.bandwidth.si))


def cases(
    catalogue: Catalogue,
    models: list[str],
    machines: list[str],
    chips: Floats,
    contexts: Floats,
    floor: float,
) -> list[Case]:
    """Return the cases that parallel lists name, at one floor."""
    if not (np.all(contexts >= 1) and np.all(chips >= 1) and floor >= 0):
        raise InputError("contexts and chips are at least 1, floors at least 0")
    found = []
    for model, chip, count, context in zip(models, machines, chips, contexts, strict=True):
        entry = catalogue.model(model)
        latent = workload(entry).latent_layers > 0
        work = workload(entry, "fp8", "bf16" if latent else "fp8")
        found.append(Case(work, catalogue.hardware(chip), float(count), float(context), floor))
    return found


def batches_for(case: Case, slow: float, fast: float) -> tuple[int, int]:
    """Return the largest batches at which every user has a slow and a fast speed; 0 for none."""
    batch = np.arange(1.0, min(case.largest, LIMITS["sequences"].most) + 1.0)
    speed = 1.0 / case.step(batch)
    return int(np.sum(speed >= slow)), int(np.sum(speed >= fast))


def cost_multiple(case: Case, slow: float, fast: float) -> float:
    """Return what a token costs at the fast speed over the slow one; infinity out of reach. [1]"""
    many, few = batches_for(case, slow, fast)
    if not many or not few:
        return float("inf")
    step = case.step(np.array([float(many), float(few)]))
    return float(step[1] / few / (step[0] / many))


def cost_multiples(
    *,
    catalogue: Catalogue,
    models: list[str],
    machines: list[str],
    chips: Floats,
    contexts: Floats,
    floors: Floats,
    slow: float,
    fast: float,
) -> Finding:
    """Return the cost multiple of a faster user speed for every case and floor."""
    table: list[tuple[str, ...]] = []
    values: list[float] = []
    grid = [cases(catalogue, models, machines, chips, contexts, floor) for floor in floors]
    for row in zip(*grid, strict=True):
        first = row[0]
        context = f"{first.context / 1024:g}k"
        name = f"{first.chips:g} {first.hardware.id}, {first.work.model.id}, {context}"
        multiples = [cost_multiple(case, slow, fast) for case in row]
        cells = []
        for case, multiple in zip(row, multiples, strict=True):
            many, few = batches_for(case, slow, fast)
            never = f"{fast if many else slow:g}: never"
            cells.append(f"{many:,}->{few:,} {multiple:.3g}x" if many and few else never)
        values += multiples
        table.append((name, *cells))
    reached = [value for value in values if np.isfinite(value)] or [float("inf")]
    heads = [f"{floor * 1e6:g} us a layer" if floor else "no floor" for floor in floors]
    return finding(
        np.array(values),
        ("least multiple", min(reached), "x"),
        ("largest multiple", max(reached), "x"),
        ("cells out of reach", np.sum(~np.isfinite(values))),
        ("cells", len(values)),
        rows=FindingRows(("machine, model, context", *heads), tuple(table)),
    )


def saving_by_flops(
    *,
    catalogue: Catalogue,
    model: str,
    machine: str,
    chips: float,
    context: float,
    floor: float,
    slow: float,
    fast: float,
) -> Finding:
    """Return the share of the time saved by a smaller batch that fewer FLOPs account for."""
    case = cases(catalogue, [model], [machine], np.array([chips]), np.array([context]), floor)[0]
    if not all(batches_for(case, slow, fast)):
        raise InputError(f"{model} on {chips:g} {machine} does not reach both speeds")
    batch = np.array([float(one) for one in batches_for(case, slow, fast)])
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
