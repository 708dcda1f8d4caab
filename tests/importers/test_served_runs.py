"""Runs of benchmarks of servers, whoever wrote them, as measured points.

Files under ``measured/`` are as their publishers have them, cut down to a few runs and keys:

- ``sglang-h200.jsonl``: datacrunch-research/h200-benchmarks at c091ef5, ``sglang/outputs``: Llama
  3.3 70B on four H200, its script says.
- ``guidellm-xpu.json``: danielkorat/guidellm-bench at 8f24116, ``guidellm_sanity_results``.
- ``aiperf-rtx-5090.json``: anud18/qwen36-vllm-aiperf-benchmark at 0861548, ``results/nvfp4/5090``.
- ``aiperf-requests.jsonl``: the two requests of ai-dynamo/aiperf's
  ``docs/tutorials/working-with-profile-exports.md`` at 13992db.
- ``inference-perf/``: inference-sim/training at ed5c1d2, ``default_args/20260217-155451-llama-2-7b-
  tp1-codegen/results``: one H100.

``trtllm-bench.json`` holds round numbers under the keys of TensorRT-LLM's ``bench/dataclasses/
reporting.py``, so that every expected value can be seen: nobody has published a report.
"""

import json

import pytest

from fastcalc.errors import InputError
from fastcalc.evidence.point import Point
from fastcalc.evidence.text_files import Text
from fastcalc.importers.any_file import read
from fastcalc.importers.foreign import Results, foreign_in
from fastcalc.importers.naming import NameLookup, Options
from fastcalc.mentions import as_flags
from tests.helpers import ROOT

HERE = ROOT / "tests" / "measured"
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
    return foreign_in(
        Text("run.jsonl", text),
        catalogue=catalogue,
        options=ON_H100 if options is None else options,
    )


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
    assert "the file states none" in slow[0].notes
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


def test_a_report_of_tensorrt_llm_names_chip_and_layout(catalogue):
    measured = read(HERE / "trtllm-bench.json", catalogue=catalogue)
    points = by_metric(measured)
    for point in points.values():
        assert (point.hardware, point.model, point.engine) == (
            "h100-sxm",
            "llama-3.1-8b",
            "tensorrt-llm",
        )
        assert (point.chips, point.tp, point.weights, point.kv) == (2, 2, "fp8", "fp8")
        # No section on drafts, so a token a pass; 63.4 in flight of 64 clients that end unevenly.
        assert (point.tokens_per_pass, point.concurrency, point.in_flight) == (1, 64, 63.4)
    values = {metric: point.value for metric, point in points.items()}
    assert values == pytest.approx(
        {"tpot_s": 0.0199, "ttft_s": 0.095, "tokens_per_s_total": 3125.0}
    )


def test_more_requests_than_a_batch_are_a_queue(catalogue):
    report = json.loads((HERE / "trtllm-bench.json").read_text())
    report["request_info"]["avg_num_concurrent_requests"] = 15_000.0
    report["decoding_stats"] = {"acceptance_length_percentiles": {"average": 2.2}}
    measured = points_in(catalogue, report, options={})
    assert {point.kind for point in measured.points} == {"e2e_saturated"}
    assert {point.tokens_per_pass for point in measured.points} == {2.2}
    assert "mostly queueing time" in measured.skipped[0].reason


def test_streams_of_guidellm_are_the_concurrency(catalogue):
    options = {"hardware": "arc-pro-b60", "tp": "4", "model": "qwen3-8b", "weights": "fp8"}
    points = by_metric(read(HERE / "guidellm-xpu.json", catalogue=catalogue, options=options))
    assert {point.concurrency for point in points.values()} == {4}
    assert (points["ttft_s"].prompt, points["ttft_s"].output) == (99, 1024)
    assert points["ttft_s"].value == pytest.approx(0.17152, rel=1e-4)
    # Between tokens, as (24,909 - 172) ms over 1,023 tokens are; 24.32 counts the first one in.
    assert points["tpot_s"].value == pytest.approx(24.179e-3, rel=1e-4)
    assert points["tokens_per_s_total"].value == pytest.approx(165.595, rel=1e-4)


@pytest.mark.parametrize(
    ("strategy", "kind", "concurrency"),
    [
        ({"type_": "synchronous"}, "decode_batch1", 1),
        ({"type_": "throughput", "max_concurrency": None}, "e2e_saturated", None),
        ({"type_": "throughput", "max_concurrency": 64}, "e2e_concurrency", 64),
        ({"type_": "poisson", "rate": 2.0}, "e2e_concurrency", 4),
        ({"kind": "trace"}, "e2e_concurrency", 4),
    ],
)
def test_each_strategy_of_guidellm_says_how_requests_came(catalogue, strategy, kind, concurrency):
    report = json.loads((HERE / "guidellm-xpu.json").read_text())
    report["metadata"]["version"] = 2
    report["config"] = {"spec": {"backend": {"model": "Qwen/Qwen3-8B"}}}
    (benchmark,) = report["benchmarks"]
    benchmark["config"] = {"strategy": strategy}
    benchmark["metrics"]["requests_per_second"] = {"successful": {"mean": 0.16}}
    del report["args"]
    options = {"hardware": "arc-pro-b60", "tp": "4"}
    point = points_in(catalogue, report, options=options).demand()[0]
    assert (point.metric, point.kind, point.concurrency) == ("tpot_s", kind, concurrency)
    assert point.model == "qwen3-8b"


def test_a_time_per_token_of_guidellm_in_tenths_is_computed_again(catalogue):
    report = json.loads((HERE / "guidellm-xpu.json").read_text())
    (benchmark,) = report["benchmarks"]
    benchmark["metrics"]["inter_token_latency_ms"]["successful"] = {"mean": 0.12, "median": 0.11}
    options = {"hardware": "arc-pro-b60", "tp": "4", "model": "qwen3-8b"}
    point = by_metric(points_in(catalogue, report, options=options))["tpot_s"]
    assert point.value == pytest.approx((24_908.66 - 171.77) / 1023 / 1e3, rel=1e-4)
    assert "the file states 0.12 ms" in point.notes


def test_the_profiling_phase_of_aiperf_is_the_load(catalogue):
    options = {"hardware": "rtx-5090", "chips": "1", "model": "qwen3.5-35b-a3b"}
    measured = read(HERE / "aiperf-rtx-5090.json", catalogue=catalogue, options=options)
    points = by_metric(measured)
    for point in points.values():
        assert (point.weights, point.engine) == ("nvfp4", "")
        assert (point.model, point.concurrency, point.requests) == ("qwen3.5-35b-a3b", 16, 96)
        assert (point.date, point.prompt) == ("2026-07-03", 367.28125)
    assert points["ttft_s"].value == pytest.approx(0.1205095, rel=1e-6)
    assert points["tpot_s"].value == pytest.approx(13.2481e-3, rel=1e-5)
    assert points["tokens_per_s_total"].value == pytest.approx(1040.144, rel=1e-6)
    assert points["tpot_s"].notes.endswith("p90 14.87 ms, p95 15.48 ms, p99 30.3 ms")


def test_older_files_of_aiperf_have_a_load_generator(catalogue):
    summary = json.loads((HERE / "aiperf-rtx-5090.json").read_text())
    endpoint = {"model_names": ["Qwen/Qwen3-8B"]}
    summary["input_config"] = {"endpoint": endpoint, "loadgen": {"concurrency": 8}}
    point = points_in(catalogue, summary, options={"hardware": "rtx-5090", "chips": "1"}).points[0]
    assert (point.model, point.concurrency) == ("qwen3-8b", 8)
    summary["input_config"]["loadgen"] = {"request_rate": 5.0}
    point = points_in(catalogue, summary, options={"hardware": "rtx-5090", "chips": "1"}).points[0]
    # 96 in 18.348 s, each 2.695 s: 14.1.
    assert point.concurrency == 14


def test_requests_of_aiperf_are_one_run(catalogue):
    measured = read(HERE / "aiperf-requests.jsonl", catalogue=catalogue, options=ON_H100)
    points = by_metric(measured)
    for point in points.values():
        # Of the two requests one failed; it took 0.2975 of the 0.3059 s.
        assert (point.prompt, point.output, point.requests, point.concurrency) == (550, 9, 1, 1)
        assert "1 failed" in point.notes
    assert points["tpot_s"].value == pytest.approx(5.2048e-3, rel=1e-4)
    assert points["ttft_s"].value == pytest.approx(0.255887, rel=1e-5)


def test_a_stage_of_inference_perf_has_the_answers_that_were_configured(catalogue):
    options = {"hardware": "h100-sxm", "chips": "1"}
    measured = read(HERE / "inference-perf", catalogue=catalogue, options=options)
    points = by_metric(measured)
    for point in points.values():
        assert (point.model, point.engine, point.prompt) == ("llama-2-7b", "vllm", 591.63)
        # The text counts 193.7 tokens again; 247 were asked for, the end of text ignored.
        assert point.output == 247
        assert "193.7 retokenised" in point.notes
        # 3,000 at 4.98684 a second, each 1.81032 s: 9.03 in flight, too few for a throughput.
        assert point.concurrency == 9
    assert set(points) == {"tpot_s", "ttft_s"}
    # The file has 3.58 ms: two chunks a token. (1,810.32 - 25.04) ms over 246 are 7.257.
    assert points["tpot_s"].value == pytest.approx(7.2573e-3, rel=1e-4)
    assert "the file states 3.603 ms" in points["tpot_s"].notes
    assert points["ttft_s"].value == pytest.approx(24.261e-3, rel=1e-4)
    reasons = [skip.reason for skip in measured.skipped]
    assert "a summary of all stages, which have different loads" in reasons


def test_a_stage_without_its_configuration_has_the_lengths_of_its_texts(catalogue, tmp_path):
    stage = (HERE / "inference-perf" / "stage_0_lifecycle_metrics.json").read_text()
    (tmp_path / "stage.json").write_text(stage)
    point = read(tmp_path / "stage.json", catalogue=catalogue, options=ON_H100).demand()[0]
    assert point.output == pytest.approx(193.715, rel=1e-4)


def test_a_folder_is_one_table(catalogue, tmp_path):
    run = tmp_path / "h200" / "c16"
    run.mkdir(parents=True)
    for name in ("aiperf-requests.jsonl", "trtllm-bench.json"):
        (run / name).write_text((HERE / name).read_text())
    summary = (HERE / "aiperf-rtx-5090.json").read_text()
    (run / "profile_export_aiperf.json").write_text(summary)
    (tmp_path / "runs.jsonl").write_text(f"{json.dumps(SGLANG)}\n{json.dumps(SGLANG)}\n")
    (tmp_path / "meta.json").write_text('{"host": "a"}')
    (tmp_path / "prices.csv").write_text("chip,usd\nh100,2\n")
    (tmp_path / ".hidden.json").write_text("{")
    measured = read(tmp_path, catalogue=catalogue, options=ON_H100)
    assert [point.id for point in measured.demand()] == [
        *(f"h200-c16-profile_export_aiperf-00{n}" for n in (1, 2, 3)),
        *(f"h200-c16-trtllm-bench-00{n}" for n in (1, 2, 3)),
        *(f"runs-00{n}" for n in range(1, 7)),
    ]
    reasons = {skip.id: skip.reason for skip in measured.skipped}
    assert "summarized" in reasons["h200-c16-aiperf-requests-001"]
    assert "is not a result of vllm bench serve" in reasons["meta-001"]


def test_what_files_of_a_folder_leave_unsaid_is_asked_once(catalogue, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(SGLANG))
    (sentence,) = read(tmp_path, catalogue=catalogue, options={}).sentences()
    assert as_flags(sentence).startswith(f"{tmp_path}/a.jsonl:1:1: the file does not name the hard")
    assert sentence.endswith("(also b.jsonl)")


def test_options_complete_files_of_a_folder_and_contradict_none(catalogue, tmp_path):
    """A file that says its chip keeps it; one that nothing completes is left out, by its name."""
    whole = SGLANG | {"server_info": {"model_path": "Qwen/Qwen3-8B", "tp_size": 2}}
    (tmp_path / "a.jsonl").write_text(json.dumps(whole))
    (tmp_path / "b.jsonl").write_text(json.dumps(SGLANG))
    options = {"hardware": "h200-sxm", "model": "llama-3.1-8b"}
    measured = read(tmp_path, catalogue=catalogue, options=options)
    assert {(point.model, point.tp) for point in measured.demand()} == {("qwen3-8b", 2)}
    assert "b.jsonl: the file states no number of chips" in measured.skipped[-1].reason
    measured = read(tmp_path, catalogue=catalogue, options=options | {"chips": "1"})
    assert [point.model for point in measured.demand()][::3] == ["qwen3-8b", "llama-3.1-8b"]
    (alone,) = read(tmp_path / "a.jsonl", catalogue=catalogue, options=options).sentences()
    assert "the file states model qwen3-8b: leave out" in alone


def test_a_file_of_a_folder_that_is_cut_off_is_no_other_programs(catalogue, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(SGLANG)[:200])
    (sentence,) = read(tmp_path, catalogue=catalogue, options=ON_H100).sentences()
    assert "run.json:1:" in sentence
    assert "not readable as JSON" in sentence


def test_a_folder_without_results_is_said(catalogue, tmp_path):
    with pytest.raises(InputError, match=r"contains no \.json, \.jsonl, \.csv"):
        read(tmp_path, catalogue=catalogue)
    (tmp_path / "meta.json").write_text("{}")
    with pytest.raises(InputError, match=r"none of its .* is a CSV of points or a result of vllm"):
        read(tmp_path, catalogue=catalogue)


WRITTEN = [
    json.loads((HERE / name).read_text())
    for name in ("trtllm-bench.json", "guidellm-xpu.json", "aiperf-rtx-5090.json")
] + [json.loads((HERE / "inference-perf" / "stage_0_lifecycle_metrics.json").read_text()), SGLANG]


def paths_of(value, path=()):
    """Yield every path through the mappings and lists of a value."""
    if path:
        yield path
    members = dict(enumerate(value)) if isinstance(value, list) else value
    for step, member in members.items() if isinstance(members, dict) else ():
        yield from paths_of(member, (*path, step))


STRANGE = (None, "x", [], {}, float("nan"), -1.0, 0, 1e308, True)


@pytest.mark.parametrize("number", range(len(WRITTEN)))
def test_any_value_anywhere_is_a_point_or_a_sentence(catalogue, number):
    results = Results(Options(ON_H100, NameLookup(catalogue)))
    for place, path in enumerate(paths_of(WRITTEN[number])):
        report = json.loads(json.dumps(WRITTEN[number]))
        *steps, last = path
        value = report
        for step in steps:
            value = value[step]
        value[last] = STRANGE[place % len(STRANGE)]
        results.take(Text(f"{place}.json", json.dumps(report)))
        assert results.measured or results.faults or results.odd, path
        assert all(
            0 < point.value < float("inf")
            for _, _, point in results.measured
            if isinstance(point, Point)
        ), path
        results.measured.clear()
        results.faults.clear()
        results.odd.clear()


@pytest.mark.parametrize(("chunk", "value"), [(1, 19.5e-3), (2, 20e-3), (0.01, 20e-3)])
def test_a_time_per_token_that_contradicts_the_request_is_computed_again(catalogue, chunk, value):
    # (10,080 - 100) ms over 499 tokens are 20 ms.
    written = {"mean_tpot_ms": 20.0 / chunk, "median_tpot_ms": 19.5 / chunk}
    point = by_metric(points_in(catalogue, SGLANG | written))["tpot_s"]
    assert point.value == pytest.approx(value)
    assert ("the file states" in point.notes) == (chunk != 1)


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
