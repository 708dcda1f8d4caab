"""servcalc: dense models on one GPU, served; its steps hold prompts of others above one request."""

from row_answers import Question, answer_all, demand, plain
from servcalc import Workload, estimate
from servcalc.profiles import hf, ollama, vllm
from vramcalc.arch import Arch

CHIPS = {
    "a100-sxm-40gb": "A100 40GB", "a100-sxm-80gb": "A100 80GB", "b200": "B200",
    "h100-sxm": "H100 80GB", "h200-sxm": "H200", "l4": "L4", "l40s": "L40S",
    "rtx-3060": "RTX 3060", "rtx-3070": "RTX 3070", "rtx-3080": "RTX 3080",
    "rtx-3090": "RTX 3090", "rtx-3090-ti": "RTX 3090 Ti", "rtx-4060-ti": "RTX 4060 Ti",
    "rtx-4070": "RTX 4070", "rtx-4080": "RTX 4080", "rtx-4090": "RTX 4090",
    "rtx-5070-ti": "RTX 5070 Ti", "rtx-5080": "RTX 5080", "rtx-5090": "RTX 5090",
    "rtx-6000-ada": "RTX 6000 Ada", "rtx-a6000": "RTX A6000",
}  # fmt: skip
ENGINES = {"vllm": vllm, "llama-cpp": ollama, "eager": hf}
QUANTS = {
    "bf16": None, "fp16": None, "fp8": "fp8", "awq-int4-g128": "awq", "gptq-int4-g128": "gptq",
    "q8_0": "gguf_q8_0", "q6_k": "gguf_q6_k", "q5_k_m": "gguf_q5_k_m", "q4_k_m": "gguf_q4_k_m",
    "q4_0": "gguf_q4_0",
}  # fmt: skip
KINDS = frozenset(("decode_batch1", "ttft", "tpot", "e2e_concurrency"))


def evaluate(question: Question) -> dict[str, float]:
    """Return its estimate of so many requests at once."""
    shape = plain(question, KINDS)
    demand(question["hardware"] in CHIPS, f"chip {question['hardware']}")
    demand(question["engine"] in ENGINES, f"engine {question['engine'] or 'not stated'}")
    demand(question["weights"] in QUANTS, f"weights {question['weights']}")
    demand(question["chips"] == 1, "more than one chip")
    demand(
        not shape["experts"] and not shape["kv_rank"] and shape["alike"],
        f"model {question['model']}",
    )
    architecture = Arch(
        hidden_size=shape["hidden"],
        num_layers=shape["layers"],
        num_heads=shape["heads"],
        num_kv_heads=shape["kv_heads"],
        head_dim=shape["head_dim"],
        intermediate_size=shape["width"],
        vocab_size=shape["vocabulary"],
        tie_word_embeddings=shape["tied"],
        attention_bias=False,
        norms_per_layer=2,
        name=question["model"],
    )
    quant, batch = QUANTS[question["weights"]], question["batch"]
    longest = question["prompt"] + question["output"]
    settings = (
        {"num_parallel": batch, "num_ctx": longest} if question["engine"] == "llama-cpp" else {}
    )
    serving = ENGINES[question["engine"]](**settings, quant=quant)
    work = Workload(question["prompt"], question["output"], (batch,))
    (point,) = estimate(
        architecture, CHIPS[question["hardware"]], workload=work, profile=serving
    ).points
    demand(point.feasible, str(point.infeasible_reason))
    return {
        "step_s": point.itl_ms.mid / 1e3,
        "first_s": point.ttft_ms.mid / 1e3,
        "rate": point.total_tok_s.mid,
    }


answer_all(evaluate)
