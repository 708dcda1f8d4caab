"""Build the command that performs a benchmark run with a load generator.

Sources, read on 2026-11-28: ``vllm/benchmarks/serve.py`` of vLLM 0.33.0, ``sglang/benchmark/
serving.py`` of SGLang 0.5.23, ``guidellm run`` of GuideLLM 0.8.1, ``aiperf profile`` of AIPerf
0.13.0, and ``tools/llama-bench/llama-bench.cpp`` of llama.cpp (0104b15).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fastcalc.catalogue.schema.models import REPOSITORY
from fastcalc.core.outcome import Outcome
from fastcalc.features.benchmark.limits import REPETITIONS
from fastcalc.features.benchmark.runs import BenchmarkRun
from fastcalc.quoting import ShellText, shell_line

SERVER = "http://localhost:8000"
"""Default URL of servers."""


@dataclass(frozen=True)
class ServedModel:
    """Describes what a load generator needs to know about a server.

    name : name of the model, which is also that of its tokenizer
    url : URL of the server
    stated : chip, layout and formats, by column name of measurement files
    split_mode : engine flag that selects the layout, if required
    """

    name: str
    url: str
    stated: Mapping[str, str]
    split_mode: str = ""


@dataclass(frozen=True)
class Tool:
    """Represents a load generator.

    results : file or folder that its runs write
    command : function that returns the words of a run's command
    """

    results: str
    command: Callable[[ServedModel, BenchmarkRun, str], Sequence[str]]


def _vllm(served: ServedModel, run: BenchmarkRun, results: str) -> list[str]:
    words = ["vllm", "bench", "serve", "--base-url", served.url, "--model", served.name]
    words += ["--dataset-name", "random", "--random-input-len", f"{run.prompt}"]
    words += ["--random-output-len", f"{run.output}", "--ignore-eos"]
    words += ["--max-concurrency", f"{run.concurrency}", "--num-prompts", f"{run.requests}"]
    words += ["--save-result", "--append-result", "--result-filename", results]
    return [*words, "--metadata", *(f"{name}={text}" for name, text in served.stated.items())]


def _sglang(served: ServedModel, run: BenchmarkRun, results: str) -> list[str]:
    words = ["python", "-m", "sglang.bench_serving", "--backend", "sglang"]
    words += ["--base-url", served.url, "--model", served.name]
    words += ["--dataset-name", "random-ids", "--random-range-ratio", "1"]
    words += ["--random-input-len", f"{run.prompt}", "--random-output-len", f"{run.output}"]
    words += ["--max-concurrency", f"{run.concurrency}", "--num-prompts", f"{run.requests}"]
    return [*words, "--output-file", results]


def _guidellm(served: ServedModel, run: BenchmarkRun, results: str) -> list[str]:
    words = ["guidellm", "run", "--backend"]
    server = f"kind=openai_http,target={served.url},model={served.name}"
    words += [f"{server},request_format=/v1/completions"]
    words += ["--profile", f"kind=concurrent,streams={run.concurrency}"]
    words += ["--constraint", f"kind=max_requests,count={run.requests}"]
    words += ["--data"]
    words += [f"kind=synthetic_text,prompt_tokens={run.prompt},output_tokens={run.output}"]
    return [*words, "--output", f"kind=json,path={results}/{_label(run)}.json"]


def _aiperf(served: ServedModel, run: BenchmarkRun, results: str) -> list[str]:
    words = ["aiperf", "profile", "--url", served.url, "--model", served.name]
    words += ["--endpoint-type", "completions", "--streaming"]
    words += ["--isl", f"{run.prompt}", "--osl", f"{run.output}"]
    words += ["--extra-inputs", "ignore_eos:true"]
    words += ["--concurrency", f"{run.concurrency}", "--request-count", f"{run.requests}"]
    return [*words, "--output-artifact-dir", f"{results}/{_label(run)}"]


def _llama_bench(served: ServedModel, run: BenchmarkRun, results: str) -> list[str]:
    prompt, depth = (0, run.prompt) if run.output else (run.prompt, 0)
    words = [
        "llama-bench",
        "-m",
        f"{served.stated['model']}.gguf",
        "-p",
        f"{prompt}",
        "-n",
        f"{run.output}",
    ]
    words += ["-d", f"{depth}"] * bool(depth) + served.split_mode.split()
    return [*words, "-r", f"{REPETITIONS}", "-o", "jsonl", ShellText(">>"), results]


def _label(run: BenchmarkRun) -> str:
    return f"c{run.concurrency}-{run.prompt}-{run.output}"


TOOLS: Mapping[str, Tool] = {
    "vllm": Tool("my-results.json", _vllm),
    "sglang": Tool("my-results.jsonl", _sglang),
    "guidellm": Tool("my-results", _guidellm),
    "aiperf": Tool("my-results", _aiperf),
    "llama-bench": Tool("my-results.jsonl", _llama_bench),
}
"""Load generators whose commands can be printed, by name."""

_OF_PROGRAMS = {"sglang": "sglang", "llama-cpp": "llama-bench"}


def tool_of(program: str | None) -> str:
    """Choose the load generator for a server program. The one in vLLM can measure any server.

    >>> tool_of("sglang"), tool_of("llama-cpp"), tool_of("mlx"), tool_of(None)
    ('sglang', 'llama-bench', 'vllm', 'vllm')
    """
    return _OF_PROGRAMS.get(program or "", "vllm")


def measures(tool: str, program: str | None) -> bool:
    """Check whether a load generator can measure a server. llama-bench runs only llama.cpp.

    >>> measures("llama-bench", "vllm"), measures("llama-bench", "llama-cpp")
    (False, True)
    """
    return tool != "llama-bench" or program == "llama-cpp"


def served_model(outcome: Outcome, typed: str, url: str) -> ServedModel:
    """Describe a deployment's server for a load generator.

    typed : name of the model as the user typed it
    """
    scenario, layout = outcome.scenario, outcome.placement.layout
    model = scenario.model
    published = model.also_published.get(scenario.weights or "")
    name = model.repositories.get(typed.lower(), typed)
    if published is not None and REPOSITORY.fullmatch(published.text):
        name = published.text
    ranks = {"tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "ep": layout.ep}
    stated = {"hardware": scenario.hardware.id, "chips": f"{layout.chips}"}
    stated |= {rank: f"{count}" for rank, count in ranks.items() if count > 1}
    stated |= {"model": model.id, "weights": outcome.placement.work.weight_format}
    stated |= {"kv": outcome.placement.work.kv_format}
    mode = scenario.engine.split_mode_of(layout.several) if layout.several else None
    return ServedModel(name, url.rstrip("/"), stated, mode.flag if mode else "")


def command_of(tool: str, served: ServedModel, run: BenchmarkRun, results: str = "") -> str:
    """Build the command that performs a run, on one line.

    results : file or folder to write, if different from the tool's default
    """
    entry = TOOLS[tool]
    return shell_line(entry.command(served, run, results or entry.results))
