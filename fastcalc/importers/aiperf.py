"""Results of AIPerf, ``profile_export_aiperf.json``, and of GenAI-Perf, ``..._genai_perf.json``.

The keys are those of AIPerf's ``docs/tutorials/working-with-profile-exports.md`` (read at 13992db)
and of a file written by 0.10. Those of GenAI-Perf, its predecessor, are from ``genai_perf/
export_data/json_exporter.py`` in github.com/triton-inference-server/perf_analyzer (read at 263c5f6)
and from a file of 2025. Each statistic has a unit. Files with one line per request, such as
AIPerf's ``profile_export.jsonl``, do not contain the load, so the mean number of concurrent
requests is computed by Little's law.
"""

from collections.abc import Iterator, Sequence
from math import inf

from fastcalc.importers.json_records import NoNumberError, NoRunError, Record
from fastcalc.importers.served_run import Arrivals, ServedRun, Times, times_in, times_of
from fastcalc.written import shown

_LATENCIES = ("time_to_first_token", "inter_token_latency", "request_latency")
_UNITS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "us": 1e-6, "ns": 1e-9}


def is_result(record: Record) -> bool:
    """Check whether a record is the summary of an AIPerf or GenAI-Perf run."""
    keys = record.data.keys()
    is_counted = "request_count" in keys or {"request_throughput", "input_config"} <= keys
    return is_counted and {"request_latency", "output_sequence_length"} <= keys


def is_request(record: Record) -> bool:
    """Check whether a record is a single AIPerf request."""
    return "request_start_ns" in record.within("metadata").data and "metrics" in record.data


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield the only run in a summary, or raise NoRunError."""
    config = record.within("input_config")
    ttft, tpot, request = (_times(record.within(name)) for name in _LATENCIES)
    is_streamed = False not in (
        config.data.get("streaming"),
        config.within("endpoint").data.get("streaming"),
    )
    completed = record.within("request_count").number("avg")
    endpoint = config.within("endpoint")
    lists = (
        endpoint.data.get("model_names"),
        config.data.get("model_names"),
        config.data.get("model"),
    )
    names = next((names for names in lists if isinstance(names, list)), [])
    served = [name for name in names if isinstance(name, str)]
    served += [model.text("name") for model in config.within("models").mappings("items")]
    statistics = record.within("benchmark_duration")
    duration = statistics.number("avg")
    yield ServedRun(
        program="AIPerf" if "request_count" in record.data else "GenAI-Perf",
        completed=None if completed is None else int(completed),
        seconds=None if duration is None else duration * _unit(statistics, "s"),
        prompt=record.within("input_sequence_length").number("avg") or 0.0,
        output=_answer(record, config),
        arrivals=_arrivals(config),
        ttft=ttft if is_streamed else Times(),
        tpot=tpot if is_streamed else Times(),
        request=request if is_streamed else Times(),
        between_chunks=_times(record.within("inter_chunk_latency")),
        rate=record.within("output_token_throughput").number("avg"),
        failed=int(record.within("error_request_count").number("avg") or 0.0),
        date=record.text("start_time")[:10],
        names=(*served, config.within("tokenizer").text("name"), endpoint.text("model")),
        remarks=() if is_streamed else ("answers were not streamed",),
    )


def _answer(record: Record, config: Record) -> float:
    """Return the mean length of answers, which GenAI-Perf may count several times too long."""
    counted = record.within("output_sequence_length").number("avg") or 0.0
    asked = config.number("output_tokens_mean")
    if asked and 0.0 < 2.0 * asked < counted:
        raise NoRunError(
            f"the file counts {counted:,.0f} tokens per answer, but {asked:,.0f} were asked for"
        )
    return counted


def _unit(statistics: Record, unstated: str) -> float:
    """Return the unit of a statistic; raises NoNumberError if it is not a unit of time. [s]"""
    unit = _UNITS.get(statistics.text("unit").lower() or unstated)
    if unit is None:
        words = f"unit is '{shown(statistics.text('unit'))}'; times are in {', '.join(_UNITS)}"
        raise NoNumberError((*statistics.steps, "unit"), words)
    return unit


def _times(statistics: Record) -> Times:
    return times_in(statistics, unit=_unit(statistics, "ms"), mean=statistics.number("avg"))


def _arrivals(config: Record) -> Arrivals:
    """Read the requested load.

    AIPerf stores it in ``loadgen`` before 0.10 and in phases since then. GenAI-Perf stores it in
    ``perf_analyzer``, and older versions in the options themselves.
    """
    phases = [
        phase
        for phase in config.mappings("phases")
        if phase.data.get("exclude_from_results") is not True
    ]
    if len(phases) > 1:
        raise NoRunError(f"the run has {len(phases)} load phases, whose requests are not separated")
    loads = [*phases, config.within("loadgen"), config.within("perf_analyzer", "stimulus"), config]
    load_keys = {"concurrency", "rate", "request_rate"}
    load = next((load for load in loads if load_keys & load.data.keys()), config)
    limit, rate = load.count("concurrency"), load.number("rate") or load.number("request_rate")
    if rate is not None and rate > 0:
        return Arrivals(rate, limit)
    if limit is not None and limit > 0:
        return Arrivals(limit=limit)
    raise NoRunError("the file states neither a concurrency nor a request rate")


def run_of_requests(requests: Sequence[Record]) -> ServedRun:
    """Read the run in a file with one line per request, or raise NoRunError."""
    answered = [
        request
        for request in requests
        if request.data.get("error") is None and "request_latency" in request.within("metrics").data
    ]
    if not answered:
        raise NoRunError("no request was completed")
    starts, ends = (_nanoseconds(answered, f"request_{edge}_ns") for edge in ("start", "end"))
    seconds = (max(ends) - min(starts)) / 1e9 if starts and ends else 0.0
    prompts, outputs = (
        _values(answered, f"{side}_sequence_length") for side in ("input", "output")
    )
    if seconds <= 0 or not prompts or not outputs:
        raise NoRunError("the requests have no end, no prompt or no answer")
    ttft, tpot, latencies = (
        times_of([milliseconds / 1e3 for milliseconds in _values(answered, name)])
        for name in _LATENCIES
    )
    return ServedRun(
        program="AIPerf",
        completed=len(answered),
        seconds=seconds,
        prompt=sum(prompts) / len(prompts),
        output=sum(outputs) / len(outputs),
        arrivals=Arrivals(len(answered) / seconds),
        ttft=ttft,
        tpot=tpot,
        request=latencies,
        rate=sum(outputs) / seconds,
        failed=len(requests) - len(answered),
    )


def _values(requests: Sequence[Record], metric: str) -> list[float]:
    values = (request.within("metrics", metric).number("value") for request in requests)
    return [value for value in values if value is not None]


def _nanoseconds(requests: Sequence[Record], key: str) -> list[float]:
    """Parse Unix timestamps, which are too large for the usual range check."""
    times = (request.within("metadata").data.get(key) for request in requests)
    return [float(time) for time in times if isinstance(time, (int, float)) and abs(time) < inf]
