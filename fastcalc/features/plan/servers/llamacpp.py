"""``llama-server`` of llama.cpp, by the flags of November 2026.

Source: tools/server/README.md and docs/multi-gpu.md of ggml-org/llama.cpp.
"""

from pathlib import PurePosixPath

from fastcalc.features.plan.servers.server import Server

LOADED_AS: dict[str, str] = {}
"""It loads GGUF files, which hold weights as they are served."""

CACHES = {"bf16": "f16", "fp16": "f16", "q8_0": "q8_0", "q4_0": "q4_0"}
"""What ``--cache-type-k`` and ``--cache-type-v`` call the formats of caches that it keeps."""


def start(server: Server) -> list[str]:
    """The words that start a server, whose slots have an equal part of its context each."""
    words = ["llama-server", "--model", file_of(server), "--n-gpu-layers", "all"]
    if server.split_mode:
        words += ["--split-mode", server.split_mode.split()[-1]]
    cache = CACHES[server.cache]
    words += ["--cache-type-k", cache, "--cache-type-v", cache, "--flash-attn", "on"]
    slots = server.sequences or 1
    return [*words, "--parallel", f"{slots}", "--ctx-size", f"{slots * server.tokens}"]


def file_of(server: Server) -> str:
    """The GGUF file that it loads, named after the model and its format."""
    return f"./{PurePosixPath(server.checkpoint).name}.gguf"
