"""Table of engine flags: their names, the field each sets, and the engine it belongs to."""

import re
from typing import NamedTuple


class EngineFlag(NamedTuple):
    """A flag of one or several engines.

    field : The request field that it sets, or "" if it has no effect here.
    engine : The engine with this flag, or "" if several have it.
    has_value : Whether a value follows it.
    is_copied : Whether the field gets its value unchanged.
    sets : The path in a catalogue file that it sets, as with ``--set``.
    """

    field: str
    engine: str = ""
    has_value: bool = True
    is_copied: bool = True
    sets: str = ""

    @property
    def own(self) -> str:
        """The flag of its field, as fastcalc names it."""
        return "--" + self.field.replace("_", "-")


def _named(flag: EngineFlag, *names: str) -> dict[str, EngineFlag]:
    return dict.fromkeys(names, flag)


def _read(field: str, *names: str, engine: str = "llama-cpp") -> dict[str, EngineFlag]:
    """Declare flags whose value is parsed by a function."""
    return _named(EngineFlag(field, engine, is_copied=False), *names)


def _setting(path: str, name: str, engine: str) -> dict[str, EngineFlag]:
    """Declare a flag that sets a number in a catalogue file."""
    return _named(EngineFlag("set", engine, is_copied=False, sets=path), name)


def _switch(field: str, *names: str, engine: str = "llama-cpp") -> dict[str, EngineFlag]:
    return _named(EngineFlag(field, engine, has_value=False, is_copied=False), *names)


SPLIT_MODES, CARD_SHARES = ("-sm", "--split-mode"), ("-ts", "--tensor-split")
CARD_NAMES, OVERRIDES = ("-dev", "--device"), ("-ot", "--override-tensor")
KEY_TYPES, VALUE_TYPES = ("-ctk", "--cache-type-k"), ("-ctv", "--cache-type-v")
UNIFIED, ALL_EXPERTS = ("-kvu", "--kv-unified"), ("-cmoe", "--cpu-moe")
PROJECTORS = ("-mm", "--mmproj", "-mmu", "--mmproj-url")
AUTO = "auto"
NO_PROJECTORS = ("--no-mmproj", "--no-mmproj-auto", "--no-mmproj-offload")
"""Flags that keep a repository's projector out of the card's memory."""
FLASH_ATTENTION = ("-fa", "--flash-attn")
COPIED_ATTENTION, SPREAD_EXPERTS = "--enable-dp-attention", ("--enable-expert-parallel", "-ep")
LENGTH = "--max-model-len"
NO_GRAPHS, GRAPHS = ("--enforce-eager", "-O0"), ("--compilation-config", "-cc")
OPTIMIZATION = ("-O", "--optimization-level")
GRAPH_SIZES = (
    *("--max-cudagraph-capture-size", "--cudagraph-capture-sizes", "--cuda-graph-sizes"),
    *("--cuda-graph-max-bs", "--cuda-graph-max-bs-decode"),
    *("--cuda-graph-bs", "--cuda-graph-bs-decode"),
)
"""Flags for the batch size, or sizes, for which CUDA graphs are captured."""
REDUNDANT_EXPERTS = ("--ep-num-redundant-experts", "--num-redundant-experts")
BALANCED_EXPERTS, BALANCE = ("--enable-eplb",), ("--eplb-config",)
INPUT_LIMITS = ("--limit-mm-per-prompt",)
ROPE, MODEL_OVERRIDES = ("--rope-scaling",), ("--hf-overrides", "--json-model-override-args")
DRAFT_CONFIGURATION = ("--speculative-config", "-sc")
DRAFT_COUNTS = (
    *("--spec-tokens", "--speculative-num-steps", "--num-draft-tokens"),
    *("--draft-max", "--draft", "--draft-n", "--spec-draft-n-max"),
)
VERIFIED_TOKENS = ("--speculative-num-draft-tokens",)
"""Flags for the number of tokens that a step verifies: the draft tokens plus one."""
DRAFT_METHODS = ("--speculative-algorithm",)
DRAFT_MODELS = (
    "-md",
    "--model-draft",
    "--spec-model",
    "--speculative-draft-model-path",
    "--speculative-draft-model",
    *("-hfd", "-hfrd", "--hf-repo-draft", "--spec-draft-hf", "--spec-draft-model"),
    "--speculative-model",
)
WHOLE_WINDOWS = "--swa-full"

NOT_MODELLED = {
    "--kv-cache-memory-bytes": "the cache uses the memory that --gpu-memory-utilization leaves",
    "--cpu-offload-gb": "all weights are on the cards; --engine llama-cpp --host splits them",
    "--max-total-tokens": "the cache uses the memory that the weights leave",
    **dict.fromkeys(("-nkvo", "--no-kv-offload"), "the cache is on the cards"),
    "--disable-cuda-graph": (
        "memory and speed are those with CUDA graphs, because no published measurement has "
        "SGLang without them; --engine eager is fitted on vLLM"
    ),
}
"""Flags that affect memory but are not modelled, with what is computed instead."""

CONFIGURATIONS = {*GRAPHS, *DRAFT_CONFIGURATION, *INPUT_LIMITS, *MODEL_OVERRIDES, *BALANCE}
"""Flags with a JSON value. One of its keys may be written as ``FLAG.key``."""

FLAGS = {
    **_named(EngineFlag("tp"), "--tp", "--tp-size", "-tp"),
    **_named(EngineFlag("tp", "vllm"), "--tensor-parallel-size"),
    **_named(EngineFlag("pp"), "--pp", "--pp-size", "-pp"),
    **_named(EngineFlag("pp", "vllm"), "--pipeline-parallel-size"),
    **_named(EngineFlag("dp"), "--dp", "--dp-size", "-dp"),
    **_named(EngineFlag("dp", "vllm"), "--data-parallel-size"),
    **_named(EngineFlag("ep"), "--ep", "--ep-size", "--expert-parallel-size"),
    **_switch("ep", *SPREAD_EXPERTS, engine="vllm"),
    **_switch("dp", COPIED_ATTENTION, engine="sglang"),
    **_named(EngineFlag("kv"), "--kv", "--kv-cache-dtype"),
    **_named(EngineFlag("weights"), "--weights", "--quantization", "-q"),
    **_named(EngineFlag("max_model_len"), LENGTH, "--max-seq-len"),
    **_named(EngineFlag("max_model_len", "sglang"), "--context-length"),
    **_named(EngineFlag("max_model_len", "llama-cpp"), "--ctx-size", "-c"),
    **_named(EngineFlag("max_num_seqs"), "--max-num-seqs", "--parallel", "--max-batch-size"),
    **_named(EngineFlag("max_num_seqs"), "--decode-concurrency"),
    **_named(EngineFlag("max_num_seqs", "sglang"), "--max-running-requests"),
    **_named(EngineFlag("max_num_seqs", "llama-cpp"), "-np"),
    **_named(EngineFlag("max_num_batched_tokens"), "--max-num-batched-tokens", "--max-num-tokens"),
    **_named(EngineFlag("max_num_batched_tokens", "sglang"), "--chunked-prefill-size"),
    **_named(EngineFlag("max_num_batched_tokens", "llama-cpp"), "-ub", "--ubatch-size"),
    **_named(EngineFlag("gpu_memory_utilization"), "--gpu-memory-utilization"),
    **_named(EngineFlag("gpu_memory_utilization", "sglang"), "--mem-fraction-static"),
    **_named(EngineFlag("n_gpu_layers", "llama-cpp"), "--n-gpu-layers", "--gpu-layers", "-ngl"),
    **_named(EngineFlag("n_cpu_moe", "llama-cpp"), "--n-cpu-moe", "-ncmoe"),
    **_switch("n_cpu_moe", *ALL_EXPERTS),
    **_read("n_cpu_moe", *OVERRIDES),
    **_read("tp", *SPLIT_MODES, *CARD_SHARES, *CARD_NAMES),
    **_read("kv", *KEY_TYPES, *VALUE_TYPES, *FLASH_ATTENTION),
    **_switch("max_num_seqs", *UNIFIED),
    **_switch("language_model_only", "--language-model-only", engine=""),
    **_read("set", *DRAFT_CONFIGURATION, *DRAFT_COUNTS, *DRAFT_MODELS, engine=""),
    **_read("set", *VERIFIED_TOKENS, *DRAFT_METHODS, engine=""),
    **_read("set", *ROPE, *MODEL_OVERRIDES, engine=""),
    **_read("engine", *GRAPHS, *OPTIMIZATION, engine="vllm"),
    **_switch("engine", *NO_GRAPHS, engine="vllm"),
    **_read("set", *GRAPH_SIZES, *REDUNDANT_EXPERTS, engine=""),
    **_read("set", *BALANCE, engine="vllm"),
    **_switch("set", *BALANCED_EXPERTS, engine=""),
    **_read("language_model_only", *INPUT_LIMITS, engine="vllm"),
    **_switch("set", WHOLE_WINDOWS),
    **_setting("parameters.cache_fraction", "--kv-cache-free-gpu-memory-fraction", "tensorrt-llm"),
    **_setting("parameters.cache_fraction", "--free-gpu-memory-fraction", "tensorrt-llm"),
    **_read("", *NOT_MODELLED, engine=""),
    **_switch("", "-nkvo", "--no-kv-offload"),
    **_switch("", "--disable-cuda-graph", engine="sglang"),
    **_read("set", *PROJECTORS),
}
"""All supported flags by name."""

AS_FITS = {"auto", "-1"}
"""Values that make vLLM choose the longest length that fits."""
SAYS_NOTHING = {"auto", "None"}
METHODS = {
    *("modelopt", "compressed-tensors", "quark", "ascend", "gguf", "moe_wna16", "inc", "fp_quant")
}
"""Quantization methods for which the engine takes the format from the checkpoint."""
ALL_LAYERS = re.compile(r"all|auto|-\d+|99|\d{3,}")
"""Matches layer counts that put all layers on the card."""
MOST_LAYERS = 999


def own_name(word: str) -> str:
    """Return fastcalc's flag for an engine flag. Any other word is unchanged.

    >>> own_name("-tp"), own_name("--ctx-size"), own_name("--batch")
    ('--tp', '--max-model-len', '--batch')
    """
    flag = FLAGS.get(word)
    return flag.own if flag and flag.is_copied else word
