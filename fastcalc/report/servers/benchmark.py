"""The command that measures a server of a plan, with vLLM's own benchmark."""

from fastcalc.quoting import shell_line
from fastcalc.search.plan.decision import Plan
from fastcalc.search.plan.regret import BATCHES


def bench_command(plan: Plan, name: str) -> str:
    """Return what measures a replica of a plan at its batch, with vLLM's own benchmark.

    name : of the model, as the user typed it
    """
    traffic, batch = plan.scenario.traffic, int(plan.batch)
    model = plan.scenario.model.repositories.get(name.lower(), name)
    words = ["vllm", "bench", "serve", "--model", model, "--dataset-name", "random"]
    words += ["--random-input-len", f"{float(traffic.prompt):.0f}"]
    words += ["--random-output-len", f"{float(traffic.output):.0f}", "--ignore-eos"]
    words += ["--max-concurrency", str(batch), "--num-prompts", str(BATCHES * batch)]
    return shell_line([*words, "--save-result"])
