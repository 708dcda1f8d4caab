"""Results of inference-perf: ``stage_N_lifecycle_metrics.json``, and the run's ``config.yaml``.

The keys are those of ``summarize_requests`` in ``inference_perf/reportgen/base.py`` (read at
7de5ef2). The model and the requested lengths are in the configuration, which is in the folder of
the stages or in its parent folder.
"""

from collections.abc import Iterator
from math import inf
from pathlib import Path

from fastcalc.catalogue import reader
from fastcalc.errors import InputError
from fastcalc.importers.json_records import NoRunError, Record
from fastcalc.importers.served_run import Arrivals, ServedRun, times_in
from fastcalc.importers.setup import engine_named

_LATENCIES = ("time_to_first_token", "time_per_output_token", "request_latency")
_LENGTHS = (
    ("output_distribution", "mean"),
    ("shared_prefix", "output_distribution", "mean"),
    ("shared_prefix", "output_len"),
)  # keys in the data section; the first one present is used


def is_result(record: Record) -> bool:
    """Check whether a record is a stage of inference-perf, or the summary of all stages."""
    return {"load_summary", "successes", "failures"} <= record.data.keys()


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield the run of a stage, or raise NoRunError."""
    load, successes = record.within("load_summary"), record.within("successes")
    latency, throughput = successes.within("latency"), successes.within("throughput")
    if "requested_rate" not in load.data:
        raise NoRunError("a summary of all stages, which have different loads")
    names, engine, requested = _configuration(Path(record.file).parent)
    requests_per_s = throughput.number("requests_per_sec") or 0.0
    output = successes.within("output_len").number("mean") or 0.0
    rate = throughput.number("output_tokens_per_sec")
    remarks: tuple[str, ...] = ()
    if requested:
        remarks = (f"{requested:g} output tokens were requested, {output:.4g} retokenised",)
        output, rate = requested, requested * requests_per_s
    completed, clients = successes.count("count") or 0, load.count("concurrency") or 0
    ttft, tpot, request = (
        times_in(latency.within(name), unit=1.0, median="median") for name in _LATENCIES
    )
    yield ServedRun(
        program="inference-perf",
        completed=completed,
        seconds=completed / requests_per_s if requests_per_s > 0 else 0.0,
        prompt=successes.within("prompt_len").number("mean") or 0.0,
        output=output,
        # The number of busy clients or, if it is not given, the request rate.
        arrivals=Arrivals(limit=clients)
        if clients > 0
        else Arrivals(load.number("requested_rate") or inf),
        ttft=ttft,
        tpot=tpot,
        request=request,
        rate=rate,
        failed=record.within("failures").count("count") or 0,
        names=names,
        stated={"engine": engine},
        remarks=remarks,
    )


def _configuration(folder: Path) -> tuple[tuple[str, ...], str, float | None]:
    """Read the model's names and the engine from the configuration in or above a stage's folder.

    The third value is the requested mean output length, if the server must not stop early. [token]
    """
    for path in (folder / "config.yaml", folder.parent / "config.yaml"):
        try:
            document = reader.read(path) if path.is_file() else None
        except InputError:
            continue  # unreadable configurations are ignored
        if document is not None and document.at("load", "type") is not None:
            break
    else:
        return (), "", None
    lengths = [document.at("data", *steps) for steps in _LENGTHS]
    numbers = [length for length in lengths if isinstance(length, (int, float)) and length > 0]
    counts = [number for number in numbers if number is not True]
    is_whole = document.at("server", "ignore_eos") is True
    names = (
        document.at("server", "model_name"),
        document.at("tokenizer", "pretrained_model_name_or_path"),
    )
    return (
        tuple(name for name in names if isinstance(name, str) and name),
        engine_named(str(document.at("server", "type"))),
        float(counts[0]) if counts and is_whole else None,
    )
