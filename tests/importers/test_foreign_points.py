"""Results of other programs as points.

The files under ``measured/`` hold round numbers under the keys of vLLM's
``vllm/benchmarks/serve.py`` (``vllm bench serve --save-result``) and of the JSON section of
llama.cpp's ``tools/llama-bench/README.md``, so that every expected value can be seen.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.catalogue.formats import FORMATS
from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from fastcalc.evidence.points import read_points
from fastcalc.evidence.text_files import Text, opened, text_in
from fastcalc.importers.any_file import read
from fastcalc.importers.foreign import foreign_in
from fastcalc.importers.naming import checkpoint_format, chip_id, gguf_format, model_id
from fastcalc.mentions import as_flags
from fastcalc.written import line
from tests.helpers import ROOT, every
from tests.strategies import examples

HERE = ROOT / "tests" / "measured"
SERVED = json.loads((HERE / "vllm-closed.json").read_text())
PROMPT, DECODE = json.loads((HERE / "llama-bench.json").read_text())
ON = {"hardware": "h100-sxm", "chips": "1"}


def results(catalogue, *records, given=None):
    text = "\n".join(json.dumps(record) for record in records)
    return foreign_in(Text("run.json", text), catalogue=catalogue, options=given or {})


def served(catalogue, given=None, **changes):
    return results(catalogue, SERVED | changes, given=ON | (given or {}))


def benched(catalogue, given=None, **changes):
    return results(catalogue, DECODE | changes, given=given)


@every(
    "given,value,says",
    [
        ({"weights": "bf16"}, "q4_k_m", "weights"),
        ({"kv": "q8_0"}, "fp16", "kv"),
        ({"weights": "q4_k_m"}, None, ""),
    ],
)
def test_what_a_run_states_is_not_replaced(catalogue, given, value, says):
    found = benched(catalogue, given=given)
    told = " ".join(map(str, found.faults))
    assert (value or "") in told
    assert says in told
    assert bool(told) == bool(says)


def reason(found) -> str:
    assert not found.points
    assert not found.faults
    (one,) = found.skipped
    return one.reason


def fault(found) -> str:
    assert not found.points
    (one,) = found.sentences()
    return as_flags(one)


def test_a_closed_loop_gives_three_points(catalogue):
    found = read(HERE / "vllm-closed.json", catalogue=catalogue, options=ON)
    assert not found.skipped
    tpot, ttft, rate = found.demand()
    # 160,000 prompt and 80,000 output tokens of 160 requests; medians of 19.5 and 100 ms.
    for one in (tpot, ttft, rate):
        assert (one.prompt, one.output, one.concurrency, one.requests) == (1000, 500, 16, 160)
        assert (one.hardware, one.model, one.engine) == ("h100-sxm", "llama-3.1-8b", "vllm")
        assert (one.chips, one.tp, one.pp, one.dp, one.weights) == (1, 1, 1, 1, "")
        assert (one.date, one.source_key, one.tokens_per_pass) == (
            "2026-11-03",
            "vllm-closed",
            None,
        )
    assert (tpot.metric, tpot.kind, tpot.value) == (
        "tpot_s",
        "e2e_concurrency",
        pytest.approx(0.0195),
    )
    assert (ttft.metric, ttft.kind, ttft.value) == ("ttft_s", "e2e_concurrency", pytest.approx(0.1))
    assert (rate.metric, rate.kind, rate.value) == ("tokens_per_s_total", "e2e_concurrency", 800.0)
    assert [one.id for one in found.points] == [f"vllm-closed-{n:03d}" for n in (1, 2, 3)]


def test_one_client_measures_decode_and_prefill_apart(catalogue):
    kinds = [one.kind for one in served(catalogue, max_concurrency=1).points]
    assert kinds == ["decode_batch1", "prefill", "e2e_concurrency"]


def test_fewer_requests_than_clients_are_the_concurrency(catalogue):
    found = served(catalogue, max_concurrency=256)
    assert {one.concurrency for one in found.points} == {160}
    assert served(catalogue, num_prompts=-1).points[0].concurrency == 16


def test_all_requests_at_once_are_saturated(catalogue):
    found = served(catalogue, max_concurrency=None)
    assert [(one.metric, one.kind) for one in found.points] == [
        ("tpot_s", "e2e_saturated"),
        ("tokens_per_s_total", "e2e_saturated"),
    ]
    assert {one.concurrency for one in found.points} == {None}
    assert "mostly queueing time" in found.skipped[0].reason
    assert served(catalogue, max_concurrency=None, request_rate=float("inf")) == found


def test_a_request_rate_has_its_concurrency_by_littles_law(catalogue):
    # 1.6 requests/s, each 0.12 s to the first token and 499 x 19.6 ms: 9.9004 s; 15.84 in flight.
    found = served(catalogue, max_concurrency=None, request_rate=1.6)
    assert {one.concurrency for one in found.points} == {16}
    assert [one.kind for one in found.points] == [
        "e2e_concurrency",
        "e2e_concurrency",
        "e2e_concurrency",
    ]
    # Measured whole, a request of 5 s is 8 in flight, too few to round for a throughput.
    found = served(catalogue, max_concurrency=None, request_rate=1.6, mean_e2el_ms=5000.0)
    assert {one.concurrency for one in found.points} == {8}
    assert [one.metric for one in found.points] == ["tpot_s", "ttft_s"]
    assert "is set by the clients" in found.skipped[0].reason


def test_a_request_rate_with_a_limit_is_what_was_in_flight(catalogue):
    found = served(catalogue, max_concurrency=64, request_rate=1.6)
    assert {one.concurrency for one in found.points} == {16}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"completed": 0}, "no request was completed"),
        ({"total_output_tokens": None}, "no tokens were generated"),
        (
            {
                "mean_tpot_ms": None,
                "median_tpot_ms": None,
                "mean_ttft_ms": None,
                "median_ttft_ms": None,
                "output_throughput": None,
            },
            "the file states no TTFT, no time per output token and no output throughput",
        ),
        ({"ramp_up_strategy": "linear"}, "the request rate rose during the run"),
        ({"request_rate": None}, "request_rate is missing"),
        ({"request_rate": 2.0, "mean_ttft_ms": None}, "only from the mean latency"),
        ({"request_rate": 2.0, "duration": 1e-10}, "contradict each other"),
    ],
)
def test_a_result_without_a_measurement_says_why(catalogue, changes, said):
    assert said in reason(served(catalogue, **changes))


def test_measures_of_nothing_are_skipped_alone(catalogue):
    found = served(catalogue, median_tpot_ms=0.0, median_ttft_ms=0)
    assert [one.metric for one in found.points] == ["tokens_per_s_total"]
    assert [one.id for one in found.skipped] == ["run-001", "run-002"]


def test_speculation_is_what_the_server_counted(catalogue):
    found = served(catalogue, spec_decode_acceptance_length=2.5)
    assert {one.tokens_per_pass for one in found.points} == {2.5}


def test_what_vllm_leaves_unsaid_is_asked_in_one_sentence(catalogue):
    said = fault(results(catalogue, SERVED, SERVED | {"duration": 50.0}))
    assert said == (
        "run.json:1:1: the file does not name the hardware: give --hardware; "
        "the file states no number of chips: give --chips or --tp"
    )
    said = fault(served(catalogue, model_id="me/my-tune-8B", tokenizer_id=""))
    assert said == "run.json:1:1: no model of the catalogue is 'me/my-tune-8B': give --model"
    said = fault(served(catalogue, model_id="me/Llama-3.1-8B-Instruct-int4"))
    assert said.endswith("is not clear from its name: give --weights")


def test_metadata_of_the_run_says_the_machine(catalogue):
    told = {"hardware": "NVIDIA H100 80GB HBM3", "tp": "4", "kv": "fp8", "engine": "sglang"}
    one = results(catalogue, SERVED | told).demand()[0]
    assert (one.hardware, one.chips, one.tp, one.pp, one.dp) == ("h100-sxm", 4, 4, 1, 1)
    assert (one.kv, one.engine) == ("fp8", "sglang")
    refused = results(catalogue, SERVED | told, given={"tp": "2", "kv": "bf16"}).sentences()
    assert sorted(map(as_flags, refused)) == [
        "run.json:1:1: the file states kv fp8: leave out --kv bf16",
        "run.json:1:1: the file states tp 4: leave out --tp 2",
    ]


def test_what_is_given_completes(catalogue):
    said = {
        "model": "my-model",
        "weights": "fp8",
        "kv": "fp8",
        "engine": "mine",
        "chips": "8",
        "tp": "4",
    }
    one = served(catalogue, said).demand()[0]
    assert (one.model, one.weights, one.kv, one.engine) == ("my-model", "fp8", "fp8", "mine")
    assert (one.chips, one.tp, one.pp, one.dp) == (8, 4, None, None)


@pytest.mark.parametrize("text", ["0", "-1", "eight", "1.5", "9" * 5000, "\u0663"])
def test_a_count_that_is_none_is_refused(catalogue, text):
    with pytest.raises(InputError, match=r"^chips .* is not a whole number from 1 to 1,000,000"):
        served(catalogue, {"chips": text})


def test_a_word_that_is_no_name_is_refused(catalogue):
    with pytest.raises(InputError, match=r"^model m{57}\.\.\. is too long for a name"):
        benched(catalogue, {"model": "m" * 5000})


def test_chips_and_ranks_that_disagree_are_said(catalogue):
    said = fault(served(catalogue, {"chips": "8", "tp": "3"}))
    assert "8 chips are not tp 3: give --chips and --tp that agree" in said


def test_cores_may_be_ranks(catalogue):
    """Each of 12 Inferentia2 has two cores, and a core may take a rank."""
    options = {"hardware": "inferentia-2", "chips": "12", "tp": "24"}
    (point, *_) = served(catalogue, options).demand()
    assert (point.chips, point.tp, point.pp, point.dp) == (12, 24, 1, 1)
    wrong = fault(served(catalogue, {**options, "hardware": "h100-sxm"}))
    assert "12 chips are not tp 24: give --chips and --tp that agree" in wrong


def test_llama_bench_gives_a_point_a_test(catalogue):
    found = read(HERE / "llama-bench.json", catalogue=catalogue, options={})
    prompt, decode = found.demand()
    for one in (prompt, decode):
        assert (one.hardware, one.model, one.engine) == ("rtx-4090", "qwen2.5-7b", "llama-cpp")
        assert (one.weights, one.kv, one.tokens_per_pass) == ("q4_k_m", "fp16", 1)
        assert (one.chips, one.tp, one.pp, one.dp, one.concurrency) == (1, 1, 1, 1, 1)
        assert (one.date, one.source_key) == ("2026-11-03", "llama-bench")
    assert (prompt.metric, prompt.kind, prompt.value) == ("prefill_tokens_per_s", "prefill", 10000)
    assert (prompt.prompt, prompt.output, prompt.line) == (512, 0, 2)
    assert (decode.metric, decode.kind, decode.value) == (
        "tokens_per_s_per_user",
        "decode_batch1",
        128,
    )
    # 128 tokens after 4,096: the mean context is 4,096 + 64.
    assert (decode.prompt, decode.output, decode.mean_context) == (4096, 128, 4160)


TWO = "NVIDIA GeForce RTX 4090, NVIDIA GeForce RTX 4090"
MIXED = "AMD Radeon(TM) 890M Graphics, NVIDIA GeForce RTX 4090"


@pytest.mark.parametrize(
    ("changes", "layout"),
    [
        ({"gpu_info": TWO}, (2, 1, 2, 1)),
        ({"gpu_info": TWO, "split_mode": "row"}, (2, 2, 1, 1)),
        ({"gpu_info": TWO, "split_mode": "tensor"}, (2, 2, 1, 1)),
        ({"gpu_info": TWO, "split_mode": "none"}, (1, 1, 1, 1)),
        ({"gpu_info": TWO, "tensor_split": "1.00"}, (1, 1, 1, 1)),
        ({"gpu_info": TWO, "tensor_split": "0.00/1.00"}, (1, 1, 1, 1)),
        ({"gpu_info": TWO, "devices": "CUDA1"}, (1, 1, 1, 1)),
        ({"gpu_info": TWO, "devices": "auto"}, (2, 1, 2, 1)),
        ({"gpu_info": MIXED, "split_mode": "none", "main_gpu": 1}, (1, 1, 1, 1)),
    ],
)
def test_gpus_hold_layers_one_after_another(catalogue, changes, layout):
    (one,) = benched(catalogue, **changes).demand()
    assert (one.chips, one.tp, one.pp, one.dp) == layout
    assert one.hardware == "rtx-4090"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gpu_info": MIXED}, "several types of GPU: give --hardware"),
        ({"gpu_info": ""}, "the file names no GPU (gpu_info): give --hardware and --chips"),
        (
            {"gpu_info": "Apple M3 Max"},
            "'Apple M3 Max' is not a single chip of the catalogue: give --",
        ),
        ({"gpu_info": TWO, "backends": "CUDA,Vulkan"}, "one GPU twice: give --chips"),
        (
            {"model_filename": "7B/ggml-model-q4_0.gguf"},
            "no model of the catalogue is '7B/ggml-model",
        ),
        ({"model_filename": None}, "the file does not name the model: give --model"),
        ({"model_type": None}, "the file has no model_type"),
        ({"model_type": "qwen2 7B"}, "'qwen2 7B' does not end in a number format: give --weights"),
        ({"model_type": "qwen2 7B F16"}, "should have 16 bits per weight, but the file has 4.91"),
        ({"type_k": "q8_0"}, "keys are in 'q8_0' and values in 'f16': give --kv"),
    ],
)
def test_what_llama_bench_leaves_unsaid_is_asked(catalogue, changes, said):
    assert said in fault(benched(catalogue, **changes))


def test_what_is_given_answers(catalogue):
    said = {"hardware": "apple-m3-max-40", "model": "qwen2.5-7b", "weights": "q4_0", "kv": "q8_0"}
    changes = {
        "gpu_info": "Apple M3 Max",
        "backends": "MTL,BLAS",
        "model_type": "",
        "type_k": "q8_0",
    }
    (one,) = benched(catalogue, said, **changes, n_gpu_layers=-1).demand()
    assert {name: getattr(one, name) for name in said} == said
    assert (one.chips, one.pp) == (1, 1)
    (one,) = benched(catalogue, {"hardware": "rtx-4090", "chips": "2"}, gpu_info="").demand()
    assert (one.chips, one.tp, one.pp) == (2, 1, 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_prompt": 512}, "a pg test mixes prompt and generated tokens"),
        ({"n_prompt": 512, "n_gen": 0}, "a prompt after 4096 tokens of depth"),
        ({"n_gen": 0}, "n_prompt and n_gen are both 0"),
        ({"avg_ts": 0}, "the test did not run"),
        ({"embeddings": True}, "an embedding test"),
        ({"no_kv_offload": True}, "in host memory"),
        ({"n_cpu_moe": 4}, "experts are computed on the host"),
        ({"tensor_buft_overrides": "exps=CPU"}, "tensors are placed manually"),
        ({"n_gpu_layers": 0}, "no layer is on the GPU"),
        # 28 layers, says the catalogue; llama.cpp counts the output as one more.
        ({"n_gpu_layers": 28}, "28 of 28 layers and the output"),
    ],
)
def test_a_test_that_is_no_point_says_why(catalogue, changes, said):
    assert said in reason(benched(catalogue, **changes))
    assert benched(catalogue, n_gpu_layers=29).points


def test_lists_lines_and_files_that_are_cut_off(catalogue):
    text = json.dumps([PROMPT, DECODE, SERVED], indent=1)
    whole = foreign_in(Text("run.json", text), catalogue=catalogue, options=ON)
    assert len(whole.demand()) == 5
    lines = results(catalogue, PROMPT, DECODE, SERVED, given=ON)
    assert [one.line for one in lines.demand()] == [1, 2, 3, 3, 3]
    cut = foreign_in(
        Text("run.json", text[: text.index("num_prompts")]), catalogue=catalogue, options=ON
    )
    assert len(cut.points) == 2
    assert len(cut.faults) == 1
    assert "not readable as JSON" in cut.sentences()[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "run.json:1:1: the file is empty"),
        ("[]", "run.json:1:1: the list is empty: no test was run"),
        ("[1]", "run.json:1:2: expected JSON objects"),
        ("{}", "run.json:1:1: not a result of vllm bench serve"),
        ('{"hidden_size": 1, "b\\u0007": 2}', "its first keys: hidden_size, b\\u0007"),
        ('{"a": 1', "run.json:1:8: not readable as JSON"),
        ('[{"avg_ts": 1}\n {}]', "run.json:2:2: not readable as JSON: a comma is missing"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_no_result_is_said(catalogue, text, said):
    found = foreign_in(Text("run.json", text), catalogue=catalogue, options={})
    assert said in found.sentences()[-1]


def test_lines_that_are_no_results_are_said_once(catalogue):
    found = foreign_in(Text("runs.jsonl", '{"a": 1}\n' * 100), catalogue=catalogue, options={})
    assert len(found.sentences()) == 1


def test_what_a_file_holds_decides_how_it_is_read(catalogue, tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("\ufeff\n" + json.dumps(DECODE))
    assert len(read(path, catalogue=catalogue).demand()) == 1
    path.write_text("id,source\n")
    assert list(read(path, catalogue=catalogue).points) == list(read_points(path).points)
    with pytest.raises(InputError, match=r"is a CSV.*leave out tp=2; only results"):
        read(path, catalogue=catalogue, options={"tp": "2", "chips": ""})


@pytest.mark.parametrize(
    ("text", "chip"),
    [
        # As drivers print them; the words are the vendors' product names.
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("NVIDIA GeForce RTX 3090 Ti", "rtx-3090-ti"),
        ("NVIDIA GeForce RTX 4090 D", "rtx-4090-d"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"),
        ("AMD Instinct MI300X", "mi300x"),
        ("NVIDIA GH200 480GB", "gh200-96gb"),  # LPDDR5X; the other has "144G HBM3e" in its name
        ("h20", "h20"),
        # Other parts than the catalogue's, or more than one of them.
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA A100-PCIE-40GB", None),
        ("NVIDIA H20", None),
        ("AMD Instinct MI250X", None),
        ("Apple M1", None),
        ("NVIDIA", None),
        ("", None),
    ],
)
def test_a_driver_names_one_chip_or_none(catalogue, text, chip):
    assert chip_id(text, catalogue) == chip


@pytest.mark.parametrize(
    ("text", "model", "stored"),
    [
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b", ""),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b", ""),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3", ""),
        ("google/gemma-3-27b-it", "gemma-3-27b", ""),
        ("Qwen/Qwen3-32B-FP8", "qwen3-32b", "fp8"),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "llama-3.1-70b", "fp8"),
        ("Qwen/Qwen2.5-72B-Instruct-AWQ", "qwen2.5-72b", "awq-int4-g128"),
        ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "qwen2.5-72b", "gptq-int4-g128"),
        ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8", "qwen2.5-72b", "int8-g128-zp"),
        ("RedHatAI/Qwen3-32B-quantized.w4a16", "qwen3-32b", "int4-g128"),
        ("RedHatAI/Qwen3-32B-quantized.w8a8", "qwen3-32b", "int8-w8a8"),
        ("Intel/Qwen3-32B-int4-AutoRound", "qwen3-32b", "int4-g128"),
        ("unsloth/Qwen3-32B-bnb-4bit", "qwen3-32b", "int4-double"),
        ("cpatonn/Qwen3-32B-AWQ-4bit", "qwen3-32b", "awq-int4-g128"),
        ("amd/Llama-3.3-70B-Instruct-FP8-KV", "llama-3.1-70b", "fp8"),
        ("someone/Qwen3-32B-int4", "qwen3-32b", None),
        ("mlx-community/Qwen3-32B-4bit", "qwen3-32b", "mlx-4bit"),
        ("mlx-community/GLM-4.6-8bit-gs32", "glm-4.6", "mlx-8bit-g32"),
        ("mlx-community/Qwen3-32B-4bit-DWQ", "qwen3-32b", "mlx-4bit"),
        ("mlx-community/Qwen3-32B-4bit-dwq-v2", "qwen3-32b", "mlx-4bit"),
        ("lmstudio-community/Qwen3-32B-MLX-8bit", "qwen3-32b", "mlx-8bit"),
        ("Qwen/Qwen3-14B-MLX-4bit", "qwen3-14b", "mlx-4bit"),
        ("RedHatAI/Qwen3-32B-NVFP4A16", "qwen3-32b", "nvfp4"),
        ("nvidia/Gemma-4-31B-IT-NVFP4", "gemma-4-31b", "nvfp4+attention=bf16"),
        ("amd/gpt-oss-120b-w-mxfp4-a-fp8", "gpt-oss-120b", "mxfp4"),
        ("turboderp/Llama-3.3-70B-Instruct-exl3-4.0bpw", "llama-3.1-70b", "exl3-4.0bpw"),
        ("turboderp/Qwen3-32B-exl3", "qwen3-32b", None),
        ("google/gemma-3-4b-it-qat-q4_0-gguf", "gemma-3-4b", "q4_0"),
        ("google/medgemma-27b-text-it", "gemma-3-27b", ""),
        ("openai/gpt-oss-safeguard-20b", "gpt-oss-20b", ""),
        ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2-0905", ""),
        ("deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct", "deepseek-v2-lite", ""),
        ("nvidia/Llama-3_3-Nemotron-Super-49B-v1_5", "llama-3.3-nemotron-super-49b", ""),
        ("bartowski/google_gemma-3-27b-it-GGUF", "gemma-3-27b", ""),
        (
            "bartowski/mistralai_Mistral-Small-3.2-24B-Instruct-2506-GGUF",
            "mistral-small-3.1-24b",
            "",
        ),
        ("mistralai/Ministral-3-8B-Instruct-2512", "ministral-3-8b", ""),
        ("mistralai/Ministral-3-8B-Reasoning-2512", "ministral-3-8b", "bf16"),
        ("mistralai/Ministral-3-8B-Instruct-2512-BF16", "ministral-3-8b", "bf16"),
        ("mistralai/Devstral-Small-2-24B-Instruct-2512", "mistral-small-3.1-24b", "fp8"),
        ("sakamakismile/Qwen3.6-27B-Text-NVFP4-MTP", "qwen3.5-27b", "nvfp4"),
        ("deepseek-ai/DeepSeek-V4-Flash-0731", "deepseek-v4-flash", ""),
        ("C:\\models\\Qwen2.5-7B-Instruct-Q4_K_M.gguf", "qwen2.5-7b", "q4_k_m"),
        ("Qwen3-235B-A22B-UD-Q2_K_XL-00001-of-00002.gguf", "qwen3-235b-a22b", "ud-q2_k_xl"),
        ("Qwen3-8B-F16.gguf", "qwen3-8b", "fp16"),
        ("gpt-oss-120b-mxfp4-00001-of-00003.gguf", "gpt-oss-120b", "mxfp4-experts-q8_0"),
        ("Qwen3-8B.gguf", "qwen3-8b", ""),
        ("./Qwen2.5-7B-Instruct/", "qwen2.5-7b", ""),
        ("NousResearch/Hermes-3-Llama-3.1-8B", None, ""),
        ("../..", None, ""),
        ("m" * 5000, None, ""),
        ("/etc/passwd.yaml", None, ""),
    ],
)
def test_a_checkpoint_is_named_after_its_model(catalogue, text, model, stored):
    assert model_id(text, catalogue) == model
    assert checkpoint_format(text) == stored


GIB = 2.0**30
_IN_LAYERS = 126 * (2 * 16384**2 + 2 * 16384 * 1024)  # attention of Llama 3.1 405B
_FFN = 3 * 16384 * 53248  # of a layer
_V3_LAYERS = 61 * (7168 * 1536 + 1536 * 24576 + 7168 * 576 + 512 * 32768)  # all but the output
_V3_OUTPUT = 61 * 16384 * 7168


@every(
    "text,plain,wide",
    [
        # arXiv:2407.21783, section 6.2: attention, and the first and last layer, stay at 16 bits.
        ("meta-llama/Meta-Llama-3.1-405B-Instruct-FP8", "fp8", _IN_LAYERS + 2 * _FFN),
        ("meta-llama/Llama-3.1-405B-FP8", "fp8", _IN_LAYERS + 2 * _FFN),
        # NVIDIA's cards: "additionally quantizes the wo module in attention layers".
        ("nvidia/DeepSeek-R1-FP4", "nvfp4", _V3_LAYERS + _V3_OUTPUT),
        ("nvidia/DeepSeek-R1-0528-NVFP4-v2", "nvfp4", _V3_LAYERS),
    ],
)
def test_a_checkpoint_has_the_bytes_of_what_it_leaves_wide(catalogue, text, plain, wide):
    model = catalogue.model(model_id(text, catalogue))
    stored = workload(model, checkpoint_format(text)).weight_bytes
    more = 2.0 - FORMATS[plain].bytes
    assert stored - workload(model, plain).weight_bytes == pytest.approx(wide * more, rel=1e-3)


def test_metas_own_checkpoint_takes_what_a_start_loaded(catalogue):
    """vLLM issue 6746: 57.752 GiB on each of eight cards."""
    name = "meta-llama/Meta-Llama-3.1-405B-Instruct-FP8"
    stored = workload(catalogue.model("llama-3.1-405b"), checkpoint_format(name)).weight_bytes
    assert stored / 8 / GIB == pytest.approx(57.752, rel=0.025)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        # As llama.cpp's llama_model_ftype_name prints them, after architecture and size.
        ("llama 7B mostly Q4_0", "q4_0"),
        ("qwen2 7B Q4_K - Medium", "q4_k_m"),
        ("llama 8B Q2_K - Medium", "q2_k"),
        ("llama 8B Q6_K", "q6_k"),
        ("llama 8B all F32", "fp32"),
        ("qwen35 27B IQ4_XS - 4.25 bpw", "iq4_xs"),
        ("gpt-oss 20B MXFP4 MoE", "mxfp4-experts-q8_0"),
        ("llama 8B BF16 (guessed)", "bf16"),
        ("llama 8B", None),
        ("f16", "fp16"),
        ("q8_0", "q8_0"),
        ("", None),
    ],
)
def test_llama_cpp_says_its_formats_in_words(text, name):
    assert gguf_format(text) == name


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.thorough
@examples(25)
@given(st.sampled_from([SERVED, PROMPT, DECODE]), st.data())
def test_any_value_of_any_key_is_a_point_or_a_sentence(catalogue, record, data):
    keys = data.draw(st.lists(st.sampled_from([*sorted(record), "hardware", "tp"]), max_size=4))
    wild = record | {key: data.draw(JSON) for key in keys}
    found = results(catalogue, wild, given=data.draw(st.sampled_from([{}, ON])))
    assert found.points or found.faults or found.skipped
    for one in found.points:
        assert 0 < one.value < float("inf")
    for sentence in [*found.sentences(), *(one.reason for one in found.skipped)]:
        text = as_flags(sentence)  # unassigned letters are shown as they are
        assert line(text) == text


@given(st.binary(max_size=100), st.sampled_from([b"", b"{", b"[", b'[{"', b"\xef\xbb\xbf{"]))
def test_any_bytes_are_read_or_said(catalogue, tmp_path_factory, raw, start):
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(start + raw)
    assert read(path, catalogue=catalogue).faults or not raw.strip()
    with opened(path) as stream:
        text = text_in(str(path), stream)
    assert foreign_in(text, catalogue=catalogue, options={}).faults
