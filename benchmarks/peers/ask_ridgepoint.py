"""ridgepoint: a Rust core; decode at batch 1 alone, and the time to the first token."""

import json

import ridgepoint
from answer import PROMPT, rate, tell


def fit(prompt: int, count: int = 1, model: str = "llama-3-8b") -> dict:
    """Return its fit of a model on some H100."""
    text = ridgepoint.fit(
        model, "h100-80gb", count=count, dtype="bf16", ctx=prompt, prompt=prompt, as_json=True
    )
    return json.loads(text)["speed"]


speed = fit(PROMPT)
tell(
    rate(fit),
    {"step-1": 1.0 / speed["decode_tok_s"]["best"], "prompt": speed["ttft_s"]["best"]},
)
