"""``vllm serve``, by the flags of version 0.33.

Source: vllm/engine/arg_utils.py and vllm/entrypoints/cli/serve.py of that release; its guide to the
NixlConnector.
"""

from collections.abc import Iterator
from typing import ClassVar

from fastcalc.features.plan.servers.server import HEAD, RANK, Program, Server, variable
from fastcalc.quoting import ShellText
from fastcalc.written import to_json


class Vllm(Program):
    """Flags of vLLM: ``--quantization`` and ``--kv-cache-dtype`` name formats."""

    engine = "vllm"
    loaded_as: ClassVar = {"fp8": "fp8", "mxfp8": "mxfp8"}
    caches: ClassVar = {
        "bf16": "auto",
        "fp16": "auto",
        "fp8": "fp8",
        "fp8_ds_mla": "fp8_ds_mla",
        "nvfp4": "nvfp4",
        "int8": "int8_per_token_head",
    }
    routers = "vllm-router, llm-d"

    def start(self, server: Server) -> list[str]:
        """Arguments that start a server."""
        layout = server.layout
        words = ["vllm", "serve", server.checkpoint, "--tensor-parallel-size", f"{layout.tp}"]
        words += ["--pipeline-parallel-size", f"{layout.pp}"] if layout.pp > 1 else []
        words += ["--data-parallel-size", f"{layout.dp}"] if layout.dp > 1 else []
        words += ["--enable-expert-parallel"] if layout.ep > 1 else []
        words += (
            ["--quantization", self.loaded_as[server.quantized_to]] if server.quantized_to else []
        )
        words += ["--kv-cache-dtype", self.caches[server.cache]]
        words += ["--max-model-len", f"{server.tokens}"]
        words += ["--max-num-seqs", f"{server.sequences}"] if server.sequences else []
        words += ["--max-num-batched-tokens", f"{server.chunk}"] if server.chunk else []
        words += ["--gpu-memory-utilization", f"{server.memory_share:g}"]
        words += [] if server.captures_graphs else ["--enforce-eager"]
        if server.drafts:
            drafting = {"method": "mtp", "num_speculative_tokens": server.drafts}
            words += ["--speculative-config", to_json(drafting)]
        if server.role != "all":
            transfer = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
            words += ["--kv-transfer-config", to_json(transfer)]
        if server.hosts > 1:
            words += ["--nnodes", f"{server.hosts}", "--node-rank", variable(RANK)]
            words += ["--master-addr", variable(HEAD)]
            words += [ShellText(f"$([ ${RANK} = 0 ] || echo --headless)")]
        return words

    def cautions(self, server: Server) -> Iterator[str]:
        """Yield the variable that disaggregated prefill needs."""
        if server.role != "all":
            yield "VLLM_NIXL_SIDE_CHANNEL_HOST has to be the address of its host"
