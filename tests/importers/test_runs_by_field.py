"""What each field of a result means, against results of a few numbers written out here."""

import copy
import json

from fastcalc.importers import evalscope, genai_bench, inferencex, llama_benchy, llmperf
from fastcalc.importers.json_records import NoRunError, Record
from fastcalc.importers.served_run import Arrivals, ServedRun, Times
from tests.helpers import every


def with_changes(document, changes):
    """A document with values at dotted paths replaced, or left out where None."""
    new = copy.deepcopy(document)
    for path, value in changes.items():
        *steps, last = path.split(".")
        inner = new
        for step in steps:
            inner = inner[int(step) if step.isdigit() else step]
        if value is None:
            inner.pop(last)
        else:
            inner[last] = value
    return new


def read(module, document, file="nowhere/run.json"):
    text = json.dumps(document)
    try:
        return [*module.runs(Record(1, document, text, 0, file))]
    except NoRunError as error:
        return [str(error)]


def attribute(run, name):
    for step in name.split("."):
        run = getattr(run, step)
    return run


# llama-benchy


BENCHY = {
    "latency_mode": "api",
    "prefix_caching_enabled": False,
    "model": "org/model",
    "timestamp": "2026-03-01 12:00:00",
    "benchmarks": [
        {
            "concurrency": 1,
            "context_size": 4000,
            "prompt_size": 500,
            "response_size": 32,
            "is_context_prefill_phase": False,
            "e2e_ttft": {"mean": 300.0, "values": [100.0, 200.0, 600.0]},
            "tg_throughput": {"mean": 50.0, "values": [40.0, 0.0, 50.0]},
            "tg_req_throughput": {"mean": 25.0, "values": [20.0, 25.0, 40.0]},
        }
    ],
}
RUN = "benchmarks.0."
REQUESTS = RUN + "tg_req_throughput"


@every(
    "changes,name,value",
    [
        ({}, "program", "llama-benchy"),
        ({}, "names", ("org/model",)),
        ({}, "date", "2026-03-01"),
        ({}, "prompt", 4500.0),
        ({RUN + "context_size": None}, "prompt", 500.0),
        ({RUN + "prompt_size": None}, "prompt", 4000.0),
        ({}, "output", 32.0),
        ({RUN + "response_size": None}, "output", 0.0),
        ({}, "arrivals.limit", 1),
        ({}, "ttft", Times(0.3, 0.2, {90: 0.6, 95: 0.6, 99: 0.6})),
        ({RUN + "e2e_ttft": {"mean": 300.0}}, "ttft", Times(0.3)),
        ({RUN + "e2e_ttft": {}}, "ttft", Times()),
        ({}, "remarks", ()),
        # 1/20, 1/25 and 1/40 s per token.
        ({}, "tpot.median", 0.04),
        ({REQUESTS: {"mean": 25.0}}, "tpot.mean", 0.04),
        ({REQUESTS: {"values": [0.0, 0.5]}}, "tpot", Times(2.0, 2.0, {90: 2.0, 95: 2.0, 99: 2.0})),
        # Those of all together where one came at a time; a speed of 0 is none.
        ({REQUESTS: None}, "tpot.median", 0.0225),
        ({REQUESTS: {"mean": 0.0}}, "tpot.median", 0.0225),
        ({REQUESTS: None, RUN + "concurrency": 2}, "tpot", Times()),
        # A context that is loaded, or found.
        ({RUN + "is_context_prefill_phase": True}, "prompt", 4000.0),
        ({RUN + "is_context_prefill_phase": True}, "remarks", ("the context is loaded",)),
        ({RUN + "is_context_prefill_phase": True, RUN + "context_size": 0}, "prompt", 500.0),
        ({"prefix_caching_enabled": True}, "ttft", Times()),
        ({"prefix_caching_enabled": True}, "remarks",
         ("the context was in the prefix cache, so TTFT is skipped",)),
        ({"prefix_caching_enabled": True, RUN + "context_size": 0}, "ttft.mean", 0.3),
    ],
)  # fmt: skip
def test_each_field_of_llama_benchy(changes, name, value):
    (run,) = read(llama_benchy, with_changes(BENCHY, changes))
    assert attribute(run, name) == value


@every(
    "changes,reason",
    [
        ({"benchmarks": []}, "the report contains no benchmark"),
        ({RUN + "concurrency": 0}, "the file does not state the number of concurrent requests: "
         "concurrency"),
        ({RUN + "concurrency": None}, "the file does not state the number of concurrent requests: "
         "concurrency"),
    ],
)  # fmt: skip
def test_reports_of_llama_benchy_without_a_run(changes, reason):
    assert read(llama_benchy, with_changes(BENCHY, changes)) == [reason]


@every("key", ["latency_mode", "prefix_caching_enabled", "benchmarks"])
def test_a_report_of_llama_benchy_is_known_by_its_keys(key):
    assert llama_benchy.is_result(Record(1, BENCHY))
    assert not llama_benchy.is_result(Record(1, with_changes(BENCHY, {key: None})))


# genai-bench


GENAI = {
    "aggregated_metrics": {
        "iteration_type": "num_concurrency",
        "num_concurrency": 4,
        "num_completed_requests": 120,
        "num_error_requests": 3,
        "run_duration": 60.0,
        "requests_per_minute": 240.0,
        "mean_output_throughput_tokens_per_s": 200.0,
        "stats": {
            "num_input_tokens": {"mean": 100.0},
            "num_output_tokens": {"mean": 101.0},
            "ttft": {"mean": 0.2, "p50": 0.1, "p90": 0.3, "p95": 0.4, "p99": 0.5},
            "tpot": {"mean": 0.03, "p50": 0.02},
            "e2e_latency": {"mean": 3.0, "p50": 2.5},
        },
    },
}
METRICS = "aggregated_metrics."
EXPERIMENT = {
    "server_model_tokenizer": "tokenizer",
    "api_model_name": "api",
    "model": "model",
    "server_gpu_type": "H100",
    "server_engine": "SGL",
    "server_gpu_count": 8,
}


@every(
    "changes,name,value",
    [
        ({}, "program", "genai-bench"),
        ({}, "completed", 120),
        ({}, "failed", 3),
        ({METRICS + "num_error_requests": None}, "failed", 0),
        ({}, "seconds", 60.0),
        # 120 of 240 a minute are half a minute.
        ({METRICS + "run_duration": None}, "seconds", 30.0),
        ({METRICS + "run_duration": None, METRICS + "requests_per_minute": 0.0}, "seconds", None),
        ({METRICS + "run_duration": None, METRICS + "num_completed_requests": None}, "seconds",
         None),
        ({}, "prompt", 100.0),
        ({}, "output", 101.0),
        ({METRICS + "stats.num_input_tokens": None}, "prompt", 0.0),
        ({METRICS + "stats.num_output_tokens": None}, "output", 0.0),
        ({}, "arrivals.limit", 4),
        ({}, "rate", 200.0),
        ({}, "ttft", Times(0.2, 0.1, {90: 0.3, 95: 0.4, 99: 0.5})),
        ({"_time_unit": "ms"}, "ttft.mean", 0.0002),
        ({"_time_unit": "s"}, "tpot", Times(0.03, 0.02)),
        ({}, "request", Times(3.0, 2.5)),
    ],
)  # fmt: skip
def test_each_field_of_genai_bench(changes, name, value):
    (run,) = read(genai_bench, with_changes(GENAI, changes))
    assert isinstance(run, ServedRun)
    assert attribute(run, name) == value


@every(
    "changes,reason",
    [
        ({"_time_unit": "min"}, "times are in min, which is neither s nor ms"),
        ({METRICS + "iteration_type": "batch_size"}, "a run of embeddings, which does not decode"),
        ({METRICS + "num_concurrency": 0}, "the file does not state the number of "
         "concurrent requests: num_concurrency"),
        ({METRICS + "num_concurrency": None}, "the file does not state the number of "
         "concurrent requests: num_concurrency"),
    ],
)  # fmt: skip
def test_files_of_genai_bench_without_a_run(changes, reason):
    assert read(genai_bench, with_changes(GENAI, changes)) == [reason]


@every(
    "changes,names,stated",
    [
        ({}, ("tokenizer", "api", "model"),
         {"hardware": "H100", "engine": "sglang", "chips": "8"}),
        ({"server_model_tokenizer": "", "server_engine": "trtllm", "server_gpu_count": "4"},
         ("api", "model"), {"hardware": "H100", "engine": "tensorrt-llm", "chips": "4"}),
        ({"server_engine": "other", "server_gpu_count": 1.5, "server_gpu_type": None},
         ("tokenizer", "api", "model"), {}),
    ],
)  # fmt: skip
def test_the_experiment_of_genai_bench_is_in_a_file_of_its_own(
    changes, names, stated, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("genai")
    (folder / "experiment_metadata.json").write_text(json.dumps(with_changes(EXPERIMENT, changes)))
    (run,) = read(genai_bench, GENAI, str(folder / "run.json"))
    assert (run.names, run.stated) == (names, stated)
    (alone,) = read(genai_bench, GENAI, str(folder / "elsewhere" / "run.json"))
    assert (alone.names, alone.stated) == ((), {})


# evalscope


EVALSCOPE = {
    "Test Duration (s)": 100.0,
    "Concurrency": 8,
    "Total Requests": 80,
    "Success Requests": 79,
    "Failed Requests": 1,
    "Request Rate (req/s)": -1.0,
    "Output Throughput (tok/s)": 160.0,
    "Avg Input Tokens": 1000.0,
    "Avg Output Tokens": 201.0,
    "Avg Decoded Tok/Iter": 2.5,
    "Avg TTFT (ms)": 500.0,
    "Avg TPOT (ms)": 50.0,
    "Avg ITL (ms)": 40.0,
    "Avg Latency (s)": 10.5,
}
OLD_NAMES = {
    "Test Duration (s)": "Time taken for tests (s)",
    "Concurrency": "Number of concurrency",
    "Total Requests": "Total requests",
    "Success Requests": "Succeed requests",
    "Failed Requests": "Failed requests",
    "Request Rate (req/s)": "Request rate (req/s)",
    "Output Throughput (tok/s)": "Output token throughput (tok/s)",
    "Avg Input Tokens": "Average input tokens per request",
    "Avg Output Tokens": "Average output tokens per request",
    "Avg Decoded Tok/Iter": "Average decoded tokens per iter",
    "Avg TTFT (ms)": "Average time to first token (ms)",
    "Avg TPOT (ms)": "Average time per output token (ms)",
    "Avg ITL (ms)": "Average inter-token latency (ms)",
    "Avg Latency (s)": "Average latency (s)",
}
"""Keys of 2025 by those of 2026."""


@every(
    "changes,name,value",
    [
        ({}, "program", "evalscope perf"),
        ({}, "completed", 79),
        ({}, "failed", 1),
        ({}, "seconds", 100.0),
        ({}, "prompt", 1000.0),
        ({}, "output", 201.0),
        ({}, "rate", 160.0),
        ({}, "ttft", Times(0.5)),
        ({}, "tpot", Times(0.05)),
        ({}, "request", Times(10.5)),
        ({}, "between_chunks", Times(0.04)),
        ({"Avg TTFT (ms)": None, "Avg TTFT (s)": 0.5}, "ttft", Times(0.5)),
        ({"Avg ITL (ms)": None}, "between_chunks", Times()),
        # As fast as they are answered, but no more than there are; or at a rate.
        ({}, "arrivals", Arrivals(limit=8)),
        ({"Total Requests": 4}, "arrivals", Arrivals(limit=4)),
        ({"Request Rate (req/s)": 2.5}, "arrivals", Arrivals(2.5)),
        ({"Request Rate (req/s)": None}, "arrivals", Arrivals(limit=8)),
        ({"Concurrency": None}, "arrivals", Arrivals(limit=80)),
        ({"Concurrency": None, "Total Requests": None, "Request Rate (req/s)": 2.5}, "arrivals",
         Arrivals(2.5)),
        ({}, "tokens_per_pass", 2.5),
        ({"Avg Decoded Tok/Iter": 1.0}, "tokens_per_pass", 1.0),
        ({"Avg Decoded Tok/Iter": 0.9}, "tokens_per_pass", None),
        ({"Avg Decoded Tok/Iter": None}, "tokens_per_pass", None),
        ({"Success Requests": None}, "completed", None),
        ({"Failed Requests": None}, "failed", 0),
        ({"Avg Input Tokens": None}, "prompt", 0.0),
        ({"Avg Output Tokens": None}, "output", 0.0),
    ],
)  # fmt: skip
def test_each_field_of_evalscope(changes, name, value):
    document = with_changes(EVALSCOPE, changes)
    old = {OLD_NAMES.get(key, key): number for key, number in document.items()}
    for each in (document, old):
        (run,) = read(evalscope, each)
        assert attribute(run, name) == value


def test_summaries_of_evalscope_without_a_run():
    for changes in (
        {"Concurrency": None, "Total Requests": None},
        {"Concurrency": 0.5},
        {"Concurrency": None, "Total Requests": 0},
    ):
        reason = "the file does not state the number of concurrent requests"
        assert read(evalscope, with_changes(EVALSCOPE, changes)) == [reason]
    assert evalscope.is_result(Record(1, EVALSCOPE))
    for key in ("Concurrency", "Success Requests"):
        assert not evalscope.is_result(Record(1, with_changes(EVALSCOPE, {key: None})))


def test_percentiles_of_evalscope_are_in_a_table_next_to_it(tmp_path):
    rows = [
        {"Percentiles": f"{percentile}%", "TTFT (s)": percentile / 100, "TPOT (ms)": percentile,
         "Latency (s)": percentile}
        for percentile in (10, 50, 90, 95, 99)
    ]  # fmt: skip
    rows += [{"Percentiles": "100%", "TTFT (s)": 9.0}, {"Percentiles": "x", "TTFT (s)": 9.0}]
    rows += [{"Percentiles": "98%", "TTFT (s)": "-"}]
    (tmp_path / "benchmark_percentile.json").write_text(json.dumps(rows))
    arguments = {"model": "org/model", "tokenizer_path": "org/tokenizer"}
    (tmp_path / "benchmark_args.json").write_text(json.dumps(arguments))
    (run,) = read(evalscope, EVALSCOPE, str(tmp_path / "benchmark_summary.json"))
    assert run.names == ("org/model", "org/tokenizer")
    assert run.ttft == Times(0.5, 0.5, {90: 0.9, 95: 0.95, 99: 0.99})
    assert run.tpot == Times(0.05, 0.05, {90: 0.09, 95: 0.095, 99: 0.099})
    assert run.request == Times(10.5, 50.0, {90: 90.0, 95: 95.0, 99: 99.0})


# llmperf


LLMPERF = {
    "model": "org/model",
    "num_concurrent_requests": 4,
    "mean_input_tokens": 550,
    "mean_output_tokens": 150,
    "results_num_completed_requests": 100,
    "results_num_completed_requests_per_min": 50.0,
    "results_number_errors": 2,
    "results_mean_output_throughput_token_per_s": 300.0,
    "results_number_input_tokens_mean": 540.0,
    "results_number_output_tokens_mean": 140.0,
    "results_ttft_s_mean": 0.5,
    "results_ttft_s_quantiles_p50": 0.4,
    "results_ttft_s_quantiles_p90": 0.8,
    "results_end_to_end_latency_s_mean": 5.0,
    "results_end_to_end_latency_s_quantiles_p50": 4.0,
    "results_end_to_end_latency_s_quantiles_p99": 9.0,
}


@every(
    "changes,name,value",
    [
        ({}, "program", "llmperf"),
        ({}, "names", ("org/model",)),
        ({}, "completed", 100),
        ({}, "failed", 2),
        ({"results_number_errors": None}, "failed", 0),
        # 100 of 50 a minute.
        ({}, "seconds", 120.0),
        ({"results_num_completed_requests_per_min": 0.0}, "seconds", None),
        ({"results_num_completed_requests_per_min": None}, "seconds", None),
        ({"results_num_completed_requests": None}, "seconds", None),
        ({}, "prompt", 540.0),
        ({"results_number_input_tokens_mean": None}, "prompt", 550.0),
        ({}, "output", 140.0),
        ({"results_number_output_tokens_mean": None}, "output", 150.0),
        ({"results_number_output_tokens_mean": None, "mean_output_tokens": None}, "output", 0.0),
        ({}, "arrivals", Arrivals(limit=4)),
        ({}, "rate", 300.0),
        ({}, "ttft", Times(0.5, 0.4, {90: 0.8})),
        ({}, "tpot", Times()),
        ({}, "request", Times(5.0, 4.0, {99: 9.0})),
        ({}, "remarks", ("tokens counted with the tokenizer of Llama 2",)),
    ],
)
def test_each_field_of_llmperf(changes, name, value):
    (run,) = read(llmperf, with_changes(LLMPERF, changes))
    assert attribute(run, name) == value


def test_summaries_of_llmperf_without_a_run():
    reason = "the file does not state the number of concurrent requests: num_concurrent_requests"
    for clients in (0, None):
        changes = {"num_concurrent_requests": clients}
        assert read(llmperf, with_changes(LLMPERF, changes)) == [reason]
    request = {"ttft_s": 0.5, "end_to_end_latency_s": 5.0, "number_output_tokens": 10}
    assert llmperf.is_result(Record(1, request))
    (said,) = read(llmperf, request)
    assert said.startswith("one request of llmperf: ")
    for key in request:
        assert not llmperf.is_result(Record(1, with_changes(request, {key: None})))
    assert llmperf.is_result(Record(1, LLMPERF))
    for key in ("results_ttft_s_mean", "num_concurrent_requests"):
        assert not llmperf.is_result(Record(1, with_changes(LLMPERF, {key: None})))


# InferenceX


INFERENCEX = {
    "hw": "mi355x-amd",
    "conc": 32,
    "image": "vllm/vllm:v1",
    "model": "org/model",
    "framework": "vllm",
    "precision": "fp8",
    "spec_decoding": "none",
    "isl": 8192,
    "osl": 1024,
    "date": "2026-03-01T00:00:00",
    "tp": 8,
    "ep": 1,
    "dp_attention": "false",
    "output_tput_per_gpu": 50.0,
    "mean_ttft": 2.5,
    "median_ttft": 2.0,
    "p99_ttft": 9.0,
    "mean_tpot": 0.08,
    "median_itl": 0.07,
    "mean_e2el": 84.0,
}
POOLS = {"is_multinode": True, "decode_tp": 4, "decode_ep": 4, "num_decode_gpu": 8}


@every(
    "changes,name,value",
    [
        ({}, "program", "InferenceX"),
        ({}, "prompt", 8192.0),
        ({}, "output", 1024.0),
        ({}, "arrivals", Arrivals(limit=32)),
        ({}, "ttft", Times(2.5, 2.0, {99: 9.0})),
        ({}, "tpot", Times(0.08)),
        ({}, "between_chunks", Times(None, 0.07)),
        ({}, "request", Times(84.0)),
        # 50 tokens/s of each of eight GPUs.
        ({}, "rate", 400.0),
        ({"output_tput_per_gpu": None}, "rate", None),
        ({"tp": None}, "rate", None),
        ({}, "is_speculated", False),
        ({"spec_decoding": "MTP"}, "is_speculated", True),
        ({"spec_decoding": None}, "is_speculated", None),
        ({"spec_decoding": None, "spec_method": "none"}, "is_speculated", False),
        ({}, "is_decode_only", False),
        ({}, "date", "2026-03-01"),
        ({}, "names", ("org/model",)),
        ({}, "remarks", ("image vllm/vllm:v1",)),
        ({"image": None}, "remarks", ()),
        *[({"precision": name}, "weight_bits", bits) for name, bits in (
            ("FP4", 4), ("int4", 4), ("fp8", 8), ("int8", 8), ("bf16", 16), ("fp16", 16), ("x", None),
        )],
        # Numbers of a row may stand in a mapping of their own.
        ({"metrics": {"mean_ttft": 1.0}}, "ttft", Times(1.0)),
    ],
)  # fmt: skip
def test_each_field_of_inferencex(changes, name, value):
    (run,) = read(inferencex, with_changes(INFERENCEX, changes))
    assert attribute(run, name) == value


@every(
    "changes,chips,tp,pp,dp,ep",
    [
        ({}, 8, 8, 1, 1, 1),
        ({"pp": 2}, 16, 8, 2, 1, 1),
        ({"dp_attention": "True", "ep": 8}, 8, 1, 1, 8, 8),
        ({"dp_attention": True, "pp": 2}, 16, 1, 2, 8, 1),
        ({"ep": None}, 8, 8, 1, 1, None),
        ({"tp": None}, None, None, None, None, None),
        # Pools: those that decode, two copies of four ranks.
        (POOLS, 8, 4, 1, 2, 4),
        (POOLS | {"is_multinode": False}, 8, 4, 1, 2, 4),
        (POOLS | {"decode_pp": 2}, 8, 4, 2, 1, 4),
        (POOLS | {"decode_dp_attention": "true"}, 8, 1, 1, 8, 4),
        (POOLS | {"decode_dp_attention": "true", "decode_pp": 2}, 8, 1, 2, 4, 4),
        (POOLS | {"num_decode_gpu": 6}, 6, None, None, None, None),
        # No pool decodes: all are those that prefill.
        (POOLS | {"num_decode_gpu": 0, "num_prefill_gpu": 16, "prefill_tp": 8}, 16, 8, 1, 2, 4),
    ],
)
def test_layouts_of_inferencex(changes, chips, tp, pp, dp, ep):
    (run,) = read(inferencex, INFERENCEX | changes)
    names = ("chips", "tp", "pp", "dp", "ep")
    counts = zip(names, (chips, tp, pp, dp, ep), strict=True)
    stated = {name: str(count) for name, count in counts if count}
    assert {name: run.stated[name] for name in names if name in run.stated} == stated
    assert run.rate == (chips and 50.0 * chips)


@every(
    "changes,stated",
    [
        ({}, {"hardware": "mi355x", "engine": "vllm", "weights": "fp8"}),
        ({"framework": "dynamo-trt"}, {"hardware": "mi355x", "engine": "tensorrt-llm",
                                       "weights": "fp8"}),
        ({"framework": "SGLang-x", "precision": "fp4"}, {"hardware": "mi355x", "engine": "sglang"}),
        ({"framework": "other", "hw": "new-chip"}, {"hardware": "new-chip", "weights": "fp8"}),
        ({"hw": None, "hardware": "b200"}, {"hardware": "b200", "engine": "vllm", "weights": "fp8"}),
        ({"decode_hw": "b200"}, {"hardware": "b200", "engine": "vllm", "weights": "fp8"}),
    ],
)  # fmt: skip
def test_what_a_row_of_inferencex_states(changes, stated):
    (run,) = read(inferencex, with_changes(INFERENCEX, changes))
    assert {name: run.stated.get(name) for name in ("hardware", "engine", "weights")} == (
        dict.fromkeys(("hardware", "engine", "weights")) | stated
    )


def test_disaggregated_rows_of_inferencex_are_of_decode_alone():
    said, run = read(inferencex, INFERENCEX | {"disagg": True})
    assert said.startswith("disaggregated prefill: ")
    assert (run.ttft, run.request, run.rate) == (Times(), Times(), None)
    assert run.is_decode_only
    assert run.tpot == Times(0.08)


def test_rows_of_inferencex_are_known_by_their_keys():
    assert inferencex.is_result(Record(1, INFERENCEX))
    for key in ("conc", "isl", "osl", "framework", "precision"):
        assert not inferencex.is_result(Record(1, with_changes(INFERENCEX, {key: None})))
    agentic = {"scenario_type": "agentic", "infmax_model_prefix": "kimi"}
    assert inferencex.is_result(Record(1, agentic))
    for key in agentic:
        assert not inferencex.is_result(Record(1, with_changes(agentic, {key: None})))
    (said,) = read(inferencex, agentic)
    assert said.startswith("an agentic run: ")
    for key in ("isl", "osl"):
        (said,) = read(inferencex, with_changes(INFERENCEX, {key: None}))
        assert said.startswith("an agentic run: ")
