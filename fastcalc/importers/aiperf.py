"""Runs of AIPerf: ``profile_export_aiperf.json``, or the requests of ``profile_export.jsonl``.

The keys are those of AIPerf's ``docs/tutorials/working-with-profile-exports.md`` (read at 13992db)
and of a file that 0.10 wrote. A line for each request says nothing of the load: its requests in
flight are the mean ones, by Little's law.
"""

from collections.abc import Iterator, Sequence
from math import inf

from fastcalc.importers.json_records import Record
from fastcalc.importers.served_run import Arrivals, ServedRun, times_in, times_of

_LATENCIES = ("time_to_first_token", "inter_token_latency", "request_latency")


def is_result(record: Record) -> bool:
    """Return whether a record sums up a run of AIPerf."""
    return {"request_latency", "output_sequence_length", "request_count"} <= record.data.keys()


def is_request(record: Record) -> bool:
    """Return whether a record is a request of AIPerf's."""
    return "request_start_ns" in record.within("metadata").data and "metrics" in record.data


def runs(record: Record) -> Iterator[ServedRun | str]:
    """Yield the one run that a record sums up, or why it is none."""
    arrivals = _arrivals(record.within("input_config"))
    if isinstance(arrivals, str):
        yield arrivals
        return
    ttft, tpot, request = (
        times_in(statistics, unit=1e-3, mean=statistics.number("avg"))
        for statistics in map(record.within, _LATENCIES)
    )
    yield ServedRun(
        program="AIPerf",
        completed=int(record.within("request_count").number("avg") or 0.0),
        seconds=record.within("benchmark_duration").number("avg") or 0.0,
        prompt=record.within("input_sequence_length").number("avg") or 0.0,
        output=record.within("output_sequence_length").number("avg") or 0.0,
        arrivals=arrivals,
        ttft=ttft,
        tpot=tpot,
        request=request,
        rate=record.within("output_token_throughput").number("avg"),
        failed=int(record.within("error_request_count").number("avg") or 0.0),
        date=record.text("start_time")[:10],
        names=_names(record.within("input_config")),
    )


def _arrivals(config: Record) -> Arrivals | str:
    """Return the load that was asked for: ``loadgen`` before 0.10, phases from then on."""
    phases = [
        phase
        for phase in config.mappings("phases")
        if phase.data.get("exclude_from_results") is not True
    ]
    if len(phases) > 1:
        return f"the run has {len(phases)} phases of load, whose requests it does not part"
    load = phases[0] if phases else config.within("loadgen")
    limit, rate = load.count("concurrency"), load.number("rate") or load.number("request_rate")
    if rate is not None and rate > 0:
        return Arrivals(rate, limit)
    if limit is not None and limit > 0:
        return Arrivals(limit=limit)
    return "the file does not say how requests came: neither a concurrency nor a rate"


def _names(config: Record) -> tuple[str, ...]:
    endpoint, names = config.within("endpoint"), config.within("endpoint").data.get("model_names")
    served = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    served += [model.text("name") for model in config.within("models").mappings("items")]
    served += [config.within("tokenizer").text("name"), endpoint.text("model")]
    return tuple(filter(None, served))


def run_of_requests(requests: Sequence[Record]) -> ServedRun | str:
    """Return the run that lines of requests were, or why it is none."""
    answered = [
        request
        for request in requests
        if request.data.get("error") is None and "request_latency" in request.within("metrics").data
    ]
    if not answered:
        return "no request was completed"
    starts, ends = (_nanoseconds(answered, f"request_{edge}_ns") for edge in ("start", "end"))
    seconds = (max(ends) - min(starts)) / 1e9 if starts and ends else 0.0
    prompts, outputs = (
        _values(answered, f"{side}_sequence_length") for side in ("input", "output")
    )
    if seconds <= 0 or not prompts or not outputs:
        return "the requests have no end, no prompt or no answer"
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
    """Return the times of a clock that counts from 1970, which are beyond what a number may be."""
    times = (request.within("metadata").data.get(key) for request in requests)
    return [float(time) for time in times if isinstance(time, (int, float)) and abs(time) < inf]
