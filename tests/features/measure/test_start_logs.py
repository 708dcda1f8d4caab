"""``fastcalc diagnose --log``: what vLLM and SGLang print at their start, and what it gives away."""

import re
from dataclasses import replace

import pytest

import fastcalc
from fastcalc.errors import InputError
from fastcalc.evidence.start_log import StartLog
from fastcalc.evidence.validate import validate
from fastcalc.features.measure.diagnose import run as diagnosed
from fastcalc.features.measure.diagnosis.terms import HOST, NEWER_RELEASE, RUNNING
from fastcalc.features.measure.request import Diagnose
from fastcalc.importers.start_log import read_start
from fastcalc.kit.answer.answer import Screen
from fastcalc.kit.answer.console import render
from fastcalc.mentions import command
from tests.features.measure.test_diagnose import ENTRIES, FAULTS, LARGE, SMALL, file_of, measured
from tests.helpers import ROOT, every, run

GIB = 2.0**30

# Lines as published: vLLM 0.15 in LMCache pull request 2522, and its cache in vLLM pull request
# 20707; version 0.27 in gpustack/runner pull request 251; V0 in gateway-api-inference-extension
# pull request 550 and vLLM issue 8031; SGLang in its pull request 11830 and vLLM issue 21348.
V1 = """\
(APIServer pid=1) INFO 02-01 23:01:25 [utils.py:250] non-default args: {'model_tag': \
'meta-llama/Llama-3.2-1B-Instruct', 'api_server_count': 1, 'model': \
'meta-llama/Llama-3.2-1B-Instruct', 'max_model_len': 1024, 'enforce_eager': True, \
'gpu_memory_utilization': 0.35, 'kv_transfer_config': KVTransferConfig(kv_role='kv_both')}
(APIServer pid=1) INFO 02-01 23:01:30 [scheduler.py:226] Chunked prefill is enabled with \
max_num_batched_tokens=8192.
(EngineCore_0 pid=1399537) INFO 08-19 14:58:40 [gpu_worker.py:277] Available KV cache memory: \
112.61 GiB
(EngineCore_0 pid=1399537) INFO 08-19 14:58:40 [kv_cache_utils.py:849] GPU KV cache size: 922,496 \
tokens
(EngineCore_0 pid=1399537) INFO 08-19 14:58:40 [kv_cache_utils.py:853] Maximum concurrency for \
40,000 tokens per request: 23.06x
"""
GRAPHS = """\
(Worker_TP0 pid=447) INFO 08-14 14:07:22 [gpu_worker.py:563] Available KV cache memory: 6.87 GiB
(Worker_TP0 pid=447) INFO 08-14 14:07:22 [gpu_worker.py:578] CUDA graph memory profiling is \
enabled (default since v0.21.0). The current --gpu-memory-utilization=0.8200 is equivalent to \
--gpu-memory-utilization=0.8048 without CUDA graph memory profiling. To maintain the same \
effective KV cache size as before, increase --gpu-memory-utilization to 0.8352.
"""
V0 = """\
INFO 04-11 12:37:49 [llm_engine.py:242] Initializing a V0 LLM engine (v0.8.3) with config: \
model='OPEA/Mistral-Small', dtype=torch.float16, max_seq_len=8192, tensor_parallel_size=1, \
pipeline_parallel_size=1, quantization=awq, enforce_eager=False, kv_cache_dtype=auto
INFO 03-21 20:15:45 [worker.py:267] the current vLLM instance can use total_gpu_memory (79.19GiB) \
x gpu_memory_utilization (0.90) = 71.27GiB
INFO 03-21 20:15:45 [worker.py:267] model weights take 12.55GiB; non_torch_memory takes 0.16GiB; \
PyTorch activation peak memory takes 2.38GiB; the rest of the memory reserved for KV Cache is \
56.18GiB.
INFO 03-21 20:15:46 [executor_base.py:111] # cuda blocks: 7191, # CPU blocks: 512
"""
SGLANG = """\
[2025-11-30 12:49:58] server_args=ServerArgs(model_path='Qwen/Qwen3-32B', tp_size=2, \
mem_fraction_static=0.93, max_running_requests=None, chunked_prefill_size=8192, \
disable_cuda_graph=False, kv_cache_dtype='auto')
[2025-11-30 12:50:10] KV Cache is allocated. #tokens: 2243474, K size: 59.91 GB, V size: 59.91 GB
[2025-11-30 12:50:15] Capture cuda graph end. Time elapsed: 5.37 s. mem usage=1.44 GB. avail \
mem=38.05 GB.
"""


@every(
    "text,fields,settings",
    [
        (
            V1,
            {"tokens": 922496, "available": 112.61 * GIB, "length": 40000, "at_once": 23.06},
            {"eager": "True", "gpu_memory_utilization": "0.35", "max_num_batched_tokens": "8192"},
        ),
        # Another start in the same log: the last is what runs.
        (V1 + V1.replace("1024", "2048").replace("922,496", "422,496"), {"tokens": 422496}, {}),
        (GRAPHS, {"available": 6.87 * GIB, "equivalent": 0.8048, "tokens": None}, {}),
        (
            V0,
            {
                "is_early": True,
                "version": "0.8.3",
                "tokens": 7191 * 16,
                "total": 79.19 * GIB,
                "weights": 12.55 * GIB,
            },
            {"model": "OPEA/Mistral-Small", "eager": "False", "quantization": "awq"},
        ),
        (
            SGLANG,
            {"program": "sglang", "tokens": 2243474, "graphs": 1.44 * GIB},
            {"tp": "2", "gpu_memory_utilization": "0.93", "max_num_batched_tokens": "8192"},
        ),
    ],
)
def test_lines_are_read_as_published(text, fields, settings, tmp_path):
    (tmp_path / "server.log").write_text(text)
    log = read_start(tmp_path / "server.log")
    assert {name: getattr(log, name) for name in fields} == pytest.approx(fields)
    assert log.settings.items() >= settings.items()
    assert "kv" not in log.settings  # auto is no format


def logged(folder, *lines, **settings):
    """Return a log of vLLM with some settings and lines."""
    path = folder / "server.log"
    release = "INFO vLLM API server version 0.11.0"
    header = f"INFO [utils.py:233] non-default args: {settings}"
    path.write_text("\n".join([release, header, *lines]) + "\n")
    return path


def cache_of(tokens):
    return f"INFO [kv_cache_utils.py:1087] GPU KV cache size: {tokens:,} tokens"


def named(answer):
    return {row["term"] for row in answer if row["named"]}


def test_a_third_of_the_cache_by_one_flag(tmp_path):
    """MiniMax M2.5 in NVFP4 on two B200, each a replica with half of the experts.

    The cache is of 8 bits, as the checkpoint says. Source: vLLM issue 45178: 245,840 tokens and
    106.7 requests of 2,304 at once, and with VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 769,888.
    """
    settings = {"model": "MiniMaxAI/MiniMax-M2.5-NVFP4", "data_parallel_size": 2}
    start = {"hardware": "b200", "kv": "fp8"}
    for_one = "INFO Maximum concurrency for 2,304 tokens per request"
    few = logged(tmp_path, cache_of(245840), f"{for_one}: 106.7x", **settings)
    slower = fastcalc.diagnose(log=few, **start)
    assert named(slower) == {RUNNING.name}
    document = slower._answer.details()
    assert len(document["settings"]) <= 2
    assert "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0" in document["settings"][0]
    assert document["start"]["causes"][0]["times"] == pytest.approx(769888 / 245840, rel=0.05)
    assert document["start"]["expected_kv_cache_tokens"] == pytest.approx(769888, rel=0.05)
    many = logged(tmp_path, cache_of(769888), f"{for_one}: 334.2x", **settings)
    assert not named(fastcalc.diagnose(log=many, **start))


def test_sglang_is_expected_to_cache_what_it_logged(tmp_path):
    """Qwen3-235B-A22B-FP8 on four H100: 367,404 tokens at a share of 0.93 (vLLM issue 21348)."""
    (tmp_path / "sglang.log").write_text(
        "server_args=ServerArgs(model_path='/path/to/Qwen3-235B-A22B-FP8', tp_size=4, "
        "mem_fraction_static=0.93)\n"
        "KV Cache is allocated. #tokens: 367404, K size: 8.23 GB, V size: 8.23 GB\n"
    )
    answer = fastcalc.diagnose(log=tmp_path / "sglang.log", hardware="h100-sxm")
    start = answer._answer.details()["start"]
    assert start["kv_format"] == "bf16"
    assert start["expected_kv_cache_tokens"] == pytest.approx(367404, rel=0.08)
    low, high = (start[f"expected_kv_cache_tokens_{end}"] for end in ("low", "high"))
    assert low <= 367404 <= high
    assert not named(answer)


@pytest.mark.thorough
def test_an_old_release_is_named_by_its_log(tmp_path):
    """Llama 3 8B on an H100, prompts and outputs of 256 tokens, with benchmark_throughput.py.

    24.3 requests/s in August 2024 (vLLM pull request 7117), 10,986 tokens/s in December, with
    steps launched ahead (pull request 10984). The same shape as Llama 3.1 8B.
    """
    template = replace(SMALL.points[2], prompt=256, output=256, concurrency=256)
    slower, faster = (
        replace(template, metric="tokens_per_s_total", value=rate, notes="kind=e2e_saturated")
        for rate in (24.29 * 256, 10986.16)
    )
    assert validate([faster], ENTRIES).predictions[0].factor < 1.1
    assert validate([slower], ENTRIES).predictions[0].bias > 1.5
    log = tmp_path / "server.log"
    log.write_text(
        "Initializing an LLM engine (v0.5.3) with config: model='meta-llama/Meta-Llama-3.1-8B', "
        "tensor_parallel_size=1, enforce_eager=False, kv_cache_dtype=auto\n"
    )
    answer = fastcalc.diagnose(file_of([slower], tmp_path), log=log)
    assert named(answer) == {HOST.name}
    assert answer._answer.details()["settings"] == [NEWER_RELEASE]


LLAMA = {"model": "meta-llama/Llama-3.1-8B-Instruct", "max_model_len": 16000}


@every(
    "settings,lines,cause,times",
    [
        # 51.38 GiB at 0.9 of 79.18 GiB (llm-d-planner, empirical-vllm-memory-results) are 31.67
        # fewer at 0.5; a token of a mean prompt takes 131,072 bytes.
        (
            {"gpu_memory_utilization": 0.5},
            [cache_of(161464)],
            "gpu_memory_utilization to 0.9",
            2.607,
        ),
        # Of 450,000 tokens 225 requests of 2,000 would run at once.
        ({"max_num_seqs": 32}, [cache_of(450000)], "raise max_num_seqs to 225", 225 / 32),
        # Twice the bytes of a cache of 8 bits.
        ({}, [cache_of(420904), "INFO Model loading took 29.98 GiB"], "weights in the format", 2.0),
        # 20 GiB of 51.38 are taken before it starts.
        (
            {},
            [cache_of(257064), "INFO Free memory on device (59.18/79.18 GiB) on startup."],
            "another process",
            420904 / 257064,
        ),
        (
            {"gpu_memory_utilization": 0.9},
            [cache_of(356041), "INFO equivalent to --gpu-memory-utilization=0.8 without CUDA"],
            "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0",
            420904 / 356041,
        ),
    ],
)
def test_what_a_log_gives_away_is_named_with_how_much(settings, lines, cause, times, tmp_path):
    answer = fastcalc.diagnose(log=logged(tmp_path, *lines, **LLAMA, **settings), hardware="h100")
    first, *others = answer._answer.details()["start"]["causes"]
    assert others == []
    assert cause in first["setting"]
    assert first["times"] == pytest.approx(times, rel=0.03)


def test_a_start_as_expected_names_nothing_and_tells_the_format_of_its_cache(tmp_path):
    """51.38 GiB hold 420,904 tokens of 16 bits (llm-d-planner), and twice as many of 8."""
    available = "INFO Available KV cache memory: 51.38 GiB"
    for tokens, kv in ((420904, "bf16"), (841808, "fp8")):
        path = logged(tmp_path, available, cache_of(tokens), **LLAMA)
        answer = fastcalc.diagnose(log=path, hardware="h100-sxm")
        assert named(answer) == set()
        assert answer._answer.details()["start"]["kv_format"] == kv


def test_tokens_of_a_model_with_windows_are_the_engines_own(tmp_path):
    """Half of the layers of gpt-oss keep 128 tokens; memory is compared, tokens are not.

    50.28 GiB (llm-d-planner) are 1,098,368 tokens as vLLM 0.11 counts them (`num_blocks //
    len(kv_cache_groups)`, `_report_kv_cache_config`): 24 layers of 2 x 8 x 64 numbers of 16 bits.
    """
    lines = ["INFO Available KV cache memory: 50.28 GiB", cache_of(1098368)]
    settings = {"model": "openai/gpt-oss-20b", "max_model_len": 16000}
    answer = fastcalc.diagnose(log=logged(tmp_path, *lines, **settings), hardware="h100-sxm")
    assert named(answer) == set()
    start = answer._answer.details()["start"]
    assert (start["expected_kv_cache_tokens"], start["kv_format"]) == (None, "bf16")
    line = answer._answer.page(Screen(200))[0]
    assert "the KV cache (bf16) holds 50.3 GiB per chip; expected" in line
    lines[0] = lines[0].replace("50.28", "30.28")
    answer = fastcalc.diagnose(log=logged(tmp_path, *lines, **settings), hardware="h100-sxm")
    assert named(answer) == {RUNNING.name}


@pytest.mark.thorough
def test_points_are_predicted_with_the_settings_of_the_log(tmp_path, monkeypatch):
    """Without graphs a server is slower; as its log says so, nothing else is."""
    monkeypatch.chdir(tmp_path)
    path = file_of(measured(SMALL, FAULTS["eager"]), tmp_path)
    log = logged(tmp_path, cache_of(420904), **LLAMA, enforce_eager=True)
    answer = fastcalc.diagnose(path.name, log=log.name)
    assert named(answer) == {HOST.name}
    assert answer["logged"][0][0].startswith("enforce_eager makes TPOT")
    assert answer._answer.details()["points_verdict"] == "nothing"
    lines = render(answer._answer.page(Screen(80)), 80).splitlines()
    assert "The log shows enough KV cache" in " ".join(lines)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


@pytest.mark.thorough
def test_half_the_room_by_the_log_is_not_named_again_by_points(tmp_path):
    path = file_of(measured(LARGE, FAULTS["utilization 0.5"]), tmp_path)
    settings = {"model": "llama-3.1-70b", "tensor_parallel_size": 4, "gpu_memory_utilization": 0.5}
    answer = fastcalc.diagnose(path, log=logged(tmp_path, **settings))
    assert named(answer) == {RUNNING.name}
    assert answer._answer.details()["points_verdict"] == "nothing"


@pytest.mark.thorough
def test_a_result_file_needs_no_more_than_its_log_and_the_chip(tmp_path):
    """Model and ranks are the log's; the next command says them, too."""
    result = ROOT / "tests" / "measured" / "vllm-closed.json"
    path = logged(tmp_path, cache_of(420904), **LLAMA)
    answer = fastcalc.diagnose(result, log=path, hardware="h100-sxm")
    notes = answer._answer.page(Screen(80))[-1]
    words = f"fastcalc compare llama-3.1-8b --on h100-sxm --like {result} --tp 1"
    assert notes.next_command == command(words)


@every(
    "content,sentence",
    [
        (b"", "is empty"),
        (b"\x7fELF\0\0", "is not UTF-8 text"),
        (b"Accepted password for root\n", "has no line that vLLM, SGLang, llama.cpp"),
        (b"INFO non-default args: {'model': 'x/nothing-7b'}\n", "give --model"),
        (b"INFO non-default args: {'model': 'Qwen/Qwen3-8B'}\n", "is for qwen3-8b"),
        (
            b"non-default args: {'model': 'llama-3.1-8b', 'tensor_parallel_size': 2}\n",
            "is for tp 2",
        ),
    ],
)
def test_a_wrong_log_is_refused_in_a_sentence(content, sentence, tmp_path, capsys, monkeypatch):
    (tmp_path / "server.log").write_bytes(content)
    points = [] if "--model" in sentence else [file_of(measured(SMALL), tmp_path)]
    words = ["diagnose", *points, "--log", tmp_path / "server.log"]
    ran = run(*words, capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


@every(
    "settings,options,sentence",
    [
        ({}, {}, "does not name the chip: give hardware"),
        ({}, {"hardware": "wse-3"}, "vllm does not run on wse-3"),
        ({}, {"hardware": "rtx-4090", "model": "llama-3.1-70b"}, "do not fit on 1 rtx-4090"),
        ({"gpu_memory_utilization": 9}, {"hardware": "h100"}, "gpu_memory_utilization '9' is not"),
        ({"tensor_parallel_size": 3}, {"hardware": "h100"}, "tp 3 does not divide"),
    ],
)
def test_a_log_that_cannot_be_of_a_chip_is_refused(settings, options, sentence, tmp_path):
    with pytest.raises(InputError, match=sentence):
        fastcalc.diagnose(log=logged(tmp_path, **LLAMA, **settings), **options)


def test_a_log_of_more_memory_than_a_chip_has_is_of_another(tmp_path):
    """51.38 GiB of caches (an H100) on an L40S of 48 GB."""
    path = logged(tmp_path, "INFO Available KV cache memory: 51.38 GiB", **LLAMA)
    with pytest.raises(InputError, match="more than the 45"):
        fastcalc.diagnose(log=path, hardware="l40s")


@pytest.mark.parametrize(
    ("version", "is_early"), [("0.6.3.post1", True), ("0.8.5", False), ("0.1.dev1+gabc", False)]
)
def test_a_checkout_without_tags_is_no_old_release(version, is_early):
    assert StartLog("vllm", version=version).is_early is is_early


# Errors as vLLM 0.6 to 0.33, SGLang 0.5.23, llama.cpp and PyTorch word them.
@every(
    "lines,program,limits",
    [
        (
            "(EngineCore pid=43) ValueError: max_num_seqs (1024) exceeds available Mamba cache "
            "blocks (939). Each decode sequence requires one Mamba cache block.",
            "vllm",
            {"max_num_seqs": 939},
        ),
        (
            "ValueError: To serve at least one request with the model's max seq len (262144), "
            "(24.0 GiB KV cache is needed, which is larger than the available KV cache memory "
            "(3.18 GiB). Based on the available memory, the estimated maximum model length is "
            "34736. Try increasing `gpu_memory_utilization`",
            "vllm",
            {"max_model_len": 34736},
        ),
        (
            "ValueError: The model's max seq len (131072) is larger than the maximum number of "
            "tokens that can be stored in KV cache (81536). Try increasing",
            "vllm",
            {"max_model_len": 81536},
        ),
        (
            "ValueError: Free memory on device cuda:0 (60.5/79.18 GiB) on startup is less than "
            "desired GPU memory utilization (0.92, 72.85 GiB).",
            "vllm",
            {"gpu_memory_utilization": 0.76},
        ),
        ("ValueError: No available memory for the cache blocks. Try increasing", "vllm", {}),
        (
            "ValueError: Loaded weights leave no GPU memory for the KV cache under "
            "--mem-fraction-static=0.8. Raise --mem-fraction-static above 0.874 (minimum viable",
            "sglang",
            {"gpu_memory_utilization": 0.874},
        ),
        (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
            "sglang",
            {},
        ),
        (
            "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 5000.00 MiB on device 0: "
            "cudaMalloc failed: out of memory\nllama_kv_cache: failed to allocate buffer for kv "
            "cache",
            "llama.cpp",
            {},
        ),
    ],
)
def test_a_start_that_ended_is_read_and_is_the_verdict(lines, program, limits, tmp_path):
    path = tmp_path / "server.log"
    path.write_text(lines + "\n")
    log = read_start(path)
    assert (log.program, log.limits) == (program, limits)
    assert log.stopped
    answer = fastcalc.diagnose(log=path)
    assert answer._answer.code == 1
    details = answer._answer.details()
    assert details["verdict"] == "did not start"
    assert [line.split()[0] for line in details["settings"]] == [*limits]


def test_a_start_after_one_that_ended_is_the_last(tmp_path):
    path = tmp_path / "server.log"
    failed = "ValueError: No available memory for the cache blocks."
    path.write_text(f"{V1}{failed}\n{V1.replace('922,496', '422,496')}")
    log = read_start(path)
    assert (log.stopped, log.tokens) == ("", 422496)


def test_what_would_start_it_is_computed_where_the_chip_is_known(tmp_path, capsys, monkeypatch):
    """As one RTX PRO 6000 Max-Q stopped, in August 2026, with Qwen3.8 27B in FP8."""
    path = tmp_path / "server.log"
    path.write_text(
        "(APIServer pid=1) INFO 08-20 10:00:00 [api_utils.py:273] non-default args: {'model': "
        "'Qwen/Qwen3.8-27B-FP8', 'quantization': 'fp8'}\n(EngineCore pid=43) ValueError: "
        "max_num_seqs (1024) exceeds available Mamba cache blocks (939).\n"
    )
    ran = run("diagnose", "--log", str(path), "--hardware", "rtx-pro-6000-max-q",
              capsys=capsys, monkeypatch=monkeypatch)  # fmt: skip
    text = " ".join(ran.out.split())
    assert ran.code == 1
    assert text.startswith("vllm did not start: max_num_seqs (1024) exceeds available")
    assert "--max-num-seqs 939 (from the error)" in text
    assert "--tensor-parallel-size 2 (computed)" in text
    assert "--engine vllm --weights fp8 --max-num-seqs 939" in text


def test_what_would_start_it_follows_the_memory_that_was_logged(tmp_path):
    """Qwen3 32B: 24,000 tokens of 0.25 MiB take 5.86 GiB of 3.05 that were left, 2.93 in FP8; 2.81
    GiB more are 3.6% of 79.18. Without the log 4.5 GiB are expected, and 0.92 is enough."""
    path = tmp_path / "server.log"
    path.write_text(
        "INFO [utils.py:233] non-default args: {'model': 'Qwen/Qwen3-32B', 'max_model_len': 24000, "
        "'gpu_memory_utilization': 0.9}\nINFO [gpu_worker.py:298] Available KV cache memory: 3.05 "
        "GiB\nValueError: To serve at least one request with the model's max seq len (24000), "
        "(5.86 GiB KV cache is needed, which is larger than the available KV cache memory (3.05 "
        "GiB). Based on the available memory, the estimated maximum model length is 12480.\n"
    )
    answer = fastcalc.diagnose(log=path, hardware="h100-sxm", engine="vllm-0.19")._answer
    settings = dict(line.split() for line in answer.details()["settings"])
    assert settings["max_model_len"] == "12480"
    assert settings["kv"] == "fp8"
    assert settings["gpu_memory_utilization"] == "0.94"


def test_a_start_on_two_cards_is_as_expected_and_next_repeats_its_flags(tmp_path):
    """Qwen3.8 27B in FP8 on two RTX 3090: 4.99 GiB and 302,921 tokens, as logged."""
    flags = {
        "model": "Qwen/Qwen3.8-27B-FP8", "max_model_len": 131072, "quantization": "fp8",
        "tensor_parallel_size": 2, "gpu_memory_utilization": 0.92, "kv_cache_dtype": "fp8_e4m3",
        "enable_prefix_caching": True, "max_num_batched_tokens": 8192, "max_num_seqs": 2,
    }  # fmt: skip
    path = tmp_path / "server.log"
    path.write_text(
        f"INFO [api_utils.py:273] non-default args: {flags}\n"
        "INFO [gpu_worker.py:563] Available KV cache memory: 4.99 GiB\n"
        "INFO [kv_cache_utils.py:2235] GPU KV cache size: 302,921 tokens\n"
    )
    answer = fastcalc.diagnose(log=path, hardware="rtx-3090")._answer
    assert "another process" not in str(answer.details())
    assert answer.start.room[1] / GIB == pytest.approx(4.99, rel=0.1)
    for words in (
        "qwen3.8-27b",
        "--engine vllm",
        "--weights fp8",
        "--tp 2",
        "--kv fp8",
        "--max-num-seqs 2",
    ):
        assert words in answer.next_command()


@pytest.mark.thorough
@every(
    "changes,settings,sentence",
    [
        ({"kv": "fp8"}, {"kv_cache_dtype": "bfloat16"}, "measurements state a cache in fp8"),
        ({"weights": "bf16"}, {"quantization": "fp8"}, "measurements state weights in bf16"),
        ({"tokens_per_pass": 2.5}, {}, "measurements used speculative decoding"),
        (
            {"tokens_per_pass": 1.0},
            {"speculative_config": {"method": "ngram", "num_speculative_tokens": 3}},
            "The log shows 3 draft tokens",
        ),
        ({}, {}, None),
    ],
)
def test_points_that_contradict_the_log_are_said_to(tmp_path, changes, settings, sentence):
    points = [replace(point, **changes) for point in measured(SMALL)]
    answer = fastcalc.diagnose(file_of(points, tmp_path), log=logged(tmp_path, **LLAMA, **settings))
    notes = " ".join(answer.notes)
    assert sentence in notes if sentence else "state" not in notes


@pytest.mark.parametrize(
    ("drafts", "billions"),
    [
        (
            "{'method': 'draft_model', 'model': 'Qwen/Qwen3-0.6B', 'num_speculative_tokens': 3}",
            0.596,
        ),
        (
            "SpeculativeConfig(method='eagle3', model='x/EAGLE3-LLaMA3.1-8B', num_spec_tokens=3)",
            0.4,
        ),
        ("{'method': 'mtp', 'model': 'Qwen/Qwen3-8B', 'num_speculative_tokens': 1}", 0.0),
        ("{'method': 'dflash', 'model': 'z-lab/Qwen3-8B-DFlash-b16'}", 0.0),
        ("None", 0.0),
    ],
)
def test_weights_of_a_draft_model_that_the_log_names_are_counted(drafts, billions, tmp_path):
    """0.596 billion parameters of Qwen3 0.6B (its card), and one layer and a head of EAGLE-3."""
    path = tmp_path / "server.log"
    path.write_text(
        "vLLM API server version 0.11.0\n"
        "non-default args: {'model': 'Qwen/Qwen3-8B', 'speculative_config': " + drafts + "}\n"
        f"{cache_of(300_000)}\n"
    )
    start = diagnosed(Diagnose(log=path, hardware="h100-sxm")).start
    plain = replace(start.scenario, memory=replace(start.scenario.memory, draft=None, drafted=0.0))
    weights = (
        start.placement.weights_per_chip - replace(start, scenario=plain).placement.weights_per_chip
    )
    assert float(weights) / 2e9 == pytest.approx(billions, rel=0.02)


def next_words(answer):
    """Words of the next command that an answer prints."""
    return re.findall(r"[\w.-]+", answer.next_command())


def test_copies_of_attention_of_sglang_are_ranks_of_their_own_in_the_next_command(tmp_path):
    """tp_size counts all eight ranks there: tp 1 and dp 8 here."""
    path = tmp_path / "server.log"
    path.write_text(
        "server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V3.2', tp_size=8, dp_size=8, "
        "enable_dp_attention=True, mem_fraction_static=0.6)\n"
        "RuntimeError: Loaded weights leave no GPU memory for the KV cache under "
        "--mem-fraction-static=0.6. Raise --mem-fraction-static above 0.612\n"
    )
    answer = fastcalc.diagnose(log=path, hardware="h200-sxm")._answer
    assert next_words(answer)[-6:] == "--gpu-memory-utilization 0.612 --tp 1 --dp 8".split()


def test_a_start_out_of_memory_that_was_to_fit_needs_more_chips(tmp_path):
    """Kimi K2 in FP8 was to leave 4 GiB on each of eight; smaller limits or two stages do."""
    stopped = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB."
    log = logged(tmp_path, stopped, model="moonshotai/Kimi-K2-Instruct", tensor_parallel_size=8)
    answer = fastcalc.diagnose(log=log, hardware="h200-sxm", engine="vllm")._answer
    settings = [one.setting for one in answer.remedies]
    assert settings == ["max_num_seqs", "gpu_memory_utilization", "pp"]
    assert answer.remedies[-1].value == "2"  # two stages of the eight ranks that it had


def test_what_is_computed_of_a_stopped_start_says_which_requests_it_assumes(tmp_path):
    stopped = "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (49)."
    log = logged(tmp_path, stopped, model="Qwen/Qwen3.6-27B-FP8", max_model_len=131_072)
    answer = fastcalc.diagnose(log=log, hardware="h100-sxm")._answer
    assert (
        "A log states no requests: computed changes assume 1,000 prompt and 1,000 output tokens "
        "per request."
    ) in [note.text for note in answer.notes()]


def test_a_failed_start_is_told_whatever_names_are_missing(tmp_path):
    """Where the log names no model, only what the error says can be changed."""
    error = "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (49)."
    path = tmp_path / "server.log"
    path.write_text(f"INFO vllm\n{error}\n")
    for hardware in (None, "h100-sxm"):
        answer = fastcalc.diagnose(log=path, hardware=hardware)._answer
        (note,) = answer.notes()
        assert answer.details()["settings"] == ["max_num_seqs 49"]
        assert "the file does not name the model: give" in note.text
        assert ("does not name the chip" in note.text) == (hardware is None)
    with pytest.raises(InputError, match=r"deepseek-r1 is a model, not a file: give .*model"):
        fastcalc.diagnose("deepseek-r1", log=path)


def test_a_log_in_place_of_measurements_is_asked_for_as_a_log(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(V1)
    with pytest.raises(InputError, match=r"server\.log: give a start-up log as .*log"):
        fastcalc.diagnose(path)
