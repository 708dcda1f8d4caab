"""Results of llmperf: ``*_summary.json``.

The keys are those of ``token_benchmark_ray.py`` in github.com/ray-project/llmperf (read at f1d6bed)
and of github.com/ray-project/llmperf-leaderboard. Its inter-token latency is averaged over all
tokens including the first, so TPOT is computed from end-to-end latency and TTFT instead. For every
model, tokens are counted with the Llama 2 tokenizer.
"""

from collections.abc import Iterator

from fastcalc.importers.json_records import NoRunError, Record
from fastcalc.importers.served_run import Arrivals, ServedRun, Times, clients_in, times_in


def is_result(record: Record) -> bool:
    """Check whether a record is an llmperf summary, or one of its requests."""
    keys = record.data.keys()
    return {"results_ttft_s_mean", "num_concurrent_requests"} <= keys or _is_request(record)


def _is_request(record: Record) -> bool:
    return {"ttft_s", "end_to_end_latency_s", "number_output_tokens"} <= record.data.keys()


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield the only run in a summary, or raise NoRunError."""
    if _is_request(record):
        raise NoRunError("one request of llmperf: its *_summary.json states the concurrency")
    completed = record.count("results_num_completed_requests")
    rate = record.number("results_num_completed_requests_per_min")
    yield ServedRun(
        program="llmperf",
        completed=completed,
        seconds=completed / rate * 60.0 if completed and rate and rate > 0 else None,
        prompt=_mean(record, "number_input_tokens", "mean_input_tokens"),
        output=_mean(record, "number_output_tokens", "mean_output_tokens"),
        arrivals=Arrivals(limit=clients_in(record, "num_concurrent_requests")),
        ttft=_times(record, "ttft_s"),
        tpot=Times(),
        request=_times(record, "end_to_end_latency_s"),
        rate=record.number("results_mean_output_throughput_token_per_s"),
        failed=record.count("results_number_errors") or 0,
        names=(record.text("model"),),
        remarks=("tokens counted with the tokenizer of Llama 2",),
    )


def _mean(record: Record, measured: str, asked: str) -> float:
    mean = record.number(f"results_{measured}_mean")
    return (record.number(asked) if mean is None else mean) or 0.0


def _times(record: Record, name: str) -> Times:
    mean = record.number(f"results_{name}_mean")
    return times_in(record, unit=1.0, mean=mean, prefix=f"results_{name}_quantiles_")
