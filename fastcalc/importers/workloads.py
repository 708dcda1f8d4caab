"""Reader of workload files and traces as request classes with a request rate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from pathlib import Path

import numpy as np

from fastcalc.catalogue.faults import in_order, refuse
from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.reader import Document, scan
from fastcalc.catalogue.schema.workloads import Client, Distribution, TrafficFile
from fastcalc.catalogue.validation import validate
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.reuse import Reuse, SharedPrefixes
from fastcalc.errors import InputError
from fastcalc.formulas.lengths import lognormal_sigma, normal_quantile
from fastcalc.formulas.types import Floats, Ints
from fastcalc.importers.traces import Trace, read_trace
from fastcalc.mentions import option

PART_EDGES = (*(part / 8 for part in range(8)), 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
"""The quantiles that divide a distribution: eight equal intervals, finer ones in the tail."""

_FINE = 100  # quantiles averaged in each interval


def typical_lengths(quantile: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Divide requests by length, and compute the fraction and mean length of each group.

    The overall mean equals the mean of the distribution, however long its tail.

    quantile : The function that gives the lengths not exceeded by the given shares of requests.

    >>> shares, lengths = typical_lengths(lambda share: 100.0 * share)
    >>> round(float(shares @ lengths), 9)
    50.0
    """
    edges = np.array(PART_EDGES)
    weights = np.diff(edges)
    inside = (np.arange(_FINE) + 0.5) / _FINE
    lengths = quantile(edges[:-1, np.newaxis] + weights[:, np.newaxis] * inside).mean(axis=1)
    return weights, lengths


_EXAMPLE = (
    "a workload is for example 'aggregate_rate: 20' and, under 'clients:', "
    "'- {id: chat, rate_fraction: 1.0, input_distribution: 1000, output_distribution: 300, "
    "ttft: 1s}'"
)


@dataclass(frozen=True, eq=False)
class AskedTraffic:
    """The request classes, and the request rate if the file specifies it.

    models : The model of each class that uses a different model than requested, by class name.
    reuse : The prefix reuse, if a trace has block hashes or classes have shared prefixes.
    reading : The notes on how traces were read.
    """

    classes: tuple[RequestClass, ...]
    rate: float | None
    models: dict[str, str]
    reuse: Reuse | SharedPrefixes | None = None
    reading: tuple[str, ...] = ()

    def with_found(self, fraction: float) -> "AskedTraffic":
        """Return the traffic with the given fraction of each prompt in the prefix cache."""
        classes = tuple(
            replace(request_class, prefix_hit=fraction) for request_class in self.classes
        )
        return replace(self, classes=classes)


def read_workload(path: Path, *, ttft: float = inf, tpot: float = inf) -> AskedTraffic:
    """Read a workload, or a trace as a single class.

    ttft, tpot : The limits for classes without their own, in seconds.
    """
    if path.suffix.lower() not in (".yaml", ".yml"):
        trace = read_trace(path)
        limited = RequestClass(path.stem, 1.0, lengths_of(trace), ttft=ttft, tpot=tpot)
        reuse = (
            Reuse.of(trace.prompt, trace.blocks, trace.ends, trace.block) if trace.block else None
        )
        return AskedTraffic((limited,), trace.rate, {}, reuse, trace.reading)
    document = scan(path)
    empty = [fault for fault in document.faults if fault.rule in ("ST006", "ST007")]
    if empty:
        first, _, _ = empty[0].message.partition(";")
        raise InputError(f"{empty[0].place}: {first}; {_EXAMPLE}")
    if document.faults:
        raise refuse(in_order(document.faults))
    workload, faults = validate(document, TrafficFile)
    if workload is None:
        raise refuse(faults)
    limits, reading = {"ttft": ttft, "tpot": tpot}, list[str]()
    classes = [
        _class_of(document, index, client, path.parent, limits, reading)
        for index, client in enumerate(workload.clients)
    ]
    total = sum(client.rate_fraction for client in workload.clients)
    classes = [
        replace(request_class, share=request_class.share / total) for request_class in classes
    ]
    models = {client.id: client.model for client in workload.clients if client.model}
    prefixes = _shared(document, workload, classes)
    return AskedTraffic(
        tuple(classes), workload.aggregate_rate, models, prefixes, tuple(dict.fromkeys(reading))
    )


def _shared(
    document: Document, workload: TrafficFile, classes: Sequence[RequestClass]
) -> SharedPrefixes | None:
    """Return the prefixes that requests share, or None if no class has any."""
    rates, sizes = [], []
    for index, (client, request_class) in enumerate(zip(workload.clients, classes, strict=True)):
        if client.prefix_length is None:
            continue
        if client.prefix_length > request_class.lengths.prompt.min():
            raise InputError(
                f"{document.place('clients', index)}: prefix_length {client.prefix_length} of "
                f"'{client.id}' is longer than its shortest prompt, "
                f"{request_class.lengths.prompt.min():,.0f} tokens"
            )
        weights = np.arange(1, client.prefixes + 1) ** -client.popularity
        rates.append(request_class.share * weights / weights.sum())
        sizes.append(np.full(client.prefixes, float(client.prefix_length)))
    prompt = sum(request_class.share * request_class.prompt for request_class in classes)
    return SharedPrefixes(np.concatenate(rates), np.concatenate(sizes), prompt) if rates else None


def _class_of(
    document: Document,
    index: int,
    client: Client,
    folder: Path,
    limits: dict[str, float],
    reading: list[str],
) -> RequestClass:
    ttft, tpot = (
        limits[name] if limit is None else limit.si
        for name, limit in (("ttft", client.ttft), ("tpot", client.tpot))
    )
    if client.needs_limit and min(ttft, tpot) == inf:
        raise InputError(
            f"{document.place('clients', index)}: '{client.id}' has no limit; give it ttft: 1s or "
            f"tpot: 50ms, or slo_class: batch if nobody waits, or all {option('ttft')} or "
            f"{option('tpot')}"
        )
    if client.trace is not None:
        trace = read_trace(folder / client.trace)
        lengths, reading[len(reading) :] = lengths_of(trace), trace.reading
    else:
        assert client.input_distribution is not None
        assert client.output_distribution is not None
        lengths = Lengths.independent(
            _typical(client.input_distribution), _typical(client.output_distribution)
        )
    return RequestClass(
        name=client.id,
        share=client.rate_fraction,
        lengths=lengths,
        prefix_hit=client.prefix_hit,
        ttft=ttft,
        tpot=tpot,
        variation=client.arrival.variation,
    )


def _typical(distribution: Distribution) -> tuple[Floats, Floats]:
    """Compute representative lengths of a distribution, with their fractions."""
    params = distribution.params
    if distribution.type == "constant" or params.get("std_dev") == 0.0:
        return np.ones(1), np.array([params.get("value", params.get("mean", 0.0))])
    if distribution.type == "empirical":
        fractions = np.array(list(params.values()))
        return fractions / fractions.sum(), np.array([float(length) for length in params])
    mean, deviation = params["mean"], params.get("std_dev", 0.0)
    low, high = params.get("min", 1.0), params.get("max", LIMITS["tokens"].maximum)

    def length(probability: Floats) -> Floats:
        if distribution.type == "exponential":
            lengths = -mean * np.log1p(-probability)
        elif distribution.type == "gaussian":
            lengths = mean + deviation * normal_quantile(share=probability)
        else:
            sigma = lognormal_sigma(mean=mean, deviation=deviation)
            lengths = np.exp(
                np.log(mean) - sigma**2 / 2.0 + sigma * normal_quantile(share=probability)
            )
        return np.clip(lengths, max(low, 1.0), high)

    return typical_lengths(length)


def lengths_of(trace: Trace) -> Lengths:
    """Compute representative lengths of a trace, grouped by prompt and then by output.

    The mean prompt and output lengths are preserved.
    """
    order = np.argsort(trace.prompt, kind="stable")
    groups = [
        members[np.argsort(trace.output[members], kind="stable")] for members in _parts(order)
    ]
    request_classes = [request_class for group in groups for request_class in _parts(group)]
    fractions = np.array([len(request_class) for request_class in request_classes]) / len(order)
    output = np.array([trace.output[request_class].mean() for request_class in request_classes])
    prompt = np.array([trace.prompt[request_class].mean() for request_class in request_classes])
    return Lengths(fractions, prompt, output)


def _parts(order: Ints) -> list[Ints]:
    """Divide a sorted list at `PART_EDGES`, omitting empty intervals."""
    ends = np.unique(np.round(np.array(PART_EDGES) * len(order)).astype(int))
    return [order[low:high] for low, high in pairwise(ends.tolist())]
