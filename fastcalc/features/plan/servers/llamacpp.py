"""``llama-server`` of llama.cpp, by the flags of November 2026.

Source: tools/server/README.md and docs/multi-gpu.md of ggml-org/llama.cpp.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar

from fastcalc.core.placement.layout import HOST_CHIPS
from fastcalc.errors import InputError
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.servers.server import Program, Server
from fastcalc.mentions import option


class LlamaCpp(Program):
    """Flags of llama-server, which loads GGUF files: they store weights in the served format."""

    engine = "llama-cpp"
    caches: ClassVar = {"bf16": "f16", "fp16": "f16", "q8_0": "q8_0", "q4_0": "q4_0"}
    chip_kinds = ("gpu", "soc", "apple")
    drafts_itself = False

    def refuse(self, plan: Plan) -> None:
        """Refuse a plan that llama-server cannot run, by the README of its tools/server."""
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
        """Arguments that start a server, whose slots share its context equally."""
        words = ["llama-server", "--model", _file_of(server), "--n-gpu-layers", "all"]
        if server.split_mode:
            words += ["--split-mode", server.split_mode.split()[-1]]
        cache = self.caches[server.cache]
        words += ["--cache-type-k", cache, "--cache-type-v", cache, "--flash-attn", "on"]
        slots = server.sequences or 1
        return [*words, "--parallel", f"{slots}", "--ctx-size", f"{slots * server.tokens}"]

    def weights(self, server: Server, stored: str) -> Iterator[str]:
        """Yield the contents of the GGUF file."""
        yield f"{_file_of(server)}: a GGUF file with weights in {stored}"


def _file_of(server: Server) -> str:
    """GGUF file that the server loads, named after the model and its format."""
    return f"./{PurePosixPath(server.checkpoint).name}.gguf"
