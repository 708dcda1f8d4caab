"""Results in a GuideLLM report: ``benchmarks.json``, with one run per rate or stream count.

The keys are those of ``src/guidellm/schemas`` at 31c74ea (version 2 of the metadata) and 0.5.0
(version 1). Its time per output token includes the first token, so inter-token latency is used.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from fastcalc.importers.json_records import NoRunError, Record
from fastcalc.importers.served_run import Arrivals, ServedRun, Times, each_run, times_in

_CLOSED = {"synchronous": None, "concurrent": "streams", "throughput": "max_concurrency"}


def is_result(record: Record) -> bool:
    """Check whether a record is a GuideLLM report."""
    return "guidellm_version" in record.within("metadata").data and "benchmarks" in record.data


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield a run for each benchmark in a report, or the reason why there is none."""
    names = (
        record.within("config", "spec", "backend").text("model"),
        record.within("config", "backend").text("model"),
        record.within("args").text("model"),
    )
    return each_run(record, partial(_run, names=names))


def _run(benchmark: Record, *, names: Sequence[str]) -> ServedRun:
    metrics = benchmark.within("metrics")
    outputs = metrics.within("output_token_count", "successful")
    rate = metrics.within("output_tokens_per_second", "successful").number("mean")
    tokens = outputs.number("total_sum")
    totals = metrics.within("request_totals")
    return ServedRun(
        program="GuideLLM",
        completed=totals.count("successful") or outputs.count("count") or 0,
        seconds=tokens / rate if tokens and rate else benchmark.number("duration") or 0.0,
        prompt=metrics.within("prompt_token_count", "successful").number("mean") or 0.0,
        output=outputs.number("mean") or 0.0,
        arrivals=_arrivals(benchmark),
        ttft=_times(metrics.within("time_to_first_token_ms", "successful"), 1e-3),
        tpot=_times(metrics.within("inter_token_latency_ms", "successful"), 1e-3),
        request=_times(metrics.within("request_latency", "successful"), 1.0),
        rate=rate,
        failed=totals.count("errored") or 0,
        names=(benchmark.within("config", "backend").text("model"), *names),
    )


def _times(statistics: Record, unit: float) -> Times:
    """Convert times from another unit, in seconds."""
    return times_in(statistics.within("percentiles"), unit=unit, mean=statistics.number("mean"))


def _arrivals(benchmark: Record) -> Arrivals:
    strategy = benchmark.within("config", "strategy")
    type_id = strategy.text("type_") or strategy.text("kind")
    in_flight = benchmark.within("metrics", "request_concurrency", "successful").number("mean")
    if type_id in _CLOSED:
        key = _CLOSED[type_id]
        return Arrivals(limit=1 if key is None else strategy.count(key))
    rate = strategy.number("rate")
    if rate is None or rate <= 0:
        rate = benchmark.within("metrics", "requests_per_second", "successful").number("mean")
    if rate is None or rate <= 0:
        why = "the report does not state how requests arrived"
        raise NoRunError(f"{why}: strategy {type_id or 'missing'}")
    return Arrivals(rate, in_flight=in_flight)
