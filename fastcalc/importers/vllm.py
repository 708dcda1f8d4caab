"""Results of ``vllm bench serve --save-result``.

The keys are those that vLLM's ``vllm/benchmarks/serve.py`` writes at the end of ``main_async``
(read at 009e6d4); the options are those of https://docs.vllm.ai/en/latest/cli/bench/serve.html.
Results do not name the chips; ``--metadata hardware=h100-sxm tp=2`` adds them to the file.
"""

import re
from collections.abc import Iterator
from math import inf

from fastcalc.importers.json_records import NoRunError, Record
from fastcalc.importers.served_run import (
    UPPER,
    Arrivals,
    ServedRun,
    Times,
    accepted_tokens,
    times_of,
)
from fastcalc.importers.setup import OPTIONS, engine_named


def is_result(record: Record) -> bool:
    """Check whether a record was saved by ``vllm bench serve``."""
    return {"duration", "completed", "total_input_tokens"} <= record.data.keys()


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield the only run in a record, or raise NoRunError."""
    yield run_of(record, arrivals_of(record))


def run_of(record: Record, arrivals: Arrivals) -> ServedRun:
    """Build the run of a record with the given arrivals."""
    completed = record.count("completed") or 0
    ttft, tpot, request = (times(record, name) for name in ("ttft", "tpot", "e2el"))
    if by_request := _request_times(record):
        ttft, tpot, request = (
            written if written.typical is not None else computed
            for written, computed in zip((ttft, tpot, request), by_request, strict=True)
        )
    date = re.match(r"(\d{4})-?(\d{2})-?(\d{2})", record.text("date"))
    values = {name: record.data.get(name) for name in OPTIONS}
    stated = {
        name: str(value) if type(value) is int else record.text(name)
        for name, value in values.items()
    }
    stated["engine"] = stated["engine"] or engine_named(record.text("backend"))
    return ServedRun(
        program="vllm bench serve",
        completed=completed,
        seconds=record.number("duration") or 0.0,
        prompt=(record.number("total_input_tokens") or 0.0) / max(completed, 1),
        output=(record.number("total_output_tokens") or 0.0) / max(completed, 1),
        arrivals=arrivals,
        ttft=ttft,
        tpot=tpot,
        request=request,
        between_chunks=times(record, "itl"),
        rate=record.number("output_throughput"),
        failed=record.count("failed") or 0,
        # If the mean acceptance length is missing, it is not necessarily 1.
        tokens_per_pass=accepted_tokens(record, "spec_decode_acceptance_length"),
        date="-".join(date.groups()) if date else "",
        names=(record.text("model_id"), record.text("tokenizer_id")),
        stated={name: text for name, text in stated.items() if text},
    )


def times(record: Record, name: str) -> Times:
    """Read the mean, median and percentiles from keys such as ``p99_ttft_ms``.

    Keys without a unit, such as ``p99_ttft`` in converted records, are in seconds.
    """

    def seconds(statistic: str) -> float | None:
        milliseconds = record.number(f"{statistic}_{name}_ms")
        return record.number(f"{statistic}_{name}") if milliseconds is None else milliseconds / 1e3

    upper = {
        percentile: at for percentile in UPPER if (at := seconds(f"p{percentile}")) is not None
    }
    middle = seconds("median")
    return Times(seconds("mean"), seconds("p50") if middle is None else middle, upper)


def arrivals_of(record: Record) -> Arrivals:
    """Read ``request_rate`` and ``max_concurrency``; raises NoRunError if both are missing."""
    if record.data.get("ramp_up_strategy"):
        raise NoRunError("the request rate rose during the run (ramp_up_strategy)")
    counts = (record.count("max_concurrency"), record.count("num_prompts"))
    limit, sent = (count if count and count > 0 else None for count in counts)
    if limit is not None and sent is not None:
        limit = min(limit, sent)
    if record.data.get("request_rate") in ("inf", inf):
        return Arrivals(limit=limit)
    rate = None if record.text("request_rate") else record.number("request_rate")
    if rate is None or rate <= 0:
        raise NoRunError("the file does not state how requests arrived: request_rate is missing")
    return Arrivals(rate, limit)


def _request_times(record: Record) -> tuple[Times, Times, Times] | None:
    """Read the times of a detailed result from its per-request lists."""
    outputs, firsts = record.numbers("output_lens"), record.numbers("ttfts")
    later = record.numbers("itls")
    if not outputs or not len(outputs) == len(firsts) == len(later):
        return None
    answered = [row for row in zip(outputs, firsts, later, strict=True) if row[0] > 0]
    return (
        times_of([first for _, first, _ in answered]),
        times_of([tail / (output - 1) for output, _, tail in answered if output > 1]),
        times_of([first + tail for _, first, tail in answered]),
    )
