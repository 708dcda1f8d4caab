"""``trtllm-serve`` of TensorRT-LLM 1.x; settings without a flag go to an options file.

Source: tensorrt_llm/commands/serve.py; the guide to disaggregated serving.
"""

from fastcalc.features.plan.servers.server import EVERY_ADDRESS, Server

LOADED_AS: dict[str, str] = {}
"""It serves weights in the format of their checkpoint."""

CACHES = {"bf16": "auto", "fp16": "auto", "fp8": "fp8", "nvfp4": "nvfp4"}
"""Names of its KV-cache formats in its options."""

HOSTS = "hosts"
"""File that names the hosts of a server."""


def start(server: Server) -> list[str]:
    """Arguments that start a server; ranks of attention replicas count as tensor ranks."""
    layout = server.layout
    words = ["mpirun", "-np", f"{layout.ranks}", "-hostfile", HOSTS, "trtllm-llmapi-launch"]
    words = words if server.hosts > 1 else []
    words += ["trtllm-serve", "serve", server.checkpoint, "--tp_size", f"{layout.width}"]
    words += ["--pp_size", f"{layout.pp}"] if layout.pp > 1 else []
    words += ["--ep_size", f"{layout.ep}"] if layout.ep > 1 else []
    words += ["--max_seq_len", f"{server.tokens}"]
    words += ["--max_batch_size", f"{server.sequences}"] if server.sequences else []
    words += ["--max_num_tokens", f"{server.chunk}"] if server.chunk else []
    words += ["--host", EVERY_ADDRESS] if server.role != "all" else []
    words += ["--enable_chunked_prefill"]
    words += ["--kv_cache_free_gpu_memory_fraction", f"{server.cache_share:g}"]
    return [*words, "--config", options_file(server)]


def options_file(server: Server) -> str:
    """Name of the options file."""
    return f"trtllm-{server.role}.yaml"


def options(server: Server) -> dict[str, object]:
    """Contents of the options file."""
    values: dict[str, object] = {"kv_cache_config": {"dtype": CACHES[server.cache]}}
    if server.layout.dp > 1:
        values["enable_attention_dp"] = True
    if server.drafts:
        drafting = {"decoding_type": "MTP", "num_nextn_predict_layers": server.drafts}
        values["speculative_config"] = drafting
    if server.role != "all":
        buffer = {"backend": "DEFAULT", "max_tokens_in_buffer": server.tokens}
        values["cache_transceiver_config"] = buffer
    if server.role == "prefill":
        values["disable_overlap_scheduler"] = True
    return values
