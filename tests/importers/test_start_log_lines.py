"""Each number of a start-up log, from a line that holds it and little else."""

import pytest

from fastcalc.errors import InputError
from fastcalc.importers import start_log
from fastcalc.importers.start_log import read_start
from tests.helpers import every

GIB = 2**30
VLLM, SGLANG = "INFO vLLM starts\n", "server_args=ServerArgs(model_path='a/b')\n"


def read(tmp_path, text, head=VLLM):
    path = tmp_path / "server.log"
    path.write_bytes((head + text).encode() if isinstance(text, str) else text)
    return read_start(path)


@every(
    "head,line,field,value",
    [
        ("", "vLLM API server version 0.9.1", "version", "0.9.1"),
        ("", "vLLM API server version v0.10.2rc1.dev3+gabc", "version", "0.10.2rc1.dev3+gabc"),
        (VLLM, "Initializing a V1 LLM engine (v0.9.1) with config", "version", "0.9.1"),
        (VLLM, "Model loading took 2.5 GiB and 3 seconds", "weights", 2.5 * GIB),
        (VLLM, "Loading model weights took 2.5 GB", "weights", 2.5 * GIB),
        (VLLM, "model weights take 2.5GiB; non_torch_memory takes 0.16GiB", "weights", 2.5 * GIB),
        (SGLANG, "Load weight end. type=A, dtype=bf16, mem usage=2.5 GB.", "weights", 2.5 * GIB),
        (VLLM, "Available KV cache memory: 1,002.5 GiB", "available", 1002.5 * GIB),
        (VLLM, "memory reserved for KV Cache is 2.5GiB.", "available", 2.5 * GIB),
        (VLLM, "total_gpu_memory (79.5GiB) x gpu_memory_utilization (0.90)", "total", 79.5 * GIB),
        (VLLM, "Free memory on device (77.5/79.5 GiB) on startup.", "total", 79.5 * GIB),
        (VLLM, "Free memory on device cuda:0 (77.5/79.5 GiB) on startup", "free", 77.5 * GIB),
        (VLLM, "Graph capturing finished in 20 secs, took 0.5 GiB", "graphs", 0.5 * GIB),
        (SGLANG, "Capture cuda graph end. Time: 5 s. mem usage=1.5 GB.", "graphs", 1.5 * GIB),
        (VLLM, "GPU KV cache size: 922,496 tokens", "tokens", 922_496),
        (SGLANG, "KV Cache is allocated. #tokens: 2243474, K size: 59 GB", "tokens", 2_243_474),
        (SGLANG, "max_total_num_tokens=5000, chunked", "tokens", 5000),
        (VLLM, "# GPU blocks: 100, # CPU blocks: 7", "tokens", 1600),
        (VLLM, "# cuda blocks: 100, # CPU blocks: 7", "tokens", 1600),
        (VLLM, "# CUDA blocks: 100, # CPU blocks: 7", "tokens", 1600),
        (VLLM, "Maximum concurrency for 40,000 tokens per request: 23.06x", "length", 40_000),
        (VLLM, "Maximum concurrency for 40,000 tokens per request: 23.06x", "at_once", 23.06),
        (VLLM, "Using max model len 4096", "length", 4096),
        (VLLM, "with config: model='m', max_seq_len=4096, tensor_parallel_size=1", "length", 4096),
        (VLLM, "one request with the model's max seq len (4096), (1 GiB KV", "length", 4096),
        (SGLANG, "max_total_num_tokens=5000, context_len=2048", "length", 2048),
        (VLLM, "equivalent to --gpu-memory-utilization=0.8048 without CUDA", "equivalent", 0.8048),
        (VLLM, "Using Flash Attention backend on V1 engine", "backend", "Flash Attention"),
        (VLLM, "Using FlashInfer backend.", "backend", "FlashInfer"),
    ],
)
def test_a_line_is_read(tmp_path, head, line, field, value):
    known = "GPU KV cache size: 1 tokens\n" if head != SGLANG and field != "tokens" else ""
    found = getattr(read(tmp_path, f"{line}\n{known}", head), field)
    assert found == (pytest.approx(value) if isinstance(value, float) else value)


@every("field,mebibytes", [("weights", 1500.5), ("available", 96), ("program", None)])
def test_buffers_of_llama_cpp_are_added_up_over_its_cards(tmp_path, field, mebibytes):
    lines = [
        "load_tensors:   CPU_Mapped model buffer size =   281.81 MiB",
        "load_tensors:        CUDA0 model buffer size =  1000.50 MiB",
        "load_tensors:        CUDA1 model buffer size =   500.00 MiB",
        "llama_kv_cache:      CUDA0 KV buffer size =    64.00 MiB",
        "llama_kv_cache:      CUDA1 KV buffer size =    32.00 MiB",
        "llama_kv_cache:        CPU KV buffer size =     7.00 MiB",
    ]
    found = getattr(read(tmp_path, "\n".join(lines), ""), field)
    assert found == (mebibytes * 2**20 if mebibytes else "llama.cpp")


def test_blocks_are_of_the_size_that_was_set(tmp_path):
    text = "non-default args: {'block_size': 32}\n# GPU blocks: 100\n"
    assert read(tmp_path, text).tokens == 3200


@every(
    "text,settings",
    [
        ("non-default args: {'max_num_seqs': 32, 'kv_cache_dtype': 'auto'}", {"max_num_seqs": "32"}),
        ("non-default args: {'max_num_seqs': None, 'enforce_eager': True}", {"eager": "True"}),
        ("LLM engine (v0.6.3) with config: tensor_parallel_size=4, quantization=awq.", {"tp": "4", "quantization": "awq"}),
        ("args: Namespace(model=\"a b/c\", pipeline_parallel_size=2)", {"model": "a b/c", "pp": "2"}),
        ("Chunked prefill is enabled with max_num_batched_tokens=8192.", {"max_num_batched_tokens": "8192"}),
        ("Cudagraph is disabled under eager mode", {"eager": "True"}),
        ("cudagraph is disabled under eager mode", {"eager": "True"}),
        ("Enforce eager set, overriding", {"eager": "True"}),
        ("Initializing an LLM engine (v0.5.1)", {"first_engine": "True"}),
        ("Initializing a V0 LLM engine (v0.8.1)", {"first_engine": "True"}),
        ("Initializing a V1 LLM engine (v0.8.1)", {}),
        ("a line of max_num_seqs=32 that lists nothing", {}),
    ],
)  # fmt: skip
def test_settings_of_a_line(tmp_path, text, settings):
    found = read(tmp_path, f"{text}\nGPU KV cache size: 1 tokens\n")
    assert found.settings == settings


@every(
    "text,program,settings,tokens",
    [
        # Two starts in one log: the second begins after the first has said what its cache holds.
        ("vLLM API server version 1\nnon-default args: {'max_num_seqs': 1}\nGPU KV cache size: 1 tokens\n"
         "vLLM API server version 2\nnon-default args: {'max_num_seqs': 2}\nGPU KV cache size: 2 tokens\n", "vllm", {"max_num_seqs": "2"}, 2),
        # Several headers of one start are no other.
        ("vLLM API server version 1\nnon-default args: {'max_num_seqs': 1}\nLLM engine (v1)\nGPU KV cache size: 1 tokens\n", "vllm", {"max_num_seqs": "1"}, 1),
        ("GPU KV cache size: 1 tokens\nserver_args=ServerArgs(tp_size=2)\n", "sglang", {"tp": "2"}, None),
        ("server_args=ServerArgs(tp_size=2)\nKV Cache is allocated. #tokens: 5\n", "sglang", {"tp": "2"}, 5),
        ("noise\n\nGPU KV cache size: 7 tokens\nnoise\n", "vllm", {}, 7),
    ],
)  # fmt: skip
def test_the_last_start_counts(tmp_path, text, program, settings, tokens):
    found = read(tmp_path, text, "")
    assert (found.program, found.settings, found.tokens) == (program, settings, tokens)


@every(
    "line,place,sentence",
    [
        ("GPU KV cache size: 1.2.3 tokens", "2:20", "'1.2.3' is not a number"),
        ("Available KV cache memory: , GiB", "2:28", "',' is not a number"),
        ("GPU KV cache size: 1000000001 tokens", "2:20", "is not a number that a server prints here"),
        ("Available KV cache memory: 1e400 GiB", "2:28", "is not a number"),
        ("non-default args: {'max_num_seqs': 0}", "2:21", "max_num_seqs '0' is not a number"),
        ("non-default args: {'gpu_memory_utilization': 1.5}", "2:21", "gpu_memory_utilization '1.5'"),
        ("non-default args: {'tensor_parallel_size': 0}", "2:21", "tensor_parallel_size '0'"),
        ("Maximum concurrency for 5 tokens per request: 1e99x", "2:47", "'1e99' is not a number"),
        ("nothing of a server", None, "has no line that vLLM, SGLang, llama.cpp"),
    ],
)  # fmt: skip
def test_a_number_that_is_none_has_its_place(tmp_path, line, place, sentence):
    with pytest.raises(InputError) as refused:
        read(tmp_path, line + "\n")
    path = tmp_path / "server.log"
    assert str(refused.value).startswith(f"{path}:{place}" if place else str(path))
    assert sentence in str(refused.value)


@every(
    "line,field,value",
    [
        ("GPU KV cache size: 1,000,000,000 tokens", "tokens", 1_000_000_000),
        ("GPU KV cache size: 0 tokens\nAvailable KV cache memory: 0.5 GiB", "available", GIB / 2),
        ("Available KV cache memory: 0 GiB\nGPU KV cache size: 5 tokens", "available", 0.0),
    ],
)
def test_the_least_and_the_most_that_a_server_has(tmp_path, line, field, value):
    assert getattr(read(tmp_path, line + "\n"), field) == value


@every(
    "raw,sentence",
    [(b"", "is empty"), (b"a\0", "is not UTF-8 text"), (b"x" * 4000 + b"\0", "is not UTF-8 text")],
)
def test_what_is_no_log(tmp_path, raw, sentence):
    with pytest.raises(InputError, match=sentence):
        read(tmp_path, raw)


def test_a_log_is_read_up_to_a_size(tmp_path, monkeypatch):
    text = "GPU KV cache size: 5 tokens\n"
    for most, is_read in ((len(VLLM + text), True), (len(VLLM + text) - 1, False)):
        monkeypatch.setattr(start_log, "MAX_BYTES", most)
        if is_read:
            assert read(tmp_path, text).tokens == 5
        else:
            with pytest.raises(InputError, match="is larger than"):
                read(tmp_path, text)
