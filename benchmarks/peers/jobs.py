"""Measured points as jobs for aiconfigurator, and its answers in the units of the points.

What a published number is decides what is asked: a decode step is its ``static_gen``, prompts alone
its ``static_ctx``, a batch run to its end its ``static``, requests in flight its ``agg`` at that
batch, and saturated load the best of its ``agg`` over batches and prompts in a step.
"""

import json
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from benchmarks.table import factor
from fastcalc.catalogue.schema import Model
from fastcalc.evidence.deployments import Deployment
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import SHORT_CHAT, Batch, speculation_of

SYSTEMS = {
    "a100-pcie-80gb": "a100_pcie",
    "a100-sxm-80gb": "a100_sxm",
    "b200": "b200_sxm",
    "b300": "b300_sxm",
    "gb200": "gb200",
    "gb300": "gb300",
    "h100-pcie": "h100_pcie",
    "h100-sxm": "h100_sxm",
    "h200-sxm": "h200_sxm",
    "l4": "l4",
    "l40s": "l40s",
    "rtx-pro-6000-server": "rtx_pro_6000_server",
}
"""Its names of chips; it has operators measured for most."""

BACKENDS = {"tensorrt-llm": "trtllm", "vllm": "vllm", "sglang": "sglang"}

MODELS = {
    "deepseek-r1": "deepseek-ai/DeepSeek-R1",
    "deepseek-v3.2": "deepseek-ai/DeepSeek-V3.2",
    "deepseek-v4-flash": "deepseek-ai/DeepSeek-V4-Flash",
    "deepseek-v4-pro": "deepseek-ai/DeepSeek-V4-Pro",
    "gemma-4-26b-a4b": "google/gemma-4-26B-A4B",
    "glm-5": "zai-org/GLM-5-FP8",
    "glm-5.2": "zai-org/GLM-5.2-FP8",
    "gemma-4-31b": "nvidia/Gemma-4-31B-IT-NVFP4",
    "gpt-oss-120b": "openai/gpt-oss-120b",
    "gpt-oss-20b": "openai/gpt-oss-20b",
    "kimi-k2": "moonshotai/Kimi-K2-Instruct",
    "kimi-k2.5": "moonshotai/Kimi-K2.5",
    "kimi-k3": "moonshotai/Kimi-K3",
    "llama-3-70b": "meta-llama/Meta-Llama-3.1-70B",
    "llama-3-8b": "meta-llama/Meta-Llama-3.1-8B",
    "llama-3.1-405b": "meta-llama/Meta-Llama-3.1-405B",
    "llama-3.1-70b": "meta-llama/Meta-Llama-3.1-70B",
    "llama-3.1-8b": "meta-llama/Meta-Llama-3.1-8B",
    "llama-3.3-nemotron-super-49b": "nvidia/Llama-3_3-Nemotron-Super-49B-v1",
    "llama-4-maverick": "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
    "llama-4-scout": "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "minimax-m2": "MiniMaxAI/MiniMax-M2.5",
    "mimo-v2-flash": "XiaomiMiMo/MiMo-V2-Flash",
    "minimax-m2.7": "MiniMaxAI/MiniMax-M2.7",
    "minimax-m3": "MiniMaxAI/MiniMax-M3",
    "mixtral-8x22b": "mistralai/Mixtral-8x22B-v0.1",
    "mixtral-8x7b": "mistralai/Mixtral-8x7B-v0.1",
    "nemotron-3-nano-30b-a3b": "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "nemotron-3-super-120b-a12b": "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
    "nemotron-3-ultra-550b-a55b": "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
    "nemotron-h-56b": "nvidia/Nemotron-H-56B-Base-8K",
    "qwen3-0.6b": "Qwen/Qwen3-0.6B",
    "qwen3-1.7b": "Qwen/Qwen3-1.7B",
    "qwen3-235b-a22b": "Qwen/Qwen3-235B-A22B",
    "qwen3-235b-a22b-2507": "Qwen/Qwen3-235B-A22B",
    "qwen3-30b-a3b": "Qwen/Qwen3-30B-A3B",
    "qwen3-30b-a3b-2507": "Qwen/Qwen3-30B-A3B",
    "qwen3-32b": "Qwen/Qwen3-32B",
    "qwen3-8b": "Qwen/Qwen3-8B",
    "qwen3-coder-480b-a35b": "Qwen/Qwen3-Coder-480B-A35B-Instruct",
    "qwen3.5-122b-a10b": "Qwen/Qwen3.5-122B-A10B",
    "qwen3.5-27b": "Qwen/Qwen3.5-27B",
    "qwen3.5-35b-a3b": "Qwen/Qwen3.5-35B-A3B",
    "qwen3.5-397b-a17b": "Qwen/Qwen3.5-397B-A17B",
}
"""Its names of the catalogue's models. Other plain dense ones become a config.json."""

FORMATS: dict[str, tuple[dict[str, str], ...]] = {
    "bf16": ({"gemm_quant_mode": "bfloat16", "moe_quant_mode": "bfloat16"},),
    "fp16": ({"gemm_quant_mode": "bfloat16", "moe_quant_mode": "bfloat16"},),
    "fp8": ({"gemm_quant_mode": "fp8", "moe_quant_mode": "fp8"},),  # scaled by tensors
    "int8": ({"gemm_quant_mode": "int8_wo", "moe_quant_mode": "int8_wo"},),
    "nvfp4": ({"gemm_quant_mode": "nvfp4", "moe_quant_mode": "nvfp4"},),
    "mxfp4": ({"moe_quant_mode": "w4a8_mxfp4_mxfp8"}, {"moe_quant_mode": "w4a16_mxfp4"}),
}
"""Its modes for formats of weights, in the order in which they are tried."""

OTHER_FORMATS: dict[str, tuple[dict[str, str], ...]] = {
    "fp8": (
        {"gemm_quant_mode": "fp8_block", "moe_quant_mode": "fp8_block"},
        {},  # what its configuration of the model says
    ),
}
"""Its modes for a second kind of the same format: fp8 scaled block by block. Sources rarely say
which of them they ran, so it is asked for both, and the nearer counts."""

CACHES = {"bf16": "bfloat16", "fp16": "bfloat16", "fp8": "fp8"}

MODES = {
    "decode": "static_gen",
    "decode_batch1": "static_gen",
    "prefill": "static_ctx",
    "static": "static",
    "ttft": "agg",
    "tpot": "agg",
    "e2e_concurrency": "agg",
    "e2e_saturated": "agg",
}


class InexpressibleError(Exception):
    """A point that aiconfigurator cannot be asked for; the text says why."""


@dataclass(frozen=True)
class Job:
    """A question to aiconfigurator, and what turns its answer into the point's metric.

    Attributes
    ----------
    question : dict
        As `aiconfigurator_rows` takes it.
    point : Point
        What was measured.
    rule : str
        How the point is predicted.
    replicas, chips : int
        Attention replicas, and all chips. [1]
    """

    question: dict[str, Any]
    point: Point
    rule: str
    replicas: int
    chips: int

    def value(self, answer: dict[str, Any]) -> float:
        """Return an answer in the unit of the point's metric; of two kinds, the nearer one."""
        kinds = [kind for kind in (answer, answer.get("other")) if kind and "reason" not in kind]
        return min(map(self._value, kinds), key=lambda value: factor(value, self.point.value))

    def _value(self, answer: dict[str, Any]) -> float:
        metric = self.point.metric
        if metric == "ttft_s":
            return float(answer["ttft_ms"]) / 1e3
        if metric == "tpot_s":
            return float(answer["tpot_ms"]) / 1e3
        batch, lengths = answer["batch"] * self.replicas, self.question["lengths"]
        if self.rule == "prefill":
            rate = batch * lengths["isl"] / answer["ttft_ms"] * 1e3
        elif self.rule == "static":
            rate = batch * lengths["osl"] / answer["request_ms"] * 1e3
        elif self.rule.startswith("decode"):
            rate = batch / answer["tpot_ms"] * 1e3
        else:
            rate = answer["seq_per_s"] * lengths["osl"]
        share = {"tokens_per_s_per_user": batch, "tokens_per_s_per_chip": self.chips}
        return float(rate / share.get(metric, 1))


def job_of(batch: Batch, point: Point, folder: Path) -> Job:
    """Return the question that a measured point is.

    Parameters
    ----------
    batch : Batch
        The points it is predicted with, and their placement.
    point : Point
        The point.
    folder : Path
        Where configurations of models that aiconfigurator lacks are written.

    Raises
    ------
    InexpressibleError
        If aiconfigurator has no such chip, engine, model or kind of measurement.
    """
    layout, deployment = batch.placement.layout, batch.deployment
    if point.engine not in BACKENDS:
        raise InexpressibleError(f"engine {point.engine or 'not stated'}")
    if point.hardware not in SYSTEMS:
        raise InexpressibleError(f"chip {point.hardware}")
    if batch.rule not in MODES:
        raise InexpressibleError(f"kind {batch.rule}")
    at_once = point.concurrency or (1 if batch.rule == "decode_batch1" else None)
    if at_once is None and batch.rule != "e2e_saturated":
        raise InexpressibleError("no batch")
    saturated = batch.rule == "e2e_saturated"
    question = {
        "id": point.id,
        "model": _model(deployment.model, folder),
        "system": SYSTEMS[point.hardware],
        "backend": BACKENDS[point.engine],
        "mode": MODES[batch.rule],
        "lengths": _lengths(point, batch.rule) | _drafts(point),
        "layout": {
            "tp_size": layout.tp,
            "pp_size": layout.pp,
            "attention_dp_size": layout.dp,
            "moe_ep_size": layout.ep,
            "moe_tp_size": layout.tp * layout.dp // layout.ep,
        },
        **_options(point, _cache(point, deployment)),
        "batch": None if saturated else ceil((at_once or 1) / layout.dp),
        "most": ceil(most / layout.dp) if (most := at_once or point.requests) else None,
    }
    return Job(question, point, batch.rule, layout.dp, layout.chips)


def _lengths(point: Point, rule: str) -> dict[str, int]:
    """Return prompt and output, such that the mean context of a decode step is the point's."""
    output = max(round(point.output or 0), 2)
    if not rule.startswith("decode"):
        return {"isl": max(round(point.prompt or 0), 1), "osl": output}
    known = point.prompt is not None or point.output is not None
    context = (point.prompt or 0.0) + (point.output or 0.0) / 2 if known else SHORT_CHAT
    context = point.mean_context or context
    return {"isl": max(round(context - output / 2), 1), "osl": output}


def _drafts(point: Point) -> dict[str, float]:
    spec = speculation_of(point)
    if spec.tokens_per_pass <= 1.0:
        return {}
    return {"nextn": int(spec.drafted), "nextn_accepted": spec.tokens_per_pass - 1.0}


def _cache(point: Point, deployment: Deployment) -> str:
    """Return the cache format of a point, or that which its engine keeps by default; or ""."""
    defaults = (
        default.cache
        for default in deployment.engine.cache_formats
        if default.is_for(deployment.model, point.weights, deployment.hardware)
    )
    return point.kv or next(defaults, "")


def _options(point: Point, cache_format: str) -> dict[str, list[dict[str, str]]]:
    """Sets of options to try, and those of the other kind of a format that has two."""
    formats = FORMATS.get(point.weights)
    if formats is None:
        raise InexpressibleError(f"weights {point.weights or 'not stated'}")
    if point.weights == "mxfp4" and SYSTEMS[point.hardware].startswith(("h", "a", "l")):
        formats = formats[1:]
    cache = CACHES.get(cache_format)

    # Not every operator was measured with a cache of the point's format: its own choice then.
    def tried(formats: tuple[dict[str, str], ...]) -> list[dict[str, str]]:
        with_cache = [one | {"kvcache_quant_mode": cache} for one in formats] if cache else []
        return [*with_cache, *formats]

    others = OTHER_FORMATS.get(point.weights)
    return {"options": tried(formats)} | ({"other_options": tried(others)} if others else {})


def _model(model: Model, folder: Path) -> str:
    """Return aiconfigurator's name of a model, or a folder with a config.json of its shape."""
    if model.id in MODELS:
        return MODELS[model.id]
    for name, path in MODELS.items():
        if model.id.startswith(f"{name}-0") or model.id == name.replace("3.1", "3.3"):
            return path
    shape = _plain_shape(model)
    if shape is None:
        raise InexpressibleError(f"model {model.id}")
    target = folder / model.id
    target.mkdir(parents=True, exist_ok=True)
    (target / "config.json").write_text(json.dumps(shape))
    return str(target)


def _plain_shape(model: Model) -> dict[str, Any] | None:
    """Return the config.json of a dense model with plain attention; None for any other."""
    blocks = model.blocks or []
    if len(blocks) != 1:
        return None
    attention, ffn = blocks[0].attention, blocks[0].ffn
    kinds = getattr(attention, "kind", None), getattr(ffn, "kind", None)
    if kinds not in {("mha", "dense"), ("gqa", "dense")} or ffn.matrices != 3 or attention.window:
        return None
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": model.hidden_size,
        "intermediate_size": ffn.width,
        "num_hidden_layers": blocks[0].count,
        "num_attention_heads": attention.heads,
        "num_key_value_heads": attention.kv_heads or attention.heads,
        "head_dim": attention.head_dim,
        "vocab_size": model.vocabulary,
        "max_position_embeddings": model.max_context or 4096,
        "torch_dtype": "bfloat16",
    }
