"""The commands that start the servers of a plan: vLLM, SGLang, TensorRT-LLM and llama.cpp."""

from collections.abc import Mapping

from fastcalc.features.plan.servers.llamacpp import LlamaCpp
from fastcalc.features.plan.servers.server import Program
from fastcalc.features.plan.servers.sglang import Sglang
from fastcalc.features.plan.servers.trtllm import TensorrtLlm
from fastcalc.features.plan.servers.vllm import Vllm

PROGRAMS: Mapping[str, Program] = {
    "vllm": Vllm(),
    "sglang": Sglang(),
    "trtllm": TensorrtLlm(),
    "llama-cpp": LlamaCpp(),
}
"""Programs that start servers, by name."""
