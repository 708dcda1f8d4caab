"""Candidate benchmark runs: their load, their duration, and the predictions they constrain."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastcalc.core import timeline
from fastcalc.core.estimate import Estimate, evaluate
from fastcalc.core.outcome import Outcome
from fastcalc.core.own_rows import Places
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.timeline import Timeline
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.benchmark.limits import FEWEST_REQUESTS, REPETITIONS, WAVES
from fastcalc.formulas.types import floats

SHORT = 256
"""Output tokens in runs whose responses are shorter than those of the user's requests."""

_LARGER = 2
"""Largest concurrency of a run relative to the largest requested batch."""

RATES = (timeline.token_in_traffic, timeline.first_token, timeline.served_run)
"""Metrics that a load generator reports for a run: TPOT, TTFT and throughput."""


@dataclass(frozen=True, eq=False)
class BenchmarkRun:
    """A load-generator run with a fixed number of requests in flight.

    concurrency : The requests in flight.
    prompt, output : The lengths of each request; without output, the run measures prefill only, in
        tokens.
    requests : The total number of requests.
    seconds : The expected duration, in seconds.
    places : Points of the measured passes, one per reported metric.
    """

    concurrency: int
    prompt: int
    output: int
    requests: int
    seconds: float
    places: Places


@dataclass(frozen=True)
class MeasuredRun:
    """The throughput of a run and the median latencies of its requests.

    ttft, tpot : TPOT is None if responses have a single token, in seconds.
    throughput : The output tokens per second. [1/s]
    client_busy : The fraction of the run in which the client itself was computing.
    """

    ttft: float
    tpot: float | None
    throughput: float
    client_busy: float


def served_runs(outcome: Outcome) -> list[BenchmarkRun]:
    """Return the runs that fit in memory, including shorter ones if outputs are long."""
    traffic = _uncached(outcome.scenario.traffic)
    lengths = [traffic]
    if float(traffic.output) > 2 * SHORT:
        context = float(traffic.prompt) + SHORT / 2
        lengths.append(replace(traffic, output=float(SHORT), context=context))
    requested = outcome.estimate.batch[outcome.estimate.fits].astype(int).tolist()
    most = min(_LARGER * max(requested), int(outcome.placement.edge_max_batch))
    powers = (2**power for power in range(most.bit_length()))
    counts = sorted({*requested, *(count for count in powers if count <= most)})
    runs = []
    for traffic in lengths:
        estimate = evaluate(outcome.placement, batch=np.array(counts, dtype=float), traffic=traffic)
        for index, (count, wave) in enumerate(zip(counts, estimate.run.tolist(), strict=True)):
            requests = max(WAVES * count, FEWEST_REQUESTS)
            run = BenchmarkRun(
                concurrency=count,
                prompt=round(float(traffic.prompt)),
                output=round(float(traffic.output)),
                requests=requests,
                seconds=wave * requests / count,
                places=places_of(estimate, RATES, [index]),
            )
            runs.append(run)
    return runs


def lone_runs(outcome: Outcome) -> list[BenchmarkRun]:
    """Return llama-bench tests: decode after empty and full contexts, long and short prompts."""
    traffic = _uncached(outcome.scenario.traffic)
    prompt, output = round(float(traffic.prompt)), min(round(float(traffic.output)), SHORT)
    tests = [(0, output), (prompt, output), (prompt, 0), (max(prompt // 4, 1), 0)]
    runs = []
    for prompt, output in dict.fromkeys(tests):
        length, context = max(float(prompt), 1.0), max(prompt + output / 2.0, 1.0)
        requested = replace(traffic, prompt=length, context=context)
        estimate = evaluate(outcome.placement, batch=np.ones(1), traffic=requested)
        rate = timeline.token if output else timeline.prefill
        seconds = rate(estimate.passes).seconds.item() * max(output, 1)
        run = BenchmarkRun(
            concurrency=1,
            prompt=prompt,
            output=output,
            requests=REPETITIONS,
            seconds=seconds * (REPETITIONS + 1),  # llama-bench warms up first
            places=places_of(estimate, [rate], [0]),
        )
        runs.append(run)
    return runs


def _uncached(traffic: Traffic) -> Traffic:
    """Assume random prompts, of which no prefix is cached."""
    return replace(traffic, prefix_hit=0.0)


def places_of(
    estimate: Estimate, rates: Sequence[Callable[[Schedule], Timeline]], batches: Sequence[int]
) -> Places:
    """Return the forward passes behind the metrics at the given batches of an estimate."""
    passes, shape = estimate.passes, (len(rates), len(estimate.batch))
    shares = [np.broadcast_to(rate(passes).decode_share, shape[1:]) for rate in rates]
    traffic = passes.traffic
    columns = (passes.batch, traffic.context, traffic.computed_prompt, np.array(shares))
    numbers = (np.broadcast_to(floats(column), shape)[:, batches].ravel() for column in columns)
    return Places.of(*numbers)
