"""genz-llm: static batches; a bound unless the caller gives efficiencies, here its default of 1."""

from GenZ import decode_moddeling, prefill_moddeling
from GenZ.Models.default_models import ModelConfig
from row_answers import Question, answer_all, demand, plain

CHIPS = {
    "a100-sxm-40gb": "A100_40GB_GPU", "a100-sxm-80gb": "A100_80GB_GPU", "gaudi-3": "Gaudi3",
    "h100-sxm": "H100_GPU", "mi300x": "MI300X", "mi325x": "MI325X", "tpu-v4": "TPUv4",
    "tpu-v5e": "TPUv5e", "tpu-v5p": "TPUv5p", "tpu-v6e": "TPUv6",
}  # fmt: skip
BITS = {"bf16": "bf16", "fp16": "bf16", "fp8": "fp8", "int8": "int8"}
KINDS = frozenset(("decode", "decode_batch1", "prefill", "static"))


def evaluate(question: Question) -> dict[str, float]:
    """Return its decode step and the time of the prompts; one beam, where its default is four."""
    shape = plain(question, KINDS)
    demand(question["hardware"] in CHIPS, f"chip {question['hardware']}")
    demand(question["weights"] in BITS, f"weights {question['weights']}")
    demand(not shape["kv_rank"] and shape["alike"], f"model {question['model']}")
    demand(question["dp"] == 1, "attention replicas")
    routed = {
        "num_experts": shape["experts"],
        "expert_top_k": shape["active_experts"],
        "moe_intermediate_size": shape["width"],
        "n_shared_experts": 1 if shape["shared_width"] else 0,
        "shared_expert_intermediate_size": shape["shared_width"] or None,
    }
    common = {
        "model": ModelConfig(
            model=question["model"],
            vocab_size=shape["vocabulary"],
            max_model_len=1 << 20,
            hidden_size=shape["hidden"],
            intermediate_size=shape["width"],
            num_ffi=2,
            num_decoder_layers=shape["layers"],
            num_attention_heads=shape["heads"],
            head_dim=shape["head_dim"],
            num_key_value_heads=shape["kv_heads"],
            **(routed if shape["experts"] else {}),
        ),
        "batch_size": question["batch"],
        "system_name": CHIPS[question["hardware"]],
        "bits": BITS[question["weights"]],
        "tensor_parallel": question["tp"] // question["ep"],
        "expert_parallel": question["ep"],
        "pipeline_parallel": question["pp"],
    }
    is_decode = question["rule"].startswith("decode")
    tokens = question["context"] if is_decode else question["prompt"]
    tail = 0 if is_decode else question["output"]
    answer = {}
    if question["rule"] != "prefill":
        step = decode_moddeling(**common, input_tokens=tokens, output_tokens=tail, Bb=1)
        answer["step_s"] = step["Latency"] / 1e3
    if not is_decode:
        answer["first_s"] = prefill_moddeling(**common, input_tokens=tokens)["Latency"] / 1e3
    return answer


answer_all(evaluate)
