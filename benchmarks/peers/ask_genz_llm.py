"""genz-llm: a bound unless the caller gives efficiencies; here its own default of 1."""

import contextlib
import sys

from answer import OUTPUT, PROMPT, rate, tell
from GenZ import decode_moddeling, prefill_moddeling

SMALL, LARGE = "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-70B"


def at(prompt: int, batch: int = 64, model: str = SMALL, chips: int = 1) -> float:
    """Return its decode step on some H100; one beam, where its default is four. [s]"""
    found = decode_moddeling(
        model=model,
        batch_size=batch,
        input_tokens=prompt,
        output_tokens=OUTPUT,
        Bb=1,
        system_name="H100_GPU",
        bits="bf16",
        tensor_parallel=chips,
    )
    return found["Latency"] / 1e3


with contextlib.redirect_stdout(sys.stderr):
    first = prefill_moddeling(
        model=SMALL, batch_size=1, input_tokens=PROMPT, system_name="H100_GPU", bits="bf16"
    )
    points_per_s = rate(at)
    cases = {
        "step-1": at(PROMPT, 1),
        "step-64": at(PROMPT, 64),
        "step-70b": at(PROMPT, 64, LARGE, 8),
        "prompt": first["Latency"] / 1e3,
    }
tell(points_per_s, cases)
