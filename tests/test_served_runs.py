"""Runs of benchmarks of servers, whoever wrote them, as measured points.

Files under ``measured/`` are as their publishers have them, cut down to a few runs:

- ``sglang-h200.jsonl``: datacrunch-research/h200-benchmarks at c091ef5, ``sglang/outputs``: Llama
  3.3 70B on four H200, its script says.
"""

import json
from pathlib import Path

import pytest

from fastcalc.evidence.text_files import Text
from fastcalc.importers.any_file import read
from fastcalc.importers.foreign import foreign_in
from fastcalc.mentions import as_flags

HERE = Path(__file__).parent / "measured"
ON_H100 = {"hardware": "h100-sxm", "chips": "1", "model": "llama-3.1-8b"}
SGLANG = {
    "backend": "sglang-oai",
    "request_rate": float("inf"),
    "max_concurrency": 16,
    "duration": 100.0,
    "completed": 160,
    "total_input_tokens": 160_000,
    "total_output_tokens": 80_000,
    "output_throughput": 800.0,
    "mean_e2e_latency_ms": 10_080.0,
    "mean_ttft_ms": 100.0,
    "median_ttft_ms": 100.0,
    "mean_tpot_ms": 20.0,
    "median_tpot_ms": 19.5,
    "p99_ttft_ms": 150.0,
    "accept_length": None,
}


def points_in(catalogue, *runs, options=None):
    text = "\n".join(json.dumps(run) for run in runs)
    return foreign_in(Text("run.jsonl", text), catalogue=catalogue, options=options or ON_H100)


def by_metric(measured):
    return {point.metric: point for point in measured.demand()}


def test_lines_of_sglang_are_sglangs(catalogue):
    options = {"hardware": "h200-sxm", "tp": "4", "model": "llama-3.1-70b"}
    measured = read(HERE / "sglang-h200.jsonl", catalogue=catalogue, options=options)
    points = measured.demand()
    assert {(point.engine, point.source) for point in points} == {
        ("sglang", "sglang.bench_serving")
    }
    # 300 requests in 298.3676 s, each 7.8406 s: 7.88 in flight; 152,612 prompt tokens.
    slow = [point for point in points if point.line == 1]
    assert [(point.metric, point.concurrency) for point in slow] == [("tpot_s", 8), ("ttft_s", 8)]
    assert slow[0].prompt == pytest.approx(152_612 / 300)
    # The lines have no time per token: (7,819.05 - 85.75) ms over 534.49 - 1 tokens.
    assert slow[0].value == pytest.approx(14.496e-3, rel=1e-4)
    assert "the file says none" in slow[0].notes
    assert slow[1].value == pytest.approx(85.745e-3, rel=1e-4)
    # 1,200 in 296.8567 s, each 12.8963 s: 52.1 in flight, enough for a throughput.
    busy = [point for point in points if point.line == 2]
    assert {point.concurrency for point in busy} == {52}
    assert busy[2].value == pytest.approx(2047.9, rel=1e-4)
    # All at once: neither the queue nor times per token from medians are points.
    (saturated,) = [point for point in points if point.line == 3]
    assert (saturated.kind, saturated.value) == ("e2e_saturated", pytest.approx(4520.7, rel=1e-4))


def test_a_line_of_sglang_says_clients_and_speculation(catalogue):
    points = by_metric(points_in(catalogue, SGLANG | {"accept_length": 2.5}))
    assert {point.concurrency for point in points.values()} == {16}
    assert points["tpot_s"].value == pytest.approx(0.0195)
    assert points["ttft_s"].notes.endswith("p99 150 ms")
    assert {point.tokens_per_pass for point in points.values()} == {2.5}


def test_what_a_server_says_of_itself_is_its_layout(catalogue):
    server = {
        "model_path": "Qwen/Qwen3-235B-A22B-FP8",
        "tp_size": 8,
        "dp_size": 4,
        "ep_size": 8,
        "enable_dp_attention": True,
        "kv_cache_dtype": "fp8_e4m3",
    }
    options = {"hardware": "h200-sxm"}
    point = points_in(catalogue, SGLANG | {"server_info": server}, options=options).demand()[0]
    assert (point.model, point.weights, point.kv) == ("qwen3-235b-a22b", "fp8", "fp8")
    assert (point.chips, point.tp, point.dp, point.ep, point.pp) == (8, 2, 4, 8, 1)


def test_a_trace_has_the_requests_in_flight_that_were_measured(catalogue):
    trace = SGLANG | {"request_rate": "trace", "max_concurrency": None, "concurrency": 30.4}
    assert {point.concurrency for point in points_in(catalogue, trace).demand()} == {30}


@pytest.mark.parametrize(("chunk", "value"), [(1, 19.5e-3), (2, 20e-3), (0.01, 20e-3)])
def test_a_time_per_token_that_contradicts_the_request_is_computed_again(catalogue, chunk, value):
    # (10,080 - 100) ms over 499 tokens are 20 ms.
    written = {"mean_tpot_ms": 20.0 / chunk, "median_tpot_ms": 19.5 / chunk}
    point = by_metric(points_in(catalogue, SGLANG | written))["tpot_s"]
    assert point.value == pytest.approx(value)
    assert ("the file says" in point.notes) == (chunk != 1)


def test_lists_of_each_request_stand_for_medians(catalogue):
    detailed = {
        "backend": "vllm",
        "request_rate": "inf",
        "max_concurrency": 2,
        "duration": 10.0,
        "completed": 3,
        "total_input_tokens": 300,
        "total_output_tokens": 33,
        "output_lens": [11, 11, 11, 0],
        "ttfts": [0.1, 0.2, 0.4, 0.0],
        "itls": [[0.1] * 10, [0.2] * 5, [0.3] * 10, []],
    }
    points = by_metric(points_in(catalogue, detailed))
    assert points["ttft_s"].value == pytest.approx(0.2)
    assert points["tpot_s"].value == pytest.approx(0.1)
    assert points["ttft_s"].notes.endswith("p90 400 ms, p95 400 ms, p99 400 ms")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"median_ttft_ms": "85"}, "run.jsonl:1:{}: median_ttft_ms is the text '85', not a number"),
        ({"duration": [1]}, "run.jsonl:1:{}: duration is a list, not a number"),
        ({"completed": True}, "run.jsonl:1:{}: completed is true, not a number"),
        ({"output_throughput": float("nan")}, "output_throughput is nan, not a finite number"),
        ({"mean_tpot_ms": 1e300}, "mean_tpot_ms is 1e+300, which is out of range"),
    ],
)
def test_a_value_that_is_no_number_has_its_place(catalogue, changes, sentence):
    (key,) = changes
    column = json.dumps(SGLANG | changes).index(f'"{key}"') + len(key) + 5
    measured = points_in(catalogue, SGLANG | changes)
    assert sentence.format(column) in as_flags(measured.sentences()[0])


def test_a_line_that_is_cut_off_keeps_those_before_it(catalogue):
    whole = json.dumps(SGLANG)
    text = Text("run.jsonl", f"{whole}\n{whole[:80]}")
    measured = foreign_in(text, catalogue=catalogue, options=ON_H100)
    assert len(measured.points) == 3
    assert measured.sentences()[0].startswith("run.jsonl:2:76: not readable as JSON")
