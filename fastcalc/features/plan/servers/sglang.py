"""``sglang.launch_server``, by the flags of version 0.5.23.

Source: sglang/srt/arg_groups/fields of that release.
"""

from collections.abc import Iterator
from typing import ClassVar

from fastcalc.catalogue.schema import Hardware
from fastcalc.features.plan.servers.server import (
    EVERY_ADDRESS,
    HEAD,
    RANK,
    Program,
    Server,
    variable,
)

_NO_DEVICE_OF = ("AWS", "Google", "d-Matrix")
"""Vendors whose chips are not among its devices: cuda, xpu, hpu, npu, cpu and musa."""

_SPARE = 2
"""Tokens of the context that it does not give to requests."""
_PORT = 5000


class Sglang(Program):
    """Flags of SGLang: ``--quantization`` and ``--kv-cache-dtype`` name formats."""

    engine = "sglang"
    loaded_as: ClassVar = {"fp8": "fp8", "mxfp8": "mxfp8"}
    caches: ClassVar = {
        "bf16": "auto",
        "fp16": "auto",
        "fp8": "fp8_e4m3",
        "fp8_ds_mla": "fp8_e4m3",
        "nvfp4": "nvfp4",
    }
    routers = "sglang_router --pd-disaggregation"

    def runs_on(self, chip: Hardware) -> bool:
        """Whether its devices include a chip."""
        return chip.vendor not in _NO_DEVICE_OF and super().runs_on(chip)

    def start(self, server: Server) -> list[str]:
        """Arguments that start a server; ranks of attention replicas count as tensor ranks."""
        layout = server.layout
        words = ["python", "-m", "sglang.launch_server", "--model-path", server.checkpoint]
        words += ["--tp-size", f"{layout.width}"]
        words += ["--pp-size", f"{layout.pp}"] if layout.pp > 1 else []
        words += ["--attn-dp-size", f"{layout.dp}"] if layout.dp > 1 else []
        words += ["--ep-size", f"{layout.ep}"] if layout.ep > 1 else []
        words += (
            ["--quantization", self.loaded_as[server.quantized_to]] if server.quantized_to else []
        )
        words += ["--kv-cache-dtype", self.caches[server.cache]]
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

    def cautions(self, server: Server) -> Iterator[str]:
        """Yield the size of a chunk, which attention replicas share."""
        if server.layout.dp > 1 and server.chunk and server.role != "decode":
            chunk = f"{server.chunk // server.layout.dp:,} prompt tokens of each in a step"
            yield f"its attention replicas share a chunk: {chunk}, expected {server.chunk:,}"
