"""What each importer reads of a result file: every field of a run, from small files worked by hand.

No two numbers of a file are alike, so that a field read from another key, in another unit or with
another default differs.
"""

import copy
import json
from dataclasses import fields, replace
from math import inf

import pytest

from fastcalc.catalogue import inputs
from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.evidence.point import COLUMNS, Point
from fastcalc.evidence.text_files import Text
from fastcalc.importers import (
    aiperf,
    guidellm,
    inference_perf,
    llama_bench,
    sglang,
    tensorrt_llm,
    vllm,
)
from fastcalc.importers import foreign as folders
from fastcalc.importers.foreign import foreign_in, points_in_folder
from fastcalc.importers.json_records import NoNumberError, NoRunError, Record, records
from fastcalc.importers.naming import NameLookup, Options
from fastcalc.importers.served_run import Arrivals, ServedRun, Times, points_of, times_of
from fastcalc.importers.setup import Unsaid, checked, engine_named
from tests.helpers import every

ON = {"hardware": "h100-sxm", "chips": "1", "model": "llama-3.1-8b"}


def flat(run):
    """Return the fields of a run as one mapping of plain values: ``ttft.mean``, ``ttft.p90`` ..."""
    values = {}
    for field in fields(run):
        value = getattr(run, field.name)
        if isinstance(value, Times):
            stated = {"mean": value.mean, "median": value.median}
            value = stated | {f"p{share}": time for share, time in value.upper.items()}
        elif isinstance(value, Arrivals):
            value = {part.name: getattr(value, part.name) for part in fields(value)}
        if not isinstance(value, dict):
            value = {"": value}
        values |= {f"{field.name}.{name}".strip("."): inner for name, inner in value.items()}
    return values


UNSAID = {
    "between_chunks.mean": None,
    "between_chunks.median": None,
    "is_speculated": None,
    "is_decode_only": False,
    "weight_bits": None,
}
"""Of a run whose writer does not say."""


def no_run(**changes):
    """Return the flat fields of a run of which a file says nothing."""
    nothing = ServedRun("", 0, 0.0, 0.0, 0.0, Arrivals(), Times(), Times(), Times())
    return flat(nothing) | changes


def is_approx(expected):
    return {
        name: pytest.approx(value) if isinstance(value, float) else value
        for name, value in (UNSAID | expected).items()
    }


def the_run(writer, record, **source):
    record = Record(1, record, **source)
    assert writer.is_result(record)
    try:
        (run,) = writer.runs(record)
    except NoRunError as error:
        return str(error)
    return run


def changed(record, path, value):
    """Return a copy of a record with the value of one path replaced, or left out if None."""
    new = copy.deepcopy(record)
    *steps, last = path
    inner = new
    for step in steps:
        inner = inner[step]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return new


# Times of requests


@every(
    "count,p90,p95,p99",
    [
        # The nearest rank: the smallest time that at least so many in a hundred do not exceed.
        (1, 1, 1, 1),
        (10, 9, 10, 10),
        (20, 18, 19, 20),
        (100, 90, 95, 99),
        (101, 91, 96, 100),
        (1000, 900, 950, 990),
    ],
)
def test_percentiles_are_of_the_nearest_rank(count, p90, p95, p99):
    times = times_of([float(second) for second in range(count, 0, -1)])
    assert times.upper == {90: p90, 95: p95, 99: p99}
    assert times.mean == times.median == (count + 1) / 2
    assert times_of([1.0, 2.0, 6.0]).mean == 3.0
    assert times_of([1.0, 2.0, 6.0]).median == 2.0
    assert times_of([]) == Times()


# What a run measures

RUN = ServedRun(
    program="a benchmark",
    completed=100,
    seconds=50.0,
    prompt=1000.0,
    output=101.0,
    arrivals=Arrivals(limit=8),
    ttft=Times(0.5, 0.4, {99: 0.9}),
    tpot=Times(0.02, 0.021, {95: 0.03, 90: 0.025}),
    request=Times(2.5, 2.4),
    rate=202.0,
)
"""(2.5 - 0.5) s over the 100 tokens after the first are 20 ms each."""


def measured(catalogue, run, options=None):
    options = Options(ON if options is None else options, NameLookup(catalogue))
    return points_of(run, 7, options)


def values_of(catalogue, **changes):
    """Return kind and value of each metric of a run with some changes; reasons where it is none."""
    found = measured(catalogue, replace(RUN, **changes))
    points = {
        point.metric: (point.kind, pytest.approx(point.value))
        for point in found
        if isinstance(point, Point)
    }
    return points, [reason for reason in found if isinstance(reason, str)]


def test_a_run_is_a_point_of_each_metric(catalogue):
    tpot, ttft, rate = measured(
        catalogue, replace(RUN, failed=1, date="2026-11-03", remarks=("warm",), names=("a/b",))
    )
    for point in (tpot, ttft, rate):
        assert (point.source, point.date, point.line) == ("a benchmark", "2026-11-03", 7)
        assert (point.concurrency, point.prompt, point.output) == (8, 1000.0, 101.0)
        assert (point.hardware, point.model, point.chips, point.tp) == (
            *("h100-sxm", "llama-3.1-8b"),
            *(1, 1),
        )
    words = "kind=e2e_concurrency; max_concurrency 8; requests 100; 1 failed; warm; a/b"
    assert (tpot.metric, tpot.value, tpot.notes) == (
        "tpot_s",
        0.021,
        f"{words}; p90 25 ms, p95 30 ms",
    )
    assert (ttft.metric, ttft.value, ttft.notes) == ("ttft_s", 0.4, f"{words}; p99 900 ms")
    assert (rate.metric, rate.value, rate.notes) == ("tokens_per_s_total", 202.0, words)
    assert not any("failed" in point.notes for point in measured(catalogue, replace(RUN, failed=0)))


ALL = {
    "tpot_s": ("e2e_concurrency", 0.021),
    "ttft_s": ("e2e_concurrency", 0.4),
    "tokens_per_s_total": ("e2e_concurrency", 202.0),
}


def without(*metrics):
    return {metric: value for metric, value in ALL.items() if metric not in metrics}


@every(
    "changes,points,reasons",
    [
        ({"failed": 0}, ALL, []),
        ({"completed": 1, "seconds": 0.5, "prompt": 0.0}, ALL, []),
        ({"completed": 0}, {}, ["no request was completed"]),
        ({"seconds": 0.0}, {}, ["no request was completed"]),
        ({"prompt": -1.0}, {}, ["no tokens were generated"]),
        ({"output": 0.0}, {}, ["no tokens were generated"]),
        ({"rate": None}, without("tokens_per_s_total"), []),
        ({"rate": 0.0}, without("tokens_per_s_total"), []),
        ({"ttft": Times()}, without("ttft_s"), []),
        ({"ttft": Times(0.0), "request": Times()}, without("ttft_s"), ["were not streamed"]),
        ({"tpot": Times(), "request": Times()}, without("tpot_s"), []),
        ({"tpot": Times(0.0), "request": Times()}, without("tpot_s"), ["had a second token"]),
        ({"tpot": Times(), "ttft": Times(), "rate": None}, {}, ["states no TTFT"]),
        ({"tpot": Times(), "ttft": Times()}, without("tpot_s", "ttft_s"), []),
        # One client alone: decode and prefill by themselves.
        (
            {"arrivals": Arrivals(limit=1)},
            ALL | {"tpot_s": ("decode_batch1", 0.021), "ttft_s": ("prefill", 0.4)},
            [],
        ),
        # All at once: a first token waits in the queue.
        (
            {"arrivals": Arrivals()},
            {
                "tpot_s": ("e2e_saturated", 0.021),
                "tokens_per_s_total": ("e2e_saturated", 202.0),
            },
            ["is mostly queueing time"],
        ),
        ({"arrivals": Arrivals(2.0, in_flight=10.0)}, ALL, []),
        (
            {"arrivals": Arrivals(2.0, in_flight=9.0)},
            without("tokens_per_s_total"),
            ["is set by the clients"],
        ),
        # Requests at a rate queue now and then, even where one is in flight on average.
        (
            {"arrivals": Arrivals(2.0, in_flight=1.0)},
            without("tokens_per_s_total"),
            ["is set by the clients"],
        ),
        ({"arrivals": Arrivals(2.0, in_flight=0.0)}, {}, ["contradict each other"]),
        (
            {"arrivals": Arrivals(2.0, in_flight=LIMITS["sequences"].maximum + 1.0)},
            {},
            ["contradict each other"],
        ),
        ({"arrivals": Arrivals(2.0, in_flight=LIMITS["sequences"].maximum)}, ALL, []),
        (
            {"arrivals": Arrivals(2.5), "request": Times(), "ttft": Times()},
            {},
            ["at 2.5 requests/s the concurrency follows only from the mean latency"],
        ),
    ],
)
def test_what_is_no_measurement_is_left_out(catalogue, changes, points, reasons):
    found, said = values_of(catalogue, **changes)
    assert found == points
    assert len(said) == len(reasons)
    for sentence, part in zip(said, reasons, strict=True):
        assert part in sentence


def test_a_slow_run_has_an_output_rate(catalogue):
    points, _ = values_of(catalogue, rate=0.5, tpot=Times(0.5), ttft=Times(0.25), request=Times())
    assert {metric: value for metric, (_, value) in points.items()} == {
        "tpot_s": 0.5,
        "ttft_s": 0.25,
        "tokens_per_s_total": 0.5,
    }


@pytest.mark.thorough
@every(
    "output,tpot,request,ttft,value",
    [
        # Within a factor of 1.414 the file's own time stays, of which the median is taken.
        (101, Times(0.0142, 0.5), Times(2.5), Times(0.5), 0.5),
        (101, Times(0.0282, 0.5), Times(2.5), Times(0.5), 0.5),
        (101, Times(0.0141, 0.5), Times(2.5), Times(0.5), 0.02),
        (101, Times(0.0283, 0.5), Times(2.5), Times(0.5), 0.02),
        (101, Times(None, 0.0142), Times(2.5), Times(0.5), 0.0142),
        (101, Times(None, 0.0141), Times(2.5), Times(0.5), 0.02),
        (101, Times(), Times(2.5), Times(0.5), 0.02),
        # Answers of two tokens have one after the first: 2 s; of one and a half, half of one.
        (2, Times(0.02), Times(2.5), Times(0.5), 2.0),
        (1.5, Times(0.02), Times(2.5), Times(0.5), 4.0),
        (1, Times(0.02), Times(2.5), Times(0.5), 0.02),
        # A first token at once; a request that ends with its first; one before it: medians.
        (101, Times(0.2), Times(2.5), Times(0.0), 0.025),
        (101, Times(0.2), Times(0.5), Times(0.5), 0.2),
        (101, Times(0.2), Times(0.4), Times(0.5), 0.2),
        (101, Times(0.2), Times(2.5), Times(-0.5), 0.2),
        (101, Times(0.2), Times(None, 4.4), Times(None, 0.4), 0.04),
        (101, Times(0.2), Times(0.4, 4.4), Times(0.5, 0.4), 0.04),
        (101, Times(0.2), Times(2.5, 4.4), Times(None, 0.4), 0.04),
        (101, Times(0.2), Times(None, 4.4), Times(0.5, 0.4), 0.04),
    ],
)
def test_a_time_per_token_agrees_with_whole_requests(catalogue, output, tpot, request, ttft, value):
    run = replace(RUN, output=float(output), tpot=tpot, request=request, ttft=ttft)
    point = measured(catalogue, run)[0]
    assert (point.metric, point.value) == ("tpot_s", pytest.approx(value))
    assert ("the file states" in point.notes) == (value != tpot.typical)


def test_medians_of_requests_that_queue_are_no_times_per_token(catalogue):
    run = replace(RUN, tpot=Times(0.2), request=Times(None, 4.4), ttft=Times(None, 0.4))
    for arrivals, value in ((Arrivals(), 0.2), (Arrivals(limit=8), 0.04), (Arrivals(2.0), 0.04)):
        found = measured(catalogue, replace(run, arrivals=replace(arrivals, in_flight=3.0)))
        assert found[0].value == pytest.approx(value)


@every(
    "changes,concurrency,words",
    [
        # Little's law: 100 requests in 50 s, each 2.5 s.
        ({}, 5, "3 requests/s, 5 in flight by Little's law"),
        ({"completed": 300}, 15, "3 requests/s, 15 in flight by Little's law"),
        ({"arrivals": Arrivals(3.0, in_flight=12.4)}, 12, "3 requests/s, 12.4 in flight"),
        ({"arrivals": Arrivals(3.0, limit=2, in_flight=0.2)}, 1, "3 requests/s, 0.2 in flight"),
        # The first token and the others stand for whole requests: 0.5 s + 100 x 20 ms.
        ({"request": Times()}, 5, "3 requests/s, 5 in flight by Little's law"),
        ({"request": Times(0.0)}, 5, "3 requests/s, 5 in flight by Little's law"),
        ({"request": Times(), "output": 1.0}, 1, "3 requests/s, 1 in flight by Little's law"),
        ({"request": Times(), "output": 0.5}, 1, "3 requests/s, 1 in flight by Little's law"),
        ({"arrivals": Arrivals(limit=6)}, 6, "max_concurrency 6"),
        ({"arrivals": Arrivals()}, None, "all requests at once"),
    ],
)
def test_the_concurrency_follows_from_how_requests_came(catalogue, changes, concurrency, words):
    run = replace(RUN, **{"arrivals": Arrivals(3.0), **changes})
    point = next(point for point in measured(catalogue, run) if isinstance(point, Point))
    assert point.concurrency == concurrency
    assert f"; {words}; " in point.notes


def test_what_the_file_says_of_the_machine_is_completed(catalogue):
    stated = {"hardware": "NVIDIA H100 80GB HBM3", "tp": "2", "model": "x", "kv": "fp8"}
    run = replace(RUN, stated=stated, names=("x/y", "Qwen/Qwen3-32B-FP8", "Qwen/Qwen3-8B"))
    point = measured(catalogue, run, {})[0]
    assert (point.hardware, point.model, point.kv, point.chips) == (
        *("h100-sxm", "qwen3-32b"),
        *("fp8", 2),
    )
    # The format is that of the first name, by which the run was called.
    assert point.weights == ""
    named = replace(run, names=("Qwen/Qwen3-32B-FP8",))
    assert measured(catalogue, named, {})[0].weights == "fp8"
    for weights in ("nvfp4", "q4_0"):
        both = replace(named, stated=stated | {"weights": weights})
        assert measured(catalogue, both, {})[0].weights == weights


@every(
    "stated,options,sentence",
    [
        ({}, {}, "the file does not name the hardware: give "),
        ({"hardware": "h100-sx"}, {}, "no chip of the catalogue is 'h100-sx'; did you mean h100-"),
        ({"hardware": "zzzzzzzz"}, {}, "no chip of the catalogue is 'zzzzzzzz': give "),
        ({}, {"hardware": "h100-sxm"}, "the file states no number of chips: give "),
        ({"tp": "1"}, {"hardware": "h100-sxm"}, "the file does not name the model: give "),
    ],
)
def test_what_is_needed_and_unsaid_is_asked(catalogue, stated, options, sentence):
    with pytest.raises(Unsaid) as asked:
        measured(catalogue, replace(RUN, stated=stated), options)
    assert sentence in str(asked.value)


def test_a_name_of_several_formats_is_asked(catalogue):
    options = Options(ON, NameLookup(catalogue))
    run = replace(RUN, names=("Qwen/Qwen3-8B-int4",))
    with pytest.raises(Unsaid, match="the number format of 'Qwen/Qwen3-8B-int4' is not clear"):
        points_of(run, 1, options)
    given = Options(ON | {"weights": "fp8"}, NameLookup(catalogue))
    assert points_of(run, 1, given)[0].weights == "fp8"


# vllm bench serve

VLLM = {
    "date": "20261103-101500",
    "backend": "openai-chat",
    "model_id": "a/b",
    "tokenizer_id": "c/d",
    "num_prompts": 64,
    "request_rate": "inf",
    "max_concurrency": 16,
    "duration": 40.0,
    "completed": 50,
    "failed": 14,
    "total_input_tokens": 50_000,
    "total_output_tokens": 20_000,
    "output_throughput": 500.0,
    "spec_decode_acceptance_length": 2.5,
    "mean_ttft_ms": 110.0,
    "median_ttft_ms": 100.0,
    "p90_ttft_ms": 190.0,
    "p95_ttft_ms": 195.0,
    "p99_ttft_ms": 199.0,
    "mean_tpot_ms": 21.0,
    "p50_tpot_ms": 20.0,
    "mean_e2el_ms": 8500.0,
    "median_e2el_ms": 8400.0,
    "hardware": "h100-sxm",
    "tp": 2,
    "engine": "vllm",
}
VLLM_RUN = {
    "program": "vllm bench serve",
    "completed": 50,
    "seconds": 40.0,
    "prompt": 1000.0,
    "output": 400.0,
    "arrivals.rate": inf,
    "arrivals.limit": 16,
    "arrivals.in_flight": None,
    "ttft.mean": 0.11,
    "ttft.median": 0.1,
    "ttft.p90": 0.19,
    "ttft.p95": 0.195,
    "ttft.p99": 0.199,
    "tpot.mean": 0.021,
    "tpot.median": 0.02,
    "request.mean": 8.5,
    "request.median": 8.4,
    "rate": 500.0,
    "failed": 14,
    "tokens_per_pass": 2.5,
    "date": "2026-11-03",
    "names": ("a/b", "c/d"),
    "stated.hardware": "h100-sxm",
    "stated.tp": "2",
    "stated.engine": "vllm",
    "remarks": (),
}


def test_every_field_of_vllm_is_read():
    assert flat(the_run(vllm, VLLM)) == is_approx(VLLM_RUN)


@every(
    "changes,field,value",
    [
        ({"total_output_tokens": None}, "output", 0.0),
        ({"total_input_tokens": None}, "prompt", 0.0),
        ({"duration": None}, "seconds", 0.0),
        ({"failed": None}, "failed", 0),
        ({"completed": None}, "completed", 0),
        # Without a request that was completed, tokens are those of one.
        ({"completed": 0}, "output", 20_000.0),
        ({"max_concurrency": 64, "num_prompts": -1}, "arrivals.limit", 64),
        ({"completed": 0}, "prompt", 50_000.0),
        ({"completed": 1}, "output", 20_000.0),
        ({"completed": 2}, "prompt", 25_000.0),
        ({"spec_decode_acceptance_length": 1.0}, "tokens_per_pass", 1.0),
        ({"spec_decode_acceptance_length": 0.9}, "tokens_per_pass", None),
        ({"spec_decode_acceptance_length": None}, "tokens_per_pass", None),
        ({"date": "2026-11-03T10:15"}, "date", "2026-11-03"),
        ({"date": "yesterday"}, "date", ""),
        ({"model_id": ""}, "names", ("c/d",)),
        ({"num_prompts": 8}, "arrivals.limit", 8),
        ({"num_prompts": 1}, "arrivals.limit", 1),
        ({"num_prompts": 0}, "arrivals.limit", 16),
        ({"max_concurrency": 1}, "arrivals.limit", 1),
        ({"max_concurrency": 0}, "arrivals.limit", None),
        ({"max_concurrency": None}, "arrivals.limit", None),
        ({"request_rate": inf}, "arrivals.rate", inf),
        ({"request_rate": 0.5}, "arrivals.rate", 0.5),
        ({"request_rate": 0.5}, "arrivals.limit", 16),
        ({"median_tpot_ms": 19.0}, "tpot.median", 0.019),
        ({"engine": None, "backend": "vllm"}, "stated.engine", "vllm"),
        ({"engine": None, "backend": "tensorrt-llm"}, "stated.engine", "tensorrt-llm"),
        ({"tp": "4"}, "stated.tp", "4"),
    ],
)
def test_edges_of_vllm(changes, field, value):
    data = {key: value for key, value in (VLLM | changes).items() if value is not None}
    for key in ("completed", "total_input_tokens", "duration"):
        data.setdefault(key)  # without these keys it is another program's
    assert flat(the_run(vllm, data))[field] == value


@every(
    "changes,sentence",
    [
        ({"ramp_up_strategy": "linear"}, "the request rate rose during the run"),
        ({"request_rate": 0}, "request_rate is missing"),
        ({"request_rate": -1.0}, "request_rate is missing"),
        ({"request_rate": "fast"}, "request_rate is missing"),
        ({"request_rate": None}, "request_rate is missing"),
    ],
)
def test_how_requests_came_must_be_said(changes, sentence):
    for writer, record in ((vllm, VLLM), (sglang, VLLM | {"mean_e2e_latency_ms": 1.0})):
        assert sentence in the_run(writer, record | changes)


LISTS = {
    "output_lens": [3, 2, 1, 0],
    "ttfts": [0.1, 0.2, 0.3, 9.0],
    "itls": [[0.02, 0.04], [0.05], [], [9.0]],
}


def test_lists_of_requests_stand_for_summaries_that_are_missing():
    bare = {key: value for key, value in VLLM.items() if not key.endswith("_ms")} | LISTS
    run = the_run(vllm, bare)
    # First tokens of the three that answered; 0.06 s over two later tokens and 0.05 s over one;
    # whole requests of 0.16, 0.25 and 0.3 s.
    assert run.ttft == times_of([0.1, 0.2, 0.3])
    assert (run.tpot.mean, run.tpot.upper[99]) == (pytest.approx(0.04), pytest.approx(0.05))
    assert run.request.median == pytest.approx(0.25)
    # What the file sums up itself stays.
    assert the_run(vllm, VLLM | LISTS) == the_run(vllm, VLLM)
    for name, value in (("itls", [[0.1]]), ("ttfts", [0.1]), ("output_lens", [])):
        assert the_run(vllm, bare | {name: value}).ttft == Times()
    empty = {name: [] for name in LISTS}
    assert the_run(vllm, bare | empty | {"p99_ttft_ms": 9.0}).ttft == Times(upper={99: 0.009})


# sglang.bench_serving

SERVER = {
    "model_path": "e/f",
    "served_model_name": "g",
    "tp_size": 8,
    "pp_size": 3,
    "ep_size": 4,
    "dp_size": 2,
    "kv_cache_dtype": "fp8_e5m2",
}
SGLANG = {key: value for key, value in VLLM.items() if key not in ("engine", "tp")} | {
    "backend": "sglang-oai",
    "concurrency": 15.2,
    "accept_length": 1.5,
    "mean_e2e_latency_ms": 8600.0,
    "median_e2e_latency_ms": 8300.0,
    "server_info": SERVER,
}
SGLANG_RUN = {name: value for name, value in VLLM_RUN.items() if name != "stated.tp"} | {
    "program": "sglang.bench_serving",
    "arrivals.in_flight": 15.2,
    "tokens_per_pass": 1.5,
    "request.mean": 8.6,
    "request.median": 8.3,
    "names": ("e/f", "g", "a/b"),
    "stated.engine": "sglang",
    "stated.tp": "8",
    "stated.pp": "3",
    "stated.ep": "4",
    "stated.dp": "2",
    "stated.kv": "fp8",
}


def test_every_field_of_sglang_is_read():
    assert flat(the_run(sglang, SGLANG)) == is_approx(SGLANG_RUN)


@every(
    "path,value,field,read",
    [
        (("accept_length",), 1.0, "tokens_per_pass", 1.0),
        (("accept_length",), 0.5, "tokens_per_pass", None),
        (("accept_length",), None, "tokens_per_pass", None),
        (("server_info", "tp_size"), None, "stated.tp", None),
        (("server_info", "dp_size"), None, "stated.dp", None),
        (("server_info", "dp_size"), 0, "stated.dp", None),
        (("server_info", "kv_cache_dtype"), "auto", "stated.kv", None),
        (("server_info", "kv_cache_dtype"), None, "stated.kv", None),
        # Attention replicas share the ranks: two of four each.
        (("server_info", "enable_dp_attention"), True, "stated.tp", "4"),
        (("server_info", "enable_dp_attention"), True, "stated.dp", "2"),
        (("server_info", "enable_dp_attention"), False, "stated.tp", "8"),
        (("backend",), "trt", "stated.engine", "tensorrt-llm"),
    ],
)
def test_edges_of_sglang(path, value, field, read):
    assert flat(the_run(sglang, changed(SGLANG, path, value))).get(field) == read


@every(
    "changes,rate",
    [
        # A trace has the rate at which its requests were done: 50 in 40 s.
        ({}, 1.25),
        ({"completed": 1, "duration": 1.0}, 1.0),
        ({"completed": 1, "duration": 4.0}, 0.25),
        ({"completed": 50, "duration": 0.5}, 100.0),
        ({"completed": 0}, None),
        ({"completed": None}, None),
        ({"duration": 0.0}, None),
        ({"duration": None}, None),
        ({"duration": -1.0}, None),
    ],
)
def test_a_trace_of_sglang_has_the_rate_of_its_requests(changes, rate):
    run = the_run(sglang, SGLANG | {"request_rate": "trace"} | changes)
    if rate is None:
        assert run == "no request was completed"
    else:
        assert run.arrivals == Arrivals(rate, None, 15.2)


def test_sglang_and_vllm_are_told_apart_by_their_times_of_requests():
    assert not sglang.is_result(Record(1, VLLM))
    assert not sglang.is_result(Record(1, {"mean_e2e_latency_ms": 1.0}))
    odd = the_run(sglang, SGLANG | {"backend": "other"})
    assert "engine" not in odd.stated


# trtllm-bench

TRTLLM = {
    "engine": {
        "model": "a/b",
        "model_path": "/c/d",
        "quantization": "W4A16_AWQ",
        "kv_cache_dtype": "FP8",
    },
    "world_info": {
        "tp_size": 4,
        "pp_size": 2,
        "ep_size": 3,
        "world_size": 8,
        "max_batch_size": 64,
    },
    "machine": {"name": "NVIDIA H200"},
    "request_info": {
        "num_requests": 50,
        "avg_num_concurrent_requests": 15.2,
        "avg_input_length": 1000.0,
        "avg_output_length": 400.0,
    },
    "performance": {
        "total_latency_ms": 40_000.0,
        "avg_request_latency_ms": 8500.0,
        "system_output_throughput_tok_s": 500.0,
        "request_latency_percentiles_ms": {"p50": 8400.0, "p99": 9900.0},
    },
    "streaming_metrics": {
        "avg_ttft_ms": 110.0,
        "ttft_percentiles": {"p50": 100.0, "p90": 190.0, "p95": 195.0, "p99": 199.0},
        "avg_tpot_ms": 21.0,
        "tpot_percentiles": {"p50": 20.0},
    },
    "decoding_stats": {"acceptance_length_percentiles": {"average": 2.5}},
}
TRTLLM_RUN = {
    "program": "trtllm-bench",
    "completed": 50,
    "seconds": 40.0,
    "prompt": 1000.0,
    "output": 400.0,
    "arrivals.rate": inf,
    "arrivals.limit": 16,
    "arrivals.in_flight": None,
    "ttft.mean": 0.11,
    "ttft.median": 0.1,
    "ttft.p90": 0.19,
    "ttft.p95": 0.195,
    "ttft.p99": 0.199,
    "tpot.mean": 0.021,
    "tpot.median": 0.02,
    "request.mean": 8.5,
    "request.median": 8.4,
    "request.p99": 9.9,
    "rate": 500.0,
    "failed": 0,
    "tokens_per_pass": 2.5,
    "date": "",
    "names": ("a/b", "/c/d"),
    "stated.hardware": "NVIDIA H200",
    "stated.engine": "tensorrt-llm",
    "stated.tp": "4",
    "stated.pp": "2",
    "stated.ep": "3",
    "stated.chips": "8",
    "stated.weights": "awq-int4-g128",
    "stated.kv": "fp8",
    "remarks": ("mean requests in flight 15.2",),
}


def test_every_field_of_tensorrt_llm_is_read():
    assert flat(the_run(tensorrt_llm, TRTLLM)) == is_approx(TRTLLM_RUN)


@every(
    "path,value,field,read",
    [
        (("request_info", "num_requests"), None, "completed", 0),
        (("performance", "total_latency_ms"), None, "seconds", 0.0),
        (("request_info", "avg_input_length"), None, "prompt", 0.0),
        (("request_info", "avg_output_length"), None, "output", 0.0),
        # Clients are whole; what rounding leaves is not another one.
        (("request_info", "avg_num_concurrent_requests"), 16.0, "arrivals.limit", 16),
        (("request_info", "avg_num_concurrent_requests"), 16.0 + 1e-9, "arrivals.limit", 16),
        (("request_info", "avg_num_concurrent_requests"), 0.5, "arrivals.limit", 1),
        (("world_info", "max_batch_size"), None, "arrivals.limit", 16),
        # More than a batch at a time wait.
        (("world_info", "max_batch_size"), 15, "arrivals.limit", None),
        (("world_info", "max_batch_size"), 15, "remarks", ()),
        (("decoding_stats",), None, "tokens_per_pass", 1.0),
        (("decoding_stats", "acceptance_length_percentiles", "average"), 1.0, "tokens_per_pass", 1),
        (("decoding_stats", "acceptance_length_percentiles", "average"), 0.5, "tokens_per_pass", None),
        (("decoding_stats", "acceptance_length_percentiles"), None, "tokens_per_pass", None),
        (("engine", "model"), None, "names", ("/c/d",)),
        (("engine", "quantization"), "none", "stated.weights", None),
        (("engine", "kv_cache_dtype"), "bf16", "stated.kv", None),
        (("world_info", "ep_size"), 0, "stated.ep", None),
    ],
)  # fmt: skip
def test_edges_of_tensorrt_llm(path, value, field, read):
    assert flat(the_run(tensorrt_llm, changed(TRTLLM, path, value))).get(field) == read


def test_as_many_requests_as_a_batch_do_not_queue():
    full = changed(TRTLLM, ("request_info", "avg_num_concurrent_requests"), 64.0)
    assert the_run(tensorrt_llm, full).arrivals.limit == 64
    for in_flight in (0.0, -1.0, None):
        report = changed(TRTLLM, ("request_info", "avg_num_concurrent_requests"), in_flight)
        assert "number of concurrent requests" in the_run(tensorrt_llm, report)


# GuideLLM


def stats(mean, **more):
    return {"successful": {"mean": mean, **more}}


GUIDELLM = {
    "metadata": {"guidellm_version": "0.5.0"},
    "args": {"model": "a/args"},
    "config": {"backend": {"model": "a/backend"}, "spec": {"backend": {"model": "a/spec"}}},
    "benchmarks": [
        {
            "config": {
                "strategy": {"type_": "concurrent", "streams": 16},
                "backend": {"model": "a/own"},
            },
            "duration": 90.0,
            "metrics": {
                "request_totals": {"successful": 50, "errored": 3},
                "output_token_count": stats(400.0, total_sum=20_000.0, count=51),
                "prompt_token_count": stats(1000.0),
                "output_tokens_per_second": stats(500.0),
                "request_concurrency": stats(15.2),
                "requests_per_second": stats(1.25),
                "time_to_first_token_ms": stats(110.0, percentiles={"p50": 100.0, "p99": 199.0}),
                "inter_token_latency_ms": stats(21.0, percentiles={"p50": 20.0, "p95": 25.0}),
                "request_latency": stats(8.5, percentiles={"p50": 8.4, "p90": 9.0}),
            },
        }
    ],
}
GUIDELLM_RUN = no_run(
    **{
        "program": "GuideLLM",
        "completed": 50,
        "seconds": 40.0,
        "prompt": 1000.0,
        "output": 400.0,
        "arrivals.limit": 16,
        "ttft.mean": 0.11,
        "ttft.median": 0.1,
        "ttft.p99": 0.199,
        "tpot.mean": 0.021,
        "tpot.median": 0.02,
        "tpot.p95": 0.025,
        "request.mean": 8.5,
        "request.median": 8.4,
        "request.p90": 9.0,
        "rate": 500.0,
        "failed": 3,
        "names": ("a/own", "a/spec", "a/backend", "a/args"),
    }
)


def test_every_field_of_guidellm_is_read():
    assert flat(the_run(guidellm, GUIDELLM)) == is_approx(GUIDELLM_RUN)


TOTALS, OUTPUTS = ("metrics", "request_totals"), ("metrics", "output_token_count", "successful")
RATE = ("metrics", "output_tokens_per_second", "successful", "mean")


@every(
    "path,value,field,read",
    [
        ((*TOTALS, "successful"), None, "completed", 51),
        ((*TOTALS, "errored"), None, "failed", 0),
        (TOTALS, None, "completed", 51),
        ((*OUTPUTS, "mean"), None, "output", 0.0),
        (("metrics", "prompt_token_count"), None, "prompt", 0.0),
        # Without its sum of tokens or their rate, a run lasts as long as it says.
        ((*OUTPUTS, "total_sum"), None, "seconds", 90.0),
        ((*OUTPUTS, "total_sum"), 0.0, "seconds", 90.0),
        (RATE, None, "seconds", 90.0),
        (RATE, 0.0, "seconds", 90.0),
        (RATE, 0.5, "seconds", 40_000.0),
        (("config", "strategy"), {"type_": "synchronous"}, "arrivals.limit", 1),
        (("config", "strategy"), {"type_": "throughput", "max_concurrency": 9}, "arrivals.limit", 9),
        (("config", "strategy"), {"type_": "constant", "rate": 0.5}, "arrivals.rate", 0.5),
        (("config", "strategy"), {"type_": "constant", "rate": 0.5}, "arrivals.in_flight", 15.2),
        (("config", "strategy"), {"kind": "poisson", "rate": 0.0}, "arrivals.rate", 1.25),
        (("config", "strategy"), {"kind": "poisson", "rate": -2.0}, "arrivals.rate", 1.25),
        (("config", "strategy"), {"kind": "poisson"}, "arrivals.rate", 1.25),
        (("config", "backend"), None, "names", ("a/spec", "a/backend", "a/args")),
    ],
)  # fmt: skip
def test_edges_of_guidellm(path, value, field, read):
    benchmark = changed(GUIDELLM["benchmarks"][0], path, value)
    assert flat(the_run(guidellm, GUIDELLM | {"benchmarks": [benchmark]}))[field] == read


def test_a_run_of_guidellm_that_says_no_duration_took_none():
    benchmark = changed(changed(GUIDELLM["benchmarks"][0], RATE, None), ("duration",), None)
    assert the_run(guidellm, GUIDELLM | {"benchmarks": [benchmark]}).seconds == 0.0


def test_a_report_of_guidellm_without_a_rate_or_a_benchmark_says_so():
    assert the_run(guidellm, GUIDELLM | {"benchmarks": []}) == "the report contains no benchmark"
    (benchmark,) = GUIDELLM["benchmarks"]
    poisson = changed(benchmark, ("config", "strategy"), {"kind": "poisson"})
    for rate in (None, 0.0, -1.0):
        path = ("metrics", "requests_per_second", "successful", "mean")
        report = GUIDELLM | {"benchmarks": [changed(poisson, path, rate)]}
        assert the_run(guidellm, report).endswith("how requests arrived: strategy poisson")
    bare = GUIDELLM | {"benchmarks": [changed(changed(benchmark, path, None), ("config",), None)]}
    assert the_run(guidellm, bare).endswith("how requests arrived: strategy missing")


# AIPerf


def average(value, **percentiles):
    return {"avg": value, **percentiles}


AIPERF = {
    "input_config": {
        "endpoint": {"model_names": ["a/b", 3], "model": "c/d"},
        "models": {"items": [{"name": "e/f"}]},
        "tokenizer": {"name": "g/h"},
        "phases": [
            {"exclude_from_results": True, "concurrency": 99},
            {"concurrency": 16},
        ],
    },
    "start_time": "2026-11-03T10:15:00",
    "request_count": average(50),
    "error_request_count": average(3),
    "benchmark_duration": average(40.0),
    "input_sequence_length": average(1000.0),
    "output_sequence_length": average(400.0),
    "output_token_throughput": average(500.0),
    "time_to_first_token": average(110.0, p50=100.0, p90=190.0, p95=195.0, p99=199.0),
    "inter_token_latency": average(21.0, p50=20.0),
    "request_latency": average(8500.0, p50=8400.0, p99=9900.0),
}
AIPERF_RUN = no_run(
    **{
        "program": "AIPerf",
        "completed": 50,
        "seconds": 40.0,
        "prompt": 1000.0,
        "output": 400.0,
        "arrivals.limit": 16,
        "ttft.mean": 0.11,
        "ttft.median": 0.1,
        "ttft.p90": 0.19,
        "ttft.p95": 0.195,
        "ttft.p99": 0.199,
        "tpot.mean": 0.021,
        "tpot.median": 0.02,
        "request.mean": 8.5,
        "request.median": 8.4,
        "request.p99": 9.9,
        "rate": 500.0,
        "failed": 3,
        "date": "2026-11-03",
        "names": ("a/b", "e/f", "g/h", "c/d"),
    }
)


def test_every_field_of_aiperf_is_read():
    assert flat(the_run(aiperf, AIPERF)) == is_approx(AIPERF_RUN)


LOAD = ("input_config", "phases", 1)


@every(
    "path,value,field,read",
    [
        (("request_count", "avg"), None, "completed", None),
        (("error_request_count",), None, "failed", 0),
        (("benchmark_duration",), None, "seconds", None),
        (("input_sequence_length",), None, "prompt", 0.0),
        (("output_sequence_length", "avg"), None, "output", 0.0),
        (LOAD, {"rate": 0.5}, "arrivals.rate", 0.5),
        (LOAD, {"rate": 0.5, "concurrency": 4}, "arrivals.limit", 4),
        (LOAD, {"request_rate": 0.5}, "arrivals.rate", 0.5),
        (LOAD, {"rate": 0.0, "concurrency": 4}, "arrivals.rate", inf),
        (LOAD, {"rate": 0.0, "concurrency": 1}, "arrivals.limit", 1),
        (("input_config", "phases"), {}, "arrivals", None),
        (("input_config", "endpoint", "model_names"), "a/b", "names", ("e/f", "g/h", "c/d")),
    ],
)
def test_edges_of_aiperf(path, value, field, read):
    run = the_run(aiperf, changed(AIPERF, path, value))
    if field == "arrivals":
        assert run.endswith("the file states neither a concurrency nor a request rate")
    else:
        assert flat(run)[field] == read


@every(
    "load",
    [
        *({name: value} for name in ("rate", "request_rate") for value in (0.0, -1.0)),
        *({"concurrency": value} for value in (0, -1)),
        {},
    ],
)
def test_a_load_of_nothing_is_none(load):
    run = the_run(aiperf, changed(AIPERF, LOAD, load))
    assert run.endswith("the file states neither a concurrency nor a request rate")


def test_two_phases_that_count_are_not_told_apart():
    phases = [{"concurrency": 4}, {"concurrency": 16}, {"exclude_from_results": True}]
    run = the_run(aiperf, changed(AIPERF, ("input_config", "phases"), phases))
    assert run.startswith("the run has 2 load phases")


SECOND = 10**9


def request(start, end, prompt=1000, output=400, **changes):
    """Return a request of AIPerf's between two seconds of some day."""
    latency = {"value": 1e3 * (end - start)}
    return {
        "metadata": {
            "request_start_ns": 1_700_000_000 * SECOND + int(start * SECOND),
            "request_end_ns": 1_700_000_000 * SECOND + int(end * SECOND),
        },
        "metrics": {
            "request_latency": latency,
            "time_to_first_token": {"value": 100.0},
            "inter_token_latency": {"value": 20.0},
            "input_sequence_length": {"value": prompt},
            "output_sequence_length": {"value": output},
        },
    } | changes


def test_every_field_of_requests_of_aiperf_is_read():
    """Three requests that overlap, from 1 s to 11 s, the longest not the last; one failed."""
    lines = [
        request(2.0, 11.0, 900, 300),
        request(1.0, 5.0, 1100, 500),
        request(3.0, 8.0, 1000, 400),
        request(0.0, 20.0, error={"code": 500}),
    ]
    assert all(aiperf.is_request(Record(1, line)) for line in lines)
    expected = no_run(
        **{
            "program": "AIPerf",
            "completed": 3,
            "seconds": 10.0,
            "prompt": 1000.0,
            "output": 400.0,
            "arrivals.rate": 0.3,
            **{f"ttft.{name}": 0.1 for name in ("mean", "median", "p90", "p95", "p99")},
            **{f"tpot.{name}": 0.02 for name in ("mean", "median", "p90", "p95", "p99")},
            "request.mean": 6.0,
            "request.median": 5.0,
            **{f"request.{name}": 9.0 for name in ("p90", "p95", "p99")},
            "rate": 120.0,
            "failed": 1,
        }
    )
    run = aiperf.run_of_requests([Record(1, line) for line in lines])
    assert flat(run) == is_approx(expected)


@every(
    "lines,sentence",
    [
        ([request(0.0, 1.0, error="x")], "no request was completed"),
        ([request(0.0, 1.0, metrics={})], "no request was completed"),
        ([request(1.0, 1.0)], "no end, no prompt or no answer"),
        ([request(2.0, 1.0)], "no end, no prompt or no answer"),
        ([request(0.0, 1.0, metadata={"request_start_ns": 1})], "no end, no prompt or no answer"),
        ([request(0.0, 1.0, metadata={"request_end_ns": 1})], "no end, no prompt or no answer"),
        ([request(0.0, 1.0, prompt=None)], "no end, no prompt or no answer"),
        ([request(0.0, 1.0, output=None)], "no end, no prompt or no answer"),
    ],
)
def test_requests_of_aiperf_that_are_no_run(lines, sentence):
    with pytest.raises(NoRunError, match=sentence):
        aiperf.run_of_requests([Record(1, line) for line in lines])


@every("time", [inf, -inf, float("nan"), "soon", None])
def test_a_time_of_a_request_that_is_none_is_left_out(time):
    odd = request(0.0, 1.0, metadata={"request_start_ns": time, "request_end_ns": time})
    run = aiperf.run_of_requests([Record(1, odd), Record(2, request(2.0, 4.0))])
    assert run.seconds == 2.0


def test_only_what_holds_metrics_is_a_request_of_aiperf():
    whole = request(0.0, 1.0)
    for key in whole:
        assert not aiperf.is_request(Record(1, {k: v for k, v in whole.items() if k != key}))


def test_a_short_run_of_aiperf_is_one():
    run = aiperf.run_of_requests([Record(1, request(0.0, 0.5))])
    assert (run.seconds, run.rate, run.arrivals.rate) == (0.5, 800.0, 2.0)


# inference-perf

STAGE = {
    "load_summary": {"requested_rate": 1.5, "concurrency": 16},
    "successes": {
        "count": 50,
        "latency": {
            "time_to_first_token": {"mean": 0.11, "median": 0.1, "p90": 0.19, "p99": 0.199},
            "time_per_output_token": {"mean": 0.021, "median": 0.02, "p95": 0.025},
            "request_latency": {"mean": 8.5, "median": 8.4},
        },
        "throughput": {"requests_per_sec": 1.25, "output_tokens_per_sec": 500.0},
        "prompt_len": {"mean": 1000.0},
        "output_len": {"mean": 390.0},
    },
    "failures": {"count": 3},
}
STAGE_RUN = no_run(
    **{
        "program": "inference-perf",
        "completed": 50,
        "seconds": 40.0,
        "prompt": 1000.0,
        "output": 390.0,
        "arrivals.limit": 16,
        "ttft.mean": 0.11,
        "ttft.median": 0.1,
        "ttft.p90": 0.19,
        "ttft.p99": 0.199,
        "tpot.mean": 0.021,
        "tpot.median": 0.02,
        "tpot.p95": 0.025,
        "request.mean": 8.5,
        "request.median": 8.4,
        "rate": 500.0,
        "failed": 3,
    }
)
CONFIG = (
    "load: {type: constant}\n"
    "server: {type: vllm, model_name: a/b, ignore_eos: true}\n"
    "tokenizer: {pretrained_model_name_or_path: c/d}\n"
    "data: {output_distribution: {mean: 400}, shared_prefix: {output_len: 300}}\n"
)


def test_every_field_of_inference_perf_is_read(tmp_path):
    stage = str(tmp_path / "stage_0_lifecycle_metrics.json")
    assert flat(the_run(inference_perf, STAGE, file=stage)) == is_approx(STAGE_RUN)
    # Its configuration asks for answers of 400 tokens: 1.25 of them a second are 500 tokens.
    (tmp_path / "config.yaml").write_text(CONFIG)
    configured = {
        "output": 400.0,
        "rate": 500.0,
        "names": ("a/b", "c/d"),
        "stated.engine": "vllm",
        "remarks": ("400 output tokens were requested, 390 retokenised",),
    }
    assert flat(the_run(inference_perf, STAGE, file=stage)) == is_approx(STAGE_RUN | configured)


@every(
    "path,value,field,read",
    [
        (("successes", "count"), None, "completed", 0),
        (("successes", "count"), None, "seconds", 0.0),
        (("successes", "throughput", "requests_per_sec"), None, "seconds", 0.0),
        (("successes", "throughput", "requests_per_sec"), 0.0, "seconds", 0.0),
        (("successes", "throughput", "requests_per_sec"), 0.5, "seconds", 100.0),
        (("successes", "prompt_len"), None, "prompt", 0.0),
        (("successes", "output_len"), None, "output", 0.0),
        (("successes", "throughput", "output_tokens_per_sec"), None, "rate", None),
        (("failures",), {}, "failed", 0),
        (("load_summary", "concurrency"), None, "arrivals.rate", 1.5),
        (("load_summary", "concurrency"), 0, "arrivals.rate", 1.5),
        (("load_summary", "concurrency"), -1, "arrivals.rate", 1.5),
        (("load_summary", "concurrency"), 1, "arrivals.limit", 1),
        (("load_summary",), {"requested_rate": 0.0}, "arrivals.rate", inf),
    ],
)
def test_edges_of_inference_perf(tmp_path, path, value, field, read):
    run = the_run(inference_perf, changed(STAGE, path, value), file=str(tmp_path / "s.json"))
    assert flat(run)[field] == read


@every(
    "before,after,field,read",
    [
        # Where the server may end answers before, they are as long as they are.
        ("ignore_eos: true", "ignore_eos: false", "output", 390.0),
        ("output_distribution: {mean: 400}, ", "", "output", 300.0),
        ("{mean: 400}, shared", "{mean: 0}, shared", "output", 300.0),
        ("{mean: 400}, shared", "{mean: 0.5}, shared", "output", 0.5),
        (
            "output_distribution: {mean: 400}, shared_prefix: {",
            "shared_prefix: {output_distribution: {mean: 200}, ",
            "output",
            200.0,
        ),
        ("type: vllm", "type: sglang", "stated.engine", "sglang"),
        ("type: vllm", "type: mock", "stated.engine", None),
        ("model_name: a/b", "model_name: 3", "names", ("c/d",)),
        ("model_name: a/b", "model_name: ''", "names", ("c/d",)),
        # Without a section on the load it is another program's.
        ("load: {type: constant}\n", "", "names", ()),
        ("load: {type: constant}\n", "load: [\n", "names", ()),
    ],
)
def test_edges_of_a_configuration_of_inference_perf(tmp_path, before, after, field, read):
    (tmp_path / "reports").mkdir(exist_ok=True)
    (tmp_path / "config.yaml").write_text(CONFIG.replace(before, after))
    stage = str(tmp_path / "reports" / "stage_0.json")
    assert flat(the_run(inference_perf, STAGE, file=stage)).get(field) == read


def test_a_summary_of_all_stages_is_none(tmp_path):
    run = the_run(inference_perf, changed(STAGE, ("load_summary", "requested_rate"), None))
    assert run == "a summary of all stages, which have different loads"


# llama-bench

LLAMA = {
    "build_commit": "5a32f10",
    "test_time": "2026-11-03T10:15:00Z",
    "backends": "CUDA",
    "gpu_info": "NVIDIA GeForce RTX 4090",
    "model_filename": "models/Qwen2.5-7B-Instruct-Q4_K_M.gguf",
    "model_type": "qwen2 7B Q4_K - Medium",
    "model_size": 4_600_000_000,
    "model_n_params": 7_600_000_000,
    "n_gpu_layers": 99,
    "n_ubatch": 512,
    "type_k": "f16",
    "type_v": "f16",
    "n_prompt": 0,
    "n_gen": 128,
    "n_depth": 4096,
    "avg_ts": 128.5,
    "stddev_ts": 1.25,
}


def benched(catalogue, changes, options=None, line=5):
    """Return the point of a test, or why it is none."""
    record = Record(line, LLAMA | changes)
    assert llama_bench.is_result(record)
    (result,) = llama_bench.measurements(record, Options(options or {}, NameLookup(catalogue)))
    return result


def test_every_field_of_llama_bench_is_read(catalogue):
    point = benched(catalogue, {})
    assert point == Point(
        id="",
        source="llama-bench",
        url="",
        date="2026-11-03",
        hardware="rtx-4090",
        chips=1,
        model="qwen2.5-7b",
        engine="llama-cpp",
        weights="q4_k_m",
        kv="fp16",
        tp=1,
        ep=None,
        pp=1,
        dp=1,
        concurrency=1,
        prompt=4096.0,
        output=128.0,
        metric="tokens_per_s_per_user",
        value=128.5,
        tokens_per_pass=1.0,
        measured_by="",
        # 128 tokens after 4,096: 4,160 on average.
        notes="kind=decode_batch1; mean context 4160; +- 1.25; build 5a32f10; "
        "NVIDIA GeForce RTX 4090; qwen2 7B Q4_K - Medium",
        line=5,
    )
    prompt = benched(catalogue, {"n_prompt": 512, "n_gen": 0, "n_depth": 0})
    assert (prompt.metric, prompt.prompt, prompt.output) == ("prefill_tokens_per_s", 512.0, 0.0)
    assert prompt.notes.startswith("kind=prefill; n_ubatch 512; +- 1.25; build 5a32f10; NVIDIA")


@every(
    "changes,words",
    [
        ({"stddev_ts": None, "build_commit": ""}, "mean context 4160; NVIDIA"),
        ({"n_depth": None}, "mean context 64; "),
        ({"n_depth": 0, "n_gen": 1}, "mean context 0.5; "),
        ({"n_prompt": 1, "n_gen": 0, "n_depth": 0}, "kind=prefill; n_ubatch 512; "),
        ({"n_prompt": 1, "n_gen": 0, "n_depth": None, "n_ubatch": None}, "n_ubatch not stated; "),
        ({"avg_ts": 0.5, "n_cpu_moe": 0}, "kind=decode_batch1; "),
        ({"tensor_buft_overrides": "none", "no_kv_offload": False}, "kind=decode_batch1; "),
        ({"n_gpu_layers": -1}, "kind=decode_batch1; "),
        ({"n_gpu_layers": 0, "backends": "CPU"}, "kind=decode_batch1; "),
    ],
)
def test_edges_of_llama_bench(catalogue, changes, words):
    assert words in benched(catalogue, changes).notes


@every(
    "changes,words",
    [
        ({"avg_ts": None}, "avg_ts is not above 0"),
        ({"avg_ts": -1.0}, "avg_ts is not above 0"),
        ({"n_gen": -1}, "n_prompt and n_gen are both 0"),
        ({"n_prompt": -1}, "n_prompt and n_gen are both 0"),
        ({"n_depth": -1}, "n_prompt and n_gen are both 0"),
        ({"n_prompt": None, "n_gen": None}, "n_prompt and n_gen are both 0"),
        ({"n_prompt": 1, "n_gen": 1}, "a pg test mixes prompt and generated tokens"),
        ({"n_prompt": 1, "n_gen": 0, "n_depth": 1}, "a prompt after 1 tokens of depth"),
        ({"n_cpu_moe": 1}, "experts are computed on the host"),
        ({"n_gpu_layers": 1}, "1 of 28 layers and the output are on the GPU"),
    ],
)
def test_a_test_of_llama_bench_that_is_no_point(catalogue, changes, words):
    assert words in benched(catalogue, changes)


RTX, OTHER = "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3090"


@every(
    "changes,chips",
    [
        ({"gpu_info": f"{RTX}, {RTX}, {RTX}"}, 3),
        ({"gpu_info": f"{RTX},,{RTX}, "}, 2),
        ({"gpu_info": f"{RTX}, {RTX}, {RTX}", "tensor_split": "1.00/1.00/0.00"}, 2),
        ({"gpu_info": f"{RTX}, {RTX}", "tensor_split": "1.00/1.00/1.00"}, 2),
        ({"gpu_info": f"{RTX}, {RTX}, {RTX}", "devices": "CUDA0/CUDA1"}, 2),
        ({"gpu_info": f"{RTX}, {RTX}", "devices": "none"}, 2),
        ({"gpu_info": f"{RTX}, {RTX}", "split_mode": "none", "main_gpu": 1}, 1),
        ({"gpu_info": f"{RTX}, {OTHER}", "split_mode": "none"}, 1),
        ({"gpu_info": f"{RTX}, {OTHER}", "split_mode": "none", "main_gpu": 2}, 1),
        ({"gpu_info": f"{RTX}, {OTHER}", "split_mode": "none", "main_gpu": -1}, 1),
        ({"gpu_info": f"{OTHER}, {RTX}", "split_mode": "none", "main_gpu": 1}, 1),
        ({"gpu_info": f"{RTX}, {RTX}, {RTX}", "devices": "auto", "tensor_split": "1/1"}, 2),
        # One GPU of two backends is one; a CPU or its BLAS lists none.
        ({"backends": "CUDA,Vulkan"}, 1),
        ({"gpu_info": f"{RTX}, {RTX}", "backends": "CUDA,BLAS,CPU"}, 2),
    ],
)
def test_gpus_that_took_part_are_counted(catalogue, changes, chips):
    point = benched(catalogue, changes)
    assert (point.hardware, point.chips, point.pp) == ("rtx-4090", chips, chips)


@every(
    "changes,options,sentence",
    [
        # GPUs of two kinds are no chip of one kind, however they are counted.
        ({"gpu_info": f"{RTX}, {OTHER}"}, {}, "several types of GPU"),
        ({"gpu_info": f"{RTX}, {OTHER}", "tensor_split": "1.00"}, {}, "several types of GPU"),
        ({"gpu_info": f"{RTX}, {OTHER}", "devices": "CUDA0"}, {}, "several types of GPU"),
        ({"gpu_info": f"{RTX}, {RTX}", "backends": "CUDA,Vulkan"}, {}, "may list one GPU twice"),
        ({"gpu_info": ""}, {"hardware": "rtx-4090"}, "states no number of chips"),
        # 4.6 GB of 7.6 G parameters are 4.84 bits each: Q4_K_M to within a third, not Q8_0.
        ({"model_type": "qwen2 7B Q8_0"}, {}, "should have 8.5 bits per weight, but the file has 4.8"),
        ({"model_size": 7_000_000_000}, {}, "bits per weight, but the file has 7.37"),
        ({"model_size": 3_000_000_000}, {}, "bits per weight, but the file has 3.16"),
        ({"type_v": "q8_0"}, {}, "keys are in 'f16' and values in 'q8_0'"),
        ({"type_k": "odd", "type_v": "odd"}, {}, "keys are in 'odd' and values in 'odd'"),
    ],
)  # fmt: skip
def test_what_a_test_of_llama_bench_leaves_open_is_asked(catalogue, changes, options, sentence):
    with pytest.raises(Unsaid) as asked:
        benched(catalogue, changes, options)
    assert sentence in str(asked.value)


@every(
    "changes,options,field,value",
    [
        ({}, {"tp": "1"}, "pp", 1),
        ({"gpu_info": f"{RTX}, {RTX}"}, {"chips": "2", "tp": "2"}, "tp", 2),
        ({"gpu_info": f"{RTX}, {OTHER}"}, {"hardware": "rtx-3090", "chips": "1"}, "chips", 1),
        ({"gpu_info": f"{RTX}, {RTX}", "backends": "CUDA,Vulkan"}, {"chips": "1"}, "chips", 1),
        ({"model_size": 0}, {}, "weights", "q4_k_m"),
        ({"model_n_params": 0}, {}, "weights", "q4_k_m"),
        ({"model_size": None}, {}, "weights", "q4_k_m"),
        ({"model_n_params": -1}, {}, "weights", "q4_k_m"),
        ({"model_type": "odd"}, {"weights": "q4_0"}, "weights", "q4_0"),
        ({"model_n_params": 1, "model_size": 0.6}, {}, "weights", "q4_k_m"),
        # An entry or a file of the user's own takes the place of a name.
        ({"model_filename": ""}, {"model": "my/model.yaml"}, "model", "my/model.yaml"),
        ({"gpu_info": "odd"}, {"hardware": "rtx-4090"}, "hardware", "rtx-4090"),
        ({"type_k": "", "type_v": ""}, {}, "kv", ""),
        ({"type_k": "odd", "type_v": "f16"}, {"kv": "fp16"}, "kv", "fp16"),
        ({}, {"engine": "ideal"}, "engine", "ideal"),
    ],
)
def test_options_complete_a_test_of_llama_bench(catalogue, changes, options, field, value):
    assert getattr(benched(catalogue, changes, options), field) == value


# JSON


def test_a_number_of_a_record_is_one():
    record = Record(
        1, {"whole": 3.0, "half": 0.5, "list": [1, [2, 3], 0.5], "odd": [1, "x"], "in": [["x"], 1]}
    )
    assert [record.count(key) for key in ("whole", "half", "none")] == [3, None, None]
    assert record.numbers("list") == [1.0, 5.0, 0.5]
    assert record.numbers("odd") == record.numbers("whole") == record.numbers("in") == []
    assert record.within("whole").data == record.within("none", "x").data == {}
    assert [inner.data for inner in Record(1, {"a": [{"b": 1}, 2]}).mappings("a")] == [{"b": 1}, {}]


@every(
    "text,lines,fault",
    [
        ('{"a": 1}', [1], None),
        ('{"a": 1}\n\n {"a": 2}\n', [1, 3], None),
        ('[{"a": 1},\n {"a": 2}]', [1, 2], None),
        ('\n\n[\n{"a": 1}\n,\n{"a": 2}\n]\n', [4, 6], None),
        ('{"a": 1}{"a": 2}', [1, 1], None),
        ('[{"a": 1},{"a": 2}]', [1, 1], None),
        ("[]", [], None),
        ('{"a": 1}\n{"a"\n', [1], (3, 1)),
        ('{"a": 1}\n 7', [1], (2, 2)),
        ('[{"a": 1}\n {"a": 2}]', [1], (2, 2)),
        ('[{"a": 1},', [1], (1, 11)),
        (" \n ", [], (1, 1)),
    ],
)
def test_each_record_has_its_line(text, lines, fault):
    found, faults = records(Text("a.json", text))
    assert [record.line for record in found] == lines
    assert [(one.line, one.column) for one in faults] == ([fault] if fault else [])


def test_a_value_has_its_place_in_a_list_of_records():
    text = '[{"a": 1},\n {"b": [{"c": 1},\n  {"c": {"d": "x"}}]}]'
    _, second = records(Text("a.json", text))[0]
    assert second.mark() == (2, 2)
    assert second.mark("b") == (2, 8)
    first, inner = second.mappings("b")
    assert (first.mark(), inner.mark(), inner.within("c").mark("d")) == ((2, 9), (3, 3), (3, 15))
    # What is not there is where it would be.
    assert inner.within("c").mark("none") == (3, 9)


def test_in_a_file_of_lines_each_record_begins_on_its_own():
    first, second = records(Text("a.jsonl", '{"a": 1}\n {"b": 2,\n"c": 3}\n'))[0]
    assert (first.mark("a"), second.mark(), second.mark("b")) == ((1, 7), (2, 2), (2, 8))
    assert second.mark("c") == (3, 6)


@every("digits,kind", [(39, int), (40, float)])
def test_a_whole_number_that_nothing_counts_is_a_float(digits, kind):
    ((record,), _) = records(Text("a.json", '{"n": ' + "9" * digits + "}"))
    assert type(record.data["n"]) is kind


def test_what_is_no_number_says_where():
    (record,), _ = records(Text("a.json", '{"a": {"b": "x"}}'))
    with pytest.raises(NoNumberError, match="b is the text 'x', not a number") as wrong:
        record.within("a").number("b")
    assert wrong.value.path == ("a", "b")


def test_json_that_nests_too_deeply_is_said():
    _, (fault,) = records(Text("a.json", '{"a":' * 100_000))
    assert "nested too deeply" in fault.message


NEEDED = [
    (vllm, VLLM, ("duration", "completed", "total_input_tokens")),
    (sglang, SGLANG, ("duration", "completed", "total_input_tokens")),
    (tensorrt_llm, TRTLLM, ("engine", "world_info", "request_info", "performance")),
    (guidellm, GUIDELLM, ("metadata", "benchmarks")),
    (aiperf, AIPERF, ("request_latency", "output_sequence_length", "request_count")),
    (inference_perf, STAGE, ("load_summary", "successes", "failures")),
    (llama_bench, LLAMA, ("avg_ts", "n_prompt", "n_gen")),
]


@every("writer,record,needed", NEEDED)
def test_a_record_without_one_of_its_keys_is_another_programs(writer, record, needed):
    assert writer.is_result(Record(1, {key: record[key] for key in (*needed, *record)}))
    for key in needed:
        assert not writer.is_result(Record(1, {k: v for k, v in record.items() if k != key}))


def test_each_program_is_told_from_the_others():
    """SGLang's lines hold all that vLLM's do, and are asked first."""
    for writer, record, _ in NEEDED:
        others = [other for other, *_ in NEEDED if other.is_result(Record(1, record))]
        assert others == ([vllm, sglang] if writer is sglang else [writer])


# Folders


def folder_of(tmp_path, **files):
    for name, record in files.items():
        (tmp_path / f"{name}.json").write_text(
            record if isinstance(record, str) else json.dumps(record)
        )
    return tmp_path


@every("most,is_read", [(3, True), (2, True), (1, False)])
def test_a_folder_of_too_many_files_is_refused(catalogue, tmp_path, monkeypatch, most, is_read):
    monkeypatch.setattr(folders, "MOST_FILES", most)
    folder = folder_of(tmp_path, a=TRTLLM, b=VLLM)
    if is_read:
        found = points_in_folder(folder, catalogue=catalogue, options=ON)
        assert len(found.points) == 6
    else:
        with pytest.raises(InputError, match="contains more than 1 result files"):
            points_in_folder(folder, catalogue=catalogue, options=ON)


def test_a_whole_disk_holds_no_results(catalogue, tmp_path, monkeypatch):
    """Files of other programs count, too: it is the walk that takes its time."""
    monkeypatch.setattr(inputs, "MOST_WALKED", 100)
    folder = folder_of(tmp_path, a=VLLM)
    for count in range(99):
        (tmp_path / f"{count}.txt").touch()
    assert points_in_folder(folder, catalogue=catalogue, options=ON).points
    (tmp_path / "more").mkdir()
    with pytest.raises(InputError, match="more than 100 files; name a folder of results in it"):
        points_in_folder(folder, catalogue=catalogue, options=ON)


def test_a_table_of_points_lies_next_to_results(catalogue, tmp_path):
    """With its own columns it is read as it is; with others' it is left aside."""
    (tmp_path / "others.csv").write_text("metric,value\nx,1\n")
    row = {"id": "a", "source": "us", "date": "2026-11", "hardware": "h100-sxm", "chips": "1",
           "model": "llama-3.1-8b", "engine": "vllm", "weights": "bf16", "kv": "bf16", "tp": "1",
           "concurrency": "1", "prompt": "1000", "output": "500", "metric": "tpot_s",
           "value": "0.02", "notes": "kind=decode_batch1"}  # fmt: skip
    text = "\n".join(",".join(row.get(key, "") if at else key for key in COLUMNS) for at in (0, 1))
    (tmp_path / "points.csv").write_text("\ufeff" + text + "\n")
    found = points_in_folder(folder_of(tmp_path, a=VLLM), catalogue=catalogue, options=ON)
    assert [point.id for point in found.points][:1] == ["a"]
    assert len(found.points) == 4
    # Next to what is complete, a file that leaves something unsaid is left out by its name.
    found = points_in_folder(tmp_path, catalogue=catalogue, options={})
    assert [point.id for point in found.points] == ["a"]
    (skip,) = found.skipped
    assert skip.reason.startswith("a.json: no model of the catalogue is 'a/b'")


def test_faults_of_a_folder_are_those_of_its_files(catalogue, tmp_path):
    folder_of(tmp_path, a=VLLM, b='{"duration": ')
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "c.json").write_text("{")
    (tmp_path / "d.txt").write_text("{")
    found = points_in_folder(tmp_path, catalogue=catalogue, options=ON)
    assert len(found.points) == 3
    (fault,) = found.faults
    assert (fault.line, fault.column) == (1, 14)
    assert fault.file.endswith("b.json")


# What the user says of a file


@every(
    "stated,options,left,contradicted",
    [
        ({}, {"hardware": "h100-sxm", "tp": "2"}, {"hardware", "tp"}, {}),
        # What the file says itself is no longer asked, and said if it differs.
        ({"hardware": "h100-sxm"}, {"hardware": "H100"}, {"hardware"}, {}),
        ({"hardware": "h200-sxm"}, {"hardware": "h100"}, set(), {"hardware": "h200-sxm"}),
        ({"weights": "fp8"}, {"weights": "FP8"}, {"weights"}, {}),
        ({"weights": "fp8"}, {"weights": "bf16"}, set(), {"weights": "fp8"}),
        # A layout is the file's or the user's, as a whole; the rest is still completed.
        ({"tp": "2"}, {"pp": "2", "kv": "fp8"}, {"kv"}, {}),
        ({"tp": "2"}, {"tp": "2"}, set(), {}),
        ({"tp": "2"}, {"tp": "4"}, set(), {"tp": "2"}),
        ({"tp": ""}, {"pp": "2"}, {"pp"}, {}),
        # An entry of the user's own takes the place of a name.
        ({"hardware": "h200-sxm"}, {"hardware": "./my-chip.yaml"}, {"hardware"}, {}),
    ],
)
def test_what_the_user_says_completes_a_file(catalogue, stated, options, left, contradicted):
    said = Options(options, NameLookup(catalogue))
    assert said.left_by(stated).keys() == left
    assert (said.used, said.contradicted) == (left, contradicted)


def test_options_mean_the_same_as_names_in_a_file(catalogue, tmp_path):
    """A request that gives the names of a hub and of a driver, as its server does."""
    said = {"hardware": "NVIDIA H100 80GB HBM3", "model": "Qwen/Qwen3-8B", "engine": "vllm"}
    options = Options(said, NameLookup(catalogue))
    meant = {"hardware": "h100-sxm", "model": "qwen3-8b", "engine": "vllm"}
    assert options.left_by({}) == options.left_by(meant) == meant
    file = tmp_path / "qwen3-8b"  # a folder with the configuration of a model of the user's own
    file.mkdir()
    own = Options({"model": str(file)}, NameLookup(catalogue))
    assert own.left_by({"model": "qwen3-8b"}) == {"model": str(file)}


@every(
    "named,options,message",
    [
        ("tp 2", {"tp": "4"}, "the file states tp 2: leave out"),
        ("tp 2", {"tp": "2"}, None),
    ],
)
def test_an_option_that_only_contradicts_is_a_fault(catalogue, named, options, message):
    text = Text("a.json", json.dumps(VLLM | {"model_id": "Qwen/Qwen3-8B"}))
    for fills_gaps in (False, True):
        found = foreign_in(text, catalogue=catalogue, options=options, fills_gaps=fills_gaps)
        assert len(found.points) == 3
        expected = 1 if message and not fills_gaps else 0
        assert [message in fault.message for fault in found.faults] == [True] * expected


def test_ids_are_numbered_after_the_names_of_files(catalogue, tmp_path):
    (tmp_path / "b c").mkdir()
    lines = "\n".join(json.dumps(record) for record in (VLLM, VLLM | {"completed": 0}))
    (tmp_path / "b c" / "run (1).jsonl").write_text(lines)
    found = points_in_folder(tmp_path, catalogue=catalogue, options=ON)
    assert [point.id for point in found.points] == [f"b-c-run-1-00{n}" for n in (1, 2, 3)]
    assert [(skip.id, skip.line) for skip in found.skipped] == [("b-c-run-1-004", 2)]


@every(
    "text,options,sentence",
    [
        ("[]", {}, "a.json:1:1: the list is empty: no test was run"),
        ('{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}', {}, "its first keys: a, b, c, d"),
        ("{}", {}, "its first keys: none"),
    ],
)
def test_a_file_that_is_no_result_says_what_it_holds(catalogue, text, options, sentence):
    (fault,) = foreign_in(Text("a.json", text), catalogue=catalogue, options=options).faults
    assert str(fault).endswith(sentence)


def test_requests_of_aiperf_are_one_run_unless_their_folder_sums_them_up(catalogue, tmp_path):
    lines = "\n".join(json.dumps(request(start, start + 2.0)) for start in (0.0, 1.0))
    (tmp_path / "profile_export.jsonl").write_text(lines)
    found = points_in_folder(tmp_path, catalogue=catalogue, options=ON)
    assert {point.concurrency for point in found.points} == {1}
    assert ["summarized" in skip.reason for skip in found.skipped] == [False]
    folder_of(tmp_path, profile_export_aiperf=AIPERF)
    found = points_in_folder(tmp_path, catalogue=catalogue, options=ON)
    assert {point.concurrency for point in found.points} == {16}
    (skip,) = found.skipped
    assert "summarized in profile_export_aiperf" in skip.reason
    alone = foreign_in(
        Text(str(tmp_path / "profile_export.jsonl"), lines), catalogue=catalogue, options=ON
    )
    assert len(alone.points) == 2


@every("count,is_taken", [("8", True), (" 16 ", True), ("1000000", True), ("0", False),
                          ("1000001", False), ("x", False), ("-8", False), ("٨", False),
                          ("0000000008", False), ("9" * 5000, False)])  # fmt: skip
def test_a_rank_that_is_typed_is_a_number_of_chips(count, is_taken):
    if is_taken:
        assert checked({"tp": count}) == {"tp": count.strip()}
        return
    with pytest.raises(InputError, match="is not a whole number"):
        checked({"tp": count})


@every("count,ends", [(10_000, "a"), (10_001, "...")])
def test_texts_of_results_are_cut_at_ten_thousand_letters(count, ends):
    text = Record(1, {"id": "a" * count}).text("id")
    assert len(text) == 10_000
    assert text.endswith(ends)


@every(
    "server,engine",
    [
        ("vllm", "vllm"),
        ("sglang-oai-chat", "sglang"),
        ("dynamo-trt", "tensorrt-llm"),
        ("TensorRT-LLM", "tensorrt-llm"),
        ("openai", ""),
        ("strtod", ""),
    ],
)
def test_all_programs_name_servers_by_the_same_words(server, engine):
    """Backends of vllm bench serve and SGLang's bench_serving; frameworks of InferenceX."""
    assert engine_named(server) == engine
