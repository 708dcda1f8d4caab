"""berth-placement: a replica at a batch; it chooses the number of chips itself."""

from berth.estimate import estimate
from berth.silicon import FLEET
from berth.workload import ModelSpec, WorkloadSpec, profile
from row_answers import Question, answer_all, demand, plain

CHIPS = {
    "a100-sxm-80gb": "a100-80g", "b200": "b200", "h100-pcie": "h100-pcie", "h100-sxm": "h100-sxm",
    "h200-sxm": "h200-sxm", "l40s": "l40s", "mi300x": "mi300x", "tpu-v5e": "tpu-v5e",
    "tpu-v6e": "tpu-v6e", "trainium-1": "trn1", "trainium-2": "trn2",
}  # fmt: skip
BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "nvfp4": 0.5, "mxfp4": 0.5}
BYTES |= {"awq-int4-g128": 0.5, "gptq-int4-g128": 0.5}
KINDS = frozenset(("decode", "decode_batch1", "prefill", "ttft", "tpot", "e2e_concurrency"))


def evaluate(question: Question) -> dict[str, float]:
    """Return its estimate of a replica with the question's batch."""
    shape = plain(question, KINDS)
    demand(question["hardware"] in CHIPS, f"chip {question['hardware']}")
    for name in ("weights", "kv"):
        demand(question[name] in BYTES, f"format {question[name]}")
    demand(question["batch"], "no batch")
    demand(question["rule"] != "prefill" or question["batch"] == 1, "several prompts at once")
    model = ModelSpec(
        question["model"],
        shape["parameters"] / 1e9,
        shape["active_parameters"] / 1e9,
        shape["layers"],
        shape["kv_heads"],
        shape["head_dim"],
        shape["heads"],
        bytes_per_param=BYTES[question["weights"]],
        bytes_per_kv=BYTES[question["kv"]],
        attn="mla" if shape["kv_rank"] else "gqa",
        kv_lora_rank=shape["kv_rank"],
        qk_rope_head_dim=shape["rope_dim"],
    )
    prompt, output = question["prompt"], question["output"]
    if question["rule"].startswith("decode"):
        prompt, output = question["context"], 1
    work = WorkloadSpec(model, prompt, output, question["batch"])
    replica = estimate(profile(work), FLEET[CHIPS[question["hardware"]]], 1.0)
    demand(replica.feasible, replica.reason)
    demand(
        replica.n_devices == question["chips"],
        f"it takes {replica.n_devices} chips where {question['chips']} were",
    )
    return {
        "step_s": replica.tpot_ms / 1e3,
        "first_s": replica.ttft_ms / 1e3,
        "rate": replica.tokens_per_s,
    }


answer_all(evaluate)
