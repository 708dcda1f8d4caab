"""Command that measures a server of a plan, with vLLM's own benchmark."""

from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.regret import BATCHES
from fastcalc.features.plan.servers.checkpoint import checkpoint_of
from fastcalc.features.plan.servers.vllm import Vllm
from fastcalc.quoting import shell_line


def bench_command(plan: Plan, name: str) -> str:
    """Command that measures a replica of a plan at its batch, with vLLM's own benchmark.

    name : name of the model, as the user typed it
    """
    scenario, batch = plan.scenario, int(plan.batch)
    traffic = scenario.traffic
    served, _ = checkpoint_of(Vllm.loaded_as, scenario.model, scenario.weights, name)
    words = ["vllm", "bench", "serve", "--model", served, "--dataset-name", "random"]
    words += ["--random-input-len", f"{float(traffic.prompt):.0f}"]
    words += ["--random-output-len", f"{float(traffic.output):.0f}", "--ignore-eos"]
    words += ["--max-concurrency", str(batch), "--num-prompts", str(BATCHES * batch)]
    return shell_line([*words, "--save-result"])
