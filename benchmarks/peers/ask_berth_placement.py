"""berth-placement: its own table of models and chips; it chooses the chips itself."""

from answer import OUTPUT, PROMPT, rate, tell
from berth.estimate import estimate
from berth.silicon import FLEET
from berth.workload import MODELS, WorkloadSpec, profile


def at(prompt: int, batch: int = 64) -> object:
    """Return its estimate of Llama 3 8B on one H100."""
    work = WorkloadSpec(MODELS["llama3-8b"], prompt, OUTPUT, batch)
    return estimate(profile(work), FLEET["h100-sxm"], 1.0)


tell(
    rate(at),
    {
        "step-1": at(PROMPT, 1).tpot_ms / 1e3,
        "step-64": at(PROMPT, 64).tpot_ms / 1e3,
        "prompt": at(PROMPT, 1).ttft_ms / 1e3,
    },
)
