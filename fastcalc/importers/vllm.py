"""Points of ``vllm bench serve --save-result``.

The keys are those that vLLM's ``vllm/benchmarks/serve.py`` writes at the end of ``main_async``
(read at 009e6d4), the options those of https://docs.vllm.ai/en/latest/cli/bench/serve.html. A
result never names the chips; ``--metadata hardware=h100-sxm tp=2`` puts that into the file.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isinf
from typing import Any

from fastcalc.catalogue.limits import LIMITS
from fastcalc.evidence.point import Point
from fastcalc.importers.json_records import Record
from fastcalc.importers.naming import Names, checkpoint_format
from fastcalc.importers.setup import OPTIONS, asked, columns, layout, no_model
from fastcalc.mentions import option
from fastcalc.written import shown

_ENGINES = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "tensorrt-llm"}
_ROUNDED_WELL = 10  # concurrency from which rounding moves a throughput by 5 % at most


def is_result(record: Record) -> bool:
    """Return whether a record is one that ``vllm bench serve`` saved."""
    return {"duration", "completed", "total_input_tokens"} <= record.data.keys()


@dataclass(frozen=True, slots=True)
class Load:
    """How requests came: how many were kept in flight; None where the engine chose the batch."""

    concurrency: int | None
    is_open: bool
    words: str


def measurements(record: Record, options: Mapping[str, str], names: Names) -> list[Point | str]:
    """Return the points of one result, or why a measurement is none; it may raise `Unsaid`."""
    completed, duration = record.count("completed") or 0, record.number("duration") or 0.0
    prompts = record.number("total_input_tokens")
    outputs = record.number("total_output_tokens")
    if completed <= 0 or duration <= 0:
        return ["no request was completed"]
    if prompts is None or prompts < 0 or outputs is None or outputs <= 0:
        return ["no tokens were generated, so nothing of decoding was measured"]
    load = _load(record, completed / duration, outputs / completed)
    if isinstance(load, str):
        return [load]
    if next(_metrics(record, load), None) is None:
        return ["the file holds none of median_tpot_ms, median_ttft_ms and output_throughput"]
    setup = _setup(record, options, names)
    failed, called = record.count("failed"), shown(record.text("model_id"), 100)
    words = (load.words, f"requests {completed}", f"{failed} failed" if failed else "", called)
    # A file without the mean acceptance length does not say that it is 1.
    accepted = record.number("spec_decode_acceptance_length")
    date = re.match(r"(\d{4})-?(\d{2})-?(\d{2})", record.text("date"))
    point = Point(
        **setup,
        source="vllm bench serve",
        date="-".join(date.groups()) if date else "",
        concurrency=load.concurrency,
        prompt=prompts / completed,
        output=outputs / completed,
        metric="",
        value=0.0,
        tokens_per_pass=accepted if accepted is not None and accepted >= 1 else None,
        notes="; ".join(filter(None, words)),
        line=record.line,
    )
    results: list[Point | str] = []
    for measurement in _metrics(record, load):
        if not isinstance(measurement, str):
            metric, value, kind = measurement
            notes = f"kind={kind}; {point.notes}"
            results.append(replace(point, metric=metric, value=value, notes=notes))
        else:
            results.append(measurement)
    return results


def _metrics(record: Record, load: Load) -> Iterator[tuple[str, float, str] | str]:
    """Yield metric, value and kind of each measurement but percentiles, or why it is no point."""
    is_lone = load.concurrency == 1 and not load.is_open
    served = "e2e_saturated" if load.concurrency is None else "e2e_concurrency"
    tpot, ttft = _seconds(record, "median_tpot_ms"), _seconds(record, "median_ttft_ms")
    if tpot is not None and tpot > 0:
        yield "tpot_s", tpot, "decode_batch1" if is_lone else served
    elif tpot is not None:
        yield "median_tpot_ms is 0: no answer had a second token"
    if ttft is not None and load.concurrency is None:
        yield "median_ttft_ms with all requests sent at once is the wait in the queue"
    elif ttft is not None and ttft > 0:
        yield "ttft_s", ttft, "prefill" if is_lone else served
    elif ttft is not None:
        yield "median_ttft_ms is 0: the answers were not streamed"
    rate = record.number("output_throughput")
    if load.is_open and load.concurrency is not None and load.concurrency < _ROUNDED_WELL:
        yield "output_throughput at a light request rate is what the clients asked for"
    elif rate is not None and rate > 0:
        yield "tokens_per_s_total", rate, served


def _seconds(record: Record, key: str) -> float | None:
    milliseconds = record.number(key)
    return None if milliseconds is None else milliseconds / 1e3


def _load(record: Record, requests_per_s: float, output: float) -> Load | str:
    if record.data.get("ramp_up_strategy"):
        return "the request rate rose during the run (ramp_up_strategy)"
    counts = (record.count("max_concurrency"), record.count("num_prompts"))
    limit, sent = (count if count and count > 0 else None for count in counts)
    rate = record.data.get("request_rate")
    if rate == "inf" or (isinstance(rate, float) and isinf(rate)):
        if limit is None:
            return Load(None, False, "all requests at once")
        return Load(min(limit, sent or limit), False, f"max_concurrency {limit}")
    if not isinstance(rate, (int, float)) or isinstance(rate, bool) or not rate > 0:
        return "the file does not say how requests came: request_rate is missing"
    seconds = _seconds(record, "mean_e2el_ms") or 0.0
    if seconds <= 0:
        # The first token and then the others: exact for answers of one length.
        ttft, tpot = _seconds(record, "mean_ttft_ms"), _seconds(record, "mean_tpot_ms")
        if ttft is not None and tpot is not None and ttft > 0 and tpot >= 0:
            seconds = ttft + tpot * max(output - 1, 0)
    if seconds <= 0:
        return (
            f"at {rate:g} requests/s the concurrency follows from the mean latency alone, which "
            "the file does not hold; keep ttft and tpot in --percentile-metrics"
        )
    # Little's law, J. D. C. Little, Operations Research 9 (1961) 383: L = lambda W.
    in_flight = requests_per_s * seconds
    if not 0 < in_flight <= LIMITS["sequences"].maximum:
        return "duration and mean latency contradict each other"
    words = f"{rate:g} requests/s, {in_flight:.3g} in flight by Little's law"
    return Load(max(1, round(in_flight)), True, words)


def _setup(record: Record, options: Mapping[str, str], names: Names) -> dict[str, Any]:
    # What --metadata said comes as text, or as a number from other writers.
    counts = {name: record.count(name) for name in OPTIONS}
    texts = {
        name: record.text(name) if count is None else str(count) for name, count in counts.items()
    }
    stated = {name: text for name, text in texts.items() if text} | dict(options)
    called = record.text("model_id") or record.text("tokenizer_id")
    hardware = options.get("hardware") or names.chip(stated.get("hardware", "")) or ""
    model = (
        options.get("model") or names.model(stated.get("model", "")) or names.model(called) or ""
    )
    stored = stated["weights"] if "weights" in stated else checkpoint_format(called)
    machine = layout(stated, names.ranks(hardware) or 1)
    chip = shown(stated.get("hardware", ""))
    no_chip = (
        f"no chip of the catalogue is '{chip}'" if chip else "the file does not name the hardware"
    )
    unclear = (
        f"the number format of '{shown(called)}' is not clear from its name: give "
        f"{option('weights')}"
    )
    asked(
        None if hardware else f"{no_chip}: give {option('hardware')}",
        None
        if machine
        else f"the file does not say on how many chips: give {option('chips')} or {option('tp')}",
        None if model else no_model(called),
        unclear if stored is None else None,
    )
    engine = stated.get("engine") or _ENGINES.get(record.text("backend"), "")
    words = {"hardware": hardware, "model": model, "engine": engine, "weights": stored or ""}
    return columns(machine, **words, kv=stated.get("kv", ""))
