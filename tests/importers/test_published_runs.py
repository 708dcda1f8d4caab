"""Runs in the formats that people publish in: InferenceX, llmperf, genai-bench, evalscope, and more.

Records hold round numbers under the keys of their writers, so that every expected value can be seen.
"""

import gzip
import json

import pytest

from fastcalc.errors import InputError
from fastcalc.evidence.own_rows import own_rows
from fastcalc.evidence.point import Point
from fastcalc.evidence.text_files import Text
from fastcalc.importers.any_file import read
from fastcalc.importers.foreign import Results, foreign_in
from fastcalc.importers.naming import NameLookup, Options, checkpoint_format, model_id
from tests.helpers import every, run

ON_H100 = {"hardware": "h100-sxm", "tp": "1", "model": "llama-3.1-8b"}

INFERENCEX = {
    "hw": "mi355x", "conc": 32, "image": "vllm/vllm-openai-rocm:v0.21.0",
    "model": "moonshotai/Kimi-K2.5", "infmax_model_prefix": "kimik2.5", "framework": "vllm",
    "precision": "int4", "spec_decoding": "none", "disagg": False, "isl": 8192, "osl": 1024,
    "is_multinode": False, "tp": 8, "ep": 1, "dp_attention": "false", "output_tput_per_gpu": 50.0,
    "mean_ttft": 2.5, "median_ttft": 2.0, "p99_ttft": 9.0, "mean_tpot": 0.08, "median_tpot": 0.075,
    "mean_itl": 0.08, "mean_e2el": 84.34, "median_e2el": 84.0,
}  # fmt: skip
LLMPERF = {
    "model": "meta-llama/Llama-2-70b-chat-hf", "mean_input_tokens": 550, "mean_output_tokens": 150,
    "num_concurrent_requests": 5, "results_inter_token_latency_s_mean": 0.025,
    "results_ttft_s_mean": 0.5, "results_ttft_s_quantiles_p50": 0.4,
    "results_ttft_s_quantiles_p99": 0.9, "results_end_to_end_latency_s_mean": 2.5,
    "results_number_input_tokens_mean": 550.0, "results_number_output_tokens_mean": 101.0,
    "results_number_errors": 1, "results_mean_output_throughput_token_per_s": 200.0,
    "results_num_completed_requests": 150, "results_num_completed_requests_per_min": 90.0,
}  # fmt: skip
GENAI_BENCH = {
    "aggregated_metrics": {
        "scenario": "D(100,101)", "num_concurrency": 4, "iteration_type": "num_concurrency",
        "run_duration": 20.0, "mean_output_throughput_tokens_per_s": 180.0,
        "num_error_requests": 0, "num_completed_requests": 40,
        "stats": {
            "ttft": {"mean": 0.2, "p50": 0.1, "p99": 0.4},
            "tpot": {"mean": 0.018, "p50": 0.02, "p99": 0.03},
            "e2e_latency": {"mean": 2.0, "p50": 2.1},
            "num_input_tokens": {"mean": 100.0}, "num_output_tokens": {"mean": 101.0},
        },
    },
    "_time_unit": "s",
}  # fmt: skip
EVALSCOPE_2025 = {
    "Time taken for tests (s)": 100.0, "Number of concurrency": 8, "Total requests": 80,
    "Succeed requests": 79, "Failed requests": 1, "Output token throughput (tok/s)": 160.0,
    "Average latency (s)": 10.5, "Average time to first token (s)": 0.5,
    "Average time per output token (s)": 0.05, "Average input tokens per request": 1000.0,
    "Average output tokens per request": 201.0,
}  # fmt: skip
EVALSCOPE_2026 = {
    "Test Duration (s)": 100.0, "Concurrency": 8, "Request Rate (req/s)": -1.0,
    "Total Requests": 80, "Success Requests": 79, "Failed Requests": 1,
    "Output Throughput (tok/s)": 160.0, "Avg Latency (s)": 10.5, "Avg TTFT (ms)": 500.0,
    "Avg TPOT (ms)": 50.0, "Avg Input Tokens": 1000.0, "Avg Output Tokens": 201.0,
}  # fmt: skip
LLAMA_BENCHY = {
    "version": "0.4.0", "timestamp": "2026-08-31 10:00:00Z", "latency_mode": "api",
    "latency_ms": 1.0, "model": "openai/gpt-oss-120b", "prefix_caching_enabled": False,
    "max_concurrency": 2,
    "benchmarks": [
        {
            "concurrency": 1, "context_size": 4096, "prompt_size": 2048, "response_size": 128,
            "is_context_prefill_phase": False, "pp_throughput": {"mean": 4000.0},
            "tg_throughput": {"mean": 50.0, "values": [50.0]},
            "e2e_ttft": {"mean": 1500.0, "values": [1500.0]},
        },
        {
            "concurrency": 2, "context_size": 0, "prompt_size": 2048, "response_size": 128,
            "is_context_prefill_phase": False, "tg_throughput": {"values": [78.0]},
            "tg_req_throughput": {"values": [40.0, 40.0]}, "e2e_ttft": {"values": [800.0, 900.0]},
        },
    ],
}  # fmt: skip
GENAI_PERF = {
    "request_throughput": {"unit": "requests/sec", "avg": 2.0},
    "request_latency": {"unit": "ms", "avg": 5100.0, "p50": 5000.0},
    "time_to_first_token": {"unit": "ms", "avg": 100.0, "p50": 90.0, "p99": 200.0},
    "inter_token_latency": {"unit": "ms", "avg": 10.0, "p50": 9.5},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 1000.0},
    "output_sequence_length": {"unit": "tokens", "avg": 501.0},
    "input_sequence_length": {"unit": "tokens", "avg": 200.0},
    "input_config": {"model": ["meta-llama/Llama-3.1-8B"], "streaming": True, "concurrency": 10},
}
AIPERF = GENAI_PERF | {
    "request_count": {"unit": "requests", "avg": 20.0},
    "benchmark_duration": {"unit": "sec", "avg": 10.0},
}
VLLM = {
    "model_id": "/m/models--openai--gpt-oss-120b/snapshots/b5c9/", "request_rate": "inf",
    "max_concurrency": 4, "num_prompts": 40, "completed": 40, "duration": 50.0,
    "total_input_tokens": 40_000, "total_output_tokens": 4_040, "output_throughput": 80.0,
    "mean_ttft_ms": 100.0, "median_ttft_ms": 90.0, "mean_tpot_ms": 10.0, "median_tpot_ms": 9.0,
    "mean_e2el_ms": 1100.0,
}  # fmt: skip
WRITTEN = [
    INFERENCEX, LLMPERF, GENAI_BENCH, EVALSCOPE_2025, EVALSCOPE_2026, LLAMA_BENCHY, GENAI_PERF,
    AIPERF, VLLM,
]  # fmt: skip


def points_in(catalogue, *records, options=ON_H100):
    text = "\n".join(json.dumps(record) for record in records)
    return foreign_in(Text("run.json", text), catalogue=catalogue, options=options, fills_gaps=True)


def values(measured):
    """Metric, value to five digits, requests in flight, prompt and output of each point."""
    return [
        (point.metric, float(f"{point.value:.5g}"), point.concurrency, point.prompt, point.output)
        for point in measured.demand()
    ]


@every(
    "record,expected",
    [
        # 50 tokens/s a GPU on 8; medians in seconds.
        (INFERENCEX, [("tpot_s", 0.075, 32, 8192, 1024), ("ttft_s", 2.0, 32, 8192, 1024),
                      ("tokens_per_s_total", 400.0, 32, 8192, 1024)]),
        # (2.5 - 0.5) s over 100 tokens; the file's 25 ms count the first token, too.
        (LLMPERF, [("tpot_s", 0.02, 5, 550, 101), ("ttft_s", 0.4, 5, 550, 101),
                   ("tokens_per_s_total", 200.0, 5, 550, 101)]),
        (GENAI_BENCH, [("tpot_s", 0.02, 4, 100, 101), ("ttft_s", 0.1, 4, 100, 101),
                       ("tokens_per_s_total", 180.0, 4, 100, 101)]),
        (EVALSCOPE_2025, [("tpot_s", 0.05, 8, 1000, 201), ("ttft_s", 0.5, 8, 1000, 201),
                          ("tokens_per_s_total", 160.0, 8, 1000, 201)]),
        (EVALSCOPE_2026, [("tpot_s", 0.05, 8, 1000, 201), ("ttft_s", 0.5, 8, 1000, 201),
                          ("tokens_per_s_total", 160.0, 8, 1000, 201)]),
        # 50 tokens/s alone after 6,144 tokens, 40 each of two.
        (LLAMA_BENCHY, [("tpot_s", 0.02, 1, 6144, 128), ("ttft_s", 1.5, 1, 6144, 128),
                        ("tpot_s", 0.025, 2, 2048, 128), ("ttft_s", 0.85, 2, 2048, 128)]),
        (GENAI_PERF, [("tpot_s", 0.0095, 10, 200, 501), ("ttft_s", 0.09, 10, 200, 501),
                      ("tokens_per_s_total", 1000.0, 10, 200, 501)]),
        (VLLM, [("tpot_s", 0.009, 4, 1000, 101), ("ttft_s", 0.09, 4, 1000, 101),
                ("tokens_per_s_total", 80.0, 4, 1000, 101)]),
    ],
)  # fmt: skip
def test_a_published_run_has_the_rates_of_its_file(catalogue, record, expected):
    assert values(points_in(catalogue, record)) == expected


def test_a_row_of_inferencex_names_chip_engine_and_layout(catalogue):
    point = points_in(catalogue, INFERENCEX, options={}).demand()[0]
    assert (point.hardware, point.engine, point.model) == ("mi355x", "vllm", "kimi-k2.5")
    assert (point.chips, point.tp, point.dp, point.ep) == (8, 8, 1, 1)
    assert point.tokens_per_pass == 1.0
    changes = {"dp_attention": "true", "framework": "dynamo-sglang", "hw": "h200-cw", "ep": 8}
    point = points_in(catalogue, INFERENCEX | changes, options={}).demand()[0]
    assert (point.hardware, point.engine) == ("h200-sxm", "sglang")
    assert (point.chips, point.tp, point.dp, point.ep) == (8, 1, 8, 8)
    metrics = {"median_tpot": 0.05, "output_tput_per_gpu": 10.0}
    row = {key: value for key, value in INFERENCEX.items() if not key.startswith(("mean", "med"))}
    row |= {"metrics": metrics, "decode_tp": 4, "num_decode_gpu": 4, "hardware": "b200"}
    del row["hw"], row["tp"]
    point, rate = points_in(catalogue, row, options={}).demand()
    assert (point.hardware, point.chips, point.value, rate.value) == ("b200", 4, 0.05, 40.0)


def test_a_pool_that_decodes_alone_has_no_time_to_first_token(catalogue):
    split = {
        "disagg": True, "is_multinode": True, "decode_tp": 8, "decode_ep": 8, "decode_num_workers": 2,
        "decode_dp_attention": "true", "num_decode_gpu": 16, "num_prefill_gpu": 8, "decode_hw": "gb200",
    }  # fmt: skip
    measured = points_in(catalogue, INFERENCEX | split, options={})
    (point,) = measured.demand()
    assert (point.metric, point.value, point.hardware) == ("tpot_s", 0.075, "gb200")
    assert (point.chips, point.tp, point.dp, point.ep) == (16, 1, 16, 8)
    assert "inter-token: other chips compute the prompts" in point.notes
    assert "disaggregated prefill" in measured.skipped[0].reason


@every(
    "record,changes,reason",
    [
        (INFERENCEX, {"isl": None, "scenario_type": "agentic-coding"}, "an agentic run"),
        (LLMPERF, {"num_concurrent_requests": None}, "number of concurrent requests"),
        (GENAI_BENCH, {"_time_unit": "min"}, "times are in min"),
        (EVALSCOPE_2025, {"Number of concurrency": 0, "Total requests": 0}, "concurrent requests"),
        (LLAMA_BENCHY, {"benchmarks": []}, "contains no benchmark"),
        (GENAI_PERF, {"input_config": {}}, "neither a concurrency"),
        (GENAI_PERF, {"input_config": {"concurrency": 1, "output_tokens_mean": 100}}, "501 tokens per answer, but 100"),
        ({}, {"ttft_s": 1.0, "end_to_end_latency_s": 2.0, "number_output_tokens": 9}, "_summary.json"),
    ],
)  # fmt: skip
def test_a_run_that_is_no_point_says_why(catalogue, record, changes, reason):
    measured = points_in(catalogue, record | changes)
    assert not measured.demand()
    assert reason in measured.skipped[0].reason


def test_weights_of_other_bits_than_those_published_are_asked_for(catalogue):
    fp4 = INFERENCEX | {"precision": "fp4", "model": "deepseek-ai/DeepSeek-R1-0528"}
    sentence = points_in(catalogue, fp4, options={}).sentences()[0]
    assert "weights of 4 bits, but deepseek-r1 is read as fp8: give" in sentence
    assert points_in(catalogue, fp4, options={"weights": "nvfp4"}).demand()[0].weights == "nvfp4"
    named = fp4 | {"model": "nvidia/DeepSeek-R1-0528-FP4-V2"}
    stored = points_in(catalogue, named, options={}).demand()[0].weights
    assert stored == checkpoint_format("nvidia/DeepSeek-R1-0528-FP4-V2")
    published = fp4 | {"model": "openai/gpt-oss-120b"}
    assert points_in(catalogue, published, options={}).demand()[0].weights == ""


@every(
    "record,changes,kept,words",
    [
        (VLLM, {"mean_itl_ms": 10.0}, None, None),
        (VLLM, {"mean_itl_ms": 12.9}, None, None),
        (VLLM, {"mean_itl_ms": 25.0}, 2.5, "speculation inferred, 2.5 tokens per chunk"),
        (VLLM, {"spec_decode_acceptance_length": 2.5}, 2.5, "speculated, 2.5 tokens per pass"),
        (INFERENCEX, {"mean_itl": 0.8}, 1.0, None),  # it streams ten passes at a time
        (INFERENCEX, {"mean_itl": 0.24, "spec_decoding": "mtp"}, 3.0, "3 tokens per chunk"),
        (INFERENCEX, {"mean_itl": None, "spec_decoding": "mtp"}, None, "tokens per pass not stated"),
        (AIPERF, {"inter_chunk_latency": {"unit": "ms", "avg": 30.0}}, 3.0, "3 tokens per chunk"),
        (AIPERF, {"inter_chunk_latency": {"unit": "us", "avg": 30e3}}, 3.0, "3 tokens per chunk"),
    ],
)  # fmt: skip
def test_tokens_in_a_chunk_are_said_to_be_speculated(catalogue, record, changes, kept, words):
    for point in points_in(catalogue, record | changes).demand():
        assert point.tokens_per_pass == (None if kept is None else pytest.approx(kept, rel=2e-3))
        assert ("specul" in point.notes) == (words is not None)
        assert words is None or words in point.notes
        assert point.is_speculation_inferred == ("inferred" in point.notes)


@pytest.fixture
def speculated(tmp_path):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(VLLM | {"mean_itl_ms": 30.0}))
    return path


def test_a_speculated_run_is_not_believed_as_a_plain_one(
    catalogue, speculated, capsys, monkeypatch
):
    fixtures = {"capsys": capsys, "monkeypatch": monkeypatch}
    server = ("--hardware", "h100-sxm", "--tp", "2")
    scored = run("validate", speculated, *server, **fixtures)
    assert scored.code == 0
    assert "3 measurements used speculative decoding: 3 tokens per chunk" in " ".join(
        scored.out.split()
    )
    why = "none of its rows can be used: a run with speculative"
    asked = ("compare", "gpt-oss-120b", "--on", "h100-sxm", "--tp", "2", "--like", speculated)
    for command in (("calibrate", speculated, *server), asked):
        refused = run(*command, **fixtures)
        assert (refused.code, why in refused.err) == (2, True)
    measured = read(speculated, catalogue=catalogue, options={"hardware": "h100-sxm", "tp": "2"})
    with pytest.raises(InputError, match=why):
        own_rows(measured, catalogue, catalogue.engine("vllm"), speculated, any_engine=True)
    speculated.write_text(json.dumps(INFERENCEX | {"spec_decoding": "mtp", "mean_itl": None}))
    scored = run("validate", speculated, **fixtures)
    assert "speculative decoding without stated tokens per step" in " ".join(scored.out.split())


def test_what_lies_alongside_completes_a_run(catalogue, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(GENAI_BENCH | {"_time_unit": "ms"}))
    experiment = {
        "model": "chat", "server_model_tokenizer": "meta-llama/Llama-3.1-8B-Instruct",
        "server_engine": "SGLang", "server_gpu_type": "H100 SXM", "server_gpu_count": "2",
    }  # fmt: skip
    (tmp_path / "experiment_metadata.json").write_text(json.dumps(experiment))
    point = read(path, catalogue=catalogue).demand()[0]
    assert (point.model, point.engine, point.hardware) == ("llama-3.1-8b", "sglang", "h100-sxm")
    assert (point.chips, point.value) == (2, pytest.approx(20e-6))

    path = tmp_path / "benchmark_summary.json"
    path.write_text(json.dumps(EVALSCOPE_2026))
    (tmp_path / "benchmark_args.json").write_text('{"model": "Qwen/Qwen2.5-7B-Instruct"}')
    rows = [
        {"Percentiles": "50%", "TTFT (ms)": 400.0, "TPOT (ms)": 49.0},
        {"Percentiles": "99%", "TTFT (ms)": 900.0, "TPOT (ms)": "n/a"},
        {"Percentiles": "max", "TTFT (ms)": 990.0},
    ]
    (tmp_path / "benchmark_percentile.json").write_text(json.dumps(rows))
    given = {"hardware": "h100-sxm", "tp": "1"}
    tpot, ttft, _ = read(path, catalogue=catalogue, options=given).demand()
    assert (tpot.model, tpot.value, ttft.value) == ("qwen2.5-7b", 0.049, 0.4)
    assert ttft.notes.endswith("p99 900 ms")
    for name in ("benchmark_percentile.json", "benchmark_args.json"):
        (tmp_path / name).write_bytes(b"\xff{[")  # what cannot be read says nothing
    options = given | {"model": "qwen2.5-7b"}
    assert read(path, catalogue=catalogue, options=options).demand()[0].value == 0.05


def test_a_prompt_behind_cached_context_has_no_time_to_first_token(catalogue):
    cached = json.loads(json.dumps(LLAMA_BENCHY)) | {"prefix_caching_enabled": True}
    cached["benchmarks"][1] = cached["benchmarks"][0] | {"is_context_prefill_phase": True}
    points = points_in(catalogue, cached).demand()
    assert [(point.metric, point.prompt) for point in points] == [
        ("tpot_s", 6144), ("tpot_s", 4096), ("ttft_s", 4096)
    ]  # fmt: skip


def test_an_odd_value_refuses_its_record_alone(catalogue):
    measured = points_in(catalogue, VLLM, VLLM | {"mean_ttft_ms": "fast"}, VLLM)
    assert len(measured.demand()) == 6
    (odd,) = measured.skipped
    assert odd.reason.startswith("run.json:2:")
    assert odd.reason.endswith("mean_ttft_ms is the text 'fast', not a number")
    assert (
        "mean_ttft_ms is the text"
        in points_in(catalogue, VLLM | {"mean_ttft_ms": "x"}).sentences()[0]
    )
    report = json.loads(json.dumps(LLAMA_BENCHY))
    report["benchmarks"][0]["concurrency"] = "one"
    measured = points_in(catalogue, report)
    assert {point.concurrency for point in measured.demand()} == {2}
    assert "concurrency is the text 'one'" in measured.skipped[0].reason
    assert points_in(
        catalogue, GENAI_PERF | {"request_latency": {"unit": "parsec", "avg": 1.0}}
    ).faults


def test_a_packed_file_is_read_and_a_cut_one_refused(catalogue, tmp_path):
    path = tmp_path / "run.json.gz"
    packed = gzip.compress(json.dumps(VLLM).encode())
    path.write_bytes(packed)
    given = {"hardware": "h100-sxm", "tp": "1"}
    assert len(read(path, catalogue=catalogue, options=given).demand()) == 3
    path.write_bytes(packed[:-20])
    with pytest.raises(InputError, match="damaged or truncated gzip"):
        read(path, catalogue=catalogue, options=given)


def test_a_path_of_the_cache_is_its_repository(catalogue):
    cached = "/root/.cache/huggingface/hub/models--Qwen--Qwen3-32B-FP8/snapshots/0a1b2c"
    assert (model_id(cached, catalogue), checkpoint_format(cached)) == ("qwen3-32b", "fp8")


STRANGE = (None, "x", [], {}, float("nan"), -1.0, 0, 1e308, True)


def paths_of(value, path=()):
    """Yield every path through the mappings and lists of a value."""
    if path:
        yield path
    members = dict(enumerate(value)) if isinstance(value, list) else value
    for step, member in members.items() if isinstance(members, dict) else ():
        yield from paths_of(member, (*path, step))


@pytest.mark.thorough
@every("number", range(len(WRITTEN)))
def test_any_value_anywhere_is_a_point_or_a_sentence(catalogue, number):
    names = NameLookup(catalogue)
    for place, path in enumerate(paths_of(WRITTEN[number])):
        report = json.loads(json.dumps(WRITTEN[number]))
        *steps, last = path
        value = report
        for step in steps:
            value = value[step]
        value[last] = STRANGE[place % len(STRANGE)]
        results = Results(Options(ON_H100, names))
        results.take(Text(f"{place}.json", json.dumps(report)))
        assert results.measured or results.faults or results.odd or results.unsaid, path
        assert all(
            0 < point.value < float("inf")
            for _, _, point in results.measured
            if isinstance(point, Point)
        ), path
