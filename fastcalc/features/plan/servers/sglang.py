"""``sglang.launch_server``, by the flags of version 0.5.23.

Source: sglang/srt/arg_groups/fields of that release.
"""

from fastcalc.features.plan.servers.server import EVERY_ADDRESS, HEAD, RANK, Server, variable

LOADED_AS = {"fp8": "fp8", "mxfp8": "mxfp8"}
"""Names in ``--quantization`` of the formats to which it quantizes 16-bit weights on loading."""

CACHES = {
    "bf16": "auto",
    "fp16": "auto",
    "fp8": "fp8_e4m3",
    "fp8_ds_mla": "fp8_e4m3",
    "nvfp4": "nvfp4",
}
"""Names of its KV-cache formats in ``--kv-cache-dtype``."""

NO_DEVICE_OF = ("AWS", "Google", "d-Matrix")
"""Vendors whose chips are not among its devices: cuda, xpu, hpu, npu, cpu and musa."""

_SPARE = 2
"""Tokens of the context that it does not give to requests."""
_PORT = 5000


def start(server: Server) -> list[str]:
    """Arguments that start a server; ranks of attention replicas count as tensor ranks."""
    layout = server.layout
    words = ["python", "-m", "sglang.launch_server", "--model-path", server.checkpoint]
    words += ["--tp-size", f"{layout.width}"]
    words += ["--pp-size", f"{layout.pp}"] if layout.pp > 1 else []
    words += ["--attn-dp-size", f"{layout.dp}"] if layout.dp > 1 else []
    words += ["--ep-size", f"{layout.ep}"] if layout.ep > 1 else []
    words += ["--quantization", LOADED_AS[server.quantized_to]] if server.quantized_to else []
    words += ["--kv-cache-dtype", CACHES[server.cache]]
    # A request reserves room for drafts, and none fills the context.
    spare = max(_SPARE, server.drafts + 1 if server.drafts else 0)
    words += ["--context-length", f"{server.tokens + spare}"]
    if server.sequences:
        words += ["--max-running-requests", f"{server.sequences * layout.dp}"]
    words += ["--chunked-prefill-size", f"{server.chunk}"] if server.chunk else []
    if server.drafts:
        words += ["--speculative-algorithm", "NEXTN", "--speculative-eagle-topk", "1"]
        words += ["--speculative-num-steps", f"{server.drafts}"]
        words += ["--speculative-num-draft-tokens", f"{server.drafts + 1}"]
    if server.role != "all":
        words += ["--disaggregation-mode", server.role, "--host", EVERY_ADDRESS]
    if server.hosts > 1:
        words += ["--nnodes", f"{server.hosts}", "--node-rank", variable(RANK)]
        words += ["--dist-init-addr", variable(HEAD, f":{_PORT}")]
    return words
