"""Field names and time units of published request traces.

| trace | arrival | unit | prompt, output |
|---|---|---|---|
| Mooncake (github.com/kvcache-ai/Mooncake, FAST25-release) | `timestamp` | ms | `input_length`, `output_length` |
| AIPerf (docs/tutorials, Mooncake traces) | `timestamp`, `delay` with `session_id` | ms | the same |
| Bailian (github.com/alibaba-edu/qwen-bailian-usagetraces-anon) | `timestamp` with `chat_id` | s | the same |
| BurstGPT (github.com/HPMLL/BurstGPT, Schema) | `Timestamp` | s | `Request tokens`, `Response tokens` |
| Azure 2023, 2024, 2025 (github.com/Azure/AzurePublicDataset) | `TIMESTAMP` | date | `ContextTokens`, `GeneratedTokens` |
| Splitwise simulator (github.com/Mutinifni/splitwise-sim) | `arrival_timestamp` | s | `prompt_size`, `token_size` |
| Vidur (github.com/microsoft/vidur, data/processed_traces) | `arrived_at` | s | `num_prefill_tokens`, `num_decode_tokens` |
"""  # noqa: E501  (a table)

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from fastcalc.formulas.types import Floats
from fastcalc.written import listed

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SPANS = (("days", 86_400.0), ("h", 3600.0), ("min", 60.0))
UNIT_WORDS = {1.0: "seconds", 1e-3: "milliseconds", 1e-6: "microseconds", 1e-9: "nanoseconds"}

_FEW = 100

_BUSIEST = 100.0
"""The request rate above which a trace counts as milliseconds only if it says so: the busiest
published trace in milliseconds has 7 requests/s. [1/s]"""


@dataclass(frozen=True)
class TraceFields:
    """The field names of a trace format.

    seconds : The unit of a numeric arrival time, or None if the format does not define it, in
        seconds.
    marks : Additional fields, any of which distinguishes the format from others with the same
        names.
    zero_output_failed : Whether a request without output tokens counts as failed.
    """

    format: str
    arrival: str
    prompt: str
    output: str
    seconds: float | None = None
    marks: frozenset[str] = frozenset()
    zero_output_failed: bool = False


_MOONCAKE = ("timestamp", "input_length", "output_length")
AZURE = TraceFields("Azure", "TIMESTAMP", "ContextTokens", "GeneratedTokens")
MOONCAKE = TraceFields("Mooncake", *_MOONCAKE)
FORMATS = (
    TraceFields("Bailian", *_MOONCAKE, 1.0, frozenset(("chat_id", "parent_chat_id"))),
    TraceFields("AIPerf", *_MOONCAKE, 1e-3, frozenset(("session_id", "delay"))),
    MOONCAKE,
    AZURE,
    TraceFields(
        "BurstGPT", "Timestamp", "Request tokens", "Response tokens", 1.0, zero_output_failed=True
    ),
    TraceFields("Vidur", "arrived_at", "num_prefill_tokens", "num_decode_tokens", 1.0),
    TraceFields("Splitwise", "arrival_timestamp", "prompt_size", "token_size", 1.0),
)


def fields_of(names: Collection[str]) -> TraceFields | None:
    """Return the trace format whose token counts are among the given field names, or None."""
    found_names = set(names)
    alike = (fields for fields in FORMATS if {fields.prompt, fields.output} <= found_names)
    return next(
        (fields for fields in alike if not fields.marks or fields.marks & found_names), None
    )


def known_fields() -> str:
    """List the known fields of traces, for an error message."""
    formats = [fields.format for fields in FORMATS if fields not in (AZURE, MOONCAKE)]
    azure, mooncake = (
        ",".join((fields.arrival, fields.prompt, fields.output)) for fields in (AZURE, MOONCAKE)
    )
    return f"write {azure}, {mooncake} or those of {listed(formats, 'or')}"


def arrival_field(fields: TraceFields, names: Collection[str]) -> tuple[str, float | None]:
    """Return the field with arrival times, and its unit if the name or format defines one. [s]

    >>> arrival_field(MOONCAKE, ["timestamp_ms", "input_length", "output_length"])
    ('timestamp_ms', 0.001)
    """
    for name, seconds in _UNITS.items():
        if (field := f"{fields.arrival}_{name}") in names:
            return field, seconds
    return fields.arrival, fields.seconds


def unit_of(stamps: Floats) -> float | None:
    """Infer the unit of arrival times from their digits, or return None if it is ambiguous. [s]

    Published traces have whole milliseconds, or seconds with millisecond resolution. Integers are
    milliseconds up to the highest rate of any such trace; above it, three decimals are seconds.

    >>> unit_of(np.array([0.0, 250.0, 900.0])), unit_of(np.array([0.072, 0.135, 1.5]))
    (0.001, 1.0)
    >>> unit_of(np.array([0.0, 1.0, 2.0])), unit_of(np.array([0.0, 250.5, 900.5]))
    (None, None)
    """
    span = float(stamps.max() - stamps.min()) if len(stamps) else 0.0
    if span <= 0.0:
        return 1e-3
    is_slow = (len(stamps) - 1) / span * 1e3 <= _BUSIEST
    if (stamps % 1.0 == 0.0).all():
        return 1e-3 if is_slow else None
    milliseconds = stamps * 1e3
    is_rounded = np.abs(milliseconds - milliseconds.round()) < 1e-6 * (1.0 + np.abs(stamps))
    return 1.0 if is_rounded.all() and not is_slow else None


def ask_for_unit(field: str, rate: float) -> str:
    """Return the message for an ambiguous unit of arrival times.

    rate : The request rate if the times are in seconds. [1/s]
    """
    in_seconds, in_milliseconds = (float(f"{value:.3g}") for value in (rate, rate * 1e3))
    return (
        f"the unit of {field} is not clear: {in_seconds:,g} requests/s if it is seconds, "
        f"{in_milliseconds:,g} if it is milliseconds; rename it {field}_s or {field}_ms"
    )


def arrivals_words(count: int, seconds: float, rate: float) -> str:
    """Describe the number of requests, their time span and their rate.

    In few requests, the rate differs from count over span, as it is one over the mean interval.

    >>> arrivals_words(3, 3.0, 2 / 3)
    '3 requests in 3 s, 0.667 per second (1.5 s apart on average)'
    >>> arrivals_words(1_429_737, 5.27e6, 0.271)
    '1,429,737 requests in 61 days, 0.271 per second'
    """
    unit, size = next((span for span in _SPANS if seconds >= 2 * span[1]), ("s", 1.0))
    per_second = float(f"{rate:.3g}")
    interval = f" ({1.0 / rate:.3g} s apart on average)" if rate and count < _FEW else ""
    return (
        f"{count:,} requests in {seconds / size:.3g} {unit}, {per_second:,g} per second{interval}"
    )
