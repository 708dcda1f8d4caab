"""Results of genai-bench: one JSON file per concurrency level of an experiment.

The keys are those of ``genai_bench/metrics/metrics.py`` in github.com/sgl-project/genai-bench (read
at 7fd04d8). Times are in the unit `_time_unit`, or in seconds without it. Model, engine and GPUs
are in ``experiment_metadata.json`` in the same folder.
"""

from collections.abc import Iterator

from fastcalc.importers.json_records import NoRunError, Record, alongside
from fastcalc.importers.served_run import Arrivals, ServedRun, clients_in, times_in
from fastcalc.importers.setup import engine_named

_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3}


def is_result(record: Record) -> bool:
    """Check whether a record is a genai-bench run."""
    return "stats" in record.within("aggregated_metrics").data


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield the only run in a file, or raise NoRunError."""
    unit = _UNITS.get(record.text("_time_unit"))
    if unit is None:
        raise NoRunError(f"times are in {record.text('_time_unit')}, which is neither s nor ms")
    run, stats = record.within("aggregated_metrics"), record.within("aggregated_metrics", "stats")
    if run.text("iteration_type") == "batch_size":
        raise NoRunError("a run of embeddings, which does not decode")
    experiment = next(iter(alongside(record.file, "experiment_metadata.json")), Record(1, {}))
    completed = run.count("num_completed_requests")
    seconds = run.number("run_duration")
    if seconds is None:  # older files give requests per minute instead
        rate = (run.number("requests_per_minute") or 0.0) / 60.0
        seconds = completed / rate if completed and rate > 0 else None
    called = ("server_model_tokenizer", "api_model_name", "model")
    count = experiment.data.get("server_gpu_count")
    yield ServedRun(
        program="genai-bench",
        completed=completed,
        seconds=seconds,
        prompt=stats.within("num_input_tokens").number("mean") or 0.0,
        output=stats.within("num_output_tokens").number("mean") or 0.0,
        arrivals=Arrivals(limit=clients_in(run, "num_concurrency")),
        ttft=times_in(stats.within("ttft"), unit=unit),
        tpot=times_in(stats.within("tpot"), unit=unit),
        request=times_in(stats.within("e2e_latency"), unit=unit),
        rate=run.number("mean_output_throughput_tokens_per_s"),
        failed=run.count("num_error_requests") or 0,
        names=tuple(map(experiment.text, called)),
        stated={
            "hardware": experiment.text("server_gpu_type"),
            "engine": engine_named(experiment.text("server_engine")),
            "chips": str(count) if isinstance(count, (int, str)) else None,
        },
    )
