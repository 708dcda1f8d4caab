"""Results of ``evalscope perf``: ``benchmark_summary.json`` and the files next to it.

The keys are those of ``evalscope/perf/utils/perf_constants.py`` in github.com/modelscope/evalscope
(read at fde259d, 2026) and of the releases of 2025; keys include their units. The model is in
``benchmark_args.json``; medians and upper percentiles are in ``benchmark_percentile.json``.
"""

from collections.abc import Iterator
from math import inf

from fastcalc.importers.json_records import NoNumberError, NoRunError, Record, alongside
from fastcalc.importers.served_run import UPPER, Arrivals, ServedRun, Times

_UNITS = {"(s)": 1.0, "(ms)": 1e-3}
_NAMES = {
    "duration": ("Time taken for tests", "Test Duration"),
    "ttft": ("Average time to first token", "Avg TTFT"),
    "tpot": ("Average time per output token", "Avg TPOT"),
    "itl": ("Average inter-token latency", "Avg ITL"),
    "request": ("Average latency", "Avg Latency"),
}  # keys of 2025 and of 2026, without units
_COUNTS = {
    "clients": ("Number of concurrency", "Concurrency"),
    "sent": ("Total requests", "Total Requests"),
    "completed": ("Succeed requests", "Success Requests"),
    "failed": ("Failed requests", "Failed Requests"),
    "rate": ("Request rate (req/s)", "Request Rate (req/s)"),
    "tokens": ("Output token throughput (tok/s)", "Output Throughput (tok/s)"),
    "prompt": ("Average input tokens per request", "Avg Input Tokens"),
    "output": ("Average output tokens per request", "Avg Output Tokens"),
    "accepted": ("Average decoded tokens per iter", "Avg Decoded Tok/Iter"),
}


def is_result(record: Record) -> bool:
    """Check whether a record is a summary from ``evalscope perf``."""
    keys = record.data.keys()
    return any({_COUNTS["clients"][year], _COUNTS["completed"][year]} <= keys for year in (0, 1))


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield the only run in a summary, or raise NoRunError."""
    clients, sent, completed, failed = (
        _number(record, name) for name in ("clients", "sent", "completed", "failed")
    )
    rate, limit = _number(record, "rate") or -1.0, min(clients or inf, sent or inf)
    if rate <= 0 and not 1 <= limit < inf:
        raise NoRunError("the file does not state the number of concurrent requests")
    percentiles = [
        row for row in alongside(record.file, "benchmark_percentile.json") if _share(row)
    ]
    arguments = next(iter(alongside(record.file, "benchmark_args.json")), Record(1, {}))
    accepted = _number(record, "accepted")
    yield ServedRun(
        program="evalscope perf",
        completed=None if completed is None else int(completed),
        seconds=_seconds(record, "duration"),
        prompt=_number(record, "prompt") or 0.0,
        output=_number(record, "output") or 0.0,
        # --rate -1 sends a new request whenever one is answered.
        arrivals=Arrivals(rate) if rate > 0 else Arrivals(limit=int(limit)),
        ttft=_times(record, "ttft", percentiles, "TTFT"),
        tpot=_times(record, "tpot", percentiles, "TPOT"),
        request=_times(record, "request", percentiles, "Latency"),
        between_chunks=Times(mean=_seconds(record, "itl")),
        rate=_number(record, "tokens"),
        failed=int(failed or 0.0),
        tokens_per_pass=accepted if accepted and accepted >= 1 else None,
        names=(arguments.text("model"), arguments.text("tokenizer_path")),
    )


def _number(record: Record, name: str) -> float | None:
    return next(filter(None, map(record.number, _COUNTS[name])), None)


def _seconds(record: Record, name: str) -> float | None:
    """Read a time in the unit given in its key, in seconds."""
    for key in _NAMES[name]:
        for unit, seconds in _UNITS.items():
            if (value := record.number(f"{key} {unit}")) is not None:
                return value * seconds
    return None


def _times(record: Record, name: str, percentiles: list[Record], column: str) -> Times:
    """Read the mean, with the median and upper percentiles from the table in the other file."""
    stated: dict[int, float] = {}
    for row in percentiles:
        for unit, seconds in _UNITS.items():
            try:
                value = row.number(f"{column} {unit}")
            except NoNumberError:
                continue  # a cell of another table
            if value is not None and (percentile := _share(row)):
                stated[percentile] = value * seconds
    upper = {percentile: stated[percentile] for percentile in UPPER if percentile in stated}
    return Times(_seconds(record, name), stated.get(50), upper)


def _share(row: Record) -> int:
    """Return the percentile of a row in the table, or 0 if it has none."""
    text = row.text("Percentiles").removesuffix("%")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 3 else 0
