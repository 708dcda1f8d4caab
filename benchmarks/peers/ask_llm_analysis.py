"""llm-analysis: efficiencies are the caller's to give; here its own defaults."""

import logging

from answer import OUTPUT, PROMPT, rate, tell
from llm_analysis.analysis import LLMAnalysis
from llm_analysis.config import (
    ModelConfig,
    ParallelismConfig,
    get_dtype_config_by_name,
    get_gpu_config_by_name,
)

logging.disable(logging.CRITICAL)


def model(layers: int, heads: int, hidden: int, width: int) -> ModelConfig:
    """Return a Llama.

    It counts two matrices in a feed-forward network, in multiples of the hidden size: two of the
    nearest width below stand for three.
    """
    return ModelConfig(
        name="llama",
        num_layers=layers,
        n_head=heads,
        hidden_dim=hidden,
        vocab_size=128256,
        max_seq_len=131072,
        num_key_value_heads=8,
        ffn_embed_dim=width * 3 // 2 // hidden * hidden,
        model_type="llama",
    )


def on(chips: int, shape: ModelConfig) -> LLMAnalysis:
    """Return its analysis of a model on some H100."""
    return LLMAnalysis(
        shape,
        get_gpu_config_by_name("h100-sxm-80gb"),
        get_dtype_config_by_name("w16a16e16"),
        ParallelismConfig(tp_size=chips, sp_size=chips),
    )


SMALL = on(1, model(32, 32, 4096, 14336))
LARGE = on(8, model(80, 64, 8192, 28672))


def at(prompt: int, batch: int = 64, analysis: LLMAnalysis = SMALL) -> dict:
    """Return its inference analysis."""
    return analysis.inference(
        batch_size_per_gpu=batch, seq_len=prompt, num_tokens_to_generate=OUTPUT
    )


tell(
    rate(lambda prompt: at(prompt, 1)),
    {
        "step-1": at(PROMPT, 1)["decode_latency"],
        "step-64": at(PROMPT, 64)["decode_latency"],
        "step-70b": at(PROMPT, 64, LARGE)["decode_latency"],
        "prompt": at(PROMPT, 1)["prefill_latency"],
    },
)
