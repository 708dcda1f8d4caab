"""ridgepoint: its own models at batch 1, a decode step and the time to the first token."""

import json

import ridgepoint
from row_answers import Question, answer_all, demand

CHIPS = {
    "h100-sxm": "h100-80gb",
    "h200-sxm": "h200-141gb",
    "a100-sxm-80gb": "a100-80gb",
    "a100-sxm-40gb": "a100-40gb",
    "b200": "b200-192gb",
}
MODELS = {"llama-3.1-8b": "llama-3-8b", "llama-3.1-70b": "llama-3-70b"}
KINDS = frozenset(("decode", "decode_batch1", "prefill", "ttft", "tpot"))
ENGINES = {"llama-cpp": "llamacpp", "sglang": "sglang", "vllm": "vllm"}
FORMATS = {"awq-int4-g128": "awq", "gptq-int4-g128": "gptq"}


def evaluate(question: Question) -> dict[str, float]:
    """Return its fit of a model on some chips at batch 1."""
    demand(question["rule"] in KINDS, f"kind {question['rule']}")
    demand(question["batch"] == 1, "batch above 1")
    demand(not question["drafts"], "drafts")
    demand(question["hardware"] in CHIPS, f"chip {question['hardware']}")
    demand(question["engine"] in ENGINES, f"engine {question['engine'] or 'not stated'}")
    demand(question["tp"] == question["chips"], "a layout that is not tensor parallel")
    text = ridgepoint.fit(
        MODELS.get(question["model"], question["model"]),
        CHIPS[question["hardware"]],
        count=question["chips"],
        engine=ENGINES[question["engine"]],
        dtype=FORMATS.get(question["weights"], question["weights"]),
        kv_cache_dtype=question["kv"],
        ctx=question["context"],
        prompt=question["prompt"],
        as_json=True,
    )
    speed = json.loads(text)["speed"]
    return {"step_s": 1.0 / speed["decode_tok_s"]["best"], "first_s": speed["ttft_s"]["best"]}


answer_all(evaluate)
