"""servcalc: one GPU; its decode step is a mean with prompts of others in it."""

from answer import OUTPUT, PROMPT, rate, tell
from servcalc import Workload, estimate
from vramcalc.arch import Arch

LLAMA = Arch(
    hidden_size=4096,
    num_layers=32,
    num_heads=32,
    num_kv_heads=8,
    head_dim=128,
    intermediate_size=14336,
    vocab_size=128256,
    tie_word_embeddings=False,
    attention_bias=False,
    norms_per_layer=2,
    name="llama-3.1-8b",
)


def at(prompt: int, *batches: int) -> object:
    """Return its estimate of Llama 3.1 8B on one H100."""
    work = Workload(prompt_len=prompt, gen_len=OUTPUT, concurrency=batches or (64,))
    return estimate(LLAMA, "H100 80GB", workload=work)


one, many = at(PROMPT, 1, 64).points
tell(
    rate(at),
    {
        "step-1": one.itl_ms.mid / 1e3,
        "step-64": many.itl_ms.mid / 1e3,
        "prompt": one.ttft_ms.mid / 1e3,
    },
)
