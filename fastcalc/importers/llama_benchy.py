"""Results of llama-benchy: prefill and decode on an OpenAI endpoint at several context depths.

The keys are those of ``schemas/benchmark_report_schema.json`` in github.com/eugr/llama-benchy (read
at ae09cab): speeds in tokens/s, times in ms. A run at a given depth processes context and prompt.
With prefix caching, one run loads the context, and the next one reads it from the cache.
"""

from collections.abc import Iterator
from functools import partial

from fastcalc.importers.json_records import Record
from fastcalc.importers.served_run import Arrivals, ServedRun, Times, clients_in, each_run, times_of


def is_result(record: Record) -> bool:
    """Check whether a record is a llama-benchy report."""
    return {"latency_mode", "prefix_caching_enabled", "benchmarks"} <= record.data.keys()


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield a run for each benchmark in a report, or the reason why there is none."""
    return each_run(record, partial(_run, report=record))


def _run(benchmark: Record, *, report: Record) -> ServedRun:
    context = benchmark.number("context_size") or 0.0
    prompt = benchmark.number("prompt_size") or 0.0
    first, remarks = _times(benchmark, "e2e_ttft"), tuple[str, ...]()
    if context and benchmark.data.get("is_context_prefill_phase") is True:
        prompt, remarks = 0.0, ("the context is loaded",)
    elif context and report.data.get("prefix_caching_enabled") is True:
        first, remarks = Times(), ("the context was in the prefix cache, so TTFT is skipped",)
    speeds = _speeds(benchmark)
    return ServedRun(
        program="llama-benchy",
        completed=None,
        seconds=None,
        prompt=context + prompt,
        output=benchmark.number("response_size") or 0.0,
        arrivals=Arrivals(limit=clients_in(benchmark, "concurrency")),
        ttft=first,
        tpot=times_of([1.0 / speed for speed in speeds]),
        request=Times(),
        names=(report.text("model"),),
        date=report.text("timestamp")[:10],
        remarks=remarks,
    )


def _speeds(benchmark: Record) -> list[float]:
    """Read the decode speeds of requests, or the total if they ran one at a time. [token/s]"""
    for key in ("tg_req_throughput", "tg_throughput"):
        metric = benchmark.within(key)
        values = metric.numbers("values") or [mean for mean in (metric.number("mean"),) if mean]
        if values and (key == "tg_req_throughput" or benchmark.count("concurrency") == 1):
            return [value for value in values if value > 0]
    return []


def _times(benchmark: Record, key: str) -> Times:
    metric = benchmark.within(key)
    values = metric.numbers("values")
    if values:
        return times_of([value * 1e-3 for value in values])
    mean = metric.number("mean")
    return Times(mean=None if mean is None else mean * 1e-3)
