"""``trtllm-serve`` of TensorRT-LLM 1.x; settings without a flag go to an options file.

Source: tensorrt_llm/commands/serve.py; the guide to disaggregated serving.
"""

from collections.abc import Iterator
from typing import ClassVar

from fastcalc.catalogue.schema import Hardware
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.servers.server import EVERY_ADDRESS, Program, Server
from fastcalc.quoting import comment
from fastcalc.written import to_json

_HOSTS = "hosts"
"""File that names the hosts of a server."""

_HOST = "HOST"


class TensorrtLlm(Program):
    """Flags of TensorRT-LLM, which serves weights in the format of their checkpoint."""

    engine = "tensorrt-llm"
    caches: ClassVar = {"bf16": "auto", "fp16": "auto", "fp8": "fp8", "nvfp4": "nvfp4"}
    chip_kinds = ("gpu",)

    def runs_on(self, chip: Hardware) -> bool:
        """Whether a chip is a GPU of NVIDIA."""
        return chip.vendor == "NVIDIA" and super().runs_on(chip)

    def start(self, server: Server) -> list[str]:
        """Arguments that start a server; ranks of attention replicas count as tensor ranks."""
        layout = server.layout
        words = ["mpirun", "-np", f"{layout.ranks}", "-hostfile", _HOSTS, "trtllm-llmapi-launch"]
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
        return [*words, "--config", _options_name(server)]

    def options(self, server: Server) -> dict[str, object]:
        """Contents of the options file."""
        values: dict[str, object] = {"kv_cache_config": {"dtype": self.caches[server.cache]}}
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

    def options_file(self, server: Server) -> Iterator[str]:
        """Lines that write the file of options."""
        yield f"cat > {_options_name(server)} <<'END'"
        yield from (f"{key}: {to_json(value)}" for key, value in self.options(server).items())
        yield "END"

    def on_hosts(self, server: Server) -> str:
        """Where to run the command of a server that spans several hosts."""
        return f"once, for its {server.hosts} hosts, which a file '{_HOSTS}' names:"

    def cautions(self, server: Server) -> Iterator[str]:
        """Yield the number of attention replicas, which is the number of ranks."""
        layout = server.layout
        if layout.dp > 1 and layout.tp > 1:
            yield f"its attention replicas have a rank each: {layout.width}, expected {layout.dp}"

    def router(self, plan: Plan) -> Iterator[str]:
        """Lines that start its own router between the prefill and the decode servers."""
        counts = {"context": plan.prefill_replicas, "generation": plan.replicas}
        yield comment(f"a router, with the addresses of the servers in place of {_HOST}")
        yield "cat > disaggregated.yaml <<'END'"
        for role, count in counts.items():
            urls = [f"{_HOST}-{role}-{index}:8000" for index in range(1, int(count) + 1)]
            yield f"{role}_servers: {to_json({'num_instances': int(count), 'urls': urls})}"
        yield "END"
        yield "trtllm-serve disaggregated -c disaggregated.yaml"


def _options_name(server: Server) -> str:
    return f"trtllm-{server.role}.yaml"
