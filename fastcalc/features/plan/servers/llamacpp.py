"""``llama-server`` of llama.cpp, by the flags of November 2026.

Source: tools/server/README.md and docs/multi-gpu.md of ggml-org/llama.cpp.
"""

from pathlib import PurePosixPath

from fastcalc.core.placement.layout import HOST_CHIPS
from fastcalc.errors import InputError
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.servers.server import Server
from fastcalc.mentions import option

LOADED_AS: dict[str, str] = {}
"""It loads GGUF files, which store weights in the served format."""

CACHES = {"bf16": "f16", "fp16": "f16", "q8_0": "q8_0", "q4_0": "q4_0"}
"""Names of its KV-cache formats in ``--cache-type-k`` and ``--cache-type-v``."""


def check(plan: Plan) -> None:
    """Refuse a plan that llama-server cannot run, according to the README of its tools/server."""
    chips, cache = plan.layout.chips, plan.scenario.work.kv_format
    if plan.prefill_layout or chips > HOST_CHIPS:
        kind = "disaggregated prefill" if plan.prefill_layout else f"{chips} chips"
        raise InputError(
            f"{option('emit', 'llama-cpp')} starts servers of one host each, and the plan is of "
            f"{kind}; give {option('pp', '8')} or fewer, or another {option('emit')}"
        )
    if plan.layout.tp > 1 and plan.scenario.work.formats.kv.bits < 16:
        raise InputError(
            f"{option('emit', 'llama-cpp')}: -sm tensor, which {option('tp')} "
            f"{plan.layout.tp} means, needs a 16-bit cache, not {cache}; give "
            f"{option('kv', 'fp16')}, or {option('pp')} in place of {option('tp')}"
        )


def start(server: Server) -> list[str]:
    """Arguments that start a server, whose slots share its context equally."""
    words = ["llama-server", "--model", file_of(server), "--n-gpu-layers", "all"]
    if server.split_mode:
        words += ["--split-mode", server.split_mode.split()[-1]]
    cache = CACHES[server.cache]
    words += ["--cache-type-k", cache, "--cache-type-v", cache, "--flash-attn", "on"]
    slots = server.sequences or 1
    return [*words, "--parallel", f"{slots}", "--ctx-size", f"{slots * server.tokens}"]


def file_of(server: Server) -> str:
    """GGUF file that the server loads, named after the model and its format."""
    return f"./{PurePosixPath(server.checkpoint).name}.gguf"
