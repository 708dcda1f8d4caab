"""A start of a server as its log has it: settings, memory, and tokens that caches hold."""

import re
from dataclasses import dataclass, field

from fastcalc.catalogue.numerals import parse_number

VLLM, SGLANG, LLAMA_CPP, TENSORRT_LLM = "vllm", "sglang", "llama.cpp", "tensorrt-llm"
SETTINGS: dict[str, dict[str, str]] = {
    VLLM: {
        "model": "model",
        "gpu_memory_utilization": "gpu_memory_utilization",
        "max_model_len": "max_model_len",
        "max_num_seqs": "max_num_seqs",
        "max_num_batched_tokens": "max_num_batched_tokens",
        "tp": "tensor_parallel_size",
        "pp": "pipeline_parallel_size",
        "dp": "data_parallel_size",
        "eager": "enforce_eager",
        "kv": "kv_cache_dtype",
        "quantization": "quantization",
        "block_size": "block_size",
        "language_model_only": "language_model_only",
        "prefix_caching": "enable_prefix_caching",
        "drafted": "num_speculative_tokens",
    },
    SGLANG: {
        "model": "model_path",
        "gpu_memory_utilization": "mem_fraction_static",
        "max_model_len": "context_length",
        "max_num_seqs": "max_running_requests",
        "max_num_batched_tokens": "chunked_prefill_size",
        "tp": "tp_size",
        "pp": "pp_size",
        "dp": "dp_size",
        "dp_attention": "enable_dp_attention",
        "eager": "disable_cuda_graph",
        "kv": "kv_cache_dtype",
        "quantization": "quantization",
        "block_size": "page_size",
    },
    LLAMA_CPP: {
        "max_model_len": "n_ctx",
        "max_num_seqs": "n_seq_max",
        "max_num_batched_tokens": "n_batch",
        "kv": "type_k",
    },
    TENSORRT_LLM: {
        "max_model_len": "max_seq_len",
        "max_num_seqs": "max_num_requests",
        "max_num_batched_tokens": "max_num_tokens",
        "gpu_memory_utilization": "kv_cache_free_gpu_mem_fraction",
        "kv": "kv_cache_dtype",
    },
}
"""What a program calls each setting, by the name that it has here."""

RANKS = ("tp", "pp", "dp")
"""Settings that lay a model out over chips."""


@dataclass
class StartLog:
    """A start of a server, as far as its log says.

    program, version : ``vllm``, ``sglang``, ``llama.cpp`` or ``tensorrt-llm``, and its release
    settings : by the name of fastcalc's own option or field, as it was written
    weights, available, total, free : of the memory of a chip; the last two before it starts [byte]
    tokens : that the caches of a replica hold [1]
    length, at_once : tokens of the longest sequence, and how many of these they hold [1]
    graphs : memory that CUDA graphs took [byte]
    equivalent : share of memory that caches would have without what is held out for graphs [1]
    backend : of attention, as it is called
    stopped : the error that ended the start, empty where it went on
    limits : what that error names as the most that starts, by setting
    needed : memory of a chip that one sequence needs, by that error [byte]
    """

    program: str
    version: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    weights: float | None = None
    available: float | None = None
    total: float | None = None
    free: float | None = None
    tokens: int | None = None
    length: int | None = None
    at_once: float | None = None
    graphs: float | None = None
    equivalent: float | None = None
    backend: str = ""
    stopped: str = ""
    limits: dict[str, float] = field(default_factory=dict)
    needed: float | None = None

    def number(self, name: str) -> float | None:
        """A setting that is a number, None where it is left open."""
        text = self.settings.get(name, "")
        return parse_number(text) if text[:1].isdigit() else None

    @property
    def engine(self) -> str:
        """The engine of fastcalc that starts as this release does."""
        release = self._release
        if self.program != VLLM or not release or release >= [0, 26]:
            return self.program
        return "vllm-0.19" if release < [0, 20] else "vllm-0.25"

    @property
    def _release(self) -> list[int]:
        """Major and minor version, empty where it is unknown."""
        # A checkout without tags calls itself 0.1.dev, whatever it is.
        if self.version.startswith("0.1.dev"):
            return []
        return [*map(int, re.findall(r"[0-9]{1,9}", self.version)[:2])]

    @property
    def is_early(self) -> bool:
        """Whether it is vLLM's first engine, in which prompts and tokens take turns."""
        is_old = bool(self._release) and self._release < [0, 8]
        return self.program == VLLM and (is_old or self.is_on("first_engine"))

    def is_on(self, name: str) -> bool:
        """Whether a setting is on."""
        return self.settings.get(name) == "True"
