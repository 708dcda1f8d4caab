"""Programs that start the servers of a plan, and vLLM's benchmark, which measures one."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import ClassVar

from fastcalc.catalogue.schema import Hardware
from fastcalc.core.placement.layout import HOST_CHIPS
from fastcalc.errors import InputError
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.regret import BATCHES
from fastcalc.features.plan.servers.server import (
    EVERY_ADDRESS,
    HEAD,
    RANK,
    Program,
    Server,
    checkpoint_of,
    variable,
)
from fastcalc.mentions import option
from fastcalc.quoting import ShellText, comment, shell_line
from fastcalc.written import to_json


class Vllm(Program):
    """The flags of vLLM. ``--quantization`` and ``--kv-cache-dtype`` take format names."""

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
        """Build the command-line arguments that start a server."""
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
            separate = {"method": "eagle3" if server.draft_is_head else "draft_model"}
            separate["model"] = server.draft
            drafting = separate if server.draft else {"method": "mtp"}
            counted = {**drafting, "num_speculative_tokens": server.drafts}
            words += ["--speculative-config", to_json(counted)]
        if server.role != "all":
            transfer = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
            words += ["--kv-transfer-config", to_json(transfer)]
        if server.hosts > 1:
            words += ["--nnodes", f"{server.hosts}", "--node-rank", variable(RANK)]
            words += ["--master-addr", variable(HEAD)]
            words += [ShellText(f"$([ ${RANK} = 0 ] || echo --headless)")]
        return words

    def cautions(self, server: Server) -> Iterator[str]:
        """Yield the environment variable required for disaggregated prefill."""
        if server.role != "all":
            yield "VLLM_NIXL_SIDE_CHANNEL_HOST has to be the address of its host"


_NO_DEVICE_OF = ("AWS", "Google", "d-Matrix")
"""Vendors whose chips SGLang does not support. It supports cuda, xpu, hpu, npu, cpu and musa."""

_SPARE = 2
"""Context tokens that SGLang does not give to requests."""
_PORT = 5000


class Sglang(Program):
    """The flags of SGLang. ``--quantization`` and ``--kv-cache-dtype`` take format names."""

    engine = "sglang"
    loaded_as: ClassVar = {"fp8": "fp8", "mxfp8": "mxfp8"}
    caches: ClassVar = {
        "bf16": "auto",
        "fp16": "auto",
        "fp8": "fp8_e4m3",
        "fp8_ds_mla": "fp8_e4m3",
        "nvfp4": "nvfp4",
    }
    port = 30000
    routers = "sglang_router --pd-disaggregation"

    def runs_on(self, chip: Hardware) -> bool:
        """Check whether SGLang supports a chip."""
        return chip.vendor not in _NO_DEVICE_OF and super().runs_on(chip)

    def start(self, server: Server) -> list[str]:
        """Build the arguments that start a server.

        The tensor-parallel size includes attention replicas.
        """
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
            separate = "EAGLE3" if server.draft_is_head else "STANDALONE"
            words += ["--speculative-algorithm", separate if server.draft else "NEXTN"]
            words += ["--speculative-draft-model-path", server.draft] if server.draft else []
            words += ["--speculative-eagle-topk", "1"]
            words += ["--speculative-num-steps", f"{server.drafts}"]
            words += ["--speculative-num-draft-tokens", f"{server.drafts + 1}"]
        if server.role != "all":
            words += ["--disaggregation-mode", server.role, "--host", EVERY_ADDRESS]
        if server.hosts > 1:
            words += ["--nnodes", f"{server.hosts}", "--node-rank", variable(RANK)]
            words += ["--dist-init-addr", variable(HEAD, f":{_PORT}")]
        return words

    def cautions(self, server: Server) -> Iterator[str]:
        """Yield the chunk size, which attention replicas share."""
        if server.layout.dp > 1 and server.chunk and server.role != "decode":
            chunk = f"{server.chunk // server.layout.dp:,} prompt tokens of each in a step"
            yield f"its attention replicas share a chunk: {chunk}, expected {server.chunk:,}"


_HOSTS = "hosts"
"""The file that names the hosts of a server."""

_HOST = "HOST"


class TensorrtLlm(Program):
    """The flags of TensorRT-LLM, which serves weights in the format of their checkpoint."""

    engine = "tensorrt-llm"
    caches: ClassVar = {"bf16": "auto", "fp16": "auto", "fp8": "fp8", "nvfp4": "nvfp4"}
    chip_kinds = ("gpu",)

    def runs_on(self, chip: Hardware) -> bool:
        """Check whether a chip is an NVIDIA GPU."""
        return chip.vendor == "NVIDIA" and super().runs_on(chip)

    def start(self, server: Server) -> list[str]:
        """Build the arguments that start a server.

        The tensor-parallel size includes attention replicas.
        """
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
        """Return the contents of the options file."""
        values: dict[str, object] = {"kv_cache_config": {"dtype": self.caches[server.cache]}}
        if server.layout.dp > 1:
            values["enable_attention_dp"] = True
        if server.drafts:
            own = {"decoding_type": "MTP", "num_nextn_predict_layers": server.drafts}
            kind = "Eagle3" if server.draft_is_head else "Draft_Target"
            separate = {"decoding_type": kind, "max_draft_len": server.drafts}
            values["speculative_config"] = (
                {**separate, "speculative_model": server.draft} if server.draft else own
            )
        if server.role != "all":
            buffer = {"backend": "DEFAULT", "max_tokens_in_buffer": server.tokens}
            values["cache_transceiver_config"] = buffer
        if server.role == "prefill":
            values["disable_overlap_scheduler"] = True
        return values

    def options_file(self, server: Server) -> Iterator[str]:
        """Yield the lines that write the options file."""
        yield f"cat > {_options_name(server)} <<'END'"
        yield from (f"{key}: {to_json(value)}" for key, value in self.options(server).items())
        yield "END"

    def on_hosts(self, server: Server) -> str:
        """Describe where to run the command of a server that spans several hosts."""
        return f"once, for its {server.hosts} hosts, which a file '{_HOSTS}' names:"

    def cautions(self, server: Server) -> Iterator[str]:
        """Yield the number of attention replicas, which is the number of ranks."""
        layout = server.layout
        if layout.dp > 1 and layout.tp > 1:
            yield f"its attention replicas have a rank each: {layout.width}, expected {layout.dp}"

    def router(self, plan: Plan, ending: str = "") -> Iterator[str]:
        """Yield the lines that start TensorRT-LLM's router between prefill and decode servers."""
        counts = {"context": plan.prefill_replicas, "generation": plan.replicas}
        yield comment(f"a router, with the addresses of the servers in place of {_HOST}")
        yield f"cat > disaggregated{ending}.yaml <<'END'"
        for role, count in counts.items():
            urls = [f"{_HOST}-{role}-{index}:8000" for index in range(1, int(count) + 1)]
            yield f"{role}_servers: {to_json({'num_instances': int(count), 'urls': urls})}"
        yield "END"
        yield f"trtllm-serve disaggregated -c disaggregated{ending}.yaml"


def _options_name(server: Server) -> str:
    return f"trtllm-{server.role}{server.ending}.yaml"


class LlamaCpp(Program):
    """The flags of llama-server, which loads GGUF files with weights in the served format."""

    engine = "llama-cpp"
    caches: ClassVar = {"bf16": "f16", "fp16": "f16", "q8_0": "q8_0", "q4_0": "q4_0"}
    port = 8080
    chip_kinds = ("gpu", "soc", "apple")
    drafts_itself = False

    def refuse(self, plan: Plan) -> None:
        """Reject a plan that llama-server cannot run, see the README in its tools/server."""
        chips, cache = plan.layout.chips, plan.scenario.work.kv_format
        if plan.prefill_layout or chips > HOST_CHIPS:
            kind = "disaggregated prefill" if plan.prefill_layout else f"{chips} chips"
            raise InputError(
                f"{option('emit', 'llama-cpp')} starts servers of one host each, and the plan is "
                f"of {kind}; give {option('pp', '8')} or fewer, or another {option('emit')}"
            )
        if plan.layout.tp > 1 and plan.scenario.work.formats.kv.bits < 16:
            raise InputError(
                f"{option('emit', 'llama-cpp')}: -sm tensor, which {option('tp')} "
                f"{plan.layout.tp} means, needs a 16-bit cache, not {cache}; give "
                f"{option('kv', 'fp16')}, or {option('pp')} in place of {option('tp')}"
            )

    def start(self, server: Server) -> list[str]:
        """Build the arguments that start a server, whose slots share its context equally."""
        weights = (
            ["--hf-repo", server.checkpoint] if _of_gguf(server) else ["--model", _file_of(server)]
        )
        words = ["llama-server", *weights, "--n-gpu-layers", "all"]
        if server.split_mode:
            words += ["--split-mode", server.split_mode.split()[-1]]
        cache = self.caches[server.cache]
        words += ["--cache-type-k", cache, "--cache-type-v", cache, "--flash-attn", "on"]
        slots = server.sequences or 1
        if server.draft:
            words += ["--model-draft", f"./{PurePosixPath(server.draft).name}.gguf"]
            words += ["--draft-max", f"{server.drafts}"]
        return [*words, "--parallel", f"{slots}", "--ctx-size", f"{slots * server.tokens}"]

    def weights(self, server: Server, stored: str) -> Iterator[str]:
        """Yield what the GGUF file must contain."""
        if not _of_gguf(server):
            yield f"{_file_of(server)}: a GGUF file with weights in {stored}"


def _of_gguf(server: Server) -> bool:
    """Check whether the server loads a repository of GGUF files."""
    return not server.checkpoint.startswith("./") and "-gguf" in server.checkpoint.lower()


def _file_of(server: Server) -> str:
    """Return the name of the GGUF file that the server loads, from the model and its format."""
    return f"./{PurePosixPath(server.checkpoint).name.removesuffix('.gguf')}.gguf"


PROGRAMS: Mapping[str, Program] = {
    "vllm": Vllm(),
    "sglang": Sglang(),
    "trtllm": TensorrtLlm(),
    "llama-cpp": LlamaCpp(),
}
"""The programs that start servers, by name."""


def bench_command(plan: Plan, name: str) -> str:
    """Build the command that measures a plan's replica at its batch with vLLM's benchmark.

    name : The name of the model, as the user typed it.
    """
    scenario, batch = plan.scenario, int(plan.batch)
    traffic = scenario.traffic
    served, _ = checkpoint_of(Vllm.loaded_as, scenario.model, scenario.weights, name)
    words = ["vllm", "bench", "serve", "--model", served, "--dataset-name", "random"]
    words += ["--random-input-len", f"{float(traffic.prompt):.0f}"]
    words += ["--random-output-len", f"{float(traffic.output):.0f}", "--ignore-eos"]
    words += ["--max-concurrency", str(batch), "--num-prompts", str(BATCHES * batch)]
    return shell_line([*words, "--save-result"])
