"""llm-analysis: static batches of dense models; efficiencies are its own defaults."""

import logging

from llm_analysis.analysis import LLMAnalysis
from llm_analysis.config import (
    ModelConfig,
    ParallelismConfig,
    get_dtype_config_by_name,
    get_gpu_config_by_name,
)
from row_answers import Question, answer_all, demand, plain

logging.disable(logging.CRITICAL)
CHIPS = {
    "a100-pcie-80gb": "a100-pcie-80gb", "a100-sxm-40gb": "a100-sxm-40gb",
    "a100-sxm-80gb": "a100-sxm-80gb", "h100-pcie": "h100-pcie-80gb", "h100-sxm": "h100-sxm-80gb",
    "mi250x": "mi250x-128gb", "rtx-a6000": "a6000-48gb",
}  # fmt: skip
DTYPES = {"bf16": "w16a16e16", "fp16": "w16a16e16", "fp8": "w8a8e16", "int8": "w8a16e16"}
DTYPES |= {"awq-int4-g128": "w4a16e16", "gptq-int4-g128": "w4a16e16"}
KINDS = frozenset(("decode", "decode_batch1", "prefill", "static"))


def evaluate(question: Question) -> dict[str, float]:
    """Return its analysis of one batch.

    It counts two matrices in a feed-forward network, in multiples of the hidden size: two of the
    nearest width below stand for three.
    """
    shape = plain(question, KINDS)
    demand(question["hardware"] in CHIPS, f"chip {question['hardware']}")
    demand(question["weights"] in DTYPES, f"weights {question['weights']}")
    demand(
        not shape["experts"] and not shape["kv_rank"] and shape["alike"],
        f"model {question['model']}",
    )
    demand(question["dp"] == 1, "attention replicas")
    hidden, width = shape["hidden"], shape["width"] * 3 // 2
    demand(width >= hidden, "a network narrower than its rows")
    model = ModelConfig(
        name="llama",
        num_layers=shape["layers"],
        n_head=shape["heads"],
        hidden_dim=hidden,
        vocab_size=shape["vocabulary"],
        max_seq_len=1 << 20,
        num_key_value_heads=shape["kv_heads"],
        ffn_embed_dim=width // hidden * hidden,
        model_type="llama",
    )
    ranks = ParallelismConfig(
        tp_size=question["tp"], sp_size=question["tp"], pp_size=question["pp"]
    )
    analysis = LLMAnalysis(
        model,
        get_gpu_config_by_name(CHIPS[question["hardware"]]),
        get_dtype_config_by_name(DTYPES[question["weights"]]),
        ranks,
    )
    is_decode = question["rule"].startswith("decode")
    summary = analysis.inference(
        batch_size_per_gpu=question["batch"],
        seq_len=question["context"] if is_decode else question["prompt"],
        num_tokens_to_generate=2 if is_decode else question["output"],
        kv_cache_dtype_bytes=1 if question["kv"] == "fp8" else 2,
    )
    return {"step_s": summary["decode_latency"], "first_s": summary["prefill_latency"]}


answer_all(evaluate)
